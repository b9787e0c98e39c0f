// The gradients of vjp with respect to the bands, summed one by one in JavaScript.
import type { DeviceArray } from '../../lib/core/device.ts';
import { type Problem } from '../../lib/linear/problem.ts';
import { resolveProblem } from '../../lib/tridiagonal/problem.ts';
import type {
  ArrayName, Band, ComplexNumber, Layout, MatrixOptions, RealArray, ShapeOptions, Vector,
} from '../../lib/tridiagonal/types.ts';
import { bandView, isConstant, isSplit, vectorStrides, type View } from '../../lib/linear/views.ts';
import type { VjpResult } from '../../lib/tridiagonal/vjp.ts';

/** Complex numbers read from a strided host copy. */
interface Reader {
  readonly re: RealArray;
  readonly im: RealArray | undefined;
  readonly step: number;
}

function readerOf(vector: Vector, isComplex: boolean): Reader {
  if (isSplit(vector)) return { re: vector.re as RealArray, im: vector.im as RealArray, step: 1 };
  const data = vector as RealArray;
  if (!isComplex) return { re: data, im: undefined, step: 1 };
  return { re: data, im: data.subarray(1), step: 2 };
}

/** The part of vjp's result that concerns the bands. */
export type Gradients = Pick<VjpResult, 'lower' | 'diagonal' | 'upper'>;
/** Adds the (re, im) pair to the gradient at (system, row) of a band. */
type Sink = (system: number, row: number, re: number, im: number) => void;

/** Gradients with respect to the bands for w = op(A)^-H cotangent and the solution x, both in host memory. */
export function bandGradients(options: MatrixOptions & ShapeOptions, w: Vector, x: Vector): Gradients {
  const layout = options.layouts?.rhs ?? options.layout;
  const layouts = { ...options.layouts, ...(layout === undefined ? {} : { rhs: layout, solution: layout }) };
  const problem = resolveProblem({ layout: 'contiguous', rhsCount: 1, ...options, layouts }, { cotangent: w, solution: x });
  const { transpose } = options;
  const definite = options.structure === 'positive-definite';
  const lower = gradientSink('lower', options.lower, problem);
  const diagonal = gradientSink('diagonal', options.diagonal, problem);
  const upper = options.upper === undefined ? undefined : gradientSink('upper', options.upper, problem);
  // A[i][j] gains -left[i] * conj(right[j]); transposing op swaps the two, see below.
  const isComplex = problem.type.startsWith('complex');
  const [wReader, xReader] = [readerOf(w, isComplex), readerOf(x, isComplex)];
  const outer = outerProduct(wReader, xReader, transpose ?? 'none');
  const strides = vectorStrides(problem.layoutOf('rhs'), problem.shape);
  const { batch, n, rhsCount } = problem.shape;
  for (let system = 0; system < batch; system += 1) {
    const first = problem.offsets === undefined ? system : Number(problem.offsets[system]!);
    const rows = problem.offsets === undefined ? n : Number(problem.offsets[system + 1]!) - first;
    const origin = strides.offset + first * (problem.offsets === undefined ? strides.systemStride : strides.rowStride);
    for (let side = 0; side < rhsCount; side += 1) {
      const at = (row: number) => origin + side * strides.rhsStride + row * strides.rowStride;
      for (let row = 0; row < rows; row += 1) {
        diagonal.add(system, row, ...outer(at(row), at(row)));
        if (row > 0 || options.periodic === true) {
          const before = (row - 1 + rows) % rows;
          const [re, im] = outer(at(row), at(before));
          const [re2, im2] = definite ? outer(at(before), at(row)) : [0, 0];
          lower.add(system, row, re + re2, im - im2);
        }
        if (upper !== undefined && (row < rows - 1 || options.periodic === true)) {
          upper.add(system, row, ...outer(at(row), at((row + 1) % rows)));
        }
      }
    }
  }
  return { lower: lower.result, diagonal: diagonal.result, ...(upper === undefined ? {} : { upper: upper.result }) };
}

/**
 * Gradient with respect to A[i][j], from the positions of rows i and j. For op(A) = A: -w_i conj(x_j); for A^T: -w_j conj(x_i); for A^H:
 * -conj(w_j) x_i.
 */
function outerProduct(w: Reader, x: Reader, transpose: 'none' | 'transpose' | 'conjugate') {
  return (i: number, j: number): [number, number] => {
    const [at, other] = transpose === 'none' ? [i, j] : [j, i];
    const wRe = w.re[at * w.step]!;
    const xRe = x.re[other * x.step]!;
    if (w.im === undefined || x.im === undefined) return [-wRe * xRe, 0];
    const wIm = w.im[at * w.step]!;
    const xIm = x.im[other * x.step]!;
    const re = -(wRe * xRe + wIm * xIm);
    const im = -(wIm * xRe - wRe * xIm);
    return transpose === 'conjugate' ? [re, -im] : [re, im];
  };
}

function gradientSink(name: ArrayName & ('lower' | 'diagonal' | 'upper'), band: Band, problem: Problem): { add: Sink; result: Band } {
  if (isConstant(band)) {
    const sum = { re: 0, im: 0 };
    const add: Sink = (_system, _row, re, im) => {
      sum.re += re;
      sum.im += im;
    };
    const isComplex = problem.type.startsWith('complex');
    return { add, get result(): number | ComplexNumber { return isComplex ? sum : sum.re; } };
  }
  const layout: Layout = problem.layoutOf(name);
  const view: View = bandView(band, problem.type, layout, problem.shape, name);
  const split = isSplit(band);
  const parts = split ? [band.re, band.im] : [band];
  const interleaved = !split && problem.type.startsWith('complex');
  const double = problem.type === 'float64' || problem.type === 'complex128';
  const length = (part: RealArray | DeviceArray) => part.length;
  const make = (part: RealArray | DeviceArray) => (double ? new Float64Array(length(part)) : new Float32Array(length(part)));
  const [re, im] = parts.map(make) as [RealArray, RealArray | undefined];
  const { offsets } = problem;
  const add: Sink = (system, row, real, imaginary) => {
    const [system_ = 0, row_ = 0] = view.strides;
    const at = view.offset + (offsets === undefined ? system * system_ + row * row_ : (Number(offsets[system]!) + row) * system_);
    if (interleaved) {
      re[2 * at]! += real;
      re[2 * at + 1]! += imaginary;
    } else {
      re[at]! += real;
      if (im !== undefined) im[at]! += imaginary;
    }
  };
  return { add, result: split ? { re, im: im as RealArray } : re };
}
