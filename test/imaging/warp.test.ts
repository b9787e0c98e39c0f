// imaging.warp and imaging.jacobian on every backend.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { type Device, DeviceArray } from '../../lib/core/device.ts';
import { jacobian } from '../../lib/imaging/jacobian.ts';
import { warp } from '../../lib/imaging/warp.ts';
import { deviceOf, eachBackend, hasBackend } from '../support/backends.ts';
import { Random } from '../support/random.ts';

type Values = Float32Array | Float64Array;
type Size = readonly [width: number, height: number, depth: number];
type At = (at: (a: number) => number) => number;

const sizes: readonly Size[] = [[1, 1, 1], [5, 1, 1], [1, 6, 1], [7, 5, 1], [32, 33, 1], [4, 3, 2], [9, 8, 7]];
const axesOf = ([, , depth]: Size): 2 | 3 => (depth > 1 ? 3 : 2);

/** One component per function, as one array. */
function field([width, height, depth]: Size, components: readonly At[], type: 'float32' | 'float64' = 'float64'): Values {
  const points = width * height * depth;
  const result = type === 'float32' ? new Float32Array(points * components.length) : new Float64Array(points * components.length);
  for (let i = 0; i < points; i += 1) {
    const at = [i % width, Math.floor(i / width) % height, Math.floor(i / (width * height))];
    components.forEach((component, c) => (result[c * points + i] = component((a) => at[a]!)));
  }
  return result;
}

/** Linear interpolation by the definition. */
function interpolated(image: Values, [width, height, depth]: Size, position: readonly number[]): number {
  const extents = [width, height, depth];
  const clamped = extents.map((n, a) => Math.min(Math.max(position[a] ?? 0, 0), n - 1));
  let sum = 0;
  for (let corner = 0; corner < 8; corner += 1) {
    let weight = 1;
    let index = 0;
    let stride = 1;
    for (let a = 0; a < 3; a += 1) {
      const below = Math.floor(clamped[a]!);
      const part = clamped[a]! - below;
      const upper = (corner >> a) & 1;
      weight *= upper === 1 ? part : 1 - part;
      index += Math.min(below + upper, extents[a]! - 1) * stride;
      stride *= extents[a]!;
    }
    if (weight > 0) sum += weight * image[index]!;
  }
  return sum;
}

function testWarp(device: () => Promise<Device>): void {
  it('linear interpolation, borders, channels', async () => {
    const random = new Random(3);
    for (const size of sizes) {
      const [width, height, depth] = size;
      const points = width * height * depth;
      for (const type of ['float32', 'float64'] as const) {
        const image = field(size, [() => random.uniform(), () => random.uniform()], type);
        const u = field(size, Array.from({ length: axesOf(size) }, () => () => random.uniform(-4, 4)), type);
        const shape = { width, height, depth };
        const { image: { data: found } } = await warp({ data: image, ...shape, channels: 2 }, u, { device: await device() });
        for (let c = 0; c < 2; c += 1) {
          for (let i = 0; i < points; i += 1) {
            const at = [i % width, Math.floor(i / width) % height, Math.floor(i / (width * height))];
            const position = at.map((x, a) => x + (a < axesOf(size) ? u[a * points + i]! : 0));
            const expected = interpolated(image.subarray(c * points, (c + 1) * points), size, position);
            ok(Math.abs(found[c * points + i]! - expected) < (type === 'float32' ? 1e-5 : 1e-14), `${size.join('x')} ${type} ${i}`);
          }
        }
        if (hasBackend('cpu')) {
          const { image: { data: same } } = await warp({ data: image, ...shape, channels: 2 }, u, { device: await deviceOf('cpu') });
          deepStrictEqual(found, same, `${size.join('x')} ${type}: bits of the cpu backend`);
        }
      }
    }
  });

  it('whole steps are copies; far away is the border; NaN gives NaN', async () => {
    const size = [6, 4, 1] as const;
    const image = { data: field(size, [(at) => at(0) + 10 * at(1)]) as Float64Array, width: 6, height: 4 };
    const shifted = await warp(image, field(size, [() => 2, () => -1]) as Float64Array, { device: await device() });
    deepStrictEqual(shifted.image.data, field(size, [(at) => Math.min(at(0) + 2, 5) + 10 * Math.max(at(1) - 1, 0)]));
    const far = await warp(image, field(size, [() => 1e30, () => -Infinity]) as Float64Array, { device: await device() });
    deepStrictEqual(far.image.data, new Float64Array(24).fill(5));
    const unknown = await warp(image, field(size, [(at) => (at(0) === 2 ? NaN : 0), () => 0]) as Float64Array, { device: await device() });
    unknown.image.data.forEach((value, i) => strictEqual(Number.isNaN(value), i % 6 === 2));
  });

  it('device arrays and `out`', async () => {
    const size = [8, 6, 1] as const;
    const data = field(size, [(at) => Math.sin(at(0)) + at(1)], 'float32') as Float32Array;
    const u = field(size, [() => 0.25, () => -0.5], 'float32') as Float32Array;
    const { image: plain } = await warp({ data, width: 8, height: 6 }, { data: u, width: 8, height: 6, channels: 2 }, { device: await device() });
    using kept = await (await device()).array(data);
    const { image } = await warp({ data: kept, width: 8, height: 6 }, u);
    ok(image.data instanceof DeviceArray);
    deepStrictEqual(await image.data.read(), plain.data);
    image.data.dispose();
    const out = new Float32Array(48);
    strictEqual((await warp({ data, width: 8, height: 6 }, u, { device: await device(), out })).image.data, out);
    deepStrictEqual(out, plain.data);
  });
}

function testJacobian(device: () => Promise<Device>): void {
  it('affine displacements exactly, a known field to second order', async () => {
    const plane = [9, 7, 1] as const;
    const affine = field(plane, [(at) => 0.5 * at(0) - 0.25 * at(1), (at) => 0.125 * at(0) + at(1)]) as Float64Array;
    const found = await jacobian({ data: affine, width: 9, height: 7, channels: 2 }, { device: await device() });
    found.image!.data.forEach((value) => strictEqual(value, 1.5 * 2 + 0.25 * 0.125));
    deepStrictEqual([found.min, found.max, found.folded, found.unknown], [3.03125, 3.03125, 0, 0]);
    const volume = [5, 4, 6] as const;
    const turned = field(volume, [(at) => 0.5 * at(1), (at) => -0.5 * at(2), (at) => 0.25 * at(0) + 0.5 * at(2)]) as Float64Array;
    const three = await jacobian({ data: turned, width: 5, height: 4, depth: 6, channels: 3 }, { device: await device(), boundsOnly: true });
    strictEqual(three.image, undefined);
    deepStrictEqual([three.min, three.max], [1.5 - 0.5 * 0.5 * 0.25, 1.5 - 0.5 * 0.5 * 0.25]);
    const errors = [33, 65].map(async (n) => {
      const wave = field([n, n, 1], [(at) => (n / 10) * Math.sin((3 * at(0)) / (n - 1)), () => 0]) as Float64Array;
      const { image } = await jacobian({ data: wave, width: n, height: n, channels: 2 }, { device: await device() });
      const middle = (n - 1) / 2;
      const exact = 1 + ((n / 10) * 3 * Math.cos((3 * middle) / (n - 1))) / (n - 1);
      return Math.abs(image!.data[middle * n + middle]! - exact);
    });
    const [coarse, fine] = await Promise.all(errors);
    ok(fine! < coarse! / 3.5, `${coarse} to ${fine}`);
  });

  it('folds, NaN, single points, the bits of the cpu backend', async () => {
    const size = [16, 12, 1] as const;
    const fold = field(size, [(at) => (at(0) > 8 ? -1.5 * (at(0) - 8) : 0), (at) => (at(1) === 3 && at(0) === 2 ? NaN : 0)]) as Float64Array;
    const found = await jacobian({ data: fold, width: 16, height: 12, channels: 2 }, { device: await device() });
    ok(found.min < 0 && found.max === 1 && found.folded === 7 * 12, `${found.min} ${found.max} ${found.folded}`);
    strictEqual(found.unknown, 4);
    if (hasBackend('cpu')) {
      const same = await jacobian({ data: fold, width: 16, height: 12, channels: 2 }, { device: await deviceOf('cpu') });
      deepStrictEqual(found.image, same.image);
    }
    const one = await jacobian({ data: new Float32Array([3, -4]), width: 1, height: 1, channels: 2 }, { device: await device() });
    deepStrictEqual([one.min, one.max], [1, 1]);
  });
}

const refused = (call: Promise<unknown>, argument: string) => rejects(call, { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });

describe('imaging.warp', () => {
  eachBackend((_backend, device) => testWarp(device), { cases: 3 });

  it('refuses what does not fit', async () => {
    const image = { data: new Float32Array(6), width: 3, height: 2 };
    await refused(warp(image, new Float32Array(11)), 'displacement');
    await refused(warp(image, new Float64Array(12) as never), 'displacement');
    await refused(warp(image, { data: new Float32Array(6), width: 3, height: 2 }), 'displacement.channels');
    await refused(warp(image, { data: new Float32Array(12), width: 2, height: 3, channels: 2 }), 'displacement.width');
    await refused(warp(image, new Float32Array(12), { out: new Float32Array(5) }), 'out');
    await refused(warp(image, new Float32Array(12), { order: 1 } as never), 'order');
    await rejects(warp(image, new Float32Array(12), { signal: AbortSignal.abort(new Error('enough')) }), /enough/);
  });
});

describe('imaging.jacobian', () => {
  eachBackend((_backend, device) => testJacobian(device), { cases: 2 });

  it('refuses what does not fit', async () => {
    await refused(jacobian({ data: new Float32Array(6), width: 3, height: 2 }), 'displacement.channels');
    await refused(jacobian({ data: new Float32Array(12), width: 3, height: 2, channels: 2 }, { out: new Float32Array(12) }), 'out');
    await refused(jacobian({ data: new Float32Array(12), width: 3, height: 2, channels: 2 }, { boundsOnly: 'yes' as never }), 'boundsOnly');
  });
});
