// Failures stay in their system, carry their row, and never hide in a NaN.
import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert/strict';
import { algorithms, solve, stateOf, SystemStatuses, wasResolvedByPivoting, type MethodOptions } from '../../lib/tridiagonal/index.ts';
import { eachBackend } from '../support/backends.ts';
import { makeProblem, type Problem } from '../support/problem.ts';
import { Random } from '../support/random.ts';
import { solveIfSupported } from '../support/solving.ts';

const methods: readonly MethodOptions[] = [
  ...algorithms.map((algorithm) => ({ algorithm })), { stable: true }, { check: true }, { stable: true, check: true },
];
const n = 40;
const batch = 7;
const bad = 3;

function realProblem(layout: 'contiguous' | 'interleaved', type: 'float32' | 'float64', size = n): Problem {
  return makeProblem({ n: size, batch, rhsCount: 1, type, layout }, new Random(11));
}

const position = (layout: string, system: number, row: number, size = n) =>
  (layout === 'contiguous' ? system * size + row : row * batch + system);

describe('status of every system', () => {
  eachBackend((_, device) => {
    for (const method of methods) {
      for (const layout of ['contiguous', 'interleaved'] as const) {
        it(`contains NaN and infinity: ${JSON.stringify(method)}, ${layout}`, async () => {
          for (const type of ['float32', 'float64'] as const) {
            const clean = realProblem(layout, type);
            const expected = await solveIfSupported(clean, await device(), method);
            if (expected === undefined) continue;
            for (const name of ['lower', 'diagonal', 'upper', 'rhs'] as const) {
              for (const value of [NaN, Infinity, -Infinity]) {
                for (const row of [1, 17, n - 2]) {
                  const problem = realProblem(layout, type);
                  (problem[name].vector as Float64Array)[position(layout, bad, row)] = value;
                  const { solution, status } = await solve({ ...problem.options, ...method, rhs: problem.rhs.vector as Float64Array, device: await device() });
                  const where = `${name}[${row}] = ${value}, ${type}`;
                  strictEqual(status.at(bad).state, 'non-finite', where);
                  strictEqual(status.at(bad).row, row, where);
                  strictEqual([...status.failures()].length, 1, where);
                  for (let s = 0; s < batch; s += 1) for (let i = 0; i < n && s !== bad; i += 1) {
                    strictEqual(solution[position(layout, s, i)], expected.x.at(s, i)[0], `system ${s} changed: ${where}`);
                  }
                }
              }
            }
          }
        });

        it(`never reads the unused corners: ${JSON.stringify(method)}, ${layout}`, async () => {
          for (const type of ['float32', 'float64'] as const) {
            for (const size of [1, 2, 3, 33]) {
              const clean = realProblem(layout, type, size);
              const expected = await solveIfSupported(clean, await device(), method);
              if (expected === undefined) continue;
              const problem = realProblem(layout, type, size);
              for (let s = 0; s < batch; s += 1) {
                (problem.lower.vector as Float64Array)[position(layout, s, 0, size)] = NaN;
                (problem.upper.vector as Float64Array)[position(layout, s, size - 1, size)] = NaN;
              }
              const { solution, status } = await solve({ ...problem.options, ...method, rhs: problem.rhs.vector as Float64Array, device: await device() });
              ok(status.allOk);
              deepStrictEqual(solution, expected.x.vector);
            }
          }
        });
      }
    }

    it('reports zero pivots of elimination in order, with the row', async () => {
      for (const row of [0, 17, n - 1]) {
        const problem = realProblem('contiguous', 'float64');
        zeroRow(problem, bad, row);
        const { status } = await solve({ ...problem.options, rhs: problem.rhs.vector, algorithm: 'thomas', device: await device() });
        strictEqual(status.at(bad).state, 'zero-pivot');
        strictEqual(status.at(bad).row, row);
        strictEqual([...status.failures()].length, 1);
      }
    });

    it('reports singular systems by pivoting and by check', async () => {
      for (const row of [0, 17, n - 1]) {
        for (const method of [{ stable: true }, { check: true }, { stable: true, check: true }]) {
          const problem = realProblem('interleaved', 'float64');
          zeroRow(problem, bad, row);
          const { status, backwardError } = await solve({ ...problem.options, ...method, rhs: problem.rhs.vector, device: await device() });
          const { state, resolvedByPivoting } = status.at(bad);
          strictEqual(state, 'zero-pivot', JSON.stringify({ row, ...method }));
          ok(!resolvedByPivoting, 'pivoting found no answer either');
          if (backwardError !== undefined) strictEqual((backwardError as Float64Array)[bad], Infinity);
          strictEqual([...status.failures()].length, 1);
        }
      }
    });

    it('solves zero diagonals again by pivoting under check, and says so', async () => {
      const problem = realProblem('contiguous', 'float64');
      const diagonal = problem.diagonal.vector as Float64Array;
      for (let i = 0; i < n; i += 1) diagonal[bad * n + i] = 0;
      const { status, backwardError } = await solve({ ...problem.options, rhs: problem.rhs.vector, check: true, device: await device() });
      ok(status.allOk);
      deepStrictEqual(Array.from(status, ({ resolvedByPivoting }) => resolvedByPivoting), Array.from({ length: batch }, (_, s) => s === bad));
      ok((backwardError as Float64Array).every((error) => error <= 64 * 2 ** -52));
    });
  });

  it('decodes words', () => {
    const statuses = new SystemStatuses(Int32Array.of(0, 1, 2, 3, 0x100, 0), Int32Array.of(-1, 4, 2, -1, -1, -1), 2);
    strictEqual(statuses.allOk, false);
    deepStrictEqual(statuses.counts(), { 'ok': 3, 'zero-pivot': 1, 'non-finite': 1, 'inaccurate': 1, 'resolvedByPivoting': 1 });
    deepStrictEqual(statuses.at(0, 1), { system: 0, rhs: 1, state: 'zero-pivot', row: 4, resolvedByPivoting: false });
    deepStrictEqual(Array.from(statuses.failures(), ({ system, rhs }) => [system, rhs]), [[0, 1], [1, 0], [1, 1]]);
    for (const [system, rhs] of [[3, 0], [0, 2], [-1, 0], [0.25, 0], [NaN, 0]] as const) throws(() => statuses.at(system, rhs), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    throws(() => statuses.throwIfFailed(), { code: 'ERR_WARPLOOM_SYSTEM_FAILED', message: /3 of 6 systems failed; system 0, right-hand side 1: zero-pivot at row 4/ });
    new SystemStatuses(Int32Array.of(0, 0x100), Int32Array.of(-1, -1), 1).throwIfFailed();
    strictEqual(stateOf(0x101), 'zero-pivot');
    strictEqual(wasResolvedByPivoting(0x101), true);
  });
});

/** Makes row `row` of one system of a contiguous or interleaved problem zero: singular. */
function zeroRow(problem: Problem, system: number, row: number): void {
  for (const name of ['lower', 'diagonal', 'upper'] as const) {
    (problem[name].vector as Float64Array)[position(problem.spec.layout, system, row)] = 0;
  }
  // Uncouple the row above and below too, so that elimination meets the zero exactly there.
  if (row > 0) (problem.upper.vector as Float64Array)[position(problem.spec.layout, system, row - 1)] = 0;
}
