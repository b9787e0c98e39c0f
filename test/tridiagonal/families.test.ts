// The nasty families: LAPACK's residual ratio for pivoting on all of them, for every algorithm on the
// dominant ones; backward error after check on all; forward error where it makes sense.
import { ok } from 'node:assert/strict';
import { condition, solve, type Algorithm, type MethodOptions } from '../../lib/tridiagonal/index.ts';
import { eachBackend, skipCases, type BackendName } from '../support/backends.ts';
import { moreFamilies, twentyFamilies, type Family } from '../support/families.ts';
import { Random } from '../support/random.ts';
import { componentwiseError, epsilon, multiplyExactly, referenceSolution, relativeDifference, residualRatio, type Matrix } from '../support/reference.ts';
import type { Device } from '../../lib/core/device.ts';

type Precision = 'float32' | 'float64';
const families = [...twentyFamilies, ...moreFamilies];
const order: Record<BackendName, number> = { cpu: 128, simt: 64, cuda: 512 };
const repeats = 3;

const cast = (precision: Precision, values: Float64Array) => (precision === 'float32' ? Float32Array.from(values) : values);
const rounded = (precision: Precision, values: Float64Array) => (precision === 'float32' ? Float64Array.from(values, Math.fround) : values);

interface Sample { readonly matrix: Matrix; readonly b: Float64Array; readonly x: Float64Array }

const cache = new Map<string, Sample[]>();

/** `repeats` systems of a family as stored in `precision`, with x ~ N(3, 1) and b = A x rounded once. */
function samplesOf(family: Family, n: number, precision: Precision): Sample[] {
  const key = `${family.name}/${n}/${precision}`;
  let samples = cache.get(key);
  if (samples === undefined) {
    const random = new Random(n + families.indexOf(family));
    samples = Array.from({ length: repeats }, () => {
      const made = family.make(n, random);
      const matrix = { lower: rounded(precision, made.lower), diagonal: rounded(precision, made.diagonal), upper: rounded(precision, made.upper) };
      const x = rounded(precision, Float64Array.from({ length: n }, () => random.normal(3)));
      return { matrix, x, b: rounded(precision, multiplyExactly(matrix, x)) };
    });
    cache.set(key, samples);
  }
  return samples;
}

/** Whether a family's numbers exist in a precision: 1e150 has no float32. */
const fits = (family: Family, precision: Precision) => precision === 'float64' || !family.name.startsWith('near ');

async function solveSamples(samples: readonly Sample[], precision: Precision, method: MethodOptions, device: Device) {
  const n = samples[0]!.b.length;
  const gather = (pick: (sample: Sample) => Float64Array) => {
    const all = new Float64Array(n * samples.length);
    samples.forEach((sample, s) => all.set(pick(sample), s * n));
    return cast(precision, all);
  };
  const result = await solve({
    lower: gather((s) => s.matrix.lower), diagonal: gather((s) => s.matrix.diagonal), upper: gather((s) => s.matrix.upper),
    rhs: gather((s) => s.b), n, batch: samples.length, device, ...method,
  });
  const solutions = samples.map((_, s) => Float64Array.from(result.solution.subarray(s * n, (s + 1) * n)));
  return { ...result, solutions };
}

const worst = (values: Iterable<number>) => Math.max(...values);

describe('nasty families', function () {
  this.timeout(60_000);
  eachBackend((backend, device) => {
    const n = order[backend];
    for (const precision of ['float32', 'float64'] as const) {
      const eps = epsilon[precision];
      for (const family of families) {
        if (!fits(family, precision)) {
          skipCases(`${family.name}: no ${precision} numbers of that size`);
          continue;
        }
        it(`${family.name}, ${precision}: pivoting within LAPACK's ratio of 30`, async () => {
          const samples = samplesOf(family, n, precision);
          const { solutions, status } = await solveSamples(samples, precision, { stable: true }, await device());
          samples.forEach(({ matrix, b, x }, s) => {
            if (status.at(s).state === 'zero-pivot') {
              ok(referenceSolution(matrix, b) === undefined || !family.forward, `system ${s} is not singular`);
              return;
            }
            const ratio = residualRatio(matrix, solutions[s]!, b, eps);
            ok(ratio <= 30, `system ${s}: ratio ${ratio}`);
            if (family.forward && precision === 'float64') {
              const reference = referenceSolution(matrix, b)!;
              const error = relativeDifference(solutions[s]!, reference);
              ok(error < 1e-6, `system ${s}: forward error ${error} of ${x.length} unknowns`);
            }
          });
        });

        it(`${family.name}, ${precision}: no answer of check is wrong`, async () => {
          const samples = samplesOf(family, n, precision);
          const { solutions, status, backwardError } = await solveSamples(samples, precision, { check: true }, await device());
          samples.forEach(({ matrix, b }, s) => {
            const { state } = status.at(s);
            const error = componentwiseError(matrix, solutions[s]!, b);
            if (state === 'ok') ok(error <= 70 * eps, `system ${s} is said to be ok: error ${error / eps} epsilons`);
            if (state === 'ok') ok(Math.abs(backwardError![s]! - error) <= 8 * eps, `reported ${backwardError![s]}, found ${error}`);
            if (family.dominant) ok(state === 'ok', `system ${s}: ${state}`);
          });
        });

        if (!family.dominant) continue;
        const algorithms: readonly Algorithm[] = backend === 'cpu' ? ['auto'] : ['auto', 'cr', 'thomas', 'cr-regpack'];
        it(`${family.name}, ${precision}: ${algorithms.join(', ')} within the ratio of 30`, async () => {
          const samples = samplesOf(family, n, precision);
          for (const algorithm of algorithms) {
            const { solutions, status } = await solveSamples(samples, precision, { algorithm }, await device());
            ok(status.allOk, `${algorithm}: ${status.at(0).state}`);
            const ratio = worst(samples.map(({ matrix, b }, s) => residualRatio(matrix, solutions[s]!, b, eps)));
            ok(ratio <= 30, `${algorithm}: ratio ${ratio}`);
          }
        });
      }
    }

    it('no algorithm gives a silent NaN on any family', async () => {
      for (const algorithm of ['auto', 'cr', 'pcr', 'cr-pcr', 'pcr-thomas', 'thomas', 'cr-regpack', 'pivoting'] as const) {
        for (const family of families) {
          const { solutions, status } = await solveSamples(samplesOf(family, n, 'float64'), 'float64', { algorithm }, await device());
          solutions.forEach((x, s) => {
            ok(x.every(Number.isFinite) || status.at(s).state !== 'ok', `${algorithm}, ${family.name}, system ${s}`);
          });
        }
      }
    });

    it('bounds the forward error', async () => {
      for (const family of families.filter(({ forward }) => forward)) {
        const samples = samplesOf(family, n, 'float64');
        for (const { matrix, b } of samples) {
          const { solution } = await solve({ ...matrix, rhs: b, stable: true, device: await device() });
          const { forwardError, reciprocalCondition } = await condition({ ...matrix, rhs: b, solution, device: await device() });
          const error = relativeDifference(solution, referenceSolution(matrix, b)!);
          ok(error <= forwardError![0]! * 1.01 + 2 ** -52, `${family.name}: error ${error}, bound ${forwardError![0]}`);
          ok(reciprocalCondition[0]! > 0 && reciprocalCondition[0]! <= 1.0001, `${family.name}: ${reciprocalCondition[0]}`);
        }
      }
    });
  });
});
