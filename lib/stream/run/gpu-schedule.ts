// Schedules of chapter 3 as lists of what each block makes: the software pipeline (SWPn), and the serial schedule, one filter after the
// other over all blocks.
import { elementAt, required } from '../../core/known.ts';
import {
  coarsen, intervalBounds, pipelineByIlp, schedulePipeline, threaded, unroll, unrollFactor, type Pipeline, type PipelineProblem,
  type Threaded,
} from '../partition/index.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { estimateCosts } from '../profile/estimate.ts';
import { steadyState } from '../schedule/index.ts';
import type { SdfGraph } from '../sdf.ts';
import type { PipelineProgram } from '../targets/cuda-pipeline.ts';
import { trusted } from '../require.ts';
import { deviceMicroseconds, entryMicroseconds, orderedTime, parallelTime } from './gpu-costs.ts';
import {
  codesByActor, ListWriter, listsOf, orderOf, serialLists, shuffleItems, stagedPlaces, type DeviceSchedule, type InstanceChoice,
  type PipelineMode,
} from './gpu-lists.ts';

/** What a schedule is made for. */
export interface ScheduleRequest {
  readonly mode: PipelineMode;
  /**
   * n of SWPn: the first whose buffers fit and that is balanced. For `serial`: of the schedule whose buffers it may not exceed. Undefined:
   * as the length of an interval says, and 8 for `serial`, or less.
   */
  readonly coarsening?: readonly number[] | undefined;
  /** Whether delays are microseconds that were measured, not counted operations. */
  readonly isMeasured?: boolean | undefined;
  /** Blocks: one for each multiprocessor. */
  readonly processors: number;
  /** Bytes of device memory that channels may take: B_max of (3.14). */
  readonly mostBytes: number;
  /** What assigns instances to multiprocessors: packing, or the ILP of section 3.5 where it is better. Default packing. */
  readonly scheduler?: 'packing' | 'ilp' | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Operations of a firing of each actor on a core, as microseconds. */
function actorCosts({ plan, actors }: PipelineProgram): number[] {
  const costs = estimateCosts(plan.graph);
  return actors.groups.map(({ steps }) => steps.reduce((sum, { actor, count }) => sum + count * (costs[actor] ?? 0), 0));
}

/**
 * Threads of each actor where nothing has been measured: as many as may be, fewer where its windows do not fit; counted operations. Of
 * those whose firings follow each other: firings for which windows are staged together.
 */
export function countedChoice(program: PipelineProgram, most: number, sharedBytes: number): InstanceChoice {
  const { graph, actors, instances, open } = program;
  const costs = actorCosts(program);
  const codes = codesByActor(instances, actors.groups.length);
  const threads = codes.map(({ ends, isOrdered }, actor) => {
    const inLoop = open.get(elementAt(elementAt(actors.groups, actor).steps, 0).actor);
    if (inLoop !== undefined) return inLoop;
    const least = isOrdered ? 1 : Math.min(most, program.width === 1 ? 32 : program.width);
    let count = most;
    while (count > least && count % 2 === 0 && count / 2 % least === 0 && stagedPlaces(ends, count).bytes > sharedBytes) count /= 2;
    return count;
  });
  threads.push(shuffleItems, shuffleItems);
  const moved = graph.actors.map(() => 0);
  for (const { from, to, push, pop, bytesPerItem } of graph.channels) {
    moved[from] = elementAt(moved, from) + push * bytesPerItem / 4;
    moved[to] = elementAt(moved, to) + pop * bytesPerItem / 4;
  }
  const delays = threads.map((count, actor) => {
    const timeOf = codes[actor]?.isOrdered === true ? orderedTime : parallelTime;
    const isInLoop = actor < codes.length && open.has(elementAt(elementAt(actors.groups, actor).steps, 0).actor);
    return count * timeOf(costs[actor] ?? 0, elementAt(moved, actor)) + (isInLoop ? entryMicroseconds : 0);
  });
  return { threads, delays };
}

/** Bytes of the rings. */
function ringBytes({ channels }: SdfGraph, repetitions: readonly number[], slots: readonly number[]): number {
  return channels.reduce((sum, { id, from, push, bytesPerItem }) =>
    sum + elementAt(slots, id) * push * elementAt(repetitions, from) * bytesPerItem, 0);
}

/** SWPn. Throws UnsupportedProgram where a loop holds too few items for n instances in a row. */
function coarsened(problem: PipelineProblem, pipeline: Pipeline, n: number): NonNullable<ReturnType<typeof coarsen>> {
  const made = coarsen(problem, pipeline, n);
  if (made === undefined) throw new UnsupportedProgram(`a feedback loop holds too few items for ${n} instances in a row`);
  return made;
}

/** A pipeline within the memory. */
function pipelined(problem: PipelineProblem, n: number, mostBytes: number, mostTimes: number) {
  const eachSlot = ringBytes(problem.graph, problem.repetitions, problem.graph.channels.map(() => n));
  const instances = problem.repetitions.reduce((sum, count) => sum + count, 0);
  let most = Math.max(1, Math.min(mostTimes, Math.floor(mostBytes / (2 * eachSlot)), Math.floor(mostInstances / instances)));
  for (;;) {
    const scheduled = schedulePipeline(problem, { maxUnroll: most, maxInstances: mostInstances });
    const coarse = coarsened(scheduled.problem, scheduled.pipeline, n);
    const bytes = ringBytes(coarse.problem.graph, coarse.problem.repetitions, coarse.pipeline.slots);
    if (bytes <= mostBytes || most === 1) {
      if (bytes > mostBytes) throw new UnsupportedProgram(`the channels of a pipeline take ${bytes} bytes, ${mostBytes} may be used`);
      return { ...coarse, unroll: scheduled.unroll, gap: scheduled.gap, bytes };
    }
    most = Math.max(1, Math.min(most - 1, Math.floor(scheduled.unroll * mostBytes / bytes)));
  }
}

/** What {@link pipelined} gives, by the ILP, which begins with the packing of the same iteration. */
async function byIlp(
  problem: PipelineProblem, n: number, mostBytes: number, signal: AbortSignal | undefined,
): Promise<ReturnType<typeof pipelined>> {
  const times = unrollFactor(problem);
  const whole = unroll(problem, times);
  const variables = problem.processors * whole.repetitions.reduce((sum, count) => sum + count, 0);
  if (variables > mostVariables) {
    throw new UnsupportedProgram(`the ILP of the schedule has ${variables} binary variables, at most ${mostVariables} are tried`);
  }
  const { pipeline } = await pipelineByIlp(whole, { strategy: 'improve', ...(signal === undefined ? {} : { signal }) });
  const { resource, recurrence } = intervalBounds(problem);
  const found = required(pipeline);
  const coarse = coarsened(whole, found, n);
  const bytes = ringBytes(coarse.problem.graph, coarse.problem.repetitions, coarse.pipeline.slots);
  if (bytes > mostBytes) throw new UnsupportedProgram(`the channels of a pipeline take ${bytes} bytes, ${mostBytes} may be used`);
  return { ...coarse, unroll: times, gap: found.interval / times / Math.max(resource, recurrence) - 1, bytes };
}

/** Binary variables of an ILP that is worth a try. */
const mostVariables = 20_000;
/**
 * Times that an iteration is unrolled for a better balance; with loops that are not contracted: a longer iteration holds fewer of their
 * items, and stages take time quadratic in its length.
 */
const mostUnrolled = 64, mostUnrolledLoops = 2;
/** Instances of an iteration up to which it is unrolled for a better balance. */
const mostInstances = 24_000;

/** Steady states that an instance of the chosen threads needs at least, and how many instances there are then. */
function threadedOf({ graph }: PipelineProgram, { threads }: InstanceChoice): Threaded {
  return threaded(trusted(graph), threads, {}, steadyState(graph));
}

function problemOf({ graph, repetitions, tokens }: Threaded, { delays }: InstanceChoice, processors: number): PipelineProblem {
  return { graph, repetitions, tokens, delays, processors };
}

/** What is scheduled: instances of the chosen threads with their times. */
export function scheduleProblem(program: PipelineProgram, choice: InstanceChoice, processors: number): PipelineProblem {
  return problemOf(threadedOf(program, choice), choice, processors);
}

/** Estimated microseconds of a steady state, of a schedule that leaves no multiprocessor waiting. */
export function leastMicroseconds(program: PipelineProgram, choice: InstanceChoice, processors: number): number {
  const wide = threadedOf(program, choice);
  const { resource, recurrence } = intervalBounds(problemOf(wide, choice, processors));
  return deviceMicroseconds(Math.max(resource, recurrence)) / wide.steadyStates;
}

/**
 * Makes a schedule. Throws UnsupportedProgram where its channels do not fit or the ILP gets too large, ScheduleError where there are too
 * many instances.
 */
export async function scheduleFor(program: PipelineProgram, choice: InstanceChoice, request: ScheduleRequest): Promise<DeviceSchedule> {
  const { processors, mostBytes, mode, scheduler, signal } = request;
  const wide = threadedOf(program, choice), problem = problemOf(wide, choice, processors);
  const threads = blockThreads(program, choice);
  const packed = (each: number) => pipelined(problem, each, mostBytes, program.open.size > 0 ? mostUnrolledLoops : mostUnrolled);
  const coarsening = request.coarsening ?? (mode === 'serial' ? usualCoarsening
    : byInterval(packed(1).pipeline.interval, request.isMeasured === true));
  const { n, made } = await bestOf(coarsening, async (each) =>
    (scheduler === 'ilp' ? byIlp(problem, each, mostBytes, signal) : packed(each)));
  if (mode === 'serial') return serialFor(program, choice, wide, { processors, mostBytes: made.bytes, threads });
  const { pipeline, unroll } = made;
  const repetitions = made.problem.repetitions.map((count) => count * n);
  const writer = new ListWriter(program, choice, mode, repetitions, pipeline.slots);
  const lists = listsOf(pipeline, program, n, processors);
  return {
    ...writer.write([lists]), blocks: processors, threads, coarsening: n, states: wide.steadyStates * unroll * n,
    stages: pipeline.stages, steps: 1, gap: made.gap,
    instances: repetitions.reduce((sum, count) => sum + count, 0), entries: lists.reduce((sum, list) => sum + list.length, 0),
  };
}

/** n of the schedule that `serial` is compared with: the first that fits. */
const usualCoarsening: readonly number[] = [8, 4, 2, 1];
/**
 * Microseconds of an interval up to which it is made longer, so that launches or barriers take little of it, and threads have several
 * instances whose loads overlap; most instances in a row.
 */
const worthwhileInterval = 400, mostInRow = 16;

/** n of SWPn for an interval of so many microseconds without: no more than is worth it, since rings that stay in the cache are faster. */
function byInterval(interval: number, isMeasured: boolean): readonly number[] {
  const each = Math.max(1e-6, isMeasured ? interval : deviceMicroseconds(interval));
  let n = 1;
  while (n < mostInRow && n * each < worthwhileInterval) n *= 2;
  return Array.from({ length: Math.log2(n) + 1 }, (_, i) => n / 2 ** i);
}

/** Threads of a block: those of the largest instance. Where one thread makes all, the others stage its items. */
function blockThreads({ graph }: PipelineProgram, { threads }: InstanceChoice): number {
  const parallel = threads.slice(0, -2).filter((_, actor) => !elementAt(graph.actors, actor).stateful);
  return parallel.length > 0 ? Math.max(...parallel) : stagingThreads;
}

const stagingThreads = 32;

/** Gap to the bound that is worth a smaller n. */
const mostGap = 0.05;

/** The pipeline of the first n whose buffers fit and that is balanced, else the best balanced one; throws where the last n does not fit. */
async function bestOf(coarsening: readonly number[], make: (n: number) => Promise<ReturnType<typeof pipelined>>) {
  let best: { readonly n: number; readonly made: ReturnType<typeof pipelined> } | undefined;
  for (const n of coarsening) {
    try {
      const made = await make(n);
      if (best === undefined || made.gap < best.made.gap - mostGap) best = { n, made };
      if (made.gap <= mostGap) break;
    } catch (error) {
      if (!(error instanceof UnsupportedProgram) || (n === coarsening.at(-1) && best === undefined)) throw error;
    }
  }
  return required(best);
}

/** One filter after the other, in the order of the stream; as many steady states as the bytes hold. */
function serialFor(
  program: PipelineProgram, choice: InstanceChoice, { graph, repetitions, steadyStates }: Threaded,
  { processors, mostBytes, threads }: { readonly processors: number; readonly mostBytes: number; readonly threads: number },
): DeviceSchedule {
  const slotsOf = (times: number): number[] => graph.channels.map(({ from, push, tokens }) =>
    1 + Math.ceil(tokens / Math.max(1, times * push * elementAt(repetitions, from))));
  const fits = (times: number): boolean => ringBytes(graph, repetitions.map((count) => count * times), slotsOf(times)) <= mostBytes;
  let times = 1;
  while (fits(2 * times) && 2 * times * steadyStates < 2 ** 26) times *= 2;
  for (let step = times / 2; step >= 1; step /= 2) if (fits(times + step) && (times + step) * steadyStates < 2 ** 26) times += step;
  const order = orderOf(program);
  const all = repetitions.map((count) => count * times);
  const writer = new ListWriter(program, choice, 'serial', all, slotsOf(times));
  const steps = serialLists(program, order, all, processors);
  return {
    ...writer.write(steps), blocks: processors, threads, coarsening: 1, states: steadyStates * times, stages: 1,
    steps: order.length, instances: all.reduce((sum, count) => sum + count, 0),
    entries: steps.flat().reduce((sum, list) => sum + list.length, 0),
  };
}
