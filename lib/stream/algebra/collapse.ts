// Savings that change results within rounding: linear filters are multiplied together where that takes fewer operations.
//
// After Lamb, Thies and Amarasinghe, "Linear analysis and optimization of stream programs" (PLDI 2003): linear filters are found by
// following their code, and the parts of a program that become one filter by dynamic programming.
import { elementAt } from '../../core/known.ts';
import { isDynamic, sdfOf } from '../elaborate/to-sdf.ts';
import type { GraphNode, StreamGraph } from '../graph.ts';
import { severalPrinters } from '../interpret/print-order.ts';
import { bodiesOf, evaluatesSome } from '../interpret/walk.ts';
import { firingCodes, planProgram, type ProgramPlan } from '../plan/plan.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { isTrusted, trusted, withGraph } from '../require.ts';
import { ScheduleError } from '../schedule/error.ts';
import { repetitions } from '../schedule/steady.ts';
import { Chooser, following, type Choice } from './choose.ts';
import type { Followed } from './follow.ts';
import type { FilterCode, IrType } from '../ir.ts';
import { rebuilt, regionsOf } from './rebuild.ts';
import type { LinearProgram } from './types.ts';

/** Steps for following filters, and terms for multiplying them: about a second at most. */
const mostSteps = 2_000_000;
const mostTerms = 4_000_000;

const known = new WeakMap<StreamGraph, LinearProgram>();

/** See `collapseLinear`. */
export function linearProgram(graph: StreamGraph): LinearProgram {
  return withGraph(graph, () => {
    const made = known.get(graph) ?? collapsed(graph);
    // Others may change meanwhile.
    if (isTrusted(graph)) known.set(graph, made);
    return made;
  });
}

const reordered = new WeakMap<StreamGraph, StreamGraph>();

/** The program of {@link linearProgram} in which sums of floats may be made in another order, where a filter keeps floats. */
export function algebraicProgram(graph: StreamGraph): LinearProgram {
  const made = linearProgram(graph);
  const isReal = (type: IrType): boolean =>
    (type.kind === 'array' ? isReal(type.element) : type.kind === 'scalar' && type.name === 'float');
  const keepsFloats = made.graph.nodes.some((node) => node.kind === 'filter'
    && node.code.state.some(({ role, type }) => role === 'state' && isReal(type)));
  if (!keepsFloats) return made;
  let found = reordered.get(made.graph);
  if (found === undefined) {
    found = { ...made.graph, reorders: true };
    if (isTrusted(made.graph)) reordered.set(made.graph, trusted(found));
  }
  return { ...made, graph: found };
}

function collapsed(graph: StreamGraph): LinearProgram {
  const unchanged = { graph, filters: [] };
  const hasOrder = graph.portals.length > 0 || graph.nodes.some(isDynamic) || graph.nodes.some(drawsNumbers);
  if (hasOrder || (graph.missing ?? []).length > 0 || severalPrinters(graph).length > 0) return unchanged;
  const plan = planOf(graph);
  if (plan === undefined) return unchanged;
  const follow = following({ left: mostSteps });
  const firings = repetitions(sdfOf(graph));
  const work = workOf(graph, plan, follow);
  const costs = { graph, repetitions: firings, operations: work.operations };
  const choice = new Chooser(costs, follow, { left: mostTerms }).choose();
  return isWorth(graph, choice, work) ?? unchanged;
}

/** The program with what was chosen; undefined if that leaves more to do than exact savings alone. */
function isWorth(graph: StreamGraph, choice: Choice, before: Work): LinearProgram | undefined {
  const regions = regionsOf(choice);
  if (regions.length === 0) return undefined;
  const { graph: made, names } = rebuilt(graph, choice);
  const plan = planOf(made);
  if (plan === undefined) return undefined;
  const after = workOf(made, plan, following({ left: mostSteps }));
  // Equal nodes that read from equal nodes are one only while those are.
  if (!(sum(after.operations) < sum(before.operations)) || after.others > before.others) return undefined;
  const filters = regions.map((region) => ({
    node: names.get(region) ?? '', replaces: region.nodes.map((id) => elementAt(graph.nodes, id).name),
    pop: region.linear.pop, peek: region.linear.peek, push: region.linear.rows.length, before: region.before, after: region.after,
  }));
  return { graph: trusted(made), filters };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

function drawsNumbers(node: GraphNode): boolean {
  return node.kind === 'filter'
    && bodiesOf(node.code).some((body) => evaluatesSome(body, (e) => e.kind === 'math' && e.name === 'random'));
}

function planOf(graph: StreamGraph): ProgramPlan | undefined {
  try {
    return planProgram(graph);
  } catch (error) {
    if (error instanceof UnsupportedProgram || error instanceof ScheduleError) return undefined;
    throw error;
  }
}

/** What a program does in a steady state, after exact savings. */
interface Work {
  /** By node: operations on items of linear filters. */
  readonly operations: readonly number[];
  /** Firings of all other filters. */
  readonly others: number;
}

function workOf(graph: StreamGraph, plan: ProgramPlan, follow: (code: FilterCode) => Followed | undefined): Work {
  const operations = graph.nodes.map(() => 0);
  let others = 0;
  for (const node of plan.graph.nodes) {
    const origin = plan.origins[node.id];
    if (node.kind !== 'filter' || origin === undefined) continue;
    const codes = firingCodes(plan, node);
    const each = elementAt(plan.steady.repetitions, node.id) / codes.length;
    for (const code of codes) {
      if (code === undefined) continue;
      const found = follow(code);
      if (found === undefined) others += each;
      else operations[origin] = elementAt(operations, origin) + each * found.operations;
    }
  }
  return { operations, others };
}
