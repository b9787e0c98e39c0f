// asin, acos, atan, atan2.
import { f64, get, type Expression } from '../ir.ts';
import { differenceOf, lessProduct, quotientOf, sumOf, type Pair } from './pairs.ts';
import {
  absolute, choose, defineFunction, differs, either, greater, greaterOrSame, highWord, less, minus, negative, notFinite, over, plus,
  root, same, shiftRight, sizeWord, times, withSign, type Writer,
} from './writer.ts';

/** (t - atan t) / t³ as a polynomial in t², minimax for |t| <= 7/16. */
const tangentSeries = [
  0.33333333333332926, -0.19999999999875084, 0.14285714272377023, -0.11111110399725653, 0.09090886982850203, -0.07691873752661348,
  0.06661047587315296, -0.058333997306395984, 0.04976174593079414, -0.03651521392882825, 0.016269437133304906,
];
/** (asin x - x) / x³ as a polynomial in x², minimax for |x| <= 1/2. */
const sineSeries = [
  0.16666666666666763, 0.07499999999970063, 0.044642857175356286, 0.03038194267071585, 0.022372216060085853, 0.017351592360044837,
  0.013981059908215236, 0.011396928016544367, 0.010791500333665263, 0.003663489361465719, 0.021812878249428028, -0.021149662810513798,
  0.032723690597384954,
];
type Constant = readonly [head: number, tail: number];
const pi: Constant = [3.141592653589793, 1.2246467991473532e-16];
const halfPi: Constant = [1.5707963267948966, 6.123233995736766e-17];

/** Arguments below `before` are reduced by 0, 1/2, 1, 3/2 or infinity; the arc tangent of that number, and π minus it. */
const steps: readonly { readonly before: number; readonly arc: Constant; readonly other: Constant }[] = [
  { before: 7 / 16, arc: [0, 0], other: pi },
  { before: 11 / 16, arc: [0.4636476090008061, 2.2698777452961687e-17], other: [2.677945044588987, 1.5527705369303147e-16] },
  { before: 19 / 16, arc: [0.7853981633974483, 3.061616997868383e-17], other: [2.356194490192345, 9.184850993605148e-17] },
  { before: 39 / 16, arc: [0.982793723247329, 1.3903311031230998e-17], other: [2.158798930342464, 2.1958367134601997e-16] },
  { before: Infinity, arc: halfPi, other: halfPi },
];
/** High words of 7/16, 2^-27, 2^66, 1/2. */
const [small, tiny, flat, half] = [0x3fdc0000, 0x3e400000, 0x44100000, 0x3fe00000];

/** Branches to the step in whose interval a quotient lies, by bisection. */
function byStep(w: Writer, isBelow: (limit: number) => Expression, first: number, write: (step: number) => void): void {
  const among = (from: number, to: number): void => {
    if (from === to) {
      write(from);
      return;
    }
    const middle = (from + to + 1) >> 1;
    const { before } = steps[middle - 1] as { before: number };
    w.when(isBelow(before), () => { among(from, middle - 1); }, () => { among(middle, to); });
  };
  among(first, steps.length - 1);
}

export const atan = defineFunction('atan', ['f64'], (w, x) => {
  const size = w.keep(sizeWord(x));
  const cubic = (t: Expression): Expression => {
    const z = w.keep(times(t, t));
    return times(times(t, z), w.polynomial(z, tangentSeries));
  };
  w.when(less(size, small), () => {
    w.giveWhen(less(size, tiny), x);
    w.give(minus(x, cubic(x)));
  });
  w.when(greaterOrSame(size, flat), () => {
    w.giveWhen(differs(x, x), x);
    w.give(withSign(f64(halfPi[0]), x));
  });
  const y = w.keep(absolute(x));
  const [above, below, arc, arcTail] = [w.variable(-1), w.variable(y), w.variable(halfPi[0]), w.variable(halfPi[1])];
  const reductions: readonly (readonly [Expression, Expression])[] = [
    [y, f64(1)], [minus(times(y, 2), 1), plus(y, 2)], [minus(y, 1), plus(y, 1)], [minus(y, 1.5), plus(times(y, 1.5), 1)], [f64(-1), y],
  ];
  byStep(w, (limit) => less(y, limit), 1, (step) => {
    if (step === steps.length - 1) return;
    const [a, b] = reductions[step] as (typeof reductions)[number];
    const { arc: [head, tail] } = steps[step] as (typeof steps)[number];
    w.set(above, a);
    w.set(below, b);
    w.set(arc, head);
    w.set(arcTail, tail);
  });
  const t = w.keep(over(get(above), get(below)));
  w.give(withSign(w.keep(minus(get(arc), minus(minus(cubic(t), get(arcTail)), t))), x));
});

/** atan2(x, y), x being the ordinate. */
export const atan2 = defineFunction('atan2', ['f64', 'f64'], (w, x, y) => {
  const [sizeX, sizeY] = [w.keep(sizeWord(x)), w.keep(sizeWord(y))];
  const isLeft = w.keep(less(highWord(y), 0));
  const give = (right: Constant, left: Constant): void => { w.give(withSign(w.keep(choose(isLeft, f64(left[0]), right[0])), x)); };
  w.when(either(greaterOrSame(sizeX, notFinite), greaterOrSame(sizeY, notFinite)), () => {
    w.giveWhen(either(differs(x, x), differs(y, y)), plus(x, y));
    w.when(less(sizeX, notFinite), () => { give([0, 0], pi); });
    w.when(less(sizeY, notFinite), () => { give(halfPi, halfPi); });
    give([Math.PI / 4, 0], [3 * Math.PI / 4, 0]);
  });
  w.when(same(x, 0), () => { give([0, 0], pi); });
  // If the exponents differ much, the result is a constant or the quotient.
  const distance = w.keep(minus(shiftRight(sizeX, 20), shiftRight(sizeY, 20)));
  w.when(either(greater(distance, 64), same(y, 0)), () => { give(halfPi, halfPi); });
  w.when(less(distance, -64), () => {
    w.when(isLeft, () => { give(pi, pi); });
    w.give(over(x, y));
  });
  // Scale, so that products neither overflow nor lose digits.
  const most = w.keep(choose(greater(sizeX, sizeY), sizeX, sizeY));
  const scale = w.keep(choose(greater(most, 0x5ff00000), f64(2 ** -600), choose(less(most, 0x1ff00000), f64(2 ** 600), 1)));
  const a = w.keep(times(absolute(x), scale));
  const b = w.keep(times(absolute(y), scale));
  const zero = f64(0);
  const pairs = [w.variable(a), w.variable(0), w.variable(b), w.variable(0)] as const;
  const arcs = [w.variable(0), w.variable(0)] as const;
  const set = (above: Pair, below: Pair): void => {
    [above.head, above.tail, below.head, below.tail].forEach((value, i) => { w.set(pairs[i] as (typeof pairs)[0], value); });
  };
  const larger = (p: Expression, q: Expression): Pair => {
    const whole = w.keep(plus(p, q));
    const back = w.keep(minus(whole, p));
    return { head: whole, tail: w.keep(plus(minus(p, minus(whole, back)), minus(q, back))) };
  };
  byStep(w, (limit) => less(a, times(b, limit)), 0, (step) => {
    const { arc, other } = steps[step] as (typeof steps)[number];
    arcs.forEach((local, i) => { w.set(local, choose(isLeft, f64(other[i] as number), arc[i] as number)); });
    if (step === 0) return;
    if (step === 1) set({ head: w.keep(minus(times(a, 2), b)), tail: zero }, larger(w.keep(times(b, 2)), a));
    else if (step === 2) set({ head: w.keep(minus(a, b)), tail: zero }, larger(a, b));
    else if (step === 3) {
      const [twoA, twoB] = [w.keep(times(a, 2)), w.keep(times(b, 2))];
      const threeA = larger(twoA, a);
      const threeB = larger(twoB, b);
      const sum = larger(twoB, threeA.head);
      set({ head: w.keep(minus(twoA, threeB.head)), tail: w.keep(negative(threeB.tail)) },
        { head: sum.head, tail: w.keep(plus(sum.tail, threeA.tail)) });
    } else set({ head: w.keep(negative(b)), tail: zero }, { head: a, tail: zero });
  });
  const [aboveHead, aboveTail, belowHead, belowTail] = pairs;
  const t = quotientOf(w, { head: get(aboveHead), tail: get(aboveTail) }, { head: get(belowHead), tail: get(belowTail) });
  const z = w.keep(times(t.head, t.head));
  const rest = w.keep(minus(t.tail, times(times(t.head, z), w.polynomial(z, tangentSeries))));
  const turned = (e: Expression): Expression => w.keep(choose(isLeft, negative(e), e));
  const sum = sumOf(w, get(arcs[0]), turned(t.head));
  w.give(withSign(w.keep(plus(sum.head, plus(sum.tail, plus(get(arcs[1]), turned(rest))))), x));
});

/** The arc sine of the root of (1 - size) / 2, for 1/2 <= size <= 1. */
function halfArc(w: Writer, size: Expression): Pair {
  const z = w.keep(times(minus(1, size), 0.5));
  const head = w.keep(root(z));
  const error = over(lessProduct(w, z, head, head), times(head, 2));
  return { head, tail: w.keep(plus(error, times(times(head, z), w.polynomial(z, sineSeries)))) };
}

/** (asin x - x) / x for |x| < 1/2. */
function arcSeries(w: Writer, x: Expression): Expression {
  const z = w.keep(times(x, x));
  return times(z, w.polynomial(z, sineSeries));
}

export const asin = defineFunction('asin', ['f64'], (w, x) => {
  const size = w.keep(sizeWord(x));
  w.when(less(size, half), () => {
    w.giveWhen(less(size, tiny), x);
    w.give(plus(x, times(x, arcSeries(w, x))));
  });
  const y = w.keep(absolute(x));
  w.giveWhen(same(y, 1), withSign(f64(halfPi[0]), x));
  const arc = halfArc(w, y);
  const { head, tail } = differenceOf(w, f64(halfPi[0]), w.keep(times(arc.head, 2)));
  w.give(withSign(w.keep(plus(head, plus(tail, minus(halfPi[1], times(arc.tail, 2))))), x));
});

export const acos = defineFunction('acos', ['f64'], (w, x) => {
  const size = w.keep(sizeWord(x));
  w.when(less(size, half), () => {
    const { head, tail } = differenceOf(w, f64(halfPi[0]), x);
    w.give(plus(head, plus(tail, minus(halfPi[1], times(x, arcSeries(w, x))))));
  });
  const y = w.keep(absolute(x));
  w.giveWhen(same(y, 1), choose(less(x, 0), f64(pi[0]), 0));
  const arc = halfArc(w, y);
  w.when(less(x, 0), () => {
    const { head, tail } = differenceOf(w, f64(pi[0]), w.keep(times(arc.head, 2)));
    w.give(plus(head, plus(tail, minus(pi[1], times(arc.tail, 2)))));
  });
  w.give(times(plus(arc.head, arc.tail), 2));
});
