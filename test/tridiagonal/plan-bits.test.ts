// A plan without factors gives what solve gives, to the bit: over every option that plans take.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import type { Device } from '../../lib/core/device.ts';
import { elementTypes, plan, solve, type PlanOptions, type SolveOptions } from '../../lib/tridiagonal/index.ts';
import { eachBackend } from '../support/backends.ts';
import { emptySolution, makeProblem, type Problem } from '../support/problem.ts';
import { Random } from '../support/random.ts';
import { layoutKinds } from '../support/storage.ts';

/** The bytes of a vector, of both parts where they are apart. */
function bytesOf(vector: unknown): Buffer {
  if (ArrayBuffer.isView(vector)) return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
  const { re, im } = vector as { re: unknown; im: unknown };
  return Buffer.concat([bytesOf(re), bytesOf(im)]);
}

interface Outcome {
  readonly solution: unknown;
  readonly status: { readonly words: Int32Array; readonly rows: Int32Array };
  readonly backwardError?: unknown;
}

function same(planned: Outcome, solved: Outcome, where: string): void {
  ok(bytesOf(planned.solution).equals(bytesOf(solved.solution)), `other bits: ${where}`);
  deepStrictEqual([planned.status.words, planned.status.rows], [solved.status.words, solved.status.rows], where);
  deepStrictEqual(planned.backwardError, solved.backwardError, where);
}

/** Both ways to solve a problem, into arrays of their own. */
async function compare(problem: Problem, method: { check?: boolean; tolerance?: number }, device: Device, where: string): Promise<void> {
  const { rhsCount, layouts, ...matrix } = problem.options;
  await using without = await plan({ ...matrix, layouts, ...method, factorisation: 'none', device } as PlanOptions);
  const solved = await solve({ ...problem.options, ...method, rhs: problem.rhs.vector, out: emptySolution(problem).vector, device } as SolveOptions);
  for (let turn = 0; turn < 2; turn += 1) {
    const planned = await without.solve({
      rhs: problem.rhs.vector, out: emptySolution(problem).vector, rhsCount, layout: problem.options.layout,
      layouts: { rhs: layouts!.rhs!, solution: layouts!.rhs! },
    });
    same(planned, solved, where);
  }
}

describe('plan without factors', function () {
  this.timeout(120_000);
  eachBackend((backend, device) => {
    for (const type of elementTypes) {
      it(`solves as solve does, ${type}`, async () => {
        let turn = 0;
        for (const n of backend === 'cuda' ? [1, 2, 3, 33, 130, 513, 1000] : [1, 2, 3, 33, 130]) {
          for (const layout of layoutKinds) for (const periodic of [false, true]) {
            turn += 1;
            const structure = turn % 3 === 0 ? 'positive-definite' as const : 'general' as const;
            const transpose = (['none', 'transpose', 'conjugate'] as const)[turn % 3]!;
            const check = turn % 2 === 0;
            // A tolerance that no answer of many rows meets: all are solved again.
            const method = check ? { check, ...(turn % 4 === 0 ? { tolerance: 1e-30 } : {}) } : {};
            const spec = { n, batch: 3, rhsCount: 1 + turn % 2, type, layout, periodic, structure, transpose };
            await compare(makeProblem(spec, new Random(turn)), method, await device(), JSON.stringify({ ...spec, ...method }));
          }
        }
      });
    }

    for (const type of ['float32', 'float64'] as const) {
      it(`chooses as solve does for batches that fill the device, ${type}`, async () => {
        const open = await device();
        const unknowns = backend === 'cuda' ? 1_200_000 : 36_000;
        for (const n of [63, 128, 130, 600]) {
          const batch = Math.ceil(unknowns / n);
          const { options, rhs } = makeProblem({ n, batch, rhsCount: 1, type, layout: 'contiguous' }, new Random(n));
          const right = { rhs: rhs.vector as Float64Array };
          const [lower, diagonal, upper] = [options.lower, options.diagonal, options.upper].map((band) => (band as Float64Array).subarray(0, n));
          const matrices = [
            { lower: options.lower, diagonal: options.diagonal, upper: options.upper! }, { lower: lower!, diagonal: diagonal!, upper: upper! },
            { lower: -1, diagonal: diagonal!, upper: -1.5 },
          ];
          for (const [kind, matrix] of matrices.entries()) {
            await using without = await plan({ ...matrix, n, batch, factorisation: 'none', device: open });
            same(await without.solve(right), await solve({ ...matrix, ...right, n, batch, device: open }), `${n}, matrix ${kind}`);
          }
        }
      });
    }

    it('solves ragged batches as solve does', async () => {
      const offsets = [0, 2, 2, 5, 75];
      const random = new Random(3);
      const [lower, diagonal, upper, rhs] = [0, 4, 0, 0].map((mean) => new Float64Array(75).map(() => mean + random.uniform()));
      const matrix = { lower: lower!, diagonal: diagonal!, upper: upper!, offsets, device: await device() };
      for (const periodic of [false, true]) {
        await using without = await plan({ ...matrix, periodic, factorisation: 'none' });
        same(await without.solve({ rhs: rhs! }), await solve({ ...matrix, periodic, rhs: rhs! }), `periodic ${periodic}`);
      }
    });

    it('finds at planning what solve finds, and keeps the matrix as it was', async () => {
      const n = 9, batch = 4;
      const make = (value: number) => new Float64Array(n * batch).fill(value);
      const bands = { lower: make(-1), diagonal: make(4), upper: make(-1) };
      const matrix = { ...bands, n, batch, device: await device() };
      bands.lower[n + 2] = NaN;
      for (let row = 2 * n; row < 3 * n; row += 1) bands.lower[row] = bands.upper[row] = 0;
      bands.diagonal[2 * n + 5] = 0;
      const solved = await solve({ ...matrix, rhs: make(1) });
      await using without = await plan({ ...matrix, factorisation: 'none' });
      for (const band of Object.values(bands)) band.fill(77);
      const states = ['ok@-1', 'non-finite@2', 'zero-pivot@5', 'ok@-1'];
      deepStrictEqual(Array.from(without.status, ({ state, row }) => `${state}@${row}`), states);
      same(await without.solve({ rhs: make(1) }), solved, 'bad systems');
      await using open = await plan({ ...matrix, ...{ lower: make(-1), diagonal: make(4), upper: make(-1) }, factorisation: 'none' });
      ok(open.status.allOk);
    });

    it('is what GPUs keep of systems of one length, neither periodic nor stable', async () => {
      const open = await device();
      const matrix = { lower: -1, diagonal: new Float64Array(8).fill(4), upper: -1, device: open };
      const definite = { lower: -1, diagonal: matrix.diagonal, structure: 'positive-definite' as const, device: open };
      const kept = async (options: PlanOptions): Promise<string> => {
        await using made = await plan(options);
        return made.factorisation;
      };
      const gpu = backend !== 'cpu';
      strictEqual(await kept(matrix), gpu ? 'none' : 'regpack');
      strictEqual(await kept(definite), gpu ? 'none' : 'cholesky');
      strictEqual(await kept({ ...matrix, periodic: true }), 'regpack');
      strictEqual(await kept({ ...matrix, offsets: [0, 3, 8] }), 'regpack');
      strictEqual(await kept({ ...matrix, stable: true }), 'pivoted');
      strictEqual(await kept({ ...definite, stable: true }), 'cholesky');
      strictEqual(await kept({ ...matrix, factorisation: 'regpack' }), 'regpack');
      await rejects(plan({ ...matrix, stable: true, factorisation: 'none' }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'factorisation' });
    });
  });
});
