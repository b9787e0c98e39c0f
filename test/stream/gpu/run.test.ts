// stream.run with a device: back ends by name, programs that go to the CPU and the reasons, and the options.
import assert from 'node:assert/strict';
import { addon } from '../../../lib/core/binding.ts';
import { Device, openDevice } from '../../../lib/core/device.ts';
import { devices } from '../../../lib/core/devices.ts';
import { compileForDevice, run, type StreamRun, type StreamRunOptions } from '../../../lib/stream/index.ts';
import type { DeviceBackend } from '../../../lib/stream/run/backends.ts';
import { isForGpu, worthDevice } from '../../../lib/stream/run/on-device.ts';
import { drillBackends, eachBackend, hasBackend } from '../../support/backends.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';
import { agrees, compileTogether, deviceBackends, firstState, inputItems } from './support.ts';

const plain = graphOf('float->float filter F { work pop 1 push 1 peek 4 { push(peek(0) * 0.3 + peek(3) * peek(1)); pop(); } } float->float pipeline Main { add F; add F; }');
const input = Float32Array.from({ length: 20_000 }, (_, i) => Math.sin(i));

/** Programs that cannot run on devices, and the reasons. */
const others: readonly (readonly [source: string, reason: RegExp, options: StreamRunOptions])[] = [
  ['float->float filter F { float s; work pop 1 push 1 { s += pop(); push(s); } } float->float pipeline Main { add F; }', /keeps 's', which only/, { input }],
  ['float->float filter F { work pop 1 push 1 { float x = pop(); println(x); push(x); } } '
    + 'float->float pipeline Main { add F; }', /state|prints/, { input: input.slice(0, 50) }],
  ['void->void pipeline Main { add S; add P; } void->int filter S { int i; work push 1 { push(i); i++; } } '
    + 'int->void filter P { work pop 1 { println(pop()); } }', /./, { items: 9 }],
  ['void->float filter S { int i; work push 1 { push(i); i++; } } void->float pipeline Main { add S; }', /other ends/, { items: 100 }],
  ['float->float filter F { work pop * push 1 { float s = 0; for (int i = 0; i < (int) peek(0) + 2; i++) s += pop(); push(s); } } '
    + 'float->float pipeline Main { add F; }', /./,
    { input: new Float32Array(90).fill(1) }],
  ['float->float feedbackloop L { join roundrobin(1, 1); body float->float filter { work pop 2 push 2 { float x = pop() + pop(); push(x); push(x / 2); } }; loop Identity<float>; '
    + 'split roundrobin(1, 1); enqueue 0.0; } float->float pipeline Main { add L; }', /feedback loop/, { input }],
  ['float->float filter F { work pop 70000 push 1 { float s = 0; for (int i = 0; i < 70000; i++) s += pop(); push(s); } } '
    + 'float->float pipeline Main { add F; }', /bytes of shared memory/,
    { input: new Float32Array(200_000).fill(1) }],
];

/** Reasons of programs whose firings must follow each other. */
const inOrder = /keeps|feedback loop/;

describe('stream.run on devices', function () {
  this.timeout(120_000);

  for (const backend of drillBackends(1, deviceBackends) as readonly DeviceBackend[]) {
    it(`compiles once for runs that begin at the same time on ${backend}`, async () => {
      using device = await openDevice({ backend });
      let modules = 0, asked = (): void => undefined;
      /** Comes when a module is asked for: a compilation is under way then. */
      const compiling = (): Promise<void> => new Promise((resolve) => { asked = resolve; });
      const { module } = device;
      device.module = (...args) => {
        ++modules;
        asked();
        return module.apply(device, args);
      };
      const graph = graphOf('float->float filter F { work pop 1 push 1 peek 3 { push(peek(0) - peek(2)); pop(); } } float->float pipeline Main { add F; }');
      const expected = await run(graph, { input, backend: 'wasm' });
      const one = (signal?: AbortSignal): Promise<StreamRun> => run(graph, { input, device, mode: 'swp', ...(signal && { signal }) });
      // All runs that wait for it give it up; the next one begins anew.
      const gone = new AbortController();
      let begun = compiling();
      const left = [one(gone.signal), one(gone.signal)];
      await begun;
      gone.abort(new Error('gone'));
      for (const each of left) await assert.rejects(each, { message: 'gone' });
      modules = 0;
      // One of several gives it up: the others get it.
      const stop = new AbortController();
      begun = compiling();
      const [first, ...others] = [one(stop.signal), one(), one(), one()];
      await begun;
      stop.abort(new Error('stopped'));
      await assert.rejects(first!, { message: 'stopped' });
      for (const each of await Promise.all(others)) {
        assert.deepEqual([each.backend, each.note], [backend, undefined]);
        assert.deepEqual(each.output, expected.output);
      }
      assert.equal(modules, 1);
    });

    it(`runs many at once on ${backend}`, async () => {
      using device = await openDevice({ backend });
      // More calls than the device takes at once: runs wait for their turn.
      const inputs = Array.from({ length: 400 }, (_, k) => input.map((x) => x * (k + 1)));
      const found = await Promise.all(inputs.map((each) => run(plain, { input: each, device })));
      for (const k of [0, 1, 150, 399]) {
        assert.deepEqual([found[k]!.backend, found[k]!.note], [backend, undefined]);
        assert.deepEqual(found[k]!.output, (await run(plain, { input: inputs[k]!, backend: 'wasm' })).output);
      }
    });

    it(`refuses runs beyond the queue's limit, and lets waiting ones be stopped, on ${backend}`, async () => {
      using device = await openDevice({ backend, queueLimit: 64 });
      const stop = new AbortController();
      const runs = Array.from({ length: 100 }, (_, k) => run(plain, { input, device, ...(k % 2 === 0 ? {} : { signal: stop.signal }) }));
      const ended = Promise.allSettled(runs);
      await Promise.any(runs);
      stop.abort(new Error('stopped'));
      const results = await ended;
      const expected = await run(plain, { input, backend: 'wasm' });
      for (const [k, result] of results.entries()) {
        if (result.status === 'fulfilled') assert.deepEqual(result.value.output, expected.output);
        else if (k % 2 === 1) assert.match((result.reason as Error).message, /stopped|runs of stream programs waiting/);
        else assert.equal((result.reason as { code: string }).code, 'ERR_WARPLOOM_QUEUE_FULL');
      }
      const refused = results.filter((each) => each.status === 'rejected' && (each.reason as { code?: string }).code === 'ERR_WARPLOOM_QUEUE_FULL');
      // One runs, and 64 wait.
      assert.ok(refused.length > 0 && refused.length <= 100 - 1 - 64, `${refused.length}`);
      assert.deepEqual((await run(plain, { input, device })).output, expected.output);
    });

    it(`runs by the name ${backend}, on a device that is opened once`, async () => {
      const expected = await run(plain, { input, backend: 'wasm' });
      const native = addon() as { open: (...args: never[]) => unknown };
      const { open } = native;
      const { module } = Device.prototype;
      let opened = 0, compiled = 0;
      native.open = (...args) => {
        ++opened;
        return open.apply(native, args);
      };
      Device.prototype.module = function (...given: Parameters<typeof module>) {
        ++compiled;
        return module.apply(this, given);
      };
      const once = async (): Promise<StreamRun> => {
        const [found] = await Promise.all([run(plain, { input, backend }), run(plain, { input, backend })]);
        assert.ok(opened <= 1, `${opened} devices`);
        compiled = 0;
        for (let k = 0; k < 5; ++k) assert.deepEqual((await run(plain, { input, backend })).output, expected.output);
        assert.deepEqual([opened <= 1, compiled], [true, 0], 'neither opened nor compiled again');
        return found;
      };
      const found = await once().finally(() => {
        native.open = open;
        Device.prototype.module = module;
      });
      assert.deepEqual([found.backend, found.note], [backend, undefined]);
      assert.ok(found.deviceSeconds! > 0 && found.milliseconds > 0);
      assert.deepEqual(found.output, expected.output);
      const fast = await run(plain, { input, backend, fast: true });
      assert.equal(fast.backend, backend);
      expected.output.length === fast.output.length || assert.fail();
      for (let i = 0; i < expected.output.length; ++i) assert.ok(Math.abs(fast.output[i]! - expected.output[i]!) < 1e-5);
    });
  }

  eachBackend((backend, opened) => {
    let device: Device;
    before(async () => { device = await opened(); });

    it('goes to the CPU with a note where no device runs the program', async () => {
      for (const [source, reason, options] of others) {
        const graph = graphOf(source);
        const expected = await run(graph, options);
        const found = await run(graph, { ...options, device });
        assert.notEqual(found.backend, backend);
        assert.equal(found.backend, expected.backend);
        assert.match(found.note!, /^the program ran on the CPU: [^\n]+$/);
        assert.match(found.note!, reason);
        assert.equal(found.deviceSeconds, undefined);
        assert.deepEqual([found.output, found.printed], [expected.output, expected.printed]);
        if (inOrder.test(reason.source)) continue;
        await assert.rejects(compileForDevice(graph, { device }), (error: { code?: string }) =>
          error.code === 'ERR_WARPLOOM_UNSUPPORTED' || error.code === 'ERR_WARPLOOM_INVALID_ARGUMENT', source);
      }
      const short = await run(plain, { input: input.subarray(0, 30), device });
      assert.equal(short.backend, 'wasm');
      assert.match(short.note!, /too short for a device/);
    });

    it('runs a steady state that fills most of the shared memory of a block', async () => {
      const graph = graphOf('float->float filter F { work pop 13000 push 1 { float s = 0; for (int i = 0; i < 13000; i++) s += pop() * i; push(s); } } '
        + 'float->float pipeline Main { add F; }');
      const long = Float32Array.from({ length: 70_000 }, (_, i) => Math.sin(i));
      const found = await run(graph, { input: long, device });
      assert.deepEqual([found.backend, found.note], [backend, undefined]);
      assert.deepEqual(found.output, (await run(graph, { input: long, backend: 'wasm' })).output);
    });

    it('says what compileForDevice does not take, and where it runs', async () => {
      for (const [source, reason] of others) {
        if (inOrder.test(reason.source)) continue; // `swp` runs these: state.test.ts
        await assert.rejects(compileForDevice(graphOf(source), { device }), (error: Error & { code?: unknown }) => {
          assert.equal(error.code, 'ERR_WARPLOOM_UNSUPPORTED');
          assert.match(error.message, reason);
          assert.match(error.message, /: run it on the CPU, with stream\.run$/);
          return true;
        });
      }
    });

    it('takes the device for auto, or the back end of its name', async () => {
      const expected = (await run(plain, { input, backend: 'interpret' })).output;
      for (const options of [{}, { backend: backend as DeviceBackend }, { backend: 'auto' }] as const) {
        const found = await run(plain, { input, device, ...options });
        assert.equal(found.backend, backend);
        assert.deepEqual([...found.output as Float32Array], expected);
      }
    });

    it('has taken its input when it returns', async () => {
      const own = input.slice();
      const running = run(plain, { input: own, device });
      own.fill(0);
      assert.deepEqual((await running).output, (await run(plain, { input, backend: 'wasm' })).output);
      using compiled = await compileForDevice(plain, { device });
      own.set(input);
      const again = compiled.run(own);
      own.fill(0);
      assert.deepEqual((await again).output, (await run(plain, { input, backend: 'wasm' })).output);
      assert.deepEqual([compiled.device, compiled.graph, compiled.disposed], [device, plain, false]);
      assert.ok(compiled.kernel.maxThreads >= 32);
    });

    it('rejects devices and options that do not go together', async () => {
      const wrong = (argument: string) => ({ code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });
      for (const name of ['wasm', 'cpp', 'interpret'] as const) await assert.rejects(run(plain, { input, device, backend: name }), wrong('device'));
      await assert.rejects(run(plain, { input, device, backend: backend === 'cuda' ? 'simt' : 'cuda' }), wrong('device'));
      await assert.rejects(run(plain, { input, device, compiler: 'g++' }), wrong('compiler'));
      await assert.rejects(run(plain, { input, backend: 'wasm', fast: true }), wrong('fast'));
      await assert.rejects(run(plain, { device }), wrong('input'));
      await using cpu = await openDevice({ backend: 'cpu' });
      await assert.rejects(run(plain, { input, device: cpu }), wrong('device'));
      await assert.rejects(compileForDevice(plain, { device: cpu }), wrong('device'));
    });
  }, { backends: deviceBackends, cases: 6 });

  it('goes to the CPU with a note where there is no such device', async function () {
    if (devices().some((each) => each.backend === 'cuda' && each.available)) this.skip();
    const found = await run(plain, { input, backend: 'cuda' });
    assert.equal(found.backend, 'wasm');
    assert.match(found.note!, /^the program ran on the CPU: cuda is not available: .*$/);
    assert.deepEqual(found.output, (await run(plain, { input, backend: 'wasm' })).output);
  });

  it('goes to the CPU with a note where nothing compiles', async function () {
    if (!hasBackend('simt')) this.skip();
    const fresh = graphOf('float->float filter G { work pop 1 push 1 { push(pop() * 3.25 + 11.5); } } float->float pipeline Main { add G; }');
    const path = process.env['PATH'];
    process.env['PATH'] = '/nowhere';
    try {
      const found = await run(fresh, { input, backend: 'simt' });
      assert.equal(found.backend, 'wasm');
      assert.match(found.note!, /^the program ran on the CPU: no C\+\+ compiler: [^\n]*$/);
    } finally {
      process.env['PATH'] = path;
    }
    assert.equal((await run(fresh, { input, backend: 'simt' })).backend, 'simt');
  });

  it('auto asks for a GPU only where a run is long and a GPU may run it', async () => {
    const radio = program('fm-radio');
    assert.equal(await isForGpu(plain, { input: new Float32Array(1000) }), false);
    assert.equal(await isForGpu(graphOf(others[4]![0]), { input: { length: 1e12 } }), false);
    const isThere = devices().some((each) => each.backend === 'cuda' && each.available);
    assert.equal(await isForGpu(radio, { input: { length: 1e9 } }), isThere);
    // Whether firings in order pay is looked at where there is a device.
    assert.equal(await isForGpu(graphOf(others[0]![0]), { input: { length: 1e12 } }), isThere);
    assert.equal(await isForGpu(radio, { input: { length: 1e9 }, items: 5 }), false);
    assert.ok(worthDevice > 0);
  });

  const settings = [
    { WARPLOOM_SIMT_ORDER: 'forward' }, { WARPLOOM_SIMT_ORDER: 'reverse' }, { WARPLOOM_SIMT_ORDER: 'random:5' },
    { WARPLOOM_SIMT_DISCRETE: '1', WARPLOOM_SIMT_DELAY: '5' },
  ];
  for (const setting of drillBackends(settings.length, ['simt']).flatMap(() => settings)) {
    it(`gives the same with threads in another order, and on a slow device: ${Object.entries(setting).flat().join(' ')}`, async () => {
      const names = ['channel-vocoder', 'fm-radio', 'filterbank', 'bitonic', 'tde'];
      const graphs = [...names.map((name) => program(name)), plain];
      Object.assign(process.env, setting);
      try {
        await using device = await openDevice({ backend: 'simt' });
        const made = await compileTogether(device, graphs.map((graph) => ({ graph })));
        for (const [i, compiled] of made.entries()) {
          const length = inputItems(compiled!, firstState(compiled!) + 3 * compiled!.program.states + 1);
          const items = Float32Array.from({ length }, (_, at) => ((at * 7919) % 1009) / 1009);
          await agrees(compiled!, graphs[i]!, items);
        }
      } finally {
        for (const name of Object.keys(setting)) delete process.env[name];
      }
    });
  }
});
