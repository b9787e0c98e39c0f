// asinh, acosh and atanh, by logarithms of sums whose rounding errors are kept.
import { f64, get, type Expression } from '../ir.ts';
import { log, logarithmOfSum } from './logarithm.ts';
import { differenceOf, lessProduct, quotientOf, squareOf, sumOf, type Pair } from './pairs.ts';
import {
  absolute, choose, defineFunction, differs, greater, greaterOrSame, less, over, plus, root, same, times, minus, withSign,
  type Writer,
} from './writer.ts';

/** From here on, 1 is negligible beside the square. */
const large = 2 ** 28;
/** Up to here, x is the result. */
const tiny = 2 ** -28;

/** Returns log(2 x) for large numbers; what is to be done with the result is the caller's. */
function giveLarge(w: Writer, x: Expression, give: (result: Expression) => void): void {
  w.when(greater(x, large), () => {
    const isHuge = w.keep(greater(x, 2 ** 1000));
    const result = w.variable(0);
    w.call(log, [w.keep(times(x, choose(isHuge, 0.5, f64(2))))], [result]);
    give(w.keep(plus(get(result), choose(isHuge, f64(2 * Math.LN2), 0))));
  });
}

/** a + b, of which either may be the larger. */
function sumOfAny(w: Writer, a: Expression, b: Expression): Pair {
  const isFirst = w.keep(greaterOrSame(a, b));
  return sumOf(w, w.keep(choose(isFirst, a, b)), w.keep(choose(isFirst, b, a)));
}

/** The square root of a pair that is positive. */
function rootOf(w: Writer, { head, tail }: Pair): Pair {
  const r = w.keep(root(head));
  return { head: r, tail: w.keep(over(plus(lessProduct(w, head, r, r), tail), times(r, 2))) };
}

/** log(1 + head + tail). */
function logarithm(w: Writer, { head, tail }: Pair): Expression {
  const result = w.variable(0);
  w.call(logarithmOfSum, [head, tail], [result]);
  return get(result);
}

const calls = [log, logarithmOfSum];

/** log(1 + y + y² / (1 + √(1 + y²))) for y = |x|. */
export const asinh = defineFunction('asinh', ['f64'], (w, x) => {
  const y = w.keep(absolute(x));
  w.giveWhen(less(y, tiny), x);
  w.giveWhen({ kind: 'unary', type: 'bool', op: 'not', operand: less(y, Infinity) }, plus(x, x));
  giveLarge(w, y, (result) => { w.give(withSign(result, x)); });
  const square = squareOf(w, y);
  const sum = sumOfAny(w, square.head, f64(1));
  const r = rootOf(w, { head: sum.head, tail: w.keep(plus(sum.tail, square.tail)) });
  const below = sumOf(w, r.head, f64(1));
  const part = quotientOf(w, square, { head: below.head, tail: w.keep(plus(below.tail, r.tail)) });
  const whole = sumOf(w, y, part.head);
  w.give(withSign(w.keep(logarithm(w, { head: whole.head, tail: w.keep(plus(whole.tail, part.tail)) })), x));
}, { calls });

/** log(1 + t + √(2 t + t²)) for t = x - 1. */
export const acosh = defineFunction('acosh', ['f64'], (w, x) => {
  w.giveWhen(less(x, 1), NaN);
  w.giveWhen({ kind: 'unary', type: 'bool', op: 'not', operand: less(x, Infinity) }, plus(x, x));
  w.giveWhen(same(x, 1), 0);
  giveLarge(w, x, (result) => { w.give(result); });
  const t = w.keep(minus(x, 1));
  const square = squareOf(w, t);
  const sum = sumOfAny(w, w.keep(times(t, 2)), square.head);
  const r = rootOf(w, { head: sum.head, tail: w.keep(plus(sum.tail, square.tail)) });
  const whole = sumOf(w, r.head, t);
  w.give(logarithm(w, { head: whole.head, tail: w.keep(plus(whole.tail, r.tail)) }));
}, { calls });

/** log(1 + 2 y / (1 - y)) / 2 for y = |x|. */
export const atanh = defineFunction('atanh', ['f64'], (w, x) => {
  const y = w.keep(absolute(x));
  w.giveWhen(differs(x, x), x);
  w.giveWhen(greater(y, 1), NaN);
  w.giveWhen(same(y, 1), times(x, Infinity));
  w.giveWhen(less(y, tiny), x);
  const part = quotientOf(w, { head: w.keep(times(y, 2)), tail: f64(0) }, differenceOf(w, f64(1), y));
  w.give(withSign(w.keep(times(logarithm(w, part), 0.5)), x));
}, { calls: [logarithmOfSum] });
