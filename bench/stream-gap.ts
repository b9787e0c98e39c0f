// The partition heuristic beside the ILP of section 4.5.1, on the programs' plans for the device and its host with measured costs. Rows:
//   stream/<program>/ilp-gap     interval (II) of the heuristic over the ILP's, less 1 (Table 4.4); peer: Algorithms 3 and 4 as in the
//                                thesis alone; figures: seconds that both take, and their intervals
//   stream/<program>/ilp-gap-16  the same for the 4 cores and 16 multiprocessors of the thesis (Table 4.3)
//   stream/all/ilp-gap-mean, …/ilp-gap-worst   of the programs whose costs are all measured; peer: the thesis
// Costs of filters: on a core by `profile` with wasm, on a multiprocessor by Algorithm 1; those of copies are measured for the device,
// those of shuffles counted. A device cannot be asked about programs with state: its costs are counted then.
import { availableParallelism } from 'node:os';
import type { BenchmarkProgram } from '../examples/stream/programs.ts';
import type { StreamGraph } from '../lib/stream/graph.ts';
import { partitionTasks, planHybrid, type TaskPartition, type TaskProblem } from '../lib/stream/partition/index.ts';
import { profile } from '../lib/stream/profile/index.ts';
import { planHybridFor } from '../lib/stream/run/hybrid.ts';
import { isUnsupported, type BenchContext } from './domain.ts';
import type { Row } from './report.ts';
import { measurePartitions } from './stream-partition.ts';
import { profileInput } from './stream-programs.ts';
import { profileFor } from './stream-tables.ts';

/** A program's row, and the nodes that either partition has on the device. */
export interface GapRow { readonly row: Row; readonly onDevice?: Partitions }
/** Nodes on the device by the heuristic's partition and by the ILP's. */
export type Partitions = Readonly<Record<'heuristic' | 'ilp', ReadonlySet<number>>>;

/** Cores and multiprocessors that are planned for: all, or as many as the thesis had at most. */
export type GapShape = 'all' | 'thesis';
/** Those of the thesis. */
export const thesisShape = { cores: 4, processors: 16 };

/** The thesis's shape as far as the machine has so much. */
export function shapeFor({ device }: BenchContext, shape: GapShape): Partial<typeof thesisShape> {
  const { multiprocessors } = device.description;
  return shape === 'all' ? {}
    : { cores: Math.min(thesisShape.cores, availableParallelism()), processors: Math.min(thesisShape.processors, multiprocessors || 1) };
}

const shuffleItems = 1024;
/** How the note ends of a row whose costs are not all measured. */
const counted = '; costs on the device counted';

/** The partitioning problem of the iteration that the program's plan has. */
async function taskOf(
  context: BenchContext, program: BenchmarkProgram, graph: StreamGraph, shape: GapShape,
): Promise<{ problem: TaskProblem; isMeasured: boolean; placed: (sides: readonly boolean[]) => ReadonlySet<number> }> {
  const { device, quick } = context;
  const input = profileInput(program);
  const { microseconds: costs } = await profile(graph, { backend: 'wasm', input, ...(quick ? { seconds: 1e-4 } : {}) });
  const measured = await profileFor(context, graph, { layout: 'warp' }).catch((error: unknown) => {
    if (isUnsupported(error)) return undefined;
    throw error;
  });
  const short = quick ? { launchMicroseconds: 0 } : {};
  const { problem, plan, program: { nodes } } = await planHybridFor(graph, device, {
    mode: 'synergistic', costs, profile: measured, shuffleItems, ...shapeFor(context, shape), ...short,
  });
  const tasks: TaskProblem[] = [];
  const planned = (partition: (task: TaskProblem) => TaskPartition) => planHybrid(problem, {
    width: plan.width, shuffleItems: plan.shuffleItems, minSteadyStates: plan.steadyStates, partition,
  });
  planned((task) => {
    tasks.push(task);
    return partitionTasks(task);
  });
  const placed = (sides: readonly boolean[]): ReadonlySet<number> => {
    const { onGpu } = planned((task) => ({ ...partitionTasks(task), onGpu: sides }));
    return new Set(nodes.filter((node, actor) => node !== undefined && onGpu[actor]) as number[]);
  };
  return { problem: tasks.at(-1)!, isMeasured: measured !== undefined, placed };
}

/** The row of a program. */
export async function gapRow(
  context: BenchContext, program: BenchmarkProgram, graph: StreamGraph, shape: GapShape = 'all',
): Promise<GapRow> {
  const { name } = program;
  const { problem, isMeasured, placed } = await taskOf(context, program, graph, shape);
  const [found] = await measurePartitions([{ name, problem }], context.quick ? 10 : 60);
  const { gap, clustersGap, certifiedGap, ilp, heuristic, isProven, actors, interval, ilpInterval, onGpu } = found!;
  return { ...(shape === 'all' ? { onDevice: { heuristic: placed(onGpu.heuristic), ilp: placed(onGpu.ilp) } } : {}), row: {
    id: `stream/${name}/ilp-gap${shape === 'all' ? '' : '-16'}`, value: gap, unit: 'ratio', spread: 0, peers: { clusters: clustersGap },
    figures: { ilp: ilp.wall, heuristic: heuristic.wall, ilpInterval: ilpInterval / 1e6, interval: interval / 1e6 },
    note: `${actors} actors, ${problem.cores} of ${availableParallelism()} cores, ${problem.multiprocessors} multiprocessors; ${
      isProven ? 'ILP proven' : 'ILP not proven in time'}, heuristic ${(100 * certifiedGap).toPrecision(3)} % above its own bound${
      isMeasured ? '' : counted}`,
  } };
}

/** What the rows `stream/<program>/ilp-gap` of a report come to, of the programs whose costs are all measured. */
export function gapSummary(all: readonly Row[]): Row[] {
  const rows = all.filter(({ id }) => id.endsWith('/ilp-gap'));
  const isMeasured = ({ note = '' }: Row): boolean => !note.endsWith(counted);
  const measured = rows.filter(isMeasured);
  if (measured.length === 0) return [];
  const of = (value: (row: Row) => number): number[] => measured.map(value);
  const gaps = of(({ value }) => value), clusters = of(({ peers }) => peers!['clusters']!);
  const mean = (list: readonly number[]): number => list.reduce((sum, value) => sum + value, 0) / list.length;
  const left = rows.filter((row) => !isMeasured(row)).map(({ id }) => id.split('/')[1]);
  const note = `${measured.length} programs, without ${left.join(', ') || 'none'}`;
  const common = { unit: 'ratio', spread: 0, constants: ['thesis'], note };
  return [
    { id: 'stream/all/ilp-gap-mean', value: mean(gaps), peers: { clusters: mean(clusters), thesis: 0.0905 }, ...common },
    { id: 'stream/all/ilp-gap-worst', value: Math.max(...gaps), peers: { clusters: Math.max(...clusters), thesis: 0.224 }, ...common },
  ];
}
