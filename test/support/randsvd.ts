// Random matrices with given singular values, reduced to tridiagonal form: Higham's randsvd with bandred (Accuracy and Stability of
// Numerical Algorithms, section 28.3).
import type { Random } from './random.ts';
import type { Matrix } from './reference.ts';

/** 1: one large; 2: one small; 3: geometric; 4: arithmetic distribution of singular values. */
export type RandsvdMode = 1 | 2 | 3 | 4;

function singularValues(n: number, mode: RandsvdMode, condition: number): Float64Array {
  const small = 1 / condition;
  return Float64Array.from({ length: n }, (_, i) => {
    if (n === 1) return 1;
    const t = i / (n - 1);
    if (mode === 1) return i === 0 ? 1 : small;
    if (mode === 2) return i === n - 1 ? small : 1;
    return mode === 3 ? small ** t : 1 - (1 - small) * t;
  });
}

/** Householder vector v with (I - beta v v^T) x = s e_1; beta = 0 if x already has this form. */
function householder(x: Float64Array): { v: Float64Array; beta: number } {
  const norm = Math.hypot(...x);
  const v = x.slice();
  if (norm === 0) return { v, beta: 0 };
  v[0]! += x[0]! >= 0 ? norm : -norm;
  const size = v.reduce((sum, value) => sum + value * value, 0);
  return { v, beta: size === 0 ? 0 : 2 / size };
}

type Dense = Float64Array[];

/** Applies the reflection to the rows starting at `row`: A <- (I - beta v v^T) A. */
function reflectRows(a: Dense, row: number, { v, beta }: { v: Float64Array; beta: number }): void {
  if (beta === 0) return;
  const n = a.length;
  const sums = new Float64Array(n);
  for (let i = 0; i < v.length; i += 1) for (let j = 0; j < n; j += 1) sums[j]! += v[i]! * a[row + i]![j]!;
  for (let i = 0; i < v.length; i += 1) for (let j = 0; j < n; j += 1) a[row + i]![j]! -= beta * v[i]! * sums[j]!;
}

/** Applies the reflection to the columns starting at `column`: A <- A (I - beta v v^T). */
function reflectColumns(a: Dense, column: number, { v, beta }: { v: Float64Array; beta: number }): void {
  if (beta === 0) return;
  for (const line of a) {
    let sum = 0;
    for (let j = 0; j < v.length; j += 1) sum += line[column + j]! * v[j]!;
    for (let j = 0; j < v.length; j += 1) line[column + j]! -= beta * sum * v[j]!;
  }
}

/** A tridiagonal matrix of order n with condition number 1e15 and the singular values of `mode`. */
export function randsvd(n: number, mode: RandsvdMode, random: Random, condition = 1e15): Matrix {
  const sigma = singularValues(n, mode, condition);
  const a: Dense = Array.from({ length: n }, (_, i) => {
    const line = new Float64Array(n);
    line[i] = sigma[i]!;
    return line;
  });
  for (let size = 2; size <= n; size += 1) {
    const normal = () => householder(Float64Array.from({ length: size }, () => random.normal()));
    reflectRows(a, n - size, normal());
    reflectColumns(a, n - size, normal());
  }
  for (let j = 0; j + 2 < n; j += 1) {
    const rows = n - j - 1;
    reflectRows(a, j + 1, householder(Float64Array.from({ length: rows }, (_, i) => a[j + 1 + i]![j]!)));
    reflectColumns(a, j + 1, householder(Float64Array.from({ length: rows }, (_, i) => a[j]![j + 1 + i]!)));
  }
  return {
    lower: sigma.map((_, i) => (i > 0 ? a[i]![i - 1]! : 0)),
    diagonal: sigma.map((_, i) => a[i]![i]!),
    upper: sigma.map((_, i) => (i < n - 1 ? a[i]![i + 1]! : 0)),
  };
}
