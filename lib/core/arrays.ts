// Element types and the typed arrays that hold them, of this realm or another (vm contexts, test runners).
import { totalmem } from 'node:os';
import { OutOfMemoryError, refusal } from './errors.ts';
import { KeptBuffers } from './kept-buffers.ts';
import { required } from './known.ts';
import { maxElements } from './limits.ts';

/** Element types of device arrays. Complex elements are (real, imaginary) pairs. */
export type ElementType = 'float32' | 'float64' | 'complex64' | 'complex128' | 'int32' | 'int64' | 'uint8';

/** Typed arrays that hold elements in JavaScript's memory. */
export type TypedArray = Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array;

/** The typed array of an element type: 'complex64' is a Float32Array of pairs. */
export type ArrayOf<E extends ElementType> =
  E extends 'float32' | 'complex64' ? Float32Array
    : E extends 'float64' | 'complex128' ? Float64Array
      : E extends 'int32' ? Int32Array
        : E extends 'int64' ? BigInt64Array
          : Uint8Array;

/** The kind of a typed array, whatever its buffer. */
export type KindOf<T extends TypedArray> =
  T extends Float32Array ? Float32Array
    : T extends Float64Array ? Float64Array
      : T extends Int32Array ? Int32Array
        : T extends BigInt64Array ? BigInt64Array
          : Uint8Array;

interface TypeRow {
  /** The addon's number of the type: its position in ElementType of native/core/typed_array.h. */
  readonly number: number;
  readonly constructor: new (length: number) => TypedArray;
  /** Numbers of the typed array per element. */
  readonly numbers: 1 | 2;
  /** Bytes per element. */
  readonly bytes: number;
}

const types: Readonly<Record<ElementType, TypeRow>> = {
  float32: { number: 0, constructor: Float32Array, numbers: 1, bytes: 4 },
  float64: { number: 1, constructor: Float64Array, numbers: 1, bytes: 8 },
  complex64: { number: 2, constructor: Float32Array, numbers: 2, bytes: 8 },
  complex128: { number: 3, constructor: Float64Array, numbers: 2, bytes: 16 },
  int32: { number: 4, constructor: Int32Array, numbers: 1, bytes: 4 },
  int64: { number: 5, constructor: BigInt64Array, numbers: 1, bytes: 8 },
  uint8: { number: 6, constructor: Uint8Array, numbers: 1, bytes: 1 },
};

/** Names of all element types. */
export const elementTypes = Object.keys(types) as readonly ElementType[];

/** Checks a name of an element type. */
export function requireElementType(value: unknown, argument: string): asserts value is ElementType {
  if (typeof value !== 'string' || !Object.hasOwn(types, value)) {
    throw refusal(argument, `one of ${elementTypes.join(', ')}`, describeValue(value));
  }
}

/** Checks a number of elements. */
export function requireLength(value: unknown, argument: string): asserts value is number {
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > maxElements) {
    throw refusal(argument, `an integer from 0 to ${maxElements}`, describeValue(value));
  }
}

/** The addon's number of an element type. */
export function typeNumber(type: ElementType): number {
  return types[type].number;
}

/** Bytes of one element. */
export function elementBytes(type: ElementType): number {
  return types[type].bytes;
}

/** Numbers of a typed array per element: 2 for complex types. */
export function numbersPerElement(type: ElementType): 1 | 2 {
  return types[type].numbers;
}

/** The error for memory of this process that the system cannot provide. */
export function noHostMemory(requestedBytes: number, cause?: unknown): OutOfMemoryError {
  const inUseBytes = process.memoryUsage.rss();
  const limitBytes = totalmem();
  return new OutOfMemoryError(
    `not enough memory for an array: ${requestedBytes} bytes requested, the process has ${inUseBytes}, the machine ${limitBytes}; `
    + 'split the work into smaller calls', { requestedBytes, inUseBytes, limitBytes }, cause === undefined ? undefined : { cause });
}

/**
 * Above this size, check the available memory before allocating: systems promise more memory than they have, and kill processes that use
 * it.
 */
const largeBytes = 2 ** 28;

function availableBytes(): number {
  const { availableMemory } = process as { availableMemory?: () => number }; // from Node 20.13 on
  return availableMemory === undefined ? totalmem() : availableMemory.call(process);
}

/**
 * A zeroed typed array for `length` elements.
 * @throws OutOfMemoryError if there is no memory, or JavaScript cannot make a typed array of that length
 */
export function makeTypedArray(type: ElementType, length: number): TypedArray {
  const { constructor: Kind, numbers, bytes } = types[type];
  if (length * bytes >= largeBytes && length * bytes > availableBytes()) throw noHostMemory(length * bytes);
  try {
    return new Kind(length * numbers);
  } catch (error) {
    throw error instanceof RangeError ? noHostMemory(length * bytes, error) : error;
  }
}

/** For smaller results, a copy costs less than keeping track of them. */
const directBytes = 2 ** 16;
const unseen = new WeakSet<TypedArray>();

/**
 * {@link makeTypedArray} for the result of the call that is made next. No other code sees the array before that call settles, so the call
 * can write to it directly while it runs, instead of copying at the end.
 */
export function makeResult(type: ElementType, length: number): TypedArray {
  const array = makeTypedArray(type, length);
  if (array.byteLength >= directBytes) unseen.add(array);
  return array;
}

/** A part of an array that no other code sees before the call that is made next settles: as an array of {@link makeResult}. */
export function unseenPart<A extends TypedArray>(part: A): A {
  if (part.byteLength >= directBytes) unseen.add(part);
  return part;
}

/** Whether an array was made by {@link makeResult}; true only the first time. */
export function takeUnseen(array: TypedArray): boolean {
  return array.byteLength >= directBytes && unseen.delete(array);
}

/** A Float64Array of `value(0)`, `value(1)` and so on. */
export function float64Of(length: number, value: (index: number) => number): Float64Array<ArrayBuffer> {
  const values = makeFloat64(length);
  for (let index = 0; index < length; index += 1) values[index] = value(index);
  return values;
}

/** {@link makeTypedArray} for the most common types. */
export const makeFloat64 = (length: number) => makeTypedArray('float64', length) as Float64Array<ArrayBuffer>;
/** {@link makeTypedArray} for the most common types. */
export const makeInt32 = (length: number) => makeTypedArray('int32', length) as Int32Array<ArrayBuffer>;

/** Inherited by all typed arrays: tells their kind, in any realm, and rejects everything else. */
const tagDescriptor = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);

/**
 * Name of a typed array's kind, such as 'Float64Array', whatever realm it belongs to; undefined for anything else, including
 * proxies of typed arrays and objects made from their prototypes.
 */
export function typedArrayKind(value: unknown): string | undefined {
  return tagDescriptor?.get?.call(value) as string | undefined;
}

const bufferDescriptor = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), 'buffer');
const resizableDescriptor = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'resizable');

/** Whether a typed array is backed by an ArrayBuffer, of whatever realm, that can never be resized. Runs no code of the caller. */
export function isFixed(array: TypedArray): boolean {
  try {
    return resizableDescriptor?.get?.call(bufferDescriptor?.get?.call(array)) === false;
  } catch {
    return false; // a SharedArrayBuffer
  }
}

const placeDescriptors = ['byteOffset', 'length'].map((name) =>
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), name));

/** The same elements as an array of this realm's own class, whatever class the given one has. Runs no code of the caller. */
export function plainView<View extends TypedArray>(array: View): View {
  const [byteOffset, length] = placeDescriptors.map((descriptor) => descriptor?.get?.call(array) as number);
  const Kind = kindOf(array) as new (buffer: unknown, byteOffset?: number, length?: number) => View;
  return new Kind(bufferDescriptor?.get?.call(array), byteOffset, length);
}

const typesByKind: Readonly<Record<string, ElementType>> = {
  Float32Array: 'float32', Float64Array: 'float64', Int32Array: 'int32', BigInt64Array: 'int64', Uint8Array: 'uint8',
};

/** Whether `value` is a typed array that can hold elements of `type`. */
export function holds(value: unknown, type: ElementType): value is TypedArray {
  return typedArrayKind(value) === types[type].constructor.name;
}

/** Name of the typed array that holds elements of `type`. */
export function typedArrayName(type: ElementType): string {
  return types[type].constructor.name;
}

/** Element type of a typed array (never complex); undefined for other values. */
export function elementTypeOf(value: unknown): ElementType | undefined {
  const kind = typedArrayKind(value);
  return kind === undefined ? undefined : typesByKind[kind];
}

/** Whether `value` is a Float32Array or a Float64Array. */
export function isReal(value: unknown): value is Float32Array | Float64Array {
  const kind = typedArrayKind(value);
  return kind === 'Float64Array' || kind === 'Float32Array';
}

const pinned = new WeakSet<ArrayBufferLike>();

/** Notes that an array lies in page-locked memory, which calls use in place. */
export function pinnedArray<A extends TypedArray>(array: A): A {
  pinned.add(array.buffer);
  return array;
}

/** Whether calls use an array in place, so that it must not change before they settle: page-locked and shared memory. */
export function isUsedInPlace(view: ArrayBufferView): boolean {
  return view.buffer instanceof SharedArrayBuffer || pinned.has(view.buffer);
}

/** From this size on, several threads copy faster than one. */
const parallelBytes = 2 ** 22;
let copyInParallel: ((to: TypedArray, from: TypedArray) => void) | undefined;

/** Has large copies made by `copy`, which writes all of `to`: the addon's function, once it is loaded. */
export function copyLargeArraysBy(copy: (to: TypedArray, from: TypedArray) => void): void {
  copyInParallel = copy;
}

/** Copies all elements of an array to one of this realm that has room for them; many of the same kind by several threads. */
export function copyElements(to: TypedArray, from: TypedArray): void {
  const isLarge = copyInParallel !== undefined && from.byteLength >= parallelBytes && from.length <= to.length;
  if (isLarge && typedArrayKind(to) === typedArrayKind(from)) copyInParallel?.(to.subarray(0, from.length), from);
  else (to as Float64Array).set(from as Float64Array);
}

/** This realm's constructor of a typed array's kind; undefined for a DataView. */
function kindOf(view: ArrayBufferView): unknown {
  const kind = typedArrayKind(view);
  return kind === undefined ? undefined : required((globalThis as unknown as Record<string, unknown>)[kind]);
}

/** A copy of a typed array (of this realm's kind) or DataView. */
export function typedCopy<View extends ArrayBufferView>(view: View): View {
  const Kind = kindOf(view) as (new (source: unknown) => View) | undefined;
  try {
    if (Kind === undefined) return new DataView(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength)) as unknown as View;
    if (copyInParallel !== undefined && view.byteLength >= parallelBytes) {
      const copy = new Kind((view as unknown as TypedArray).length);
      copyInParallel(copy as unknown as TypedArray, view as unknown as TypedArray);
      return copy;
    }
    return new Kind(view.byteLength === 0 ? 0 : view); // a detached array has length 0, and its elements must not be read
  } catch (error) {
    throw error instanceof RangeError ? noHostMemory(view.byteLength, error) : error;
  }
}

const lent = new KeptBuffers<ArrayBuffer>(parallelBytes);

/** A copy of a typed array of this realm for the duration of a call, in memory of earlier copies if there is any. */
export function lentCopy<View extends TypedArray>(view: View): View {
  const buffer = copyInParallel === undefined ? undefined : lent.take(view.byteLength);
  if (buffer === undefined) return typedCopy(view);
  const copy = new (kindOf(view) as new (buffer: ArrayBuffer, offset: number, length: number) => View)(buffer, 0, view.length);
  copyInParallel?.(copy, view);
  return copy;
}

/** Takes back what {@link lentCopy} made. Nobody may use the copy any more. */
export function returnCopy({ buffer }: TypedArray): void {
  if (buffer instanceof ArrayBuffer) lent.give(buffer);
}

function isTypedArrayName(name: unknown): name is string {
  return typeof name === 'string' && (Object.hasOwn(typesByKind, name) || /^(Int|Uint|Float|Big)\w*Array$/.test(name));
}

/** Whether a value is an object, whatever its static type: callers may be written in JavaScript. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** What a value is, for error messages: `NaN`, `'abc'`, `a Float64Array of length 3`. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (typeof value === 'string') return `'${value.length > 40 ? `${value.slice(0, 40)}…` : value}'`;
  if (typeof value === 'bigint') return 'a bigint';
  if (typeof value === 'symbol') return 'a symbol';
  if (typeof value === 'function') return 'a function';
  const kind = typedArrayKind(value);
  if (kind !== undefined) return `a ${kind} of length ${String((value as TypedArray).length)}`;
  const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name;
  if (isTypedArrayName(name)) return `an object made like a ${name}`;
  if (Array.isArray(value)) return `an array of length ${value.length}`;
  return typeof name !== 'string' || name === '' || name === 'Object' ? 'an object' : `a ${name}`;
}
