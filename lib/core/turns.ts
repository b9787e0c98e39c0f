// Calls on one object that run one after another, in the order in which they were made.

/** Runs work in turns. */
export class Turns {
  #pending = 0;
  #tail: Promise<unknown> = Promise.resolve();
  readonly #after: () => void;

  /** `after` is called behind each piece of work, also one that was stopped while it waited. */
  constructor(after: () => void) {
    this.#after = after;
  }

  /** Whether nothing runs or waits. */
  get isIdle(): boolean {
    return this.#pending === 0;
  }

  /** Resolves when all work so far has ended. */
  get ended(): Promise<unknown> {
    return this.#tail;
  }

  /** Runs `work` behind the work before it, at once where there is none; an abort while it waits rejects at once. */
  take<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    if (signal?.aborted === true) return Promise.reject(signal.reason);
    let begun = false;
    const begin = async (): Promise<T> => {
      begun = true;
      try {
        signal?.throwIfAborted();
        return await work();
      } finally {
        this.#pending -= 1;
        this.#after();
      }
    };
    this.#pending += 1;
    const run = this.#pending === 1 ? begin() : this.#tail.then(begin);
    this.#tail = run.catch(() => undefined);
    if (signal === undefined) return run;
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        if (!begun) reject(signal.reason);
      };
      signal.addEventListener('abort', abort, { once: true });
      run.then(resolve, reject).finally(() => { signal.removeEventListener('abort', abort); });
    });
  }
}
