// Tensors of the Open Inference Protocol: data types, and their JSON and binary forms.
import { RequestError } from '../errors.ts';

/** Data types that requests may use. */
export type Datatype = keyof typeof kinds;
/** Elements of a tensor in memory. */
export type Elements = Float32Array | Float64Array | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint8Array | Uint16Array
  | Uint32Array | BigUint64Array;

interface Kind {
  readonly make: new (source: ArrayBufferLike | number, from?: number, count?: number) => Elements;
  readonly bytes: number;
}

const kinds = {
  BOOL: { make: Uint8Array, bytes: 1 }, UINT8: { make: Uint8Array, bytes: 1 }, UINT16: { make: Uint16Array, bytes: 2 },
  UINT32: { make: Uint32Array, bytes: 4 }, UINT64: { make: BigUint64Array, bytes: 8 }, INT8: { make: Int8Array, bytes: 1 },
  INT16: { make: Int16Array, bytes: 2 }, INT32: { make: Int32Array, bytes: 4 }, INT64: { make: BigInt64Array, bytes: 8 },
  FP32: { make: Float32Array, bytes: 4 }, FP64: { make: Float64Array, bytes: 8 },
} as const satisfies Record<string, Kind>;

/** Names of all data types. */
export const datatypes = Object.keys(kinds) as readonly Datatype[];

/** A tensor: elements in row-major order. */
export interface Tensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly data: Elements;
}

/** The most dimensions of a tensor. */
const mostDimensions = 8;

export function isDatatype(value: unknown): value is Datatype {
  return typeof value === 'string' && Object.hasOwn(kinds, value);
}

/** The number of elements of a shape, which is checked. */
export function elementsOf(shape: unknown, name: string): number {
  if (!Array.isArray(shape) || shape.length > mostDimensions) {
    throw new RequestError(400, `input '${name}': shape must be an array of at most ${mostDimensions} whole numbers`);
  }
  let count = 1;
  for (const extent of shape as unknown[]) {
    if (!Number.isSafeInteger(extent) || (extent as number) < 0) {
      throw new RequestError(400, `input '${name}': shape must hold whole numbers of at least 0`);
    }
    count *= extent as number;
  }
  if (!Number.isSafeInteger(count)) throw new RequestError(400, `input '${name}': shape is too large`);
  return count;
}

/**
 * Elements of a tensor's bytes (little-endian, as this machine has them) in a body: in place if they start at a multiple of their size.
 */
export function fromBytes(name: string, datatype: Datatype, count: number, body: Uint8Array, at: number, given: number): Elements {
  const { make, bytes } = kinds[datatype] as Kind;
  if (given !== count * bytes) {
    throw new RequestError(400, `input '${name}': ${count} elements of ${datatype} have ${count * bytes} bytes, received ${given}`);
  }
  const from = body.byteOffset + at;
  if (from % bytes === 0) return new make(body.buffer, from, count);
  return new make(Uint8Array.prototype.slice.call(body, at, at + given).buffer);
}

function isNested(data: readonly unknown[]): boolean {
  return data.length > 0 && Array.isArray(data[0]);
}

/** The values of nested arrays in order. */
function flattened(data: readonly unknown[], depth: number, name: string): readonly unknown[] {
  if (!isNested(data)) return data;
  if (depth > mostDimensions) throw new RequestError(400, `input '${name}': data is nested too deeply`);
  const values: unknown[] = [];
  for (const part of data) {
    if (!Array.isArray(part)) throw new RequestError(400, `input '${name}': data mixes numbers and arrays`);
    for (const value of flattened(part, depth + 1, name)) values.push(value);
  }
  return values;
}

/** Elements of a tensor given in JSON, flat or nested. */
export function fromJson(name: string, datatype: Datatype, count: number, data: unknown): Elements {
  if (!Array.isArray(data)) throw new RequestError(400, `input '${name}': data must be an array`);
  const values = flattened(data, 1, name);
  if (values.length !== count) {
    throw new RequestError(400, `input '${name}': its shape has ${count} elements, data has ${values.length}`);
  }
  const { make } = kinds[datatype] as Kind;
  const elements = new make(count);
  const isWhole = datatype !== 'FP32' && datatype !== 'FP64';
  const isLarge = elements instanceof BigInt64Array || elements instanceof BigUint64Array;
  for (let i = 0; i < count; i += 1) {
    const value = typeof values[i] === 'boolean' && datatype === 'BOOL' ? Number(values[i]) : values[i];
    if (typeof value !== 'number' || (isWhole && !Number.isSafeInteger(value)) || (datatype === 'BOOL' && value !== 0 && value !== 1)) {
      throw new RequestError(400, `input '${name}': element ${i} is not a value of ${datatype}`);
    }
    if (isLarge) elements[i] = BigInt(value);
    else elements[i] = value;
    if (isWhole && Number(elements[i]) !== value) {
      throw new RequestError(400, `input '${name}': element ${i} is out of the range of ${datatype}`);
    }
  }
  return elements;
}

/** Elements for JSON. NaN and infinities, which it does not have, are null. */
export function toJson({ datatype, data }: Tensor): unknown[] {
  if (datatype === 'BOOL') return Array.from(data as Uint8Array, (value) => value !== 0);
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) return Array.from(data, Number);
  return Array.from(data as Float64Array);
}

/** The bytes of a tensor. */
export function toBytes({ data }: Tensor): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
