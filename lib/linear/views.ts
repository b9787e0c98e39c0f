// Turns what callers pass (typed arrays, device arrays, split complex, constants) into the strided views that every backend takes.
// Only cheap checks: kinds, types, lengths; never the elements.
import { describeValue, elementTypeOf, isReal as isRealArray, typedArrayKind } from '../core/arrays.ts';
import { hasParts } from '../core/call.ts';
import { refusal } from '../core/errors.ts';
import { DeviceArray } from '../core/device.ts';
import type {
  Band, ComplexNumber, ElementType, Layout, RealArray, SplitComplex, Strides, Vector,
} from './types.ts';

/**
 * A `view` field of an operation's parameters (cuda/core/types.h, struct View). Bands are [batch][n], vectors
 * [batch][rhsCount][n]; of ragged batches [rows] and [rhsCount][rows] (cuda/linear/placement.h).
 */
export interface View {
  data: RealArray | DeviceArray;
  imaginary?: RealArray | DeviceArray;
  offset: number;
  extents: readonly number[];
  strides: readonly number[];
}

/** Sizes that turn a layout's name into strides. */
export interface Shape {
  readonly n: number;
  readonly batch: number;
  readonly rhsCount: number;
  /** Total rows of a ragged batch. */
  readonly rows?: number;
}

export { isRealArray };

export function isSplit(value: unknown): value is SplitComplex {
  return hasParts(value) && typeof value.re === 'object';
}

export function isConstant(value: unknown): value is number | ComplexNumber {
  return typeof value === 'number' || (hasParts(value) && typeof value.re === 'number');
}

/** What a value is, for error messages. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 40));
  const kind = typedArrayKind(value);
  if (kind !== undefined) return `${kind}(${String((value as RealArray).length)})`;
  if (value instanceof DeviceArray) return `DeviceArray(${value.type}, ${value.length})`;
  if (Array.isArray(value)) return `Array(${value.length})`;
  return describeValue(value);
}

function isFloating(type: string): boolean {
  return type === 'float64' || type === 'float32' || type === 'complex128' || type === 'complex64';
}

export const expectedArray = 'a Float64Array, Float32Array, DeviceArray or { re, im } of two such';

/** Checks that `value` is one of the accepted array kinds. */
export function requireVector(value: unknown, name: string): asserts value is Vector {
  if (isRealArray(value)) {
    if ((value.buffer as { resizable?: boolean }).resizable !== true) return;
    throw refusal(name, 'an array of fixed length', `${describe(value)} on a resizable buffer`);
  }
  if (value instanceof DeviceArray) {
    if (!isFloating(value.type)) {
      throw refusal(name, 'floating-point elements', describe(value));
    }
    return;
  }
  if (isSplit(value)) {
    const { re, im } = value;
    requireVector(re, `${name}.re`);
    requireVector(im, `${name}.im`);
    if (isSplit(re) || isSplit(im) || elementKind(re) !== elementKind(im) || re.length !== im.length
      || elementKind(re).startsWith('complex') || re instanceof DeviceArray !== im instanceof DeviceArray) {
      throw refusal(name, 're and im of one kind, real type and length', `${describe(re)} and ${describe(im)}`);
    }
    return;
  }
  throw refusal(name, expectedArray, describe(value));
}

/** Checks that `value` is an accepted array or a finite constant. */
export function requireBand(value: unknown, name: string): asserts value is Band {
  if (!isConstant(value)) return requireVector(value, name);
  if (Number.isFinite(value)) return;
  const parts = typeof value === 'number' ? [value] : [value.re, value.im];
  if (!parts.every(Number.isFinite)) {
    throw refusal(name, 'a finite constant', parts.join(' + i '));
  }
}

/** Type of the elements as stored: complex only for device arrays made so. */
function elementKind(array: RealArray | DeviceArray): ElementType {
  return (array instanceof DeviceArray ? array.type : elementTypeOf(array)) as ElementType;
}

const complexOf = { float32: 'complex64', float64: 'complex128', complex64: 'complex64', complex128: 'complex128' } as const;

/** Element type of `vector` in a complex or real call. */
export function typeOf(vector: Vector, complex: boolean): ElementType {
  const kind = elementKind(isSplit(vector) ? vector.re : vector);
  return complex ? complexOf[kind] : kind;
}

/** Whether `vector` implies a complex call. */
export function impliesComplex(vector: Band): boolean {
  if (typeof vector === 'number') return false;
  if (isConstant(vector) || isSplit(vector)) return true;
  return vector instanceof DeviceArray && vector.type.startsWith('complex');
}

/** Elements of `vector` in a call of element type `type`. Throws on half a complex element. */
export function elementCount(vector: Vector, type: ElementType, name: string): number {
  if (isSplit(vector)) return vector.re.length;
  if (vector instanceof DeviceArray || !type.startsWith('complex')) return vector.length;
  if (vector.length % 2 !== 0) {
    throw refusal(name, '(real, imaginary) pairs', describe(vector));
  }
  return vector.length / 2;
}

function fullStrides({ offset = 0, systemStride, rowStride }: Strides, rhsStride: number): Required<Strides> {
  return { offset, systemStride, rowStride, rhsStride };
}

/** Strides of a vector (rhs, solution, x, y). */
export function vectorStrides(layout: Layout, { n, batch, rhsCount, rows }: Shape): Required<Strides> {
  if (typeof layout === 'object') return fullStrides(layout, layout.rhsStride ?? 0);
  if (rows !== undefined) return { offset: 0, systemStride: 1, rowStride: 1, rhsStride: rows };
  return layout === 'contiguous'
    ? { offset: 0, systemStride: n * rhsCount, rowStride: 1, rhsStride: n }
    : { offset: 0, systemStride: 1, rowStride: batch * rhsCount, rhsStride: batch };
}

/** Number of elements that strides span: one past the last one. */
export function extentOf(strides: Required<Strides>, { n, batch, rhsCount, rows }: Shape, vector: boolean): number {
  const sides = vector ? rhsCount : 1;
  const last = rows ?? n;
  if (last === 0 || batch === 0 || sides === 0) return 0;
  const systems = rows === undefined ? (batch - 1) * strides.systemStride : 0;
  const across = vector ? (sides - 1) * strides.rhsStride : 0;
  return strides.offset + systems + (last - 1) * strides.rowStride + across + 1;
}

/** Literals, not spreads: views are made for every array of every call, and object spread costs microseconds. */
function makeView(vector: Vector, offset: number, extents: readonly number[], strides: readonly number[]): View {
  return isSplit(vector) ? { data: vector.re, imaginary: vector.im, offset, extents, strides } : { data: vector, offset, extents, strides };
}

function viewOfBand(band: Vector, { n, batch, rows }: Shape, offset: number, systemStride: number, rowStride: number): View {
  return rows === undefined ? makeView(band, offset, [batch, n], [systemStride, rowStride]) : makeView(band, offset, [rows], [rowStride]);
}

/** View of a vector; its length must fit the layout (exactly for the named ones). */
export function vectorView(vector: Vector, type: ElementType, layout: Layout, shape: Shape, name: string): View {
  const strides = vectorStrides(layout, shape);
  const { n, batch, rhsCount, rows } = shape;
  const have = elementCount(vector, type, name);
  const need = extentOf(strides, shape, true);
  if (typeof layout === 'object' ? have < need : have !== need) {
    const size = rows === undefined ? `batch ${batch} * rhsCount ${rhsCount} * n ${n}` : `rhsCount ${rhsCount} * rows ${rows}`;
    const expected = typeof layout === 'object' ? `at least ${need} elements for its strides` : `${need} elements (${size})`;
    throw refusal(name, expected, String(have));
  }
  const { offset, systemStride, rowStride, rhsStride } = strides;
  return rows === undefined ? makeView(vector, offset, [batch, rhsCount, n], [systemStride, rhsStride, rowStride])
    : makeView(vector, offset, [rhsCount, rows], [rhsStride, rowStride]);
}

/** View of a band: per system, shared by the batch, or constant. */
export function bandView(band: Band, type: ElementType, layout: Layout, shape: Shape, name: string): View {
  if (isConstant(band)) {
    return viewOfBand(constantArray(band, type, name), shape, 0, 0, 0);
  }
  const { n, batch, rows } = shape;
  const have = elementCount(band, type, name);
  if (typeof layout === 'object') {
    const strides = fullStrides(layout, 0);
    const need = extentOf(strides, shape, false);
    if (have < need) {
      throw refusal(name, `at least ${need} elements for its strides`, String(have));
    }
    return viewOfBand(band, shape, strides.offset, strides.systemStride, strides.rowStride);
  }
  if (have === (rows ?? n * batch)) {
    return layout === 'interleaved' ? viewOfBand(band, shape, 0, 1, batch) : viewOfBand(band, shape, 0, n, 1);
  }
  if (rows === undefined && have === n) return viewOfBand(band, shape, 0, 0, 1);
  throw refusal(name, expectedLength(have, shape), String(have));
}

function expectedLength(have: number, { n, batch, rows }: Shape): string {
  if (rows !== undefined) return `${rows} elements (offsets[batch] rows)`;
  const expected = batch === 1 ? `${n} elements` : `${n * batch} elements (batch ${batch} * n ${n}) or ${n} shared by the batch`;
  const lapack = have > 0 && (have === n - 1 || have === (n - 1) * batch)
    ? '; bands have one entry per row here: lower[0] and upper[n-1] exist and are not read' : '';
  return `${expected}${lapack}`;
}

function constantArray(value: number | ComplexNumber, type: ElementType, name: string): RealArray {
  const single = type === 'float32' || type === 'complex64';
  const { re, im } = typeof value === 'number' ? { re: value, im: 0 } : value;
  if (!type.startsWith('complex') && typeof value !== 'number') {
    throw refusal(name, 'a real constant in a real call', '{ re, im }');
  }
  const numbers = type.startsWith('complex') ? 2 : 1;
  const data = single ? new Float32Array(numbers) : new Float64Array(numbers);
  data[0] = re;
  if (numbers === 2) data[1] = im;
  return data;
}
