// Hybrid problems, which describe a program, CPU cores and a GPU (chapter 4), and their plans.
import { describeValue } from '../../../core/arrays.ts';
import { callback, choice, number, positive, requireCount, requireNumber, truth, whole } from '../../../core/checks.ts';
import { refusal } from '../../../core/errors.ts';
import { normally, optionsOf, type ChecksOf } from '../../../core/options.ts';
import type { SdfGraph } from '../../sdf.ts';
import { requireCounts, requireFields, requireList, requireRateGraph, requireSizes } from '../../require.ts';
import type { Contracted } from '../loops.ts';
import type { ChannelOperation, StageBuffer } from '../stages.ts';
import type { TaskPartition, TaskProblem } from '../task.ts';

/** Costs of moving items. Rates are in bytes per microsecond. */
export interface MovingCosts {
  /** Fixed microseconds of a transfer. Default 0. */
  readonly latency?: number;
  readonly toGpu: number;
  readonly toCpu: number;
  /** Rates of one multiprocessor. */
  readonly shuffle: number;
  readonly deshuffle: number;
}

/** A program, the machine, and the costs of firings on it. Lists are by actor. */
export interface HybridProblem {
  /** Rates of single firings; with `toSdf(…, { ends: true })`, input and output are transferred like other channels. */
  readonly graph: SdfGraph;
  /** Threads of an instance on a multiprocessor (`selectConfiguration`). */
  readonly threads: readonly number[];
  /** Microseconds of such an instance; Infinity: the actor cannot run there. */
  readonly gpu: readonly number[];
  /** Microseconds of one firing on a core. */
  readonly cpu: readonly number[];
  readonly moving: MovingCosts;
  readonly cores: number;
  readonly multiprocessors: number;
  /** As in {@link TaskProblem}. */
  readonly link?: 'shared' | 'duplex';
  readonly fixed?: readonly boolean[];
  /**
   * Whether actors with state may be placed on the device, too, where `gpu` is finite: it is then the time of one firing, and one
   * multiprocessor makes all firings of an iteration in order. Default false, as in the thesis.
   */
  readonly placesState?: boolean;
}

/** Options of {@link planHybrid}. */
export interface HybridOptions {
  /** Number of threads whose accesses coalesce, a warp. Default 32. */
  readonly width?: number;
  /** Items in one instance of a shuffle, a multiple of `width`; default 1024 (section 4.7). */
  readonly shuffleItems?: number;
  /** Maximum number of firings of an instance on a core; default 128, as in the thesis. An actor with state has a single instance. */
  readonly cpuFirings?: number;
  /** Minimum number of steady states in an iteration; default 1. With more of them, launches cost less. */
  readonly minSteadyStates?: number;
  /** The largest factor by which multiplicities are raised so that no instance dominates and instances pack well; default 64. */
  readonly maxUnroll?: number;
  /** Multiplicities are raised until the interval exceeds that of the partition by at most this fraction; default 0.01. */
  readonly tolerance?: number;
  /** Device memory for buffers, in bytes. Default: no limit. */
  readonly maxDeviceBytes?: number;
  /** Chooses the partition; default {@link partitionTasks}. */
  readonly partition?: (problem: TaskProblem) => Pick<TaskPartition, 'onGpu'>;
}

/** Instances `from` to `from + count − 1` of an actor, or of a shuffle or deshuffle (its place in `operations`). */
export interface HybridSlice {
  readonly kind: 'actor' | 'operation';
  readonly id: number;
  readonly from: number;
  readonly count: number;
}

/** An operation on a channel. Shuffles are cut into instances of `shuffleItems` items; a transfer is a single instance. */
export interface HybridOperation extends ChannelOperation {
  readonly instances: number;
}

/**
 * A plan. In launch l, each actor and operation does its part of iteration l − stage, unless that is negative or past the end. Barriers
 * separate launches. Actors and channels are those of `contracted.graph`. Iteration 0 follows the initialisation of the given graph, whose
 * items are in the last ring of each channel as if its producer had made them in iterations −1, −2, …
 */
export interface HybridPlan {
  readonly contracted: Contracted;
  /** Steady states of the given graph in one iteration. */
  readonly steadyStates: number;
  /** Firings of each actor in one iteration. */
  readonly repetitions: readonly number[];
  readonly onGpu: readonly boolean[];
  /** Firings of one instance of each actor where it is placed. */
  readonly firings: readonly number[];
  readonly stages: readonly number[];
  readonly operations: readonly HybridOperation[];
  readonly buffers: readonly StageBuffer[];
  readonly width: number;
  readonly shuffleItems: number;
  /** The slices that each core and each multiprocessor runs in a launch, in order. */
  readonly cores: readonly (readonly HybridSlice[])[];
  readonly multiprocessors: readonly (readonly HybridSlice[])[];
  /** Microseconds per launch. */
  readonly load: {
    readonly cores: readonly number[]; readonly multiprocessors: readonly number[]; readonly toGpu: number; readonly toCpu: number;
  };
  /** The largest load: the initiation interval. */
  readonly interval: number;
  /** The interval of the task partition, which packing would reach if instances were divisible. */
  readonly partitionInterval: number;
  /** No partition of this iteration has a smaller interval. */
  readonly bound: number;
  readonly hostBytes: number;
  readonly deviceBytes: number;
  /** The number of launches that an iteration spans. */
  readonly depth: number;
}

export const hybridOptions = optionsOf('stream.planHybrid', {
  width: normally(whole(1, 1024), 32), shuffleItems: normally(whole(1, 2 ** 20), 1024), cpuFirings: normally(whole(1, 2 ** 20), 128),
  minSteadyStates: normally(whole(1, 2 ** 30), 1), maxUnroll: normally(whole(1, 2 ** 20), 64),
  tolerance: normally(number({ least: 0 }), 0.01), maxDeviceBytes: number({ least: 0 }),
  partition: callback,
} satisfies ChecksOf<HybridOptions>);

/** Options with their defaults. */
export type HybridChoices = HybridOptions & Required<Omit<HybridOptions, 'maxDeviceBytes' | 'partition'>>;

const links = choice(['shared', 'duplex']);

/** Throws {@link ArgumentError} unless the problem is complete and fits its graph. */
export function checkHybrid(problem: HybridProblem): void {
  requireFields('problem', problem, 'a problem with graph, threads and costs');
  const { graph, threads, gpu, cpu, moving, cores, multiprocessors, link, fixed, placesState } = problem;
  requireRateGraph(graph);
  const actors = graph.actors.length;
  requireCounts('problem.threads', threads, actors, 1);
  requireSizes('problem.cpu', cpu, actors);
  requireList('problem.gpu', gpu, `${actors} times`);
  if (gpu.length !== actors) throw refusal('problem.gpu', `${actors} times`, String(gpu.length));
  gpu.forEach((time: unknown, id) => {
    if (!(typeof time === 'number' && time >= 0)) throw refusal(`problem.gpu[${id}]`, 'a time ≥ 0 in microseconds', describeValue(time));
  });
  requireFields('problem.moving', moving, 'rates of transfers and shuffles');
  for (const name of ['toGpu', 'toCpu', 'shuffle', 'deshuffle'] as const) positive(moving[name], `problem.moving.${name}`);
  if (moving.latency !== undefined) requireNumber(moving.latency, 'problem.moving.latency', { least: 0 });
  requireCount(cores, 'problem.cores', 1, 4096);
  requireCount(multiprocessors, 'problem.multiprocessors', 1, 4096);
  if (link !== undefined) links(link, 'problem.link');
  if (fixed !== undefined) requireList('problem.fixed', fixed, 'a boolean for each actor');
  if (placesState !== undefined) truth(placesState, 'problem.placesState');
}
