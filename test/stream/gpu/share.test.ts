// Runs that a device and the cores share: the same output, the first fault, and never slower for the cores' sake.
import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import timers, { setImmediate as turn, setTimeout as after } from 'node:timers/promises';
import type { Device } from '../../../lib/core/device.ts';
import { compileForDevice, run } from '../../../lib/stream/index.ts';
import { compileFused } from '../../../lib/stream/run/fused.ts';
import { Share, type Cores } from '../../../lib/stream/run/share.ts';
import { eachBackend } from '../../support/backends.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';
import { deviceBackends } from './support.ts';

const windows = graphOf(`float->float filter F { work pop 3 push 2 peek 40 { push(peek(0) * 0.3 + peek(39)); push(peek(7) - peek(20)); pop(); pop(); pop(); } }
  float->float filter D(int n) { prework push n { for (int i = 0; i < n; i++) push(i * 0.5); } work pop 1 push 1 { push(pop()); } }
  float->float pipeline Main { add F; add D(7); add F; }`);
const fails = graphOf('int->int filter F { int[8] t = {1, 2, 3, 4, 5, 6, 7, 8}; work pop 1 push 1 peek 3 { push(t[peek(1)] * 100 / (peek(2) - 3)); pop(); } } '
  + 'int->int pipeline Main { add F; }');
const input = Float32Array.from({ length: 200_003 }, (_, i) => Math.fround(Math.sin(i)));

const bytes = (array: ArrayLike<number>): Uint8Array => new Uint8Array((array as Float32Array).buffer, (array as Float32Array).byteOffset, (array as Float32Array).byteLength);

describe('shared runs', function () {
  this.timeout(120_000);

  eachBackend((backend, opened) => {
    let device: Device;
    before(async () => { device = await opened(); });

    it('give what other runs give', async () => {
      for (const graph of [windows, program('fm-radio')]) {
        const expected = await run(graph, { input, backend: 'wasm' });
        for (const share of [true, false, 'auto'] as const) {
          for (const options of [{}, { items: 30_001 }]) {
            const found = await run(graph, { input, device, share, threads: 2, ...options });
            const wanted = 'items' in options ? (await run(graph, { input, backend: 'wasm', ...options })).output : expected.output;
            assert.deepEqual([found.backend, found.note], [backend, undefined]);
            assert.deepEqual(found.output, wanted);
            assert.ok(found.deviceShare! > 0 && found.deviceShare! <= 1);
            if (share === false) assert.equal(found.deviceShare, 1);
          }
        }
      }
      // Long enough for threads to start.
      const long = Float32Array.from({ length: 8_000_000 }, (_, i) => Math.fround(Math.sin(i)));
      const radio = program('fm-radio');
      const expected = (await run(radio, { input: long, backend: 'wasm' })).output as Float32Array;
      const found = await run(radio, { input: long, device, share: true, threads: 2 });
      assert.equal(Buffer.compare(bytes(found.output), bytes(expected)), 0);
      // Whoever is faster here: what the device made is not taken from it until the cores have had the time for a part.
      using held = await compileFused(radio, device);
      const process = held.process.bind(held);
      let shareOfDevice = 1;
      for (let wait = 50; shareOfDevice === 1 && wait <= 12_800; wait *= 4) {
        const waited = after(wait);
        held.process = (ends, options) => {
          const open = ends.span.bind(ends);
          ends.span = (state, states) => {
            const span = open(state, states);
            return { ...span, dispose: () => { span.dispose(); }, take: async (signal) => {
              await waited;
              return span.take(signal);
            } };
          };
          return process(ends, options);
        };
        const { output, deviceShare } = await held.run(long, { share: true, threads: 2 });
        assert.equal(Buffer.compare(bytes(output), bytes(expected)), 0);
        shareOfDevice = deviceShare!;
      }
      assert.ok(shareOfDevice > 0 && shareOfDevice < 1, 'both took part');
      using compiled = await compileForDevice(windows, { device });
      assert.ok((await compiled.run(input, { share: true })).deviceShare! <= 1);
      const own = (await run(windows, { input, backend: 'wasm' })).output;
      for (const { output } of await Promise.all([1, 2].map(() => compiled.run(input, { share: true })))) assert.deepEqual(output, own);
      using samples = await device.array(input);
      await assert.rejects(compiled.run(samples, { share: true } as object), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'share' });
    });

    it('report the first fault, wherever others are', async () => {
      for (const bad of [[199_000], [5000], [150_000, 199_999], [700, 199_000]]) {
        const items = Int32Array.from({ length: 200_000 }, (_, i) => (bad.indexOf(i) >= 0 ? 9 - bad.indexOf(i) * 6 : i % 3));
        const { message } = await run(fails, { input: items, backend: 'wasm', threads: 1 }).then(() => assert.fail(), (error: unknown) => error as Error);
        for (let k = 0; k < 2; ++k) await assert.rejects(run(fails, { input: items, device, share: true, threads: 2 }), { message });
      }
    });

    it('end by a signal', async () => {
      // The device makes as little of it as it can before the signal comes, however fast it is.
      const long = new Float32Array(backend === 'cuda' ? 60_000_000 : 3_000_000);
      const graph = program('fm-radio');
      await run(graph, { input: long.subarray(0, 1_000_000), device, share: true, threads: 1 }); // it compiles
      const stop = new AbortController();
      const working = run(graph, { input: long, device, share: true, threads: 1, signal: stop.signal });
      await after(backend === 'cuda' ? 1 : 60);
      stop.abort(new Error('enough'));
      await assert.rejects(working, /enough/);
      assert.ok((await run(windows, { input, device, share: true })).output.length > 0);
    });

    it('are for devices only', async () => {
      await assert.rejects(run(windows, { input, backend: 'wasm', share: true }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'share' });
      await assert.rejects(run(windows, { input, device, share: 'always' as 'auto' }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'share' });
    });
  }, { backends: deviceBackends, cases: 4 });
});

/**
 * Time that passes only while everything waits: how much work others give the machine changes nothing. It takes the place of the clock and
 * of promises of timers.
 */
class Clock {
  #now = 0;
  readonly #sleepers: { readonly until: number; readonly wake: () => void }[] = [];
  readonly #real = { now: performance.now, sleep: timers.setTimeout };

  start(): void {
    performance.now = () => this.#now;
    timers.setTimeout = this.#sleep as typeof timers.setTimeout;
    syncBuiltinESMExports();
  }

  stop(): void {
    performance.now = this.#real.now;
    timers.setTimeout = this.#real.sleep;
    syncBuiltinESMExports();
  }

  readonly #sleep = (milliseconds: number, _?: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<void> =>
    new Promise((wake, reject) => {
      this.#sleepers.push({ until: this.#now + milliseconds, wake });
      signal?.addEventListener('abort', () => { reject(signal.reason as Error); }, { once: true });
    });

  /** Has time pass until a promise is settled. */
  async passUntil<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const over = (): void => { isOver = true; };
    work.then(over, over);
    for (;;) {
      await turn(); // whatever does not wait goes on
      if (isOver) return work;
      this.#sleepers.sort((a, b) => b.until - a.until);
      const next = this.#sleepers.pop();
      assert.ok(next !== undefined, 'something waits for ever');
      this.#now = Math.max(this.#now, next.until);
      next.wake();
    }
  }
}

/** Cores that take a given time for a steady state, and what they made. */
function coresOf(microseconds: number, actual = microseconds) {
  const made: [number, number][] = [];
  const cores: Cores = {
    stateMicroseconds: microseconds, least: 10,
    make: async (state, states, signal) => {
      await after(states * actual / 1000, undefined, { signal });
      made.push([state, states]);
    },
  };
  return { cores, made };
}

/** A device that makes so many steady states per millisecond. */
async function workOf(share: Share, rate: number, states: number): Promise<number> {
  const begin = performance.now();
  let busy = begin;
  do {
    while (share.front < share.end) {
      const now = Math.min(states, share.end - share.front);
      share.front += now;
      busy = Math.max(busy, performance.now()) + now / rate;
      while (performance.now() < busy) await after(1);
      share.deviceDid(now);
    }
  } while (!await share.settle());
  share.stop(new Error('over'));
  return performance.now() - begin;
}

describe('how runs are shared', () => {
  const clock = new Clock();
  beforeEach(() => { clock.start(); });
  afterEach(() => { clock.stop(); });
  const device = (share: Share, rate: number, states: number) => clock.passUntil(workOf(share, rate, states));

  it('adds the rates where both are about as fast', async () => {
    const share = new Share(0, 100_000, coresOf(10).cores, 'auto');
    const took = await device(share, 100, 1000);
    assert.ok(took < 850, `${took} ms instead of 1000 alone`);
    assert.ok(share.deviceShare > 0.4 && share.deviceShare < 0.8, String(share.deviceShare));
  });

  it('leaves short runs to the device', async () => {
    const { cores, made } = coresOf(10);
    const share = new Share(0, 10_000, cores, 'auto');
    await device(share, 100, 1000);
    assert.deepEqual([made, share.deviceShare], [[], 1]);
  });

  it('does not wait for cores that are slower than expected', async () => {
    const { cores, made } = coresOf(1, 1e5);
    const share = new Share(0, 100_000, cores, true);
    const took = await device(share, 200, 1000);
    assert.ok(took < 900, `${took} ms instead of 500 alone`);
    assert.deepEqual([made, share.deviceShare], [[], 1]);
  });

  it('has the device make what the cores cannot', async () => {
    const share = new Share(0, 50_000, { stateMicroseconds: 10, least: 1, make: () => Promise.reject(new Error('no thread')) }, true);
    await device(share, 200, 1000);
    assert.equal(share.deviceShare, 1);
  });

  it('covers every steady state once', async () => {
    const { cores, made } = coresOf(20);
    const share = new Share(7, 60_007, cores, true);
    await device(share, 100, 777);
    let end = 60_007;
    for (const [state, states] of made) {
      assert.equal(state + states, end);
      end = state;
    }
    assert.equal(end, share.end);
    assert.equal(share.front, share.end);
  });
});
