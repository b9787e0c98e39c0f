// jobs.work: runs items of a queue until it is stopped.
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Job, Queue } from 'bullmq';
import { hasFields } from '../../core/checks.ts';
import { refusal } from '../../core/errors.ts';
import { makeFolder, realPath } from '../../core/files.ts';
import type { ItemEvent, ItemResult, RunEvent, SweepProgress } from '../events.ts';
import { ItemPool } from '../pool/pool.ts';
import type { ItemTask } from '../run-item.ts';
import { parseAddress } from './address.ts';
import { connect, framesOf, prefix, type Opened } from './connect.ts';
import type { WorkOptions, Worked } from './options.ts';
import { send } from './parcel.ts';
import { isLocked, mayPass, reasonText } from './reason.ts';
import { checkQueued, idOf, type QueuedItem } from './task.ts';

/** How often a worker may die with an item before the item is given up. */
const mostDeaths = 100;
/** Milliseconds between two reports of an item's progress, and between two of its frames. */
const reportEvery = 500;
/** Characters of a frame. */
const mostFrame = 2 ** 20;
/** Milliseconds between two looks at a queue that may be empty. */
const lookEvery = 1000;

/** The name of the item that an entry of the queue claims to be. */
const nameIn = (data: unknown): string | undefined =>
  (hasFields(data) && typeof data['item'] === 'string' ? data['item'].slice(0, 200) : undefined);

type Entry = Job<unknown, ItemResult>;

/** A worker of one process. */
class QueueWorker {
  readonly #opened: Opened;
  readonly #options: WorkOptions;
  readonly #root: string;
  readonly #stop = new AbortController();
  readonly #pool = new ItemPool();
  #finished = 0;
  #failed = 0;
  #running = 0;

  constructor(opened: Opened, options: WorkOptions, root: string) {
    this.#opened = opened;
    this.#options = options;
    this.#root = root;
  }

  async work(): Promise<Worked> {
    const { queueName = 'items', parallel = 1, leaseSeconds = 30, signal } = this.#options;
    const { bull, redis } = this.#opened;
    const lease = leaseSeconds * 1000;
    const worker = new bull.Worker<unknown, ItemResult>(queueName, (job, token) => this.#item(job, token), {
      connection: redis, prefix, concurrency: parallel, lockDuration: lease, stalledInterval: Math.max(500, lease / 2),
      maxStalledCount: mostDeaths, drainDelay: 1,
    });
    worker.on('error', () => undefined); // of connections, which are tried again, and of items that another worker has taken over
    const queue = new bull.Queue(queueName, { connection: redis, prefix });
    try {
      await this.#untilEnd(queue, signal);
    } finally {
      void worker.pause(true);
      this.#stop.abort(new Error('the worker was stopped'));
      await worker.close();
      await queue.close();
      await this.#pool.close();
    }
    return { finished: this.#finished, failed: this.#failed };
  }

  async #untilEnd(queue: Queue, signal: AbortSignal | undefined): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      if (signal?.aborted === true) resolve();
      signal?.addEventListener('abort', () => { resolve(); }, { once: true });
    });
    if (this.#options.untilEmpty !== true) return ended;
    const look = async (): Promise<void> => {
      for (let empty = 0; empty < 2 && signal?.aborted !== true;) {
        const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'prioritized');
        empty = Object.values(counts).some((count) => count > 0) ? 0 : empty + 1;
        await sleep(lookEvery);
      }
    };
    await Promise.race([ended, look()]);
  }

  #tell(event: RunEvent): void {
    this.#options.onProgress?.(event);
  }

  #sweep(running: number): SweepProgress {
    this.#running += running;
    const [finished, failed] = [this.#finished, this.#failed];
    return { finished, failed, running: this.#running, total: finished + failed + this.#running };
  }

  /** Checks an item of the queue, and makes its folder. */
  async #prepare(job: Entry): Promise<{ readonly queued: QueuedItem; readonly task: ItemTask }> {
    const { results = 'warploom-results', allowCode = false } = this.#options;
    const { queued, item, inputs } = await checkQueued(job.data, { root: this.#root, allowCode });
    const folder = join(this.#root, results, queued.job, item.name);
    await makeFolder(folder);
    if (await realPath(folder) !== folder) throw refusal('results', 'folders that are not symbolic links', relative(this.#root, folder));
    const task: ItemTask = {
      job: queued.job, device: { backend: 'auto', ...item.job.device }, item, inputs, folder,
      again: queued.again && job.attemptsStarted <= 1, // another attempt goes on
      followLinks: false, frames: queued.frames, replacesForeign: true,
    };
    return { queued, task };
  }

  /** Runs an item of the queue. */
  async #item(job: Entry, token: string | undefined): Promise<ItemResult> {
    const names = { job: job.name, item: nameIn(job.data) ?? job.id ?? '' };
    let running = 0;
    try {
      const { queued, task } = await this.#prepare(job);
      running = 1;
      this.#tell({ event: 'started', ...names, sweep: this.#sweep(1) });
      const result = await this.#pool.run(task, { signal: this.#stop.signal, onEvent: this.#reporter(job) });
      if (queued.fetch) await send(this.#opened.redis, idOf(queued), task.folder);
      this.#finished += 1;
      this.#tell({ event: 'finished', ...names, result, sweep: this.#sweep(-1) });
      return result;
    } catch (error) {
      throw await this.#unfinished(error, job, token, { ...names, running });
    }
  }

  /** Tells of an item's events, and the queue of its progress and frames, now and then. */
  #reporter(job: Entry): (event: ItemEvent) => void {
    const last = { progress: Date.now(), frame: 0 };
    const isDue = (kind: keyof typeof last): boolean => {
      const now = Date.now();
      if (now - last[kind] < reportEvery) return false;
      last[kind] = now;
      return true;
    };
    return (event) => {
      this.#tell(event);
      if (event.event === 'progress' && isDue('progress')) {
        const { done, total, figures } = event;
        job.updateProgress({ done, total, ...(figures === undefined ? {} : { figures }) }).catch(() => undefined);
      } else if (event.event === 'frame' && isDue('frame')) {
        const text = JSON.stringify({ id: job.id, frame: event.frame });
        const channel = framesOf(this.#options.queueName ?? 'items');
        if (text.length <= mostFrame) this.#opened.redis.publish(channel, text).catch(() => undefined);
      }
    };
  }

  /** What becomes of an item that did not finish: the error by which the queue knows. */
  async #unfinished(
    error: unknown, job: Entry, token: string | undefined, { running, ...names }: { job: string; item: string; running: number },
  ): Promise<Error> {
    const { bull } = this.#opened;
    if (this.#stop.signal.aborted) {
      await job.moveToWait(token);
      return new bull.WaitingError();
    }
    if (isLocked(error)) { // by the process of a worker that was killed, until its next checkpoint
      this.#sweep(-running);
      await job.moveToDelayed(Date.now() + 1000, token);
      return new bull.DelayedError();
    }
    const again = mayPass(error) && job.attemptsMade + 1 < (job.opts.attempts ?? 1);
    if (!again) this.#failed += 1;
    const { message } = error as Error;
    const sweep = this.#sweep(-running);
    if (again) this.#tell({ event: 'warning', ...names, note: `tried again: ${message}` });
    else this.#tell({ event: 'failed', ...names, error: { message }, sweep });
    return mayPass(error) ? new Error(reasonText(error)) : new bull.UnrecoverableError(reasonText(error));
  }
}

/** {@link jobs.work}, with checked options. */
export async function workOn(options: WorkOptions): Promise<Worked> {
  const { folder = '.', results = 'warploom-results' } = options;
  const address = parseAddress(options.queue);
  const root = await realPath(folder);
  const way = relative(root, join(root, results));
  if (way.startsWith('..')) throw refusal('results', 'a folder in that of the worker', results);
  const opened = await connect(address);
  try {
    return await new QueueWorker(opened, options, root).work();
  } finally {
    opened.redis.disconnect();
  }
}
