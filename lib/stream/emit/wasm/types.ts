// Types of generated expressions, read off their text: fround() is a single, literals with a point are doubles, the rest follows.
import type { Expression, Literal, Node } from 'acorn';
import type { Kind } from '../layout.ts';
import type { Signature, WasmType } from './binary.ts';

/** As types of WebAssembly; integers also without sign. */
export type ValueType = WasmType | 'u';

export interface Variable {
  readonly local: number;
  readonly type: ValueType;
}

/** What a type is in WebAssembly. */
export const plainType = (type: ValueType): WasmType => (type === 'u' ? 'i' : type);

/** An array of the program: where it lies in memory, or in the part of memory that each thread has of its own. */
export interface ArrayPlace {
  readonly kind: Kind;
  readonly at: number;
  readonly isOwn: boolean;
}

export interface Callee {
  readonly index: number;
  readonly signature: Signature;
  /** The result has no sign. */
  readonly isUnsigned?: boolean;
}

/** What generated code may name. */
export interface Names {
  array(name: string): ArrayPlace | undefined;
  /** The kind of an external stream's array. */
  external(name: string): Kind | undefined;
  callee(name: string): Callee | undefined;
}

/** Generated code that this stage does not know: an error of ours. */
export function unknown(node: Node): never {
  throw new Error(`generated code holds what WebAssembly is not made of: ${node.type} at ${node.start}`);
}

export function isIntegral(e: Literal): boolean {
  return typeof e.value === 'number' && /^\d+$/.test(e.raw ?? '') && e.value <= 0x80000000;
}

export const comparisons: ReadonlySet<string> = new Set(['===', '!==', '<', '<=', '>', '>=']);
const bitwise: ReadonlySet<string> = new Set(['|', '&', '^', '<<', '>>']);
/** Functions of Math that give what they are given. */
export const same: ReadonlySet<string> = new Set(['abs', 'ceil', 'floor', 'max', 'min', 'wl_rint']);

/** Name of what is called: a function of Math or of the program. */
export function calleeName(callee: Node): string {
  const node = callee as Expression;
  if (node.type === 'Identifier') return node.name;
  if (node.type === 'MemberExpression' && node.property.type === 'Identifier') return node.property.name;
  return unknown(node);
}

/** The value of a literal. */
export function literalValue(e: Node): number | undefined {
  const node = e as Expression;
  if (node.type === 'Literal') return node.value as number;
  if (node.type === 'UnaryExpression' && node.operator === '-' && node.argument.type === 'Literal') return -(node.argument.value as number);
  if (node.type === 'CallExpression' && node.callee.type === 'Identifier' && node.callee.name === 'fround') {
    const inner = literalValue(node.arguments[0]!);
    return inner === undefined ? undefined : Math.fround(inner);
  }
  return undefined;
}

export const isInt = (type: ValueType): boolean => type === 'i' || type === 'u';

/** Types of the expressions of one function. */
export class Types {
  readonly #names: Names;
  readonly #variable: (name: string) => ValueType | undefined;
  readonly #known = new Map<Node, ValueType>();

  constructor(names: Names, variable: (name: string) => ValueType | undefined) {
    this.#names = names;
    this.#variable = variable;
  }

  of(node: Node): ValueType {
    let found = this.#known.get(node);
    if (found === undefined) this.#known.set(node, found = this.#find(node as Expression));
    return found;
  }

  /** Type of what an array holds. */
  element(object: Node): WasmType {
    const { name } = object as Node & { name: string };
    return this.#names.array(name)?.kind ?? this.#names.external(name) ?? unknown(object);
  }

  /** What two values become together. */
  joined(a: Node, b: Node): ValueType {
    const [left, right] = [this.of(a), this.of(b)];
    if (left === right) return left;
    return isInt(left) && isInt(right) ? 'i' : 'd';
  }

  #find(e: Expression): ValueType {
    switch (e.type) {
      case 'Literal': return isIntegral(e) ? 'i' : 'd';
      case 'Identifier': return e.name === 'NaN' || e.name === 'Infinity' ? 'd' : this.#variable(e.name) ?? unknown(e);
      case 'UnaryExpression': return e.operator === '+' ? 'd' : e.operator === '-' ? this.of(e.argument) : 'i';
      case 'UpdateExpression': return this.of(e.argument);
      case 'LogicalExpression': return 'i';
      case 'ConditionalExpression': return this.joined(e.consequent, e.alternate);
      case 'BinaryExpression': return this.#binary(e.operator, e.left, e.right);
      case 'MemberExpression': return this.element(e.object);
      case 'CallExpression': return this.#call(calleeName(e.callee), e.arguments, e);
      default: return unknown(e);
    }
  }

  #binary(operator: string, left: Node, right: Node): ValueType {
    if (comparisons.has(operator) || bitwise.has(operator)) return 'i';
    if (operator === '>>>') return 'u';
    const isWhole = isInt(this.of(left)) && isInt(this.of(right));
    return isWhole && operator !== '/' ? 'i' : 'd';
  }

  #call(name: string, args: readonly Node[], e: Expression): ValueType {
    if (name === 'fround') return 'f';
    if (name === 'imul' || name === 'wl_int' || name === 'wl_at') return 'i';
    if (name === 'sqrt') return 'd';
    if (same.has(name)) {
      const [first, second = first] = args;
      const type = this.joined(first!, second!);
      return type === 'u' ? 'i' : type;
    }
    const callee = this.#names.callee(name) ?? unknown(e);
    return callee.isUnsigned === true ? 'u' : callee.signature.result ?? 'i';
  }
}
