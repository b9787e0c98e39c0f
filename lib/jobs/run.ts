// jobs.run: runs a job from a program, as `warploom run` does from a file.
import { describeValue, isObject } from '../core/arrays.ts';
import { callback, choice, fileName, abortSignal, truth } from '../core/checks.ts';
import { optionsOf, type ChecksOf } from '../core/options.ts';
import { refusal } from '../core/errors.ts';
import { snapshot } from '../core/snapshot.ts';
import type { JobDescription } from './kinds/index.ts';
import type { LoadOptions } from './load.ts';
import type { ItemResult, RunOptions } from './runner.ts';

/** Options of {@link run}. */
export interface JobOptions extends RunOptions, LoadOptions {}

const options = optionsOf('jobs.run', {
  results: fileName, folder: fileName, again: truth, followLinks: truth, signal: abortSignal, onProgress: callback,
  backend: choice(['auto', 'cuda', 'cpu', 'simt'] as const),
} satisfies ChecksOf<JobOptions>);

/**
 * Runs a job: every item of its sweep, one after another, each with its own results folder. Items that an earlier run has finished with the
 * same parameters and inputs are not run again, and one that was interrupted continues from its last checkpoint.
 *
 * ```ts
 * const [item] = await jobs.run({
 *   kind: 'simulate', name: 'rod', equation: 'heat', n: 501, fourier: 0.4, initial: 'ramp', until: { time: 0.05 },
 * }, { results: 'out' });
 * console.log(item.accuracy, item.files); // files in out/rod/all
 * ```
 *
 * @param job the path of a job file, or its contents as an object (docs/jobs.md)
 * @param given where results go, what to run again, and callbacks; all options are copied at the call
 * @returns the content of every item's result.json, in the order of the sweep
 * @throws ArgumentError naming the invalid field, before anything runs; what an item throws, after the results of earlier items are safe on
 *   disk; `signal.reason` when aborted; WarploomError `ERR_WARPLOOM_LOCKED` while another run writes to the same folder; FileError
 */
export async function run(job: string | JobDescription, given: JobOptions = {}): Promise<ItemResult[]> {
  if (typeof job !== 'string' && !isObject(job)) {
    throw refusal('job', 'the path of a job file or a job as an object', describeValue(job));
  }
  if (typeof job === 'string') fileName(job, 'job');
  const { backend, folder, ...rest } = options.read(given);
  const source = snapshot(job);
  const [{ loadJob }, { runJob }] = await Promise.all([import('./load.ts'), import('./runner.ts')]);
  rest.signal?.throwIfAborted();
  const place = { ...(backend === undefined ? {} : { backend }), ...(folder === undefined ? {} : { folder }) };
  return runJob(await loadJob(source, place), rest);
}

/** The JSON Schema of job files (draft 2020-12), for editors and forms; generated from the schema that {@link run} uses. */
export async function jsonSchema(): Promise<object> {
  return (await import('./kinds/index.ts')).jobJsonSchema();
}
