// x * y + z with one rounding. S. Boldo and G. Melquiond, Emulation of a FMA and correctly rounded sums, IEEE Trans. Comput. 57 (2008):
// the exact product and sum as three doubles, the smaller two added by rounding to odd. Where numbers are so large or small that parts of
// these would overflow or not be exact, it is done with their significands. For targets that have no such instruction;
// lib/core/fma.ts is the same for plain JavaScript.
import { binary, convert, get, i32, type Expression } from '../ir.ts';
import {
  absolute, bitAnd, bitOr, bitXor, both, choose, defineFunction, either, fromWords, greater, greaterOrSame, highWord, isAmong, less,
  lowWord, minus, negative, notFinite, plus, powerOfTwo, same, shiftRight, sizeWord, times, type Writer,
} from './writer.ts';
import type { Pair } from './pairs.ts';

/** Multiplying by this splits a double into two with 26 bits each. */
const splitter = 2 ** 27 + 1;
/** Numbers with these exponents can be split and multiplied, and nothing underflows. Addends are below the third. */
const lowest = -450, highest = 480, largest = 1000;
const wordOf = (exponent: number): number => (1023 + exponent) * 2 ** 20;
/** From this exponent on, one term only says to which side the other is rounded. */
const farthest = 200;

/** a + b, exactly. */
function exactSum(w: Writer, a: Expression, b: Expression): Pair {
  const head = w.keep(plus(a, b));
  const rest = w.keep(minus(head, a));
  return { head, tail: w.keep(plus(minus(a, minus(head, rest)), minus(b, rest))) };
}

function halves(w: Writer, a: Expression): Pair {
  const large = w.keep(times(a, splitter));
  const head = w.keep(minus(large, minus(large, a)));
  return { head, tail: w.keep(minus(a, head)) };
}

/** a * b, exactly. */
function exactProduct(w: Writer, a: Expression, b: Expression): Pair {
  const head = w.keep(times(a, b));
  const [x, y] = [halves(w, a), halves(w, b)];
  const most = plus(plus(minus(times(x.head, y.head), head), times(x.head, y.tail)), times(x.tail, y.head));
  return { head, tail: w.keep(plus(most, times(x.tail, y.tail))) };
}

/** a + b rounded to odd: where it is not exact, to the one of the two doubles beside it whose last bit is set. */
function oddSum(w: Writer, a: Expression, b: Expression): Expression {
  const { head, tail } = exactSum(w, a, b);
  const sum = w.variable(head);
  const low = w.keep(lowWord(head));
  const isInexact = either(less(tail, 0), greater(tail, 0));
  w.when(both(isInexact, same(bitAnd(low, 1), 0)), () => {
    const high = w.keep(highWord(head));
    w.when(greaterOrSame(bitXor(high, highWord(tail)), 0), () => { w.set(sum, fromWords(high, bitOr(low, 1))); },
      () => { w.set(sum, fromWords(minus(high, convert('i32', same(low, 0))), minus(low, 1))); });
  });
  return get(sum);
}

/** x * y + z as a double and one that is rounded to odd. */
const parts = defineFunction('fma_parts', ['f64', 'f64', 'f64'], (w, x, y, z) => {
  const product = exactProduct(w, x, y);
  const lower = exactSum(w, z, product.tail);
  const upper = exactSum(w, product.head, lower.head);
  w.give(upper.head, oddSum(w, lower.tail, upper.tail));
}, { results: ['f64', 'f64'] });

function partsOf(w: Writer, args: readonly Expression[]): Pair {
  const [head, tail] = [w.variable(0), w.variable(0)];
  w.call(parts, args, [head, tail]);
  return { head: get(head), tail: get(tail) };
}

/** The significand, from 1 to 2, with the sign, and the exponent of a number that is not 0. */
function split(w: Writer, x: Expression): { readonly fraction: Expression; readonly exponent: Expression } {
  const [value, lowered] = [w.variable(x), w.variable(i32(1023))];
  w.when(less(sizeWord(x), 0x00100000), () => {
    w.set(value, times(x, 2 ** 54));
    w.set(lowered, 1023 + 54);
  });
  const high = w.keep(highWord(get(value)));
  const fraction = w.keep(fromWords(bitOr(bitAnd(high, 0x800fffff | 0), 0x3ff00000), lowWord(get(value))));
  return { fraction, exponent: w.keep(minus(bitAnd(shiftRight(high, 20), 0x7ff), get(lowered))) };
}

const larger = (a: Expression, b: number): Expression => binary('max', a, i32(b));
const smaller = (a: Expression, b: number): Expression => binary('min', a, i32(b));

/** For all numbers. */
const anySize = defineFunction('fma_any', ['f64', 'f64', 'f64'], (w, x, y, z) => {
  const isSpecial = (a: Expression): Expression => either(same(a, 0), greaterOrSame(sizeWord(a), notFinite));
  w.giveWhen(either(isSpecial(x), isSpecial(y)), plus(times(x, y), z));
  w.giveWhen(greaterOrSame(sizeWord(z), notFinite), z);
  const [a, b] = [split(w, x), split(w, y)];
  const [exponent, addend] = [w.variable(plus(a.exponent, b.exponent)), w.variable(z)];
  w.when(either(less(z, 0), greater(z, 0)), () => {
    const c = split(w, z);
    const distance = w.keep(minus(c.exponent, get(exponent)));
    w.set(addend, times(c.fraction, powerOfTwo(larger(smaller(distance, farthest), -farthest))));
    w.set(exponent, plus(get(exponent), larger(minus(distance, farthest), 0)));
  });
  const { head, tail } = partsOf(w, [a.fraction, b.fraction, get(addend)]);
  const sum = w.keep(plus(head, tail));
  w.giveWhen(same(sum, 0), 0);
  // Below half of the smallest double.
  w.giveWhen(less(get(exponent), -1300), times(sum, 0));
  const half = w.keep(shiftRight(get(exponent), 1));
  const scaled = (e: Expression): Expression => times(times(e, powerOfTwo(half)), powerOfTwo(minus(get(exponent), half)));
  const least = w.keep(powerOfTwo(larger(minus(-1022, get(exponent)), -1000)));
  w.when(less(absolute(sum), least), () => {
    // Subnormal: the last bit of the least normal number is that of the result.
    const base = w.keep(choose(less(sum, 0), negative(least), least));
    const upper = exactSum(w, base, head);
    const rounded = w.keep(absolute(scaled(minus(plus(upper.head, oddSum(w, upper.tail, tail)), base))));
    w.give(choose(less(sum, 0), negative(rounded), rounded));
  });
  w.give(scaled(sum));
}, { calls: [parts], isRare: true });

/** x * y + z, rounded once to a double. */
export const fma = defineFunction('fma', ['f64', 'f64', 'f64'], (w, x, y, z) => {
  const isPlain = (a: Expression): Expression => isAmong(sizeWord(a), wordOf(lowest), wordOf(highest) - wordOf(lowest));
  w.when(both(both(isPlain(x), isPlain(y)), less(sizeWord(z), wordOf(largest))), () => {
    const { head, tail } = partsOf(w, [x, y, z]);
    w.give(plus(head, tail));
  });
  const result = w.variable(0);
  w.call(anySize, [x, y, z], [result]);
  w.give(get(result));
}, { calls: [parts, anySize] });

/** x * y + z of singles, rounded to odd, so that rounding it to a single rounds it once. */
export const fmaf = defineFunction('fmaf', ['f64', 'f64', 'f64'], (w, x, y, z) => { w.give(oddSum(w, w.keep(times(x, y)), z)); });
