// The functions of `jobs`: runs a job from a program, as `warploom run` does from a file.
import { describeValue, isObject } from '../core/arrays.ts';
import { abortSignal, callback, choice, fileName, truth, whole } from '../core/checks.ts';
import { displayed } from '../core/display.ts';
import { needed, nested, optionsOf, type ChecksOf } from '../core/options.ts';
import { refusal } from '../core/errors.ts';
import { snapshot } from '../core/snapshot.ts';
import type { ItemResult } from './events.ts';
import type { ItemState } from './items.ts';
import type { JobDescription, jobSchema } from './kinds/index.ts';
import type { LoadOptions } from './load.ts';
import { LoadedJob } from './loaded.ts';
import type { RunOptions, Shard } from './runner.ts';

/** Options of {@link run}: those of {@link load} are for jobs that have not been loaded yet. */
export interface JobOptions extends RunOptions, LoadOptions {}

/** Options of {@link items}: those of {@link load} are for jobs that have not been loaded yet. */
export interface ItemsOptions extends LoadOptions {
  /** Folder in which each job has a folder; default 'warploom-results'. */
  readonly results?: string;
}

const most = 1_000_000; // shards
const shard = optionsOf('shard', { index: needed(whole(1, most)), count: needed(whole(1, most)) } satisfies ChecksOf<Shard>);
/** The options of {@link load}. */
export const loading = { folder: fileName, backend: choice(['auto', 'cuda', 'cpu', 'simt'] as const) };
const options = {
  load: optionsOf('jobs.load', loading satisfies ChecksOf<LoadOptions>),
  items: optionsOf('jobs.items', { ...loading, results: fileName } satisfies ChecksOf<ItemsOptions>),
  run: optionsOf('jobs.run', {
    ...loading, results: fileName, again: truth, followLinks: truth, signal: abortSignal, onProgress: callback, frames: whole(2, 4096),
    parallel: whole(1, 256), shard: nested(shard), keepGoing: truth, ensemble: choice(['auto', true, false] as const),
  } satisfies ChecksOf<JobOptions>),
};

/** A job as the functions of this module accept it. */
type Given = string | JobDescription | LoadedJob;

/** The job, loaded unless it has been already. Reads its arguments before it returns. */
export async function loaded(job: Given, { backend, folder }: LoadOptions): Promise<LoadedJob> {
  if (job instanceof LoadedJob) {
    const [name, value] = Object.entries({ backend, folder }).find(([, each]) => each !== undefined) ?? [];
    if (name !== undefined) throw refusal(name, 'none, because the job has been loaded: jobs.load takes it', String(value));
    return job;
  }
  if (typeof job !== 'string' && !isObject(job)) {
    throw refusal('job', 'the path of a job file, a job as an object or one from jobs.load', describeValue(job));
  }
  if (typeof job === 'string') fileName(job, 'job');
  const source = snapshot(job);
  const { loadJob } = await import('./load.ts');
  return loadJob(source, { ...(backend === undefined ? {} : { backend }), ...(folder === undefined ? {} : { folder }) });
}

/**
 * Reads and checks a job and expands its sweep, without running anything: the files it names exist, and every combination of its sweep is
 * valid. What it returns can be passed to {@link items} and {@link run}.
 *
 * ```ts
 * const job = await jobs.load('rod.json');
 * console.log(job.items.length, job.items[0].values);
 * ```
 *
 * @param job the path of a job file, or its contents as an object (docs/jobs.md)
 * @param given `folder`, to which its paths are relative; `backend` instead of the job's own
 * @throws ArgumentError naming the invalid field; FileError for files that cannot be read
 */
export async function load(job: string | JobDescription, given: LoadOptions = {}): Promise<LoadedJob> {
  return loaded(job, options.load.read(given));
}

/**
 * The items of a job, in the order of its sweep, and how far each is according to its results folder. Nothing is changed or locked: the job
 * may be running.
 *
 * @param job the path of a job file, its contents, or a job from {@link load}
 * @param given where results go, and the options of {@link load}
 * @throws ArgumentError naming the invalid field; FileError for files that cannot be read
 */
export async function items(job: string | JobDescription | LoadedJob, given: ItemsOptions = {}): Promise<ItemState[]> {
  const { results = 'warploom-results', ...where } = options.items.read(given);
  const found = loaded(job, where);
  const { itemStates } = await import('./items.ts');
  return itemStates(await found, results);
}

/**
 * Runs a job: every item of its sweep, one after another or several at a time, each with its own results folder. Items that an
 * earlier run has finished with the same parameters and inputs are not run again, and one that was interrupted continues from its
 * last checkpoint. So a job is paused by aborting its signal, and resumed by running it again: simulations have a checkpoint of the
 * state at which they stopped.
 *
 * ```ts
 * const [item] = await jobs.run({
 *   kind: 'simulate', name: 'rod', equation: 'heat', n: 501, fourier: 0.4, initial: 'ramp', until: { time: 0.05 },
 * }, { results: 'out' });
 * console.log(item.accuracy, item.files); // files in out/rod/all
 * ```
 *
 * @param job the path of a job file, its contents as an object (docs/jobs.md), or a job from {@link load}
 * @param given where results go, what to run again, and callbacks; all options are copied at the call
 * @returns the content of every item's result.json, in the order of the sweep
 * @throws ArgumentError naming the invalid field, before anything runs; what an item throws, after the results of earlier items are safe on
 *   disk; `signal.reason` when aborted; WarploomError `ERR_WARPLOOM_LOCKED` while another run writes to the same folder; FileError
 */
export async function run(job: string | JobDescription | LoadedJob, given: JobOptions = {}): Promise<ItemResult[]> {
  const { backend, folder, ...rest } = snapshot(options.run.read(given));
  if (rest.shard !== undefined && rest.shard.index > rest.shard.count) {
    throw refusal('shard.index', `at most shard.count (${rest.shard.count})`, String(rest.shard.index));
  }
  const found = loaded(job, { backend, folder });
  const [ready, { runJob }] = await Promise.all([found, import('./runner.ts')]);
  rest.signal?.throwIfAborted();
  return shownResults(await runJob(ready, rest));
}

/** @internal Results with a line each in consoles. */
export const shownResults = (results: readonly ItemResult[]): ItemResult[] => results.map((result) => displayed(result, {
  text: () => `ItemResult { ${result.item}: ${result.summary}, ${result.accuracy.meaning}: ${result.accuracy.value}, `
    + `files: ${result.files.join(', ')} }`,
}));

/** The JSON Schema of job files (draft 2020-12), for editors and forms; generated from {@link schema}. */
export async function jsonSchema(): Promise<object> {
  return (await import('./kinds/index.ts')).jobJsonSchema();
}

/**
 * The zod schema of job files: a discriminated union over `kind`, whose `options` are the schemas of the kinds. {@link run} checks jobs
 * with it; `parse` fills in the defaults.
 */
export async function schema(): Promise<typeof jobSchema> {
  return (await import('./kinds/index.ts')).jobSchema;
}
