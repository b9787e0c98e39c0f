// How many items of input a session holds back.
import { elementAt, lastOf } from '../../core/known.ts';
import { firstRates, Marking } from '../schedule/steady.ts';
import type { Progress } from './progress.ts';

/** The most firings that are followed; beyond them there is a bound. */
const mostFirings = 2_000_000;

/** A run on an input that never ends, which fires only what its output needs. */
class Demand {
  readonly #progress: Progress;
  readonly #marking: Marking;
  #left = mostFirings;

  constructor(progress: Progress) {
    this.#progress = progress;
    this.#marking = new Marking(progress.plan.sdf);
  }

  /** What stands on the channels. */
  get tokens(): string {
    return this.#marking.tokens.join();
  }

  /** The least input for more than so many items of output; undefined if that is too long to follow. Arguments must not decrease. */
  inputFor(items: number): number | undefined {
    const { input, output } = this.#progress;
    if (input === undefined || output === undefined) return undefined;
    const { fired } = this.#marking;
    while (this.#progress.passedBy('output', elementAt(fired, output.node)) <= items) if (!this.#fire(output.node)) return undefined;
    return this.#progress.inputFor(elementAt(fired, input.node));
  }

  /** Fires a node after what it depends on. */
  #fire(node: number): boolean {
    const stack = [node];
    while (stack.length > 0) {
      if (--this.#left < 0 || stack.length > this.#marking.fired.length) return false;
      const id = lastOf(stack);
      const channel = this.#marking.blockedBy(id);
      if (channel === undefined) {
        this.#marking.apply(id, 1);
        stack.pop();
        continue;
      }
      if (channel.push === 0 && !(this.#marking.fired[channel.from] === 0 && firstRates(channel).push > 0)) return false;
      stack.push(channel.from);
    }
    return true;
  }
}

/**
 * The least number L such that a session that was given n items of input has given all that a run on n − L items gives, for every n ≥ L.
 * Sessions make whole steady states, so the worst n are those just before the next one; from some steady state on, they are alike.
 */
export function latencyOf(progress: Progress): number {
  if (progress.input === undefined) return 0;
  const demand = new Demand(progress);
  let most = 0, before = '';
  if (progress.passed('output', 0) > 0) most = progress.needed(0) - (demand.inputFor(0) ?? 0);
  for (let state = 0; ; ++state) {
    const least = demand.inputFor(progress.passed('output', state));
    // What the program has taken beyond whole steady states is at most what precedes the first one.
    if (least === undefined) return Math.max(most, progress.needed(1));
    most = Math.max(most, progress.needed(state + 1) - least);
    const { tokens } = demand;
    if (tokens === before) return most;
    before = tokens;
  }
}
