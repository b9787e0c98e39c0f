// Exact solutions: known values, and the equations they obey.
import { ok, strictEqual, throws } from 'node:assert/strict';
import { exactRiemann, heatModeFactor, heatSeries } from '../../lib/swept/index.ts';

const close = (value: number, expected: number, label: string, error = 5e-8): void =>
  ok(Math.abs(value - expected) <= error * Math.max(1, Math.abs(expected)), `${label}: ${value}, expected ${expected}`);

const gas = (density: number, velocity: number, pressure: number) => ({ density, velocity, pressure });

describe('exact solutions', () => {
  it('has the known states and speeds of the shock tube', () => {
    const tube = exactRiemann(gas(1, 0, 1), gas(0.125, 0, 0.1));
    close(tube.pressure, 0.3031302, 'pressure');
    close(tube.velocity, 0.9274526, 'velocity');
    close(tube.densityLeft, 0.4263194, 'density left of the contact');
    close(tube.densityRight, 0.2655737, 'density right of the contact');
    const jumps = [[-1.1832160, 1, false], [-0.0702728, 0.4263194, false], [1.7521557, 0.2655737, true]] as const;
    for (const [speed, density] of jumps) close(tube.at(speed - 1e-7).density, density, `density at ${speed}`, 1e-6);
    strictEqual(tube.at(1.7521558).density, 0.125);
    strictEqual(tube.at(-1.19).pressure, 1);
  });

  it('solves the five problems of Toro, table 4.2', () => {
    const table: [ReturnType<typeof gas>, ReturnType<typeof gas>, number, number, number, number][] = [
      [gas(1, 0, 1), gas(0.125, 0, 0.1), 0.30313, 0.92745, 0.42632, 0.26557],
      [gas(1, -2, 0.4), gas(1, 2, 0.4), 0.00189, 0, 0.02185, 0.02185],
      [gas(1, 0, 1000), gas(1, 0, 0.01), 460.894, 19.5975, 0.57506, 5.99924],
      [gas(1, 0, 0.01), gas(1, 0, 100), 46.0950, -6.19633, 5.99242, 0.57511],
      [gas(5.99924, 19.5975, 460.894), gas(5.99242, -6.19633, 46.0950), 1691.64, 8.68975, 14.2823, 31.0426],
    ];
    for (const [left, right, pressure, velocity, densityLeft, densityRight] of table) {
      const solution = exactRiemann(left, right);
      close(solution.pressure, pressure, 'pressure', 1e-5);
      close(solution.velocity, velocity, 'velocity', 1e-5);
      close(solution.densityLeft, densityLeft, 'density left', 1e-5);
      close(solution.densityRight, densityRight, 'density right', 1e-5);
    }
  });

  it('mirrors with its states, and leaves a uniform gas alone', () => {
    const one = exactRiemann(gas(1, 0.3, 2), gas(0.5, -0.4, 0.1), 5 / 3);
    const other = exactRiemann(gas(0.5, 0.4, 0.1), gas(1, -0.3, 2), 5 / 3);
    for (let speed = -4; speed < 4; speed += 0.37) {
      close(one.at(speed).density, other.at(-speed).density, `density at ${speed}`, 1e-13);
      close(one.at(speed).velocity, -other.at(-speed).velocity, `velocity at ${speed}`, 1e-13);
    }
    const still = exactRiemann(gas(1, 0.5, 1), gas(1, 0.5, 1));
    close(still.pressure, 1, 'pressure', 1e-14);
    close(still.at(0.1).velocity, 0.5, 'velocity', 1e-14);
  });

  it('refuses what is no gas, and vacuum', () => {
    throws(() => exactRiemann(gas(0, 0, 1), gas(1, 0, 1)), { argument: 'left.density' });
    throws(() => exactRiemann(gas(1, 0, 1), gas(1, NaN, 1)), { argument: 'right.velocity' });
    throws(() => exactRiemann(gas(1, 0, 1), gas(1, 0, 1), 1), { argument: 'gamma' });
    throws(() => exactRiemann(gas(1, -20, 1), gas(1, 20, 1)), { argument: 'right', message: /vacuum/ });
    throws(() => exactRiemann(null as never, gas(1, 0, 1)), { argument: 'left' });
  });

  it('sums the series of the rod to its initial state, and to its mean in the end', () => {
    for (const initial of ['parabola', 'ramp'] as const) {
      const options = { initial, length: 2, diffusivity: 0.5, amplitude: 3 };
      for (const x of [0, 0.3, 1, 1.9]) {
        close(heatSeries(x, 0, options), 3 * (1 - x / 2) * (initial === 'parabola' ? x : 1), `${initial} at ${x}`, 1e-4);
        close(heatSeries(x, 100, options), initial === 'parabola' ? 1 : 1.5, `${initial} in the end`, 1e-12);
      }
    }
    strictEqual(heatModeFactor(0, { n: 9, fourier: 0.5 }), 1);
    close(heatModeFactor(8, { n: 9, fourier: 0.5 }), -1, 'shortest mode', 1e-15);
  });
});
