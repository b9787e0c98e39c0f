// Whether a schedule's steps are launches of their own or one launch with barriers: as asked, or the faster way by the first launches of
// runs. Both make the same bits.

/** `plain`: a launch for each step; `persistent`: one for all of them, with a barrier of all blocks between steps. */
export const launchWays = ['plain', 'persistent'] as const;
export type LaunchWay = (typeof launchWays)[number];

/** Timings of each way that count before one is chosen, and steps that a launch must have to count. */
const timings = 2, leastSteps = 8;
/** `persistent` must be faster by this to be chosen. */
const leastGain = 1.01;

export class LaunchChoice {
  #chosen: LaunchWay | undefined;
  #begun = 0;
  /** Seconds per step, by way. */
  readonly #seconds: Readonly<Record<LaunchWay, number[]>> = { plain: [], persistent: [] };

  constructor(asked: LaunchWay | 'auto') {
    this.#chosen = asked === 'auto' ? undefined : asked;
  }

  /** What was asked for or is known to be faster; undefined while that is not known. */
  get chosen(): LaunchWay | undefined {
    return this.#chosen;
  }

  /** How the next launch is made: by turns, as long as timings of both ways are missing. */
  next(steps: number): LaunchWay {
    if (this.#chosen !== undefined || steps < leastSteps || this.#begun >= 2 * timings) return this.#chosen ?? 'plain';
    return this.#begun++ % 2 === 0 ? 'plain' : 'persistent';
  }

  /** A launch has taken so long. */
  took(way: LaunchWay, seconds: number, steps: number): void {
    if (this.#chosen !== undefined || steps < leastSteps || !(seconds > 0)) return;
    this.#seconds[way].push(seconds / steps);
    const { plain, persistent } = this.#seconds;
    if (plain.length < timings || persistent.length < timings) return;
    this.#chosen = Math.min(...plain) > leastGain * Math.min(...persistent) ? 'persistent' : 'plain';
  }

  /** A launch failed: where one of each way has not come to its end, others are tried. */
  failed(): void {
    if (this.#chosen === undefined) this.#begun = 2 * Math.min(this.#seconds.plain.length, this.#seconds.persistent.length);
  }
}
