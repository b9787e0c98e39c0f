// Double-double arithmetic: unevaluated sums of two doubles, the second far smaller than the first. After T. J. Dekker, A floating-point
// technique for extending the available precision, 1971, but factors are split into 21 and 32 bits.
import { coarse, minus, over, plus, times, type Writer } from './writer.ts';
import type { Expression } from '../ir.ts';

/** `head + tail`. */
export interface Pair {
  readonly head: Expression;
  readonly tail: Expression;
}

/** a + b, exactly, for |a| >= |b| or a = 0. */
export function sumOf(w: Writer, a: Expression, b: Expression): Pair {
  const head = w.keep(plus(a, b));
  return { head, tail: w.keep(plus(minus(a, head), b)) };
}

/** a - b, exactly, for |a| >= |b| or a = 0. */
export function differenceOf(w: Writer, a: Expression, b: Expression): Pair {
  const head = w.keep(minus(a, b));
  return { head, tail: w.keep(minus(minus(a, head), b)) };
}

/** from - a * b with an error of about 2^-90 of `from`, if a * b is within a few units in the last place of `from`. */
export function lessProduct(w: Writer, from: Expression, a: Expression, b: Expression): Expression {
  const [ah, bh] = [w.keep(coarse(a)), w.keep(coarse(b))];
  const [al, bl] = [w.keep(minus(a, ah)), w.keep(minus(b, bh))];
  return w.keep(minus(minus(minus(minus(from, times(ah, bh)), times(ah, bl)), times(al, bh)), times(al, bl)));
}

/** The square of a number. */
export function squareOf(w: Writer, a: Expression): Pair {
  const head = w.keep(times(a, a));
  const high = w.keep(coarse(a));
  const low = w.keep(minus(a, high));
  const cross = times(times(high, 2), low);
  return { head, tail: w.keep(plus(plus(minus(times(high, high), head), cross), times(low, low))) };
}

/** a / b. */
export function quotientOf(w: Writer, a: Pair, b: Pair): Pair {
  const inverse = w.keep(over(1, b.head));
  const head = w.keep(times(a.head, inverse));
  const rest = lessProduct(w, a.head, head, b.head);
  return { head, tail: w.keep(times(plus(rest, minus(a.tail, times(head, b.tail))), inverse)) };
}
