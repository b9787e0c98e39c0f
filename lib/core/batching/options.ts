// Options of batchers and of the calls that they make.
import { abortSignal, number, whole } from '../checks.ts';
import type { Departure } from './departure.ts';
import { normally, optionsOf, type ChecksOf } from '../options.ts';

/** Options of `device.batcher`. */
export interface BatcherOptions {
  /** Most calls in one launch, which takes no more than 4 MiB of inputs in any case. Default 256. */
  readonly maxBatch?: number;
  /**
   * Milliseconds for which a call waits for others to join it; default 0: it starts as soon as the calls at hand have been taken and the
   * device has finished what it was given. Calls that arrive in the meantime share the next launch in any case.
   */
  readonly maxDelay?: number;
  /** Most calls that wait; further ones reject with `ERR_WARPLOOM_QUEUE_FULL`. Default 4096. */
  readonly queueLimit?: number;
  /** Most bytes of the inputs of waiting calls; default 256 MiB. A call on an empty queue may exceed it. */
  readonly queueBytes?: number;
}

/** Options of calls that a batcher makes. */
export interface QueuedCallOptions {
  /** Calls of higher priority start first; default 0. */
  readonly priority?: number;
  /**
   * Milliseconds from the call within which it must have its result, or it rejects with `ERR_WARPLOOM_DEADLINE`. Default: none.
   */
  readonly deadline?: number;
}

/** @internal Options of calls that the library makes for others. */
export interface SubmitOptions extends QueuedCallOptions {
  /** Cancels the call, as a signal does. */
  readonly departure?: Departure;
}

/** Options of `batcher.run`. */
export interface QueuedRunOptions extends QueuedCallOptions {
  /** Cancels the call, which then rejects with `signal.reason`. */
  readonly signal?: AbortSignal;
}

/** The longest time of a timer. */
const longest = 2 ** 31 - 1;

const batcherChecks = {
  maxBatch: normally(whole(1, 2 ** 20), 256), maxDelay: normally(number({ least: 0, most: longest }), 0),
  queueLimit: normally(whole(1, 2 ** 24), 4096), queueBytes: normally(whole(1), 2 ** 28),
} satisfies ChecksOf<BatcherOptions>;
const callChecks = {
  priority: normally(number(), 0), deadline: number({ above: 0, most: longest }),
} satisfies ChecksOf<QueuedCallOptions>;

export const batcherOptions = optionsOf('device.batcher', batcherChecks);
export const wrapOptions = optionsOf('batcher.wrap', callChecks);
export const runOptions = optionsOf('batcher.run', { ...callChecks, signal: abortSignal } satisfies ChecksOf<QueuedRunOptions>);
export { batcherChecks };
