// jobs.submit: puts the items of a job into a queue and waits for their ends.
import { join } from 'node:path';
import type { Job, Queue, QueueEvents } from 'bullmq';
import type { Redis } from 'ioredis';
import { hasFields } from '../../core/checks.ts';
import { required } from '../../core/known.ts';
import { makeFolder } from '../../core/files.ts';
import type { ItemResult, RunEvent } from '../events.ts';
import type { Frame } from '../frame.ts';
import type { LoadedJob } from '../loaded.ts';
import { finishedResult } from '../run-item.ts';
import { writeSummary } from '../summary.ts';
import { Tally } from '../tally.ts';
import { parseAddress } from './address.ts';
import { connect, framesOf, prefix, type Opened } from './connect.ts';
import type { Ended, SubmitOptions } from './options.ts';
import { receive } from './parcel.ts';
import { errorOfReason } from './reason.ts';
import { idOf, queuedItem, type QueuedItem } from './task.ts';

/** Items that are added with one command. */
const atOnce = 500;
/** Milliseconds between two looks at the items themselves: the server forgets events when there are very many. */
const lookEvery = 5000;
/** How long the server keeps items that have ended, in seconds. */
const kept = { age: 7 * 24 * 3600 };
/** Attempts of an item that fails for a reason that may pass, and milliseconds between them. */
const attempts = 3, pause = 1000;

type Item = Job<QueuedItem, ItemResult>;

/** Whether a value is figures of an item's progress. */
function isFigures(value: unknown): value is Readonly<Record<string, number>> {
  return hasFields(value) && Object.values(value).every((figure) => typeof figure === 'number');
}

/** The items of one job in a queue. */
class Submission {
  readonly #opened: Opened;
  readonly #options: SubmitOptions;
  readonly #queue: Queue<QueuedItem, ItemResult>;
  readonly #loaded: LoadedJob;
  readonly #tally: Tally;
  readonly #ends: (Ended | undefined)[];
  /** Items that have not ended, by their names in the queue. */
  readonly #open = new Map<string, { readonly index: number; readonly data: QueuedItem }>();
  readonly #running = new Set<string>();
  #settle: () => void = () => undefined;

  constructor(opened: Opened, loaded: LoadedJob, options: SubmitOptions) {
    this.#opened = opened;
    this.#loaded = loaded;
    this.#options = options;
    this.#queue = new opened.bull.Queue(options.queueName ?? 'items', { connection: opened.redis, prefix });
    this.#tally = new Tally(loaded.items.length);
    this.#ends = loaded.items.map(() => undefined);
  }

  async run(): Promise<ItemResult[]> {
    const { wait = true, signal } = this.#options;
    const events = wait ? await this.#listen() : undefined;
    const frames = wait && this.#options.frames !== undefined ? await this.#watch() : undefined;
    try {
      await this.#add();
      if (wait) await this.#untilAllEnded(signal);
    } finally {
      frames?.disconnect();
      await events?.close();
      await this.#queue.close();
    }
    if (wait) await this.#summarise();
    const failed = this.#ends.find((end) => end !== undefined && 'error' in end);
    if (failed !== undefined && 'error' in failed) throw failed.error;
    return this.#ends.flatMap((end) => (end !== undefined && 'result' in end ? [end.result] : []));
  }

  #folder(item: string): string {
    return join(this.#options.results ?? 'warploom-results', this.#loaded.name, item);
  }

  /** Writes the summary where the results are, as far as that folder is seen here. */
  async #summarise(): Promise<void> {
    const { fetch = false, results = 'warploom-results', root = this.#loaded.folder, followLinks, signal } = this.#options;
    await writeSummary(this.#loaded, fetch ? results : join(root, results), { followLinks, signal });
  }

  #tell(event: RunEvent): void {
    this.#options.onProgress?.(event);
  }

  async #listen(): Promise<QueueEvents> {
    const { bull, redis } = this.#opened;
    const events = new bull.QueueEvents(this.#queue.name, { connection: redis, prefix });
    events.on('error', () => undefined); // of connections, which are tried again
    events.on('active', ({ jobId }) => { this.#starts(jobId); });
    events.on('progress', ({ jobId, data }) => {
      const item = this.#open.get(jobId)?.data.item;
      const { done, total, figures } = data as { done?: unknown; total?: unknown; figures?: unknown };
      if (item === undefined || typeof done !== 'number' || typeof total !== 'number') return;
      this.#tell({ event: 'progress', job: this.#loaded.name, item, done, total, ...(isFigures(figures) ? { figures } : {}) });
    });
    const look = ({ jobId }: { readonly jobId: string }): void => { void this.#look(jobId).catch(() => undefined); };
    events.on('completed', look);
    events.on('failed', look);
    await events.waitUntilReady();
    return events;
  }

  /** A connection on which frames come; each needs one of its own. */
  async #watch(): Promise<Redis> {
    const own = this.#opened.redis.duplicate();
    own.on('error', () => undefined); // of connections, which are tried again
    own.on('message', (_channel, text) => {
      const { id, frame } = JSON.parse(text) as { id: string; frame: Frame };
      const item = this.#open.get(id)?.data.item;
      if (item !== undefined && hasFields(frame)) this.#tell({ event: 'frame', job: this.#loaded.name, item, frame });
    });
    await own.subscribe(framesOf(this.#queue.name));
    return own;
  }

  #starts(id: string): void {
    const open = this.#open.get(id);
    if (open === undefined || this.#running.has(id)) return;
    this.#running.add(id);
    this.#tell({ event: 'started', job: this.#loaded.name, item: open.data.item, sweep: this.#tally.starts() });
  }

  /** Adds what is not in the queue yet; items that have failed get another chance. */
  async #add(): Promise<void> {
    const { fetch = false, again = false, root = this.#loaded.folder, frames } = this.#options;
    const fresh: { name: string; data: QueuedItem; opts: object }[] = [];
    for (const [index, item] of this.#loaded.items.entries()) {
      const before = fetch && !again ? await finishedResult(this.#folder(item.name), item) : undefined;
      if (before !== undefined) {
        this.#ends[index] = { result: before };
        this.#tell({ event: 'skipped', job: this.#loaded.name, item: item.name, result: before, sweep: this.#tally.ends('skipped') });
        continue;
      }
      const data = await queuedItem(this.#loaded, item, { root, fetch, again, frames });
      const id = idOf(data);
      this.#open.set(id, { index, data });
      if (again) await this.#queue.remove(id); // leaves one that runs
      fresh.push({ name: data.job, data, opts: {
        jobId: id, attempts, backoff: { type: 'fixed', delay: pause }, removeOnComplete: kept, removeOnFail: kept,
      } });
    }
    for (let at = 0; at < fresh.length; at += atOnce) await this.#queue.addBulk(fresh.slice(at, at + atOnce));
    for (const id of [...this.#open.keys()]) await this.#look(id, true);
  }

  /** Takes note of an item's end; `first`: an end of an earlier submission. */
  async #look(id: string, first = false): Promise<void> {
    const open = this.#open.get(id);
    if (open === undefined) return;
    const job = await this.#queue.getJob(id);
    const state = await job?.getState();
    if (job === undefined || state === undefined) return;
    if (state === 'active') this.#starts(id);
    if (state === 'failed' && first) await job.retry('failed');
    if (state === 'completed') await this.#completes(id, open, job, first);
    if (state === 'failed' && !first) this.#fails(id, open, job);
    if (this.#open.size === 0) this.#settle();
  }

  async #completes(id: string, { index, data }: { index: number; data: QueuedItem }, job: Item, first: boolean): Promise<void> {
    const { fetch = false, followLinks = false } = this.#options;
    const folder = this.#folder(data.item);
    if (fetch) {
      await makeFolder(folder);
      const has = await receive(this.#opened.redis, id, folder, followLinks) || await finishedResult(folder, data) !== undefined;
      if (!has && first) { // fetched before, and deleted here since
        await job.remove();
        await this.#queue.add(data.job, data, { ...job.opts, jobId: id });
        return;
      }
    }
    if (!this.#open.delete(id)) return;
    const wasRunning = this.#running.delete(id);
    const result = job.returnvalue;
    this.#ends[index] = { result };
    const sweep = this.#tally.ends(wasRunning ? 'finished' : 'skipped');
    this.#tell({ event: wasRunning || !first ? 'finished' : 'skipped', job: this.#loaded.name, item: data.item, result, sweep });
  }

  #fails(id: string, { index, data }: { index: number; data: QueuedItem }, job: Item): void {
    if (!this.#open.delete(id)) return;
    if (!this.#running.delete(id)) this.#tally.starts();
    const error = errorOfReason(job.failedReason, data.item);
    this.#ends[index] = { error };
    const { code, message } = error;
    this.#tell({ event: 'failed', job: this.#loaded.name, item: data.item, error: { code, message }, sweep: this.#tally.ends('failed') });
  }

  async #untilAllEnded(signal: AbortSignal | undefined): Promise<void> {
    if (this.#open.size === 0) return;
    const all = new Promise<void>((resolve) => { this.#settle = resolve; });
    const timer = setInterval(() => {
      for (const id of this.#open.keys()) void this.#look(id).catch(() => undefined);
    }, lookEvery);
    const stopped = new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => { reject(signal.reason as Error); }, { once: true });
    });
    try {
      signal?.throwIfAborted();
      await Promise.race([all, stopped]);
    } finally {
      clearInterval(timer);
    }
  }
}

/** {@link jobs.submit} to a server, with checked options. */
export async function submitTo(loaded: LoadedJob, options: SubmitOptions): Promise<ItemResult[]> {
  const address = parseAddress(required(options.queue));
  const opened = await connect(address);
  try {
    return await new Submission(opened, loaded, options).run();
  } finally {
    opened.redis.disconnect();
  }
}
