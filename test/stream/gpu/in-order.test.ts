// Programs whose firings must follow each other, in runs that name no mode: on the device where that should pay, else on the CPU, with the
// reason; and the same bits on both.
import assert from 'node:assert/strict';
import type { Device } from '../../../lib/core/device.ts';
import { run, type StreamGraph } from '../../../lib/stream/index.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { estimateSides } from '../../../lib/stream/run/in-order.ts';
import { eachBackend } from '../../support/backends.ts';
import { randomInput } from '../emit/random-programs.ts';
import { graphOf } from '../support.ts';
import { loopGraph, loopPrograms } from './loop-programs.ts';
import { deviceBackends } from './support.ts';

/** Filters without state that do so much, around one whose firings follow each other. */
const around = (taps: number): string => `float->float filter Fir { work pop 1 push 1 peek ${taps} {
    float s = 0; for (int i = 0; i < ${taps}; i++) s += peek(i) * (0.1 + i); push(s); pop(); } }
  float->float filter Smooth { float y; work pop 1 push 1 { y = 0.9 * y + 0.1 * pop(); push(y); } }
  float->float pipeline Main { add Fir; add Smooth; }`;

const inOrder = /; in order, a device takes [\d.]+ times as long as cores, as (estimated|measured)$/;

describe('programs in order without a mode', function () {
  this.timeout(120_000);

  it('are estimated: what follows each other is slower on a device, what does not is faster', () => {
    const ratio = (graph: StreamGraph, threads: number, processors = 132): number => {
      const { device, cores } = estimateSides(graph, processors, threads);
      return device / cores;
    };
    const ratioOf = (taps: number, threads: number, processors?: number): number => ratio(graphOf(around(taps)), threads, processors);
    const named = (name: string): StreamGraph => loopGraph(loopPrograms.find((each) => each.name === name)!);
    for (const name of ['delay of one', 'state', 'recurrences of floats', 'a loop in a loop', 'structs']) {
      assert.ok(ratio(named(name), 16) > 2, name);
    }
    assert.ok(ratioOf(4, 1) > 2 && ratioOf(1024, 1) < 0.5);
    // On an H200 and 16 cores beside it: 3.3 and 1.4 times as long.
    assert.ok(ratioOf(256, 16) > 2 && ratioOf(256, 16) < 5 && ratioOf(1024, 16) > 1 && ratioOf(1024, 16) < 2);
    assert.ok(ratioOf(1024, 1) < ratioOf(256, 1) && ratioOf(256, 1) < ratioOf(256, 16));
    assert.ok(ratioOf(4096, 1, 1) > ratioOf(4096, 1, 132));
    // Loops that hold many items go round in parallel.
    assert.ok(ratio(named('delay of one'), 1) > 5 * ratio(named('delay of 1000'), 1));
  });

  eachBackend((backend, opened) => {
    let device: Device;
    before(async () => { device = await opened(); });

    it('run where that should be faster, with the same bits', async () => {
      const graph = graphOf(around(512));
      const input = Float32Array.from({ length: 30_011 }, (_, i) => Math.sin(i * i));
      const expected = (await run(graph, { input, backend: 'wasm' })).output;
      const few = input.subarray(0, 700);
      assert.deepEqual(Array.from((await run(graph, { input: few, device, threads: 1 })).output), interpretSync(graph, { input: few }).output);
      for (const count of [30_011, 9001]) {
        const found = await run(graph, { input: input.subarray(0, count), device, threads: 1 });
        if (backend === 'simt') assert.deepEqual([found.backend, found.note], [backend, undefined]);
        assert.deepEqual(found.output, (expected as Float32Array).subarray(0, count - 511));
      }
      // The same program for more threads than any machine has: cores are faster.
      const elsewhere = await run(graph, { input, device, threads: 1024 });
      assert.equal(elsewhere.backend, 'wasm');
      assert.match(elsewhere.note!, /^the program ran on the CPU: Smooth \(line \d+\) keeps 'y', which only a firing after the other can find; in/);
      assert.match(elsewhere.note!, inOrder);
      assert.deepEqual(elsewhere.output, expected);
    });

    it('stay on the CPU where one thread of the device would make nearly all, unless a mode is named', async () => {
      for (const [i, program] of loopPrograms.entries()) {
        if (i % 3 !== 0 && backend === 'simt') continue;
        const graph = loopGraph(program), input = randomInput(i, program.type, 1500);
        const found = await run(graph, { input, device });
        // Where a GPU proved faster, so few items do not fill its schedule: the CPU makes them, and there is nothing to say.
        if (found.backend === 'wasm' && (found.note !== undefined || backend === 'simt')) {
          assert.match(found.note!, backend === 'simt' ? inOrder : /; in order, a device takes|the run is too short for/, program.name);
        }
        assert.deepEqual(Array.from(found.output), interpretSync(graph, { input }).output, program.name);
      }
      const graph = loopGraph(loopPrograms[1]!), input = randomInput(1, 'int', 200_000);
      const fused = await run(graph, { input, device, mode: 'fused' });
      assert.deepEqual([fused.backend, fused.note], [backend, undefined]);
      assert.deepEqual(fused.output, (await run(graph, { input, backend: 'wasm' })).output);
      assert.equal((await run(graph, { input: input.slice(0, 1500), device })).backend, 'wasm');
    });
  }, { backends: deviceBackends, cases: 2 });
});
