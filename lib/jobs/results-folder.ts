// The folder for a job's results: locked, free of unfinished files from killed writers, and not redirected by symbolic links.
import { join } from 'node:path';
import { refusal } from '../core/errors.ts';
import { describeFile, describeLink, isTemporary, listFolder, makeFolder, realPath, removeAll, unlessAbsent } from '../core/files.ts';
import { FolderLock } from './lock.ts';

/** Name of the checkpoint in an item's folder. */
export const checkpointName = 'state.checkpoint';
/** Name of the file that says which ranges the colours of an item's pictures have, once they are those of the sweep. */
export const coloursName = 'colours.json';

/**
 * Refuses a path that is a symbolic link.
 * @throws ArgumentError naming it
 */
async function refuseLink(path: string): Promise<void> {
  const info = await unlessAbsent(describeLink(path));
  if (info?.isSymbolicLink() !== true) return;
  throw refusal('results', 'folders that are not symbolic links (followLinks or --follow-links allows them)', path);
}

/** `folder` and all folders below it; links to folders are followed to their targets, once each. */
async function* foldersBelow(folder: string, followLinks: boolean, seen = new Set<string>()): AsyncGenerator<string> {
  const real = await realPath(folder);
  if (seen.has(real)) return;
  seen.add(real);
  yield folder;
  for (const entry of await listFolder(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* foldersBelow(path, followLinks, seen);
    if (!entry.isSymbolicLink() || (await unlessAbsent(describeFile(path)))?.isDirectory() !== true) continue;
    if (!followLinks) await refuseLink(path);
    yield* foldersBelow(path, followLinks, seen);
  }
}

/**
 * Refuses a folder that is a symbolic link or has one to a folder below it.
 * @throws ArgumentError naming it
 */
export async function refuseLinks(folder: string, followLinks: boolean): Promise<void> {
  if (followLinks) return;
  await refuseLink(folder);
  const folders = foldersBelow(folder, followLinks);
  while ((await folders.next()).done !== true);
}

/** Removes the unfinished files of writers that were killed. */
async function sweepTemporaries(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    for (const entry of await listFolder(folder)) if (entry.isFile() && isTemporary(entry.name)) await removeAll(join(folder, entry.name));
  }
}

/**
 * Creates a folder for results, or takes over an earlier one: locks it, refuses symbolic links to folders in it, and removes unfinished
 * files.
 * @param options `followLinks`: accept symbolic links; `deep` (default): include the folders below it; `replacesForeign`: take over
 *   locks of other machines
 * @throws ArgumentError for a symbolic link; WarploomError `ERR_WARPLOOM_LOCKED` while another run writes there; FileError
 */
export async function takeFolder(folder: string, { followLinks = false, deep = true, replacesForeign = false } = {}): Promise<FolderLock> {
  if (!followLinks) await refuseLink(folder);
  await makeFolder(folder);
  const lock = await FolderLock.take(folder, { replacesForeign });
  try {
    const folders: string[] = [];
    if (!deep) folders.push(folder);
    else for await (const found of foldersBelow(folder, followLinks)) folders.push(found);
    await sweepTemporaries(folders);
    return lock;
  } catch (error) {
    await lock.release();
    throw error;
  }
}
