// The task-partitioning ILP of section 4.5.1, equations (4.1) to (4.12), with RecMII and the longest instance, solved by HiGHS.
import { elementAt } from '../../core/known.ts';
import { snapshot } from '../../core/snapshot.ts';
import { LinearModel, type Term } from '../schedule/lp.ts';
import { solveChecks, Solver, type SolveOptions } from '../schedule/solver.ts';
import { orderedActors } from './costs.ts';
import { partitionTasks } from './heuristic.ts';
import { leastInterval, partitionLoads, taskTables, type TaskPartition, type TaskProblem, type TaskTables } from './task.ts';
import { rule } from '../../core/checks.ts';
import { briefly } from '../../core/display.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { requireFields } from '../require.ts';

/** A model, and the variables of its placements. Times are divided by `scale`. */
interface TaskModel {
  readonly model: LinearModel;
  /** Variable gpu_v of each actor. */
  readonly onGpu: readonly number[];
}

/** Writes the constraints of one channel; returns its variables tran (by direction), and shuf with deshuf. */
function addChannel(model: LinearModel, [u, v]: readonly [number, number], ordered: readonly [boolean, boolean], isDuplex: boolean,
  times: { toCpu: number; toGpu: number; shuffle: number; deshuffle: number }) {
  const toCpu = model.variable('continuous');
  const toGpu = isDuplex ? model.variable('continuous') : toCpu;
  // x ≥ (±gpu_u ±gpu_v + shift) · time
  const atLeast = (variable: number, signs: readonly [number, number], shift: number, time: number): void => {
    if (time > 0) model.constrain([[1, variable], [-signs[0] * time, u], [-signs[1] * time, v]], '>=', shift * time);
  };
  atLeast(toCpu, [1, -1], 0, times.toCpu); // (4.2)
  atLeast(toGpu, [-1, 1], 0, times.toGpu); // (4.3)
  const [deshuffle, shuffle] = [model.variable('continuous'), model.variable('continuous')];
  if (!ordered[0]) atLeast(deshuffle, [1, -1], 0, times.deshuffle); // (4.5)
  if (ordered[1] && !ordered[0]) atLeast(deshuffle, [1, 1], -1, times.deshuffle); // (4.6)
  if (!ordered[1]) atLeast(shuffle, [-1, 1], 0, times.shuffle); // (4.7)
  if (ordered[0] && !ordered[1]) atLeast(shuffle, [1, 1], -1, times.shuffle); // (4.8)
  return { toCpu, toGpu, shuffles: [deshuffle, shuffle] };
}

/** Instances longer than what the interval is anyhow: none may wrap around, wherever it is placed. */
function addLongest(model: LinearModel, interval: number, onGpu: readonly number[], tables: TaskTables, scale: number): void {
  const least = leastInterval(tables);
  onGpu.forEach((variable, id) => {
    const [cpu, gpu] = [elementAt(tables.instanceCpu, id), elementAt(tables.instanceGpu, id)];
    if (cpu > least) model.constrain([[1, interval], [cpu / scale, variable]], '>=', cpu / scale);
    if (gpu > least) model.constrain([[1, interval], [-gpu / scale, variable]], '>=', 0);
  });
}

/** The model of a problem, its times divided by `scale`; the interval may not exceed `most`. */
export function taskModel(problem: TaskProblem, tables: TaskTables, scale: number, most: number): TaskModel {
  const { graph, repetitions, tokens, costs, multiprocessors } = problem;
  const model = new LinearModel();
  const interval = model.variable('continuous', most / scale, Math.min(most, leastInterval(tables)) / scale);
  const onGpu = graph.actors.map(({ id }) => model.variable('binary', tables.fixed[id] ? 0 : 1)); // (4.1)
  const ordered = orderedActors(graph, tokens, repetitions);
  const toCpu: Term[] = [], toGpu: Term[] = [], gpu: Term[] = [], cpu: Term[] = [];
  for (const { id, from, to } of graph.channels) {
    if (from === to) continue;
    const ends = [elementAt(onGpu, from), elementAt(onGpu, to)] as const;
    const made = addChannel(model, ends, [elementAt(ordered, from), elementAt(ordered, to)], tables.isDuplex, {
      toCpu: elementAt(costs.toCpu, id) / scale, toGpu: elementAt(costs.toGpu, id) / scale,
      shuffle: elementAt(costs.shuffle, id) / scale, deshuffle: elementAt(costs.deshuffle, id) / scale,
    });
    toCpu.push([-1, made.toCpu]); // (4.4); both directions in one variable unless each has its own link
    toGpu.push([-1, made.toGpu]);
    gpu.push(...made.shuffles.map((variable): Term => [-1 / multiprocessors, variable])); // (4.9)
  }
  let allCpu = 0;
  for (const { id } of graph.actors) {
    const onCores = elementAt(tables.cpu, id) / scale;
    allCpu += onCores;
    cpu.push([onCores, elementAt(onGpu, id)]);
    if (!tables.fixed[id]) gpu.push([-elementAt(tables.gpu, id) / scale, elementAt(onGpu, id)]);
  }
  for (const dma of tables.isDuplex ? [toCpu, toGpu] : [toCpu]) {
    if (dma.length > 0) model.constrain([[1, interval], ...dma], '>=', 0); // (4.10)
  }
  model.constrain([[1, interval], ...gpu], '>=', 0); // (4.11)
  model.constrain([[1, interval], ...cpu], '>=', allCpu); // (4.12)
  addLongest(model, interval, onGpu, tables, scale);
  model.minimise([[1, interval]]);
  return { model, onGpu };
}

/** A partition by the ILP. */
export interface IlpPartition extends TaskPartition {
  /** True: the solver proved optimality (up to its gap). False: `bound` is that of the relaxation. */
  readonly isProven: boolean;
  /** Seconds in the solver. */
  readonly seconds: number;
}

/** Options of {@link partitionTasksByIlp}. */
export interface TaskIlpOptions extends SolveOptions {
  /** A solver to reuse. */
  readonly solver?: Solver;
}

const ilpOptions = optionsOf('stream.partitionTasksByIlp', {
  ...solveChecks, gap: normally(solveChecks.gap, 1e-4), solver: rule('a Solver', (value) => value instanceof Solver),
} satisfies ChecksOf<TaskIlpOptions>);

/**
 * The optimal partition. Starts with the heuristic's interval as a cut-off, so the answer is never worse than {@link partitionTasks}; its
 * loads are computed here, not taken from the solver. Options: limits of the solve (default gap here 1e-4), and a solver to reuse. Throws
 * ArgumentError for invalid problems and UnavailableError without HiGHS.
 */
export async function partitionTasksByIlp(given: TaskProblem, wanted: TaskIlpOptions = {}): Promise<IlpPartition> {
  requireFields('problem', given, 'a problem with graph and costs');
  const { gap, ...options } = ilpOptions.read(wanted);
  const problem = snapshot(given);
  const start = partitionTasks(problem);
  if (start.interval === 0) return briefly('IlpPartition', { ...start, isProven: true, seconds: 0 });
  const tables = taskTables(problem);
  const { model, onGpu } = taskModel(problem, tables, start.interval, start.interval * (1 + 1e-6));
  const solver = options.solver ?? new Solver();
  try {
    const { status, values, seconds } = await solver.solve(model, { seconds: options.seconds, signal: options.signal, gap });
    const placed = values.length === 0 ? start.onGpu
      : onGpu.map((variable, actor) => !tables.fixed[actor] && elementAt(values, variable) > 0.5);
    const loads = partitionLoads(problem, placed);
    const best = loads.interval <= start.interval ? { onGpu: placed, ...loads } : start;
    const isProven = status === 'optimal';
    const bound = isProven ? Math.max(start.bound, best.interval * (1 - gap - 1e-6)) : start.bound;
    return briefly('IlpPartition', { ...best, bound, isProven, seconds });
  } finally {
    if (!options.solver) await solver[Symbol.asyncDispose]();
  }
}
