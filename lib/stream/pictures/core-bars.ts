// The bars of a software pipeline over cores.
import { elementAt } from '../../core/known.ts';
import type { CorePlan } from '../partition/index.ts';
import type { SdfGraph } from '../sdf.ts';
import type { GanttBar } from './gantt-svg.ts';

/** One launch of a plan: a bar for each slice of a core's program. `costs`: microseconds of a firing of each actor. */
export function coreBars(sdf: SdfGraph, plan: CorePlan, costs: readonly number[]): GanttBar[] {
  return plan.programs.flatMap((slices, processor) => {
    let start = 0;
    return slices.map(({ actor, from, count }) => {
      const time = count * elementAt(costs, actor);
      const what = `firings ${from} to ${from + count - 1} of ${elementAt(sdf.actors, actor).name}`;
      const bar = { processor, start, time, actor, stage: elementAt(plan.stages, actor), what };
      start += time;
      return bar;
    });
  });
}
