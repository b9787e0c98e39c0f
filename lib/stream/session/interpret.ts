// Sessions in the interpreter: in the calling thread where firings can wait for input between each other; programs with dynamic rates,
// which wait in the middle of firings, in a thread of their own (aside.ts).
import type { StreamGraph } from '../graph.ts';
import { Engine } from '../interpret/engine.ts';
import type { RunLimits } from '../interpret/limits.ts';
import { InOrder, scalarsFrom, Turns, type Made, type Outlet, type SessionEngine } from './engine.ts';
import { WholeItems } from './items.ts';
import { walk, walked } from './walk.ts';

/** Options of a session in the interpreter. */
export interface InterpretedOptions {
  readonly files: Readonly<Record<string, Uint8Array>>;
  readonly seed: number;
  readonly limits: RunLimits;
}

/** A run in the calling thread. */
export class InterpretEngine implements SessionEngine {
  readonly backend = 'interpret';
  readonly depth = 1;
  readonly #engine: Engine;
  readonly #outlet: Outlet;
  readonly #walk: Generator<'fired' | 'waits', void>;
  readonly #whole: WholeItems | undefined;
  readonly #stop: AbortSignal;
  readonly #order: InOrder;
  /** Whether nothing can fire any longer. */
  #isDone = false;

  /** Throws StreamRunError for programs that cannot be run at all. */
  constructor(graph: StreamGraph, outlet: Outlet, options: InterpretedOptions, stop: AbortSignal) {
    this.#engine = new Engine(graph, { ...options, input: [], open: {} });
    this.#outlet = outlet;
    this.#walk = walk(this.#engine);
    this.#whole = graph.input === undefined ? undefined : new WholeItems(graph.input.type);
    this.#stop = stop;
    this.#order = new InOrder(stop);
  }

  push(numbers: ArrayLike<number>): Promise<Made> {
    const own = Array.from(this.#whole?.join(numbers) ?? []);
    return this.#order.do(() => {
      this.#engine.input?.give(own);
      return this.#go(Infinity, false);
    });
  }

  end(): Promise<Made> {
    return this.#order.do(() => {
      this.#engine.input?.close();
      return this.#go(this.#engine.input === undefined ? 0 : Infinity, true);
    });
  }

  pull(items: number): Promise<Made> {
    return this.#order.do(() => this.#go(items, false));
  }

  /** Fires until input is needed, or so many items have come out. */
  async #go(items: number, isOver: boolean): Promise<Made> {
    const engine = this.#engine;
    const turns = new Turns(this.#stop);
    const before = engine.items;
    let error: Error | undefined;
    engine.renew();
    let whole = 0;
    try {
      while (engine.items - before < items) {
        const step = this.#walk.next();
        if (step.done === true) this.#isDone = true;
        if (step.done === true || step.value === 'waits') break;
        whole = engine.output.length;
        if (turns.isOver) await turns.next();
      }
    } catch (failure) {
      if (this.#stop.aborted) throw failure;
      error = failure as Error;
      // The firing that failed may have given something before.
      engine.output.length = whole;
    }
    const { numbers, text } = walked(this.#outlet, engine.take(isOver));
    return { output: scalarsFrom(numbers, this.#outlet.type), text, isOver: this.#isDone, ...(error === undefined ? {} : { error }) };
  }

  dispose(): void {
    this.#walk.return();
  }
}
