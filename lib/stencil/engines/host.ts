// Engines whose arrays are in JavaScript's memory, step by step: what the interpreter and plain JavaScript share.
import { required } from '../../core/known.ts';
import type { StencilProgram } from '../compile/stages.ts';
import type { RealArray } from '../types.ts';
import { arrayOf, levelsOf, levelsUsed, type Content, type Engine, type Level, type Outcome, type Span } from './span.ts';

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

  /** One stage; `out` may be the array of the state. Returns whether all is good. */
  protected abstract stage(s: number, arrays: Readonly<Record<'y' | 'u' | 'a' | 'out', RealArray>>, span: Span, step: number): boolean;

  /** Whether the step is good. */
  #step(span: Span, step: number): boolean {
    const arrays = this.#arrays;
    let isGood = true;
    for (const [s, { y, out }] of levelsOf(this.made.stages).entries()) {
      isGood = this.stage(s, { y: arrays[y], u: arrays.state, a: arrays.sum, out: arrays[out] }, span, step);
    }
    if (this.made.stages.length === 1) this.#arrays = { ...arrays, state: arrays.first, first: arrays.state };
    return isGood;
  }

  async advance(span: Span): Promise<Outcome> {
    const begin = performance.now();
    let turn = begin;
    for (let step = 0; step < span.steps; step += 1) {
      const before = this.#arrays.state.slice();
      if (!this.#step(span, step)) {
        this.#arrays.state.set(before);
        return { completed: step, seconds: (performance.now() - begin) / 1000 };
      }
      if (performance.now() - turn < longest) continue;
      await new Promise((resolve) => { setImmediate(resolve); });
      turn = performance.now();
    }
    return { completed: span.steps, seconds: (performance.now() - begin) / 1000 };
  }

  probe(span: Span): Promise<RealArray> {
    const before = this.#arrays.state.slice();
    this.#step(span, 0);
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
