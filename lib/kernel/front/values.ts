// Values while a function is compiled: what is known now stays a value of JavaScript, what depends on data is an expression.
import type { FunctionError } from '../../core/errors.ts';
import type { BinaryOp, Expression, Local, Statement } from '../ir.ts';
import type { FunctionNode, Node } from './source.ts';

/** A number or a condition that depends on data. */
export interface Computed {
  readonly kind: 'computed';
  readonly e: Expression;
}

/** A number or a truth value that is known while the function is compiled. */
export interface Known {
  readonly kind: 'known';
  readonly value: number | boolean;
}

/** An array of fixed length. In functions that assign elements, each is a local variable. */
export interface Tuple {
  readonly kind: 'tuple';
  readonly items: readonly Staged[];
}

export interface Record {
  readonly kind: 'record';
  readonly fields: ReadonlyMap<string, Staged>;
}

/** A function of the user's, with the variables that it sees. */
export interface Closure {
  readonly kind: 'closure';
  readonly name: string;
  readonly node: FunctionNode;
  readonly scope: Scope;
}

/** A function of the library or the client. */
export interface Builtin {
  readonly kind: 'builtin';
  readonly name: string;
  readonly apply: (args: readonly Staged[], at: Node, to: Services) => Staged;
}

/** A number or condition that is kept in a local, so that it can be assigned. */
export interface Cell {
  readonly kind: 'cell';
  readonly local: Local;
}

/** What functions of the library need of the compiler. */
export interface Services {
  readonly precision: 'f32' | 'f64';
  error(at: Pick<Node, 'start'>, what: string, hint: string): FunctionError;
  /** A number, or an error. */
  numeric(value: Staged, at: Node): Known | Computed;
  expression(value: Staged, at: Node): Expression;
  /** A local with the value of an expression. */
  local(e: Expression): Local;
  arithmetic(op: BinaryOp, left: Staged, right: Staged, at: Node): Staged;
}

export type Staged = Computed | Known | Tuple | Record | Closure | Builtin | Cell;

export const known = (value: number | boolean): Known => ({ kind: 'known', value });
export const computed = (e: Expression): Computed => ({ kind: 'computed', e });
export const tuple = (items: readonly Staged[]): Tuple => ({ kind: 'tuple', items });
export const record = (fields: Iterable<readonly [string, Staged]>): Record => ({ kind: 'record', fields: new Map(fields) });

const sizes = new WeakMap<Staged, number>();

/** Numbers in a value; those that it has several times count each time. */
export function sizeOf(value: Staged): number {
  if (value.kind !== 'tuple' && value.kind !== 'record') return 1;
  let size = sizes.get(value);
  if (size === undefined) {
    size = 1;
    for (const part of value.kind === 'tuple' ? value.items : value.fields.values()) size += sizeOf(part);
    sizes.set(value, size);
  }
  return size;
}

/** What a value is, in words. */
export function describe(value: Staged): string {
  switch (value.kind) {
    case 'known': return typeof value.value === 'number' ? 'a number' : 'a truth value';
    case 'computed': return value.e.type === 'bool' ? 'a truth value' : 'a number';
    case 'cell': return value.local.type === 'bool' ? 'a truth value' : 'a number';
    case 'tuple': return `an array of ${value.items.length}`;
    case 'record': return `an object with ${[...value.fields.keys()].join(', ') || 'no fields'}`;
    default: return `the function ${value.name}`;
  }
}

/** The names of an object's fields, as a hint. */
export function namesOf({ fields }: Record): string {
  return `there are ${[...fields.keys()].join(', ') || 'none'}`;
}

export interface Binding {
  /** Changes with the first assignment of a variable that was declared without a value. */
  value: Staged;
  /** `let`: may be assigned. */
  readonly isVariable: boolean;
  /** The call in which it was declared: only that one may assign it. */
  readonly owner: object;
  /** An array whose elements that call may assign. */
  readonly isOwn?: boolean;
  /** What a variable was declared with, while it has not been assigned; and the loops around its declaration. */
  constant?: { readonly value: number; readonly loops: number } | undefined;
  /** A variable that has been neither assigned nor read: the statement that makes it a number, NaN. */
  unset?: Statement | undefined;
}

/** The names of a block, and those around it. */
export class Scope {
  readonly #names = new Map<string, Binding>();
  readonly #outer: Scope | undefined;

  constructor(outer?: Scope) {
    this.#outer = outer;
  }

  find(name: string): Binding | undefined {
    return this.#names.get(name) ?? this.#outer?.find(name);
  }

  /** Whether this block itself declares the name. */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  declare(name: string, binding: Binding): void {
    this.#names.set(name, binding);
  }
}
