// stream.run on several devices with arrays that devices lend memory to: two sessions of one device, and two GPUs where there are two.
import assert from 'node:assert/strict';
import { devices as known } from '../../../lib/core/devices.ts';
import { openDevice, type Device } from '../../../lib/core/device.ts';
import { compileForDevice, run } from '../../../lib/stream/index.ts';
import { hasBackend, skipCases } from '../../support/backends.ts';
import { graphOf } from '../support.ts';

const graph = graphOf('float->float filter F { work pop 1 push 1 peek 4 { push(peek(0) * 0.5 - peek(3)); pop(); } } float->float pipeline Main { add F; }');
const length = 3_000_001;
const input = Float32Array.from({ length }, (_, i) => (i * 7919 % 1013) / 8);
const expectedOf = (given: Float32Array): Float32Array =>
  Float32Array.from({ length: given.length - 3 }, (_, i) => Math.fround(Math.fround(given[i]! * 0.5) - given[i + 3]!));
const expected = expectedOf(input);

function requireSame(found: unknown, wanted: Float32Array): void {
  const { buffer, byteOffset, byteLength } = found as Float32Array;
  assert.equal(byteLength, wanted.byteLength);
  assert.equal(Buffer.compare(new Uint8Array(buffer, byteOffset, byteLength), new Uint8Array(wanted.buffer)), 0, 'other bits');
}

async function openedPair(backend: 'simt' | 'cuda', index: number): Promise<readonly [Device, Device]> {
  process.env['WARPLOOM_SIMT_DISCRETE'] = '1';
  try {
    return [await openDevice({ backend }), await openDevice({ backend, index })];
  } finally {
    delete process.env['WARPLOOM_SIMT_DISCRETE'];
  }
}

for (const [backend, index] of [['simt', 0], ['cuda', 0], ['cuda', 1]] as const) {
  describe(`large arrays on two devices: ${backend} 0 and ${index}`, function () {
    this.timeout(60_000);
    let pair: readonly [Device, Device];

    before(async function () {
      if (!hasBackend(backend) || known().filter((device) => device.backend === backend && device.available).length <= index) {
        skipCases(`${backend} ${index}: not here`, 3);
        this.skip();
      }
      pair = await openedPair(backend, index);
    });
    after(async () => { for (const device of pair ?? []) await device.close(); });

    it('have the bits of other back ends, from plain, pinned and shared memory', async () => {
      const pinned = await pair[1].pinned('float32', length) as Float32Array;
      pinned.set(input);
      const shared = new Float32Array(new SharedArrayBuffer(input.byteLength));
      shared.set(input);
      for (const given of [input, pinned, shared, input]) {
        const pending = run(graph, { input: given, devices: pair });
        const { output, backend: made, deviceShares } = await pending;
        requireSame(output, expected);
        assert.equal(made, backend);
        assert.ok(deviceShares?.every((share) => share > 0.2), deviceShares?.join());
      }
    });

    it('may be results that one device has made, and outlive it', async () => {
      using program = await compileForDevice(graph, { device: pair[0] });
      const outputs: Float32Array[] = [];
      for (let i = 0; i < 3; ++i) outputs.push((await program.run(input)).output as Float32Array);
      const wanted = expectedOf(expected);
      for (const output of outputs) requireSame((await run(graph, { input: output, devices: [pair[1], pair[0]] })).output, wanted);
      await using other = (await openedPair(backend, index))[1];
      using elsewhere = await compileForDevice(graph, { device: other });
      const { output } = await elsewhere.run(outputs[0]!);
      await other.close();
      requireSame((await run(graph, { input: output as Float32Array, devices: pair })).output, expectedOf(wanted));
    });

    it('are taken at the call, and leave nothing on either', async () => {
      const given = input.slice();
      const pending = run(graph, { input: given, devices: pair });
      given.fill(-1);
      requireSame((await pending).output, expected);
      for (const device of pair) {
        await device.trim();
        await device.trim();
        assert.equal(device.memory().inUseBytes, 0);
      }
    });
  });
}
