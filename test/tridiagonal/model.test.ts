// The paper's cost model against its own Table 1.
import { deepStrictEqual, ok, throws } from 'node:assert/strict';
import { fitModel, model, modelCoefficients } from '../../lib/tridiagonal/index.ts';
import { modelTable } from '../../lib/tridiagonal/model-table.ts';

/** Table 1 of Davidson and Owens (2011): size, depth, shared KB, registers, threads. */
const table1 = [
  [512, 4, 2.5, 31, 128], [512, 8, 1.25, 47, 64], [512, 16, 0.625, 80, 32],
  [1024, 4, 5, 31, 256], [1024, 8, 2.5, 47, 128], [1024, 16, 1.25, 80, 64],
  [2048, 4, 10, 31, 512], [2048, 8, 5, 47, 256], [2048, 16, 2.5, 80, 128],
  [4096, 4, 20, 31, 1024], [4096, 8, 10, 47, 512], [4096, 16, 5, 80, 256],
] as const;

describe('cost model of register packing', () => {
  for (const [size, depth, sharedKilobytes, registers, threads] of table1) {
    it(`gives Table 1's row for ${size} unknowns at depth ${depth}`, () => {
      const prediction = model({ size, depth });
      deepStrictEqual([prediction.threads, prediction.sharedBytesPerBlock], [threads, sharedKilobytes * 1024]);
      ok(Math.abs(prediction.registersPerThread - registers) <= 1, `${prediction.registersPerThread} registers`);
      deepStrictEqual(prediction.packedStages + prediction.threadStages, Math.log2(size));
    });
  }

  it('fits the paper\'s alpha and beta from its registers', () => {
    const { alpha, beta, worst } = fitModel(table1.slice(0, 3).map(([, depth, , registersPerThread]) => ({ depth, registersPerThread })));
    ok(Math.abs(alpha - 15) < 1 && Math.abs(beta - 4) < 0.15 && worst < 1, `${alpha}, ${beta}, ${worst}`);
  });

  it('takes coefficients of the caller and rounds threads up', () => {
    const prediction = model({ size: 1000, depth: 16, coefficients: { alpha: 10, beta: 2, gamma: 8, lambda: 4 } });
    deepStrictEqual(prediction, {
      threads: 63, registersPerThread: 42, sharedBytesPerBlock: 504, sharedTrafficBytesPerStage: 252, packedStages: 4, threadStages: 6,
    });
  });

  it('holds plausible coefficients for every architecture of the table', () => {
    for (const [architecture, types] of Object.entries(modelTable)) {
      for (const type of Object.keys(types) as ('float32' | 'float64')[]) {
        const { alpha, beta, gamma, source } = modelCoefficients(architecture, type);
        ok(alpha > 0 && alpha < 255 && beta > 0 && beta < 64 && gamma >= 0 && source !== '', `${architecture} ${type}`);
      }
    }
  });

  it('refuses what it has no figures for', () => {
    for (const size of [0, -1, 1.5, NaN, Infinity, 2 ** 53]) throws(() => model({ size, depth: 4 }), { argument: 'size' });
    for (const depth of [0, -2, 0.5, NaN]) throws(() => model({ size: 512, depth }), { argument: 'depth' });
    throws(() => model({ size: 512, depth: 4, architecture: 'sm_1' }), { argument: 'architecture', message: /paper/ });
    throws(() => model({ size: 512, depth: 4, type: 'float64' }), { argument: 'type' });
    throws(() => fitModel([{ depth: 4, registersPerThread: 31 }]), { argument: 'samples' });
    throws(() => fitModel([]), { argument: 'samples' });
  });
});
