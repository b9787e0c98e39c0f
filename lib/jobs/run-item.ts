// Runs one item of a job in its folder, and leaves its result.json.
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { previousCheckpoint, removeCheckpoints } from '../core/checkpoint.ts';
import { WarploomError } from '../core/errors.ts';
import { readText, removeAll, writeFileAtomic } from '../core/files.ts';
import { version } from '../core/version.ts';
import type { Devices } from './devices.ts';
import type { ItemEvent, ItemResult } from './events.ts';
import { frameOf } from './frame.ts';
import type { Group } from './group.ts';
import { requireUnchanged } from './hash.ts';
import { inputResolver } from './inputs.ts';
import { kindOf } from './kinds/index.ts';
import type { JobItem, LoadedJob } from './loaded.ts';
import type { FolderLock } from './lock.ts';
import { checkpointName, coloursName, takeFolder } from './results-folder.ts';

/** An item to run, as plain data that can be sent to another process. */
export interface ItemTask {
  readonly job: string;
  readonly device: LoadedJob['device'];
  readonly item: JobItem;
  /** The folder to which the job's paths are relative. */
  readonly inputs: string;
  /** The folder of the item's results. */
  readonly folder: string;
  /** Run it even if it is finished, from the beginning. */
  readonly again: boolean;
  readonly followLinks: boolean;
  /** The most points of a frame along an axis; undefined: no frames. */
  readonly frames: number | undefined;
  /** Whether a lock of another machine is void, because a queue gives the item to one at a time. */
  readonly replacesForeign?: boolean;
}

/** Name of an item's report. */
const resultName = 'result.json';

/** Whether a result has the form of this version. */
function isCurrent(result: Omit<ItemResult, 'schema'> & { schema: unknown }): result is ItemResult {
  return result.schema === 1;
}

/** The result of an earlier run of the same item with the same inputs, if there is one and it is complete. */
export async function finishedResult(folder: string, item: Pick<JobItem, 'hash'>): Promise<ItemResult | undefined> {
  try {
    const result = JSON.parse(await readText(join(folder, resultName))) as Omit<ItemResult, 'schema'> & { schema: unknown };
    return isCurrent(result) && result.hash === item.hash ? result : undefined;
  } catch {
    return undefined;
  }
}

/** Callbacks of an item, and how it is stopped. */
export interface ItemWatch {
  readonly signal: AbortSignal;
  readonly onEvent: (event: ItemEvent) => void;
}

/** Milliseconds for which an item waits for its folder: the process of a run that was killed ends after its next checkpoint. */
const patience = 10_000;

/** Locks the item's folder. */
async function lockItem({ folder, followLinks, replacesForeign = false }: ItemTask, signal: AbortSignal): Promise<FolderLock> {
  const begin = Date.now();
  for (;;) {
    signal.throwIfAborted();
    try {
      return await takeFolder(folder, { followLinks, replacesForeign });
    } catch (error) {
      const isLocked = error instanceof WarploomError && error.code === 'ERR_WARPLOOM_LOCKED';
      if (!isLocked || Date.now() - begin > patience) throw error;
    }
    await sleep(100);
  }
}

/** Computes the item, in a folder that is locked. */
async function compute(task: ItemTask, devices: Devices, { signal, onEvent }: ItemWatch, group: Group | undefined): Promise<ItemResult> {
  const { item, folder, inputs, frames } = task;
  const names = { job: task.job, item: item.name };
  const device = await devices.of(task.device);
  const warnings: string[] = [];
  const start = performance.now();
  const kind = kindOf(item.job);
  const done = await kind.run(item.job, {
    device, input: inputResolver(inputs), folder, signal, hash: item.hash, group,
    onProgress: (at, total, figures) =>
      onEvent({ event: 'progress', ...names, done: at, total, ...(figures === undefined ? {} : { figures }) }),
    show: (state) => {
      if (frames === undefined) return;
      const shown = state();
      onEvent({ event: 'frame', ...names, frame: frameOf(shown, frames, kind.totals?.(item.job, shown)) });
    },
    warn: (note) => {
      warnings.push(note);
      onEvent({ event: 'warning', ...names, note });
    },
  });
  try {
    await requireUnchanged(item.inputs);
  } catch (error) {
    await removeCheckpoints(join(folder, checkpointName)); // belongs to inputs that have changed meanwhile
    throw error;
  }
  const notes = [...warnings, ...(done.notes ?? [])];
  return {
    schema: 1, ...names, hash: item.hash, parameters: item.job,
    device: { backend: device.backend, name: device.name }, warploom: version,
    ...done, ...(notes.length > 0 ? { notes } : {}),
    wallSeconds: (performance.now() - start) / 1000, finished: new Date().toISOString(),
  };
}

/**
 * Runs an item, continuing from its last checkpoint, and writes its result. The folder is locked meanwhile. If another process has finished
 * the item by then, its result is returned.
 * @param group the items that run together with it
 * @throws whatever the item throws; the signal's reason; WarploomError `ERR_WARPLOOM_LOCKED`; ArgumentError for symbolic links
 */
export async function runItem(task: ItemTask, devices: Devices, watch: ItemWatch, group?: Group): Promise<ItemResult> {
  const { item, folder, again } = task;
  const lock = await lockItem(task, watch.signal);
  try {
    const before = again ? undefined : await finishedResult(folder, item);
    if (before !== undefined) return before;
    watch.signal.throwIfAborted();
    await removeAll(join(folder, coloursName)); // of the pictures that this run replaces
    const checkpoint = join(folder, checkpointName);
    if (again) {
      await removeAll(join(folder, resultName)); // so that another attempt, after a crash, does not take it for its own
      await removeCheckpoints(checkpoint);
    }
    const result = await compute(task, devices, watch, group);
    await lock.requireHeld();
    await writeFileAtomic(join(folder, resultName), `${JSON.stringify(result, null, 2)}\n`);
    await removeAll(previousCheckpoint(checkpoint));
    return result;
  } finally {
    await lock.release();
  }
}
