// A sleeping event loop takes as long to wake up as a short call takes on a GPU, so it is kept running while such calls are in flight.
import { performance } from 'node:perf_hooks';

/**
 * Milliseconds. The event loop sleeps during calls that usually take longer than `shortCalls`; it never stays awake for longer than
 * `longest`.
 */
const shortCalls = 0.5, longest = 1;

/**
 * Keeps the event loop awake for the calls of one device. From the first call in flight to the end of the last, the event loop runs
 * without going to sleep, provided that such periods have been short lately; other work continues in the meantime.
 */
export class Attention {
  #underWay = 0;
  #turning = false;
  #began = 0;
  /** Mean duration of recent spells in milliseconds. */
  #usual = 0;
  readonly #now: () => number;
  readonly #soon: (turn: () => void) => void;

  /** Tests supply the clock and the function that lets the event loop run once. */
  constructor(now: () => number = () => performance.now(), soon: (turn: () => void) => void = setImmediate) {
    this.#now = now;
    this.#soon = soon;
  }

  /** Whether the loop is kept from sleeping now. */
  get turning(): boolean {
    return this.#turning;
  }

  /** Keeps the event loop awake until the call settles, and returns the call itself. */
  pay<T>(call: Promise<T>): Promise<T> {
    if (this.#underWay === 0) this.#began = this.#now();
    this.#underWay += 1;
    if (!this.#turning && this.#usual <= shortCalls) {
      this.#turning = true;
      this.#soon(this.#turn);
    }
    call.then(this.#ended, this.#ended);
    return call;
  }

  readonly #ended = (): void => {
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#usual += (Math.min(this.#now() - this.#began, 4 * longest) - this.#usual) / 8;
  };

  readonly #turn = (): void => {
    this.#turning = this.#underWay > 0 && this.#now() - this.#began < longest;
    if (this.#turning) this.#soon(this.#turn);
  };
}
