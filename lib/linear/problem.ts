// One call's problem: type, shape and views, resolved from the options that all operations share.
import { elementTypeOf } from '../core/arrays.ts';
import { newArray, release } from '../core/call.ts';
import { refusal } from '../core/errors.ts';
import { type Device, DeviceArray } from '../core/device.ts';
import { elementAt, required } from '../core/known.ts';
import type { Taken } from '../core/options.ts';
import type { batchChecks } from './options.ts';
import {
  describe, elementCount, extentOf, impliesComplex, isConstant, isRealArray, isSplit, requireBand, requireVector,
  typeOf, vectorStrides, vectorView, type Shape, type View,
} from './views.ts';
import type { Band, BatchOptions, ElementType, Layout, RealArray, RunInfo, Vector } from './types.ts';

/** Vectors of a call by argument name; the first one gives the shape. */
export type Vectors = Readonly<Partial<Record<string, Vector>>>;

/** Names of the arrays of a domain's calls. */
export interface Names {
  /** Bands of the matrix, in the order in which they determine type and shape. */
  readonly bands: readonly string[];
  /** All arrays that can have a layout. */
  readonly arrays: readonly string[];
  /** Vectors that are laid out like another array. */
  readonly like: Readonly<Record<string, string>>;
}

/** Type, shape and layouts of a call. */
export interface Problem {
  readonly type: ElementType;
  readonly shape: Shape;
  readonly offsets?: BigInt64Array;
  readonly layoutOf: (name: string) => Layout;
}

/** The options that give a problem, read by their checks. */
type Options = Taken<BatchOptions<string> & { readonly complex?: boolean }, ReturnType<typeof batchChecks>>;

/** Resolves element type, n, batch and ragged offsets of a call from its bands and vectors. */
export function resolveBatch(options: Options, vectors: Vectors, known: Names): Problem {
  const arrays = collectArrays(options, vectors, known.bands);
  const type = resolveType(options.complex === true, arrays, options, known.bands);
  const { layout, layouts, rhsCount } = options;
  const layoutOf = layouts === undefined ? () => layout : (name: string): Layout => layouts[known.like[name] ?? name] ?? layout;
  if (options.offsets !== undefined) return resolveRagged(options, type, layoutOf, rhsCount, known.arrays);
  return { type, layoutOf, shape: resolveShape(options, vectors, arrays, type, layoutOf, rhsCount) };
}

/** Arrays and constants of a call in the order in which they are examined, as two lists, which avoids a small array for each. */
interface Collected {
  readonly names: string[];
  readonly bands: Band[];
}

function collectArrays(options: object, vectors: Vectors, bandNames: readonly string[]): Collected {
  const names: string[] = [];
  const bands: Band[] = [];
  for (const name of bandNames) {
    const band = (options as Readonly<Record<string, unknown>>)[name];
    if (band === undefined) continue;
    requireBand(band, name);
    names.push(name);
    bands.push(band);
  }
  for (const name in vectors) {
    const vector = vectors[name];
    requireVector(vector, name);
    names.push(name);
    bands.push(vector);
  }
  return { names, bands };
}

function resolveType(asked: boolean, { names, bands }: Collected, options: Options, bandNames: readonly string[]): ElementType {
  const complex = asked || bands.some(impliesComplex);
  let first: ElementType | undefined;
  let firstName = '';
  for (let index = 0; index < bands.length; index += 1) {
    const array = elementAt(bands, index);
    const name = elementAt(names, index);
    if (isConstant(array)) continue;
    if (complex && !asked && isRealArray(array)) {
      const expected = 'complex: true for a plain array of (real, imaginary) pairs, or { re, im }';
      throw refusal(name, expected, `${describe(array)} in a complex call`);
    }
    if (complex && array instanceof DeviceArray && !array.type.startsWith('complex')) {
      throw refusal(name, 'complex elements', describe(array));
    }
    const type = typeOf(array, complex);
    if (first === undefined) {
      first = type;
      firstName = name;
    } else if (type !== first) {
      throw refusal(name, `${first} elements like ${firstName}`, type);
    }
  }
  if (first === undefined) {
    throw options.n === undefined ? refusal('n', 'the size, which constant bands do not give', 'undefined')
      : refusal(elementAt(bandNames, 0), 'one band as a typed array of n elements, which gives the precision', 'constants alone');
  }
  return first;
}

function resolveShape(
  options: Options, vectors: Vectors, { names, bands }: Collected, type: ElementType,
  layoutOf: (name: string) => Layout, rhsCount: number,
): Shape {
  const { n, batch } = options;
  if (n !== undefined && batch !== undefined) return { n, batch, rhsCount };
  const vector = names.findIndex((each) => each in vectors);
  const at = vector >= 0 ? vector : bands.findIndex((band) => !isConstant(band));
  const name = elementAt(names, at);
  const array = bands[at] as Vector;
  if (typeof layoutOf(name) === 'object') {
    throw refusal(n === undefined ? 'n' : 'batch', 'a number when arrays are given by strides', 'undefined');
  }
  const sides = name in vectors ? rhsCount : 1;
  const elements = elementCount(array, type, name);
  const known = (n ?? batch ?? 1) * sides;
  const other = known === 0 ? 0 : elements / known;
  if (!Number.isInteger(other) || (known === 0 && elements !== 0)) {
    const factors = [n === undefined ? '' : `n ${n}`, batch === undefined ? '' : `batch ${batch}`, `rhsCount ${sides}`];
    throw refusal(name, `a multiple of ${known} elements (${factors.filter(Boolean).join(', ')})`, String(elements));
  }
  if (n === 0) return { n, batch: 1, rhsCount };
  return n !== undefined ? { n, batch: other, rhsCount } : { n: other, batch: batch ?? 1, rhsCount };
}

function resolveRagged(
  options: Options, type: ElementType, layoutOf: (name: string) => Layout, rhsCount: number, arrayNames: readonly string[],
): Problem {
  const offsets = BigInt64Array.from(options.offsets as Iterable<number | bigint>, (value) => BigInt(value));
  const batch = offsets.length - 1;
  if (batch < 0) throw refusal('offsets', 'batch + 1 entries', 'none');
  if (offsets[0] !== 0n) throw refusal('offsets', 'offsets[0] to be 0', String(offsets[0]));
  let n = 0;
  for (let system = 0; system < batch; system += 1) {
    const rows = Number(elementAt(offsets, system + 1) - elementAt(offsets, system));
    if (rows < 0) {
      throw refusal('offsets', 'ascending offsets', `${offsets[system]} before ${offsets[system + 1]}`);
    }
    n = Math.max(n, rows);
  }
  const rows = Number(elementAt(offsets, batch));
  if (options.batch !== undefined && options.batch !== batch) {
    throw refusal('batch', `${batch}, the number of systems of offsets`, String(options.batch));
  }
  if (options.n !== undefined && options.n !== n) {
    throw refusal('n', `${n}, the largest system of offsets`, String(options.n));
  }
  for (const name of arrayNames) {
    if (layoutOf(name) === 'interleaved') {
      throw refusal('layout', 'contiguous or strides with offsets', '"interleaved"');
    }
  }
  return { type, layoutOf, offsets, shape: { n, batch, rhsCount, rows } };
}

/** The same problem with array `name` in the layout of `other`. */
export function laidOutLike({ type, shape, offsets, layoutOf }: Problem, name: string, other: string): Problem {
  return { type, shape, offsets, layoutOf: (array) => layoutOf(array === name ? other : array) };
}

/** View of a vector of the call; errors name it `argument`. */
export function viewOf(problem: Problem, name: string, vector: Vector, argument: string = name): View {
  return vectorView(vector, problem.type, problem.layoutOf(name), problem.shape, argument);
}

/** The fields of an operation's parameters that describe its shape. */
export function shapeParameters({ type, shape, offsets }: Problem): Record<string, unknown> {
  const { n, batch } = shape;
  return offsets === undefined ? { type, n, batch } : { type, n, batch, offsets };
}

/** Space for `length` entries typed and kept like `like`: on the device when `like` is there. Gaps are left between strides. */
function arrayLike(like: RealArray | DeviceArray, length: number, device: Device, gaps: boolean): RealArray | DeviceArray {
  const type = like instanceof DeviceArray ? like.type : required(elementTypeOf(like));
  return newArray(like, type, length, device, gaps) as RealArray | DeviceArray;
}

/** Space for array `name` of the problem, typed and kept like `like`. */
function allocateLike(problem: Problem, name: string, like: Vector, device: Device): Vector {
  const layout = problem.layoutOf(name);
  const elements = extentOf(vectorStrides(layout, problem.shape), problem.shape, true);
  const gaps = typeof layout === 'object';
  if (isSplit(like)) {
    return { re: arrayLike(like.re, elements, device, gaps), im: arrayLike(like.im, elements, device, gaps) };
  }
  const pairs = problem.type.startsWith('complex') && isRealArray(like) ? 2 : 1;
  return arrayLike(like, elements * pairs, device, gaps);
}

/** The caller's result array `out`, or a new one with the shape, type and memory of `like`, in the layout of array `name`. */
export function resultFor<V extends Vector>(problem: Problem, device: Device, name: string, like: V, out: V | undefined): V {
  return out ?? allocateLike(problem, name, like, device) as V;
}

/**
 * Calls `use` with the caller's result array `out`, or with a new one with the shape, type and memory of `like`, in the layout of
 * array `name`. A new one on the device is freed if `use` fails.
 */
export async function withResult<V extends Vector, Result>(
  { problem, device, name, like, out }: { problem: Problem; device: Device; name: string; like: V; out: V | undefined },
  use: (result: V) => Promise<Result>,
): Promise<Result> {
  const result = resultFor(problem, device, name, like, out);
  try {
    return await use(result);
  } catch (error) {
    if (out === undefined) release([result]);
    throw error;
  }
}

/** Common part of every result's `info`. */
export function runInfo(device: Device, problem: Problem, deviceSeconds: number): RunInfo {
  const { type, shape } = problem;
  return { backend: device.backend, deviceSeconds, type, n: shape.n, batch: shape.batch };
}
