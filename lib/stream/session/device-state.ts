// State of sessions on devices: what the launches of slices hand on to each other, and the last steady states, whose input is made up.
import { countRun } from '../plan/counts.ts';
import { itemsOut, type Ends } from '../run/gpu-ends.ts';
import { paddedSpan, type RunState, type StateSpan } from '../run/gpu-state.ts';
import type { CompiledGpu } from '../run/gpu.ts';
import type { RunOptions, Scalars } from '../run/prepare.ts';
import { required } from '../../core/known.ts';
import { scalarsFrom } from './engine.ts';

/** Scalars of items of the input that are still there, from one to another. */
type Part = (from: number, to: number) => ArrayLike<number>;

/** The state of one session. */
export class SessionState {
  /** Steady states of which slices make a whole number. */
  readonly round: number;
  readonly #compiled: CompiledGpu;
  readonly #options: RunOptions;
  readonly #stop: AbortSignal;
  /** Ends with the session: what it was lent goes to no other one then, since something may be about to use it. */
  readonly #gone = new AbortController();
  #state: RunState | undefined;

  constructor(compiled: CompiledGpu, options: RunOptions, stop: AbortSignal) {
    this.round = compiled.wholeStates;
    this.#compiled = compiled;
    this.#options = options;
    this.#stop = stop;
  }

  /** Makes the state before the first slice, from the input up to there. */
  async begin(from: number, part: Part): Promise<void> {
    if (this.#state !== undefined) return;
    const ends = { part: (begin: number, end: number) => Promise.resolve(part(begin, end)) };
    const state = await this.#compiled.stateAt(from, ends, { ...this.#options, signal: this.#gone.signal });
    if (this.#gone.signal.aborted) state.dispose();
    else this.#state = state;
    this.#stop.throwIfAborted();
  }

  /** For the next launch, which begins with a steady state. */
  next(first: number): StateSpan {
    return required(this.#state).next(first);
  }

  /** Makes what a run on so many items of input gives from a steady state on: less than a round, the last one perhaps a part. */
  async last(from: number, total: number, part: Part): Promise<Scalars> {
    const { program, device } = this.#compiled, { output } = program;
    const counts = countRun(program.plan, { input: total });
    const items = itemsOut(program, counts);
    const left = Math.ceil((items - output.before - from * output.items) / output.items);
    let made = scalarsFrom([], output.external.type);
    if (left <= 0) return made;
    const ends: Pick<Ends, 'part' | 'put' | 'items'> = {
      items, part: (begin, end) => Promise.resolve(part(begin, Math.min(end, total))),
      put: (scalars) => {
        made = scalars;
        return Promise.resolve();
      },
    };
    const last = await paddedSpan(program, device, ends, from, left);
    try {
      await Promise.all([
        this.#compiled.launch({ ...last.span, state: this.next(from), signal: this.#stop }), last.take(this.#stop),
      ]);
      return made;
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
