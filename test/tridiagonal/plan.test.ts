// Factor once, solve many.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { elementTypes, plan, solve } from '../../lib/tridiagonal/index.ts';
import { eachBackend, type BackendName } from '../support/backends.ts';
import { emptySolution, makeProblem, worstError } from '../support/problem.ts';
import { Random } from '../support/random.ts';
import { layoutKinds, store } from '../support/storage.ts';

const sizes = (backend: BackendName): readonly number[] => ({ cpu: [1, 2, 3, 4, 33, 130], simt: [1, 2, 3, 33], cuda: [1, 2, 3, 4, 33, 100, 513, 2000] })[backend];

describe('plan', () => {
  eachBackend((backend, device) => {
    for (const type of elementTypes) {
      for (const factorisation of ['regpack', 'pivoted', 'cholesky'] as const) {
        it(`solves again and again with ${factorisation} factors, ${type}`, async () => {
          for (const n of sizes(backend)) for (const layout of layoutKinds) for (const periodic of [false, true]) {
            const structure = factorisation === 'cholesky' ? 'positive-definite' as const : 'general' as const;
            const transpose = factorisation === 'cholesky' ? 'none' as const : (['none', 'transpose', 'conjugate'] as const)[n % 3]!;
            const spec = { n, batch: 3, rhsCount: 2, type, layout, periodic, structure, transpose };
            const random = new Random(n);
            const problem = makeProblem(spec, random);
            const { rhsCount, layouts, ...matrix } = problem.options;
            await using factored = await plan({ ...matrix, factorisation, device: await device() });
            ok(factored.status.allOk);
            for (let step = 0; step < 2; step += 1) {
              const x = emptySolution(problem);
              const again = { ...problem, rhs: step === 0 ? problem.rhs : store(type, layout, spec, () => [random.normal(), random.normal()]) };
              const { status } = await factored.solve({
                rhs: again.rhs.vector, out: x.vector, rhsCount, layout: problem.options.layout, layouts: { rhs: layouts!.rhs!, solution: layouts!.rhs! },
              });
              ok(status.allOk);
              ok(x.gapsIntact());
              const error = worstError(again, x);
              ok(error <= 100, `${error} epsilons: ${JSON.stringify({ n, layout, periodic, transpose, step })}`);
            }
          }
        });
      }
    }

    it('keeps failures in their system', async () => {
      const diagonal = Float64Array.of(2, 2, 2, 0, 0, 0, 3, 3, 3);
      const side = Float64Array.of(0, 1, 0, 0, 0, 0, 0, 1, 0);
      for (const factorisation of ['regpack', 'pivoted'] as const) {
        await using factored = await plan({ lower: side, diagonal, upper: side, n: 3, batch: 3, factorisation, device: await device() });
        deepStrictEqual(Array.from(factored.status, ({ state }) => state), ['ok', 'zero-pivot', 'ok']);
        const { status, solution } = await factored.solve({ rhs: Float64Array.of(2, 3, 2, 1, 1, 1, 3, 4, 3) });
        deepStrictEqual(Array.from(status, ({ state }) => state), ['ok', 'zero-pivot', 'ok']);
        ok([0, 1, 2, 6, 7, 8].every((i) => Number.isFinite(solution[i]!)));
      }
    });

    it('solves ragged and empty batches', async () => {
      const offsets = [0, 2, 2, 5];
      const diagonal = new Float64Array(5).fill(4);
      await using ragged = await plan({ lower: 1, diagonal, upper: 1, offsets, device: await device() });
      const rhs = Float64Array.of(5, 5, 5, 6, 5);
      const { solution } = await ragged.solve({ rhs });
      deepStrictEqual(Array.from(solution, (value) => Math.round(value * 1e12) / 1e12), [1, 1, 1, 1, 1]);
      await using none = await plan({ lower: 1, diagonal: new Float64Array(0), upper: 1, n: 4, batch: 0, device: await device() });
      strictEqual((await none.solve({ rhs: new Float64Array(0) })).solution.length, 0);
    });

    it('runs overlapping solves in order and waits for them when disposed', async () => {
      const n = 50;
      const matrix = { lower: -1, diagonal: new Float64Array(n).fill(3), upper: -1, device: await device() };
      const factored = await plan(matrix);
      const all = Array.from({ length: 20 }, (_, k) => factored.solve({ rhs: new Float64Array(n).fill(k) }));
      const disposed = factored.dispose();
      const results = await Promise.all(all);
      await disposed;
      for (const [k, { solution }] of results.entries()) {
        const { solution: expected } = await solve({ ...matrix, rhs: new Float64Array(n).fill(k) });
        ok(solution.every((value, i) => Math.abs(value - expected[i]!) <= 1e-14 * k));
      }
      await factored.dispose();
      strictEqual(factored.disposed, true);
      await rejects(factored.solve({ rhs: new Float64Array(n) }), { code: 'ERR_WARPLOOM_DISPOSED' });
    });

    it('frees its memory', async () => {
      const open = await device();
      await open.trim(); // memory is given back behind the calls that use it
      const before = open.memory().inUseBytes;
      {
        await using factored = await plan({ lower: 0, diagonal: new Float64Array(1000).fill(1), upper: 0, device: open });
        const least = 1000 * (factored.factorisation === 'none' ? 8 : 24); // the diagonal alone; three numbers per row
        ok(factored.bytes >= least && factored.bytes < least + 1024);
        ok(open.memory().inUseBytes >= before + factored.bytes);
      }
      await open.trim();
      strictEqual(open.memory().inUseBytes, before);
    });

    it('refuses what does not fit it', async () => {
      const matrix = { lower: 0, diagonal: new Float64Array(4).fill(1), upper: 0, device: await device() };
      await using factored = await plan(matrix);
      const refused = (argument: string) => ({ code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });
      await rejects(factored.solve({ rhs: new Float64Array(5) }), refused('rhs'));
      await rejects(factored.solve({ rhs: new Float32Array(4) }), refused('rhs'));
      await rejects(factored.solve({ rhs: new Float64Array(4), out: new Float64Array(3) }), refused('out'));
      await rejects(factored.solve({ rhs: new Float64Array(8), rhsCount: 3 }), refused('rhs'));
      await rejects(plan({ ...matrix, factorisation: 'cholesky' }), refused('factorisation'));
      await rejects(plan({ ...matrix, stable: true, factorisation: 'regpack' }), refused('factorisation'));
      await rejects(plan({ ...matrix, rhsCount: 2 } as Parameters<typeof plan>[0]), refused('rhsCount'));
    });
  });
});
