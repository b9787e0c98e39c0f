// The iteration of a hybrid plan, with contracted loops, whole instances and raised multiplicities, and its partitioning problem.
import { elementAt } from '../../../core/known.ts';
import { steadyState, type SteadyState } from '../../schedule/index.ts';
import { taskUnrollFactor } from '../heuristic.ts';
import { contractLoops, type Contracted } from '../loops.ts';
import { tightLoopOf } from '../stages.ts';
import type { TaskProblem } from '../task.ts';
import { leastSteadyStates, threaded } from '../threaded.ts';
import type { HybridChoices, HybridProblem } from './types.ts';

/** Sizes and costs, by actor of the contracted graph. */
interface ActorCosts {
  /** Firings of one instance on a multiprocessor and on a core; 1 for actors with state. */
  readonly threads: readonly number[];
  readonly onCore: readonly number[];
  /** Microseconds of an instance on a multiprocessor and of one firing on a core. */
  readonly gpu: readonly number[];
  readonly cpu: readonly number[];
  readonly fixed: readonly boolean[];
}

/** An iteration. */
export interface Iteration extends ActorCosts {
  readonly contracted: Contracted;
  readonly steadyStates: number;
  /** `steadyStates` divided by the smallest number for which all instances are whole. */
  readonly multiple: number;
  /** Firings of each actor. */
  readonly repetitions: readonly number[];
  /** Firings of one instance on a core, and on a multiprocessor, with its time there; an actor with state has a single instance. */
  readonly onCore: readonly number[];
  readonly threads: readonly number[];
  readonly gpu: readonly number[];
  /** The partitioning problem; its graph has the rates of instances on a multiprocessor. */
  readonly task: TaskProblem;
}

/** Actors of the given graph in loops with too few items. */
export interface Loops {
  /** They stay on the CPU, because transfers inside the loop would take too many launches. */
  readonly pinned: Set<number>;
  /** They are contracted, because they cannot run in different launches. */
  readonly closed: Set<number>;
}

/** The largest divisor of `count` that is at most `most`. */
function divisorUpTo(count: number, most: number): number {
  let best = 1;
  for (let low = 1; low * low <= count; ++low) {
    if (count % low !== 0) continue;
    for (const divisor of [low, count / low]) if (divisor <= most && divisor > best) best = divisor;
  }
  return best;
}

function actorCosts(problem: HybridProblem, { graph, members }: Contracted, cpuFirings: number, loops: Loops): ActorCosts {
  const whole = members.map((list, id) => {
    const { actor, firings } = elementAt(list, 0);
    const isLoop = list.length > 1 || firings > 1 || (elementAt(graph.actors, id).stateful && !problem.graph.actors[actor]?.stateful);
    return { actor, isLoop };
  });
  const gpu = whole.map(({ actor, isLoop }) => isLoop ? Infinity : elementAt(problem.gpu, actor));
  const threads = whole.map(({ actor }, id) => elementAt(graph.actors, id).stateful ? 1 : elementAt(problem.threads, actor));
  return {
    threads, gpu, onCore: threads.map((count) => divisorUpTo(count, cpuFirings)),
    cpu: members.map((list) => list.reduce((sum, { actor, firings }) => sum + firings * elementAt(problem.cpu, actor), 0)),
    fixed: whole.map(({ actor }, id) =>
      (elementAt(graph.actors, id).stateful && problem.placesState !== true) || gpu[id] === Infinity
      || problem.fixed?.[actor] === true || loops.pinned.has(actor)),
  };
}

/** The partitioning problem of an iteration of `steadyStates` steady states. */
function taskOf(problem: HybridProblem, contracted: Contracted, costs: ActorCosts, steady: SteadyState, steadyStates: number): TaskProblem {
  const { graph } = contracted;
  const { moving, cores, multiprocessors, link } = problem;
  const firings = steady.repetitions.map((count) => count * steadyStates);
  // State that may be placed is one instance on either side.
  const units = graph.actors.map(({ id, stateful }) =>
    elementAt(costs.fixed[id] ? costs.onCore : stateful ? firings : costs.threads, id));
  const bytes = graph.channels.map(({ from, push, bytesPerItem }) => elementAt(firings, from) * push * bytesPerItem);
  const moved = (rate: number, latency = 0): number[] => bytes.map((count) => count > 0 ? latency + count / rate : 0);
  const made = threaded(graph, units, { steadyStatesMultiple: steadyStates }, steady);
  const instance = graph.actors.map(({ id, stateful }) => elementAt(stateful ? firings : costs.onCore, id));
  return {
    graph: made.graph, repetitions: made.repetitions, cpuRepetitions: firings.map((count, id) => count / elementAt(instance, id)),
    costs: {
      cpu: costs.cpu.map((time, id) => time * elementAt(instance, id)),
      gpu: costs.gpu.map((time, id) => (elementAt(graph.actors, id).stateful ? time * elementAt(firings, id) : time)),
      toCpu: moved(moving.toCpu, moving.latency), toGpu: moved(moving.toGpu, moving.latency),
      shuffle: moved(moving.shuffle), deshuffle: moved(moving.deshuffle),
    },
    cores, multiprocessors, link: link ?? 'shared', fixed: costs.fixed, openLoops: true, placesState: problem.placesState === true,
  };
}

/**
 * The shortest iteration in which all instances are whole, lengthened until no instance dominates (at most `maxUnroll` times) and at least
 * `wanted` times. Loops whose actors cannot run in different launches, even on one side, are added to those that are contracted.
 */
export function iterationOf(problem: HybridProblem, choices: HybridChoices, maxUnroll: number, wanted: number,
  loops: Loops): Iteration {
  const given = steadyState(problem.graph);
  for (;;) {
    const contracted = contractLoops(problem.graph, (members) => !members.some((actor) => loops.closed.has(actor)), given);
    const { graph } = contracted;
    const steady = steadyState(graph);
    const costs = actorCosts(problem, contracted, choices.cpuFirings, loops);
    const units = graph.actors.map(({ id }) => elementAt(costs.fixed[id] ? costs.onCore : costs.threads, id));
    // Channels of actors with state are in the order of the stream.
    const isInOrder = (id: number): boolean => costs.fixed[id] === true || elementAt(graph.actors, id).stateful;
    const groups = graph.channels.map(({ from, to }) => isInOrder(from) && isInOrder(to) ? 1 : choices.shuffleItems);
    const least = leastSteadyStates(graph, steady.repetitions, units, groups, 1);
    const isTight = (steadyStates: number): boolean => {
      const repetitions = steady.repetitions.map((count) => count * steadyStates);
      const tight = tightLoopOf({ graph, repetitions, onGpu: graph.actors.map(() => false) });
      for (const actor of tight ?? []) loops.closed.add(elementAt(elementAt(contracted.members, actor), 0).actor);
      return tight !== undefined;
    };
    if (isTight(least)) continue;
    const raised = Math.min(maxUnroll, taskUnrollFactor(taskOf(problem, contracted, costs, steady, least)));
    const multiple = Math.max(raised, wanted, Math.ceil(choices.minSteadyStates / least));
    const steadyStates = least * multiple;
    if (steadyStates > least && isTight(steadyStates)) continue;
    const repetitions = steady.repetitions.map((count) => count * steadyStates);
    const task = taskOf(problem, contracted, costs, steady, steadyStates);
    const whole = (counts: readonly number[]): number[] => counts.map((count, id) =>
      elementAt(graph.actors, id).stateful ? elementAt(repetitions, id) : count);
    const gpu = costs.gpu.map((time, id) => (elementAt(graph.actors, id).stateful ? time * elementAt(repetitions, id) : time));
    const { onCore, threads } = costs;
    return { ...costs, contracted, steadyStates, multiple, repetitions, gpu, onCore: whole(onCore), threads: whole(threads), task };
  }
}
