// Where barriers must be put so that arrays that share bytes are never touched between the same two barriers.
import type { Flow } from './flow.ts';
import { WarploomError } from '../core/errors.ts';

/** Cost of a barrier grows by this with every loop around it. */
const kLoopCost = 16;
/** Nodes of the search for the cheapest set; beyond it the best found so far is taken. */
const kSearchNodes = 200_000;

/** A barrier to insert: its slot and the pairs of arrays it keeps apart. */
export interface NewBarrier {
  readonly slot: number;
  readonly pairs: readonly (readonly [number, number])[];
}

/** Existing barriers and slots on the ways between two arrays that share bytes. */
type Pair = readonly [number, number];

/** Nodes that touch each array. */
function accessors(flow: Flow): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (const node of flow.nodes) {
    for (const { array } of node.accesses) {
      const list = found.get(array) ?? [];
      if (list.at(-1) !== node.id) list.push(node.id);
      found.set(array, list);
    }
  }
  return found;
}

/**
 * A way without barrier from an access of one array to an access of another, with as few open slots as possible; the slots on it.
 * Undefined where there is none.
 */
function openWay(flow: Flow, starts: readonly number[], ends: ReadonlySet<number>, closed: ReadonlySet<number>,
  chosen: ReadonlySet<number>): number[] | undefined {
  const distance = new Map<number, number>();
  const parent = new Map<number, number>();
  // Ways of equal numbers of slots are found in the order of two queues: without and with one more slot.
  let now = [...starts].map((start) => ({ at: start, from: -1 }));
  for (let length = 0; now.length > 0; ++length) {
    const later: { at: number; from: number }[] = [];
    while (now.length > 0) {
      const { at } = now.shift()!;
      for (const next of flow.nodes[at]!.successors) {
        const { kind } = flow.nodes[next]!;
        if (kind === 'barrier' || chosen.has(next) || distance.has(next)) continue;
        const counts = kind === 'slot' && !closed.has(next);
        distance.set(next, length + Number(counts));
        parent.set(next, at);
        if (ends.has(next)) return slotsOn(flow, next, parent, closed);
        (counts ? later : now).push({ at: next, from: at });
      }
    }
    now = later;
  }
  return undefined;
}

function slotsOn(flow: Flow, end: number, parent: ReadonlyMap<number, number>, closed: ReadonlySet<number>): number[] {
  const slots: number[] = [];
  const seen = new Set<number>();
  for (let at: number | undefined = end; at !== undefined && !seen.has(at); at = parent.get(at)) {
    seen.add(at);
    if (flow.nodes[at]!.kind === 'slot' && !closed.has(at)) slots.push(at);
  }
  return slots;
}

/** Cost of a barrier in a slot: by loops around it; of equal ones the later is taken. */
function costOf(flow: Flow, slot: number): number {
  return kLoopCost ** flow.nodes[slot]!.loops.length * (1 - slot / flow.nodes.length * 1e-6);
}

/** The cheapest set of slots that meets every way: branch and bound. */
function cheapestCover(ways: readonly (readonly number[])[], cost: (slot: number) => number): Set<number> {
  let best: number[] = [];
  let bestCost = Infinity;
  let budget = kSearchNodes;
  const search = (chosen: number[], sum: number, open: readonly (readonly number[])[]): void => {
    if (sum >= bestCost || --budget < 0) return;
    if (open.length === 0) {
      best = [...chosen];
      bestCost = sum;
      return;
    }
    if (sum + boundOf(open, cost) >= bestCost) return;
    const way = open.reduce((least, each) => each.length < least.length ? each : least);
    const ranked = [...way].sort((a, b) => covers(open, b) / cost(b) - covers(open, a) / cost(a) || b - a);
    for (const slot of ranked) search([...chosen, slot], sum + cost(slot), open.filter((each) => !each.includes(slot)));
  };
  search([], 0, ways);
  return new Set(best);
}

function covers(ways: readonly (readonly number[])[], slot: number): number {
  return ways.reduce((count, way) => count + Number(way.includes(slot)), 0);
}

/** Ways that share no slot need one barrier each. */
function boundOf(ways: readonly (readonly number[])[], cost: (slot: number) => number): number {
  const used = new Set<number>();
  let sum = 0;
  for (const way of ways) {
    if (way.some((slot) => used.has(slot))) continue;
    sum += Math.min(...way.map(cost));
    for (const slot of way) used.add(slot);
  }
  return sum;
}

/**
 * Slots of new barriers, the fewest by cost: ways without barrier are found one after another, and each time the cheapest set of
 * slots that cuts all found so far is taken, until no way is left. The set is then the cheapest of all.
 */
export function placeBarriers(flow: Flow, pairs: readonly Pair[], closed: ReadonlySet<number>): NewBarrier[] {
  const nodes = accessors(flow);
  const directed = pairs.flatMap(([a, b]): { pair: Pair; from: number[]; to: Set<number> }[] => [
    { pair: [a, b], from: nodes.get(a) ?? [], to: new Set(nodes.get(b)) },
    { pair: [a, b], from: nodes.get(b) ?? [], to: new Set(nodes.get(a)) },
  ]);
  const ways: { slots: number[]; pair: Pair }[] = [];
  let chosen = new Set<number>();
  for (let found = true; found;) {
    found = false;
    for (const { pair, from, to } of directed) {
      for (const start of from) {
        const slots = openWay(flow, [start], to, closed, chosen);
        if (slots === undefined) continue;
        if (slots.length === 0) throw new WarploomError('ERR_WARPLOOM_INTERNAL', 'arrays share bytes that no barrier can keep apart');
        ways.push({ slots, pair });
        found = true;
      }
    }
    if (found) chosen = cheapestCover(ways.map(({ slots }) => slots), (slot) => costOf(flow, slot));
  }
  return [...chosen].sort((a, b) => a - b).map((slot) => {
    const served = ways.filter((way) => way.slots.includes(slot)).map(({ pair }) => pair);
    return { slot, pairs: served.filter(([a, b], at) => served.findIndex(([c, d]) => a === c && b === d) === at) };
  });
}

/**
 * Existing barriers that reuse relies on: those that stand first on a way from the last access of one array to the first one of
 * another, with no new barrier before them.
 */
export function existingBarriers(flow: Flow, pairs: readonly Pair[], added: ReadonlySet<number>): Set<number> {
  const nodes = accessors(flow);
  const used = new Set<number>();
  for (const [a, b] of pairs) {
    for (const [from, to] of [[a, b], [b, a]] as const) {
      const starts = new Set(nodes.get(from));
      const ends = new Set(nodes.get(to));
      const isBarrier = (node: number): boolean => flow.nodes[node]!.kind === 'barrier';
      const passed = walk(flow, starts, (node) => !isBarrier(node) && !added.has(node) && !starts.has(node) && !ends.has(node));
      for (const barrier of [...passed].filter(isBarrier)) {
        const after = walk(flow, [barrier], (node) => !starts.has(node) && !ends.has(node));
        if ([...after].some((node) => ends.has(node))) used.add(barrier);
      }
    }
  }
  return used;
}

/** Nodes reached from some nodes; those that may not be passed are reached and end their way. */
function walk(flow: Flow, from: Iterable<number>, passes: (node: number) => boolean): Set<number> {
  const reached = new Set<number>();
  const stack = [...from];
  while (stack.length > 0) {
    for (const next of flow.nodes[stack.pop()!]!.successors) {
      if (reached.has(next)) continue;
      reached.add(next);
      if (passes(next)) stack.push(next);
    }
  }
  return reached;
}
