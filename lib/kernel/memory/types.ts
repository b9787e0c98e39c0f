// Arguments and results of the planners and the pass.

/** Half-open range [begin, end) of program points. */
export interface PointRange {
  readonly begin: number;
  readonly end: number;
}

/** An array to be placed: a kernel's `__shared__` array, or a buffer of a stream program. */
export interface Block {
  readonly name: string;
  /** Size in bytes, a positive integer. */
  readonly bytes: number;
  /** Alignment in bytes, a power of two. Default 16. */
  readonly alignment?: number;
  /** Program points at which the block's content is needed, ascending and disjoint. */
  readonly live: readonly PointRange[];
}

/** A planning problem. */
export interface PlanProblem {
  readonly blocks: readonly Block[];
  /** Pairs of block indices that must not share bytes although their live ranges do not overlap. */
  readonly conflicts?: readonly (readonly [number, number])[];
}

/**
 * How blocks are placed. `greedy`: Algorithm 1 of Moazeni et al. (2009), blocks in order, one live block per partition (its Fig. 4(a));
 * `coloring`: the same, largest block first; `packing`: several live blocks inside one partition (its Fig. 4(b)), first fit, largest first;
 * `exact`: minimum bytes, by branch and bound; beyond its limits the best placement found, with `optimal` false.
 */
export const planners = ['greedy', 'coloring', 'packing', 'exact'] as const;
/** One of {@link planners}. */
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
  /** Bytes without reuse: all blocks aligned, one after another. */
  readonly bytesBefore: number;
  /** The maximum number of bytes live at any point: no placement needs fewer. */
  readonly lowerBound: number;
  /** Whether there is no smaller placement (the size equals the bound, or the search was complete). */
  readonly optimal: boolean;
  /** Connected groups of overlapping blocks, by offset. */
  readonly partitions: readonly Partition[];
}
