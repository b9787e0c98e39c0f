// Slices of a plain input that are queued before the call returns, while the input is being copied: the caller may change it from then on,
// and whatever reads it later gets what it was.
import assert from 'node:assert/strict';
import { addon } from '../../../lib/core/binding.ts';
import { openDevice, type Device } from '../../../lib/core/device.ts';
import { compileForDevice, run, type StreamGraph } from '../../../lib/stream/index.ts';
import type { DeviceProgram } from '../../../lib/stream/run/device-program.ts';
import { hasBackend, skipCases } from '../../support/backends.ts';
import { graphOf } from '../support.ts';

const graphs = {
  plain: graphOf('int->int filter F { work pop 1 push 1 { push(3 * pop() + 1); } } int->int pipeline Main { add F; }'),
  peeking: graphOf('int->int filter F { work pop 2 push 1 peek 700 { push(peek(0) - peek(699)); pop(); pop(); } } int->int pipeline Main { add F; add F; }'),
  prework: graphOf('int->int filter A { prework pop 3 push 4 { push(peek(2)); push(1); push(2); push(3); pop(); pop(); pop(); } '
    + 'work pop 4 push 3 { push(peek(3)); push(peek(1) & 255); push(pop()); pop(); pop(); pop(); } } int->int pipeline Main { add A; }'),
  wide: graphOf('int->int filter F { work pop 1 push 1 peek 18000 { push(peek(17999) + peek(0)); pop(); } } int->int pipeline Main { add F; }'),
  stateful: graphOf('int->int filter F { int s; work pop 1 push 1 { s += pop(); push(s); } } int->int pipeline Main { add F; }'),
  index: graphOf('int->int filter A { int[4] t = {5, 6, 7, 8}; work pop 1 push 1 { push(t[pop()]); } } '
    + 'int->int filter B { work pop 1 push 1 peek 3 { push(peek(0) + peek(2)); pop(); } } int->int pipeline Main { add A; add B; }'),
  loop: graphOf('int->int filter A { work pop 1 push 1 { int x = pop(); int s = 0; while (x > 0) { x--; s = s * 5 + x; } push(s); } } '
    + 'int->int pipeline Main { add A; }'),
} satisfies Record<string, StreamGraph>;

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array => new Uint8Array(buffer, byteOffset, byteLength);
/** Requires the same elements; for large arrays faster than deepEqual. */
function requireSame(found: ArrayLike<number>, expected: ArrayLike<number>, what?: string): void {
  assert.equal(found.length, expected.length, what);
  assert.equal(Buffer.compare(bytesOf(found as Int32Array), bytesOf(expected as Int32Array)), 0, what);
}

const length = 1_200_011;
const small = (): Int32Array => Int32Array.from({ length }, (_, i) => Math.imul(i, 7919) >>> 30);

/** What a caller may do to its input right after the call. */
const disturbances: readonly ((array: Int32Array) => unknown)[] = [
  (array) => array.fill(-77), (array) => structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] }), () => undefined,
];

describe('inputs that are queued before the call returns', function () {
  this.timeout(180_000);
  let device: Device;
  const programs = new Map<string, DeviceProgram>();
  const compiled = async (name: keyof typeof graphs): Promise<DeviceProgram> => {
    const program = programs.get(name) ?? await compileForDevice(graphs[name], { device });
    programs.set(name, program);
    return program;
  };

  before(async function () {
    if (!hasBackend('simt')) {
      skipCases('simt: not in this build', 12);
      this.skip();
    }
    // Slices of 2 MB, of which about a half are queued.
    process.env['WARPLOOM_SIMT_DISCRETE'] = '1';
    device = await openDevice({ backend: 'simt', memoryLimit: 48e6 });
    delete process.env['WARPLOOM_SIMT_DISCRETE'];
  });
  after(async () => {
    for (const program of programs.values()) program.dispose();
    await device?.close();
  });

  for (const name of ['plain', 'peeking', 'prework', 'wide', 'stateful'] as const) {
    it(`give the same whatever happens to them: ${name}`, async () => {
      const program = await compiled(name);
      const input = small();
      const expected = (await run(graphs[name], { input, backend: 'wasm' })).output;
      const own = addon(), { upload, beginCopy } = own;
      let spans = 0, copies = 0, queued = 0;
      own.upload = (...args) => {
        ++spans;
        return upload(...args);
      };
      own.beginCopy = (...args) => {
        ++copies;
        beginCopy(...args);
      };
      /** Starts a run, and counts what is queued before it returns. */
      const begun = async <T>(start: () => Promise<T>): Promise<T> => {
        const before = spans, pending = start();
        queued = Math.max(queued, spans - before);
        return pending;
      };
      try {
        for (let round = 0; round < 2; ++round) {
          for (const disturb of disturbances.slice(round)) {
            const given = input.slice();
            const pending = begun(() => program.run(given));
            disturb(given);
            requireSame((await pending).output, expected);
            const again = input.slice();
            const other = begun(() => run(graphs[name], { input: again, device }));
            disturb(again);
            requireSame((await other).output, expected);
          }
        }
        // The first runs do not know how long launches take, and are lent no memory; programs with state need the input's start first.
        assert.ok(copies >= 4, `${copies} inputs were copied meanwhile`);
        if (name !== 'stateful') assert.ok(queued >= 4, `${queued} spans were queued`);
      } finally {
        Object.assign(own, { upload, beginCopy });
      }
    });
  }

  it('give the same in mode synergistic, where that is one kernel', async () => {
    const costs = graphs.plain.nodes.map(() => 1000), link = { latency: 1, toGpu: 1e4, toCpu: 1e4, shuffle: 1e3, deshuffle: 1e3 };
    using program = await compileForDevice(graphs.plain, { device, mode: 'synergistic', cores: 2, costs, link });
    const input = small(), expected = (await run(graphs.plain, { input, backend: 'wasm' })).output;
    const own = addon(), { upload } = own;
    let spans = 0, queued = 0;
    own.upload = (...args) => {
      ++spans;
      return upload(...args);
    };
    try {
      for (const disturb of [...disturbances, ...disturbances]) {
        const given = input.slice(), before = spans, pending = program.run(given);
        queued = Math.max(queued, spans - before);
        disturb(given);
        requireSame((await pending).output, expected);
      }
      // By estimate the first runs are by one kernel; later ones are wherever these have taken least, which is not for tests to know.
      assert.ok(queued >= 2, `${queued} spans were queued`);
    } finally {
      own.upload = upload;
    }
  });

  it('are read again where a steady state faults, and the first fault is told', async () => {
    const program = await compiled('index');
    await program.run(small());
    for (const at of [0, 5, 300_000, 777_777, length - 1]) {
      for (const more of [[], [length - 2], [20_000]]) {
        const input = small();
        for (const place of [at, ...more]) input[place] = 9;
        const expected = await run(graphs.index, { input: input.slice(), backend: 'wasm' }).catch((error: unknown) => error as Error);
        const pending = program.run(input);
        input.fill(1);
        await assert.rejects(pending, { name: 'StreamRunError', message: (expected as Error).message });
      }
    }
    await device.trim();
    assert.equal(device.memory().inUseBytes, 0);
  });

  it('are read again as a whole where the CPU has to take over', async () => {
    const program = await compiled('loop');
    await program.run(small());
    const input = small();
    input[700_000] = 3_000_000;
    const expected = (await run(graphs.loop, { input: input.slice(), backend: 'wasm' })).output;
    const pending = program.run(input);
    input.fill(1);
    const { output, backend } = await pending;
    assert.equal(backend, 'wasm');
    requireSame(output, expected);
  });

  it('may be of classes of their own, resizable, shared with cores, limited, or used by several runs at once', async () => {
    const program = await compiled('peeking');
    const input = small();
    await program.run(input);
    const expected = (await run(graphs.peeking, { input, backend: 'wasm' })).output;
    class Own extends Int32Array {
      override subarray(): Int32Array<ArrayBuffer> { throw new Error('not for others'); }
    }
    requireSame((await program.run(new Own(input))).output, expected);
    const Resizable = ArrayBuffer as unknown as new (length: number, options: { maxByteLength: number }) => ArrayBuffer;
    const resizable = new Int32Array(new Resizable(4 * length, { maxByteLength: 8 * length }));
    resizable.set(input);
    const pending = program.run(resizable);
    (resizable.buffer as unknown as { resize(length: number): void }).resize(0);
    requireSame((await pending).output, expected);
    const given = input.slice();
    const shared = program.run(given, { share: true });
    given.fill(0);
    requireSame((await shared).output, expected);
    requireSame((await program.run(input, { items: 250_007 })).output, (expected as Int32Array).slice(0, 250_007));
    const many = Array.from({ length: 5 }, () => program.run(input));
    for (const made of await Promise.all(many)) requireSame(made.output, expected);
  });

  it('are there for the CPU wherever the device runs out of memory', async () => {
    process.env['WARPLOOM_SIMT_DISCRETE'] = '1';
    await using own = await openDevice({ backend: 'simt' });
    delete process.env['WARPLOOM_SIMT_DISCRETE'];
    const given = small().subarray(0, 2 ** 20), expected = (await run(graphs.plain, { input: given, backend: 'wasm' })).output;
    const faults = addon().faults!, noMemory = 2;
    for (let i = 0; i < 4; ++i) await run(graphs.plain, { input: given, device: own });
    let before = faults.calls();
    await run(graphs.plain, { input: given, device: own });
    const calls = faults.calls() - before;
    let onCpu = 0;
    // Every call of the first launches, and some of the others, which are alike.
    for (let skip = 0; skip < calls + 3; skip += skip < 30 ? 1 : 4) {
      const input = given.slice();
      faults.arm(skip, noMemory, skip % 4 === 3);
      const pending = run(graphs.plain, { input, device: own });
      input.fill(5);
      try {
        const { output, backend, note } = await pending;
        requireSame(output, expected, `after ${skip} calls`);
        assert.equal(backend === 'wasm', note !== undefined);
        if (backend === 'wasm') ++onCpu;
      } finally {
        faults.disarm();
      }
    }
    assert.ok(onCpu >= 10, `${onCpu} runs of ${calls} calls went to the CPU`);
    before = own.memory().inUseBytes;
    await own.trim();
    await own.trim();
    assert.equal(own.memory().inUseBytes, 0, `${before} bytes before`);
    const { backend, output } = await run(graphs.plain, { input: given, device: own });
    assert.equal(backend, 'simt');
    requireSame(output, expected);
  });

  it('are there for the CPU whatever the memory limit is', async () => {
    const input = small(), expected = (await run(graphs.peeking, { input, backend: 'wasm' })).output;
    for (const memoryLimit of [1, 4097, 1e5, 1e6, 4.3e6, 4.9e6, 9.7e6, 15e6]) {
      process.env['WARPLOOM_SIMT_DISCRETE'] = '1';
      await using own = await openDevice({ backend: 'simt', memoryLimit });
      delete process.env['WARPLOOM_SIMT_DISCRETE'];
      for (let i = 0; i < 3; ++i) {
        const given = input.slice();
        const pending = run(graphs.peeking, { input: given, device: own });
        given.fill(7);
        requireSame((await pending).output, expected, `${memoryLimit} bytes`);
      }
    }
  });

  it('do not go with a device that is lost: later runs go to the CPU', async () => {
    const faults = addon().faults!, lostDevice = 700;
    const input = small(), expected = (await run(graphs.plain, { input, backend: 'wasm' })).output;
    for (const skip of [0, 9, 23]) {
      process.env['WARPLOOM_SIMT_DISCRETE'] = '1';
      await using own = await openDevice({ backend: 'simt' });
      delete process.env['WARPLOOM_SIMT_DISCRETE'];
      for (let i = 0; i < 4; ++i) await run(graphs.plain, { input, device: own });
      faults.arm(skip, lostDevice, true);
      await assert.rejects(run(graphs.plain, { input, device: own }), { code: 'ERR_WARPLOOM_DEVICE_LOST' })
        .finally(() => { faults.disarm(); });
      const { output, note } = await run(graphs.plain, { input, device: own });
      requireSame(output, expected);
      assert.match(note!, /lost/);
    }
  });

  it('leave nothing behind when they are stopped', async () => {
    const program = await compiled('peeking');
    const input = small();
    await program.run(input);
    for (const milliseconds of [0, 1, 3, 10, 30]) {
      const stop = new AbortController();
      const pending = program.run(input, { signal: stop.signal });
      if (milliseconds === 0) stop.abort(new Error('enough'));
      else setTimeout(() => { stop.abort(new Error('enough')); }, milliseconds);
      await pending.catch((error: unknown) => { assert.match(String(error), /enough/); });
    }
    await device.trim();
    await device.trim();
    assert.equal(device.memory().inUseBytes, 0);
  });
});
