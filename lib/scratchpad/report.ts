// What `optimize()` reports.
import type { Architecture, Occupancy } from './occupancy.ts';
import type { RefusalCode } from './refusal.ts';
import type { PlannerName, PointRange } from './types.ts';

/** A place in the source, line and column from 1. */
export interface SourcePlace {
  readonly line: number;
  readonly column: number;
}

/** A live range: program points, and the source lines where it begins and ends. */
export interface LiveRange extends PointRange {
  readonly beginLine: number;
  readonly endLine: number;
}

/** A shared array of a kernel. */
export interface ArrayReport extends SourcePlace {
  readonly name: string;
  /** Element type as written. */
  readonly type: string;
  /** Extents, outermost first; empty for a scalar. */
  readonly dimensions: readonly number[];
  readonly bytes: number;
  readonly alignment: number;
  /** Where its content is needed. Empty for an array that nobody touches. */
  readonly live: readonly LiveRange[];
  /** Byte offset in the pool. */
  readonly offset: number;
  /** Index in `partitions`. */
  readonly partition: number;
  /** Loops, by their lines, whose iterations write all that they read of it. */
  readonly rewrittenIn: readonly number[];
}

/** Arrays that share bytes. */
export interface PartitionReport {
  readonly offset: number;
  readonly bytes: number;
  readonly arrays: readonly string[];
}

/** A barrier that was inserted. The place is that of the statement it stands before, in the source as given. */
export interface BarrierReport extends SourcePlace {
  /** Line in the source as rewritten. */
  readonly newLine: number;
  /** Loops around it: inside a loop it is executed in every iteration. */
  readonly loops: number;
  /** `reuse`: it stands at a point of reuse; `order`: statements that changed places need it. */
  readonly cause: 'reuse' | 'order';
  /** Arrays that share bytes and that it keeps apart; empty where the cause is the order. */
  readonly separates: readonly (readonly [string, string])[];
}

/** A statement that `reorder` moved. Lines of the source as given. */
export interface MovedStatement extends SourcePlace {
  /** First line of its text. */
  readonly text: string;
  /** Line of the statement before which it stands now; undefined at the end of its block. */
  readonly beforeLine: number | undefined;
}

/** How many blocks a multiprocessor holds. */
export interface ResidencyReport {
  readonly architecture: Architecture;
  readonly threads: number;
  readonly registers: number;
  readonly before: Occupancy;
  readonly after: Occupancy;
}

/** What became of one kernel. */
export interface KernelReport extends SourcePlace {
  readonly kernel: string;
  /** `kept`: the text is as it was, `reason` says why. */
  readonly status: 'rewritten' | 'kept';
  readonly reason: string;
  readonly planner: PlannerName;
  readonly arrays: readonly ArrayReport[];
  /** Shared bytes of the arrays as declared, each aligned, in order. */
  readonly bytesBefore: number;
  /** Bytes of the pool; of a kept kernel those it would have. */
  readonly bytesAfter: number;
  /** Most bytes needed at one point: no placement takes fewer. */
  readonly lowerBound: number;
  readonly optimal: boolean;
  readonly partitions: readonly PartitionReport[];
  /** Pairs of arrays needed at the same time. */
  readonly interference: readonly (readonly [string, string])[];
  /** Pairs that could share bytes by time, but that no barrier can keep apart. */
  readonly inseparable: readonly (readonly [string, string])[];
  readonly barriersAdded: readonly BarrierReport[];
  /** Barriers of the kernel. `separates`: whether reuse relies on it. */
  readonly barriersExisting: readonly (SourcePlace & { readonly separates: boolean })[];
  readonly moved: readonly MovedStatement[];
  /** Barriers of the source as given that the new order of statements does without. */
  readonly barriersRemoved: readonly SourcePlace[];
  /** Absent where the number of threads is not known (option blockThreads, or __launch_bounds__). */
  readonly residency?: ResidencyReport;
  /** Bytes of dynamic shared memory a launch must ask for; absent where the pool is static (up to 48 KB). */
  readonly dynamicBytes?: number;
  /** Whether sizes depend on template parameters: bytes are then those of one instantiation. */
  readonly symbolic: boolean;
  /** Program points: source line of each. */
  readonly points: readonly number[];
  /** What was taken on the caller's word. */
  readonly assumptions: readonly string[];
}

/** A kernel that was left alone, and why. */
export interface RefusedKernel extends SourcePlace {
  readonly kernel: string;
  readonly code: RefusalCode;
  readonly reason: string;
  /** What its author can do. */
  readonly remedy: string;
}

/** What `optimize()` did. */
export interface ScratchpadReport {
  readonly kernels: readonly KernelReport[];
  readonly refused: readonly RefusedKernel[];
}

/** What `optimize` gives. */
export interface OptimizeResult {
  /** The text with the pools; the text as given where nothing could be gained. */
  readonly source: string;
  readonly report: ScratchpadReport;
  /**
   * Bytes of dynamic shared memory that launches must ask for, where a pool is over 48 KB: the largest of the kernels' own
   * `dynamicBytes`. Such launches also need cudaFuncAttributeMaxDynamicSharedMemorySize.
   */
  readonly dynamicBytes?: number;
}
