// What runs of a program on cores and a device cost, beside the loads of chapter 4 that partitions are made from.
import { addAt, elementAt } from '../../core/known.ts';
import type { HybridPlan, MovingCosts } from '../partition/index.ts';
import type { HybridProgram } from '../plan/hybrid.ts';
import { isOrdered } from '../plan/plan.ts';
import type { SdfGraph } from '../sdf.ts';
import { nodeTimes } from './threads.ts';

/** What moving items costs: the rates are those of the caller's arrays. */
export interface LinkCosts extends MovingCosts {
  /** Rates of rings in the memory of cores, if they are others. */
  readonly rings?: Pick<MovingCosts, 'toGpu' | 'toCpu'> | undefined;
}

/**
 * Where filters run: by a plan on both sides, or on the device whatever can be there; or without one, all on the device as the one kernel
 * of mode `fused`, or all on cores.
 */
export type PlacedIn = 'both' | 'device' | 'fused' | 'cores';

/** Microseconds in which a core reads or writes a word of its memory. */
export const wordMicroseconds = 4e-4;
/**
 * Microseconds of a launch besides its work: calls on the device; with filters on cores also the barrier, which waits for the calls.
 */
export function launchOverhead({ cores, onGpu }: HybridPlan): number {
  // The last actors are the program's ends, which nobody runs.
  return cores.every((slices) => slices.every(({ id }) => id >= onGpu.length - 2)) ? 60 : 150;
}

/** By actor: words that a firing moves. */
export function movedWords({ actors, channels }: SdfGraph): number[] {
  const moved = actors.map(() => 0);
  for (const { from, to, push, pop, bytesPerItem } of channels) {
    addAt(moved, from, push * bytesPerItem / 4);
    addAt(moved, to, pop * bytesPerItem / 4);
  }
  return moved;
}

/** Microseconds in which the main thread copies a word of the input for cores, and in which one of them provides a word of new memory. */
const copiedWord = 2e-4, newWord = 1.7e-3;
/** How well threads use cores. */
const efficiency = 0.9;

/** Microseconds of a steady state in a long run of a plan. */
export function plannedState(
  { graph, channels, plan: { graph: { channels: inner } } }: HybridProgram, plan: HybridPlan, moving: LinkCosts,
): number {
  const { operations, repetitions, load, steadyStates } = plan;
  const moved = { toGpu: 0, toCpu: 0 };
  for (const { kind, channel } of operations) {
    if (kind !== 'toGpu' && kind !== 'toCpu') continue;
    const { from, push, bytesPerItem } = elementAt(graph.channels, channel);
    // Rings in the memory of cores are copied by another way than arrays of the caller.
    const isRing = elementAt(channels, channel) < inner.length;
    const rate = (isRing ? moving.rings?.[kind] : undefined) ?? moving[kind];
    moved[kind] += (moving.latency ?? 0) + push * elementAt(repetitions, from) * bytesPerItem / rate;
  }
  const interval = Math.max(moved.toGpu + moved.toCpu, ...load.cores, ...load.multiprocessors);
  return (interval + launchOverhead(plan)) / steadyStates;
}

/** Items that pass the program's input and output in a steady state, in words. */
function wordsOfEnds({ plan, graph: { channels } }: HybridProgram): readonly [input: number, output: number] {
  const ends: [number, number] = [0, 0];
  for (const { from, to, push, pop, bytesPerItem } of channels) {
    if (from >= plan.groups.length) ends[0] += pop * elementAt(plan.groups, to).iterations * bytesPerItem / 4;
    else if (to >= plan.groups.length) ends[1] += push * elementAt(plan.groups, from).iterations * bytesPerItem / 4;
  }
  return ends;
}

/**
 * Microseconds of a steady state in the one kernel of mode `fused`: the transfers of the program's ends, which are most of it where its
 * channels cost nothing.
 */
export function fusedState(program: HybridProgram, { toGpu, toCpu }: LinkCosts): number {
  const [input, output] = wordsOfEnds(program);
  return 4 * input / toGpu + 4 * output / toCpu;
}

/** Microseconds of a steady state on cores alone, by WebAssembly on threads. */
export function coresState(program: HybridProgram, { costs, cores }: {
  readonly costs?: readonly number[] | undefined; readonly cores: number;
}): number {
  const { plan } = program;
  const { repetitions } = plan.steady;
  const times = nodeTimes(plan, costs, 'wasm');
  const work = times.reduce((all, time, node) => all + time * elementAt(repetitions, node), 0);
  const inOrder = plan.graph.nodes.map(({ id }) => (isOrdered(plan, id) ? elementAt(times, id) * elementAt(repetitions, id) : 0));
  const [input, output] = wordsOfEnds(program);
  return Math.max(work / cores / efficiency, ...inOrder) + copiedWord * input + newWord * output / cores;
}
