// The instances of a software pipeline, their dependences, and lower bounds on the initiation interval (sections 3.2 and 3.5).
import { requireCount } from '../../core/checks.ts';
import { refusal } from '../../core/errors.ts';
import { elementAt, required } from '../../core/known.ts';
import { ScheduleError } from '../schedule/error.ts';
import { isLoop, stronglyConnected } from '../schedule/index.ts';
import type { SdfGraph } from '../sdf.ts';
import { packingBound } from './packing.ts';
import { requireFields, requireList, requireRateGraph, requireSizes } from '../require.ts';

/** The work to be pipelined on identical processors (multiprocessors of a GPU). Times may be in any common unit. */
export interface PipelineProblem {
  /** Rates are those of the multi-threaded actors. */
  readonly graph: SdfGraph;
  /** K_v: firings of each actor in one iteration. */
  readonly repetitions: readonly number[];
  /** M_uv: items on each channel before iteration 0; at least peek − pop. */
  readonly tokens: readonly number[];
  /** D(v): time of one firing. */
  readonly delays: readonly number[];
  /** P_max. */
  readonly processors: number;
}

/** Instance `to` of iteration j needs instance `from` of iteration j − `distance` (equations 3.6 to 3.10; distance = −jlag). */
export interface Dependence {
  readonly from: number;
  readonly to: number;
  readonly distance: number;
  /** The earliest iteration of `from` that `to` reads is j − `reach`: more than `distance` where a window is longer than an iteration. */
  readonly reach: number;
  /** The channel between them; undefined: the order of an actor with state. */
  readonly channel?: number;
}

/** Instances in the order of actors and firings. */
export interface Instances {
  /** Number of each actor's first instance. */
  readonly first: readonly number[];
  /** Actor of each instance. */
  readonly actor: readonly number[];
  readonly dependences: readonly Dependence[];
}

/** The maximum number of instances and of dependences of one problem. */
const kMaxInstances = 200_000;
const kMaxDependences = 2_000_000;

/** Throws {@link ArgumentError} unless the problem is complete and fits its graph. */
export function checkProblem(problem: PipelineProblem): void {
  requireFields('problem', problem, 'a problem with graph, repetitions, tokens and delays');
  const { graph, repetitions, tokens, delays, processors } = problem;
  requireRateGraph(graph);
  requireCount(processors, 'processors', 1, 2 ** 20);
  requireSizes('repetitions', repetitions);
  requireSizes('delays', delays);
  requireSizes('tokens', tokens);
  const check = (name: string, values: readonly number[], count: number, isRight: (value: number) => boolean): void => {
    if (values.length === count && values.every(isRight)) return;
    const received = values.length === count ? values.find((value) => !isRight(value)) : `${values.length} numbers`;
    throw refusal(name, `${count} numbers in range`, String(received));
  };
  check('repetitions', repetitions, graph.actors.length, (value) => Number.isSafeInteger(value) && value > 0);
  check('delays', delays, graph.actors.length, (value) => value >= 0 && value < Infinity);
  check('tokens', tokens, graph.channels.length, (value) => Number.isSafeInteger(value) && value >= 0);
  const total = repetitions.reduce((sum, count) => sum + count, 0);
  if (total > kMaxInstances) throw new ScheduleError('limit', `${total} instances in one iteration, at most ${kMaxInstances}`);
}

/** Lists the instances of a problem and their dependences, one for each pair of instances and channel. */
export function instancesOf(problem: PipelineProblem): Instances {
  requireFields('problem', problem, 'a problem with graph and costs');
  checkProblem(problem);
  const { graph, repetitions, tokens } = problem;
  const first: number[] = [];
  const actor: number[] = [];
  graph.actors.forEach(({ id }) => {
    first.push(actor.length);
    for (let firing = 0; firing < elementAt(repetitions, id); ++firing) actor.push(id);
  });
  const dependences: Dependence[] = [];
  const add = (dependence: Dependence): void => {
    if (dependences.push(dependence) > kMaxDependences) {
      throw new ScheduleError('limit', `more than ${kMaxDependences} dependences between instances`);
    }
  };
  for (const { id, from, to, push, pop, peek } of graph.channels) {
    if (push === 0) continue;
    const made = elementAt(repetitions, from);
    for (let firing = 0; firing < elementAt(repetitions, to); ++firing) {
      const last = Math.floor((firing * pop + peek - 1 - elementAt(tokens, id)) / push);
      const earliest = Math.floor((firing * pop - elementAt(tokens, id)) / push);
      for (let producer = Math.max(last - made + 1, earliest); producer <= last; ++producer) {
        const iteration = Math.floor(producer / made);
        const again = Math.floor((producer - earliest) / made);
        add({
          from: elementAt(first, from) + producer - iteration * made, to: elementAt(first, to) + firing,
          distance: 0 - iteration, reach: again - iteration, channel: id,
        });
      }
    }
  }
  for (const { id, stateful } of graph.actors) {
    const count = elementAt(repetitions, id);
    for (let firing = 0; stateful && count > 1 && firing < count; ++firing) {
      const distance = firing + 1 === count ? 1 : 0;
      add({ from: elementAt(first, id) + firing, to: elementAt(first, id) + (firing + 1) % count, distance, reach: distance });
    }
  }
  return { first, actor, dependences };
}

/** Lower bounds of the initiation interval. */
export interface IntervalBounds {
  /** ResMII: all work divided evenly. */
  readonly resource: number;
  /** RecMII: the largest ratio of delay to distance over all cycles; 0 without feedback loops and state. */
  readonly recurrence: number;
  /** The longest instance: an instance must not wrap around (3.4). */
  readonly longest: number;
  /** Lower bound for any distribution of whole instances; at least `resource` and `longest`. */
  readonly packing: number;
  /** The largest of these bounds. */
  readonly bound: number;
}

/** Largest ratio of Σ time to Σ distance over the cycles of a graph in which every cycle has a positive distance. */
export function cycleRatio(nodes: number, edges: readonly { from: number; to: number; time: number; distance: number }[]): number {
  requireCount(nodes, 'nodes', 0, 1e7);
  requireList('edges', edges, 'edges with from, to, time and distance');
  for (const [i, edge] of edges.entries()) {
    requireFields(`edges[${i}]`, edge, 'an edge with from, to, time and distance');
    for (const end of ['from', 'to'] as const) requireCount(edge[end], `edges[${i}].${end}`, 0, nodes - 1);
    requireSizes(`edges[${i}]`, [edge.time, edge.distance]);
  }
  let best = 0;
  for (;;) {
    const cycle = positiveCycle(nodes, edges, best);
    if (cycle === undefined) return best;
    const time = cycle.reduce((sum, edge) => sum + edge.time, 0);
    const distance = cycle.reduce((sum, edge) => sum + edge.distance, 0);
    if (distance === 0) return Infinity;
    if (!(time / distance > best * (1 + 1e-12))) return best;
    best = time / distance;
  }
}

/** A cycle on which Σ time − ratio · Σ distance is positive (Bellman-Ford); undefined if there is none. */
function positiveCycle<E extends { from: number; to: number; time: number; distance: number }>(nodes: number, edges: readonly E[],
  ratio: number): E[] | undefined {
  const reach = new Float64Array(nodes);
  const by: (E | undefined)[] = Array.from({ length: nodes }, () => undefined);
  const scale = edges.reduce((most, { time }) => Math.max(most, time), 0) * 1e-12 * nodes;
  let touched = -1;
  for (let round = 0; round <= nodes; ++round) {
    touched = -1;
    for (const edge of edges) {
      const value = elementAt(reach, edge.from) + edge.time - ratio * edge.distance;
      if (value <= elementAt(reach, edge.to) + scale) continue;
      reach[edge.to] = value;
      by[edge.to] = edge;
      touched = edge.to;
    }
    if (touched === -1) return undefined;
  }
  let node = touched;
  for (let back = 0; back < nodes; ++back) node = required(by[node]).from;
  const cycle: E[] = [];
  const start = node;
  do {
    cycle.push(required(by[node]));
    node = required(by[node]).from;
  } while (node !== start);
  return cycle;
}

/** Rejects anything but the result of {@link instancesOf}. */
export function requireInstances(instances: Instances): void {
  requireFields('instances', instances, 'instances, as stream.instancesOf gives them', ['actor', 'dependences']);
}

/** Bounds on the interval of one iteration. */
export function intervalBounds(problem: PipelineProblem, instances = instancesOf(problem)): IntervalBounds {
  requireInstances(instances);
  const { graph, repetitions, delays, processors } = problem;
  const sizes = instances.actor.map((actor) => elementAt(delays, actor));
  const { component, components } = stronglyConnected(graph);
  const loops = components.map((members) => isLoop(graph, members));
  let recurrence = 0;
  for (const { id, stateful } of graph.actors) {
    if (stateful) recurrence = Math.max(recurrence, elementAt(repetitions, id) * elementAt(delays, id));
  }
  loops.forEach((isLoopHere, at) => {
    if (!isLoopHere) return;
    const members = sizes.flatMap((_, instance) => component[elementAt(instances.actor, instance)] === at ? [instance] : []);
    const number = new Map(members.map((instance, place) => [instance, place]));
    const edges = instances.dependences.filter(({ from, to }) => number.has(from) && number.has(to)).map(({ from, to, distance }) =>
      ({ from: required(number.get(from)), to: required(number.get(to)), time: elementAt(sizes, from), distance }));
    recurrence = Math.max(recurrence, cycleRatio(number.size, edges));
  });
  const packing = packingBound(sizes, processors);
  return {
    resource: sizes.reduce((sum, size) => sum + size, 0) / processors, recurrence,
    longest: sizes.reduce((most, size) => Math.max(most, size), 0), packing, bound: Math.max(packing, recurrence),
  };
}

/** Multiplies the firings per iteration: unrolls the loop over the graph. */
export function unroll(problem: PipelineProblem, times: number): PipelineProblem {
  checkProblem(problem);
  requireCount(times, 'times', 1);
  return { ...problem, repetitions: problem.repetitions.map((count) => count * times) };
}

/**
 * The smallest unroll factor with which no single instance is longer than the other bounds (section 3.5.2: multiplicities are raised until
 * no filter dominates).
 */
export function unrollFactor(problem: PipelineProblem): number {
  checkProblem(problem);
  const { resource, recurrence, longest } = intervalBounds(problem);
  const least = Math.max(resource, recurrence);
  return least > 0 ? Math.max(1, Math.ceil(longest / least * (1 - 1e-12))) : 1;
}
