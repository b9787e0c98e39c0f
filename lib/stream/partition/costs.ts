// The cost table that all partitioners and pipelining use, from profiling or supplied by the caller.
import { describeValue } from '../../core/arrays.ts';
import { refusal } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import type { SdfGraph } from '../sdf.ts';
import { requireCounts, requireFields, requireList, requireRateGraph, requireSizes } from '../require.ts';

/**
 * Times in microseconds. By actor id: one firing (for a multi-threaded actor: one instance) on one CPU core and on one multiprocessor. By
 * channel id: the items of one steady state.
 */
export interface CostTable {
  /** D_cpu(v): one firing on one core. */
  readonly cpu: readonly number[];
  /** D_gpu(v): one firing on one multiprocessor; Infinity if it cannot run there. */
  readonly gpu: readonly number[];
  /** TGC(u, v): transfer from the GPU to the CPU. */
  readonly toCpu: readonly number[];
  /** TCG(u, v): transfer from the CPU to the GPU. */
  readonly toGpu: readonly number[];
  /** SC(u, v): shuffle on the GPU. */
  readonly shuffle: readonly number[];
  /** DC(u, v): deshuffle on the GPU. */
  readonly deshuffle: readonly number[];
}

/** Throws {@link ArgumentError} unless the table has one time ≥ 0 for each actor and channel; only `gpu` may hold Infinity. */
export function checkCosts(graph: SdfGraph, costs: CostTable): void {
  requireRateGraph(graph);
  requireFields('costs', costs, 'a table of costs');
  const check = (name: keyof CostTable, count: number, allowsInfinity: boolean): void => {
    const values = costs[name];
    requireList(`costs.${name}`, values, `${count} times`);
    if (values.length !== count) throw refusal(`costs.${name}`, `${count} times`, String(values.length));
    values.forEach((value, id) => {
      if (typeof value === 'number' && value >= 0 && (value < Infinity || allowsInfinity)) return;
      throw refusal(`costs.${name}[${id}]`, 'a time ≥ 0 in microseconds', describeValue(value));
    });
  };
  check('cpu', graph.actors.length, false);
  check('gpu', graph.actors.length, true);
  for (const name of ['toCpu', 'toGpu', 'shuffle', 'deshuffle'] as const) check(name, graph.channels.length, false);
}

/** A table with only CPU times: transfers cost nothing and the GPU can run nothing. */
export function cpuCosts(graph: SdfGraph, cpu: readonly number[]): CostTable {
  requireRateGraph(graph);
  requireSizes('cpu', cpu, graph.actors.length);
  const none = graph.channels.map(() => 0);
  return { cpu, gpu: cpu.map(() => Infinity), toCpu: none, toGpu: none, shuffle: none, deshuffle: none };
}

/**
 * Actors whose buffers stay in stream order, by id: those that look at items they do not consume (section 4.2), those with state, and those
 * before which items stand between iterations, so that an iteration reads parts of several. `tokens`: what stands there; default: those of
 * the graph. Whole iterations are no parts: with `repetitions`, they are known.
 */
export function orderedActors(graph: SdfGraph, tokens?: readonly number[], repetitions?: readonly number[]): boolean[] {
  requireRateGraph(graph);
  if (tokens !== undefined) requireSizes('tokens', tokens, graph.channels.length);
  if (repetitions !== undefined) requireCounts('repetitions', repetitions, graph.actors.length);
  const found = graph.actors.map(({ stateful }) => stateful);
  for (const channel of graph.channels) {
    const { id, from, to, push, pop, peek } = channel;
    const left = tokens === undefined ? channel.tokens : elementAt(tokens, id);
    const items = repetitions === undefined ? 0 : push * elementAt(repetitions, from);
    if (peek > pop || (items > 0 ? left % items : left) > 0) found[to] = true;
  }
  return found;
}
