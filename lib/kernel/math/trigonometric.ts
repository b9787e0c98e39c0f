// sin, cos, tan: subtract a multiple of π/2 from the argument, then evaluate polynomials.
import { f64, get, i32, select, type Expression, type Local } from '../ir.ts';
import { differenceOf, quotientOf, squareOf, sumOf, type Pair } from './pairs.ts';
import {
  absolute, bitAnd, choose, coarse, defineFunction, differs, either, floorOf, greaterOrSame, less, lowWord, minus, negative, notFinite,
  plus, powerOfTwo, roundingShift, same, shiftRight, sizeWord, times, type MathFunction, type Writer,
} from './writer.ts';
import { elementAt } from '../../core/known.ts';

/** 2/π in pieces of 24 bits, enough for every double, including those nearest to a multiple of π/2. */
const twoOverPi: readonly number[] = [
  0xa2f983, 0x6e4e44, 0x1529fc, 0x2757d1, 0xf534dd, 0xc0db62, 0x95993c, 0x439041, 0xfe5163, 0xabdebb,
  0xc561b7, 0x246e3a, 0x424dd2, 0xe00649, 0x2eea09, 0xd1921c, 0xfe1deb, 0x1cb129, 0xa73ee8, 0x8235f5,
  0x2ebb44, 0x84e99c, 0x7026b4, 0x5f7e41, 0x3991d6, 0x398353, 0x39f49c, 0x845f8b, 0xbdf928, 0x3b1ff8,
  0x97ffde, 0x05980f, 0xef2f11, 0x8b5a0a, 0x6d1f6d, 0x367ecf, 0x27cb09, 0xb74f46, 0x3f669e, 0x5fea2d,
  0x7527ba, 0xc7ebe5, 0xf17b3d, 0x0739f7, 0x8a5292, 0xea6bfb, 0x5fb11f, 0x8d5d08, 0x560330, 0x46fc7b,
];
const pieceBits = 24;
const pieceSize = 2 ** pieceBits;
/** π/2 as a sum of two doubles, and of three, of which the first two have 33 bits. */
const halfPi = [1.5707963267948966, 6.123233995736766e-17] as const;
const halfPiParts = [1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21] as const;

/** (sin r / r - 1) / r² and (cos r - 1 + r² / 2) / r⁴ as polynomials in r², minimax for |r| <= π/4. */
const sine = [
  -0.16666666666666632, 0.008333333333322472, -0.00019841269829835612, 2.755731369729254e-06, -2.5050758478967452e-08,
  1.589679559953929e-10,
];
const cosine = [
  0.0416666666666666, -0.0013888888888874457, 2.4801587289652865e-05, -2.7557314393872934e-07, 2.087572811199916e-09,
  -1.1359865078310368e-11,
];

/** High words: above those of π/4, of 2^-27, and of 2^20 π/2. */
const [afterQuarter, tiny, large] = [0x3fe921fb, 0x3e400000, 0x413921fb];

const piece: MathFunction = defineFunction('two_over_pi', ['i32'], (w, at) => {
  const among = (from: number, to: number): Expression => {
    if (from === to) return f64(elementAt(twoOverPi, from));
    const middle = (from + to + 1) >> 1;
    return select(less(at, middle), among(from, middle - 1), among(middle, to));
  };
  w.giveWhen(less(at, 0), 0);
  w.give(among(0, twoOverPi.length - 1));
}, { isRare: true });

/**
 * The number of the nearest multiple of π/2, modulo 4, and the distance from it as a sum of two doubles. Works for every number. After
 * M. H. Payne and R. N. Hanek, Radian reduction for trigonometric functions, 1983: computes only the digits of the product with 2/π that
 * matter.
 */
const reduceLarge: MathFunction = defineFunction('reduce_large', ['f64'], (w, x) => {
  w.giveWhen(greaterOrSame(sizeWord(x), notFinite), i32(0), minus(x, x), 0);
  // The digits of |x| 2^(-24 q) to the base 2^24.
  const exponent = minus(shiftRight(sizeWord(x), 20), 1023);
  const q = w.keep({ kind: 'binary', type: 'i32', op: 'div', left: exponent, right: i32(pieceBits) });
  let rest = w.keep(times(absolute(x), powerOfTwo(times(q, -pieceBits))));
  const digits: Expression[] = [];
  for (let i = 0; i < 4; ++i) {
    const digit = w.keep(floorOf(rest));
    digits.push(digit);
    if (i < 3) rest = w.keep(times(minus(rest, digit), pieceSize));
  }
  const pieces = Array.from({ length: 11 }, (_, i) => {
    const local = w.variable(0);
    w.call(piece, [plus(q, i - 4)], [local]);
    return get(local);
  });
  // Column m has the weight 2^(-24 m). Columns before the first are multiples of 2^24, so they do not matter.
  const columns = Array.from({ length: 8 }, (_, m) =>
    digits.map((digit, i) => times(digit, elementAt(pieces, m - i + 3))).reduce((sum, product) => plus(sum, product)));
  const fraction: Expression[] = [];
  let carry: Expression | undefined;
  for (let m = 7; m > 0; --m) {
    const sum = w.keep(carry === undefined ? elementAt(columns, m) : plus(elementAt(columns, m), carry));
    carry = w.keep(floorOf(times(sum, 1 / pieceSize)));
    fraction.unshift(w.keep(minus(sum, times(carry, pieceSize))));
  }
  const whole = w.keep(plus(elementAt(columns, 0), carry as Expression));
  // Round to the nearest integer.
  const isHalf = w.keep(greaterOrSame(elementAt(fraction, 0), pieceSize / 2));
  const nearest = w.keep(plus(minus(whole, times(floorOf(times(whole, 1 / 8)), 8)), choose(isHalf, 1, 0)));
  fraction[0] = w.keep(minus(elementAt(fraction, 0), choose(isHalf, pieceSize, 0)));
  const two = (at: number): Expression => w.keep(plus(
    times(elementAt(fraction, at), pieceSize ** -(at + 1)), times(elementAt(fraction, at + 1), pieceSize ** -(at + 2))));
  const first = sumOf(w, two(0), two(2));
  const turns = sumOf(w, first.head, plus(first.tail, plus(two(4), times(elementAt(fraction, 6), pieceSize ** -7))));
  // Times π/2.
  const [head, tail] = [f64(halfPi[0]), f64(halfPi[1])];
  const product = w.keep(times(turns.head, head));
  const high = w.keep(coarse(turns.head));
  const low = w.keep(minus(turns.head, high));
  const halfHigh = 1.5707963109016418;
  const halfLow = halfPi[0] - halfHigh;
  const error = plus(plus(plus(minus(times(high, halfHigh), product), times(high, halfLow)), times(low, halfHigh)), times(low, halfLow));
  const part = sumOf(w, product, w.keep(plus(error, plus(times(turns.head, tail), times(turns.tail, head)))));
  const count = w.keep({ kind: 'convert', type: 'i32', operand: nearest });
  w.giveWhen(less(x, 0), minus(0, count), negative(part.head), negative(part.tail));
  w.give(count, part.head, part.tail);
}, { results: ['i32', 'f64', 'f64'], calls: [piece], isRare: true });

interface Reduced {
  readonly count: Expression;
  readonly part: Pair;
}

/** Like {@link reduceLarge}, for numbers beyond π/4. Calls it only for large numbers and for those near a multiple of π/2. */
function reduce(w: Writer, x: Expression, size: Expression): Reduced {
  const shifted = w.keep(plus(times(x, 0.6366197723675814), roundingShift));
  const count = w.variable(lowWord(shifted));
  const turns = w.keep(minus(shifted, roundingShift));
  // W. J. Cody and W. Waite, Software manual for the elementary functions, 1980.
  const first = w.keep(minus(x, times(turns, halfPiParts[0])));
  const second = differenceOf(w, first, w.keep(times(turns, halfPiParts[1])));
  const rest = w.keep(minus(times(turns, halfPiParts[2]), second.tail));
  const head = w.variable(minus(second.head, rest));
  const tail = w.variable(minus(minus(second.head, get(head)), rest));
  const isNear = less(absolute(get(head)), times(absolute(x), 2 ** -30));
  w.when(either(greaterOrSame(size, large), isNear), () => { w.call(reduceLarge, [x], [count, head, tail]); });
  return { count: get(count), part: { head: get(head), tail: get(tail) } };
}

/** A reduced argument; without `tail` it is exact. */
type Argument = Omit<Pair, 'tail'> & Partial<Pair>;

function sineOf(w: Writer, { head, tail }: Argument): Expression {
  const z = w.keep(times(head, head));
  const cube = w.keep(times(z, head));
  if (tail === undefined) return plus(head, times(cube, w.polynomial(z, sine)));
  const series = w.polynomial(z, sine.slice(1));
  const below = minus(times(z, minus(times(tail, 0.5), times(cube, series))), tail);
  return minus(head, minus(below, times(cube, elementAt(sine, 0))));
}

function cosineOf(w: Writer, { head, tail }: Argument): Expression {
  const z = w.keep(times(head, head));
  const half = w.keep(times(z, 0.5));
  const near = differenceOf(w, f64(1), half);
  const rest = times(times(z, z), w.polynomial(z, cosine));
  return plus(near.head, plus(near.tail, tail === undefined ? rest : minus(rest, times(head, tail))));
}

/** Returns the sine or cosine of the reduced argument, with the sign of the quadrant. */
function giveQuadrant(w: Writer, { count, part }: Reduced, shift: 0 | 1): void {
  const value: Local = w.variable(0);
  const turn = w.keep(plus(count, shift));
  w.when(same(bitAnd(turn, 1), 0), () => { w.set(value, sineOf(w, part)); }, () => { w.set(value, cosineOf(w, part)); });
  w.give(choose(same(bitAnd(turn, 2), 0), get(value), negative(get(value))));
}

export const sin = defineFunction('sin', ['f64'], (w, x) => {
  const size = w.keep(sizeWord(x));
  w.when(less(size, afterQuarter), () => {
    w.giveWhen(less(size, tiny), x);
    w.give(sineOf(w, { head: x }));
  });
  giveQuadrant(w, reduce(w, x, size), 0);
}, { calls: [reduceLarge] });

export const cos = defineFunction('cos', ['f64'], (w, x) => {
  const size = w.keep(sizeWord(x));
  w.when(less(size, afterQuarter), () => { w.give(cosineOf(w, { head: x })); });
  giveQuadrant(w, reduce(w, x, size), 1);
}, { calls: [reduceLarge] });

/** The quotient of sine and cosine, both as pairs. */
export const tan = defineFunction('tan', ['f64'], (w, x) => {
  const size = w.keep(sizeWord(x));
  w.giveWhen(less(size, tiny), x);
  const count = w.variable(i32(0));
  const [head, tail] = [w.variable(x), w.variable(0)];
  w.when(greaterOrSame(size, afterQuarter), () => {
    const reduced = reduce(w, x, size);
    w.set(count, reduced.count);
    w.set(head, reduced.part.head);
    w.set(tail, reduced.part.tail);
  });
  const [y, below] = [get(head), get(tail)];
  const z = squareOf(w, y);
  const near = differenceOf(w, f64(1), w.keep(times(z.head, 0.5)));
  const high = times(times(z.head, z.head), w.polynomial(z.head, cosine));
  const cosTail = plus(near.tail, minus(minus(high, times(y, below)), times(z.tail, 0.5)));
  const cosPair = sumOf(w, near.head, w.keep(cosTail));
  const cubic = times(times(z.head, y), w.polynomial(z.head, sine));
  const sinTail = plus(cubic, plus(times(below, cosPair.head), times(times(z.tail, y), elementAt(sine, 0))));
  const sinPair = sumOf(w, y, w.keep(sinTail));
  const isOdd = w.keep(differs(bitAnd(get(count), 1), 0));
  const pick = (a: Expression, b: Expression): Expression => w.keep(choose(isOdd, a, b));
  const { head: whole, tail: rest } = quotientOf(w,
    { head: pick(negative(cosPair.head), sinPair.head), tail: pick(negative(cosPair.tail), sinPair.tail) },
    { head: pick(sinPair.head, cosPair.head), tail: pick(sinPair.tail, cosPair.tail) });
  w.give(plus(whole, rest));
}, { calls: [reduceLarge] });
