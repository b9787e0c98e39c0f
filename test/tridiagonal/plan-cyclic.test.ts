// Plans of periodic systems whose leading rows are singular or nearly so, although the whole is not: a factorisation that
// cuts the last row off answers them wrongly with status ok.
import { ok, strictEqual } from 'node:assert/strict';
import { elementTypes, plan, solve, type ElementType, type Transpose } from '../../lib/tridiagonal/index.ts';
import { eachBackend } from '../support/backends.ts';
import { Random } from '../support/random.ts';

type Complex = readonly [number, number];
const product = ([a, b]: Complex, [c, d]: Complex): Complex => [a * c - b * d, a * d + b * c];
const difference = ([a, b]: Complex, [c, d]: Complex): Complex => [a - c, b - d];
const inverse = ([a, b]: Complex): Complex => [a / (a * a + b * b), -b / (a * a + b * b)];
const size = ([a, b]: Complex): number => Math.abs(a) + Math.abs(b);

interface Matrix { lower: Complex[]; diagonal: Complex[]; upper: Complex[] }

/** Bands 1, d, 1 with corners: the leading n-1 rows of odd n-1 are singular for d = 0. */
function constantFamily(n: number, d: number): Matrix {
  const all = (value: number): Complex[] => Array.from({ length: n }, () => [value, 0]);
  return { lower: all(1), diagonal: all(d), upper: all(1) };
}

/** Random bands, with the diagonal of row `row` such that elimination of the rows down to it ends in a pivot of `pivot`. */
function brokenFamily(n: number, row: number, pivot: number, isComplex: boolean, random: Random): Matrix {
  const band = (): Complex[] => Array.from({ length: n }, () => [random.normal(), isComplex ? random.normal() : 0]);
  const matrix = { lower: band(), diagonal: band(), upper: band() };
  let last: Complex = matrix.diagonal[0]!;
  for (let i = 1; i <= row; i += 1) {
    const fill = product(product(matrix.lower[i]!, matrix.upper[i - 1]!), inverse(last));
    if (i === row) matrix.diagonal[i] = [fill[0] + pivot, fill[1]];
    last = difference(matrix.diagonal[i]!, fill);
  }
  if (row === 0) matrix.diagonal[0] = [pivot, 0];
  return matrix;
}

const isComplexType = (type: ElementType): boolean => type.startsWith('complex');
const isSingle = (type: ElementType): boolean => type === 'float32' || type === 'complex64';

function pack(type: ElementType, systems: readonly (readonly Complex[])[]): Float32Array | Float64Array {
  const numbers = systems.flatMap((system) => system.flatMap((z) => (isComplexType(type) ? z : [z[0]])));
  return isSingle(type) ? Float32Array.from(numbers) : Float64Array.from(numbers);
}

function unpack(type: ElementType, array: Float32Array | Float64Array, at: number): Complex {
  return isComplexType(type) ? [array[2 * at]!, array[2 * at + 1]!] : [array[at]!, 0];
}

/** |b - op(A) x|_1 / (|A|_1 |x|_1 eps) of one system, from the numbers as the call had them. */
function residualRatio(
  type: ElementType, bands: Record<keyof Matrix, Float32Array | Float64Array>, rhs: Float32Array | Float64Array,
  x: Float32Array | Float64Array, n: number, system: number, transpose: Transpose,
): number {
  const residual: Complex[] = Array.from({ length: n }, (_, i) => unpack(type, rhs, system * n + i));
  const columns = new Float64Array(n);
  const couple = (row: number, column: number, entry: Complex) => {
    const [to, from] = transpose === 'none' ? [row, column] : [column, row];
    const value: Complex = transpose === 'conjugate' ? [entry[0], -entry[1]] : entry;
    residual[to] = difference(residual[to]!, product(value, unpack(type, x, system * n + from)));
    columns[from] = columns[from]! + size(value);
  };
  for (let i = 0; i < n; i += 1) {
    couple(i, (i + n - 1) % n, unpack(type, bands.lower, system * n + i));
    couple(i, i, unpack(type, bands.diagonal, system * n + i));
    couple(i, (i + 1) % n, unpack(type, bands.upper, system * n + i));
  }
  let norm = 0, solution = 0;
  for (let i = 0; i < n; i += 1) {
    norm += size(residual[i]!);
    solution += size(unpack(type, x, system * n + i));
  }
  return norm / (Math.max(...columns) * solution * (isSingle(type) ? 2 ** -23 : 2 ** -52));
}

function matrices(n: number, type: ElementType): Matrix[] {
  const random = new Random(n);
  const tiny = [0, 1e-16, 1e-14, 1e-12, 1e-8, 1e-4];
  // Where 4 divides n, the whole of 1, d, 1 is as singular as its part.
  const constant = n % 4 === 0 ? [] : tiny.map((d) => constantFamily(n, d));
  const rows = [n - 2, n - 3, 0, Math.floor(n / 2) - 1].filter((row) => row >= 0);
  const broken = rows.flatMap((row) => tiny.map((pivot) => brokenFamily(n, row, pivot, isComplexType(type), random)));
  return [...constant, ...broken];
}

describe('stable plans of periodic systems', () => {
  eachBackend((_, device) => {
    for (const type of elementTypes) {
      it(`solve like solve where the leading rows are singular, n = 3 to 70, ${type}`, async () => {
        for (let n = 3; n <= 70; n += 1) {
          const transpose = (['none', 'transpose', 'conjugate'] as const)[n % 3]!;
          const systems = matrices(n, type);
          const bands = {
            lower: pack(type, systems.map(({ lower }) => lower)), diagonal: pack(type, systems.map(({ diagonal }) => diagonal)),
            upper: pack(type, systems.map(({ upper }) => upper)),
          };
          const random = new Random(100 + n);
          const rhs = pack(type, systems.map(() => Array.from({ length: n }, (): Complex => [random.normal(), random.normal()])));
          const matrix = { ...bands, n, batch: systems.length, periodic: true, transpose, complex: isComplexType(type), device: await device() };
          const solved = await solve({ ...matrix, rhs, stable: true });
          await using factored = await plan({ ...matrix, stable: true });
          const planned = await factored.solve({ rhs });
          for (let system = 0; system < systems.length; system += 1) {
            const where = JSON.stringify({ n, system, transpose });
            strictEqual(planned.status.at(system).state, solved.status.at(system).state, where);
            if (solved.status.at(system).state !== 'ok') continue;
            for (const [name, x] of [['solve', solved.solution], ['plan', planned.solution]] as const) {
              const ratio = residualRatio(type, bands, rhs, x, n, system, transpose);
              ok(ratio <= 30, `${name}: ${ratio} epsilons, ${where}`);
            }
          }
          ok(solved.status.counts().ok >= systems.length - 3, `${solved.status.counts().ok} of ${systems.length} ok at n = ${n}`);
        }
      });
    }

    it('answer the matrix 1, d, 1 of six rows exactly', async () => {
      for (const d of [0, 1e-16, 1e-14, 1e-12, 1e-8]) {
        const n = 6;
        const matrix = { lower: 1, diagonal: new Float64Array(n).fill(d), upper: 1, periodic: true, device: await device() };
        await using factored = await plan({ ...matrix, stable: true });
        const { solution, status } = await factored.solve({ rhs: new Float64Array(n).fill(4 + 2 * d) });
        ok(status.allOk && factored.status.allOk, `d = ${d}`);
        ok(solution.every((x) => Math.abs(x - 2) <= 30 * 2 ** -52), `d = ${d}: ${Array.from(solution).join(' ')}`);
      }
    });

    it('take ragged batches, lane by lane', async () => {
      const sizes = [5, 1, 6, 2, 3, 0, 70, 6, 9, 4, 6, 33, 2];
      const offsets = [0];
      for (const n of sizes) offsets.push(offsets[offsets.length - 1]! + n);
      const diagonal = new Float64Array(offsets[offsets.length - 1]!).fill(1e-13);
      for (const [s, n] of sizes.entries()) if (n % 4 === 0) diagonal.fill(0.5, offsets[s], offsets[s + 1]);
      const side = new Float64Array(diagonal.length).fill(1);
      const rhs = diagonal.map((d) => 2 + d);
      const matrix = { lower: side, diagonal, upper: side, offsets, periodic: true, device: await device() };
      await using factored = await plan({ ...matrix, stable: true });
      const { solution, status } = await factored.solve({ rhs });
      ok(status.allOk, JSON.stringify([...status.failures()]));
      ok(solution.every((x) => Math.abs(x - 1) <= 1e-13), Array.from(solution).join(' '));
    });
  });
});
