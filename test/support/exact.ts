// Componentwise backward errors without rounding: products and residuals are integers times powers of two, with any exponents.
import { rowOf, type Problem } from './problem.ts';
import { epsilon } from './reference.ts';
import { isSingle, type Pair, type Stored } from './storage.ts';

const words = new DataView(new ArrayBuffer(8));

/** (re + i im) * 2^exponent. The exponent of zero is Infinity, so that it never determines a common one. */
interface Scaled {
  readonly re: bigint;
  readonly im: bigint;
  readonly exponent: number;
}

function partsOf(value: number): { readonly integer: bigint; readonly exponent: number } {
  words.setFloat64(0, value);
  const high = words.getUint32(0);
  const field = (high >>> 20) & 0x7ff;
  const fraction = (high & 0xfffff) * 2 ** 32 + words.getUint32(4) + (field === 0 ? 0 : 2 ** 52);
  if (fraction === 0) return { integer: 0n, exponent: Infinity };
  return { integer: BigInt(value < 0 ? -fraction : fraction), exponent: Math.max(field, 1) - 1075 };
}

/** value * 2^(from - to) for from >= to; for zero, any exponents. */
const lowered = (value: bigint, from: number, to: number): bigint => (value === 0n ? 0n : value << BigInt(from - to));

function scaledOf(pair: Pair): Scaled {
  const [re, im] = [partsOf(pair[0]), partsOf(pair[1])];
  const exponent = Math.min(re.exponent, im.exponent);
  return { re: lowered(re.integer, re.exponent, exponent), im: lowered(im.integer, im.exponent, exponent), exponent };
}

const productOf = (a: Scaled, b: Scaled): Scaled => (
  { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re, exponent: a.exponent + b.exponent });

/** first minus all others. */
function difference(first: Scaled, others: readonly Scaled[]): Scaled {
  const exponent = others.reduce((least, other) => Math.min(least, other.exponent), first.exponent);
  let re = lowered(first.re, first.exponent, exponent);
  let im = lowered(first.im, first.exponent, exponent);
  for (const other of others) {
    re -= lowered(other.re, other.exponent, exponent);
    im -= lowered(other.im, other.exponent, exponent);
  }
  return { re, im, exponent };
}

const bitsOf = (value: bigint): number => (value < 0n ? -value : value).toString(16).length * 4;

/** A modulus with an accuracy of 50 bits, as size * 2^exponent. */
interface Size {
  readonly size: number;
  readonly exponent: number;
}
function modulusOf({ re, im, exponent }: Scaled): Size {
  const drop = Math.max(0, Math.max(bitsOf(re), bitsOf(im)) - 64);
  return { size: Math.hypot(Number(re >> BigInt(drop)), Number(im >> BigInt(drop))), exponent: exponent + drop };
}
const timesOf = (a: Size, b: Size): Size => ({ size: a.size * b.size, exponent: a.exponent + b.exponent });

/** a / (sum of b). */
function ratioOf(a: Size, b: readonly Size[]): number {
  const present = b.filter(({ size }) => size !== 0);
  if (present.length === 0) return Infinity;
  const most = Math.max(...present.map(({ exponent }) => exponent));
  const sum = present.reduce((all, { size, exponent }) => all + size * 2 ** Math.max(-1070, exponent - most), 0);
  return a.size / sum * 2 ** Math.min(1000, Math.max(-1070, a.exponent - most));
}

/**
 * max |b - op(A) x|_i / (|op(A)||x| + |b|)_i in machine epsilons, with exact moduli. 0/0 is 0, and an unknown below the smallest normal
 * number of the type counts as that number in the denominator. Infinity for NaN.
 */
export function exactError(problem: Problem, x: Stored, s: number, r: number): number {
  const { n, type } = problem.spec;
  const least = isSingle(type) ? 2 ** -126 : 2 ** -1022;
  const leastSize = modulusOf(scaledOf([least, 0]));
  let worst = 0;
  for (let i = 0; i < n; i += 1) {
    const rhs = scaledOf(problem.rhs.at(s, i, r));
    const products: Scaled[] = [];
    const sizes: Size[] = [modulusOf(rhs)];
    let bad = false;
    rowOf(problem, s, i, (j, entry) => {
      const value = x.at(s, j, r);
      if (!value.every(Number.isFinite)) bad = true;
      if (bad) return;
      const [a, v] = [scaledOf(entry), scaledOf(value)];
      products.push(productOf(a, v));
      sizes.push(timesOf(modulusOf(a), Math.hypot(...value) < least ? leastSize : modulusOf(v)));
    });
    if (bad) return Infinity;
    const residual = difference(rhs, products);
    if (residual.re === 0n && residual.im === 0n) continue;
    worst = Math.max(worst, ratioOf(modulusOf(residual), sizes));
  }
  return worst / epsilon[type];
}
