// The ADI heat solver against modes that decay exactly, conservation, symmetry and order.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { HeatAdi, type HeatAdiOptions, type HeatBoundary } from '../../lib/tridiagonal/heat-adi.ts';
import { eachBackend } from '../support/backends.ts';
import { Random } from '../support/random.ts';

/** Values of f at the cells, row by row. */
function grid(width: number, height: number, f: (x: number, y: number) => number): Float64Array {
  return Float64Array.from({ length: width * height }, (_, k) => f(k % width, Math.floor(k / width)));
}

const neumannMode = (p: number, q: number, width: number, height: number) => grid(width, height,
  (x, y) => Math.cos(Math.PI * p * (x + 0.5) / width) * Math.cos(Math.PI * q * (y + 0.5) / height));

function largest(values: ArrayLike<number>): number {
  return Array.prototype.reduce.call(values, (most: unknown, value: unknown) => Math.max(most as number, Math.abs(value as number)), 0) as number;
}

async function evolve(options: HeatAdiOptions, steps: number): Promise<Float64Array | Float32Array> {
  using solver = await HeatAdi.create(options);
  await solver.advance(steps);
  strictEqual(solver.steps, steps);
  return solver.read();
}

describe('heat equation by ADI', () => {
  eachBackend((backend, device) => {
    const [width, height] = backend === 'simt' ? [12, 9] : [60, 41];

    it('damps each mode by its exact factor', async () => {
      for (const [p, q] of [[0, 0], [1, 0], [0, 1], [2, 3], [width - 1, height - 1]] as const) {
        const initial = neumannMode(p, q, width, height);
        const options = { width, height, initial, diffusivity: 0.7, dx: 0.5, dy: 0.8, dt: 0.9, device: await device() };
        const factor = HeatAdi.modeFactor(p, q, options) ** 5;
        const end = await evolve(options, 5);
        const error = largest(end.map((value, k) => value - factor * initial[k]!));
        ok(error <= 1e-13, `mode ${p}, ${q}: off by ${error}`);
      }
    });

    it('is as accurate in float32 as float32 is', async () => {
      const initial = Float32Array.from(neumannMode(1, 2, width, height));
      const options = { width, height, initial, diffusivity: 1, dt: 2, device: await device() };
      const factor = HeatAdi.modeFactor(1, 2, options) ** 10;
      const end = await evolve(options, 10);
      ok(end instanceof Float32Array);
      ok(largest(end.map((value, k) => value - factor * initial[k]!)) <= 1e-5);
    });

    it('is of second order in time', async () => {
      const initial = neumannMode(1, 1, width, height);
      const rate = (n: number) => 4 * Math.sin(Math.PI / (2 * n)) ** 2;
      const diffusivity = 0.3;
      const time = 1 / (diffusivity * (rate(width) + rate(height))); // the mode decays to 1/e
      const exact = Math.exp(-1);
      const errors: number[] = [];
      for (const steps of [4, 8, 16]) {
        const end = await evolve({ width, height, initial, diffusivity, dt: time / steps, device: await device() }, steps);
        errors.push(largest(end.map((value, k) => value - exact * initial[k]!)));
      }
      for (const [coarse, fine] of [[errors[0]!, errors[1]!], [errors[1]!, errors[2]!]] as const) {
        ok(Math.abs(Math.log2(coarse / fine) - 2) < 0.15, `orders from errors ${errors}`);
      }
    });

    for (const boundary of ['neumann', 'periodic', 'dirichlet'] as const satisfies readonly HeatBoundary[]) {
      it(`keeps what the ${boundary} edge keeps`, async () => {
        const random = new Random(6);
        const initial = grid(width, height, () => random.next());
        const end = await evolve({ width, height, initial, diffusivity: 1, dt: 0.5, boundary, device: await device() }, 8);
        const sum = (values: ArrayLike<number>) => Array.prototype.reduce.call(values, (a: unknown, b: unknown) => (a as number) + (b as number), 0) as number;
        const change = sum(end) / sum(initial) - 1;
        if (boundary === 'dirichlet') ok(change < -0.01, `heat leaves through the edge: ${change}`);
        else ok(Math.abs(change) < 1e-12, `heat changed by ${change}`);
        ok(largest(end) <= largest(initial));
      });
    }

    it('takes one line of cells and one cell', async () => {
      for (const [w, h] of [[1, 1], [7, 1], [1, 7], [2, 2]] as const) {
        for (const boundary of ['neumann', 'periodic', 'dirichlet'] as const) {
          const end = await evolve({ width: w, height: h, initial: new Float64Array(w * h).fill(1), diffusivity: 1, dt: 1, boundary, device: await device() }, 2);
          ok(boundary === 'dirichlet' ? end.every((v) => v > -1 && v < 1) : end.every((v) => Math.abs(v - 1) < 1e-14), `${w} x ${h}, ${boundary}: ${end}`);
        }
      }
    });

    it('stops between steps when aborted and goes on from there', async () => {
      const initial = neumannMode(1, 1, width, height);
      const options = { width, height, initial, diffusivity: 1, dt: 1, device: await device() };
      using solver = await HeatAdi.create(options);
      const controller = new AbortController();
      const seen: number[] = [];
      const stopped = solver.advance(10, {
        signal: controller.signal,
        onProgress: (done) => {
          seen.push(done);
          if (done === 4) controller.abort(new Error('enough'));
        },
      });
      await rejects(stopped, /enough/);
      strictEqual(solver.steps, 4);
      deepStrictEqual(seen, [1, 2, 3, 4]);
      await solver.advance(6);
      deepStrictEqual(await solver.read(), await evolve(options, 10));
    });

    it('says in which steps a line was not solved', async () => {
      const options = { width, height, initial: new Float64Array(width * height).fill(1), diffusivity: 1, dt: 1, device: await device() };
      const poisoned = options.initial.slice();
      poisoned[width + 2] = NaN;
      using bad = await HeatAdi.create({ ...options, initial: poisoned });
      await rejects(bad.advance(1), { code: 'ERR_WARPLOOM_SYSTEM_FAILED', message: /^step 1: \d+ of \d+ rows failed, .*non-finite/ });
      const huge = options.initial.map((_, k) => (k % 2 === 0 ? 1 : -1) * Number.MAX_VALUE);
      using overflowing = await HeatAdi.create({ ...options, initial: huge, dt: 10 });
      await rejects(overflowing.advance(40), { code: 'ERR_WARPLOOM_SYSTEM_FAILED', message: /^steps 1 to 32: / });
      using good = await HeatAdi.create(options);
      await good.advance(40);
      strictEqual(good.steps, 40);
    });

    it('refuses wrong options by name', async () => {
      const good = { width: 2, height: 2, initial: new Float64Array(4), diffusivity: 1, dt: 1, device: await device() };
      const wrong: Record<string, unknown[]> = {
        width: [0, -1, 1.5, NaN, '2'], height: [0, 2 ** 60], initial: [new Float64Array(3), [1, 2, 3, 4], null],
        diffusivity: [0, -1, NaN, Infinity], dt: [0, NaN], dx: [0, -1], dy: [NaN], boundary: ['open', 3],
      };
      for (const [argument, values] of Object.entries(wrong)) for (const value of values) {
        await rejects(HeatAdi.create({ ...good, [argument]: value } as HeatAdiOptions), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument }, `${argument}: ${String(value)}`);
      }
    });
  });
});
