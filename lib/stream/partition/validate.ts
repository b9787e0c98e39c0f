// An independent check of task partitions, which implements the paper's four conditions literally; shares nothing with the partitioners.
import { elementAt, required } from '../../core/known.ts';
import { checkTask, type TaskLoads, type TaskProblem } from './task.ts';
import { describeValue } from '../../core/arrays.ts';
import { refusal } from '../../core/errors.ts';
import { requireFields, requireList } from '../require.ts';

/** Loads of a partition according to the text of section 4.5.1, channel by channel. */
export function recomputeLoads(problem: TaskProblem, onGpu: readonly boolean[]): TaskLoads {
  checkTask(problem);
  requireList('onGpu', onGpu, 'a boolean for each actor');
  const { graph, repetitions, costs, cores, multiprocessors } = problem;
  const peeks = (actor: number): boolean => graph.channels.some((channel) => channel.to === actor && channel.peek > channel.pop);
  let dma = 0, gpu = 0, cpu = 0;
  for (const { id } of graph.actors) {
    if (onGpu[id]) gpu += elementAt(repetitions, id) * elementAt(costs.gpu, id);
    else cpu += elementAt(repetitions, id) * elementAt(costs.cpu, id);
  }
  for (const { id, from: u, to: v } of graph.channels) {
    if (u === v) continue;
    if (onGpu[u] && !onGpu[v]) dma += elementAt(costs.toCpu, id);
    if (!onGpu[u] && onGpu[v]) dma += elementAt(costs.toGpu, id);
    // 1. From GPU to CPU: deshuffle if and only if u does not peek.
    if (onGpu[u] && !onGpu[v] && !peeks(u)) gpu += elementAt(costs.deshuffle, id);
    // 2. Both on the GPU: deshuffle if and only if v peeks and u does not.
    if (onGpu[u] && onGpu[v] && peeks(v) && !peeks(u)) gpu += elementAt(costs.deshuffle, id);
    // 3. From CPU to GPU: shuffle if and only if v does not peek.
    if (!onGpu[u] && onGpu[v] && !peeks(v)) gpu += elementAt(costs.shuffle, id);
    // 4. Both on the GPU: shuffle if and only if u peeks and v does not.
    if (onGpu[u] && onGpu[v] && peeks(u) && !peeks(v)) gpu += elementAt(costs.shuffle, id);
  }
  const loads = { dma, gpu: gpu / multiprocessors, cpu: cpu / cores };
  return { ...loads, interval: Math.max(loads.dma, loads.gpu, loads.cpu) };
}

/** Whether an actor lies on a cycle, by plain search. */
function isInLoop({ graph }: TaskProblem, actor: number): boolean {
  const seen = new Set<number>();
  const queue = [actor];
  while (queue.length > 0) {
    const at = required(queue.pop());
    for (const { from, to } of graph.channels) {
      if (from !== at) continue;
      if (to === actor) return true;
      if (!seen.has(to)) queue.push(to);
      seen.add(to);
    }
  }
  return false;
}

/** The errors in a partition and its claimed loads; empty if there are none. */
export function validatePartition(problem: TaskProblem,
  claimed: TaskLoads & { readonly onGpu: readonly boolean[]; readonly bound?: number }): string[] {
  checkTask(problem);
  requireFields('claimed', claimed, 'a partition with its loads', ['onGpu']);
  for (const name of ['dma', 'gpu', 'cpu', 'interval', 'bound'] as const) {
    const figure: unknown = claimed[name];
    if (typeof figure === 'number' || (name === 'bound' && figure === undefined)) continue;
    throw refusal(`claimed.${name}`, 'a number', describeValue(figure));
  }
  const { graph, costs, fixed } = problem;
  const problems: string[] = [];
  if (claimed.onGpu.length !== graph.actors.length) return [`${claimed.onGpu.length} placements for ${graph.actors.length} actors`];
  for (const { id, name, stateful } of graph.actors) {
    if (!claimed.onGpu[id]) continue;
    if (stateful || fixed?.[id] || costs.gpu[id] === Infinity || isInLoop(problem, id)) problems.push(`${name} is fixed to the CPU`);
  }
  if (problems.length > 0) return problems;
  const loads = recomputeLoads(problem, claimed.onGpu);
  for (const name of ['dma', 'gpu', 'cpu', 'interval'] as const) {
    if (Math.abs(loads[name] - claimed[name]) <= 1e-9 * (1 + loads.interval)) continue;
    problems.push(`${name}: claimed ${claimed[name]}, found ${loads[name]}`);
  }
  if (claimed.bound !== undefined && claimed.bound > loads.interval * (1 + 1e-6)) {
    problems.push(`bound ${claimed.bound} is above the interval ${loads.interval}`);
  }
  return problems;
}
