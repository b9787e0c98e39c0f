// Periodic, transposed, positive definite, shared, Toeplitz and ragged problems, many right-hand sides,
// outputs given by the caller, device arrays.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { elementTypes, solve, type ElementType } from '../../lib/tridiagonal/index.ts';
import { eachBackend, type BackendName } from '../support/backends.ts';
import { makeProblem } from '../support/problem.ts';
import { Random } from '../support/random.ts';
import { componentwiseError, epsilon, type Matrix } from '../support/reference.ts';
import { solveChecked } from '../support/solving.ts';
import { layoutKinds } from '../support/storage.ts';

const sizes = (backend: BackendName): readonly number[] =>
  (backend === 'simt' ? [1, 2, 3, 4, 9, 33] : [1, 2, 3, 4, 5, 8, 31, 32, 33, 64, 100, 257, 600]);
const realArray = (type: 'float32' | 'float64', values: Iterable<number>) =>
  (type === 'float32' ? Float32Array.from(values) : Float64Array.from(values));

describe('features', () => {
  eachBackend((backend, device) => {
    for (const type of elementTypes) {
      for (const method of [{}, { stable: true }, { check: true }]) {
        const name = `${type}, ${JSON.stringify(method)}`;
        it(`solves periodic and transposed systems: ${name}`, async () => {
          for (const n of sizes(backend)) {
            for (const transpose of ['none', 'transpose', 'conjugate'] as const) {
              for (const periodic of [false, true]) {
                const layout = layoutKinds[(n + Number(periodic)) % layoutKinds.length]!;
                const spec = { n, batch: 3, rhsCount: 2, type, layout, transpose, periodic };
                await solveChecked(makeProblem(spec, new Random(n)), await device(), method, 100);
              }
            }
          }
        });

        it(`solves positive definite systems: ${name}`, async () => {
          for (const n of sizes(backend)) {
            for (const layout of layoutKinds) {
              const spec = { n, batch: 2, rhsCount: 1, type, layout, structure: 'positive-definite', periodic: n % 2 === 0 } as const;
              await solveChecked(makeProblem(spec, new Random(n)), await device(), method, 100);
            }
          }
        });
      }
    }

    for (const type of ['float32', 'float64'] as const) {
      it(`shares one matrix over the batch, ${type}`, async () => {
        await sharedMatrix(type, 37, 5, 'contiguous', device);
        await sharedMatrix(type, 37, 5, 'interleaved', device);
      });

      it(`takes constant bands, ${type}`, async () => {
        const { n, batch } = { n: 41, batch: 3 };
        const random = new Random(7);
        const rhs = realArray(type, Array.from({ length: n * batch }, () => random.normal()));
        for (const periodic of [false, true]) {
          const { solution, status } = await solve({ lower: -1, diagonal: 4, upper: -2, rhs, n, batch, periodic, device: await device() });
          ok(status.allOk);
          const constant = (value: number) => new Float64Array(n).fill(value);
          const matrix = { lower: constant(-1), diagonal: constant(4), upper: constant(-2) };
          for (let s = 0; s < batch; s += 1) {
            const part = (array: Float32Array | Float64Array) => Float64Array.from(array.subarray(s * n, (s + 1) * n));
            ok(componentwiseError(matrix, part(solution), part(rhs), periodic) <= 40 * epsilon[type]);
          }
        }
      });

      it(`solves ragged batches, ${type}`, async () => {
        await ragged(type, [0, 1, 1, 3, 3, 40, 57, 58, 90], 1, device);
        await ragged(type, [0, 33, 34, 99], 3, device);
        await ragged(type, [0], 1, device);
        await ragged(type, [0, 0, 0], 1, device);
      });
    }

    it('solves in place', async () => {
      for (const type of elementTypes) {
        const problem = makeProblem({ n: 50, batch: 3, rhsCount: 2, type, layout: 'contiguous' }, new Random(3));
        const { x } = await solveChecked(problem, await device());
        const rhs = (problem.rhs.vector as Float64Array).slice();
        const { solution } = await solve({ ...problem.options, rhs, out: rhs, device: await device() });
        strictEqual(solution, rhs);
        deepStrictEqual(rhs, x.vector);
      }
    });

    it('gives the solution a layout of its own', async () => {
      const problem = makeProblem({ n: 20, batch: 4, rhsCount: 3, type: 'float64', layout: 'contiguous' }, new Random(4));
      const { x } = await solveChecked(problem, await device());
      const { solution } = await solve({
        ...problem.options, layouts: { solution: 'interleaved' }, rhs: problem.rhs.vector as Float64Array, device: await device(),
      });
      for (let s = 0; s < 4; s += 1) for (let r = 0; r < 3; r += 1) for (let i = 0; i < 20; i += 1) {
        strictEqual(solution[(i * 3 + r) * 4 + s], x.at(s, i, r)[0]);
      }
    });

    it('takes device arrays and keeps results on the device', async () => {
      const problem = makeProblem({ n: 64, batch: 4, rhsCount: 1, type: 'float64', layout: 'contiguous' }, new Random(5));
      const { x } = await solveChecked(problem, await device());
      const open = await device();
      using diagonal = await open.array(problem.diagonal.vector as Float64Array);
      using rhs = await open.array(problem.rhs.vector as Float64Array);
      const { solution } = await solve({ ...problem.options, diagonal, rhs });
      deepStrictEqual(await solution.read(), x.vector);
      solution[Symbol.dispose]();
      deepStrictEqual(await rhs.read(), problem.rhs.vector);
    });
  });
});

type OpenDevice = Parameters<Parameters<typeof eachBackend>[0]>[1];

async function sharedMatrix(
  type: 'float32' | 'float64', n: number, batch: number, layout: 'contiguous' | 'interleaved', device: OpenDevice,
): Promise<void> {
  const random = new Random(n);
  const make = (length: number, entry: () => number) => realArray(type, Array.from({ length }, entry));
  const [lower, upper] = [make(n, () => random.uniform()), make(n, () => random.uniform())];
  const diagonal = make(n, () => 3 + random.uniform());
  const rhs = make(n * batch, () => random.normal());
  const { solution, status } = await solve({ lower, diagonal, upper, rhs, n, batch, layout, device: await device() });
  ok(status.allOk);
  const matrix = { lower: Float64Array.from(lower), diagonal: Float64Array.from(diagonal), upper: Float64Array.from(upper) };
  for (let s = 0; s < batch; s += 1) {
    const part = (array: Float32Array | Float64Array) => Float64Array.from({ length: n },
      (_, i) => array[layout === 'contiguous' ? s * n + i : i * batch + s]!);
    ok(componentwiseError(matrix, part(solution), part(rhs)) <= 40 * epsilon[type], `${layout}, system ${s}`);
  }
}

async function ragged(type: ElementType & ('float32' | 'float64'), offsets: number[], rhsCount: number, device: OpenDevice): Promise<void> {
  const rows = offsets.at(-1)!;
  const random = new Random(rows);
  const make = (length: number, entry: () => number) => realArray(type, Array.from({ length }, entry));
  const [lower, upper] = [make(rows, () => random.uniform()), make(rows, () => random.uniform())];
  const diagonal = make(rows, () => 3 + random.uniform());
  const rhs = make(rows * rhsCount, () => random.normal());
  for (const extra of [{}, { stable: true }, { check: true }, { periodic: true }, { transpose: 'transpose' as const }]) {
    const { solution, status } = await solve({ lower, diagonal, upper, rhs, offsets, rhsCount, device: await device(), ...extra });
    ok(status.allOk, JSON.stringify({ offsets, ...extra, failures: [...status.failures()] }));
    strictEqual(status.length, (offsets.length - 1) * rhsCount);
    for (let s = 0; s + 1 < offsets.length; s += 1) {
      const part = (array: Float32Array | Float64Array, r = 0) =>
        Float64Array.from(array.subarray(r * rows + offsets[s]!, r * rows + offsets[s + 1]!));
      const plain: Matrix = { lower: part(lower), diagonal: part(diagonal), upper: part(upper) };
      const n = plain.diagonal.length;
      const matrix: Matrix = !('transpose' in extra) ? plain : {
        lower: plain.lower.map((_, i) => plain.upper[(i - 1 + n) % n]!), diagonal: plain.diagonal,
        upper: plain.upper.map((_, i) => plain.lower[(i + 1) % n]!),
      };
      for (let r = 0; r < rhsCount; r += 1) {
        const error = componentwiseError(matrix, part(solution, r), part(rhs, r), 'periodic' in extra);
        ok(error <= 100 * epsilon[type], `${JSON.stringify(extra)}, system ${s}, right-hand side ${r}: ${error}`);
      }
    }
  }
}
