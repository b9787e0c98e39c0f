// From live ranges to a layout with barriers.
import { elementAt } from '../../core/known.ts';
import { placeBarriers, type BarrierFlow, type NewBarrier } from './barriers.ts';
import { planSteps } from './plan.ts';
import type { Block, Plan, PlannerName, PlanProblem, PointRange } from './types.ts';
import { Work } from './work.ts';

/** What the layout of a kernel depends on. */
export interface Laid {
  readonly arrays: readonly {
    readonly index: number; readonly name: string; readonly bytes: number; readonly alignment: number;
  }[];
  readonly liveness: { readonly ranges: readonly (readonly PointRange[])[] };
  readonly conflicts: readonly (readonly [number, number])[];
  readonly flow: BarrierFlow;
  readonly closed: ReadonlySet<number>;
}

/** A layout of the arrays of a kernel. */
export interface Layout {
  readonly plan: Plan;
  readonly problem: PlanProblem;
  readonly barriers: readonly NewBarrier[];
  /** Pairs of arrays that share bytes. */
  readonly sharing: readonly (readonly [number, number])[];
}

type Pair = readonly [number, number];

/** Up to this many pairs are tentatively separated in order to save barriers. */
const kMostTrials = 24;
/** Operations per pair of arrays in addition to the searches. */
const kPairWork = 10;
/** Share of the remaining work budget that the exact planner may spend on one trial. */
const kTrialShare = 0.25;

function problemOf({ arrays, liveness, conflicts }: Laid, reuse: boolean): PlanProblem {
  const blocks: Block[] = arrays.map((array) => ({
    name: array.name, bytes: array.bytes, alignment: array.alignment, live: elementAt(liveness.ranges, array.index),
  }));
  const all = arrays.flatMap((a) => arrays.filter((b) => b.index > a.index).map((b): Pair => [a.index, b.index]));
  return { blocks, conflicts: reuse ? conflicts : all };
}

function sharingPairs({ blocks }: PlanProblem, { offsets }: Plan): Pair[] {
  const pairs: Pair[] = [];
  for (let a = 0; a < blocks.length; ++a) {
    for (let b = a + 1; b < blocks.length; ++b) {
      const [first, second] = [elementAt(offsets, a), elementAt(offsets, b)];
      if (first < second + elementAt(blocks, b).bytes && second < first + elementAt(blocks, a).bytes) pairs.push([a, b]);
    }
  }
  return pairs;
}

/** Runs the steps of a planner, pausing between them. */
async function planned(steps: Generator<void, Plan>, work: Work): Promise<Plan> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await work.pause();
  }
}

/** Places the arrays. Among placements of the same size, prefers those with fewer new barriers (planners `exact` and `packing`). */
export async function layOut(analysis: Laid, name: PlannerName, reuse: boolean, work: Work): Promise<Layout> {
  const place = async (problem: PlanProblem, own: Work): Promise<Layout> => {
    const plan = await planned(planSteps(problem, name, own), work);
    const sharing = sharingPairs(problem, plan);
    own.spend(kPairWork * problem.blocks.length ** 2);
    const barriers = placeBarriers(analysis.flow, sharing, analysis.closed, own);
    await work.pause();
    return { plan, problem, sharing, barriers };
  };
  const first = await place(problemOf(analysis, reuse), work);
  let best = first;
  if (name !== 'exact' && name !== 'packing') return best;
  const tried = new Set<string>();
  for (let trials = 0; trials < kMostTrials && !work.exhausted;) {
    const next = best.barriers.flatMap(({ pairs }) => pairs).find((pair) => !tried.has(String(pair)));
    if (next === undefined) break;
    tried.add(String(next));
    ++trials;
    const own = new Work(Math.ceil(work.left * kTrialShare));
    const granted = own.left;
    const apart = await place({ ...best.problem, conflicts: [...best.problem.conflicts ?? [], next] }, own);
    work.spend(granted - own.left);
    if (apart.plan.bytes <= first.plan.bytes && apart.barriers.length <= best.barriers.length) best = apart;
  }
  // The bound and the proof of optimality are those of the original problem.
  const { lowerBound, optimal } = first.plan;
  return { ...best, plan: { ...best.plan, lowerBound, optimal }, problem: first.problem };
}
