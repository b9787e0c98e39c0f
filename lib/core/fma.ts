// fma for plain JavaScript: the steps of lib/kernel/math/fused.ts, which says how and why.
import { rule } from './checks.ts';

const anyNumber = rule('a number', (value) => typeof value === 'number');

const words = new DataView(new ArrayBuffer(8));
const sizeOf = (x: number): number => {
  words.setFloat64(0, x);
  return words.getInt32(0) & 0x7fffffff;
};
const powerOfTwo = (k: number): number => {
  words.setInt32(0, (k + 1023) << 20);
  words.setInt32(4, 0);
  return words.getFloat64(0);
};

function oddSum(a: number, b: number): number {
  const sum = a + b;
  const rest = sum - a;
  const error = (a - (sum - rest)) + (b - rest);
  if (!(error < 0 || error > 0)) return sum;
  words.setFloat64(0, sum);
  const low = words.getInt32(4);
  if ((low & 1) !== 0) return sum;
  if (error > 0 === sum > 0) words.setInt32(4, low | 1);
  else {
    words.setInt32(4, low - 1);
    if (low === 0) words.setInt32(0, words.getInt32(0) - 1);
  }
  return words.getFloat64(0);
}

function high(x: number): number {
  const large = x * (2 ** 27 + 1);
  return large - (large - x);
}

function parts(x: number, y: number, z: number): readonly [number, number] {
  const product = x * y;
  const [xh, yh] = [high(x), high(y)];
  const [xl, yl] = [x - xh, y - yh];
  const tail = (((xh * yh - product) + xh * yl) + xl * yh) + xl * yl;
  const lower = z + tail;
  const lowerRest = lower - z;
  const lowerTail = (z - (lower - lowerRest)) + (tail - lowerRest);
  const upper = product + lower;
  const upperRest = upper - product;
  return [upper, oddSum(lowerTail, (product - (upper - upperRest)) + (lower - upperRest))];
}

function split(x: number): readonly [fraction: number, exponent: number] {
  const isSmall = sizeOf(x) < 0x00100000;
  words.setFloat64(0, isSmall ? x * 2 ** 54 : x);
  const word = words.getInt32(0);
  words.setInt32(0, (word & 0x800fffff) | 0x3ff00000);
  return [words.getFloat64(0), ((word >> 20) & 0x7ff) - (isSmall ? 1077 : 1023)];
}

function anySize(x: number, y: number, z: number): number {
  if (x === 0 || y === 0 || !Number.isFinite(x) || !Number.isFinite(y)) return x * y + z;
  if (!Number.isFinite(z)) return z;
  const [[a, ea], [b, eb]] = [split(x), split(y)];
  let [exponent, addend] = [ea + eb, z];
  if (z !== 0) {
    const [c, ec] = split(z);
    const distance = ec - exponent;
    addend = c * powerOfTwo(Math.max(Math.min(distance, 200), -200));
    exponent += Math.max(distance - 200, 0);
  }
  const [head, tail] = parts(a, b, addend);
  const sum = head + tail;
  if (sum === 0) return 0;
  if (exponent < -1300) return sum * 0;
  const half = exponent >> 1;
  const scaled = (value: number): number => value * powerOfTwo(half) * powerOfTwo(exponent - half);
  const least = powerOfTwo(Math.max(-1022 - exponent, -1000));
  if (Math.abs(sum) >= least) return scaled(sum);
  const base = sum < 0 ? -least : least;
  const upper = base + head;
  const rest = upper - base;
  const rounded = Math.abs(scaled(upper + oddSum((base - (upper - rest)) + (head - rest), tail) - base));
  return sum < 0 ? -rounded : rounded;
}

const isPlain = (x: number): boolean => Math.abs(x) >= 2 ** -450 && Math.abs(x) < 2 ** 480;

/**
 * `x * y + z`, rounded once: a fused multiply-add, as IEEE 754 defines it, subnormal and infinite results too. In functions that are
 * compiled, `fma` is known by this name, has the same bits on all back ends, and is one instruction on GPUs, where `x * y + z` is two. It
 * rounds to float32 where a kernel computes in float32; this one, for plain JavaScript, always to float64. In JavaScript and WebAssembly
 * it takes some 50 operations.
 * @throws ArgumentError (`ERR_WARPLOOM_INVALID_ARGUMENT`) for what is not a number
 * @example
 * ```ts
 * const { fma } = kernel;
 * const y = await kernel.map((x, a, b) => fma(a, x, b), [xs, 2, 1]);
 * ```
 */
export function fma(x: number, y: number, z: number): number {
  if (typeof x !== 'number' || typeof y !== 'number' || typeof z !== 'number') {
    anyNumber(x, 'x');
    anyNumber(y, 'y');
    anyNumber(z, 'z');
  }
  if (!isPlain(x) || !isPlain(y) || !(Math.abs(z) < 2 ** 1000)) return anySize(x, y, z);
  const [head, tail] = parts(x, y, z);
  return head + tail;
}
