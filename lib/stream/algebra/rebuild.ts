// The program with regions replaced by one filter each.
import { elementAt, required } from '../../core/known.ts';
import type { Channel, GraphNode, GraphTree, StreamGraph } from '../graph.ts';
import type { FilterCode } from '../ir.ts';
import type { Choice, Region } from './choose.ts';
import { codeOf } from './code.ts';

/** The regions of a choice, in order of the hierarchy. */
export function regionsOf(choice: Choice): Region[] {
  if (choice.kind === 'region') return [choice.region];
  return choice.kind === 'kept' ? [] : choice.children.flatMap(regionsOf);
}

/** A program in which regions were replaced, and their new nodes by region. */
export interface Rebuilt {
  readonly graph: StreamGraph;
  readonly names: ReadonlyMap<Region, string>;
}

export function rebuilt(graph: StreamGraph, choice: Choice): Rebuilt {
  return new Rebuilding(graph, choice).result();
}

class Rebuilding {
  readonly #graph: StreamGraph;
  readonly #choice: Choice;
  /** By node: the region that it is in. */
  readonly #regions = new Map<number, Region>();
  /** New ids of kept nodes and of regions. */
  readonly #ids = new Map<number | Region, number>();
  readonly #names = new Map<Region, string>();
  readonly #nodes: { readonly node: GraphNode; readonly inputs: (number | undefined)[]; readonly outputs: (number | undefined)[] }[] = [];
  readonly #channels: Channel[] = [];
  /** Codes of filters by content: equal ones are one, so that equal nodes are merged later. */
  readonly #codes = new Map<string, FilterCode>();

  constructor(graph: StreamGraph, choice: Choice) {
    this.#graph = graph;
    this.#choice = choice;
    for (const region of regionsOf(choice)) for (const id of region.nodes) this.#regions.set(id, region);
    const taken = new Set(graph.nodes.map(({ name }) => name));
    for (const node of graph.nodes) this.#add(node, taken);
    for (const channel of graph.channels) this.#connect(channel);
  }

  #add(node: GraphNode, taken: Set<string>): void {
    const region = this.#regions.get(node.id);
    const key = region ?? node.id;
    if (this.#ids.has(key)) return;
    this.#ids.set(key, this.#nodes.length);
    if (region === undefined) {
      this.#nodes.push({ node, inputs: node.inputs.map(() => undefined), outputs: node.outputs.map(() => undefined) });
      return;
    }
    let name = 'Linear';
    for (let i = 2; taken.has(name); ++i) name = `Linear_${i}`;
    taken.add(name);
    this.#names.set(region, name);
    const made: GraphNode = { kind: 'filter', id: 0, name, inputs: [], outputs: [], code: this.#codeOf(region) };
    this.#nodes.push({ node: made, inputs: [undefined], outputs: [undefined] });
  }

  #codeOf({ linear }: Region): FilterCode {
    const key = JSON.stringify(linear, (_, value: unknown) => (Object.is(value, -0) ? '-0' : value));
    let code = this.#codes.get(key);
    if (code === undefined) this.#codes.set(key, code = codeOf(linear));
    return code;
  }

  #idOf(node: number): number {
    return required(this.#ids.get(this.#regions.get(node) ?? node));
  }

  #connect({ from, fromPort, to, toPort, ...rest }: Channel): void {
    const [begin, end] = [this.#regions.get(from), this.#regions.get(to)];
    if (begin !== undefined && begin === end) return;
    const id = this.#channels.length;
    const made = {
      ...rest, id, from: this.#idOf(from), fromPort: begin === undefined ? fromPort : 0, to: this.#idOf(to),
      toPort: end === undefined ? toPort : 0,
    };
    this.#channels.push(made);
    elementAt(this.#nodes, made.from).outputs[made.fromPort] = id;
    elementAt(this.#nodes, made.to).inputs[made.toPort] = id;
  }

  #tree(choice: Choice): GraphTree {
    if (choice.kind === 'region') return { kind: 'node', node: required(this.#ids.get(choice.region)) };
    if (choice.kind === 'kept') return this.#kept(choice.tree);
    return this.#inside(choice.tree, choice.children.map((child) => this.#tree(child)));
  }

  #kept(tree: GraphTree): GraphTree {
    if (tree.kind === 'node') return { kind: 'node', node: this.#idOf(tree.node) };
    return this.#inside(tree, tree.children.map((child) => this.#kept(child)));
  }

  #inside({ kind, name, splitter, joiner }: Exclude<GraphTree, { kind: 'node' }>, children: readonly GraphTree[]): GraphTree {
    return {
      kind, name, children, ...(splitter === undefined ? {} : { splitter: this.#idOf(splitter) }),
      ...(joiner === undefined ? {} : { joiner: this.#idOf(joiner) }),
    };
  }

  result(): Rebuilt {
    const { input, output } = this.#graph;
    const endAt = (end: StreamGraph['input']): StreamGraph['input'] => end && { ...end, node: this.#idOf(end.node) };
    const nodes = this.#nodes.map(({ node, inputs, outputs }, id): GraphNode => ({ ...node, id, inputs, outputs }));
    const graph: StreamGraph = {
      ...this.#graph, nodes, channels: this.#channels, input: endAt(input), output: endAt(output), tree: this.#tree(this.#choice),
    };
    return { graph, names: this.#names };
  }
}
