// Accuracy rows: accuracy/<family>/<precision>/<algorithm>, the worst of a batch of matrices.
//
// Value: LAPACK's test ratio |b - A x|_1 / (|A|_1 |x|_1 eps) (threshold 30); for `weakly-dominant` the largest
// componentwise backward error. Residuals are computed in double-double on the host.
import type { Device } from '../lib/core/device.ts';
import * as tridiagonal from '../lib/tridiagonal/index.ts';
import { rowDominant, twentyFamilies } from '../test/support/families.ts';
import { Random } from '../test/support/random.ts';
import {
  componentwiseError, epsilon, multiplyExactly, residualRatio, transposed, type Matrix,
} from '../test/support/reference.ts';
import { isUnsupported, type BenchContext } from './domain.ts';
import { precisions, type Precision } from './systems.ts';

interface Case {
  /** As in row ids. */
  readonly slug: string;
  readonly componentwise: boolean;
  readonly matrices: number;
  make(n: number, random: Random): Matrix;
}

const slugOf = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');

const cases: readonly Case[] = [
  ...twentyFamilies.map(({ name, make }) => ({
    slug: slugOf(name), componentwise: false, matrices: name.includes('randsvd') ? 1 : 8, make,
  })),
  {
    slug: 'weakly-dominant', componentwise: true, matrices: 32,
    make: (n: number, random: Random) => rowDominant(n, random, 1e-3),
  },
  {
    slug: 'column-dominant', componentwise: false, matrices: 32,
    make: (n: number, random: Random) => transposed(rowDominant(n, random, 1e-3)),
  },
];

const algorithms = ['auto', 'cr-regpack', 'pivoting', 'cr', 'pcr', 'cr-pcr', 'pcr-thomas', 'thomas'] as const;

function rounded(values: Float64Array, precision: Precision): Float64Array {
  return precision === 'float32' ? Float64Array.from(values, Math.fround) : values;
}

interface Problem {
  readonly matrix: Matrix;
  readonly rhs: Float64Array;
}

/** Matrix and right-hand side as the solver sees them: x ~ N(3, 1), b = A x in double-double, all rounded. */
function makeProblem(item: Case, n: number, precision: Precision, random: Random): Problem {
  const exact = item.make(n, random);
  const matrix = {
    lower: rounded(exact.lower, precision), diagonal: rounded(exact.diagonal, precision),
    upper: rounded(exact.upper, precision),
  };
  const x = Float64Array.from({ length: n }, () => 3 + random.normal());
  return { matrix, rhs: rounded(multiplyExactly(matrix, x), precision) };
}

function join(parts: readonly Float64Array[], precision: Precision): Float32Array | Float64Array {
  const n = parts[0]!.length;
  const all = precision === 'float32' ? new Float32Array(n * parts.length) : new Float64Array(n * parts.length);
  parts.forEach((part, index) => all.set(part, index * n));
  return all;
}

async function solveAll(
  device: Device, problems: readonly Problem[], precision: Precision, algorithm: string,
): Promise<Float64Array[]> {
  const n = problems[0]!.rhs.length;
  const band = (key: keyof Matrix) => join(problems.map(({ matrix }) => matrix[key]), precision);
  const method = algorithm === 'pivoting' ? { stable: true }
    : { algorithm: algorithm as Exclude<tridiagonal.Algorithm, 'pivoting'> };
  const { solution } = await tridiagonal.solve({
    lower: band('lower'), diagonal: band('diagonal'), upper: band('upper'),
    rhs: join(problems.map(({ rhs }) => rhs), precision), n, batch: problems.length, device, ...method,
  });
  const all = solution as Float32Array | Float64Array;
  return problems.map((_, index) => Float64Array.from(all.subarray(index * n, (index + 1) * n)));
}

function worstOf(item: Case, problems: readonly Problem[], solutions: readonly Float64Array[], precision: Precision): number {
  const figures = problems.map(({ matrix, rhs }, index) => (item.componentwise
    ? componentwiseError(matrix, solutions[index]!, rhs)
    : residualRatio(matrix, solutions[index]!, rhs, epsilon[precision])));
  return Math.max(...figures);
}

/** One row per family, precision and algorithm; algorithms that do not take the size are left out. */
export async function benchmarkAccuracy(context: BenchContext): Promise<void> {
  const n = context.quick ? 65 : 512;
  for (const precision of precisions) {
    for (const item of cases) {
      const wanted = algorithms.filter((name) => context.wanted(`accuracy/${item.slug}/${precision}/${name}`));
      if (wanted.length === 0) continue;
      const random = new Random(2026);
      const problems = Array.from({ length: item.matrices }, () => makeProblem(item, n, precision, random));
      for (const algorithm of wanted) {
        const id = `accuracy/${item.slug}/${precision}/${algorithm}`;
        try {
          const worst = worstOf(item, problems, await solveAll(context.device, problems, precision, algorithm), precision);
          context.emit({
            id, value: Number.isFinite(worst) ? worst : Number.MAX_VALUE, spread: 0,
            unit: item.componentwise ? 'backward error' : 'eps',
            note: `n ${n}, worst of ${item.matrices}${Number.isFinite(worst) ? '' : '; not finite'}`,
          });
        } catch (error) {
          if (!isUnsupported(error)) throw error;
          context.say(`${id}: ${error.message}`);
        }
      }
    }
  }
}
