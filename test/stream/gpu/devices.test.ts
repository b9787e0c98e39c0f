// stream.run on several devices: the parts fit together to the bit, and whatever goes wrong on one concerns the whole run.
import assert from 'node:assert/strict';
import { addon } from '../../../lib/core/binding.ts';
import { openDevice, type Device } from '../../../lib/core/device.ts';
import { elaborate, run, type StreamGraph, type StreamRunOptions } from '../../../lib/stream/index.ts';
import { examplePrograms } from '../algebra/programs.ts';
import { graphOf } from '../support.ts';
import { wastefulProgram } from '../savings/random-graphs.ts';
import { heldBy, settled } from './support.ts';

const window = graphOf('float->float filter F { '
  + 'work pop 1 push 1 peek 4 { push(peek(0) * 0.3 + peek(3) * peek(1)); pop(); } } float->float pipeline Main { add F; add F; }');
const late = graphOf(`float->float filter Late { prework push 5 { for (int i = 0; i < 5; i++) push(i); } work pop 1 push 1 { push(pop()); } }
  float->float filter Sum { work pop 2 push 3 peek 7 { push(peek(0) + peek(6)); push(pop()); push(pop() * 2); } }
  float->float pipeline Main { add Late; add Sum; add Late; }`);
const faulty = graphOf('int->int filter Index { int[8] t; init { for (int i = 0; i < 8; i++) t[i] = i; } work pop 1 push 1 { push(t[pop()]); } } '
  + 'int->int pipeline Main { add Index; }');
const floats = Float32Array.from({ length: 40_001 }, (_, i) => Math.fround(Math.sin(i * i * 0.01)));

describe('stream.run on several devices', function () {
  this.timeout(120_000);
  let devices: Device[];

  before(async () => { devices = await Promise.all([1, 2, 3].map(() => openDevice({ backend: 'simt' }))); });
  after(async () => { for (const device of devices) await device.close(); });

  /** Runs on the first devices and on the CPU, and compares. */
  async function same(graph: StreamGraph, options: StreamRunOptions, count = 2) {
    const found = await run(graph, { ...options, devices: devices.slice(0, count) });
    const expected = await run(graph, { ...options, backend: 'wasm' });
    assert.deepEqual(Buffer.compare(bytesOf(found.output), bytesOf(expected.output)), 0, 'other bits');
    assert.equal(found.output.length, expected.output.length);
    return found;
  }
  const bytesOf = (output: ArrayLike<number>): Uint8Array => {
    const { buffer, byteOffset, byteLength } = output as Float32Array;
    return new Uint8Array(buffer, byteOffset, byteLength);
  };

  it('writes each part to its place in the result, from its own device', async () => {
    // Windows and preworks begin parts early: what comes out before a part's own place goes nowhere.
    for (const graph of [window, late]) {
      const { deviceShares, output } = await same(graph, { input: floats }, 3);
      assert.ok(deviceShares!.every((share) => share > 0.2), String(deviceShares));
      assert.equal((output as Float32Array).byteOffset, 0);
    }
  });

  it('makes programs in order on one of them', async () => {
    const graph = graphOf(`float->float filter Fir { work pop 1 push 1 peek 512 {
        float s = 0; for (int i = 0; i < 512; i++) s += peek(i) * (0.1 + i); push(s); pop(); } }
      float->float filter Smooth { float y; work pop 1 push 1 { y = 0.9 * y + 0.1 * pop(); push(y); } }
      float->float pipeline Main { add Fir; add Smooth; }`);
    const found = await same(graph, { input: floats.subarray(0, 9001), threads: 1 });
    assert.equal(found.backend, 'simt');
    assert.match(found.note!, /^only device 0 \(.*\) was used: its firings must follow each other$/);
    assert.deepEqual(found.deviceShares, [1, 0]);
    // Cores are faster here.
    const cores = await same(graph, { input: floats.subarray(0, 9001), threads: 1024 });
    assert.equal(cores.backend, 'wasm');
    assert.match(cores.note!, /in order, a device takes/);
  });

  it('joins their parts to the bit, whatever the amount', async () => {
    for (const graph of [window, late]) {
      for (const input of [floats, Array.from(floats), floats.subarray(0, 20_011)]) {
        for (const count of [1, 2, 3]) {
          const found = await same(graph, { input }, count);
          assert.equal(found.backend, 'simt');
          assert.equal(found.note, undefined);
          assert.equal(found.deviceShares?.length, count);
          assert.ok(found.deviceShares.every((share) => share > 0.9 / count), found.deviceShares.join());
          assert.ok(Math.abs(found.deviceShares.reduce((sum, share) => sum + share, 0) - 1) < 1e-9);
          assert.ok(found.deviceSeconds! > 0);
        }
      }
      for (const options of [{ items: 20_003 }, { iterations: 12_001 }]) await same(graph, { input: floats, ...options });
    }
  });

  it('runs what is short on one, or on the CPU', async () => {
    for (const length of [0, 1, 6, 7, 100, 1500]) {
      const found = await same(window, { input: floats.subarray(0, length) });
      assert.match(found.note!, /too short/);
    }
  });

  it('runs programs of the examples', async () => {
    for (const [name, items] of [['filterbank', 60_000], ['fm-radio', 60_000]] as const) {
      const { graph, input } = await examplePrograms(name, items);
      const found = await same(graph, { input });
      assert.equal(found.deviceShares?.filter((share) => share > 0.4).length, 2, `${name}: ${found.note}`);
    }
  });

  it('runs random programs: in parts, whole on the first, or on the CPU', async () => {
    let shared = 0;
    for (let seed = 1; seed <= 4; ++seed) {
      const { graph } = await elaborate(wastefulProgram(seed));
      const found = await same(graph, { input: floats });
      if (found.deviceShares?.every((share) => share > 0)) ++shared;
      else assert.match(found.note!, /only device 0|the program ran on the CPU/);
    }
    assert.ok(shared >= 1, `${shared} programs in parts`);
  });

  it('runs programs with state on the first, with a note, and others on the CPU', async () => {
    const counter = graphOf('float->float filter F { int n; work pop 1 push 1 { n = (n + 3) % 7; push(pop() * n); } } float->float pipeline Main { add F; }');
    const first = await same(counter, { input: floats });
    assert.match(first.note!, /^only device 0 \(.*\) was used: the program has state$/);
    assert.deepEqual(first.deviceShares, [1, 0]);
    const sum = graphOf('float->float filter F { float s; work pop 1 push 1 { s = s * s + pop(); push(s); } } float->float pipeline Main { add F; }');
    const found = await same(sum, { input: floats.subarray(0, 1000) });
    assert.equal(found.backend, 'wasm');
    assert.match(found.note!, /^the program ran on the CPU: /);
  });

  it('reports the first fault there is, wherever it is', async () => {
    for (const faults of [[5], [30_000], [100, 39_000], [39_990, 25_000]]) {
      const input = new Int32Array(40_000);
      for (const at of faults) input[at] = 8 + at;
      const errorOf = (options: StreamRunOptions): Promise<Error> =>
        run(faulty, { input, ...options }).then(() => assert.fail('no error'), (error: unknown) => error as Error);
      const [found, expected] = [await errorOf({ devices: devices.slice(0, 2) }), await errorOf({ backend: 'wasm' })];
      assert.equal((found as { code?: string }).code, (expected as { code?: string }).code);
      assert.equal(found.message, expected.message);
    }
    assert.equal((await same(faulty, { input: new Int32Array(40_000).fill(3) })).note, undefined);
  });

  it('stops on all with its signal, and leaves nothing behind', async () => {
    const reason = new Error('enough');
    const held = await Promise.all(devices.map((device) => heldBy(device)));
    for (const milliseconds of [0, 2, 10]) {
      const stop = new AbortController();
      const going = run(window, { input: new Float32Array(3_000_000), devices: devices.slice(0, 2), signal: stop.signal });
      setTimeout(() => { stop.abort(reason); }, milliseconds);
      // A thread that gets no core for a while comes too late.
      const outcome = await going.then(() => 'done', (error: unknown) => error);
      assert.ok(outcome === reason || (milliseconds > 0 && outcome === 'done'), String(outcome));
    }
    // What earlier tests have left may be collected meanwhile.
    for (const [i, device] of devices.entries()) assert.ok(await settled(device, held[i]) <= held[i]!);
    await same(window, { input: floats });
  });

  it('makes what a lost device leaves', async () => {
    const seam = addon().faults!;
    let lost = 0;
    // Some failures of calls change nothing.
    for (let skip = 0; skip < 60; skip += 4) {
      const pair = await Promise.all([1, 2].map(() => openDevice({ backend: 'simt' })));
      try {
        await run(window, { input: floats, devices: pair });
        const expected = await run(window, { input: floats, backend: 'wasm' });
        seam.arm(skip, 700, false);
        const found = await run(window, { input: floats, devices: pair });
        seam.disarm();
        assert.equal(Buffer.compare(bytesOf(found.output), bytesOf(expected.output)), 0);
        if (found.note === undefined) continue;
        ++lost;
        assert.match(found.note, /device [01] \(.*\)/);
        const later = await run(window, { input: floats, devices: pair });
        assert.equal(Buffer.compare(bytesOf(later.output), bytesOf(expected.output)), 0);
        assert.match(later.note!, /took no part: the device was lost/);
      } finally {
        seam.disarm();
        for (const device of pair) await device.close();
      }
    }
    assert.ok(lost >= 3, `only ${lost} devices were lost`);
  });

  it('makes all of it on the CPU if all devices are lost', async () => {
    const seam = addon().faults!;
    const pair = await Promise.all([1, 2].map(() => openDevice({ backend: 'simt' })));
    try {
      await run(window, { input: floats, devices: pair });
      seam.arm(0, 700, true);
      const found = await run(window, { input: floats, devices: pair });
      seam.disarm();
      assert.equal(found.backend, 'wasm');
      assert.deepEqual(found.deviceShares, [0, 0]);
      assert.match(found.note!, /device 0 /);
      assert.match(found.note!, /device 1 /);
      assert.equal(Buffer.compare(bytesOf(found.output), bytesOf((await run(window, { input: floats, backend: 'wasm' })).output)), 0);
      const later = await run(window, { input: floats, devices: pair });
      assert.deepEqual([later.backend, later.note], ['wasm', 'the program ran on the CPU: the device was lost']);
    } finally {
      seam.disarm();
      for (const device of pair) await device.close();
    }
  });

  it('refuses what are no devices of one backend, and options that do not go with them', async () => {
    const cpu = await openDevice({ backend: 'cpu' });
    const [a, b] = devices as [Device, Device];
    const refused = (options: object, argument: string): Promise<void> => assert.rejects(
      run(window, { input: floats, ...options } as StreamRunOptions), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });
    await refused({ devices: [] }, 'devices');
    await refused({ devices: [a, a] }, 'devices');
    await refused({ devices: a }, 'devices');
    await refused({ devices: [a, {}] }, 'devices[1]');
    await refused({ devices: [a, cpu] }, 'devices[1]');
    await refused({ devices: [a, b], device: a }, 'device');
    await refused({ devices: [a, b], backend: 'wasm' }, 'devices');
    await refused({ devices: [a, b], backend: 'cuda' }, 'devices[0]');
    await refused({ devices: [a, b], mode: 'swp' }, 'mode');
    await refused({ devices: [a, b], share: true }, 'share');
    await cpu.close();
  });
});
