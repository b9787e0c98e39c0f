// Arguments for mathematical functions: all sizes, and values near which algorithms are inaccurate.
import type { MathName } from '../../lib/kernel/ir.ts';
import { generator } from './random.ts';

type Make = () => number;
export type Arguments = readonly [x: number, y: number];

/** Special values, which every function is tested with. */
export const special: readonly number[] = [
  0, -0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 10, 1e15, 2 ** 53, 2 ** 53 + 2, -(2 ** 53), Infinity, -Infinity, NaN, 5e-324, -5e-324, 2.2250738585072014e-308,
  -2.2250738585072014e-308, Number.MAX_VALUE, -Number.MAX_VALUE, 1 + 2 ** -52, 1 - 2 ** -53, 2 ** -27, 2 ** -28, Math.PI, Math.PI / 2, Math.PI / 4, -Math.PI,
  6381956970095103 * 2 ** 797, 5.319372648326541416707296656673541083813475031793921822105998164685e255, 709.782712893384, 709.7827128933841,
  -745.1332191019411, -745.1332191019412, -708.3964185322641, 710.4758600739439, 710.475860073944, 22, 0.4375, 0.6875, 1.1875, 2.4375, 0.7071067811865476,
];

/** Pseudo-random arguments for a function. */
export function argumentsFor(name: MathName, count: number, seed = 1): Arguments[] {
  const random = generator(seed);
  const words = new DataView(new ArrayBuffer(8));
  const between = (a: number, b: number): number => a + (b - a) * random();
  const sign = (): number => (random() < 0.5 ? -1 : 1);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const any = (): number => {
    words.setUint32(0, random() * 2 ** 32);
    words.setUint32(4, random() * 2 ** 32);
    return words.getFloat64(0);
  };
  const sized = (a: number, b: number): number => sign() * 2 ** between(a, b);
  const near = (x: number): number => x * (1 + sign() * 2 ** between(-53, -3));
  const one = (...makers: readonly Make[]): number => pick(makers)();
  const angle: readonly Make[] = [
    any, () => sized(-30, 30), () => between(-10, 10), () => sized(20, 1023),
    // Doubles beside multiples of π/2.
    () => sign() * Math.floor(2 ** between(0, 30)) * (Math.PI / 2) * (1 + Math.round(between(-3, 3)) * 2 ** -52),
  ];
  const ratio: readonly Make[] = [
    () => between(-1, 1), () => sized(-60, 0), () => sign() * (1 - 2 ** between(-53, 0)), () => sign() * Math.min(1, near(0.5)),
  ];
  const steps = [7 / 16, 11 / 16, 19 / 16, 39 / 16, 0.5, 1, 1.5];
  const growth: readonly Make[] = [() => between(-711, 711), () => sized(-30, 9.4), () => between(-2, 2), () => sign() * near(0.5)];
  const positive: readonly Make[] = [
    any, () => near(1), () => between(0.3, 3), () => sized(-1074, -1000), () => near(Math.SQRT1_2), () => near(Math.SQRT2),
  ];
  const two = (): Arguments => {
    if (name === 'pow') {
      const x = Math.abs(one(...positive, () => near(Math.sqrt(0.75)), () => near(Math.sqrt(1.25)), () => Math.round(between(2, 30))));
      const whole = 1 / Math.max(Math.abs(Math.log2(x)), 2 ** -53);
      const y = one(any, () => between(-1080, 1030) * whole, () => between(-1080, 1030) * whole, () => sign() * between(1000, 1024) * whole,
        () => between(-10, 10), () => Math.round(between(-30, 30)));
      return [Number.isInteger(y) && random() < 0.5 ? -x : x, y];
    }
    const x = one(any, () => between(-1, 1), () => sized(-40, 40));
    return [x, one(any, () => between(-1, 1), () => x * sign() * between(0.1, 5), () => x * sized(-70, 70),
      () => (x / pick(steps)) * sign() * (1 + between(-1e-10, 1e-10)))];
  };
  const makers: Readonly<Partial<Record<MathName, readonly Make[]>>> = {
    sin: angle, cos: angle, tan: angle, asin: ratio, acos: ratio, cosh: growth, sinh: growth, tanh: [...growth, () => between(-25, 25)],
    atan: [any, () => sized(-30, 5), () => between(-5, 5), () => sign() * near(pick(steps))],
    exp: [() => between(-746, 710), () => sized(-60, 9.4), () => between(-2, 2), () => between(-746, -708)],
    log: positive.map((make) => () => Math.abs(make())), log10: positive.map((make) => () => Math.abs(make())),
    log2: positive.map((make) => () => Math.abs(make())), cbrt: [any, () => sized(-1074, 1023), () => between(-10, 10), () => Math.round(between(-99, 99)) ** 3],
    expm1: [() => between(-42, 45), () => sized(-60, 9.4), () => between(-1, 1), () => near(Math.LN2 / 2), () => between(30, 41)],
    log1p: [() => Math.abs(any()), () => sized(-60, 0), () => between(-0.5, 0.6), () => -1 + 2 ** between(-53, 0), () => 2 ** between(0, 60), () => -near(0.29)],
    asinh: [any, () => sized(-30, 30), () => between(-5, 5)], acosh: [() => Math.abs(any()), () => 1 + 2 ** between(-52, 30), () => between(1, 5)],
    atanh: ratio,
  };
  const own = makers[name];
  return Array.from({ length: count }, () => (own === undefined ? two() : [one(...own), 0] as const));
}

/** All pairs of {@link special}, or all of them. */
export function specialFor(isBinary: boolean): Arguments[] {
  return isBinary ? special.flatMap((x) => special.map((y) => [x, y] as const)) : special.map((x) => [x, 0] as const);
}
