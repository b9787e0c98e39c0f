// The figures of scheduling: gap of the heuristic to the ILP, times of both, and software pipelines at 16 and 132 multiprocessors.
// Each function takes programs, so that elaborated ones can take the place of the synthetic shapes. Ids of rows:
//   stream/partition/<program>/gap        heuristic interval over the ILP's, less 1; peers: clusters alone (Algorithms 3 and 4)
//   stream/partition/<program>/ilp        seconds of the task-partition ILP; peer: heuristic
//   stream/pipeline/16/<program>          gap of the schedule ILP to the lower bound, with seconds in the note
//   stream/pipeline/132/<program>         gap of the scalable scheduler, with the unrolling in the note
import {
  intervalBounds, partitionTasks, partitionTasksByIlp, pipelineByIlp, schedulePipeline, unroll, unrollFactor, validatePartition,
  validatePipeline, type Pipeline, type PipelineProblem, type TaskProblem,
} from '../lib/stream/partition/index.ts';
import { Solver } from '../lib/stream/schedule/solver.ts';
import type { SdfGraph } from '../lib/stream/sdf.ts';
import type { Row } from './report.ts';
import { syntheticCosts, syntheticPrograms, syntheticTask, type SyntheticProgram } from './stream-shapes.ts';

/** A partitioning problem with the name of its program. */
export interface NamedTask { readonly name: string; readonly problem: TaskProblem }
/** A pipelining problem with the name of its program. */
export interface NamedPipeline { readonly name: string; readonly problem: PipelineProblem }

/** Seconds by the clock, and of all threads of this process together (what counts on a machine that others use). */
export interface Spent { readonly wall: number; readonly cpu: number }

function stopwatch(): () => Spent {
  const start = performance.now(), used = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(used);
    return { wall: (performance.now() - start) / 1000, cpu: (user + system) / 1e6 };
  };
}

/** One program's partitions. Times and gaps to the ILP's interval. */
export interface PartitionFigure {
  readonly name: string;
  readonly actors: number;
  readonly ilp: Spent;
  readonly heuristic: Spent;
  readonly gap: number;
  readonly clustersGap: number;
  /** The heuristic's interval over its own lower bound, less 1. */
  readonly certifiedGap: number;
  readonly isProven: boolean;
}

function sound(faults: readonly string[], what: string): void {
  if (faults.length > 0) throw new Error(`${what}: ${faults.join('; ')}`);
}

/** Partitions each problem in three ways and checks all of them. */
export async function measurePartitions(tasks: readonly NamedTask[]): Promise<PartitionFigure[]> {
  await using solver = new Solver();
  const figures: PartitionFigure[] = [];
  for (const { name, problem } of tasks) {
    const watch = stopwatch();
    const heuristic = partitionTasks(problem);
    const byHeuristic = watch();
    const clusters = partitionTasks(problem, { onlyClusters: true });
    const ilpWatch = stopwatch();
    const exact = await partitionTasksByIlp(problem, { solver, seconds: 60 });
    const byIlp = ilpWatch();
    for (const found of [heuristic, clusters, exact]) sound(validatePartition(problem, found), name);
    const over = (interval: number, least: number): number => least > 0 ? interval / least - 1 : 0;
    figures.push({
      name, actors: problem.graph.actors.length, ilp: byIlp, heuristic: byHeuristic, isProven: exact.isProven,
      gap: over(heuristic.interval, exact.interval), clustersGap: over(clusters.interval, exact.interval),
      certifiedGap: over(heuristic.interval, heuristic.bound),
    });
  }
  return figures;
}

/** One program's pipeline. */
export interface PipelineFigure {
  readonly name: string;
  readonly processors: number;
  readonly instances: number;
  readonly spent: Spent;
  /** Interval over the lower bound of the iteration that was scheduled, less 1. Undefined: no schedule in time. */
  readonly gap: number | undefined;
  /** How often the iteration was unrolled. */
  readonly unroll: number;
}

/** The chapter-3 ILP, for the problem unrolled until no instance dominates. */
export async function measureScheduleIlp(problems: readonly NamedPipeline[], seconds = 60): Promise<PipelineFigure[]> {
  await using solver = new Solver();
  const figures: PipelineFigure[] = [];
  for (const { name, problem } of problems) {
    const times = unrollFactor(problem);
    const unrolled = unroll(problem, times);
    const watch = stopwatch();
    const { pipeline, bounds: found } = await pipelineByIlp(unrolled, {
      solver, seconds, secondsPerInterval: seconds / 3, strategy: 'improve',
    });
    if (pipeline) sound(check(unrolled, pipeline), name);
    figures.push({
      name, processors: problem.processors, instances: unrolled.repetitions.reduce((sum, count) => sum + count, 0), spent: watch(),
      gap: pipeline && pipeline.interval / found.bound - 1, unroll: times,
    });
  }
  return figures;
}

/** The scalable scheduler, whose gap is to max(ResMII, RecMII). */
export function measureScalable(problems: readonly NamedPipeline[]): PipelineFigure[] {
  return problems.map(({ name, problem }) => {
    const watch = stopwatch();
    const { pipeline, problem: unrolled, unroll: times, gap } = schedulePipeline(problem, { target: 0.01, maxUnroll: 1024 });
    const spent = watch();
    sound(check(unrolled, pipeline), name);
    const instances = unrolled.repetitions.reduce((sum, count) => sum + count, 0);
    return { name, processors: problem.processors, instances, spent, gap, unroll: times };
  });
}

function check(problem: PipelineProblem, pipeline: Pipeline): string[] {
  return validatePipeline(problem.graph, { ...pipeline, tokens: problem.tokens, delays: problem.delays });
}

/** The graph with each actor's whole steady state as one firing, as the note's models have it: one instance per node. */
export function oneInstancePerActor({ graph, steady }: Pick<SyntheticProgram, 'graph' | 'steady'>): SdfGraph {
  return {
    actors: graph.actors,
    channels: graph.channels.map((channel) => {
      const items = steady.repetitions[channel.from]! * channel.push;
      return { ...channel, push: items, pop: items, peek: items + channel.peek - channel.pop };
    }),
  };
}

/** Pipelining problems of the synthetic programs. Many instances: those of a steady state; else one per node. */
export function syntheticPipelines(processors: number, seed: number, isFine: boolean): NamedPipeline[] {
  return syntheticPrograms().map((program) => {
    const { gpu, cpu } = syntheticCosts(program, seed);
    const delay = gpu.map((time, id) => time === Infinity ? cpu[id]! : time);
    // On one kind of processor there is nothing to fix: state is left out, as in chapter 3.
    const free = (graph: SdfGraph): SdfGraph => ({ ...graph, actors: graph.actors.map((actor) => ({ ...actor, stateful: false })) });
    const { repetitions, residual } = program.steady;
    const problem = isFine ? { graph: free(program.graph), repetitions, delays: delay } : {
      graph: free(oneInstancePerActor(program)), repetitions: repetitions.map(() => 1),
      delays: delay.map((time, id) => time * repetitions[id]!),
    };
    return { name: program.name, problem: { ...problem, tokens: residual, processors } };
  });
}

/** Partitioning problems of the synthetic programs. */
export function syntheticTasks(seed: number): NamedTask[] {
  return syntheticPrograms().map((program) => ({ name: program.name, problem: syntheticTask(program, seed) }));
}

/** Rows of a report. */
export function partitionRows(figures: readonly PartitionFigure[], prefix = 'stream/partition'): Row[] {
  return figures.flatMap(({ name, gap, clustersGap, ilp, heuristic }): Row[] => [
    { id: `${prefix}/${name}/gap`, value: gap, unit: 'ratio', spread: 0, peers: { clusters: clustersGap } },
    { id: `${prefix}/${name}/ilp`, value: ilp.wall, unit: 's', spread: 0, peers: { heuristic: heuristic.wall } },
  ]);
}

/** Rows of a report; a program without a schedule has none. */
export function pipelineRows(figures: readonly PipelineFigure[], prefix = 'stream/pipeline'): Row[] {
  return figures.flatMap(({ name, processors, gap, spent, unroll: times, instances }): Row[] => gap === undefined ? [] : [{
    id: `${prefix}/${processors}/${name}`, value: gap, unit: 'ratio', spread: 0,
    note: `${instances} instances, unrolled ${times}×, ${spent.wall.toFixed(2)} s`,
  }]);
}

/** Bound of each problem, for tables. */
export function bounds(problems: readonly NamedPipeline[]): Record<string, number> {
  return Object.fromEntries(problems.map(({ name, problem }) => [name, intervalBounds(problem).bound]));
}
