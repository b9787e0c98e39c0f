// Which feedback loops a schedule of chapter 3 need not contract: those that hold so many items that instances of several threads can fire.
import { elementAt } from '../../core/known.ts';
import { threaded } from '../partition/index.ts';
import { withOpenEnds } from '../plan/open-ends.ts';
import { isOrdered } from '../plan/plan.ts';
import { estimateCosts } from '../profile/estimate.ts';
import { trusted } from '../require.ts';
import { ScheduleError } from '../schedule/error.ts';
import type { SdfGraph } from '../sdf.ts';
import type { PipelinePlan } from '../targets/cuda-pipeline.ts';
import { entryMicroseconds, orderedTime, parallelTime } from './gpu-costs.ts';

/** Fewest threads of an instance in an open loop: a warp. */
const leastThreads = 32;

/** The actors of a loop and the channels between them; they begin where the initialisation ends. */
function loopGraph(whole: SdfGraph, members: readonly number[]): SdfGraph {
  const inner = whole.channels.filter(({ from, to }) => members.includes(from) && members.includes(to));
  return {
    actors: members.map((node, id) => ({ ...elementAt(whole.actors, node), id })),
    channels: inner.map((channel, id) => ({ ...channel, id, from: members.indexOf(channel.from), to: members.indexOf(channel.to) })),
  };
}

/** Whether a loop goes round in instances of so many threads. */
function goesRound(loop: SdfGraph, threads: number): boolean {
  try {
    threaded(trusted(loop), loop.actors.map(() => threads));
    return true;
  } catch (error) {
    if (error instanceof ScheduleError) return false;
    throw error;
  }
}

/** By node of loops that are faster if they are not contracted: threads of its instances, at most `most`. */
export function openLoops({ plan, actors }: PipelinePlan, most: number): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  const whole = withOpenEnds(plan), costs = estimateCosts(plan.graph);
  actors.groups.forEach(({ isLoop, steps }) => {
    const members = [...new Set(steps.map(({ actor }) => actor))];
    if (!isLoop || members.some((node) => isOrdered(plan, node))) return;
    const loop = loopGraph(whole, members);
    let threads = most;
    while (threads >= leastThreads && !goesRound(loop, threads)) threads /= 2;
    if (threads < leastThreads || !Number.isInteger(threads)) return;
    const timeOf = (time: (node: number) => number): number =>
      members.reduce((sum, node) => sum + elementAt(plan.steady.repetitions, node) * time(node), 0);
    const open = timeOf((node) => parallelTime(costs[node] ?? 0, moved(whole, node)) + entryMicroseconds / threads);
    if (open < timeOf((node) => orderedTime(costs[node] ?? 0, moved(whole, node)))) for (const node of members) found.set(node, threads);
  });
  return found;
}

/** Words that a firing reads and writes. */
function moved({ channels }: SdfGraph, actor: number): number {
  return channels.reduce((sum, { from, to, push, pop, bytesPerItem }) =>
    sum + ((from === actor ? push : 0) + (to === actor ? pop : 0)) * bytesPerItem / 4, 0);
}
