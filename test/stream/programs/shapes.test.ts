// The twelve programs have the structure that examples/stream/programs.ts and docs/stream-programs.md state.
import assert from 'node:assert/strict';
import { benchmarkPrograms, randomInput } from '../../../examples/stream/programs.ts';
import { toSdf } from '../../../lib/stream/elaborate/index.ts';
import { pushSchedule, singleAppearanceSchedule, steadyState, validateSchedule } from '../../../lib/stream/schedule/index.ts';
import { program, run, shapeOf } from './support.ts';

describe('structure and schedules of the twelve programs', () => {
  it('are twelve', () => {
    assert.equal(new Set(benchmarkPrograms.map(({ name }) => name)).size, 12);
  });

  for (const each of benchmarkPrograms) {
    const { name, filters, splittersAndJoiners, peeking, stateful, inputItems, outputItems } = each;
    it(name, () => {
      const graph = program(name);
      assert.deepEqual(shapeOf(graph), {
        nodes: filters + splittersAndJoiners, filters, routing: splittersAndJoiners, peeking, stateful, rates: [inputItems, outputItems],
      });
      const [input, output] = [each.input === 'float' ? 'float' : 'int', each.output].map((kind) => ({ kind: 'scalar', name: kind }));
      const sdf = toSdf(graph);
      const steady = steadyState(sdf);
      for (const schedule of [singleAppearanceSchedule(sdf, steady), pushSchedule(sdf, steady)]) {
        assert.deepEqual(validateSchedule(sdf, { ...schedule, init: steady.init }), []);
      }
      assert.deepEqual([graph.input!.type, graph.output!.type], [input, output]);
    });
  }

  for (const name of ['bitonic', 'des', 'dct', 'fft-fine']) {
    it(`${name} keeps up with its rates on random input`, () => {
      const each = benchmarkPrograms.find((one) => one.name === name)!;
      assert.equal(run(program(name), randomInput(each, 3 * each.inputItems)).output.length, 3 * each.outputItems);
    });
  }
});
