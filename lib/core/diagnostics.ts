// Tracing with node:diagnostics_channel; almost free if there are no subscribers.
import { tracingChannel } from 'node:diagnostics_channel';

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

const runs = tracingChannel<unknown, RunTrace>('warploom:run');
const transfers = tracingChannel<unknown, TransferTrace>('warploom:transfer');

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
