// Mathematical functions, and operators on vectors, exactly as lib/stream/ir.ts specifies.
import { required } from '../../core/known.ts';
import { mathFunctions, type MathName as KernelMath } from '../../kernel/ir.ts';
import { mathOf as portable } from '../../kernel/math/run.ts';
import type { IrBinary, MathName, ScalarName, VectorName } from '../ir.ts';
import { binaryOf } from './operators.ts';

function roundHalfEven(a: number): number {
  const low = Math.floor(a);
  const rest = a - low;
  const whole = rest < 0.5 || (rest === 0.5 && low % 2 === 0) ? low : rest >= 0.5 ? low + 1 : a;
  // A result that is rounded to 0 keeps its sign.
  return whole === 0 ? a * 0 : whole;
}

/** Mathematical functions with the same bits on all back ends. */
const exactly = Object.fromEntries((Object.keys(mathFunctions) as KernelMath[]).map((name) => [name, portable(name)])) as
  Readonly<Record<KernelMath, (...args: number[]) => number>>;
const functions: Partial<Record<MathName, (...args: number[]) => number>> = {
  ...exactly, abs: Math.abs, ceil: Math.ceil, floor: Math.floor, max: Math.max, min: Math.min, rint: roundHalfEven,
  round: (a: number) => Math.floor(a + 0.5), sqrt: Math.sqrt,
};

/** The mathematical function on scalars of a type; undefined if there is none (`random` and functions of complex numbers). */
export function mathOf(name: MathName, operands: ScalarName): ((...args: number[]) => number) | undefined {
  const f = functions[name];
  if (f === undefined) return undefined;
  if (operands === 'double') return f;
  if (operands === 'float') return (...args) => Math.fround(f(...args));
  if (operands !== 'int') return undefined;
  if (name === 'abs') return (a: number) => (a < 0 ? -a | 0 : a);
  return name === 'max' || name === 'min' ? f : undefined;
}

/** Real and imaginary part. */
function partsOf(z: Float32Array): readonly [number, number] {
  return [required(z[0]), required(z[1])];
}

/**
 * The operator on two vectors of the same type, by component. Products and quotients of complex numbers use the usual formulas, with each
 * step rounded.
 */
export function vectorBinary(operator: IrBinary, name: VectorName, a: Float32Array, b: Float32Array): Float32Array | undefined {
  const f = Math.fround;
  if (name === 'complex' && operator === '*') {
    const [[p, q], [r, s]] = [partsOf(a), partsOf(b)];
    return Float32Array.of(f(p * r) - f(q * s), f(p * s) + f(q * r));
  }
  if (name === 'complex' && operator === '/') {
    const [[p, q], [r, s]] = [partsOf(a), partsOf(b)];
    const norm = f(f(r * r) + f(s * s));
    return Float32Array.of(f(f(p * r) + f(q * s)) / norm, f(f(q * r) - f(p * s)) / norm);
  }
  const part = '+-*/'.includes(operator) ? binaryOf(operator, 'float') : undefined;
  return part === undefined ? undefined : a.map((x, i) => part(x, required(b[i])));
}

const f = Math.fround;
const { atan2, cos, cosh, exp, hypot, log, sin, sinh } = exactly;
/** Functions from complex numbers to complex numbers: computed in double precision, rounded once. */
const complexFunctions: Partial<Record<MathName, (re: number, im: number) => [number, number]>> = {
  csqrt: squareRoot, sqrt: squareRoot,
  exp: (re, im) => [exp(re) * cos(im), exp(re) * sin(im)],
  log: (re, im) => [log(hypot(re, im)), atan2(im, re)],
  sin: (re, im) => [sin(re) * cosh(im), cos(re) * sinh(im)],
  cos: (re, im) => [cos(re) * cosh(im), -sin(re) * sinh(im)],
};

function squareRoot(re: number, im: number): [number, number] {
  const size = Math.sqrt(re * re + im * im);
  const root = Math.sqrt((size + Math.abs(re)) / 2);
  if (root === 0) return [0, 0];
  if (re >= 0) return [root, im / (2 * root)];
  return [Math.abs(im) / (2 * root), im < 0 ? -root : root];
}

/** A function of a complex number: a number for `abs` and `arg`, otherwise a complex number; undefined if there is none. */
export function complexMath(name: MathName, z: Float32Array): number | Float32Array | undefined {
  const [re, im] = partsOf(z);
  if (name === 'abs') return f(Math.sqrt(re * re + im * im));
  if (name === 'arg') return f(atan2(im, re));
  const g = complexFunctions[name];
  return g === undefined ? undefined : Float32Array.from(g(re, im));
}

/** Names of the functions that take a complex number. */
export function takesComplex(name: MathName): boolean {
  return name === 'abs' || name === 'arg' || name in complexFunctions;
}

/** One step of the generator behind `random` (mulberry32): the next state, and 32 random bits. */
export function nextRandom(state: number): { state: number; bits: number } {
  const next = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(next ^ (next >>> 15), 1 | next);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return { state: next, bits: (t ^ (t >>> 14)) >>> 0 };
}
