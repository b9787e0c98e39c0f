// vjp: band gradients against sums in JavaScript, in every layout; where its inputs are read, and where its results are.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { DeviceArray } from '../../lib/core/device.ts';
import { elementTypes, solve, vjp, type Band, type ComplexNumber, type RealArray, type Vector, type VjpOptions } from '../../lib/tridiagonal/index.ts';
import { bandGradients } from '../support/band-gradients.ts';
import { eachBackend } from '../support/backends.ts';
import { makeProblem, type Problem } from '../support/problem.ts';
import { Random } from '../support/random.ts';
import { epsilon } from '../support/reference.ts';
import { isComplex, layoutKinds, store } from '../support/storage.ts';

const transposes = ['none', 'transpose', 'conjugate'] as const;
const numbersOf = (band: Band): number[] => {
  if (typeof band === 'number') return [band];
  if (ArrayBuffer.isView(band)) return [...(band as RealArray)];
  const { re, im } = band as { re: number | RealArray; im: number | RealArray };
  return typeof re === 'number' ? [re, im as number] : [...re, ...(im as RealArray)];
};

/** Cotangent and solution laid out as the problem's right-hand sides. */
function vectorsOf({ spec }: Problem, random: Random) {
  const vector = () => store(spec.type, spec.layout, spec, () => [random.normal(), random.normal()]).vector;
  return { cotangent: vector(), solution: vector() };
}

function expectNear(got: Band, expected: Band, tolerance: number, label: string): void {
  const [a, b] = [numbersOf(got), numbersOf(expected)];
  strictEqual(a.length, b.length, label);
  const size = Math.max(1, ...b.map(Math.abs));
  a.forEach((value, at) => ok(Math.abs(value - b[at]!) <= tolerance * size, `${label}[${at}]: ${value}, expected ${b[at]}`));
}

/** Runs vjp and compares its band gradients with those summed from its own gradient by the right-hand side. */
async function expectSums(options: VjpOptions, type: keyof typeof epsilon, label: string, terms = 1): Promise<void> {
  const result = await vjp(options);
  ok(result.status.allOk, label);
  const expected = bandGradients(options, result.rhs, options.solution);
  for (const name of ['lower', 'diagonal', 'upper'] as const) {
    strictEqual(result[name] === undefined, expected[name] === undefined, `${label}: ${name}`);
    if (expected[name] !== undefined) expectNear(result[name]!, expected[name], (8 + terms) * epsilon[type], `${label}: ${name}`);
  }
}

describe('vjp', function () {
  this.timeout(60_000);
  eachBackend((backend, device) => {
    for (const type of elementTypes) {
      it(`sums the gradients of every layout, ${type}`, async () => {
        for (const layout of layoutKinds) for (const transpose of transposes) for (const periodic of [false, true]) for (const n of [1, 2, 3, 17]) {
          if (layout === 'split' && !isComplex(type)) continue;
          const structure = n === 3 ? 'positive-definite' as const : 'general' as const;
          const random = new Random(n + 31);
          const spec = { n, batch: 3, rhsCount: 2, type, layout, transpose, periodic, structure };
          const problem = makeProblem(spec, random);
          await expectSums({ ...problem.options, ...vectorsOf(problem, random), device: await device() }, type, JSON.stringify(spec));
        }
      });
    }

    it('sums over systems, rows and both, whatever their number', async () => {
      const open = await device();
      for (const [n, batch] of [[1, 1], [3, 255], [2, 256], [5, 257], [1, 70_000], [70_000, 1], [3, 0]] as const) {
        const random = new Random(n);
        const vector = (length: number, add = 0) => Float64Array.from({ length }, () => random.uniform() + add);
        const shape = { n, batch, solution: vector(n * batch), cotangent: vector(n * batch), device: open };
        const bands = { lower: vector(n), diagonal: vector(n, 4), upper: vector(n) };
        await expectSums({ ...shape, ...bands }, 'float64', `shared, ${n} by ${batch}`, n * batch);
        await expectSums({ ...shape, ...bands, lower: -1, diagonal: 4, upper: 0.5 }, 'float64', `constant, ${n} by ${batch}`, n * batch);
        if (batch === 0) continue;
        const perSystem = { systemStride: 1, rowStride: 0 };
        await expectSums({
          ...shape, ...bands, diagonal: vector(batch, 4), layouts: { diagonal: perSystem },
        }, 'float64', `constant in each system, ${n} by ${batch}`, n * batch);
      }
    });

    it('takes ragged batches, with systems without rows', async () => {
      const offsets = [0, 3, 3, 8, 9, 40];
      const random = new Random(8);
      const vector = (length: number, add = 0) => Float64Array.from({ length }, () => random.uniform() + add);
      const options = {
        offsets, rhsCount: 2, lower: vector(40), diagonal: vector(40, 4), upper: vector(40), solution: vector(80), cotangent: vector(80), device: await device(),
      };
      await expectSums(options, 'float64', 'ragged');
      await expectSums({ ...options, lower: 0.5, upper: -0.25 }, 'float64', 'ragged, constant');
      await expectSums({ ...options, periodic: true }, 'float64', 'ragged, periodic');
    });

    it('leaves the gradients where the inputs are', async () => {
      const open = await device();
      const random = new Random(4);
      for (const transpose of transposes) {
        const spec = { n: 9, batch: 4, rhsCount: 1, type: 'complex128', layout: 'contiguous', transpose } as const;
        const problem = makeProblem(spec, random);
        const { cotangent, solution } = vectorsOf(problem, random) as { cotangent: Float64Array; solution: Float64Array };
        const host = await vjp({ ...problem.options, cotangent, solution, device: open });
        const send = async (vector: Vector) => open.array(vector as Float64Array, 'complex128');
        const { lower, diagonal, upper } = problem.options as { lower: Vector; diagonal: Vector; upper: Vector };
        const sent = await vjp({
          ...problem.options, lower: await send(lower), diagonal: await send(diagonal), upper: await send(upper),
          cotangent: await send(cotangent), solution: await send(solution), device: open,
        });
        for (const name of ['rhs', 'lower', 'diagonal', 'upper'] as const) {
          ok(sent[name] instanceof DeviceArray, name);
          deepStrictEqual(await (sent[name] as DeviceArray).read(), host[name]);
        }
      }
    });

    it('reads nothing after the call has returned', async () => {
      const open = await device();
      const make = (): VjpOptions<Float64Array> & Record<'lower' | 'diagonal' | 'upper', Float64Array> => {
        const random = new Random(6);
        const vector = (add = 0) => Float64Array.from({ length: 40 }, () => random.uniform() + add);
        return { n: 10, batch: 4, lower: vector(), diagonal: vector(4), upper: vector(), solution: vector(), cotangent: vector(), device: open };
      };
      const expected = await vjp(make());
      for (const spoil of [(array: Float64Array) => array.fill(NaN), (array: Float64Array) => structuredClone(array, { transfer: [array.buffer as ArrayBuffer] })]) {
        const options = make();
        const pending = vjp(options);
        for (const name of ['lower', 'diagonal', 'upper', 'solution', 'cotangent'] as const) spoil(options[name]);
        const { rhs, lower, diagonal, upper } = await pending;
        deepStrictEqual({ rhs, lower, diagonal, upper }, { rhs: expected.rhs, lower: expected.lower, diagonal: expected.diagonal, upper: expected.upper });
      }
    });

    it('gives the same bits again, and can be cancelled', async () => {
      const open = await device();
      const random = new Random(12);
      const [n, batch] = backend === 'simt' ? [60, 40] : [500, 400];
      const vector = () => Float32Array.from({ length: n * batch }, () => random.uniform());
      const options = { n, batch, lower: -1, diagonal: Float32Array.from({ length: n }, () => 4), upper: vector(), solution: vector(), cotangent: vector(), device: open };
      const first = await vjp(options);
      const second = await vjp(options);
      deepStrictEqual([first.lower, first.diagonal, first.upper], [second.lower, second.diagonal, second.upper]);
      const stop = new AbortController();
      const pending = vjp({ ...options, signal: stop.signal });
      stop.abort(new Error('enough'));
      await rejects(pending, /enough/);
    });

    it('refuses a band whose strides address an element twice', async () => {
      const vector = new Float64Array(12).fill(1);
      await rejects(vjp({
        n: 4, batch: 3, lower: 0, diagonal: vector, upper: 0, layouts: { diagonal: { systemStride: 1, rowStride: 1 } },
        solution: vector, cotangent: vector, device: await device(),
      }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'diagonal' });
    });

    it('sums constants in double precision', async () => {
      const length = 100_000;
      const ones = new Float32Array(length).fill(1);
      const { solution } = await solve({ lower: 0, diagonal: 1, upper: 0, n: 1, batch: length, rhs: ones, device: await device() });
      const zero = { re: 0, im: 0 };
      const { diagonal, lower } = await vjp({
        lower: zero, diagonal: { re: 1, im: 0 }, upper: zero, n: 1, batch: length / 2, solution, cotangent: ones, device: await device(), complex: true,
      });
      strictEqual((diagonal as ComplexNumber).re, -length);
      strictEqual((lower as ComplexNumber).re, 0);
    });
  });
});
