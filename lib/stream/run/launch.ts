// Runs under a plan for several cores: whether there is one, and what worker threads are given.
import { severalPrinters } from '../interpret/print-order.ts';
import type { RunCounts } from '../plan/counts.ts';
import { nearness, planLaunches, type LaunchPlan } from '../plan/launches.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import { estimateCosts } from '../profile/estimate.ts';
import type { Cuts } from './split.ts';

/** What decides about threads. */
export interface ThreadChoice {
  /** Most threads. */
  readonly threads: number;
  /** Microseconds of a firing, by node. Default: counted operations. */
  readonly costs?: readonly number[];
  /** Least microseconds of work between two times that the threads wait for each other. Default 400. */
  readonly launchMicroseconds?: number;
}

/** Compiled code is that much quicker than counted operations say, in the mean of the twelve programs of examples/stream. */
const countedSpeed = { wasm: 40, cpp: 100 } as const;
/** A back end that compiles. */
export type CompiledBackend = keyof typeof countedSpeed;

/** Most pieces of a run for each thread, and least microseconds of one. Whoever is free takes them, for cores are not equally fast. */
const piecesByThread = 16;
const pieceMicroseconds = 2000;

/** How a run is cut into pieces. */
export function pieceCuts(plan: ProgramPlan, { threads, costs }: ThreadChoice, backend: CompiledBackend): Cuts {
  if (threads === 1) return { threads };
  const times = nodeTimes(plan, costs, backend);
  const state = plan.steady.repetitions.reduce((sum, count, node) => sum + count * times[node]!, 0);
  return { threads, most: piecesByThread * threads, leastStates: Math.ceil(pieceMicroseconds / Math.max(state, 1e-3)) };
}

/** Microseconds of a firing, by node: those given, or counted ones. */
export function nodeTimes(plan: ProgramPlan, given: readonly number[] | undefined, backend: CompiledBackend): readonly number[] {
  return given ?? estimateCosts(plan.graph).map((cost) => cost / countedSpeed[backend]);
}

/** Plans a run on several cores; undefined where one does as well: short runs, work that stays whole, lines that several nodes print. */
export function launchesFor(
  plan: ProgramPlan, counts: RunCounts, { threads, costs, launchMicroseconds = 400 }: ThreadChoice, backend: CompiledBackend,
): LaunchPlan | undefined {
  if (threads === 1 || counts.steadyStates < 2 || severalPrinters(plan.graph).length > 0) return undefined;
  const made = planLaunches(plan, {
    cores: threads, costs: nodeTimes(plan, costs, backend), states: counts.steadyStates, launchMicroseconds, near: nearness[backend],
  });
  return made.orders.length < 2 || counts.steadyStates < 2 * made.multiplier ? undefined : made;
}
