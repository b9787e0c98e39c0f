// Every algorithm, depth, element type and layout.
import { ok, strictEqual } from 'node:assert/strict';
import { algorithms, elementTypes, type MethodOptions } from '../../lib/tridiagonal/index.ts';
import { eachBackend, type BackendName } from '../support/backends.ts';
import { makeProblem } from '../support/problem.ts';
import { Random } from '../support/random.ts';
import { solveIfSupported } from '../support/solving.ts';
import { layoutKinds } from '../support/storage.ts';

const methods: readonly MethodOptions[] = [
  ...algorithms.map((algorithm) => ({ algorithm })),
  ...[2, 4, 8, 9, 13, 16, 17, 32].map((depth) => ({ algorithm: 'cr-regpack' as const, depth })),
  { stable: true }, { check: true }, { stable: true, check: true },
];

const sizes: Record<BackendName, readonly number[]> = {
  cpu: [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64, 130],
  simt: [1, 2, 3, 5, 8, 17, 70],
  cuda: [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130, 257, 513, 1000],
};

describe('algorithms, depths, types and layouts', () => {
  eachBackend((backend, device) => {
    for (const method of methods) {
      for (const type of elementTypes) {
        // The cpu backend packs nothing and takes every depth; kernels of odd depths take real numbers.
        if (backend !== 'cpu' && (method.depth ?? 0) % 2 === 1 && type.startsWith('complex')) continue;
        it(`${JSON.stringify(method)} in ${type}`, async () => {
          let solved = 0;
          for (const layout of layoutKinds) {
            for (const n of sizes[backend]) {
              const random = new Random(n * 977 + layoutKinds.indexOf(layout));
              const problem = makeProblem({ n, batch: 3, rhsCount: 2, type, layout }, random);
              const done = await solveIfSupported(problem, await device(), method);
              if (done === undefined) continue;
              solved += 1;
              const { info } = done.result;
              strictEqual(info.type, type);
              strictEqual(info.backend, backend);
              if (backend !== 'cpu' && method.algorithm !== undefined && method.algorithm !== 'auto' && method.check !== true) {
                strictEqual(info.algorithm, method.algorithm);
              }
              if (backend !== 'cpu' && method.depth !== undefined) strictEqual(info.depth, method.depth);
            }
          }
          ok(solved > 0, 'no case was supported');
        });
      }
    }
  }, { cases: 2 * methods.length * elementTypes.length });
});
