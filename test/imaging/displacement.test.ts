// Displacements one after the other, and backwards: exact for affine maps, and on smooth fields.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { composeDisplacements, invertDisplacement, type Image } from '../../lib/imaging/index.ts';
import { eachBackend } from '../support/backends.ts';

const extents = [15, 13, 9] as const;
/** A displacement u(x) = f(x) on a grid, in 2-D or 3-D. */
function field(axes: 2 | 3, f: (x: readonly number[]) => readonly number[]): Image<Float64Array> {
  const [width, height, depth] = [extents[0], extents[1], axes === 3 ? extents[2] : 1];
  const points = width * height * depth;
  const data = new Float64Array(axes * points);
  for (let i = 0; i < points; i += 1) {
    f([i % width, Math.floor(i / width) % height, Math.floor(i / width / height)]).slice(0, axes).forEach((value, a) => { data[a * points + i] = value; });
  }
  return { data, width, height, depth, channels: axes };
}
/** Largest difference from f at points at least `margin` from the border. */
function off({ data, width, height, depth = 1, channels = 1 }: Image<Float64Array>, f: (x: readonly number[]) => readonly number[], margin: number): number {
  let most = 0;
  const points = width * height * depth;
  for (let i = 0; i < points; i += 1) {
    const x = [i % width, Math.floor(i / width) % height, Math.floor(i / width / height)];
    const inner = x.slice(0, channels).every((at, a) => at >= margin && at <= [width, height, depth][a]! - 1 - margin);
    if (inner) f(x).slice(0, channels).forEach((value, a) => { most = Math.max(most, Math.abs(value - data[a * points + i]!)); });
  }
  return most;
}
const affine = (scale: number, shift: number) => (x: readonly number[]) => x.map((at, a) => scale * ((x[(a + 1) % 2] ?? 0) - at) + shift * (a + 1));

describe('displacements', function () {
  this.timeout(60_000);

  eachBackend((_, device) => {
    it('follow each other', async () => {
      for (const axes of [2, 3] as const) {
        const [first, second] = [affine(0.02, 0.3), affine(-0.05, 0.2)];
        const { displacement } = await composeDisplacements(field(axes, first), field(axes, second), { device: await device() });
        const both = (x: readonly number[]) => first(x).map((u, a) => u + second(x.map((at, b) => at + first(x)[b]!))[a]!);
        ok(off(displacement, both, 2) < 1e-12, `off by ${off(displacement, both, 2)}`);
      }
    });

    it('go backwards', async () => {
      for (const axes of [2, 3] as const) {
        const u = field(axes, (x) => x.map((_at, a) => 0.8 * Math.sin((x[(a + 1) % axes]! + a) / 3)));
        const { displacement: v, converged, status, iterations } = await invertDisplacement(u, { tolerance: 1e-9, device: await device() });
        ok(converged && status.measure <= 1e-9 && iterations < 100, status.message);
        const { displacement: none } = await composeDisplacements(v, u, { device: await device() });
        ok(off(none, (x) => x.map(() => 0), 0) < 1e-8, 'v(x) + u(x + v(x)) is zero');
      }
      const shift = field(2, () => [1.5, -2]);
      deepStrictEqual((await invertDisplacement(shift, { device: await device() })).displacement.data, field(2, () => [-1.5, 2]).data);
    });

    it('stay on the device, and say where there is no inverse', async () => {
      const on = await device();
      const folding = field(2, (x) => [-0.9 * Math.sin(x[0]!), Math.cos(x[1]!)]);
      const data = await on.array(folding.data);
      const { converged, status, displacement } = await invertDisplacement({ ...folding, data: data as never }, { iterations: 3 });
      strictEqual(converged, false);
      ok(/not converged after 3 iterations.*folds/.test(status.message), status.message);
      strictEqual((displacement.data as unknown as typeof data).length, folding.data.length);
      data.dispose();
      (displacement.data as unknown as typeof data).dispose();
    });
  });

  it('are refused where they are none', async () => {
    const u = field(2, () => [0, 0]);
    await rejects(composeDisplacements(u, { ...u, channels: 1, height: 26 }), { argument: 'second.channels' });
    await rejects(composeDisplacements(u, field(3, () => [0, 0, 0])), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    await rejects(invertDisplacement(u, { tolerance: 0 }), { argument: 'tolerance' });
  });
});
