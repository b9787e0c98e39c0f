// The twelve programs on a device give the same bits as WebAssembly, for input lengths that are not multiples of rounds.
import assert from 'node:assert/strict';
import { benchmarkPrograms, randomInput } from '../../../examples/stream/programs.ts';
import type { CompiledGpu } from '../../../lib/stream/run/gpu.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { eachBackend } from '../../support/backends.ts';
import { program } from '../programs/support.ts';
import { agrees, compileTogether, deviceBackends, firstState, inputItems } from './support.ts';

const graphs = new Map(benchmarkPrograms.map(({ name }) => [name, program(name)]));
/** Programs small enough for the interpreter to run more than one round. */
const interpreted = new Set(['channel-vocoder', 'filterbank', 'tde', 'matrix-mult']);

describe('the twelve programs on devices', function () {
  this.timeout(240_000);

  eachBackend((_, opened) => {
    const compiled = new Map<string, CompiledGpu>();
    before(async () => {
      const device = await opened();
      const made = await Promise.all([0, 1].map(async (half) => {
        const names = benchmarkPrograms.map(({ name }) => name).filter((__, i) => i % 2 === half);
        const programs = await compileTogether(device, names.map((name) => ({ graph: graphs.get(name)! })));
        return names.map((name, i) => [name, programs[i]!] as const);
      }));
      for (const [name, each] of made.flat()) compiled.set(name, each);
    });
    after(() => { for (const each of compiled.values()) each.dispose(); });

    for (const each of benchmarkPrograms) {
      it(each.name, async () => {
        const graph = graphs.get(each.name)!;
        const made = compiled.get(each.name)!;
        const { states } = made.program;
        const first = firstState(made);
        for (const [extra, odd] of [[0, 0], [1, 0], [states, each.inputItems - 1], [2 * states + 1, 1], [5 * states - 1, 3]] as const) {
          const items = inputItems(made, first + extra) + odd;
          // The generator gives input for whole steady states.
          const input = randomInput(each, Math.ceil(items / each.inputItems) * each.inputItems, 3 + extra).subarray(0, items);
          await agrees(made, graph, input, {}, extra > 0);
        }
        const input = randomInput(each, (first + 2 * states) * each.inputItems, 5);
        const whole = (await made.run(input, {})).output;
        const wanted = whole.length - 7;
        assert.deepEqual((await made.run(input, { items: wanted })).output, whole.subarray(0, wanted));
        if (!interpreted.has(each.name)) return;
        const few = input.subarray(0, inputItems(made, first + 2));
        assert.deepEqual([...(await made.run(few, {})).output], interpretSync(graph, { input: few }).output);
      });
    }
  }, { backends: deviceBackends, cases: benchmarkPrograms.length });
});
