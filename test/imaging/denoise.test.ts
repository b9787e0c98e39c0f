// imaging.denoise: exact minimisers, gaps and energies, noise levels, missing pixels, channels, the same bits on every backend, misuse.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import type { ArgumentError } from '../../lib/core/errors.ts';
import type { DeviceArray } from '../../lib/core/device.ts';
import { addNoise, denoise, psnr, rofEnergy, sheppLogan, type DenoiseOptions, type Image } from '../../lib/imaging/index.ts';
import { deviceOf, eachBackend, hasBackend, skipCases } from '../support/backends.ts';
import { Random } from '../support/random.ts';

type Host = Image<Float32Array | Float64Array>;

function noisy(type: 'float32' | 'float64', [width, height, depth]: readonly [number, number, number], channels = 1, seed = 1): Host {
  const random = new Random(seed);
  const values = Array.from({ length: width * height * depth * channels }, (_, i) => (i % width < width / 2 ? 0.2 : 0.8) + random.uniform(-0.2, 0.2));
  return { data: type === 'float32' ? Float32Array.from(values) : Float64Array.from(values), width, height, depth, channels };
}
const float64 = ({ data }: Image) => data as Float64Array;
const bits = ({ data }: Image) => Buffer.from((data as Float32Array).buffer, (data as Float32Array).byteOffset, (data as Float32Array).byteLength);

/** The minimiser of the model of Rudin, Osher and Fatemi by 30 000 accelerated steps on the dual problem, all channels coupled. */
function minimiser({ data, width, height, depth = 1, channels = 1 }: Host, weight: number): Float64Array {
  const points = width * height * depth, stride = [1, width, width * height], extent = [width, height, depth];
  const q = Array.from({ length: channels * 3 }, () => new Float64Array(points)), r = q.map((each) => each.slice());
  const u = Array.from({ length: channels }, (_, c) => Float64Array.from(data.slice(c * points, (c + 1) * points)));
  const index = (i: number, a: number) => Math.floor(i / stride[a]!) % extent[a]!;
  let t = 1;
  for (let iteration = 0; iteration < 30_000; iteration += 1) {
    for (let c = 0; c < channels; c += 1) for (let i = 0; i < points; i += 1) {
      let divergence = 0;
      for (let a = 0; a < 3; a += 1) divergence += r[3 * c + a]![i]! - (index(i, a) > 0 ? r[3 * c + a]![i - stride[a]!]! : 0);
      u[c]![i] = data[c * points + i]! + weight * divergence;
    }
    const next = (1 + Math.sqrt(1 + 4 * t * t)) / 2, momentum = (t - 1) / next;
    t = next;
    for (let i = 0; i < points; i += 1) {
      const v = q.map((_, k) => {
        const c = Math.floor(k / 3), a = k % 3;
        return r[k]![i]! + (index(i, a) + 1 < extent[a]! ? (u[c]![i + stride[a]!]! - u[c]![i]!) / (12 * weight) : 0);
      });
      const length = Math.max(1, Math.hypot(...v));
      v.forEach((value, k) => {
        const now = value / length;
        r[k]![i] = now + momentum * (now - q[k]![i]!);
        q[k]![i] = now;
      });
    }
  }
  return Float64Array.from(u.flatMap((each) => [...each]));
}

/** The least energy of w sum |u' - u| + sum |u - f| on a line: u takes values of f, so dynamic programming finds it. */
function leastImpulseEnergy(f: Float64Array, weight: number): number {
  const levels = [...new Set(f)];
  let cost = levels.map((v) => Math.abs(v - f[0]!));
  for (const value of f.subarray(1)) cost = levels.map((v) => Math.abs(v - value) + Math.min(...levels.map((o, k) => cost[k]! + weight * Math.abs(v - o))));
  return Math.min(...cost);
}

function distance(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < expected.length; i += 1) most = Math.max(most, Math.abs(found[i]! - expected[i]!));
  return most;
}

const shapes: readonly [size: readonly [number, number, number], channels: number][] = [[[13, 1, 1], 1], [[1, 9, 1], 1], [[6, 5, 1], 1], [[4, 3, 3], 1], [[4, 4, 1], 3]];

describe('imaging.denoise', function () {
  this.timeout(120_000);

  eachBackend((backend, device) => {
    it('finds the minimiser on small images', async () => {
      for (const [size, channels] of backend === 'simt' ? shapes.slice(2, 4) : shapes) {
        const image = noisy('float64', size, channels, 7);
        const expected = minimiser(image, 0.15);
        const { image: found, gap, converged, history } = await denoise(image, { weight: 0.15, tolerance: 1e-8, iterations: 20_000, checkEvery: 100, device: await device() });
        ok(converged && gap! <= 1e-8 && gap! > -1e-12, `${size}: gap ${gap} after ${history.length} checks`);
        // Strong convexity: |u - u*|^2 / 2 <= gap * energy.
        ok(distance(float64(found), expected) < 2e-4, `${size} x ${channels}: ${distance(float64(found), expected)}`);
      }
    });

    it('the gap falls to the tolerance and the energies are those of the definition', async () => {
      const image = noisy('float32', backend === 'simt' ? [20, 12, 2] : [40, 30, 6], 1, 3);
      const { image: found, history, energy, gap, iterations, info } = await denoise(image, { weight: 0.1, device: await device() });
      ok(history.every((check, k) => check.iteration === 10 * (k + 1) && check.gap! > -1e-6));
      ok(history.at(-1)!.gap! <= 1e-4 && history.slice(0, -1).every((check) => check.gap! > 1e-4));
      deepStrictEqual([iterations, gap, energy], [history.at(-1)!.iteration, history.at(-1)!.gap, history.at(-1)!.energy]);
      const { width, height, depth } = { depth: 1, ...image };
      const measured = await rofEnergy(found as Host, image, 0.1);
      ok(Math.abs(measured / energy - 1) < 1e-5 || Math.abs(measured / (energy * width * height * depth) - 1) < 1e-5, `${measured}, ${energy}`);
      strictEqual(info.backend, backend);
    });

    it('with impulses reaches the exact minimum on lines', async () => {
      const random = new Random(11);
      const data = Float64Array.from({ length: 24 }, (_, i) => (random.uniform(0, 1) < 0.25 ? random.uniform(0, 1) : i < 12 ? 0.25 : 0.75));
      for (const weight of [0.4, 1.2]) {
        const { energy, gap } = await denoise({ data, width: 24, height: 1 }, { noise: 'impulse', weight, tolerance: 1e-6, iterations: 50_000, checkEvery: 200,
            device: await device() });
        const least = leastImpulseEnergy(data, weight) / 24;
        ok(energy >= least * (1 - 1e-12) && energy <= least * (1 + 2e-6), `${energy}, ${least}, gap ${gap}`);
      }
    });

    it('the flow never raises the energy and comes near the minimum', async () => {
      const image = noisy('float64', [16, 12, 3], 1, 5);
      const limit = backend === 'simt' ? 400 : 4000;
      const flow = await denoise(image, { method: 'flow', weight: 0.1, eps: 1e-6, tolerance: 0, iterations: limit, checkEvery: 50, device: await device() });
      flow.history.forEach((check, k) => ok(k === 0 || check.energy <= flow.history[k - 1]!.energy * (1 + 1e-13), `check ${k}`));
      const exact = await denoise(image, { weight: 0.1, tolerance: 1e-7, iterations: 5000, device: await deviceOf('cpu') });
      ok(flow.energy >= exact.energy * (1 - 1e-6));
      if (backend !== 'simt') ok(flow.energy < exact.energy * 1.02, `${flow.energy}, ${exact.energy}`);
    });

    it('takes device arrays, writes into out, repeats to the bit, reports progress', async () => {
      const d = await device();
      const image = noisy('float32', [33, 10, 3], 1, 9) as Image<Float32Array>;
      const options = { weight: 0.1, iterations: 40, tolerance: 0 };
      const seen: [number, number, number][] = [];
      const plain = await denoise(image, { ...options, device: d, onProgress: (done, most, { energy }) => { seen.push([done, most, energy]); } });
      strictEqual(plain.converged, false);
      strictEqual(plain.iterations, 40);
      ok(seen.length > 0 && seen.every(([done, most, energy]) => most === 40 && plain.history.some((check) => check.iteration === done && check.energy === energy)));
      const out = new Float32Array(image.data.length);
      strictEqual((await denoise(image, { ...options, device: d, out })).image.data, out);
      ok(bits({ ...image, data: out }).equals(bits(plain.image)));
      using data = await d.array(image.data);
      const there = await denoise({ ...image, data } as Image<DeviceArray>, options);
      ok(bits({ ...image, data: await there.image.data.read() as Float32Array }).equals(bits(plain.image)));
      there.image.data.dispose();
    });

    it('stops when it is aborted', async () => {
      const image = noisy('float64', [64, 64, backend === 'simt' ? 1 : 8], 1, 2);
      const controller = new AbortController();
      await rejects(denoise(image, {
        weight: 0.1, tolerance: 0, iterations: 1e6, device: await device(), signal: controller.signal, onProgress: () => controller.abort(new Error('enough')),
      }), { message: 'enough' });
    });
  }, { cases: 6 });

  for (const backend of ['simt', 'cuda'] as const) {
    it(`${backend} has the bits of cpu`, async () => {
      if (!hasBackend(backend)) return skipCases(`${backend}: not here`);
      const kinds: DenoiseOptions[] = [{ weight: 0.1 }, { noise: 'impulse', weight: 0.8 }, { weight: 0.1, missing: 'fill' }, { sigma: 0.1 }, {}, { weight: 0.1, method: 'flow' }];
      for (const type of ['float32', 'float64'] as const) for (const [k, kind] of kinds.entries()) for (const coupled of [true, false]) {
        const image = noisy(type, k % 2 === 0 ? [35, 12, 1] : [18, 7, 4], coupled ? 3 : 2, 20 + k);
        if (kind.missing === 'fill') image.data.forEach((_, i) => { if (i % 5 === 2) image.data[i] = NaN; });
        const [here, there] = await Promise.all([deviceOf(backend), deviceOf('cpu')].map(async (device) =>
          denoise(image, { ...kind, coupled, iterations: 30, tolerance: 1e-3, device: await device })));
        const label = `${type} ${JSON.stringify(kind)} ${coupled ? 'coupled' : 'alone'}`;
        if (backend === 'cuda' && type === 'float32' && kind.method === 'flow') ok(distance(here!.image.data as Float32Array, there!.image.data as Float32Array) < 1e-5);
        else ok(bits(here!.image).equals(bits(there!.image)), label);
        if (kind.method !== 'flow') deepStrictEqual([here!.history, here!.weight, here!.sigma], [there!.history, there!.weight, there!.sigma], label);
      }
    });
  }

  it('does better than the noisy image on the phantom, and finds its weight', async () => {
    const device = await deviceOf('cpu');
    const clean = sheppLogan(32, { dimensions: 3 });
    const noise = addNoise(clean, { sigma: 0.1, seed: 1 });
    const given = await denoise(noise, { sigma: 0.1, device });
    ok(Math.abs(given.residual! / 0.1 - 1) <= 1e-3 && given.converged, `${given.residual}`);
    ok(psnr(given.image, clean) > psnr(noise, clean) + 5);
    const estimated = await denoise(noise, { device });
    ok(Math.abs(estimated.sigma! / 0.1 - 1) < 0.2, `${estimated.sigma}`);  // a quarter of the details have edges in them
    const ramp = { data: Float32Array.from({ length: 96 * 96 }, (_, i) => (i % 96) / 96), width: 96, height: 96 };
    const level = await denoise(addNoise(ramp, { sigma: 0.05, seed: 2 }), { device, iterations: 200 });
    ok(Math.abs(level.sigma! / 0.05 - 1) < 0.03, `${level.sigma}`);
    ok(Math.abs(estimated.residual! / estimated.sigma! - 1) <= 1e-3);
    const known = await denoise(noise, { weight: given.weight, device });
    ok(Math.abs(known.residual! / given.residual! - 1) < 5e-3);
  });

  it('removes salt and pepper', async () => {
    const clean = sheppLogan(48);
    const random = new Random(4);
    const data = clean.data.map((value) => (random.uniform(0, 1) < 0.15 ? Math.round(random.uniform(0, 1)) : value));
    const { image, converged } = await denoise({ ...clean, data }, { noise: 'impulse', weight: 0.7, tolerance: 5e-3, iterations: 4000, device: await deviceOf('cpu') });
    ok(converged);
    ok(psnr(image, clean) > psnr({ ...clean, data }, clean) + 3, `${psnr(image, clean)}, ${psnr({ ...clean, data }, clean)}`);
  });

  it('scales by powers of two to the bit and does not see shifts', async () => {
    const device = await deviceOf('cpu');
    const image = noisy('float64', [21, 17, 2], 1, 8);
    const plain = await denoise(image, { weight: 0.1, device });
    const scaled = await denoise({ ...image, data: float64(image).map((v) => 8 * v) }, { weight: 0.8, device });
    deepStrictEqual(scaled.image.data, float64(plain.image).map((v) => 8 * v));
    const shifted = await denoise({ ...image, data: float64(image).map((v) => v + 5) }, { weight: 0.1, device });
    ok(distance(float64(shifted.image).map((v) => v - 5), float64(plain.image)) < 1e-10);
    // The mean stays; a large weight leaves nothing else.
    const flat = await denoise(image, { weight: 1e3, device, tolerance: 1e-8, iterations: 20_000 });
    const mean = float64(image).reduce((sum, v) => sum + v, 0) / image.data.length;
    ok(float64(flat.image).every((v) => Math.abs(v - mean) < 1e-3));
  });

  it('fills pixels that are NaN, or refuses them', async () => {
    const device = await deviceOf('cpu');
    const image: Host = { data: new Float64Array(24 * 20).map((_, i) => (i % 24 < 12 ? 0.25 : 0.75)), width: 24, height: 20 };
    const holes = float64(image).map((v, i) => (Math.hypot((i % 24) - 12, Math.floor(i / 24) - 10) < 4 || i % 7 === 3 ? NaN : v));
    const { image: { data }, filled } = await denoise({ ...image, data: holes }, { weight: 1e-3, missing: 'fill', tolerance: 1e-4, iterations: 20_000, device });
    strictEqual(filled, holes.filter(Number.isNaN).length);
    ok(distance(data as Float64Array, float64(image)) < 0.02, `${distance(data as Float64Array, float64(image))}`);
    await rejects(denoise({ ...image, data: holes }, { weight: 0.1, device }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'image' });
    await rejects(denoise({ ...image, data: holes.map(() => NaN) }, { weight: 0.1, missing: 'fill', device }), { argument: 'image' });
    await rejects(denoise({ ...image, data: float64(image).with(3, Infinity) }, { weight: 0.1, missing: 'fill', device }), { argument: 'image' });
  });

  it('takes constant images and single pixels', async () => {
    const device = await deviceOf('cpu');
    for (const [width, height, depth] of [[1, 1, 1], [5, 4, 1], [3, 3, 3]] as const) {
      const data = new Float32Array(width * height * depth).fill(0.5);
      const { image, energy, converged } = await denoise({ data, width, height, depth }, { weight: 0.1, device });
      deepStrictEqual([image.data, energy, converged], [data, 0, true]);
    }
    await rejects(denoise({ data: new Float32Array(20).fill(1), width: 5, height: 4 }, { device }), { argument: 'sigma' });
    await rejects(denoise(noisy('float32', [20, 20, 1]), { sigma: 100, device }), { argument: 'sigma' });
  });

  it('refuses what is wrong, by name', async () => {
    const device = await deviceOf('cpu');
    const image = noisy('float32', [4, 3, 1]) as Image<Float32Array>;
    const cases: [Record<string, unknown>, string][] = [
      [{ weight: 0 }, 'weight'], [{ weight: -1 }, 'weight'], [{ weight: NaN }, 'weight'], [{ weight: '1' }, 'weight'], [{ sigma: 0 }, 'sigma'], [{ sigma: 'guess' }, 'sigma'],
      [{ weight: 0.1, sigma: 0.1 }, 'sigma'], [{ method: 'rof' }, 'method'], [{ noise: 'poisson' }, 'noise'], [{ method: 'flow' }, 'weight'],
      [{ method: 'flow', weight: 1, noise: 'impulse' }, 'noise'], [{ noise: 'impulse' }, 'weight'], [{ noise: 'impulse', sigma: 0.1 }, 'weight'], [{ eps: 1e-4 }, 'eps'],
      [{ dt: 0.1 }, 'dt'], [{ method: 'flow', weight: 1, dt: 0 }, 'dt'], [{ method: 'flow', weight: 1, eps: 0 }, 'eps'], [{ tolerance: -1 }, 'tolerance'],
      [{ tolerance: Infinity }, 'tolerance'], [{ iterations: 0 }, 'iterations'], [{ iterations: 1.5 }, 'iterations'], [{ iterations: 1e7 }, 'iterations'],
      [{ checkEvery: 0 }, 'checkEvery'], [{ checkEvery: 1001 }, 'checkEvery'], [{ missing: true }, 'missing'], [{ coupled: 0 }, 'coupled'], [{ variant: 'tile' }, 'variant'],
      [{ out: new Float64Array(12) }, 'out'], [{ out: new Float32Array(3) }, 'out'], [{ device: 'cpu' }, 'device'], [{ signal: 1 }, 'signal'], [{ onProgress: 1 }, 'onProgress'],
      [{ lambda: 1 }, 'lambda'],
    ];
    for (const [options, argument] of cases) {
      await rejects(denoise(image, { device, ...options } as DenoiseOptions<Float32Array>), (error: ArgumentError) => {
        strictEqual(error.code, 'ERR_WARPLOOM_INVALID_ARGUMENT', JSON.stringify(options));
        strictEqual(error.argument, argument, JSON.stringify(options));
        return true;
      });
    }
    await rejects(denoise({ ...image, channels: 2 }, { device }), { argument: 'image.data' });
    await rejects(denoise({ ...image, width: 2, channels: 2 }, { device, weight: 1, variant: 'march' }), { argument: 'variant' });
    await rejects(denoise(image, { device, weight: 1, variant: 'direct' }), { code: 'ERR_WARPLOOM_UNSUPPORTED' });
    await rejects(denoise(image, { device, weight: 1, signal: AbortSignal.abort(new Error('stop')) }), { message: 'stop' });
  });
});
