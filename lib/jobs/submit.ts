// jobs.submit and jobs.work: sweeps over machines, by a queue on a Redis or Valkey server.
import { abortSignal, callback, fileName, number, rule, text, truth, whole } from '../core/checks.ts';
import { needed, optionsOf, type ChecksOf } from '../core/options.ts';
import { snapshot } from '../core/snapshot.ts';
import type { ItemResult } from './events.ts';
import type { JobDescription } from './kinds/index.ts';
import type { LoadOptions } from './load.ts';
import type { LoadedJob } from './loaded.ts';
import type { SubmitOptions, WorkOptions, Worked } from './queue/options.ts';
import { loaded, loading, shownResults } from './run.ts';

/** Not shown when refused: it may hold a password. */
const address = Object.assign((value: unknown, name: string): void => {
  if (typeof value !== 'string') rule<string>('the address of a Redis or Valkey server', () => false)(typeof value, name);
}, {}) as ReturnType<typeof text>;
const queueName = text(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/);
const width = whole(1, 256);

const options = {
  submit: optionsOf('jobs.submit', {
    ...loading, queue: address, queueName, root: fileName, wait: truth, fetch: truth, results: fileName, again: truth, followLinks: truth,
    parallel: width, signal: abortSignal, onProgress: callback, frames: whole(2, 4096),
  } satisfies ChecksOf<SubmitOptions & LoadOptions>),
  work: optionsOf('jobs.work', {
    queue: needed(address), queueName, folder: fileName, results: fileName, parallel: width, allowCode: truth, untilEmpty: truth,
    leaseSeconds: number({ least: 1, most: 3600 }), signal: abortSignal, onProgress: callback,
  } satisfies ChecksOf<WorkOptions>),
};

/**
 * Puts the items of a job into a queue, from which the workers of any number of machines take them ({@link work}), and waits for their
 * ends. Results are those of {@link run}. An item is in the queue once, however often it is submitted: submitting a job again waits for
 * what is left of it, and gives items that have failed another chance. Without `queue`, the items run here.
 *
 * ```ts
 * const items = await jobs.submit('sweep.json', { queue: 'redis://localhost', fetch: true });
 * ```
 *
 * @param job the path of a job file, its contents as an object, or a job from {@link load}; its paths are relative, and its inputs are
 *   found in the workers' folder as well
 * @param given the queue, where results go, and callbacks
 * @returns the results of all items in the order of the sweep; with `wait: false`, of those that have ended
 * @throws ArgumentError naming the invalid field; UnavailableError if the optional packages are missing or the server does not answer; at
 *   the end, the error of the first item that failed; `signal.reason`
 */
export async function submit(
  job: string | JobDescription | LoadedJob, given: SubmitOptions & LoadOptions = {},
): Promise<ItemResult[]> {
  const { backend, folder, ...rest } = snapshot(options.submit.read(given));
  const ready = await loaded(job, { backend, folder });
  rest.signal?.throwIfAborted();
  if (rest.queue === undefined) {
    const { results, again, followLinks, parallel, signal, onProgress, frames } = rest;
    const { runJob } = await import('./runner.ts');
    return shownResults(await runJob(ready, { results, again, followLinks, parallel, signal, onProgress, frames, keepGoing: true }));
  }
  const { submitTo } = await import('./queue/submit.ts');
  return shownResults(await submitTo(ready, rest));
}

/**
 * Runs items of a queue until `signal` is aborted, or the queue is empty if `untilEmpty` is set. An item whose worker was killed goes to
 * another one and continues from its last checkpoint, if both see the folder of its results. An item is only run if its parameters are
 * valid, it names no file outside of `folder`, and its inputs have the bytes that they have where it was submitted.
 *
 * @param given the queue, the folder that items may use, and how many run at the same time
 * @returns how many items have finished and failed here
 * @throws ArgumentError naming the invalid option; UnavailableError if the optional packages are missing or the server does not answer
 */
export async function work(given: WorkOptions): Promise<Worked> {
  const checked = options.work.read(given);
  const { workOn } = await import('./queue/work.ts');
  return workOn(checked);
}
