// What calls in flight may hold: bytes count as well as calls, and a call is refused before anything of it is copied.
import { ok, rejects, strictEqual } from 'node:assert/strict';
import { addon } from '../../lib/core/binding.ts';
import { openDevice, type Device } from '../../lib/core/device.ts';
import { devices } from '../../lib/core/devices.ts';
import { OutOfMemoryError, QueueFullError } from '../../lib/core/errors.ts';
import { eachBackend } from '../support/backends.ts';
import { viewOf } from '../support/valid-parameters.ts';

const n = 100_000;
const bytes = 2 * 8 * n;

const scanning = (length = n): Record<string, unknown> => ({
  type: 'float64', n: length, batch: 1, values: viewOf(new Float64Array(length).fill(1), length), result: viewOf(new Float64Array(length), length),
});

describe('bytes in flight', function () {
  this.timeout(60_000);

  eachBackend((backend) => {
    it('are bounded by memoryLimit: the call too many is refused with the figures and nothing copied', async () => {
      await using device = await openDevice({ backend, memoryLimit: 4 * bytes, threads: 1 });
      const calls: Promise<unknown>[] = [];
      let refused: unknown;
      let copied = 0;
      // Ended calls make room, but not while this loop keeps the event loop.
      for (let i = 0; i < 100 && refused === undefined; i += 1) {
        const before = addon().traffic().taken;
        const call = device.run('scan.prefix', scanning());
        copied = addon().traffic().taken - before;
        calls.push(call.catch((error: unknown) => (refused ??= error)));
        await null;
        await null;
        await null;
        await null;
      }
      strictEqual(copied, 0);
      await Promise.all(calls);
      ok(refused instanceof QueueFullError, String(refused));
      strictEqual(refused.code, 'ERR_WARPLOOM_QUEUE_FULL');
      strictEqual(refused.requestedBytes + refused.queuedBytes > refused.limitBytes, true);
      strictEqual(refused.limitBytes, 4 * bytes);
      for (const figure of [refused.requestedBytes, refused.queuedBytes, refused.limitBytes]) ok(refused.message.includes(String(figure)), refused.message);
      await device.run('scan.prefix', scanning());  // there is room again
    });

    it('that can never fit are out of memory', async () => {
      await using device = await openDevice({ backend, memoryLimit: 4 * bytes, threads: 1 });
      const before = addon().traffic();
      await rejects(device.run('scan.prefix', scanning(5 * n)), (error: OutOfMemoryError) => {
        ok(error instanceof OutOfMemoryError);
        ok(error.requestedBytes >= 8 * 5 * n && error.limitBytes === 4 * bytes, error.message);
        return true;
      });
      strictEqual(addon().traffic().taken, before.taken);
      await device.run('scan.prefix', scanning());
    });
  });

  it('share the limit with arrays on the cpu backend', async () => {
    await using device = await openDevice({ backend: 'cpu', memoryLimit: 2 * bytes, threads: 1 });
    using held = await device.array('float64', 3 * n);
    await rejects(device.run('scan.prefix', scanning()), { code: 'ERR_WARPLOOM_OUT_OF_MEMORY', inUseBytes: device.memory().inUseBytes });
    held.dispose();
    await device.trim();
    await device.run('scan.prefix', scanning());
  });

  it('hold copies, workspaces and arrays together on the cpu backend', async () => {
    const [rows, systems] = [3000, 40];
    const array = (value: number): Float64Array => new Float64Array(rows * systems).fill(value);
    const view = (data: unknown) => ({ data, extents: [systems, rows] });
    const solving = () => ({
      type: 'float64', n: rows, batch: systems, lower: view(array(-1)), diagonal: view(array(4)), upper: view(array(-1)), rhs: view(array(1)),
      solution: view(array(0)), check: true, status: new Int32Array(systems), row: new Int32Array(systems), backwardError: new Float64Array(systems),
    });
    const opened = (memoryLimit: number): Promise<Device> => openDevice({ backend: 'cpu', memoryLimit, threads: 2 });
    await using measuring = await opened(2 ** 30);
    const workspace = measuring.workspace('tridiagonal.solve', solving());
    const before = addon().traffic();
    await measuring.run('tridiagonal.solve', solving());
    const copies = addon().traffic().taken - before.taken + addon().traffic().returned - before.returned;
    ok(workspace > copies / 20, `${workspace} bytes of workspace beside ${copies}`);
    const room = 4096; // alignment of the parts
    {
      await using device = await opened(copies + workspace / 2);
      const taken = addon().traffic().taken;
      await rejects(device.run('tridiagonal.solve', solving()), (error: OutOfMemoryError) => {
        ok(error instanceof OutOfMemoryError && error.requestedBytes >= copies + workspace, error.message);
        return true;
      });
      strictEqual(addon().traffic().taken, taken);
    }
    await using device = await opened(copies + workspace + room);
    await device.run('tridiagonal.solve', solving());
    const calls = await Promise.allSettled([device.run('tridiagonal.solve', solving()), device.run('tridiagonal.solve', solving())]);
    strictEqual(calls[0].status, 'fulfilled');
    ok(calls[1].status === 'rejected' && calls[1].reason instanceof QueueFullError, JSON.stringify(calls[1]));
    using held = await device.array('float64', 2000);
    await rejects(device.run('tridiagonal.solve', solving()), { code: 'ERR_WARPLOOM_OUT_OF_MEMORY' });
    held.dispose();
    await device.trim();
    await device.run('tridiagonal.solve', solving());
  });

  it('have half of the machine or its control group as the default limit of the cpu backend', async () => {
    await using device = await openDevice({ backend: 'cpu' });
    const { memoryBytes } = devices().find((each) => each.backend === 'cpu')!;
    strictEqual(device.memory().limitBytes, Math.floor(memoryBytes / 2));
  });
});
