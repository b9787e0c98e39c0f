// What one item of a job gets and gives back; each kind of job has one such function.
import type { Device } from '../core/device.ts';

/** What the runner hands to an item. */
export interface ItemContext {
  readonly device: Device;
  /** Resolves an input path of the job file (relative to it, or `package:name/path`). */
  readonly input: (path: string) => string;
  /** Folder of this item's results; exists. */
  readonly folder: string;
  /** Of the item's parameters and the bytes of its inputs: what its checkpoints belong to. */
  readonly hash: string;
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number) => void;
  /** Says what the user should know at once; it also comes to stand in the result. */
  readonly warn: (note: string) => void;
}

/** What an item did; becomes its result.json. */
export interface ItemReport {
  /** One line for the table: what ran. */
  readonly summary: string;
  /** Measured figures by name, in the unit the name says: `…Seconds`, `…Error`, `…PerSecond`. */
  readonly figures: Record<string, number>;
  /** The figure that stands for the item's accuracy, and what it is. */
  readonly accuracy: { readonly value: number; readonly meaning: string };
  /** Files written, relative to the item's folder. */
  readonly files: readonly string[];
  /** True when some system could not be solved; the job then exits with code 1. */
  readonly failed?: boolean;
  /** What to say about it. */
  readonly notes?: readonly string[];
}

/** Runs one item of one kind of job. */
export type ItemFunction<J> = (job: J, context: ItemContext) => Promise<ItemReport>;
