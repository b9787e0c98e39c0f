// What a run of a job reports, and what it leaves of every item.
import type { Frame } from './frame.ts';
import type { ItemReport } from './kind.ts';
import type { Job } from './kinds/index.ts';

/** The content of an item's result.json. */
export interface ItemResult extends ItemReport {
  readonly schema: 1;
  readonly job: string;
  readonly item: string;
  /** Hash of the parameters and of the bytes of the inputs: a finished item with the same hash is not run again. */
  readonly hash: string;
  readonly parameters: Job;
  readonly device: { readonly backend: string; readonly name: string };
  readonly warploom: string;
  /** Elapsed time of the item, including reading, writing and drawing. */
  readonly wallSeconds: number;
  /** ISO date and time. */
  readonly finished: string;
}

/** How far a sweep is: numbers of items. Skipped items count as finished. */
export interface SweepProgress {
  readonly finished: number;
  readonly failed: number;
  readonly running: number;
  readonly total: number;
}

/** What happens while a job runs. */
export type RunEvent = { readonly job: string; readonly item: string } & (
  | { readonly event: 'started'; readonly sweep: SweepProgress }
  | { readonly event: 'skipped' | 'finished'; readonly result: ItemResult; readonly sweep: SweepProgress }
  | {
    readonly event: 'failed'; readonly sweep: SweepProgress;
    /** `code` is that of the error, if it has one. */
    readonly error: { readonly code?: string; readonly message: string };
  }
  | { readonly event: 'warning'; readonly note: string }
  | {
    readonly event: 'progress'; readonly done: number; readonly total: number;
    /** What is known of the state, by name: `energy` for images. */
    readonly figures?: Readonly<Record<string, number>>;
  }
  | { readonly event: 'frame'; readonly frame: Frame }
);

/** An event in the middle of an item. */
export type ItemEvent = Extract<RunEvent, { readonly event: 'warning' | 'progress' | 'frame' }>;
