// Tables 2.1 and 4.1 of the thesis for a device, from times of Algorithm 1. Rows:
//   stream/<program>/threads/<filter>   the filter that takes most of the program's time, alone on all multiprocessors (Table 2.1): seconds
//                                       in its best configuration; figures: r64t128, with at most 64 registers a thread and 128 threads.
//                                       A figure that is missing is a configuration in which the filter cannot run
//   stream/all/layout/<side>-<layout>   seconds in which a core (cpu) or the device (gpu) reads and writes 32 MB, laid out in the order
//                                       of the stream (serial) or so that the accesses of 128 threads coalesce (shuffled) (Table 4.1)
import { elaborate } from '../lib/stream/compile.ts';
import { toSdf } from '../lib/stream/elaborate/to-sdf.ts';
import type { StreamGraph } from '../lib/stream/graph.ts';
import { profile } from '../lib/stream/profile/index.ts';
import type { DeviceProfile, DeviceProfileOptions } from '../lib/stream/profile/types.ts';
import type { RuntimeTable } from '../lib/stream/partition/index.ts';
import { steadyState } from '../lib/stream/schedule/index.ts';
import { isUnsupported, type BenchContext } from './domain.ts';
import type { Row } from './report.ts';

/** Algorithm 1 for a program; in a quick run with few threads and firings. */
export function profileFor(
  { device, quick }: BenchContext, graph: StreamGraph, options: Pick<DeviceProfileOptions, 'mode' | 'layout'>,
): Promise<DeviceProfile> {
  const small = quick ? { threads: [128, 256], firings: 1024 } : {};
  return profile(graph, { backend: device.backend as 'cuda' | 'simt', device, ...options, ...small });
}

/** The filter that takes most of a steady state in the best configuration of each. */
function heaviest(graph: StreamGraph, { microseconds }: RuntimeTable): StreamGraph['nodes'][number] | undefined {
  const { repetitions } = steadyState(toSdf(graph, { ends: true }));
  const timeOf = (id: number): number => {
    const least = Math.min(...microseconds.flatMap((byThreads) => byThreads.map((times) => times[id]!)));
    return least === Infinity ? 0 : least * repetitions[id]!;
  };
  const filters = graph.nodes.filter(({ kind }) => kind === 'filter');
  return filters.reduce<(typeof filters)[number] | undefined>((best, each) =>
    (best === undefined || timeOf(each.id) > timeOf(best.id) ? each : best), undefined);
}

/** Table 2.1 for a filter: seconds by configuration, without those in which it cannot run. */
export function threadsRow(id: string, actor: number, { table, device }: Pick<DeviceProfile, 'table' | 'device'>): Row | undefined {
  const { registers, threads, firings, microseconds } = table;
  const figures = Object.fromEntries(registers.flatMap((limit, i) => threads.flatMap((count, j) => {
    const time = microseconds[i]![j]![actor]!;
    return time === Infinity ? [] : [[`r${limit}t${count}`, time / 1e6] as const];
  })));
  const times = Object.values(figures);
  return times.length === 0 ? undefined : { id, value: Math.min(...times), unit: 's', spread: 0, figures,
    note: `${firings} firings on each of ${device.multiprocessors} multiprocessors` };
}

/** Emits a program's row of Table 2.1. */
export async function benchmarkThreads(context: BenchContext, name: string, graph: StreamGraph): Promise<void> {
  const id = `stream/${name}/threads`;
  try {
    const made = await profileFor(context, graph, { mode: 'swp' });
    const filter = heaviest(graph, made.table);
    const row = filter && threadsRow(`${id}/${filter.name.replace(/[^\w.-]/g, '-')}`, filter.id, made);
    if (row !== undefined) context.emit(row);
  } catch (error) {
    if (!isUnsupported(error)) throw error;
    context.say(`${id}: ${error.message}`);
  }
}

/** Items of a firing: so many that no instance can be staged in shared memory, which would make accesses coalesce in any layout. */
const itemsEach = 1024;
/** Bytes of Table 4.1, and the threads whose items stand side by side. */
const accessed = 2 ** 25, width = 128;
/** Milliseconds of the thesis, on the two sides of its machine. */
const thesis: Readonly<Record<string, number>> = { 'cpu-serial': 14.55, 'cpu-shuffled': 187, 'gpu-serial': 176.6, 'gpu-shuffled': 8.1 };

/** The program of Table 4.1. */
export const moving = `float->float filter Move {
  work push ${itemsEach} pop ${itemsEach} { for (int i = 0; i < ${itemsEach}; i++) push(pop()); }
}
float->float pipeline Main { add Move; }
`;

/** Copies all items, firing by firing, between arrays in one layout. */
function copyOnCore(from: Float32Array, to: Float32Array, isShuffled: boolean): void {
  const step = isShuffled ? width : 1;
  for (let firing = 0; firing * itemsEach < from.length; ++firing) {
    const thread = firing % width;
    let at = isShuffled ? (firing - thread) * itemsEach + thread : firing * itemsEach;
    for (let item = 0; item < itemsEach; ++item, at += step) to[at] = from[at]!;
  }
}

/** Seconds of a core for 32 MB: the best of some copies. */
function timeOnCore(isShuffled: boolean, quick: boolean): number {
  const from = Float32Array.from({ length: accessed / 4 }, (_, i) => i % 4096), to = new Float32Array(from.length);
  let least = Infinity;
  for (let repeat = 0; repeat < (quick ? 2 : 10); ++repeat) {
    const begin = performance.now();
    copyOnCore(from, to, isShuffled);
    least = Math.min(least, (performance.now() - begin) / 1e3);
  }
  if (to.some((value, i) => value !== from[i])) throw new Error('the copy differs');
  return least;
}

/** Seconds of the device for 32 MB, in its best number of threads. */
async function timeOnDevice({ device, quick }: BenchContext, isShuffled: boolean): Promise<number> {
  const { graph } = await elaborate(moving);
  const { table: { firings, microseconds }, device: { multiprocessors } } = await profile(graph, {
    backend: device.backend as 'cuda' | 'simt', device, mode: isShuffled ? 'swp' : 'swpnc', firings: 1024, force: true,
    threads: quick ? [128] : [128, 256, 512, 1024],
  });
  const least = Math.min(...microseconds.flatMap((byThreads) => byThreads.map((times) => times[0]!)));
  return least / 1e6 * accessed / (4 * itemsEach * firings * multiprocessors);
}

/** Emits the rows of Table 4.1. */
export async function benchmarkLayouts(context: BenchContext): Promise<void> {
  for (const side of ['cpu', 'gpu'] as const) {
    for (const layout of ['serial', 'shuffled'] as const) {
      const name = `${side}-${layout}`, id = `stream/all/layout/${name}`;
      if (!context.wanted(id)) continue;
      const isShuffled = layout === 'shuffled';
      const value = side === 'cpu' ? timeOnCore(isShuffled, context.quick) : await timeOnDevice(context, isShuffled);
      context.emit({ id, value, unit: 's', spread: 0, peers: { thesis: thesis[name]! / 1e3 }, constants: ['thesis'],
        note: `${accessed / 2 ** 20} MB read and written, ${itemsEach} items a firing; ${
          side === 'cpu' ? 'JavaScript on one core' : 'Algorithm 1, scaled to 32 MB'}` });
    }
  }
}
