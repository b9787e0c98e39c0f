// The modes of chapter 3 as users meet them: options, profiles, what goes wrong, stops, memory.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDevice, type Device } from '../../../lib/core/device.ts';
import {
  compileForDevice, profile, run, selectConfiguration, toSdf, type DeviceCompileOptions, type DeviceProfile, type DeviceProfileOptions,
  type StreamRunOptions,
} from '../../../lib/stream/index.ts';
import { PipelinedGpu } from '../../../lib/stream/run/gpu-pipelined.ts';
import { eachBackend } from '../../support/backends.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';
import { deviceBackends, heldBy, settled } from './support.ts';

const index = graphOf('int->int filter A { int[4] t = {5, 6, 7, 8}; work pop 1 push 1 { push(t[pop()]); } } '
  + 'int->int filter B { work pop 1 push 1 { push(pop() + 1); } } int->int pipeline Main { add A; add B; }');
const long = graphOf('int->int filter A { work pop 1 push 1 { int x = pop(); int s = 0; while (x > 0) { x--; s = s * 5 + x; } push(s); } } int->int pipeline Main { add A; }');
const endless = graphOf('int->int filter A { work pop 1 push 1 { int x = pop(); while (x < 0) { x = x & -2; } push(x); } } int->int pipeline Main { add A; }');
const floats = graphOf('float->float filter F { work pop 1 push 1 peek 9 { float s = 0; for (int i = 0; i < 9; i++) s += peek(i); push(s); pop(); } } '
  + 'float->float filter G { work pop 2 push 3 { float a = pop(); float b = pop(); push(a * b); push(a); push(b); } } float->float pipeline Main { add F; add G; }');
const state = graphOf('float->float filter F { float s; work pop 1 push 1 { s += pop(); push(s); } } float->float pipeline Main { add F; }');

const length = 30_001;
const ones = (...changes: readonly (readonly [at: number, value: number])[]): Int32Array => {
  const made = new Int32Array(length).fill(1);
  for (const [at, value] of changes) made[at] = value;
  return made;
};
const modes = ['swp', 'swpnc', 'serial'] as const;

describe('the modes of chapter 3', function () {
  this.timeout(120_000);

  eachBackend((backend, opened) => {
    let device: Device;
    let folder: string;
    before(async () => {
      device = await opened();
      folder = mkdtempSync(join(tmpdir(), 'warploom-profiles-'));
    });
    after(() => { rmSync(folder, { recursive: true }); });
    const measured = (options: Partial<DeviceProfileOptions> = {}): Promise<DeviceProfile> =>
      profile(floats, { backend: backend as 'simt', device, threads: [128, 256], firings: 1024, cacheFolder: folder, ...options });

    it('refuse options that do not go together, by name', async () => {
      const table = await measured(), nc = await measured({ mode: 'swpnc' });
      const cases: readonly (readonly [DeviceCompileOptions, argument: string])[] = [
        [{ mode: 'swpx' as never }, 'mode'], [{ coarsening: 2 }, 'coarsening'], [{ layout: 'warp' }, 'layout'], [{ threads: 64 }, 'threads'],
        [{ launch: 'plain' }, 'launch'], [{ profile: table }, 'profile'], [{ mode: 'fused', coarsening: 2 }, 'coarsening'],
        [{ mode: 'swp', coarsening: 0 }, 'coarsening'], [{ mode: 'swp', coarsening: 65 }, 'coarsening'], [{ mode: 'swp', coarsening: 1.5 }, 'coarsening'],
        [{ mode: 'swpnc', layout: 'block' }, 'layout'], [{ mode: 'swp', threads: 100 }, 'threads'], [{ mode: 'swp', threads: 64 }, 'threads'],
        [{ mode: 'swp', layout: 'warp', threads: 2048 }, 'threads'], [{ mode: 'swp', layout: 'lane' as never }, 'layout'],
        [{ mode: 'serial', launch: 'graph' as never }, 'launch'], [{ scheduler: 'ilp' }, 'scheduler'],
        [{ mode: 'serial', scheduler: 'packing' }, 'scheduler'], [{ mode: 'swp', profile: table, threads: 128 }, 'threads'],
        [{ mode: 'swpnc', profile: table }, 'profile'], [{ mode: 'swp', profile: nc }, 'profile'], [{ mode: 'serial', profile: nc }, 'profile'],
        [{ mode: 'swp', layout: 'warp', profile: table }, 'profile'], [{ mode: 'swp', profile: {} as never }, 'profile'],
        [{ mode: 'swp', profile: { ...table, table: { ...table.table, microseconds: [] } } }, 'table.microseconds'],
        [{ mode: 'swp', profile: { ...table, table: 3 as never } }, 'table'],
      ];
      for (const [options, argument] of cases) {
        await assert.rejects(compileForDevice(floats, { device, ...options }),
          (error: { code?: string; argument?: string }) => error.code === 'ERR_WARPLOOM_INVALID_ARGUMENT' && error.argument === argument,
          JSON.stringify(options));
      }
      for (const options of [{ mode: 'swp' }, { mode: 'swp', backend: 'wasm' }, { mode: 'serial', backend: 'cpp' }] as StreamRunOptions[]) {
        await assert.rejects(run(floats, { ...options, input: [1, 2] }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'mode' });
      }
      await assert.rejects(run(floats, { mode: 'x' as never, backend: backend as 'simt', input: [1, 2] }), { argument: 'mode' });
    });

    it('refuse what no device can run, and say why', async () => {
      const printer = graphOf('int->int pipeline Main { add int->int filter { work pop 1 push 1 { int x = pop(); println(x); push(x); } }; }');
      for (const mode of modes) {
        await assert.rejects(compileForDevice(printer, { device, mode }), { code: 'ERR_WARPLOOM_UNSUPPORTED', message: /prints/ });
      }
      const found = await run(printer, { backend: backend as 'simt', mode: 'swp', input: Int32Array.of(3, 4) });
      assert.deepEqual([found.backend, found.printed], ['wasm', '3\n4\n']);
      assert.match(found.note!, /^the program ran on the CPU: .*prints/);
    });

    it('run state in order, from call to call', async () => {
      const input = Float32Array.from({ length: 70_001 }, (_, i) => Math.sin(i));
      const { output } = await run(state, { input, backend: 'wasm' });
      for (const mode of modes) {
        using compiled = await compileForDevice(state, { device, mode, coarsening: 2 });
        const [one, two] = await Promise.all([compiled.run(input), compiled.run(input.subarray(0, 20_000))]);
        assert.deepEqual([one.backend, one.output, two.output], [backend, output, (output as Float32Array).slice(0, 20_000)], mode);
        // What a stopped run leaves is in nobody's way.
        const stop = new AbortController();
        const stopped = compiled.run(input, { signal: stop.signal });
        setTimeout(() => { stop.abort(new Error('enough')); }, 2);
        const ended = await stopped.then(() => 'done', (error: Error) => error.message);
        assert.ok(ended === 'enough' || ended === 'done', ended);
        using given = await device.array(input);
        const { output: made } = await compiled.run(given);
        assert.deepEqual(await made.read(), output, mode);
        made.dispose();
      }
      const found = await run(state, { backend: backend as 'simt', mode: 'swp', input });
      assert.deepEqual([found.backend, found.output, found.note], [backend, output, undefined]);
      await assert.rejects(profile(state, { backend: backend as 'simt', device }), { code: 'ERR_WARPLOOM_UNSUPPORTED' });
    });

    it('profiles are what Algorithm 2 and the modes take, and are kept', async () => {
      const seen: number[] = [];
      const made = await measured({ force: true, onProgress: (done, total) => { seen.push(done); assert.equal(total, 2 * 4); } });
      assert.equal(seen.length, seen.at(-1));
      assert.deepEqual([made.cached, made.mode, made.layout, made.kind], [false, 'swp', 'block', 'gpu']);
      const { table } = made;
      assert.deepEqual([table.threads, table.firings], [[128, 256], 1024]);
      for (const times of table.microseconds.flat()) assert.ok(times.length === 4 && times.every((time) => time > 0), String(times));
      const again = await measured();
      assert.deepEqual({ ...again, cached: false }, made);
      assert.equal(again.cached, true);
      assert.ok(readdirSync(folder).some((name) => name.endsWith('.gpu-profile.json')));
      const chosen = selectConfiguration(toSdf(floats, { ends: true }), table);
      assert.ok(chosen.threads.every((threads) => threads === 128 || threads === 256));
      const input = Float32Array.from({ length: 50_003 }, (_, i) => Math.sin(i));
      const expected = await run(floats, { input, backend: 'wasm' });
      for (const [mode, profiled] of [['swp', made], ['serial', made], ['swpnc', await measured({ mode: 'swpnc' })]] as const) {
        using compiled = await compileForDevice(floats, { device, mode, profile: profiled, coarsening: 2 });
        const found = await compiled.run(input);
        assert.deepEqual([found.backend, found.output], [backend, expected.output], mode);
        const { states, stages, instances, channelBytes, gap, ...rest } = compiled.schedule!;
        assert.deepEqual(rest, { mode, coarsening: mode === 'serial' ? 1 : 2, threads: compiled.schedule!.threads });
        assert.ok(states % 256 === 0 && instances >= 4 && channelBytes > 4 * states && stages >= 1, JSON.stringify(compiled.schedule));
        assert.deepEqual([stages > 1, gap !== undefined && gap >= -1e-9], mode === 'serial' ? [false, false] : [true, true]);
      }
      using fused = await compileForDevice(floats, { device });
      assert.equal(fused.schedule, undefined);
      // A size of blocks that no multiprocessor holds is not taken.
      const times = table.microseconds.map((byThreads) => byThreads.map((own, at) => own.map((time) => (at === 1 ? Infinity : time))));
      using few = await compileForDevice(floats, { device, mode: 'swp', profile: { ...made, table: { ...table, microseconds: times } } });
      assert.deepEqual((await few.run(input)).output, expected.output);
      await assert.rejects(compileForDevice(floats, { device, mode: 'swp', profile: { ...made, table: { ...table,
        microseconds: times.map((byThreads) => byThreads.map((own) => own.map((time, actor) => (actor === 0 ? Infinity : time)))) } } }),
      { code: 'ERR_WARPLOOM_UNSUPPORTED' });
    });

    it('run by the ILP of section 3.5 where that is small enough', async () => {
      const input = Float32Array.from({ length: 50_003 }, (_, i) => Math.cos(i));
      const expected = await run(floats, { input, backend: 'wasm' });
      using compiled = await PipelinedGpu.compileFor(floats, device, { mode: 'swp', scheduler: 'ilp', processors: 2, coarsening: 1, threads: 128 });
      assert.deepEqual((await compiled.run(input, {})).output, expected.output);
      const many = graphOf('float->float filter F { work pop 1 push 1 { push(pop() + 1); } } float->float pipeline Main { for (int i = 0; i < 150; i++) add F; }');
      await assert.rejects(PipelinedGpu.compileFor(many, device, { mode: 'swp', scheduler: 'ilp', processors: 150, coarsening: 1 }),
        { code: 'ERR_WARPLOOM_UNSUPPORTED', message: /the ILP of the schedule has \d+ binary variables/ });
    });

    it('profiles refuse wrong options, and stop', async () => {
      for (const [options, argument] of [
        [{ threads: [] }, 'threads'], [{ threads: [256, 128] }, 'threads'], [{ threads: [100] }, 'threads'], [{ threads: [64] }, 'threads'],
        [{ threads: [2048] }, 'threads'], [{ registers: [8] }, 'registers'], [{ firings: 1000 }, 'firings'], [{ mode: 'serial' }, 'mode'],
        [{ mode: 'swpnc', layout: 'warp' }, 'layout'], [{ layout: 'x' }, 'layout'], [{ device: {} }, 'device'], [{ seconds: 1 }, 'seconds'],
      ] as const) {
        await assert.rejects(measured(options as never), (error: { code?: string; argument?: string; message: string }) =>
          error.code === 'ERR_WARPLOOM_INVALID_ARGUMENT' && error.message.includes(argument), JSON.stringify(options));
      }
      await assert.rejects(measured({ force: true, signal: AbortSignal.abort(new Error('enough')) }), /^Error: enough$/);
      const stop = new AbortController();
      await assert.rejects(measured({ force: true, signal: stop.signal, onProgress: () => { stop.abort(new Error('now')); } }), /^Error: now$/);
    });

    it('report the fault that the other back ends report', async () => {
      const told = (error: Error): unknown => ({ message: error.message, node: (error as { node?: unknown }).node });
      for (const mode of modes) {
        for (const at of [0, 9000, 17_777, length - 1]) {
          const input = ones([at, 4], [Math.min(length - 1, at + 700), -1]);
          const errorBy = (options: StreamRunOptions): Promise<Error> =>
            run(index, { input, ...options }).then(() => { throw new Error('there is no fault'); }, (error: unknown) => error as Error);
          const found = await errorBy({ backend: backend as 'simt', mode, device });
          assert.equal(found.name, 'StreamRunError', String(found.stack));
          assert.deepEqual(told(found), told(await errorBy({ backend: 'wasm' })));
        }
      }
    });

    it('leave loops that are too long to the CPU, and stop those without end', async () => {
      const input = ones([15_000, 2_500_000]);
      const expected = (await run(long, { input, backend: 'wasm' })).output;
      for (const mode of modes) {
        const found = await run(long, { input, backend: backend as 'simt', device, mode });
        assert.equal(found.backend, 'wasm');
        assert.match(found.note!, /a loop makes more turns than a device is given time for/);
        assert.deepEqual(found.output, expected);
        await run(endless, { input: ones(), backend: backend as 'simt', device, mode });
        await assert.rejects(run(endless, { input: ones([10_000, -2]), backend: backend as 'simt', device, mode, timeout: 300 }), /took more than 300 ms/);
        assert.deepEqual((await run(endless, { input: ones(), backend: backend as 'simt', device, mode })).output, ones());
      }
    });

    it('runs that are stopped in the middle leave nothing, and the next one is right', async () => {
      const input = new Float32Array(1_500_000).fill(1);
      const expected = (await run(floats, { input: input.subarray(0, 100_000), backend: 'wasm' })).output;
      for (const [mode, launch] of [['swp', 'plain'], ['swpnc', 'persistent'], ['serial', 'plain']] as const) {
        using compiled = await compileForDevice(floats, { device, mode, launch });
        const held = await heldBy(device);
        for (const wait of [0, 5, 40]) {
          const stop = new AbortController();
          const timer = setTimeout(() => { stop.abort(new Error('enough')); }, wait);
          await compiled.run(input, { signal: stop.signal }).catch((error: unknown) => { assert.equal(String(error), 'Error: enough'); });
          clearTimeout(timer);
          assert.equal(await settled(device, held), held);
          assert.deepEqual((await compiled.run(input.subarray(0, 100_000))).output, expected);
        }
        await assert.rejects(compiled.run(input, { signal: AbortSignal.abort(new Error('before')) }), /^Error: before$/);
      }
    });

    it('take no more of the device than it has, and free it', async () => {
      await using own = await openDevice({ backend, memoryLimit: 64 * 2 ** 20 });
      const graph = program('tde');
      for (const mode of modes) {
        const before = await settled(own);
        const compiled = await compileForDevice(graph, { device: own, mode, coarsening: 1, threads: 128 }).catch((error: unknown) => {
          assert.equal((error as { code?: unknown }).code, 'ERR_WARPLOOM_UNSUPPORTED', String(error));
          assert.match((error as Error).message, /the channels of a pipeline take \d+ bytes/);
        });
        compiled?.dispose();
        assert.equal(await settled(own, before), before);
      }
      await using small = await openDevice({ backend, memoryLimit: 3 * 2 ** 20 });
      using less = await compileForDevice(floats, { device: small, mode: 'swp', threads: 128 });
      assert.ok(less.schedule!.coarsening < 8 && less.schedule!.channelBytes <= 3 * 2 ** 17, JSON.stringify(less.schedule));
      const whole = await compileForDevice(floats, { device: own, mode: 'swp' });
      assert.ok(await settled(own) > 0);
      whole.dispose();
      assert.equal(await settled(own), 0);
      await assert.rejects(whole.run([1]), { code: 'ERR_WARPLOOM_DISPOSED' });
    });
  }, { backends: deviceBackends, cases: 8 });
});
