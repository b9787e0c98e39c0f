// What algebraic savings report.
import type { StreamGraph } from '../graph.ts';

/** Filters that were replaced by one. */
export interface LinearFilter {
  /** The name of the new filter in the new graph. */
  readonly node: string;
  /** Names of the nodes that it replaces, splitters and joiners among them. */
  readonly replaces: readonly string[];
  readonly pop: number;
  readonly peek: number;
  readonly push: number;
  /**
   * Multiplications and additions in a steady state before and after: products with ±1 and sums with 0 are not counted, nor is what exact
   * savings leave out anyway.
   */
  readonly before: number;
  readonly after: number;
}

/** A program after {@link collapseLinear}. */
export interface LinearProgram {
  /** The new graph; the given one, if nothing was worth replacing. */
  readonly graph: StreamGraph;
  readonly filters: readonly LinearFilter[];
}
