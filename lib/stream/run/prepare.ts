// What compiled programs have in common: a run worked out before it is made, the arrays of its streams, and its result.
import { totalmem } from 'node:os';
import { holds } from '../../core/arrays.ts';
import { OutOfMemoryError, refusal } from '../../core/errors.ts';
import { elementAt, required } from '../../core/known.ts';
import { decodeFile, encodeFile } from '../interpret/files.ts';
import { requireAmount, type InterpretOptions } from '../interpret/options.ts';
import { firstLines } from '../interpret/print-order.ts';
import { normalise, scalarCount, typeBytes } from '../interpret/values.ts';
import type { IrType } from '../ir.ts';
import { countRun, type RunAmount, type RunCounts } from '../plan/counts.ts';
import { countsOf, kinds, kindsIn, makeArray, placesOf, type Kind } from '../plan/layout.ts';
import type { External, ProgramPlan } from '../plan/plan.ts';
import type { ThreadChoice } from './threads.ts';

/** Turns that loops without known end may make. */
export const mostTurns = 1e9;

/** What a run of a compiled program is given, beside its input. */
export interface RunOptions extends Pick<InterpretOptions, 'items' | 'iterations' | 'files' | 'seed'> {
  /** Turns that loops without known end may make in all, on several threads in each piece or on each of them; default 10^9. */
  readonly maxTurns?: number;
}

export interface RunResult {
  /** Scalars of the items on the open output, in memory order; empty if there is none. */
  readonly output: Scalars;
  readonly printed: string;
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** Firings of each node. */
  readonly firings: readonly number[];
  /** Whether the input was used up before `items` or `iterations` were reached. */
  readonly exhausted: boolean;
  /** Milliseconds spent in the program itself. */
  readonly milliseconds: number;
}

export interface ThreadOptions extends RunOptions, Partial<ThreadChoice> {
  /** Most threads. Default: as many as the machine has cores for WebAssembly, 1 for C++. */
  readonly threads?: number;
  readonly signal?: AbortSignal;
  /** Milliseconds that the run may take; default 600 000. */
  readonly timeout?: number;
  /** Whether the input of a program without state may be cut into pieces that do not depend on each other; default true. */
  readonly pieces?: boolean;
}

export type Scalars = Int32Array | Float32Array | Float64Array;
export type StreamArrays = Partial<Record<Kind, Scalars>>;

/** A run before it is made. */
export interface PreparedRun {
  readonly amount: RunAmount;
  readonly counts: RunCounts;
  /** By number of the stream: those that come in. */
  readonly streams: ReadonlyMap<number, { readonly arrays: StreamArrays; readonly items: number }>;
  /** The result has so many lines. */
  readonly lines: number;
  /** The run ends when so many are printed. Where several nodes print, lines are put in order at its end, when its input is used up. */
  readonly stopLines: number;
}

/** What bounds a run; throws where nothing does. */
function amountOf(plan: ProgramPlan, input: ArrayLike<number> | undefined, { items, iterations }: RunOptions): RunAmount {
  requireAmount(plan.graph, { input, items, iterations });
  const open = plan.graph.input;
  return { input: open === undefined ? Infinity : Math.floor((input?.length ?? 0) / scalarCount(open.type)), items, iterations };
}

/** Whether printed lines are all that comes out. */
function isPrintingOnly({ externals }: ProgramPlan): boolean {
  return !externals.some(({ kind }) => kind === 'output' || kind === 'writer');
}

/** Works out a run. Throws ArgumentError for what is missing or too much. */
export function prepareRun(plan: ProgramPlan, input: ArrayLike<number> | undefined, options: RunOptions): PreparedRun {
  const asked = amountOf(plan, input, options);
  const isPrinting = asked.items !== undefined && isPrintingOnly(plan);
  const amount = isPrinting ? { input: asked.input, iterations: 2 ** 40 } : asked;
  const streams = inputArrays(plan, input, options.files);
  const counts = countRun(plan, amount);
  checkSizes(plan, streams, counts.passed);
  const lines = isPrinting ? asked.items : Infinity;
  const isByLines = plan.graph.input === undefined || plan.printers.length === 0;
  return { amount, counts, streams, lines, stopLines: isByLines ? lines : Infinity };
}

function single(type: IrType): Kind | undefined {
  const found = kindsIn(countsOf(type));
  return found.length === 1 ? found[0] : undefined;
}

function isExactly(numbers: ArrayLike<number>, kind: Kind, type: IrType): numbers is Scalars {
  if (kind !== 'i') return holds(numbers, kind === 'f' ? 'float32' : 'float64');
  return holds(numbers, 'int32') && placesOf(type).every(({ name }) => name === 'int');
}

/** An array for each kind of scalar, for so many items; filled, so that a clock does not count how the system finds memory. */
function arraysFor(items: number, type: IrType, make: (kind: Kind, length: number) => Scalars): StreamArrays {
  const counts = countsOf(type);
  return Object.fromEntries(kindsIn(counts).map((kind) => [kind, make(kind, items * counts[kind]).fill(0)]));
}

/** Where the scalars of items in memory order lie in arrays by kind. */
function slotsOf(arrays: StreamArrays, type: IrType) {
  const counts = countsOf(type);
  return placesOf(type).map(({ kind, at, name }) => ({ array: required(arrays[kind]), stride: counts[kind], at, name }));
}

/** Items given as scalars in memory order, split by kind; the very array where it fits as it is. */
export function splitItems(numbers: ArrayLike<number>, type: IrType): StreamArrays {
  const only = single(type);
  if (only !== undefined && isExactly(numbers, only, type)) return { [only]: numbers };
  const items = Math.floor(numbers.length / Math.max(placesOf(type).length, 1));
  const arrays = arraysFor(items, type, makeArray);
  const slots = slotsOf(arrays, type);
  for (let item = 0, from = 0; item < items; ++item) {
    for (const { array, stride, at, name } of slots) array[item * stride + at] = normalise(name, elementAt(numbers, from++));
  }
  return arrays;
}

/** The error of memory that the system does not give. */
export function outOfMemory(message: string, requestedBytes: number, cause?: unknown): OutOfMemoryError {
  return new OutOfMemoryError(message, { requestedBytes, inUseBytes: process.memoryUsage().rss, limitBytes: totalmem() }, { cause });
}

/** Arrays for items to come. Throws OutOfMemoryError. */
export function roomFor(items: number, type: IrType, make: (kind: Kind, length: number) => Scalars = makeArray): StreamArrays {
  try {
    return arraysFor(items, type, make);
  } catch (error) {
    throw outOfMemory(`there is no memory for ${items} items of output: ask for fewer at a time`, items * typeBytes(type), error);
  }
}

/** Scalars of items in memory order; the very array where there is one kind. */
export function joinItems(arrays: StreamArrays, type: IrType, items: number): Scalars {
  const only = single(type);
  if (only !== undefined) return required(arrays[only]).subarray(0, items * countsOf(type)[only]);
  const slots = slotsOf(arrays, type);
  const joined = new Float64Array(items * slots.length);
  for (let item = 0, to = 0; item < items; ++item) {
    for (const { array, stride, at } of slots) joined[to++] = elementAt(array, item * stride + at);
  }
  return joined;
}

/** Throws ArgumentError where a run moves more scalars through a stream than an index can count. */
function checkSizes({ externals }: ProgramPlan, streams: PreparedRun['streams'], passed: readonly number[]): void {
  for (const [i, { type, id }] of externals.entries()) {
    const items = streams.get(id)?.items ?? elementAt(passed, i);
    const most = Math.max(...kinds.map((scalar) => items * countsOf(type)[scalar]));
    if (most >= 2 ** 31) throw refusal('items', `at most ${2 ** 31 - 1} scalars through a stream in one run`, String(most));
  }
}

/** Items of the streams that come in, split; by number of the external stream. */
function inputArrays(
  { externals }: ProgramPlan, input: ArrayLike<number> | undefined, files: RunOptions['files'] = {},
): PreparedRun['streams'] {
  return new Map(externals.filter(({ isIn }) => isIn).map(({ id, kind, type, path }) => {
    const numbers = kind === 'input' ? required(input) : decode(files, type, path);
    return [id, { arrays: splitItems(numbers, type), items: Math.floor(numbers.length / scalarCount(type)) }];
  }));
}

function decode(files: Required<RunOptions>['files'], type: IrType, path: string): Float64Array {
  const bytes = Object.hasOwn(files, path) ? files[path] : undefined;
  if (bytes === undefined) throw refusal('files', `the bytes of '${path}'`, 'no such file');
  try {
    return decodeFile(bytes, type, path);
  } catch (error) {
    throw refusal('files', `the bytes of '${path}'`, error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** The result of a run. `arrays`: by number of the stream, of those that go out. */
export function resultOf(
  plan: ProgramPlan, { counts, lines }: PreparedRun, arrays: ReadonlyMap<number, StreamArrays>, printed: string, milliseconds: number,
): RunResult {
  const items = ({ id, type }: External): Scalars =>
    joinItems(required(arrays.get(id)), type, elementAt(counts.passed, id - plan.graph.channels.length));
  const output = plan.externals.find(({ kind }) => kind === 'output');
  const written = plan.externals.filter(({ kind }) => kind === 'writer');
  return {
    output: output === undefined ? new Float32Array() : items(output),
    printed: lines === Infinity ? printed : firstLines(printed, lines),
    files: Object.fromEntries(written.map((file) => [file.path, encodeFile(items(file), file.type)])),
    firings: counts.firings, exhausted: counts.exhausted, milliseconds,
  };
}
