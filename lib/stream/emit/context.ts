// What the code of one firing is made in: bindings of variables, ends of channels, faults.
import type { Span } from '../ast.ts';
import { scalar } from '../interpret/values.ts';
import type { FilterCode, IrExpression, IrStatement, IrType, StateVariable, Variable } from '../ir.ts';
import type { Analysis } from '../plan/analysis.ts';
import type { Dialect } from './dialect.ts';
import type { Site, SiteKind } from '../lower/sites.ts';
import type { End } from './ends.ts';
import { countsOf, placesOf } from '../plan/layout.ts';
import { clear, explode, storeValue, zeros } from './memory.ts';
import { explodeLimit, isPlace, sizeOfType, type Binding, type Ex, type Slot, type Val } from './value.ts';
import { Retry, type Writer } from './writer.ts';

/** What a firing does with loops and small arrays. */
export interface Style {
  /** Nodes of the intermediate representation up to which a loop is unrolled. */
  readonly loop: number;
  /** Scalars up to which an array is taken apart. */
  readonly explode: number;
}

/** What was learnt while the code was made before: see {@link Retry}. */
export interface Lessons {
  readonly inMemory: Set<Variable>;
  readonly labelled: Set<object>;
  readonly channels: Set<number>;
  /** Firings can raise faults, so that none may be left out. */
  raises: boolean;
}

export function newLessons(): Lessons {
  return { inMemory: new Set(), labelled: new Set(), channels: new Set(), raises: false };
}

/** Fields of a node: how they are held, and arrays of the program that hold them. */
export interface Fields {
  /** Arrays of a table or of a state variable. */
  arrays(variable: StateVariable): { readonly i: string; readonly f: string; readonly d: string };
}

/** What writes code of its own inside of other code. */
export interface Writing {
  /** Writes a statement. True: what stands behind it is not reached. */
  statement(c: Context, s: IrStatement): boolean;
  /** Puts the body of a called function here. */
  call(c: Context, e: Extract<IrExpression, { kind: 'call' }>): Val;
}

export interface FiringOptions {
  readonly writing: Writing;
  readonly writer: Writer;
  readonly code: FilterCode;
  readonly analysis: Analysis;
  readonly node: number;
  readonly style: Style;
  readonly lessons: Lessons;
  readonly fields: Fields;
  /** Bindings of scalar state, alive throughout the function. */
  readonly state: ReadonlyMap<Variable, Binding>;
  readonly site: (site: Site) => number;
  /** The number of the firing, if the code asks for it. */
  readonly iteration: () => Ex;
  /** Name of the variable that holds the state of `random`. */
  readonly random: () => string;
  readonly input: End | undefined;
  readonly output: End | undefined;
}

/** What `return` does in the function being written. */
export interface Frame {
  readonly body: object;
  readonly label: string | undefined;
  /** Result under a label. */
  readonly result: readonly Slot[] | undefined;
  /** Blocks whose execution is not certain, entered since. */
  readonly level: number;
  value: Val | undefined;
}

export class Context {
  readonly w: Writer;
  readonly dialect: Dialect;
  readonly options: FiringOptions;
  readonly bindings = new Map<Variable, Binding>();
  /** Array parameters, and the variables or fields that they refer to. */
  readonly references = new Map<Variable, Variable>();
  readonly ranges = new Map<Variable, readonly [number, number]>();
  /** Variables, and others that they are never less than. */
  readonly above = new Map<Variable, Variable>();
  frame: Frame = { body: {}, label: undefined, result: undefined, level: 0, value: undefined };
  /** Loops and branches around what is being written. */
  level = 0;
  calls = 0;
  /** What `continue` leaves. */
  continueLabel: string | undefined;

  constructor(options: FiringOptions) {
    this.options = options;
    this.w = options.writer;
    this.dialect = options.writer.dialect;
    for (const variable of options.code.state) this.#bindField(variable);
  }

  #bindField(variable: StateVariable): void {
    if (variable.role === 'constant') return;
    const held = this.options.state.get(variable);
    if (variable.role === 'scratch') this.declare(variable, undefined);
    else if (held !== undefined) this.bindings.set(variable, held);
    else this.bindings.set(variable, { kind: 'memory', place: this.#fieldPlace(variable) });
  }

  #fieldPlace(variable: StateVariable) {
    const zero = this.w.int(0);
    return { arrays: this.options.fields.arrays(variable), at: { i: zero, f: zero, d: zero }, isPlace: true as const };
  }

  /** The table of a constant field. */
  table(variable: StateVariable) {
    return this.#fieldPlace(variable);
  }

  binding(variable: Variable): Binding {
    const found = this.bindings.get(variable);
    if (found === undefined) throw new Error(`${variable.name} is used before it is declared`);
    return found;
  }

  #explodes(variable: Variable): boolean {
    const { type } = variable;
    if (this.options.lessons.inMemory.has(variable)) return false;
    return type.kind === 'scalar' || type.kind === 'vector' || sizeOfType(type) <= Math.min(this.options.style.explode, explodeLimit);
  }

  /** A new variable with a value, or zeros. */
  declare(variable: Variable, value: Val | undefined): void {
    const { w } = this;
    const { type } = variable;
    if (!this.#explodes(variable)) {
      const place = w.local(countsOf(type));
      if (value === undefined) clear(w, place, type);
      else storeValue(w, place, value, type);
      this.bindings.set(variable, { kind: 'memory', place });
      return;
    }
    const parts = value === undefined ? zeros(w, type) : isPlace(value) ? explode(w, value, type) : value;
    this.bindings.set(variable, { kind: 'slots', slots: parts.map((part) => ({ ex: w.stable(part), isVariable: false, depth: w.depth })) });
  }

  /** Lets a parameter refer to an array that a variable or field holds, or to a part of it. */
  refer(parameter: Variable, binding: Binding, root: Variable): void {
    this.bindings.set(parameter, binding);
    this.references.set(parameter, this.owner(root));
  }

  /** The variable or field in which a variable lies: itself, or what it refers to. */
  owner(variable: Variable): Variable {
    return this.references.get(variable) ?? variable;
  }

  /** Sets a slot, by assignment where other paths must see it. */
  set(slot: Slot, value: Ex): void {
    const { w } = this;
    if (slot.isVariable && (w.depth > slot.depth || this.level > 0)) {
      w.emit(`${slot.ex.text} = ${value.text};`);
      return;
    }
    if (slot.isVariable) {
      w.emit(`${slot.ex.text} = ${value.text};`);
      return;
    }
    slot.ex = w.stable(value);
  }

  /** Gives variables that a loop or branch assigns a name that can be assigned. */
  materialise(variables: Iterable<Variable>): void {
    for (const variable of variables) {
      const binding = this.bindings.get(variable);
      if (binding?.kind !== 'slots') continue;
      if (binding.slots.length > 16 && variable.type.kind === 'array') throw new Retry('memory', this.owner(variable));
      for (const slot of binding.slots) {
        if (slot.isVariable) continue;
        const name = this.w.name('v');
        this.w.emit(this.dialect.variable(slot.ex.kind, name, slot.ex.text));
        slot.ex = { text: name, kind: slot.ex.kind, stable: false };
        slot.isVariable = true;
        slot.depth = this.w.depth;
      }
    }
  }

  /** Gives names to what moves items in a statement whose executions are not known. */
  makeEndsDynamic(pops: number | undefined, pushes: number | undefined): void {
    if (pops === undefined) this.options.input?.makeDynamic();
    if (pushes === undefined) this.options.output?.makeDynamic();
  }

  /** At the end of the firing. */
  finish(): void {
    this.options.input?.finish();
    this.options.output?.finish();
  }

  site(kind: SiteKind, span: Span | undefined, limit = 0): number {
    return this.options.site({ kind, node: this.options.node, span, limit });
  }

  /** Names for a value of a type, that can be assigned. */
  variables(type: IrType): Slot[] {
    return placesOf(type).map(({ kind }) => {
      const name = this.w.name('v');
      this.w.emit(this.dialect.variable(kind, name, this.dialect.literal(kind, 0)));
      return { ex: { text: name, kind, stable: false }, isVariable: true, depth: this.w.depth };
    });
  }
}

export const intType = scalar('int');
export type Block = Extract<IrStatement, { kind: 'block' }>;
