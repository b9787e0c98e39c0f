// Types of the checker: names for messages, equality, implicit conversion and common types.
import type { Expression } from '../ast.ts';
import type { ScalarName, VectorName } from '../ir.ts';
import type { Type } from './checked.ts';

const scalar = (name: ScalarName): Type => ({ kind: 'scalar', name });
const vector = (name: VectorName): Type => ({ kind: 'vector', name });

/** One object for each type that has no parts. */
export const basic = {
  bit: scalar('bit'), boolean: scalar('boolean'), int: scalar('int'), float: scalar('float'), double: scalar('double'),
  complex: vector('complex'), float2: vector('float2'), float3: vector('float3'), float4: vector('float4'),
  string: { kind: 'string' }, void: { kind: 'void' }, unknown: { kind: 'unknown' },
} as const satisfies Record<string, Type>;

const ranks: Readonly<Record<ScalarName, number>> = { boolean: -1, bit: 0, int: 1, float: 2, double: 3 };
const byRank = [basic.bit, basic.int, basic.float, basic.double] as const;

/** Place of a numeric scalar in bit < int < float < double; -1 for everything else. */
export const rankOf = (type: Type): number => (type.kind === 'scalar' ? ranks[type.name] : -1);
export const isUnknown = (type: Type): boolean => type.kind === 'unknown';
export const isScalar = (type: Type, name: ScalarName): boolean => type.kind === 'scalar' && type.name === name;
export const isComplex = (type: Type): boolean => type.kind === 'vector' && type.name === 'complex';
/** Whether a value is int or bit. */
export const isWhole = (type: Type): boolean => isScalar(type, 'int') || isScalar(type, 'bit');
export const isNumeric = (type: Type): boolean => rankOf(type) >= 0;

/** The value of an int expression of literals; undefined if it depends on anything or overflows. */
export function constantOf(expression: Expression | undefined): number | undefined {
  if (expression === undefined) return undefined;
  if (expression.kind === 'int') return expression.value;
  if (expression.kind === 'unary' && expression.operator === '-') {
    const value = constantOf(expression.operand);
    return value === undefined ? undefined : -value | 0;
  }
  if (expression.kind !== 'binary') return undefined;
  const left = constantOf(expression.left);
  const right = constantOf(expression.right);
  if (left === undefined || right === undefined) return undefined;
  const value = expression.operator === '+' ? left + right : expression.operator === '-' ? left - right
    : expression.operator === '*' ? left * right : Number.NaN;
  return Number.isInteger(value) && Math.abs(value) < 2 ** 31 ? value : undefined;
}

/** Number of elements of an array, where it is known. */
export const lengthOf = (type: Extract<Type, { kind: 'array' }>): number | undefined => type.count ?? constantOf(type.length);

/** A type as the language writes it; lengths that are no constants show as `[…]`. */
export function describe(type: Type): string {
  switch (type.kind) {
    case 'scalar': case 'vector': return type.name;
    case 'struct': return type.declaration.name;
    case 'portal': return `portal<${type.receiver?.name ?? '?'}>`;
    case 'array': {
      let lengths = '';
      let element: Type = type;
      for (; element.kind === 'array'; element = element.element) {
        lengths += `[${lengthOf(element) ?? (element.length === undefined ? '' : '…')}]`;
      }
      return describe(element) + lengths;
    }
    default: return type.kind;
  }
}

/** Whether two types are the same, as far as lengths of arrays are known. */
export function same(a: Type, b: Type): boolean {
  if (a.kind === 'unknown' || b.kind === 'unknown') return true;
  if (a.kind === 'array' && b.kind === 'array') {
    const [m, n] = [lengthOf(a), lengthOf(b)];
    return (m === undefined || n === undefined || m === n) && same(a.element, b.element);
  }
  if ((a.kind === 'scalar' && b.kind === 'scalar') || (a.kind === 'vector' && b.kind === 'vector')) return a.name === b.name;
  if (a.kind === 'struct' && b.kind === 'struct') return a.declaration === b.declaration;
  if (a.kind === 'portal' && b.kind === 'portal') return a.receiver === b.receiver || !a.receiver || !b.receiver;
  return a.kind === b.kind;
}

/** Whether a value converts by itself: bit to int to float to double, and bit, int and float to complex. */
export function converts(from: Type, to: Type): boolean {
  if (same(from, to)) return true;
  const rank = rankOf(from);
  if (rank < 0) return false;
  return isComplex(to) ? rank <= ranks.float : rankOf(to) > rank;
}

/** Whether a cast can make one of the other: between numbers, boolean to numbers, and wherever it converts by itself. */
export function castable(from: Type, to: Type): boolean {
  return converts(from, to) || (from.kind === 'scalar' && to.kind === 'scalar' && (to.name !== 'boolean' || isWhole(from))) ||
    (from.kind === 'scalar' && isComplex(to) && from.name !== 'boolean');
}

/** The narrowest type that holds both; undefined if there is none. */
export function common(a: Type, b: Type): Type | undefined {
  if (a.kind === 'unknown' || b.kind === 'unknown') return basic.unknown;
  // A boolean beside a number counts as 0 or 1.
  const rank = a.kind === 'scalar' && b.kind === 'scalar' ? Math.max(rankOf(a), rankOf(b)) : -1;
  if (rank >= 0) return byRank[rank];
  if (converts(a, b)) return b;
  return converts(b, a) ? a : undefined;
}

/** Whether an int expression is 0 or 1 by its form, so that it may stand for a bit. */
export function fitsBit(expression: Expression, typeOf: (node: Expression) => Type): boolean {
  if (expression.kind === 'int') return expression.value === 0 || expression.value === 1;
  if (isScalar(typeOf(expression), 'bit')) return true;
  if (expression.kind === 'conditional') return fitsBit(expression.then, typeOf) && fitsBit(expression.otherwise, typeOf);
  const logical = expression.kind === 'binary' && ['&', '|', '^'].includes(expression.operator);
  return logical && fitsBit(expression.left, typeOf) && fitsBit(expression.right, typeOf);
}

/** A type whose missing lengths are taken from the elements that a variable begins with: `int[] a = {1, 2}`. */
export function withCounts(type: Type, value: Expression | undefined): Type {
  if (type.kind !== 'array' || value?.kind !== 'array-literal') return type;
  const element = withCounts(type.element, value.elements[0]);
  return type.length === undefined ? { ...type, element, count: value.elements.length } : { ...type, element };
}
