// Mathematical functions in fixed-point integers with more than 100 extra bits, as the reference for lib/kernel/math. They share nothing
// with it: they are plain power series whose arguments are reduced by halving and subtracting.

/** `integer * 2^exponent`. */
export interface Exact {
  readonly integer: bigint;
  readonly exponent: number;
}

const scratch = new DataView(new ArrayBuffer(8));

/** A finite double. */
export function exactOf(x: number): Exact {
  scratch.setFloat64(0, x);
  const field = (scratch.getUint32(0) >>> 20) & 0x7ff;
  const fraction = (BigInt(scratch.getUint32(0) & 0xfffff) << 32n) | BigInt(scratch.getUint32(4));
  const integer = field === 0 ? fraction : fraction | (1n << 52n);
  return { integer: x < 0 ? -integer : integer, exponent: Math.max(field, 1) - 1075 };
}

const shifted = (integer: bigint, by: number): bigint => (by >= 0 ? integer << BigInt(by) : integer >> BigInt(-by));
const size = (x: bigint): bigint => (x < 0n ? -x : x);
const bitsIn = (x: bigint): number => size(x).toString(2).length;
/** Of fixed-point numbers with so many binary places. */
const product = (a: bigint, b: bigint, places: number): bigint => (a * b) >> BigInt(places);
const quotient = (a: bigint, b: bigint, places: number): bigint => (a << BigInt(places)) / b;

function rootOf(x: bigint): bigint {
  if (x < 2n) return x;
  let now = 1n << BigInt((bitsIn(x) + 1) >> 1);
  for (;;) {
    const next = (now + x / now) >> 1n;
    if (next >= now) return now;
    now = next;
  }
}

function cubeRootOf(x: bigint): bigint {
  if (x < 2n) return x;
  let now = 1n << BigInt(Math.ceil(bitsIn(x) / 3));
  for (;;) {
    const next = (2n * now + x / (now * now)) / 3n;
    if (next >= now) return now;
    now = next;
  }
}

function cubeRoot({ integer, exponent }: Exact, extra: number): Exact {
  const places = 200 + 3 * extra;
  const third = cubeRootOf(shifted(size(integer), exponent + 3 * places));
  return { integer: integer < 0n ? -third : third, exponent: -places };
}

function memoised(make: (places: number) => bigint): (places: number) => bigint {
  const known = new Map<number, bigint>();
  return (places) => {
    let found = known.get(places);
    if (found === undefined) known.set(places, found = make(places + 16) >> 16n);
    return found;
  };
}

/** x - x³/3 + x⁵/5 - …, or with sign 1: x + x³/3 + …. */
function arcSeries(x: bigint, places: number, sign: 1n | -1n): bigint {
  const square = sign * product(x, x, places);
  let sum = x;
  for (let power = x, n = 3n; power !== 0n && power !== -1n; n += 2n) {
    power = product(power, square, places);
    sum += power / n;
  }
  return sum;
}

const one = (places: number): bigint => 1n << BigInt(places);
/** John Machin: π/4 = 4 atan(1/5) - atan(1/239). */
const pi = memoised((places) => 4n * (4n * arcSeries(one(places) / 5n, places, -1n) - arcSeries(one(places) / 239n, places, -1n)));
const logTwo = memoised((places) => 2n * arcSeries(one(places) / 3n, places, 1n));

/** Whole steps in a number, to the nearest, and what is left. */
function divided(x: bigint, step: bigint): readonly [count: bigint, rest: bigint] {
  const floor = (a: bigint, b: bigint): bigint => (a >= 0n ? a / b : -((-a + b - 1n) / b));
  const count = floor(2n * x + step, 2n * step);
  return [count, x - count * step];
}

/** e^x as a fixed-point number near 1, times a power of two. */
function exponential(x: bigint, places: number): Exact {
  const [count, rest] = divided(x, logTwo(places));
  const halvings = 16;
  const wide = places + 2 * halvings;
  const small = shifted(rest, wide - places - halvings);
  let sum = one(wide);
  for (let term = sum, n = 1n; term !== 0n && term !== -1n; ++n) {
    term = product(term, small, wide) / n;
    sum += term;
  }
  for (let i = 0; i < halvings; ++i) sum = product(sum, sum, wide);
  return { integer: sum, exponent: Number(count) - wide };
}

/** log x for x > 0. */
function logarithm({ integer, exponent }: Exact, places: number): bigint {
  const bits = bitsIn(integer);
  const m = shifted(integer, places - bits);
  const [near, more] = m * 10n < one(places) * 7n ? [2n * m, -1] : [m, 0];
  return 2n * arcSeries(quotient(near - one(places), near + one(places), places), places, 1n) + BigInt(exponent + bits + more) * logTwo(places);
}

function sineAndCosine(x: Exact, places: number): readonly [bigint, bigint] {
  const wide = places + Math.max(0, x.exponent + 64);
  const [count, far] = divided(shifted(x.integer, x.exponent + wide), pi(wide) >> 1n);
  const rest = far >> BigInt(wide - places);
  const square = -product(rest, rest, places);
  const series = (first: bigint, from: bigint): bigint => {
    let sum = first;
    for (let term = first, n = from; term !== 0n && term !== -1n; n += 2n) {
      term = product(term, square, places) / (n * (n + 1n));
      sum += term;
    }
    return sum;
  };
  const [s, c] = [series(rest, 2n), series(one(places), 1n)];
  return ([[s, c], [c, -s], [-s, -c], [-c, s]] as const)[Number(count & 3n)]!;
}

/** The angle of (x, y) for y >= 0, whichever size the numbers have. */
function angle(y: bigint, x: bigint, places: number): bigint {
  if (x < 0n) return pi(places) - angle(y, -x, places);
  if (y > x) return (pi(places) >> 1n) - angle(x, y, places);
  let t = quotient(y, x, places);
  let halvings = 0;
  for (; size(t) > one(places) >> 4n; ++halvings) t = quotient(t, one(places) + rootOf(one(2 * places) + t * t), places);
  return arcSeries(t, places, -1n) << BigInt(halvings);
}

/** Both at one exponent. */
function aligned(a: Exact, b: Exact): readonly [bigint, bigint, number] {
  const exponent = Math.min(a.exponent, b.exponent);
  return [a.integer << BigInt(a.exponent - exponent), b.integer << BigInt(b.exponent - exponent), exponent];
}

const fixed = (integer: bigint, places: number): Exact => ({ integer, exponent: -places });
const magnitude = (x: number): number => (x === 0 ? 0 : Math.max(0, Math.ceil(-Math.log2(Math.abs(x)))));

/** e^x + sign e^-x. */
function hyperbolic(x: number, places: number, sign: 1n | -1n): Exact {
  const { integer, exponent } = exactOf(x);
  const [up, down] = [1, -1].map((each) => exponential(BigInt(each) * shifted(integer, exponent + places), places)) as [Exact, Exact];
  const [a, b, common] = aligned(up, down);
  return { integer: a + sign * b, exponent: common };
}

/** log(1 + x), and the inverse hyperbolic functions, which are logarithms of sums. */
function logarithmOfSum(name: string, a: Exact, extra: number): Exact {
  // The logarithm of a number near 1 has as many places less as the number is near.
  const wide = 400 + 2 * extra;
  const z = shifted(size(a.integer), a.exponent + wide);
  const unit = one(wide);
  const sum = name === 'log1p' ? unit + (a.integer < 0n ? -z : z) : name === 'atanh' ? quotient(unit + z, unit - z, wide)
    : z + rootOf(z * z + (name === 'asinh' ? unit * unit : -unit * unit));
  const found = logarithm({ integer: sum, exponent: -wide }, wide);
  return fixed(name !== 'log1p' && a.integer < 0n ? -found : found, name === 'atanh' ? wide + 1 : wide);
}

/** The value at arguments at which it is finite and not 0. */
export function precise(name: string, x: number, y: number): Exact {
  const a = exactOf(x);
  const extra = magnitude(x);
  const places = 160 + extra;
  const value = shifted(a.integer, a.exponent + places + 1074) >> 1074n;
  switch (name) {
    case 'sin': case 'tan': case 'cos': {
      const wide = 240 + extra;
      const [s, c] = sineAndCosine(a, wide);
      return fixed(name === 'sin' ? s : name === 'cos' ? c : quotient(s, c, wide), wide);
    }
    case 'atan': {
      const angleOf = angle(size(a.integer) << BigInt(Math.max(0, a.exponent)), one(Math.max(0, -a.exponent)), places);
      return fixed(x < 0 ? -angleOf : angleOf, places);
    }
    case 'atan2': {
      const [p, q] = aligned(a, exactOf(y));
      const wide = 200 + Math.max(0, bitsIn(q) - bitsIn(p));
      const found = angle(size(p), q, wide);
      return fixed(x < 0 ? -found : found, wide);
    }
    case 'asin': case 'acos': {
      const other = rootOf(one(2 * places) - value * value);
      if (name === 'acos') return fixed(angle(other, value, places), places);
      const found = angle(size(value), other, places);
      return fixed(x < 0 ? -found : found, places);
    }
    case 'exp': return exponential(value, places);
    case 'cosh': case 'sinh': {
      const { integer, exponent } = hyperbolic(x, places + extra, name === 'cosh' ? 1n : -1n);
      return { integer, exponent: exponent - 1 };
    }
    case 'tanh': {
      const [s, c, exponent] = aligned(hyperbolic(x, places + extra, -1n), hyperbolic(x, places + extra, 1n));
      void exponent;
      return fixed(quotient(s, c, places), places);
    }
    case 'expm1': {
      const [e, unit, exponent] = aligned(exponential(value, places), { integer: 1n, exponent: 0 });
      return { integer: e - unit, exponent };
    }
    case 'cbrt': return cubeRoot(a, extra);
    case 'log1p': case 'asinh': case 'acosh': case 'atanh': return logarithmOfSum(name, a, extra);
    case 'log2': return fixed(quotient(logarithm(a, 240), logTwo(240), 240), 240);
    case 'log': return fixed(logarithm(a, 240), 240);
    case 'log10': return fixed(quotient(logarithm(a, 240), logarithm({ integer: 10n, exponent: 0 }, 240), 240), 240);
    case 'pow': {
      const wide = 320;
      const { integer, exponent } = exactOf(y);
      const power = shifted(logarithm(a, wide) * integer, exponent);
      return exponential(power, wide);
    }
    case 'hypot': {
      const [p, q, exponent] = aligned(a, exactOf(y));
      return { integer: rootOf((p * p + q * q) << 240n), exponent: exponent - 120 };
    }
    default: throw new Error(name);
  }
}

/** How far a double is from a value, in units of the value's last place; Infinity where it is infinite and should not be. */
export function distanceInPlaces(x: number, { integer, exponent }: Exact): number {
  const top = bitsIn(integer) + exponent;
  // What rounds to infinity.
  if (top > 1024) return Math.abs(x) === Infinity && (x > 0) === (integer > 0n) ? 0 : Infinity;
  if (!Number.isFinite(x)) return shifted(size(integer), exponent - 970) >= (1n << 54n) - 1n ? 0 : Infinity;
  const [a, b, common] = aligned(exactOf(x), { integer, exponent });
  const difference = size(a - b);
  const unit = Math.max(top - 53, -1074);
  // 30 bits of the quotient are enough.
  const scaled = shifted(difference, common - unit + 30);
  return Number(scaled) / 2 ** 30;
}
