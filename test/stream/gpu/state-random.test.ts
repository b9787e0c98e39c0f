// Random programs with state on devices: all of them run there, and give what the interpreter and WebAssembly give.
import assert from 'node:assert/strict';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import type { CompiledGpu } from '../../../lib/stream/run/gpu.ts';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import type { FusedOptions } from '../../../lib/stream/targets/cuda-layout.ts';
import { viewsOf } from '../../../lib/stream/targets/cuda-views.ts';
import { fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { compiledWasm } from '../../../lib/stream/run/wasm.ts';
import { eachBackend } from '../../support/backends.ts';
import { graphOf } from '../support.ts';
import { casesOf } from '../../support/thorough.ts';
import { randomStateProgram, wildProgram } from './state-programs.ts';
import { agrees, compileTogether, deviceBackends, firstState, inputItems } from './support.ts';

const programs = casesOf(45, 75), together = casesOf(15, 25), wild = casesOf(24, 40);
const options: readonly FusedOptions[] = [
  { threads: 32, sharedBytes: 6000 }, {}, { threads: 64, sharedBytes: 12_000 }, { threads: 32, sharedBytes: 3000, groupSize: 1 },
];

/** Whether a program's channels fit; throws if anything else keeps it from devices. */
function fits(graph: StreamGraph, chosen: FusedOptions): boolean {
  try {
    fusedProgram(graph, chosen);
    return true;
  } catch (error) {
    assert.match((error as Error).message, /bytes of shared memory/);
    return false;
  }
}

function isFound(graph: StreamGraph): boolean {
  try {
    fusedProgram(graph);
    return true;
  } catch (error) {
    assert.match((error as Error).message, /which only a firing after the other can find/);
    return false;
  }
}

describe('random programs with state on devices', function () {
  this.timeout(240_000);

  eachBackend((backend, opened) => {
    // Compilers for a GPU take much longer.
    for (let batch = 0; batch < (backend === 'cuda' ? 1 : programs / together); ++batch) {
      it(`${batch * together} to ${(batch + 1) * together - 1}${batch === 2 ? ', with splitters as views' : ''}`, async () => {
        const samples = Array.from({ length: together }, (__, i) => {
          const seed = batch * together + i;
          const isSplit = batch === 2;
          const { source } = randomStateProgram(seed, isSplit);
          const graph = graphOf(source), chosen: FusedOptions = { ...options[seed % options.length], views: isSplit };
          return { seed, source, graph, options: fits(graph, chosen) ? chosen : {} };
        });
        const made = await compileTogether(await opened(), samples) as CompiledGpu[];
        if (batch === 2) assert.ok(made.filter(({ program: { plan } }) => viewsOf(plan).all.some(({ isRead }) => isRead)).length > 0.4 * together);
        for (const [i, { seed, source, graph }] of samples.entries()) {
          const compiled = made[i];
          try {
            assert.ok(compiled !== undefined, 'it is not for devices');
            const from = firstState(compiled), { states } = compiled.program;
            for (const more of [1 + seed % 5, (3 + seed % 20) * states + seed % 7]) {
              const length = Math.min(inputItems(compiled, from + more), 400_000) + seed % 3;
              const input = Int32Array.from({ length }, (___, k) => (Math.imul(k + seed, 0x9e3779b1) >>> 25) % 11);
              await agrees(compiled, graph, input, {}, length >= inputItems(compiled, from + 1));
            }
            const few = Int32Array.from({ length: 900 }, (___, k) => (Math.imul(k + seed, 0x9e3779b1) >>> 25) % 11 - 2);
            assert.deepEqual([...(await compiled.run(few, {})).output], [...interpretSync(graph, { input: few }).output]);
          } catch (error) {
            throw new Error(`seed ${seed}\n${source}`, { cause: error });
          }
        }
        made[0]?.dispose();
      });
    }

    it('fields that change in any way: what is taken for found is found', async () => {
      const samples = Array.from({ length: wild }, (__, seed) => ({ seed, source: wildProgram(seed) }))
        .map((each) => ({ ...each, graph: graphOf(each.source), options: options[0]! })).filter(({ graph }) => isFound(graph));
      assert.ok(samples.length > wild / 2 && samples.length < wild, `${samples.length} of ${wild}`);
      const made = await compileTogether(await opened(), samples) as CompiledGpu[];
      for (const [i, { seed, source, graph }] of samples.entries()) {
        const compiled = made[i]!;
        const length = inputItems(compiled, firstState(compiled) + 9 * compiled.program.states + seed % 5);
        for (const below of [11, 3]) {
          const input = Int32Array.from({ length }, (___, k) => (Math.imul(k + seed, 0x9e3779b1) >>> 25) % below - 1);
          const found = await compiled.run(input, {});
          assert.deepEqual(found.output, compiledWasm(graph).run(input, {}).output, `seed ${seed}\n${source}`);
        }
      }
      made[0]?.dispose();
    });
  }, { backends: deviceBackends, cases: programs / together + 1 });
});
