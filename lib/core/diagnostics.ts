// Tracing for observers: node:diagnostics_channel, almost free while nobody listens.
import { tracingChannel } from 'node:diagnostics_channel';

/** What a `warploom:run` event carries. */
export interface RunTrace {
  readonly operation: string;
  readonly backend: string;
  readonly device: string;
  /** Seconds on the device, from the `end` of the call on. */
  deviceSeconds?: number;
}

/** What a `warploom:transfer` event carries. */
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

/** Whether anybody observes calls. */
export function observesRuns(): boolean {
  return observed(runs);
}

/** Runs one call of an operation inside its trace. */
export function traceRun<T>(trace: RunTrace, call: () => Promise<T>): Promise<T> {
  return runs.tracePromise(call, trace);
}

/** Runs one transfer, inside its trace when anybody observes transfers. */
export function traceTransfer<T>(make: () => TransferTrace, call: () => Promise<T>): Promise<T> {
  return observed(transfers) ? transfers.tracePromise(call, make()) : call();
}
