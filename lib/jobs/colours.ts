// The colours of a sweep's pictures: one range for the items, so that they can be compared.
import { isDeepStrictEqual } from 'node:util';
import { join } from 'node:path';
import { readText, unlessAbsent, writeFileAtomic } from '../core/files.ts';
import type { ItemResult } from './events.ts';
import type { ItemState } from './items.ts';
import { inputResolver } from './inputs.ts';
import type { ColourRange, ColourRanges } from './kind.ts';
import { kindOf } from './kinds/index.ts';
import { coloursName, takeFolder } from './results-folder.ts';

/** Options of {@link shareColours}. */
export interface SharingOptions {
  /** Whether results folders may be symbolic links; default false. */
  readonly followLinks?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The least range that holds those of all results, for each picture and field. */
export function sharedColours(results: readonly Pick<ItemResult, 'colours'>[]): ColourRanges {
  const shared: Record<string, Record<string, ColourRange>> = {};
  for (const { colours = {} } of results) {
    for (const [picture, fields] of Object.entries(colours)) {
      const known = shared[picture] ??= {};
      for (const [field, [low, high]] of Object.entries(fields)) {
        const [least, most] = known[field] ?? [low, high];
        known[field] = [Math.min(least, low), Math.max(most, high)];
      }
    }
  }
  return shared;
}

/** The ranges with which an item's pictures are drawn now. */
async function drawnColours(folder: string, own: ColourRanges): Promise<unknown> {
  const text = await unlessAbsent(readText(join(folder, coloursName)));
  if (text === undefined) return own;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // written by somebody else: they are drawn again
  }
}

/** The parts of `shared` that an item's own pictures have. */
function partOf(shared: ColourRanges, own: ColourRanges): ColourRanges {
  return Object.fromEntries(Object.entries(own).map(([picture, fields]) =>
    [picture, Object.fromEntries(Object.entries(fields).map(([field, range]) => [field, shared[picture]?.[field] ?? range]))]));
}

/**
 * Draws the pictures of finished items again whose colours have other ranges than all of them together. An item's folder says which ranges
 * it has been drawn with, so that nothing is drawn twice, and a run that was stopped meanwhile goes on. Jobs with `colours: 'own'` keep the
 * ranges of each item.
 * @param base the folder to which the job's paths are relative
 * @throws the signal's reason; what a kind throws; WarploomError `ERR_WARPLOOM_LOCKED`
 */
export async function shareColours(
  items: readonly ItemState[], base: string, { followLinks = false, signal }: SharingOptions = {},
): Promise<void> {
  const finished = items.flatMap(({ job, folder, result }) =>
    (result?.colours === undefined ? [] : [{ job, folder, own: result.colours }]));
  const shared = sharedColours(finished.map(({ own }) => ({ colours: own })));
  for (const { job, folder, own } of finished) {
    const { recolour } = kindOf(job);
    const wanted = 'colours' in job && job.colours === 'own' ? own : partOf(shared, own);
    if (recolour === undefined || isDeepStrictEqual(await drawnColours(folder, own), wanted)) continue;
    signal?.throwIfAborted();
    const lock = await takeFolder(folder, { followLinks });
    try {
      await recolour(job, { input: inputResolver(base), folder }, wanted);
      await writeFileAtomic(join(folder, coloursName), `${JSON.stringify(wanted)}\n`);
    } finally {
      await lock.release();
    }
  }
}
