// Folders for files that outlive the process, and the caches of compiled programs in them. Cached programs are executed or loaded, so the
// folder must belong to the user alone, and a program whose bytes have changed since it was stored is made again.
import { createHash } from 'node:crypto';
import { lstatSync, mkdtempSync, readFileSync, rmSync, type Stats } from 'node:fs';
import { lstat, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { cpus, homedir, tmpdir } from 'node:os';
import { basename, isAbsolute, join } from 'node:path';
import { UnavailableError, WarploomError } from '../errors.ts';
import { makeFoldersSync } from '../files.ts';

/** Flags of Node's permission model, by the permission they grant. */
const permissions: Readonly<Record<string, string>> = {
  ChildProcess: '--allow-child-process', FileSystemRead: '--allow-fs-read', FileSystemWrite: '--allow-fs-write',
  WorkerThreads: '--allow-worker',
};

type SystemError = Error & { readonly code?: string; readonly permission?: string; readonly resource?: string };

/** Whether Node's permission model denied the operation. */
export function isDenied(error: unknown): boolean {
  return (error as SystemError).code === 'ERR_ACCESS_DENIED';
}

/** Converts an error of the operating system to one of ours. `what`: the operation that failed. */
export function systemError(what: string, error: unknown): WarploomError {
  const { code, message, permission = '', resource = '' } = error as SystemError;
  if (isDenied(error)) {
    const flag = permissions[permission] ?? 'more permissions';
    return new UnavailableError(`the permission model of Node does not let this process ${what}${resource === '' ? '' : ` (${resource})`}: `
      + `give it ${flag}; compilers need --allow-child-process, and --allow-fs-read and --allow-fs-write for their cache and temporary `
      + "folders (stream programs of backend 'wasm' need none of them)", { cause: error });
  }
  if (code === undefined || error instanceof WarploomError) throw error;
  return new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `cannot ${what}: ${message}`, { cause: error });
}

/** Runs code that uses files, and converts errors of the file system to ours. */
export async function withFiles<T>(what: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    if (error instanceof WarploomError) throw error;
    throw systemError(what, error);
  }
}

/** Why a folder is not safe to keep programs in; undefined if it is safe. */
function danger(path: string): string | undefined {
  const found: Stats = lstatSync(path);
  if (!found.isDirectory()) return 'it is no folder';
  if (process.getuid === undefined) return undefined;
  if (found.uid !== process.getuid()) return 'it belongs to somebody else';
  return (found.mode & 0o022) === 0 ? undefined : 'others may write to it';
}

/** Creates the folder. Throws if others can write to it. */
function makePrivate(path: string): string {
  makeFoldersSync(path);
  const reason = danger(path);
  if (reason === undefined) return path;
  throw new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED',
    `${path} is not used for compiled programs: ${reason}; give another folder, or make it yours alone (chmod 700)`);
}

let own: string | undefined;

/** Whether a folder is for this process only. */
export const isOwnFolder = (path: string): boolean => path === own;

/** A folder for this process only, removed when it ends. */
function ownFolder(): string {
  if (own !== undefined) return own;
  const made = mkdtempSync(join(tmpdir(), 'warploom-'));
  process.on('exit', () => { rmSync(made, { recursive: true, force: true }); });
  return own = made;
}

/**
 * The folder for files that outlive the process, created if necessary: the given one or `warploom/<name>` in the user's cache folder. If
 * the user has no private, writable cache folder, a temporary folder of this process. Throws WarploomError.
 */
export function cacheFolder(given: string | undefined, name: 'stream' | 'stencil' | 'modules'): string {
  try {
    if (given !== undefined) return makePrivate(given);
    const { XDG_CACHE_HOME = '' } = process.env;
    const caches = isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : isAbsolute(homedir()) ? join(homedir(), '.cache') : undefined;
    if (caches === undefined) return ownFolder();
    try {
      makeFoldersSync(caches);
      return makePrivate(join(makePrivate(join(caches, 'warploom')), name));
    } catch (error) {
      if (isDenied(error)) throw error;
      return ownFolder();
    }
  } catch (error) {
    if (error instanceof WarploomError) throw error;
    throw systemError('make a folder for compiled programs', error);
  }
}

let known: string | undefined;

/** Identifies the processor: programs are compiled for its instruction set. */
export function processor(): string {
  return known ??= JSON.stringify([cpus()[0]?.model, flagsOf()]);
}

function flagsOf(): string {
  if (process.platform !== 'linux') return '';
  try {
    return /^(?:flags|Features)\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
}

/** Digest of a program and the key under which it is stored. */
const digestOf = (key: string, bytes: Uint8Array): string => createHash('sha256').update(`${key}\0`).update(bytes).digest('hex');

/**
 * Limits on a folder of programs. Beyond them, the programs that have not been used for the longest time are removed, but none that was
 * used in the last `idle` milliseconds, because another process may be about to start it. A process checks the folder after every `every`
 * programs it makes.
 */
export const cacheLimits = { bytes: 2 ** 30, programs: 4096, idle: 3_600_000, every: 16 };

/** Removes programs beyond the limits, and what processes that died have left behind. */
async function keepWithin(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => /^([0-9a-f]{40}|work-\w+)$/.test(name));
  const found = await Promise.all(names.map(async (name) => {
    const path = join(folder, name);
    const [entry, program] = await Promise.all([lstat(path), lstat(join(path, 'program')).catch(() => undefined)]);
    return { path, isWork: name.startsWith('work-'), used: entry.mtimeMs, bytes: program?.size ?? 0 };
  }));
  const idle = (used: number): boolean => Date.now() - used > cacheLimits.idle;
  // Compiling may take longer than `idle`.
  const left = found.filter(({ isWork, used }) => isWork && Date.now() - used > 24 * cacheLimits.idle);
  const programs = found.filter(({ isWork }) => !isWork).sort((a, b) => b.used - a.used);
  let bytes = 0;
  const beyond = programs.filter((each, number) => {
    bytes += each.bytes;
    return (number >= cacheLimits.programs || bytes > cacheLimits.bytes) && idle(each.used);
  });
  await Promise.all([...left, ...beyond].map(({ path }) => rm(path, { recursive: true, force: true })));
}

let made = 0;

/** The stored program, if its bytes and its key, the name of the entry, are unchanged. */
async function intact(entry: string): Promise<string | undefined> {
  const path = join(entry, 'program');
  try {
    const [folder, file, digest, bytes] = await Promise.all(
      [lstat(entry), lstat(path), readFile(join(entry, 'sha256'), 'utf8'), readFile(path)]);
    const user = process.getuid?.();
    const isOurs = user === undefined || [folder, file].every(({ uid, mode }) => uid === user && (mode & 0o022) === 0);
    if (!folder.isDirectory() || !file.isFile() || !isOurs || digestOf(basename(entry), bytes) !== digest) return undefined;
    if (Date.now() - folder.mtimeMs > cacheLimits.idle / 2) await utimes(entry, new Date(), new Date()).catch(() => undefined);
    return path;
  } catch (error) {
    if (isDenied(error)) throw error;
    return undefined; // missing or incomplete
  }
}

/**
 * The path of the program cached under a key in a folder of {@link cacheFolder}. `make` gets a folder of its own and the path at which to
 * create the program. Processes that make the same program at once do not disturb each other: an entry is complete before it gets its name.
 */
export function cachedProgram(
  folder: string, key: string, make: (work: string, program: string) => Promise<void>,
): Promise<string> {
  return withFiles('keep a compiled program', async () => {
    const entry = join(folder, key);
    const found = await intact(entry);
    if (found !== undefined) return found;
    const work = await mkdtemp(join(folder, 'work-'));
    try {
      const whole = await mkdtemp(join(work, 'entry-'));
      const program = join(whole, 'program');
      await make(work, program);
      await writeFile(join(whole, 'sha256'), digestOf(key, await readFile(program)));
      return await putInPlace(whole, entry);
    } finally {
      await rm(work, { recursive: true, force: true });
      // Others may be removing the same.
      if (made++ % cacheLimits.every === 0) await keepWithin(folder).catch(() => undefined);
    }
  });
}

/** The bytes that are kept under a key; undefined if there are none, or they are not as they were stored. */
export async function keptBytes(folder: string, key: string): Promise<Uint8Array | undefined> {
  return withFiles('read what is kept', async () => {
    const path = await intact(join(folder, key));
    return path === undefined ? undefined : await readFile(path);
  });
}

/** Keeps bytes under a key where there are none, with the limits and checks of {@link cachedProgram}. */
export async function keepBytes(folder: string, key: string, bytes: Uint8Array): Promise<void> {
  await cachedProgram(folder, key, (_, to) => writeFile(to, bytes));
}

/** The text that is kept under a key; undefined if there is none, or it is not as it was stored. */
export async function keptText(folder: string, key: string): Promise<string | undefined> {
  const bytes = await keptBytes(folder, key);
  return bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8');
}

/** Keeps a text under a key in place of what is there, with the same limits and checks as {@link cachedProgram}. */
export async function keepText(folder: string, key: string, text: string): Promise<void> {
  await withFiles('keep a text', async () => {
    const entry = join(folder, key);
    const work = await mkdtemp(join(folder, 'work-'));
    try {
      const whole = await mkdtemp(join(work, 'entry-'));
      await writeFile(join(whole, 'program'), text);
      await writeFile(join(whole, 'sha256'), digestOf(key, Buffer.from(text)));
      await rename(entry, join(work, 'former')).catch(() => undefined);
      await putInPlace(whole, entry);
    } finally {
      await rm(work, { recursive: true, force: true });
      if (made++ % cacheLimits.every === 0) await keepWithin(folder).catch(() => undefined);
    }
  });
}

/** The text cached under a key, as {@link cachedProgram} caches programs. */
export async function cachedText(folder: string, key: string, make: () => string | Promise<string>): Promise<string> {
  const path = await cachedProgram(folder, key, async (_, to) => writeFile(to, await make()));
  return withFiles('read a cached text', () => readFile(path, 'utf8'));
}

/** Gives a complete entry its name. If several processes compete, the first intact one wins. */
async function putInPlace(made: string, entry: string): Promise<string> {
  for (let attempt = 0; ; ++attempt) {
    try {
      await rename(made, entry);
      return join(entry, 'program');
    } catch (error) {
      const found = await intact(entry);
      if (found !== undefined) return found;
      if (attempt >= 4) throw error;
      // The existing entry is corrupt: rename it in one step, so that nobody sees half of it.
      await rename(entry, `${made}-broken${attempt}`).catch(() => undefined);
    }
  }
}
