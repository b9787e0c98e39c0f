// Progress and cancellation, as supported by every long call.
import { describeValue } from './arrays.ts';
import { abortSignal, callback } from './checks.ts';
import { refusal } from './errors.ts';

/**
 * Called with the work done and the total, in the operation's own units, in order and before the
 * call settles. A busy event loop gets fewer reports, but never late ones.
 */
export type ProgressCallback = (done: number, total: number) => void;

/** Options of every asynchronous call. */
export interface CallOptions {
  /** Cancels the call; it then rejects with `signal.reason`. */
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressCallback;
}

/** What a signal that has come makes a call throw. */
export function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

let lastId = 0;

/** Rejects options of a call that are not an object. */
export function requireOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null) throw refusal('options', 'an object', describeValue(options));
}

/**
 * Runs a native call that can be cancelled by number. Aborting cancels it, and so does a progress
 * callback that throws; the promise then rejects with the signal's reason or the callback's error, and
 * plain typed arrays are not written, even if the device had finished before it noticed.
 */
export function cancellable<T>(
  { signal, onProgress }: CallOptions,
  cancel: (id: number) => void,
  start: (id: number, onProgress: ProgressCallback | undefined) => Promise<T>,
): Promise<T> {
  if (signal === undefined && onProgress === undefined) return start(0, undefined);
  if (signal !== undefined) abortSignal(signal, 'signal');
  if (onProgress !== undefined) callback(onProgress, 'onProgress');
  if (signal?.aborted === true) return Promise.reject(signal.reason);
  const id = (lastId += 1);
  let ended: { reason: unknown } | undefined;
  const end = (reason: unknown): void => {
    ended ??= { reason };
    cancel(id);
  };
  const abort = (): void => end(signal?.reason);
  const report = onProgress === undefined ? undefined : (done: number, total: number): void => {
    if (ended !== undefined) return;
    try {
      onProgress(done, total);
    } catch (error) {
      end(error);
    }
  };
  signal?.addEventListener('abort', abort, { once: true });
  return start(id, report).then(
    (value) => {
      signal?.removeEventListener('abort', abort);
      return value;
    },
    (error: unknown) => {
      signal?.removeEventListener('abort', abort);
      const cancelled = (error as { code?: unknown }).code === 'ERR_WARPLOOM_CANCELLED';
      throw cancelled && ended !== undefined ? ended.reason : error;
    },
  );
}
