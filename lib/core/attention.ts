// An event loop that sleeps needs as long to wake as a short call takes on a GPU: while such calls are under way it keeps turning.
import { performance } from 'node:perf_hooks';

/** Milliseconds: calls that usually take longer are waited for asleep, and no wait is longer than the second. */
const shortCalls = 0.5, longest = 1;

/**
 * Attention to the calls of one device. From the first call that is under way to the end of the last, the event loop turns without
 * going to sleep, where such spells were short lately; other work gets its turns meanwhile.
 */
export class Attention {
  #underWay = 0;
  #turning = false;
  #began = 0;
  /** Milliseconds of a spell, mean of the last ones. */
  #usual = 0;
  readonly #now: () => number;
  readonly #soon: (turn: () => void) => void;

  /** The clock, and what lets the event loop turn once, are given by tests. */
  constructor(now: () => number = () => performance.now(), soon: (turn: () => void) => void = setImmediate) {
    this.#now = now;
    this.#soon = soon;
  }

  /** Whether the loop is kept from sleeping now. */
  get turning(): boolean {
    return this.#turning;
  }

  /** Pays attention until the call settles, and returns the call itself. */
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
