// How runs are ended from outside: by a signal, or when their time is over.
import { WarploomError } from '../core/errors.ts';

/** What ends a run before its time. */
export interface StopOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds. */
  readonly timeout?: number | undefined;
}

/** The error of a run whose time is over. */
export function timeOver(milliseconds: number): WarploomError {
  return new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `the run took more than ${milliseconds} ms`);
}

/** What a signal that has come makes a call throw. */
export function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

/**
 * Does `work` with a signal that comes with the given one or when the time is over, counted from `begin` (`performance.now()`); its reason
 * is what the run throws.
 */
export async function within<T>(
  { signal, timeout = 600_000 }: StopOptions, work: (stop: AbortSignal) => Promise<T>, begin = performance.now(),
): Promise<T> {
  signal?.throwIfAborted();
  const stop = new AbortController();
  const timer = setTimeout(() => { stop.abort(timeOver(timeout)); }, Math.max(0, begin + timeout - performance.now()));
  const forward = (): void => { stop.abort(reasonOf(signal!)); };
  signal?.addEventListener('abort', forward, { once: true });
  try {
    return await work(stop.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', forward);
  }
}
