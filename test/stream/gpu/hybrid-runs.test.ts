// The modes of chapter 4 as users meet them: options, state and loops, what goes wrong on either side, stops, memory, several runs at once.
import assert from 'node:assert/strict';
import { addon } from '../../../lib/core/binding.ts';
import { openDevice, type Device } from '../../../lib/core/device.ts';
import { compileForDevice, interpret, profile, run, type DeviceCompileOptions, type StreamGraph, type StreamRunOptions } from '../../../lib/stream/index.ts';
import { drillBackends, eachBackend } from '../../support/backends.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';
import { hybridOf, inputFor, partitions, small, together } from './hybrid.ts';
import { deviceBackends, heldBy, settled } from './support.ts';

const index = graphOf('int->int filter A { int[4] t = {5, 6, 7, 8}; work pop 1 push 1 { push(t[pop()]); } } '
  + 'int->int filter S { int s; work pop 1 push 1 { s = s & 1; int x = pop(); if (x == 9) s = 10 / (x - 9); push(x + s); } } '
  + 'int->int filter B { work pop 1 push 1 peek 3 { push(peek(0) + peek(2) - peek(1)); pop(); } } int->int pipeline Main { add S; add A; add B; }');
const endless = graphOf('int->int filter S { int s; work pop 1 push 1 { s = s + 1; push(pop()); } } '
  + 'int->int filter A { work pop 1 push 1 { int x = pop(); while (x < 0) { x = x & -2; } push(x); } } '
  + 'int->int filter T { int s; work pop 1 push 1 { s = pop(); while (s > 99) { s = s | 64; } push(s); } } int->int pipeline Main { add S; add A; add T; }');
const long = graphOf('int->int filter A { work pop 1 push 1 { int x = pop(); int s = 0; while (x > 0) { x--; s = s * 5 + x; } push(s); } } int->int pipeline Main { add A; }');
const mixed = graphOf('float->float filter F { work pop 1 push 1 peek 9 { float s = 0; for (int i = 0; i < 9; i++) s += peek(i); push(s); pop(); } } '
  + 'float->float filter S { float s; work pop 1 push 1 { s = s * 0.5 + pop(); push(s); } } '
  + 'float->float filter G { work pop 2 push 3 { float a = pop(); float b = pop(); push(a * b); push(a); push(b); } } float->float pipeline Main { add F; add S; add G; }');
const prints = graphOf('int->int filter B { work pop 1 push 1 { push(pop() * 2); } } int->int filter A { work pop 1 push 1 { int x = pop(); println(x); push(x); } } '
  + 'int->int pipeline Main { add B; add A; add B; }');
const bothPrint = graphOf('int->int filter A { work pop 1 push 1 { println(1); push(pop()); } } int->int pipeline Main { add A; add A; }');
const stateless = graphOf('float->float filter G { work pop 2 push 3 { float a = pop(); float b = pop(); push(a * b); push(a); push(b); } } '
  + 'float->float pipeline Main { add G; }');

const length = 60_001;
const ones = (...changes: readonly (readonly [at: number, value: number])[]): Int32Array => {
  const made = new Int32Array(length).fill(1);
  for (const [at, value] of changes) made[at] = value;
  return made;
};
const wave = Float32Array.from({ length }, (_, i) => Math.sin(i) * 10);
const modes = ['synergistic', 'gpu', 'cpu'] as const;

describe('the modes of chapter 4', function () {
  this.timeout(120_000);

  eachBackend((backend, opened) => {
    let device: Device;
    before(async () => { device = await opened(); });
    const errorOf = (graph: StreamGraph, options: StreamRunOptions): Promise<Error> =>
      run(graph, options).then(() => { throw new Error('there is no fault'); }, (error: unknown) => error as Error);

    it('refuse options that do not go together, by name', async () => {
      const table = await profile(stateless, { backend: backend as 'simt', device, threads: [128], firings: 1024, force: true, layout: 'warp' });
      const cases: readonly (readonly [DeviceCompileOptions, argument: string])[] = [
        [{ mode: 'hybrid' as never }, 'mode'], [{ cores: 2 }, 'cores'], [{ mode: 'swp', cores: 2 }, 'cores'], [{ mode: 'swp', link: {} }, 'link'],
        [{ mode: 'gpu', cores: 0 }, 'cores'], [{ mode: 'gpu', cores: 1025 }, 'cores'], [{ mode: 'gpu', coarsening: 2 }, 'coarsening'],
        [{ mode: 'synergistic', launch: 'plain' }, 'launch'], [{ mode: 'gpu', scheduler: 'packing' }, 'scheduler'], [{ mode: 'cpu', layout: 'warp' }, 'layout'],
        [{ mode: 'cpu', threads: 64 }, 'threads'], [{ mode: 'cpu', link: {} }, 'link'], [{ mode: 'gpu', threads: 100 }, 'threads'],
        [{ mode: 'gpu', layout: 'block', threads: 64 }, 'threads'], [{ mode: 'gpu', link: { toGpu: 0 } }, 'link.toGpu'], [{ mode: 'gpu', link: { up: 1 } as never }, 'link.up'],
        [{ mode: 'gpu', link: 3 as never }, 'link'], [{ mode: 'synergistic', costs: [1] }, 'costs'], [{ mode: 'cpu', costs: [-1, 1, 1] }, 'costs'],
        [{ mode: 'swp', costs: [1, 1, 1] }, 'costs'], [{ mode: 'cpu', profile: table }, 'profile'], [{ mode: 'gpu', layout: 'block', profile: table }, 'profile'],
        [{ mode: 'gpu', profile: table, threads: 128 }, 'threads'], [{ mode: 'gpu', tune: true }, 'tune'], [{ mode: 'gpu', profile: table }, 'table'],
      ];
      for (const [options, argument] of cases) {
        await assert.rejects(compileForDevice(mixed, { device, ...options }), (error: { code?: string; argument?: string }) =>
          error.code === 'ERR_WARPLOOM_INVALID_ARGUMENT' && error.argument!.startsWith(argument), `${JSON.stringify(options)} ${argument}`);
      }
      await assert.rejects(run(mixed, { mode: 'synergistic', backend: 'wasm', input: wave }), { argument: 'mode' });
      using made = await compileForDevice(stateless, { device, mode: 'gpu', profile: table });
      assert.deepEqual((await made.run(wave)).output, (await run(stateless, { input: wave, backend: 'wasm' })).output);
    });

    it('run programs with state, and say where', async () => {
      const expected = (await run(mixed, { input: wave, backend: 'wasm' })).output;
      assert.deepEqual([...(await interpret(mixed, { input: wave.subarray(0, 3000) })).output as number[]], [...expected as Float32Array].slice(0, 3 * 1496));
      for (const mode of modes) {
        const found = await run(mixed, { backend: backend as 'simt', device, mode, input: wave });
        assert.deepEqual(found.output, expected, mode);
        if (mode === 'gpu') assert.deepEqual([found.backend, found.note, found.deviceSeconds! > 0], [backend, undefined, true]);
        if (mode === 'cpu') assert.deepEqual([found.backend, found.note], ['wasm', 'the program ran on the CPU: the plan places all filters on its cores']);
      }
      const short = await run(mixed, { backend: backend as 'simt', device, mode: 'gpu', input: wave.subarray(0, 40) });
      assert.match(short.note!, /^the program ran on the CPU: the run is too short for a plan whose iterations have \d+ steady states$/);
      assert.deepEqual(short.output, (await run(mixed, { input: wave.subarray(0, 40), backend: 'wasm' })).output);
      const input = Int32Array.from({ length: 5000 }, (_, i) => i);
      const printed = await run(prints, { backend: backend as 'simt', device, mode: 'gpu', input });
      assert.deepEqual([printed.backend, printed.printed], [backend, (await run(prints, { input, backend: 'wasm' })).printed]);
      assert.match(printed.printed, /^0\n2\n4\n/);
      const refused = await run(bothPrint, { backend: backend as 'simt', device, mode: 'gpu', input: [1, 2] });
      assert.deepEqual([refused.backend, refused.printed], ['wasm', '1\n1\n1\n1\n']);
      await assert.rejects(compileForDevice(bothPrint, { device, mode: 'gpu' }), { code: 'ERR_WARPLOOM_UNSUPPORTED' });
    });

    it('take items, iterations, out, costs, cores and rates of the link', async () => {
      // Worth a device: F and G take long on cores, S takes no time there.
      const costs = mixed.nodes.map(({ name }) => (name.startsWith('S') ? 0.01 : 100));
      using made = await compileForDevice(mixed, { device, mode: 'synergistic', cores: 3, costs, link: { toGpu: 1e4, toCpu: 1e4, latency: 2 }, threads: 64 });
      for (const options of [{ items: 10_000 }, { items: 0 }, { items: 1 }, { iterations: 5000 }, { iterations: 1 }, { items: 100_000_000 }]) {
        const expected = await run(mixed, { input: wave, backend: 'wasm', ...options });
        assert.deepEqual((await made.run(wave, options)).output, expected.output, JSON.stringify(options));
      }
      const { mode, states, stages, channelBytes, instances, placed } = made.schedule!;
      assert.ok(mode === 'synergistic' && placed !== 'cores' && states > 0 && stages > 2 && channelBytes >= 0 && Number.isInteger(instances), JSON.stringify(made.schedule));
      const whole = (await run(mixed, { input: wave, backend: 'wasm' })).output;
      const out = new Float32Array(whole.length + 5).fill(7);
      const found = await made.run(wave, { out });
      assert.equal((found.output as Float32Array).buffer, out.buffer);
      assert.deepEqual([out.subarray(0, whole.length), out.subarray(whole.length)], [whole, new Float32Array(5).fill(7)]);
      await assert.rejects(made.run(wave, { out: new Float32Array(9) }), { argument: 'out' });
      using array = await device.array(wave);
      await assert.rejects(made.run(array), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'input' });
      const shared = new Float32Array(new SharedArrayBuffer(4 * length));
      shared.set(wave);
      assert.deepEqual((await made.run(shared)).output, whole);
      assert.deepEqual((await made.run(Array.from(wave))).output, whole);
    });

    it('report the fault that comes first, on either side, as the other back ends do', async () => {
      const told = (error: Error): unknown => ({ message: error.message, node: (error as { node?: unknown }).node });
      for (const [at, value] of [[0, 4], [31_000, 9], [31_000, -1], [length - 1, 9]] as const) {
        for (const input of [ones([at, value]), ones([at, value], [Math.min(length - 1, at + 25_000), value === 9 ? 4 : 9])]) {
          const expected = told(await errorOf(index, { input, backend: 'wasm' }));
          for (const mode of modes) {
            const found = await errorOf(index, { input, backend: backend as 'simt', device, mode });
            assert.deepEqual([found.name, told(found)], ['StreamRunError', expected]);
          }
        }
      }
    });

    it('leave loops that are too long for a device to the CPU, and stop those without end on either side', async () => {
      const input = ones([15_000, 2_500_000]);
      const found = await run(long, { input, backend: backend as 'simt', device, mode: 'gpu' });
      assert.match(found.note!, /a loop makes more turns than a device is given time for/);
      assert.deepEqual(found.output, (await run(long, { input, backend: 'wasm' })).output);
      for (const value of [-2, 100]) {
        await run(endless, { input: ones(), backend: backend as 'simt', device, mode: 'gpu' });
        const stop = new AbortController();
        setTimeout(() => { stop.abort(new Error('enough')); }, 200);
        await assert.rejects(run(endless, { input: ones([30_000, value]), backend: backend as 'simt', device, mode: 'gpu', signal: stop.signal }), /^Error: enough$/);
        await assert.rejects(run(endless, { input: ones([30_000, value]), backend: backend as 'simt', device, mode: 'gpu', timeout: 300 }), /took more than 300 ms/);
        assert.deepEqual((await run(endless, { input: ones(), backend: backend as 'simt', device, mode: 'gpu' })).output, ones());
      }
    });

    it('runs that are stopped in the middle leave nothing, and two at once do not disturb each other', async () => {
      using made = await compileForDevice(mixed, { device, mode: 'gpu', cores: 2 });
      const input = Float32Array.from({ length: 400_000 }, (_, i) => i % 100);
      const expected = (await run(mixed, { input, backend: 'wasm' })).output;
      assert.deepEqual((await made.run(input)).output, expected);
      const held = await heldBy(device);
      for (const wait of [0, 5, 30, 100]) {
        const stop = new AbortController();
        const timer = setTimeout(() => { stop.abort(new Error('enough')); }, wait);
        await made.run(input, { signal: stop.signal }).catch((error: unknown) => {
          assert.equal(String(error), 'Error: enough');
        });
        clearTimeout(timer);
        assert.equal(await settled(device, held), held);
      }
      await assert.rejects(made.run(input, { signal: AbortSignal.abort(new Error('before')) }), /^Error: before$/);
      const half = input.subarray(0, 200_001);
      const [first, second, third] = await Promise.all([made.run(input), made.run(half), run(mixed, { input: half, device, mode: 'synergistic', backend: backend as 'simt' })]);
      assert.deepEqual(first.output, expected);
      assert.deepEqual(second.output, (await run(mixed, { input: half, backend: 'wasm' })).output);
      assert.deepEqual(third.output, second.output);
    });

    it('long and short runs of one program have iterations of their own', async () => {
      await using own = await openDevice({ backend });
      const options = { ...small, launchMicroseconds: 40, onDevice: partitions['all on the device']!(0) };
      {
        using made = await hybridOf(own, mixed, options);
        assert.ok(made.planned.shorter.length > 0, 'there are several lengths');
        for (const length of [inputFor(made, 4 * made.parts.plan.depth), inputFor(made, 9), inputFor(made, 2) - 7, 300, 80]) {
          await together(made, mixed, wave.subarray(0, Math.min(length, wave.length)));
        }
      }
      assert.equal(await settled(own), 0);
    });

    it('items that stand on a channel for whole iterations keep the layout of its reader', async () => {
      for (const [count, type] of [[32, 'int'], [96, 'int'], [64, 'float']] as const) {
        const late = graphOf(`${type}->${type} filter P { prework push ${count} { for (int i = 0; i < ${count}; i++) push(i * 3 + 1); } work pop 1 push 1 { push(pop() + 1); } } `
          + `${type}->${type} filter S { ${type} s; work pop 1 push 1 { s = s + pop(); push(s); } } `
          + `${type}->${type} filter B { work pop 1 push 2 { ${type} x = pop(); push(x); push(x * x); } } ${type}->${type} pipeline Main { add P; add B; add S; add B; }`);
        for (const name of ['all on the device', 'all on cores'] as const) {
          using made = await hybridOf(device, late, { ...small, onDevice: partitions[name]!(0) });
          const { plan, program: { graph } } = made.parts;
          const isKept = plan.buffers.some(({ channel, isShuffled }) => isShuffled && graph.channels[channel]!.tokens === count);
          assert.equal(isKept, name === 'all on the device');
          for (const iterations of [1, 2, 5, 9]) {
            const length = inputFor(made, iterations) + iterations % 3;
            assert.ok(await together(made, late, Int32Array.from({ length }, (_, i) => i % 97)));
          }
        }
      }
    });

    it('take no more of a device than it has, and free it', async () => {
      await using own = await openDevice({ backend, memoryLimit: 2 ** 22 });
      await assert.rejects(compileForDevice(program('tde'), { device: own, mode: 'gpu' }), { code: 'ERR_WARPLOOM_INVALID_PROGRAM' });
      const found = await run(program('tde'), { input: new Float32Array(36_000), device: own, mode: 'gpu', backend: backend as 'simt' });
      assert.match(found.note!, /^the program ran on the CPU: buffers on the device take \d+ bytes/);
      const made = await compileForDevice(mixed, { device: own, mode: 'gpu' });
      assert.deepEqual((await made.run(wave)).output, (await run(mixed, { input: wave, backend: 'wasm' })).output);
      made.dispose();
      assert.equal(await settled(own), 0);
      await assert.rejects(made.run(wave), { code: 'ERR_WARPLOOM_DISPOSED' });
    });
  }, { backends: deviceBackends, cases: 9 });

  for (const backend of drillBackends(1, deviceBackends)) {
    it(`${backend}: runtime calls that fail are errors, and programs of a lost device run on the CPU`, async () => {
      const seam = backend === 'simt' ? addon().faults! : addon().cudaFaults!;
      const input = wave.subarray(0, 5000);
      const expected = (await run(mixed, { input, backend: 'wasm' })).output;
      let device = await openDevice({ backend });
      try {
        for (const number of [2, 700]) {
          const options: StreamRunOptions = { input, device, mode: 'gpu' };
          await run(mixed, options);
          const before = seam.calls();
          await run(mixed, { ...options, device });
          const calls = seam.calls() - before;
          assert.ok(calls >= 10, `${calls} calls`);
          for (let skip = 0; skip < calls; skip += Math.ceil(calls / 9)) {
            seam.arm(skip, number, false);
            const found = await run(mixed, { ...options, device }).catch((error: unknown) => (error as { code: string }).code);
            seam.disarm();
            if (typeof found !== 'string') assert.deepEqual(found.output, expected);
            else if (number === 700) {
              assert.equal(found, 'ERR_WARPLOOM_DEVICE_LOST');
              const later = await run(mixed, { ...options, device });
              assert.deepEqual([later.backend, later.note], ['wasm', 'the program ran on the CPU: the device was lost']);
              assert.deepEqual(later.output, expected);
              await device.close();
              device = await openDevice({ backend });
              await run(mixed, { ...options, device });
            } else assert.equal(found, 'ERR_WARPLOOM_OUT_OF_MEMORY');
          }
        }
      } finally {
        seam.disarm();
        await device.close();
      }
    });
  }
});
