// What `check` and `refine` promise, against residuals without rounding and solutions in about twice the precision.
import { ok, strictEqual } from 'node:assert/strict';
import { elementTypes, solve, type Algorithm, type ElementType, type MethodOptions, type RealArray } from '../../lib/tridiagonal/index.ts';
import { eachBackend } from '../support/backends.ts';
import { exactError } from '../support/exact.ts';
import { moreFamilies, rowDominant, twentyFamilies, type Family } from '../support/families.ts';
import { emptySolution, problemOf, rowProduct, type Problem } from '../support/problem.ts';
import { Random } from '../support/random.ts';
import { randsvd } from '../support/randsvd.ts';
import { epsilon, referenceSolution, type Matrix } from '../support/reference.ts';
import { isComplex, isSingle, type Pair, type Stored } from '../support/storage.ts';
import type { Device } from '../../lib/core/device.ts';

const rounding = (type: ElementType) => (isSingle(type) ? Math.fround : (value: number) => value);

/** One system of each family, entries times `scale`, with b = A x rounded once. */
function problemOfFamilies(type: ElementType, n: number, chosen: readonly Family[], scale: number, random: Random, periodic = false): Problem {
  const round = rounding(type);
  const complex = isComplex(type);
  const made = chosen.map((family) => [family.make(n, random), family.make(n, random)] as const);
  const entry = (name: keyof Matrix) => (s: number, i: number): Pair => {
    const [re, im] = made[s]!;
    return [round(re[name][i]! * scale), complex ? round(im[name][i]! * scale) : 0];
  };
  const entries = { lower: entry('lower'), diagonal: entry('diagonal'), upper: entry('upper') };
  const spec = { n, batch: chosen.length, rhsCount: 1, type, layout: 'contiguous', periodic } as const;
  const matrix = problemOf(spec, entries, () => [0, 0]);
  const x = Array.from({ length: n * chosen.length }, (): Pair => [round(random.normal(3)), complex ? round(random.normal(3)) : 0]);
  return problemOf(spec, entries, (s, i) => {
    const { value } = rowProduct(matrix, s, i, (j) => x[s * n + j]!);
    return [round(value[0]), round(value[1])];
  });
}

async function solved(problem: Problem, method: MethodOptions, device: Device): Promise<{ x: Stored; result: Awaited<ReturnType<typeof solve>> }> {
  const x = emptySolution(problem);
  return { x, result: await solve({ ...problem.options, ...method, rhs: problem.rhs.vector, out: x.vector, device }) };
}

const families = [...twentyFamilies, ...moreFamilies.filter(({ name }) => !name.startsWith('near '))];

describe('check, measured without rounding', function () {
  this.timeout(120_000);
  eachBackend((backend, device) => {
    const n = 20;
    const algorithms: readonly Algorithm[] = backend === 'cpu' ? ['thomas', 'pcr'] : ['cr-regpack', 'pcr'];
    for (const type of elementTypes) {
      // Subnormal entries, tiny and ordinary ones.
      const least = isSingle(type) ? 2 ** -126 : 2 ** -1022;
      for (const [name, scale] of [['ordinary', 1], ['subnormal', least / 4], ['the smallest normal', least]] as const) {
        it(`calls nothing ok above its tolerance, and says what it found, ${type}, ${name} numbers`, async () => {
          for (const algorithm of algorithms) for (const periodic of [false, true]) {
            if (periodic && algorithm !== 'pcr') continue;
            const problem = problemOfFamilies(type, n, families, scale, new Random(77), periodic);
            const plain = await solved(problem, { algorithm }, await device());
            for (let s = 0; s < families.length; s += 1) {
              const error = exactError(problem, plain.x, s, 0);
              // A tolerance just below the error of the unchecked answer: that very answer may not pass.
              const tolerances = error > 0.1 && error < 1e6 ? [0, error * (1 - 1e-3) * epsilon[type]] : [0];
              const one = single(problem, s);
              for (const tolerance of tolerances) {
                const { x, result } = await solved(one, { algorithm, check: true, tolerance }, await device());
                const found = exactError(one, x, 0, 0);
                const label = JSON.stringify({ type, algorithm, periodic, family: families[s]!.name, tolerance, error, found });
                const { state } = result.status.at(0);
                if (state === 'ok') {
                  ok(found * epsilon[type] <= (tolerance === 0 ? 64 * epsilon[type] : tolerance) * (1 + 1e-6), label);
                  ok(Math.abs((result.backwardError as Float64Array)[0]! / epsilon[type] - found) <= 4, label);
                }
                if (tolerance === 0 && state === 'inaccurate') ok(!families[s]!.dominant, label);
              }
            }
          }
        });
      }

      it(`takes zeros and underflow in the solution for what they are, ${type}`, async () => {
        const round = rounding(type);
        const random = new Random(5);
        const chosen: Family[] = Array.from({ length: 12 }, (_, k) => ({
          name: `${k}`, dominant: true, forward: true, make: (size, r) => rowDominant(size, r, 4),
        }));
        const matrix = problemOfFamilies(type, 40, chosen, 1, random);
        // Right-hand sides of a few entries: the solution dies away from them, through subnormal numbers to zero.
        const small = isSingle(type) ? 2 ** -140 : 2 ** -1060;
        const problem = problemOf(matrix.spec, { lower: matrix.lower.at, diagonal: matrix.diagonal.at, upper: matrix.upper.at }, (s, i) => {
          if (i !== s % 3) return [0, 0];
          const value = round(random.normal() * (s < 4 ? 0 : s < 8 ? small : 1e-30));
          return [value, isComplex(type) ? value : 0];
        });
        for (const method of [{ check: true }, { check: true, stable: true }, { stable: true }] as const) {
          const { x, result } = await solved(problem, method, await device());
          for (let s = 0; s < chosen.length; s += 1) {
            strictEqual(result.status.at(s).state, 'ok', JSON.stringify({ type, s, ...method }));
            ok(exactError(problem, x, s, 0) <= 64, JSON.stringify({ type, s, ...method }));
          }
        }
      });
    }
  });
});

/** System s of a problem alone. */
function single(problem: Problem, s: number): Problem {
  const at = (stored: Stored) => (_: number, i: number) => stored.at(s, i, 0);
  return problemOf({ ...problem.spec, batch: 1 }, { lower: at(problem.lower), diagonal: at(problem.diagonal), upper: at(problem.upper) }, at(problem.rhs));
}

describe('refine', function () {
  this.timeout(120_000);
  eachBackend((backend, device) => {
    for (const type of ['float32', 'float64'] as const) {
      const conditions = type === 'float32' ? [1e2, 1e4, 1e5] : [1e6, 1e8, 1e10, 1e12];
      for (const condition of conditions) for (const stable of [false, true]) {
        it(`leaves the rounding of the solution alone, condition ${condition}, ${type}${stable ? ', pivoting' : ''}`, async () => {
          const round = rounding(type);
          const [n, batch] = backend === 'simt' ? [24, 4] : [48, 12];
          const random = new Random(condition % 1000 + n);
          let plainWorst = 0;
          for (let s = 0; s < batch; s += 1) {
            // Mode 3: singular values in geometric progression. Without pivoting, dominated by a shift of the same condition.
            const made = randsvd(n, 3, random, condition);
            const matrix = { lower: made.lower.map(round), diagonal: made.diagonal.map(round), upper: made.upper.map(round) };
            const b = Float64Array.from({ length: n }, () => round(random.normal()));
            const exact = referenceSolution(matrix, b)!;
            const cast = (values: Float64Array): RealArray => (type === 'float32' ? Float32Array.from(values) : values);
            const call = { lower: cast(matrix.lower), diagonal: cast(matrix.diagonal), upper: cast(matrix.upper), rhs: cast(b), stable, device: await device() };
            const plain = await solve(call);
            const refined = await solve({ ...call, refine: true });
            const size = Math.max(...exact.map(Math.abs));
            const errorOf = (x: RealArray) => Math.max(...exact.map((value, i) => Math.abs(x[i]! - value))) / size / epsilon[type];
            const [before, after] = [errorOf(plain.solution), errorOf(refined.solution)];
            plainWorst = Math.max(plainWorst, before);
            // Without pivoting the first solution may be too far off for corrections to lead anywhere.
            if (!stable && before * epsilon[type] > 1e-3) continue;
            ok(after <= 1, `system ${s}: ${after} epsilons, ${before} without`);
          }
          ok(plainWorst > 1, `refinement has nothing to do: ${plainWorst} epsilons`);
        });
      }
    }

    it('works for complex numbers as for real ones', async () => {
      const n = 30;
      const random = new Random(3);
      const made = randsvd(n, 3, random, 1e10);
      const b = Float64Array.from({ length: n }, () => random.normal());
      const exact = referenceSolution(made, b)!;
      const size = Math.max(...exact.map(Math.abs));
      // i times the real system, whose solution is -i times that of b: all in the imaginary parts.
      const imaginary = (values: Float64Array) => Float64Array.from({ length: 2 * n }, (_, k) => (k % 2 === 1 ? values[k >> 1]! : 0));
      const { solution } = await solve({
        lower: imaginary(made.lower), diagonal: imaginary(made.diagonal), upper: imaginary(made.upper), rhs: imaginary(b),
        complex: true, stable: true, refine: true, device: await device(),
      });
      for (let i = 0; i < n; i += 1) {
        ok(Math.abs(solution[2 * i]! - exact[i]!) <= epsilon.float64 * size && Math.abs(solution[2 * i + 1]!) <= epsilon.float64 * size, `row ${i}`);
      }
    });
  });
});

describe('check of systems that start at any element', () => {
  eachBackend((_backend, device) => {
    for (const Kind of [Float32Array, Float64Array] as const) {
      it(`is the componentwise backward error by its definition, ${Kind.name}`, async () => {
        const onto = await device(), batch = 5, tolerance = 4 * (Kind === Float32Array ? 2 ** -23 : 2 ** -52);
        for (const n of [1, 2, 3, 4, 5, 7, 8, 9, 31, 63, 65, 127, 257, 513, 600, 1025]) {
          for (const shift of [0, 1, 3]) {
            const make = (value: (i: number) => number) => {
              const whole = new Kind(n * batch + 8);
              for (let i = 0; i < whole.length; i += 1) whole[i] = value(i);
              return whole.subarray(shift, shift + n * batch) as RealArray;
            };
            const wave = (from: number) => make((i) => Math.sin(i * 12.9898 + from));
            const [lower, diagonal, upper, rhs] = [wave(1), make((i) => 3 + Math.cos(i)), wave(2), wave(3)];
            const { solution: x, backwardError } = await solve({ lower, diagonal, upper, rhs, n, batch, check: true, device: onto });
            for (let system = 0; system < batch; system += 1) {
              let worst = 0;
              for (let i = system * n; i < (system + 1) * n; i += 1) {
                const terms = [rhs[i]!, -diagonal[i]! * x[i]!, i > system * n ? -lower[i]! * x[i - 1]! : 0, i + 1 < (system + 1) * n ? -upper[i]! * x[i + 1]! : 0];
                const size = terms.reduce((sum, term) => sum + Math.abs(term), 0);
                worst = Math.max(worst, Math.abs(terms.reduce((sum, term) => sum + term, 0)) / size);
              }
              const found = backwardError![system]!;
              ok(Math.abs(found - worst) <= tolerance, `n ${n}, from element ${shift}, system ${system}: ${found}, by its definition ${worst}`);
            }
          }
        }
      });
    }
  });
});
