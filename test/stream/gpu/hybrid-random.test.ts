// Random programs on cores and a device together, state and loops included: what the interpreter and WebAssembly make of them, under every
// kind of partition, by several numbers of cores and multiprocessors.
import assert from 'node:assert/strict';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import type { HybridCompileOptions } from '../../../lib/stream/run/hybrid.ts';
import { eachBackend } from '../../support/backends.ts';
import { randomInput, randomProgram } from '../emit/random-programs.ts';
import { graphOf } from '../support.ts';
import { casesOf } from '../../support/thorough.ts';
import { hybridTogether, inputFor, partitions, small, together } from './hybrid.ts';
import { deviceBackends } from './support.ts';

const programs = casesOf(20, 60), batch = 10;
const cuts = Object.values(partitions);
const ways: readonly HybridCompileOptions[] = [
  small, { ...small, processors: 1, cores: 1 }, { ...small, processors: 7, threads: 64 }, { ...small, width: 128, threads: 128, shuffleItems: 128 },
  { ...small, cores: 3, maxUnroll: 3 },
];

describe('random programs on cores and a device together', function () {
  this.timeout(240_000);

  eachBackend((_, opened) => {
    for (let first = 0; first < programs; first += batch) {
      it(`${first} to ${first + batch - 1}`, async () => {
        const some = Array.from({ length: batch }, (__, i) => {
          const seed = 7000 + first + i;
          const { source, type } = randomProgram(seed);
          const onDevice = cuts[seed % cuts.length]!(seed);
          return { seed, source, type, graph: graphOf(source), options: { ...ways[seed % ways.length]!, onDevice } };
        });
        const compiled = await hybridTogether(await opened(), some);
        let runs = 0;
        for (const [i, { seed, source, type, graph, options }] of some.entries()) {
          const made = compiled[i];
          assert.ok(made !== undefined, `seed ${seed}\n${source}`);
          const blame = (error: Error): never => {
            throw new Error(`seed ${seed} ${JSON.stringify(options)}: ${error.message}\n${source}`, { cause: error });
          };
          for (const [iterations, more] of [[0, 3], [1, -1], [2 + seed % 5, seed % 3]] as const) {
            const length = Math.max(0, inputFor(made, iterations) + more);
            if (length > 60_000) continue;
            const isByPlan = await together(made, graph, randomInput(seed, type, length)).catch(blame);
            assert.ok(isByPlan || iterations < 2);
            if (isByPlan) ++runs;
          }
          const few = randomInput(seed + 1, type, Math.min(inputFor(made, 1), 2000));
          assert.deepEqual([...(await made.run(few, {})).output], interpretSync(graph, { input: few }).output, `seed ${seed}\n${source}`);
        }
        assert.ok(runs >= batch, `${runs} runs by plans`);
        // Three quarters of the partitions place filters on the device, where there are any without state and loops.
        assert.ok(compiled.filter((made) => made!.parts.lists.entries > 0).length >= batch / 3);
        for (const made of compiled) made?.dispose();
      });
    }
  }, { backends: deviceBackends, cases: programs / batch });
});
