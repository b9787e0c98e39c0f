// Componentwise backward errors without rounding: products and residuals as integers, whatever their exponents.
import { rowOf, type Problem } from './problem.ts';
import { epsilon } from './reference.ts';
import { isSingle, type Pair, type Stored } from './storage.ts';

const words = new DataView(new ArrayBuffer(8));

/** value * 2^1074. */
function integerOf(value: number): bigint {
  words.setFloat64(0, value);
  const bits = words.getBigUint64(0);
  const exponent = (bits >> 52n) & 0x7ffn;
  const fraction = bits & 0xfffffffffffffn;
  const magnitude = exponent === 0n ? fraction : (fraction | 0x10000000000000n) << (exponent - 1n);
  return value < 0 ? -magnitude : magnitude;
}

interface Whole { readonly re: bigint; readonly im: bigint }
const wholeOf = ([re, im]: Pair): Whole => ({ re: integerOf(re), im: integerOf(im) });

const bitsOf = (value: bigint): number => (value < 0n ? -value : value).toString(16).length * 4;

/** |value| * 2^-shift, to 50 bits. */
function modulusOf({ re, im }: Whole, shift: number): number {
  const drop = Math.max(0, Math.max(bitsOf(re), bitsOf(im)) - 64);
  const scale = 2 ** Math.max(-1070, drop - shift);
  return Math.hypot(Number(re >> BigInt(drop)), Number(im >> BigInt(drop))) * scale;
}

/** |a||b| of two integers with 1074 fraction bits each, times 2^-shift. */
function productSize(a: Whole, b: Whole, shift: number): number {
  const top = (value: Whole) => Math.max(bitsOf(value.re), bitsOf(value.im));
  const [p, q] = [top(a), top(b)];
  return modulusOf(a, p) * modulusOf(b, q) * 2 ** Math.max(-1070, p + q - shift);
}

/**
 * max |b - op(A) x|_i / (|op(A)||x| + |b|)_i in machine epsilons, with true moduli. 0/0 is 0, and an unknown below the smallest
 * normal number of the type counts as that number in the denominator. Infinity for NaN.
 */
export function exactError(problem: Problem, x: Stored, s: number, r: number): number {
  const { n, type } = problem.spec;
  const least = integerOf(isSingle(type) ? 2 ** -126 : 2 ** -1022);
  let worst = 0;
  for (let i = 0; i < n; i += 1) {
    const rhs = wholeOf(problem.rhs.at(s, i, r));
    let re = rhs.re << 1074n;
    let im = rhs.im << 1074n;
    const terms: [Whole, Whole][] = [];
    let bad = false;
    rowOf(problem, s, i, (j, entry) => {
      const value = x.at(s, j, r);
      if (!value.every(Number.isFinite)) bad = true;
      if (bad) return;
      const [a, v] = [wholeOf(entry), wholeOf(value)];
      re -= a.re * v.re - a.im * v.im;
      im -= a.re * v.im + a.im * v.re;
      const tiny = Math.hypot(...value) < Number(least) * 2 ** -1074;
      terms.push([a, tiny ? { re: least, im: 0n } : v]);
    });
    if (bad) return Infinity;
    if (re === 0n && im === 0n) continue;
    const residual = { re, im };
    const shift = Math.max(bitsOf(re), bitsOf(im), bitsOf(rhs.re) + 1074, bitsOf(rhs.im) + 1074, ...terms.map(([a, v]) => (
      Math.max(bitsOf(a.re), bitsOf(a.im)) + Math.max(bitsOf(v.re), bitsOf(v.im)))));
    let scale = modulusOf({ re: rhs.re << 1074n, im: rhs.im << 1074n }, shift);
    for (const [a, v] of terms) scale += productSize(a, v, shift);
    worst = Math.max(worst, modulusOf(residual, shift) / scale);
  }
  return worst / epsilon[type];
}
