// imaging.curvature: order 2 against exact fields, the same bits from every variant and backend, borders, channels, misuse.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import type { ArgumentError } from '../../lib/core/errors.ts';
import { DeviceArray, type Device } from '../../lib/core/device.ts';
import { curvature, curvatureVariants, type CurvatureOptions, type Image } from '../../lib/imaging/index.ts';
import { deviceOf, eachBackend, hasBackend, skipCases } from '../support/backends.ts';
import { Random } from '../support/random.ts';

type Host = Image<Float32Array | Float64Array>;

function imageOf(type: 'float32' | 'float64', [width, height, depth]: readonly [number, number, number], channels: number,
  value: (x: number, y: number, z: number, c: number) => number): Host {
  const data = type === 'float32' ? new Float32Array(width * height * depth * channels) : new Float64Array(width * height * depth * channels);
  let at = 0;
  for (let c = 0; c < channels; c += 1) for (let z = 0; z < depth; z += 1) for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) {
    data[at] = value(x, y, z, c);
    at += 1;
  }
  return { data, width, height, depth, channels };
}
function noisy(type: 'float32' | 'float64', size: readonly [number, number, number], channels = 1, seed = 1): Host {
  const random = new Random(seed);
  return imageOf(type, size, channels, () => random.uniform(0, 1));
}

/** The formula once more, from the definition, in float64. */
function reference(image: Host, eps: number, coupled: boolean): Float64Array {
  const { data, width, height, depth = 1, channels = 1 } = image;
  const extent = [width, height, depth];
  const at = (c: number, i: readonly number[]) => {
    const [x, y, z] = i.map((v, a) => Math.min(Math.max(v, 0), extent[a]! - 1)) as [number, number, number];
    return data[((c * depth + z) * height + y) * width + x]!;
  };
  const moved = (i: readonly number[], axis: number, by: number) => i.map((v, a) => (a === axis ? v + by : v));
  const flux = (c: number, i: readonly number[], axis: number) => {
    const j = moved(i, axis, 1);
    let square = eps;
    for (const each of coupled ? Array.from({ length: channels }, (_, k) => k) : [c]) {
      square += (at(each, j) - at(each, i)) ** 2;
      for (let b = 0; b < 3; b += 1) {
        if (b === axis) continue;
        square += ((at(each, moved(i, b, 1)) - at(each, moved(i, b, -1)) + at(each, moved(j, b, 1)) - at(each, moved(j, b, -1))) / 4) ** 2;
      }
    }
    return (at(c, j) - at(c, i)) / Math.sqrt(square);
  };
  const result = new Float64Array(data.length);
  let place = 0;
  for (let c = 0; c < channels; c += 1) for (let z = 0; z < depth; z += 1) for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) {
    const i = [x, y, z];
    for (let a = 0; a < 3; a += 1) {
      if (i[a]! + 1 < extent[a]!) result[place]! += flux(c, i, a);
      if (i[a]! > 0) result[place]! -= flux(c, moved(i, a, -1), a);
    }
    place += 1;
  }
  return result;
}

function worst(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < expected.length; i += 1) most = Math.max(most, Math.abs(found[i]! - expected[i]!));
  return most;
}
const bits = ({ data }: Image) => {
  const array = data as Float32Array;
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength);
};

/** A plane with two waves on it, whose gradient vanishes nowhere, and the curvature of its level sets. */
function smoothField(dimensions: 2 | 3) {
  const axes = Array.from({ length: dimensions }, (_, a) => a);
  const slope = [1, 0.5, 0.3];
  const waves = [{ amplitude: 0.1, k: [3, 2, -1], phase: 0 }, { amplitude: 0.1, k: [2, -1, 3], phase: Math.PI / 2 }];
  const angle = ({ k, phase }: (typeof waves)[0], x: readonly number[]) => phase + axes.reduce((sum, a) => sum + k[a]! * x[a]!, 0);
  return {
    value: (x: readonly number[]) => axes.reduce((sum, a) => sum + slope[a]! * x[a]!, 0) + waves.reduce((sum, w) => sum + w.amplitude * Math.sin(angle(w, x)), 0),
    curvature(x: readonly number[]) {
      const gradient = axes.map((a) => slope[a]! + waves.reduce((sum, w) => sum + w.amplitude * w.k[a]! * Math.cos(angle(w, x)), 0));
      const second = (a: number, b: number) => waves.reduce((sum, w) => sum - w.amplitude * w.k[a]! * w.k[b]! * Math.sin(angle(w, x)), 0);
      const square = gradient.reduce((sum, g) => sum + g * g, 0);
      const laplacian = axes.reduce((sum, a) => sum + second(a, a), 0);
      const along = axes.reduce((sum, a) => sum + axes.reduce((part, b) => part + gradient[a]! * gradient[b]! * second(a, b), 0), 0);
      return (square * laplacian - along) / square ** 1.5;
    },
  };
}

/** Around the lanes and rows of a march and the tiles of `tile`: one pixel, one row, primes, multiples and one less or more. */
const sizes: readonly (readonly [number, number, number])[] = [
  [1, 1, 1], [9, 1, 1], [1, 13, 1], [1, 1, 7], [2, 3, 1], [31, 17, 1], [32, 9, 1], [33, 8, 1], [128, 7, 1], [131, 5, 1], [5, 4, 3], [16, 9, 2], [32, 8, 4], [37, 11, 5],
];

describe('imaging.curvature', function () {
  this.timeout(60_000);
  eachBackend((backend, device) => {
    it('is that of its definition: any size, type, channels', async () => {
      for (const [k, size] of sizes.entries()) for (const type of ['float32', 'float64'] as const) {
        const channels = 1 + (k % 3), coupled = k % 2 === 0;
        const image = noisy(type, size, channels, k + 1);
        const { image: found } = await curvature(image, { device: await device(), coupled, eps: 1e-3 });
        const error = worst(found.data as Float64Array, reference(image, 1e-3, coupled));
        ok(error <= (type === 'float32' ? 6e-5 : 1e-12), `${size} ${type}: ${error}`);
      }
    });

    it('every variant gives the same bits', async () => {
      const own = curvatureVariants.filter((variant) => variant !== 'auto' && (backend !== 'cpu' || variant !== 'tile'));
      for (const [k, size] of sizes.entries()) for (const type of ['float32', 'float64'] as const) {
        const image = noisy(type, size, 1 + (k % 2), k + 30);
        const results = await Promise.all(own.map(async (variant) => curvature(image, { device: await device(), coupled: false, variant })));
        for (const [v, result] of results.entries()) {
          strictEqual(result.info.variant, own[v]);
          ok(bits(result.image).equals(bits(results[0]!.image)), `${own[v]} ${size} ${type}`);
        }
      }
    });

    it('takes device arrays, writes into out, repeats to the bit', async () => {
      const d = await device();
      const image = noisy('float32', [37, 20, 3]);
      const plain = await curvature(image, { device: d });
      const out = new Float32Array(37 * 20 * 3);
      strictEqual((await curvature(image as Image<Float32Array>, { device: d, out })).image.data, out);
      ok(bits({ ...image, data: out }).equals(bits(plain.image)));
      using data = await d.array(image.data);
      const there = await curvature({ ...image, data } as Image<DeviceArray>);
      ok(there.image.data instanceof DeviceArray);
      ok(bits({ ...image, data: await there.image.data.read() as Float32Array }).equals(bits(plain.image)));
      there.image.data.dispose();
    });
  }, { cases: 3 });

  it('converges with order 2 to the curvature of a smooth field', async () => {
    for (const dimensions of [2, 3] as const) {
      const field = smoothField(dimensions);
      const errors: number[] = [];
      for (const n of [16, 32, 64]) {
        const h = 1 / n, shape = [n, n, dimensions === 3 ? n : 1] as const;
        const place = (...i: number[]) => i.slice(0, dimensions).map((v) => (v + 0.5) * h);
        const image = imageOf('float64', shape, 1, (x, y, z) => field.value(place(x, y, z)) / h);
        const { image: { data } } = await curvature(image, { device: await deviceOf('cpu'), eps: 1e-12 });
        let sum = 0, count = 0, at = 0;
        for (let z = 0; z < shape[2]; z += 1) for (let y = 0; y < n; y += 1) for (let x = 0; x < n; x += 1, at += 1) {
          const where = place(x, y, z);
          if (where.some((v) => v < 0.2 || v > 0.8)) continue;  // the border bends the field
          sum += ((data as Float64Array)[at]! / h - field.curvature(where)) ** 2;
          count += 1;
        }
        errors.push(Math.sqrt(sum / count));
      }
      for (const k of [0, 1]) {
        const order = Math.log2(errors[k]! / errors[k + 1]!);
        ok(order > 1.85 && order < 2.2, `${dimensions}-D: order ${order}, errors ${errors}`);
      }
    }
  });

  it('adds up to zero, is bounded, does not see shifts, and scales with eps', async () => {
    const device = await deviceOf('cpu');
    const image = noisy('float64', [23, 19, 6]);
    const data = image.data as Float64Array;
    const { image: { data: k } } = await curvature(image, { device });
    const values = Array.from(k as Float64Array);
    ok(Math.abs(values.reduce((sum, value) => sum + value, 0)) < 1e-10);
    ok(values.every((value) => Math.abs(value) <= 6));
    const shifted = await curvature({ ...image, data: data.map((value) => value + 3) }, { device });
    ok(worst(shifted.image.data as Float64Array, values) < 1e-10);
    const scaled = await curvature({ ...image, data: data.map((value) => 8 * value) }, { device, eps: 64e-4 });
    deepStrictEqual(scaled.image.data, k);  // powers of two: exactly
  });

  for (const backend of ['simt', 'cuda'] as const) {
    it(`${backend} has the bits of cpu in float64, and in float32 ${backend === 'simt' ? 'too' : 'all but those of the roots'}`, async () => {
      if (!hasBackend(backend)) return skipCases(`${backend}: not here`);
      for (const [k, size] of sizes.entries()) for (const type of ['float32', 'float64'] as const) {
        const image = noisy(type, size, 1 + (k % 3), k + 60);
        const [here, there] = await Promise.all([deviceOf(backend), deviceOf('cpu')].map(async (d) => (await curvature(image, { device: await d })).image));
        if (backend === 'cuda' && type === 'float32') ok(worst(here!.data as Float32Array, there!.data as Float32Array) < 4e-6);
        else ok(bits(here!).equals(bits(there!)), `${size} ${type}`);
      }
    });
  }

  it('NaN pixels spoil their neighbourhood and nothing else', async () => {
    const image = noisy('float64', [12, 12, 1]);
    (image.data as Float64Array)[5 * 12 + 5] = NaN;
    const { image: { data } } = await curvature(image, { device: await deviceOf('cpu') });
    (data as Float64Array).forEach((value, i) => {
      const near = Math.abs((i % 12) - 5) <= 1 && Math.abs(Math.floor(i / 12) - 5) <= 1;
      strictEqual(Number.isNaN(value), near, `pixel ${i % 12}, ${Math.floor(i / 12)}`);
    });
  });

  it('refuses what is wrong, by name', async () => {
    const device: Device = await deviceOf('cpu');
    const image = noisy('float32', [4, 3, 1]) as Image<Float32Array>;
    const cases: [Partial<Record<keyof CurvatureOptions, unknown>>, string][] = [
      [{ eps: 0 }, 'eps'], [{ eps: -1 }, 'eps'], [{ eps: NaN }, 'eps'], [{ eps: 1e31 }, 'eps'], [{ eps: '1' }, 'eps'], [{ coupled: 1 }, 'coupled'],
      [{ variant: 'fast' }, 'variant'], [{ out: new Float64Array(12) }, 'out'], [{ out: new Float32Array(11) }, 'out'], [{ device: {} as Device }, 'device'],
      [{ signal: 1 as never }, 'signal'], [{ onProgress: 1 as never }, 'onProgress'], [{ Eps: 1 } as never, 'Eps'],
    ];
    for (const [options, argument] of cases) {
      await rejects(curvature(image, { device, ...options } as CurvatureOptions<Float32Array>), (error: ArgumentError) => {
        strictEqual(error.code, 'ERR_WARPLOOM_INVALID_ARGUMENT');
        strictEqual(error.argument, argument);
        return true;
      });
    }
    const two = { ...image, height: 1, width: 6, channels: 2 };
    await rejects(curvature(two, { device, variant: 'march' }), { argument: 'variant' });
    await rejects(curvature({ ...image, width: 5 }, { device }), { argument: 'image.data' });
    await rejects(curvature(image, { device, variant: 'tile' }), { code: 'ERR_WARPLOOM_UNSUPPORTED' });
    await rejects(curvature(image, { device, signal: AbortSignal.abort(new Error('stop')) }), { message: 'stop' });
    await rejects(curvature(image, { device, out: image.data }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
  });
});
