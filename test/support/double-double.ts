// Double-double arithmetic (about 32 digits), for right-hand sides, residuals and reference solutions
// that are exact next to float64. Dekker 1971; Hida, Li, Bailey 2001.

/** An unevaluated sum hi + lo with |lo| <= ulp(hi)/2. */
export interface DoubleDouble {
  readonly hi: number;
  readonly lo: number;
}

/** `value` exactly. */
export const exactly = (value: number): DoubleDouble => ({ hi: value, lo: 0 });
export const zero: DoubleDouble = exactly(0);

function twoSum(a: number, b: number): DoubleDouble {
  const hi = a + b;
  const bb = hi - a;
  return { hi, lo: (a - (hi - bb)) + (b - bb) };
}

function quickTwoSum(a: number, b: number): DoubleDouble {
  const hi = a + b;
  return { hi, lo: b - (hi - a) };
}

function split(a: number): [number, number] {
  // Scaled so that the splitting product cannot overflow.
  if (Math.abs(a) > 2 ** 996) {
    const [high, low] = split(a * 2 ** -28);
    return [high * 2 ** 28, low * 2 ** 28];
  }
  const t = 134217729 * a;
  const high = t - (t - a);
  return [high, a - high];
}

/** a * b without rounding. */
export function product(a: number, b: number): DoubleDouble {
  const hi = a * b;
  const [ah, al] = split(a);
  const [bh, bl] = split(b);
  return { hi, lo: ((ah * bh - hi) + ah * bl + al * bh) + al * bl };
}

export function add(a: DoubleDouble, b: DoubleDouble): DoubleDouble {
  const s = twoSum(a.hi, b.hi);
  const t = twoSum(a.lo, b.lo);
  const u = quickTwoSum(s.hi, s.lo + t.hi);
  return quickTwoSum(u.hi, u.lo + t.lo);
}

export const negate = (a: DoubleDouble): DoubleDouble => ({ hi: -a.hi, lo: -a.lo });
export const subtract = (a: DoubleDouble, b: DoubleDouble): DoubleDouble => add(a, negate(b));

export function multiply(a: DoubleDouble, b: DoubleDouble): DoubleDouble {
  const p = product(a.hi, b.hi);
  return quickTwoSum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

export function divide(a: DoubleDouble, b: DoubleDouble): DoubleDouble {
  const q1 = a.hi / b.hi;
  let r = subtract(a, multiply(b, exactly(q1)));
  const q2 = r.hi / b.hi;
  r = subtract(r, multiply(b, exactly(q2)));
  const q3 = r.hi / b.hi;
  return add(quickTwoSum(q1, q2), exactly(q3));
}

export const toNumber = (a: DoubleDouble): number => a.hi + a.lo;
