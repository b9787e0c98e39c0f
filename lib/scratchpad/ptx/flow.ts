// The kernel as its threads pass it together: accesses to shared variables, barriers, and places for new ones. Blocks that only some
// threads pass are a single node with everything in them, so all threads take every edge of this graph (except those that have left).
import { elementAt, required } from '../../core/known.ts';
import type { Blocks } from '../../kernel/ptx/blocks.ts';
import type { Facts } from './facts.ts';
import type { Uniformity } from './uniformity.ts';
import type { Access } from './values.ts';

/** An access to an array: the index of a movable variable. */
export interface ArrayAccess {
  readonly array: number;
  mode: 'r' | 'w' | 'rw';
}

/** A node. */
export interface FlowNode {
  readonly id: number;
  readonly kind: 'access' | 'barrier' | 'slot';
  /** The instruction, or that before which a barrier would go. */
  readonly at: number;
  readonly accesses: ArrayAccess[];
  readonly successors: number[];
  readonly loops: readonly number[];
  /** Some threads may leave the kernel here, or wait for others. */
  readonly leaves: boolean;
  readonly waits: boolean;
  /** Arrays into which an asynchronous copy begins; whether the thread waits for all of its copies, or for some. */
  readonly fetched: readonly number[];
  readonly lands: 'all' | 'some' | '';
}

/** The graph of a kernel. */
export interface Flow {
  readonly nodes: readonly FlowNode[];
  /** Slots in which no barrier may be put. */
  readonly closed: ReadonlySet<number>;
  /** Per node, arrays into which asynchronous copies are under way. */
  readonly inFlight: readonly ReadonlySet<number>[] | undefined;
}

/** Beyond this many nodes, accesses between two barriers of a block become one node. */
const mostNodes = 4000;

type Mutable = { -readonly [K in keyof FlowNode]: FlowNode[K] };

function merge(modes: ArrayAccess[], { variables, mode }: Access): void {
  for (const array of variables) {
    const known = modes.find((each) => each.array === array);
    if (known === undefined) modes.push({ array, mode });
    else if (known.mode !== mode) known.mode = 'rw';
  }
}

/** Groups of blocks: parted blocks together, every other block alone. */
function groupsOf({ blocks }: Blocks, parted: readonly ReadonlySet<number>[]): number[] {
  const leader = blocks.map((block) => block.id);
  const find = (block: number): number => {
    let at = block;
    while (elementAt(leader, at) !== at) at = leader[at] = elementAt(leader, elementAt(leader, at));
    return at;
  };
  for (const region of parted) {
    const least = Math.min(...[...region].map(find));
    for (const block of region) leader[find(block)] = Math.min(least, find(block));
  }
  return blocks.map((block) => find(block.id));
}

class Builder {
  readonly nodes: Mutable[] = [];
  readonly #blocks: Blocks;
  readonly #facts: readonly Facts[];
  readonly #accesses: readonly (Access | undefined)[];
  readonly #coarse: boolean;

  constructor(blocks: Blocks, facts: readonly Facts[], accesses: readonly (Access | undefined)[], coarse: boolean) {
    this.#blocks = blocks;
    this.#facts = facts;
    this.#accesses = accesses;
    this.#coarse = coarse;
  }

  add(kind: FlowNode['kind'], at: number, loops: readonly number[], last?: Mutable): Mutable {
    const node: Mutable = {
      id: this.nodes.length, kind, at, accesses: [], successors: [], loops, leaves: false, waits: false, fetched: [], lands: '',
    };
    this.nodes.push(node);
    last?.successors.push(node.id);
    return node;
  }

  #take(node: Mutable, at: number): void {
    const access = this.#accesses[at];
    if (access !== undefined) merge(node.accesses, access);
    const { kind } = elementAt(this.#facts, at);
    if (kind === 'fetch' && access !== undefined) node.fetched = [...node.fetched, ...access.variables];
    if (kind === 'land' || kind === 'landed') node.lands = kind === 'land' ? 'all' : 'some';
    if (kind === 'wait' || kind === 'call') node.waits = true;
  }

  /** Blocks that only some threads pass: one node. */
  parted(members: readonly number[], waiting: ReadonlySet<number>): [Mutable, Mutable] {
    const first = elementAt(this.#blocks.blocks, elementAt(members, 0));
    const shared = first.loops.filter((loop) => members.every((each) => elementAt(this.#blocks.blocks, each).loops.includes(loop)));
    const node = this.add('access', first.begin, shared);
    for (const each of members) {
      const { begin, end, leaves } = elementAt(this.#blocks.blocks, each);
      for (let at = begin; at < end; ++at) this.#take(node, at);
      if (leaves) node.leaves = true;
      if (waiting.has(each)) node.waits = true;
    }
    if (node.lands === 'all') node.lands = 'some';
    return [node, node];
  }

  /** A block that all threads pass together. */
  whole(block: number, waiting: boolean, leaving: boolean): [Mutable, Mutable] {
    const { begin, end, loops } = elementAt(this.#blocks.blocks, block);
    const first = this.add('access', begin, loops);
    let last = first;
    let open: Mutable | undefined;
    for (let at = begin; at < end; ++at) {
      const access = this.#accesses[at];
      const { kind } = elementAt(this.#facts, at);
      if (kind === 'barrier') {
        last = this.add('barrier', at, loops, last);
        open = undefined;
      } else if (access !== undefined || /^(?:fetch|land|landed|wait|call)$/.test(kind)) {
        const fits = open !== undefined && kind !== 'land' && (this.#coarse || (/^(?:plain|harmless)$/.test(kind)
          && open.accesses.length === 1 && open.lands === '' && access?.variables.length === 1
          && open.accesses[0]?.array === access.variables[0]));
        if (!fits) {
          const slot = this.add('slot', at, loops, last);
          last = open = this.add('access', at, loops, slot);
          if (/^(?:wait|call)$/.test(kind)) open.waits = true;
        }
        this.#take(required(open), at);
        if (kind === 'land') open = undefined;
      }
    }
    const final = elementAt(this.#blocks.fn.instructions, end - 1);
    if (/^brx?a?$/.test(elementAt(final.opcode, 0))) last = this.add('slot', end - 1, loops, last);
    if (waiting) for (const node of this.nodes.slice(first.id)) node.waits = true;
    if (leaving) last.leaves = true;
    return [first, last];
  }
}

/** Marks the nodes that can be reached from others; passing a node that stops ends the way. */
function reached(nodes: readonly FlowNode[], from: readonly number[], stops: (node: FlowNode) => boolean): Set<number> {
  const found = new Set<number>();
  const stack = [...from];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    for (const next of elementAt(nodes, at).successors) {
      if (found.has(next)) continue;
      found.add(next);
      if (!stops(elementAt(nodes, next))) stack.push(next);
    }
  }
  return found;
}

/** Where copies are under way; makes every wait for them an access, because that is when a thread's copy is complete. */
function flights(nodes: readonly Mutable[]): Set<number>[] | undefined {
  if (nodes.every((node) => node.fetched.length === 0)) return undefined;
  const flying = nodes.map(() => new Set<number>());
  const queue = nodes.map((node) => node.id);
  for (let at = queue.shift(); at !== undefined; at = queue.shift()) {
    const node = elementAt(nodes, at);
    const own = elementAt(flying, at);
    for (const each of node.fetched) own.add(each);
    const out = node.lands === 'all' ? node.fetched : own;
    for (const next of node.successors) {
      const set = elementAt(flying, next);
      const before = set.size;
      for (const each of out) set.add(each);
      if (set.size > before) queue.push(next);
    }
  }
  for (const node of nodes) {
    if (node.lands !== '') merge(node.accesses, { variables: [...elementAt(flying, node.id)], mode: 'w' });
  }
  return flying;
}

/** Builds the graph. `extraClosed`: whether no barrier may be added at all. */
export function buildFlow(blocks: Blocks, facts: readonly Facts[], accesses: readonly (Access | undefined)[],
  uniformity: Uniformity, waiting: ReadonlySet<number>): Flow {
  const groups = groupsOf(blocks, uniformity.parted);
  const parted = new Set(uniformity.parted.flatMap((region) => [...region]));
  const build = (coarse: boolean): Builder => {
    const builder = new Builder(blocks, facts, accesses, coarse);
    const ends = new Map<number, readonly [Mutable, Mutable]>();
    const members = new Map<number, number[]>();
    groups.forEach((group, block) => { members.set(group, [...members.get(group) ?? [], block]); });
    for (const [group, list] of members) {
      ends.set(group, parted.has(group) ? builder.parted(list, waiting)
        : builder.whole(group, waiting.has(group), uniformity.leaving.has(group)));
    }
    for (const { id, successors } of blocks.blocks) {
      const own = elementAt(groups, id);
      const [, last] = required(ends.get(own));
      for (const next of successors) {
        const [first] = required(ends.get(elementAt(groups, next)));
        if (own !== elementAt(groups, next) || !parted.has(own)) {
          if (!last.successors.includes(first.id)) last.successors.push(first.id);
        }
      }
    }
    return builder;
  };
  let { nodes } = build(false);
  if (nodes.length > mostNodes) ({ nodes } = build(true));
  const inFlight = flights(nodes);
  const closed = new Set(reached(nodes, nodes.filter((node) => node.leaves).map((node) => node.id), () => false));
  const waits = nodes.filter((node) => node.waits).map((node) => node.id);
  for (const each of [...waits, ...reached(nodes, waits, (node) => node.kind === 'barrier')]) closed.add(each);
  for (const node of nodes) {
    const block = elementAt(blocks.blockOf, node.at);
    if (uniformity.closed.has(block)) closed.add(node.id);
  }
  return { nodes, closed: new Set([...closed].filter((id) => elementAt(nodes, id).kind === 'slot')), inFlight };
}
