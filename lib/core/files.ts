// The only access to files: every read and write of the library goes through here, so that every failure is a FileError, and every
// written file is either complete or absent.
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, readFileSync, readlinkSync, realpathSync, type Dirent, type Stats } from 'node:fs';
import {
  copyFile, link, lstat, mkdir, mkdtemp, open, readdir, readFile, realpath, rename, rm, stat, symlink, unlink,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { FileError } from './errors.ts';
import { fileError } from './file-error.ts';

/** Runs a piece of work on a file; the system's errors become {@link FileError}s that name `action` and `path`. */
export async function withFile<T>(action: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw fileError(error, action, path);
  }
}

/** {@link withFile} for synchronous work. */
export function withFileSync<T>(action: string, path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fileError(error, action, path);
  }
}

/** Whether an error says that there is no such file. */
export const isAbsent = (error: unknown): boolean => error instanceof FileError && error.systemCode === 'ENOENT';

/** The result of `work`; undefined if the file does not exist. */
export async function unlessAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** A whole file. */
export function readBytes(path: string): Promise<Buffer> {
  return withFile('read', path, () => readFile(path));
}

/** Text without the mark that some editors put before UTF-8. */
export const withoutMark = (text: string): string => (text.startsWith('\ufeff') ? text.slice(1) : text);

/** A whole file of UTF-8 text, without a byte order mark. */
export async function readText(path: string): Promise<string> {
  return withoutMark(await withFile('read', path, () => readFile(path, 'utf8')));
}

/** Synchronous {@link readBytes}, for what is needed to load the library. */
export function readBytesSync(path: string): Buffer {
  return withFileSync('read', path, () => readFileSync(path));
}

/** The target of a symbolic link. */
export function linkTargetSync(path: string): string {
  return withFileSync('read', path, () => readlinkSync(path));
}

/** Whether there is such a file or folder. */
export const isThere = (path: string): boolean => withFileSync('look at', path, () => existsSync(path));

/** The system's information on a file; symbolic links are followed. */
export function describeFile(path: string): Promise<Stats> {
  return withFile('look at', path, () => stat(path));
}

/** The same for a symbolic link itself. */
export function describeLink(path: string): Promise<Stats> {
  return withFile('look at', path, () => lstat(path));
}

/** The path without symbolic links. */
export function realPath(path: string): Promise<string> {
  return withFile('look at', path, () => realpath(path));
}

/** Synchronous {@link realPath}. */
export function realPathSync(path: string): string {
  return withFileSync('look at', path, () => realpathSync(path));
}

/** The entries of a folder, sorted by name. */
export async function listFolder(path: string): Promise<Dirent[]> {
  const entries = await withFile('list', path, () => readdir(path, { withFileTypes: true }));
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

const isMissing = (error: unknown, path: string): boolean =>
  (error as NodeJS.ErrnoException).code === 'ENOENT' && dirname(path) !== path;

// Parents first, one by one: where a file system answers «no such folder» although the parent is there, as /proc does, Node's own
// `recursive` tries forever.
async function makeFolders(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (!isMissing(error, path)) {
      await mkdir(path, { recursive: true });
    } else {
      await makeFolders(dirname(path));
      await unlessThere(() => mkdir(path));
    }
  }
}

/** The same at once, for the user alone (mode 0700); errors of the system as they are. */
export function makeFoldersSync(path: string): void {
  const mode = 0o700;
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (!isMissing(error, path)) {
      mkdirSync(path, { recursive: true, mode });
    } else {
      makeFoldersSync(dirname(path));
      if (!existsSync(path)) mkdirSync(path, { mode });
    }
  }
}

/** Creates a folder, and its parent folders if necessary. */
export async function makeFolder(path: string): Promise<void> {
  await withFile('make the folder', path, () => makeFolders(path));
}

/** Creates a symbolic link to a folder. */
export async function makeLink(path: string, target: string): Promise<void> {
  await withFile('make', path, () => symlink(target, path, 'dir'));
}

/** Removes a file or a folder with its contents; it is no error if there is none. */
export async function removeAll(path: string): Promise<void> {
  await withFile('remove', path, () => rm(path, { recursive: true, force: true }));
}

/** A new folder for temporary files, which the caller removes. */
export function makeTemporaryFolder(): Promise<string> {
  return withFile('make a temporary folder in', tmpdir(), () => mkdtemp(join(tmpdir(), 'warploom-')));
}

/** Runs `work` with a new folder for temporary files, which is removed afterwards. */
export async function inTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await makeTemporaryFolder();
  try {
    return await work(folder);
  } finally {
    await removeAll(folder);
  }
}

/** Runs `work`, which creates something; returns its result, or false if the thing already exists. */
async function unlessThere(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Creates a file that does not exist yet; if it exists, returns false and changes nothing. */
export function createFile(path: string, data: string): Promise<boolean> {
  return withFile('make', path, () => unlessThere(() => writeInto(path, 'wx', data, false)));
}

/** The same for a folder. */
export function createFolder(path: string): Promise<boolean> {
  return withFile('make', path, () => unlessThere(() => mkdir(path)));
}

/** Gives a file a second name, replacing whatever has that name; false if there is no such file. */
export function keepAs(path: string, name: string): Promise<boolean> {
  return withFile('keep', path, async () => {
    const spare = temporaryBeside(name);
    try {
      await link(path, spare).catch(async (error: unknown) => {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw error;
        await copyFile(path, spare); // for file systems without hard links
      });
    } catch (error) {
      await unlink(spare).catch(() => undefined);
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
    await rename(spare, name);
    return true;
  });
}

/** SHA-256 of a file, read in pieces. */
export async function hashFile(path: string): Promise<Buffer> {
  return withFile('read', path, async () => {
    const hash = createHash('sha256');
    for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
    return hash.digest();
  });
}

const temporaryEnding = '.warploom-tmp';

/** Whether this is a name that {@link writeFileAtomic} uses for incomplete files. */
export const isTemporary = (name: string): boolean => /^\..*\.[0-9a-f]{12}\.warploom-tmp$/.test(name);

/** A name next to `path` for a file that is being written; shortened, because file systems limit the length of names. */
export function temporaryBeside(path: string): string {
  return join(dirname(path), `.${Array.from(basename(path)).slice(0, 50).join('')}.${randomBytes(6).toString('hex')}${temporaryEnding}`);
}

/** Errors of systems and permission models that do not allow syncing a folder; the file itself has been synced. */
const unsynced: readonly unknown[] = ['EPERM', 'EACCES', 'EISDIR', 'EINVAL', 'ENOTSUP', 'ERR_ACCESS_DENIED'];

async function syncFolder(folder: string): Promise<void> {
  try {
    const entry = await open(folder, 'r');
    try {
      await entry.sync();
    } finally {
      await entry.close();
    }
  } catch (error) {
    if (!unsynced.includes((error as NodeJS.ErrnoException).code)) throw error;
  }
}

/** Whether a path is a device or a pipe, which must be written to and cannot be replaced by a file. */
async function takesBytes(path: string): Promise<boolean> {
  try {
    const info = await stat(path);
    return !info.isFile() && !info.isDirectory();
  } catch {
    return false;
  }
}

async function writeInto(path: string, flags: string, data: string | Uint8Array, sync: boolean): Promise<void> {
  const file = await open(path, flags);
  try {
    await file.writeFile(data);
    if (sync) await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Writes a file so that no reader ever sees half of it, even after a crash or with a full disk: the data goes to a new file next to
 * `path`, is synced to the disk, and takes the name in one step; then the folder is synced. Devices and pipes (/dev/stdout) are
 * written to as they are.
 * @param before called when the new file is complete but has not taken the name yet
 * @throws FileError with the system's code (ENOSPC, EACCES, …); `path` then holds what it held before
 */
export async function writeFileAtomic(path: string, data: string | Uint8Array, before?: () => Promise<void>): Promise<void> {
  await withFile('write', path, async () => {
    if (await takesBytes(path)) return writeInto(path, 'w', data, false);
    const temporary = temporaryBeside(path);
    try {
      await writeInto(temporary, 'wx', data, true);
      await before?.();
      await rename(temporary, path);
    } catch (error) {
      await unlink(temporary).catch(() => undefined);
      throw error;
    }
    await syncFolder(dirname(path));
  });
}
