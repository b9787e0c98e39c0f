// Properties over random shapes, types, layouts and options; repeatability bit for bit.
import { deepStrictEqual, ok } from 'node:assert/strict';
import fc from 'fast-check';
import { elementTypes, solve } from '../../lib/tridiagonal/index.ts';
import { eachBackend } from '../support/backends.ts';
import { makeProblem } from '../support/problem.ts';
import { Random } from '../support/random.ts';
import { solveChecked } from '../support/solving.ts';
import { bitsOf, layoutKinds } from '../support/storage.ts';

const shape = (most: number) => ({
  n: fc.integer({ min: 1, max: most }),
  batch: fc.integer({ min: 0, max: 6 }),
  rhsCount: fc.integer({ min: 1, max: 3 }),
  type: fc.constantFrom(...elementTypes),
  layout: fc.constantFrom(...layoutKinds),
});

describe('properties', function () {
  this.timeout(60_000);
  eachBackend((backend, device) => {
    const [most, runs] = backend === 'simt' ? [70, 40] : [700, 150];

    it('every well-posed problem is solved within its backward error', async () => {
      await fc.assert(fc.asyncProperty(fc.record({
        ...shape(most),
        periodic: fc.boolean(),
        transpose: fc.constantFrom('none' as const, 'transpose' as const, 'conjugate' as const),
        structure: fc.constantFrom('general' as const, 'positive-definite' as const),
        stable: fc.boolean(), check: fc.boolean(), seed: fc.nat(1e6),
      }), async ({ stable, check, seed, ...spec }) => {
        await solveChecked(makeProblem(spec, new Random(seed)), await device(), { stable, check }, 100);
      }), { numRuns: runs, seed: 20_261_120 });
    });

    it('scaling a system by a power of two scales nothing else', async () => {
      await fc.assert(fc.asyncProperty(fc.integer({ min: 1, max: most }), fc.integer({ min: -20, max: 20 }), fc.nat(1e6), async (n, power, seed) => {
        const problem = makeProblem({ n, batch: 2, rhsCount: 1, type: 'float64', layout: 'contiguous' }, new Random(seed));
        const { x } = await solveChecked(problem, await device());
        const factor = 2 ** power;
        const rhs = (problem.rhs.vector as Float64Array).map((value) => value * factor);
        const { solution } = await solve({ ...problem.options, rhs, device: await device() });
        deepStrictEqual(solution.map((value) => value / factor), x.vector);
      }), { numRuns: 20, seed: 4 });
    });

    it('a system gives the same bits alone, in a batch and anywhere in it', async () => {
      for (const type of elementTypes) {
        const problem = makeProblem({ n: 45, batch: 6, rhsCount: 1, type, layout: 'contiguous' }, new Random(8));
        const method = { algorithm: 'cr-regpack', depth: 4 } as const;
        const { x } = await solveChecked(problem, await device(), method);
        const all = x.vector as Float64Array;
        const words = all.length / 6;
        for (const s of [0, 3, 5]) {
          const part = (vector: unknown) => (vector as Float64Array).slice(s * words, (s + 1) * words);
          const { solution } = await solve({
            ...problem.options, batch: 1, lower: part(problem.lower.vector), diagonal: part(problem.diagonal.vector),
            upper: part(problem.upper.vector), rhs: part(problem.rhs.vector), ...method, device: await device(),
          });
          deepStrictEqual(solution, part(all), `${type}, system ${s}`);
        }
      }
    });

    it('20 runs, 4 at a time, give the same bits', async () => {
      for (const method of [{}, { stable: true }, { check: true }]) {
        const problem = makeProblem({ n: most, batch: 5, rhsCount: 2, type: 'float64', layout: 'padded' }, new Random(12));
        const { x } = await solveChecked(problem, await device(), method);
        const expected = bitsOf(x.vector);
        for (let round = 0; round < 5; round += 1) {
          const runsOfRound = await Promise.all(Array.from({ length: 4 }, () => solveChecked(problem, open!, method)));
          ok(runsOfRound.every((run) => Buffer.compare(bitsOf(run.x.vector), expected) === 0));
        }
      }
    });

    let open: Awaited<ReturnType<typeof device>> | undefined;
    before(async () => {
      open = await device();
    });
  });
});
