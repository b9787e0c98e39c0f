// An item in a queue: written by whoever submits it, and checked by the worker before anything of it is used.
import { createHash } from 'node:crypto';
import { isAbsolute, join, relative, sep } from 'node:path';
import { z } from 'zod';
import { refusal } from '../../core/errors.ts';
import { isThere, realPath } from '../../core/files.ts';
import { digestInputs, hashItem } from '../hash.ts';
import { inputResolver } from '../inputs.ts';
import type { Resolve } from '../kind.ts';
import { jobSchema, kindOf } from '../kinds/index.ts';
import type { JobItem, LoadedJob } from '../loaded.ts';

const taskSchema = z.strictObject({
  version: z.literal(1),
  job: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/),
  item: z.string().regex(/^(?!\.+$)[A-Za-z0-9_.+=,~-]{1,200}$/),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  folder: z.string().max(4096),
  fetch: z.boolean(),
  again: z.boolean(),
  frames: z.number().int().min(2).max(4096).optional(),
  parameters: z.unknown(),
});

/** What a queue holds of an item. */
export type QueuedItem = z.infer<typeof taskSchema>;

/** Identifies an item in its queue: the same item is there once, however often it is submitted. */
export function idOf({ job, item, hash, folder, fetch }: QueuedItem): string {
  return `item-${createHash('sha256').update(JSON.stringify([job, item, hash, folder, fetch])).digest('hex').slice(0, 32)}`;
}

/** Whether `path` is `root` or lies in it. */
function isWithin(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/**
 * Resolves the paths of a job as its own resolver does, and refuses what does not lie in `root`, by name or by way of a symbolic link.
 * Paths in jobs of a queue are relative, because folders have other names on other machines.
 */
async function confine(job: JobItem['job'], root: string, resolve: Resolve): Promise<Resolve> {
  for (const [field, path] of Object.entries(kindOf(job).inputs(job))) {
    if (typeof path !== 'string') continue;
    if (isAbsolute(path)) throw refusal(field, 'a path relative to the job file, for a queue', path);
    const place = resolve(path);
    const real = isThere(place) ? await realPath(place) : place;
    if (!isWithin(root, real)) throw refusal(field, 'a file in the folder of the worker', path);
  }
  return (path) => {
    const place = isAbsolute(path) ? path : resolve(path);
    if (!isWithin(root, place)) throw refusal('path', 'a file in the folder of the worker', path);
    return place;
  };
}

/** Checks every file that an item reads, also those that its inputs refer to. */
async function requireWithin(root: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    if (isThere(path) && !isWithin(root, await realPath(path))) throw refusal('path', 'a file in the folder of the worker', path);
  }
}

/** What workers accept. */
export interface Bounds {
  /** The only folder that items may read from and write to. */
  readonly root: string;
  /** Whether items may name files with code, which is then run. */
  readonly allowCode: boolean;
}

/**
 * Checks an item from a queue: its form, its parameters, that all it reads lies in the worker's folder and has the same bytes as where it
 * was submitted.
 * @throws ArgumentError saying what is wrong
 */
export async function checkQueued(
  data: unknown, { root, allowCode }: Bounds,
): Promise<{ queued: QueuedItem; item: JobItem; inputs: string }> {
  const parsed = taskSchema.safeParse(data);
  if (!parsed.success) throw refusal('item', 'an item that warploom submit wrote', `\n${z.prettifyError(parsed.error)}`);
  const queued = parsed.data;
  const given = jobSchema.safeParse(queued.parameters);
  if (!given.success) throw refusal('item', 'the parameters of a job', `\n${z.prettifyError(given.error)}`);
  const job = given.data;
  if (job.name !== queued.job) throw refusal('item', `a job named '${queued.job}'`, job.name);
  if (!allowCode && kindOf(job).runsCode?.(job) === true) {
    throw refusal('item', 'no code: this worker runs none (warploom worker --allow-code)', 'a job that names a file with code');
  }
  const real = await realPath(root);
  const inputs = join(real, queued.folder);
  if (isAbsolute(queued.folder) || !isWithin(real, inputs)) throw refusal('folder', 'a folder in that of the worker', queued.folder);
  const digests = await digestInputs(job, await confine(job, real, inputResolver(inputs)));
  await requireWithin(real, digests.map(({ path }) => path));
  if (hashItem(job, digests) !== queued.hash) {
    throw refusal('item', 'the same inputs as where it was submitted', 'files with other bytes (or another version of warploom)');
  }
  return { queued, inputs, item: { name: queued.item, values: {}, job, inputs: digests, hash: queued.hash } };
}

/** An item as a queue holds it. @throws ArgumentError for paths that no worker accepts */
export async function queuedItem(
  loaded: LoadedJob, item: JobItem,
  { root, fetch, again, frames }: { readonly root: string } & Pick<QueuedItem, 'fetch' | 'again' | 'frames'>,
): Promise<QueuedItem> {
  const real = await realPath(root);
  const folder = relative(real, await realPath(loaded.folder));
  if (!isWithin(real, join(real, folder))) throw refusal('root', `a folder that contains the job's (${loaded.folder})`, root);
  await confine(item.job, real, inputResolver(join(real, folder)));
  return {
    version: 1, job: loaded.name, item: item.name, hash: item.hash, folder: folder.split(sep).join('/'), fetch, again,
    ...(frames === undefined ? {} : { frames }), parameters: item.job,
  };
}
