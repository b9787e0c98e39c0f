// Active contours: what they find on known shapes, their energy, and that every backend, variant and number of threads gives the same bits.
import { deepStrictEqual, notStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type Device, type DeviceArray, openDevice } from '../../lib/core/device.ts';
import {
  addNoise, contourRings, diceEitherWay, discs, ringArea, segment, type Image, type SegmentOptions, type SegmentVariant,
} from '../../lib/imaging/index.ts';
import { deviceOf, eachBackend, hasBackend, skipCases } from '../support/backends.ts';
import { pick, sameBits } from '../support/simulating.ts';

type HostImage = Image<Float32Array | Float64Array>;

function noisyDiscs(size: number, sigma: number, options: { type?: 'float32' | 'float64'; dimensions?: 2 | 3; seed?: number } = {}) {
  const { seed = 2, ...phantom } = options;
  const { mask, image } = discs(size, phantom);
  return { image: sigma > 0 ? addNoise(image as HostImage, { sigma, seed }) : (image as HostImage), mask };
}

/** Entries of a history that are above the one before, beyond rounding. */
const rises = (history: readonly { energy: number }[]) =>
  history.filter(({ energy }, i) => i > 0 && energy > history[i - 1]!.energy * (1 + 1e-7)).length;

const refusedFor = (argument: string) => (error: { argument?: string; code?: string }) =>
  error.code === 'ERR_WARPLOOM_INVALID_ARGUMENT' && error.argument === argument;

describe('imaging.segment', function () {
  this.timeout(60_000);

  eachBackend((backend, device) => {
    const size = pick(backend, 128, 48);

    it('finds noisy discs, and the energy never rises', async () => {
      const { image, mask } = noisyDiscs(size, 0.1);
      const result = await segment(image, { mu: 0.1, energyEvery: 1, iterations: pick(backend, 200, 40), device: await device() });
      const agreement = diceEitherWay(result.mask, mask);
      ok(agreement > 0.97, `Dice ${agreement}`);
      strictEqual(rises(result.history), 0);
      strictEqual(result.history.at(-1)!.energy, result.energy);
      strictEqual(result.history.at(-1)!.iteration, result.iterations);
      const means = [result.means.inside[0]!, result.means.outside[0]!].sort((a, b) => a - b);
      ok(Math.abs(means[0]! - 0.2) < 0.03 && Math.abs(means[1]! - 0.8) < 0.03, `means ${means}`);
      const inside = result.mask.reduce((sum, value) => sum + value, 0);
      strictEqual(inside, result.inside);
      ok(Math.abs((await result.contours()).reduce((sum, ring) => sum + ringArea(ring), 0) / inside - 1) < 0.05);
    });

    it('stops at the tolerance', async () => {
      const { image } = noisyDiscs(size, 0.05);
      const result = await segment(image, { tolerance: 0.015, device: await device() });
      ok(result.converged && result.iterations < 500 && result.change <= 0.015, `${result.iterations} iterations, ${result.change}`);
      const before = await segment(image, { tolerance: 0, iterations: result.iterations - 1, device: await device() });
      ok(!before.converged && before.change > 0.015, `${before.change}`);
    });

    it('shrinks a contour that nothing holds, to nothing', async () => {
      const data = new Float32Array(24 * 24).fill(7);
      const result = await segment({ data, width: 24, height: 24 }, {
        initial: { kind: 'ball', radius: 5 }, nu: 0.5, iterations: 150, tolerance: 0, device: await device(),
      });
      strictEqual(result.inside, 0);
      deepStrictEqual([result.means.inside[0], result.means.outside[0], (await result.contours()).length], [7, 7, 0]);
    });

    it('passes over pixels without data', async () => {
      const { image, mask } = noisyDiscs(size, 0);
      const data = image.data.slice();
      for (let i = 0; i < data.length; i += 29) data[i] = i % 2 === 0 ? NaN : Infinity;
      const result = await segment({ ...image, data }, { iterations: 60, device: await device() });
      ok(result.levelSet.every(Number.isFinite));
      ok(diceEitherWay(result.mask, mask) > 0.97);
    });

    it('takes device arrays and leaves results there', async () => {
      const on = await device();
      const { image } = noisyDiscs(32, 0.1);
      const host = await segment(image, { iterations: 12, device: on });
      using data = await on.array(image.data);
      const there = await segment({ ...image, data }, { iterations: 12 });
      using levelSet = there.levelSet;
      using mask = there.mask;
      sameBits(await levelSet.read() as Float32Array, host.levelSet as Float32Array, 'device arrays');
      deepStrictEqual(await mask.read(), host.mask);
      strictEqual((await there.contours()).length, contourRings({ ...image, data: await there.levelSet.read() as Float32Array }).length);
      // Instead of the level set it begins with.
      const more = await segment({ ...image, data }, { initial: levelSet, iterations: 5, out: { levelSet, mask } });
      strictEqual(more.levelSet as DeviceArray, levelSet);
      ok((await more.contours()).length > 0);
      const whole = await segment(image, { iterations: 17, device: on });
      sameBits(await levelSet.read() as Float32Array, whole.levelSet as Float32Array, 'two calls');
    });

    it('reports progress with the energy, and the same bits as without', async () => {
      const { image } = noisyDiscs(32, 0.2);
      const options: SegmentOptions<Float32Array | Float64Array> = {
        iterations: 23, tolerance: 0, energyEvery: 3, reinitializeEvery: 2, reinitializeSteps: 3, device: await device(),
      };
      const reports: number[][] = [];
      const plain = await segment(image, options);
      const watched = await segment(image, { ...options, onProgress: (done, total, { energy, change }) => reports.push([done, total, energy, change]) });
      sameBits(watched.levelSet as Float32Array, plain.levelSet as Float32Array, 'watched');
      deepStrictEqual(watched.history, plain.history);
      deepStrictEqual([watched.energy, watched.change, watched.mask], [plain.energy, plain.change, plain.mask]);
      deepStrictEqual(reports.at(-1), [23, 23, plain.energy, plain.change]);
      ok(reports.length > 1 && reports.every(([done], i) => i === 0 || done! > reports[i - 1]![0]!));
    });

    it('can be aborted', async () => {
      const { image } = noisyDiscs(size, 0.1);
      const on = await device();
      await rejects(segment(image, { signal: AbortSignal.abort(new Error('never mind')), device: on }), /never mind/);
      const stop = new AbortController();
      const call = segment(image, { iterations: 1_000_000, tolerance: 0, energyEvery: 0, signal: stop.signal, device: on });
      setTimeout(() => stop.abort(new Error('enough')), 20);
      await rejects(call, /enough/);
      await rejects(segment(image, { iterations: 60, tolerance: 0, device: on, onProgress: () => { throw new Error('no more'); } }), /no more/);
    });
  });

  it('gives the same bits everywhere', async () => {
    const cases: [HostImage, SegmentOptions<Float32Array | Float64Array>][] = [];
    for (const type of ['float32', 'float64'] as const) {
      const { image } = noisyDiscs(37, 0.2, { type });
      const common = { iterations: 9, tolerance: 0, energyEvery: 4 };
      cases.push([image, common], [image, { ...common, step: 'explicit', initial: 'ball', nu: 0.01, reinitializeEvery: 3, reinitializeSteps: 4 }]);
      cases.push([noisyDiscs(12, 0.1, { type, dimensions: 3 }).image, { ...common, initial: 'box' }]);
      const { width, height, data } = image;
      const colours = new (type === 'float32' ? Float32Array : Float64Array)(3 * data.length);
      colours.set(data);
      colours.set(data.map((value) => 1000 * value), 2 * data.length);
      cases.push([{ data: colours, width, height, channels: 3 }, { ...common, weights: [1, 0.5, 2], lambda2: 1.5 }]);
    }
    const one = await openDevice({ backend: 'cpu', threads: 1 });
    const run = async (device: Device, index: number, variant: SegmentVariant) => {
      const [image, options] = cases[index]!;
      return segment(image, { ...options, variant, device });
    };
    for (let i = 0; i < cases.length; i += 1) {
      const expected = await run(one, i, 'cpu');
      for (const backend of ['cpu', 'simt', 'cuda'] as const) {
        if (!hasBackend(backend)) {
          skipCases(`${backend}: not here`);
          continue;
        }
        for (const variant of backend === 'cpu' ? ['cpu' as const] : ['direct' as const, 'march' as const]) {
          if (variant === 'march' && ((cases[i]![0].channels ?? 1) > 1 || (cases[i]![0].depth ?? 1) > 1)) continue;
          const found = await run(await deviceOf(backend), i, variant);
          strictEqual(found.info.variant, variant);
          sameBits(found.levelSet as Float32Array, expected.levelSet as Float32Array, `${backend} ${variant}, case ${i}`);
          deepStrictEqual([found.history, found.means, found.mask], [expected.history, expected.means, expected.mask]);
        }
      }
    }
    await one.close();
  });

  it('is no worse than scikit-image on its own ground', async () => {
    const { version, cases } = JSON.parse(readFileSync(new URL('segment-reference.json', import.meta.url), 'utf8')) as {
      version: string; cases: { size: number; sigma: number; mu: number; iterations: number; dice: number; energy: number }[];
    };
    ok(version.startsWith('0.'));
    for (const { size, sigma, mu, iterations, dice, energy } of cases) {
      const { image, mask } = noisyDiscs(size, sigma);
      const result = await segment(image, { mu, iterations, tolerance: 1e-5, energyEvery: 0, device: await deviceOf('cpu') });
      const agreement = diceEitherWay(result.mask, mask);
      ok(agreement >= dice && agreement >= (size === 512 && sigma === 0.3 ? 0.9965 : 0), `${size}: Dice ${agreement}, scikit-image ${dice}`);
      const found = theirEnergy(image, result.levelSet as Float32Array, mu);
      ok(found <= energy * 1.001, `${size}: energy ${found}, scikit-image ${energy}`);
    }
  });

  it('finds balls in a volume', async () => {
    const { image, mask } = noisyDiscs(32, 0.1, { dimensions: 3 });
    const result = await segment(image, { mu: 0.03, iterations: 100, energyEvery: 1, device: await deviceOf('cpu') });
    ok(diceEitherWay(result.mask, mask) > 0.99, `Dice ${diceEitherWay(result.mask, mask)}`);
    // In space the energy may rise a little on the way (docs/imaging-segment.md).
    result.history.forEach(({ energy }, i) => ok(i === 0 || energy < 1.001 * result.history[i - 1]!.energy, `iteration ${i}`));
    ok(result.energy < 0.8 * result.history[0]!.energy);
    strictEqual(result.mask.length, 32 ** 3);
  });

  it('does not depend on the unit of the intensities, unless asked to', async () => {
    const { image } = noisyDiscs(40, 0.2, { type: 'float64' });
    const device = await deviceOf('cpu');
    const options = { iterations: 30, tolerance: 0, device };
    const scaled = { ...image, data: image.data.map((value) => 1024 * value) as Float64Array };
    const [a, b] = [await segment(image, options), await segment(scaled, options)];
    sameBits(a.levelSet as Float64Array, b.levelSet as Float64Array, 'scaled by a power of two');
    const [c, d] = [await segment(image, { ...options, normalize: false }), await segment(scaled, { ...options, normalize: false })];
    notStrictEqual(c.levelSet[77], d.levelSet[77]);
  });

  it('takes the smallest images', async () => {
    const device = await deviceOf('cpu');
    for (const [width, height, depth] of [[1, 1, 1], [5, 1, 1], [1, 7, 1], [2, 2, 2], [1, 1, 6]] as const) {
      const data = Float64Array.from({ length: width * height * depth }, (_, i) => i % 3);
      for (const initial of ['checkerboard', 'ball', 'box'] as const) {
        const { levelSet } = await segment({ data, width, height, depth }, { initial, iterations: 8, reinitializeEvery: 3, device });
        ok(levelSet.every(Number.isFinite), `${width}x${height}x${depth} ${initial}`);
      }
    }
    const none = await segment({ data: new Float32Array(9), width: 3, height: 3 }, { iterations: 0, device });
    deepStrictEqual([none.iterations, none.converged, none.history.length], [0, false, 1]);
  });

  it('refuses what it cannot take, naming it', async () => {
    const device = await deviceOf('cpu');
    const image = { data: new Float32Array(16), width: 4, height: 4 };
    const wrong: [Record<string, unknown>, string][] = [
      [{ mu: -1 }, 'mu'], [{ mu: NaN }, 'mu'], [{ dt: 0 }, 'dt'], [{ epsilon: 0 }, 'epsilon'], [{ eta: 0 }, 'eta'], [{ lambda1: Infinity }, 'lambda1'],
      [{ nu: 'a' }, 'nu'], [{ iterations: 1.5 }, 'iterations'], [{ iterations: -1 }, 'iterations'], [{ tolerance: -1 }, 'tolerance'],
      [{ step: 'implicit' }, 'step'], [{ variant: 'persistent' }, 'variant'], [{ weights: [1, 2] }, 'weights'], [{ weights: [-1] }, 'weights'],
      [{ initial: 'circle' }, 'initial.kind'], [{ initial: { kind: 'ball', radius: 0 } }, 'initial.radius'],
      [{ initial: { kind: 'ball', centre: [1] } }, 'initial.centre'], [{ initial: { kind: 'box', side: 1 } }, 'initial.side'],
      [{ initial: new Float32Array(3) }, 'initial'], [{ initial: new Float64Array(16) }, 'initial'], [{ initial: 3 }, 'initial'],
      [{ reinitializeSteps: 0 }, 'reinitializeSteps'], [{ energyEvery: -2 }, 'energyEvery'], [{ normalize: 1 }, 'normalize'],
      [{ out: { levelSet: new Float32Array(3) } }, 'out.levelSet'], [{ out: { mask: new Uint8Array(3) } }, 'out.mask'], [{ out: { x: 1 } }, 'out.x'],
      [{ unknown: 1 }, 'unknown'], [{ onProgress: 1 }, 'onProgress'], [{ signal: 1 }, 'signal'], [{ device: 1 }, 'device'],
    ];
    for (const [options, argument] of wrong) {
      await rejects(segment(image, { device, ...options } as never), refusedFor(argument), JSON.stringify(options));
    }
    await rejects(segment({ ...image, width: 5 }, { device }), refusedFor('image.data'));
    await rejects(segment(image, { device, variant: 'march' }), { code: 'ERR_WARPLOOM_UNSUPPORTED' });
  });

  it('repeats to the bit', async () => {
    const { image } = noisyDiscs(64, 0.3);
    const device = await deviceOf('cpu');
    const [a, b] = [await segment(image, { iterations: 25, device }), await segment(image, { iterations: 25, device })];
    sameBits(a.levelSet as Float32Array, b.levelSet as Float32Array, 'again');
    deepStrictEqual(a.history, b.history);
  });
});

/** The energy as scikit-image defines it: of the image scaled to 0 … 1, central differences, no pi in the delta. */
function theirEnergy({ data, width, height }: HostImage, phi: Float32Array, mu: number): number {
  const values = Array.from(data);
  const least = values.reduce((low, value) => Math.min(low, value), Infinity);
  const most = values.reduce((high, value) => Math.max(high, value), -Infinity);
  const f = Float64Array.from(data, (value) => (value - least) / (most - least));
  const h = Float64Array.from(phi, (value) => 0.5 + Math.atan(value) / Math.PI);
  let [inside, outside, area] = [0, 0, 0];
  f.forEach((value, i) => {
    inside += value * h[i]!;
    outside += value * (1 - h[i]!);
    area += h[i]!;
  });
  const [c1, c2] = [inside / area, outside / (f.length - area)];
  const at = (x: number, y: number) => phi[Math.min(height - 1, Math.max(0, y)) * width + Math.min(width - 1, Math.max(0, x))]!;
  return f.reduce((sum, value, i) => {
    const [x, y] = [i % width, Math.floor(i / width)];
    const slope = Math.hypot(at(x + 1, y) - at(x - 1, y), at(x, y + 1) - at(x, y - 1)) / 2;
    return sum + (value - c1) ** 2 * h[i]! + (value - c2) ** 2 * (1 - h[i]!) + (mu * slope) / (1 + phi[i]! ** 2);
  }, 0);
}
