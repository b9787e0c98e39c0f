// How many steps a call of the device takes: short enough to be interrupted, long enough that the overhead is negligible.
import type { BackendName } from './binding.ts';

/** Seconds of a segment. */
const goal = 0.15;
/** Largest growth from one segment to the next: early ones are short and say little. */
const growth = 16;
/** Point updates of the first segment: a few milliseconds on any device of its kind. */
const firstUpdates: Record<BackendName, number> = { cuda: 2 ** 24, cpu: 2 ** 18, simt: 2 ** 12 };

/** Steps per segment, from the time the last ones took. */
export class Pace {
  #steps: number;

  constructor(points: number, backend: BackendName) {
    this.#steps = Math.max(1, Math.floor(firstUpdates[backend] / points));
  }

  /** Steps of the next segment. */
  next(left: number): number {
    return Math.min(left, this.#steps);
  }

  /** A segment of `steps` took `seconds`. */
  learn(steps: number, seconds: number): void {
    const wanted = Math.floor((steps * goal) / Math.max(seconds, 1e-9));
    // A last, short segment must not slow down the next call.
    const most = Math.max(this.#steps, steps * growth);
    this.#steps = Math.min(2 ** 30, Math.max(1, Math.min(wanted, most)));
  }
}
