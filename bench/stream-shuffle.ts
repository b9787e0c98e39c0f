// The shuffles of section 4.7 as kernels of their own, beside a copy of the same bytes in the same run. Rows:
//   stream/all/shuffle/<count>   bytes a second that a shuffle of so many 32-bit items reads and writes, in the layout 128 wide; figures:
//                                deshuffle, and both 32 wide; peers: copy, the better of the runtime's copy and a kernel that copies words
// limit: the copy's rate. Every item is compared with what the host's shuffle gives.
import { deshuffle, shuffle } from '../lib/stream/schedule/index.ts';
import { scalar } from '../lib/stream/interpret/values.ts';
import { shuffleBytes } from '../lib/stream/run/gpu-lists.ts';
import type { Device, DeviceArray } from '../lib/core/device.ts';
import type { DeviceModule, ListedLaunch } from '../lib/core/module.ts';
import type { BenchContext } from './domain.ts';

const widths = [128, 32] as const;
const nameOf = (width: number, isBack: boolean): string => `${isBack ? 'deshuffle' : 'shuffle'}${width}`;
const ways = widths.flatMap((width) => [false, true].map((isBack) => ({ width, isBack, name: nameOf(width, isBack) })));
const agent = 'warploom::WARPLOOM_TARGET::stream::';
const source = [
  '#include "cuda/core/module.cuh"', '#include "cuda/stream/move.cuh"', '#include "cuda/stream/shuffle.cuh"',
  ...ways.map(({ name, width, isBack }) => `WARPLOOM_KERNEL(${name}, ${agent}ShuffleAgent<float, ${width}, ${isBack}>)`),
  `WARPLOOM_KERNEL(words, ${agent}MoveAgent)`, '',
].join('\n');

/** Threads of a block; launches that are timed together, and how often. */
const threads = 256, launches = 20, repeats = 7;

/** Seconds of one of several equal launches, the best of some. */
async function timed(module: DeviceModule, launch: ListedLaunch, quick: boolean): Promise<number> {
  const count = quick ? 1 : launches;
  let least = Infinity;
  for (let i = 0; i < (quick ? 1 : repeats); ++i) {
    const { deviceSeconds } = await module.launchAll(Array.from({ length: count }, () => launch));
    least = Math.min(least, deviceSeconds / count);
  }
  return least;
}

/** Seconds of a copy by the runtime, by the clock: many are under way at a time. */
async function copied(from: DeviceArray, to: DeviceArray, quick: boolean): Promise<number> {
  const count = quick ? 1 : launches;
  let least = Infinity;
  for (let i = 0; i < (quick ? 1 : repeats); ++i) {
    const begin = performance.now();
    await Promise.all(Array.from({ length: count }, () => to.copyFrom(from)));
    least = Math.min(least, (performance.now() - begin) / 1e3 / count);
  }
  return least;
}

/** Blocks of a launch: as many as run at once. */
function blocksOf(device: Device, module: DeviceModule, kernel: string, sharedBytes: number): number {
  const resident = module.kernels.get(kernel)?.residentBlocks(threads, sharedBytes) ?? 0;
  return Math.max(1, (device.description.multiprocessors || 4) * Math.max(1, resident));
}

/** Emits the rows. */
export async function benchmarkShuffles({ device, quick, wanted, emit }: BenchContext): Promise<void> {
  const counts = (quick ? [2 ** 13] : [2 ** 20, 2 ** 24, 2 ** 27]).filter((count) => wanted(`stream/all/shuffle/${count}`));
  if (counts.length === 0) return;
  using module = await device.module({ source, kernels: [...ways.map(({ name }) => name), 'words'] });
  for (const count of counts) {
    const items = Float32Array.from({ length: count }, (_, i) => i % 65_521), expected = new Float32Array(count);
    using from = await device.array(items);
    using to = await device.array('float32', count);
    const rates: Record<string, number> = {};
    const rateOf = (seconds: number): number => 2 * items.byteLength / seconds;
    for (const { name, width, isBack } of ways) {
      const sharedBytes = shuffleBytes(width, scalar('float'));
      const blocks = Math.min(count / 1024, blocksOf(device, module, name, sharedBytes));
      const launch = { kernel: name, blocks, threads, sharedBytes, arguments: [from, to, { i32: count }] };
      rates[name] = rateOf(await timed(module, launch, quick));
      (isBack ? deshuffle : shuffle)(items, expected, width);
      const found = await to.read();
      const at = expected.findIndex((value, i) => value !== found[i]);
      if (at >= 0) throw new Error(`${name} of ${count} items: item ${at} is ${found[at]}, not ${expected[at]}`);
    }
    const words = { kernel: 'words', blocks: blocksOf(device, module, 'words', 0), threads, arguments: [
      from, to, { i64: 0n }, { i64: 0n }, { i64: BigInt(count) }] };
    const byKernel = rateOf(await timed(module, words, quick)), byRuntime = rateOf(await copied(from, to, quick));
    const { shuffle128: value = 0, ...others } = rates;
    const copy = Math.max(byKernel, byRuntime);
    const giga = (rate: number): string => (rate / 1e9).toPrecision(4);
    emit({ id: `stream/all/shuffle/${count}`, value, unit: 'bytes/s', spread: 0, peers: { copy }, limit: copy, fraction: value / copy,
      figures: others, note: `${4 * count / 2 ** 20} MiB read and written; copy: by a kernel ${giga(byKernel)}, by the runtime ${
        giga(byRuntime)} GB/s` });
  }
}
