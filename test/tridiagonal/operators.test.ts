// multiply, the adjoint identity, condition estimates and gradients.
import { ok, rejects, strictEqual } from 'node:assert/strict';
import {
  condition, elementTypes, multiply, solve, vjp, type ComplexNumber, type MatrixOptions, type ShapeOptions,
} from '../../lib/tridiagonal/index.ts';
import { eachBackend, type BackendName } from '../support/backends.ts';
import { makeProblem, rowProduct, size, type Problem, type ProblemSpec } from '../support/problem.ts';
import { Random } from '../support/random.ts';
import { epsilon } from '../support/reference.ts';
import { layoutKinds, store, type Pair, type Stored } from '../support/storage.ts';

const sizes = (backend: BackendName): readonly number[] => (backend === 'simt' ? [1, 2, 3, 33] : [1, 2, 3, 4, 32, 33, 257]);
const transposes = ['none', 'transpose', 'conjugate'] as const;

/** sum over all elements of conj(a) b. */
function inner({ spec: { n, batch, rhsCount } }: Problem, a: Stored, b: Stored): Pair {
  let [re, im] = [0, 0];
  for (let s = 0; s < batch; s += 1) for (let r = 0; r < rhsCount; r += 1) for (let i = 0; i < n; i += 1) {
    const [ar, ai] = a.at(s, i, r);
    const [br, bi] = b.at(s, i, r);
    re += ar * br + ai * bi;
    im += ar * bi - ai * br;
  }
  return [re, im];
}

function randomVector({ spec }: Problem, random: Random): Stored {
  return store(spec.type, spec.layout, spec, () => [random.normal(), random.normal()]);
}

describe('multiply', () => {
  eachBackend((backend, device) => {
    for (const type of elementTypes) {
      it(`gives alpha op(A) x + beta y, ${type}`, async () => {
        for (const n of sizes(backend)) for (const transpose of transposes) for (const periodic of [false, true]) {
          const structure = n % 2 === 1 && transpose === 'none' ? 'positive-definite' as const : 'general' as const;
          const layout = layoutKinds[(n + transposes.indexOf(transpose)) % layoutKinds.length]!;
          const random = new Random(n);
          const problem = makeProblem({ n, batch: 3, rhsCount: 2, type, layout, periodic, transpose, structure }, random);
          for (const [alpha, beta] of [[1, 0], [-0.5, 0], [2, 1.5]] as const) {
            const x = randomVector(problem, random);
            // y is not read when beta is zero: NaN must not come through.
            const start = store(type, layout, problem.spec, () => (beta === 0 ? [NaN, NaN] : [random.normal(), random.normal()]));
            const before = new Map<string, Pair>();
            eachElement(problem.spec, (s, i, r) => before.set(`${s},${i},${r}`, start.at(s, i, r)));
            const { y } = await multiply({ ...problem.options, x: x.vector, y: start.vector, alpha, beta, device: await device() });
            strictEqual(y, start.vector);
            ok(start.gapsIntact());
            eachElement(problem.spec, (s, i, r) => {
              const product = rowProduct(problem, s, i, (j) => x.at(s, j, r));
              const old: Pair = beta === 0 ? [0, 0] : before.get(`${s},${i},${r}`)!;
              const got = start.at(s, i, r);
              const error = size([got[0] - alpha * product.value[0] - beta * old[0], got[1] - alpha * product.value[1] - beta * old[1]]);
              const scale = Math.abs(alpha) * product.size + Math.abs(beta) * size(old);
              ok(error <= 8 * epsilon[type] * scale, JSON.stringify({ n, transpose, periodic, alpha, beta, s, i, r, error, scale }));
            });
          }
        }
      });

      it(`is adjoint to its transpose, and so is solve, ${type}`, async () => {
        for (const n of sizes(backend)) for (const periodic of [false, true]) {
          const random = new Random(n + 1);
          const problem = makeProblem({ n, batch: 2, rhsCount: 2, type, layout: 'contiguous', periodic }, random);
          const [u, v] = [randomVector(problem, random), randomVector(problem, random)];
          const call = async (operation: 'multiply' | 'solve', stored: Stored, transpose: 'none' | 'conjugate') => {
            const out = store(type, 'contiguous', problem.spec);
            const options = { ...problem.options, transpose, device: await device() };
            if (operation === 'multiply') await multiply({ ...options, x: stored.vector, y: out.vector });
            else await solve({ ...options, rhs: stored.vector, out: out.vector });
            return out;
          };
          for (const operation of ['multiply', 'solve'] as const) {
            // <v, op u> = <op^H v, u>
            const left = inner(problem, v, await call(operation, u, 'none'));
            const right = inner(problem, await call(operation, v, 'conjugate'), u);
            const scale = 20 * n * epsilon[type] * (size(left) + n);
            ok(size([left[0] - right[0], left[1] - right[1]]) <= scale, JSON.stringify({ operation, n, periodic, left, right }));
          }
        }
      });
    }

    it('is undone by solve', async () => {
      const problem = makeProblem({ n: 300, batch: 4, rhsCount: 1, type: 'float64', layout: 'interleaved', dominance: 3 }, new Random(9));
      const x = problem.rhs.vector as Float64Array;
      const { y } = await multiply({ ...problem.options, x, device: await device() });
      const { solution } = await solve({ ...problem.options, rhs: y, device: await device() });
      ok(solution.every((value, i) => Math.abs(value - x[i]!) <= 1e-13 * (1 + Math.abs(x[i]!))));
    });

    it('refuses overlap, and beta without y', async () => {
      const x = new Float64Array(8);
      const matrix = { lower: 1, diagonal: new Float64Array(8), upper: 1, device: await device() };
      await rejects(multiply({ ...matrix, x, beta: 1 }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'y' });
      await rejects(multiply({ ...matrix, x, y: x }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'y' });
    });
  });
});

function eachElement({ n, batch, rhsCount }: ProblemSpec, visit: (s: number, i: number, r: number) => void): void {
  for (let s = 0; s < batch; s += 1) for (let r = 0; r < rhsCount; r += 1) for (let i = 0; i < n; i += 1) visit(s, i, r);
}

describe('condition', () => {
  eachBackend((_, device) => {
    it('is exact where the inverse is known', async () => {
      const diagonal = Float64Array.of(1, 10, 100, 1000);
      const { reciprocalCondition } = await condition({ lower: 0, diagonal, upper: 0, device: await device() });
      ok(Math.abs(reciprocalCondition[0]! - 1e-3) < 1e-15);
      // The Laplacian of order n has |A|_1 = 4 and |A^-1|_1 = max over j of j (n + 1 - j) / 2.
      for (const n of [3, 10, 33]) {
        const laplacian = { lower: -1, diagonal: new Float64Array(n).fill(2), upper: -1, device: await device() };
        const middle = Math.floor((n + 1) / 2);
        const expected = 1 / (4 * middle * (n + 1 - middle) / 2);
        const { reciprocalCondition: [found] } = await condition(laplacian);
        ok(Math.abs(found! / expected - 1) < 1e-12, `n = ${n}: ${found}, expected ${expected}`);
      }
    });

    it('measures a row of zeros by its right-hand side, whatever its size', async () => {
      for (const Numbers of [Float32Array, Float64Array]) {
        for (const side of [1e-30, 5, 1e10]) {
          const { reciprocalCondition, forwardError, backwardError } = await condition({
            lower: Numbers.of(0, -1, 0, -1, -1), diagonal: Numbers.of(3, 3, 0, 3, 3), upper: Numbers.of(-1, -1, 0, -1, 0),
            rhs: Numbers.of(2, 1, side, 1, 2), solution: new Numbers(5).fill(1), device: await device(),
          });
          strictEqual(reciprocalCondition[0], 0);
          strictEqual(forwardError![0], Infinity);
          strictEqual(backwardError![0], 1, `${Numbers.name}, ${side}`);
        }
      }
    });

    it('is zero for singular systems and leaves the others alone', async () => {
      const diagonal = Float64Array.of(1, 2, 0, 2, 5, 5);
      const { reciprocalCondition } = await condition({ lower: 0, diagonal, upper: 0, n: 2, batch: 3, device: await device() });
      strictEqual(reciprocalCondition[1], 0);
      ok(Math.abs(reciprocalCondition[0]! - 0.5) < 1e-15 && Math.abs(reciprocalCondition[2]! - 1) < 1e-15, String(reciprocalCondition));
    });
  });
});

/** Loss sum(weights * x) of a solve, for finite differences. */
async function loss(options: MatrixOptions & ShapeOptions, rhs: Float64Array, weights: Float64Array, device: Parameters<typeof solve>[0]['device']): Promise<number> {
  const { solution } = await solve({ ...options, rhs, stable: true, device });
  return solution.reduce((sum, value, i) => sum + value * weights[i]!, 0);
}

describe('vjp', () => {
  eachBackend((backend, device) => {
    for (const variant of [
      {}, { periodic: true }, { transpose: 'transpose' as const }, { structure: 'positive-definite' as const },
      { layout: 'interleaved' as const }, { complex: true }, { complex: true, transpose: 'transpose' as const },
      { complex: true, transpose: 'conjugate' as const }, { complex: true, structure: 'positive-definite' as const, periodic: true },
    ]) {
      it(`agrees with finite differences: ${JSON.stringify(variant)}`, async () => {
        const { complex = false, ...rest } = variant;
        const spec = { n: backend === 'simt' ? 4 : 6, batch: 2, rhsCount: 2, type: complex ? 'complex128' : 'float64', layout: 'contiguous', ...rest } as const;
        const random = new Random(21);
        const problem = makeProblem(spec, random);
        const open = await device();
        const rhs = problem.rhs.vector as Float64Array;
        const weights = rhs.map(() => random.normal());
        const { solution } = await solve({ ...problem.options, rhs, device: open });
        const gradients = await vjp({ ...problem.options, solution, cotangent: weights, device: open });
        const inputs = { lower: problem.lower, diagonal: problem.diagonal, rhs: problem.rhs, ...(rest.structure === undefined ? { upper: problem.upper } : {}) };
        for (const [name, stored] of Object.entries(inputs)) {
          const values = stored.vector as Float64Array;
          const gradient = gradients[name as 'lower'] as Float64Array;
          strictEqual(gradient.length, values.length);
          for (let at = 0; at < values.length; at += 1) {
            if (rest.structure !== undefined && name === 'diagonal' && complex && at % 2 === 1) continue;
            const saved = values[at]!;
            const step = 1e-5;
            const shifted: number[] = [];
            for (const sign of [1, -1]) {
              values[at] = saved + sign * step;
              shifted.push(await loss(problem.options, rhs, weights, open));
            }
            values[at] = saved;
            const difference = (shifted[0]! - shifted[1]!) / (2 * step);
            ok(Math.abs(difference - gradient[at]!) <= 1e-7 * (1 + Math.abs(difference)), `${name}[${at}]: ${gradient[at]}, differences give ${difference}`);
          }
        }
      });
    }

    it('sums over the batch for shared bands and to one number for constant ones', async () => {
      const random = new Random(5);
      const [n, batch] = [5, 3];
      const rhs = Float64Array.from({ length: n * batch }, () => random.normal());
      const cotangent = rhs.map(() => random.normal());
      const diagonal = Float64Array.from({ length: n }, () => 4 + random.next());
      const open = await device();
      const shared = { lower: -1, diagonal, upper: -1.5, n, batch, device: open };
      const full = { ...shared, lower: new Float64Array(n * batch).fill(-1), upper: new Float64Array(n * batch).fill(-1.5),
        diagonal: Float64Array.from({ length: n * batch }, (_, i) => diagonal[i % n]!) };
      const { solution } = await solve({ ...shared, rhs });
      const few = await vjp({ ...shared, solution, cotangent });
      const many = await vjp({ ...full, solution, cotangent });
      const total = (band: Float64Array) => band.reduce((sum, value) => sum + value, 0);
      ok(Math.abs(few.lower as number - total(many.lower as Float64Array)) < 1e-13);
      ok(Math.abs(few.upper as number - total(many.upper as Float64Array)) < 1e-13);
      (few.diagonal as Float64Array).forEach((value, i) => {
        const sum = [0, 1, 2].reduce((s, k) => s + (many.diagonal as Float64Array)[k * n + i]!, 0);
        ok(Math.abs(value - sum) < 1e-13);
      });
      const constant = await vjp({ lower: { re: -1, im: 0.5 }, diagonal: { re: 4, im: 0 }, upper: 0, complex: true, n: 3,
        solution: Float64Array.of(1, 0, 2, 0, 3, 0), cotangent: Float64Array.of(1, 1, 1, 1, 1, 1), device: open });
      ok(Number.isFinite((constant.lower as ComplexNumber).im));
    });
  });
});
