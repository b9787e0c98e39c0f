// The report of `optimise()`.
import type { Architecture, Occupancy } from './occupancy.ts';
import type { PinReason } from './ptx/values.ts';
import type { RefusalCode } from './refusal.ts';
import type { PlannerName, PointRange } from '../kernel/memory/types.ts';

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
  /** Where its content is needed; empty for an array that is never accessed. */
  readonly live: readonly LiveRange[];
  /** Byte offset in the pool. */
  readonly offset: number;
  /** Index in `partitions`. */
  readonly partition: number;
  /** Loops, by their lines, in which every iteration writes whatever it reads of the array. */
  readonly rewrittenIn: readonly number[];
}

/** Arrays that share bytes. */
export interface PartitionReport {
  readonly offset: number;
  readonly bytes: number;
  readonly arrays: readonly string[];
}

/** An inserted barrier. Its place is that of the following statement in the original source. */
export interface BarrierReport extends SourcePlace {
  /** Line in the rewritten source. */
  readonly newLine: number;
  /** Number of surrounding loops: inside a loop, the barrier is executed in every iteration. */
  readonly loops: number;
  /** `reuse`: required by the reuse of memory; `order`: required by reordered statements. */
  readonly cause: 'reuse' | 'order';
  /** Pairs of arrays that share bytes and that it separates; empty if the cause is `order`. */
  readonly separates: readonly (readonly [string, string])[];
}

/** A statement that `reorder` moved. Lines refer to the original source. */
export interface MovedStatement extends SourcePlace {
  /** First line of the statement. */
  readonly text: string;
  /** Line of the statement that it now precedes; undefined at the end of its block. */
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

/** An array that keeps its own bytes; the rest of its kernel is optimised all the same. */
export interface PinnedReport {
  readonly name: string;
  /** 0 if it is dynamic shared memory. */
  readonly bytes: number;
  readonly code: PinReason;
  readonly reason: string;
  /** Source line of the instruction that is the reason; 0 if it is not a single one. */
  readonly line: number;
}

/** The outcome for one kernel. */
export interface KernelReport extends SourcePlace {
  readonly kernel: string;
  /** `kept`: the source is unchanged, and `reason` says why. */
  readonly status: 'rewritten' | 'kept';
  readonly reason: string;
  readonly planner: PlannerName;
  readonly arrays: readonly ArrayReport[];
  /** Shared bytes of the arrays as declared: aligned, one after another. */
  readonly bytesBefore: number;
  /** Size of the pool in bytes; for a kept kernel, the size it would have. */
  readonly bytesAfter: number;
  /** The maximum number of bytes needed at any point: no placement takes fewer. */
  readonly lowerBound: number;
  readonly optimal: boolean;
  readonly partitions: readonly PartitionReport[];
  /** Pairs of arrays needed at the same time. */
  readonly interference: readonly (readonly [string, string])[];
  /** Pairs that are not needed at the same time but that no barrier can separate. */
  readonly inseparable: readonly (readonly [string, string])[];
  readonly barriersAdded: readonly BarrierReport[];
  /** Original barriers of the kernel. `separates`: whether reuse relies on it. */
  readonly barriersExisting: readonly (SourcePlace & { readonly separates: boolean })[];
  readonly moved: readonly MovedStatement[];
  /** Original barriers that the new order of statements does not need. */
  readonly barriersRemoved: readonly SourcePlace[];
  /** Absent if the number of threads is unknown (option blockThreads, or __launch_bounds__). */
  readonly residency?: ResidencyReport;
  /** Bytes of dynamic shared memory that a launch must request; absent if the pool is static (up to 48 KB). */
  readonly dynamicBytes?: number;
  /** Whether sizes depend on template parameters: bytes are then those of one instantiation. */
  readonly symbolic: boolean;
  /** Program points: source line of each. */
  readonly points: readonly number[];
  /** Assurances of the caller on which the result relies. */
  readonly assumptions: readonly string[];
  /** Only from `optimizePtx`. */
  readonly pinned?: readonly PinnedReport[];
}

/** A kernel that was left alone, and why. */
export interface RefusedKernel extends SourcePlace {
  readonly kernel: string;
  readonly code: RefusalCode;
  readonly reason: string;
  /** What the author can do. */
  readonly remedy: string;
}

/** The report of `optimise()`. */
export interface ScratchpadReport {
  readonly kernels: readonly KernelReport[];
  readonly refused: readonly RefusedKernel[];
}

/** The result of `optimise`. */
export interface OptimizeResult {
  /** The source with pools; unchanged if there was nothing to gain. */
  readonly source: string;
  readonly report: ScratchpadReport;
  /**
   * Bytes of dynamic shared memory that launches must request if a pool exceeds 48 KB: the largest `dynamicBytes` of any kernel. Such
   * launches also need cudaFuncAttributeMaxDynamicSharedMemorySize.
   */
  readonly dynamicBytes?: number;
}
