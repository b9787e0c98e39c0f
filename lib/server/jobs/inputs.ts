// Files of jobs over HTTP: what may be read, and what can be fetched.
import { isAbsolute, join, relative, sep } from 'node:path';
import {
  describeFile, describeLink, isThere, listFolder, makeFolder, makeLink, realPathSync, unlessAbsent, writeFileAtomic,
} from '../../core/files.ts';
import { RequestError } from '../errors.ts';

/** Names of files that requests may bring along. */
const plainName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;
/** Code that a job would run. */
const code = /\.[cm]?[jt]sx?$/i;
const mostFiles = 100;

/** Refuses a path that its symbolic links lead out of `folder`, which has none itself. */
function requireWithin(folder: string, full: string, path: string): void {
  if (!isThere(full)) return;
  const own = relative(folder, realPathSync(full));
  if (own !== '' && own !== '..' && !own.startsWith(`..${sep}`) && !isAbsolute(own)) return;
  throw new RequestError(400, `'${path}' is not a file that the job may read`);
}

/** Resolves paths of a job to the files that came with it or, as `shared/NAME`, to those of the configured folder. */
export function confined(inputs: string, shared: string | undefined): (path: string) => string {
  return (path) => {
    if (code.test(path)) throw new RequestError(400, `'${path}': jobs that are submitted cannot run code from files`);
    const parts = path.split('/');
    if (path.includes('\0') || path.includes('\\') || parts.some((part) => part === '' || part === '.' || part === '..')) {
      throw new RequestError(400, `'${path}' is not a file that the job may read: send it along, or use shared/NAME`);
    }
    const full = join(inputs, path);
    const isShared = parts.length > 1 && parts[0] === 'shared' && shared !== undefined;
    if (isShared || (parts.length === 1 && path !== 'shared')) {
      requireWithin(isShared ? shared : inputs, full, path);
      return full;
    }
    const way = shared === undefined ? 'files that come with the request' : 'files that come with the request, or shared/NAME';
    throw new RequestError(400, `'${path}' is not a file that the job may read: there are only ${way}`);
  };
}

/** Writes the files of a request, base64 by name, and makes the shared ones available beside them. */
export async function writeInputs(folder: string, files: unknown, shared: string | undefined): Promise<void> {
  await makeFolder(folder);
  if (shared !== undefined) await makeLink(join(folder, 'shared'), shared);
  if (files === undefined) return;
  if (typeof files !== 'object' || files === null || Array.isArray(files)) {
    throw new RequestError(400, 'files must be an object of base64 by name');
  }
  const entries = Object.entries(files as Record<string, unknown>);
  if (entries.length > mostFiles) throw new RequestError(400, `at most ${mostFiles} files can come with a job`);
  const lower = new Set(entries.map(([name]) => name.toLowerCase()));
  if (lower.size < entries.length) throw new RequestError(400, 'names of files must differ by more than capitals');
  for (const [name, text] of entries) {
    if (!plainName.test(name) || code.test(name) || name.toLowerCase() === 'shared') {
      throw new RequestError(400, 'a file has a name that is not allowed (letters, digits, _ - and .; no code)');
    }
    if (typeof text !== 'string' || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new RequestError(400, `file '${name}' is not base64`);
    await writeFileAtomic(join(folder, name), Buffer.from(text, 'base64'));
  }
}

/** A file of results. */
export interface ResultFile {
  /** Relative to the item's folder, with slashes. */
  readonly name: string;
  readonly bytes: number;
}

/** All plain files in a folder and, if `deep`, in the folders in it; symbolic links are left out. */
export async function filesBelow(folder: string, prefix = '', deep = true): Promise<ResultFile[]> {
  if (!isThere(folder)) return [];
  const found: ResultFile[] = [];
  for (const entry of await listFolder(folder)) {
    const name = `${prefix}${entry.name}`;
    const path = join(folder, entry.name);
    if (entry.isDirectory() && deep) found.push(...await filesBelow(path, `${name}/`));
    else if (entry.isFile() && !entry.name.startsWith('.')) found.push({ name, bytes: (await describeFile(path)).size });
  }
  return found;
}

/** Bytes of all files in a folder and in those in it. What goes away meanwhile counts nothing. */
export async function bytesBelow(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await unlessAbsent(listFolder(folder)) ?? []) {
    const path = join(folder, entry.name);
    bytes += entry.isDirectory() ? await bytesBelow(path) : (await unlessAbsent(describeLink(path)))?.size ?? 0;
  }
  return bytes;
}

const types: Readonly<Record<string, string>> = {
  '.json': 'application/json', '.png': 'image/png', '.svg': 'image/svg+xml', '.csv': 'text/csv; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8', '.wav': 'audio/wav', '.jpg': 'image/jpeg', '.html': 'text/plain; charset=utf-8',
};

/** The media type of a file of results. */
export function typeOf(name: string): string {
  return types[/\.[a-z0-9]+$/i.exec(name)?.[0].toLowerCase() ?? ''] ?? 'application/octet-stream';
}
