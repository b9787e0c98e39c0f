// The graph as a picture: filters with their rates, splitters, joiners, channels with their types and initial items.
import { requireText } from '../../core/checks.ts';
import { refusal } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import { ratesOf } from '../elaborate/to-sdf.ts';
import type { GraphNode, StreamGraph } from '../graph.ts';
import { typeText } from '../interpret/values.ts';
import { colours, escaped, rounded, svgDocument, textAt } from './svg.ts';
import { withGraph } from '../require.ts';

/** Nodes beyond which a picture would be no help and its layout would take minutes. */
const mostNodes = 3000;
const letter = 6.4;

interface Box { readonly width: number; readonly height: number; readonly lines: readonly string[] }

function labelOf(node: GraphNode): readonly string[] {
  if (node.kind === 'duplicate') return ['duplicate'];
  if (node.kind === 'splitter' || node.kind === 'joiner') {
    const weights = node.weights.every((weight) => weight === node.weights[0]) ? `${node.weights[0] ?? 0} each` : node.weights.join(', ');
    return [node.kind === 'splitter' ? 'split' : 'join', weights];
  }
  if (node.kind === 'identity') return ['identity'];
  if (node.kind === 'reader' || node.kind === 'writer') return [node.kind === 'reader' ? 'read' : 'write', node.file.path];
  const { push, pop, peek, dynamic } = ratesOf(node, 0) as ReturnType<typeof ratesOf> & { dynamic?: unknown };
  const rates = dynamic !== undefined ? 'dynamic rates' : `pop ${pop}${peek > pop ? `, peek ${peek}` : ''}, push ${push}`;
  return [node.name, rates];
}

function boxOf(node: GraphNode): Box {
  const lines = labelOf(node).map((line) => (line.length > 34 ? `${line.slice(0, 33)}…` : line));
  return { width: Math.max(46, 14 + letter * Math.max(...lines.map((line) => line.length))), height: 10 + 14 * lines.length, lines };
}

function fillOf(node: GraphNode): string {
  if (node.kind === 'filter') return node.code.stateful ? '#fde3c8' : ratesOf(node, 0).peek > ratesOf(node, 0).pop ? '#d7ecf9' : '#e9f3ec';
  return node.kind === 'reader' || node.kind === 'writer' ? '#f0e0ea' : '#eeeeee';
}

function nodeSvg(node: GraphNode, box: Box, x: number, y: number): string {
  const left = x - box.width / 2, top = y - box.height / 2;
  const lines = box.lines.map((line, i) => textAt(x, top + 15 + 14 * i, line, `text-anchor="middle"${i > 0 ? ' fill="#555"' : ''}`));
  const shape = `<rect x="${rounded(left)}" y="${rounded(top)}" width="${rounded(box.width)}" height="${rounded(box.height)}" `
    + `rx="${node.kind === 'filter' ? 4 : 12}" fill="${fillOf(node)}" stroke="#666"/>`;
  return `<g><title>${escaped(node.name)}</title>${shape}${lines.join('')}</g>`;
}

const legend = [['stateless', '#e9f3ec'], ['peeks', '#d7ecf9'], ['with state', '#fde3c8'], ['moves items', '#eeeeee']] as const;

/**
 * Draws a graph as SVG, from top to bottom; channels of one type and without initial items carry no label.
 *
 * @throws ArgumentError for graphs of more than 3000 nodes
 */
export async function graphSvg(graph: StreamGraph, title = 'stream graph'): Promise<string> {
  requireText(title, 'title');
  return withGraph(graph, () => drawn(graph, title));
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** What is used of dagre, whose own declarations cannot be resolved as modules of Node. */
interface Drawing {
  setGraph(label: object): void;
  setDefaultEdgeLabel(label: () => object): void;
  setNode(id: string, label: { readonly width: number; readonly height: number }): void;
  setEdge(from: string, to: string, label: { readonly label: string; readonly width: number; readonly height: number }, name: string): void;
  graph(): { readonly width?: number; readonly height?: number };
  edges(): readonly object[];
  edge(edge: object): { readonly points: readonly Point[]; readonly label: string } & Partial<Point>;
  node(id: string): Point;
}
interface Dagre {
  readonly Graph: new (options: { readonly multigraph: boolean }) => Drawing;
  readonly layout: (drawing: Drawing) => void;
}

async function drawn(graph: StreamGraph, title: string): Promise<string> {
  if (graph.nodes.length > mostNodes) {
    throw refusal('graph', `at most ${mostNodes} nodes in a picture`, String(graph.nodes.length));
  }
  const { Graph, layout } = await import('@dagrejs/dagre') as unknown as Dagre;
  const drawing = new Graph({ multigraph: true });
  drawing.setGraph({ rankdir: 'TB', nodesep: 18, ranksep: 26, marginx: 16, marginy: 34 });
  drawing.setDefaultEdgeLabel(() => ({}));
  const boxes = graph.nodes.map(boxOf);
  boxes.forEach(({ width, height }, id) => drawing.setNode(String(id), { width, height }));
  const isUniform = new Set(graph.channels.map(({ type }) => typeText(type))).size <= 1;
  for (const channel of graph.channels) {
    const tokens = channel.initial.length === 0 ? '' : `${channel.initial.length} initial`;
    const label = [isUniform ? '' : typeText(channel.type), tokens].filter((part) => part !== '').join(', ');
    drawing.setEdge(String(channel.from), String(channel.to), { label, width: letter * label.length, height: label === '' ? 0 : 12 },
      String(channel.id));
  }
  layout(drawing);
  const { width = 100, height = 100 } = drawing.graph();
  const edges = drawing.edges().map((edge) => {
    const { points, label, x, y } = drawing.edge(edge);
    const path = points.map((point, i) => `${i === 0 ? 'M' : 'L'}${rounded(point.x)},${rounded(point.y)}`).join('');
    return `<path d="${path}" fill="none" stroke="#888" marker-end="url(#arrow)"/>`
      + (label !== '' && x !== undefined && y !== undefined ? textAt(x, y + 4, label, `text-anchor="middle" fill="${colours[5]}"`) : '');
  });
  const nodes = graph.nodes.map((node, id) => {
    const { x, y } = drawing.node(String(id));
    return nodeSvg(node, elementAt(boxes, id), x, y);
  });
  const keys = legend.map(([what, fill], i) => `<rect x="${16 + 96 * i}" y="12" width="10" height="10" fill="${fill}" stroke="#666"/>`
    + textAt(30 + 96 * i, 21, what));
  const arrow = '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    + '<path d="M0,0L8,4L0,8z" fill="#888"/></marker></defs>';
  return svgDocument(Math.max(width, 400), height, title, [arrow, ...keys, ...edges, ...nodes]);
}
