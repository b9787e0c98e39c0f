// The nodes whose firings count, and those that pull all others.
import { elementAt, required } from '../../core/known.ts';
import type { StreamGraph } from '../graph.ts';

/** Nodes whose firings define steady states: sinks, and all nodes that no sink pulls. */
export function countedNodes(graph: StreamGraph): number[] {
  return sinksOf(graph, true);
}

/**
 * Nodes that pull all others: those without outputs, the one at the open output, and one (with `isEach`: each) of every loop that leads to
 * no sink.
 */
export function sinksOf(graph: StreamGraph, isEach = false): number[] {
  const sinks: number[] = [];
  const reached = new Set<number>();
  const reach = (start: number): void => {
    const stack = [start];
    while (stack.length > 0) {
      const id = required(stack.pop());
      if (reached.has(id)) continue;
      reached.add(id);
      const inputs = elementAt(graph.nodes, id).inputs.filter((channel) => channel !== undefined);
      stack.push(...inputs.map((channel) => elementAt(graph.channels, channel).from));
    }
  };
  const add = (id: number): void => {
    sinks.push(id);
    reach(id);
  };
  if (graph.output !== undefined) add(graph.output.node);
  for (const { id, outputs } of graph.nodes) if (id !== graph.output?.node && outputs.every((channel) => channel === undefined)) add(id);
  if (isEach) sinks.push(...graph.nodes.flatMap(({ id }) => (reached.has(id) ? [] : [id])));
  else for (const node of graph.nodes) if (!reached.has(node.id)) add(node.id);
  return sinks;
}
