// Messages between a process that runs items and the one that started it.
import type { ItemTask } from '../run-item.ts';
import type { ItemResult, ItemEvent } from '../events.ts';
import type { Failure } from './failure.ts';

/** To the process: an item to run, or that the one it runs is to stop. */
export type Order = { readonly task: ItemTask } | { readonly stop: Failure };

/** From the process: it is ready for an item, an event of the item, its end. */
export type News =
  | { readonly kind: 'ready' }
  | { readonly kind: 'event'; readonly event: ItemEvent }
  | { readonly kind: 'result'; readonly result: ItemResult }
  | { readonly kind: 'failure'; readonly failure: Failure };
