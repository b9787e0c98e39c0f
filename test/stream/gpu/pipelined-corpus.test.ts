// Programs in many people's styles under the schedules of chapter 3: what WebAssembly makes of them, bit for bit.
import assert from 'node:assert/strict';
import { scalarCount } from '../../../lib/stream/interpret/values.ts';
import type { PipelineOptions } from '../../../lib/stream/run/gpu-pipelined.ts';
import { eachBackend } from '../../support/backends.ts';
import { samples, sameOutcome } from './corpus.ts';
import { pipelinedTogether } from './pipelined.ts';
import { agrees, deviceBackends, firstState, inputItems } from './support.ts';

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
        for (const [i, sample] of some.entries()) {
          const { name, graph } = sample;
          const program = compiled[i];
          if (program === undefined) continue;
          ++taken;
          for (const extra of [1, program.schedule.states + 1]) {
            const scalars = scalarCount(graph.input!.type) * (inputItems(program, firstState(program) + extra) + extra % 2);
            if (scalars > mostScalars) continue;
            await sameOutcome(sample, scalars, `${name} by ${program.mode}`, (input) => program.run(input, {}),
              (input) => agrees(program, graph, input));
          }
        }
        for (const each of compiled) each?.dispose();
      });
    }

    it('are mostly for devices', () => assert.ok(taken > 50, `${taken} of ${samples.length}`));
  }, { backends: deviceBackends, cases: Math.ceil(samples.length / together) + 1 });
});
