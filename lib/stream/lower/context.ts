// What the code of one firing is made in: bindings of variables, ends of channels, faults.
import { required } from '../../core/known.ts';
import { get, set, type Label, type Local } from '../../kernel/ir.ts';
import type { Span } from '../ast.ts';
import type { Analysis } from '../plan/analysis.ts';
import { countsOf, placesOf } from '../plan/layout.ts';
import { isScalar } from '../interpret/values.ts';
import type { FilterCode, IrExpression, IrStatement, IrType, StateVariable, Variable } from '../ir.ts';
import type { End } from './ends.ts';
import { clear, explode, storeValue, zeros } from './memory.ts';
import type { Range } from './ranges.ts';
import type { Site, SiteKind } from './sites.ts';
import {
  explodeLimit, held, isLasting, isPlace, placeOf, sizeOfType, slotsOf, type Binding, type Buffers, type Ex, type Slot, type Val,
} from './value.ts';
import type { Writer } from './writer.ts';

/** What a firing does with loops and small arrays. */
export interface Style {
  /** Nodes of the intermediate representation up to which a loop is unrolled. */
  readonly loop: number;
  /** Scalars up to which an array is taken apart. */
  readonly explode: number;
}

/** What lowers code of its own inside of other code. */
export interface Lowering {
  /** Writes a statement. True: what stands behind it is not reached. */
  statement(c: Context, s: IrStatement): boolean;
  /** Puts the body of a called function here. */
  call(c: Context, e: Extract<IrExpression, { kind: 'call' }>): Val;
}

export interface FiringOptions {
  readonly lowering: Lowering;
  readonly writer: Writer;
  readonly code: FilterCode;
  readonly analysis: Analysis;
  readonly node: number;
  readonly style: Style;
  /** Buffers of a table or of a state variable. */
  readonly buffers: (variable: StateVariable) => Buffers;
  /** Bindings of scalar state, alive throughout the function. */
  readonly state: ReadonlyMap<Variable, Binding>;
  readonly site: (site: Site) => number;
  /** The number of the firing, if the code asks for it. */
  readonly iteration: () => Ex;
  /** The local that holds the state of `random`. */
  readonly random: () => Local;
  readonly input: End | undefined;
  readonly output: End | undefined;
  /** Counts a turn of a loop without known end. */
  readonly tick: (site: number) => void;
}

/** What `return` does in the function being written. */
export interface Frame {
  readonly body: Block;
  readonly result: IrType | undefined;
  /** Blocks whose execution is not certain, entered before. */
  readonly level: number;
  /** Where control returns from inside of loops and branches: what is left then, and where the result is put. */
  early: { readonly label: Label; readonly result: readonly Slot[] | undefined } | undefined;
  /** Returned at the end. */
  value: Val | undefined;
}

export type Block = Extract<IrStatement, { kind: 'block' }>;
/** Arrays of more scalars lie in memory where a loop or branch assigns them. */
const mostAssigned = 16;

export class Context {
  readonly w: Writer;
  readonly options: FiringOptions;
  readonly bindings = new Map<Variable, Binding>();
  readonly ranges = new Map<Variable, Range>();
  /** Variables, and others that they are never less than. */
  readonly above = new Map<Variable, Variable>();
  frame: Frame = { body: { kind: 'block', statements: [] }, result: undefined, level: 0, early: undefined, value: undefined };
  /** Loops and branches around what is being written. */
  level = 0;
  calls = 0;
  /** What `break` and `continue` leave. */
  breakLabel: Label | undefined;
  continueLabel: Label | undefined;

  constructor(options: FiringOptions) {
    this.options = options;
    this.w = options.writer;
    for (const variable of options.code.state) this.#bindField(variable);
  }

  #bindField(variable: StateVariable): void {
    if (variable.role === 'constant') return;
    const kept = this.options.state.get(variable);
    if (variable.role === 'scratch') this.declare(variable, undefined);
    else this.bindings.set(variable, kept ?? held(variable.type, { place: this.table(variable) }));
  }

  /** The place of a field. */
  table(variable: StateVariable) {
    return placeOf(this.options.buffers(variable));
  }

  binding(variable: Variable): Binding {
    const found = this.bindings.get(variable);
    if (found === undefined) throw new Error(`${variable.name} is used before it is declared`);
    return found;
  }

  /** A new variable with a value, or zeros. `isItem`: the value is an item of a channel. */
  declare(variable: Variable, value: Val | undefined, isItem = false): void {
    const { w } = this;
    const { type } = variable;
    const isApart = type.kind === 'scalar' || type.kind === 'vector'
      || sizeOfType(type) <= Math.min(this.options.style.explode, explodeLimit);
    if (!isApart) {
      const place = w.place(countsOf(type));
      if (value === undefined) clear(w, place, type);
      else storeValue(w, place, value, type);
      this.bindings.set(variable, held(type, { place }));
      return;
    }
    const parts = value === undefined ? zeros(w, type) : isPlace(value) ? explode(w, value, type) : value;
    const kept = parts.map((part) => w.stable(part));
    const item = value !== undefined && isItem && isPlace(value) && isLasting(value) ? value : undefined;
    const origin = value === undefined || item !== undefined ? { place: item, parts: kept } : undefined;
    this.bindings.set(variable, held(type, { slots: kept.map((ex) => ({ ex, local: undefined })), origin }));
  }

  /** Puts a variable into memory, where an index that is not known can reach it. */
  toMemory({ storage }: Binding): void {
    const { origin, slots, type } = storage;
    if (slots === undefined) return;
    const place = this.w.place(countsOf(type));
    const isUntouched = slots.length > 1 && slots.every(({ ex, local }, i) => local === undefined && ex === origin?.parts[i]);
    if (!isUntouched) storeValue(this.w, place, slots.map(({ ex }) => ex), type);
    else if (origin?.place === undefined) clear(this.w, place, type);
    else storeValue(this.w, place, origin.place, type);
    storage.place = place;
    storage.slots = undefined;
  }

  /** Sets a slot, by assignment where other paths must see it. */
  set(slot: Slot, value: Ex): void {
    if (slot.local !== undefined) this.w.emit(set(slot.local, value.e));
    else slot.ex = this.w.stable(value);
  }

  /** Notes bounds of a variable that has just been given a value, until it is assigned otherwise. */
  bound(variable: Variable, range: Range | undefined): void {
    if (range === undefined || !isScalar(variable.type, 'int')) this.ranges.delete(variable);
    else this.ranges.set(variable, range);
  }

  /** Where paths meet on some of which variables have been assigned, nothing is known of their bounds. */
  forget(variables: Iterable<Variable>): void {
    for (const variable of variables) this.ranges.delete(variable);
  }

  /** Gives variables that a loop or branch assigns a local that can be assigned. */
  materialise(variables: Iterable<Variable>): void {
    for (const variable of variables) {
      this.ranges.delete(variable);
      const binding = this.bindings.get(variable);
      const { slots } = binding?.storage ?? {};
      if (binding === undefined || slots === undefined) continue;
      if (slots.length > mostAssigned && binding.storage.type.kind === 'array') this.toMemory(binding);
      else for (const slot of required(slotsOf(binding))) this.#materialiseSlot(slot);
    }
  }

  #materialiseSlot(slot: Slot): void {
    if (slot.local !== undefined) return;
    slot.local = this.w.variable(slot.ex.e);
    slot.ex = { e: get(slot.local), stable: false };
  }

  /** Gives locals to what moves items in a statement whose executions are not known. */
  makeEndsDynamic(pops: number | undefined, pushes: number | undefined): void {
    if (pops === undefined) this.options.input?.makeDynamic();
    if (pushes === undefined) this.options.output?.makeDynamic();
  }

  /** Writes a statement. True: what stands behind it is not reached. */
  statement(s: IrStatement): boolean {
    return this.options.lowering.statement(this, s);
  }

  /** At the end of the firing. */
  finish(): void {
    this.options.input?.finish();
    this.options.output?.finish();
  }

  site(kind: SiteKind, span: Span | undefined, limit = 0): number {
    return this.options.site({ kind, node: this.options.node, span, limit });
  }

  /** Locals for a value of a type, that can be assigned. */
  variables(type: IrType): Slot[] {
    return placesOf(type).map(({ kind }) => {
      const local = this.w.variable(this.w.literal(kind, 0).e);
      return { ex: { e: get(local), stable: false }, local };
    });
  }
}
