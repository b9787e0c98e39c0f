// Page-locked memory that a device lends to inputs and results of runs: it is used, bounded, given back in every outcome, and what the
// caller sees behaves like any other array.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { addon, packageRoot } from '../../../lib/core/binding.ts';
import { openDevice, type Device } from '../../../lib/core/device.ts';
import { compileForDevice, run } from '../../../lib/stream/index.ts';
import type { DeviceProgram } from '../../../lib/stream/run/device-program.ts';
import { hasBackend, skipCases } from '../../support/backends.ts';
import { runChild } from '../../support/child.ts';
import { graphOf } from '../support.ts';

const graph = graphOf('float->float filter F { work pop 1 push 1 peek 3 { push(peek(0) - peek(2)); pop(); } } float->float pipeline Main { add F; }');
/** Faults where an item is not 0 to 3. */
const indexing = graphOf('int->int filter A { int[4] t = {5, 6, 7, 8}; work pop 1 push 1 { push(t[pop()]); } } int->int pipeline Main { add A; }');
/** The least array that is lent memory: 4 MiB. */
const least = 2 ** 20;
const inputOf = (length: number, seed = 1): Float32Array => Float32Array.from({ length }, (_, i) => ((i * 7919 + seed * 104_729) % 1009) / 64);
const expectedOf = (input: Float32Array): Float32Array =>
  Float32Array.from({ length: Math.max(0, input.length - 2) }, (_, i) => input[i]! - input[i + 2]!);
const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array => new Uint8Array(buffer, byteOffset, byteLength);
const requireSame = (found: unknown, expected: Float32Array): void => {
  assert.equal((found as Float32Array).length, expected.length);
  assert.equal(Buffer.compare(bytesOf(found as Float32Array), bytesOf(expected)), 0);
};

/** Has what is unreachable collected, and finalizers run. */
async function collected(): Promise<void> {
  for (let i = 0; i < 3; ++i) {
    globalThis.gc!();
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Requires that a call copies its input only once, and nothing of its result. */
async function lent(call: () => Promise<unknown>, inputBytes: number): Promise<void> {
  const before = addon().traffic();
  await call();
  const { taken, returned } = addon().traffic();
  const bytes = [taken - before.taken - inputBytes, returned - before.returned];
  assert.ok(bytes.every((each) => each >= 0 && each < 2 ** 16), `${bytes.join(' and ')} bytes were copied besides`);
}

async function opened(options: { memoryLimit?: number } = {}): Promise<Device> {
  process.env['WARPLOOM_SIMT_DISCRETE'] = '1';
  try {
    return await openDevice({ backend: 'simt', ...options });
  } finally {
    delete process.env['WARPLOOM_SIMT_DISCRETE'];
  }
}

/** Runs until the device lends memory to a run's input and result. */
async function warm(program: DeviceProgram, input: Float32Array): Promise<void> {
  for (let i = 0; i < 5; ++i) {
    await program.run(input);
    await collected();
  }
}

const fileOf = (name: string): string => JSON.stringify(pathToFileURL(join(packageRoot(), name)).href);

describe('memory lent to stream programs', function () {
  this.timeout(60_000); // on a machine that may be busy
  let device: Device, program: DeviceProgram;
  const input = inputOf(1_100_003), expected = expectedOf(input);

  before(async function () {
    if (!hasBackend('simt')) {
      skipCases('simt: not in this build', 12);
      this.skip();
    }
    device = await opened();
    program = await compileForDevice(graph, { device });
    await warm(program, input);
  });
  after(async () => {
    program?.dispose();
    await device?.close();
  });

  it('serves inputs and results of later runs, whose bits are those of others', async () => {
    const outputs: unknown[] = [];
    // Which blocks are free depends on when earlier results are collected: one of a few runs finds both.
    for (let tries = 1; ; ++tries) {
      await collected();
      outputs.length = 0;
      try {
        await lent(async () => outputs.push((await program.run(input)).output), input.byteLength);
        break;
      } catch (error) {
        if (tries === 10) throw error;
      }
    }
    requireSame(outputs[0], expected);
    const first = input.slice(), other = inputOf(input.length, 2);
    const [a, b] = await Promise.all([program.run(first), run(graph, { input: other, device })]);
    requireSame(a.output, expected);
    requireSame(b.output, expectedOf(other));
    requireSame(outputs[0], expected);
  });

  it('takes inputs at the call, and reads results that are inputs again as they were then', async () => {
    for (const disturb of [
      (array: Float32Array) => array.fill(9), (array: Float32Array) => structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] }),
    ]) {
      await collected();
      const given = input.slice();
      const pending = program.run(given);
      disturb(given);
      const { output } = await pending;
      requireSame(output, expected);
      const again = program.run(output as Float32Array);
      disturb(output as Float32Array);
      requireSame((await again).output, expectedOf(expected));
    }
  });

  it('serves arrays from 4 MiB on, of any length, and no others', async () => {
    const lengths = [0, 1, 2, 3, 7, 1009, least - 1, least, least + 1, least + 2, 1_048_583];
    for (const length of lengths) {
      const own = inputOf(length, length);
      for (let i = 0; i < 3; ++i) {
        requireSame((await program.run(own)).output, expectedOf(own));
        requireSame((await run(graph, { input: own, device })).output, expectedOf(own));
      }
    }
  });

  it('keeps results valid and their own while others are made, and when the device is closed', async () => {
    const own = await opened();
    const compiled = await compileForDevice(graph, { device: own });
    const inputs = Array.from({ length: 8 }, (_, k) => inputOf(input.length, k));
    await warm(compiled, input);
    const outputs: Float32Array[] = [];
    for (const each of inputs) outputs.push((await compiled.run(each)).output as Float32Array);
    for (const [k, output] of outputs.entries()) requireSame(output, expectedOf(inputs[k]!));
    compiled.dispose();
    await own.close();
    for (const [k, output] of outputs.entries()) {
      requireSame(output, expectedOf(inputs[k]!));
      output.fill(k);
    }
    await collected();
    assert.ok(outputs.every((output, k) => output.every((value) => value === k)), 'they keep what is written to them');
  });

  it('is bounded by the memory limit, and serves later results once others are collected', async () => {
    const limit = 24e6;
    await using own = await opened({ memoryLimit: limit });
    using compiled = await compileForDevice(graph, { device: own });
    const kept: Float32Array[] = [];
    const pooled: number[] = [];
    for (let k = 0; k < 12; ++k) {
      kept.push((await compiled.run(input)).output as Float32Array);
      pooled.push(own.memory().pooledBytes);
    }
    for (const output of kept) requireSame(output, expected);
    kept.length = 0;
    await collected();
    await own.trim();
    assert.equal(own.memory().pooledBytes, 0);
    assert.ok(Math.max(...pooled) <= 2 * limit, `${Math.max(...pooled)} bytes are kept`);
    await warm(compiled, input);
    await lent(async () => { requireSame((await compiled.run(input)).output, expected); }, input.byteLength);
  });

  it('comes back from runs that are stopped or fault', async () => {
    using faulting = await compileForDevice(indexing, { device });
    const wrong = new Int32Array(1_100_003);
    wrong[1_000_000] = 9;
    await collected();
    await warm(program, input);
    const free = device.memory().pooledBytes;
    for (let k = 0; k < 6; ++k) {
      const stop = new AbortController();
      const pending = program.run(input, { signal: stop.signal });
      setTimeout(() => { stop.abort(new Error('enough')); }, 3 * k);
      await pending.then(({ output }) => { requireSame(output, expected); }, (error: unknown) => { assert.match(String(error), /enough/); });
      await assert.rejects(faulting.run(wrong), { name: 'StreamRunError' });
    }
    await collected();
    await device.trim();
    assert.equal(device.memory().pooledBytes, 0);
    assert.equal(device.memory().inUseBytes, 0);
    await warm(program, input);
    await lent(() => program.run(input), input.byteLength);
    assert.ok(device.memory().pooledBytes <= 2 * free + 2 ** 24, `${device.memory().pooledBytes} bytes are kept, before ${free}`);
  });

  it('serves results of plans for cores and the device, and comes back from those that are stopped or fault', async () => {
    const link = { latency: 1, toGpu: 1e4, toCpu: 1e4, shuffle: 1e4, deshuffle: 1e4 };
    using planned = await compileForDevice(graph, { device, mode: 'gpu', link });
    const input = inputOf(least + 7000), expected = expectedOf(input), other = inputOf(input.length, 2);
    const kept = await planned.run(other), copied: number[] = [];
    for (let i = 0; i < 4 && !(copied.at(-1)! < 2 ** 16); ++i) {
      const { returned } = addon().traffic();
      requireSame((await planned.run(input)).output, expected);
      copied.push(addon().traffic().returned - returned);
      await collected();
    }
    assert.ok(copied.at(-1)! < 2 ** 16, `of results, ${copied.join(', ')} bytes were copied`);
    requireSame(kept.output, expectedOf(other));
    const stop = new AbortController(), timer = setTimeout(() => { stop.abort(new Error('enough')); }, 5);
    await planned.run(input, { signal: stop.signal }).catch((error: unknown) => { assert.equal(String(error), 'Error: enough'); });
    clearTimeout(timer);
    using faulting = await compileForDevice(indexing, { device, mode: 'gpu', link });
    await assert.rejects(faulting.run(new Int32Array(least + 999).with(least, 9)), /index 9 is outside an array of 4/);
    requireSame((await planned.run(input)).output, expected);
  }).timeout(60_000);

  it('stays valid when the device is lost', async () => {
    const own = await opened();
    using compiled = await compileForDevice(graph, { device: own });
    await warm(compiled, input);
    const { output } = await compiled.run(input);
    const faults = addon().faults!;
    const lostDevice = 700;
    faults.arm(6, lostDevice, true);
    try {
      await assert.rejects(compiled.run(input));
    } finally {
      faults.disarm();
    }
    await collected();
    requireSame(output, expected);
    await assert.rejects(compiled.run(input), { code: 'ERR_WARPLOOM_DEVICE_LOST' });
    await own.close();
    requireSame(output, expected);
  });

  it('is right in many runs at once', async () => {
    const inputs = Array.from({ length: 12 }, (_, k) => inputOf(input.length + k, k));
    const many = Array.from({ length: 18 }, (_, k) => program.run(inputs[k % 12]!));
    for (const [k, made] of (await Promise.all(many)).entries()) requireSame(made.output, expectedOf(inputs[k % 12]!));
  });

  it('moves to workers and back, and outlives them', async () => {
    await collected();
    const worker = new Worker(`const { parentPort } = require('node:worker_threads');
      parentPort.on('message', (array) => { array[5] += 1; parentPort.postMessage(array, [array.buffer]); });`, { eval: true });
    const outputs: Float32Array[] = [];
    for (let k = 0; k < 3; ++k) {
      const output = (await program.run(input)).output as Float32Array;
      const answer = once(worker, 'message');
      worker.postMessage(output, [output.buffer as ArrayBuffer]);
      outputs.push((await answer as [Float32Array])[0]);
      requireSame(structuredClone((await program.run(input)).output), expected);
    }
    await worker.terminate();
    await collected();
    await program.run(inputOf(input.length, 4));
    const changed = expected.slice();
    changed[5]! += 1;
    for (const output of outputs) requireSame(output, changed);
  });

  const args = ['--import', 'tsx'];
  /** Lines of a program that runs another one on a device of its own, five times to have memory lent. */
  const lines = (body: string): string => `
    process.env.WARPLOOM_SIMT_DISCRETE = '1';
    const { openDevice } = await import(${fileOf('lib/core/index.ts')});
    const { elaborate, compileForDevice } = await import(${fileOf('lib/stream/index.ts')});
    const device = await openDevice({ backend: 'simt' });
    const { graph } = await elaborate('float->float filter F { work pop 1 push 1 peek 3 { push(peek(0) - peek(2)); pop(); } } float->float pipeline Main { add F; }');
    const program = await compileForDevice(graph, { device });
    const input = Float32Array.from({ length: 1_100_003 }, (_, i) => i % 1009);
    for (let k = 0; k < 5; ++k) { await program.run(input); globalThis.gc?.(); await new Promise((resolve) => setTimeout(resolve, 2)); }
    ${body}`;

  it('does not keep a process from ending, or crash it, in the middle of a run or with results alive', async () => {
    const ends = ['globalThis.kept = (await program.run(input)).output;', 'program.run(input); process.exit(0);',
      'globalThis.kept = (await program.run(input)).output; program.run(input); setTimeout(() => process.exit(0), 3);'];
    for (const body of ends) {
      const { code, err } = await runChild(lines(body), { args });
      assert.deepEqual([code, err], [0, '']);
    }
  });

  it('is not what workers give away, and goes with those that end in the middle of a run', async () => {
    const worker = lines(`const { parentPort } = await import('node:worker_threads');
      const { output } = await program.run(input);
      parentPort.postMessage(output, [output.buffer]);
      await new Promise((resolve) => setTimeout(resolve, 5));
      for (;;) await program.run(input);`);
    const { code, out, err } = await runChild(`
      import { Worker } from 'node:worker_threads';
      const source = new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(worker)}));
      for (let k = 0; k < 2; ++k) {
        const worker = new Worker(source, { execArgv: ['--import', ${fileOf('scripts/register-tsx.mjs')}] });
        const [output] = await new Promise((resolve, reject) => { worker.once('message', (...all) => resolve(all)); worker.once('error', reject); });
        await new Promise((resolve) => setTimeout(resolve, 20 + 7 * k));
        await worker.terminate();
        globalThis.gc();
        console.log(output.length, output.every((value, i) => value === i % 1009 - (i + 2) % 1009));
      }`, { args, timeout: 60_000 });
    assert.deepEqual([code, out, err], [0, '1100001 true\n1100001 true\n', '']);
  });
});
