// Which parts of a run so much input suffices for.
import { elementAt } from '../../core/known.ts';
import { refusal } from '../../core/errors.ts';
import type { StreamGraph } from '../graph.ts';
import { passedBy } from '../plan/counts.ts';
import type { External, ProgramPlan } from '../plan/plan.ts';
import { compiledWasm } from '../run/wasm.ts';
import type { Outlet } from './engine.ts';

/** Which steady states fit into how much input, and what they give. */
export class Progress {
  readonly plan: ProgramPlan;
  readonly input: External | undefined;
  readonly output: External | undefined;
  /** Items that a steady state takes and gives. */
  readonly taken: number;
  readonly given: number;

  constructor(plan: ProgramPlan, { type, path }: Outlet) {
    const { externals, steady } = plan;
    this.plan = plan;
    this.input = externals.find(({ kind }) => kind === 'input');
    this.output = type === undefined ? undefined
      : externals.find((each) => (path === undefined ? each.kind === 'output' : each.kind === 'writer' && each.path === path));
    const inState = (end: External | undefined): number =>
      (end === undefined ? 0 : elementAt(steady.repetitions, end.node) * end.later.items);
    this.taken = inState(this.input);
    this.given = inState(this.output);
  }

  #firings(end: External, states: number): number {
    const { initFirings, repetitions } = this.plan.steady;
    return elementAt(initFirings, end.node) + states * elementAt(repetitions, end.node);
  }

  /** Items of input without which its node cannot fire so often. */
  inputFor(firings: number): number {
    const { input } = this;
    if (input === undefined || firings === 0) return 0;
    return passedBy(input, firings) + (firings === 1 ? input.first : input.later).beyond;
  }

  /** Items of input without which so many steady states cannot be made. */
  needed(states: number): number {
    return this.input === undefined ? 0 : this.inputFor(this.#firings(this.input, states));
  }

  /** Items that have passed the input, or the output, after so many firings of its node. */
  passedBy(end: 'input' | 'output', firings: number): number {
    const external = this[end];
    return external === undefined ? 0 : passedBy(external, firings);
  }

  /** The same after so many steady states. */
  passed(end: 'input' | 'output', states: number): number {
    const external = this[end];
    return external === undefined ? 0 : passedBy(external, this.#firings(external, states));
  }

  /** How many steady states so many items suffice for; -1: not even for what precedes them. */
  states(items: number): number {
    if (items < this.needed(0)) return -1;
    const least = Math.floor((items - this.needed(1)) / this.taken) + 1;
    return Math.max(0, least);
  }
}

/** {@link Progress} of a graph. Throws UnsupportedProgram, ScheduleError. */
export function planProgress(graph: StreamGraph, outlet: Outlet): Progress {
  return new Progress(compiledWasm(graph).plan, outlet);
}

/** Refuses programs that take nothing from their input: a session of one would never end. */
export function requireEnd({ input, taken }: Progress): void {
  if (input !== undefined && taken === 0) throw refusal('graph', 'a program that takes items from its input', 'one that takes none');
}
