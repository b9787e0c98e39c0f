// Reads a job file, checks it, and expands its sweep into items.
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { refusal } from '../core/errors.ts';
import { jobSchema, type Job } from './schema.ts';

/** One combination of a job's sweep. */
export interface JobItem {
  /** Name of its folder below the job's results: 'all' without a sweep, else 'field=value,…'. */
  readonly name: string;
  readonly job: Job;
  /** Of the parameters and the bytes of the input files: a finished item with the same hash is skipped. */
  readonly hash: string;
}

/** A job file ready to run. */
export interface LoadedJob {
  readonly name: string;
  readonly file: string;
  readonly device: NonNullable<Job['device']>;
  readonly items: readonly JobItem[];
  /** Resolves the input paths of the job file. */
  readonly input: (path: string) => string;
}

/** `package:NAME/PATH` is a file of an installed npm package; other paths are relative to the job file. */
function inputResolver(file: string): (path: string) => string {
  const require = createRequire(resolve(file));
  return (path) => {
    if (!path.startsWith('package:')) return isAbsolute(path) ? path : join(dirname(resolve(file)), path);
    const wanted = path.slice('package:'.length);
    const [name, rest] = /^((?:@[^/]+\/)?[^/]+)\/(.+)$/.exec(wanted)?.slice(1) ?? [];
    if (name === undefined || rest === undefined) {
      throw refusal('path', 'package:NAME/PATH', path);
    }
    // Not require.resolve(NAME/PATH): an exports map may hide data files.
    for (const folder of require.resolve.paths(name) ?? []) {
      const root = join(folder, name);
      try {
        require.resolve(join(root, 'package.json'));
        return join(root, rest);
      } catch {
        continue;
      }
    }
    throw refusal('path', `an installed package '${name}' (npm install ${name})`, path);
  };
}

/** Paths a job reads. */
function inputPaths(job: Job): string[] {
  switch (job.kind) {
    case 'solve': return [job.lower, job.diagonal, job.upper, job.rhs].filter((v) => typeof v === 'string');
    case 'heat-adi': return [job.initial.file];
    case 'spline': return [job.file];
    case 'simulate': return typeof job.initial === 'object' && 'file' in job.initial ? [job.initial.file] : [];
    case 'denoise': return [job.input].filter((v) => typeof v === 'string');
    case 'segment': return [job.input, job.truth].filter((v) => typeof v === 'string');
    case 'stream': return [job.program, job.input].filter((v) => typeof v === 'string');
    case 'register': return [job.reference, job.template, job.landmarks].filter((v) => typeof v === 'string');
  }
}

/** A file, or (a series of slices) the files of a folder. */
async function filesOf(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const entries = await readdir(path, { withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => join(path, name)).sort();
}

async function hashItem(job: Job, input: (path: string) => string): Promise<string> {
  const hash = createHash('sha256');
  hash.update(JSON.stringify({ ...job, $schema: undefined, description: undefined, sweep: undefined }));
  for (const path of inputPaths(job)) {
    for (const file of await filesOf(input(path))) {
      for await (const piece of createReadStream(file)) hash.update(piece as Buffer);
    }
  }
  return hash.digest('hex');
}

/** Every combination of the sweep's values, in the order the fields are written. */
function combinations(sweep: Record<string, readonly unknown[]>): Record<string, unknown>[] {
  return Object.entries(sweep).reduce<Record<string, unknown>[]>(
    (all, [field, values]) => all.flatMap((one) => values.map((value) => ({ ...one, [field]: value }))), [{}]);
}

function itemName(combination: Record<string, unknown>): string {
  const text = Object.entries(combination)
    .map(([field, value]) => `${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(',').replace(/[^A-Za-z0-9_.,=+-]/g, '_');
  return text === '' ? 'all' : text.length <= 100 ? text
    : `${text.slice(0, 80)}-${createHash('sha256').update(text).digest('hex').slice(0, 12)}`;
}

function parseJob(value: unknown, file: string): Job {
  const parsed = jobSchema.safeParse(value);
  if (!parsed.success) {
    throw refusal(file, 'a job file (see examples/jobs and warploom run --help)',
      `\n${z.prettifyError(parsed.error)}`);
  }
  return parsed.data;
}

/**
 * Loads one job file.
 * @throws ArgumentError with the field for anything the schema does not take, for a sweep over an
 *   unknown field, and for inputs that do not exist
 */
export async function loadJob(file: string): Promise<LoadedJob> {
  let raw: unknown;
  try {
    raw = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw refusal(file, 'a readable JSON job file', (error as Error).message, { cause: error });
  }
  const job = parseJob(raw, file);
  const input = inputResolver(file);
  const items: JobItem[] = [];
  for (const combination of combinations(job.sweep ?? {})) {
    const one = parseJob({ ...(raw as object), ...combination, sweep: undefined }, file);
    try {
      items.push({ name: itemName(combination), job: one, hash: await hashItem(one, input) });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      throw refusal(file, 'input files that exist', (error as NodeJS.ErrnoException).path ?? '', { cause: error });
    }
  }
  return { name: job.name, file, device: job.device ?? { backend: 'auto' }, items, input };
}
