// Inputs of imaging: arrays of 8 and 16 bits, and masks.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { denoise, register, registrationPair, segment, warp, type Image, type Samples } from '../../lib/imaging/index.ts';
import { eachBackend } from '../support/backends.ts';
import { Random } from '../support/random.ts';

const [width, height] = [12, 9];
const points = width * height;
const bits = ({ data }: { readonly data: unknown }) => Buffer.from((data as Float32Array).slice().buffer);
const kinds: readonly [Kind: new (values: number[]) => Samples, low: number, high: number, unit: number][] = [
  [Uint8Array, 0, 255, 255], [Uint8ClampedArray, 0, 255, 255], [Uint16Array, 0, 65_535, 65_535], [Int8Array, -128, 127, 1], [Int16Array, -1000, 3000, 1],
];
const near = (off: number, most: number) => ok(off <= most, `off by ${off}, at most ${most}`);

describe('samples of 8 and 16 bits', function () {
  this.timeout(60_000);

  eachBackend((_, device) => {
    it('are computed as the numbers that they stand for, and given back', async () => {
      const on = { device: await device() };
      for (const [Kind, low, high, unit] of kinds) {
        const random = new Random(5);
        const data = new Kind(Array.from({ length: 2 * points }, () => Math.round(random.uniform(low, high))));
        const samples = { data, width, height, channels: 2 };
        const real: Image<Float32Array> = { ...samples, data: Float32Array.from(data, (value) => value / unit) };
        const weight = 0.05 * (high - low) / unit;
        const [found, wanted] = [await denoise(samples, { weight, ...on }), await denoise(real, { weight, ...on })];
        deepStrictEqual(bits(found.image), bits(wanted.image));
        const same = await denoise(samples, { weight, sameType: true, ...on });
        strictEqual(same.image.data.constructor, Kind);
        for (let i = 0; i < data.length; i += 1) near(Math.abs(same.image.data[i]! - wanted.image.data[i]! * unit), 0.5 + 1e-3);
        const masks = [await segment(samples, { iterations: 20, ...on }), await segment(real, { iterations: 20, ...on })];
        deepStrictEqual(masks[0]!.mask, masks[1]!.mask);
      }
      const image = { data: Uint8Array.from({ length: points }, (_unused, i) => (i * 37) % 256), width, height };
      const other = { ...image, data: image.data.map((value) => 255 - value) as Uint8Array<ArrayBuffer> };
      const as = (each: typeof image) => ({ ...each, data: Float32Array.from(each.data, (value) => value / 255) });
      const options = { iterations: 3, ...on };
      deepStrictEqual(bits((await register(image, other, options)).displacement), bits((await register(as(image), as(other), options)).displacement));
    });

    it('are labels where the nearest pixel counts', async () => {
      const random = new Random(6);
      const labels = { data: Uint16Array.from({ length: points }, () => Math.round(random.uniform(0, 65_535))), width, height };
      for (const Real of [Float32Array, Float64Array]) {
        const u = new Real(2 * points).map(() => random.uniform(-3, 3)) as Float32Array;
        const { image } = await warp(labels, u, { interpolation: 'nearest', device: await device() });
        const at = (value: number, extent: number) => Math.min(extent - 1, Math.max(0, value));
        const expected = Uint16Array.from(labels.data, (_unused, i) => labels.data[
          at(Math.floor(i / width) + Math.round(u[points + i]!), height) * width + at((i % width) + Math.round(u[i]!), width)]!);
        deepStrictEqual(image.data, expected);
      }
      const linear = await warp(labels, new Float32Array(2 * points).fill(0.5), { sameType: true, device: await device() });
      near(Math.abs(linear.image.data[0]! - (labels.data[0]! + labels.data[1]! + labels.data[width]! + labels.data[width + 1]!) / 4), 0.6);
    });
  });

  it('refuse what does not fit', async () => {
    const image = { data: new Uint8Array(points), width, height };
    await rejects(denoise({ ...image, data: new Float32Array(points) } as never, { weight: 0.1, sameType: true }), { argument: 'sameType' });
    await rejects(denoise({ ...image, data: new Uint8Array(3) }, { weight: 0.1 }), { argument: 'image.data' });
    await rejects(denoise({ ...image, data: new Uint32Array(points) } as never, { weight: 0.1 }), { argument: 'image.data' });
    await rejects(warp(image, new Float32Array(2 * points), { interpolation: 'nearest', out: new Float32Array(points) }), { argument: 'out' });
  });
});

describe('masks', function () {
  this.timeout(60_000);
  /** The left part of the image. */
  const left = Uint8Array.from({ length: points }, (_unused, i) => (i % width < 5 ? 1 : 0));
  const cut = (data: Float64Array) => data.filter((_unused, i) => i % width < 5);
  const image = (seed: number): Image<Float64Array> => {
    const random = new Random(seed);
    return { data: Float64Array.from({ length: points }, (_unused, i) => (Math.floor(i / width) < 4 ? 0.2 : 0.8) + random.uniform(-0.1, 0.1)), width, height };
  };

  eachBackend((backend, device) => {
    it('denoise what is inside, whatever is outside', async () => {
      const whole = image(1);
      const options = { weight: 0.1, tolerance: 1e-7, iterations: backend === 'simt' ? 200 : 5000, checkEvery: 50, device: await device() };
      const { image: found, filled } = await denoise(whole, { ...options, mask: left });
      strictEqual(filled, 0);
      const inside = await denoise({ data: cut(whole.data), width: 5, height }, options);
      // What is filled in outside follows the pixels at the border of the mask, and pulls at them a little.
      const off = cut(found.data).reduce((sum, value, i) => sum + Math.abs(value - inside.image.data[i]!), 0) / (5 * height);
      if (backend !== 'simt') near(off, 0.02);
      found.data.forEach((value, i) => { if (left[i] === 0) strictEqual(value, whole.data[i]); });
      // On the device, and with garbage outside.
      const spoilt = whole.data.map((value, i) => (left[i] === 1 ? value : NaN)) as Float64Array;
      const array = await options.device.array(spoilt);
      const result = await denoise({ ...whole, data: array as never }, { ...options, mask: left });
      deepStrictEqual(bits({ data: cut(await (result.image.data as unknown as typeof array).read() as Float64Array) }), bits({ data: cut(found.data) }));
      array.dispose();
      (result.image.data as unknown as typeof array).dispose();
      await rejects(denoise({ ...whole, data: spoilt }, { ...options, mask: left.map((each) => 1 - each) as Uint8Array }), { argument: 'image' });
    });

    it('segment and register by what is inside', async () => {
      const on = { device: await device() };
      const whole = image(2);
      const bright = { ...whole, data: whole.data.map((value, i) => (left[i] === 1 ? value : 50)) as Float64Array };
      const { mask, means } = await segment(bright, { mask: left, mu: 0.01, iterations: 60, ...on });
      near(Math.max(means.inside[0]!, means.outside[0]!), 0.9);
      const dark = means.inside[0]! < means.outside[0]!;
      mask.forEach((value, i) => strictEqual(value, left[i] === 1 && (bright.data[i]! > 0.5) !== dark ? 1 : 0));
      const pair = registrationPair(40, { type: 'float64', amplitude: 1.5 });
      const spot = Uint8Array.from({ length: 1600 }, (_unused, i) => (i % 40 < 26 ? 1 : 0));
      const spoilt = { ...pair.reference, data: pair.reference.data.map((value, i) => (spot[i] === 1 ? value : 3)) as Float64Array };
      const options = { levels: 2, iterations: backend === 'simt' ? 5 : 60, ...on };
      const [found, clean] = [await register(spoilt, pair.template, { ...options, mask: spot }), await register(pair.reference, pair.template, { ...options, mask: spot })];
      deepStrictEqual(bits(found.displacement), bits(clean.displacement));
      ok(found.measure < (backend === 'simt' ? 1 : 0.1) * found.initialMeasure, `${found.measure} of ${found.initialMeasure}`);
    });
  });

  it('are refused where they are none', async () => {
    for (const mask of [new Uint8Array(points), new Uint8Array(3).fill(1), [1, 1], 'all']) {
      await rejects(denoise(image(1), { weight: 0.1, mask: mask as never }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'mask' });
      await rejects(segment(image(1), { mask: mask as never }), { argument: 'mask' });
      await rejects(register(image(1), image(2), { mask: mask as never }), { argument: 'mask' });
    }
  });
});
