// Runs jobs: the items of a sweep, one after another or several at a time, and what is reported of them.
import { join, resolve } from 'node:path';
import { makeFolder } from '../core/files.ts';
import { elementAt } from '../core/known.ts';
import { Devices } from './devices.ts';
import type { ItemResult, RunEvent } from './events.ts';
import { groupsOf, type Ensembles, type Placed } from './groups.ts';
import type { JobItem, LoadedJob } from './loaded.ts';
import { refuseLinks, takeFolder } from './results-folder.ts';
import { runGroup, type Ended, type GroupWatch } from './run-group.ts';
import { finishedResult, type ItemTask } from './run-item.ts';
import { writeSummary } from './summary.ts';
import { Tally } from './tally.ts';

/** A part of a sweep. */
export interface Shard {
  /** Which part, from 1. */
  readonly index: number;
  /** How many parts there are. */
  readonly count: number;
}

/** Options of a run: what to run, and callbacks. */
export interface RunOptions {
  /** Folder in which each job gets a folder; default 'warploom-results'. */
  readonly results?: string;
  /** Run finished items again. */
  readonly again?: boolean;
  /** Whether results folders may be symbolic links; default false: they are refused. */
  readonly followLinks?: boolean;
  /**
   * How many items run at the same time, each in a process of its own, from 1 to 256. Results are the same for every number. Default: one
   * after another, in this process.
   */
  readonly parallel?: number;
  /** Run only the items number `index`, `index + count`, `index + 2 count`, … of the sweep, for runs that share the work. */
  readonly shard?: Shard;
  /**
   * Whether items of kind `stencil` that differ in `parameters` and `initial` only are computed together, as one ensemble: `auto`
   * (default) does so where one of them by itself does not fill the device, `true` wherever they can, `false` never. Results are the same.
   */
  readonly ensemble?: Ensembles;
  /**
   * When an item fails, run the others all the same; the call then rejects at the end. Default: stop; those that are computed together with
   * it go on to their ends.
   */
  readonly keepGoing?: boolean;
  readonly signal?: AbortSignal;
  /** Called for every item's start, progress, warnings and end. */
  readonly onProgress?: (event: RunEvent) => void;
  /**
   * Whether `onProgress` also receives the states of simulations while they run (kinds `simulate`, `stencil` and `heat-adi`), one at each
   * snapshot: the most points of a frame along each axis, from 2. Default: no frames.
   */
  readonly frames?: number;
}

/** Runs items together somewhere; rejects for none of them. */
type Execute = (tasks: readonly ItemTask[], watch: GroupWatch) => Promise<void>;

/** The items of a shard, in the order of the sweep. */
export function itemsOf(loaded: LoadedJob, shard: Shard | undefined): readonly JobItem[] {
  if (shard === undefined) return loaded.items;
  return loaded.items.filter((_, i) => i % shard.count === shard.index - 1);
}

/** A run of some items of a job. */
class Run {
  readonly #loaded: LoadedJob;
  readonly #options: RunOptions;
  readonly #items: readonly JobItem[];
  readonly #results: ItemResult[] = [];
  readonly #errors: unknown[] = [];
  readonly #stop = new AbortController();
  readonly #tally: Tally;

  constructor(loaded: LoadedJob, options: RunOptions) {
    this.#loaded = loaded;
    this.#options = options;
    this.#items = itemsOf(loaded, options.shard);
    this.#tally = new Tally(this.#items.length);
  }

  /** Runs all items, `width` groups of them at the same time. */
  async all(width: number, execute: Execute): Promise<ItemResult[]> {
    const { signal, ensemble = 'auto' } = this.#options;
    const follow = (): void => { this.#stop.abort(signal?.reason); };
    if (signal?.aborted === true) follow();
    signal?.addEventListener('abort', follow, { once: true });
    const groups = await groupsOf(this.#loaded, [...this.#items.entries()], ensemble, width);
    const next = groups.values();
    const lane = async (): Promise<void> => {
      for (const group of next) {
        if (this.#stop.signal.aborted) return;
        await this.#some(group, execute);
      }
    };
    try {
      await Promise.all(Array.from({ length: Math.min(width, groups.length) }, lane));
    } finally {
      signal?.removeEventListener('abort', follow);
    }
    signal?.throwIfAborted();
    if (this.#errors.length > 0) throw elementAt(this.#errors, 0);
    return this.#results;
  }

  /** Runs those of some items that are not finished, together. */
  async #some(group: readonly Placed[], execute: Execute): Promise<void> {
    const { results = 'warploom-results', again = false, followLinks = false, keepGoing = false, onProgress, frames } = this.#options;
    const { name, device, folder: inputs } = this.#loaded;
    const tasks: [index: number, task: ItemTask][] = [];
    for (const [index, item] of group) {
      const names = { job: name, item: item.name };
      const folder = join(results, name, item.name);
      const before = again ? undefined : await finishedResult(folder, item);
      if (before !== undefined) {
        this.#results[index] = before;
        onProgress?.({ event: 'skipped', ...names, result: before, sweep: this.#tally.ends('skipped') });
        continue;
      }
      await makeFolder(folder);
      onProgress?.({ event: 'started', ...names, sweep: this.#tally.starts() });
      tasks.push([index, { job: name, device, item, inputs, folder: resolve(folder), again, followLinks, frames }]);
    }
    if (tasks.length === 0) return;
    await execute(tasks.map(([, task]) => task), {
      signal: this.#stop.signal, onEvent: (event) => onProgress?.(event),
      onEnd: (place, ended) => { this.#end(...elementAt(tasks, place), ended); },
    });
    if (this.#errors.length > 0 && !keepGoing) this.#stop.abort(elementAt(this.#errors, 0));
  }

  #end(index: number, { item }: ItemTask, ended: Ended): void {
    const { onProgress } = this.#options;
    const names = { job: this.#loaded.name, item: item.name };
    if ('result' in ended) {
      this.#results[index] = ended.result;
      onProgress?.({ event: 'finished', ...names, result: ended.result, sweep: this.#tally.ends('finished') });
      return;
    }
    const sweep = this.#tally.ends('failed');
    if (this.#stop.signal.aborted) return;
    const { code, message } = ended.error as { code?: unknown; message?: unknown };
    const said = { ...(typeof code === 'string' ? { code } : {}), message: String(message) };
    onProgress?.({ event: 'failed', ...names, error: said, sweep });
    this.#errors.push(ended.error);
  }
}

/** Runs the items in this process. */
async function inTurn(run: Run): Promise<ItemResult[]> {
  const devices = new Devices();
  try {
    return await run.all(1, (tasks, watch) => runGroup(tasks, devices, watch));
  } finally {
    await devices.close();
  }
}

/** Runs `width` items at a time, in processes of their own. */
async function inProcesses(run: Run, width: number): Promise<ItemResult[]> {
  const { ItemPool } = await import('./pool/pool.ts');
  const pool = new ItemPool();
  try {
    return await run.all(width, (tasks, watch) => pool.runGroup(tasks, watch));
  } finally {
    await pool.close();
  }
}

/**
 * Runs a job's items and returns their results in the order of the sweep. An item is skipped if its result.json has the same parameters and
 * inputs; a killed run continues from its last checkpoint; every file is written under a temporary name, synced and renamed. Each item's
 * folder is locked while it runs, and the job's folder too unless only a shard of it runs. At the end, also when an item has failed, there
 * is a summary of the sweep.
 * @throws whatever an item throws, after the results of earlier items are safe on disk and others that run have been stopped; signal.reason
 * when aborted; WarploomError `ERR_WARPLOOM_LOCKED` while another run writes there; ArgumentError for folders that are symbolic links
 */
export async function runJob(loaded: LoadedJob, options: RunOptions = {}): Promise<ItemResult[]> {
  const { results = 'warploom-results', followLinks = false, parallel, shard } = options;
  const place = join(results, loaded.name);
  await makeFolder(results);
  const lock = shard === undefined ? await takeFolder(place, { followLinks, deep: false }) : undefined;
  try {
    await makeFolder(place);
    await refuseLinks(place, followLinks);
    const run = new Run(loaded, options);
    try {
      return await (parallel === undefined ? inTurn(run) : inProcesses(run, parallel));
    } finally {
      if (options.signal?.aborted !== true) await writeSummary(loaded, results, { followLinks, signal: options.signal });
    }
  } finally {
    await lock?.release();
  }
}
