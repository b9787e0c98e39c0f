// How much work the searches of one call may do, and when they yield to the event loop.
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Elementary operations of one call's searches unless told otherwise: some 0.5 s. */
export const defaultWork = 3e7;
/** Milliseconds between two turns of the event loop. */
const kSlice = 15;

/** Elementary operations that the searches of one call may still spend together. */
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

  /** Gives the event loop a turn if the last one is long past. Throws the signal's reason once it is aborted. */
  async pause(): Promise<void> {
    this.#signal?.throwIfAborted();
    if (performance.now() - this.#since < kSlice) return;
    await nextTurn();
    this.#since = performance.now();
    this.#signal?.throwIfAborted();
  }
}
