// The order of convergence of the Euler equations in two and three dimensions, from density waves that the gas carries obliquely.
import { ok } from 'node:assert/strict';
import { stencil } from '../../lib/index.ts';
import { sum } from './gas-problems.ts';

const { euler } = stencil.equations;

type Reconstruction = 'muscl' | 'weno5';

/**
 * L1 of the density on n cells per axis; the gas moves with a constant velocity and pressure. Cells have length 1, so that all sizes share
 * a program: `time` is in lengths of the wave.
 */
async function errorOf(reconstruction: Reconstruction, velocity: readonly number[], { n, time, dt }: {
  readonly n: number; readonly time: number; readonly dt: stencil.SimulateOptions<string, string, string>["dt"];
}): Promise<number> {
  const dimensions = velocity.length;
  const factor = ((n * Math.sin(Math.PI / n)) / Math.PI) ** dimensions; // of means over cells
  const wave = (phase: number): number => 1 + 0.2 * factor * Math.sin(2 * Math.PI * phase);
  const rho = (...place: number[]): number => wave(sum(place.slice(0, dimensions)) / n);
  const momenta = velocity.map((v, axis) => [['mx', 'my', 'mz'][axis], (...place: number[]) => v * rho(...place)] as const);
  const half = 0.5 * sum(velocity.map((v) => v * v));
  const equation = dimensions === 2 ? euler.inTwoDimensions(reconstruction) : euler.inThreeDimensions(reconstruction);
  await using run = await stencil.simulate(equation as stencil.Equation, {
    shape: velocity.map(() => n), spacing: 1, dt, parameters: { gamma: 1.4 }, boundary: 'periodic', backend: 'wasm', threads: 1,
    initial: { rho, ...Object.fromEntries(momenta), E: (...place: number[]) => 0.25 + half * rho(...place) },
  } as never);
  await run.advanceTo(time * n);
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
    ['muscl', 2, [1, 0.5], [16, 32], 0.1], ['muscl', 2, [1, 0.5, 0.25], [16, 24], 0.1],
    ['weno5', 5, [1, -0.5], [8, 16], 0.05], ['weno5', 5, [1, -0.5, 0.25], [8, 12], 0.05],
  ] as const;
  for (const [reconstruction, expected, velocity, sizes, time] of cases) {
    it(`${reconstruction} in ${velocity.length} dimensions: order ${expected}`, async () => {
      // SSP-RK3 is of third order.
      const dt = (n: number): stencil.SimulateOptions<string, string, string>["dt"] =>
        (reconstruction === 'muscl' ? { cfl: 0.45 } : (time * n) / Math.ceil(0.25 * n ** (5 / 3)));
      const [coarse, fine] = await Promise.all(sizes.map((n) => errorOf(reconstruction, velocity, { n, time, dt: dt(n) })));
      const order = Math.log(coarse! / fine!) / Math.log(sizes[1] / sizes[0]);
      ok(Math.abs(order - expected) <= 0.1, `order ${order}`);
    });
  }
});
