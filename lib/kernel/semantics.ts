// The results of operations on scalars, exactly as ir.ts specifies: the interpreter and constant folding use these.
import type { BinaryOp, CompareOp, ScalarType, UnaryOp, Word } from './ir.ts';

type Kind = ScalarType | 'bool';
type Unary = (a: number) => number;
type Binary = (a: number, b: number) => number;

/** Rounds halves to even; a result of 0 keeps the sign. */
function rint(a: number): number {
  const low = Math.floor(a);
  const rest = a - low;
  const whole = rest < 0.5 || (rest === 0.5 && low % 2 === 0) ? low : rest >= 0.5 ? low + 1 : a;
  return whole === 0 ? a * 0 : whole;
}

const unaryFloat: Readonly<Partial<Record<UnaryOp, Unary>>> = {
  neg: (a) => -a, abs: Math.abs, sqrt: Math.sqrt, floor: Math.floor, ceil: Math.ceil, rint,
};
const unaryInt: Readonly<Partial<Record<UnaryOp, Unary>>> = { neg: (a) => -a | 0, abs: (a) => (a < 0 ? -a | 0 : a) };

const binaryFloat: Readonly<Partial<Record<BinaryOp, Binary>>> = {
  add: (a, b) => a + b, sub: (a, b) => a - b, mul: (a, b) => a * b, div: (a, b) => a / b, rem: (a, b) => a % b,
  min: Math.min, max: Math.max,
};
const binaryInt: Readonly<Record<BinaryOp, Binary>> = {
  add: (a, b) => (a + b) | 0, sub: (a, b) => (a - b) | 0, mul: Math.imul, div: (a, b) => (a / b) | 0, rem: (a, b) => (a % b) | 0,
  min: Math.min, max: Math.max, band: (a, b) => a & b, bor: (a, b) => a | b, xor: (a, b) => a ^ b, shl: (a, b) => a << b,
  shr: (a, b) => a >> b, shr_u: (a, b) => (a >>> b) | 0,
};
const comparison: Readonly<Record<CompareOp, (a: number, b: number) => boolean>> = {
  eq: (a, b) => a === b, ne: (a, b) => a !== b, lt: (a, b) => a < b, le: (a, b) => a <= b, gt: (a, b) => a > b, ge: (a, b) => a >= b,
  lt_u: (a, b) => (a >>> 0) < (b >>> 0),
};

/** The operation on a scalar of a type; undefined if there is none. */
export function unaryOn(op: UnaryOp, type: Kind): Unary | undefined {
  if (type === 'bool') return op === 'not' ? (a) => 1 - a : undefined;
  // Every operation on singles gives a single, except for the square root, where double rounding is harmless.
  if (type === 'f32') return op === 'sqrt' ? (a) => Math.fround(Math.sqrt(a)) : unaryFloat[op];
  return type === 'i32' ? unaryInt[op] : unaryFloat[op];
}

/** The operation on two scalars of a type; undefined if there is none. Never call an i32 division with a divisor of 0. */
export function binaryOn(op: BinaryOp, type: Kind): Binary | undefined {
  if (type === 'i32') return binaryInt[op];
  const f = type === 'bool' ? undefined : binaryFloat[op];
  return f === undefined || type === 'f64' ? f : (a, b) => Math.fround(f(a, b));
}

export function compared(op: CompareOp, a: number, b: number): boolean {
  return comparison[op](a, b);
}

function toInt(a: number): number {
  if (a >= 2147483647) return 2147483647;
  return a <= -2147483648 ? -2147483648 : a | 0;
}

/** The conversion from one scalar type to another; undefined if there is none. */
export function conversionOf(from: Kind, to: Kind): Unary | undefined {
  if (from === to) return undefined;
  if (from === 'bool') return to === 'i32' ? (a) => a : undefined;
  if (to === 'bool') return from === 'i32' ? (a) => (a === 0 ? 0 : 1) : undefined;
  if (to === 'i32') return toInt;
  return to === 'f32' ? Math.fround : (a) => a;
}

const scratch = new DataView(new ArrayBuffer(8));

/** The high or low word of a double. */
export function wordOf(part: Word, a: number): number {
  scratch.setFloat64(0, a);
  return scratch.getInt32(part === 'high' ? 0 : 4);
}

/** The double with these words. */
export function fromWords(high: number, low: number): number {
  scratch.setInt32(0, high);
  scratch.setInt32(4, low);
  return scratch.getFloat64(0);
}

export { mathOf } from './math/run.ts';
