// What plans say of bad input, of one matrix for a batch, and under `check`; and what they keep.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { DeviceArray } from '../../lib/core/device.ts';
import { elementTypes, plan, solve } from '../../lib/tridiagonal/index.ts';
import { eachBackend } from '../support/backends.ts';
import { makeProblem } from '../support/problem.ts';
import { Random } from '../support/random.ts';

const words = (status: Iterable<{ state: string; row: number }>) => Array.from(status, ({ state, row }) => `${state}@${row}`);

describe('plan status', () => {
  eachBackend((_, device) => {
    for (const factorisation of ['regpack', 'pivoted', 'cholesky'] as const) {
      for (const periodic of [false, true]) {
        it(`says of every input that is not finite what solve says: ${factorisation}, periodic ${periodic}`, async () => {
          const batch = 3;
          const structure = factorisation === 'cholesky' ? { structure: 'positive-definite' as const } : {};
          for (const type of ['float32', 'float64'] as const) for (const n of [8, 9]) {
            const fresh = () => {
              const make = (value: number) => (type === 'float32' ? new Float32Array(n * batch) : new Float64Array(n * batch)).fill(value);
              return { lower: make(-1), diagonal: make(4), upper: make(-1), rhs: make(1) };
            };
            const names = factorisation === 'cholesky' ? ['lower', 'diagonal', 'rhs'] as const : ['lower', 'diagonal', 'upper', 'rhs'] as const;
            for (const name of names) for (const value of [NaN, Infinity, -Infinity]) for (let row = 0; row < n; row += 1) {
              const { rhs, upper, ...rest } = fresh();
              const arrays = { rhs, upper, ...rest };
              arrays[name][n + row] = value;
              const matrix = {
                ...rest, ...(factorisation === 'cholesky' ? {} : { upper }), ...structure, periodic, n, batch, device: await device(),
              };
              const solved = await solve({ ...matrix, rhs, stable: factorisation === 'pivoted' });
              await using factored = await plan({ ...matrix, factorisation });
              const planned = await factored.solve({ rhs });
              const where = `${name}[${row}] = ${value}, n ${n}, ${type}`;
              deepStrictEqual(words(planned.status), words(solved.status), where);
              if (name !== 'rhs') deepStrictEqual(words(factored.status), words(solved.status), where);
              for (const i of [0, n - 1, 2 * n, 3 * n - 1]) ok(Number.isFinite(planned.solution[i]!), where);
            }
          }
        });
      }
    }

    it('carries the row of a zero pivot into every solve', async () => {
      const diagonal = Float64Array.of(2, 2, 2, 2, 0, 0, 3, 3, 3);
      const side = Float64Array.of(0, 1, 0, 0, 0, 0, 0, 1, 0);
      for (const factorisation of ['regpack', 'pivoted'] as const) {
        await using factored = await plan({ lower: side, diagonal, upper: side, n: 3, batch: 3, factorisation, device: await device() });
        const { status, solution } = await factored.solve({ rhs: new Float64Array(18).fill(1), rhsCount: 2 });
        deepStrictEqual(words(status), ['ok@-1', 'ok@-1', 'zero-pivot@1', 'zero-pivot@1', 'ok@-1', 'ok@-1']);
        ok(solution.subarray(6, 12).every(Number.isNaN), 'no number stands for a failure');
      }
    });

    for (const type of elementTypes) {
      it(`keeps one matrix for a batch once, ${type}`, async () => {
        for (const factorisation of ['regpack', 'pivoted', 'cholesky'] as const) for (const periodic of [false, true]) {
          const n = 33, batch = 21, rhsCount = 2;
          const structure = factorisation === 'cholesky' ? 'positive-definite' as const : 'general' as const;
          const one = makeProblem({ n, batch: 1, rhsCount: 1, type, layout: 'contiguous', periodic, structure }, new Random(5)).options;
          const parts = type.startsWith('complex') ? 2 : 1;
          const repeated = (band: unknown) => {
            const source = band as Float64Array;
            const all = new (source.constructor as Float64ArrayConstructor)(source.length * batch);
            for (let s = 0; s < batch; s += 1) all.set(source, s * source.length);
            return all;
          };
          const { lower, diagonal, upper, complex } = one as unknown as Record<string, Float64Array> & { complex?: boolean };
          const open = { periodic, structure, factorisation, n, batch, device: await device(), ...(complex === undefined ? {} : { complex }) };
          const random = new Random(6);
          const rhs = new (diagonal!.constructor as Float64ArrayConstructor)(n * batch * rhsCount * parts).map(() => random.normal());
          const side = structure === 'general' ? { upper: upper! } : {};
          await using shared = await plan({ ...open, lower: lower!, diagonal: diagonal!, ...side });
          await using apart = await plan({
            ...open, lower: repeated(lower), diagonal: repeated(diagonal), ...(structure === 'general' ? { upper: repeated(upper) } : {}),
          });
          ok(shared.bytes * 8 < apart.bytes, `${shared.bytes} of ${apart.bytes} bytes`);
          strictEqual(shared.status.length, batch);
          for (const layout of ['contiguous', 'interleaved'] as const) {
            const [x, y] = [await shared.solve({ rhs, rhsCount, layout }), await apart.solve({ rhs, rhsCount, layout })];
            deepStrictEqual(x.solution, y.solution);
            ok(x.status.allOk && y.status.allOk && x.status.length === batch * rhsCount);
          }
        }
      });
    }

    it('says of a shared matrix that fails that every system does', async () => {
      await using factored = await plan({ lower: 0, diagonal: Float64Array.of(1, 0, 1), upper: 0, n: 3, batch: 4, device: await device() });
      deepStrictEqual(words(factored.status), new Array(4).fill('zero-pivot@1'));
      deepStrictEqual(words((await factored.solve({ rhs: new Float64Array(12) })).status), new Array(4).fill('zero-pivot@1'));
    });

    it('keeps what its factorisation needs and no more', async () => {
      const n = 1000, batch = 8;
      const perRow = { float32: [12, 8, 17], float64: [24, 16, 33], complex64: [24, 16, 33], complex128: [48, 32, 65] } as const;
      for (const type of elementTypes) for (const [kind, factorisation] of (['regpack', 'cholesky', 'pivoted'] as const).entries()) {
        const structure = factorisation === 'cholesky' ? 'positive-definite' as const : 'general' as const;
        const { options: { rhsCount: unused, layouts: _, ...matrix } } =
          makeProblem({ n, batch, rhsCount: 1, type, layout: 'contiguous', structure }, new Random(1));
        strictEqual(unused, 1);
        await using factored = await plan({ ...matrix, factorisation, device: await device() });
        const least = n * batch * perRow[type][kind]!;
        ok(factored.bytes >= least && factored.bytes <= least + 1024, `${type} ${factorisation}: ${factored.bytes} for ${least}`);
      }
    });

    for (const type of elementTypes) {
      it(`solves again by pivoting under check, ${type}`, async () => {
        const n = 40, batch = 7, bad = 3;
        const eps = type === 'float32' || type === 'complex64' ? 2 ** -23 : 2 ** -52;
        for (const periodic of [false, true]) {
          const problem = makeProblem({ n, batch, rhsCount: 1, type, layout: 'contiguous', periodic }, new Random(3));
          const diagonal = problem.diagonal.vector as Float64Array;
          const parts = diagonal.length / (n * batch);
          // Pivots of 1e-10 are no zeros, and elimination without exchanges loses ten digits.
          for (let i = 0; i < n * parts; i += 1) diagonal[bad * n * parts + i] = i % parts !== 0 ? 0 : periodic && i >= (n - 1) * parts ? 3 : 1e-10;
          const { rhsCount: _, layouts, ...matrix } = problem.options;
          const kept = diagonal.slice();
          await using factored = await plan({ ...matrix, check: true, device: await device() });
          diagonal.fill(77); // the plan has its own copy
          ok(layouts !== undefined);
          const { status, backwardError, solution } = await factored.solve({ rhs: problem.rhs.vector as Float64Array });
          ok(status.allOk, JSON.stringify([...status.failures()]));
          strictEqual(status.at(bad).resolvedByPivoting, true);
          strictEqual(status.counts().resolvedByPivoting, 1);
          ok(backwardError!.length === batch && backwardError!.every((error) => error <= 64 * eps), Array.from(backwardError!).join(' '));
          diagonal.set(kept);
          const again = await solve({ ...problem.options, rhs: problem.rhs.vector as Float64Array, check: true, device: await device() });
          const scale = Math.max(...Array.from(again.solution, Math.abs));
          ok(solution.every((x, i) => Math.abs(x - again.solution[i]!) <= 1e5 * eps * scale));
        }
      });
    }

    it('keeps the backward errors of a checked solve where the right-hand sides are', async () => {
      const open = await device();
      await using factored = await plan({ lower: -1, diagonal: new Float64Array(8).fill(4), upper: -1, check: true, device: open });
      using rhs = await open.array(new Float64Array(8).fill(1));
      const { solution, backwardError, status } = await factored.solve({ rhs });
      ok(status.allOk && backwardError instanceof DeviceArray);
      ok((await backwardError.read() as Float64Array).every((error) => error <= 64 * 2 ** -52));
      for (const array of [solution, backwardError]) array.dispose();
      await rejects(plan({ lower: 0, diagonal: new Float64Array(4).fill(1), upper: 0, tolerance: 1, device: open }),
        { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'tolerance' });
    });
  });
});
