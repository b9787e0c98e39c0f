// Results that go back through a queue: the files of an item, compressed, in one hash of the server.
import { dirname, join, sep } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Redis } from 'ioredis';
import { WarploomError } from '../../core/errors.ts';
import { describeFile, isTemporary, listFolder, makeFolder, readBytes, writeFileAtomic } from '../../core/files.ts';
import { lockName } from '../lock.ts';
import { checkpointName, takeFolder } from '../results-folder.ts';
import { prefix } from './connect.ts';

const compress = promisify<Uint8Array, Buffer>(gzip);
const expand = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(gunzip);

/** The most bytes of an item's files. */
const mostBytes = 2 ** 28;
/** Seconds for which the server keeps them. */
const kept = 7 * 24 * 3600;

const keyOf = (id: string): string => `${prefix}:files:${id}`;

/** Files that are none, by the beginnings of their names. */
const others: readonly string[] = [lockName, checkpointName];

/** Files of a folder that are results, with `/` between folders. */
async function filesOf(folder: string, below = ''): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await listFolder(join(folder, below))) {
    const name = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) found.push(...await filesOf(folder, name));
    else if (entry.isFile() && !isTemporary(entry.name) && !others.some((other) => entry.name.startsWith(other))) found.push(name);
  }
  return found;
}

/** Sends the files of an item. */
export async function send(redis: Redis, id: string, folder: string): Promise<void> {
  const names = await filesOf(folder);
  let bytes = 0;
  for (const name of names) bytes += (await describeFile(join(folder, name))).size;
  if (bytes > mostBytes) {
    throw new WarploomError('ERR_WARPLOOM_UNSUPPORTED',
      `the results of an item hold ${bytes} bytes, and at most ${mostBytes} go through a queue: let workers write to a shared folder`);
  }
  await redis.del(keyOf(id));
  for (const name of names) await redis.hset(keyOf(id), name, await compress(await readBytes(join(folder, name))));
  await redis.expire(keyOf(id), kept);
}

const isPlain = (name: string): boolean =>
  name.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes(sep) && !part.includes('\0'));

/** Writes the files of an item into its folder, result.json last; false if the server has them no longer. */
export async function receive(redis: Redis, id: string, folder: string, followLinks: boolean): Promise<boolean> {
  const names = await redis.hkeys(keyOf(id));
  if (!names.includes('result.json')) return false;
  const lock = await takeFolder(folder, { followLinks });
  try {
    const last = names.filter((name) => name !== 'result.json');
    for (const name of [...last, 'result.json']) {
      const bytes = await redis.hgetBuffer(keyOf(id), name);
      if (bytes === null) return false;
      if (!isPlain(name)) throw new WarploomError('ERR_WARPLOOM_DAMAGED_FILE', `no name of a result: ${JSON.stringify(name)}`);
      await makeFolder(dirname(join(folder, name)));
      await writeFileAtomic(join(folder, name), await expand(bytes, { maxOutputLength: mostBytes }));
    }
  } finally {
    await lock.release();
  }
  await redis.del(keyOf(id));
  return true;
}
