// Random programs under the schedules of chapter 3: what the interpreter and WebAssembly make of them, by every mode, several coarsenings
// and numbers of multiprocessors. 50 programs; as many as WARPLOOM_RANDOM_GRAPHS says.
import assert from 'node:assert/strict';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { textFor, type PipelineOptions } from '../../../lib/stream/run/gpu-pipelined.ts';
import { eachBackend } from '../../support/backends.ts';
import { casesOf } from '../../support/thorough.ts';
import { randomInput, randomProgram } from '../emit/random-programs.ts';
import { graphOf } from '../support.ts';
import { pipelinedTogether, type PipelinedSample } from './pipelined.ts';
import { agrees, deviceBackends, firstState, inputItems } from './support.ts';

const programs = Number(process.env['WARPLOOM_RANDOM_GRAPHS'] ?? casesOf(30, 50)), together = casesOf(15, 25);
const ways: readonly PipelineOptions[] = [
  { mode: 'swp', width: 32, threads: 64, coarsening: 1 }, { mode: 'swpnc', threads: 32, coarsening: 2, launch: 'persistent' },
  { mode: 'serial', width: 32, threads: 32, coarsening: 2 }, { mode: 'swp', width: 32, threads: 32, coarsening: 4, processors: 1 },
  { mode: 'swpnc', threads: 64, coarsening: 1, processors: 9 }, { mode: 'swp', width: 128, threads: 128, coarsening: 1, processors: 2 },
  { mode: 'serial', width: 32, threads: 64, coarsening: 1, processors: 5, launch: 'persistent' },
];

interface RandomSample extends PipelinedSample {
  readonly seed: number;
  readonly source: string;
  readonly type: 'int' | 'float' | 'bit';
}

/** Programs that are for devices, from a seed on. */
function* samples(): Generator<RandomSample> {
  for (let seed = 1000; ; ++seed) {
    const { source, type } = randomProgram(seed);
    const sample = { seed, source, type, graph: graphOf(source), options: ways[seed % ways.length]! };
    try {
      textFor(sample.graph, sample.options);
    } catch (error) {
      assert.equal((error as { code?: unknown }).code, 'ERR_WARPLOOM_UNSUPPORTED', `seed ${seed}\n${source}`);
      continue;
    }
    yield sample;
  }
}

describe('random programs under the schedules of chapter 3', function () {
  this.timeout(240_000);
  const found = samples();

  eachBackend((_, opened) => {
    for (let batch = 0; batch < programs / together; ++batch) {
      it(`${batch * together} to ${(batch + 1) * together - 1}`, async () => {
        const some = Array.from({ length: together }, () => found.next().value as RandomSample);
        const compiled = await pipelinedTogether(await opened(), some);
        for (const [i, { seed, source, type, graph, options }] of some.entries()) {
          const made = compiled[i]!;
          const { states } = made.schedule;
          const blame = (error: Error): never => {
            throw new Error(`seed ${seed} ${JSON.stringify(options)}: ${error.message}\n${source}`, { cause: error });
          };
          for (const extra of [1 + seed % 3, (1 + seed % 2) * states - seed % 5]) {
            const length = inputItems(made, firstState(made) + extra) + seed % 3;
            if (length > 200_000) continue;
            await agrees(made, graph, randomInput(seed, type, length)).catch(blame);
          }
          const few = randomInput(seed + 1, type, Math.min(inputItems(made, firstState(made) + 2), 1500));
          assert.deepEqual([...(await made.run(few, {})).output], interpretSync(graph, { input: few }).output, `seed ${seed}\n${source}`);
        }
        for (const each of compiled) each?.dispose();
      });
    }
  }, { backends: deviceBackends, cases: programs / together });
});
