// Element types and the typed arrays that hold them.
import { refusal } from './errors.ts';
import { maxElements } from './limits.ts';

/** Element types of device arrays. Complex elements are (real, imaginary) pairs. */
export type ElementType = 'float32' | 'float64' | 'complex64' | 'complex128' | 'int32' | 'int64' | 'uint8';

/** Typed arrays that hold elements in JavaScript's memory. */
export type TypedArray = Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array;

interface TypeRow {
  /** The addon's number of the type: its place in ElementType of native/core/typed_array.h. */
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

/** A zeroed typed array for `length` elements. */
export function makeTypedArray(type: ElementType, length: number): TypedArray {
  return new types[type].constructor(length * types[type].numbers);
}

/** Whether `value` is a typed array that can hold elements of `type`. */
export function holds(value: unknown, type: ElementType): value is TypedArray {
  return value instanceof types[type].constructor;
}

/** Name of the typed array that holds elements of `type`. */
export function typedArrayName(type: ElementType): string {
  return types[type].constructor.name;
}

/** Element type of a typed array (never complex); undefined for other values. */
export function elementTypeOf(value: unknown): ElementType | undefined {
  return elementTypes.find((type) => types[type].numbers === 1 && value instanceof types[type].constructor);
}

/** What a value is, for error messages: `NaN`, `'abc'`, `a Float64Array of length 3`. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (typeof value === 'string') return `'${value.length > 40 ? `${value.slice(0, 40)}…` : value}'`;
  if (typeof value === 'bigint') return 'a bigint';
  if (typeof value === 'symbol') return 'a symbol';
  if (typeof value === 'function') return 'a function';
  const name = value.constructor?.name;
  if (ArrayBuffer.isView(value) && 'length' in value) return `a ${name} of length ${String(value.length)}`;
  if (Array.isArray(value)) return `an array of length ${value.length}`;
  return name === undefined || name === 'Object' ? 'an object' : `a ${name}`;
}
