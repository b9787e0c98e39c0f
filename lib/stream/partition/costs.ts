// The cost table that all partitioners and pipelining use, from profiling or supplied by the caller.
import { describeValue } from '../../core/arrays.ts';
import { refusal } from '../../core/errors.ts';
import type { SdfGraph } from '../sdf.ts';
import { requireFields, requireList, requireRateGraph, requireSizes } from '../require.ts';

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

/** Actors that peek at items they do not consume, by id: their buffers stay in stream order (section 4.2). */
export function peekingActors(graph: SdfGraph): boolean[] {
  requireRateGraph(graph);
  const found = graph.actors.map(() => false);
  for (const { to, peek, pop } of graph.channels) if (peek > pop) found[to] = true;
  return found;
}
