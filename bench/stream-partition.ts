// The figures of scheduling: gap of the heuristic to the ILP, times of both, and software pipelines at 16 and 132 multiprocessors. Rows:
//   stream/partition/<program>/gap        heuristic interval over the ILP's, less 1; peers: clusters alone (Algorithms 3 and 4)
//   stream/partition/<program>/ilp        seconds of the task-partition ILP; peer: heuristic
//   stream/pipeline/16/<program>          gap of the schedule ILP to the lower bound, with seconds in the note
//   stream/pipeline/132/<program>         gap of the scalable scheduler, with the unrolling in the note
//   stream/partition/all/…                mean and worst gap; seconds of both for all programs together
//   stream/hybrid/132/<program>           interval of the whole plan for 4 cores and 132 multiprocessors over its partition's, less 1
import {
  partitionTasks, partitionTasksByIlp, pipelineByIlp, planHybrid, schedulePipeline, unroll, unrollFactor, validatePartition,
  validatePipeline, type Pipeline, type PipelineProblem, type TaskProblem,
} from '../lib/stream/partition/index.ts';
import { Solver } from '../lib/stream/schedule/solver.ts';
import type { SdfGraph } from '../lib/stream/sdf.ts';
import type { HostContext } from './domain.ts';
import type { Row } from './report.ts';
import { hybridProblem, madeUpCosts, pricedPrograms, taskProblem, type PricedProgram } from './stream-programs.ts';

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
  /** Intervals of both, and on which side they place each actor. */
  readonly interval: number;
  readonly ilpInterval: number;
  readonly onGpu: Readonly<Record<'heuristic' | 'ilp', readonly boolean[]>>;
  readonly clustersGap: number;
  /** The heuristic's interval over its own lower bound, less 1. */
  readonly certifiedGap: number;
  readonly isProven: boolean;
}

function sound(faults: readonly string[], what: string): void {
  if (faults.length > 0) throw new Error(`${what}: ${faults.join('; ')}`);
}

/** Partitions each problem in three ways and checks all of them. `seconds`: those that an ILP may take. */
export async function measurePartitions(tasks: readonly NamedTask[], seconds = 60): Promise<PartitionFigure[]> {
  await using solver = new Solver();
  const figures: PartitionFigure[] = [];
  for (const { name, problem } of tasks) {
    const watch = stopwatch();
    const heuristic = partitionTasks(problem);
    const byHeuristic = watch();
    const clusters = partitionTasks(problem, { onlyClusters: true });
    const ilpWatch = stopwatch();
    const exact = await partitionTasksByIlp(problem, { solver, seconds });
    const byIlp = ilpWatch();
    for (const found of [heuristic, clusters, exact]) sound(validatePartition(problem, found), name);
    const over = (interval: number, least: number): number => least > 0 ? interval / least - 1 : 0;
    figures.push({
      name, actors: problem.graph.actors.length, ilp: byIlp, heuristic: byHeuristic, isProven: exact.isProven,
      interval: heuristic.interval, ilpInterval: exact.interval, onGpu: { heuristic: heuristic.onGpu, ilp: exact.onGpu },
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

/** One program's plan for cores and multiprocessors. */
export interface HybridFigure {
  readonly name: string;
  readonly multiprocessors: number;
  /** Interval over what the partition's loads allow, less 1: what whole instances cost. */
  readonly packing: number;
  readonly seconds: number;
  readonly steadyStates: number;
  readonly onGpu: number;
  readonly actors: number;
  readonly depth: number;
  readonly deviceBytes: number;
}

/** Partition, stages and instances chained, data on the host. Too large to be followed item by item: tests do that with small instances. */
export function measureHybrids(programs: readonly PricedProgram[], multiprocessors: number, seed: number): HybridFigure[] {
  return programs.map((program) => {
    const problem = hybridProblem(program, multiprocessors, seed);
    const watch = stopwatch();
    const { interval, partitionInterval, steadyStates, onGpu, depth, deviceBytes } = planHybrid(problem);
    return {
      name: program.name, multiprocessors, packing: interval / partitionInterval - 1, seconds: watch().wall, steadyStates,
      onGpu: onGpu.filter(Boolean).length, actors: onGpu.length, depth, deviceBytes,
    };
  });
}

/** Rows of a report. */
export function hybridRows(figures: readonly HybridFigure[], prefix = 'stream/hybrid'): Row[] {
  return figures.map((figure): Row => ({
    id: `${prefix}/${figure.multiprocessors}/${figure.name}`, value: figure.packing, unit: 'ratio', spread: 0,
    note: `${figure.onGpu} of ${figure.actors} actors on the GPU, ${figure.steadyStates} steady states, ${figure.depth} launches deep, `
      + `${(figure.deviceBytes / 1e6).toFixed(1)} MB on the device, ${figure.seconds.toFixed(2)} s`,
  }));
}

function check(problem: PipelineProblem, pipeline: Pipeline): string[] {
  return validatePipeline(problem.graph, { ...pipeline, tokens: problem.tokens, delays: problem.delays });
}

/** The graph with each actor's whole steady state as one firing, as the note's models have it: one instance per node. */
export function oneInstancePerActor({ graph, steady }: Pick<PricedProgram, 'graph' | 'steady'>): SdfGraph {
  return {
    actors: graph.actors,
    channels: graph.channels.map((channel) => {
      const items = steady.repetitions[channel.from]! * channel.push;
      return { ...channel, push: items, pop: items, peek: items + channel.peek - channel.pop };
    }),
  };
}

/** Pipelining problems of the programs. Fine: the instances of a steady state; else one per node. */
export function pipelineProblems(programs: readonly PricedProgram[], processors: number, seed: number, isFine: boolean): NamedPipeline[] {
  return programs.map((program) => {
    const { gpu, cpu } = madeUpCosts(program, seed);
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

/** Partitioning problems of the programs. */
export function taskProblems(programs: readonly PricedProgram[], seed: number): NamedTask[] {
  return programs.map((program) => ({ name: program.name, problem: taskProblem(program, seed) }));
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

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** All programs together. */
export function partitionSummary(figures: readonly PartitionFigure[], prefix = 'stream/partition/all'): Row[] {
  const total = (of: (figure: PartitionFigure) => number): number => figures.reduce((sum, figure) => sum + of(figure), 0);
  const gaps = figures.map(({ gap }) => gap), clusters = figures.map(({ clustersGap }) => clustersGap);
  return [
    { id: `${prefix}/mean-gap`, value: mean(gaps), unit: 'ratio', spread: 0, peers: { clusters: mean(clusters), thesis: 0.0905 } },
    { id: `${prefix}/worst-gap`, value: Math.max(...gaps), unit: 'ratio', spread: 0,
      peers: { clusters: Math.max(...clusters), thesis: 0.224 } },
    { id: `${prefix}/heuristic`, value: total(({ heuristic }) => heuristic.cpu), unit: 's', spread: 0, peers: { thesis: 35.9 } },
    { id: `${prefix}/ilp`, value: total(({ ilp }) => ilp.cpu), unit: 's', spread: 0, peers: { thesis: 2379 },
      note: `${figures.filter(({ isProven }) => isProven).length} of ${figures.length} proven; by the clock ${
        total(({ ilp }) => ilp.wall).toFixed(1)} s` },
  ];
}

/** `npm run bench -- stream --partition`: the figures of scheduling over the twelve programs. */
export async function benchmarkPartition({ emit, quick }: HostContext): Promise<void> {
  const all = await pricedPrograms();
  const programs = quick ? all.slice(0, 2) : all;
  const partitions = await measurePartitions(taskProblems(programs, 1));
  for (const row of [...partitionRows(partitions), ...partitionSummary(partitions)]) emit(row);
  for (const row of pipelineRows(await measureScheduleIlp(pipelineProblems(programs, 16, 1, false), quick ? 5 : 60))) emit(row);
  for (const row of pipelineRows(measureScalable(pipelineProblems(programs, 132, 1, false)))) emit(row);
  for (const row of hybridRows(measureHybrids(programs, 132, 1))) emit(row);
}
