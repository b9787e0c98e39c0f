// A job that was submitted: its state, who follows it, and pausing and resuming it.
import { DeviceLostError, WarploomError } from '../../core/errors.ts';
import type { LoadedJob } from '../../jobs/loaded.ts';
import type { RunEvent } from '../../jobs/events.ts';
import { runJob } from '../../jobs/runner.ts';
import { RequestError } from '../errors.ts';

/** `paused` and `failed` jobs can be resumed: finished items are not run again. */
export type SubmissionState = 'queued' | 'running' | 'paused' | 'finished' | 'failed' | 'aborted';

/** What followers receive: an event's name and its data. */
export type Follower = (event: string, data: unknown) => void;

const paused = new Error('paused');
const ended = new Error('aborted');
const late = new Error('the job ran longer than the server allows (jobTimeout)');

/** Milliseconds from one look at the size of a job's files to the next. */
const lookEvery = 500;

/** Most points of a frame along each axis. */
const framePoints = 256;

/** One submitted job. */
export class Submission {
  readonly id: string;
  readonly job: LoadedJob;
  readonly kind: string;
  /** Its folder: inputs and results. */
  readonly folder: string;
  readonly results: string;
  readonly submitted = new Date();
  /** Bytes of its files when they were last looked at. */
  bytes = 0;
  #state: SubmissionState = 'queued';
  #error: string | undefined;
  #stop: AbortController | undefined;
  #progress: unknown;
  #frame: unknown;
  #finished = 0;
  #notes: string[] = [];
  readonly #followers = new Set<Follower>();
  readonly #clean: (text: string) => string;

  constructor(id: string, job: LoadedJob, folders: { folder: string; results: string }, clean: (text: string) => string) {
    this.id = id;
    this.job = job;
    this.kind = job.items[0]?.job.kind ?? '';
    this.folder = folders.folder;
    this.results = folders.results;
    this.#clean = clean;
  }

  get state(): SubmissionState {
    return this.#state;
  }

  get isOver(): boolean {
    return this.#state === 'finished' || this.#state === 'failed' || this.#state === 'aborted';
  }

  /** The state as plain data. */
  describe(): object {
    return {
      id: this.id, name: this.job.name, kind: this.kind, state: this.#state, submitted: this.submitted.toISOString(), bytes: this.bytes,
      items: this.job.items.length, finishedItems: this.#finished, ...(this.#progress === undefined ? {} : { progress: this.#progress }),
      ...(this.#error === undefined ? {} : { error: this.#error }), ...(this.#notes.length === 0 ? {} : { notes: this.#notes }),
    };
  }

  /** Adds a follower, who receives the state and the last frame at once. Returns how it leaves. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    follower('state', this.describe());
    if (this.#frame !== undefined) follower('frame', this.#frame);
    return () => { this.#followers.delete(follower); };
  }

  /** Runs it, from where it stopped; settles when it ends or is paused. `tooMuch` says now and then whether its files are too large. */
  async run(timeout: number, tooMuch: () => Promise<Error | undefined>): Promise<void> {
    const stop = this.#stop = new AbortController();
    const timer = setTimeout(() => { stop.abort(late); }, timeout);
    let looking = false;
    const look = setInterval(() => {
      if (looking) return;
      looking = true;
      void tooMuch().then((error) => {
        if (error !== undefined) stop.abort(error);
      }, () => undefined).finally(() => { looking = false; });
    }, lookEvery);
    this.#error = undefined;
    this.#finished = 0;
    this.#become('running');
    try {
      const results = await runJob(this.job, { results: this.results, signal: stop.signal, frames: framePoints, onProgress: this.#note });
      const error = await tooMuch();
      if (error !== undefined) throw error;
      this.#become(results.some(({ failed }) => failed === true) ? 'failed' : 'finished');
    } catch (error) {
      if (stop.signal.reason === paused || stop.signal.reason === ended) {
        this.#become(stop.signal.reason === paused ? 'paused' : 'aborted');
      } else {
        const known = error instanceof WarploomError || error instanceof RequestError || error === late;
        this.#error = known ? this.#clean((error as Error).message) : 'internal error';
        if (error instanceof DeviceLostError) this.#error += '; restart the server';
        this.#become('failed');
      }
    } finally {
      clearTimeout(timer);
      clearInterval(look);
      this.#stop = undefined;
    }
  }

  /** Stops it so that it can be resumed. */
  pause(): void {
    if (this.#state === 'queued') this.#become('paused');
    else if (this.#state === 'running') this.#stop?.abort(paused);
    else throw this.#wrong('paused', 'queued or running');
  }

  /** Prepares it to be run again. */
  resume(): void {
    if (this.#state !== 'paused' && this.#state !== 'failed') throw this.#wrong('resumed', 'paused or failed');
    this.#become('queued');
  }

  /** Ends it for good. Results of finished items stay. */
  abort(): void {
    if (this.#state === 'running') this.#stop?.abort(ended);
    else if (this.#state === 'queued' || this.#state === 'paused') this.#become('aborted');
    else throw this.#wrong('aborted', 'queued, running or paused');
  }

  #wrong(what: string, states: string): RequestError {
    return new RequestError(409, `a job that is ${this.#state} cannot be ${what}; it would have to be ${states}`);
  }

  #become(state: SubmissionState): void {
    this.#state = state;
    this.#tell('state', this.describe());
  }

  #tell(event: string, data: unknown): void {
    for (const follower of [...this.#followers]) follower(event, data);
  }

  readonly #note = (event: RunEvent): void => {
    switch (event.event) {
      case 'progress': {
        const { item, done, total, figures } = event;
        this.#progress = { item, done, total, ...(figures === undefined ? {} : { figures }) };
        this.#tell('progress', this.#progress);
        break;
      }
      case 'frame':
        this.#frame = { item: event.item, ...event.frame };
        this.#tell('frame', this.#frame);
        break;
      case 'warning':
        if (this.#notes.length < 100) this.#notes.push(this.#clean(event.note));
        this.#tell('warning', { item: event.item, note: this.#clean(event.note) });
        break;
      default:
        if (event.event === 'finished' || event.event === 'skipped') this.#finished += 1;
        this.#tell('item', { item: event.item, event: event.event, finishedItems: this.#finished });
    }
  };
}
