// The twelve programs under the schedules of chapter 3: what WebAssembly makes of them, bit for bit, at lengths that are multiples of nothing,
// by several numbers of multiprocessors, with channels that hold garbage at the start.
import assert from 'node:assert/strict';
import { benchmarkPrograms, randomInput, type BenchmarkProgram } from '../../../examples/stream/programs.ts';
import type { PipelinedGpu, PipelineOptions } from '../../../lib/stream/run/gpu-pipelined.ts';
import { eachBackend } from '../../support/backends.ts';
import { program } from '../programs/support.ts';
import { casesOf, isThorough } from '../../support/thorough.ts';
import { rescheduled } from './pipelined.ts';
import { agrees, deviceBackends, firstState, inputItems } from './support.ts';

const forDevices = benchmarkPrograms.filter(({ stateful }) => stateful === 0);
const graphs = new Map(forDevices.map(({ name }) => [name, program(name)]));
/** Programs whose iterations are long: few of their schedules are run. */
const long = new Set(['channel-vocoder', 'tde', 'matrix-mult']);

const schedules: readonly PipelineOptions[] = [
  { mode: 'swp', width: 32, threads: 64, coarsening: 1, processors: 3 },
  { mode: 'serial', width: 32, threads: 64, coarsening: 1, processors: 4 },
  { mode: 'swpnc', threads: 64, coarsening: 1, processors: 2, launch: 'persistent' },
  { mode: 'swp', width: 128, threads: 128, coarsening: 2, launch: 'persistent' },
  { mode: 'swp', width: 32, threads: 64, coarsening: 3, processors: 7 },
  { mode: 'swpnc', threads: 64, coarsening: 2, processors: 1 },
  { mode: 'serial', width: 32, threads: 64, coarsening: 2, processors: 1, launch: 'persistent' },
];

async function counts(each: BenchmarkProgram, compiled: PipelinedGpu, whole: boolean): Promise<void> {
  const { schedule: { states } } = compiled;
  const first = firstState(compiled);
  const runs = [[0, 0], [1, 0], [states - compiled.warmStates, each.inputItems - 1], [2 * states + 1, 1]] as const;
  for (const [extra, odd] of whole ? runs : runs.slice(1, 3)) {
    const items = inputItems(compiled, first + Math.max(0, extra)) + odd;
    const input = randomInput(each, Math.ceil(items / each.inputItems) * each.inputItems, 3 + states).subarray(0, items);
    await agrees(compiled, graphs.get(each.name)!, input, {}, extra > 0);
  }
}

/** Schedules of a program, by its number: on the shim two of them, in turn, and with WARPLOOM_THOROUGH=1 all. */
const turn = (number: number, backend: string): ((_: unknown, i: number) => boolean) =>
  (_, i) => isThorough || backend !== 'simt' || (i + number) % 7 < 2;

describe('the twelve programs under the schedules of chapter 3', function () {
  this.timeout(240_000);

  eachBackend((backend, opened) => {
    for (const [number, each] of forDevices.entries()) {
      it(each.name, async () => {
        const graph = graphs.get(each.name)!;
        const own = schedules.filter(turn(number, backend));
        for (const [i, options] of own.slice(0, long.has(each.name) ? casesOf(1, 2) : own.length).entries()) {
          using compiled = await rescheduled(await opened(), graph, options);
          assert.equal(compiled.schedule.blocks, options.processors ?? (await opened()).description.multiprocessors);
          await counts(each, compiled, i === 0).catch((error: Error) => {
            error.message = `${JSON.stringify(options)}: ${error.message}`;
            throw error;
          });
        }
      });
    }
  }, { backends: deviceBackends, cases: forDevices.length });
});
