// What is left to do of the twelve programs: multiplications of floats in a steady state, as written and as planned.
import assert from 'node:assert/strict';
import { benchmarkPrograms } from '../../../examples/stream/programs.ts';
import { planProgram } from '../../../lib/stream/plan/plan.ts';
import { program } from '../programs/support.ts';
import { multiplications } from './counting.ts';

/** By hand, from what the programs say. */
const expected: Readonly<Record<string, readonly [written: number, left: number]>> = {
  // 8 bands of two filters with 32 taps, on 8 items: one item is left of each 8 behind the first, and one of 8 that go into the second.
  filterbank: [8 * 8 * 2 * 32, 8 * (32 + 8 * 4)],
  // A low-pass filter of 64 taps in front; 10 bands of two such, of which 11 differ; in each band a gain; demodulation.
  'fm-radio': [64 + 20 * 64 + 10 + 2, 64 + 11 * 64 + 10 + 2],
  // A low-pass filter in front; 16 bands of two filters, one item of 50 is left of the second; lags of 0 to 99, and of 20 to 99.
  'channel-vocoder': [50 * 64 + 16 * 50 * 2 * 64 + 5050, 50 * 64 + 16 * (50 * 64 + 64) + 3240],
};

describe('exact savings in the twelve programs', function () {
  this.timeout(60_000);

  it('leave as many multiplications as counted by hand', () => {
    for (const [name, counts] of Object.entries(expected)) {
      const graph = program(name);
      assert.deepEqual([multiplications(planProgram(graph, { savings: false })), multiplications(planProgram(graph))], counts, name);
    }
  });

  it('change no other program', () => {
    for (const { name } of benchmarkPrograms) {
      if (expected[name] !== undefined) continue;
      const graph = program(name);
      const plan = planProgram(graph);
      assert.equal(plan.graph, graph, name);
      assert.equal(plan.firings.size, 0, name);
    }
  });
});
