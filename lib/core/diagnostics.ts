// Tracing with node:diagnostics_channel; almost free if there are no subscribers.
import { channel, tracingChannel } from 'node:diagnostics_channel';

/** The message of a `warploom:run` event. */
export interface RunTrace {
  readonly operation: string;
  readonly backend: string;
  readonly device: string;
  /** Seconds on the device; set once the call has ended. */
  deviceSeconds?: number;
}

/** The message of a `warploom:transfer` event. */
export interface TransferTrace {
  readonly direction: 'upload' | 'download' | 'copy';
  readonly bytes: number;
  readonly backend: string;
}

/** The message of a `warploom:queue` event: what happened to a call that waits in a batcher. */
export interface QueueTrace {
  /** `queued`, then `started`, `aborted` (by its signal) or `expired` (its deadline passed); or only `refused` (the queue is full). */
  readonly event: 'queued' | 'started' | 'aborted' | 'expired' | 'refused';
  /** The function that was called, such as `tridiagonal.solve`, or `run`. */
  readonly operation: string;
  readonly backend: string;
  readonly device: string;
  /** Calls that wait after the event. */
  readonly queueLength: number;
  /** Bytes of their inputs. */
  readonly queueBytes: number;
  /** How long the call has waited. */
  readonly waitSeconds: number;
}

/** The message of a `warploom:batch` event: one launch of a batcher. */
export interface BatchTrace {
  /** The function that was called, such as `tridiagonal.solve`, or `run`. */
  readonly operation: string;
  readonly backend: string;
  readonly device: string;
  /** Calls that share the launch. */
  readonly calls: number;
  /** Their systems or rows. */
  readonly items: number;
  /** Bytes of their inputs. */
  readonly bytes: number;
  /** How long the first of them waited. */
  readonly waitSeconds: number;
  /** Calls that went on waiting. */
  readonly queueLength: number;
  /** Seconds from the start of the launch to its results; set once it has ended. */
  seconds?: number;
}

const runs = tracingChannel<unknown, RunTrace>('warploom:run');
const transfers = tracingChannel<unknown, TransferTrace>('warploom:transfer');
const batches = tracingChannel<unknown, BatchTrace>('warploom:batch');
const queues = channel('warploom:queue');

interface Channels {
  readonly start: { readonly hasSubscribers: boolean };
  readonly asyncEnd: { readonly hasSubscribers: boolean };
  readonly error: { readonly hasSubscribers: boolean };
}

function observed(channels: Channels): boolean {
  return channels.start.hasSubscribers || channels.asyncEnd.hasSubscribers || channels.error.hasSubscribers;
}

/** Whether there are subscribers for calls. */
export function observesRuns(): boolean {
  return observed(runs);
}

/** Runs one call of an operation inside its trace. */
export function traceRun<T>(trace: RunTrace, call: () => Promise<T>): Promise<T> {
  return runs.tracePromise(call, trace);
}

/** Runs one transfer, traced if there are subscribers for transfers. */
export function traceTransfer<T>(make: () => TransferTrace, call: () => Promise<T>): Promise<T> {
  return observed(transfers) ? transfers.tracePromise(call, make()) : call();
}

/** Runs one launch of a batcher, traced if there are subscribers for launches. */
export function traceBatch(make: () => BatchTrace, launch: () => Promise<void>): Promise<void> {
  if (!observed(batches)) return launch();
  const trace = make();
  const began = performance.now();
  return batches.tracePromise(async () => {
    await launch();
    trace.seconds = (performance.now() - began) / 1000;
  }, trace);
}

/** Publishes what happened to a waiting call, if there are subscribers. */
export function publishQueue(make: () => QueueTrace): void {
  if (queues.hasSubscribers) queues.publish(make());
}
