// Starts and ends of runs on devices: all lengths from 0, limits, all types of items and arrays, preworks, windows.
import assert from 'node:assert/strict';
import type { Device } from '../../../lib/core/device.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { compileForDevice, run, type StreamGraph } from '../../../lib/stream/index.ts';
import { HostEnds, piecesOf } from '../../../lib/stream/run/gpu-ends.ts';
import type { CompiledGpu } from '../../../lib/stream/run/gpu.ts';
import { prepareRun } from '../../../lib/stream/run/prepare.ts';
import { eachBackend } from '../../support/backends.ts';
import { graphOf } from '../support.ts';
import { integers, programs, small } from './ends-programs.ts';
import { agrees, compileTogether, deviceBackends, firstState, inputItems } from './support.ts';

describe('starts and ends of runs on devices', function () {
  this.timeout(120_000);
  const graphs = new Map<string, StreamGraph>(Object.entries(programs).map(([name, { source }]) => [name, graphOf(source)]));

  eachBackend((_, opened) => {
    let device: Device;
    const compiled = new Map<string, CompiledGpu>();
    before(async () => {
      device = await opened();
      const names = Object.keys(programs);
      const made = await compileTogether(device, names.map((name) => ({ graph: graphs.get(name)!, options: programs[name]!.options ?? small })));
      names.forEach((name, i) => compiled.set(name, made[i]!));
    });
    after(() => { [...compiled.values()][0]?.dispose(); });

    for (const [name, { scalars = 1, bits = false }] of Object.entries(programs)) {
      it(name, async () => {
        const graph = graphs.get(name)!, each = compiled.get(name)!;
        const { states } = each.program;
        const first = firstState(each);
        const input = (items: number): number[] => integers(items * scalars, items).map((x) => (bits ? x & 1 : x));
        const begin = inputItems(each, first);
        const lengths = [0, 1, 2, begin - 1, begin, begin + 1, begin + each.program.input.items, inputItems(each, first + states) - 1,
          inputItems(each, first + states), inputItems(each, first + 2 * states + 1) + 1, inputItems(each, first + 7 * states - 1) + 2];
        for (const items of lengths) await agrees(each, graph, input(Math.max(0, items)), {}, items >= inputItems(each, first + 1));
        const long = input(inputItems(each, first + 5 * states + 3));
        const { output } = interpretSync(graph, { input: long });
        assert.deepEqual([...(await each.run(long, {})).output], output);
        for (const options of [{ items: 0 }, { items: 1 }, { items: Math.floor(output.length / 3) }, { iterations: 0 }, { iterations: first + 1 },
          { iterations: first + 2 * states + 1 }, { items: 1e6 }, { iterations: 1e6 }]) {
          const wanted = interpretSync(graph, { input: long, ...options });
          const found = await each.run(long, options);
          assert.deepEqual([...found.output], wanted.output, JSON.stringify(options));
          assert.equal(found.exhausted, wanted.exhausted, JSON.stringify(options));
        }
      });
    }

    it('arrays of every type as input', async () => {
      for (const [name, Own] of [['one to one', Float32Array], ['branches of several lengths', Int32Array], ['doubles', Float64Array]] as const) {
        const graph = graphs.get(name)!, each = compiled.get(name)!;
        const numbers = integers(inputItems(each, firstState(each) + 3 * each.program.states) + 1, 7).map((x) => x & 127);
        const expected = interpretSync(graph, { input: numbers }).output;
        const sharedOne = new Own(new SharedArrayBuffer(8 * numbers.length) as never, 0, numbers.length);
        sharedOne.set(numbers);
        const within = new Own(numbers.length + 5).fill(9);
        within.set(numbers, 3);
        for (const input of [numbers, Own.from(numbers), sharedOne, within.subarray(3, 3 + numbers.length), Float64Array.from(numbers),
          Uint8Array.from(numbers), Int16Array.from(numbers), { ...numbers, length: numbers.length }]) {
          const found = await each.run(input, {});
          assert.ok(found.deviceSeconds !== undefined);
          assert.deepEqual([...found.output], expected);
        }
      }
    });

    it('runs of a program at once, and one after the other', async () => {
      const graph = graphs.get('windows over windows')!, each = compiled.get('windows over windows')!;
      const inputs = [1, 2, 3, 4, 5].map((times) => integers(inputItems(each, firstState(each) + times * each.program.states), times));
      const found = await Promise.all(inputs.map((input) => each.run(input, {})));
      found.forEach(({ output }, i) => { assert.deepEqual([...output], interpretSync(graph, { input: inputs[i]! }).output); });
    });

    it('slices of the input, whatever their size', async () => {
      const graph = graphs.get('a window longer than a round')!, each = compiled.get('a window longer than a round')!;
      // More slices than launches that may be in flight at once.
      const input = Float32Array.from(integers(inputItems(each, firstState(each) + 100 * each.program.states + 1), 3));
      await agrees(each, graph, input);
    });

    it('arrays of the device', async () => {
      for (const name of ['windows over windows', 'a prework that takes and gives otherwise', 'complex numbers', 'whole numbers to doubles', 'bits']) {
        const graph = graphs.get(name)!;
        using own = await compileForDevice(graph, { device });
        const { states, warmRounds, startStates } = (await compileTogether(device, [{ graph }]))[0]!.program;
        const { scalars = 1, bits = false } = programs[name]!;
        const first = startStates + warmRounds * states;
        for (const extra of [-first, 0, 1, 2 * states + 1]) {
          const items = inputItems(compiled.get(name)!, first + extra);
          const numbers = integers(items * scalars, 5).map((x) => (bits ? x & 1 : x));
          const Typed = /^(int|bit)/.test(programs[name]!.source) ? Int32Array : Float32Array;
          const expected = await run(graph, { input: numbers, backend: 'wasm' });
          using input = await device.array(Typed.from(numbers));
          const found = await own.run(input);
          using output = found.output;
          assert.deepEqual(await output.read(), expected.output);
          assert.equal(found.deviceSeconds !== undefined, extra > 0);
          assert.equal(found.items * (scalars === 2 ? 2 : 1), expected.output.length);
          // What the array held before does not matter, and what lies beyond the output stays.
          using out = await device.array((expected.output as Float32Array).map(() => 77));
          using longer = await device.array(output.type, out.length + 3);
          await longer.write((await longer.read()).fill(-5 as never));
          assert.equal((await own.run(input, { out: longer })).output, longer);
          assert.deepEqual((await longer.read()).subarray(0, out.length), expected.output);
          assert.deepEqual([...(await longer.read()).subarray(out.length)], [-5, -5, -5]);
          await own.run(input, { out });
          assert.deepEqual(await out.read(), expected.output);
          if (found.items < 2) continue;
          using cut = (await own.run(input, { items: found.items - 1 })).output;
          assert.deepEqual(await cut.read(), (expected.output as Float32Array).slice(0, cut.length));
          await assert.rejects(own.run(input, { out: cut }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'out' });
        }
      }
    });

    it('pinned and shared memory in place, and results where the caller wants them', async () => {
      for (const name of ['windows over windows', 'whole numbers to doubles', 'structs of several kinds']) {
        const graph = graphs.get(name)!;
        using own = await compileForDevice(graph, { device });
        const { states, warmRounds, startStates } = (await compileTogether(device, [{ graph }]))[0]!.program;
        const { scalars = 1 } = programs[name]!;
        const Typed = /^(int|bit)/.test(programs[name]!.source) ? Int32Array : Float32Array;
        const type = Typed === Int32Array ? 'int32' : 'float32';
        for (const extra of [0, 3 * states + 1]) {
          const plain = Typed.from(integers(inputItems(compiled.get(name)!, startStates + warmRounds * states + extra) * scalars, 5));
          const { output: expected } = await run(graph, { input: plain, backend: 'wasm' });
          const pinned = await device.pinned(type, plain.length) as Int32Array;
          const shared = new Typed(new SharedArrayBuffer(plain.byteLength) as unknown as ArrayBuffer);
          for (const input of [plain, pinned, shared, [...plain]]) {
            if (ArrayBuffer.isView(input)) input.set(plain);
            assert.deepEqual((await own.run(input)).output, expected);
            assert.deepEqual((await run(graph, { input, device })).output, expected);
            const Room = expected.constructor as Float64ArrayConstructor;
            const rooms = [new Room(expected.length), new Room(expected.length + 3),
              await device.pinned(Room.name.replace('Array', '').toLowerCase() as 'float64', expected.length) as Float64Array];
            for (const out of rooms) {
              out.fill(-5);
              const { output } = await own.run(input, { out });
              assert.ok((output as Float64Array).buffer === out.buffer && output.length === expected.length);
              assert.deepEqual(output, expected);
              assert.ok(out.subarray(expected.length).every((x) => x === -5));
            }
            const wrong = { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'out' };
            if (expected.length > 0) await assert.rejects(own.run(input, { out: rooms[0]!.subarray(1) }), wrong);
            await assert.rejects(own.run(input, { out: new Uint8Array(1 << 20) as never }), wrong);
            await assert.rejects(own.run(input, { out: [] as never }), wrong);
            await assert.rejects(own.run(input, { out: await device.array('float32', 9) as never }), wrong);
            if (input === plain && Room as unknown === Typed) await assert.rejects(own.run(plain, { out: plain as never }), wrong);
          }
        }
      }
    });

    it('long results in pieces', async () => {
      const { program: made } = compiled.get('one to one')!;
      const states = 5e6 + 3;
      const input = new Float32Array(states + 1000), out = new Float32Array(input.length + 5);
      using ends = new HostEnds(made, device, prepareRun(made.plan, input, {}), input, { array: out });
      const span = ends.span(0, states);
      const expected = Float32Array.from({ length: states * made.output.items }, (_, i) => i % 9973 + 1);
      await span.output[0]!.write(expected);
      await span.take(undefined);
      span.dispose();
      const from = made.output.before;
      assert.ok(Buffer.from(out.buffer, 4 * from, expected.byteLength).equals(Buffer.from(expected.buffer)));
      assert.ok(out.subarray(from + expected.length).every((x) => x === 0));
      const pieces = piecesOf(out.subarray(3));
      assert.deepEqual(pieces.map(([at, piece]) => [at, piece.length]), [[0, 2 ** 20], [2 ** 20, 2 ** 20], [2 ** 21, 2 ** 20], [3 * 2 ** 20, 2 ** 20],
        [2 ** 22, out.length - 3 - 2 ** 22]]);
      assert.deepEqual([piecesOf(out.subarray(0, 0)).length, piecesOf(new Float32Array(new SharedArrayBuffer(2 ** 24) as never)).length], [1, 1]);
    });

    it('reject arrays of the device that do not fit, by name', async () => {
      using own = await compileForDevice(graphs.get('complex numbers')!, { device });
      using structs = await compileForDevice(graphs.get('structs of several kinds')!, { device });
      using input = await device.array(new Float32Array(64));
      using doubles = await device.array(new Float64Array(64));
      using odd = await device.array(new Float32Array(65));
      const wrong = (argument: string) => ({ code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });
      await assert.rejects(own.run(doubles), wrong('input'));
      await assert.rejects(own.run(odd), wrong('input'));
      await assert.rejects(structs.run(input), wrong('input'));
      await assert.rejects(own.run(input, { out: doubles }), wrong('out'));
      await assert.rejects(own.run(input, { out: input }), wrong('out'));
      await assert.rejects(own.run([1, 2], { out: input } as never), wrong('out'));
      await assert.rejects(own.run(5 as never), wrong('input'));
      own.dispose();
      await assert.rejects(own.run(input), { code: 'ERR_WARPLOOM_DISPOSED' });
      using disposed = await device.array(new Float32Array(64));
      disposed.dispose();
      await assert.rejects((await compileForDevice(graphs.get('complex numbers')!, { device })).run(disposed), { code: 'ERR_WARPLOOM_DISPOSED' });
    });
  }, { backends: deviceBackends, cases: Object.keys(programs).length + 7 });
});
