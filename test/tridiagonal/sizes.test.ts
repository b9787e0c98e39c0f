// Sizes around every power of two and tile; batches from none to 65536.
import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { algorithms, elementTypes, solve } from '../../lib/tridiagonal/index.ts';
import { eachBackend } from '../support/backends.ts';
import { makeProblem } from '../support/problem.ts';
import { Random } from '../support/random.ts';
import { solveChecked, solveIfSupported } from '../support/solving.ts';
import { casesOf } from '../support/thorough.ts';

const around = [1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 513, 1000];
const large = [511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 100_000, casesOf(300_001, 1_000_000)];
const batches = [0, 1, 2, 31, 32, 33, 1000];
const largeBatches = [65535, 65536];

describe('sizes', () => {
  eachBackend((backend, device) => {
    for (const type of ['float32', 'float64'] as const) {
      for (const algorithm of backend === 'cpu' ? ['auto', 'pivoting'] as const : algorithms) {
        it(`${algorithm} in ${type}, n from 1 to 1000`, async () => {
          for (const n of around) {
            await solveIfSupported(makeProblem({ n, batch: 2, rhsCount: 1, type, layout: 'contiguous' }, new Random(n)), await device(), { algorithm });
          }
        });
      }
      for (const n of backend === 'simt' ? large.slice(0, 6) : type === 'float32' ? large.slice(0, -1) : large) {
        it(`auto and stable in ${type}, n = ${n}`, async () => {
          const problem = makeProblem({ n, batch: 1, rhsCount: 1, type, layout: 'contiguous' }, new Random(n));
          await solveChecked(problem, await device());
          await solveChecked(problem, await device(), { stable: true });
        });
      }
    }
  });
});

describe('batches', () => {
  eachBackend((backend, device) => {
    for (const layout of ['contiguous', 'interleaved', 'padded'] as const) {
      const some = layout === 'padded' ? batches : [...batches, ...largeBatches];
      for (const batch of backend === 'simt' ? batches.slice(0, 6) : some) {
        it(`of ${batch}, ${layout}`, async () => {
          const problem = makeProblem({ n: batch > 1000 ? 3 : 5, batch, rhsCount: 1, type: 'float64', layout }, new Random(batch));
          await solveChecked(problem, await device());
        });
      }
    }

    for (const type of elementTypes) {
      it(`without systems, rows or right-hand sides gives nothing, in ${type}`, async () => {
        for (const [n, batch, rhsCount] of [[4, 0, 1], [0, 4, 1], [0, 0, 1], [4, 4, 0], [0, 0, 0]] as const) {
          for (const extra of [{}, { stable: true }, { check: true }, { periodic: true }]) {
            const problem = makeProblem({ n, batch, rhsCount, type, layout: 'contiguous' }, new Random(1));
            const { solution, status, row } = await solve({
              ...problem.options, ...extra, rhs: problem.rhs.vector, device: await device(),
            });
            strictEqual('length' in solution ? solution.length : solution.re.length, 0);
            strictEqual(status.length, batch * rhsCount);
            deepStrictEqual([...row], new Array(batch * rhsCount).fill(-1));
            strictEqual(status.allOk, true);
          }
        }
      });
    }
  });
});

describe('systems that share a warp', () => {
  // Enough of them that the solvers give each as few threads as they ever do.
  const shapes = [[17, 300], [64, 300], [65, 300], [130, 200], [257, 110], [300, 100], [520, 40]] as const;
  eachBackend((backend, device) => {
    if (backend === 'cpu') return;
    for (const algorithm of ['cr', 'cr-pcr', 'thomas'] as const) {
      for (const type of ['float32', 'complex128'] as const) {
        it(`${algorithm} in ${type}`, async () => {
          for (const [n, batch] of shapes) {
            await solveChecked(makeProblem({ n, batch, rhsCount: 1, type, layout: 'contiguous' }, new Random(n)), await device(), { algorithm });
          }
        });
      }

      it(`${algorithm}: one without an answer leaves the others alone`, async () => {
        for (const [n, batch] of shapes) {
          const lower = new Float64Array(n * batch).fill(-1), upper = lower.slice();
          const diagonal = new Float64Array(n * batch).fill(4), rhs = new Float64Array(n * batch).fill(1);
          const zero = { system: 5, row: n >> 1 }, infinite = { system: batch - 2, row: n - 1 };
          const at = zero.system * n + zero.row;
          lower[at] = diagonal[at] = upper[at] = 0;
          rhs[infinite.system * n + infinite.row] = Infinity;
          const options = { lower, diagonal, upper, rhs, n, batch, algorithm, device: await device() };
          const { solution, status } = await solve(options);
          for (let s = 0; s < batch; s += 1) {
            const where = `n = ${n}, system ${s}`, found = status.at(s);
            const bad = s === zero.system ? zero : s === infinite.system ? infinite : undefined;
            strictEqual(found.state, bad === undefined ? 'ok' : bad === zero ? 'zero-pivot' : 'non-finite', where);
            if (bad !== undefined) strictEqual(found.row, bad.row, where);
            else deepStrictEqual(solution.slice(s * n, (s + 1) * n), solution.slice(0, n), where);
          }
        }
      });
    }
  });
});
