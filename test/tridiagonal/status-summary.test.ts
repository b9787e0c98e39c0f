// Batches beyond a few thousand systems: their words stay on the device, which counts them, and come back only where something
// failed.
import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert/strict';
import { type Device, DeviceArray } from '../../lib/core/device.ts';
import { Held } from '../../lib/core/pack.ts';
import { plan, solve, SystemStatuses, workspace } from '../../lib/tridiagonal/index.ts';
import { eachBackend, type BackendName } from '../support/backends.ts';

const n = 3;
const sizes: Record<BackendName, number> = { cpu: 300_000, simt: 20_000, cuda: 300_000 };

interface Systems { lower: Float64Array; diagonal: Float64Array; upper: Float64Array; rhs: Float64Array }

function systemsOf(batch: number): Systems {
  const filled = (value: number) => new Float64Array(batch * n).fill(value);
  return { lower: filled(-1), diagonal: filled(4), upper: filled(-1), rhs: filled(1) };
}

/** Calls made by `body` on `device`: operation and parameters. */
async function recorded<T>(device: Device, body: () => Promise<T>): Promise<{ result: T; calls: [string, Record<string, unknown>][] }> {
  const calls: [string, Record<string, unknown>][] = [];
  const run = device.run.bind(device);
  device.run = (operation, parameters, options) => {
    calls.push([operation, parameters as Record<string, unknown>]);
    return run(operation, parameters, options);
  };
  try {
    return { result: await body(), calls };
  } finally {
    Reflect.deleteProperty(device, 'run');
  }
}

/** Elements of typed arrays among an operation's parameters that are not the caller's. */
function hostElements(parameters: Record<string, unknown>, given: Systems, solution: unknown): number {
  const known = new Set<unknown>([...Object.values(given), solution]);
  return Object.values(parameters).map((value) => (typeof value === 'object' && value !== null && 'data' in value ? value.data : value))
    .filter((value) => ArrayBuffer.isView(value) && !known.has(value))
    .reduce<number>((sum, value) => sum + (value as Float64Array).length, 0);
}

const outcome = (system: number, rhs: number, state: string, row: number, resolvedByPivoting = false) =>
  ({ system, rhs, state, row, resolvedByPivoting });

describe('status of large batches', () => {
  eachBackend((backend, device) => {
    const batch = sizes[backend];

    it('keeps no words on the host, nor any memory on the device, where all went well', async () => {
      const open = await device();
      const given = systemsOf(batch);
      await open.trim();
      const before = open.memory().inUseBytes;
      const { result, calls } = await recorded(open, () => solve({ ...given, n, batch, device: open }));
      const [operation, parameters] = calls[0]!;
      strictEqual(operation, 'tridiagonal.solve');
      ok(parameters.status instanceof Held && parameters.row instanceof Held);
      ok(hostElements(parameters, given, result.solution) < 64);
      strictEqual(calls.length, 1);
      ok(result.status.allOk);
      strictEqual(result.status.length, batch);
      deepStrictEqual(result.status.at(batch - 1), outcome(batch - 1, 0, 'ok', -1));
      deepStrictEqual([...result.status.failures()], []);
      deepStrictEqual(result.status.counts(), { 'ok': batch, 'zero-pivot': 0, 'non-finite': 0, 'inaccurate': 0, 'resolvedByPivoting': 0 });
      result.status.throwIfFailed();
      ok(result.row.length === batch && result.row.every((row) => row === -1));
      await open.trim();
      strictEqual(open.memory().inUseBytes, before);
    });

    it('counts the words of a large batch in the workspace', async () => {
      const open = await device();
      const bytes = async (count: number) => workspace({ ...systemsOf(count), n, batch: count, device: open });
      const [few, many] = [await bytes(4096), await bytes(8192)];
      ok(many - few >= 8 * 8192, `${few} and ${many} bytes`);
    });

    it('tells which systems failed, the rest unharmed', async () => {
      const open = await device();
      const given = systemsOf(batch);
      const zero = [5, batch >> 1, batch - 2];
      for (const system of zero) for (const band of [given.lower, given.diagonal, given.upper]) band.fill(0, system * n + 1, system * n + 2);
      for (const system of zero) given.upper[system * n] = 0;
      given.rhs[7 * n + 2] = NaN;
      given.diagonal[(batch - 1) * n] = Infinity;
      const { status, row, solution } = await solve({ ...given, n, batch, algorithm: 'thomas', device: open });
      deepStrictEqual([...status.failures()], [
        outcome(5, 0, 'zero-pivot', 1), outcome(7, 0, 'non-finite', 2), outcome(batch >> 1, 0, 'zero-pivot', 1),
        outcome(batch - 2, 0, 'zero-pivot', 1), outcome(batch - 1, 0, 'non-finite', 0),
      ]);
      deepStrictEqual(status.counts(), { 'ok': batch - 5, 'zero-pivot': 3, 'non-finite': 2, 'inaccurate': 0, 'resolvedByPivoting': 0 });
      strictEqual(status.allOk, false);
      throws(() => status.throwIfFailed(), { code: 'ERR_WARPLOOM_SYSTEM_FAILED', message: new RegExp(`5 of ${batch} systems failed; system 5,`) });
      strictEqual(status.words[7], 2);
      strictEqual(row[7], 2);
      strictEqual(row.reduce((sum, value) => sum + (value >= 0 ? 1 : 0), 0), 5);
      strictEqual(status.at(6).state, 'ok');
      ok([0, 6, 8, batch - 3].every((system) => Math.abs(solution[system * n]! - solution[0]!) < 1e-15));
    });

    it('tells what check solved again, in both directions of the batch', async () => {
      const open = await device();
      const half = batch >> 1;
      const given = systemsOf(half);
      for (const system of [3, half - 1]) given.diagonal.fill(1e-13, system * n, system * n + 1);
      const rhs = new Float64Array(2 * half * n).fill(1);
      using onDevice = await open.array(rhs);
      const { status, backwardError, solution } = await solve({ ...given, rhs: onDevice, n, batch: half, rhsCount: 2, check: true, device: open });
      ok(status.allOk);
      const again = Array.from({ length: status.length }, (_, i) => i).filter((i) => status.at(i >> 1, i & 1).resolvedByPivoting);
      deepStrictEqual(again, [6, 7, status.length - 2, status.length - 1]);
      strictEqual(status.counts().resolvedByPivoting, 4);
      ok(backwardError instanceof DeviceArray && backwardError.length === status.length);
      ok((await backwardError.read() as Float64Array).every((error) => error <= 64 * 2 ** -52));
      for (const array of [backwardError, solution]) array.dispose();
    });

    it('does the same for plans and their solves', async () => {
      const open = await device();
      const { rhs, ...matrix } = systemsOf(batch);
      matrix.diagonal[11 * n + 1] = NaN;
      const made = await recorded(open, () => plan({ ...matrix, n, batch, device: open }));
      await using factored = made.result;
      ok(made.calls.every(([, parameters]) => parameters.status instanceof Held));
      deepStrictEqual([...factored.status.failures()], [outcome(11, 0, 'non-finite', 1)]);
      rhs[10 * n] = Infinity;
      const { result: { status }, calls } = await recorded(open, () => factored.solve({ rhs }));
      ok(calls.length === 1 && calls[0]![1].status instanceof Held);
      deepStrictEqual([...status.failures()], [outcome(10, 0, 'non-finite', 0), outcome(11, 0, 'non-finite', 1)]);
    });

    it('gives the memory of words back when a call fails', async () => {
      const open = await device();
      const given = systemsOf(batch);
      await open.trim();
      const before = open.memory().inUseBytes;
      const failed = await solve({ ...given, n, batch, algorithm: 'partition', depth: 0, signal: AbortSignal.abort(), device: open })
        .then(() => false, () => true);
      ok(failed);
      const controller = new AbortController();
      const running = solve({ ...given, n, batch, device: open, signal: controller.signal }).then(() => undefined, () => undefined);
      controller.abort();
      await running;
      await open.trim();
      strictEqual(open.memory().inUseBytes, before);
    });
  });

  it('answers from noted words as from all of them', () => {
    const words = new Int32Array(6000), rows = new Int32Array(6000).fill(-1);
    for (const [at, word] of [[0, 1], [17, 0x100], [4096, 2], [5999, 0x103]] as const) words[at] = word;
    rows[0] = 4;
    rows[4096] = 9;
    const all = new SystemStatuses(words, rows, 2);
    const noted = new SystemStatuses(6000, { places: [0, 17, 4096, 5999], words: [1, 0x100, 2, 0x103], rows: [4, -1, 9, -1] }, 2);
    deepStrictEqual(noted.counts(), all.counts());
    deepStrictEqual([...noted], [...all]);
    deepStrictEqual([...noted.failures()], [...all.failures()]);
    deepStrictEqual(noted.words, words);
    deepStrictEqual(noted.rows, rows);
    strictEqual(noted.length, all.length);
  });
});
