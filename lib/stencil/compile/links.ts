// What the cells of a stage make in turn (./cascade.ts).
import type { KernelFunction } from '../../kernel/ir.ts';
import type { Taken } from './sharing.ts';
import type { Traced } from './trace.ts';

/** A function of numbers, its first parameters, and of inputs. */
export interface Link extends Traced {
  readonly takes: readonly Taken[];
  /** The first number that it makes. */
  readonly from: number;
  /** Nodes. */
  readonly weight: number;
  /** If it only loads, which takes long: a row before its numbers are needed, or at the beginning of the row at whose end they are. */
  readonly loads: 'ahead' | 'now' | undefined;
  /** By how many rows it is ahead of the last link. */
  readonly lead: number;
  /** Rows and columns, counted from the cell at the end, whose numbers are needed. */
  readonly rows: readonly [low: number, high: number];
  readonly columns: readonly [low: number, high: number];
}

export interface Cascade {
  readonly callees: readonly KernelFunction[];
  /** The last one makes the cell. */
  readonly links: readonly Link[];
  /** How many numbers are made, and of how many rows they are kept. */
  readonly numbers: number;
  readonly ages: number;
  /** Lanes that give each other what they make: of a warp, or of a block if there are rows to march down. */
  readonly lanes: number;
  /** Columns of them that make cells. */
  readonly width: number;
  /** Warps of a block, and those that a multiprocessor is to hold. */
  readonly warps: number;
  readonly held: number;
}
