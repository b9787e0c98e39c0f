// Limits the work of the searches of one call, and decides when they yield to the event loop.
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The default work budget of one call in elementary operations: about 0.5 s. */
export const defaultWork = 3e7;
/** Milliseconds between two yields to the event loop. */
const kSlice = 15;

/** The remaining work budget in elementary operations, shared by all searches of one call. */
export class Work {
  left: number;
  readonly #signal: AbortSignal | undefined;
  #since = performance.now();

  constructor(budget = defaultWork, signal?: AbortSignal) {
    this.left = budget;
    this.#signal = signal;
  }

  spend(operations: number): void {
    this.left -= operations;
  }

  get exhausted(): boolean {
    return this.left <= 0;
  }

  /** Yields to the event loop if the last time was long ago. Throws the signal's reason once it is aborted. */
  async pause(): Promise<void> {
    this.#signal?.throwIfAborted();
    if (performance.now() - this.#since < kSlice) return;
    await nextTurn();
    this.#since = performance.now();
    this.#signal?.throwIfAborted();
  }
}
