// Random programs on a device give the same bits as the interpreter and WebAssembly, in rounds of all shapes.
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import type { CompiledGpu } from '../../../lib/stream/run/gpu.ts';
import type { FusedOptions } from '../../../lib/stream/targets/cuda-layout.ts';
import { fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { eachBackend } from '../../support/backends.ts';
import { randomInput, randomProgram } from '../emit/random-programs.ts';
import { graphOf } from '../support.ts';
import { casesOf } from '../../support/thorough.ts';
import { agrees, compileTogether, deviceBackends, firstState, inputItems, type Sample } from './support.ts';

const programs = casesOf(50, 200), together = 25;
const options: readonly FusedOptions[] = [
  {}, { threads: 32, sharedBytes: 3000, groupSize: 1, filterSize: 0 }, { threads: 64, sharedBytes: 12_000, groupSize: 150, readsAhead: true },
  { threads: 256, groupSize: 6000, filterSize: 6000 }, { threads: 32, sharedBytes: 100_000, groupSize: 1, readsAhead: true },
  { threads: 96, sharedBytes: 24_000, groupSize: 80_000, live: 6 }, { threads: 64, groupSize: 20_000, filterSize: 6000, live: 40 },
];

interface RandomSample extends Sample {
  readonly seed: number;
  readonly source: string;
  readonly type: 'int' | 'float' | 'bit';
}

/** The programs that can run on devices, starting with seed 0. */
function* samples(): Generator<RandomSample> {
  for (let seed = 0; ; ++seed) {
    const { source, type } = randomProgram(seed);
    const sample = { seed, source, type, graph: graphOf(source), options: options[seed % options.length]! };
    try {
      fusedProgram(sample.graph, sample.options);
    } catch (error) {
      assert.equal((error as { code?: unknown }).code, 'ERR_WARPLOOM_UNSUPPORTED', `seed ${seed}\n${source}`);
      continue;
    }
    yield sample;
  }
}

describe('random programs on devices', function () {
  this.timeout(240_000);
  const found = samples();
  const batches: RandomSample[][] = [];
  const batchAt = (number: number): RandomSample[] =>
    batches[number] ??= Array.from({ length: together }, () => found.next().value as RandomSample);

  eachBackend((_, opened) => {
    const compiling: Promise<(CompiledGpu | undefined)[]>[] = [];
    /** The programs of a batch. The next batches are compiled in the meantime. */
    const compiledAt = async (batch: number): Promise<CompiledGpu[]> => {
      const device = await opened();
      for (let at = batch; at < Math.min(batch + availableParallelism(), programs / together); ++at) {
        compiling[at] ??= compileTogether(device, batchAt(at));
      }
      return await compiling[batch]! as CompiledGpu[];
    };

    for (let batch = 0; batch < programs / together; ++batch) {
      it(`${batch * together} to ${(batch + 1) * together - 1}`, async () => {
        const made = await compiledAt(batch);
        for (const [i, { seed, source, type, graph }] of batchAt(batch).entries()) {
          const compiled = made[i]!;
          const { states } = compiled.program;
          const length = inputItems(compiled, firstState(compiled) + (seed % 4) * states + 1 + seed % 5);
          const input = randomInput(seed, type, length + seed % 3);
          await agrees(compiled, graph, input).catch((error: unknown) => {
            throw new Error(`seed ${seed}\n${source}`, { cause: error });
          });
          const few = input.slice(0, Math.min(length, 1500));
          assert.deepEqual([...(await compiled.run(few, {})).output], interpretSync(graph, { input: few }).output, `seed ${seed}\n${source}`);
        }
        made[0]!.dispose();
      });
    }
  }, { backends: deviceBackends, cases: programs / together });
});
