// Random graphs of all shapes on a device give the same bits as the interpreter and WebAssembly, in blocks of all sizes.
import assert from 'node:assert/strict';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { scalarCount } from '../../../lib/stream/interpret/values.ts';
import type { FusedOptions } from '../../../lib/stream/targets/cuda-layout.ts';
import { fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { eachBackend } from '../../support/backends.ts';
import { Random, randomInput } from '../emit/random-programs.ts';
import { shapeProgram } from '../emit/random-shapes.ts';
import { graphOf } from '../support.ts';
import { casesOf } from '../../support/thorough.ts';
import { agrees, compileTogether, deviceBackends, firstState, inputItems, type Sample } from './support.ts';

const programs = casesOf(40, 60), together = 20;
/** The maximum number of input items, to limit the time of the test. */
const mostItems = 20_000;

interface Shape extends Sample {
  readonly seed: number;
  readonly source: string;
  readonly type: 'int' | 'float';
}

function optionsOf(seed: number): FusedOptions {
  const r = new Random(seed);
  if (r.below(4) === 0) return {};
  return {
    threads: 32 * (1 + r.below(8)), sharedBytes: r.pick([1000, 2500, 6000, 20_000, 100_000]), width: 1 + r.below(5), minBlocks: 1 + r.below(3),
    ...(r.below(2) === 0 ? {} : { groupSize: r.pick([1, 100, 1000, 8000]), filterSize: r.pick([0, 500, 8000]) }),
  };
}

/** The graphs that fit into a block, starting with seed 0. */
function* shapes(): Generator<Shape> {
  for (let seed = 0; ; ++seed) {
    const shape = { seed, ...shapeProgram(seed), options: optionsOf(seed) };
    const graph = graphOf(shape.source);
    try {
      fusedProgram(graph, shape.options);
    } catch (error) {
      assert.equal((error as { code?: unknown }).code, 'ERR_WARPLOOM_UNSUPPORTED', `seed ${seed}\n${shape.source}`);
      continue;
    }
    yield { ...shape, graph };
  }
}

describe('graphs of every shape on devices', function () {
  this.timeout(240_000);
  const found = shapes();

  eachBackend((_, opened) => {
    for (let batch = 0; batch < programs / together; ++batch) {
      it(`${batch * together} to ${(batch + 1) * together - 1}`, async () => {
        const some = Array.from({ length: together }, () => found.next().value as Shape);
        const made = await compileTogether(await opened(), some);
        let runs = 0;
        for (const [i, { seed, source, type, graph }] of some.entries()) {
          const compiled = made[i]!;
          const { states } = compiled.program;
          const width = scalarCount(graph.input!.type);
          for (const extra of [1, states * (1 + seed % 3) + seed % 5]) {
            const length = (inputItems(compiled, firstState(compiled) + extra) + seed % 3) * width;
            if (length > mostItems) continue;
            ++runs;
            const input = randomInput(seed, type, length);
            await agrees(compiled, graph, input).catch((error: unknown) => {
              throw new Error(`seed ${seed}\n${source}`, { cause: error });
            });
          }
          const few = randomInput(seed, type, 900 * width);
          assert.deepEqual([...(await compiled.run(few, {})).output], interpretSync(graph, { input: few }).output, `seed ${seed}\n${source}`);
        }
        assert.ok(runs > together, `${runs} runs on the device`);
        made[0]!.dispose();
      });
    }
  }, { backends: deviceBackends, cases: programs / together });
});
