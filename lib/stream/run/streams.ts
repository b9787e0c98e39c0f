// Arrays of external streams: items split by kind of scalar, and joined again.
import { holds } from '../../core/arrays.ts';
import { totalmem } from 'node:os';
import { decodeFile, encodeFile } from '../interpret/files.ts';
import { normalise, printed, scalarCount, typeBytes, unflatten } from '../interpret/values.ts';
import { OutOfMemoryError, refusal } from '../../core/errors.ts';
import type { Site } from '../lower/sites.ts';
import { countsOf, kinds, makeArray, placesOf, type Kind } from '../plan/layout.ts';
import type { External, ProgramPlan } from '../plan/plan.ts';
import type { IrType } from '../ir.ts';

export type Scalars = Int32Array | Float32Array | Float64Array;
export type StreamArrays = Partial<Record<Kind, Scalars>>;

function single(type: IrType): Kind | undefined {
  const counts = countsOf(type);
  const found = kinds.filter((kind) => counts[kind] > 0);
  return found.length === 1 ? found[0] : undefined;
}

function isExactly(numbers: ArrayLike<number>, kind: Kind, type: IrType): numbers is Scalars {
  if (kind !== 'i') return holds(numbers, kind === 'f' ? 'float32' : 'float64');
  return holds(numbers, 'int32') && placesOf(type).every(({ name }) => name === 'int');
}

/** Items given as scalars in memory order, split by kind; the very array where it fits as it is. */
export function splitItems(numbers: ArrayLike<number>, type: IrType): StreamArrays {
  const only = single(type);
  if (only !== undefined && isExactly(numbers, only, type)) return { [only]: numbers };
  const places = placesOf(type);
  const items = Math.floor(numbers.length / Math.max(places.length, 1));
  const counts = countsOf(type);
  const arrays: StreamArrays = {};
  for (const kind of kinds) if (counts[kind] > 0) arrays[kind] = makeArray(kind, items * counts[kind]).fill(0);
  for (let item = 0, from = 0; item < items; ++item) {
    for (const { kind, at, name } of places) arrays[kind]![item * counts[kind] + at] = normalise(name, numbers[from++]!);
  }
  return arrays;
}

/** The error of memory that the system does not give. */
export function outOfMemory(message: string, requestedBytes: number, cause?: unknown): OutOfMemoryError {
  return new OutOfMemoryError(message, { requestedBytes, inUseBytes: process.memoryUsage().rss, limitBytes: totalmem() }, { cause });
}

/** Arrays for items to come; filled, so that a clock does not count how the system finds memory. Throws OutOfMemoryError. */
export function roomFor(items: number, type: IrType, make: (kind: Kind, length: number) => Scalars = makeArray): StreamArrays {
  const counts = countsOf(type);
  const arrays: StreamArrays = {};
  try {
    for (const kind of kinds) if (counts[kind] > 0) arrays[kind] = make(kind, items * counts[kind]).fill(0);
  } catch (error) {
    throw outOfMemory(`there is no memory for ${items} items of output: ask for fewer at a time`, items * typeBytes(type), error);
  }
  return arrays;
}

/** Throws ArgumentError where a run moves more scalars through a stream than an index can count. */
export function checkSizes(plan: ProgramPlan, streams: ReadonlyMap<number, { readonly items: number }>, passed: readonly number[]): void {
  const most = plan.externals.reduce((largest, { type, id }, i) => {
    const items = streams.get(id)?.items ?? passed[i]!;
    return Math.max(largest, ...kinds.map((scalar) => items * countsOf(type)[scalar]));
  }, 0);
  if (most >= 2 ** 31) throw refusal('items', `at most ${2 ** 31 - 1} scalars through a stream in one run`, String(most));
}

/** Scalars of items in memory order; the very array where there is one kind. */
export function joinItems(arrays: StreamArrays, type: IrType, items: number): Scalars {
  const only = single(type);
  if (only !== undefined) return arrays[only]!.subarray(0, items * countsOf(type)[only]);
  const places = placesOf(type);
  const counts = countsOf(type);
  const joined = new Float64Array(items * places.length);
  for (let item = 0, to = 0; item < items; ++item) for (const { kind, at } of places) joined[to++] =
    arrays[kind]![item * counts[kind] + at]!;
  return joined;
}

/** What the streams of a run begin with. */
export interface StreamInputs {
  readonly input: ArrayLike<number> | undefined;
  readonly files: Readonly<Record<string, Uint8Array>>;
}

/** Items of the streams that come in, split; by number of the external stream. */
export function inputArrays(plan: ProgramPlan, inputs: StreamInputs): Map<number, { arrays: StreamArrays; items: number }> {
  const found = new Map<number, { arrays: StreamArrays; items: number }>();
  for (const { id, kind, type, path } of plan.externals) {
    if (kind !== 'input' && kind !== 'reader') continue;
    const bytes = Object.hasOwn(inputs.files, path) ? inputs.files[path] : undefined;
    if (kind === 'reader' && bytes === undefined) throw refusal('files', `the bytes of '${path}'`, 'no such file');
    const numbers = kind === 'reader' ? decode(bytes!, type, path) : inputs.input!;
    found.set(id, { arrays: splitItems(numbers, type), items: Math.floor(numbers.length / scalarCount(type)) });
  }
  return found;
}

function decode(bytes: Uint8Array, type: IrType, path: string): Float64Array {
  try {
    return decodeFile(bytes, type, path);
  } catch (error) {
    throw refusal('files', `the bytes of '${path}'`, error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** The bytes of a file that was written. */
export function fileOf(external: External, arrays: StreamArrays, items: number): Uint8Array {
  return encodeFile(joinItems(arrays, external.type, items), external.type);
}

/** What a printing site writes. */
export function printedText(site: Site, values: ArrayLike<number>): string {
  const { text, type, newline } = site.print!;
  return (type === undefined ? text ?? '' : printed(type, unflatten(type, values, { at: 0 }))) + (newline ? '\n' : '');
}
