// Determines where the content of each shared array is needed, and which arrays no barrier can separate.
import { elementAt, lastOf, required } from '../core/known.ts';
import type { Flow, FlowLoop, FlowNode } from './flow.ts';
import { Refusal } from './refusal.ts';
import type { SharedArray } from './arrays.ts';
import type { PointRange } from '../kernel/memory/types.ts';

/** Live ranges of the arrays of a kernel. */
export interface Liveness {
  /** Nodes of the graph that count as program points, in source order. */
  readonly points: readonly FlowNode[];
  /** Per array: whether its content is needed at each point. */
  readonly live: readonly (readonly boolean[])[];
  readonly ranges: readonly (readonly PointRange[])[];
  /** Per array: loops around which its content need not be kept. */
  readonly scoped: readonly (readonly FlowLoop[])[];
}

/** Nodes reachable from some nodes along edges that `follow` allows; a starting node is included only if it is reached again. */
export function reach(flow: Flow, from: Iterable<number>, follow: (from: number, to: number) => boolean): Uint8Array {
  const seen = new Uint8Array(flow.nodes.length);
  const stack = [...from];
  while (stack.length > 0) {
    const at = required(stack.pop());
    for (const next of elementAt(flow.nodes, at).successors) {
      if (seen[next] === 1 || !follow(at, next)) continue;
      seen[next] = 1;
      stack.push(next);
    }
  }
  return seen;
}

/** The graph with all edges reversed. */
export function reversed(flow: Flow): Flow {
  const nodes = flow.nodes.map((node) => ({ ...node, successors: [] as number[] }));
  for (const node of flow.nodes) for (const next of node.successors) elementAt(nodes, next).successors.push(node.id);
  return { ...flow, nodes };
}

/** The nodes that read an array, and those that write it. */
export function touches(flow: Flow, array: number): { reads: number[]; writes: number[] } {
  const of = (mode: string): number[] => flow.nodes.filter((node) =>
    node.accesses.some((access) => access.array === array && access.mode.includes(mode))).map((node) => node.id);
  return { reads: of('r'), writes: of('w') };
}

/**
 * Whether a loop may discard an array at the end of an iteration: all its accesses are inside, and every path from the start of an
 * iteration to a read passes a write first. It must also be known that an iteration reads only what it has written itself.
 */
function forgets(flow: Flow, array: number, loop: FlowLoop, reads: readonly number[], writes: readonly number[]): boolean {
  const inside = new Set(loop.nodes);
  if (![...reads, ...writes].every((node) => inside.has(node))) return false;
  const blocked = new Set(writes);
  const unwritten = reach(flow, [loop.head], (from, to) => inside.has(to) && !blocked.has(from) && to !== loop.head);
  return reads.every((read) => unwritten[read] === 0 || writesFirst(elementAt(flow.nodes, read), array));
}

function writesFirst(node: FlowNode, array: number): boolean {
  return node.accesses.find((access) => access.array === array)?.mode === 'w';
}

/** Whether an edge starts the next iteration of one of the given loops. */
function isBackEdge(loops: readonly FlowLoop[], from: number, to: number): boolean {
  return loops.some((loop) => loop.head === to && from > loop.head && from <= lastOf(loop.nodes));
}

/** Refuses arrays that may be read before they are written. */
function requireWritten(flow: Flow, array: SharedArray, reads: readonly number[], writes: readonly number[]): void {
  const reached = reach(flow, writes, () => true);
  for (const read of reads) {
    if (reached[read] === 1) continue;
    const node = elementAt(flow.nodes, read);
    const own = node.accesses.filter((access) => access.array === array.index);
    const first = required(own.find((access) => access.mode !== 'w'));
    const before = own.some((access) => access.mode !== 'r' && access.order < first.order);
    if (before || (own.some((access) => access.mode !== 'r') && node.effects?.loops === true)) continue;
    throw new Refusal('uninitialised-read', first.node, `${array.name} is read here, but nothing has been written to it before`);
  }
}

/** Maximal runs of true. */
export function rangesOf(live: readonly boolean[]): PointRange[] {
  const ranges: { begin: number; end: number }[] = [];
  for (const [at, isLive] of live.entries()) {
    if (!isLive) continue;
    const last = ranges.at(-1);
    if (last?.end === at) last.end = at + 1;
    else ranges.push({ begin: at, end: at + 1 });
  }
  return ranges;
}

/**
 * Live ranges by may-analysis: an array is needed at a point if some write reaches the point and the point reaches some read. Writes do not
 * end a range, because threads write only parts, except those in `fullWrites`, which are known to write everything. In a loop, an array is
 * needed all the way round, unless `rewritten` says that every iteration writes what it reads and the graph agrees.
 */
export function analyseLiveness(flow: Flow, arrays: readonly SharedArray[], fullWrites: readonly ReadonlySet<number>[],
  rewritten: (array: SharedArray, loop: FlowLoop) => boolean): Liveness {
  const points = flow.nodes.filter((node) => node.kind !== 'slot' && node.id !== flow.entry);
  const back = reversed(flow);
  const live: boolean[][] = [];
  const scoped: FlowLoop[][] = [];
  for (const array of arrays) {
    const { reads, writes } = touches(flow, array.index);
    requireWritten(flow, array, reads, writes);
    const loops = flow.loops.filter((loop) => forgets(flow, array.index, loop, reads, writes) && rewritten(array, loop));
    const written = reach(flow, writes, (from, to) => !isBackEdge(loops, from, to));
    const needed = reach(back, reads, (from, to) => !isBackEdge(loops, to, from) && !elementAt(fullWrites, array.index).has(from));
    const own = new Set([...reads, ...writes]);
    live.push(points.map(({ id }) => own.has(id) || (written[id] === 1 && needed[id] === 1)));
    scoped.push(loops);
  }
  return { points, live, ranges: live.map(rangesOf), scoped };
}

/** Pairs of arrays that no barrier can separate although they are not needed at the same time. */
export function inseparable(flow: Flow, arrays: readonly SharedArray[], closed: ReadonlySet<number>): [number, number][] {
  const isOpen = (id: number): boolean => {
    const { kind } = elementAt(flow.nodes, id);
    return kind !== 'barrier' && (kind !== 'slot' || closed.has(id));
  };
  const touched = touchedBy(flow, arrays.length);
  const met = arrays.map(({ index }) => {
    const seen = reach(flow, elementAt(touched, index), (_from, next) => isOpen(next));
    const others = new Set<number>();
    flow.nodes.forEach((node) => {
      if (seen[node.id] === 1) for (const { array } of node.accesses) others.add(array);
    });
    return others;
  });
  const pairs: [number, number][] = [];
  for (let a = 0; a < arrays.length; ++a) {
    for (let b = a + 1; b < arrays.length; ++b) if (elementAt(met, a).has(b) || elementAt(met, b).has(a)) pairs.push([a, b]);
  }
  return pairs;
}

/** Per array, the nodes that access it, in ascending order. */
function touchedBy(flow: Flow, count: number): number[][] {
  const touched: number[][] = Array.from({ length: count }, () => []);
  for (const node of flow.nodes) {
    for (const { array } of node.accesses) if (elementAt(touched, array).at(-1) !== node.id) elementAt(touched, array).push(node.id);
  }
  return touched;
}
