// Small calls of every algorithm, which `npm run test:gpu` repeats under each tool of compute-sanitizer: out-of-bounds
// and misaligned accesses, races in shared memory, uninitialised reads, barriers met by some threads only.
import { deepStrictEqual, ok } from 'node:assert/strict';
import { scan, tridiagonal, type Device } from '../../lib/index.ts';
import { rowDominant } from '../support/families.ts';
import { eachBackend, skipCases } from '../support/backends.ts';
import { Random } from '../support/random.ts';
import { componentwiseError, epsilon } from '../support/reference.ts';

const algorithms = ['auto', 'cr', 'pcr', 'cr-pcr', 'pcr-thomas', 'thomas', 'cr-regpack', 'partition', 'pivoting'] as const;
const sizes = [1, 2, 33, 257];
const batch = 3;

/** Worst componentwise backward error of a batch, or undefined where the algorithm does not take it. */
async function solveBatch(
  device: Device, n: number, type: 'float32' | 'float64', method: tridiagonal.MethodOptions,
): Promise<number | undefined> {
  const random = new Random(n);
  const make = () => (type === 'float32' ? new Float32Array(n * batch) : new Float64Array(n * batch));
  const bands = { lower: make(), diagonal: make(), upper: make() };
  for (let s = 0; s < batch; s += 1) {
    const matrix = rowDominant(n, random, 0.5);
    for (const name of ['lower', 'diagonal', 'upper'] as const) bands[name].set(matrix[name], s * n);
  }
  const rhs = make().map(() => random.uniform()) as Float64Array;
  try {
    const { solution } = await tridiagonal.solve({ ...bands, rhs, n, batch, device, ...method });
    const part = (values: Float32Array | Float64Array, s: number) => Float64Array.from(values.subarray(s * n, (s + 1) * n));
    return Math.max(...Array.from({ length: batch }, (_, s) => componentwiseError({
      lower: part(bands.lower, s), diagonal: part(bands.diagonal, s), upper: part(bands.upper, s),
    }, part(solution, s), part(rhs, s))));
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_WARPLOOM_UNSUPPORTED') return undefined;
    throw error;
  }
}

describe('sanitized', function () {
  this.timeout(600_000);
  eachBackend((backend, device) => {
    for (const algorithm of algorithms) {
      for (const type of ['float32', 'float64'] as const) {
        it(`solves by ${algorithm} in ${type}`, async () => {
          for (const n of sizes) {
            const method = algorithm === 'pivoting' ? { stable: true } : { algorithm };
            const error = await solveBatch(await device(), n, type, method);
            if (error === undefined) skipCases(`${backend}: ${algorithm} does not take n = ${n}`);
            else ok(error <= 1000 * epsilon[type], `n = ${n}: ${error}`);
          }
        });
      }
    }

    it('checks and re-solves', async () => {
      const error = await solveBatch(await device(), 65, 'float64', { check: true });
      ok(error !== undefined && error <= 100 * epsilon.float64, String(error));
    });

    for (const algorithm of ['regpack', 'shared'] as const) {
      it(`scans by ${algorithm}`, async () => {
        for (const n of [1, 33, 1025]) {
          const { result } = await scan(new Float64Array(n).fill(1), { algorithm, device: await device() });
          deepStrictEqual(result, Float64Array.from({ length: n }, (_, i) => i + 1));
        }
      });
    }
  });
});
