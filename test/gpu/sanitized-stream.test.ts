// Small runs of stream programs for the tools of compute-sanitizer (see sanitized.test.ts): the kernel of mode fused with and without state, the
// schedules of chapter 3, recurrences as scans, and runs by device and cores.
import assert from 'node:assert/strict';
import { benchmarkPrograms, randomInput, type BenchmarkProgram } from '../../examples/stream/programs.ts';
import { openDevice } from '../../lib/core/device.ts';
import { elaborate, run, type StreamGraph } from '../../lib/stream/index.ts';
import type { PipelineOptions } from '../../lib/stream/run/gpu-pipelined.ts';
import { eachBackend } from '../support/backends.ts';
import { rescheduled } from '../stream/gpu/pipelined.ts';
import { agrees, compileTogether, firstState, inputItems } from '../stream/gpu/support.ts';
import { program } from '../stream/programs/support.ts';

/** Input for so many steady states on the device, and a part of one. */
function inputFor(each: BenchmarkProgram, items: number): Int32Array | Float32Array {
  return randomInput(each, Math.ceil(items / each.inputItems) * each.inputItems, 11).subarray(0, items);
}

const schedules: readonly PipelineOptions[] = [
  { mode: 'swp', width: 32, threads: 64, coarsening: 1, processors: 3 },
  { mode: 'swpnc', threads: 64, coarsening: 1, processors: 2, launch: 'persistent' },
  { mode: 'serial', width: 32, threads: 64, coarsening: 1, processors: 4 },
];
const few = new Set(['bitonic', 'dct', 'fft-fine', 'fm-radio']);

const stateful: Readonly<Record<string, string>> = {
  'a counter and a running maximum': `int->int filter Count { int n; work pop 1 push 2 { n++; push(n); push(pop()); } }
    int->int filter Sum { int s; work pop 2 push 1 { s += pop() * pop(); push(s); } }
    int->int pipeline Main { add Count; add Sum; }`,
  'a buffer of the last items': `int->int filter Last { int[5] kept; int at; work pop 1 push 1 { push(kept[at]); kept[at] = pop(); at = (at + 1) % 5; } }
    int->int pipeline Main { add Last; }`,
};
const recurrence = `float->float filter Ring { float a; float b;
    work pop 1 push 1 { float y = 1.6 * a - 0.8 * b + pop(); b = a; a = y; push(y * 2); } }
  float->float pipeline Main { add Ring; }`;

describe('sanitized: stream', function () {
  this.timeout(600_000);
  eachBackend((backend, device) => {
    for (const part of [0, 1, 2, 3]) {
      const own = benchmarkPrograms.filter((_, i) => i % 4 === part);
      it(`runs ${own.map(({ name }) => name).join(', ')} in one kernel each`, async () => {
        const graphs = own.map(({ name }) => program(name));
        const compiled = await compileTogether(await device(), graphs.map((graph) => ({ graph })));
        for (const [i, each] of own.entries()) {
          const made = compiled[i]!;
          const items = inputItems(made, firstState(made) + made.program.states + 1) + 1;
          await agrees(made, graphs[i]!, inputFor(each, items));
        }
        compiled[0]!.dispose();
      });
    }

    for (const each of benchmarkPrograms.filter(({ name }) => few.has(name))) {
      it(`runs ${each.name} by the schedules of chapter 3`, async () => {
        const graph = program(each.name);
        for (const options of schedules) {
          using compiled = await rescheduled(await device(), graph, options);
          await agrees(compiled, graph, inputFor(each, inputItems(compiled, firstState(compiled) + compiled.schedule.states + 1)));
        }
      });
    }

    for (const [name, source] of Object.entries(stateful)) {
      it(`keeps ${name}`, async () => {
        const { graph } = await elaborate(source);
        const [compiled] = await compileTogether(await device(), [{ graph }]);
        const items = inputItems(compiled!, firstState(compiled!) + 3 * compiled!.program.states + 1);
        await agrees(compiled!, graph, Int32Array.from({ length: items }, (_, i) => (i * 7919) % 1000));
        compiled!.dispose();
      });
    }

    const both = async (graph: StreamGraph, input: Int32Array | Float32Array, options: object): Promise<[ArrayLike<number>, ArrayLike<number>]> => {
      await using own = await openDevice({ backend: backend as 'simt' });
      const { output } = await run(graph, { input, device: own, ...options });
      return [output, (await run(graph, { input, backend: 'wasm' })).output];
    };
    it('makes recurrences as scans', async () => {
      const { graph } = await elaborate(recurrence);
      const input = Float32Array.from({ length: 20_011 }, (_, i) => Math.fround(Math.sin(i * i * 0.013)));
      const [found, expected] = await both(graph, input, { algebraic: true }); // in another order: not the same bits
      assert.ok(found.length === expected.length && Array.from(found).every((y, i) => Math.abs(y - expected[i]!) < 1e-3));
    });
    it('divides a program between device and cores', async () => {
      const each = benchmarkPrograms.find(({ name }) => name === 'dct')!;
      assert.deepEqual(...await both(program('dct'), inputFor(each, 256 * 700 + 3), { mode: 'synergistic' }));
    });
  }, { backends: ['simt', 'cuda'] }); // where there are kernels
});
