// The twelve programs on cores and a device together, the one with state included: what WebAssembly makes of them, bit for bit, under every
// kind of partition, at lengths around whole iterations.
import assert from 'node:assert/strict';
import { benchmarkPrograms, randomInput, type BenchmarkProgram } from '../../../examples/stream/programs.ts';
import type { HybridCompileOptions, HybridGpu } from '../../../lib/stream/run/hybrid.ts';
import { eachBackend } from '../../support/backends.ts';
import { program } from '../programs/support.ts';
import { isThorough } from '../../support/thorough.ts';
import { hybridOf, inputFor, partitions, small, together } from './hybrid.ts';
import { deviceBackends } from './support.ts';

const ways: readonly HybridCompileOptions[] = [
  small, { ...small, processors: 2, cores: 3 }, { ...small, processors: 4, cores: 1 }, { ...small, processors: 7 },
];
/** Programs whose iterations are long: few of their partitions are run. */
const long: ReadonlyMap<string, readonly number[]> = new Map([['channel-vocoder', [0, 3]], ['tde', [3]], ['matrix-mult', [0, 3]], ['des', [0, 3]]]);

async function lengths(each: BenchmarkProgram, made: HybridGpu, isWhole: boolean): Promise<void> {
  const graph = program(each.name);
  const all = [inputFor(made, 1), inputFor(made, 1) - 1, inputFor(made, 3) + 1, 0, 1];
  for (const items of isWhole ? all : all.slice(0, 1)) {
    const input = randomInput(each, Math.ceil(Math.max(1, items) / each.inputItems) * each.inputItems, 5).subarray(0, items);
    await together(made, graph, input);
  }
}

describe('the twelve programs on cores and a device together', function () {
  this.timeout(240_000);

  eachBackend((backend, opened) => {
    for (const [number, each] of benchmarkPrograms.entries()) {
      it(each.name, async () => {
        for (const [i, [name, cut]] of Object.entries(partitions).entries()) {
          // On the shim, one or two of the partitions, in turn, and with WARPLOOM_THOROUGH=1 all.
          if (backend === 'simt' && !isThorough && !long.has(each.name) && (i + number) % 3 > 0) continue;
          if (long.get(each.name)?.includes(i) === false) continue;
          using made = await hybridOf(await opened(), program(each.name), { ...ways[i]!, onDevice: cut(i) });
          assert.equal(made.parts.lists.entries > 0, name !== 'all on cores');
          await lengths(each, made, !long.has(each.name) && i >= 2).catch((error: Error) => {
            error.message = `${name}: ${error.message}`;
            throw error;
          });
        }
      });
    }
  }, { backends: deviceBackends, cases: benchmarkPrograms.length });
});
