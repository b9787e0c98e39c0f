// A batch of systems with right-hand sides, stored in a given layout and type, and its checks.
import type { ElementType, MatrixOptions, ShapeOptions, Transpose, Vector } from '../../lib/tridiagonal/types.ts';
import type { Random } from './random.ts';
import { epsilon } from './reference.ts';
import { isComplex, store, type LayoutKind, type Pair, type Sizes, type Stored } from './storage.ts';

/** How to create a problem. */
export interface ProblemSpec extends Sizes {
  readonly type: ElementType;
  readonly layout: LayoutKind;
  readonly periodic?: boolean;
  readonly transpose?: Transpose;
  readonly structure?: 'general' | 'positive-definite';
  /** |diagonal| = dominance * (|lower| + |upper|) + 0.1. Default 1.5. */
  readonly dominance?: number;
}

/** Options of solve/multiply for the problem's matrix and shape. */
export type ProblemOptions = MatrixOptions & ShapeOptions;

/** A stored problem. */
export interface Problem {
  readonly spec: ProblemSpec;
  readonly lower: Stored;
  readonly diagonal: Stored;
  readonly upper: Stored;
  readonly rhs: Stored;
  /** For solve: `{ ...options, rhs }`. */
  readonly options: ProblemOptions;
}

/** Complex arithmetic on pairs. */
const times = ([a, b]: Pair, [c, d]: Pair): Pair => [a * c - b * d, a * d + b * c];
const plus = ([a, b]: Pair, [c, d]: Pair): Pair => [a + c, b + d];
const conjugate = ([a, b]: Pair): Pair => [a, -b];
/** |re| + |im|, LAPACK's cabs1. */
export const size = ([a, b]: Pair): number => Math.abs(a) + Math.abs(b);

/** A problem with the entries that the functions return; `upper` is above row i, and the conjugate of lower if the matrix is definite. */
export function problemOf(
  spec: ProblemSpec, entries: Record<'lower' | 'diagonal' | 'upper', (s: number, i: number) => Pair>, rhs: (s: number, i: number, r: number) => Pair,
): Problem {
  const bandSizes = { n: spec.n, batch: spec.batch, rhsCount: 1 };
  const band = (name: keyof typeof entries) => store(spec.type, spec.layout, bandSizes, entries[name]);
  const [lower, diagonal, upper] = [band('lower'), band('diagonal'), band('upper')];
  const sides = store(spec.type, spec.layout, spec, rhs);
  return { spec, lower, diagonal, upper, rhs: sides, options: optionsOf(spec, lower, diagonal, upper, sides, spec.periodic === true) };
}

/** A random diagonally dominant problem (by rows and columns alike). */
export function makeProblem(spec: ProblemSpec, random: Random): Problem {
  const { n, batch, type, layout, periodic = false, structure = 'general', dominance = 1.5 } = spec;
  const complex = isComplex(type);
  const pair = (): Pair => [random.uniform(), complex ? random.uniform() : 0];
  const bandSizes = { n, batch, rhsCount: 1 };
  const lower = store(type, layout, bandSizes, pair);
  const upper = store(type, layout, bandSizes, structure === 'general' ? pair
    : (s, i) => conjugate(lower.at(s, (i + 1) % n)));
  const diagonal = store(type, layout, bandSizes, (s, i) => {
    const before = (i - 1 + n) % n;
    const after = (i + 1) % n;
    const row = size(lower.at(s, i)) + size(upper.at(s, i));
    const column = size(upper.at(s, before)) + size(lower.at(s, after));
    const magnitude = dominance * Math.max(row, column) + 0.1;
    if (structure === 'positive-definite') return [magnitude, 0];
    return random.next() < 0.5 ? [magnitude, 0] : [-magnitude, 0];
  });
  const rhs = store(type, layout, spec, () => [random.normal(3), complex ? random.normal(3) : 0]);
  return { spec, lower, diagonal, upper, rhs, options: optionsOf(spec, lower, diagonal, upper, rhs, periodic) };
}

function optionsOf(
  spec: ProblemSpec, lower: Stored, diagonal: Stored, upper: Stored, rhs: Stored, periodic: boolean,
): ProblemOptions {
  const { n, batch, rhsCount, type, layout, transpose, structure = 'general' } = spec;
  const definite = structure === 'positive-definite';
  const vector = rhs.layout;
  return {
    lower: lower.vector, diagonal: diagonal.vector, ...(definite ? { structure } : { upper: upper.vector }),
    n, batch, rhsCount, periodic,
    ...(transpose === undefined ? {} : { transpose }),
    ...(isComplex(type) && layout !== 'split' ? { complex: true } : {}),
    layout: lower.layout, layouts: { rhs: vector, solution: vector, x: vector, y: vector },
  };
}

/** Entries of op(A): calls `visit(j, value)` for the entries of row i. */
export function rowOf(problem: Problem, s: number, i: number, visit: (j: number, value: Pair) => void): void {
  const { spec, lower, diagonal, upper } = problem;
  const { n, periodic = false, transpose = 'none' } = spec;
  const [before, after] = [(i - 1 + n) % n, (i + 1) % n];
  const op = transpose === 'conjugate' ? conjugate : (value: Pair) => value;
  visit(i, op(diagonal.at(s, i)));
  const straight = transpose === 'none';
  if (i > 0 || periodic) visit(before, op(straight ? lower.at(s, i) : upper.at(s, before)));
  if (i < n - 1 || periodic) visit(after, op(straight ? upper.at(s, i) : lower.at(s, after)));
}

/** (op(A) x)_i and (|op(A)| |x|)_i. */
export function rowProduct(problem: Problem, s: number, i: number, x: (j: number) => Pair): { value: Pair; size: number } {
  let value: Pair = [0, 0];
  let sum = 0;
  rowOf(problem, s, i, (j, entry) => {
    value = plus(value, times(entry, x(j)));
    sum += size(entry) * size(x(j));
  });
  return { value, size: sum };
}

/** Componentwise backward error of one system and right-hand side, in float64; NaN counts as infinite. */
export function systemError(problem: Problem, x: Stored, s: number, r: number): number {
  let worst = 0;
  for (let i = 0; i < problem.spec.n; i += 1) {
    const product = rowProduct(problem, s, i, (j) => x.at(s, j, r));
    const b = problem.rhs.at(s, i, r);
    const difference = size([b[0] - product.value[0], b[1] - product.value[1]]);
    const scale = product.size + size(b);
    const error = scale === 0 ? difference : difference / scale;
    worst = Math.max(worst, Number.isNaN(error) ? Infinity : error);
  }
  return worst;
}

/** {@link systemError} for a whole real, contiguous problem with one right-hand side, without a closure per element. */
function plainWorstError(problem: Problem, x: Stored): number {
  const { n, batch } = problem.spec;
  const [lower, diagonal, upper, b, v] = [problem.lower, problem.diagonal, problem.upper, problem.rhs, x]
    .map(({ vector }) => vector as Float64Array) as [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array];
  let worst = 0;
  for (let at = 0; at < n * batch; at += 1) {
    const left = at % n === 0 ? 0 : lower[at]! * v[at - 1]!;
    const right = at % n === n - 1 ? 0 : upper[at]! * v[at + 1]!;
    const middle = diagonal[at]! * v[at]!;
    const scale = Math.abs(left) + Math.abs(middle) + Math.abs(right) + Math.abs(b[at]!);
    const difference = Math.abs(b[at]! - (middle + left + right));
    const error = scale === 0 ? difference : difference / scale;
    if (!(error <= worst)) worst = Number.isNaN(error) ? Infinity : error;
  }
  return worst;
}

/** Worst componentwise backward error of the batch, in machine epsilons of its type. */
export function worstError(problem: Problem, x: Stored): number {
  const { batch, rhsCount, type, layout, periodic = false, transpose = 'none', n } = problem.spec;
  const plain = n * batch > 20_000 && rhsCount === 1 && layout === 'contiguous' && !isComplex(type) && !periodic && transpose === 'none';
  if (plain) return plainWorstError(problem, x) / epsilon[type];
  let worst = 0;
  for (let s = 0; s < batch; s += 1) for (let r = 0; r < rhsCount; r += 1) worst = Math.max(worst, systemError(problem, x, s, r));
  return worst / epsilon[type];
}

/** An array for the problem's solution, filled with canaries. */
export function emptySolution({ spec }: Problem): Stored {
  return store(spec.type, spec.layout, spec);
}

/** All input vectors of a problem. */
export function inputsOf({ lower, diagonal, upper, rhs }: Problem): Vector[] {
  return [lower.vector, diagonal.vector, upper.vector, rhs.vector];
}
