// Fault injection: every runtime call of every operation fails, once and for good. Each time: the right
// code, no leak, and the next call succeeds. The simt backend runs the real device code and host code of
// the GPU; WARPLOOM_SIMT_DISCRETE makes its arguments travel through staging as on a GPU.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { addon, type Faults } from '../../lib/core/binding.ts';
import { openDevice, type Device } from '../../lib/core/device.ts';
import { DeviceLostError, OutOfMemoryError, type WarploomError } from '../../lib/core/errors.ts';
import { hasBackend } from '../support/backends.ts';
import { coveredOperations, validParameters, type LooseParameters, type LooseView } from '../support/valid-parameters.ts';

/** Error numbers of cuda/core/fault.h, and the code that the caller must see. */
const errors: readonly (readonly [number, string, string])[] = [
  [2, 'out of memory', 'ERR_WARPLOOM_OUT_OF_MEMORY'],
  [701, 'out of launch resources', 'ERR_WARPLOOM_INTERNAL'],
  [700, 'an illegal address', 'ERR_WARPLOOM_DEVICE_LOST'],
];
/** More runtime calls than this are sampled evenly. */
const most = 40;

async function withDiscrete<T>(discrete: boolean, body: () => Promise<T>): Promise<T> {
  if (discrete) process.env.WARPLOOM_SIMT_DISCRETE = '1';
  try {
    return await body();
  } finally {
    delete process.env.WARPLOOM_SIMT_DISCRETE;
  }
}

/** Factored solves need factors that `factor` has made. */
async function prepared(device: Device, operation: string): Promise<() => LooseParameters> {
  if (operation !== 'tridiagonal.solve_factored') return () => validParameters(operation);
  const factored = validParameters('tridiagonal.factor');
  await device.run('tridiagonal.factor', factored);
  return () => ({ ...validParameters(operation), factors: factored.factors });
}

/** All numbers that a call returns. */
function results(parameters: LooseParameters): number[] {
  return ['solution', 'y', 'result', 'status', 'reciprocalCondition'].flatMap((name) => {
    const value = parameters[name] as LooseView | Float64Array | undefined;
    if (value === undefined) return [];
    return Array.from((ArrayBuffer.isView(value) ? value : value.data) as Float64Array);
  });
}

describe('faults of the device runtime', function () {
  this.timeout(120000);
  this.slow(20000);
  let faults: Faults;

  before(function () {
    if (!hasBackend('simt') || addon().faults === undefined) this.skip();
    faults = addon().faults!;
  });
  afterEach(() => addon().faults?.disarm());

  for (const discrete of [false, true]) {
    for (const operation of coveredOperations) {
      const title = `${operation}${discrete ? ', with transfers' : ''}`;
      it(`${title}: right code, no leak, next call succeeds`, () => withDiscrete(discrete, async () => {
        let device = await openDevice({ backend: 'simt' });
        const make = await prepared(device, operation);
        const good = make();
        await device.run(operation, good);
        const first = faults.calls();
        await device.run(operation, make());
        const count = faults.calls() - first;
        ok(count >= 3, `${count} runtime calls`);
        let rejected = 0;
        let tried = 0;
        for (const [error, name, code] of errors) {
          for (const persistent of [false, true]) {
            for (let at = 0; at < count; at += Math.max(1, Math.floor(count / most))) {
              const label = `call ${at} of ${count}: ${name}${persistent ? ' for good' : ''}`;
              faults.arm(at, error, persistent);
              const outcome = await device.run(operation, make()).then(() => undefined, (thrown: unknown) => thrown as WarploomError);
              faults.disarm();
              tried += 1;
              // A fault in giving something back, or in what only speeds up the next call, is no failure.
              if (outcome !== undefined) {
                rejected += 1;
                strictEqual(outcome.code, code, `${label}: ${outcome.message}`);
              }
              if (code === 'ERR_WARPLOOM_DEVICE_LOST') {
                const calls = faults.calls();
                const next = await device.run(operation, make()).then(() => undefined, (thrown: unknown) => thrown);
                ok(next instanceof DeviceLostError || (next === undefined && outcome === undefined), label);
                if (next !== undefined) strictEqual(faults.calls(), calls, `${label}: a lost device must not be touched`);
                await device.close();
                device = await openDevice({ backend: 'simt' });
                continue;
              }
              strictEqual(device.memory().inUseBytes, 0, label);
              const again = make();
              await device.run(operation, again);
              deepStrictEqual(results(again), results(good), label);
            }
          }
        }
        ok(rejected > tried / 2, `${rejected} of ${tried} faults were noticed`);
        await device.close();
      }));
    }
  }

  it('transfers and allocations: right code, no leak, data intact', () => withDiscrete(true, async () => {
    const data = Float64Array.from({ length: 1000 }, (_, at) => at);
    const steps: Record<string, (device: Device) => Promise<unknown>> = {
      array: async (device) => (await device.array(data)).dispose(),
      zeros: async (device) => (await device.array('float64', 1000)).dispose(),
      pinned: (device) => device.pinned('float64', 100),
      read: async (device) => {
        using array = await device.array(data);
        deepStrictEqual(await array.read(), data);
      },
      copy: async (device) => {
        using from = await device.array(data);
        using to = await device.array('float64', 1000);
        await to.copyFrom(from);
        deepStrictEqual(await to.read(), data);
      },
    };
    for (const [name, step] of Object.entries(steps)) {
      const device = await openDevice({ backend: 'simt' });
      const first = faults.calls();
      await step(device);
      const count = faults.calls() - first;
      for (const persistent of [false, true]) {
        for (let at = 0; at < count; at += 1) {
          faults.arm(at, 701, persistent);
          const outcome = await step(device).then(() => undefined, (error: unknown) => error as WarploomError);
          faults.disarm();
          if (outcome !== undefined) strictEqual(outcome.code, 'ERR_WARPLOOM_INTERNAL', `${name} ${at}`);
          await device.trim();
          strictEqual(device.memory().inUseBytes, 0, `${name} ${at}`);
          await step(device);
        }
      }
      await device.close();
    }
  }));

  it('a device that cannot be opened leaves nothing behind', async () => {
    for (const threads of [-1, 1.5, 1e9]) await rejects(openDevice({ backend: 'cpu', threads }), { argument: 'threads' });
    await rejects(openDevice({ backend: 'simt', index: 1 }), { argument: 'index' });
  });
});

describe('memory budgets', function () {
  this.timeout(120000);
  this.slow(20000);

  for (const backend of ['cpu', 'simt'] as const) {
    for (const operation of coveredOperations) {
      it(`${operation} on ${backend}: 50 budgets up to the need, and figures in the error`, async function () {
        if (!hasBackend(backend)) return this.skip();
        const open = async (memoryLimit: number): Promise<Device> => openDevice({ backend, memoryLimit, threads: 1 });
        await withDiscrete(true, async () => {
          const free = await open(0);
          const make = await prepared(free, operation);
          await free.trim();
          await free.close();
          const measuring = await open(0);
          const expected = make();
          await measuring.run(operation, expected);
          const need = measuring.memory().peakBytes;
          await measuring.close();
          let succeeded = false;
          for (let step = 0; step <= 50; step += 1) {
            const limit = Math.max(1, Math.ceil((need * step) / 50));
            const device = await open(limit);
            const parameters = make();
            const outcome = await device.run(operation, parameters).then(() => undefined, (error: unknown) => error);
            if (outcome === undefined) {
              succeeded = true;
              deepStrictEqual(results(parameters), results(expected), `limit ${limit} of ${need}`);
            } else {
              ok(outcome instanceof OutOfMemoryError, `limit ${limit} of ${need}: ${String(outcome)}`);
              ok(!succeeded, `limit ${limit} failed, a smaller one did not`);
              ok(outcome.requestedBytes > 0 && outcome.limitBytes > 0 && /memoryLimit/.test(outcome.message), outcome.message);
              strictEqual(device.memory().inUseBytes, 0);
            }
            await device.close();
          }
          ok(succeeded, `the need of ${need} bytes was not enough`);
        });
      });
    }
  }
});
