// What the subcommands of warploom stream share: options, the program, and what it reads.
import { dirname, isAbsolute, join } from 'node:path';
import { isAbsent, isThere, readBytes, readText } from '../core/files.ts';
import { elementAt } from '../core/known.ts';
import { readItems } from '../jobs/stream/files.ts';
import type { Diagnostic } from '../stream/diagnostics.ts';
import * as stream from '../stream/index.ts';
import { longestTime, timeOver, within } from '../stream/stop.ts';
import { UsageError, type CommandContext, type Options, type parseFlags } from './command.ts';

const text = { type: 'string' } as const;
const file = { type: 'string', takes: 'file' } as const;
/** Options of all subcommands. */
export const flags = {
  main: text, out: { type: 'string', short: 'o', takes: 'file' }, gantt: file, cores: text, costs: file, input: file, output: file,
  items: text, iterations: text, backend: { type: 'string', values: stream.streamBackends },
  mode: { type: 'string', values: stream.deviceModes }, layout: { type: 'string', values: ['block', 'warp'] },
  threads: text, timeout: text, seconds: text,
  param: { type: 'string', multiple: true }, limit: { type: 'string', multiple: true }, fast: { type: 'boolean' },
  algebraic: { type: 'boolean' }, stream: { type: 'boolean' }, chunk: text,
} as const satisfies Options;
/** What the command was given. */
export type Values = ReturnType<typeof parseFlags<typeof flags>>['values'];

/** One call of the command. */
export interface Job {
  /** When it began, and the milliseconds that it may take. */
  readonly begin: number;
  readonly timeout: number | undefined;
  readonly files: readonly stream.SourceFile[];
  readonly values: Values;
  readonly context: CommandContext;
}

/** `NAME=VALUE`: a number, true, false, an array as JSON, or else a text. */
function parameterOf(given: string): [string, stream.ParameterValue] {
  const at = given.indexOf('=');
  if (at < 1) throw new UsageError(`--param takes NAME=VALUE, not '${given}'`);
  const text = given.slice(at + 1);
  try {
    return [given.slice(0, at), JSON.parse(text) as stream.ParameterValue];
  } catch {
    return [given.slice(0, at), text];
  }
}

const limitNames = {
  syntax: ['characters', 'tokens', 'nesting', 'expression'],
  elaboration: ['nesting', 'nodes', 'steps', 'bytes', 'arrayElements', 'rate', 'errors'], run: ['firings', 'steps', 'bytes', 'nesting'],
} as const;

/** Limits of one stage from `--limit NAME=VALUE`; a name that several stages have counts for all. */
export function limitsFor(stage: keyof typeof limitNames, { limit = [] }: Values): Record<string, number> {
  const known: string[] = [...new Set(Object.values(limitNames).flat())];
  const pairs = limit.map((given): [string, number] => {
    const [, name, value] = /^(\w+)=(\d+(?:[eE]\d+)?)$/.exec(given) ?? [];
    if (name === undefined || !known.includes(name) || !(Number(value) >= 1 && Number(value) <= Number.MAX_SAFE_INTEGER)) {
      throw new UsageError(`--limit takes NAME=NUMBER with one of the names ${known.join(', ')}, not '${given}'`);
    }
    return [name, Number(value)];
  });
  return Object.fromEntries(pairs.filter(([name]) => (limitNames[stage] as readonly string[]).includes(name)));
}

/** What ends the next stage: the signal, and what is left of the time. */
export function stopOf({ begin, timeout, context: { signal } }: Job): { readonly signal: AbortSignal; readonly timeout?: number } {
  if (timeout === undefined) return { signal };
  const left = begin + timeout - performance.now();
  if (left <= 0) throw timeOver(timeout, 'command');
  return { signal, timeout: left };
}

const options = (job: Job): stream.CompileOptions => optionsOf(job.values, stopOf(job));
const optionsOf = (values: Values, stop: ReturnType<typeof stopOf>): stream.CompileOptions => ({
  ...stop, syntaxLimits: limitsFor('syntax', values), limits: limitsFor('elaboration', values),
  ...(values.main === undefined ? {} : { main: values.main }),
  ...(values.param === undefined ? {} : { parameters: Object.fromEntries(values.param.map(parameterOf)) }),
});

/** Diagnostics with their source lines, or for `check` as JSON. */
export function show(diagnostics: readonly Diagnostic[], { files, context }: Job, isCheck = false): void {
  if (context.json && isCheck) {
    const plain = diagnostics.map(({ span, ...rest }) => ({ ...rest, start: span.start, end: span.end }));
    context.out.write(`${JSON.stringify(plain, null, 1)}\n`);
    return;
  }
  for (const diagnostic of diagnostics) context.err.write(`${stream.formatDiagnostic(diagnostic, { files })}\n\n`);
}

/** A file that the program names: where that leads from here or, if nothing is there, from the program's own folder. */
async function readNamed(path: string, { files }: Job): Promise<Uint8Array> {
  try {
    return await readBytes(path);
  } catch (error) {
    const beside = join(dirname(elementAt(files, 0).name), path);
    if (isAbsolute(path) || !isAbsent(error) || !isThere(beside)) throw error;
    return readBytes(beside);
  }
}

/** The program elaborated, with the tables that it reads from files where they are there. */
export async function elaborated(job: Job): Promise<stream.Compiled> {
  const first = await stream.elaborate(job.files, options(job));
  const found = await Promise.all((first.graph.missing ?? []).map(async (path) => {
    const bytes = await readNamed(path, job).catch(() => undefined);
    return bytes === undefined ? [] : [[path, bytes] as const];
  }));
  const files = Object.fromEntries(found.flat());
  return Object.keys(files).length === 0 ? first : stream.elaborate(job.files, { ...options(job), files });
}

/** The program elaborated; its warnings are shown. */
export async function compiled(job: Job): Promise<stream.StreamGraph> {
  const { graph, diagnostics } = await elaborated(job);
  show(diagnostics, job);
  return graph;
}

/** Files that the program reads, by its names for them. */
export async function filesRead(made: stream.StreamGraph, job: Job): Promise<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {};
  for (const node of made.nodes) {
    if (node.kind === 'reader') files[node.file.path] ??= await readNamed(node.file.path, job);
  }
  return files;
}

/** Measures what firings take, as long as the command may. */
export async function measured(job: Job, made: stream.StreamGraph, options: stream.ProfileOptions): Promise<stream.Profile> {
  const files = await filesRead(made, job);
  const stop = stopOf(job);
  const work = (signal: AbortSignal): Promise<stream.Profile> => stream.profile(made, { ...options, signal, files });
  return within({ timeout: longestTime, ...stop }, work, performance.now(), 'profile');
}

/** The items of `--input`, if the program reads any and they are given. */
export async function inputOf({ input }: Values, made: stream.StreamGraph): Promise<{ readonly input?: ArrayLike<number> }> {
  return made.input === undefined || input === undefined ? {} : { input: (await readItems(input, made.input.type)).numbers };
}

/** Microseconds of a firing of each actor: estimated, measured, or from a JSON file { "name": microseconds }. */
export async function costsOf(job: Job, made: stream.StreamGraph): Promise<number[]> {
  const { values } = job;
  const estimated = stream.estimateCosts(made);
  if (values.costs === undefined) return estimated;
  if (values.costs === 'measured') return [...(await measured(job, made, await inputOf(values, made))).microseconds];
  const text = await readText(values.costs);
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--costs: ${values.costs} is not JSON: ${(error as Error).message}`);
  }
  if (typeof given !== 'object' || given === null) {
    throw new UsageError(`--costs: ${values.costs} contains no object { "name": microseconds }`);
  }
  if ('kind' in given && given.kind === 'gpu') {
    throw new UsageError(`--costs: ${values.costs} is a profile of a device, and costs are those of cores: profile with wasm or cpp`);
  }
  for (const [name, cost] of Object.entries(given)) {
    const id = made.nodes.findIndex((node) => node.name === name);
    if (id < 0) throw new UsageError(`--costs: the program has no node ${name}`);
    if (typeof cost !== 'number' || !(cost >= 0) || !Number.isFinite(cost)) throw new UsageError(`--costs: ${name} takes microseconds`);
    estimated[id] = cost;
  }
  return estimated;
}
