// The twenty test families of Klein and Strzodka (ICPP 2021, Table 1), after Chang et al. (SC'12), and
// harder or odder ones: over- and underflow, exact zero pivots, singular, reducible.
import type { Random } from './random.ts';
import { randsvd } from './randsvd.ts';
import type { Matrix } from './reference.ts';

/** One family: a random matrix of order n. */
export interface Family {
  readonly name: string;
  /** Diagonally dominant by columns or rows: solvers without pivoting must reach LAPACK's ratio. */
  readonly dominant: boolean;
  /** A forward error is meaningful (condition number far below 1/epsilon). */
  readonly forward: boolean;
  make(n: number, random: Random): Matrix;
}

type Entry = (i: number) => number;

function build(n: number, lower: Entry, diagonal: Entry, upper: Entry): Matrix {
  const fill = (entry: Entry) => Float64Array.from({ length: n }, (_, i) => entry(i));
  return { lower: fill(lower), diagonal: fill(diagonal), upper: fill(upper) };
}

const constant = (value: number): Entry => () => value;
const toeplitz = (a: number, b: number, c: number) => (n: number) => build(n, constant(a), constant(b), constant(c));
const uniform = (random: Random): Entry => () => random.uniform();

/** dorr(theta): a convection-diffusion matrix with a turning point (Dorr 1971). Rows are numbered from 0 here. */
export function dorr(n: number, theta = 1e-4): Matrix {
  const h = 1 / (n + 1);
  const middle = Math.floor((n + 1) / 2);
  const t = theta / (h * h);
  const left = (i: number) => i + 1 <= middle;
  const slope = (i: number) => (0.5 - (i + 1) * h) / h;
  const lower: Entry = (i) => (left(i) ? -t : -t + slope(i));
  const upper: Entry = (i) => (left(i) ? -t - slope(i) : -t);
  return build(n, lower, (i) => -(lower(i) + upper(i)), upper);
}

/** Inverse of the Kac-Murdock-Szego matrix 0.5^|i-j|: tridiagonal. */
function inverseKms(n: number): Matrix {
  const rho = 0.5;
  const scale = 1 / (1 - rho * rho);
  const off = constant(-rho * scale);
  if (n === 1) return build(1, constant(0), constant(1), constant(0));
  return build(n, off, (i) => (i === 0 || i === n - 1 ? scale : (1 + rho * rho) * scale), off);
}

function oneSmallEntry(n: number, random: Random): Matrix {
  const matrix = build(n, uniform(random), uniform(random), uniform(random));
  matrix.lower[Math.floor(n / 2)]! *= 1e-50;
  return matrix;
}

function family(name: string, make: Family['make'], flags: Partial<Pick<Family, 'dominant' | 'forward'>> = {}): Family {
  return { name, make, dominant: false, forward: true, ...flags };
}

const dominant = { dominant: true };
const illConditioned = { forward: false };

/** Families 1 to 20 of the table, in order. */
export const twentyFamilies: readonly Family[] = [
  family('01 random', (n, r) => build(n, uniform(r), uniform(r), uniform(r))),
  family('02 diagonal 1e8', (n, r) => build(n, uniform(r), constant(1e8), uniform(r)), dominant),
  family('03 lesp', (n) => build(n, (i) => 1 / (i + 1), (i) => -(2 * (i + 2) + 1), (i) => i + 2), dominant),
  family('04 random, one entry 1e-50', oneSmallEntry),
  family('05 random, half of the sides zero', (n, r) => {
    const half: Entry = () => (r.next() < 0.5 ? 0 : r.uniform());
    return build(n, half, uniform(r), half);
  }),
  family('06 diagonal 64', (n, r) => build(n, uniform(r), constant(64), uniform(r)), dominant),
  family('07 inverse kms', (n) => inverseKms(n), dominant),
  family('08 randsvd, one small', (n, r) => randsvd(n, 2, r), illConditioned),
  family('09 randsvd, geometric', (n, r) => randsvd(n, 3, r), illConditioned),
  family('10 randsvd, one large', (n, r) => randsvd(n, 1, r), illConditioned),
  family('11 randsvd, arithmetic', (n, r) => randsvd(n, 4, r), illConditioned),
  family('12 random, lower 1e-50', (n, r) => build(n, () => r.uniform() * 1e-50, uniform(r), uniform(r)), illConditioned),
  family('13 dorr', (n) => dorr(n), { ...dominant, ...illConditioned }),
  family('14 diagonal 1e-8', (n, r) => build(n, uniform(r), constant(1e-8), uniform(r)), illConditioned),
  family('15 diagonal 0', (n, r) => build(n, uniform(r), constant(0), uniform(r)), illConditioned),
  family('16 (1, 1e-8, 1)', toeplitz(1, 1e-8, 1), illConditioned),
  family('17 (1, 1e8, 1)', toeplitz(1, 1e8, 1), dominant),
  family('18 (-1, 4, -1)', toeplitz(-1, 4, -1), dominant),
  family('19 (-1, 4, 1)', toeplitz(-1, 4, 1), dominant),
  family('20 (-1, 4, random)', (n, r) => build(n, constant(-1), constant(4), uniform(r)), dominant),
];

/** Row-dominant with a margin: |b| = (1 + margin)(|a| + |c|), random signs. */
export function rowDominant(n: number, random: Random, margin: number): Matrix {
  const matrix = build(n, uniform(random), constant(0), uniform(random));
  for (let i = 0; i < n; i += 1) {
    const sides = (i > 0 ? Math.abs(matrix.lower[i]!) : 0) + (i < n - 1 ? Math.abs(matrix.upper[i]!) : 0);
    matrix.diagonal[i] = (random.next() < 0.5 ? -1 : 1) * (sides === 0 ? 1 : (1 + margin) * sides);
  }
  return matrix;
}

/** Families beyond the twenty. */
export const moreFamilies: readonly Family[] = [
  family('identity', toeplitz(0, 1, 0), dominant),
  family('Laplacian (-1, 2, -1)', toeplitz(-1, 2, -1), dominant),
  family('weakly dominant, margin 1e-3', (n, r) => rowDominant(n, r, 1e-3)),
  family('sign-alternating diagonal', (n, r) => build(n, uniform(r), (i) => (i % 2 === 0 ? 3 : -3), uniform(r)), dominant),
  family('reducible', (n, r) => {
    const matrix = rowDominant(n, r, 0.5);
    matrix.lower[Math.floor(n / 2)] = 0;
    matrix.upper[Math.floor(n / 3)] = 0;
    return matrix;
  }),
  family('near overflow', (n, r) => build(n, () => r.uniform() * 1e150, constant(4e150), () => r.uniform() * 1e150), dominant),
  family('near underflow', (n, r) => build(n, () => r.uniform() * 1e-150, constant(4e-150), () => r.uniform() * 1e-150), dominant),
];
