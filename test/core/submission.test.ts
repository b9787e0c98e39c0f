// Calls that are under way on a device with memory of its own while later ones are submitted. The simt backend plays such a
// device (WARPLOOM_SIMT_DISCRETE), whose calls end some time after they were submitted (WARPLOOM_SIMT_DELAY, ms): until then what
// comes down is not there (the host sees 0xee), and what goes up must stay as it is.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { addon } from '../../lib/core/binding.ts';
import { openDevice, type Device } from '../../lib/core/device.ts';
import { plan } from '../../lib/tridiagonal/index.ts';
import { hasBackend, skipCases } from '../support/backends.ts';
import { libraryModule, runChild } from '../support/child.ts';
import { viewOf } from '../support/valid-parameters.ts';

const n = 1000;
const ones = (): Float64Array => new Float64Array(n).fill(1);
const counting = Float64Array.from({ length: n }, (_, i) => i + 1);

const scanning = (values: unknown, result: unknown): Record<string, unknown> =>
  ({ type: 'float64', n, batch: 1, values: viewOf(values, n), result: viewOf(result, n) });

async function opened(delay: number): Promise<Device> {
  process.env.WARPLOOM_SIMT_DISCRETE = '1';
  process.env.WARPLOOM_SIMT_DELAY = `${delay}`;
  try {
    const device = await openDevice({ backend: 'simt' });
    await device.run('scan.prefix', scanning(ones(), ones()));  // open for certain
    return device;
  } finally {
    delete process.env.WARPLOOM_SIMT_DISCRETE;
    delete process.env.WARPLOOM_SIMT_DELAY;
  }
}

describe('calls in flight on a device with memory of its own', function () {
  this.timeout(120_000);
  if (!hasBackend('simt')) {
    skipCases('simt: submission needs the shim', 9);
    return;
  }
  afterEach(() => addon().faults!.disarm());

  it('are several at once, and settle in order with their own results', async () => {
    await using device = await opened(40);
    addon().faults!.mostInFlight();
    const order: number[] = [];
    const results = await Promise.all(Array.from({ length: 8 }, async (_, i) => {
      const result = new Float64Array(n);
      const values = ones().fill(i + 1);
      const call = device.run('scan.prefix', scanning(values, result));
      values.fill(NaN);
      const { deviceSeconds } = await call;
      ok(deviceSeconds > 0);
      order.push(i);
      return result;
    }));
    const most = addon().faults!.mostInFlight();
    ok(most >= 4, `${most} in flight`);
    deepStrictEqual(order, [0, 1, 2, 3, 4, 5, 6, 7]);
    for (const [i, result] of results.entries()) deepStrictEqual(result, counting.map((value) => value * (i + 1)));
  });

  it('hand results on in device memory, and to reads behind them', async () => {
    await using device = await opened(20);
    using values = await device.array(ones());
    using first = await device.array('float64', n);
    using second = await device.array('float64', n);
    const calls = [device.run('scan.prefix', scanning(values, first)), device.run('scan.prefix', scanning(first, second))];
    const read = second.read();
    const sums = counting.map((value) => (value * (value + 1)) / 2);
    deepStrictEqual(await read, sums);
    await Promise.all(calls);
  });

  it('use pinned memory where it is, one submission for all', async () => {
    await using device = await opened(30);
    const values = await device.pinned('float64', n) as Float64Array;
    const result = await device.pinned('float64', n) as Float64Array;
    values.fill(1);
    result.fill(7);
    const before = addon().faults!.calls();
    await device.run('scan.prefix', scanning(values, result));
    const calls = addon().faults!.calls() - before;
    deepStrictEqual(result.slice(), counting);
    // begin, block, upload, operation (begin, launch, end), download, end, release, finish
    ok(calls <= 10, `${calls} runtime calls`);
  });

  it('on device arrays write what they report to the host themselves', async () => {
    await using device = await opened(10);
    const batch = 5000;  // so many outcomes stay on the device, which counts them
    const diagonal = new Float64Array(2 * batch).fill(4);
    for (const failing of [[], [17, 4321]]) {
      for (const system of failing) diagonal[2 * system] = 0;
      using own = await device.array(diagonal);
      using rhs = await device.array(new Float64Array(2 * batch).fill(3));
      using out = await device.array('float64', 2 * batch);
      await using prepared = await plan({ lower: -1, diagonal: own, upper: -1, n: 2, batch, device, factorisation: 'regpack' });
      const before = addon().faults!.calls();
      const { status } = await prepared.solve({ rhs, out });
      const calls = addon().faults!.calls() - before;
      deepStrictEqual(Array.from(status.failures(), ({ system, state, row }) => [system, state, row]),
        failing.map((system) => [system, 'zero-pivot', 0]));
      // begin, block, operation (begin, three launches with their memory, end), end, release, finish; no download
      if (failing.length === 0) ok(calls <= 12, `${calls} runtime calls`);
      const values = await out.read() as Float64Array;
      for (let system = 0; system < batch; system += 1) {
        const x = values[2 * system]!;
        ok(failing.includes(system) ? Number.isNaN(x) : Math.abs(x - 1) <= 1e-15, `system ${system}: ${x}`);
      }
    }
  });

  it('leave results alone when they are cancelled on the way', async () => {
    await using device = await opened(400);
    const stop = new AbortController();
    const result = ones().fill(7);
    const call = device.run('scan.prefix', scanning(ones(), result), { signal: stop.signal });
    const next = new Float64Array(n);
    const behind = device.run('scan.prefix', scanning(ones(), next));
    setTimeout(() => stop.abort(), 1);
    await rejects(call, { name: 'AbortError' });
    await behind;
    ok(result.every((value) => value === 7));
    deepStrictEqual(next, counting);
  });

  it('all fail when the device is lost as the first of them ends', async () => {
    await using device = await opened(200);
    const four = (results: readonly Float64Array[]): Promise<PromiseSettledResult<unknown>[]> =>
      Promise.allSettled(results.map((result) => device.run('scan.prefix', scanning(ones(), result))));
    const fresh = (): Float64Array[] => Array.from({ length: 4 }, () => ones().fill(7));
    for (let round = 0; round < 3; round += 1) await four(fresh());  // page-locked memory is there
    const before = addon().faults!.calls();
    await four(fresh());
    // All four are submitted before the first ends; the end of each is one runtime call, the release of its memory another.
    const results = fresh();
    addon().faults!.arm(addon().faults!.calls() - before - 8, 700, false);
    const outcomes = await four(results);
    addon().faults!.disarm();
    for (const outcome of outcomes) {
      strictEqual(outcome.status, 'rejected');
      strictEqual((outcome.reason as { code: string }).code, 'ERR_WARPLOOM_DEVICE_LOST');
    }
    for (const result of results) ok(result.every((value) => value === 7));
    await rejects(device.run('scan.prefix', scanning(ones(), ones())), { code: 'ERR_WARPLOOM_DEVICE_LOST' });
  });

  it('end before their device closes', async () => {
    const device = await opened(30);
    const results = Array.from({ length: 4 }, () => new Float64Array(n));
    const calls = results.map((result) => device.run('scan.prefix', scanning(ones(), result)));
    await device.close();
    await Promise.all(calls);
    for (const result of results) deepStrictEqual(result, counting);
  });

  const child = (end: string): string => `
import { openDevice } from '${libraryModule()}';
import { Worker, parentPort } from 'node:worker_threads';
const n = ${n}; const view = (data) => ({ data, extents: [1, n] });
const start = async () => {
  const device = await openDevice({ backend: 'simt' });
  const pinned = await device.pinned('float64', n); const shared = new Float64Array(new SharedArrayBuffer(8 * n));
  globalThis.calls = [new Float64Array(n), pinned, shared].map((result) => device.run('scan.prefix',
    { type: 'float64', n, batch: 1, values: view(new Float64Array(n).fill(1)), result: view(result) }));
  await new Promise((resolve) => setTimeout(resolve, 30));
};
${end}`;
  const env = { WARPLOOM_SIMT_DISCRETE: '1', WARPLOOM_SIMT_DELAY: '300' };

  it('do not keep the process from exiting', async () => {
    const done = await runChild(child("await start(); console.log('in flight'); process.exit(3);"), { env });
    deepStrictEqual([done.code, done.signal, done.out.trim()], [3, null, 'in flight'], done.err);
  });

  it('go with a worker that is terminated', async () => {
    const worker = child("await start(); parentPort.postMessage('running');");
    const done = await runChild(child(`
for (let i = 0; i < 3; i += 1) {
  const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(worker)})));
  await new Promise((resolve, reject) => { worker.once('message', resolve); worker.once('error', reject); });
  await worker.terminate();
}
console.log('terminated');`), { env });
    deepStrictEqual([done.code, done.signal, done.out.trim()], [0, null, 'terminated'], done.err);
  });
});
