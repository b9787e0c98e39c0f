// The least time that the bytes of an operation take on a device, measured beside it.
import type { Device, DeviceArray } from '../lib/core/device.ts';
import { bytesOf, type Precision } from './systems.ts';
import { time, type Timing, type TimingOptions } from './timing.ts';

/** Bytes a second that one H200 copies, reads and writes counted (measured); for floors of passes that no kernel of ours stands for. */
export const h200CopyRate = 4.2e12;
/** Bytes of its second-level cache: where arrays fit, device memory is no limit. */
export const h200CacheBytes = 50e6;

/** Arrays of equal length: one to four that are read once, and one that is written once. */
export interface Streams {
  readonly from: readonly DeviceArray[];
  readonly to: DeviceArray;
}

/** How a grid walks the arrays; which is fastest varies with the size. */
interface Grid {
  readonly threads: number;
  /** 0: as many blocks as the arrays need. */
  readonly blocksPerMultiprocessor: number;
  readonly accessBytes: number;
  readonly piecesPerThread: number;
}

const threadCounts = [128, 256, 512, 1024];
/** From 2048² on the fastest of these and an independent floor agreed within 0.7 % on an H200. */
const largeGrids: readonly Grid[] = threadCounts.flatMap((threads) => [0, 2048 / threads].map((blocksPerMultiprocessor) => (
  { threads, blocksPerMultiprocessor, accessBytes: 16, piecesPerThread: 1 })));
/** Where a pass takes microseconds, the start of the blocks and the depth of the reads count as well. */
const smallGrids: readonly Grid[] = threadCounts.flatMap((threads) => [0, 1, 1024 / threads, 2048 / threads].flatMap(
  (blocksPerMultiprocessor) => [8, 16].flatMap((accessBytes) => [1, 2, 4].map(
    (piecesPerThread) => ({ threads, blocksPerMultiprocessor, accessBytes, piecesPerThread })))));
/** Bytes read and written below which a pass is small: a share of the caches of all GPUs here. */
const smallBytes = 40e6;
/** The grids that are tried for a pass over so many bytes. */
export const gridsOf = (bytes: number): readonly Grid[] => (bytes <= smallBytes ? smallGrids : largeGrids);

/** Grids that go from a short look into the measurement. */
const finalists = 5;

/** Time of a kernel that reads `from` and writes `to`: the fastest of 8 grids, of 96 where the arrays are small. */
export async function streamFloor(
  device: Device, precision: Precision, sets: readonly Streams[], options: TimingOptions = {},
): Promise<Timing> {
  const timeOf = (grid: Grid, how: TimingOptions): Promise<Timing> => time(device, sets[0]!.to, 'bench.stream', sets.map(({ from, to }) => {
    const [first, second, third, fourth] = from.map((data) => ({ data }));
    return { type: precision, first, second, third, fourth, to: { data: to }, ...grid };
  }), how);
  const { from, to } = sets[0]!;
  let grids = gridsOf((from.length + 1) * to.length * bytesOf(precision));
  if (grids.length > largeGrids.length) {
    const looks = [];
    for (const grid of grids) looks.push({ grid, seconds: (await timeOf(grid, { repeatSeconds: 3e-4, repeats: 3 })).seconds });
    grids = looks.sort((a, b) => a.seconds - b.seconds).slice(0, finalists).map(({ grid }) => grid);
  }
  let best: Timing | undefined;
  for (const grid of grids) {
    const timing = await timeOf(grid, options);
    if (best === undefined || timing.seconds < best.seconds) best = timing;
  }
  return best!;
}

/** Time of one plain copy by all cores of as many bytes as `bytes` read and written together. */
export async function copyFloor(device: Device, bytes: number): Promise<Timing> {
  // Copied arrays, so that no page is one shared zero page.
  const host = new Float64Array(Math.ceil(bytes / 16)).fill(1);
  using from = await device.array(host);
  using to = await device.array(host);
  return await time(device, from, 'bench.copy', [{ type: 'float64', from: { data: from }, to: { data: to } }]);
}
