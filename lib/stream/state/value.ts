// What is known of a number in a firing before the firing: how it follows from the fields of the filter and from the input.
import type { Expression, Type } from '../../kernel/ir.ts';
import { binaryOn, compared, conversionOf, fromWords, mathOf, unaryOn, wordOf } from '../../kernel/semantics.ts';

/** Inclusive bounds of a 32-bit integer. */
export type Bounds = readonly [low: number, high: number];

/**
 * A 32-bit integer that is a sum of elements of the state, each times a factor that does not depend on the state, and of a part that does
 * not; modulo 2^32.
 */
export interface Sum {
  /** A power of two if it only has the same remainder as such a sum; 0 if it is equal. */
  readonly modulus: number;
  /** Factors by element and the rest, where they are the same in all firings. */
  readonly factors?: ReadonlyMap<number, number>;
  readonly rest?: number;
}

export interface Value {
  /** It is one of these; one alone: it is known. */
  readonly choices?: readonly number[];
  /** The elements of the state that it may depend on: a bit for each. */
  readonly from: bigint;
  /** Whether it may depend on the input. */
  readonly isInput: boolean;
  /** It is this element as it was before the firing. */
  readonly copy?: number;
  /** Each of its bits follows from the same bit of one element, and from what does not depend on the state. */
  readonly isBitwise: boolean;
  readonly sum?: Sum;
  /** Of floats, rounding aside: it is the sum of elements of the state times these factors, and of a part that does not depend on it. */
  readonly factors?: ReadonlyMap<number, number>;
  readonly bounds: Bounds;
  /** While a loop is examined: it is the loop's number plus this. */
  readonly shift?: number;
}

const all: Bounds = [-(2 ** 31), 2 ** 31 - 1];
/** Numbers of which a value may be one, and combinations of such that are tried. */
export const mostChoices = 16;
const mostPairs = 256;
const plainSum: Sum = { modulus: 0, factors: new Map() };

/** A number that follows from the input alone. */
export const given: Value = { from: 0n, isInput: true, isBitwise: true, sum: plainSum, bounds: all };

export function known(value: number): Value {
  return {
    choices: [value], from: 0n, isInput: false, isBitwise: true, sum: { modulus: 0, factors: new Map(), rest: value },
    bounds: Number.isInteger(value) ? [value, value] : all,
  };
}

/** An element of the state as it is before the firing. */
export function elementValue(element: number): Value {
  return {
    from: 1n << BigInt(element), isInput: false, copy: element, isBitwise: true, factors: new Map([[element, 1]]),
    sum: { modulus: 0, factors: new Map([[element, 1]]), rest: 0 }, bounds: all,
  };
}

/** One of several numbers, whatever decides which. */
export function oneOf(choices: readonly number[]): Value {
  return choices.length === 1 ? known(choices[0] as number) : { ...given, choices, bounds: [Math.min(...choices), Math.max(...choices)] };
}

/** What is only known to depend on these. */
export function unclear(...parts: readonly Value[]): Value {
  const from = parts.reduce((sum, part) => sum | part.from, 0n);
  const isInput = parts.some((part) => part.isInput);
  return from === 0n ? { ...given, isInput } : { from, isInput, isBitwise: false, bounds: all };
}

export function knownNumber({ choices }: Value): number | undefined {
  return choices?.length === 1 ? choices[0] : undefined;
}

const isFree = ({ from }: Value): boolean => from === 0n;

function narrower(a: number, b: number): number {
  return a === 0 ? b : b === 0 ? a : Math.min(a, b);
}

function boundsOf(low: number, high: number): Bounds {
  return low < all[0] || high > all[1] ? all : [low, high];
}

/** Several values of which a condition picks one. */
export function either(a: Value, b: Value, condition: Value): Value {
  if (a === b) return a;
  const choices = a.choices === undefined || b.choices === undefined ? undefined
    : [...new Set([...a.choices, ...b.choices])].sort((x, y) => x - y);
  const bounds: Bounds = [Math.min(a.bounds[0], b.bounds[0]), Math.max(a.bounds[1], b.bounds[1])];
  const base = unclear(a, b, condition);
  const isVague = choices === undefined || choices.length > mostChoices
    || [...a.choices ?? [], ...b.choices ?? []].some((x) => Number.isNaN(x) || Object.is(x, -0));
  const some = isVague ? {} : { choices };
  const sum = a.sum && b.sum && eitherSum(a.sum, b.sum);
  // The same sum of the same known rest: it does not matter which.
  const isSame = sum?.modulus === 0 && sum.factors !== undefined && sum.rest !== undefined;
  if (!isFree(condition)) return { ...base, ...some, bounds, ...(isSame && base.from !== 0n ? { sum } : {}) };
  if (a.copy !== undefined && a.copy === b.copy) return { ...a, bounds };
  const isBitwise = a.isBitwise && b.isBitwise && areOne(a, b);
  const [left, right] = [factorsOf(a), factorsOf(b)];
  const factors = left !== undefined && right !== undefined && sameFactors(left, right) ? { factors: left } : {};
  return { ...base, ...some, isBitwise, bounds, ...(sum === undefined ? {} : { sum }), ...factors };
}

const noFactors: ReadonlyMap<number, number> = new Map();
const factorsOf = (value: Value): ReadonlyMap<number, number> | undefined => (isFree(value) ? noFactors : value.factors);

function sameFactors(a: ReadonlyMap<number, number>, b: ReadonlyMap<number, number>): boolean {
  return [...a.keys(), ...b.keys()].every((element) => (a.get(element) ?? 0) === (b.get(element) ?? 0));
}

/** What an operation on floats makes of factors. */
function floatFactors(e: Expression, parts: readonly Value[]): ReadonlyMap<number, number> | undefined {
  const [a, b] = parts as [Value, Value | undefined];
  const [left, right] = [factorsOf(a), b && factorsOf(b)];
  const scaled = (of: ReadonlyMap<number, number> | undefined, by: number | undefined): ReadonlyMap<number, number> | undefined =>
    (of === undefined || by === undefined || !Number.isFinite(by) ? undefined : new Map([...of].map(([element, x]) => [element, x * by])));
  if (e.kind === 'convert') return e.operand.type === 'f32' || e.operand.type === 'f64' ? left : undefined;
  if (e.kind === 'unary') return e.op === 'neg' ? scaled(left, -1) : undefined;
  if (e.kind !== 'binary' || b === undefined) return undefined;
  if (e.op === 'mul') return isFree(a) ? scaled(right, knownNumber(a)) : isFree(b) ? scaled(left, knownNumber(b)) : undefined;
  if (e.op === 'div') return isFree(b) ? scaled(left, 1 / (knownNumber(b) ?? NaN)) : undefined;
  if ((e.op !== 'add' && e.op !== 'sub') || left === undefined || right === undefined) return undefined;
  const made = new Map(left);
  for (const [element, x] of right) made.set(element, (made.get(element) ?? 0) + (e.op === 'add' ? x : -x));
  return made;
}

function eitherSum(a: Sum, b: Sum): Sum {
  const modulus = narrower(a.modulus, b.modulus);
  const { factors, rest } = a;
  const isAlike = factors !== undefined && b.factors !== undefined
    && [...factors.keys(), ...b.factors.keys()].every((element) => (factors.get(element) ?? 0) === (b.factors?.get(element) ?? 0));
  return { modulus, ...(isAlike ? { factors } : {}), ...(rest !== undefined && rest === b.rest ? { rest } : {}) };
}

/** Whether together they depend on at most one element. */
function areOne(a: Value, b: Value): boolean {
  const from = a.from | b.from;
  return (from & (from - 1n)) === 0n || from === 0n;
}

/** All results of an operation on known numbers; undefined if there are too many, or if one has none. */
function folded(parts: readonly Value[], f: (...numbers: number[]) => number | undefined): readonly number[] | undefined {
  let rows: number[][] = [[]];
  for (const { choices } of parts) {
    if (choices === undefined || rows.length * choices.length > mostPairs) return undefined;
    rows = rows.flatMap((row) => choices.map((x) => [...row, x]));
  }
  const made = new Set<number>();
  for (const row of rows) {
    const x = f(...row);
    if (x === undefined || Number.isNaN(x)) return undefined;
    made.add(x);
  }
  // A set takes -0 for 0.
  if (made.has(0) && rows.some((row) => Object.is(f(...row), -0))) return undefined;
  return made.size > mostChoices ? undefined : [...made].sort((x, y) => x - y);
}

/** The operation of an expression on numbers; undefined if there is none. */
function operation(e: Expression): ((...numbers: number[]) => number | undefined) | undefined {
  const typed = (type: Type): 'i32' | 'f32' | 'f64' | 'bool' | undefined =>
    (type === 'i32' || type === 'f32' || type === 'f64' || type === 'bool' ? type : undefined);
  switch (e.kind) {
    case 'unary': {
      const type = typed(e.type);
      return type && unaryOn(e.op, type);
    }
    case 'binary': {
      const type = typed(e.type);
      const f = type && binaryOn(e.op, type);
      if (type !== 'i32' || (e.op !== 'div' && e.op !== 'rem')) return f;
      return (a = 0, b = 0) => (b === 0 ? undefined : f?.(a, b));
    }
    case 'compare': return typed(e.left.type) && ((a = 0, b = 0) => (compared(e.op, a, b) ? 1 : 0));
    case 'logic': return (a = 0, b = 0) => (e.op === 'and' ? a & b : a | b);
    case 'convert': {
      const [from, to] = [typed(e.operand.type), typed(e.type)];
      return from && to && (from === to ? (a) => a : conversionOf(from, to));
    }
    case 'math': return mathOf(e.name);
    case 'word': return (a = 0) => wordOf(e.part, a);
    case 'words': return (a = 0, b = 0) => fromWords(a, b);
    default: return undefined;
  }
}

/** The value of an expression that has these operands (not: of loads, selections). */
export function combined(e: Expression, parts: readonly Value[]): Value {
  const f = operation(e);
  const choices = f && folded(parts, f);
  const base = unclear(...parts);
  if (choices !== undefined) {
    return choices.length === 1 ? oneOf(choices) : { ...base, choices, bounds: oneOf(choices).bounds };
  }
  if ((e.type === 'f32' || e.type === 'f64') && base.from !== 0n) {
    const factors = floatFactors(e, parts);
    return factors === undefined ? base : { ...base, factors };
  }
  if (e.type !== 'i32' || e.kind !== 'binary') {
    if (e.kind === 'unary' && e.op === 'neg' && e.type === 'i32') return negated(parts[0] as Value, base);
    return base;
  }
  const [a, b] = parts as [Value, Value];
  switch (e.op) {
    case 'add': return added(a, b, 1, base);
    case 'sub': return added(a, b, -1, base);
    case 'mul': return isFree(a) ? times(b, a, base) : isFree(b) ? times(a, b, base) : base;
    case 'shl': {
      const by = knownNumber(b);
      return by === undefined ? base : times(a, known(1 << by), base);
    }
    case 'band': return masked(a, b, base);
    case 'bor': case 'xor': return { ...base, isBitwise: a.isBitwise && b.isBitwise && areOne(a, b) };
    case 'rem': return remainder(a, b, base);
    default: return base;
  }
}

function added(a: Value, b: Value, sign: 1 | -1, base: Value): Value {
  const bounds = sign === 1 ? boundsOf(a.bounds[0] + b.bounds[0], a.bounds[1] + b.bounds[1])
    : boundsOf(a.bounds[0] - b.bounds[1], a.bounds[1] - b.bounds[0]);
  const by = knownNumber(b);
  const moved = by === undefined || a.shift === undefined ? {} : { shift: a.shift + sign * by };
  if (a.sum === undefined || b.sum === undefined) return { ...base, bounds, ...moved };
  const modulus = narrower(a.sum.modulus, b.sum.modulus);
  let factors: Map<number, number> | undefined;
  if (a.sum.factors !== undefined && b.sum.factors !== undefined) {
    factors = new Map(a.sum.factors);
    for (const [element, factor] of b.sum.factors) factors.set(element, ((factors.get(element) ?? 0) + sign * factor) | 0);
  }
  const rest = a.sum.rest === undefined || b.sum.rest === undefined ? undefined : (a.sum.rest + sign * b.sum.rest) | 0;
  const sum: Sum = { modulus, ...(factors === undefined ? {} : { factors }), ...(rest === undefined ? {} : { rest }) };
  return { ...base, bounds, sum, ...moved };
}

function negated(a: Value, base: Value): Value {
  return added(known(0), a, -1, base);
}

function times(a: Value, by: Value, base: Value): Value {
  if (a.sum === undefined || isFree(a)) return base;
  const factor = knownNumber(by);
  if (factor === undefined || a.sum.factors === undefined) return { ...base, sum: { modulus: a.sum.modulus } };
  const factors = new Map([...a.sum.factors].map(([element, x]) => [element, Math.imul(x, factor)]));
  const rest = a.sum.rest === undefined ? {} : { rest: Math.imul(a.sum.rest, factor) };
  return { ...base, sum: { modulus: a.sum.modulus, factors, ...rest } };
}

/** The lower bits of a sum are known modulo a power of two. */
function masked(a: Value, b: Value, base: Value): Value {
  const isBitwise = a.isBitwise && b.isBitwise && areOne(a, b);
  const [mask, x] = knownNumber(b) === undefined ? [knownNumber(a), b] : [knownNumber(b), a];
  if (mask === undefined || mask < 0) return { ...base, isBitwise };
  const bounds: Bounds = [0, mask];
  if (x.sum === undefined || (mask & (mask + 1)) !== 0) return { ...base, isBitwise, bounds };
  return { ...base, isBitwise, bounds, sum: { ...x.sum, modulus: narrower(x.sum.modulus, mask + 1) } };
}

function remainder(a: Value, b: Value, base: Value): Value {
  const by = Math.abs(knownNumber(b) ?? 0);
  if (by === 0 || by > 2 ** 30) return base;
  const bounds: Bounds = [a.bounds[0] >= 0 ? 0 : 1 - by, a.bounds[1] <= 0 ? 0 : by - 1];
  if (a.sum === undefined || (by & (by - 1)) !== 0) return { ...base, bounds };
  return { ...base, bounds, sum: { ...a.sum, modulus: narrower(a.sum.modulus, by) } };
}
