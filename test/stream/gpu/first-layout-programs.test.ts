// The twelve programs in the layouts of the first compilation's search give the same bits as WebAssembly and the interpreter.
import assert from 'node:assert/strict';
import { benchmarkPrograms, randomInput } from '../../../examples/stream/programs.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { shortList } from '../../../lib/stream/run/layouts.ts';
import { fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { UnsupportedProgram } from '../../../lib/stream/plan/unsupported.ts';
import { eachBackend } from '../../support/backends.ts';
import { program } from '../programs/support.ts';
import { casesOf, isThorough } from '../../support/thorough.ts';
import { agrees, compileTogether, deviceBackends, firstState, inputItems } from './support.ts';

/** Programs small enough for the interpreter. */
const interpreted = new Set(['channel-vocoder', 'filterbank', 'tde', 'matrix-mult']);

describe('the twelve programs in other layouts', function () {
  this.timeout(240_000);

  eachBackend((backend, opened) => {
    for (const [number, each] of benchmarkPrograms.entries()) {
      // The shim takes seconds for each; the other half has its own layouts in other files.
      if (backend === 'simt' && !isThorough && number % 2 > 0) continue;
      it(each.name, async () => {
        const graph = program(each.name);
        const texts = new Set([fusedProgram(graph).source]);
        const others = shortList.filter(({ options }, i) => {
          // Compilers take long: each program has only some of them.
          if (!isThorough && (i + number) % (backend === 'simt' ? 6 : 3) > 0) return false;
          try {
            const { size } = texts;
            return texts.add(fusedProgram(graph, options).source).size > size;
          } catch (error) {
            assert.ok(error instanceof UnsupportedProgram);
            return false;
          }
        });
        const compiled = await compileTogether(await opened(), others.slice(0, backend === 'simt' ? casesOf(1, 99) : 99).map(({ options }) => ({ graph, options })));
        assert.ok(compiled.length >= 1, 'layouts that differ');
        for (const made of compiled) {
          const items = inputItems(made!, firstState(made!) + made!.program.states + 1) + 1;
          const input = randomInput(each, Math.ceil(items / each.inputItems) * each.inputItems, 7).subarray(0, items);
          await agrees(made!, graph, input);
          if (!interpreted.has(each.name)) continue;
          const few = input.subarray(0, inputItems(made!, firstState(made!) + 2));
          assert.deepEqual([...(await made!.run(few, {})).output], interpretSync(graph, { input: few }).output);
        }
        compiled[0]!.dispose();
      });
    }
  }, { backends: deviceBackends, cases: benchmarkPrograms.length });
});
