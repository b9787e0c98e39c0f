// Runs items that are computed together, each in its own folder.
import type { Devices } from './devices.ts';
import type { ItemEvent, ItemResult } from './events.ts';
import { Group } from './group.ts';
import { runItem, type ItemTask } from './run-item.ts';

/** What became of an item. */
export type Ended = { readonly result: ItemResult } | { readonly error: unknown };

/** Callbacks of items that run together, and how they are stopped. */
export interface GroupWatch {
  readonly signal: AbortSignal;
  readonly onEvent: (event: ItemEvent) => void;
  /** Called once for each, by its place in the list. */
  readonly onEnd: (place: number, ended: Ended) => void;
}

/** How many of them read and write at the same time. */
const width = 8;

/** Runs items together; a single one runs by itself. Resolves when all have ended: errors are told to `onEnd`. */
export async function runGroup(tasks: readonly ItemTask[], devices: Devices, { signal, onEvent, onEnd }: GroupWatch): Promise<void> {
  const group = new Group(tasks.length, width);
  await Promise.all(tasks.map((task, place) => group.run(async () => {
    try {
      onEnd(place, { result: await runItem(task, devices, { signal, onEvent }, tasks.length === 1 ? undefined : group) });
    } catch (error) {
      onEnd(place, { error });
    }
  })));
}
