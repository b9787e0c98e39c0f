// Programs in many people's styles under the schedules of chapter 3: what WebAssembly makes of them, bit for bit.
import assert from 'node:assert/strict';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { scalarCount } from '../../../lib/stream/interpret/values.ts';
import type { PipelinedGpu, PipelineOptions } from '../../../lib/stream/run/gpu-pipelined.ts';
import { compiledWasm } from '../../../lib/stream/run/wasm.ts';
import { eachBackend } from '../../support/backends.ts';
import { apps } from '../programs/apps/index.ts';
import { styles } from '../programs/styles.ts';
import { graphOf } from '../support.ts';
import { pipelinedTogether } from './pipelined.ts';
import { agrees, deviceBackends, firstState, inputItems } from './support.ts';

const upTo24 = Array.from({ length: 24 }, (_, i) => i + 1);
const samples = [
  ...styles.map(({ name, source }) => ({ name, graph: graphOf(source), items: upTo24 })),
  ...apps.map(({ name, source, input = [] }) => ({ name, graph: graphOf(source), items: input })),
].filter(({ graph }) => graph.input !== undefined);
const ways: readonly PipelineOptions[] = [
  { mode: 'swp', width: 32, threads: 32, coarsening: 1 }, { mode: 'swpnc', threads: 32, coarsening: 1, processors: 3 },
  { mode: 'serial', width: 32, threads: 32, coarsening: 1, launch: 'persistent' },
];
const together = 20, mostScalars = 300_000;

describe('programs in many styles under the schedules of chapter 3', function () {
  this.timeout(240_000);

  eachBackend((_, opened) => {
    let taken = 0;
    for (let at = 0; at < samples.length; at += together) {
      const some = samples.slice(at, at + together);
      it(`${some[0]!.name} … ${some.at(-1)!.name}`, async () => {
        const compiled = await pipelinedTogether(await opened(), some.map(({ graph }, i) => ({ graph, options: ways[(at + i) % ways.length]! })));
        for (const [i, { name, graph, items }] of some.entries()) {
          const program = compiled[i];
          if (program === undefined) continue;
          ++taken;
          for (const extra of [1, program.schedule.states + 1]) await sameOutcome(program, graph, items, extra, `${name} by ${program.mode}`);
        }
        for (const each of compiled) each?.dispose();
      });
    }

    it('are mostly for devices', () => assert.ok(taken > 50, `${taken} of ${samples.length}`));
  }, { backends: deviceBackends, cases: Math.ceil(samples.length / together) + 1 });
});

/** Runs a program on its own items, over and over, with some more steady states than the CPU makes first. */
async function sameOutcome(made: PipelinedGpu, graph: StreamGraph, items: readonly number[], extra: number, name: string): Promise<void> {
  const scalars = scalarCount(graph.input!.type) * (inputItems(made, firstState(made) + extra) + extra % 2);
  if (scalars > mostScalars) return;
  const input = Array.from({ length: scalars }, (_, i) => items[i % items.length]!);
  try {
    compiledWasm(graph).run(input, {});
  } catch (error) {
    await assert.rejects(async () => made.run(input, {}), { code: (error as { code: string }).code, message: (error as Error).message }, name);
    return;
  }
  await agrees(made, graph, input).catch((error: Error) => {
    error.message = `${name}: ${error.message}`;
    throw error;
  });
}
