// exp, expm1, and sinh, cosh and tanh, which are based on it.
import { f64, get, type Expression } from '../ir.ts';
import { differenceOf, lessProduct, quotientOf, squareOf, sumOf, type Pair } from './pairs.ts';
import {
  absolute, choose, defineFunction, differs, greater, greaterOrSame, less, lowWord, minus, over, plus, powerOfTwo, roundingShift,
  same, shiftRight, sizeWord, times, withSign, type Writer,
} from './writer.ts';

/** log 2; products of the first part and an exponent are exact. */
const logTwo = [0.6931471803691238, 1.9082149292705877e-10] as const;
/** (e^r - 1 - r) / r², for |r| <= log(2) / 2. */
const series = [
  0.5, 0.16666666666666669, 0.041666666666666664, 0.008333333333330062, 0.0013888888888886552, 0.00019841269863053618,
  2.4801587317144498e-05, 2.7557268459997064e-06, 2.755728296954995e-07, 2.510038549551032e-08, 2.0911236630261545e-09,
];
/** (sinh x / x - 1) / x² and (cosh x - 1 - x² / 2) / x⁴ as polynomials in x², minimax for |x| <= 1/2. */
const sineSeries = [
  0.16666666666666666, 0.008333333333333902, 0.00019841269840115396, 2.7557320283231095e-06, 2.505163071816545e-08,
  1.61600540379032e-10,
];
const cosineSeries = [
  0.041666666666666664, 0.001388888888888988, 2.4801587300026704e-05, 2.755732039821825e-07, 2.0876311197996496e-09,
  1.15500141972105e-11,
];
/** High words of 1/2, 2^-27, 22, 708, 710.5. */
const [half, tiny, flat, nearEnd, beyondEnd] = [0x3fe00000, 0x3e400000, 0x40360000, 0x40862000, 0x40863400];

/** e^(head + tail) for |head| <= log(2) / 2, as a sum. The tail may be as large as a tenth of the head. */
export function exponentialOf(w: Writer, { head, tail }: Pair): Pair {
  const near = sumOf(w, f64(1), head);
  const rest = times(times(head, head), w.polynomial(head, series));
  return { head: near.head, tail: w.keep(plus(near.tail, plus(times(tail, near.head), rest))) };
}

/** x = part + count log 2, with |part| <= log(2) / 2. */
function reduced(w: Writer, x: Expression): { readonly count: Expression; readonly part: Pair } {
  const shifted = w.keep(plus(times(x, 1.4426950408889634), roundingShift));
  const turns = w.keep(minus(shifted, roundingShift));
  const part = differenceOf(w, w.keep(minus(x, times(turns, logTwo[0]))), w.keep(times(turns, logTwo[1])));
  return { count: w.keep(lowWord(shifted)), part };
}

/** e^x as a pair times 2^count. */
function scaledExponential(w: Writer, x: Expression): { readonly count: Expression; readonly value: Pair } {
  const { count, part } = reduced(w, x);
  return { count, value: exponentialOf(w, part) };
}

/** A number times 2^count, for -2000 < count < 2000. */
export function scaled(w: Writer, x: Expression, count: Expression): Expression {
  const first = w.keep(shiftRight(count, 1));
  return times(times(x, powerOfTwo(first)), powerOfTwo(minus(count, first)));
}

export const exp = defineFunction('exp', ['f64'], (w, x) => {
  const size = w.keep(sizeWord(x));
  w.when(greaterOrSame(size, nearEnd), () => {
    w.giveWhen(differs(x, x), x);
    w.giveWhen(greater(x, 710), Infinity);
    w.giveWhen(less(x, -746), 0);
  });
  const { count, value } = scaledExponential(w, x);
  const sum = w.keep(plus(value.head, value.tail));
  w.giveWhen(less(size, nearEnd), times(sum, powerOfTwo(count)));
  w.give(scaled(w, sum, count));
});

export const expm1 = defineFunction('expm1', ['f64'], (w, x) => {
  w.giveWhen(differs(x, x), x);
  w.giveWhen(less(x, -40), -1);
  w.when(greater(x, 40), () => {
    const result = w.variable(0);
    w.call(exp, [x], [result]);
    w.give(get(result));
  });
  w.giveWhen(less(absolute(x), 2 ** -54), x);
  const { count, part: { head, tail } } = reduced(w, x);
  // The square exactly, because 1 may cancel most of the sum.
  const square = squareOf(w, head);
  const cubes = times(times(square.head, head), w.polynomial(head, series.slice(1)));
  const near = sumOf(w, head, w.keep(times(square.head, 0.5)));
  const power: Pair = { head: near.head,
    tail: w.keep(plus(near.tail, plus(plus(times(square.tail, 0.5), times(tail, plus(head, 1))), cubes))) };
  w.giveWhen(same(count, 0), plus(power.head, power.tail));
  // 2^count (1 + power) - 1.
  const scale = w.keep(powerOfTwo(count));
  const isUp = w.keep(greater(count, 0));
  const base = sumOf(w, w.keep(choose(isUp, scale, -1)), w.keep(choose(isUp, -1, scale)));
  const sum = sumOf(w, base.head, w.keep(times(power.head, scale)));
  w.give(plus(sum.head, plus(sum.tail, plus(base.tail, times(power.tail, scale)))));
}, { calls: [exp] });

/** e^x / 4 and e^-x / 4 for 0 <= x < 710.5. */
function quarters(w: Writer, x: Expression): readonly [Pair, Pair] {
  const { count, value } = scaledExponential(w, x);
  const scale = w.keep(powerOfTwo(minus(count, 2)));
  const { head, tail } = sumOf(w, value.head, value.tail);
  const up: Pair = { head: w.keep(times(head, scale)), tail: w.keep(times(tail, scale)) };
  const down = w.keep(over(1 / 16, up.head));
  const error = minus(lessProduct(w, f64(1 / 16), down, up.head), times(down, up.tail));
  return [up, { head: down, tail: w.keep(times(times(error, down), 16)) }];
}

function sum(w: Writer, [up, down]: readonly [Pair, Pair]): Pair {
  const { head, tail } = sumOf(w, up.head, down.head);
  return { head, tail: w.keep(plus(tail, plus(up.tail, down.tail))) };
}

function difference(w: Writer, [up, down]: readonly [Pair, Pair]): Pair {
  const { head, tail } = differenceOf(w, up.head, down.head);
  return { head, tail: w.keep(plus(tail, minus(up.tail, down.tail))) };
}

export const cosh = defineFunction('cosh', ['f64'], (w, x) => {
  const size = w.keep(sizeWord(x));
  w.giveWhen(greaterOrSame(size, beyondEnd), times(absolute(x), Infinity));
  w.giveWhen(less(size, tiny), 1);
  const { head, tail } = sum(w, quarters(w, w.keep(absolute(x))));
  // Doubled last, because e^x may overflow where cosh x does not.
  w.give(times(plus(head, tail), 2));
});

export const sinh = defineFunction('sinh', ['f64'], (w, x) => {
  const size = w.keep(sizeWord(x));
  w.giveWhen(greaterOrSame(size, beyondEnd), times(x, Infinity));
  w.when(less(size, half), () => {
    w.giveWhen(less(size, tiny), x);
    const z = w.keep(times(x, x));
    w.give(plus(x, times(times(x, z), w.polynomial(z, sineSeries))));
  });
  const { head, tail } = difference(w, quarters(w, w.keep(absolute(x))));
  w.give(withSign(w.keep(times(plus(head, tail), 2)), x));
});

/** The quotient of sinh and cosh, both as pairs. */
export const tanh = defineFunction('tanh', ['f64'], (w, x) => {
  const size = w.keep(sizeWord(x));
  w.when(greaterOrSame(size, flat), () => {
    w.giveWhen(differs(x, x), x);
    w.give(withSign(f64(1), x));
  });
  w.giveWhen(less(size, tiny), x);
  const y = w.keep(absolute(x));
  const locals = [w.variable(y), w.variable(0), w.variable(1), w.variable(0)] as const;
  const [above, aboveTail, below, belowTail] = locals;
  w.when(less(size, half), () => {
    const z = w.keep(times(y, y));
    w.set(aboveTail, times(times(y, z), w.polynomial(z, sineSeries)));
    w.set(belowTail, plus(times(z, 0.5), times(times(z, z), w.polynomial(z, cosineSeries))));
  }, () => {
    const both = quarters(w, y);
    const [a, b] = [difference(w, both), sum(w, both)];
    [a.head, a.tail, b.head, b.tail].forEach((value, i) => { w.set(locals[i] as typeof above, value); });
  });
  const a = sumOf(w, get(above), get(aboveTail));
  const b = sumOf(w, get(below), get(belowTail));
  const { head, tail } = quotientOf(w, a, b);
  w.give(withSign(w.keep(plus(head, tail)), x));
});
