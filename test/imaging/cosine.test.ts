// imaging.cosineTransform on every backend, against sums of cosines.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { type Device, DeviceArray } from '../../lib/core/device.ts';
import { cosineTransform } from '../../lib/imaging/cosine.ts';
import { deviceOf, eachBackend, hasBackend, type BackendName } from '../support/backends.ts';
import { Random } from '../support/random.ts';

type Values = Float32Array | Float64Array;
type Size = readonly [width: number, height: number, depth: number, channels: number];

function noise(type: 'float32' | 'float64', count: number, seed: number): Values {
  const random = new Random(seed);
  const values = type === 'float32' ? new Float32Array(count) : new Float64Array(count);
  return values.map(() => random.uniform()) as Values;
}

/** Sums of cosines along one axis whose points stand `stride` apart. */
function sums(values: Float64Array, n: number, stride: number): Float64Array {
  const result = new Float64Array(values.length);
  for (let base = 0; base < values.length; base += 1) {
    if (Math.floor(base / stride) % n !== 0) continue;
    for (let k = 0; k < n; k += 1) {
      let sum = 0;
      for (let x = 0; x < n; x += 1) sum += values[base + x * stride]! * Math.cos((Math.PI * (((2 * x + 1) * k) % (4 * n))) / (2 * n));
      result[base + k * stride] = sum * Math.sqrt((k === 0 ? 1 : 2) / n);
    }
  }
  return result;
}

function reference(values: Values, [width, height, depth]: Size): Float64Array {
  let result: Float64Array = Float64Array.from(values);
  result = sums(result, width, 1);
  result = sums(result, height, width);
  return sums(result, depth, width * height);
}

/** ||a - b|| / ||b||. */
function distance(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let difference = 0;
  let size = 0;
  for (let i = 0; i < a.length; i += 1) {
    difference += (a[i]! - b[i]!) ** 2;
    size += b[i]! ** 2;
  }
  return Math.sqrt(difference / size);
}

async function transform(device: Device, data: Values, [width, height, depth, channels]: Size, inverse = false): Promise<Values> {
  const { image } = await cosineTransform({ data, width, height, depth, channels }, { device, inverse });
  return image.data;
}

const sizes: readonly Size[] = [
  [1, 1, 1, 1], [2, 1, 1, 1], [3, 1, 1, 1], [1, 4, 1, 1], [1, 1, 5, 1], [6, 5, 1, 2], [7, 1, 1, 1], [8, 8, 1, 1], [9, 15, 1, 1], [16, 3, 2, 2],
  [11, 13, 1, 1], [17, 31, 1, 1], [30, 7, 5, 1], [32, 64, 1, 1], [100, 10, 1, 1], [101, 2, 3, 1], [128, 9, 1, 2], [1, 211, 1, 1], [64, 4, 16, 3],
];

function testTransform(backend: BackendName, device: () => Promise<Device>): void {
  for (const type of ['float32', 'float64'] as const) {
    it(`sums of cosines, the sum of squares and the way back, ${type}`, async function cases() {
      this.timeout(120_000);
      const tolerance = type === 'float32' ? 6e-7 : 2e-15;
      for (const size of sizes) {
        const count = size.reduce((a, b) => a * b);
        const values = noise(type, count, count);
        const found = await transform(await device(), values, size);
        const name = `${type} ${size.join('x')}`;
        ok(distance(found, reference(values, size)) < (type === 'float32' ? tolerance : 2e-14), `${name}: coefficients`);
        const energy = (array: Values) => (array as Float64Array).reduce((sum, x) => sum + x * x, 0);
        ok(Math.abs(energy(found) / energy(values) - 1) < tolerance * 5, `${name}: Parseval`);
        ok(distance(await transform(await device(), found, size, true), values) < tolerance, `${name}: inverse`);
        if (backend === 'cpu' || !hasBackend('cpu')) continue;
        deepStrictEqual(found, await transform(await deviceOf('cpu'), values, size), `${name}: bits of the cpu backend`);
      }
    });
  }

  it('lines that do not fit shared memory', async function cases() {
    this.timeout(120_000);
    for (const size of [[8192, 2, 1, 1], [1, 8192, 1, 1]] as const) {
      const values = noise('float64', 8192 * Math.max(1, size[0] === 1 ? 1 : 2), 3);
      const found = await transform(await device(), values, size);
      ok(distance(await transform(await device(), found, size, true), values) < 2e-15);
      if (hasBackend('cpu')) deepStrictEqual(found, await transform(await deviceOf('cpu'), values, size));
    }
  });

  it('device arrays, `out`, repeatability', async () => {
    const values = noise('float32', 40 * 12, 5);
    const plain = await transform(await device(), values, [40, 12, 1, 1]);
    deepStrictEqual(await transform(await device(), values, [40, 12, 1, 1]), plain);
    using kept = await (await device()).array(values);
    const { image } = await cosineTransform({ data: kept, width: 40, height: 12 });
    ok(image.data instanceof DeviceArray);
    deepStrictEqual(await image.data.read(), plain);
    image.data.dispose();
    const out = new Float32Array(480);
    const into = await cosineTransform({ data: values, width: 40, height: 12 } as { data: Values; width: number; height: number },
      { device: await device(), out });
    strictEqual(into.image.data, out);
    deepStrictEqual(out, plain);
  });

  it('NaN stays in its channel', async () => {
    const values = noise('float64', 2 * 30, 7);
    values[3] = NaN;
    const found = await transform(await device(), values, [6, 5, 1, 2]);
    ok(found.subarray(0, 30).every(Number.isNaN));
    ok(found.subarray(30).every(Number.isFinite));
  });
}

describe('imaging.cosineTransform', () => {
  eachBackend(testTransform, { cases: 5 });

  it('refuses what does not fit', async () => {
    const image = { data: new Float32Array(6), width: 3, height: 2 };
    const refused = (call: Promise<unknown>, argument: string) => rejects(call, { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });
    await refused(cosineTransform({ ...image, width: 4 }), 'image.data');
    await refused(cosineTransform({ ...image, data: [1] as never }), 'image.data');
    await refused(cosineTransform(image, { inverse: 1 as never }), 'inverse');
    await refused(cosineTransform(image, { invers: true } as never), 'invers');
    await refused(cosineTransform(image, { out: new Float32Array(5) }), 'out');
    await refused(cosineTransform(image as { data: Float32Array | Float64Array; width: number; height: number },
      { out: new Float64Array(6) }), 'out');
    await refused(cosineTransform({ data: new Float32Array(65537), width: 65537, height: 1 }), 'width');
    await rejects(cosineTransform(image, { signal: AbortSignal.abort(new Error('enough')) }), /enough/);
  });
});
