// What has become of a job's items, from their folders.
import { displayed } from '../core/display.ts';
import { join } from 'node:path';
import { isThere } from '../core/files.ts';
import type { ItemResult } from './events.ts';
import type { JobItem, LoadedJob } from './loaded.ts';
import { checkpointName } from './results-folder.ts';
import { finishedResult } from './run-item.ts';

/** An item of a job, and how far it is. */
export interface ItemState extends JobItem {
  /** The folder of its results. */
  readonly folder: string;
  /**
   * `finished`: there is a result with its hash, which {@link run} would skip; `begun`: there is a checkpoint, from which `run`
   * continues if it has its hash; `waiting`: neither (or a result of other parameters or inputs).
   */
  readonly state: 'finished' | 'begun' | 'waiting';
  /** The content of result.json if it is finished. */
  readonly result?: ItemResult;
}

/** The items of a job and how far each is, in the order of the sweep. */
export async function itemStates(job: LoadedJob, results: string): Promise<ItemState[]> {
  const states: ItemState[] = [];
  for (const item of job.items) {
    const folder = join(results, job.name, item.name);
    const result = await finishedResult(folder, item);
    const state: ItemState = result !== undefined ? { ...item, folder, state: 'finished', result }
      : { ...item, folder, state: isThere(join(folder, checkpointName)) ? 'begun' : 'waiting' };
    const what = result === undefined ? '' : `: ${result.summary}`;
    states.push(displayed(state, { text: () => `Item { ${item.name}, ${state.state}${what} }` }));
  }
  return states;
}
