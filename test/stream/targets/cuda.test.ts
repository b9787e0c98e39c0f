// The time of planning large programs for a GPU. (test/stream/gpu runs the programs.)
import assert from 'node:assert/strict';
import { fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { graphOf } from '../support.ts';

const filter = 'float->float filter F(int k) { work pop 1 push 1 peek 3 { push(peek(0) * k + peek(2)); pop(); } }';
const large = {
  pipeline: `${filter} float->float pipeline Main { for (int i = 0; i < 1000; i++) add F(i); }`,
  'split-join': `${filter} float->float splitjoin Main { split roundrobin; for (int i = 0; i < 1000; i++) add F(i); join roundrobin; }`,
};

describe('programs for a GPU', function () {
  this.timeout(120_000);

  for (const [name, source] of Object.entries(large)) {
    it(`of a thousand filters in a ${name} are planned in seconds`, () => {
      const graph = graphOf(source);
      const before = process.cpuUsage();
      const { states } = fusedProgram(graph);
      const { user } = process.cpuUsage(before);
      assert.ok(states > 0 && user < 40e6, `${user / 1e6} s`);
    });
  }
});
