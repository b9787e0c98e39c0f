// Opening, closing and describing devices, and the default device.
import { deepStrictEqual, match, notStrictEqual, ok, rejects, strictEqual, throws } from 'node:assert/strict';
import { defaultDevice, Device, openDevice } from '../../lib/core/device.ts';
import { devices } from '../../lib/core/devices.ts';
import { ArgumentError, DisposedError, UnavailableError } from '../../lib/core/errors.ts';
import { operationNames, pack } from '../../lib/core/pack.ts';
import { validParameters } from '../support/valid-parameters.ts';

describe('devices', () => {
  it('lists every backend with a reason in one line', () => {
    const list = devices();
    deepStrictEqual([...new Set(list.map((each) => each.backend))], ['cuda', 'cpu', 'simt']);
    for (const each of list) {
      ok(each.reason.length > 0 && !each.reason.includes('\n'), JSON.stringify(each));
      strictEqual(typeof each.available, 'boolean');
      ok(!each.available || each.name.length > 0, JSON.stringify(each));
    }
    const cpu = list.find((each) => each.backend === 'cpu')!;
    ok(cpu.available && cpu.memoryBytes > 0 && cpu.multiprocessors > 0);
  });

  it('opens the cpu device and says what it is', async () => {
    await using device = await openDevice({ backend: 'cpu', threads: 1, memoryLimit: 2 ** 30 });
    ok(device instanceof Device);
    strictEqual(device.backend, 'cpu');
    strictEqual(device.name, device.description.name);
    deepStrictEqual(device.memory(), { inUseBytes: 0, pooledBytes: 0, peakBytes: 0, limitBytes: 2 ** 30 });
    ok(!device.closed);
  });

  it('opens something by default: cuda where there is one, else cpu', async () => {
    await using device = await openDevice();
    const cuda = devices().some((each) => each.backend === 'cuda' && each.available);
    strictEqual(device.backend, cuda ? 'cuda' : 'cpu');
  });

  it('refuses every wrong option by name', async () => {
    const wrong: Record<string, unknown[]> = {
      backend: ['gpu', '', 'CPU', 1, null, {}],
      index: [-1, 1.5, NaN, Infinity, '0', null, 2 ** 31, 1n, 7],
      memoryLimit: [-1, 0.5, NaN, Infinity, '1', null, 2 ** 53],
      threads: [-1, 1.5, NaN, 1025, '2', null],
      queueLimit: [0, -1, 1.5, NaN, 2 ** 20 + 1, '8', null],
      treads: [1],
    };
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        await rejects(openDevice({ backend: 'cpu', [name]: value }), (error: unknown) => {
          ok(error instanceof ArgumentError, `${name} ${String(value)}: ${String(error)}`);
          strictEqual(error.argument, name);
          strictEqual(error.code, 'ERR_WARPLOOM_INVALID_ARGUMENT');
          return true;
        });
      }
    }
    await rejects(openDevice(null as never), ArgumentError);
    await rejects(openDevice('cpu' as never), ArgumentError);
  });

  it('says why a backend is not there', async () => {
    for (const { backend, available, reason } of devices()) {
      if (available) continue;
      await rejects(openDevice({ backend }), (error: unknown) => {
        ok(error instanceof UnavailableError);
        match(error.code, /NOT_COMPILED|UNAVAILABLE/);
        ok(error.message.includes(reason), error.message);
        return true;
      });
    }
  });

  it('closes once, after the calls made before, and refuses everything afterwards', async () => {
    const device = await openDevice({ backend: 'cpu', threads: 1 });
    const array = await device.array(new Float64Array(8).fill(2));
    const parameters = validParameters('scan.prefix');
    const pending = device.run('scan.prefix', parameters);
    const closing = device.close();
    strictEqual(device.close(), closing);
    ok(device.closed);
    await pending;
    await closing;
    const gone = (error: unknown): boolean => error instanceof DisposedError && error.code === 'ERR_WARPLOOM_DISPOSED';
    await rejects(device.run('scan.prefix', parameters), gone);
    await rejects(device.array('float64', 3), gone);
    await rejects(device.pinned('float64', 3), gone);
    await rejects(device.trim(), gone);
    await rejects(array.read(), gone);
    await rejects(array.write(new Float64Array(8)), gone);
    throws(() => device.memory(), gone);
    throws(() => device.workspace('scan.prefix', parameters), gone);
    array.dispose();
  });

  it('disposes with using, and keeps pinned arrays alive after it', async () => {
    let pinned: Float64Array;
    {
      await using device = await openDevice({ backend: 'cpu', threads: 1 });
      pinned = await device.pinned('float64', 1000) as Float64Array;
      pinned.fill(3);
    }
    gc?.();
    await new Promise((resolve) => setImmediate(resolve));
    ok(pinned.every((value) => value === 3));
    const device = await openDevice({ backend: 'cpu', threads: 1 });
    device[Symbol.dispose]();
    ok(device.closed);
  });

  it('shares one default device, and opens it anew after it was closed', async () => {
    const [first, second] = await Promise.all([defaultDevice(), defaultDevice()]);
    strictEqual(first, second);
    await first.close();
    const [third, fourth] = await Promise.all([defaultDevice(), defaultDevice()]);
    strictEqual(third, fourth);
    notStrictEqual(third, first);
    await third.close();
  });

  it('answers workspace queries without work', async () => {
    await using device = await openDevice({ backend: 'cpu', threads: 1 });
    for (const operation of operationNames()) {
      if (operation === 'tridiagonal.solve_factored') continue;
      const bytes = device.workspace(operation, validParameters(operation));
      ok(Number.isSafeInteger(bytes) && bytes >= 0, `${operation}: ${bytes}`);
    }
    throws(() => device.workspace('tridiagonal.solve', { n: -1 }), { argument: 'n' });
    throws(() => device.workspace('tridiagonal.sove', {}), { argument: 'operation' });
  });

  it('refuses parameters that run another call while they are read', async () => {
    await using device = await openDevice({ backend: 'cpu', threads: 1 });
    const tricky = { ...validParameters('scan.prefix'), get n(): number {
      pack('scan.prefix', validParameters('scan.prefix'));
      return 5;
    } };
    await rejects(device.run('scan.prefix', tricky), ArgumentError);
    const throwing = { ...validParameters('scan.prefix'), get n(): number { throw new RangeError('mine'); } };
    await rejects(device.run('scan.prefix', throwing), RangeError);
    await device.run('scan.prefix', validParameters('scan.prefix'));
    for (const parameters of [null, undefined, 3, 'x']) {
      await rejects(device.run('scan.prefix', parameters as never), { argument: 'parameters' });
    }
  });
});
