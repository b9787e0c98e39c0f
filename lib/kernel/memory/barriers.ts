// Finds where to insert barriers so that arrays that share bytes are never accessed between the same two barriers.
import { elementAt, required } from '../../core/known.ts';
import { WarploomError } from '../../core/errors.ts';
import { Work } from './work.ts';

/** Each surrounding loop multiplies the cost of a barrier by this. */
const kLoopCost = 16;
/** Nodes in the search for the cheapest set; beyond that, the best set found so far is used. */
const kSearchNodes = 200_000;

/** A kernel as a graph of accesses, barriers, and slots in which barriers may be put. */
export interface BarrierFlow {
  readonly nodes: readonly {
    readonly id: number;
    readonly kind: string;
    readonly successors: readonly number[];
    readonly accesses: readonly { readonly array: number }[];
    readonly loops: { readonly length: number };
  }[];
}

/** A barrier to insert: its slot, and the pairs of arrays it separates. */
export interface NewBarrier {
  readonly slot: number;
  readonly pairs: readonly (readonly [number, number])[];
}

/** Two arrays that share bytes. */
type Pair = readonly [number, number];

/** The nodes that access each array. */
function accessors(flow: BarrierFlow): Map<number, number[]> {
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
 * The open slots on a barrier-free path from an access to an access of an array that shares bytes with it. Takes the path with the fewest
 * open slots. Undefined if there is none.
 */
function openWay(flow: BarrierFlow, start: number, ends: readonly boolean[], closed: ReadonlySet<number>,
  chosen: ReadonlySet<number>, work: Work): number[] | undefined {
  const parent = new Map<number, number>();
  // Breadth-first search by number of slots, with two queues: paths with the current number of slots, and with one more.
  let now = [start];
  while (now.length > 0) {
    const later: number[] = [];
    for (let i = 0; i < now.length; ++i) {
      const at = elementAt(now, i);
      work.spend(1);
      for (const next of elementAt(flow.nodes, at).successors) {
        const { kind } = elementAt(flow.nodes, next);
        if (kind === 'barrier' || chosen.has(next) || parent.has(next)) continue;
        parent.set(next, at);
        if (ends[next]) return slotsOn(flow, next, parent, closed);
        (kind === 'slot' && !closed.has(next) ? later : now).push(next);
      }
    }
    now = later;
  }
  return undefined;
}

function slotsOn(flow: BarrierFlow, end: number, parent: ReadonlyMap<number, number>, closed: ReadonlySet<number>): number[] {
  const slots: number[] = [];
  const seen = new Set<number>();
  for (let at: number | undefined = end; at !== undefined && !seen.has(at); at = parent.get(at)) {
    seen.add(at);
    if (elementAt(flow.nodes, at).kind === 'slot' && !closed.has(at)) slots.push(at);
  }
  return slots;
}

/** Cost of a barrier in a slot: grows with the surrounding loops; of equally deep slots, later ones are preferred. */
function costOf(flow: BarrierFlow, slot: number): number {
  return kLoopCost ** elementAt(flow.nodes, slot).loops.length * (1 - slot / flow.nodes.length * 1e-6);
}

/** Removes paths whose slots include all slots of another path: a set that meets the other path meets them too. */
function leastWays(ways: readonly (readonly number[])[], work: Work): (readonly number[])[] {
  const bySlot = new Map<number, ReadonlySet<number>[]>();
  const kept: (readonly number[])[] = [];
  for (const way of [...ways].sort((a, b) => a.length - b.length)) {
    const own = new Set(way);
    const covered = way.some((slot) => (bySlot.get(slot) ?? []).some((other) => {
      work.spend(1);
      return other.size <= own.size && [...other].every((each) => own.has(each));
    }));
    if (covered) continue;
    kept.push(way);
    for (const slot of way) {
      const list = bySlot.get(slot);
      if (list === undefined) bySlot.set(slot, [own]);
      else list.push(own);
    }
  }
  return kept;
}

/** Groups paths that share slots, directly or through other paths. */
function separateWays(ways: readonly (readonly number[])[]): (readonly number[])[][] {
  const leader = new Map<number, number>();
  const find = (slot: number): number => {
    let at = slot;
    for (let up = leader.get(at); up !== undefined && up !== at; up = leader.get(at)) at = up;
    leader.set(slot, at);
    return at;
  };
  for (const way of ways) for (const slot of way) leader.set(find(slot), find(elementAt(way, 0)));
  const groups = new Map<number, (readonly number[])[]>();
  for (const way of ways) {
    const group = find(elementAt(way, 0));
    const list = groups.get(group);
    if (list === undefined) groups.set(group, [way]);
    else list.push(way);
  }
  return [...groups.values()];
}

/** The cheapest set of slots that meets every path, by branch and bound; the best set found if the work budget runs out. */
function cheapestCover(ways: readonly (readonly number[])[], cost: (slot: number) => number, work: Work): Set<number> {
  const least = leastWays(ways, work);
  const chosen = new Set<number>();
  for (const group of separateWays(least)) for (const slot of coverOf(group, cost, work)) chosen.add(slot);
  return chosen;
}

function coverOf(ways: readonly (readonly number[])[], cost: (slot: number) => number, work: Work): readonly number[] {
  if (ways.length === 1) return [elementAt(ways, 0).reduce((best, slot) => cost(slot) < cost(best) ? slot : best)];
  let best: number[] = [];
  let bestCost = Infinity;
  let nodes = kSearchNodes;
  const search = (chosen: number[], sum: number, open: readonly (readonly number[])[]): void => {
    if (sum >= bestCost) return;
    if (open.length === 0) {
      best = [...chosen];
      bestCost = sum;
      return;
    }
    work.spend(open.length);
    // The first descent always runs to its end, because there must be some set.
    if (best.length > 0 && (--nodes < 0 || work.exhausted)) return;
    if (sum + boundOf(open, cost) >= bestCost) return;
    const way = open.reduce((least, each) => each.length < least.length ? each : least);
    const uses = new Map(way.map((slot) => [slot, covers(open, slot) / cost(slot)]));
    const ranked = [...way].sort((a, b) => required(uses.get(b)) - required(uses.get(a)) || b - a);
    for (const slot of ranked) search([...chosen, slot], sum + cost(slot), open.filter((each) => !each.includes(slot)));
  };
  search([], 0, ways);
  return best;
}

function covers(ways: readonly (readonly number[])[], slot: number): number {
  return ways.reduce((count, way) => count + Number(way.includes(slot)), 0);
}

/** Lower bound: paths without common slots need a barrier each. */
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

/** The arrays that share bytes with each array. */
function partnersOf(pairs: readonly Pair[]): Map<number, Set<number>> {
  const partners = new Map<number, Set<number>>();
  const add = (a: number, b: number): void => {
    const list = partners.get(a);
    if (list === undefined) partners.set(a, new Set([b]));
    else list.add(b);
  };
  for (const [a, b] of pairs) {
    add(a, b);
    add(b, a);
  }
  return partners;
}

/**
 * Slots for new barriers at minimum cost. Repeatedly finds a barrier-free path, and then the cheapest set of slots that cuts all paths
 * found so far, until no path remains. The result is optimal unless the work budget ran out.
 */
export function placeBarriers(flow: BarrierFlow, pairs: readonly Pair[], closed: ReadonlySet<number>,
  work: Work = new Work()): NewBarrier[] {
  const nodes = accessors(flow);
  const partners = partnersOf(pairs);
  const ways: (readonly number[])[] = [];
  let chosen = new Set<number>();
  for (let found = true; found;) {
    found = false;
    for (const [array, others] of partners) {
      const ends: boolean[] = [];
      for (const other of others) for (const node of nodes.get(other) ?? []) ends[node] = true;
      for (const start of nodes.get(array) ?? []) {
        const slots = openWay(flow, start, ends, closed, chosen, work);
        if (slots === undefined) continue;
        if (slots.length === 0) throw new WarploomError('ERR_WARPLOOM_INTERNAL', 'arrays share bytes that no barrier can keep apart');
        ways.push(slots);
        found = true;
      }
    }
    if (found) chosen = cheapestCover(ways, (slot) => costOf(flow, slot), work);
  }
  const before = predecessorsOf(flow);
  return [...chosen].sort((a, b) => a - b).map((slot) => ({ slot, pairs: separatedBy(flow, slot, chosen, before, partners) }));
}

function predecessorsOf(flow: BarrierFlow): number[][] {
  const before: number[][] = flow.nodes.map(() => []);
  for (const { id, successors } of flow.nodes) for (const next of successors) elementAt(before, next).push(id);
  return before;
}

/** Pairs of arrays with one access before and one after a new barrier, and no other barrier in between. */
function separatedBy(flow: BarrierFlow, slot: number, chosen: ReadonlySet<number>, before: readonly (readonly number[])[],
  partners: ReadonlyMap<number, ReadonlySet<number>>): Pair[] {
  const passes = (node: number): boolean => elementAt(flow.nodes, node).kind !== 'barrier' && !chosen.has(node);
  const touched = (reached: Iterable<number>): Set<number> =>
    new Set([...reached].flatMap((node) => elementAt(flow.nodes, node).accesses.map(({ array }) => array)));
  const earlier = touched(walk((node) => elementAt(before, node), [slot], passes));
  const later = touched(walk((node) => elementAt(flow.nodes, node).successors, [slot], passes));
  const found = new Map<string, Pair>();
  for (const a of earlier) {
    for (const b of partners.get(a) ?? []) {
      if (!later.has(b)) continue;
      const pair: Pair = a < b ? [a, b] : [b, a];
      found.set(pair.join(), pair);
    }
  }
  return [...found.values()].sort(([a, b], [c, d]) => a - c || b - d);
}

/**
 * Existing barriers on which reuse relies: the first barrier on a path from the last access of one array to the first access of another,
 * with no new barrier before it.
 */
export function existingBarriers(flow: BarrierFlow, pairs: readonly Pair[], added: ReadonlySet<number>): Set<number> {
  const nodes = accessors(flow);
  const after = (node: number): readonly number[] => elementAt(flow.nodes, node).successors;
  const isBarrier = (node: number): boolean => elementAt(flow.nodes, node).kind === 'barrier';
  const used = new Set<number>();
  for (const [a, b] of pairs) {
    for (const [from, to] of [[a, b], [b, a]] as const) {
      const starts = new Set(nodes.get(from));
      const ends = new Set(nodes.get(to));
      const passed = walk(after, starts, (node) => !isBarrier(node) && !added.has(node) && !starts.has(node) && !ends.has(node));
      for (const barrier of [...passed].filter(isBarrier)) {
        if (used.has(barrier)) continue;
        const reached = walk(after, [barrier], (node) => !starts.has(node) && !ends.has(node));
        if ([...reached].some((node) => ends.has(node))) used.add(barrier);
      }
    }
  }
  return used;
}

/** Nodes reachable from some nodes. A node that must not be passed is still reached, but the search does not continue from it. */
function walk(next: (node: number) => readonly number[], from: Iterable<number>, passes: (node: number) => boolean): Set<number> {
  const reached = new Set<number>();
  const stack = [...from];
  while (stack.length > 0) {
    for (const each of next(required(stack.pop()))) {
      if (reached.has(each)) continue;
      reached.add(each);
      if (passes(each)) stack.push(each);
    }
  }
  return reached;
}
