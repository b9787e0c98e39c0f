// From live ranges to a layout and its barriers.
import type { Analysis } from './analyse.ts';
import { placeBarriers, type NewBarrier } from './barriers.ts';
import { plan as planBlocks } from './planner.ts';
import type { Block, Plan, PlannerName, PlanProblem } from './types.ts';

/** A layout of the arrays of a kernel. */
export interface Layout {
  readonly plan: Plan;
  readonly problem: PlanProblem;
  readonly barriers: readonly NewBarrier[];
  /** Pairs of arrays that share bytes. */
  readonly sharing: readonly (readonly [number, number])[];
}

type Pair = readonly [number, number];

/** Up to this many pairs are tried apart, to save barriers. */
const kMostTrials = 24;
/** Operations the exact planner may spend on one trial. */
const kTrialBudget = 2e7;
/** Symbolic sizes are rounded up to this. */
const kSymbolicAlignment = 16;

function problemOf({ arrays, liveness, conflicts }: Analysis, reuse: boolean): PlanProblem {
  const symbolic = arrays.some((array) => array.symbolic);
  const blocks: Block[] = arrays.map((array) => ({
    name: array.name, bytes: array.bytes, alignment: symbolic ? Math.max(kSymbolicAlignment, array.alignment) : array.alignment,
    live: liveness.ranges[array.index]!,
  }));
  const all = arrays.flatMap((a) => arrays.filter((b) => b.index > a.index).map((b): Pair => [a.index, b.index]));
  return { blocks, conflicts: reuse ? conflicts : all };
}

function sharingPairs({ blocks }: PlanProblem, { offsets }: Plan): Pair[] {
  const pairs: Pair[] = [];
  for (let a = 0; a < blocks.length; ++a) {
    for (let b = a + 1; b < blocks.length; ++b) {
      if (offsets[a]! < offsets[b]! + blocks[b]!.bytes && offsets[b]! < offsets[a]! + blocks[a]!.bytes) pairs.push([a, b]);
    }
  }
  return pairs;
}

/** Where partitions must be whole: sizes are known to the compiler only. */
function plannerFor(analysis: Analysis, planner: PlannerName): PlannerName {
  const symbolic = analysis.arrays.some((array) => array.symbolic);
  return symbolic && planner !== 'greedy' ? 'coloring' : planner;
}

/** Places the arrays. Of placements with the same bytes one with fewer new barriers is taken (planners `exact` and `packing`). */
export function layOut(analysis: Analysis, planner: PlannerName, reuse: boolean): Layout {
  const name = plannerFor(analysis, planner);
  const place = (problem: PlanProblem, budget?: number): Layout => {
    const plan = planBlocks(problem, name, budget === undefined ? {} : { budget });
    const sharing = sharingPairs(problem, plan);
    return { plan, problem, sharing, barriers: placeBarriers(analysis.flow, sharing, analysis.closed) };
  };
  const first = place(problemOf(analysis, reuse));
  let best = first;
  if (name !== 'exact' && name !== 'packing') return best;
  const tried = new Set<string>();
  for (let trials = 0; trials < kMostTrials;) {
    const next = best.barriers.flatMap(({ pairs }) => pairs).find((pair) => !tried.has(String(pair)));
    if (next === undefined) break;
    tried.add(String(next));
    ++trials;
    const apart = place({ ...best.problem, conflicts: [...best.problem.conflicts ?? [], next] }, kTrialBudget);
    if (apart.plan.bytes <= first.plan.bytes && apart.barriers.length <= best.barriers.length) best = apart;
  }
  // The bound and the proof are those of the problem as it was.
  const { lowerBound, optimal } = first.plan;
  return { ...best, plan: { ...best.plan, lowerBound, optimal }, problem: first.problem };
}
