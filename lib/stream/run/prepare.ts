// Common to all compiled programs: counting a run in advance, the arrays of its streams, and its result.
import { totalmem } from 'node:os';
import { holds } from '../../core/arrays.ts';
import { OutOfMemoryError, refusal } from '../../core/errors.ts';
import { elementAt, required } from '../../core/known.ts';
import { decodeFile, encodeFile } from '../interpret/files.ts';
import { requireAmount, type InterpretOptions } from '../interpret/options.ts';
import { firstLines } from '../interpret/print-order.ts';
import { normalise, scalarCount, typeBytes } from '../interpret/values.ts';
import type { IrType, ScalarName } from '../ir.ts';
import { countRun, writtenFirings, type RunAmount, type RunCounts } from '../plan/counts.ts';
import { countsOf, kinds, kindsIn, makeArray, placesOf, type Kind } from '../plan/layout.ts';
import type { External, ProgramPlan } from '../plan/plan.ts';
import type { ThreadChoice } from './threads.ts';

/** Limit on the iterations of loops with unknown trip counts. */
export const mostTurns = 1e9;

/** The options of a run of a compiled program, besides its input. */
export interface RunOptions extends Pick<InterpretOptions, 'items' | 'iterations' | 'files' | 'seed'> {
  /** Limit on the total iterations of loops with unknown trip counts (per piece or per thread if there are several); default 10^9. */
  readonly maxTurns?: number;
}

export interface RunResult {
  /** Scalars of the items on the open output, in memory order; empty if there is none. */
  readonly output: Scalars;
  readonly printed: string;
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** Firings of each node. */
  readonly firings: readonly number[];
  /** Whether the input ran out before `items` or `iterations` were reached. */
  readonly exhausted: boolean;
  /** Milliseconds spent in the program itself. */
  readonly milliseconds: number;
}

export interface ThreadOptions extends RunOptions, Partial<ThreadChoice> {
  /** The maximum number of threads. Default: one per core for WebAssembly, 1 for C++. */
  readonly threads?: number;
  readonly signal?: AbortSignal;
  /** Time limit in milliseconds; default 600 000. */
  readonly timeout?: number;
  /** Whether the input of a stateless program may be cut into independent pieces; default true. */
  readonly pieces?: boolean;
}

/** Items of a program: integers and bits as int32. */
export type Scalars = Int32Array | Float32Array | Float64Array;
export type StreamArrays = Partial<Record<Kind, Scalars>>;

/** A run before it starts. */
export interface PreparedRun {
  readonly amount: RunAmount;
  readonly counts: RunCounts;
  /** Input streams by number. */
  readonly streams: ReadonlyMap<number, { readonly arrays: StreamArrays; readonly items: number }>;
  /** The number of lines in the result. */
  readonly lines: number;
  /**
   * The run ends when this many lines are printed. If several nodes print, lines are only put in order at the end, so the run continues
   * until its input ends.
   */
  readonly stopLines: number;
}

/** What limits a run; throws if nothing does. */
function amountOf(plan: ProgramPlan, input: ArrayLike<number> | undefined, { items, iterations }: RunOptions): RunAmount {
  requireAmount(plan.graph, { input, items, iterations });
  const open = plan.graph.input;
  return { input: open === undefined ? Infinity : Math.floor((input?.length ?? 0) / scalarCount(open.type)), items, iterations };
}

/** Whether printed lines are the only output. */
function isPrintingOnly({ externals }: ProgramPlan): boolean {
  return !externals.some(({ kind }) => kind === 'output' || kind === 'writer');
}

/** Counts a run. Throws ArgumentError if something is missing or too large. */
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

/** An array for each kind of scalar. */
function arraysFor(items: number, type: IrType, make: (kind: Kind, length: number) => Scalars): StreamArrays {
  const counts = countsOf(type);
  return Object.fromEntries(kindsIn(counts).map((kind) => [kind, make(kind, items * counts[kind])]));
}

/** The same arrays, with all their memory provided by the system, so that this is not part of the measured time. */
function touched(arrays: StreamArrays): StreamArrays {
  for (const array of Object.values(arrays)) array.fill(0);
  return arrays;
}

/** For scalars of items in memory order: where they go in the arrays by kind. */
function slotsOf(arrays: StreamArrays, type: IrType) {
  const counts = countsOf(type);
  return placesOf(type).map(({ kind, at, name }) => ({ array: required(arrays[kind]), stride: counts[kind], at, name }));
}

/** Whether {@link splitItems} gives the array itself, without reading it. */
export function isSplit(numbers: ArrayLike<number>, type: IrType): numbers is Scalars {
  const only = single(type);
  return only !== undefined && isExactly(numbers, only, type);
}

const isNumeric = (numbers: ArrayLike<number>): numbers is Scalars =>
  holds(numbers, 'float64') || holds(numbers, 'float32') || holds(numbers, 'int32');

/** Fills an array with scalars of one kind, whose names repeat. Arrays themselves convert to ints and floats. */
function convert(numbers: Scalars, to: Scalars, names: readonly ScalarName[]): void {
  to.set(numbers.length === to.length ? numbers : numbers.subarray(0, to.length));
  for (const [at, name] of names.entries()) {
    if (name !== 'bit' && name !== 'boolean') continue;
    for (let i = at; i < to.length; i += names.length) to[i] = normalise(name, numbers[i] as number);
  }
}

/** Splits items, given as scalars in memory order, by kind. If one kind suffices, the result may be the given array itself. */
export function splitItems(numbers: ArrayLike<number>, type: IrType): StreamArrays {
  const only = single(type);
  if (only !== undefined && isSplit(numbers, type)) return { [only]: numbers };
  const items = Math.floor(numbers.length / Math.max(placesOf(type).length, 1));
  const arrays = arraysFor(items, type, makeArray);
  if (only !== undefined && isNumeric(numbers)) {
    convert(numbers, required(arrays[only]), placesOf(type).map(({ name }) => name));
    return arrays;
  }
  const slots = slotsOf(arrays, type);
  for (let item = 0, from = 0; item < items; ++item) {
    for (const { array, stride, at, name } of slots) array[item * stride + at] = normalise(name, elementAt(numbers, from++));
  }
  return arrays;
}

/** The error for an allocation that failed. */
export function outOfMemory(message: string, requestedBytes: number, cause?: unknown): OutOfMemoryError {
  return new OutOfMemoryError(message, { requestedBytes, inUseBytes: process.memoryUsage().rss, limitBytes: totalmem() }, { cause });
}

/**
 * Arrays of zeros for output items. `isTouched`: the system provides their memory now; otherwise to the threads that write it, several at
 * once. Throws OutOfMemoryError.
 */
export function roomFor(
  items: number, type: IrType, make: (kind: Kind, length: number) => Scalars = makeArray, isTouched = true,
): StreamArrays {
  try {
    const arrays = arraysFor(items, type, make);
    return isTouched ? touched(arrays) : arrays;
  } catch (error) {
    throw outOfMemory(`there is no memory for ${items} items of output: ask for fewer at a time`, items * typeBytes(type), error);
  }
}

/** Scalars of items in memory order; if there is only one kind, this is the same array. */
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

/** Throws ArgumentError if a run moves more scalars through a stream than an index can address. */
function checkSizes({ externals }: ProgramPlan, streams: PreparedRun['streams'], passed: readonly number[]): void {
  for (const [i, { type, id }] of externals.entries()) {
    const items = streams.get(id)?.items ?? elementAt(passed, i);
    const most = Math.max(...kinds.map((scalar) => items * countsOf(type)[scalar]));
    if (most >= 2 ** 31) throw refusal('items', `at most ${2 ** 31 - 1} scalars through a stream in one run`, String(most));
  }
}

/** Items of the input streams, split by kind; by number of the stream. */
export function inputArrays(
  { externals }: Pick<ProgramPlan, 'externals'>, input: ArrayLike<number> | undefined, files: RunOptions['files'] = {},
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

/** The result of a run. `arrays`: of the output streams, by number. */
export function resultOf(
  plan: ProgramPlan, { amount, counts, lines }: PreparedRun, arrays: ReadonlyMap<number, StreamArrays>, printed: string,
  milliseconds: number,
): RunResult {
  const items = ({ id, type }: External): Scalars =>
    joinItems(required(arrays.get(id)), type, elementAt(counts.passed, id - plan.graph.channels.length));
  const output = plan.externals.find(({ kind }) => kind === 'output');
  // The last firing may give more than was asked for.
  const wanted = output === undefined ? 0 : (amount.items ?? Infinity) * scalarCount(output.type);
  const written = plan.externals.filter(({ kind }) => kind === 'writer');
  return {
    output: output === undefined ? new Float32Array() : items(output).subarray(0, wanted),
    printed: lines === Infinity ? printed : firstLines(printed, lines),
    files: Object.fromEntries(written.map((file) => [file.path, encodeFile(items(file), file.type)])),
    firings: writtenFirings(plan, amount, counts), exhausted: counts.exhausted, milliseconds,
  };
}
