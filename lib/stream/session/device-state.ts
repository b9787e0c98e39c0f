// State of sessions on devices: what the launches of slices hand on to each other, and the last steady states, whose input is made up.
import { countRun } from '../plan/counts.ts';
import type { StreamGraph } from '../graph.ts';
import { StreamRunError } from '../interpret/error.ts';
import { scalarCount } from '../interpret/values.ts';
import { errorIn } from '../run/gpu-fault.ts';
import { itemsOut, type Ends } from '../run/gpu-ends.ts';
import { paddedSpan, type RunState, type StateSpan } from '../run/gpu-state.ts';
import type { CompiledGpu } from '../run/gpu.ts';
import type { GpuSpan } from '../run/gpu-types.ts';
import type { RunOptions } from '../run/prepare.ts';
import { required } from '../../core/known.ts';
import { scalarsFrom, type Made } from './engine.ts';
import { inFlight } from './pieces.ts';

/** Scalars of items of the input that are still there, from one to another. */
type Part = (from: number, to: number) => ArrayLike<number>;

/** The state of one session. */
export class SessionState {
  /** Steady states of which slices make a whole number. */
  readonly round: number;
  readonly #graph: StreamGraph;
  readonly #compiled: CompiledGpu;
  readonly #options: RunOptions;
  readonly #stop: AbortSignal;
  /** Ends with the session: what it was lent goes to no other one then, since something may be about to use it. */
  readonly #gone = new AbortController();
  #state: RunState | undefined;

  constructor(graph: StreamGraph, compiled: CompiledGpu, options: RunOptions, stop: AbortSignal) {
    this.#graph = graph;
    this.round = compiled.wholeStates;
    this.#compiled = compiled;
    this.#options = options;
    this.#stop = stop;
  }

  /** Makes the state before the first slice, from the input up to there. False if that goes wrong, as the start of the session does. */
  async begin(from: number, part: Part): Promise<boolean> {
    if (this.#state !== undefined) return true;
    const ends = { part: (begin: number, end: number) => Promise.resolve(part(begin, end)) };
    try {
      // What a slice began with stays until nothing has to be asked about it any more.
      const state = await this.#compiled.stateAt(from, ends, { ...this.#options, signal: this.#gone.signal }, inFlight);
      if (this.#gone.signal.aborted) state.dispose();
      else this.#state = state;
    } catch (error) {
      if (error instanceof StreamRunError) return false;
      throw error;
    }
    this.#stop.throwIfAborted();
    return true;
  }

  /** For the next launch, which begins with a steady state. */
  next(first: number): StateSpan {
    return required(this.#state).next(first);
  }

  /** What went wrong in a launch, whose first steady state to do so this is. */
  async errorIn(span: GpuSpan, at: number): Promise<Error | undefined> {
    return (await errorIn(this.#graph, this.#compiled, span, at))?.error;
  }

  /** Makes what a run on so many items of input gives from a steady state on: less than a round, the last one perhaps a part. */
  async last(from: number, total: number, part: Part): Promise<Pick<Made, 'output' | 'error'>> {
    const { program, device } = this.#compiled, { output } = program;
    const counts = countRun(program.plan, { input: total });
    const items = itemsOut(program, counts);
    // Firings that give nothing may still go wrong.
    const behind = program.canFault && counts.tail.length > 0 ? counts.steadyStates - from + 1 : 0;
    const left = Math.max(behind, Math.ceil((items - output.before - from * output.items) / output.items));
    let made = scalarsFrom([], output.external.type);
    if (left <= 0) return { output: made };
    const ends: Pick<Ends, 'part' | 'put' | 'items'> = {
      items, part: (begin, end) => Promise.resolve(part(begin, Math.min(end, total))),
      put: (scalars) => {
        made = scalars;
        return Promise.resolve();
      },
    };
    const last = await paddedSpan(program, device, ends, from, left);
    try {
      const span = { ...last.span, state: this.next(from), signal: this.#stop };
      const [{ fault }] = await Promise.all([this.#compiled.launch(span), last.take(this.#stop)]);
      if (fault === undefined) return { output: made };
      // Of the last steady state, only a part may be wanted.
      const behind = from + fault - counts.steadyStates;
      const rest = behind < 0 ? undefined : { steps: counts.tail, states: behind };
      const found = await errorIn(this.#graph, this.#compiled, span, fault, rest);
      if (found === undefined) return { output: made };
      const { node, later } = output.external;
      const firings = counts.tail.slice(0, found.step).reduce((sum, { actor, count }) => sum + (actor === node ? count : 0), 0);
      const given = Math.min(fault, fault - behind) * output.items + firings * later.items;
      return { output: made.subarray(0, given * scalarCount(output.external.type)), error: found.error };
    } finally {
      last.dispose();
    }
  }

  dispose(): void {
    this.#gone.abort();
    this.#state?.dispose();
    this.#state = undefined;
  }
}
