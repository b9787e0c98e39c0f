// Devices with memory of their own: arguments travel in blocks, large ones while they are still being
// copied. The simt backend plays such a device under WARPLOOM_SIMT_DISCRETE.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { PerformanceObserver } from 'node:perf_hooks';
import { addon } from '../../lib/core/binding.ts';
import { openDevice, resultArray, type Device } from '../../lib/core/device.ts';
import { cosineTransform, curvature, denoise, register, segment } from '../../lib/imaging/index.ts';
import { scan } from '../../lib/scan/index.ts';
import { condition, multiply, solve, vjp } from '../../lib/tridiagonal/index.ts';
import { hasBackend } from '../support/backends.ts';

// 12 MB: above the size from which copying and uploading overlap. Calls read a window of it.
const large = 1_500_003;
const n = 1000;

function ramp(length: number): Float64Array {
  return Float64Array.from({ length }, (_, at) => (at % 1000) - 499);
}

/** Running sums of {@link ramp}, exact in double precision. */
function sums(values: Float64Array): Float64Array {
  let sum = 0;
  return values.map((value) => (sum += value));
}

const window = (data: unknown, offset: number, length: number): object => ({ data, offset, extents: [length] });
const scanning = (values: unknown, result: unknown, length = n, offset = 0): Record<string, unknown> =>
  ({ type: 'float64', n: length, batch: 1, values: window(values, offset, length), result: window(result, offset, length) });

describe('devices with memory of their own', function () {
  this.timeout(120000);
  this.slow(20000);
  let device: Device;

  before(async function () {
    if (!hasBackend('simt')) this.skip();
    process.env.WARPLOOM_SIMT_DISCRETE = '1';
    device = await openDevice({ backend: 'simt' });
  });
  after(async () => {
    delete process.env.WARPLOOM_SIMT_DISCRETE;
    await device?.close();
  });

  it('take large inputs at the call, whole, also while they are busy', async () => {
    const values = ramp(large);
    for (let round = 0; round < 3; round += 1) {
      const offsets = [0, 750_000, large - n];
      const results = offsets.map(() => new Float64Array(large).fill(5));
      const calls: Promise<unknown>[] = [];
      for (const [at, offset] of offsets.entries()) {
        const copy = values.slice();
        calls.push(device.run('scan.prefix', scanning(copy, results[at], n, offset)));
        copy.fill(NaN);
      }
      await Promise.all(calls);
      for (const [at, offset] of offsets.entries()) {
        const expected = new Float64Array(large).fill(5);
        expected.set(sums(values.slice(offset, offset + n)), offset);
        deepStrictEqual(results[at], expected);
      }
    }
    strictEqual(device.memory().inUseBytes, 0);
  });

  it('transfer large arrays both ways', async () => {
    const data = ramp(3_000_001);
    const copy = data.slice();
    const pending = device.array(copy);
    copy.fill(NaN);
    using array = await pending;
    deepStrictEqual(await array.read(), data);
    const again = data.map((value) => -value);
    const writing = array.write(again);
    again.fill(NaN);
    await writing;
    const part = data.slice(1_000_000, 1_000_005).map((value) => -value);
    deepStrictEqual(await array.read(new Float64Array(5), 1_000_000), part);
  });

  it('mix staged, pinned, shared and device memory in one call, in place too', async () => {
    const values = ramp(5000);
    const expected = sums(values);
    const pinned = await device.pinned('float64', values.length) as Float64Array;
    const shared = new Float64Array(new SharedArrayBuffer(values.byteLength));
    using array = await device.array(values);
    for (const from of [values.slice(), pinned, shared, array]) {
      for (const to of [new Float64Array(values.length), pinned, shared, array]) {
        for (const source of [pinned, shared]) source.set(values);
        await array.write(values);
        await device.run('scan.prefix', scanning(from, to, values.length));
        deepStrictEqual(to instanceof Float64Array ? to.slice() : await to.read(), expected);
      }
    }
  });

  const filled = (length: number, value: number): Float64Array => new Float64Array(length).fill(value);
  const rows = 40_000;
  const matrix = { lower: filled(rows, -1), diagonal: filled(rows, 4), upper: filled(rows, -1) };
  const picture = { data: Float64Array.from({ length: 96 * 128 }, (_, at) => Math.sin(at / 7) + (at % 128) / 64), width: 128, height: 96 };
  const calls: Readonly<Record<string, (device: Device) => Promise<unknown>>> = {
    'scan': (on) => scan(ramp(400_000), { device: on }),
    'solve': (on) => solve({ ...matrix, rhs: ramp(rows), n: 8, device: on }),
    'multiply': (on) => multiply({ ...matrix, x: ramp(rows), n: 8, device: on }),
    'vjp': (on) => vjp({ ...matrix, solution: ramp(rows), cotangent: ramp(rows), n: 8, device: on }),
    'condition': (on) => condition({ ...matrix, n: 4, device: on }),
    'curvature': (on) => curvature(picture, { device: on }),
    'cosineTransform': (on) => cosineTransform(picture, { device: on }),
    'denoise': (on) => denoise(picture, { weight: 0.1, iterations: 2, device: on }),
    'segment': (on) => segment(picture, { iterations: 2, device: on }),
    'register': (on) => register(picture, picture, { iterations: 1, device: on }),
  };

  for (const [name, call] of Object.entries(calls)) {
    it(`leave nothing of the new results of ${name} to the event loop`, async () => {
      const { returned, settling } = addon().traffic();
      await call(device);
      const now = addon().traffic();
      ok(now.returned - returned > 2 ** 16, `${now.returned - returned} bytes came back`);
      ok(now.settling - settling < 2 ** 16, `${now.settling - settling} bytes were left to it`);
    });
  }

  it('write new results as they write the caller\'s', async () => {
    for (const length of [8191, 8193, 262_143, 262_144, 400_001]) {
      const values = ramp(length);
      const out = new Float64Array(length).fill(NaN);
      const settling = addon().traffic().settling;
      await scan(values, { out, device });
      strictEqual(addon().traffic().settling - settling, out.byteLength, 'arrays of the caller are written when the call settles');
      deepStrictEqual((await scan(values, { device })).result, out);
      using array = await device.array(values);
      deepStrictEqual(await array.read(), values);
      deepStrictEqual(await array.read(undefined, 3), values.slice(3));
    }
  });

  it('do not keep the garbage collector busy with memory that is not its own', async () => {
    await using own = await openDevice({ backend: 'simt', memoryLimit: 2 ** 40 });
    let collections = 0;
    const observer = new PerformanceObserver((list) => (collections += list.getEntries().length));
    observer.observe({ entryTypes: ['gc'] });
    for (let i = 0; i < 400; i += 1) {
      resultArray(own, 'uint8', 2 ** 28);
      if (i % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
    observer.disconnect();
    ok(collections < 40, `${collections} collections for 400 arrays of a 4096th of the device each`);
  });

  it('leave outputs alone when a call fails or is refused', async () => {
    const result = new Float64Array(10).fill(7);
    await rejects(device.run('scan.prefix', { ...scanning(ramp(10), result, 10), radix: 3 }), { argument: 'radix' });
    const stop = new AbortController();
    const first = device.run('scan.prefix', scanning(ramp(50_000), new Float64Array(50_000), 50_000));
    const second = device.run('scan.prefix', scanning(ramp(10), result, 10), { signal: stop.signal });
    stop.abort();
    await rejects(second, { name: 'AbortError' });
    await first;
    ok(result.every((value) => value === 7));
  });
});
