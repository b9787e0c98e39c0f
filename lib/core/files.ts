// Files that are whole or absent: written under a temporary name, synced, renamed.
import { randomBytes } from 'node:crypto';
import { open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Writes a file so that a reader, a crash or a full disk never meets half of it: the data goes to a new
 * file beside `path`, is synced to the disk, and takes the name in one step; then the folder is synced.
 * @throws the file system's error (ENOSPC, EACCES, …); `path` then holds what it held before
 */
export async function writeFileAtomic(path: string, data: string | Uint8Array): Promise<void> {
  const folder = dirname(path);
  const temporary = join(folder, `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`);
  const file = await open(temporary, 'wx');
  try {
    try {
      await file.writeFile(data);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  const entry = await open(folder, 'r');
  try {
    await entry.sync();
  } finally {
    await entry.close();
  }
}
