// A planning problem in the form that planners use: interference matrix, cliques, arithmetic in units.
import { elementAt } from '../../core/known.ts';
import type { Block, PlanProblem } from './types.ts';

/** Default alignment of a block. */
export const defaultAlignment = 16;

/**
 * The input of every planner. Blocks are identified by index; all sizes and offsets are in units of the smallest alignment of any block.
 */
export interface Prepared {
  readonly count: number;
  /** Size of a unit in bytes. */
  readonly unit: number;
  readonly bytes: readonly number[];
  readonly alignment: readonly number[];
  /** For each block, the blocks with which it must not share bytes, ascending. */
  readonly neighbours: readonly (readonly number[])[];
  /** Sets of blocks that must pairwise not share bytes: all blocks live at one point, extended by conflicts. */
  readonly cliques: readonly Clique[];
  /** The largest space needed by a clique. */
  readonly lowerBound: number;
}

/** Blocks that must pairwise not share bytes. */
export interface Clique {
  /** Ascending. */
  readonly blocks: readonly number[];
  /** Their smallest alignment: each block begins at a multiple of it, so every block but the topmost is padded to one. */
  readonly alignment: number;
}

/** The maximum number of cliques to find in a graph with conflicts. */
const maxCliques = 600;
/** The maximum number of cliques to compare with each other. */
const maxCompared = 2000;

/** Smallest multiple of `alignment` (a power of two) that is at least `offset`. */
export function alignUp(offset: number, alignment: number): number {
  return Math.ceil(offset / alignment) * alignment;
}

/** The minimum space of a clique: every block but the topmost is padded to the next offset at which another block can begin. */
export function roomOf({ blocks, alignment }: Clique, bytes: readonly number[]): number {
  let sum = 0;
  let slack = 0;
  for (const block of blocks) {
    const padded = alignUp(elementAt(bytes, block), alignment);
    sum += padded;
    slack = Math.max(slack, padded - elementAt(bytes, block));
  }
  return sum - slack;
}

/** The largest space that any of the cliques needs. */
export function leastRoom(cliques: readonly Clique[], bytes: readonly number[]): number {
  return cliques.reduce((most, clique) => Math.max(most, roomOf(clique, bytes)), 0);
}

/** Height of a placement: the highest end of a block. */
export function heightOf(offsets: readonly number[], bytes: readonly number[]): number {
  return offsets.reduce((height, offset, i) => Math.max(height, offset + elementAt(bytes, i)), 0);
}

/** Maximal sets of blocks that are live at the same time. Calls `together` for every pair of such blocks. */
function liveSets(blocks: readonly Block[], together: (a: number, b: number) => void): number[][] {
  const events = blocks.flatMap(({ live }, block) => live.flatMap(({ begin, end }) => [
    { at: begin, block, begins: true }, { at: end, block, begins: false }]));
  // Ranges are half-open: at the same point, ends come before begins.
  events.sort((a, b) => a.at - b.at || Number(a.begins) - Number(b.begins) || a.block - b.block);
  const sets: number[][] = [];
  const live = new Set<number>();
  let grown = false;
  for (const { block, begins } of events) {
    if (begins) {
      for (const other of live) together(other, block);
      live.add(block);
      grown = true;
    } else {
      if (grown) sets.push([...live].sort((a, b) => a - b)); // a maximum: the next event removes a block
      grown = false;
      live.delete(block);
    }
  }
  return sets;
}

/** Maximal cliques of a graph by the Bron-Kerbosch algorithm with pivoting; stops at `limit`. */
function maximalCliques(neighbours: readonly (readonly number[])[], limit: number): number[][] {
  const near = neighbours.map((others) => new Set(others));
  const found: number[][] = [];
  const extend = (clique: number[], open: number[], closed: number[]): void => {
    if (open.length + closed.length === 0) found.push([...clique].sort((a, b) => a - b));
    if (open.length === 0 || found.length >= limit) return;
    const reach = (block: number) => open.filter((other) => elementAt(near, block).has(other)).length;
    const pivot = [...open, ...closed].reduce((best, block) => (reach(block) > reach(best) ? block : best));
    for (const block of open.filter((other) => !elementAt(near, pivot).has(other))) {
      const isNear = (other: number): boolean => elementAt(near, block).has(other);
      extend([...clique, block], open.filter(isNear), closed.filter(isNear));
      open = open.filter((other) => other !== block);
      closed = [...closed, block];
    }
  };
  extend([], neighbours.map((_, block) => block), []);
  return found;
}

/** The sets, and the subsets of their more strictly aligned members; none is contained in another of the same alignment. */
function cliquesOf(sets: readonly (readonly number[])[], alignment: readonly number[]): Clique[] {
  const found = new Map<string, Clique>();
  for (const set of sets) {
    for (const least of new Set(set.map((block) => elementAt(alignment, block)))) {
      const blocks = set.filter((block) => elementAt(alignment, block) >= least);
      found.set(blocks.join(), { blocks, alignment: least });
    }
  }
  const all = [...found.values()].sort((a, b) => b.blocks.length - a.blocks.length);
  if (all.length > maxCompared) return all;
  const kept: { clique: Clique; members: ReadonlySet<number> }[] = [];
  for (const clique of all) {
    const contained = kept.some((other) => other.clique.alignment === clique.alignment
      && clique.blocks.every((block) => other.members.has(block)));
    if (!contained) kept.push({ clique, members: new Set(clique.blocks) });
  }
  return kept.map(({ clique }) => clique);
}

/** Builds the interference graph: an edge for overlapping live ranges and for each conflict. */
export function prepare(problem: PlanProblem): Prepared {
  const { blocks, conflicts = [] } = problem;
  const count = blocks.length;
  const matrix = new Uint8Array(count * count);
  const meets = (a: number, b: number) => matrix[a * count + b] === 1;
  const connect = (a: number, b: number) => { matrix[a * count + b] = matrix[b * count + a] = 1; };
  const sets = liveSets(blocks, connect);
  // Without blocks with several ranges and without conflicts, the live sets are exactly the maximal cliques.
  const intervals = blocks.every((block) => block.live.length < 2) && conflicts.every(([a, b]) => meets(a, b));
  for (const [a, b] of conflicts) connect(a, b);
  const neighbours = blocks.map((_, a) => {
    const others: number[] = [];
    for (let b = 0; b < count; ++b) if (meets(a, b)) others.push(b);
    return others;
  });
  const grown = intervals ? sets : [...sets, ...maximalCliques(neighbours, maxCliques)];
  const covered = new Set(grown.flat());
  for (let block = 0; block < count; ++block) if (!covered.has(block)) grown.push([block]); // never live, but still has bytes
  const unit = blocks.reduce((least, { alignment = defaultAlignment }) => Math.min(least, alignment), Infinity);
  const alignment = blocks.map((block) => (block.alignment ?? defaultAlignment) / unit);
  const bytes = blocks.map((block) => Math.ceil(block.bytes / unit));
  const cliques = cliquesOf(grown, alignment);
  return {
    count, unit, bytes, alignment, cliques,
    neighbours,
    lowerBound: leastRoom(cliques, bytes),
  };
}

/** The same problem with blocks of other sizes, in bytes. */
export function resized(problem: Prepared, sizes: readonly number[]): Prepared {
  const bytes = sizes.map((size) => Math.ceil(size / problem.unit));
  return { ...problem, bytes, lowerBound: leastRoom(problem.cliques, bytes) };
}
