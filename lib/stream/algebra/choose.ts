// Chooses which parts of a program become one linear filter each: those with the fewest operations in a steady state, found by dynamic
// programming over the hierarchy. Parts of a pipeline that follow each other, whole split-joins and single filters can; what stands in
// feedback loops cannot, because a filter that takes more at once may find too little there.
import { elementAt, lastOf, required } from '../../core/known.ts';
import type { GraphNode, GraphTree, StreamGraph } from '../graph.ts';
import type { FilterCode } from '../ir.ts';
import { followed, linearType, type Followed } from './follow.ts';
import { fits, identity, inSequence, operationsOf, sideBySide, type Budget, type Linear } from './linear.ts';

type Composite = Exclude<GraphTree, { kind: 'node' }>;

/** Parts of a program that become one filter. */
export interface Region {
  readonly linear: Linear;
  readonly trees: readonly GraphTree[];
  readonly nodes: readonly number[];
  /** Firings of the new filter in a steady state, and operations of a steady state with and without it. */
  readonly firings: number;
  readonly before: number;
  readonly after: number;
}

/** What is chosen for a part of the hierarchy. */
export type Choice =
  /** It stays as it is. */
  | { readonly kind: 'kept'; readonly tree: GraphTree }
  | { readonly kind: 'region'; readonly region: Region }
  /** Something inside it changes. */
  | { readonly kind: 'changed'; readonly tree: Composite; readonly children: readonly Choice[] };

/** A part of the hierarchy with the best choice for it. */
interface Part {
  readonly tree: GraphTree;
  readonly nodes: readonly number[];
  /** Channels that lead into it and out of it; undefined: the program's own ends, or none. */
  readonly entry: number | undefined;
  readonly exit: number | undefined;
  /** The whole part as one filter, where that goes, and items that it takes in a steady state. */
  readonly linear: Linear | undefined;
  readonly taken: number;
  readonly cost: number;
  readonly choice: Choice;
}

/** What the choice is made from. */
export interface Costs {
  readonly graph: StreamGraph;
  /** By node: firings in a steady state, and operations on items in all of them, after what exact savings leave out. */
  readonly repetitions: readonly number[];
  readonly operations: readonly number[];
}

/** Most parts of a pipeline that become one filter. */
const mostParts = 64;
/** A single filter is replaced if that leaves less than this part of its operations; otherwise its own code stays. */
const worthAlone = 0.9;

/** Regions of a program by the hierarchy. */
export class Chooser {
  readonly #costs: Costs;
  readonly #follow: (code: FilterCode) => Followed | undefined;
  readonly #budget: Budget;

  constructor(costs: Costs, follow: (code: FilterCode) => Followed | undefined, budget: Budget) {
    this.#costs = costs;
    this.#follow = follow;
    this.#budget = budget;
  }

  choose(): Choice {
    return this.#part(this.#costs.graph.tree).choice;
  }

  #part(tree: GraphTree): Part {
    switch (tree.kind) {
      case 'node': return this.#leaf(tree);
      case 'pipeline': return this.#pipeline(tree);
      case 'splitjoin': return this.#splitJoin(tree);
      case 'feedbackloop': return { ...this.#opaque(tree, nodesOf(tree)), cost: 0 };
    }
  }

  #node(id: number): GraphNode {
    return elementAt(this.#costs.graph.nodes, id);
  }

  #opaque(tree: GraphTree, nodes: readonly number[]): Omit<Part, 'cost'> {
    return { tree, nodes, entry: undefined, exit: undefined, linear: undefined, taken: 0, choice: { kind: 'kept', tree } };
  }

  #leaf(tree: Extract<GraphTree, { kind: 'node' }>): Part {
    const node = this.#node(tree.node);
    const firings = elementAt(this.#costs.repetitions, node.id), cost = elementAt(this.#costs.operations, node.id);
    const base = { ...this.#opaque(tree, [node.id]), entry: node.inputs[0], exit: node.outputs[0], cost };
    const linear = this.#linearNode(node);
    if (linear === undefined) return base;
    const part = { ...base, linear, taken: firings * linear.pop };
    return node.kind === 'filter' ? this.#better(part, [part], linear, worthAlone) : part;
  }

  #linearNode(node: GraphNode): Linear | undefined {
    const { input, output, channels } = this.#costs.graph;
    const hasEnds = (node.inputs[0] !== undefined || input?.node === node.id)
      && (node.outputs[0] !== undefined || output?.node === node.id);
    if (!hasEnds) return undefined;
    if (node.kind === 'filter') {
      const found = this.#follow(node.code)?.linear;
      return found !== undefined && fits(found) ? found : undefined;
    }
    if (node.kind !== 'identity') return undefined;
    const [channel] = node.inputs;
    const type = linearType(channel === undefined ? required(input).type : elementAt(channels, channel).type);
    return type === undefined ? undefined : identity(type);
  }

  /** The part as it is, or as a region of these parts if that costs less than the fraction `worth`. */
  #better(part: Part, parts: readonly Part[], linear: Linear | undefined, worth: number): Part {
    const region = linear === undefined ? undefined : this.#region(parts, linear, part.cost, worth);
    return region === undefined ? part : { ...part, cost: region.after, choice: { kind: 'region', region } };
  }

  #region(parts: readonly Part[], linear: Linear, before: number, worth: number): Region | undefined {
    const firings = elementAt(parts, 0).taken / linear.pop;
    const after = firings * operationsOf(linear);
    if (!Number.isInteger(firings) || !(after < worth * before)) return undefined;
    return { linear, trees: parts.map(({ tree }) => tree), nodes: parts.flatMap(({ nodes }) => nodes), firings, before, after };
  }

  /** Whether nothing but the items of one part reaches the next. */
  #follows(before: Part, after: Part): boolean {
    const { exit } = before;
    return exit !== undefined && exit === after.entry && elementAt(this.#costs.graph.channels, exit).initial.length === 0;
  }

  #pipeline(tree: Composite): Part {
    const parts = splicedChildren(tree).map((child) => this.#part(child));
    const best: { readonly cost: number; readonly choices: readonly Choice[] }[] = [{ cost: 0, choices: [] }];
    let whole: Linear | undefined;
    for (let end = 1; end <= parts.length; ++end) {
      const last = elementAt(parts, end - 1);
      const before = elementAt(best, end - 1);
      let chosen = { cost: before.cost + last.cost, choices: [...before.choices, last.choice] };
      let product = last.linear;
      // What the parts cost one by one: a region must cost less than the best that they come to otherwise.
      for (let begin = end - 2; begin >= 0 && product !== undefined && end - begin <= mostParts; --begin) {
        const part = elementAt(parts, begin);
        product = part.linear !== undefined && this.#follows(part, elementAt(parts, begin + 1))
          ? inSequence(part.linear, product, this.#budget) : undefined;
        if (product === undefined) break;
        const rest = elementAt(best, begin);
        const region = this.#region(parts.slice(begin, end), product, chosen.cost - rest.cost, 1);
        if (region !== undefined) {
          chosen = { cost: rest.cost + region.after, choices: [...rest.choices, { kind: 'region', region }] };
        }
      }
      if (end === parts.length && (parts.length === 1 || product !== undefined)) whole = product;
      best.push(chosen);
    }
    const { cost, choices } = lastOf(best);
    const first = parts[0], final = parts[parts.length - 1];
    return {
      tree, nodes: parts.flatMap(({ nodes }) => nodes), entry: first?.entry, exit: final?.exit, taken: first?.taken ?? 0, cost,
      linear: parts.length > mostParts ? undefined : whole, choice: changed(tree, choices),
    };
  }

  #splitJoin(tree: Composite): Part {
    const { graph, repetitions } = this.#costs;
    const parts = tree.children.map((child) => this.#part(child));
    const cost = parts.reduce((sum, part) => sum + part.cost, 0);
    const base = { ...this.#opaque(tree, nodesOf(tree)), cost, choice: changed(tree, parts.map(({ choice }) => choice)) };
    const [splitter, joiner] = [tree.splitter, tree.joiner].map((id) => (id === undefined ? undefined : this.#node(id)));
    if (splitter === undefined || joiner?.kind !== 'joiner') return base;
    if (splitter.kind !== 'duplicate' && splitter.kind !== 'splitter') return base;
    const isJoined = (channel: number | undefined, other: number | undefined): boolean =>
      channel !== undefined && channel === other && elementAt(graph.channels, channel).initial.length === 0;
    const areBranches = splitter.outputs.length === parts.length && joiner.inputs.length === parts.length
      && parts.every(({ entry, exit, linear }, i) => linear !== undefined && isJoined(entry, splitter.outputs[i])
        && isJoined(exit, joiner.inputs[i]));
    const ends = { entry: splitter.inputs[0], exit: joiner.outputs[0] };
    const hasEnds = (ends.entry !== undefined || graph.input?.node === splitter.id)
      && (ends.exit !== undefined || graph.output?.node === joiner.id);
    if (!areBranches || !hasEnds) return base;
    const split = splitter.kind === 'splitter' ? splitter.weights : undefined;
    const linear = sideBySide({ children: parts.map((part) => required(part.linear)), split, join: joiner.weights }, this.#budget);
    const taken = elementAt(repetitions, splitter.id) * (split?.reduce((sum, weight) => sum + weight, 0) ?? 1);
    const part = { ...base, ...ends, linear, taken };
    return this.#better(part, [part], linear, 1);
  }
}

/** The children of a pipeline, with those of pipelines in it in their place. */
function splicedChildren(tree: Composite): GraphTree[] {
  return tree.children.flatMap((child) => (child.kind === 'pipeline' ? splicedChildren(child) : [child]));
}

function changed(tree: Composite, children: readonly Choice[]): Choice {
  return children.every(({ kind }) => kind === 'kept') ? { kind: 'kept', tree } : { kind: 'changed', tree, children };
}

/** All nodes of a part of the hierarchy. */
export function nodesOf(tree: GraphTree): number[] {
  if (tree.kind === 'node') return [tree.node];
  const own = [tree.splitter, tree.joiner].filter((id) => id !== undefined);
  return [...own, ...tree.children.flatMap(nodesOf)];
}

/** A function that follows each code once. */
export function following(budget: Budget): (code: FilterCode) => Followed | undefined {
  const known = new Map<FilterCode, Followed | undefined>();
  return (code) => {
    if (!known.has(code)) known.set(code, followed(code, budget));
    return known.get(code);
  };
}
