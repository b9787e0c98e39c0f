// tridiagonal.vjp: the gradient of a solve, by one solve with the adjoint matrix.
import { DeviceArray } from '../core/device-array.ts';
import { ArgumentError } from '../core/errors.ts';
import { snapshot } from '../core/snapshot.ts';
import { callFields, checkOptions, optionTable, truth } from '../core/options.ts';
import { arrayField, matrixFields, shapeFields } from './options.ts';
import { freeVector, resolveProblem, type Problem } from './problem.ts';
import { solve, type SolveInfo } from './solve.ts';
import type { SystemStatuses } from './status.ts';
import type { ArrayName, Band, CallOptions, ComplexNumber, Layout, MatrixOptions, RealArray, ShapeOptions, Vector } from './types.ts';
import { bandView, isConstant, isRealArray, isSplit, requireBand, requireVector, vectorStrides, vectorView, type View } from './views.ts';

/** Options of {@link vjp}. `cotangent` and `solution` are laid out as `rhs` is in `solve`. */
export interface VjpOptions<V extends Vector = Vector> extends MatrixOptions, ShapeOptions, CallOptions {
  /** What `solve` returned for this matrix. */
  readonly solution: V;
  /** Gradient of the loss by `solution`, with the same kind, type and layout. */
  readonly cotangent: V;
  /** Partial pivoting in the adjoint solve. Default false. */
  readonly stable?: boolean;
}

/**
 * Result of {@link vjp}: gradients shaped like the inputs of `solve`. Those by the bands are summed on the host,
 * and returned there, wherever the bands are; the one by the right-hand side stays on the device.
 */
export interface VjpResult<V extends Vector = Vector> {
  readonly rhs: V;
  /** Like the band: per system, summed over the batch where shared, one number where constant. */
  readonly lower: Band;
  readonly diagonal: Band;
  /** Absent for positive definite matrices, whose `lower` gathers both sides. */
  readonly upper?: Band;
  readonly status: SystemStatuses;
  readonly info: SolveInfo;
}

const table = optionTable({
  ...matrixFields, ...shapeFields, ...callFields, solution: arrayField, cotangent: arrayField, stable: truth,
});

/**
 * Vector-Jacobian product of x = op(A)^-1 rhs: with w = op(A)^-H g for the cotangent g, the gradient by
 * `rhs` is w and that by op(A) is -w x^H on the three bands, summed over right-hand sides. Complex
 * gradients are those of a real loss L: dL = Re(conj(gradient) * d(input)).
 *
 * @throws as `solve`, with the arguments' own names
 * @see Giles, "Collected matrix derivative results for forward and reverse mode AD" (2008), section 2.3.1
 */
export async function vjp<V extends Vector>(given: VjpOptions<V>): Promise<VjpResult<V>> {
  checkOptions(table, given, 'tridiagonal.vjp');
  requireVector(given.solution, 'solution');
  requireVector(given.cotangent, 'cotangent');
  for (const name of ['lower', 'diagonal', 'upper'] as const) if (given[name] !== undefined) requireBand(given[name], name);
  const options = snapshot(given);
  const { solution, cotangent, transpose = 'none', structure = 'general', ...rest } = options;
  const layouts = { ...options.layouts };
  const layout = layouts.rhs ?? layouts.solution ?? options.layout;
  if (layout !== undefined) Object.assign(layouts, { rhs: layout, solution: layout });
  const problem = resolveProblem({ ...options, layouts }, { cotangent, solution });
  vectorView(solution, problem.type, problem.layoutOf('solution'), problem.shape, 'solution');
  vectorView(cotangent, problem.type, problem.layoutOf('rhs'), problem.shape, 'cotangent');
  const isComplex = problem.type.startsWith('complex');
  // op(A)^H is A^H, conj(A) or A; conj(A) w = g is solved as A conj(w) = conj(g).
  const conjugated = transpose === 'transpose' && isComplex;
  const adjoint = transpose === 'none' ? 'conjugate' : 'none';
  const { batch, n, rhsCount } = problem.shape;
  const shape = options.offsets === undefined ? { n, batch } : {};
  const shared = { ...rest, layouts, structure, transpose: adjoint, ...shape, rhsCount } as const;
  const rhs = conjugated ? await conjugateOf(cotangent) as V : cotangent;
  const solved = await solve<V>({ ...shared, rhs });
  try {
    if (conjugated) await conjugateInPlace(solved.solution);
    const gradients = await bandGradients(options, problem, solved.solution, solution, transpose);
    return { rhs: solved.solution, ...gradients, status: solved.status, info: solved.info };
  } catch (error) {
    freeVector(solved.solution);
    throw error;
  }
}

/** Complex numbers read from a strided host copy. */
interface Reader {
  readonly re: RealArray;
  readonly im: RealArray | undefined;
  readonly step: number;
}

async function hostArray(array: RealArray | DeviceArray): Promise<RealArray> {
  return array instanceof DeviceArray ? await array.read() as RealArray : array;
}

async function readerOf(vector: Vector, isComplex: boolean): Promise<Reader> {
  if (isSplit(vector)) return { re: await hostArray(vector.re), im: await hostArray(vector.im), step: 1 };
  const data = await hostArray(vector);
  if (!isComplex) return { re: data, im: undefined, step: 1 };
  return { re: data, im: data.subarray(1), step: 2 };
}

async function conjugateOf(vector: Vector): Promise<Vector> {
  if (isSplit(vector) && isRealArray(vector.re) && isRealArray(vector.im)) return { re: vector.re, im: vector.im.map((v) => -v) };
  if (isRealArray(vector)) return vector.map((value, index) => (index % 2 === 1 ? -value : value));
  throw new ArgumentError('cotangent', 'expected host arrays with transpose: "transpose" of complex matrices');
}

async function conjugateInPlace(vector: Vector): Promise<void> {
  const { im, step } = await readerOf(vector, true);
  if (im === undefined) return;
  for (let index = 0; index < im.length; index += step) im[index] = -im[index]!;
}

type Gradients = Pick<VjpResult, 'lower' | 'diagonal' | 'upper'>;
/** Adds the (re, im) pair to the gradient at (system, row) of a band. */
type Sink = (system: number, row: number, re: number, im: number) => void;

async function bandGradients(
  options: MatrixOptions, problem: Problem, w: Vector, x: Vector, transpose: MatrixOptions['transpose'],
): Promise<Gradients> {
  const definite = options.structure === 'positive-definite';
  const lower = gradientSink('lower', options.lower, problem);
  const diagonal = gradientSink('diagonal', options.diagonal, problem);
  const upper = options.upper === undefined ? undefined : gradientSink('upper', options.upper, problem);
  // A[i][j] gains -left[i] * conj(right[j]); transposing op swaps the two, see below.
  const isComplex = problem.type.startsWith('complex');
  const [wReader, xReader] = [await readerOf(w, isComplex), await readerOf(x, isComplex)];
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
 * Gradient by A[i][j], from positions of rows i and j. For op(A) = A: -w_i conj(x_j); for A^T:
 * -w_j conj(x_i); for A^H: -conj(w_j) x_i.
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
  const length = (part: RealArray | DeviceArray) => part.length * (part instanceof DeviceArray && interleaved ? 2 : 1);
  const make = (part: RealArray | DeviceArray) => (double ? new Float64Array(length(part)) : new Float32Array(length(part)));
  const [re, im] = parts.map(make) as [RealArray, RealArray | undefined];
  const { offsets } = problem;
  const add: Sink = (system, row, real, imaginary) => {
    const at = view.offset + (offsets === undefined ? system * view.systemStride + row * view.rowStride
      : (Number(offsets[system]!) + row) * view.rowStride);
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
