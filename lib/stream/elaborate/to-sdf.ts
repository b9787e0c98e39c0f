// The view of a graph that scheduling uses.
import type { Channel, GraphNode, StreamGraph } from '../graph.ts';
import { typeBytes } from '../interpret/values.ts';
import { truth } from '../../core/checks.ts';
import { displayed } from '../../core/display.ts';
import { ArgumentError } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import type { SdfActor, SdfChannel, SdfGraph } from '../sdf.ts';
import { trusted, withGraph } from '../require.ts';

/** How many items a node moves through a port in one firing. */
export interface PortRates {
  readonly push: number;
  readonly pop: number;
  readonly peek: number;
}

const totals = new WeakMap<readonly number[], number>();

/** How many items one firing of a splitter or joiner moves. Cached, because it is needed once per port, of which there may be thousands. */
function totalOf(weights: readonly number[]): number {
  let total = totals.get(weights);
  if (total === undefined) totals.set(weights, total = weights.reduce((sum, weight) => sum + weight, 0));
  return total;
}

/** Rates of one port of a node; `first`: those of its first firing. Inputs have pop and peek, outputs push. */
export function ratesOf(node: GraphNode, port: number, first = false): PortRates {
  switch (node.kind) {
    case 'filter': return (first ? node.code.prework ?? node.code.work : node.code.work).rates;
    case 'splitter': {
      const total = totalOf(node.weights);
      return { push: node.weights[port] ?? 0, pop: total, peek: total };
    }
    case 'joiner': {
      const weight = node.weights[port] ?? 0;
      return { push: totalOf(node.weights), pop: weight, peek: weight };
    }
    default: return { push: 1, pop: 1, peek: 1 };
  }
}

/** Whether the rates of a node are known only when it fires. */
export function isDynamic(node: GraphNode): boolean {
  return node.kind === 'filter' && (node.code.work.rates.dynamic !== undefined || node.code.prework?.rates.dynamic !== undefined);
}

function sdfChannel(graph: StreamGraph, channel: Channel): SdfChannel {
  const from = elementAt(graph.nodes, channel.from);
  const to = elementAt(graph.nodes, channel.to);
  const { push } = ratesOf(from, channel.fromPort);
  const { pop, peek } = ratesOf(to, channel.toPort);
  const firstPush = ratesOf(from, channel.fromPort, true).push;
  const first = ratesOf(to, channel.toPort, true);
  const isFirst = to.kind === 'filter' && to.code.prework !== undefined;
  return {
    id: channel.id, from: channel.from, to: channel.to, push, pop, peek, tokens: channel.initial.length,
    ...(from.kind === 'filter' && from.code.prework !== undefined ? { firstPush } : {}),
    ...(isFirst ? { firstPop: first.pop, firstPeek: first.peek } : {}), bytesPerItem: typeBytes(channel.type),
  };
}

/** Whether a filter's pop, peek or push rate is known only when it fires. */
function isOpen(node: GraphNode, side: 'inputs' | 'outputs'): boolean {
  if (node.kind !== 'filter') return false;
  return [node.code.work, node.code.prework].some((work) => {
    const dynamic = work?.rates.dynamic;
    return (side === 'inputs' ? dynamic?.pop ?? dynamic?.peek : dynamic?.push) !== undefined;
  });
}

/**
 * Some nodes and the channels between them, as scheduling sees them; undefined if their rates are known only when filters fire. Actors keep
 * their ids, channels do not.
 */
export function partToSdf(graph: StreamGraph, nodes: ReadonlySet<number>): SdfGraph | undefined {
  const channels = graph.channels.filter(({ from, to }) => nodes.has(from) && nodes.has(to));
  const opens = (node: number, side: 'inputs' | 'outputs') => isOpen(elementAt(graph.nodes, node), side);
  if (channels.some(({ from, to }) => opens(from, 'outputs') || opens(to, 'inputs'))) return undefined;
  return { actors: actorsOf(graph), channels: channels.map((channel, id) => ({ ...sdfChannel(graph, channel), id })) };
}

function actorsOf(graph: StreamGraph): SdfActor[] {
  return graph.nodes.map((node) => ({
    id: node.id, name: node.name, stateful: node.kind === 'filter' ? node.code.stateful : node.kind === 'reader' || node.kind === 'writer',
    moves: node.kind !== 'filter' && node.kind !== 'reader' && node.kind !== 'writer',
  }));
}

/** Choices of {@link toSdf}. */
export interface SdfOptions {
  /**
   * Open ends of the program as actors with state, which schedules keep on the host, so that its input and output are channels whose
   * transfers count. They are the last actors, the input first; a firing gives or takes what one of the node at the end does. Default
   * false.
   */
  readonly ends?: boolean;
}

const sdfOptions = optionsOf('stream.toSdf', { ends: normally(truth, false) } satisfies ChecksOf<SdfOptions>);

/** Adds the open ends of a program. */
function withEnds(graph: StreamGraph, { actors, channels }: SdfGraph): SdfGraph {
  const made = { actors: [...actors], channels: [...channels] };
  const add = (name: 'input' | 'output'): void => {
    const end = graph[name];
    if (end === undefined) return;
    const node = elementAt(graph.nodes, end.node), id = made.actors.length;
    const isFirst = node.kind === 'filter' && node.code.prework !== undefined;
    const usual = ratesOf(node, 0), first = ratesOf(node, 0, true);
    const common = { id: made.channels.length, tokens: 0, bytesPerItem: typeBytes(end.type) };
    made.actors.push({ id, name, stateful: true, moves: true });
    made.channels.push(name === 'input'
      ? { ...common, from: id, to: end.node, push: usual.pop, pop: usual.pop, peek: usual.peek,
        ...(isFirst ? { firstPop: first.pop, firstPeek: first.peek } : {}) }
      : { ...common, from: end.node, to: id, push: usual.push, pop: usual.push, peek: usual.push,
        ...(isFirst ? { firstPush: first.push } : {}) });
  };
  add('input');
  add('output');
  return made;
}

/**
 * Reduces a graph to its rates. Actors and channels keep their ids. Throws {@link ArgumentError} if a filter has dynamic rates: such graphs
 * have no static schedule.
 */
export function toSdf(graph: StreamGraph, options: SdfOptions = {}): SdfGraph {
  const { ends } = sdfOptions.read(options, 'options');
  return withGraph(graph, () => {
    const made = ends ? withEnds(graph, sdfOf(graph)) : sdfOf(graph);
    const text = (): string => `SdfGraph { ${made.actors.length} actors, ${made.channels.length} channels }`;
    return trusted(Object.isFrozen(made) ? made : displayed(made, { text }));
  });
}

/** Like {@link toSdf}, for a graph that is known to be valid. */
export function sdfOf(graph: StreamGraph): SdfGraph {
  const dynamic = graph.nodes.find(isDynamic);
  if (dynamic !== undefined) {
    throw new ArgumentError('graph', `${dynamic.name} has rates that are known only when it fires, so there is no static schedule`,
      { expected: 'constant rates', received: 'dynamic rates' });
  }
  return { actors: actorsOf(graph), channels: graph.channels.map((channel) => sdfChannel(graph, channel)) };
}
