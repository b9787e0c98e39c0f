// An independent check of task partitions, which implements the paper's four conditions literally; shares nothing with the partitioners.
import { elementAt, required } from '../../core/known.ts';
import { checkTask, type TaskLoads, type TaskProblem } from './task.ts';
import { describeValue } from '../../core/arrays.ts';
import { refusal } from '../../core/errors.ts';
import { requireFields, requireList } from '../require.ts';

/** Whether an actor's buffers stay in stream order: it peeks, has state, or parts of iterations are left over before it. */
function readsInOrder({ graph, repetitions, tokens }: TaskProblem, actor: number): boolean {
  return graph.actors[actor]?.stateful === true || graph.channels.some(({ id, from, to, push, pop, peek, tokens: own }) => {
    if (to !== actor) return false;
    const left = tokens?.[id] ?? own, items = push * elementAt(repetitions, from);
    return peek > pop || (left !== 0 && !(items > 0 && Number.isInteger(left / items)));
  });
}

/** Transfers, shuffles and deshuffles of all channels. */
function channelLoads(problem: TaskProblem, onGpu: readonly boolean[]): { toCpu: number; toGpu: number; gpu: number } {
  const { graph, costs } = problem;
  const peeks = (actor: number): boolean => readsInOrder(problem, actor);
  let toCpu = 0, toGpu = 0, gpu = 0;
  for (const { id, from: u, to: v } of graph.channels) {
    if (u === v) continue;
    if (onGpu[u] && !onGpu[v]) toCpu += elementAt(costs.toCpu, id);
    if (!onGpu[u] && onGpu[v]) toGpu += elementAt(costs.toGpu, id);
    // 1. From GPU to CPU: deshuffle if and only if u does not peek.
    if (onGpu[u] && !onGpu[v] && !peeks(u)) gpu += elementAt(costs.deshuffle, id);
    // 2. Both on the GPU: deshuffle if and only if v peeks and u does not.
    if (onGpu[u] && onGpu[v] && peeks(v) && !peeks(u)) gpu += elementAt(costs.deshuffle, id);
    // 3. From CPU to GPU: shuffle if and only if v does not peek.
    if (!onGpu[u] && onGpu[v] && !peeks(v)) gpu += elementAt(costs.shuffle, id);
    // 4. Both on the GPU: shuffle if and only if u peeks and v does not.
    if (onGpu[u] && onGpu[v] && peeks(u) && !peeks(v)) gpu += elementAt(costs.shuffle, id);
  }
  return { toCpu, toGpu, gpu };
}

/** Actors reached from one, itself only by a loop; by plain search. */
function reachedFrom({ graph }: TaskProblem, actor: number): Set<number> {
  const seen = new Set<number>();
  const queue = [actor];
  while (queue.length > 0) {
    const at = required(queue.pop());
    for (const { from, to } of graph.channels) {
      if (from !== at || seen.has(to)) continue;
      queue.push(to);
      seen.add(to);
    }
  }
  return seen;
}

/** Loads of a partition according to the text of section 4.5.1, channel by channel. */
export function recomputeLoads(problem: TaskProblem, onGpu: readonly boolean[]): TaskLoads {
  checkTask(problem);
  requireList('onGpu', onGpu, 'a boolean for each actor');
  const { graph, repetitions, cpuRepetitions, costs, cores, multiprocessors, link } = problem;
  const { toCpu, toGpu, gpu: shuffles } = channelLoads(problem, onGpu);
  let gpu = shuffles, cpu = 0, longest = 0, recurrence = 0;
  const serial = (actor: number): number => (cpuRepetitions?.[actor] ?? elementAt(repetitions, actor)) * elementAt(costs.cpu, actor);
  for (const { id, stateful } of graph.actors) {
    if (onGpu[id]) gpu += elementAt(repetitions, id) * elementAt(costs.gpu, id);
    else cpu += serial(id);
    const instances = onGpu[id] ? 1 : cpuRepetitions?.[id] ?? elementAt(repetitions, id);
    if (instances > 0) longest = Math.max(longest, elementAt(onGpu[id] ? costs.gpu : costs.cpu, id));
    // State that may be placed is one instance, which is among the longest.
    if (stateful && (problem.placesState !== true || costs.gpu[id] === Infinity)) recurrence = Math.max(recurrence, serial(id));
    if (problem.openLoops) continue;
    const ahead = reachedFrom(problem, id);
    if (!ahead.has(id)) continue;
    const loop = graph.actors.filter((other) => ahead.has(other.id) && reachedFrom(problem, other.id).has(id));
    recurrence = Math.max(recurrence, loop.reduce((sum, member) => sum + serial(member.id), 0));
  }
  const dma = link === 'duplex' ? Math.max(toCpu, toGpu) : toCpu + toGpu;
  const loads = { toCpu, toGpu, dma, gpu: gpu / multiprocessors, cpu: cpu / cores, recurrence, longest };
  return { ...loads, interval: Math.max(dma, loads.gpu, loads.cpu, recurrence, longest) };
}

const figures = ['toCpu', 'toGpu', 'dma', 'gpu', 'cpu', 'recurrence', 'longest', 'interval'] as const;

/** The errors in a partition and its claimed loads; empty if there are none. */
export function validatePartition(problem: TaskProblem,
  claimed: TaskLoads & { readonly onGpu: readonly boolean[]; readonly bound?: number }): string[] {
  checkTask(problem);
  requireFields('claimed', claimed, 'a partition with its loads', ['onGpu']);
  for (const name of [...figures, 'bound'] as const) {
    const figure: unknown = claimed[name];
    if (typeof figure === 'number' || (name === 'bound' && figure === undefined)) continue;
    throw refusal(`claimed.${name}`, 'a number', describeValue(figure));
  }
  const { graph, costs, fixed, openLoops, placesState } = problem;
  const problems: string[] = [];
  if (claimed.onGpu.length !== graph.actors.length) return [`${claimed.onGpu.length} placements for ${graph.actors.length} actors`];
  for (const { id, name, stateful } of graph.actors) {
    if (!claimed.onGpu[id]) continue;
    const isInLoop = !openLoops && reachedFrom(problem, id).has(id);
    const isByState = stateful && placesState !== true;
    if (isByState || fixed?.[id] || costs.gpu[id] === Infinity || isInLoop) problems.push(`${name} is fixed to the CPU`);
  }
  if (problems.length > 0) return problems;
  const loads = recomputeLoads(problem, claimed.onGpu);
  for (const name of figures) {
    if (Math.abs(loads[name] - claimed[name]) <= 1e-9 * (1 + loads.interval)) continue;
    problems.push(`${name}: claimed ${claimed[name]}, found ${loads[name]}`);
  }
  if (claimed.bound !== undefined && claimed.bound > loads.interval * (1 + 1e-6)) {
    problems.push(`bound ${claimed.bound} is above the interval ${loads.interval}`);
  }
  return problems;
}
