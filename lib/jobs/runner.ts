// Runs jobs: resumes, reports progress, and leaves one result.json per item.
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { version } from '../core/version.ts';
import { previousCheckpoint, removeCheckpoints } from '../core/checkpoint.ts';
import { openDevice, type Device } from '../core/device.ts';
import { makeFolder, readText, removeAll, writeFileAtomic } from '../core/files.ts';
import { frameOf, type Frame } from './frame.ts';
import { requireUnchanged } from './hash.ts';
import type { ItemReport } from './kind.ts';
import { kindOf, type Job } from './kinds/index.ts';
import type { JobItem, LoadedJob } from './loaded.ts';
import { checkpointName, takeFolder } from './results-folder.ts';

/** The content of an item's result.json. */
export interface ItemResult extends ItemReport {
  readonly schema: 1;
  readonly job: string;
  readonly item: string;
  /** Hash of the parameters and of the bytes of the inputs: a finished item with the same hash is not run again. */
  readonly hash: string;
  readonly parameters: Job;
  readonly device: { readonly backend: string; readonly name: string };
  readonly warploom: string;
  /** Elapsed time of the item, including reading, writing and drawing. */
  readonly wallSeconds: number;
  /** ISO date and time. */
  readonly finished: string;
}

/** Options of {@link runJob}: what to run, and callbacks. */
export interface RunOptions {
  /** Folder in which each job gets a folder; default 'warploom-results'. */
  readonly results?: string;
  /** Run finished items again. */
  readonly again?: boolean;
  /** Whether results folders may be symbolic links; default false: they are refused. */
  readonly followLinks?: boolean;
  readonly signal?: AbortSignal;
  /** Called for every item's start, progress, warnings and end. */
  readonly onProgress?: (event: RunEvent) => void;
  /**
   * Whether `onProgress` also receives the states of simulations while they run (kinds `simulate`, `stencil` and `heat-adi`), one at each
   * snapshot: the most points of a frame along each axis, from 2. Default: no frames.
   */
  readonly frames?: number;
}

/** What happens while a job runs. */
export type RunEvent =
  | { readonly event: 'started' | 'skipped' | 'finished'; readonly job: string; readonly item: string; readonly result?: ItemResult }
  | { readonly event: 'warning'; readonly job: string; readonly item: string; readonly note: string }
  | {
    readonly event: 'progress'; readonly job: string; readonly item: string; readonly done: number; readonly total: number;
    /** What is known of the state, by name: `energy` for images. */
    readonly figures?: Readonly<Record<string, number>>;
  }
  | { readonly event: 'frame'; readonly job: string; readonly item: string; readonly frame: Frame };

/** Name of an item's report. */
const resultName = 'result.json';

/** Whether a result has the form of this version. */
function isCurrent(result: Omit<ItemResult, 'schema'> & { schema: unknown }): result is ItemResult {
  return result.schema === 1;
}

/** The result of an earlier run of the same item with the same inputs, if there is one and it is complete. */
export async function finishedResult(folder: string, item: JobItem): Promise<ItemResult | undefined> {
  try {
    const result = JSON.parse(await readText(join(folder, resultName))) as Omit<ItemResult, 'schema'> & { schema: unknown };
    return isCurrent(result) && result.hash === item.hash ? result : undefined;
  } catch {
    return undefined;
  }
}

/** What is needed to run an item. */
interface Running {
  readonly loaded: LoadedJob;
  readonly device: Device;
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly onProgress: RunOptions['onProgress'];
  readonly frames: number | undefined;
}

/** Runs one item and writes its result. */
async function finishItem(item: JobItem, { loaded, device, folder, signal, onProgress, frames }: Running): Promise<ItemResult> {
  const names = { job: loaded.name, item: item.name };
  const warnings: string[] = [];
  const start = performance.now();
  const done = await kindOf(item.job).run(item.job, {
    device, input: loaded.input, folder, signal, hash: item.hash,
    onProgress: (at, total, figures) =>
      onProgress?.({ event: 'progress', ...names, done: at, total, ...(figures === undefined ? {} : { figures }) }),
    show: (state) => {
      if (frames !== undefined) onProgress?.({ event: 'frame', ...names, frame: frameOf(state(), frames) });
    },
    warn: (note) => {
      warnings.push(note);
      onProgress?.({ event: 'warning', ...names, note });
    },
  });
  try {
    await requireUnchanged(item.inputs);
  } catch (error) {
    await removeCheckpoints(join(folder, checkpointName)); // belongs to inputs that have changed meanwhile
    throw error;
  }
  const notes = [...warnings, ...(done.notes ?? [])];
  const result: ItemResult = {
    schema: 1, ...names, hash: item.hash, parameters: item.job,
    device: { backend: device.backend, name: device.name }, warploom: version,
    ...done, ...(notes.length > 0 ? { notes } : {}),
    wallSeconds: (performance.now() - start) / 1000, finished: new Date().toISOString(),
  };
  await writeFileAtomic(join(folder, resultName), `${JSON.stringify(result, null, 2)}\n`);
  await removeAll(previousCheckpoint(join(folder, checkpointName)));
  return result;
}

/**
 * Runs a job's items one after another and returns their results in order. An item is skipped if its result.json has the same parameters
 * and inputs; a killed run continues from its last checkpoint; every file is written under a temporary name, synced and renamed. The job's
 * folder is locked during the run.
 * @throws whatever an item throws, after the results of earlier items are safe on disk; signal.reason when aborted; WarploomError
 * `ERR_WARPLOOM_LOCKED` while another run writes there; ArgumentError for folders that are symbolic links
 */
export async function runJob(loaded: LoadedJob, options: RunOptions = {}): Promise<ItemResult[]> {
  const { results = 'warploom-results', again = false, followLinks = false, onProgress, frames } = options;
  const signal = options.signal ?? new AbortController().signal;
  const report: ItemResult[] = [];
  const place = join(results, loaded.name);
  const lock = await takeFolder(place, { followLinks });
  let device: Device | undefined;
  try {
    for (const item of loaded.items) {
      signal.throwIfAborted();
      const names = { job: loaded.name, item: item.name };
      const folder = join(place, item.name);
      const before = again ? undefined : await finishedResult(folder, item);
      if (before !== undefined) {
        onProgress?.({ event: 'skipped', ...names, result: before });
        report.push(before);
        continue;
      }
      const { backend, index, memoryLimit } = loaded.device;
      device ??= await openDevice({
        backend, ...(index === undefined ? {} : { index }), ...(memoryLimit === undefined ? {} : { memoryLimit }),
      });
      await makeFolder(folder);
      if (again) await removeCheckpoints(join(folder, checkpointName));
      onProgress?.({ event: 'started', ...names });
      const result = await finishItem(item, { loaded, device, folder, signal, onProgress, frames });
      onProgress?.({ event: 'finished', ...names, result });
      report.push(result);
    }
  } finally {
    await device?.close();
    await lock.release();
  }
  return report;
}
