// Options of jobs.submit and jobs.work.
import type { ItemResult, RunEvent } from '../events.ts';

/** Where a queue is. */
export interface QueueOptions {
  /**
   * Address of a Redis (at least 6.2) or Valkey server: `redis://HOST[:PORT][/DATABASE]`, `rediss://…` for TLS, or `unix:///PATH`; name and
   * password go before a host, as in `redis://:PASSWORD@HOST`, and are never printed. Needs the optional packages `bullmq` and `ioredis`.
   */
  readonly queue: string;
  /** Which queue of the server; default 'items'. */
  readonly queueName?: string;
}

/** Options of `jobs.submit`, besides those of `jobs.load` for jobs that have not been loaded yet. */
export interface SubmitOptions extends Partial<QueueOptions> {
  /**
   * The folder here that is the folder of the workers there; the job and its inputs lie in it. Default: the folder that the job's paths are
   * relative to.
   */
  readonly root?: string;
  /** Whether to wait until all items have ended; default true. Otherwise the results of those that have ended already are returned. */
  readonly wait?: boolean;
  /** Whether the files of the results come back through the queue, into `results`; default false: workers write to a shared folder. */
  readonly fetch?: boolean;
  /**
   * Folder in which each job gets a folder, with `fetch` or without a queue; default 'warploom-results'. Otherwise, the workers' folder for
   * results in `root`, for the summary of the sweep, if it is seen here.
   */
  readonly results?: string;
  /** Run finished items again. */
  readonly again?: boolean;
  /** Whether results folders may be symbolic links; default false: they are refused. */
  readonly followLinks?: boolean;
  /** Without a queue: how many items run at the same time, as in `jobs.run`. */
  readonly parallel?: number;
  /** Ends the waiting. Items stay in the queue; submitting the job again waits for them again. */
  readonly signal?: AbortSignal;
  /** Called for the items' starts, progress and ends. */
  readonly onProgress?: (event: RunEvent) => void;
  /**
   * Whether `onProgress` also receives the states of simulations while they run, as with `jobs.run`: the most points of a frame along each
   * axis, from 2. Default: no frames. Through a queue, at most two each second of an item come, and none of more than 1 MiB as JSON.
   */
  readonly frames?: number;
}

/** Options of `jobs.work`. */
export interface WorkOptions extends QueueOptions {
  /** The only folder that items may read from and write to; paths in jobs are relative to folders in it. Default: the working folder. */
  readonly folder?: string;
  /** Folder for results, in `folder`; default 'warploom-results'. */
  readonly results?: string;
  /** How many items run at the same time, each in a process of its own, from 1 to 256; default 1. */
  readonly parallel?: number;
  /** Whether items may name files with code (equation files), which is run; default false. */
  readonly allowCode?: boolean;
  /** Whether to end when the queue is empty and no other worker has an item; default false. */
  readonly untilEmpty?: boolean;
  /** Seconds after which an item whose worker gives no sign of life goes to another worker, from 1 to 3600; default 30. */
  readonly leaseSeconds?: number;
  /** Ends the work: items that run write a checkpoint and go back to the queue. */
  readonly signal?: AbortSignal;
  /** Called for the items' starts, progress and ends. */
  readonly onProgress?: (event: RunEvent) => void;
}

/** What a worker did. */
export interface Worked {
  readonly finished: number;
  readonly failed: number;
}

/** What became of an item. */
export type Ended = { readonly result: ItemResult } | { readonly error: Error };
