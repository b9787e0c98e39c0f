// Compiles a user's function to the kernel representation, for given arguments: what is known while it is compiled is computed, loops over
// it are unrolled, functions are inlined, and the rest becomes statements. Results are those of the function in JavaScript, with each
// operation rounded to the precision, and Math's functions as math/ has them.
import type * as acorn from 'acorn';
import {
  binary, bool, constant, get, set, type BinaryOp, type Body, type Expression, type Label, type Local, type Statement,
} from '../ir.ts';
import type { FunctionError } from '../../core/errors.ts';
import { elementAt, required } from '../../core/known.ts';
import { assignsElements } from './assigned.ts';
import { onKnown } from './mathematics.ts';
import type { FunctionSource, Node } from './source.ts';
import { type Binding, computed, describe, known, record, type Scope, type Services, sizeOf, type Staged, tuple } from './values.ts';

/** One call of a function. */
export interface Frame {
  readonly end: Label;
  /** Variables (`var`) that belong to the whole function, not to the block in which they are declared. */
  readonly hoisted: ReadonlySet<string>;
  /** Names that the function assigns. */
  readonly assigned: ReadonlySet<string>;
  /** Whether a local was made by this call. */
  readonly isOwn: (local: Local) => boolean;
  /** What the function returns; cells if several statements return. */
  result: Staged | undefined;
}

/** How statements end: whether the next one is reached, and the labels to which they leave. */
export interface Flow {
  readonly falls: boolean;
  readonly exits: ReadonlySet<Label>;
}

export interface Context {
  readonly scope: Scope;
  readonly to: Lowering;
  readonly frame: Frame;
  /** Loops around, the innermost last. */
  readonly loops: readonly { readonly end: Label; readonly next: Label }[];
  /** Whether these are the statements of the function itself, under no condition. */
  readonly isOutermost: boolean;
}

/** How expressions and statements are compiled: they contain each other, and functions both. */
export interface Rules {
  readonly evaluate: (node: acorn.Expression, scope: Scope, to: Lowering) => Staged;
  readonly run: (statements: readonly acorn.Statement[], context: Context) => Flow;
  /** Compiles an assignment, and gives its value. */
  readonly assign: (node: Assigning, scope: Scope, to: Lowering, isUsed?: boolean) => Staged;
}

export type Assigning = acorn.AssignmentExpression | acorn.UpdateExpression;

/** What a call has become: the statements, and the result. */
export interface Called {
  readonly body: Body;
  readonly value: Staged;
  readonly at: Node;
  /** Whether a local is the call's own: made while it was compiled. */
  readonly isOwn: (local: Local) => boolean;
}

/** Statements that a function may become, and calls within each other. */
const mostStatements = 100_000, mostDepth = 64;
/** Statements, calls and trips of loops that are gone through. */
const mostWork = 3_000_000;
/** Trips of loops within each other. */
const mostTrips = 100_000_000;

export class Lowering implements Services {
  readonly precision: 'f32' | 'f64';
  readonly rules: Rules;
  /** Whether the function assigns elements of arrays: all of them are variables then. */
  readonly assignsElements: boolean;
  /** Takes the code of a call in its place, and gives the result; undefined leaves it where it is. Default: all calls are inlined. */
  onCall: ((called: Called) => Staged | undefined) | undefined;
  /** The call that is being compiled. */
  frame: Frame | undefined;
  /** Elements of arrays of which there are copies that JavaScript does not make. */
  readonly #copied = new WeakSet<Local>();
  /** The function whose text is being compiled. */
  #source: FunctionSource;
  #body: Statement[] = [];
  readonly #made = new WeakMap<Local, number>();
  #statements = 0;
  #spent = 0;
  #trips = 1;
  #names = 0;
  #depth = 0;

  /** @param others other functions that it may call: see {@link Lowering.within} */
  constructor(source: FunctionSource, precision: 'f32' | 'f64', rules: Rules, others: readonly FunctionSource[] = []) {
    this.#source = source;
    this.precision = precision;
    this.rules = rules;
    this.assignsElements = [source, ...others].some(({ node }) => assignsElements(node));
  }

  get body(): Body {
    return this.#body;
  }

  error(at: Pick<Node, 'start'>, what: string, hint: string): FunctionError {
    return this.#source.error(at, what, hint);
  }

  emit(statement: Statement, at: Pick<Node, 'start'>): void {
    if (++this.#statements > mostStatements) {
      throw this.error(at, `the function becomes more than ${mostStatements} statements`, 'use shorter loops');
    }
    this.#body.push(statement);
  }

  /** Counts statements, calls and trips of loops that are gone through, be there code for them or not. */
  spend(at: Pick<Node, 'start'>): void {
    if (++this.#spent > mostWork) throw this.error(at, 'compiling the function takes too long', 'use shorter loops and fewer calls');
  }

  /** Compiles the body of a loop that stays one. */
  repeated<T>(trips: number, at: Pick<Node, 'start'>, work: () => T): T {
    const outer = this.#trips;
    this.#trips *= trips;
    try {
      if (this.#trips > mostTrips) {
        throw this.error(at, `loops within each other of more than ${mostTrips} trips in all`, 'use shorter loops');
      }
      return work();
    } finally {
      this.#trips = outer;
    }
  }

  /** What `work` emits, apart from the rest. */
  capture<T>(work: () => T): { readonly value: T; readonly body: Statement[] } {
    const outer = this.#body;
    const body: Statement[] = this.#body = [];
    try {
      return { value: work(), body };
    } finally {
      this.#body = outer;
    }
  }

  label(name: string): Label {
    return { name: `${name}_${this.#names++}` };
  }

  newLocal(type: Expression['type'], name = 'v'): Local {
    const local = { name: `${name.replace(/\W/g, '_')}_${this.#names}`, type };
    this.#made.set(local, this.#names++);
    return local;
  }

  /** Tells locals that are made from now on from others. */
  mark(): (local: Local) => boolean {
    const from = this.#names;
    return (local) => (this.#made.get(local) ?? -1) >= from;
  }

  /** A local with the value of an expression. */
  local(e: Expression, name?: string, at: Pick<Node, 'start'> = this.#source.node): Local {
    const local = this.newLocal(e.type, name);
    this.emit(set(local, e), at);
    return local;
  }

  /** Compiles a part of another function's text. */
  within<T>(source: FunctionSource, work: () => T): T {
    const outer = this.#source;
    this.#source = source;
    try {
      return work();
    } finally {
      this.#source = outer;
    }
  }

  /** Compiles the body of a call. */
  framed<T>(frame: Frame, work: () => T): T {
    const outer = this.frame;
    this.frame = frame;
    try {
      return work();
    } finally {
      this.frame = outer;
    }
  }

  /** Inlines a call. */
  inside<T>(at: Node, work: () => T): T {
    this.spend(at);
    if (++this.#depth > mostDepth) {
      throw this.error(at, `calls are nested more than ${mostDepth} times`, 'functions must not call themselves');
    }
    try {
      return work();
    } finally {
      --this.#depth;
    }
  }

  // Values.

  /** A number, or an error. Cells are read now. */
  numeric(value: Staged, at: Node): Extract<Staged, { kind: 'known' | 'computed' }> {
    const read = this.read(value);
    if (read.kind === 'known' && typeof read.value === 'number') return read;
    if (read.kind === 'computed' && read.e.type !== 'bool') return read;
    if (read.kind === 'closure' || read.kind === 'builtin') {
      throw this.error(at, `${describe(value)} in place of a number`, `call it: ${read.name}()`);
    }
    throw this.error(at, `${describe(value)} in place of a number`, read.kind === 'known' || read.kind === 'computed'
      ? 'write condition ? 1 : 0 to count a truth value' : 'only numbers can be computed with');
  }

  condition(value: Staged, at: Node): Extract<Staged, { kind: 'known' | 'computed' }> {
    const read = this.read(value);
    if (read.kind === 'known' && typeof read.value === 'boolean') return read;
    if (read.kind === 'computed' && read.e.type === 'bool') return read;
    throw this.error(at, `${describe(value)} in place of a condition`, 'compare it, as in x !== 0');
  }

  /** What a cell holds now; other values as they are. */
  read(value: Staged): Staged {
    return value.kind === 'cell' ? computed(get(value.local)) : value;
  }

  /** The expression of a number or truth value. */
  expression(value: Staged, at: Node): Expression {
    const read = this.read(value);
    if (read.kind === 'computed') return read.e;
    if (read.kind === 'known') {
      if (typeof read.value === 'boolean') return bool(read.value);
      return constant(this.precision, this.precision === 'f32' ? Math.fround(read.value) : read.value);
    }
    throw this.error(at, `${describe(value)} in place of a number`, 'only numbers can be computed with');
  }

  arithmetic(op: BinaryOp, left: Staged, right: Staged, at: Node): Staged {
    const [a, b] = [this.numeric(left, at), this.numeric(right, at)];
    if (a.kind === 'known' && b.kind === 'known') return known(onKnown(op, Number(a.value), Number(b.value)));
    return computed(binary(op, this.expression(a, at), this.expression(b, at)));
  }

  /** A value that later assignments do not change: numbers that are not constants go into locals. */
  settle(value: Staged, name: string, at: Node): Staged {
    switch (value.kind) {
      case 'cell': return computed(get(this.local(get(value.local), name, at)));
      case 'computed': return value.e.kind === 'constant' ? value : computed(get(this.local(value.e, name, at)));
      default: return value;
    }
  }

  /** Cells in the shape of a value: what several ways through the code set. */
  cellsLike(value: Staged, at: Node): Staged {
    switch (value.kind) {
      case 'tuple': return tuple(value.items.map((item) => this.cellsLike(item, at)));
      case 'record': return record([...value.fields].map(([name, field]) => [name, this.cellsLike(field, at)] as const));
      case 'closure': case 'builtin': throw this.error(at, 'a function that depends on a condition', 'call it under the condition');
      default: return { kind: 'cell', local: this.newLocal(this.expression(value, at).type, 'r') };
    }
  }

  /** An array or object, unless it has too many numbers: arrays of arrays of arrays double easily. */
  bounded<T extends Staged>(value: T, at: Pick<Node, 'start'>): T {
    if (sizeOf(value) > mostStatements) throw this.error(at, `an array of more than ${mostStatements} numbers`, 'use smaller ones');
    return value;
  }

  /** A value with everything that can be assigned read now; arrays whose elements are assigned stay themselves. */
  snapshot(value: Staged, name: string, at: Node): Staged {
    if (value.kind === 'cell') return this.settle(value, name, at);
    if (this.assignsElements) return value;
    if (value.kind === 'tuple') return tuple(value.items.map((item) => this.snapshot(item, name, at)));
    return value.kind === 'record' ? record([...value.fields].map(([key, field]) => [key, this.snapshot(field, key, at)] as const)) : value;
  }

  /** A local for a variable without a value, and the statement that sets it to NaN. */
  unsetLocal(name: string, at: Node): { readonly local: Local; readonly statement: Statement } {
    const local = this.newLocal(this.precision, name);
    const statement = set(local, constant(this.precision, NaN));
    this.emit(statement, at);
    return { local, statement };
  }

  /** Gives a variable without a value the type of the first one that it gets, if that is no number. Where it was declared, it is 0. */
  typed(binding: Binding, unset: Statement, value: Staged, at: Node): void {
    const read = this.read(value);
    if (read.kind === 'computed' ? read.e.type !== 'bool' : read.kind === 'known' && typeof read.value === 'number') return;
    if (this.assignsElements && read.kind !== 'computed' && read.kind !== 'known') return;
    const cells = this.cellsLike(read, at);
    const zero = (place: Staged): Statement[] => {
      if (place.kind === 'tuple') return place.items.flatMap(zero);
      if (place.kind === 'record') return [...place.fields.values()].flatMap(zero);
      if (place.kind !== 'cell') return [];
      return [set(place.local, place.local.type === 'bool' ? bool(false) : constant(this.precision, NaN))];
    };
    Object.assign(unset, { kind: 'block', label: this.label('unset'), body: zero(cells) });
    binding.value = cells;
  }

  /**
   * Keeps the elements of an array or object from being assigned, because a value that depends on a condition is a copy of them here,
   * and the array itself in JavaScript.
   */
  keep(value: Staged, isFree: (local: Local) => boolean = () => false): void {
    const items = value.kind === 'tuple' ? value.items : value.kind === 'record' ? [...value.fields.values()] : [];
    for (const item of items) {
      if (item.kind !== 'cell') this.keep(item, isFree);
      else if (!isFree(item.local)) this.#copied.add(item.local);
    }
  }

  isKept(local: Local): boolean {
    return this.#copied.has(local);
  }

  /** Sets cells of one shape. */
  assign(to: Staged, value: Staged, at: Node): void {
    if (to.kind === 'cell') {
      const e = this.expression(value, at);
      if (e.type !== to.local.type) {
        throw this.error(at, `${describe(value)} in place of ${describe(to)}`, 'a variable keeps one type');
      }
      this.emit(set(to.local, e), at);
    } else if (to.kind === 'tuple' && value.kind === 'tuple' && to.items.length === value.items.length) {
      to.items.forEach((item, i) => { this.assign(item, elementAt(value.items, i), at); });
    } else if (to.kind === 'record' && value.kind === 'record' && to.fields.size === value.fields.size
      && [...to.fields.keys()].every((name) => value.fields.has(name))) {
      for (const [name, field] of to.fields) this.assign(field, required(value.fields.get(name)), at);
    } else {
      throw this.error(at, `${describe(value)} here and ${describe(to)} elsewhere`,
        'every way through the code must give the same kind of value');
    }
  }
}
