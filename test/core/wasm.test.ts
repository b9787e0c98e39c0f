// The cpu backend as WebAssembly: calls, arrays, order, errors. That its results have the bits of the addon's is a case of
// instruction-sets.test.ts.
import { deepStrictEqual, match, notStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { skipCases } from '../support/backends.ts';
import { preamble, runChild } from '../support/child.ts';
import { noWasm } from '../support/wasm.ts';

const script = `
const failure = async (work) => { try { await work(); } catch (error) { return [error.code, error.argument ?? '', error.message]; } };
const results = {};
results.devices = devices().map(({ backend, available, name }) => [backend, available, name]);
results.operations = JSON.stringify(addon().operations());
const device = await open();
const n = 5, x = Float64Array.of(3, 2, 2, 2, 3);
await device.run('tridiagonal.solve', solving(n, 1, x, x)); // in place
results.inPlace = [...x];

// Views on one buffer: beside each other, and overlapping.
const both = Float64Array.of(3, 2, 2, 2, 3, 0, 0, 0, 0, 0);
await device.run('tridiagonal.solve', solving(n, 1, both.subarray(0, 5), both.subarray(5)));
results.beside = [...both];
results.overlap = await failure(() => device.run('tridiagonal.solve', solving(n, 1, both.subarray(0, 5), both.subarray(2, 7))));

// Device arrays, in order and without waiting.
const a = await device.array(Float64Array.of(1, 2, 3, 4)), b = await device.array('float64', 4);
const scan = (from, to) => device.run('scan.prefix', { type: 'float64', n: 4, batch: 1, values: { data: from, extents: [1, 4] }, result: { data: to, extents: [1, 4] } });
const first = scan(a, b), second = scan(b, b), third = a.write(Float64Array.of(9, 9), 1);
results.chain = [...await b.read()];
results.written = [...await a.read()];
await Promise.all([first, second, third]);
await b.copyFrom(a);
results.copied = [...await b.read(undefined, 2)];
results.range = await failure(() => a.read(new Float64Array(3), 2));

// What the call takes, it takes at once.
const rhs = Float64Array.of(3, 2, 2, 2, 3), solution = new Float64Array(5);
const pending = device.run('tridiagonal.solve', solving(n, 1, rhs, solution));
rhs.fill(0);
results.pending = await failure(() => device.run('tridiagonal.solve', solving(n, 1, solution, new Float64Array(5))));
await pending;
results.taken = [...solution];

// Errors.
results.type = await failure(() => device.run('tridiagonal.solve', solving(n, 1, new Float32Array(5), solution)));
results.short = await failure(() => device.run('tridiagonal.solve', solving(n, 1, new Float64Array(4), solution)));
const detached = new Float64Array(5);
structuredClone(detached.buffer, { transfer: [detached.buffer] });
results.detached = await failure(() => device.run('tridiagonal.solve', solving(n, 1, detached, solution)));
results.backend = await failure(() => openDevice({ backend: 'cuda' }));
results.module = await failure(() => device.module({ source: '', kernels: {} }));
const tight = await open({ memoryLimit: 1 << 20, queueLimit: 2 });
results.memory = await failure(() => tight.array('float64', 1 << 18));
const calls = Array.from({ length: 4 }, () => failure(() => tight.run('tridiagonal.solve', solving(n, 1, x, new Float64Array(5)))));
results.queue = (await Promise.all(calls)).map((each) => each?.[0] ?? 'done');
const controller = new AbortController();
const aborted = failure(() => device.run('tridiagonal.solve', solving(n, 1, x, new Float64Array(5)), { signal: controller.signal }));
controller.abort();
results.aborted = (await aborted)?.[2];
const done = [];
await device.run('tridiagonal.solve', solving(300, 500, new Float64Array(150000).fill(1), new Float64Array(150000)),
  { onProgress: (value, total) => { done.push(value / total); } });
results.progress = done.every((value, i) => value <= 1 && (i === 0 || value >= done[i - 1]));

// Memory comes back.
const before = device.memory().inUseBytes;
a.dispose();
b.dispose();
await device.trim();
results.freed = before - device.memory().inUseBytes;
results.left = device.memory().inUseBytes;
await device.close();
results.closed = await failure(() => device.array('float64', 4));
console.log(JSON.stringify(results));`;

describe('WebAssembly', () => {
  if (noWasm !== undefined) return skipCases(noWasm, 4);
  let results: Record<string, any> = {};
  before(async function () {
    this.timeout(60_000);
    const child = await runChild(preamble() + script, { env: { WARPLOOM_ADDON: 'wasm' }, timeout: 60_000 });
    strictEqual(child.code, 0, child.err);
    results = JSON.parse(child.out) as typeof results;
  });
  const near = (values: number[], expected: number[]): void => {
    strictEqual(values.length, expected.length);
    values.forEach((value, i) => { ok(Math.abs(value - expected[i]!) < 1e-12, values.join()); });
  };

  it('is a device, with the operations of the addon', async () => {
    deepStrictEqual(results.devices, [['cuda', false, ''], ['cpu', true, 'cpu (WebAssembly)'], ['simt', false, '']]);
    const child = await runChild(`${preamble()} console.log(JSON.stringify(addon().operations()));`);
    strictEqual(child.out.trim(), results.operations);
  });

  it('solves in place, in views of one buffer and in device arrays, in order', () => {
    near(results.inPlace, [1, 1, 1, 1, 1]);
    near(results.beside, [3, 2, 2, 2, 3, 1, 1, 1, 1, 1]);
    near(results.taken, [1, 1, 1, 1, 1]);
    deepStrictEqual(results.chain, [1, 4, 10, 20]);
    deepStrictEqual(results.written, [1, 9, 9, 4]);
    deepStrictEqual(results.copied, [9, 4]);
    ok(results.progress);
  });

  it('refuses with the code, argument and text of the addon', () => {
    const refused = (name: string, code: string, text: RegExp): void => {
      strictEqual(results[name]?.[0], `ERR_WARPLOOM_${code}`, name);
      match(results[name][2], text);
    };
    refused('overlap', 'INVALID_ARGUMENT', /solution/);
    refused('range', 'INVALID_ARGUMENT', /3 from element 2 on/);
    refused('pending', 'INVALID_ARGUMENT', /an output of a pending call/);
    refused('type', 'INVALID_ARGUMENT', /rhs: expected a Float64Array or a device array, received a Float32Array of length 5/);
    refused('short', 'INVALID_ARGUMENT', /rhs/);
    refused('detached', 'INVALID_ARGUMENT', /detached|memory/);
    refused('backend', 'UNAVAILABLE', /WARPLOOM_ADDON=wasm/);
    refused('memory', 'OUT_OF_MEMORY', /2097152 bytes requested, 0 in use, limit 1048576/);
    refused('closed', 'DISPOSED', /closed/);
    notStrictEqual(results.module, undefined);
    deepStrictEqual(results.queue, ['done', 'done', 'ERR_WARPLOOM_QUEUE_FULL', 'ERR_WARPLOOM_QUEUE_FULL']);
    match(results.aborted, /ABORT|aborted/i);
  });

  it('frees its memory', () => {
    strictEqual(results.freed, 128);
    strictEqual(results.left, 0);
  });
});
