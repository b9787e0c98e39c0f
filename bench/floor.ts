// The least time that the bytes of an operation take on a device, measured beside it.
import type { Device } from '../lib/core/device.ts';
import type { DeviceArray } from '../lib/core/device-array.ts';
import type { Precision } from './systems.ts';
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

/** Threads per block and blocks per multiprocessor (0: one access per thread): which is fastest varies with the size. */
const grids = [128, 256, 512, 1024].flatMap((threads) => [
  { threads, blocksPerMultiprocessor: 0 }, { threads, blocksPerMultiprocessor: 2048 / threads },
]);

/** Time of a kernel that reads `from` and writes `to` in 16-byte accesses: the fastest of eight grids. */
export async function streamFloor(
  device: Device, precision: Precision, sets: readonly Streams[], options: TimingOptions = {},
): Promise<Timing> {
  let best: Timing | undefined;
  for (const grid of grids) {
    const timing = await time(device, sets[0]!.to, 'bench.stream', sets.map(({ from, to }) => {
      const [first, second, third, fourth] = from.map((data) => ({ data }));
      return { type: precision, first, second, third, fourth, to: { data: to }, ...grid };
    }), options);
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
