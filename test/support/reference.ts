// Reference results in plain TypeScript: products and residuals in double-double, and LAPACK's pivoted
// elimination (gtsv) in double-double, whose error is far below float64's.
import { add, divide, exactly, multiply, product, subtract, toNumber, zero, type DoubleDouble } from './double-double.ts';

/**
 * One real tridiagonal matrix, with one entry per row and band. If it is periodic, entry 0 of lower and the last entry of upper are the
 * corners.
 */
export interface Matrix {
  readonly lower: Float64Array;
  readonly diagonal: Float64Array;
  readonly upper: Float64Array;
}

/** Machine epsilon: distance from 1 to the next number. */
export const epsilon = { float32: 2 ** -23, float64: 2 ** -52, complex64: 2 ** -23, complex128: 2 ** -52 } as const;

/** Row i of A x in double-double. */
function rowProduct(matrix: Matrix, x: Float64Array, i: number, periodic: boolean): DoubleDouble {
  const n = x.length;
  let sum = product(matrix.diagonal[i]!, x[i]!);
  if (i > 0 || periodic) sum = add(sum, product(matrix.lower[i]!, x[(i - 1 + n) % n]!));
  if (i < n - 1 || periodic) sum = add(sum, product(matrix.upper[i]!, x[(i + 1) % n]!));
  return sum;
}

/** A x, rounded once. */
export function multiplyExactly(matrix: Matrix, x: Float64Array, periodic = false): Float64Array {
  return Float64Array.from(x, (_, i) => toNumber(rowProduct(matrix, x, i, periodic)));
}

/** b - A x, rounded once. */
export function residual(matrix: Matrix, x: Float64Array, b: Float64Array, periodic = false): Float64Array {
  return Float64Array.from(x, (_, i) => toNumber(subtract(exactly(b[i]!), rowProduct(matrix, x, i, periodic))));
}

/** The transposed matrix in the same row convention. */
export function transposed({ lower, diagonal, upper }: Matrix): Matrix {
  const n = diagonal.length;
  return {
    lower: diagonal.map((_, i) => upper[(i - 1 + n) % n]!),
    diagonal: diagonal.slice(),
    upper: diagonal.map((_, i) => lower[(i + 1) % n]!),
  };
}

/** Largest |r_i| / (|A||x| + |b|)_i, the componentwise backward error; NaN counts as infinite. */
export function componentwiseError(matrix: Matrix, x: Float64Array, b: Float64Array, periodic = false): number {
  const r = residual(matrix, x, b, periodic);
  const absolute = {
    lower: matrix.lower.map(Math.abs), diagonal: matrix.diagonal.map(Math.abs), upper: matrix.upper.map(Math.abs),
  };
  const size = multiplyExactly(absolute, x.map(Math.abs), periodic);
  let worst = 0;
  for (let i = 0; i < r.length; i += 1) {
    const scale = size[i]! + Math.abs(b[i]!);
    const error = scale === 0 ? (r[i] === 0 ? 0 : Infinity) : Math.abs(r[i]!) / scale;
    worst = Math.max(worst, Number.isNaN(error) ? Infinity : error);
  }
  return worst;
}

const norm1 = (values: Float64Array): number => values.reduce((sum, value) => sum + Math.abs(value), 0);

/** |A|_1, the largest column sum. */
export function matrixNorm(matrix: Matrix, periodic = false): number {
  const t = transposed(matrix);
  const n = matrix.diagonal.length;
  let worst = 0;
  for (let j = 0; j < n; j += 1) {
    let sum = Math.abs(t.diagonal[j]!);
    if (j > 0 || periodic) sum += Math.abs(t.lower[j]!);
    if (j < n - 1 || periodic) sum += Math.abs(t.upper[j]!);
    worst = Math.max(worst, sum);
  }
  return worst;
}

/** LAPACK's test ratio |b - A x|_1 / (|A|_1 |x|_1 eps) for machine epsilon `eps`; NaN counts as infinite. */
export function residualRatio(matrix: Matrix, x: Float64Array, b: Float64Array, eps: number, periodic = false): number {
  const size = matrixNorm(matrix, periodic) * norm1(x);
  const r = norm1(residual(matrix, x, b, periodic));
  if (r === 0) return 0;
  const ratio = r / size / eps;
  return Number.isNaN(ratio) ? Infinity : ratio;
}

/** Largest |x - y| divided by largest |y|. */
export function relativeDifference(x: Float64Array, y: Float64Array): number {
  let difference = 0;
  let size = 0;
  for (let i = 0; i < y.length; i += 1) {
    difference = Math.max(difference, Math.abs(x[i]! - y[i]!));
    size = Math.max(size, Math.abs(y[i]!));
    if (Number.isNaN(x[i]!)) return Infinity;
  }
  return size === 0 ? difference : difference / size;
}

/**
 * Solution by partial pivoting in double-double (the elimination of LAPACK gtsv).
 * @returns undefined when a pivot is exactly zero
 */
export function referenceSolution({ lower, diagonal, upper }: Matrix, b: Float64Array): Float64Array | undefined {
  const n = diagonal.length;
  const d = Array.from(diagonal, exactly);
  const du = Array.from(upper, exactly);
  const du2 = Array.from(upper, () => zero);
  const x = Array.from(b, exactly);
  for (let i = 0; i < n - 1; i += 1) {
    const below = exactly(lower[i + 1]!);
    if (Math.abs(d[i]!.hi) >= Math.abs(below.hi)) {
      if (d[i]!.hi === 0) return undefined;
      const factor = divide(below, d[i]!);
      d[i + 1] = subtract(d[i + 1]!, multiply(factor, du[i]!));
      x[i + 1] = subtract(x[i + 1]!, multiply(factor, x[i]!));
      continue;
    }
    const factor = divide(d[i]!, below);
    const next = d[i + 1]!;
    d[i] = below;
    d[i + 1] = subtract(du[i]!, multiply(factor, next));
    if (i < n - 2) {
      du2[i] = du[i + 1]!;
      du[i + 1] = multiply({ hi: -factor.hi, lo: -factor.lo }, du[i + 1]!);
    }
    du[i] = next;
    const top = x[i]!;
    x[i] = x[i + 1]!;
    x[i + 1] = subtract(top, multiply(factor, x[i]!));
  }
  for (let i = n - 1; i >= 0; i -= 1) {
    if (d[i]!.hi === 0) return undefined;
    let sum = x[i]!;
    if (i < n - 1) sum = subtract(sum, multiply(du[i]!, x[i + 1]!));
    if (i < n - 2) sum = subtract(sum, multiply(du2[i]!, x[i + 2]!));
    x[i] = divide(sum, d[i]!);
  }
  return Float64Array.from(x, toNumber);
}
