// Failures of runs on devices: faults of programs, endless loops, stopped runs, and devices that lack memory or are lost or closed.
import assert from 'node:assert/strict';
import { addon } from '../../../lib/core/binding.ts';
import { openDevice, type Device } from '../../../lib/core/device.ts';
import { compileForDevice, run, type StreamGraph, type StreamRunOptions } from '../../../lib/stream/index.ts';
import { drillBackends, eachBackend } from '../../support/backends.ts';
import { isThorough } from '../../support/thorough.ts';
import { graphOf } from '../support.ts';
import { deviceBackends, heldBy, settled } from './support.ts';

const programs = {
  index: 'int->int filter A { int[4] t = {5, 6, 7, 8}; work pop 1 push 1 { push(t[pop()]); } } '
    + 'int->int filter B { work pop 1 push 1 peek 3 { push(peek(0) + peek(2)); pop(); } } '
    + 'int->int pipeline Main { add B; add A; add B; }',
  division: 'int->int filter A { work pop 2 push 1 { push(pop() / pop()); } } int->int pipeline Main { add A; }',
  two: 'int->int filter A { work pop 1 push 1 { push(100 / pop()); } } int->int filter B { work pop 1 push 1 { push(100 % pop()); } } '
    + 'int->int filter C { work pop 1 push 1 peek 20 { push(peek(0)); pop(); } } '
    + 'int->int pipeline Main { add C; add splitjoin { split roundrobin; add A; add B; join roundrobin; }; add C; }',
  prework: 'int->int filter A { prework pop 1 push 3 { push(7 / peek(0)); push(1); push(2); pop(); } work pop 1 push 1 { push(12 / (pop() - 1)); } } '
    + 'int->int filter B { work pop 1 push 1 { push(pop() + 1); } } '
    + 'int->int pipeline Main { add A; add B; }',
  loop: 'int->int filter A { work pop 1 push 1 { int x = pop(); while (x < 0) { x = x & -2; } push(x); } } int->int pipeline Main { add A; }',
  long: 'int->int filter A { work pop 1 push 1 { int x = pop(); int s = 0; while (x > 0) { x--; s = s * 5 + x; } push(s); } } int->int pipeline Main { add A; }',
};
const made = Object.entries(programs).map(([name, source]) => [name, graphOf(source)] as const);
const graphs = Object.fromEntries(made) as Record<keyof typeof programs, StreamGraph>;
const floats = graphOf('float->float filter F { work pop 1 push 1 peek 9 { float s = 0; for (int i = 0; i < 9; i++) s += peek(i); push(s); pop(); } } '
  + 'float->float pipeline Main { add F; }');

const length = 30_001;
const ones = (...changes: readonly (readonly [at: number, value: number])[]): Int32Array => {
  const made = new Int32Array(length).fill(1);
  for (const [at, value] of changes) made[at] = value;
  return made;
};

/** The contents of an error, without its stack. */
const told = (error: Error): unknown => {
  const { diagnostic, node, code } = error as Error & { diagnostic: unknown; node: unknown; code: unknown };
  return { message: error.message, diagnostic, node, code };
};

/** Checks that a run faults on the device as it does as WebAssembly and in the interpreter. */
async function faults(graph: StreamGraph, device: Device, input: Int32Array): Promise<void> {
  const errorBy = (options: StreamRunOptions): Promise<Error> =>
    run(graph, { input, ...options }).then(() => { throw new Error('there is no fault'); }, (error: unknown) => error as Error);
  const found = await errorBy({ device });
  assert.equal(found.name, 'StreamRunError', String(found.stack));
  assert.deepEqual(told(found), told(await errorBy({ backend: 'wasm' })));
}

/** Bytes in use once everything that was disposed is free. Memory of calls that were in flight is released after the first `trim`. */
describe('stream programs that go wrong on devices', function () {
  this.timeout(120_000);

  eachBackend((backend, opened) => {
    let device: Device;
    before(async () => { device = await opened(); });

    it('an index, wherever it is', async () => {
      for (const at of [0, 3, 5000, 17_777, length - 1]) for (const value of [3, -2, 2 ** 31 - 1]) await faults(graphs.index, device, ones([at, value]));
      assert.equal(await settled(device), 0);
    });

    it('a division by zero', async () => {
      for (const at of [1, 9999, 29_999]) await faults(graphs.division, device, ones([at, 0]));
      await faults(graphs.division, device, ones([20_001, 0], [20_003, 0], [9_001, 0]));
    });

    it('the first of several', async () => {
      for (const [a, b] of [[12_000, 12_001], [12_001, 12_000], [25_000, 400], [400, 25_000], [29_900, 29_901], [13_001, 13_000]] as const) {
        await faults(graphs.two, device, ones([a, 0], [b, 0]));
      }
    });

    it('in a prework, or only behind it', async () => {
      const twos = ones().fill(2);
      twos[0] = 0;
      await faults(graphs.prework, device, twos);
      twos[0] = 3;
      twos[20_000] = 1;
      await faults(graphs.prework, device, twos);
      // A prework that would go wrong at another place of the input than the first.
      for (const at of [20_000, length - 2, length - 5]) {
        const good = ones().fill(2);
        good[at] = 0;
        const found = await run(graphs.prework, { input: good, device });
        assert.deepEqual(found.output, (await run(graphs.prework, { input: good, backend: 'wasm' })).output);
      }
    });

    it('a loop that is too long for a device goes to the CPU', async () => {
      const input = ones([15_000, 2_500_000], [16_000, 7]);
      const found = await run(graphs.long, { input, device });
      assert.equal(found.backend, 'wasm');
      assert.match(found.note!, /^the program ran on the CPU: a loop makes more turns than a device is given time for$/);
      assert.deepEqual(found.output, (await run(graphs.long, { input, backend: 'wasm' })).output);
      const short = ones([15_000, 30_000]);
      const near = await run(graphs.long, { input: short, device });
      assert.deepEqual([near.backend, near.note], [backend, undefined]);
      assert.deepEqual(near.output, (await run(graphs.long, { input: short, backend: 'wasm' })).output);
    });

    it('a loop without end is stopped by the time limit and by the signal, and leaves nothing', async function () {
      this.timeout(240_000); // the shim's threads turn a million times each, on a machine that may be busy
      // All threads without end take the shim's minutes where the machine is busy.
      for (const input of [ones([10_000, -2]), ...(backend === 'cuda' || isThorough ? [ones().fill(-2)] : [])]) {
        await run(graphs.loop, { input: ones(), device }); // compiles it
        await assert.rejects(run(graphs.loop, { input, device, timeout: 300 }), /took more than 300 ms/);
        const stop = new AbortController();
        setTimeout(() => { stop.abort(new Error('enough')); }, 200);
        await assert.rejects(run(graphs.loop, { input, device, signal: stop.signal }), /^Error: enough$/);
        assert.equal(await settled(device), 0);
        assert.deepEqual((await run(graphs.loop, { input: ones(), device })).output, ones());
      }
    });

    it('a run that is stopped in the middle leaves nothing', async () => {
      using program = await compileForDevice(floats, { device });
      const input = new Float32Array(4_000_000).fill(1);
      using resident = await device.array(input);
      const held = await heldBy(device);
      for (const given of [input, resident]) {
        for (const wait of [0, 3, 20]) {
          const stop = new AbortController();
          const timer = setTimeout(() => { stop.abort(new Error('enough')); }, wait);
          const made = await program.run(given as never, { signal: stop.signal }).then((result) => result.output as unknown, (error: unknown) => {
            assert.equal(String(error), 'Error: enough');
          });
          clearTimeout(timer);
          (made as Partial<Disposable> | undefined)?.[Symbol.dispose]?.();
          assert.equal(await settled(device, held), held);
        }
      }
      await assert.rejects(program.run(input, { signal: AbortSignal.abort(new Error('before')) }), /^Error: before$/);
      assert.ok((await program.run(input)).deviceSeconds! > 0);
    });

    it('a program that is disposed of, and a device that is closed, in the middle of a run', async () => {
      const own = await openDevice({ backend });
      const program = await compileForDevice(floats, { device: own });
      const input = new Float32Array(1_000_000).fill(1);
      const running = program.run(input);
      program.dispose();
      assert.ok((await running).deviceSeconds! > 0, 'what was running ends as it would have');
      await assert.rejects(program.run(input), { code: 'ERR_WARPLOOM_DISPOSED' });
      assert.equal(await settled(own), 0);
      const again = run(floats, { input, device: own });
      const closing = own.close();
      const closed = await again.then(() => undefined, (error: unknown) => (error as { code: unknown }).code);
      assert.ok(closed === undefined || closed === 'ERR_WARPLOOM_DISPOSED', String(closed));
      await closing;
      await assert.rejects(run(floats, { input, device: own }), { code: 'ERR_WARPLOOM_DISPOSED' });
    });

    it('long inputs take little memory of the device, and none that is not there', async () => {
      const input = Float32Array.from({ length: 2_000_000 }, (_, i) => i % 1000);
      const expected = (await run(floats, { input, backend: 'wasm' })).output;
      await using own = await openDevice({ backend, memoryLimit: 4 * 2 ** 20 });
      const found = await run(floats, { input, device: own });
      assert.deepEqual([found.backend, found.note], [backend, undefined]);
      assert.deepEqual(found.output, expected);
      assert.ok(own.memory().peakBytes < 2 * 2 ** 20, `${own.memory().peakBytes} bytes`);
      await using tiny = await openDevice({ backend, memoryLimit: 4096 });
      const elsewhere = await run(floats, { input, device: tiny });
      assert.equal(elsewhere.backend, 'wasm');
      assert.match(elsewhere.note!, /^the program ran on the CPU: .*(memory|bytes)/);
      assert.deepEqual(elsewhere.output, expected);
    });
  }, { backends: deviceBackends, cases: 9 });

  for (const backend of drillBackends(1, deviceBackends)) {
    it(`${backend}: every runtime call fails in turn; a lost device stays lost, and its programs run on the CPU`, async () => {
      const seam = backend === 'simt' ? addon().faults! : addon().cudaFaults!;
      const input = new Float32Array(40_000).fill(1);
      const expected = (await run(floats, { input, backend: 'wasm' })).output;
      let device = await openDevice({ backend });
      try {
        for (const number of [2, 701, 700]) {
          await run(floats, { input, device });
          await run(floats, { input, device });
          const before = seam.calls();
          await run(floats, { input, device });
          const calls = seam.calls() - before;
          assert.ok(calls >= 4, `${calls} calls`);
          for (let skip = 0; skip < calls; ++skip) {
            seam.arm(skip, number, false);
            const found = await run(floats, { input, device }).catch((error: unknown) => (error as { code: string }).code);
            seam.disarm();
            if (typeof found !== 'string') assert.deepEqual(found.output, expected);
            else if (number === 700) {
              assert.equal(found, 'ERR_WARPLOOM_DEVICE_LOST');
              const later = await run(floats, { input, device });
              assert.deepEqual([later.backend, later.note], ['wasm', 'the program ran on the CPU: the device was lost']);
              assert.deepEqual(later.output, expected);
              await device.close();
              device = await openDevice({ backend });
            } else assert.equal(found, number === 2 ? 'ERR_WARPLOOM_OUT_OF_MEMORY' : 'ERR_WARPLOOM_INTERNAL');
            if (number !== 700) assert.equal(await settled(device), 0);
          }
        }
      } finally {
        seam.disarm();
        await device.close();
      }
    });
  }
});
