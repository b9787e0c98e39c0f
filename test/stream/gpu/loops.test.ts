// Feedback loops and state in the modes of chapter 3: what the interpreter and WebAssembly make of the programs, by every mode, with several
// amounts of input, on channels that held garbage before.
import assert from 'node:assert/strict';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { textFor, type PipelineOptions } from '../../../lib/stream/run/gpu-pipelined.ts';
import { compiledWasm } from '../../../lib/stream/run/wasm.ts';
import { eachBackend } from '../../support/backends.ts';
import { randomInput } from '../emit/random-programs.ts';
import { graphOf } from '../support.ts';
import { echo, loopGraph, loopPrograms, type LoopProgram } from './loop-programs.ts';
import { pipelinedTogether, type PipelinedSample } from './pipelined.ts';
import { agrees, deviceBackends, inputItems } from './support.ts';

const ways: readonly PipelineOptions[] = [
  { mode: 'swp', threads: 128, coarsening: 1 }, { mode: 'swpnc', threads: 32, coarsening: 2, launch: 'persistent' },
  { mode: 'serial', threads: 32, coarsening: 1 }, { mode: 'swp', threads: 32, width: 32, coarsening: 4, processors: 3 },
  { mode: 'serial', threads: 64, width: 32, coarsening: 2, launch: 'persistent', processors: 2 },
];

/** Loops that hold so many items that they are not contracted. */
const open = ([
  [100, { mode: 'swp', threads: 128, processors: 3 }], [100, { mode: 'swpnc', threads: 32, processors: 1 }],
  [1000, { mode: 'swp', threads: 64, processors: 4, launch: 'persistent' }], [5000, { mode: 'swp', threads: 256, processors: 5 }],
  [5000, { mode: 'swpnc', threads: 32, processors: 16, coarsening: 1 }], [40_000, { mode: 'swp', threads: 64, processors: 5 }],
  [64, { mode: 'swp', threads: 64, processors: 2 }],
] as const satisfies readonly (readonly [number, PipelineOptions])[]).map(([delay, options]): PipelinedSample =>
  ({ graph: graphOf(echo(delay)), options }));

describe('feedback loops and state under the schedules of chapter 3', function () {
  this.timeout(120_000);

  eachBackend((_, opened) => {
    it('give what the interpreter and WebAssembly give, in every mode', async () => {
      const samples = loopPrograms.flatMap((program, i) => [0, 2].map((step): PipelinedSample & { readonly program: LoopProgram } =>
        ({ program, graph: loopGraph(program), options: ways[(i + step) % ways.length]! })));
      const compiled = await pipelinedTogether(await opened(), samples);
      for (const [i, { program, graph, options }] of samples.entries()) {
        const made = compiled[i];
        const blame = (error: Error): never => {
          throw new Error(`${program.name} ${JSON.stringify(options)}: ${error.message}`, { cause: error });
        };
        assert.ok(made !== undefined, program.name);
        const { states } = made.schedule;
        for (const count of [1, states - 1, 3 * states, 5 * states + 3]) {
          const input = randomInput(i, program.type, Math.min(100_000, inputItems(made, count) + i % 3));
          await agrees(made, graph, input, {}, compiledWasm(graph).run(input).output.length > 0).catch(blame);
        }
        const few = randomInput(i + 1, program.type, Math.min(inputItems(made, 4), 1500));
        assert.deepEqual([...(await made.run(few, {})).output], interpretSync(graph, { input: few }).output, program.name);
      }
      for (const each of compiled) each?.dispose();
    });

    it('let loops that hold enough items go round in parallel', async () => {
      const compiled = await pipelinedTogether(await opened(), open);
      for (const [i, { graph, options }] of open.entries()) {
        const made = compiled[i]!;
        const blame = (error: Error): never => {
          throw new Error(`${i} ${JSON.stringify(options)}: ${error.message}`, { cause: error });
        };
        assert.ok(textFor(graph, options).text.open.size > 0, `program ${i} has an open loop`);
        const { states } = made.schedule;
        for (const count of [1, 2 * states - 1, 9 * states + 5, 60_000]) {
          await agrees(made, graph, randomInput(i, 'int', Math.min(100_000, inputItems(made, count)))).catch(blame);
        }
      }
      for (const each of compiled) each?.dispose();
    });
  }, { backends: deviceBackends, cases: 2 });
});
