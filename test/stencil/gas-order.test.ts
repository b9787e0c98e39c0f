// The order of convergence of the Euler equations in two and three dimensions, from density waves that the gas carries obliquely.
import { ok } from 'node:assert/strict';
import { stencil } from '../../lib/index.ts';
import { sum } from './gas-problems.ts';

const { euler } = stencil.equations;

type Reconstruction = 'muscl' | 'weno5';

/** L1 of the density on n cells per axis, of length 1; the gas moves with a constant velocity and pressure. */
async function errorOf(reconstruction: Reconstruction, velocity: readonly number[], { n, time, dt }: {
  readonly n: number; readonly time: number; readonly dt: stencil.SimulateOptions<string, string, string>["dt"];
}): Promise<number> {
  const dimensions = velocity.length;
  const factor = ((n * Math.sin(Math.PI / n)) / Math.PI) ** dimensions; // of means over cells
  const wave = (phase: number): number => 1 + 0.2 * factor * Math.sin(2 * Math.PI * phase);
  const rho = (...place: number[]): number => wave(sum(place.slice(0, dimensions)));
  const momenta = velocity.map((v, axis) => [['mx', 'my', 'mz'][axis], (...place: number[]) => v * rho(...place)] as const);
  const half = 0.5 * sum(velocity.map((v) => v * v));
  const equation = dimensions === 2 ? euler.inTwoDimensions(reconstruction) : euler.inThreeDimensions(reconstruction);
  await using run = await stencil.simulate(equation as stencil.Equation, {
    shape: velocity.map(() => n), spacing: 1 / n, dt, parameters: { gamma: 1.4 }, boundary: 'periodic', backend: 'wasm', threads: 1,
    initial: { rho, ...Object.fromEntries(momenta), E: (...place: number[]) => 0.25 + half * rho(...place) },
  } as never);
  await run.advanceTo(time);
  const found = (await run.state() as stencil.State<'rho'>).rho;
  const shift = time * sum(velocity);
  return sum(found.map((value, i) => {
    const cells = velocity.map((_, axis) => Math.floor(i / n ** axis) % n + 0.5);
    return Math.abs(value - wave(sum(cells) / n - shift));
  })) / found.length;
}

describe('stencil: order of the Euler equations', function () {
  this.timeout(120_000);

  const cases = [
    ['muscl', 2, [1, 0.5], 16, 0.1], ['muscl', 2, [1, 0.5, 0.25], 16, 0.1],
    ['weno5', 5, [1, -0.5], 8, 0.05], ['weno5', 5, [1, -0.5, 0.25], 8, 0.05],
  ] as const;
  for (const [reconstruction, expected, velocity, n, time] of cases) {
    it(`${reconstruction} in ${velocity.length} dimensions: order ${expected}`, async () => {
      // SSP-RK3 is of third order.
      const dt = (cells: number): stencil.SimulateOptions<string, string, string>["dt"] =>
        (reconstruction === 'muscl' ? { cfl: 0.45 } : time / Math.ceil(0.25 * cells ** (5 / 3)));
      const [coarse, fine] = await Promise.all([n, 2 * n].map((cells) => errorOf(reconstruction, velocity, { n: cells, time, dt: dt(cells) })));
      const order = Math.log2(coarse! / fine!);
      ok(Math.abs(order - expected) <= 0.1, `order ${order}`);
    });
  }
});
