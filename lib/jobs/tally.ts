// Counts what became of a sweep's items.
import type { SweepProgress } from './events.ts';

/** What became of the items so far. */
export class Tally {
  readonly #total: number;
  #finished = 0;
  #failed = 0;
  #running = 0;

  constructor(total: number) {
    this.#total = total;
  }

  starts(): SweepProgress {
    this.#running += 1;
    return this.#now();
  }

  ends(how: 'finished' | 'failed' | 'skipped'): SweepProgress {
    if (how !== 'skipped') this.#running -= 1;
    if (how === 'failed') this.#failed += 1;
    else this.#finished += 1;
    return this.#now();
  }

  #now(): SweepProgress {
    return { finished: this.#finished, failed: this.#failed, running: this.#running, total: this.#total };
  }
}
