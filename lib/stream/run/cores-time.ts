// How long cores take for firings, by counted operations, where some of them must follow each other.
import { addAt, elementAt } from '../../core/known.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import { countedCosts } from '../profile/estimate.ts';
import { nodeTimes } from './threads.ts';

/** How many times faster than counted operations a core makes firings in order: they wait for each other, and nothing is a vector. */
const inOrderSpeed = 4 / 3;
/** How well threads use cores: as measured for FIR filters of 1024 taps before a filter with state, on 16 threads. */
const efficiency = 0.8;

/**
 * Microseconds that threads take by WebAssembly: as long as all work on all of them, or as the longest part that must be in order on one.
 * @param firings by node of the plan
 * @param partOf the part in order that a node belongs to, a number; undefined: its firings may be made in any order
 */
export function timeOnCores(
  plan: ProgramPlan, firings: readonly number[], partOf: (node: number) => number | undefined, threads: number,
): number {
  const times = nodeTimes(plan, undefined, 'wasm'), counted = countedCosts(plan.graph);
  const parts: number[] = [];
  let all = 0;
  plan.graph.nodes.forEach(({ id }) => {
    const part = partOf(id);
    const time = elementAt(firings, id) * (part === undefined ? elementAt(times, id) : elementAt(counted, id) / inOrderSpeed);
    all += time;
    if (part === undefined) return;
    while (parts.length <= part) parts.push(0);
    addAt(parts, part, time);
  });
  return Math.max(all / (1 + (threads - 1) * efficiency), ...parts);
}
