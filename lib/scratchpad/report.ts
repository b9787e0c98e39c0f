// The report of `optimize()`. Lines are those of the source if the PTX has line information, otherwise those of the PTX.
import type { PlannerName, PointRange } from '../kernel/memory/types.ts';
import type { Architecture, Occupancy } from '../kernel/occupancy.ts';
import type { PinReason } from './ptx/values.ts';

/** A place, by its line from 1; 0 if it has none. */
export interface SourcePlace {
  readonly line: number;
}

/** A live range: program points, and the lines where it begins and ends. */
export interface LiveRange extends PointRange {
  readonly beginLine: number;
  readonly endLine: number;
}

/** A shared array of a kernel that may move. Its line is that of its first access. */
export interface ArrayReport extends SourcePlace {
  /** As in the source; as in the PTX if two arrays have the same name. */
  readonly name: string;
  readonly bytes: number;
  readonly alignment: number;
  /** Where its content is needed; empty for an array that is never accessed. */
  readonly live: readonly LiveRange[];
  /** Byte offset in the pool. */
  readonly offset: number;
  /** Index in `partitions`. */
  readonly partition: number;
}

/** Arrays that share bytes. */
export interface PartitionReport {
  readonly offset: number;
  readonly bytes: number;
  readonly arrays: readonly string[];
}

/** A new barrier, before a line. */
export interface BarrierReport extends SourcePlace {
  /** Number of surrounding loops: inside a loop, the barrier is executed in every iteration. */
  readonly loops: number;
  /** `reuse`: required by the reuse of memory; `order`: required by what `reorder` moved. */
  readonly cause: 'reuse' | 'order';
  /** Pairs of arrays that share bytes and that it separates; empty if the cause is `order`. */
  readonly separates: readonly (readonly [string, string])[];
}

/** A part of a kernel that `reorder` moved: an instruction, a loop or a branch. */
export interface MovedPart extends SourcePlace {
  /** Its first instruction. */
  readonly text: string;
  /** Line of the part that it now precedes. */
  readonly beforeLine: number;
}

/** How many blocks a multiprocessor holds. */
export interface ResidencyReport {
  readonly architecture: Architecture;
  readonly threads: number;
  readonly registers: number;
  readonly before: Occupancy;
  readonly after: Occupancy;
}

/** An array that keeps its own bytes; the rest of its kernel is optimised all the same. The line is that of the reason, if it is one. */
export interface PinnedReport extends SourcePlace {
  readonly name: string;
  /** 0 if it is dynamic shared memory. */
  readonly bytes: number;
  readonly code: PinReason;
  readonly reason: string;
}

/** The outcome for one kernel. */
export interface KernelReport extends SourcePlace {
  readonly kernel: string;
  /** `kept`: the kernel is unchanged, and `reason` says why. */
  readonly status: 'rewritten' | 'kept';
  readonly reason: string;
  readonly planner: PlannerName;
  readonly arrays: readonly ArrayReport[];
  /** Shared bytes of the arrays as declared: aligned, one after another. Without those that keep their own bytes. */
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
  readonly moved: readonly MovedPart[];
  /** Original barriers that the new order does not need. */
  readonly barriersRemoved: readonly SourcePlace[];
  /** What barriers that the option `barriers` does not allow would save: the bytes then, and the lines before which they would stand. */
  readonly possible?: { readonly bytes: number; readonly barrierLines: readonly number[] };
  /** Absent if the number of threads is unknown (option blockThreads, or __launch_bounds__). */
  readonly residency?: ResidencyReport;
  /** The same for every architecture of the option `architectures`; empty if the number of threads is unknown. */
  readonly residencies: readonly ResidencyReport[];
  /** Bytes of dynamic shared memory that a launch must request; absent if the pool is static (up to 48 KB). */
  readonly dynamicBytes?: number;
  /** Program points: line of each. */
  readonly points: readonly number[];
  readonly pinned: readonly PinnedReport[];
}

/** The report of `optimize()`. */
export interface ScratchpadReport {
  readonly kernels: readonly KernelReport[];
  /** How many arrays of all kernels keep their own bytes, by reason. */
  readonly pinned: Readonly<Partial<Record<PinReason, number>>>;
}
