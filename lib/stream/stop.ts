// How runs are ended from outside: by a signal, or when their time is over.
import { WarploomError } from '../core/errors.ts';
import { required } from '../core/known.ts';
import { reasonOf } from '../core/progress.ts';

/** What ends a run before its time. */
export interface StopOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds. */
  readonly timeout?: number | undefined;
}

/** Longest time that can be given: what a timer of Node takes. */
export const longestTime = 2 ** 31 - 1;

/** The error of a run, or what else it is, whose time is over. */
export function timeOver(milliseconds: number, what = 'run'): WarploomError {
  return new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `the ${what} took more than ${milliseconds} ms`);
}

/**
 * Does `work` with a signal that comes with the given one or when the time is over, counted from `begin` (`performance.now()`); its reason
 * is what the run throws.
 */
export async function within<T>(
  { signal, timeout = 600_000 }: StopOptions, work: (stop: AbortSignal) => Promise<T>, begin = performance.now(), what = 'run',
): Promise<T> {
  signal?.throwIfAborted();
  const stop = new AbortController();
  const timer = setTimeout(() => { stop.abort(timeOver(timeout, what)); }, Math.max(0, begin + timeout - performance.now()));
  const forward = (): void => { stop.abort(reasonOf(required(signal))); };
  signal?.addEventListener('abort', forward, { once: true });
  try {
    return await work(stop.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', forward);
  }
}

/** What a promise gives, unless a signal comes before. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  let stop = (): void => undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => { reject(reasonOf(signal)); };
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([promise, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Work that several callers wait for. It is stopped when all of them have gone. */
export class JointWork<T> {
  readonly #stop = new AbortController();
  readonly #made: Promise<T>;
  #waiting = 0;
  #isOver = false;

  constructor(work: (stop: AbortSignal) => Promise<T>) {
    this.#made = work(this.#stop.signal).finally(() => { this.#isOver = true; });
    this.#made.catch(() => undefined);
  }

  /** Whether it was stopped: nobody can wait for it any more. */
  get isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Its result, unless the signal comes before. */
  async wait(signal: AbortSignal | undefined): Promise<T> {
    ++this.#waiting;
    try {
      return await orAborted(this.#made, signal);
    } finally {
      if (--this.#waiting === 0 && !this.#isOver) this.#stop.abort();
    }
  }
}
