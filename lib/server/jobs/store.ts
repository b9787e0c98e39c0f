// The jobs of a server: submitted, run one after another, and kept until there are too many.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { ZodError } from 'zod';
import { ArgumentError, QueueFullError, WarploomError } from '../../core/errors.ts';
import { makeFolder, makeTemporaryFolder, realPath, removeAll } from '../../core/files.ts';
import type { DevicePool } from '../../core/pool.ts';
import { issuesOf } from '../../jobs/issues.ts';
import { jobSchema } from '../../jobs/kinds/index.ts';
import { loadJob } from '../../jobs/load.ts';
import { RequestError } from '../errors.ts';
import type { TakenServerOptions } from '../options.ts';
import { bytesBelow, confined, writeInputs } from './inputs.ts';
import { Submission } from './submission.ts';

/** Most items of a job that is submitted. */
const mostItems = 10_000;

type Options = Pick<TakenServerOptions, 'jobLimit' | 'keptJobs' | 'jobBytes' | 'jobTimeout'>;

/** All jobs of a server. Their files are in a temporary folder, which goes with the server. */
export class JobStore {
  readonly #root: string;
  readonly #shared: string | undefined;
  readonly #pool: DevicePool;
  readonly #options: Options;
  readonly #jobs = new Map<string, Submission>();
  #running: Promise<void> | undefined;
  #submitting = 0;
  #closed = false;

  private constructor(root: string, shared: string | undefined, pool: DevicePool, options: Options) {
    this.#root = root;
    this.#shared = shared;
    this.#pool = pool;
    this.#options = options;
  }

  static async open(options: TakenServerOptions, pool: DevicePool): Promise<JobStore> {
    const shared = options.shared === undefined ? undefined : await realPath(options.shared);
    return new JobStore(await realPath(await makeTemporaryFolder()), shared, pool, options);
  }

  /** All jobs, the newest first. */
  get jobs(): readonly Submission[] {
    return [...this.#jobs.values()].reverse();
  }

  /** Bytes of the files of all jobs. */
  get bytes(): number {
    return [...this.#jobs.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** @throws RequestError if there is no such job */
  get(id: string): Submission {
    const found = this.#jobs.get(id);
    if (found === undefined) throw new RequestError(404, 'there is no such job; GET /v1/jobs lists them');
    return found;
  }

  /** Checks a job and queues it. `request`: { job, files? }. */
  async submit(request: unknown): Promise<Submission> {
    const { job, files } = (typeof request === 'object' && request !== null ? request : {}) as { job?: unknown; files?: unknown };
    if (typeof job !== 'object' || job === null) {
      throw new RequestError(400, 'the request must be { "job": {…}, "files"?: { NAME: base64 } }');
    }
    const active = [...this.#jobs.values()].filter(({ isOver }) => !isOver).length + this.#submitting;
    if (active >= this.#options.jobLimit) {
      throw new RequestError(503, `${active} jobs wait or run, the most that the server takes (jobLimit)`);
    }
    const id = randomUUID();
    const folder = join(this.#root, id), inputs = join(folder, 'inputs'), results = join(folder, 'results');
    this.#submitting += 1;
    try {
      await writeInputs(inputs, files, this.#shared);
      await makeFolder(results);
      const submission = new Submission(id, await this.#load(job, inputs), { folder, results }, this.#clean(inputs, folder));
      const error = await this.#tooMuch(submission);
      if (error !== undefined) throw error;
      this.#jobs.set(id, submission);
      this.#runNext();
      return submission;
    } catch (error) {
      await removeAll(folder);
      throw error;
    } finally {
      this.#submitting -= 1;
      await this.#forgetOldest();
    }
  }

  async #load(job: object, inputs: string): ReturnType<typeof loadJob> {
    const backend = this.#pool.members[0]?.device.backend ?? 'cpu';
    try {
      const loaded = await loadJob(job, { backend, folder: inputs }, confined(inputs, this.#shared), mostItems);
      if (loaded.items.some((item) => 'backend' in item.job && item.job.backend === 'cpp')) {
        throw new RequestError(400, 'backend: jobs that are submitted cannot run a compiler (cpp)');
      }
      return loaded;
    } catch (error) {
      if (!(error instanceof WarploomError)) throw error;
      const issues = error.cause instanceof ZodError ? { issues: issuesOf(error.cause, jobSchema, job) } : {};
      const argument = error instanceof ArgumentError ? { argument: error.argument } : {};
      throw new RequestError(400, this.#clean(inputs, inputs)(error.message), { ...argument, ...issues });
    }
  }

  /** Texts without paths of this machine. */
  #clean(inputs: string, folder: string): (text: string) => string {
    const shared = this.#shared;
    return (text) => {
      const own = text.replaceAll(`${inputs}/`, '').replaceAll(folder, 'job').replaceAll(this.#root, '');
      return shared === undefined ? own : own.replaceAll(shared, 'shared');
    };
  }

  pause(id: string): Submission {
    const job = this.get(id);
    job.pause();
    return job;
  }

  resume(id: string): Submission {
    const job = this.get(id);
    job.resume();
    this.#runNext();
    return job;
  }

  abort(id: string): Submission {
    const job = this.get(id);
    job.abort();
    return job;
  }

  /** Forgets a job that is over, and removes its files. */
  async remove(id: string): Promise<void> {
    const job = this.get(id);
    if (!job.isOver) throw new RequestError(409, 'a job that is not over cannot be removed; abort it first');
    this.#jobs.delete(id);
    await removeAll(job.folder);
  }

  #runNext(): void {
    if (this.#running !== undefined || this.#closed) return;
    const next = [...this.#jobs.values()].find(({ state }) => state === 'queued');
    if (next === undefined) return;
    this.#running = next.run(this.#options.jobTimeout, () => this.#tooMuch(next)).then(async () => {
      if (await this.#tooMuch(next) !== undefined) await this.#empty(next);
      this.#running = undefined;
      await this.#forgetOldest();
      this.#runNext();
    });
  }

  async #forgetOldest(): Promise<void> {
    const over = [...this.#jobs.values()].filter(({ isOver }) => isOver);
    for (const job of over.slice(0, Math.max(0, over.length - this.#options.keptJobs))) await this.#forget(job);
  }

  async #forget(job: Submission): Promise<void> {
    this.#jobs.delete(job.id);
    await removeAll(job.folder).catch(() => undefined);
  }

  /** Makes room for the files of a job: the oldest jobs that are over go. An error if there is not enough for it nevertheless. */
  async #tooMuch(job: Submission): Promise<QueueFullError | undefined> {
    job.bytes = await bytesBelow(job.folder);
    const { jobBytes } = this.#options;
    const others = [...this.#jobs.values()].filter((each) => each !== job);
    let sum = job.bytes + others.reduce((total, { bytes }) => total + bytes, 0);
    for (const other of others) {
      if (sum <= jobBytes) return undefined;
      if (!other.isOver) continue;
      sum -= other.bytes;
      await this.#forget(other);
    }
    if (sum <= jobBytes) return undefined;
    return new QueueFullError(`the files of this job hold ${job.bytes} bytes and those of others that are not over ${sum - job.bytes}; `
      + `the server keeps ${jobBytes} (jobBytes)`, { requestedBytes: job.bytes, queuedBytes: sum - job.bytes, limitBytes: jobBytes });
  }

  /** Removes the results of a job that were too large to be kept. */
  async #empty(job: Submission): Promise<void> {
    await removeAll(job.results).catch(() => undefined);
    await makeFolder(job.results).catch(() => undefined);
    job.bytes = await bytesBelow(job.folder);
  }

  /** Stops what runs, ends what waits, and removes all files. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const job of this.#jobs.values()) if (!job.isOver) job.abort();
    await this.#running;
    await removeAll(this.#root);
  }
}
