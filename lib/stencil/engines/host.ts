// Engines whose arrays are in JavaScript's memory, step by step: what the interpreter and plain JavaScript share.
import { required } from '../../core/known.ts';
import type { StencilProgram } from '../compile/stages.ts';
import type { RealArray } from '../types.ts';
import { clockAt, nextStep, type StepClock } from './adaptive.ts';
import { arrayOf, levelsOf, levelsUsed, timeOf, type Content, type Engine, type Level, type Outcome, type Span } from './span.ts';

/** Milliseconds of work before the event loop has a turn. */
const longest = 20;

export abstract class HostEngine implements Engine {
  abstract readonly backend: Engine['backend'];
  readonly variant = 'classic';
  readonly threads = 1;
  readonly depth = 1;
  readonly shapes = [];
  abstract readonly reason: string;
  protected readonly made: StencilProgram;
  protected readonly content: Content;
  #arrays: Record<Level, RealArray>;

  constructor(made: StencilProgram, content: Content) {
    this.made = made;
    this.content = content;
    const used = levelsUsed(made.stages);
    const of = (level: Level): RealArray => (used.includes(level) ? arrayOf(content.precision, content.initial.length) : content.initial);
    this.#arrays = { state: content.initial.slice(), first: of('first'), second: of('second'), sum: of('sum') };
  }

  /** One stage of a step from `t` on; `out` may be the array of the state. Returns whether all is good. */
  protected abstract stage(s: number, arrays: Readonly<Record<'y' | 'u' | 'a' | 'out', RealArray>>, t: number, dt: number): boolean;

  /** The largest rate of all cells, for steps of varying length. */
  protected abstract rate(state: RealArray, t: number, h: number, g: number): number;

  /** The clock after the next step. */
  #next(limits: NonNullable<Span['limits']>, clock: StepClock): StepClock {
    return nextStep(limits, clock, this.rate(this.#arrays.state, clock.time, limits.h, limits.g));
  }

  /** Whether the step is good. */
  #step(t: number, dt: number): boolean {
    const arrays = this.#arrays;
    let isGood = true;
    for (const [s, { y, out }] of levelsOf(this.made.stages).entries()) {
      isGood = this.stage(s, { y: arrays[y], u: arrays.state, a: arrays.sum, out: arrays[out] }, t, dt);
    }
    if (this.made.stages.length === 1) this.#arrays = { ...arrays, state: arrays.first, first: arrays.state };
    return isGood;
  }

  async advance(span: Span): Promise<Outcome> {
    const begin = performance.now();
    let turn = begin;
    const { limits } = span;
    let clock = limits && clockAt(limits);
    const outcome = (completed: number): Outcome => ({ completed, seconds: (performance.now() - begin) / 1000, ...(clock && { clock }) });
    for (let step = 0; step < span.steps; step += 1) {
      if (limits !== undefined && clock?.time === limits.until) return outcome(step);
      const next = limits && clock && this.#next(limits, clock);
      if (next?.isStuck === true) {
        clock = next;
        return outcome(step);
      }
      const before = this.#arrays.state.slice();
      if (!this.#step(clock?.time ?? timeOf(span, step), next?.dt ?? span.dt)) {
        this.#arrays.state.set(before);
        return outcome(step);
      }
      clock = next;
      if (performance.now() - turn < longest) continue;
      await new Promise((resolve) => { setImmediate(resolve); });
      turn = performance.now();
    }
    return outcome(span.steps);
  }

  probe(span: Span): Promise<RealArray> {
    const before = this.#arrays.state.slice();
    const { limits } = span;
    const next = limits && this.#next(limits, clockAt(limits));
    this.#step(limits?.time ?? timeOf(span, 0), next?.dt ?? span.dt);
    const made = this.#arrays.state.slice();
    this.#arrays.state.set(before);
    return Promise.resolve(made);
  }

  read(): Promise<RealArray> {
    return Promise.resolve(this.#arrays.state.slice());
  }

  dispose(): void {
    this.#arrays = { state: required(this.#arrays.state).slice(0, 0), first: new Float64Array(), second: new Float64Array(),
      sum: new Float64Array() };
  }
}
