// The context in which the code of one firing is generated: bindings of variables, ends of channels, faults.
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

/** How a firing treats loops and small arrays. */
export interface Style {
  /** Loops are unrolled up to this many nodes of the intermediate representation. */
  readonly loop: number;
  /** Arrays are split into scalars up to this size. */
  readonly explode: number;
}

/** Lowers code nested in other code. */
export interface Lowering {
  /** Writes a statement. Returns true if the code after it is unreachable. */
  statement(c: Context, s: IrStatement): boolean;
  /** Inlines the body of a called function here. */
  call(c: Context, e: Extract<IrExpression, { kind: 'call' }>): Val;
}

export interface FiringOptions {
  readonly lowering: Lowering;
  readonly writer: Writer;
  readonly code: FilterCode;
  readonly analysis: Analysis;
  readonly node: number;
  readonly style: Style;
  /** Buffers of a table or state variable. */
  readonly buffers: (variable: StateVariable) => Buffers;
  /** Bindings of scalar state, valid throughout the function. */
  readonly state: ReadonlyMap<Variable, Binding>;
  readonly site: (site: Site) => number;
  /** The number of the firing, for code that asks for it. */
  readonly iteration: () => Ex;
  /** The local that holds the state of `random`. */
  readonly random: () => Local;
  readonly input: End | undefined;
  readonly output: End | undefined;
  /** Counts an iteration of a loop with an unknown trip count. */
  readonly tick: (site: number) => void;
}

/** What `return` does in the function being written. */
export interface Frame {
  readonly body: Block;
  readonly result: IrType | undefined;
  /** The depth of conditional blocks at entry. */
  readonly level: number;
  /** For returns from inside loops and branches: the block to leave, and where to put the result. */
  early: { readonly label: Label; readonly result: readonly Slot[] | undefined } | undefined;
  /** The value returned at the end. */
  value: Val | undefined;
}

export type Block = Extract<IrStatement, { kind: 'block' }>;
/** Larger arrays are kept in memory if a loop or branch assigns them. */
const mostAssigned = 16;

export class Context {
  readonly w: Writer;
  readonly options: FiringOptions;
  readonly bindings = new Map<Variable, Binding>();
  readonly ranges = new Map<Variable, Range>();
  /** Variables, each with another that is a lower bound for it. */
  readonly above = new Map<Variable, Variable>();
  frame: Frame = { body: { kind: 'block', statements: [] }, result: undefined, level: 0, early: undefined, value: undefined };
  /** Depth of loops and branches around the code being written. */
  level = 0;
  calls = 0;
  /** The blocks that `break` and `continue` leave. */
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

  /** Moves a variable to memory, where it can be indexed by an unknown index. */
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

  /** Sets a slot. Assigns to its local if other control paths must see the value. */
  set(slot: Slot, value: Ex): void {
    if (slot.local !== undefined) this.w.emit(set(slot.local, value.e));
    else slot.ex = this.w.stable(value);
  }

  /** Records the range of a variable that has just been given a value, until the next assignment. */
  bound(variable: Variable, range: Range | undefined): void {
    if (range === undefined || !isScalar(variable.type, 'int')) this.ranges.delete(variable);
    else this.ranges.set(variable, range);
  }

  /** Forgets the ranges of variables that were assigned on only some of the paths that meet here. */
  forget(variables: Iterable<Variable>): void {
    for (const variable of variables) this.ranges.delete(variable);
  }

  /** Gives variables that a loop or branch assigns an assignable local. */
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

  /** Switches ends to run-time indices if it is unknown how many items a statement moves. */
  makeEndsDynamic(pops: number | undefined, pushes: number | undefined): void {
    if (pops === undefined) this.options.input?.makeDynamic();
    if (pushes === undefined) this.options.output?.makeDynamic();
  }

  /** Writes a statement. Returns true if the code after it is unreachable. */
  statement(s: IrStatement): boolean {
    return this.options.lowering.statement(this, s);
  }

  /** Ends the firing. */
  finish(): void {
    this.options.input?.finish();
    this.options.output?.finish();
  }

  site(kind: SiteKind, span: Span | undefined, limit = 0): number {
    return this.options.site({ kind, node: this.options.node, span, limit });
  }

  /** Assignable locals for a value of a type. */
  variables(type: IrType): Slot[] {
    return placesOf(type).map(({ kind }) => {
      const local = this.w.variable(this.w.literal(kind, 0).e);
      return { ex: { e: get(local), stable: false }, local };
    });
  }
}
