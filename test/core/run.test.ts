// Device.run: where arguments lie, how results come back, cancellation, progress and order.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { ArgumentError, QueueFullError } from '../../lib/core/errors.ts';
import { type Device, DeviceArray, openDevice } from '../../lib/core/device.ts';
import { eachBackend } from '../support/backends.ts';
import { validParameters, viewOf, type LooseParameters, type LooseView } from '../support/valid-parameters.ts';

const n = 40;
const batch = 6;
const total = n * batch;

/** Constant bands -1, 4, -1 and a right-hand side of ones; `make` chooses the memory of each vector. */
function problem(rhs: unknown, solution: unknown, extra: LooseParameters = {}): LooseParameters {
  const extents = [(extra.batch as number | undefined) ?? batch, (extra.n as number | undefined) ?? n];
  const constant = (value: number): LooseView => ({ data: Float64Array.of(value), extents, strides: [0, 0] });
  return {
    type: 'float64', n, batch, lower: constant(-1), diagonal: constant(4), upper: constant(-1),
    rhs: viewOf(rhs, n, batch), solution: viewOf(solution, n, batch), ...extra,
  };
}

/** Largest |A x - b| of {@link problem}. */
function residual(x: Float64Array, b: (at: number) => number = () => 1): number {
  let worst = 0;
  for (let system = 0; system < batch; system += 1) {
    for (let row = 0; row < n; row += 1) {
      const at = system * n + row;
      const left = row > 0 ? x[at - 1]! : 0;
      const right = row < n - 1 ? x[at + 1]! : 0;
      worst = Math.max(worst, Math.abs(4 * x[at]! - left - right - b(at)));
    }
  }
  return worst;
}

const ones = (): Float64Array => new Float64Array(total).fill(1);
const shared = (values: Float64Array): Float64Array => {
  const copy = new Float64Array(new SharedArrayBuffer(values.byteLength));
  copy.set(values);
  return copy;
};

/** A batch that keeps one thread busy for about a second. */
function longProblem(many = 200_000): LooseParameters {
  const x = new Float64Array(new SharedArrayBuffer(8 * 64 * many));
  const y = new Float64Array(new SharedArrayBuffer(8 * 64 * many));
  const size = { n: 64, batch: many };
  return problem(x.fill(1), y, { ...size, rhs: viewOf(x, 64, many), solution: viewOf(y, 64, many), algorithm: 'pivoting', check: true });
}

describe('Device.run', () => {
  eachBackend((_, deviceOf) => {
    let device: Device;
    before(async () => {
      device = await deviceOf();
    });

    it('takes every mixture of plain, shared, pinned and device memory', async () => {
      const kinds: Record<string, (values: Float64Array) => Promise<unknown>> = {
        plain: async (values) => values,
        shared: async (values) => shared(values),
        pinned: async (values) => {
          const array = await device.pinned('float64', values.length) as Float64Array;
          array.set(values);
          return array;
        },
        device: (values) => device.array(values),
      };
      let expected: Float64Array | undefined;
      for (const [from, makeRhs] of Object.entries(kinds)) {
        for (const [to, makeSolution] of Object.entries(kinds)) {
          const solution = await makeSolution(new Float64Array(total).fill(NaN));
          await device.run('tridiagonal.solve', problem(await makeRhs(ones()), solution));
          const x = (solution instanceof DeviceArray ? await solution.read() : solution) as Float64Array;
          ok(residual(x) < 1e-12, `${from} to ${to}: ${residual(x)}`);
          expected ??= x;
          deepStrictEqual(x, expected, `${from} to ${to}`);
        }
      }
    });

    it('solves in place, in plain and in device memory', async () => {
      const plain = ones();
      await device.run('tridiagonal.solve', problem(plain, plain));
      ok(residual(plain) < 1e-12);
      using array = await device.array(ones());
      await device.run('tridiagonal.solve', problem(array, array));
      deepStrictEqual(await array.read(), plain);
    });

    it('copies inputs at the call', async () => {
      const rhs = ones();
      const solution = new Float64Array(total);
      const pending = device.run('tridiagonal.solve', problem(rhs, solution));
      rhs.fill(NaN);
      await pending;
      ok(residual(solution) < 1e-12);
    });

    it('writes nothing outside a strided window', async () => {
      const stride = 3;
      const solution = new Float64Array(stride * total + 5).fill(7);
      const window = { data: solution, offset: 2, extents: [batch, n], strides: [n * stride, stride] };
      await device.run('tridiagonal.solve', { ...problem(ones(), solution), solution: window });
      ok(residual(solution.filter((_value, at) => at >= 2 && (at - 2) % stride === 0 && (at - 2) / stride < total)) < 1e-12);
      ok(solution.every((value, at) => ((at - 2) % stride === 0 && at >= 2 && (at - 2) / stride < total) || value === 7));
    });

  }, { cases: 4 });

  eachBackend((_, deviceOf) => {
    let device: Device;
    before(async () => {
      device = await deviceOf();
    });

    it('takes complex numbers interleaved and split, counting elements', async () => {
      const pairs = new Float64Array(2 * total);
      for (let at = 0; at < total; at += 1) pairs[2 * at] = 1;
      const real = (value: number): LooseView =>
        ({ data: Float64Array.of(value, 0), extents: [batch, n], strides: [0, 0] });
      const bands = { lower: real(-1), diagonal: real(4), upper: real(-1) };
      const solution = new Float64Array(2 * total);
      await device.run('tridiagonal.solve', { ...problem(pairs, solution), ...bands, type: 'complex128' });
      ok(residual(solution.filter((_value, at) => at % 2 === 0)) < 1e-12);
      const re = new Float64Array(total);
      const im = new Float64Array(total).fill(9);
      const split = { ...viewOf(re, n), imaginary: im };
      await device.run('tridiagonal.solve', { ...problem(pairs, re), ...bands, type: 'complex128', solution: split });
      ok(residual(re) < 1e-12);
      ok(im.every((value) => value === 0));
      using array = await device.array(pairs, 'complex128');
      strictEqual(array.length, total);
      await device.run('tridiagonal.solve', { ...problem(array, solution.fill(0)), ...bands, type: 'complex128' });
      ok(residual(solution.filter((_value, at) => at % 2 === 0)) < 1e-12);
    });

    it('runs empty batches', async () => {
      const nothing = new Float64Array(0);
      for (const size of [{ n: 0 }, { batch: 0 }, { n: 0, batch: 0 }]) {
        const fields = Object.fromEntries(['lower', 'diagonal', 'upper', 'rhs', 'solution'].map((name) => [name, viewOf(nothing, 0)]));
        const { deviceSeconds } = await device.run('tridiagonal.solve', { ...problem(nothing, nothing), ...fields, ...size });
        ok(deviceSeconds >= 0);
      }
    });

    it('keeps the order of calls, so chains need no await', async () => {
      using first = await device.array(ones());
      using second = await device.array('float64', total);
      const calls = [device.run('tridiagonal.solve', problem(first, second)), device.run('tridiagonal.solve', problem(second, second))];
      const direct = ones();
      const read = second.read();
      await Promise.all(calls);
      await device.run('tridiagonal.solve', problem(direct, direct));
      await device.run('tridiagonal.solve', problem(direct, direct));
      deepStrictEqual(await read, direct);
    });

  }, { cases: 3 });

  eachBackend((_, deviceOf) => {
    let device: Device;
    before(async () => {
      device = await deviceOf();
    });

    it('lets a device array be disposed while calls use it', async () => {
      const rhs = await device.array(ones());
      const solution = new Float64Array(total);
      const pending = device.run('tridiagonal.solve', problem(rhs, solution));
      rhs.dispose();
      await pending;
      ok(residual(solution) < 1e-12);
    });

    it('reports to the host, also when every array lies on the device', async () => {
      using rhs = await device.array(ones());
      using solution = await device.array(ones());
      using status = await device.array(new Int32Array(batch));
      using row = await device.array(new Int32Array(batch));
      const { report } = await device.run('tridiagonal.solve', problem(rhs, solution, { status, row, summarize: true, algorithm: 'thomas' }));
      const { summary, ...rest } = report;
      deepStrictEqual({ ...rest, launches: report.launches > 0 }, { algorithm: 'thomas', depth: 0, threads: 1, launches: true, noted: undefined });
      deepStrictEqual(summary, { zeroPivots: 0, nonFinites: 0, inaccurates: 0, resolved: 0, firstFailed: -1, firstWord: 0, firstRow: -1 });
      await rejects(device.run('tridiagonal.solve', problem(rhs, solution, { status, summarize: true })),
        (error: unknown) => error instanceof ArgumentError && error.argument === 'summarize' && /status and row/.test(error.message));
    });

    it('returns all memory', async () => {
      await device.run('tridiagonal.solve', problem(ones(), ones()));
      const before = device.memory().inUseBytes;
      for (let i = 0; i < 5; i += 1) await device.run('tridiagonal.solve', problem(ones(), ones(), { check: true }));
      const after = device.memory().inUseBytes; // less when arrays of earlier tests were collected meanwhile
      ok(after <= before, `${after - before} bytes more`);
    });
  }, { cases: 3 });

  describe('on one cpu thread', () => {
    let device: Device;
    before(async () => {
      device = await openDevice({ backend: 'cpu', threads: 1, queueLimit: 3 });
    });
    after(() => device.close());

    it('refuses an output that a pending call still writes, as output and as input', async () => {
      const solution = new Float64Array(total);
      // A call that can be cancelled is queued, however short it is.
      const pending = device.run('tridiagonal.solve', problem(ones(), solution), { signal: new AbortController().signal });
      const inFlight = (error: unknown): boolean => error instanceof ArgumentError && /pending call/.test(error.message);
      await rejects(device.run('tridiagonal.solve', problem(ones(), solution)), inFlight);
      await rejects(device.run('tridiagonal.solve', problem(solution, new Float64Array(total))), inFlight);
      await rejects(device.run('tridiagonal.solve', problem(ones(), solution.subarray(n))), inFlight);
      await pending;
      await device.run('tridiagonal.solve', problem(solution, solution));
    });

    it('fails, and does not crash, when an output is detached meanwhile', async () => {
      const solution = new Float64Array(total);
      const pending = device.run('tridiagonal.solve', problem(ones(), solution), { signal: new AbortController().signal });
      structuredClone(solution.buffer, { transfer: [solution.buffer] });
      await rejects(pending, (error: unknown) =>
        error instanceof ArgumentError && error.argument === 'solution' && /detached/.test(error.message));
    });

    it('rejects with the reason of a signal: aborted before, waiting, and running', async () => {
      const reason = new Error('enough');
      await rejects(device.run('tridiagonal.solve', problem(ones(), ones()), { signal: AbortSignal.abort(reason) }), reason);
      const running = new AbortController();
      const waiting = new AbortController();
      const long = longProblem();
      const first = device.run('tridiagonal.solve', long, { signal: running.signal });
      const solution = new Float64Array(total).fill(5);
      const second = device.run('tridiagonal.solve', problem(ones(), solution), { signal: waiting.signal });
      waiting.abort(reason);
      await rejects(second, reason);
      ok(solution.every((value) => value === 5), 'the cancelled call must not have run');
      running.abort(reason);
      await rejects(first, reason);
      await device.run('tridiagonal.solve', problem(ones(), solution));
      ok(residual(solution) < 1e-12);
    });

    it('reports progress in order, before it settles, up to the total', async () => {
      const reports: [number, number][] = [];
      let settled = false;
      await device.run('tridiagonal.solve', longProblem(), {
        onProgress(done, all) {
          ok(!settled);
          reports.push([done, all]);
        },
      });
      settled = true;
      ok(reports.length > 1, `${reports.length} reports`);
      ok(reports.every(([done, all], at) => done >= 0 && done <= all && (at === 0 || done >= reports[at - 1]![0])));
      await new Promise((resolve) => setTimeout(resolve, 20));
    });

    it('ends the call with the error that a progress callback throws', async () => {
      const error = new Error('from the callback');
      await rejects(device.run('tridiagonal.solve', longProblem(), { onProgress() { throw error; } }), error);
    });

    it('ends the call with what happens before it settles, though the device is done', async () => {
      const reason = new Error('late');
      /** Until the device is done, and has told the event loop so. */
      const stop = (): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
      const solution = new Float64Array(total).fill(5);
      const reporting = device.run('tridiagonal.solve', longProblem(2000), { onProgress() { throw reason; } });
      stop();
      await rejects(reporting, reason);
      const controller = new AbortController();
      const { signal } = controller;
      await device.trim();
      const { inUseBytes } = device.memory();
      const calls = [device.run('tridiagonal.solve', problem(ones(), solution), { signal }), device.array(ones(), undefined, { signal })];
      stop();
      controller.abort(reason);
      await Promise.all(calls.map((call) => rejects(call, reason)));
      ok(solution.every((value) => value === 5), 'the output of a cancelled call must not be written');
      await device.trim();
      strictEqual(device.memory().inUseBytes, inUseBytes);
    });

    it('can be cancelled while its device closes', async () => {
      const own = await openDevice({ backend: 'cpu', threads: 1 });
      const stop = new AbortController();
      const call = own.run('tridiagonal.solve', longProblem(), { signal: stop.signal });
      const closing = own.close();
      stop.abort(new Error('enough'));
      await rejects(call, /enough/);
      await closing;
    });

    it('refuses calls beyond its queue limit, and serves again when they are done', async () => {
      const stop = new AbortController();
      let long: Promise<unknown> | undefined;
      await new Promise<void>((running) => {
        long = device.run('tridiagonal.solve', longProblem(), { signal: stop.signal, onProgress: () => running() });
      });
      const calls: Promise<unknown>[] = [];
      for (let i = 0; i < 5; i += 1) calls.push(device.run('tridiagonal.solve', problem(ones(), ones())));
      const outcomes = Promise.allSettled(calls);
      stop.abort();
      await rejects(long!, { name: 'AbortError' });
      for (const [at, outcome] of (await outcomes).entries()) {
        if (at < 3) strictEqual(outcome.status, 'fulfilled', `call ${at}`);
        else ok(outcome.status === 'rejected' && outcome.reason instanceof QueueFullError, `call ${at}`);
      }
      await device.run('tridiagonal.solve', problem(ones(), ones()));
    });

    it('refuses signals and callbacks that are none, by name', async () => {
      for (const wrong of [null, 3, {}, 'abort', new AbortController()]) {
        await rejects(device.run('tridiagonal.solve', problem(ones(), ones()), { signal: wrong as never }), { argument: 'signal' });
        await rejects(device.run('tridiagonal.solve', problem(ones(), ones()), { onProgress: wrong as never }), { argument: 'onProgress' });
      }
    });

    it('leaves the event loop free', async () => {
      let [ticks, settled] = [0, false];
      const stop = new AbortController();
      const long = device.run('tridiagonal.solve', longProblem(), { signal: stop.signal }).catch(() => undefined).finally(() => { settled = true; });
      for (; ticks < 10 && !settled; ticks += 1) await new Promise((resolve) => setTimeout(resolve, 5));
      stop.abort();
      await long;
      ok(ticks >= 3, `${ticks} ticks`);
    });

    it('asks buffers nothing that runs code of the caller, who could take other arrays away', async () => {
      for (const length of [0, batch]) {
        const rhs = new Float64Array(total).fill(1), solution = new Float64Array(total), status = new Int32Array(length);
        let asked = 0;
        const take = (): boolean => {
          asked += 1;
          structuredClone(rhs, { transfer: [rhs.buffer] });
          return false;
        };
        Object.defineProperty(status.buffer, 'resizable', { get: take });
        const call = device.run('tridiagonal.solve', problem(rhs, solution, { status }));
        if (length === 0) await rejects(call, ArgumentError);
        else await call;
        deepStrictEqual([asked, rhs.length], [0, total]);
      }
    });

    it('runs every operation of the registry', async () => {
      for (const operation of ['tridiagonal.solve', 'tridiagonal.factor', 'tridiagonal.multiply', 'tridiagonal.condition', 'scan.prefix']) {
        ok((await device.run(operation, validParameters(operation))).deviceSeconds >= 0, operation);
      }
    });
  });
});
