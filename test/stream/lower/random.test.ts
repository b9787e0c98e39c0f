// Random programs in the kernel representation: valid, and what the kernel interpreter makes of them is what the stream interpreter does.
import assert from 'node:assert/strict';
import { vectoriseLanes } from '../../../lib/kernel/passes/vectorise-lanes.ts';
import { verify } from '../../../lib/kernel/verify.ts';
import { planProgram } from '../../../lib/stream/plan/plan.ts';
import { StreamRunError } from '../../../lib/stream/interpret/error.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { lowerProgram, togetherForWasm } from '../../../lib/stream/lower/program.ts';
import { randomInput, randomProgram } from '../emit/random-programs.ts';
import { graphOf } from '../support.ts';
import { casesOf } from '../../support/thorough.ts';
import { runLowered } from './machine.ts';

const plans = [{}, { groupSize: 1, filterSize: 0, maxMultiplicity: 2 }, { groupSize: 50_000, filterSize: 20_000, maxMultiplicity: 5 }];
const codes: Readonly<Record<string, string>> = { index: 'S5001', divide: 'S5002', remainder: 'S5002', peek: 'S5005', pop: 'S5004', push: 'S5004', random: 'S5003' };
const count = casesOf(100, 500);

describe('random programs in the kernel representation', function () {
  this.timeout(240_000);
  let [outputs, faults] = [0, 0];

  for (let from = 0; from < count; from += 50) {
    it(`${from} to ${from + 49}`, () => {
      for (let seed = from; seed < from + 50; ++seed) {
        const { source, type } = randomProgram(seed);
        const graph = graphOf(source);
        const input = randomInput(seed, type, 60);
        const plan = planProgram(graph, plans[seed % plans.length]);
        const { output, fault, lowered } = runLowered(plan, input, {
          ...(seed % 2 === 0 ? { together: togetherForWasm } : {}), ...(seed % 4 === 0 ? { passes: vectoriseLanes } : {}),
        });
        try {
          assert.deepEqual(output, [...interpretSync(graph, { input }).output], `seed ${seed}\n${source}`);
          if (output.length > 10) ++outputs;
        } catch (error) {
          if (!(error instanceof StreamRunError)) throw error;
          ++faults;
          assert.equal(codes[lowered.sites[fault!]!.kind], error.diagnostic.code, `seed ${seed}\n${source}`);
        }
      }
    });
  }

  it('give items, but where they meet faults', () => {
    assert.ok(outputs > 0.8 * (count - faults), `${outputs} give items, ${faults} meet faults`);
  });

  it('are valid in all forms', () => {
    for (let seed = 0; seed < 40; ++seed) {
      const plan = planProgram(graphOf(randomProgram(seed).source), { ...plans[seed % plans.length], forCores: 1 + seed % 3 });
      for (const baseline of [true, false]) for (const placed of [true, false]) verify(lowerProgram(plan, { baseline, placed }).program);
    }
  });
});
