// Reads a job file, checks it, and expands its sweep into items.
import { dirname, resolve } from 'node:path';
import { describeValue, isObject } from '../core/arrays.ts';
import { refusal } from '../core/errors.ts';
import { describeFile, readText } from '../core/files.ts';
import { digestInputs, hashItem, type Digests } from './hash.ts';
import { inputResolver } from './inputs.ts';
import { issuesOf, issuesText } from './issues.ts';
import type { Resolve } from './kind.ts';
import { lineAt } from './lines.ts';
import { jobSchema, type Job } from './kinds/index.ts';
import { LoadedJob, type JobItem } from './loaded.ts';
import { alternativesOf, meantBy, respelt } from './schema-walk.ts';
import { itemNamer, requireOwnFolders, type Sweep } from './names.ts';

/** The maximum number of items of one sweep. */
export const mostItems = 100_000;
/** How deep the values of a sweep may be nested. */
const mostLevels = 32;
/** The maximum size of a job file in bytes. */
const longestJob = 2 ** 24;
/** Fields that all items of a job share. */
const sharedFields: readonly string[] = ['$schema', 'name', 'kind', 'device', 'colours', 'sweep'];

/** The number of items of a sweep, computed before any of them is created. */
function countItems(sweep: Sweep, most = mostItems): number {
  const count = Object.values(sweep).reduce((product, values) => product * BigInt(values.length), 1n);
  if (count > most) throw refusal('sweep', `at most ${most} items`, `${count} combinations`);
  return Number(count);
}

/** Every combination of the sweep's values: fields in the order in which they are written, the last one varying fastest. */
function* combinations(sweep: Sweep): Generator<Record<string, unknown>> {
  const fields = Object.entries(sweep);
  const count = countItems(sweep);
  for (let index = 0; index < count; index += 1) {
    let rest = index;
    const picked = fields.toReversed().map(([field, values]) => {
      const value = values[rest % values.length];
      rest = Math.floor(rest / values.length);
      return [field, value] as const;
    });
    yield Object.fromEntries(picked.toReversed());
  }
}

/** Refuses values that a JSON file cannot hold, which objects of programs may have. */
function requireJson(value: unknown, name: string, depth = 0): void {
  if (depth > mostLevels) throw refusal(name, `values within at most ${mostLevels} others`, 'one within more of them');
  if (typeof value === 'object' && value !== null) {
    if (ArrayBuffer.isView(value)) throw refusal(name, 'a value that JSON can hold', describeValue(value));
    for (const [key, part] of Object.entries(value)) requireJson(part, `${name}.${key}`, depth + 1);
  } else if (!['string', 'boolean', 'undefined'].includes(typeof value) && value !== null && !Number.isFinite(value)) {
    throw refusal(name, 'a value that JSON can hold', describeValue(value));
  }
}

/** A job with a field set; 'parameters.F' is field F of its field parameters. */
function withField(job: object, name: string, value: unknown): object {
  const [first = '', ...rest] = name.split('.');
  if (rest.length === 0) return { ...job, [first]: value };
  const inner = Object.hasOwn(job, first) ? (job as Record<string, unknown>)[first] : undefined;
  return { ...job, [first]: withField(isObject(inner) ? inner : {}, rest.join('.'), value) };
}

/** A job as it was given, and the text of its file. */
interface Source {
  readonly file: string;
  readonly raw: unknown;
  readonly text?: string;
}

function parseJob(value: unknown, { file, text }: Source): Job {
  const parsed = jobSchema.safeParse(value);
  if (!parsed.success) {
    throw refusal(file, 'a job file (see examples/jobs and warploom run --help)',
      `\n${issuesText(issuesOf(parsed.error, jobSchema, value), text)}`, { cause: parsed.error });
  }
  return parsed.data;
}

/** Fields that are spelt as on the command line get their names, those of a sweep too. */
function spelt(raw: unknown): unknown {
  const job = respelt(alternativesOf(jobSchema), raw);
  if (!isObject(job) || !('sweep' in job) || !isObject(job.sweep)) return job;
  const own = meantBy(alternativesOf(jobSchema), job);
  const sweep = Object.entries<unknown>(job.sweep as Record<string, unknown>).map(([path, values]): [string, unknown] => {
    const [first = '', ...rest] = path.split('.');
    const [name = first] = Object.keys(respelt(own, { [first]: 0 }) as object);
    return [[name, ...rest].join('.'), values];
  });
  const names = sweep.map(([name]) => name);
  return { ...job, sweep: new Set(names).size === names.length ? Object.fromEntries(sweep) as object : job.sweep };
}

async function readJob(file: string): Promise<Source> {
  const { size } = await describeFile(file);
  if (size > longestJob) throw refusal(file, `a job file of at most ${longestJob} bytes`, `${size}`);
  const text = await readText(file);
  try {
    return { file, text, raw: spelt(JSON.parse(text)) };
  } catch (error) {
    const { message } = error as Error;
    const at = /position (\d+)/.exec(message)?.[1];
    const line = at === undefined || message.includes('line ') ? '' : ` (line ${lineAt(text, Number(at))})`;
    throw refusal(file, 'a job as JSON', text.trim() === '' ? 'an empty file' : `${message}${line}`, { cause: error });
  }
}

/** Options of {@link load}. */
export interface LoadOptions {
  /** Overrides the job file's backend. */
  readonly backend?: NonNullable<Job['device']>['backend'];
  /** The folder to which the job's paths are relative. Default: the folder of the job file; for an object, the working folder. */
  readonly folder?: string;
}

/**
 * Loads one job: a file, or its content as an object. `own`: resolves paths instead, and may refuse them;
 * `most`: items at most.
 * @throws ArgumentError naming the field, for anything that the schema does not accept, for a sweep over an unknown field, with more than
 *   {@link mostItems} items or with equal values, and for inputs that do not exist; FileError for files that cannot be read
 */
export async function loadJob(
  source: string | object, { backend, folder }: LoadOptions = {}, own?: Resolve, most = mostItems,
): Promise<LoadedJob> {
  const given = typeof source === 'string' ? await readJob(source) : { file: 'job', raw: spelt(source) };
  const job = parseJob(given.raw, given);
  const sweep = job.sweep ?? {};
  const shared = Object.keys(sweep).find((field) => sharedFields.includes(field.split('.')[0] ?? ''));
  if (shared !== undefined) throw refusal(`sweep.${shared}`, 'a field that items can differ in', shared);
  requireJson(sweep, 'sweep');
  countItems(sweep, most);
  const base = resolve(folder ?? (typeof source === 'string' ? dirname(source) : '.'));
  const input = own ?? inputResolver(base);
  const device = { ...job.device, backend: backend ?? job.device?.backend ?? 'auto' };
  const at = backend === undefined ? {} : { device };
  const nameOf = itemNamer(sweep);
  const digests: Digests = new Map();
  const items: JobItem[] = [];
  for (const combination of combinations(sweep)) {
    const varied = Object.entries(combination).reduce((of, [name, value]) => withField(of, name, value), given.raw as object);
    const one = parseJob(spelt({ ...varied, ...at, sweep: undefined }), given);
    const inputs = await digestInputs(one, input, digests);
    items.push({ name: nameOf(combination), values: combination, job: one, inputs, hash: hashItem(one, inputs) });
  }
  requireOwnFolders(items.map(({ name }) => name));
  return new LoadedJob({ name: job.name, device, items, folder: base });
}
