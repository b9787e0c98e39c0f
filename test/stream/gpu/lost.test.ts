// A GPU that is lost, by runs and sessions that name no device: what is under way ends with a typed error, and whatever comes later runs on
// the CPU, until the device is closed.
import assert from 'node:assert/strict';
import { addon } from '../../../lib/core/binding.ts';
import { openDevice } from '../../../lib/core/device.ts';
import { compileForDevice, open, run, type StreamGraph, type StreamRun, type StreamRunOptions } from '../../../lib/stream/index.ts';
import { openedFor } from '../../../lib/stream/run/on-device.ts';
import { drillBackends } from '../../support/backends.ts';
import { graphOf } from '../support.ts';

const filters = `float->float filter F { work pop 1 push 1 peek 4 { push(peek(0) * 0.3 + peek(3) * peek(1)); pop(); } }
  float->float filter Sums { float s; work pop 1 push 1 { s = 0.5 * s + pop(); push(s); } }`;
const plain = graphOf(`${filters} float->float pipeline Main { add F; add F; }`);
const other = graphOf(`${filters} float->float pipeline Main { add F; }`);
const state = graphOf(`${filters} float->float pipeline Main { add F; add Sums; }`);
const input = Float32Array.from({ length: 12_000 }, (_, i) => Math.sin(i));
const note = 'the program ran on the CPU: the device was lost';
const lostDevice = 700;

for (const backend of drillBackends(5, ['simt']) as readonly 'simt'[]) {
  describe(`a lost device that nobody named, on ${backend}`, function () {
    this.timeout(60_000);
    const seam = addon().faults!;
    let expected: Map<StreamGraph, StreamRun['output']>;

    before(async () => {
      expected = new Map(await Promise.all([plain, other, state].map(async (graph) =>
        [graph, (await run(graph, { input, backend: 'wasm' })).output] as const)));
    });
    // Other tests use the device, too.
    afterEach(async () => {
      seam.disarm();
      await (await openedFor(backend)).close();
    });

    /** Loses the device in a call; says whether the call failed of it. */
    async function lose(skip: number, call: () => Promise<unknown>): Promise<boolean> {
      seam.arm(skip, lostDevice, false);
      try {
        const error = await call().then(() => undefined, (reason: unknown) => reason as { name: string; code: string });
        if (error !== undefined) assert.deepEqual([error.name, error.code], ['DeviceLostError', 'ERR_WARPLOOM_DEVICE_LOST']);
        return error !== undefined;
      } finally {
        seam.disarm();
      }
    }

    /** Whatever comes later runs on the CPU: the same program and others, in every mode, sessions, several runs at once. */
    async function laterOnCpu(): Promise<void> {
      const requests: readonly [StreamGraph, StreamRunOptions][] = [
        [plain, {}], [other, {}], [state, {}], ...(['fused', 'swp', 'serial', 'synergistic', 'gpu'] as const).map((mode) =>
          [state, { mode }] as [StreamGraph, StreamRunOptions]), [other, { items: 7 }],
      ];
      const found = await Promise.all(requests.map(([graph, options]) => run(graph, { input, backend, ...options })));
      for (const [i, [graph, { items }]] of requests.entries()) {
        const { output, backend: own, note: why } = found[i]!;
        assert.deepEqual([own, why], ['wasm', note]);
        assert.deepEqual(output, items === undefined ? expected.get(graph) : (expected.get(graph) as Float32Array).slice(0, items));
      }
      for (const graph of [plain, other]) {
        const session = await open<Float32Array>(graph, { backend });
        assert.deepEqual([session.backend, session.note], ['wasm', note]);
        const parts = [await session.push(input), await session.end()];
        assert.deepEqual(parts.flatMap((part) => [...part]), [...expected.get(graph) as Float32Array]);
      }
    }

    it('in runs', async () => {
      let lost = 0;
      for (const skip of [0, 3, 7]) {
        await run(plain, { input, backend });
        if (!await lose(skip, () => run(plain, { input, backend }))) continue;
        ++lost;
        await laterOnCpu();
        await (await openedFor(backend)).close();
        const again = await run(plain, { input, backend });
        assert.deepEqual([again.backend, again.note, again.output], [backend, undefined, expected.get(plain)]);
      }
      assert.ok(lost >= 2, `lost ${lost} times`);
    });

    it('in several runs at once, and while another program compiles', async () => {
      await run(plain, { input, backend });
      const device = await openedFor(backend);
      seam.arm(2, lostDevice, false);
      const made = await Promise.allSettled([plain, plain, other, state].map((graph) => run(graph, { input, backend })));
      seam.disarm();
      for (const [i, each] of made.entries()) {
        if (each.status === 'fulfilled') assert.deepEqual(each.value.output, expected.get([plain, plain, other, state][i]!));
        else assert.equal((each.reason as { code: string }).code, 'ERR_WARPLOOM_DEVICE_LOST');
      }
      assert.ok(made.some(({ status }) => status === 'rejected'));
      assert.equal(await openedFor(backend), device);
      await laterOnCpu();
    });

    it('in the modes of chapters 3 and 4', async () => {
      for (const mode of ['swp', 'gpu'] as const) {
        const options: StreamRunOptions = { input, backend, mode };
        await run(plain, options);
        let isLost = false;
        for (let skip = 4; !isLost && skip < 12; ++skip) isLost = await lose(skip, () => run(plain, options));
        assert.ok(isLost, mode);
        await laterOnCpu();
        await (await openedFor(backend)).close();
      }
    });

    it('in a session', async () => {
      for (let skip = 2; ; ++skip) {
        assert.ok(skip < 12, 'not lost');
        const session = await open<Float32Array>(plain, { backend, chunk: 1000 });
        const first = await session.push(input.subarray(0, 5000));
        assert.equal(session.backend, backend);
        assert.deepEqual(first, (expected.get(plain) as Float32Array).subarray(0, first.length));
        const isLost = await lose(skip, () => session.push(input.subarray(5000)));
        if (isLost) await assert.rejects(session.push(input), { code: 'ERR_WARPLOOM_DEVICE_LOST' });
        else await session.close();
        assert.ok(session.closed);
        if (isLost) break;
      }
      await laterOnCpu();
    });

    it('in a program that was compiled ahead, and in sessions and arrays of a named device', async () => {
      await using device = await openDevice({ backend });
      using program = await compileForDevice(plain, { device });
      const session = await open<Float32Array>(plain, { device });
      await program.run(input);
      using array = await device.array(input);
      let isLost = false;
      for (let skip = 2; !isLost && skip < 12; ++skip) isLost = await lose(skip, () => program.run(array).then(({ output }) => { output.dispose(); }));
      assert.ok(isLost);
      await assert.rejects(program.run(input), { code: 'ERR_WARPLOOM_DEVICE_LOST' });
      await assert.rejects(session.push(array), { code: 'ERR_WARPLOOM_DEVICE_LOST' });
      const later = await run(other, { input, device });
      assert.deepEqual([later.backend, later.note, later.output], ['wasm', note, expected.get(other)]);
      const opened = await open(plain, { device });
      assert.deepEqual([opened.backend, opened.note], ['wasm', note]);
      await opened.close();
      // The device that others use is not the one that was lost.
      assert.equal((await run(plain, { input, backend })).backend, backend);
    });
  });
}
