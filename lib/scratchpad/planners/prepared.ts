// A plan problem in the form that planners work on: interference matrix, cliques, byte arithmetic.
import type { Block, PlanProblem } from '../types.ts';

/** Alignment of a block that names none. */
export const defaultAlignment = 16;

/** What every planner reads. Blocks go by their index. */
export interface Prepared {
  readonly count: number;
  readonly bytes: readonly number[];
  readonly alignment: readonly number[];
  /** Blocks that must not share bytes with a block, ascending. */
  readonly neighbours: readonly (readonly number[])[];
  /** Sets of blocks that pairwise must not share bytes: all that are live at one point, with conflicts that fit. */
  readonly cliques: readonly (readonly number[])[];
  /** Largest sum of bytes of a clique. */
  readonly lowerBound: number;
}

/** Smallest multiple of `alignment` (a power of two) that is at least `offset`. */
export function alignUp(offset: number, alignment: number): number {
  return Math.ceil(offset / alignment) * alignment;
}

/** Bytes of a placement: the largest end of a block. */
export function heightOf(offsets: readonly number[], bytes: readonly number[]): number {
  return offsets.reduce((height, offset, i) => Math.max(height, offset + bytes[i]!), 0);
}

/** Sets of blocks live together, where no further one begins before one ends. Calls `together` for every pair that is. */
function liveSets(blocks: readonly Block[], together: (a: number, b: number) => void): number[][] {
  const events = blocks.flatMap(({ live }, block) => live.flatMap(({ begin, end }) => [
    { at: begin, block, begins: true }, { at: end, block, begins: false }]));
  // Ranges are half-open: at one point what ends leaves before what begins.
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
      if (grown) sets.push([...live].sort((a, b) => a - b)); // a maximum: the next event takes one away
      grown = false;
      live.delete(block);
    }
  }
  return sets;
}

/** Adds, in order, blocks that interfere with all members. */
function grow(clique: readonly number[], count: number, meets: (a: number, b: number) => boolean): number[] {
  const grown = [...clique];
  for (let block = 0; block < count; ++block) {
    if (!grown.includes(block) && grown.every((member) => meets(member, block))) grown.push(block);
  }
  return grown.sort((a, b) => a - b);
}

/** Builds the interference graph: an edge where live ranges meet or a conflict is named. */
export function prepare(problem: PlanProblem): Prepared {
  const { blocks, conflicts = [] } = problem;
  const count = blocks.length;
  const matrix = new Uint8Array(count * count);
  const meets = (a: number, b: number) => matrix[a * count + b] === 1;
  const connect = (a: number, b: number) => { matrix[a * count + b] = matrix[b * count + a] = 1; };
  const sets = liveSets(blocks, connect);
  const extra = conflicts.filter(([a, b]) => !meets(a, b));
  for (const [a, b] of conflicts) connect(a, b);
  const cliques = extra.length === 0 ? sets : [...sets, ...extra.map((pair) => [...pair])].map((set) => grow(set, count, meets));
  const covered = new Set(cliques.flat());
  for (let block = 0; block < count; ++block) if (!covered.has(block)) cliques.push([block]); // never live: still has bytes
  const unique = [...new Map(cliques.map((clique) => [clique.join(), clique])).values()];
  const bytes = blocks.map((block) => block.bytes);
  return {
    count, bytes, cliques: unique,
    alignment: blocks.map((block) => block.alignment ?? defaultAlignment),
    neighbours: blocks.map((_, a) => blocks.map((_, b) => b).filter((b) => meets(a, b))),
    lowerBound: unique.reduce((most, clique) => Math.max(most, clique.reduce((sum, block) => sum + bytes[block]!, 0)), 0),
  };
}
