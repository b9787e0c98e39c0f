// How graphs show themselves in consoles and notebooks.
import { displayed } from '../../core/display.ts';
import type { StreamGraph } from '../graph.ts';
import { typeText } from '../interpret/values.ts';

/** A graph that draws itself. Before it is frozen. */
export function shownGraph(graph: StreamGraph): StreamGraph {
  const typeOf = (end: StreamGraph['input']): string => (end === undefined ? 'void' : typeText(end.type));
  return displayed(graph, {
    text: () => `StreamGraph { ${typeOf(graph.input)} -> ${typeOf(graph.output)}, ${graph.nodes.length} nodes, `
      + `${graph.channels.length} channels }`,
    bundle: async () => ({ 'image/svg+xml': await (await import('./graph-svg.ts')).graphSvg(graph) }),
  });
}
