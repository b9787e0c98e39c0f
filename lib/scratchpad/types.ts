// Arguments and results of the planners and the pass.

/** Half-open range [begin, end) of program points. */
export interface PointRange {
  readonly begin: number;
  readonly end: number;
}

/** An array that wants room: a kernel's `__shared__` array, a buffer of a stream program. */
export interface Block {
  readonly name: string;
  /** Size, a positive whole number. */
  readonly bytes: number;
  /** Alignment in bytes, a power of two. Default 16. */
  readonly alignment?: number;
  /** Program points at which the block's content is needed, ascending and disjoint. */
  readonly live: readonly PointRange[];
}

/** What a planner places. */
export interface PlanProblem {
  readonly blocks: readonly Block[];
  /** Pairs of block indices that must not share bytes although their live ranges do not meet. */
  readonly conflicts?: readonly (readonly [number, number])[];
}

/**
 * How blocks are placed.
 * `greedy`: Algorithm 1 of Moazeni et al. (2009), blocks in order, one live block per partition (its Fig. 4(a));
 * `coloring`: the same, largest block first; `packing`: several live blocks inside one partition (its Fig. 4(b)), first fit,
 * largest first; `exact`: least bytes, by branch and bound; above its limits the best found, then `optimal` is false.
 */
export const planners = ['greedy', 'coloring', 'packing', 'exact'] as const;
export type PlannerName = (typeof planners)[number];

/** Blocks that share bytes. */
export interface Partition {
  readonly offset: number;
  readonly bytes: number;
  /** Indices of its blocks, ascending. */
  readonly blocks: readonly number[];
}

/** Where each block of a {@link PlanProblem} goes. */
export interface Plan {
  readonly planner: PlannerName;
  /** Byte offset of each block in the pool. */
  readonly offsets: readonly number[];
  /** Bytes of the pool. */
  readonly bytes: number;
  /** Bytes without reuse: every block on its own, aligned, in order. */
  readonly bytesBefore: number;
  /** Largest sum of bytes live at one point: no placement needs fewer. */
  readonly lowerBound: number;
  /** Whether no placement with fewer bytes exists (bytes equals the bound, or the search was complete). */
  readonly optimal: boolean;
  /** Connected groups of overlapping blocks, by offset. */
  readonly partitions: readonly Partition[];
}
