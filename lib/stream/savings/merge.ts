// Merges nodes with equal code and equal input, which have equal output: one of them is kept, and its output is duplicated for the readers
// of all. Found by value numbering of streams: channels that carry the same items in the same order have the same number.
import { elementAt, required } from '../../core/known.ts';
import { isDynamic } from '../elaborate/to-sdf.ts';
import type { Channel, GraphNode, GraphTree, StreamGraph } from '../graph.ts';
import { severalPrinters } from '../interpret/print-order.ts';
import { sinksOf } from '../interpret/sinks.ts';
import { bodiesOf, evaluatesSome, hasOrder } from '../interpret/walk.ts';
import type { ConstantData, FilterCode } from '../ir.ts';

/** A graph after merging. */
export interface MergedGraph {
  readonly graph: StreamGraph;
  /** By node: its id in the given graph; undefined for duplicating nodes that merging added. */
  readonly origins: readonly (number | undefined)[];
}

/**
 * The graph with equal nodes merged; the graph itself if there are none. Nothing is merged if random numbers or the order of printed text
 * depend on node ids.
 */
export function mergeEqual(graph: StreamGraph): MergedGraph {
  const whole = { graph, origins: graph.nodes.map(({ id }) => id) };
  const isApart = ({ kind, outputs }: GraphNode): boolean => kind === 'duplicate' && outputs.length > 1;
  if (graph.portals.length > 0 || !graph.nodes.some(isApart) || severalPrinters(graph).length > 0) return whole;
  const codes = new Set(graph.nodes.flatMap((node) => (node.kind === 'filter' ? [node.code] : [])));
  if ([...codes].some(drawsNumbers)) return whole;
  const kept = new Numbering(graph).kept;
  return kept.every((node, id) => node === id) ? whole : new Rebuilding(graph, kept).result();
}

function drawsNumbers(code: FilterCode): boolean {
  return bodiesOf(code).some((body) => evaluatesSome(body, (e) => e.kind === 'math' && e.name === 'random'));
}

/** Whether a node's output is a function of its input and it has no side effects. State is allowed: equal nodes start in the same one. */
function isMergeable(graph: StreamGraph, node: GraphNode): boolean {
  const { inputs, outputs } = node;
  if ([inputs, outputs].some((ends) => ends.every((channel) => channel === undefined))) return false;
  if (graph.output?.node === node.id || graph.input?.node === node.id) return false;
  if (node.kind === 'splitter' || node.kind === 'joiner') return true;
  return node.kind === 'filter' && !isDynamic(node) && node.code.handlers.length === 0 && !bodiesOf(node.code).some(hasOrder);
}

/** A text that is equal exactly for equal constants, signs of zeros included. */
function textOf({ numbers }: ConstantData): string {
  return Array.from(numbers, (x) => (Object.is(x, -0) ? '-0' : String(x))).join();
}

/** Numbers the streams of a graph, and finds equal nodes. */
class Numbering {
  /** By node: the equal node with the lowest id. */
  readonly kept: number[];
  readonly #graph: StreamGraph;
  /** By channel. */
  readonly #streams: (number | undefined)[];
  readonly #numbers = new Map<string, number>();
  readonly #codes = new Map<FilterCode, number>();

  constructor(graph: StreamGraph) {
    this.#graph = graph;
    this.kept = graph.nodes.map(({ id }) => id);
    this.#streams = graph.channels.map(() => undefined);
    const equal = new Map<string, number[]>();
    for (const id of forwardNodes(graph)) {
      const node = elementAt(graph.nodes, id);
      const key = this.#keyOf(node);
      const known = equal.get(key);
      if (known === undefined) equal.set(key, [id]);
      else known.push(id);
      for (const channel of node.outputs) if (channel !== undefined) this.#number(elementAt(graph.channels, channel), node, key);
    }
    for (const members of equal.values()) {
      const least = members.reduce((a, b) => Math.min(a, b));
      for (const id of members) this.kept[id] = least;
    }
  }

  #numberOf(key: string): number {
    let number = this.#numbers.get(key);
    if (number === undefined) this.#numbers.set(key, number = this.#numbers.size);
    return number;
  }

  #number({ id, fromPort, initial }: Channel, { kind, inputs }: GraphNode, key: string): void {
    const [source] = inputs;
    const passes = kind === 'duplicate' || kind === 'identity';
    const passed = passes && source !== undefined ? this.#streams[source] : undefined;
    const stream = passed ?? this.#numberOf(passes ? key : `${key}:${fromPort}`);
    this.#streams[id] = initial.length === 0 ? stream : this.#numberOf(`${stream} behind ${initial.map(textOf).join(';')}`);
  }

  /** A key that is equal only for nodes with equal output. */
  #keyOf(node: GraphNode): string {
    const own = `node ${node.id}`;
    if (!isMergeable(this.#graph, node)) return own;
    const streams = node.inputs.map((channel) => (channel === undefined ? '-' : this.#streams[channel]));
    // An input from a feedback loop has no number yet.
    if (streams.includes(undefined)) return own;
    const what = node.kind === 'filter' ? `code ${this.#codeOf(node.code)}`
      : node.kind === 'splitter' || node.kind === 'joiner' ? `${node.kind} ${node.weights.join()}` : own;
    return `${what} of ${streams.join()}`;
  }

  #codeOf(code: FilterCode): number {
    let number = this.#codes.get(code);
    if (number === undefined) this.#codes.set(code, number = this.#codes.size);
    return number;
  }
}

/** Nodes in topological order; feedback loops are entered when nothing else is left. */
function forwardNodes({ nodes, channels }: StreamGraph): number[] {
  const waiting = nodes.map(({ inputs }) => inputs.filter((channel) => channel !== undefined).length);
  const order: number[] = [];
  const done = new Set<number>();
  const visit = (start: number): void => {
    const ready = [start];
    for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
      if (done.has(id)) continue;
      done.add(id);
      order.push(id);
      for (const channel of elementAt(nodes, id).outputs) {
        if (channel === undefined) continue;
        const { to } = elementAt(channels, channel);
        waiting[to] = elementAt(waiting, to) - 1;
        if (waiting[to] === 0) ready.push(to);
      }
    }
  };
  for (const { id } of nodes) if (waiting[id] === 0) visit(id);
  for (const { id } of nodes) visit(id);
  return order;
}

/** An output port, and the channels that start there after merging. */
interface Source { readonly node: number; readonly port: number; readonly channels: Channel[] }

/** Builds the merged graph. */
class Rebuilding {
  readonly #graph: StreamGraph;
  readonly #kept: readonly number[];
  readonly #alive = new Set<number>();
  readonly #sources = new Map<string, Source>();
  readonly #nodes: { node: GraphNode; inputs: (number | undefined)[]; outputs: (number | undefined)[] }[] = [];
  readonly #channels: Channel[] = [];
  readonly #origins: (number | undefined)[] = [];
  /** New ids by old id. */
  readonly #ids = new Map<number, number>();
  /** By old id: new ids of the duplicating nodes added behind it. */
  readonly #copies = new Map<number, number[]>();

  constructor(graph: StreamGraph, kept: readonly number[]) {
    this.#graph = graph;
    this.#kept = kept;
    this.#findAlive();
    for (const { id, to } of graph.channels) if (this.#alive.has(to)) this.#connect(elementAt(graph.channels, id));
    for (const node of graph.nodes) {
      if (this.#alive.has(node.id) && !this.#isNeedless(node)) this.#ids.set(node.id, this.#add(node, node.id));
    }
    for (const source of this.#sources.values()) if (!this.#isNeedless(elementAt(graph.nodes, source.node))) this.#write(source);
  }

  /** Finds the nodes that some sink still depends on. */
  #findAlive(): void {
    const { nodes, channels } = this.#graph;
    const stack = sinksOf(this.#graph).map((id) => elementAt(this.#kept, id));
    for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
      if (this.#alive.has(id)) continue;
      this.#alive.add(id);
      for (const channel of elementAt(nodes, id).inputs) {
        if (channel !== undefined) stack.push(elementAt(this.#kept, elementAt(channels, channel).from));
      }
    }
  }

  #connect(channel: Channel): void {
    const [node, port] = [elementAt(this.#kept, channel.from), channel.fromPort];
    const key = `${node} ${port}`;
    const source = this.#sources.get(key);
    if (source === undefined) this.#sources.set(key, { node, port, channels: [channel] });
    else source.channels.push(channel);
  }

  /** The channels that leave a node after merging. */
  #leaving({ id, outputs }: GraphNode): Channel[] {
    return outputs.flatMap((_, port) => this.#sources.get(`${id} ${port}`)?.channels ?? []);
  }

  /** Whether this is a duplicating node with one reader left, which can be removed. */
  #isNeedless(node: GraphNode): boolean {
    const { input: { node: first } = {}, output: { node: last } = {} } = this.#graph;
    if (node.kind !== 'duplicate' || first === node.id || last === node.id || node.outputs.length < 2) return false;
    const [input] = node.inputs;
    return input !== undefined && elementAt(this.#graph.channels, input).initial.length === 0 && this.#leaving(node).length === 1;
  }

  #add(node: GraphNode, origin: number | undefined): number {
    this.#origins.push(origin);
    return this.#nodes.push({ node, inputs: node.inputs.map(() => undefined), outputs: node.outputs.map(() => undefined) }) - 1;
  }

  /** The channel that results from removing duplicating nodes behind this one. */
  #behind(channel: Channel): Channel {
    let [end, initial] = [channel, channel.initial];
    for (let node = elementAt(this.#graph.nodes, end.to); this.#isNeedless(node); node = elementAt(this.#graph.nodes, end.to)) {
      end = required(this.#leaving(node)[0]);
      initial = [...end.initial, ...initial];
    }
    return { ...end, initial };
  }

  /** Adds the channels of a port: a single one as it is, several behind a duplicating node. */
  #write({ node, port, channels }: Source): void {
    const id = required(this.#ids.get(node));
    const former = elementAt(this.#graph.nodes, node);
    const copying = channels.length === 1 ? undefined : this.#copying(id, former, port, elementAt(channels, 0));
    channels.forEach((channel, at) => {
      const { type, to, toPort, initial } = this.#behind(channel);
      const begin = copying === undefined ? { from: id, fromPort: port } : { from: copying, fromPort: at };
      this.#channel({ ...begin, type, initial, to: required(this.#ids.get(to)), toPort });
    });
  }

  /** Adds a duplicating node behind a port. */
  #copying(id: number, former: GraphNode, port: number, { type }: Channel): number {
    const name = this.#freeName(`${former.name}_copies`);
    const made = this.#add({ kind: 'duplicate', id: 0, name, inputs: [undefined], outputs: [] }, undefined);
    this.#channel({ type, initial: [], from: id, fromPort: port, to: made, toPort: 0 });
    const copies = this.#copies.get(former.id);
    if (copies === undefined) this.#copies.set(former.id, [made]);
    else copies.push(made);
    return made;
  }

  #freeName(wanted: string): string {
    const taken = new Set(this.#nodes.map(({ node }) => node.name));
    let name = wanted;
    for (let i = 2; taken.has(name); ++i) name = `${wanted}_${i}`;
    return name;
  }

  #channel(channel: Omit<Channel, 'id'>): void {
    const id = this.#channels.push({ ...channel, id: this.#channels.length }) - 1;
    elementAt(this.#nodes, channel.from).outputs[channel.fromPort] = id;
    elementAt(this.#nodes, channel.to).inputs[channel.toPort] = id;
  }

  #tree(tree: GraphTree): GraphTree | undefined {
    if (tree.kind === 'node') {
      const node = this.#ids.get(tree.node);
      if (node === undefined) return undefined;
      const copies = this.#copies.get(tree.node);
      const whole: GraphTree = { kind: 'node', node };
      if (copies === undefined) return whole;
      const { name } = elementAt(this.#graph.nodes, tree.node);
      return { kind: 'pipeline', name, children: [whole, ...copies.map((copy): GraphTree => ({ kind: 'node', node: copy }))] };
    }
    const children = tree.children.flatMap((child) => this.#tree(child) ?? []);
    const [splitter, joiner] = [tree.splitter, tree.joiner].map((id) => (id === undefined ? undefined : this.#ids.get(id)));
    if (children.length === 0 && splitter === undefined && joiner === undefined) return undefined;
    const { kind, name } = tree;
    return { kind, name, children, ...(splitter === undefined ? {} : { splitter }), ...(joiner === undefined ? {} : { joiner }) };
  }

  /** Closes gaps between the ports of duplicating nodes. */
  #closeGaps(): void {
    for (const [id, { node, outputs }] of this.#nodes.entries()) {
      if (node.kind !== 'duplicate' || node.id === this.#graph.output?.node) continue;
      const rest = outputs.filter((channel) => channel !== undefined);
      rest.forEach((channel, fromPort) => { this.#channels[channel] = { ...elementAt(this.#channels, channel), fromPort }; });
      elementAt(this.#nodes, id).outputs = rest;
    }
  }

  result(): MergedGraph {
    this.#closeGaps();
    const { input, output, tree } = this.#graph;
    const endAt = (end: StreamGraph['input']): StreamGraph['input'] =>
      (end === undefined ? undefined : { ...end, node: required(this.#ids.get(end.node)) });
    const nodes = this.#nodes.map(({ node, inputs, outputs }, id): GraphNode => ({ ...node, id, inputs, outputs }));
    const ends = { input: endAt(input), output: endAt(output) };
    const graph = { ...this.#graph, ...ends, nodes, channels: this.#channels, tree: required(this.#tree(tree)) };
    return { graph, origins: this.#origins };
  }
}
