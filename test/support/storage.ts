// Arrays of a test problem in any element type and layout, with canaries in the gaps.
import type { ElementType, Layout, RealArray, Strides, Vector } from '../../lib/tridiagonal/types.ts';

/** Sizes of a batch. */
export interface Sizes {
  readonly n: number;
  readonly batch: number;
  readonly rhsCount: number;
}

/** The layouts that tests cover. `padded` has an offset and gaps everywhere; `split` keeps re and im apart. */
export const layoutKinds = ['contiguous', 'interleaved', 'padded', 'padded-interleaved', 'split'] as const;
export type LayoutKind = (typeof layoutKinds)[number];

/** A complex number as (re, im); real types ignore im. */
export type Pair = readonly [number, number];

/** One array of a problem. */
export interface Stored {
  readonly vector: Vector;
  readonly layout: Layout;
  /** The stored value for system s, row i, right-hand side r. */
  at(s: number, i: number, r?: number): Pair;
  /** True while every element outside the layout holds the canary. */
  gapsIntact(): boolean;
}

const canary = -7.25e20;

function stridesOf(kind: LayoutKind, { n, batch, rhsCount }: Sizes): Required<Strides> {
  switch (kind) {
    case 'contiguous':
    case 'split': return { offset: 0, systemStride: n * rhsCount, rowStride: 1, rhsStride: n };
    case 'interleaved': return { offset: 0, systemStride: 1, rowStride: batch * rhsCount, rhsStride: batch };
    case 'padded': return { offset: 5, systemStride: rhsCount * (2 * n + 3) + 1, rowStride: 2, rhsStride: 2 * n + 3 };
    case 'padded-interleaved': return { offset: 3, systemStride: 2, rowStride: 2 * batch * rhsCount + 3, rhsStride: 2 * batch };
  }
}

export const isComplex = (type: ElementType): boolean => type.startsWith('complex');
export const isSingle = (type: ElementType): boolean => type === 'float32' || type === 'complex64';

function makeArray(type: ElementType, length: number): RealArray {
  return isSingle(type) ? new Float32Array(length).fill(canary) : new Float64Array(length).fill(canary);
}

/** Stores `value` of every element; without `value`, the array is left to be written by the call. Bands have rhsCount 1. */
export function store(
  type: ElementType, kind: LayoutKind, sizes: Sizes, value?: (s: number, i: number, r: number) => Pair,
): Stored {
  const { n, batch, rhsCount } = sizes;
  const strides = stridesOf(kind, sizes);
  const used = n * batch * rhsCount === 0 ? 0 : strides.offset + (batch - 1) * strides.systemStride
    + (n - 1) * strides.rowStride + (rhsCount - 1) * strides.rhsStride + 1;
  const padded = kind.startsWith('padded');
  const elements = used + (padded ? 7 : 0);
  const split = kind === 'split' && isComplex(type);
  const pairs = isComplex(type) && !split;
  const re = makeArray(type, elements * (pairs ? 2 : 1));
  const im = split ? makeArray(type, elements) : re;
  const indexOf = (s: number, i: number, r: number) =>
    strides.offset + s * strides.systemStride + i * strides.rowStride + r * strides.rhsStride;
  const written = new Uint8Array(padded ? elements : 0); // the other layouts have no gaps
  for (let s = 0; s < batch; s += 1) for (let r = 0; r < rhsCount; r += 1) for (let i = 0; i < n; i += 1) {
    const at = indexOf(s, i, r);
    if (padded) written[at] = 1;
    if (value === undefined) continue;
    const [real, imaginary] = value(s, i, r);
    re[pairs ? 2 * at : at] = real;
    if (isComplex(type)) im[pairs ? 2 * at + 1 : at] = imaginary;
  }
  const single = makeArray(type, 1)[0];
  return {
    vector: split ? { re, im } : re,
    layout: padded ? strides : kind === 'interleaved' ? 'interleaved' : 'contiguous',
    at(s, i, r = 0) {
      const at = indexOf(s, i, r);
      return [re[pairs ? 2 * at : at]!, isComplex(type) ? im[pairs ? 2 * at + 1 : at]! : 0];
    },
    gapsIntact() {
      return written.every((flag, at) => flag === 1 || (pairs ? re[2 * at] === single && re[2 * at + 1] === single
        : re[at] === single && im[at] === single));
    },
  };
}

/** The bytes of a vector, for comparing bits. */
export function bitsOf(vector: Vector): Uint8Array {
  const bytes = (array: RealArray) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength).slice();
  if (ArrayBuffer.isView(vector)) return bytes(vector as RealArray);
  const { re, im } = vector as { re: RealArray; im: RealArray };
  const [a, b] = [bytes(re), bytes(im)];
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
