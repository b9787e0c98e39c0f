// Which items of a sweep run together: those of kinds that can, where one by itself does not fill the device.
import type { BackendName } from '../core/binding.ts';
import { choose } from '../core/devices.ts';
import { WarploomError } from '../core/errors.ts';
import { inputResolver } from './inputs.ts';
import { kindOf } from './kinds/index.ts';
import type { JobItem, LoadedJob } from './loaded.ts';

/** Whether items run together: `auto` decides by their sizes. */
export type Ensembles = 'auto' | boolean;

/** An item with its place in the sweep. */
export type Placed = readonly [index: number, item: JobItem];

/**
 * Numbers in the state of one item from which it fills a device by itself, and those of all that run together: more of them are not
 * faster, and leave the caches of a CPU.
 */
const enough: Readonly<Record<BackendName, readonly [one: number, all: number]>> = {
  cuda: [2 ** 19, 2 ** 22], cpu: [2 ** 15, 2 ** 17], simt: [2 ** 15, 2 ** 17],
};
/** The most numbers of items that run together because that was asked for. */
const mostNumbers = 2 ** 25;
/** Bytes for a number of the state: at most five arrays for stages, and twice as much for what is written and read. */
const bytesPerNumber = 80;

/** The backend that a job runs on; undefined if there is none, which the first item will say. */
function backendOf({ backend, index = 0 }: LoadedJob['device']): BackendName | undefined {
  try {
    return choose(backend, index).backend;
  } catch (error) {
    if (error instanceof WarploomError) return undefined;
    throw error;
  }
}

/** How many items with states of so many numbers run together. */
function mostTogether(numbers: number, how: Ensembles, { backend, memoryLimit = Infinity, index }: LoadedJob['device']): number {
  const found = backendOf({ backend, ...(index === undefined ? {} : { index }) });
  if (found === undefined) return 1;
  const [one, all] = how === true ? [Infinity, mostNumbers] : enough[found];
  return numbers > one ? 1 : Math.floor(Math.min(all, memoryLimit / bytesPerNumber) / numbers);
}

/** Equal parts of at most so many. */
function parts<T>(list: readonly T[], most: number): (readonly T[])[] {
  const count = Math.ceil(list.length / Math.max(1, most));
  const from = (k: number): number => Math.floor((k * list.length) / count);
  return Array.from({ length: count }, (_, k) => list.slice(from(k), from(k + 1)));
}

/**
 * The items in groups that run together, in the order of their first ones.
 * @param lanes how many groups run at the same time: each gets some
 */
export async function groupsOf(
  { device, folder }: LoadedJob, items: readonly Placed[], how: Ensembles, lanes: number,
): Promise<(readonly Placed[])[]> {
  const groups: (readonly Placed[])[] = [];
  const byKey = new Map<string, Placed[]>();
  for (const placed of items) {
    const { job } = placed[1];
    const key = how === false ? undefined : kindOf(job).together?.key(job);
    if (key === undefined) groups.push([placed]);
    else byKey.set(key, [...byKey.get(key) ?? [], placed]);
  }
  for (const alike of byKey.values()) {
    const [[, { job }]] = alike as [Placed];
    const numbers = alike.length === 1 ? undefined : await kindOf(job).together?.numbers(job, inputResolver(folder));
    const most = numbers === undefined ? 1 : Math.min(mostTogether(numbers, how, device), Math.ceil(alike.length / lanes));
    groups.push(...parts(alike, most));
  }
  return groups.sort(([a], [b]) => (a?.[0] ?? 0) - (b?.[0] ?? 0));
}
