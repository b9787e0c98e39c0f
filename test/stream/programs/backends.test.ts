// The twelve programs give the same bits compiled to WebAssembly as in the interpreter.
import assert from 'node:assert/strict';
import { benchmarkPrograms, randomInput } from '../../../examples/stream/programs.ts';
import { run } from '../../../lib/stream/run/index.ts';
import { program } from './support.ts';

/** Steady states that are enough to fill all windows and to run some more. */
const steadyStates: Readonly<Record<string, number>> = { 'channel-vocoder': 8, 'fm-radio': 130, filterbank: 20, 'mpeg2-subset': 10, tde: 1, dct: 2, des: 4 };

describe('the twelve programs compiled to WebAssembly', function () {
  this.timeout(60_000);

  for (const each of benchmarkPrograms) {
    it(each.name, async () => {
      const graph = program(each.name);
      const input = randomInput(each, (steadyStates[each.name] ?? 8) * each.inputItems, 3);
      const expected = await run(graph, { input, backend: 'interpret' });
      assert.ok(expected.output.length > 0);
      const found = await run(graph, { input, backend: 'wasm' });
      assert.deepEqual(Array.from(found.output, (x) => x + 0), Array.from(expected.output, (x) => x + 0));
    });
  }
});
