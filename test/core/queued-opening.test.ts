// Calls made before their device is open, and arrays used before they have their memory.
import { deepStrictEqual, ok, rejects, strictEqual, throws } from 'node:assert/strict';
import { Device, inputArray, openDevice, resultArray, type DeviceDescription } from '../../lib/core/device.ts';
import { devices } from '../../lib/core/devices.ts';
import { DisposedError, OutOfMemoryError } from '../../lib/core/errors.ts';
import { eachBackend } from '../support/backends.ts';
import { viewOf } from '../support/valid-parameters.ts';

const n = 4;
const describing = (backend: string): DeviceDescription => devices().find((each) => each.backend === backend)!;

function solving(rhs: unknown, solution: unknown) {
  const band = (value: number) => viewOf(new Float64Array(n).fill(value), n, 1);
  return {
    type: 'float64', n, batch: 1, lower: band(0), diagonal: band(2), upper: band(0), rhs: viewOf(rhs, n, 1), solution: viewOf(solution, n, 1),
  };
}

eachBackend((backend) => {
  describe('a device that is being opened', () => {
    it('takes calls at once, and what they read with them', async () => {
      const device = Device.begin(describing(backend), {});
      const rhs = Float64Array.of(2, 4, 6, 8);
      const solution = new Float64Array(n);
      const array = inputArray(device, rhs);
      const result = resultArray(device, 'float64', n);
      const calls = [device.run('tridiagonal.solve', solving(rhs, solution)), device.run('tridiagonal.solve', solving(array, result))];
      rhs.fill(9);
      const read = result.read();
      await Promise.all(calls);
      await Device.opened(device);
      deepStrictEqual(solution, Float64Array.of(1, 2, 3, 4));
      deepStrictEqual(await read, Float64Array.of(1, 2, 3, 4));
      array.dispose();
      result.dispose();
      await device.trim();
      strictEqual(device.memory().inUseBytes, 0);
      await device.close();
    });

    it('can be aborted and closed', async () => {
      const device = Device.begin(describing(backend), {});
      const rhs = new Float64Array(n).fill(2);
      const abort = new AbortController();
      const aborted = device.run('tridiagonal.solve', solving(rhs, new Float64Array(n)), { signal: abort.signal });
      const last = device.run('tridiagonal.solve', solving(rhs, new Float64Array(n)));
      abort.abort();
      await rejects(aborted, { name: 'AbortError' });
      const closed = device.close();
      await rejects(device.run('tridiagonal.solve', solving(rhs, rhs)), DisposedError);
      await last;
      await closed;
    });
  });

  describe('device arrays at once', () => {
    it('are of zeros where asked for, get no memory unused, and never overlap', async () => {
      await using device = await openDevice({ backend });
      using unused = resultArray(device, 'float64', 2 ** 20);
      using zeros = resultArray(device, 'complex64', 3, true);
      using empty = resultArray(device, 'int32', 0);
      deepStrictEqual(await zeros.read(), new Float32Array(6));
      deepStrictEqual(await empty.read(), new Int32Array(0));
      ok(device.memory().inUseBytes < 2 ** 20, 'memory of an array that nobody used');
      using rhs = inputArray(device, Float64Array.of(2, 4, 6, 8));
      using first = resultArray(device, 'float64', n);
      using second = resultArray(device, 'float64', n);
      await Promise.all([
        device.run('tridiagonal.solve', solving(rhs, first)), device.run('tridiagonal.solve', solving(first, second)),
        device.run('tridiagonal.solve', solving(second, second)),
      ]);
      deepStrictEqual(await second.read(), Float64Array.of(0.25, 0.5, 0.75, 1));
      strictEqual(unused.length, 2 ** 20);
      const words = resultArray(device, 'int32', 1);
      await rejects(device.run('tridiagonal.solve', { ...solving(rhs, second), status: words, row: words }), { argument: 'status' });
      words.dispose();
    });

    it('reject every call that uses one without memory, with sizes', async () => {
      await using device = await openDevice({ backend, memoryLimit: 2 ** 22 });
      using huge = resultArray(device, 'float64', 2 ** 40);
      const small = inputArray(device, new Float64Array(n).fill(2));
      const many = resultArray(device, 'float64', 2 ** 20);
      const outOfMemory = (bytes: number) => (error: unknown) => {
        ok(error instanceof OutOfMemoryError, String(error));
        strictEqual(error.requestedBytes, bytes);
        strictEqual(error.limitBytes, 2 ** 22);
        return true;
      };
      await Promise.all([
        rejects(device.run('tridiagonal.solve', { ...solving(small, huge) }), outOfMemory(2 ** 43)),
        rejects(huge.read(new Float64Array(2)), outOfMemory(2 ** 43)),
        rejects(huge.write(new Float64Array(2)), outOfMemory(2 ** 43)),
        rejects(device.run('tridiagonal.solve', { ...solving(huge, small) }), outOfMemory(2 ** 43)),
      ]);
      await rejects(device.run('tridiagonal.solve', solving(small, many)), outOfMemory(2 ** 23));
      small.dispose();
      // What could not be had once is refused for good: nobody wrote it.
      await device.trim();
      await rejects(many.read(new Float64Array(1)), OutOfMemoryError);
      many.dispose();
      throws(() => resultArray(device, 'float64', -1), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    });

    it('may be disposed of while calls that use them wait', async () => {
      await using device = await openDevice({ backend });
      const rhs = inputArray(device, new Float64Array(n).fill(2));
      const result = resultArray(device, 'float64', n);
      const call = device.run('tridiagonal.solve', solving(rhs, result));
      const read = result.read();
      rhs.dispose();
      result.dispose();
      deepStrictEqual(await read, new Float64Array(n).fill(1));
      await call;
      await device.trim();
      strictEqual(device.memory().inUseBytes, 0);
    });
  });
});

describe('a device that does not open', () => {
  for (const backend of ['cpu', 'simt', 'cuda'] as const) {
    it(`on ${backend}: rejects what was queued with the reason, and later calls too`, async () => {
      const device = Device.begin({ ...describing(backend), index: 99 }, {}); // a device that openDevice() would not choose
      // Where the device has failed already, the array itself is refused.
      const reading = async (): Promise<unknown> => {
        using array = resultArray(device, 'float64', n);
        return await array.read();
      };
      const host = new Float64Array(n).fill(2);
      const calls = [
        device.run('tridiagonal.solve', solving(host, new Float64Array(n))), reading(), device.array(host), device.trim(),
      ];
      for (const call of calls) call.catch(() => undefined);
      const reason = await Device.opened(device).then(() => undefined, (error: unknown) => error as Error & { code: string });
      ok(reason !== undefined);
      for (const call of calls) await rejects(call, { code: reason.code, message: reason.message });
      await rejects(device.run('tridiagonal.solve', solving(host, host)), reason);
      await device.close();
      ok(!Device.usable(device));
    });
  }
});
