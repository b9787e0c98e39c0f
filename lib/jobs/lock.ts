// A lock on a folder of results, so that two runs never write the same files.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { WarploomError } from '../core/errors.ts';
import { createFile, createFolder, describeFile, linkTargetSync, readBytesSync, readText, removeAll, unlessAbsent } from '../core/files.ts';

/** Name of the lock in the folder that it locks. */
export const lockName = '.warploom.lock';

const ownerSchema = z.strictObject({
  pid: z.int().min(1), host: z.string(), boot: z.string(), namespace: z.string(), began: z.string(), started: z.string(), token: z.string(),
});
/** Who holds a lock. */
type Owner = z.infer<typeof ownerSchema>;

/** A line of information on processes from the system; empty if the system does not provide it. */
function systemLine(read: () => string): string {
  try {
    return read().trim();
  } catch {
    return '';
  }
}

/** When a process began, in the system's clock ticks: distinguishes it from a later one with the same process number. */
const beginOf = (pid: number): string =>
  systemLine(() => readBytesSync(`/proc/${pid}/stat`).toString('latin1').replace(/^.*\) /s, '').split(' ')[19] ?? '');

function self(): Owner {
  return {
    pid: process.pid, host: hostname(),
    boot: systemLine(() => readBytesSync('/proc/sys/kernel/random/boot_id').toString('latin1')),
    namespace: systemLine(() => linkTargetSync('/proc/self/ns/pid')),
    began: beginOf(process.pid), started: new Date().toISOString(), token: randomUUID(),
  };
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether the owner is certainly gone: its machine was restarted, or its process no longer exists. */
function isGone(owner: Owner, replacesForeign = false): boolean {
  const here = self();
  if (owner.host !== here.host) return replacesForeign;
  if (owner.boot !== here.boot) return true;
  if (owner.namespace !== here.namespace) return replacesForeign;
  return !runs(owner.pid) || beginOf(owner.pid) !== owner.began;
}

/** A lock is written or taken over within this time, in milliseconds. */
const patience = 2000;

function refuse(path: string, who: string): never {
  throw new WarploomError('ERR_WARPLOOM_LOCKED',
    `another run is writing here: ${path} is held by ${who}; wait for it or end it, or delete that file if it no longer runs`);
}

/** The owner that a lock names; undefined if there is no lock; null if it does not name an owner yet, because it is being written. */
async function ownerOf(path: string): Promise<Owner | null | undefined> {
  const text = await unlessAbsent(readText(path));
  if (text === undefined) return undefined;
  try {
    return ownerSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** This folder exists while a process takes over the lock. */
const guardOf = (path: string): string => `${path}.taking`;

/** Whether a lock without an owner has been abandoned. A lock that another process is just writing is younger than that. */
async function isLeft(path: string): Promise<boolean> {
  const found = await unlessAbsent(describeFile(path));
  return found !== undefined && Date.now() - found.mtimeMs > patience;
}

/** Removes the lock if its owner is gone. Only one process does so at a time, so that none removes a lock that another has just created. */
async function removeStale(path: string, replacesForeign: boolean): Promise<void> {
  const guard = guardOf(path);
  if (!await createFolder(guard)) return;
  try {
    const owner = await ownerOf(path);
    if (owner === null ? await isLeft(path) : owner !== undefined && isGone(owner, replacesForeign)) await removeAll(path);
  } finally {
    await removeAll(guard);
  }
}

/** A lock that this process holds. */
export class FolderLock {
  readonly #path: string;
  readonly #token: string;

  private constructor(path: string, token: string) {
    this.#path = path;
    this.#token = token;
  }

  /**
   * Locks a folder. The lock of a process that is gone is taken over.
   * @param options `replacesForeign`: locks of other machines are taken over too, because somebody else lets only one work there
   * @throws WarploomError `ERR_WARPLOOM_LOCKED` naming process, machine and time of another run that is writing there
   */
  static async take(folder: string, { replacesForeign = false } = {}): Promise<FolderLock> {
    const path = join(folder, lockName);
    const owner = self();
    const text = `${JSON.stringify(owner)}\n`;
    const begin = Date.now();
    for (;;) {
      if (await createFile(path, text)) return new FolderLock(path, owner.token);
      const other = await ownerOf(path);
      if (other && !isGone(other, replacesForeign)) refuse(path, `process ${other.pid} on ${other.host} since ${other.started}`);
      const waited = Date.now() - begin;
      if (waited > 2 * patience) refuse(guardOf(path), 'a process that is replacing a stale lock');
      if (other || (other === null && waited > patience)) await removeStale(path, replacesForeign);
      await sleep(10);
    }
  }

  /** @throws WarploomError `ERR_WARPLOOM_LOCKED` if another process has taken the lock over */
  async requireHeld(): Promise<void> {
    const owner = await ownerOf(this.#path);
    if (owner?.token !== this.#token) refuse(this.#path, owner ? `process ${owner.pid} on ${owner.host}` : 'nobody: it was removed');
  }

  /** Removes the lock if it still belongs to this process. */
  async release(): Promise<void> {
    const owner = await ownerOf(this.#path);
    if (owner?.token === this.#token) await removeAll(this.#path);
  }
}
