// Groups by dependence: a chain of nodes is cut where the parts between cuts move the fewest items through memory, and the independent
// parts of an iteration keep few values at once. A transform of 64 points becomes two groups of transforms of eight, whose values stay in
// registers.
import { elementAt, required } from '../../core/known.ts';
import { ratesOf } from '../elaborate/to-sdf.ts';
import type { GraphNode, StreamGraph } from '../graph.ts';
import { countsOf } from './layout.ts';
import type { FilterCode } from '../ir.ts';
import { sourcesOf } from '../savings/patterns.ts';
import { isStrided, sourcesIn } from './permutations.ts';

type FilterNode = Extract<GraphNode, { kind: 'filter' }>;

export interface PhaseOptions {
  readonly graph: StreamGraph;
  /** By node: firings in a steady state, and firings that an iteration makes at least. */
  readonly repetitions: readonly number[];
  readonly periods: (node: number) => number;
  /** By filter: the code of its firings in turn; undefined: what a firing pushes is not read. */
  readonly codes: (node: FilterNode) => readonly (FilterCode | undefined)[];
  /** By node: size of a firing's code. */
  readonly size: (node: number) => number;
  /** Whether a node is a filter whose firings sum over long windows. */
  readonly sumsUp: (node: number) => boolean;
  /** Whether permutations in groups of their own take no time. */
  readonly views: boolean;
  /** Most values that an independent part of an iteration keeps, and largest code of an iteration. */
  readonly live: number;
  readonly most: number;
  /** Whether a node must not be in the group of those before it. */
  readonly isApart: (before: readonly number[], node: number) => boolean;
}

/** Scalars on a channel inside a group, in an iteration: more do not become locals. */
const mostScalars = 1024;
/** Largest code of an iteration with sums over windows, all of which are written out. */
const mostOfSums = 12_000;
/** Values that are followed for a chain altogether, and for one group. */
const mostValues = 2_000_000, mostOfOne = 20_000;
/** What a group costs beside what it moves, and what registers cost, as fractions of what the chain reads and of what a group moves. */
const costOfGroup = 0.05, costOfValues = 0.05;
/** What a permutation in a group of its own costs, in scalars. */
const costOfView = -1;

/** What an iteration of a group does with values. */
interface Shape {
  /** Most values that an independent part keeps at once. */
  readonly live: number;
  /** Scalars that pass between the group and others in a steady state. */
  readonly moved: number;
}

/**
 * Cuts a chain of nodes, in stream order, into groups; undefined if it is too long for that. Nodes of one branch of a split-join may stand
 * together or those of one depth, whichever moves less.
 */
export function phasesOf(chain: readonly number[], options: PhaseOptions): readonly (readonly number[])[] | undefined {
  const budget = { left: mostValues };
  const found = [cut(chain, options, budget), cut(byDepth(chain, options.graph), options, budget)];
  const [first, second] = found;
  return first === undefined || second === undefined || first.cost <= second.cost ? first?.groups : second.groups;
}

/** Nodes with the longest way from the first one last. */
function byDepth(chain: readonly number[], { nodes, channels }: StreamGraph): readonly number[] {
  const depths = new Map<number, number>();
  for (const id of chain) {
    const before = elementAt(nodes, id).inputs.map((channel) =>
      (channel === undefined ? 0 : depths.get(elementAt(channels, channel).from) ?? 0));
    depths.set(id, 1 + Math.max(0, ...before));
  }
  return [...chain].sort((a, b) => required(depths.get(a)) - required(depths.get(b)));
}

function cut(
  chain: readonly number[], options: PhaseOptions, budget: { left: number },
): { readonly cost: number; readonly groups: readonly (readonly number[])[] } | undefined {
  const begins: number[] = [];
  const costs = [0, ...chain.map(() => Infinity)];
  const beside = costOfGroup * Math.max(...chain.map((node) => scalarsOf(node, options)));
  for (let begin = 0; begin < chain.length; ++begin) {
    const before = elementAt(costs, begin);
    const growing = new Growing(options, budget);
    for (let end = begin + 1; end <= chain.length; ++end) {
      const nodes = chain.slice(begin, end);
      const last = elementAt(chain, end - 1);
      if (nodes.length > 1 && options.isApart(nodes.slice(0, -1), last)) break;
      const shape = growing.add(last);
      if (budget.left < 0) return undefined;
      if (nodes.length > 1 && (shape === undefined || shape.live > options.live)) break;
      const { moved, live } = shape ?? { moved: 0, live: 0 };
      const isView = options.views && nodes.length === 1
        && isStrided(elementAt(options.graph.nodes, last), elementAt(options.repetitions, last));
      // A view costs less than nothing, so that it stands alone rather than with others.
      const cost = before + (isView ? costOfView : beside + moved * (1 + costOfValues * live / options.live));
      if (cost >= elementAt(costs, end)) continue;
      costs[end] = cost;
      begins[end] = begin;
    }
  }
  const groups: (readonly number[])[] = [];
  for (let end = chain.length; end > 0; end = required(begins[end])) groups.unshift(chain.slice(begins[end], end));
  return { cost: elementAt(costs, chain.length), groups };
}

/** Scalars that a node pushes in a steady state. */
function scalarsOf(id: number, { graph, repetitions }: PhaseOptions): number {
  const node = elementAt(graph.nodes, id);
  return node.outputs.reduce<number>((sum, channel, port) => sum + (channel === undefined ? 0
    : elementAt(repetitions, id) * ratesOf(node, port).push * widthOf(graph, channel)), 0);
}

function widthOf(graph: StreamGraph, channel: number): number {
  const { i, f, d } = countsOf(elementAt(graph.channels, channel).type);
  return i + f + 2 * d;
}

/** A group to which nodes are added, one after the other. */
class Growing {
  readonly #options: PhaseOptions;
  readonly #budget: { left: number };
  readonly #nodes: number[] = [];
  readonly #inside = new Set<number>();
  #iterations = 0;
  /** Size of its code in a steady state, and what that of an iteration may be. */
  #code = 0;
  #most: number;
  /** What an iteration of the nodes so far does. */
  #flow: Flow | undefined;

  constructor(options: PhaseOptions, budget: { left: number }) {
    this.#options = options;
    this.#budget = budget;
    this.#most = options.most;
  }

  /** The group's shape with one more node; undefined if its code is too long or too much stands on its channels. */
  add(id: number): Shape | undefined {
    const { graph, repetitions, periods, size, sumsUp } = this.#options;
    const iterations = gcd(this.#iterations, periods(id));
    this.#nodes.push(id);
    this.#inside.add(id);
    this.#code += (size(id) + 2) * elementAt(repetitions, id);
    if (sumsUp(id)) this.#most = Math.min(this.#most, mostOfSums);
    if (this.#nodes.length > 1 && this.#code / iterations > this.#most) return undefined;
    const isLonger = iterations !== this.#iterations;
    this.#iterations = iterations;
    const moved = this.#moved();
    if (moved === Infinity) return undefined;
    const flow = isLonger || this.#flow === undefined ? this.#flow = new Flow(this.#options.codes) : this.#flow;
    for (const each of isLonger ? this.#nodes : [id]) {
      const count = elementAt(repetitions, each) / iterations;
      for (let i = 0; i < count && flow.size <= mostOfOne; ++i) flow.fire(elementAt(graph.nodes, each), i);
      this.#budget.left -= flow.size;
    }
    return flow.size > mostOfOne ? undefined : { live: flow.live(), moved };
  }

  /** Scalars that pass between the group and others in a steady state; Infinity if an iteration keeps too many on a channel. */
  #moved(): number {
    const { graph, repetitions } = this.#options;
    let moved = 0;
    for (const id of this.#nodes) {
      const node = elementAt(graph.nodes, id), firings = elementAt(repetitions, id);
      for (const [ports, others] of [[node.inputs, 'from'], [node.outputs, 'to']] as const) {
        for (const [port, channel] of ports.entries()) {
          const { pop, push } = ratesOf(node, port);
          const scalars = (others === 'from' ? pop : push) * firings * (channel === undefined ? 1 : widthOf(graph, channel));
          const isInside = channel !== undefined && this.#inside.has(elementAt(graph.channels, channel)[others]);
          if (!isInside) moved += scalars;
          else if (scalars / this.#iterations > mostScalars) return Infinity;
        }
      }
    }
    return moved;
  }
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

/** No value, but a constant. */
const constant = -1;

/** The values of an iteration, in the order in which they are made. */
class Flow {
  /** By channel: the values on it, and how many were popped. */
  readonly #queues = new Map<number, { readonly values: number[]; popped: number }>();
  /** By value: when it is made and last used, another one of the same part, and whether it comes from outside. */
  readonly #born: number[] = [];
  readonly #used: number[] = [];
  readonly #parent: number[] = [];
  readonly #isOutside: boolean[] = [];
  readonly #codes: PhaseOptions['codes'];
  #now = 0;

  constructor(codes: PhaseOptions['codes']) {
    this.#codes = codes;
  }

  get size(): number {
    return this.#born.length;
  }

  #make(isOutside: boolean): number {
    this.#born.push(this.#now);
    this.#used.push(this.#now);
    this.#isOutside.push(isOutside);
    return this.#parent.push(this.#parent.length) - 1;
  }

  #queue(channel: number | undefined): { readonly values: number[]; popped: number } {
    const key = channel ?? -1;
    let found = this.#queues.get(key);
    if (found === undefined) this.#queues.set(key, found = { values: [], popped: 0 });
    return found;
  }

  /** The value at an offset from the next item. */
  #item(channel: number | undefined, offset: number): number {
    const { values, popped } = this.#queue(channel);
    while (values.length <= popped + offset) values.push(this.#make(true));
    return elementAt(values, popped + offset);
  }

  fire(node: GraphNode, number: number): void {
    const pushed = node.outputs.map((channel, port) => {
      const sources = node.kind === 'filter' ? this.#sourcesOf(node, number) : sourcesOf(node, port).map((source) => [source]);
      return { channel, values: sources.map((of) => this.#push(node, of)) };
    });
    for (const { channel, values } of pushed) if (channel !== undefined) this.#queue(channel).values.push(...values);
    node.inputs.forEach((channel, port) => { this.#queue(channel).popped += ratesOf(node, port).pop; });
  }

  /** As for movers: port and place. Firings that cannot be followed use all that they see. */
  #sourcesOf(node: FilterNode, number: number): readonly (readonly (readonly [port: number, place: number])[])[] {
    const codes = this.#codes(node);
    const code = codes[number % codes.length];
    if (code === undefined) return Array.from({ length: node.code.work.rates.push }, () => []);
    const { push, peek } = code.work.rates;
    const sources = sourcesIn(code) ?? Array.from({ length: push }, () => Array.from({ length: peek }, (_, i) => i));
    return sources.map((places) => places.map((place) => [0, place] as const));
  }

  #push(node: GraphNode, sources: readonly (readonly [port: number, place: number])[]): number {
    ++this.#now;
    const values = sources.map(([port, place]) => this.#item(node.inputs[port], place)).filter((value) => value !== constant);
    for (const value of values) this.#used[value] = this.#now;
    const [first] = values;
    if (values.length < 2) return first ?? constant;
    const made = this.#make(false);
    for (const value of values) if (this.#isOutside[value] === false) this.#parent[this.#find(value)] = this.#find(made);
    return made;
  }

  #find(value: number): number {
    let root = value;
    while (this.#parent[root] !== root) root = elementAt(this.#parent, root);
    for (let at = value; at !== root;) [at, this.#parent[at]] = [elementAt(this.#parent, at), root];
    return root;
  }

  /** Most values that a part keeps at once, without those from outside, which it can load again. */
  live(): number {
    const parts = new Map<number, number[]>();
    for (let value = 0; value < this.size; ++value) {
      if (this.#isOutside[value] === true) continue;
      const root = this.#find(value);
      const events = parts.get(root);
      // Even: made; odd: no longer used.
      const own = [2 * elementAt(this.#born, value), 2 * elementAt(this.#used, value) + 1];
      if (events === undefined) parts.set(root, own);
      else events.push(...own);
    }
    let most = 0;
    for (const events of parts.values()) {
      let now = 0;
      for (const event of events.sort((a, b) => a - b)) {
        now += event % 2 === 0 ? 1 : -1;
        most = Math.max(most, now);
      }
    }
    return most;
  }
}
