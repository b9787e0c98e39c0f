// The workers of a server: started with the same port, asked for reports, replaced if they end, and stopped.
import cluster, { type Worker } from 'node:cluster';
import { availableParallelism } from 'node:os';
import type { OpenDeviceOptions } from '../../core/device.ts';
import { refusal, WarploomError, type ErrorCode } from '../../core/errors.ts';
import { log } from '../../core/log.ts';
import type { DevicePool } from '../../core/pool.ts';
import { clusterOf } from '../../core/thread.ts';
import type { TakenServerOptions } from '../options.ts';
import { closeUntaken } from './handoff.ts';
import type { News, Order, WorkerReport } from './messages.ts';

/** Milliseconds that a worker has for a report. */
const reportTime = 2000;
/** A worker that lived for fewer milliseconds is replaced after as many. */
const shortLife = 1000;
/** Milliseconds beyond those of a request after which a worker that does not stop is killed. */
const stopTime = 5000;

interface Member {
  readonly worker: Worker;
  readonly began: number;
  readonly url: Promise<string>;
}

/** An error that a worker has reported. */
function errorOf({ message, code }: News & { readonly kind: 'failed' }): Error {
  if (code?.startsWith('ERR_WARPLOOM_') === true) return new WarploomError(code as ErrorCode, message);
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}

/** The options of a worker. Cores are divided among the workers unless the options say how many threads a device has. */
function workerOptions(options: TakenServerOptions, pool: DevicePool): TakenServerOptions {
  const threads = Math.max(1, Math.floor(availableParallelism() / options.workers));
  const devices = options.devices
    ?? pool.members.map(({ device: { description: { backend, index } } }): OpenDeviceOptions => ({ backend, index }));
  return {
    ...options, devices: devices.map((device) => ({ threads, ...device })), workers: 1, jobs: false, studio: false, signal: undefined,
  };
}

/** @throws ArgumentError in a process that cannot have workers */
export function requirePrimary(workers: number): void {
  if (cluster.isPrimary) return;
  throw refusal('workers', '1 in a process that is a worker of node:cluster itself', String(workers));
}

/** All workers of one server. */
export class Team {
  readonly #options: TakenServerOptions;
  readonly #socket: string;
  readonly #members = new Set<Member>();
  readonly #reports = new Map<number, (report: WorkerReport) => void>();
  #lastReport = 0;
  #stopping = false;
  #started = false;
  #replaced = 0;

  constructor(options: TakenServerOptions, pool: DevicePool, socket: string) {
    this.#options = workerOptions(options, pool);
    this.#socket = socket;
  }

  /** How many workers have been started in place of others. */
  get replaced(): number {
    return this.#replaced;
  }

  /** Starts `count` workers. Where they listen, once all do. Rejects, and stops them, if one cannot. */
  async start(count: number): Promise<string> {
    try {
      const [url = ''] = await Promise.all(Array.from({ length: count }, () => this.#add().url));
      this.#started = true;
      return url;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Reports of all workers that answer in time. */
  async reports(): Promise<readonly WorkerReport[]> {
    const all = await Promise.all([...this.#members].map((member) => this.#reportOf(member)));
    return all.filter((report) => report !== undefined);
  }

  /** Stops all workers, which answer what they have. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#members].map(({ worker }) => new Promise<void>((resolve) => {
      const timer = setTimeout(() => { worker.process.kill('SIGKILL'); }, this.#options.requestTimeout + stopTime);
      worker.once('exit', () => {
        clearTimeout(timer);
        resolve();
      });
      tell(worker, { kind: 'stop' });
    })));
  }

  #add(): Member {
    const worker = forked();
    closeUntaken(worker);
    const url = new Promise<string>((resolve, reject) => {
      worker.on('message', (news: News) => {
        if (news.kind === 'ready') tell(worker, { kind: 'start', options: this.#options, socket: this.#socket });
        else if (news.kind === 'listening') resolve(news.url);
        else if (news.kind === 'failed') reject(errorOf(news));
        else this.#reports.get(news.id)?.(news.report);
      });
      worker.once('exit', (code: number, signal: string | null) => {
        reject(new WarploomError('ERR_WARPLOOM_UNAVAILABLE', `a worker of the server has ended (${signal ?? code}) before it listened`));
      });
    });
    url.catch(() => { worker.kill(); });
    const member: Member = { worker, began: performance.now(), url };
    this.#members.add(member);
    worker.once('exit', (code: number, signal: string | null) => { this.#replace(member, signal ?? code); });
    return member;
  }

  /** A worker has ended. */
  #replace(member: Member, how: string | number): void {
    this.#members.delete(member);
    if (this.#stopping || !this.#started) return;
    log(() => `a worker of the server has ended (${how}); another one takes its place`);
    const delay = performance.now() - member.began < shortLife ? shortLife : 0;
    setTimeout(() => {
      if (this.#stopping) return;
      this.#replaced += 1;
      this.#add().url.catch(() => undefined); // its end is seen again
    }, delay).unref();
  }

  #reportOf({ worker }: Member): Promise<WorkerReport | undefined> {
    const id = this.#lastReport += 1;
    return new Promise<WorkerReport | undefined>((resolve) => {
      const timer = setTimeout(() => { resolve(undefined); }, reportTime);
      this.#reports.set(id, (report) => {
        clearTimeout(timer);
        resolve(report);
      });
      tell(worker, { kind: 'report', id });
    }).finally(() => { this.#reports.delete(id); });
  }
}

function tell(worker: Worker, order: Order): void {
  if (worker.isConnected()) worker.send(order, undefined, () => undefined); // an error: it has ended, which 'exit' reports
}

/** Starts a process for workers, and leaves the program's own settings of node:cluster as they were. */
function forked(): Worker {
  const before = { ...cluster.settings };
  cluster.setupPrimary(clusterOf(new URL('./worker.js', import.meta.url)));
  try {
    return cluster.fork();
  } finally {
    if (before.exec !== undefined) cluster.setupPrimary(before);
  }
}
