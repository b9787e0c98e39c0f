// Figures of curvature and denoise: curvature3d/<n>/float32/<cold|hot>/<variant>, curvature2d/…,
// tv/iteration/<n>[/flow|/primal-dual]: the default call with its checks, and steps of both methods alone;
// tv/to-energy/128[/pinned|/known-count]: to the energy that others reach, from plain arrays with the default's own end, from page-locked
// ones, and with the count of steps known.
import { type Device, type DeviceArray, openDevice } from '../lib/core/device.ts';
import { addNoise, denoise, sheppLogan, type DenoiseOptions, type Image } from '../lib/imaging/index.ts';
import { isUnsupported, type BenchContext } from './domain.ts';
import { copyFloor, h200CacheBytes, h200CopyRate, streamFloor } from './floor.ts';
import type { Row } from './report.ts';
import { summarise } from './statistics.ts';
import { time } from './timing.ts';

/** Weight of the phantom's figures, and the energy per pixel of 100 iterations of FGP (Beck and Teboulle 2009) on it at 128³. */
const weight = 0.06;
const fgpEnergy = 0.0068804;

/** The head with noise. */
const phantom = (n: number): Image<Float32Array> => addNoise(sheppLogan(n, { dimensions: 3 }), { sigma: 0.1, seed: 1 });

/** Rows of one size: every variant on arrays in turn, `hot` on one pair and `cold` on as many as are four times the L2 cache. */
async function curvatureRows(context: BenchContext, dimensions: 2 | 3, n: number, state: 'hot' | 'cold'): Promise<Row[]> {
  const { device } = context;
  const count = n ** dimensions, prefix = `curvature${dimensions}d/${n}/float32/${state}`;
  const variants = (device.backend === 'cpu' ? ['direct', 'march'] : ['direct', 'tile', 'march']).filter((name) =>
      context.wanted(`${prefix}/${name}`));
  if (variants.length === 0) return [];
  const pairs = state === 'hot' ? 1 : Math.max(2, Math.ceil((4 * 50e6) / (8 * count)));
  const host = Float32Array.from({ length: count }, (_, i) => Math.sin(i) * 0.5 + (i % n) / n);
  const arrays: { from: DeviceArray; to: DeviceArray }[] = [];
  try {
    for (let i = 0; i < pairs; i += 1) arrays.push({ from: await device.array(host), to: await device.array('float32', count) });
    const floor = device.backend === 'cuda' ? await streamFloor(device, 'float32', arrays.map(({ from, to }) => ({ from: [from], to })))
      : device.backend === 'cpu' ? await copyFloor(device, 8 * count) : undefined;
    const rows: Row[] = [];
    for (const variant of variants) {
      const sets = arrays.map(({ from, to }) => ({
        type: 'float32', width: n, height: n, depth: dimensions === 3 ? n : 1, channels: 1, coupled: true, eps: 1e-4, variant,
        image: { data: from, offset: 0 }, result: { data: to, offset: 0 },
      }));
      const { seconds, spread } = await time(device, arrays[0]!.from, 'imaging.curvature', sets);
      rows.push({
        id: `${prefix}/${variant}`, value: seconds, unit: 's', spread,
        ...(floor === undefined ? {} : { limit: floor.seconds, fraction: floor.seconds / seconds, note: 'limit: a copy of the image' }),
      });
    }
    return rows;
  } finally {
    for (const { from, to } of arrays) [from, to].forEach((array) => array.dispose());
  }
}

/** Seconds of an iteration: calls of two lengths, begin and end fall out. */
async function iteration(device: Device, noisy: Image<Float32Array>, method: 'flow' | 'primal-dual' | undefined,
    quick: boolean): Promise<{ value: number; spread: number; note: string }> {
  using data = await device.array(noisy.data);
  using out = await device.array('float32', noisy.data.length);
  const step = quick ? 10 : device.backend === 'cuda' ? 200 : 10;
  // As it is by default: the checks are part of it. Of the steps alone: as few checks as can be.
  const options: DenoiseOptions<DeviceArray> = method === undefined ? {} : { method, checkEvery: step };
  const seconds = async (iterations: number) =>
    (await denoise({ ...noisy, data }, { ...options, weight, tolerance: 0, iterations, out })).info.deviceSeconds;
  await seconds(step);
  const found: number[] = [];
  const repeats = quick ? 1 : device.backend === 'cuda' ? 7 : 3;
  for (let repeat = 0; repeat < repeats; repeat += 1) found.push((await seconds(3 * step) - await seconds(step)) / (2 * step));
  const { median, spread } = summarise(found);
  const note = method === undefined ? 'default method and checks' : `${method}; a check every ${step} iterations`;
  return { value: median, spread, note };
}

async function iterationRows(context: BenchContext, device: Device, sizes: readonly number[], suffix: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (const n of sizes) {
    for (const [method, part, arrays] of [[undefined, '', 9], ['flow', '/flow', 3], ['primal-dual', '/primal-dual', 9]] as const) {
      const id = `tv/iteration/${n}${part}${suffix}`;
      if (!context.wanted(id)) continue;
      const measured = await iteration(device, phantom(n), method, context.quick);
      const bytes = arrays * 4 * n ** 3;
      const limit = device.backend === 'cuda' && bytes > h200CacheBytes ? bytes / h200CopyRate : undefined;
      rows.push({ id, unit: 's', ...measured, ...(limit === undefined ? {} : { limit, fraction: limit / measured.value }) });
    }
  }
  return rows;
}

/** Seconds of whole calls. */
async function wholeCalls(repeats: number, call: () => Promise<unknown>): Promise<{ value: number; spread: number }> {
  const found: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const begin = performance.now();
    await call();
    found.push((performance.now() - begin) / 1e3);
  }
  const { median, spread } = summarise(found);
  return { value: median, spread };
}

/** Host to host, until the energy is that of FGP: as a user calls it, and with what a user does not have. */
async function energyRows(context: BenchContext, n: number): Promise<Row[]> {
  const { device, quick } = context;
  const id = `tv/to-energy/${n}`;
  const repeats = quick || device.backend !== 'cuda' ? 2 : 21;
  const noisy = phantom(n);
  const rows: Row[] = [];
  const described = ({ iterations, energy }: { iterations: number; energy: number }, what: string) =>
    `${what}; ${iterations} iterations to energy ${energy.toPrecision(6)}; FGP, 100 iterations: ${fgpEnergy.toPrecision(6)}`;
  const pinned = await device.pinned('float32', noisy.data.length) as Float32Array;
  const out = await device.pinned('float32', noisy.data.length) as Float32Array;
  pinned.set(noisy.data);
  for (const [suffix, what, image, options] of [
    ['', 'plain arrays, the default tolerance', noisy, { weight, device }],
    ['/pinned', 'page-locked arrays, the default tolerance', { ...noisy, data: pinned }, { weight, device, out }],
  ] as const) {
    if (!context.wanted(id + suffix)) continue;
    const result = await denoise(image, options);
    if (n === 128 && result.energy > fgpEnergy) throw new Error(`${id}: the default ends at energy ${result.energy}, above ${fgpEnergy}`);
    rows.push({ id: id + suffix, unit: 's', ...await wholeCalls(repeats, () => denoise(image, options)), note: described(result, what) });
  }
  if (!context.wanted(`${id}/known-count`)) return rows;
  const image = { ...noisy, data: pinned };
  const whole = await denoise(image, { weight, device, out, checkEvery: 5, tolerance: 1e-4 });
  const enough = whole.history.find(({ energy }) => energy <= (n === 128 ? fgpEnergy : whole.energy)) ?? whole.history.at(-1)!;
  const known = { weight, device, out, iterations: enough.iteration, checkEvery: enough.iteration, tolerance: 0 };
  rows.push({
    id: `${id}/known-count`, unit: 's', ...await wholeCalls(repeats, () => denoise(image, known)),
    note: described({ iterations: enough.iteration, energy: enough.energy }, 'page-locked arrays, the count of steps known beforehand'),
  });
  return rows;
}

/** Rows of curvature and denoise; on the cpu backend the iterations of one thread too. */
export async function denoiseRows(context: BenchContext): Promise<Row[]> {
  const { device, quick } = context;
  const gpu = device.backend === 'cuda';
  const rows: Row[] = [];
  const curvatures: [2 | 3, number, 'hot' | 'cold'][] = quick ? [[3, 16, 'hot'], [2, 64, 'hot']]
    : gpu ? [[3, 64, 'hot'], [3, 128, 'hot'], [3, 128, 'cold'], [3, 256, 'cold'], [2, 512, 'hot'], [2, 1024, 'hot'], [2, 4096, 'cold']]
      : [[3, 64, 'hot'], [3, 128, 'hot'], [2, 1024, 'hot']];
  for (const [dimensions, n, state] of curvatures) {
    try {
      rows.push(...await curvatureRows(context, dimensions, n, state));
    } catch (error) {
      if (!isUnsupported(error)) throw error;
    }
  }
  rows.push(...await iterationRows(context, device, quick ? [16] : gpu ? [64, 128, 256] : [64, 128], ''));
  rows.push(...await energyRows(context, quick ? 16 : 128));
  if (device.backend !== 'cpu') return rows;
  await using one = await openDevice({ backend: 'cpu', threads: 1 });
  rows.push(...await iterationRows(context, one, quick ? [16] : [64, 128], '/one-thread'));
  return rows;
}
