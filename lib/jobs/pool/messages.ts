// Messages between a process that runs items and the one that started it.
import type { ItemTask } from '../run-item.ts';
import type { ItemResult, ItemEvent } from '../events.ts';
import type { Failure } from './failure.ts';

/** To the process: items to run together, or that those it runs are to stop. */
export type Order = { readonly tasks: readonly ItemTask[] } | { readonly stop: Failure };

/** From the process: it is ready for items, an event of an item, the end of one by its place, that all have ended. */
export type News =
  | { readonly kind: 'ready' }
  | { readonly kind: 'event'; readonly event: ItemEvent }
  | { readonly kind: 'result'; readonly place: number; readonly result: ItemResult }
  | { readonly kind: 'failure'; readonly place: number; readonly failure: Failure }
  | { readonly kind: 'done' };
