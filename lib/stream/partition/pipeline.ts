// Software pipelines on identical processors. Derives stages, starts and buffers from an assignment of instances. The scalable scheduler
// packs instances, unrolls until they pack well, and certifies its distance from the bound.
import { number, requireCount } from '../../core/checks.ts';
import { briefly } from '../../core/display.ts';
import { addAt, elementAt, required } from '../../core/known.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { isLoop, stronglyConnected } from '../schedule/index.ts';
import { checkProblem, instancesOf, requireInstances, intervalBounds, unroll, type Instances, type IntervalBounds,
  type PipelineProblem } from './instances.ts';
import { packJobs } from './packing.ts';
import { requireCounts, requireFields, requireList } from '../require.ts';

/** Where an instance runs: w, o and f of the paper. */
export interface InstancePlace {
  readonly processor: number;
  /** o: time since the launch began. */
  readonly start: number;
  /** f: the launch, counted from the first launch of its iteration. */
  readonly stage: number;
  /** Position in its processor's launch, from 0. */
  readonly order: number;
}

/** A software pipeline: iteration j of an instance runs in launch j + stage. */
export interface Pipeline {
  /** T, the initiation interval: the largest load of a processor. */
  readonly interval: number;
  /** By actor, by firing. */
  readonly places: readonly (readonly InstancePlace[])[];
  /**
   * Iterations that each channel's ring holds: (3.13), with the iteration distance that its text derives. Iteration j's items stand in
   * slot j mod `slots`, so that buffers rotate by the number of the iteration.
   */
  readonly slots: readonly number[];
  /** The same in items; where nothing moves, the items that stand there. */
  readonly buffers: readonly number[];
  /** Launches from the first to the last stage of an iteration. */
  readonly stages: number;
}

/** A topological rank of the instances by their dependences within one iteration. */
function ranks({ actor, dependences }: Instances): number[] {
  const waiting = actor.map(() => 0);
  const next: number[][] = actor.map(() => []);
  for (const { from, to, distance } of dependences) {
    if (distance > 0 || from === to) continue;
    elementAt(next, from).push(to);
    addAt(waiting, to, 1);
  }
  const order = actor.flatMap((_, instance) => waiting[instance] === 0 ? [instance] : []);
  for (let at = 0; at < order.length; ++at) {
    for (const target of elementAt(next, elementAt(order, at))) if (addAt(waiting, target, -1) === 0) order.push(target);
  }
  const rank = actor.map(() => 0);
  order.forEach((instance, at) => { rank[instance] = at; });
  return rank;
}

/**
 * The minimum stages for an assignment and an order of the instances on each processor; undefined if a feedback loop holds too few items.
 */
function leastStages({ actor, dependences }: Instances, processor: readonly number[], rank: readonly number[]): number[] | undefined {
  const stage = actor.map(() => 0);
  const sorted = [...dependences].sort((a, b) => elementAt(rank, a.from) - elementAt(rank, b.from));
  const most = actor.length + 1;
  for (let pass = 0; pass <= Math.min(most, 4000); ++pass) {
    let isSettled = true;
    for (const { from, to, distance } of sorted) {
      const isSeen = processor[from] === processor[to] && elementAt(rank, from) < elementAt(rank, to);
      const least = elementAt(stage, from) - distance + (isSeen ? 0 : 1);
      if (least <= elementAt(stage, to)) continue;
      if (least > most) return undefined;
      stage[to] = least;
      isSettled = false;
    }
    if (isSettled) return stage;
  }
  return undefined;
}

/** Whether the stages respect every dependence, given an assignment and an order. */
function areStages({ dependences }: Instances, processor: readonly number[], rank: readonly number[], stage: readonly number[]): boolean {
  return stage.every((value) => Number.isSafeInteger(value) && value >= 0) && dependences.every(({ from, to, distance }) => {
    const isSeen = processor[from] === processor[to] && elementAt(rank, from) < elementAt(rank, to);
    return elementAt(stage, to) >= elementAt(stage, from) - distance + (isSeen ? 0 : 1);
  });
}

/** Whole iterations that each channel holds: what an instance wrote stays until the launch after its last reader's (3.13). */
function slotsOf({ graph, repetitions, tokens }: PipelineProblem, { dependences }: Instances, stage: readonly number[]): number[] {
  const slots = graph.channels.map(({ id, from, push }) => {
    const items = push * elementAt(repetitions, from);
    return items > 0 ? Math.max(1, Math.ceil(elementAt(tokens, id) / items)) : 1;
  });
  for (const { from, to, reach, channel } of dependences) {
    if (channel === undefined) continue;
    slots[channel] = Math.max(elementAt(slots, channel), elementAt(stage, to) - elementAt(stage, from) + reach + 1);
  }
  return slots;
}

/**
 * The pipeline of an assignment: each processor runs its instances in the order of `rank` (default: stream order). Stages are minimal, or
 * `stages` if given and if they respect all dependences. Undefined if a feedback loop holds too few items.
 */
export function realise(problem: PipelineProblem, instances: Instances, processor: readonly number[],
  ranked?: readonly number[], stages?: readonly number[]): Pipeline | undefined {
  checkProblem(problem);
  requireFields('instances', instances, 'instances, as stream.instancesOf gives them', ['first', 'actor', 'dependences']);
  const count = instances.actor.length;
  for (const actor of instances.actor) requireCount(actor, 'instances.actor', 0, problem.graph.actors.length - 1);
  for (const first of instances.first) requireCount(first, 'instances.first', 0, count);
  for (const [i, dependence] of instances.dependences.entries()) {
    requireFields(`instances.dependences[${i}]`, dependence, 'a dependence with from, to and distance');
    for (const end of ['from', 'to'] as const) requireCount(dependence[end], `instances.dependences[${i}].${end}`, 0, count - 1);
    requireCount(dependence.distance, `instances.dependences[${i}].distance`, 0);
    requireCount(dependence.reach, `instances.dependences[${i}].reach`, dependence.distance);
    const { channel } = dependence;
    if (channel !== undefined) requireCount(channel, `instances.dependences[${i}].channel`, 0, problem.graph.channels.length - 1);
  }
  requireCounts('processor', processor, count);
  for (const at of processor) requireCount(at, 'processor', 0, problem.processors - 1);
  if (ranked !== undefined) requireList('rank', ranked, 'a number for each instance');
  const rank = ranked === undefined ? ranks(instances) : [...ranked];
  const stage = stages && areStages(instances, processor, rank, stages) ? stages : leastStages(instances, processor, rank);
  if (!stage) return undefined;
  const load = Array.from({ length: problem.processors }, () => 0);
  const done = load.map(() => 0);
  const start = stage.map(() => 0);
  const order = stage.map(() => 0);
  for (const instance of stage.map((_, at) => at).sort((a, b) => elementAt(rank, a) - elementAt(rank, b))) {
    start[instance] = elementAt(load, elementAt(processor, instance));
    order[instance] = elementAt(done, elementAt(processor, instance));
    addAt(done, elementAt(processor, instance), 1);
    addAt(load, elementAt(processor, instance), elementAt(problem.delays, elementAt(instances.actor, instance)));
  }
  const placeOf = (instance: number): InstancePlace => ({
    processor: elementAt(processor, instance), start: elementAt(start, instance), stage: elementAt(stage, instance),
    order: elementAt(order, instance),
  });
  const places = problem.graph.actors.map(({ id }) =>
    Array.from({ length: elementAt(problem.repetitions, id) }, (_, firing) => placeOf(elementAt(instances.first, id) + firing)));
  const slots = slotsOf(problem, instances, stage);
  const buffers = problem.graph.channels.map(({ id, from, push }) =>
    Math.max(elementAt(problem.tokens, id), elementAt(slots, id) * push * elementAt(problem.repetitions, from)));
  return {
    interval: load.reduce((most, value) => Math.max(most, value), 0), places, slots, buffers,
    stages: stage.reduce((most, value) => Math.max(most, value), 0) + 1,
  };
}

/** Packs units of instances. The instances of an actor are then dealt out in order, which keeps neighbours together. */
function assign(problem: PipelineProblem, { actor, first }: Instances, unitOf: (actor: number) => number | undefined): number[] {
  const { delays, repetitions, processors } = problem;
  const units = new Map<number, { size: number; instances: number[] }>();
  const sizes: number[] = [];
  const jobs: number[][] = [];
  actor.forEach((id, instance) => {
    const unit = unitOf(id);
    if (unit === undefined) {
      sizes.push(elementAt(delays, id));
      jobs.push([instance]);
      return;
    }
    const known = units.get(unit) ?? { size: 0, instances: [] };
    known.size += elementAt(delays, id);
    known.instances.push(instance);
    units.set(unit, known);
  });
  for (const { size, instances } of units.values()) {
    sizes.push(size);
    jobs.push(instances);
  }
  const packed = packJobs(sizes, processors);
  const processor = actor.map(() => 0);
  jobs.forEach((list, job) => { for (const instance of list) processor[instance] = elementAt(packed.processor, job); });
  problem.graph.actors.forEach(({ id }) => {
    const dealt = processor.slice(first[id], elementAt(first, id) + elementAt(repetitions, id)).sort((a, b) => a - b);
    dealt.forEach((value, firing) => { processor[elementAt(first, id) + firing] = value; });
  });
  return processor;
}

/** Packs the firings of one iteration, without unrolling, into a pipeline. Feedback loops go to one processor as a whole if they must. */
export function packPipeline(problem: PipelineProblem, instances = instancesOf(problem)): Pipeline {
  requireInstances(instances);
  const { actors } = problem.graph;
  const { component, components } = stronglyConnected(problem.graph);
  const loops = components.map((members) => isLoop(problem.graph, members));
  const byState = (actor: number): number | undefined => elementAt(actors, actor).stateful ? component[actor] : undefined;
  const byLoop = (actor: number): number | undefined => loops[elementAt(component, actor)] ? component[actor] : byState(actor);
  const loose = realise(problem, instances, assign(problem, instances, byState));
  return loose ?? required(realise(problem, instances, assign(problem, instances, byLoop)));
}

/** Options of {@link schedulePipeline}. */
export interface PipelineOptions {
  /** Acceptable gap to the bound; default 0.01. */
  readonly target?: number;
  /** The maximum unroll factor; default 64. */
  readonly maxUnroll?: number;
  /** The maximum number of instances in one iteration of the result; default 20 000. */
  readonly maxInstances?: number;
}

const pipelineOptions = optionsOf('stream.schedulePipeline', {
  target: normally(number({ least: 0 }), 0.01), maxUnroll: normally(number({ least: 1 }), 64),
  maxInstances: normally(number({ least: 0 }), 20_000),
} satisfies ChecksOf<PipelineOptions>);

/** A pipeline with a certificate of its quality. */
export interface ScheduledPipeline {
  readonly pipeline: Pipeline;
  /** The problem that `pipeline` solves: the given one, unrolled. */
  readonly problem: PipelineProblem;
  readonly unroll: number;
  /** Bound for the given problem, before unrolling and ignoring that instances are indivisible: max(ResMII, RecMII). */
  readonly bound: number;
  /**
   * Interval per original iteration relative to the bound, minus 1. No pipeline can be better by more than this, however far it is
   * unrolled.
   */
  readonly gap: number;
  readonly bounds: IntervalBounds;
}

/**
 * The scalable scheduler: packs all instances onto the processors, unrolling the graph until the interval per iteration is within `target`
 * of max(ResMII, RecMII). Takes milliseconds even for 132 processors. Throws ArgumentError and ScheduleError (`limit`).
 */
export function schedulePipeline(problem: PipelineProblem, options: PipelineOptions = {}): ScheduledPipeline {
  requireFields('problem', problem, 'a problem with graph and costs');
  const { target, maxUnroll, maxInstances } = pipelineOptions.read(options);
  const bounds = intervalBounds(problem);
  const bound = Math.max(bounds.resource, bounds.recurrence);
  const count = problem.repetitions.reduce((sum, value) => sum + value, 0);
  let best: ScheduledPipeline | undefined;
  for (let times = 1; times === 1 || (times <= maxUnroll && times * count <= maxInstances); ++times) {
    // Not unrolled enough to reach the target: one instance is longer than the whole interval.
    if (best && bounds.longest > times * bound * (1 + target) && times < maxUnroll) continue;
    const unrolled = unroll(problem, times);
    const pipeline = packPipeline(unrolled);
    const gap = bound > 0 ? pipeline.interval / times / bound - 1 : 0;
    if (!best || gap < best.gap) best = { pipeline, problem: unrolled, unroll: times, bound, gap, bounds };
    if (gap <= target) break;
  }
  return briefly('ScheduledPipeline', required(best));
}

/**
 * SWPn: every instance repeats n times in a row. Rates, delays and buffers grow n-fold, and the assignment stays the same. The initial
 * items of channels do not grow, so stages are recomputed. Undefined if a feedback loop holds too few items for blocks of n.
 */
export function coarsen(problem: PipelineProblem, pipeline: Pipeline,
  n: number): { problem: PipelineProblem; pipeline: Pipeline } | undefined {
  checkProblem(problem);
  requireFields('pipeline', pipeline, 'a pipeline with places', ['places']);
  requireCount(n, 'n', 1, 2 ** 20);
  const channels = problem.graph.channels.map((channel) => ({
    ...channel, push: channel.push * n, pop: channel.pop * n, peek: channel.pop * (n - 1) + channel.peek,
  }));
  const coarse = { ...problem, graph: { ...problem.graph, channels }, delays: problem.delays.map((delay) => delay * n) };
  const made = realise(coarse, instancesOf(coarse), pipeline.places.flat().map(({ processor }) => processor));
  return made && { problem: coarse, pipeline: made };
}
