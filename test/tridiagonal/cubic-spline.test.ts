// Splines against what defines them: interpolation, continuity, end conditions, reproduction of cubics, order.
import { ok, rejects, strictEqual, throws } from 'node:assert/strict';
import { cubicSpline, type SplineOptions } from '../../lib/tridiagonal/cubic-spline.ts';
import { eachBackend } from '../support/backends.ts';
import { Random } from '../support/random.ts';

const close = (a: number, b: number, tolerance: number, what: string) => ok(Math.abs(a - b) <= tolerance, `${what}: ${a} and ${b}`);

/** Strictly ascending random knots on [0, 1]. */
function knotsOf(count: number, random: Random): Float64Array {
  const knots = Float64Array.from({ length: count }, () => random.next() + 0.2);
  for (let k = 1; k < count; k += 1) knots[k]! += knots[k - 1]!;
  const [first, span] = [knots[0]!, knots[count - 1]! - knots[0]!];
  return knots.map((value) => (value - first) / span);
}

describe('cubic splines', () => {
  eachBackend((_, device) => {
    for (const boundary of ['natural', 'clamped', 'periodic'] as const) {
      it(`interpolate with continuous slope and curvature, ${boundary}`, async () => {
        for (const count of [3, 4, 5, 40]) {
          const random = new Random(count);
          const x = knotsOf(count, random);
          const series = 3;
          const y = Float64Array.from({ length: count * series }, () => random.normal());
          if (boundary === 'periodic') for (let s = 0; s < series; s += 1) y[(s + 1) * count - 1] = y[s * count]!;
          const spline = await cubicSpline(x, y, { boundary, slopes: [0.5, -2], device: await device() });
          for (let s = 0; s < series; s += 1) {
            const [values, slopes, curvatures] = ([0, 1, 2] as const).map((order) => (at: number) => spline.evaluate([at], { series: s, order })[0]!) as [
              (at: number) => number, (at: number) => number, (at: number) => number];
            x.forEach((knot, k) => close(values(knot), y[s * count + k]!, 1e-12 * (1 + Math.abs(y[s * count + k]!)), `value at knot ${k}`));
            for (let k = 1; k < count - 1; k += 1) {
              const step = 1e-9;
              const scale = 1 + Math.abs(curvatures(x[k]!));
              close(slopes(x[k]! - step), slopes(x[k]! + step), 1e-6 * scale * 10, `slope at knot ${k}`);
              close(curvatures(x[k]! - step), curvatures(x[k]! + step), 1e-4 * scale * count, `curvature at knot ${k}`);
            }
            const [first, last] = [x[0]!, x[count - 1]!];
            if (boundary === 'natural') for (const end of [first, last]) close(curvatures(end), 0, 1e-10, 'end curvature');
            if (boundary === 'clamped') {
              close(slopes(first), 0.5, 1e-10, 'first slope');
              close(slopes(last), -2, 1e-9, 'last slope');
            }
            if (boundary === 'periodic') {
              const near = 1 - 1e-12;
              close(slopes(first), slopes(last * near), 1e-6 * count * count, 'slope across the ends');
              close(curvatures(first), curvatures(last * near), 1e-4 * count * count * count, 'curvature across the ends');
              close(values(0.3), values(0.3 + 2 * (last - first)), 1e-9, 'repetition');
            }
          }
        }
      });
    }

    it('reproduces a cubic from its end slopes', async () => {
      const f = (t: number) => 2 * t ** 3 - t ** 2 + 3 * t - 1;
      const slope = (t: number) => 6 * t ** 2 - 2 * t + 3;
      const x = knotsOf(12, new Random(3));
      const spline = await cubicSpline(x, x.map(f), { boundary: 'clamped', slopes: [slope(0), slope(1)], device: await device() });
      const at = Float64Array.from({ length: 101 }, (_, k) => k / 100);
      spline.evaluate(at).forEach((value, k) => close(value, f(at[k]!), 1e-13, `at ${at[k]}`));
    });

    it('is of fourth order on a smooth periodic function', async () => {
      const errors: number[] = [];
      for (const count of [17, 33, 65]) {
        const x = Float64Array.from({ length: count }, (_, k) => k / (count - 1));
        const y = x.map((t) => Math.sin(2 * Math.PI * t));
        y[count - 1] = y[0]!;
        const spline = await cubicSpline(x, y, { boundary: 'periodic', device: await device() });
        const at = Float64Array.from({ length: 400 }, (_, k) => k / 400);
        errors.push(Math.max(...spline.evaluate(at).map((value, k) => Math.abs(value - Math.sin(2 * Math.PI * at[k]!)))));
      }
      for (const [coarse, fine] of [[errors[0]!, errors[1]!], [errors[1]!, errors[2]!]] as const) {
        ok(Math.abs(Math.log2(coarse / fine) - 4) < 0.3, `orders from errors ${errors}`);
      }
    });

    it('refuses what is no spline', async () => {
      const open = await device();
      const refused = (argument: string) => ({ code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });
      const make = (x: number[], y: number[], options: SplineOptions = {}) => cubicSpline(x, y, { ...options, device: open });
      await rejects(make([0], [1]), refused('x'));
      await rejects(make([0, 0], [1, 1]), refused('x'));
      await rejects(make([0, NaN], [1, 1]), refused('x'));
      await rejects(make([0, 1], [1, 1, 1]), refused('y'));
      await rejects(make([0, 1], [1, Infinity]), refused('y'));
      await rejects(make([0, 1], [1, 1], { boundary: 'periodic' }), refused('x'));
      await rejects(make([0, 1, 2], [1, 2, 3], { boundary: 'periodic' }), refused('y'));
      await rejects(make([0, 1], [1, 1], { boundary: 'free' as 'natural' }), refused('boundary'));
      const line = await make([0, 1], [1, 3]);
      strictEqual(line.evaluate([0.5])[0], 2);
      throws(() => line.evaluate([0], { series: 1 }), refused('series'));
      throws(() => line.evaluate([0], { order: 3 as 2 }), refused('order'));
    });
  });
});
