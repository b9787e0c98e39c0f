// Spacing: distances of voxels in every operation, against definitions in plain JavaScript; none of its bits where they are equal.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  curvature, denoise, hausdorff, jacobian, readImage, register, rofEnergy, segment, targetRegistrationError, warp, writeImage, type Image,
} from '../../lib/imaging/index.ts';
import { planPyramid } from '../../lib/imaging/pyramid.ts';
import { deviceOf, eachBackend, hasBackend } from '../support/backends.ts';
import { Random } from '../support/random.ts';

type Host = Image<Float32Array | Float64Array>;
type Triple = readonly [number, number, number];

const spacing: Triple = [0.7, 0.7, 2.1];
const weights: Triple = [1, 1, 0.7 / 2.1];
const size: Triple = [6, 5, 4];
const strides: Triple = [1, size[0], size[0] * size[1]];
const points = size[0] * size[1] * size[2];

function volume(type: 'float32' | 'float64', seed: number, given?: Triple, channels = 1): Host {
  const random = new Random(seed);
  const values = Array.from({ length: points * channels }, (_, i) => (i % 6 < 3 ? 0.2 : 0.8) + random.uniform(-0.2, 0.2));
  const data = type === 'float32' ? Float32Array.from(values) : Float64Array.from(values);
  return { data, width: size[0], height: size[1], depth: size[2], channels, ...(given === undefined ? {} : { spacing: given }) };
}
const bytes = ({ data }: Image) => Buffer.from((data as Float32Array).slice().buffer);
const coordinate = (i: number, a: number) => Math.floor(i / strides[a]!) % size[a]!;
const held = (i: number, a: number, step: number) => {
  const at = coordinate(i, a) + step;
  return at < 0 || at >= size[a]! ? i : i + step * strides[a]!;
};
const farthest = (found: ArrayLike<number>, expected: ArrayLike<number>) =>
  Array.from(expected).reduce((most, each, i) => Math.max(most, Math.abs(each - found[i]!)), 0);

const near = (off: number, most: number) => ok(off < most, `off by ${off}, at most ${most}`);

/** Fluxes and weights of the faces of a point: curvature and the sum of the face weights. */
function bend(u: ArrayLike<number>, i: number, eps: number): { curvature: number; faces: number } {
  let [curved, faces] = [0, 0];
  for (let a = 0; a < 3; a += 1) {
    for (const step of [-1, 1]) {
      const other = held(i, a, step);
      const [low, high] = step < 0 ? [other, i] : [i, other];
      const d = (u[high]! - u[low]!) * weights[a]!;
      let square = d * d + eps;
      for (let b = 0; b < 3; b += 1) {
        if (b === a) continue;
        // Beyond the border the nearest point repeats: its neighbours across are those of the point itself.
        const central = (at: number) => u[held(at, b, 1)]! - u[held(at, b, -1)]!;
        square += (weights[b]! * (central(low) + central(high)) / 4) ** 2;
      }
      curved += step * weights[a]! * d / Math.sqrt(square);
      faces += weights[a]! ** 2 / Math.sqrt(square);
    }
  }
  return { curvature: curved, faces };
}

/** The minimiser of the ROF energy by steps on the dual problem. */
function minimiser(f: ArrayLike<number>, weight: number): Float64Array {
  const q = [0, 1, 2].map(() => new Float64Array(points));
  const r = q.map((each) => each.slice());
  const u = new Float64Array(points);
  let t = 1;
  for (let iteration = 0; iteration < 4000; iteration += 1) {
    for (let i = 0; i < points; i += 1) {
      u[i] = f[i]!;
      for (let a = 0; a < 3; a += 1) u[i]! += weight * weights[a]! * (r[a]![i]! - (coordinate(i, a) > 0 ? r[a]![i - strides[a]!]! : 0));
    }
    const next = (1 + Math.sqrt(1 + 4 * t * t)) / 2;
    for (let i = 0; i < points; i += 1) {
      const v = q.map((_, a) => r[a]![i]! + weights[a]! * (u[held(i, a, 1)]! - u[i]!) / (12 * weight));
      const length = Math.max(1, Math.hypot(...v));
      v.forEach((value, a) => {
        r[a]![i] = value / length + ((t - 1) / next) * (value / length - q[a]![i]!);
        q[a]![i] = value / length;
      });
    }
    t = next;
  }
  return u;
}

describe('spacing', function () {
  this.timeout(120_000);

  eachBackend((backend, device) => {
    // The shim takes minutes for this many iterations: its bits are compared with the cpu's below.
    if (backend !== 'simt') it('denoises to the minimiser of lengths', async () => {
      const image = volume('float64', 3, spacing);
      const { image: found, energy, converged } = await denoise(image, {
        weight: 0.15, tolerance: 1e-7, iterations: 20_000, checkEvery: 100, device: await device(),
      });
      strictEqual(converged, true);
      near(farthest(found.data as Float64Array, minimiser(image.data, 0.15)), 1e-3);
      const expected = await rofEnergy(found as Host, image, 0.15);
      near(Math.abs(energy * points - expected), 1e-9 * expected);
      deepStrictEqual(found.spacing, spacing);
    });

    it('computes the curvature of lengths, and steps of its flow', async () => {
      const image = volume('float64', 4, spacing, 2);
      const { image: found, info } = await curvature(image, { eps: 1e-3, coupled: false, device: await device() });
      strictEqual(info.variant, 'direct');
      for (let c = 0; c < 2; c += 1) {
        const u = image.data.subarray(c * points, (c + 1) * points);
        const expected = Array.from({ length: points }, (_, i) => bend(u, i, 1e-3).curvature);
        near(farthest((found.data as Float64Array).subarray(c * points), expected), 1e-12);
      }
      const one = volume('float64', 5, spacing);
      const step = { method: 'flow', weight: 0.1, eps: 1e-3, dt: 0.01, iterations: 1, checkEvery: 1 } as const;
      const moved = await denoise(one, { ...step, device: await device() });
      const expected = Array.from({ length: points }, (_, i) => one.data[i]! + 0.01 * 0.1 * bend(one.data, i, 1e-3).curvature);
      near(farthest(moved.image.data as Float64Array, expected), 1e-12);
    });

    it('moves contours by the curvature of lengths', async () => {
      const image = volume('float64', 6, spacing);
      const given = volume('float64', 7).data.map((value) => value - 0.5) as Float64Array;
      const { levelSet } = await segment(image as Image<Float64Array>, {
        initial: given, mu: 0.3, nu: 0.1, lambda1: 0, lambda2: 0, eta: 1e-4, dt: 0.5, iterations: 1, device: await device(),
      });
      const expected = Array.from(given, (phi, i) => {
        const { curvature: k, faces } = bend(given, i, 1e-4);
        return phi + (0.3 * k - 0.1) / ((1 + phi * phi) / 0.5 + 0.3 * faces);
      });
      near(farthest(levelSet, expected), 1e-12);
      const ball = await segment(image as Image<Float64Array>, {
        initial: { kind: 'ball', centre: [2, 2, 1], radius: 4 }, iterations: 0, device: await device(),
      });
      const distance = Array.from({ length: points }, (_, i) =>
        4 - Math.hypot(coordinate(i, 0) - 2, coordinate(i, 1) - 2, (coordinate(i, 2) - 1) / weights[2]));
      near(farthest(ball.levelSet, distance), 1e-12);
      const plane = Float64Array.from({ length: points }, (_, i) => coordinate(i, 2) / weights[2] - 4);
      const again = await segment(image as Image<Float64Array>, {
        initial: plane.map((value) => value * 3), mu: 0, lambda1: 0, lambda2: 0, tolerance: 0, iterations: 1, reinitializeEvery: 1,
        reinitializeSteps: 80, device: await device(),
      });
      ok(farthest(again.levelSet, plane) < 1e-4, `${farthest(again.levelSet, plane)} from the distance`);
    });

    it('registers with the curvature and the gradients of lengths', async () => {
      // Without a force the displacement only relaxes: an eigenfunction keeps its shape.
      const flat: Image<Float64Array> = { ...volume('float64', 1, spacing), data: new Float64Array(points) };
      const mode = (n: number, x: number) => Math.cos(Math.PI * (x + 0.5) / n);
      const u = Float64Array.from({ length: 3 * points }, (_, k) => mode(size[0], coordinate(k % points, 0)) * mode(size[2], coordinate(k % points, 2)));
      const lambda = 2 - 2 * Math.cos(Math.PI / size[0]) + weights[2] ** 2 * (2 - 2 * Math.cos(Math.PI / size[2]));
      const calling = { initial: u, alpha: 0.3, tau: 0.2, levels: 1, iterations: 1, tolerance: 0, device: await device() };
      const implicit = await register(flat, flat, calling);
      near(farthest(implicit.displacement.data, u.map((each) => each / (1 + 0.06 * lambda ** 2))), 1e-12);
      const explicit = await register(flat, flat, { ...calling, variant: 'explicit' });
      near(farthest(explicit.displacement.data, u.map((each) => each * (1 - 0.06 * lambda ** 2))), 1e-12);
      // One step of the force, with the step that the gradients allow.
      const [fixed, moving] = [volume('float64', 8, spacing), volume('float64', 9, spacing)] as [Image<Float64Array>, Image<Float64Array>];
      const found = await register(fixed, moving, { variant: 'explicit', alpha: 1e-12, levels: 1, iterations: 1, device: await device() });
      const slope = (i: number, a: number) => (moving.data[held(i, a, 1)]! - moving.data[held(i, a, -1)]!) / 2;
      const steepest = Math.max(...Array.from({ length: points }, (_, i) =>
        [0, 1, 2].reduce((sum, a) => sum + (weights[a]! * slope(i, a)) ** 2, 0)));
      const moved = Array.from({ length: 3 * points }, (_, k) => {
        const [a, i] = [Math.floor(k / points), k % points];
        return (1.5 / steepest) * weights[a]! ** 2 * (fixed.data[i]! - moving.data[i]!) * slope(i, a);
      });
      near(farthest(found.displacement.data, moved), 1e-9);
      deepStrictEqual([found.displacement.spacing, found.warped.spacing], [spacing, spacing]);
      deepStrictEqual((await warp(moving, found.displacement, { device: await device() })).image.spacing, spacing);
      deepStrictEqual((await jacobian(found.displacement, { device: await device() })).image?.spacing, spacing);
    });

    it('changes no bit where all distances are equal', async () => {
      const even: Triple = [0.3, 0.3, 0.3];
      const on = { device: await device() };
      for (const type of ['float32', 'float64'] as const) {
        const [plain, spaced] = [volume(type, 2), volume(type, 2, even)];
        for (const options of [{ weight: 0.1 }, { weight: 0.1, method: 'flow' }] as const) {
          const calling = { ...options, iterations: 20, ...on };
          deepStrictEqual(bytes((await denoise(spaced, calling)).image), bytes((await denoise(plain, calling)).image));
        }
        deepStrictEqual(bytes((await curvature(spaced, on)).image), bytes((await curvature(plain, on)).image));
        const levels = await Promise.all([spaced, plain].map((image) => segment(image, { iterations: 20, reinitializeEvery: 5, ...on })));
        deepStrictEqual(...levels.map(({ levelSet }) => Array.from(levelSet as Float64Array)) as [number[], number[]]);
        const pairs = await Promise.all([spaced, plain].map((image) => register(image, volume(type, 3), { iterations: 10, ...on })));
        deepStrictEqual(...pairs.map(({ displacement }) => bytes(displacement)) as [Buffer, Buffer]);
      }
    });

    if (backend !== 'cpu') it('has the bits of the cpu', async function () {
      if (!hasBackend('cpu')) this.skip();
      const cpu = await deviceOf('cpu');
      const both = async (run: (on: { device: Awaited<ReturnType<typeof device>> }) => Promise<Image>) =>
        deepStrictEqual(bytes(await run({ device: await device() })), bytes(await run({ device: cpu })));
      for (const type of ['float32', 'float64'] as const) {
        const image = volume(type, 2, spacing, 2);
        await both(async (on) => (await denoise(image, { weight: 0.1, iterations: 30, ...on })).image);
        await both(async (on) => (await denoise(image, { weight: 0.1, iterations: 30, coupled: false, ...on })).image);
        const flat: Host = { data: image.data.slice(0, 30) as Float64Array, width: 6, height: 5, spacing: [1, 2.5] };
        await both(async (on) => (await denoise(flat, { weight: 0.1, iterations: 30, ...on })).image);
        for (const each of [image, flat]) {
          await both(async (on) => ({ ...each, data: (await segment(each, { iterations: 20, reinitializeEvery: 5, ...on })).levelSet }));
        }
        const [fixed, moving] = [volume(type, 3, spacing), volume(type, 4, spacing)];
        await both(async (on) => (await register(fixed, moving, { iterations: 10, ...on })).displacement);
        if (type === 'float64') await both(async (on) => (await curvature(image, on)).image);
      }
    });
  });

  it('measures distances in the unit of the spacing', async () => {
    const [a, b] = [new Uint8Array(points), new Uint8Array(points)];
    a[7] = 1;
    b[7 + 2 * strides[2] + strides[1] + 3] = 1;
    const shape = { width: size[0], height: size[1], depth: size[2] };
    near(Math.abs(await hausdorff(a, b, { ...shape, spacing }) - Math.hypot(3 * 0.7, 0.7, 2 * 2.1)), 1e-12);
    const field: Host = { ...shape, channels: 3, spacing, data: Float64Array.from({ length: 3 * points }, (_, k) => (k < 2 * points ? 0 : 1)) };
    const { mean } = await targetRegistrationError(field, { ...field, data: new Float64Array(3 * points) });
    near(Math.abs(mean - 2.1), 1e-12);
  });

  it('halves the axes with the closest points first', () => {
    const levels = planPyramid({ width: 64, height: 64, depth: 16, spacing: [1, 1, 4] });
    deepStrictEqual(levels.map(({ width, height, depth }) => [width, height, depth]), [[64, 64, 16], [32, 32, 16], [16, 16, 16]]);
    deepStrictEqual(levels.map((level) => level.spacing), [[1, 1, 4], [2, 2, 4], [4, 4, 4]]);
    const plain = planPyramid({ width: 64, height: 64, depth: 16 });
    deepStrictEqual(plain.map(({ depth }) => depth), [16, 8, 4]);
  });

  it('comes from files and goes into files', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'spacing-'));
    try {
      const path = join(folder, 'scan.nii.gz');
      await writeImage(path, volume('float32', 1, spacing));
      const { image, meta } = await readImage(path);
      ok(farthest(image.spacing as Triple, spacing) < 1e-6, String(image.spacing));
      const { image: found } = await denoise(image, { weight: 0.1, iterations: 5 });
      await writeImage(join(folder, 'found.nii'), found);
      deepStrictEqual((await readImage(join(folder, 'found.nii'))).meta.spacing, meta.spacing);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('is refused where it is none', async () => {
    for (const bad of [[1, 1], [1, 1, 0], [1, 1, NaN], [1, 1, 1, 1], 'mm', [1, 1, -2]]) {
      const image = { ...volume('float32', 1), spacing: bad as never };
      await rejects(denoise(image, { weight: 0.1 }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'image.spacing' });
    }
    await rejects(register(volume('float32', 1, spacing), volume('float32', 2, [1, 1, 1])), { argument: 'template.spacing' });
  });
});
