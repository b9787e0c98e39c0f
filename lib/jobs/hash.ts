// One hash of everything an item's results depend on: its parameters and the bytes of its inputs. It identifies results and checkpoints,
// and decides whether a finished item is skipped.
import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { FileError, refusal } from '../core/errors.ts';
import { describeFile, hashFile, isAbsent, listFolder } from '../core/files.ts';
import { canonical } from './canonical.ts';
import type { InputFile, Resolve } from './kind.ts';
import { kindOf, type Job } from './kinds/index.ts';

/** Fields of a job file that do not affect results. */
const idleFields: readonly string[] = ['$schema', 'sweep', 'colours'];

/** The bytes of an input. */
export interface InputDigest extends InputFile {
  readonly digest: string;
}

/** Everything a job reads. */
async function inputsOf(job: Job, resolve: Resolve): Promise<InputFile[]> {
  const kind = kindOf(job);
  const inputs = Object.entries(kind.inputs(job)).flatMap(([field, path]): InputFile[] =>
    (typeof path === 'string' ? [{ field, path: resolve(path) }] : []));
  if (kind.moreInputs === undefined) return inputs;
  for (const { field, path } of inputs) await present(field, path);
  return [...inputs, ...await kind.moreInputs(job, resolve)];
}

async function present(field: string, path: string): Promise<boolean> {
  try {
    return (await describeFile(path)).isDirectory();
  } catch (error) {
    if (isAbsent(error)) throw refusal(field, 'a file that exists', path, { cause: error });
    throw error;
  }
}

/** Digests of files by path, so that the items of a sweep do not read their common inputs repeatedly. */
export type Digests = Map<string, Promise<string>>;

/** The digest of a file, or of a folder (a series of slices), which covers its files and their names. */
async function digest({ field, path, optional }: InputFile): Promise<string> {
  if (optional === true) {
    const found = await hashFile(path).catch((error: unknown) => {
      if (isAbsent(error)) return undefined;
      throw error;
    });
    return found?.toString('hex') ?? 'absent';
  }
  if (!await present(field, path)) return (await hashFile(path)).toString('hex');
  const hash = createHash('sha256');
  for (const entry of await listFolder(path)) {
    const file = join(path, entry.name);
    if (!(await describeFile(file)).isFile()) continue;
    hash.update(`${JSON.stringify(basename(file))}:`).update(await hashFile(file));
  }
  return `folder:${hash.digest('hex')}`;
}

/**
 * Digests of everything an item reads.
 * @throws ArgumentError naming the field of an input that does not exist; FileError for one that cannot be read
 */
export async function digestInputs(job: Job, resolve: Resolve, digests: Digests = new Map()): Promise<InputDigest[]> {
  const found: InputDigest[] = [];
  for (const input of await inputsOf(job, resolve)) {
    let known = digests.get(input.path);
    if (known === undefined) digests.set(input.path, known = digest(input));
    found.push({ ...input, digest: await known });
  }
  return found;
}

/**
 * Checks that inputs still have the same bytes.
 * @throws FileError naming one that has changed
 */
export async function requireUnchanged(inputs: readonly InputDigest[]): Promise<void> {
  for (const input of inputs) {
    if (await digest(input) === input.digest) continue;
    throw new FileError('it changed while the item ran', {
      action: `use ${input.field}`, path: input.path, systemCode: 'CHANGED',
      remedy: 'run the job again; the results of this run were discarded',
    });
  }
}

/** The hash of an item. Files are identified by the fields of the job that name them: moving a file does not change its input. */
export function hashItem(job: Job, inputs: readonly InputDigest[]): string {
  const parameters = Object.fromEntries(Object.entries(job).filter(([field]) => !idleFields.includes(field)));
  const bytes = inputs.map(({ field, digest: of }) => [field, of]);
  return createHash('sha256').update(canonical([parameters, bytes])).digest('hex');
}
