// log, log1p, log10, log2 and pow, which need a more precise logarithm, and hypot.
import { convert, f64, get, i32, type Expression } from '../ir.ts';
import { exponentialOf, scaled } from './exponential.ts';
import { differenceOf, quotientOf, squareOf, sumOf, type Pair } from './pairs.ts';
import {
  absolute, bitAnd, both, choose, coarse, defineFunction, differs, either, floorOf, fromWords, greater, greaterOrSame, highWord, isAmong,
  less, lowWord, minus, notFinite, over, plus, root, roundingShift, same, shiftRight, sizeWord, times, toDouble,
  type Writer,
} from './writer.ts';

/** (log((1 + s) / (1 - s)) - 2 s) / s³ as a polynomial in s², minimax for |s| <= (√2 - 1) / (√2 + 1). */
const series = [
  0.6666666666666735, 0.3999999999940934, 0.2857142874369025, 0.22222198428555717, 0.18183572375229104, 0.15313831757140542,
  0.14798261140738744,
];
/** (3/2 log((1 + s) / (1 - s)) - 3 s - s³) / s⁵, for |s| < 0.0719. */
const preciseSeries = [
  0.5999999999999999, 0.4285714285717547, 0.3333333330356392, 0.27272740603635026, 0.23073779607101003, 0.20374331038407448,
];
const logTwo = [0.6931471803691238, 1.9082149292705877e-10] as const;
/** The logarithm of 2 to the base of 10, 1 / log(10) and 2 / (3 log 2): a part with few digits, and the rest. */
const decimalOfTwo = [0.3010299955494702, 1.1451100898021838e-10] as const;
const decimal = [0.4342944622039795, 1.9699272335463627e-08] as const;
const binaryOfThird = [0.9617962837219238, 4.102040517767816e-07] as const;
const binaryOfThirdWhole = 0.9617966939259756;
/** log 2 with 21 bits, the rest, and rounded. */
const coarseLogTwo = [0.6931467056274414, 4.7493250390316726e-07] as const;
const logTwoWhole = 0.6931471805599453;
/** The high word of √½. */
const rootHalf = 0x3fe6a09e;
const oneWord = 0x3ff00000;

const fromBool = (e: Expression): Expression => convert('i32', e);

interface Split {
  /** The exponent, as a double. */
  readonly exponent: Expression;
  /** From √½ to √2. */
  readonly fraction: Expression;
}

/** x = fraction * 2^exponent, for positive finite numbers. */
export function split(w: Writer, x: Expression): Split {
  const [value, lowered] = [w.variable(x), w.variable(i32(0))];
  w.when(less(highWord(x), 0x00100000), () => {
    w.set(value, times(x, 2 ** 54));
    w.set(lowered, -54);
  });
  const high = w.keep(plus(highWord(get(value)), oneWord - rootHalf));
  const exponent = w.keep(toDouble(plus(minus(shiftRight(high, 20), 1023), get(lowered))));
  return { exponent, fraction: w.keep(fromWords(plus(bitAnd(high, 0xfffff), rootHalf), lowWord(get(value)))) };
}

/** Returns the logarithm of numbers that are not positive and finite. */
function giveSpecial(w: Writer, x: Expression): void {
  const isPlain = isAmong(highWord(x), 1, notFinite - 1);
  w.when({ kind: 'unary', type: 'bool', op: 'not', operand: isPlain }, () => {
    w.giveWhen(same(x, 0), -Infinity);
    w.giveWhen(less(x, 0), NaN);
    w.giveWhen(greaterOrSame(highWord(x), notFinite), plus(x, x));
  });
}

/** s (f² / 2 + R), where log(1 + f) = f - f² / 2 + s (f² / 2 + R) and s = f / (2 + f). */
function beyondSquare(w: Writer, f: Expression, halfSquare: Expression): Expression {
  const s = w.keep(over(f, plus(f, 2)));
  const z = w.keep(times(s, s));
  return times(s, plus(halfSquare, times(z, w.polynomial(z, series))));
}

export const log = defineFunction('log', ['f64'], (w, x) => {
  giveSpecial(w, x);
  const { exponent, fraction } = split(w, x);
  const f = w.keep(minus(fraction, 1));
  const halfSquare = w.keep(times(times(f, f), 0.5));
  const rest = beyondSquare(w, f, halfSquare);
  w.give(minus(times(exponent, logTwo[0]), minus(minus(halfSquare, plus(rest, times(exponent, logTwo[1]))), f)));
});

/** log(1 + x + tail) for -1 < x < Infinity; the tail is small beside 1 + x, or beside x. */
export const logarithmOfSum = defineFunction('log_of_sum', ['f64', 'f64'], (w, x, tail) => {
  const [f, exponent, rest] = [w.variable(x), w.variable(0), w.variable(0)];
  w.when(either(less(x, -0.29), greater(x, 0.41)), () => {
    const sum = w.keep(plus(x, 1));
    const error = choose(greater(x, 1), minus(1, minus(sum, x)), minus(x, minus(sum, 1)));
    const parts = split(w, sum);
    w.set(f, minus(parts.fraction, 1));
    w.set(exponent, parts.exponent);
    w.set(rest, over(plus(error, tail), sum));
  }, () => { w.set(rest, over(tail, plus(x, 1))); });
  const [part, k] = [get(f), get(exponent)];
  const halfSquare = w.keep(times(times(part, part), 0.5));
  const small = plus(beyondSquare(w, part, halfSquare), plus(times(k, logTwo[1]), get(rest)));
  w.give(minus(times(k, logTwo[0]), minus(minus(halfSquare, small), part)));
});

export const log1p = defineFunction('log1p', ['f64'], (w, x) => {
  w.when({ kind: 'unary', type: 'bool', op: 'not', operand: both(greater(x, -1), less(x, Infinity)) }, () => {
    w.giveWhen(same(x, -1), -Infinity);
    w.giveWhen(less(x, -1), NaN);
    w.give(plus(x, x));
  });
  // -0, among others.
  w.giveWhen(less(absolute(x), 2 ** -54), x);
  const result = w.variable(0);
  w.call(logarithmOfSum, [x, f64(0)], [result]);
  w.give(get(result));
}, { calls: [logarithmOfSum] });

export const log10 = defineFunction('log10', ['f64'], (w, x) => {
  giveSpecial(w, x);
  const { exponent, fraction } = split(w, x);
  const f = w.keep(minus(fraction, 1));
  const square = squareOf(w, f);
  const halfSquare = w.keep(times(square.head, 0.5));
  const first = differenceOf(w, f, halfSquare);
  const rest = w.keep(plus(first.tail, minus(beyondSquare(w, f, halfSquare), times(square.tail, 0.5))));
  const { head, tail } = sumOf(w, first.head, rest);
  const high = w.keep(coarse(head));
  const low = w.keep(plus(minus(head, high), tail));
  const product = w.keep(times(high, decimal[0]));
  const small = plus(plus(times(exponent, decimalOfTwo[1]), times(plus(low, high), decimal[1])), times(low, decimal[0]));
  const sum = sumOf(w, w.keep(times(exponent, decimalOfTwo[0])), product);
  w.give(plus(sum.head, plus(sum.tail, small)));
});

/** The binary logarithm of a positive finite number, with a relative error of about 2^-68. The head has 21 bits. */
function preciseLogarithm(w: Writer, x: Expression): Pair {
  const { exponent, fraction } = split(w, x);
  // Divide by 3/4, 1 or 5/4, whichever is near, without unpredictable branches.
  const step = w.keep(toDouble(minus(fromBool(greater(fraction, Math.sqrt(1.25))), fromBool(less(fraction, Math.sqrt(0.75))))));
  const byStep = (low: number, high: number): Expression =>
    w.keep(times(step, plus(times(step, (low + high) / 2), (high - low) / 2)));
  const c = w.keep(plus(times(step, 0.25), 1));
  const ofC = byStep(-0.4150373935699463, 0.3219280242919922);
  const restOfC = byStep(-1.0570889752948376e-07, 7.059537016037032e-08);
  const whole = w.keep(plus(fraction, c));
  const back = w.keep(minus(whole, fraction));
  const below: Pair = { head: whole, tail: w.keep(plus(minus(fraction, minus(whole, back)), minus(c, back))) };
  const s = quotientOf(w, { head: w.keep(minus(fraction, c)), tail: f64(0) }, below);
  // 3/2 log((1 + s) / (1 - s)) = s (3 + s² + s⁴ …).
  const high = w.keep(coarse(s.head));
  const low = w.keep(plus(minus(s.head, high), s.tail));
  const z = w.keep(times(s.head, s.head));
  const square = w.keep(times(high, high));
  const rest = w.keep(plus(times(low, plus(high, s.head)), times(times(z, z), w.polynomial(z, preciseSeries))));
  const factor = w.keep(coarse(plus(plus(square, 3), rest)));
  const factorTail = w.keep(minus(rest, minus(minus(factor, 3), square)));
  const product = w.keep(times(high, factor));
  const productTail = w.keep(plus(times(low, factor), times(factorTail, s.head)));
  const third = w.keep(coarse(plus(product, productTail)));
  const thirdTail = w.keep(minus(productTail, minus(third, product)));
  const part = w.keep(times(third, binaryOfThird[0]));
  const partTail = w.keep(plus(plus(times(third, binaryOfThird[1]), times(thirdTail, binaryOfThirdWhole)), restOfC));
  const all = w.keep(coarse(plus(plus(plus(part, partTail), ofC), exponent)));
  return { head: all, tail: w.keep(minus(partTail, minus(minus(minus(all, exponent), ofC), part))) };
}

export const log2 = defineFunction('log2', ['f64'], (w, x) => {
  giveSpecial(w, x);
  const { head, tail } = preciseLogarithm(w, x);
  w.give(plus(head, tail));
});

/** Returns powers with the exponent 0, with an infinite exponent, or of NaN. */
function giveSpecialPower(w: Writer, x: Expression, y: Expression): void {
  const size = w.keep(absolute(x));
  w.giveWhen(same(y, 0), 1);
  w.giveWhen(either(differs(x, x), differs(y, y)), plus(x, y));
  const isUp = w.keep(greater(y, 0));
  w.when(same(absolute(y), Infinity), () => {
    w.giveWhen(same(size, 1), NaN);
    w.give(choose({ kind: 'compare', type: 'bool', op: 'ne', left: fromBool(greater(size, 1)), right: fromBool(isUp) }, 0, Infinity));
  });
}

export const pow = defineFunction('pow', ['f64', 'f64'], (w, x, y) => {
  const [sizeX, sizeY] = [w.keep(sizeWord(x)), w.keep(sizeWord(y))];
  w.when(either(either(same(y, 0), greaterOrSame(sizeX, notFinite)), greaterOrSame(sizeY, notFinite)), () => {
    giveSpecialPower(w, x, y);
  });
  const base = w.keep(absolute(x));
  const sign = w.variable(1);
  w.when(less(highWord(x), 0), () => {
    w.when(same(floorOf(y), y), () => {
      const half = w.keep(times(y, 0.5));
      w.when(differs(floorOf(half), half), () => { w.set(sign, -1); });
    }, () => { w.giveWhen(both(differs(x, 0), less(base, Infinity)), NaN); });
  });
  w.giveWhen(either(same(base, 0), same(base, Infinity)), times(get(sign), choose(less(y, 0), over(1, base), base)));
  w.giveWhen(same(base, 1), get(sign));
  const logarithm = preciseLogarithm(w, base);
  // A larger exponent does not change the result, because no base other than 1 is nearer to 1 than 2^-53.
  const most = 2 ** 64;
  const exponent = w.keep(choose(greater(absolute(y), most), choose(less(y, 0), f64(-most), most), y));
  const high = w.keep(coarse(exponent));
  const head = w.keep(times(high, logarithm.head));
  const tail = w.keep(plus(times(minus(exponent, high), logarithm.head), times(exponent, logarithm.tail)));
  const power = w.keep(plus(head, tail));
  w.giveWhen(greater(power, 1100), times(get(sign), Infinity));
  w.giveWhen(less(power, -1100), times(get(sign), 0));
  const shifted = w.keep(plus(power, roundingShift));
  const left = w.keep(minus(head, minus(shifted, roundingShift)));
  const part = w.keep(coarse(plus(left, tail)));
  const partTail = plus(times(minus(tail, minus(part, left)), logTwoWhole), times(part, coarseLogTwo[1]));
  const value = exponentialOf(w, sumOf(w, w.keep(times(part, coarseLogTwo[0])), w.keep(partTail)));
  w.give(times(get(sign), scaled(w, w.keep(plus(value.head, value.tail)), w.keep(lowWord(shifted)))));
});

export const hypot = defineFunction('hypot', ['f64', 'f64'], (w, x, y) => {
  const [sizeX, sizeY] = [w.keep(absolute(x)), w.keep(absolute(y))];
  w.giveWhen(either(same(sizeX, Infinity), same(sizeY, Infinity)), Infinity);
  const isLarger = w.keep(greater(sizeX, sizeY));
  const [large, small] = [w.keep(choose(isLarger, sizeX, sizeY)), w.keep(choose(isLarger, sizeY, sizeX))];
  // The smaller is negligible, or one is NaN.
  w.giveWhen({ kind: 'unary', type: 'bool', op: 'not', operand: greater(small, times(large, 2 ** -60)) }, plus(large, small));
  const scale = w.keep(choose(greater(large, 2 ** 500), f64(2 ** -600), choose(less(large, 2 ** -450), f64(2 ** 600), 1)));
  const [a, b] = [squareOf(w, w.keep(times(large, scale))), squareOf(w, w.keep(times(small, scale)))];
  const { head, tail } = sumOf(w, a.head, b.head);
  w.give(times(root(plus(head, plus(tail, plus(a.tail, b.tail)))), choose(same(scale, 2 ** -600), f64(2 ** 600),
    choose(same(scale, 2 ** 600), f64(2 ** -600), 1))));
});
