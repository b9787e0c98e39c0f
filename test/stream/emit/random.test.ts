// Random programs: compiled code gives what the interpreter gives, bit for bit.
import assert from 'node:assert/strict';
import { StreamRunError } from '../../../lib/stream/interpret/error.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { compileJs } from '../../../lib/stream/run/js.ts';
import { graphOf } from '../support.ts';
import { randomInput, randomProgram } from './random-programs.ts';

const programs = 120;
const plans = [{}, { groupSize: 1, filterSize: 0, maxMultiplicity: 2 }, { groupSize: 50_000, filterSize: 20_000, maxMultiplicity: 5 }];

describe('random programs compiled to JavaScript', function () {
  this.timeout(120_000);
  for (let from = 0; from < programs; from += 20) {
    it(`programs ${from} to ${from + 19}`, () => {
      for (let seed = from; seed < from + 20; ++seed) {
        const { source, type } = randomProgram(seed);
        const graph = graphOf(source);
        const input = randomInput(seed, type, 400);
        let expected: readonly number[] | string;
        try {
          expected = interpretSync(graph, { input }).output;
        } catch (error) {
          assert.ok(error instanceof StreamRunError, String(error));
          expected = error.diagnostic.code;
        }
        const compiled = compileJs(graph, plans[seed % plans.length]);
        if (typeof expected === 'string') assert.throws(() => compiled.run(input), (error) => error instanceof StreamRunError);
        else assert.deepEqual([...compiled.run(input).output], expected, `seed ${seed}\n${source}`);
      }
    });
  }
});
