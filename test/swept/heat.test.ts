// The heat equation against modes that decay exactly, its series, its order and what it conserves.
import { ok, strictEqual } from 'node:assert/strict';
import { heat, heatModeFactor, heatSeries, type HeatOptions } from '../../lib/swept/index.ts';
import { eachBackend } from '../support/backends.ts';
import { largest, pick, sum } from '../support/simulating.ts';
import { Random } from '../support/random.ts';

async function evolve(options: HeatOptions, steps: number): Promise<Float32Array | Float64Array> {
  await using simulation = await heat(options);
  await simulation.advance(steps);
  strictEqual(simulation.stepsDone, steps);
  return simulation.read();
}

describe('swept heat', () => {
  eachBackend((backend, device) => {
    const n = pick(backend, 129, 17);
    const steps = pick(backend, 200, 6);

    it('damps every cosine mode by its exact factor, between reflective ends and round a ring', async () => {
      for (const boundary of ['reflective', 'periodic'] as const) for (const precision of ['float64', 'float32'] as const) {
        const periodic = boundary === 'periodic';
        for (const mode of [0, 1, 2, 5, periodic ? Math.floor(n / 2) : n - 1]) for (const fourier of [0.1, 0.25, 0.5]) {
          const options = { n, fourier, boundary, precision, initial: { kind: 'cosine', mode }, device: await device() } as const;
          const end = await evolve(options, steps);
          const factor = heatModeFactor(mode, { n, fourier, periodic }) ** steps;
          const error = largest(end.map((value, i) => value - factor * Math.cos((Math.PI * mode * i) / (periodic ? n / 2 : n - 1))));
          const limit = (precision === 'float64' ? 2 ** -52 : 2 ** -23) * (8 + steps + 4 * mode); // the arguments of the cosine are rounded too
          ok(error <= limit, `${boundary} ${precision} mode ${mode}, Fo ${fourier}: off by ${error}, at most ${limit}`);
        }
      }
    });

    it('conserves the half-weighted sum between reflective ends, the sum round a ring', async () => {
      const random = new Random(7);
      const initial = Float64Array.from({ length: n }, () => random.uniform(0, 1));
      for (const boundary of ['reflective', 'periodic'] as const) {
        const weight = (i: number) => (boundary === 'reflective' && (i === 0 || i === n - 1) ? 0.5 : 1);
        const end = await evolve({ n, fourier: 0.4, boundary, initial, device: await device() }, steps);
        const drift = sum(end, weight) / sum(initial, weight) - 1;
        ok(Math.abs(drift) < 1e-14 * Math.sqrt(steps), `${boundary}: ${drift}`);
      }
    });

    it('holds what dirichlet ends hold and settles on the line between them', async () => {
      const points = pick(backend, 33, 5);
      const initial = new Float64Array(points).fill(3);
      const boundary = { left: { kind: 'dirichlet', value: 1 }, right: { kind: 'dirichlet', value: 2 } } as const;
      const end = await evolve({ n: points, fourier: 0.5, boundary, initial, device: await device() }, pick(backend, 20_000, 200));
      strictEqual(initial[0], 3, 'the caller keeps its array');
      strictEqual(end[0], 1);
      strictEqual(end[points - 1], 2);
      ok(largest(end.map((value, i) => value - (1 + i / (points - 1)))) < 1e-12);
      const free = await evolve({ n: points, fourier: 0.5, boundary: { left: 'dirichlet', right: 'reflective' }, initial, device: await device() }, 4);
      ok(free.every((value) => value === 3));
    });
  });

  eachBackend((_, device) => {
    it('is of second order over five refinements, against the series of the parabola', async () => {
      const errors: number[] = [];
      for (const n of [17, 33, 65, 129, 257, 513]) {
        await using rod = await heat({ n, length: 2, diffusivity: 0.7, fourier: 0.25, initial: 'parabola', device: await device() });
        await rod.advanceTo(0.15);
        const { x } = rod;
        const end = await rod.read();
        errors.push(largest(end.map((value, i) => value - heatSeries(x[i]!, 0.15, { initial: 'parabola', length: 2, diffusivity: 0.7 }))));
      }
      const orders = errors.slice(1).map((error, i) => Math.log2(errors[i]! / error));
      ok(orders.every((order) => Math.abs(order - 2) <= 0.1), `orders ${orders.map((order) => order.toFixed(3)).join(' ')}`);
    });

    it('reproduces the set-up of the paper', async () => {
      await using rod = await heat({ n: 2048, paper: true, device: await device() });
      const { dx, dt, setup } = rod;
      strictEqual(dx, 0.001);
      strictEqual(dt, 0.001);
      strictEqual(setup.diffusivity, 8.418e-5);
      ok(Math.abs((await rod.totals()).total / rod.x[2047]! - (50 * 2.047) / 3) < 1e-4); // the mean 50 L/3, but for the spacing squared
      await rod.advance(1000);
      const length = 2.047;
      const end = await rod.read();
      const worst = largest(end.map((value, i) => value - heatSeries(i * dx, 1, { initial: 'parabola', length, diffusivity: 8.418e-5 })));
      ok(worst < 1e-3, `off the series by ${worst}`);
    });

    it('measures norms on the device', async () => {
      await using rod = await heat({ n: 1001, length: 2, fourier: 0.5, initial: { kind: 'cosine', mode: 4 }, device: await device() });
      const { l1, l2, maximum, rms, least, most } = await rod.norms();
      ok(Math.abs(l1 - 4 / Math.PI) < 1e-2 && Math.abs(l2 - 1) < 1e-2 && Math.abs(rms - Math.SQRT1_2) < 1e-2, `${l1} ${l2} ${rms}`);
      strictEqual(maximum, 1);
      strictEqual(most, 1);
      ok(Math.abs(least + 1) < 1e-12);
    });
  }, { backends: ['cpu', 'cuda'], cases: 3 });
});
