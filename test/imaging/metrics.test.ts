// Metrics: figures of scikit-image 0.26 and SciPy 1.17 on the same arrays, brute force, and limits that are known.
import { deepStrictEqual, ok, rejects, strictEqual, throws } from 'node:assert/strict';
import fc from 'fast-check';
import {
  addNoise, dice, diceEitherWay, discs, hausdorff, meanSquaredError, ncc, psnr, rofEnergy, sheppLogan, ssim, targetRegistrationError,
} from '../../lib/imaging/index.ts';

const near = (value: number, expected: number, tolerance = 1e-12) => ok(Math.abs(value - expected) <= tolerance * Math.abs(expected), `${value}, expected ${expected}`);
const image = (values: number[], width = values.length, height = 1) => ({ data: Float64Array.from(values), width, height });

describe('metrics of images', () => {
  it('agree with scikit-image and SciPy in two dimensions', async () => {
    const { image: clean, mask } = discs(40, { type: 'float64' });
    const noisy = addNoise(clean, { sigma: 0.2, seed: 2 });
    near(psnr(noisy, clean), 14.253618824493891);
    near(await ssim(noisy, clean), 0.5624310719083229);
    near(await ssim(noisy, clean, { window: 11, range: 0.6 }), 0.703959752410905);
    near(await ncc(noisy, clean), 0.8102923127367496);
    const bright = noisy.data.map((value) => Number(value > 0.55));
    near(dice(bright, mask), 0.9076751946607341);
    near(await hausdorff(bright, mask, clean), 16.76305461424021);
  });

  it('agree with them in three dimensions', async () => {
    const clean = sheppLogan(20, { type: 'float64', dimensions: 3 });
    const noisy = addNoise(clean, { sigma: 0.1, seed: 1 });
    near(psnr(noisy, clean), 20.03000441779926);
    near(await ssim(noisy, clean), 0.8889476136502141);
    near(await rofEnergy(noisy, clean, 0.06), 190.90484163027423);
  });

  it('take float32 beside float64, and the channels of a colour picture', async () => {
    const a = image([0.25, 0.5, 0.75, 1]);
    strictEqual(meanSquaredError(a, { ...a, data: Float32Array.of(0.25, 0.5, 0.75, 0.5) }), 0.0625);
    strictEqual(psnr(a, a), Infinity);
    near(psnr(a, image([0, 0, 0, 0]), 2), 10 * Math.log10(4 / 0.46875));
    const grey = addNoise(discs(20, { type: 'float64' }).image, { seed: 5 });
    const clean = discs(20, { type: 'float64' }).image;
    const twice = (one: typeof grey) => ({ ...one, channels: 2, data: Float64Array.from([...one.data, ...one.data]) });
    near(await ssim(twice(grey), twice(clean)), await ssim(grey, clean));
    // One norm over both channels: √2 times that of one, and twice the squares.
    near(await rofEnergy(twice(grey), twice(grey), 0.1), Math.SQRT2 * await rofEnergy(grey, grey, 0.1), 1e-11);
  });

  it('take 8 and 16 bits: the range of their type, or 0 to 1 beside other images', async () => {
    const clean = discs(24, { type: 'float64' }).image;
    const noisy = addNoise(clean, { sigma: 0.1, seed: 3 });
    for (const [Kind, least, most] of [[Uint8Array, 0, 255], [Uint8ClampedArray, 0, 255], [Uint16Array, 0, 65_535], [Int8Array, -128, 127],
      [Int16Array, -32_768, 32_767]] as const) {
      const range = most - least;
      const samples = (one: typeof clean) => {
        const data = new Kind(one.data.length);
        one.data.forEach((value, i) => { data[i] = Math.min(most, Math.max(least, Math.round(least + range * value))); });
        return { ...one, data };
      };
      const values = (one: ReturnType<typeof samples>) => ({ ...clean, data: Float64Array.from(one.data, Number) });
      const [a, b] = [samples(noisy), samples(clean)];
      near(meanSquaredError(a, b), meanSquaredError(values(a), values(b)));
      near(psnr(a, b), psnr(values(a), values(b), range));
      near(await ssim(a, b), await ssim(values(a), values(b), { range }), 1e-9);
      near(await ncc(a, b), await ncc(values(a), values(b)));
      if (least !== 0) continue;
      const real = { ...clean, data: Float32Array.from(b.data, (value) => value / most) };
      near(psnr(a, real), psnr(a, b), 1e-5);
      near(await ssim(real, a), await ssim(b, a), 1e-5);
    }
    throws(() => psnr({ ...clean, data: new Uint32Array(576) } as never, clean), { argument: 'image.data' });
  });

  it('are what their definitions say at their ends', async () => {
    strictEqual(dice(new Uint8Array(0), new Uint8Array(0)), 1);
    strictEqual(dice(Uint8Array.of(0, 0), Uint8Array.of(0, 0)), 1);
    strictEqual(dice(Uint8Array.of(1, 0), Uint8Array.of(0, 1)), 0);
    strictEqual(diceEitherWay(Uint8Array.of(1, 1, 0), Uint8Array.of(0, 0, 1)), 1);
    const line = { width: 5, height: 1 };
    strictEqual(await hausdorff(Uint8Array.of(1, 0, 0, 0, 0), Uint8Array.of(0, 0, 0, 0, 1), line), 4);
    strictEqual(await hausdorff(new Uint8Array(5), new Uint8Array(5), line), 0);
    strictEqual(await hausdorff(Uint8Array.of(1, 0, 0, 0, 0), new Uint8Array(5), line), Infinity);
    near(await ncc(image([1, 2, 3, 7]), image([-2, -4, -6, -14])), -1);
    const fields = [{ ...image([3, 0, 0, 4, 0, 1]), width: 3, channels: 2 }, { ...image([0, 0, 0, 0, 0, 0]), width: 3, channels: 2 }] as const;
    const { mean, p95, max } = await targetRegistrationError(fields[0], fields[1]);
    near(mean, 2);
    strictEqual(p95, 5);
    strictEqual(max, 5);
    strictEqual((await targetRegistrationError(fields[0], fields[1], Uint8Array.of(0, 1, 1))).max, 1);
  });

  it('Hausdorff by distance transform is Hausdorff by brute force', async () => {
    const size = { width: 6, height: 5, depth: 3 };
    const labels = fc.uint8Array({ minLength: 90, maxLength: 90, max: 3 }).map((values) => values.map((v) => Number(v === 0)));
    const inside = (mask: Uint8Array, x: number, y: number, z: number) =>
      x >= 0 && y >= 0 && z >= 0 && x < 6 && y < 5 && z < 3 && mask[(z * 5 + y) * 6 + x] === 1;
    const border = (mask: Uint8Array) => Array.from(mask, (_, i) => [i % 6, Math.floor(i / 6) % 5, Math.floor(i / 30)] as const).filter(([x, y, z]) =>
      inside(mask, x, y, z) && [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]].some(([a, b, c]) => !inside(mask, x + a!, y + b!, z + c!)));
    await fc.assert(fc.asyncProperty(labels, labels, async (p, q) => {
      const [a, b] = [border(p), border(q)];
      const one = (from: typeof a, to: typeof a) => Math.max(0, ...from.map((u) => Math.min(Infinity, ...to.map((v) => Math.hypot(u[0] - v[0], u[1] - v[1], u[2] - v[2])))));
      const expected = Math.max(one(a, b), one(b, a));
      const got = await hausdorff(p, q, size);
      ok(got === expected || Math.abs(got - expected) < 1e-12, `${got}, expected ${expected}`);
    }), { numRuns: 200 });
  });

  it('refuse what does not fit, by name', async () => {
    const argument = (name: string) => ({ code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: name });
    const [a, b] = [image([1, 2, 3]), image([1, 2])];
    throws(() => psnr(a, b), argument('reference.width'));
    throws(() => psnr(a, a, 0), argument('peak'));
    await rejects(ssim(a, a), argument('window'));
    await rejects(ssim(a, a, { window: 4 }), argument('window'));
    await rejects(ssim(a, a, { range: -1 }), argument('range'));
    await rejects(rofEnergy(a, a, NaN), argument('weight'));
    throws(() => dice(a.data, b.data), argument('reference'));
    await rejects(hausdorff(a.data, a.data, { width: 2, height: 2 }), argument('mask'));
    await rejects(targetRegistrationError(a, a, Uint8Array.of(1)), argument('mask'));
    await rejects(targetRegistrationError(a, a, new Uint8Array(3)), argument('mask'));
    throws(() => meanSquaredError({ ...a, colour: 1 } as never, a), argument('image.colour'));
  });

  it('read their arrays at the call, and leave the event loop its turns', async () => {
    const { image: clean, mask } = discs(512, { type: 'float64' });
    const noisy = addNoise(clean, { sigma: 0.2, seed: 2 });
    const shift = { data: addNoise({ ...clean, channels: 1 }, { seed: 4 }).data, width: 512, height: 512 };
    const calls: readonly (() => Promise<unknown>)[] = [
      () => ssim(noisy, clean), () => ncc(noisy, clean), () => rofEnergy(noisy, clean, 0.1), () => hausdorff(noisy.data, mask, clean),
      () => targetRegistrationError(shift, clean, mask),
    ];
    const arrays = [clean.data, noisy.data, mask, shift.data];
    const kept = arrays.map((array) => array.slice());
    for (const call of calls) {
      const expected = await call();
      let turns = 0;
      let settled = false;
      const counting = (async () => {
        for (; !settled; turns += 1) await new Promise((settle) => { setImmediate(settle); });
      })();
      const found = call();
      for (const array of arrays) array.fill(7);
      deepStrictEqual(await found.finally(() => { settled = true; }), expected);
      await counting;
      ok(call !== calls[0] || turns > 2, `${turns} turns of the event loop`);
      arrays.forEach((array, i) => { array.set(kept[i] as never); });
    }
  });
});
