// Starts, ends and items of runs under the schedules of chapter 3: lengths from nothing on, limits, every type of item, preworks, windows,
// runs at once, arrays of the device.
import assert from 'node:assert/strict';
import type { Device } from '../../../lib/core/device.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { compileForDevice, run } from '../../../lib/stream/index.ts';
import type { PipelinedGpu, PipelineOptions } from '../../../lib/stream/run/gpu-pipelined.ts';
import { eachBackend } from '../../support/backends.ts';
import { graphOf } from '../support.ts';
import { integers, programs } from './ends-programs.ts';
import { pipelinedTogether } from './pipelined.ts';
import { agrees, deviceBackends, firstState, inputItems } from './support.ts';

const ways: readonly PipelineOptions[] = [
  { mode: 'swp', width: 32, threads: 32, coarsening: 1 }, { mode: 'swpnc', threads: 32, coarsening: 2, processors: 3 },
  { mode: 'serial', width: 32, threads: 32, coarsening: 1, launch: 'persistent' },
];
const names = Object.keys(programs);
const graphs = new Map(Object.entries(programs).map(([name, { source }]) => [name, graphOf(source)]));

describe('starts and ends of runs under the schedules of chapter 3', function () {
  this.timeout(120_000);

  eachBackend((backend, opened) => {
    let device: Device;
    before(async () => { device = await opened(); });

    for (const options of ways) {
      describe(options.mode, () => {
        const compiled = new Map<string, PipelinedGpu>();
        before(async () => {
          const made = await pipelinedTogether(device, names.map((name) => ({ graph: graphs.get(name)!, options })));
          names.forEach((name, i) => compiled.set(name, made[i]!));
        });
        after(() => { for (const each of compiled.values()) each.dispose(); });

        for (const [name, { scalars = 1, bits = false }] of Object.entries(programs)) {
          it(name, async () => {
            const graph = graphs.get(name)!, each = compiled.get(name)!;
            const { states } = each.schedule;
            const first = firstState(each);
            const input = (items: number): number[] => integers(items * scalars, items).map((x) => (bits ? x & 1 : x));
            const begin = inputItems(each, first);
            const lengths = [0, 1, begin - 1, begin, begin + 1, begin + each.program.input.items, inputItems(each, first + states) - 1,
              inputItems(each, first + 2 * states + 1) + 1];
            for (const items of lengths) await agrees(each, graph, input(Math.max(0, items)), {}, items >= inputItems(each, first + 1));
            const long = input(inputItems(each, first + states + 3));
            const { output } = interpretSync(graph, { input: long });
            assert.deepEqual([...(await each.run(long, {})).output], output);
            for (const limits of [{ items: 0 }, { items: Math.floor(output.length / 3) }, { iterations: first + 1 }, { items: 1e6 }]) {
              const wanted = interpretSync(graph, { input: long, ...limits });
              const found = await each.run(long, limits);
              assert.deepEqual([...found.output], wanted.output, JSON.stringify(limits));
              assert.equal(found.exhausted, wanted.exhausted, JSON.stringify(limits));
            }
          });
        }

        it('runs of a program at once', async () => {
          const graph = graphs.get('windows over windows')!, each = compiled.get('windows over windows')!;
          const inputs = [1, 2, 3, 4, 5].map((times) => integers(inputItems(each, firstState(each) + times * each.program.states), times));
          const found = await Promise.all(inputs.map((input) => each.run(input, {})));
          found.forEach(({ output }, i) => { assert.deepEqual([...output], interpretSync(graph, { input: inputs[i]! }).output); });
        });
      });
    }

    it('arrays of the device', async () => {
      for (const name of ['odd rates', 'windows over windows', 'complex numbers', 'whole numbers to doubles', 'bits']) {
        const graph = graphs.get(name)!;
        const { scalars = 1, bits = false } = programs[name]!;
        using own = await compileForDevice(graph, { device, mode: 'swp', layout: 'warp', threads: 32, coarsening: 1 });
        const numbers = integers(17_011 * 7 * scalars, 5).map((x) => (bits ? x & 1 : x));
        const Typed = /^(int|bit)/.test(programs[name]!.source) ? Int32Array : Float32Array;
        const expected = await run(graph, { input: numbers, backend: 'wasm' });
        using input = await device.array(Typed.from(numbers));
        const found = await own.run(input);
        using output = found.output;
        assert.deepEqual(await output.read(), expected.output);
        assert.ok(found.deviceSeconds! > 0);
        using longer = await device.array(output.type, output.length + 3);
        await longer.write((await longer.read()).fill(-5 as never));
        await own.run(input, { out: longer });
        assert.deepEqual((await longer.read()).subarray(0, output.length), expected.output);
        assert.deepEqual([...(await longer.read()).subarray(output.length)], [-5, -5, -5]);
      }
    });

    it('runs by the name of the mode', async () => {
      const graph = graphs.get('odd rates')!;
      const input = Float32Array.from({ length: 200_003 }, (_, i) => i % 911);
      const expected = await run(graph, { input, backend: 'wasm' });
      for (const mode of ['fused', 'swp', 'swpnc', 'serial'] as const) {
        const found = await run(graph, { input, backend: backend as 'simt', mode });
        assert.deepEqual([found.backend, found.note], [backend, undefined], mode);
        assert.deepEqual(found.output, expected.output, mode);
        const short = await run(graph, { input: input.subarray(0, 13), backend: backend as 'simt', mode });
        assert.deepEqual(short.output, expected.output.length > 0 ? (await run(graph, { input: input.subarray(0, 13) })).output : []);
      }
    });
  }, { backends: deviceBackends, cases: 3 * names.length + 5 });
});
