// Where a program runs in mode `synergistic`: as the plan of chapter 4 says, with everything on the device that can be there, or on cores
// alone. The heuristic knows loads only; what launches and transfers cost beside them may make another one faster.
import type { PlacedIn } from './hybrid-costs.ts';

/** Runs that each placement is tried in, whose best one counts: the first one starts threads. */
const trials = 2;
/** Runs that those are tried in whose best ones differ by less than single runs do; how much that is. */
const closeTrials = 5;
const close = 1.25;
/** A placement is tried if by estimate it takes at most so many times as long as the best one. */
const worthTrying = 2;
/** Milliseconds of runs that tell how fast a placement is. */
const longEnough = 3;

/** Which placement a run takes: the best one by estimate, corrected by the times that runs have taken. */
export class Choice {
  /** Microseconds of a steady state. */
  readonly estimates: ReadonlyMap<PlacedIn, number>;
  readonly #found = new Map<PlacedIn, { runs: number; best: number }>();

  /** @param estimates microseconds of a steady state */
  constructor(estimates: ReadonlyMap<PlacedIn, number>) {
    this.estimates = estimates;
  }

  /** As measured, once that is more than a first run. */
  #timeOf(name: PlacedIn): number {
    const found = this.#found.get(name), estimate = this.estimates.get(name) ?? Infinity;
    if (found === undefined) return estimate;
    return found.runs < trials ? Math.min(estimate, found.best) : found.best;
  }

  /** The best one so far. */
  get best(): PlacedIn {
    return [...this.estimates.keys()].reduce((best, name) => (this.#timeOf(name) < this.#timeOf(best) ? name : best));
  }

  /** The one that the next run should take: the best one, or one that might be better. */
  get next(): PlacedIn {
    const { best } = this;
    const runsOf = (name: PlacedIn): number => this.#found.get(name)?.runs ?? 0;
    if (runsOf(best) < trials) return best;
    const others = [...this.estimates].filter(([name, estimate]) =>
      runsOf(name) < trials && estimate <= worthTrying * this.#timeOf(best));
    return others[0]?.[0] ?? this.#rival(best) ?? best;
  }

  /** Where some are close to each other: the one of them that was tried least. */
  #rival(best: PlacedIn): PlacedIn | undefined {
    const rivals = [...this.#found].filter(([, { best: time }]) => time <= close * this.#timeOf(best));
    const least = Math.min(...rivals.map(([, { runs }]) => runs));
    return rivals.length > 1 && least < closeTrials ? rivals.find(([, { runs }]) => runs === least)?.[0] : undefined;
  }

  /** Whether no other one is to be tried. */
  get isSettled(): boolean {
    const { best } = this;
    return this.next === best && this.#rival(best) === undefined && (this.#found.get(best)?.runs ?? 0) >= trials;
  }

  /** A run has been made. */
  note(name: PlacedIn, states: number, milliseconds: number): void {
    if (milliseconds < longEnough || states === 0) return;
    const found = this.#found.get(name) ?? { runs: 0, best: Infinity };
    this.#found.set(name, { runs: found.runs + 1, best: Math.min(found.best, 1000 * milliseconds / states) });
  }
}
