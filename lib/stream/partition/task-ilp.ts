// The task-partitioning ILP of section 4.5.1, equations (4.1) to (4.12), solved by HiGHS.
import { elementAt } from '../../core/known.ts';
import { snapshot } from '../../core/snapshot.ts';
import { LinearModel, type Term } from '../schedule/lp.ts';
import { solveChecks, Solver, type SolveOptions } from '../schedule/solver.ts';
import { peekingActors } from './costs.ts';
import { partitionTasks } from './heuristic.ts';
import { fixedActors, partitionLoads, taskTables, type TaskPartition, type TaskProblem } from './task.ts';
import { rule } from '../../core/checks.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { requireFields } from '../require.ts';

/** A model, and the variables of its placements. Times are divided by `scale`. */
interface TaskModel {
  readonly model: LinearModel;
  /** Variable gpu_v of each actor. */
  readonly onGpu: readonly number[];
}

/** Writes the constraints of one channel; returns its variables tran, and shuf with deshuf. */
function addChannel(model: LinearModel, [u, v]: readonly [number, number], peeks: readonly [boolean, boolean],
  times: { toCpu: number; toGpu: number; shuffle: number; deshuffle: number }): { tran: number; shuffles: number[] } {
  const tran = model.variable('continuous');
  // x ≥ (±gpu_u ±gpu_v + shift) · time
  const atLeast = (variable: number, signs: readonly [number, number], shift: number, time: number): void => {
    if (time > 0) model.constrain([[1, variable], [-signs[0] * time, u], [-signs[1] * time, v]], '>=', shift * time);
  };
  atLeast(tran, [1, -1], 0, times.toCpu); // (4.2)
  atLeast(tran, [-1, 1], 0, times.toGpu); // (4.3)
  const [deshuffle, shuffle] = [model.variable('continuous'), model.variable('continuous')];
  if (!peeks[0]) atLeast(deshuffle, [1, -1], 0, times.deshuffle); // (4.5)
  if (peeks[1] && !peeks[0]) atLeast(deshuffle, [1, 1], -1, times.deshuffle); // (4.6)
  if (!peeks[1]) atLeast(shuffle, [-1, 1], 0, times.shuffle); // (4.7)
  if (peeks[0] && !peeks[1]) atLeast(shuffle, [1, 1], -1, times.shuffle); // (4.8)
  return { tran, shuffles: [deshuffle, shuffle] };
}

/** The model of a problem, its times divided by `scale`; the interval may not exceed `most`. */
export function taskModel(problem: TaskProblem, scale: number, most: number): TaskModel {
  const { graph, repetitions, costs, cores, multiprocessors } = problem;
  const model = new LinearModel();
  const interval = model.variable('continuous', most / scale);
  const fixed = fixedActors(problem);
  const onGpu = graph.actors.map(({ id }) => model.variable('binary', fixed[id] ? 0 : 1)); // (4.1)
  const peeks = peekingActors(graph);
  const dma: Term[] = [], gpu: Term[] = [], cpu: Term[] = [];
  for (const { id, from, to } of graph.channels) {
    if (from === to) continue;
    const ends = [elementAt(onGpu, from), elementAt(onGpu, to)] as const;
    const { tran, shuffles } = addChannel(model, ends, [elementAt(peeks, from), elementAt(peeks, to)], {
      toCpu: elementAt(costs.toCpu, id) / scale, toGpu: elementAt(costs.toGpu, id) / scale,
      shuffle: elementAt(costs.shuffle, id) / scale, deshuffle: elementAt(costs.deshuffle, id) / scale,
    });
    dma.push([-1, tran]); // (4.4)
    gpu.push(...shuffles.map((variable): Term => [-1 / multiprocessors, variable])); // (4.9)
  }
  let allCpu = 0;
  for (const { id } of graph.actors) {
    const onCore = elementAt(repetitions, id) * elementAt(costs.cpu, id) / cores / scale;
    allCpu += onCore;
    cpu.push([onCore, elementAt(onGpu, id)]);
    if (!fixed[id]) gpu.push([-elementAt(repetitions, id) * elementAt(costs.gpu, id) / multiprocessors / scale, elementAt(onGpu, id)]);
  }
  if (dma.length > 0) model.constrain([[1, interval], ...dma], '>=', 0); // (4.10)
  model.constrain([[1, interval], ...gpu], '>=', 0); // (4.11)
  model.constrain([[1, interval], ...cpu], '>=', allCpu); // (4.12)
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
  if (start.interval === 0) return { ...start, isProven: true, seconds: 0 };
  const { model, onGpu } = taskModel(problem, start.interval, start.interval * (1 + 1e-6));
  const solver = options.solver ?? new Solver();
  try {
    const { status, values, seconds } = await solver.solve(model, { seconds: options.seconds, signal: options.signal, gap });
    const fixed = taskTables(problem).fixed;
    const placed = values.length > 0 ? onGpu.map((variable, actor) => !fixed[actor] && elementAt(values, variable) > 0.5) : start.onGpu;
    const loads = partitionLoads(problem, placed);
    const best = loads.interval <= start.interval ? { onGpu: placed, ...loads } : start;
    const isProven = status === 'optimal';
    return { ...best, bound: isProven ? Math.max(start.bound, best.interval * (1 - gap - 1e-6)) : start.bound, isProven, seconds };
  } finally {
    if (!options.solver) await solver[Symbol.asyncDispose]();
  }
}
