// Starts and ends of runs on devices: all lengths from 0, limits, all types of items and arrays, preworks, windows.
import assert from 'node:assert/strict';
import type { Device } from '../../../lib/core/device.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { compileForDevice, run, type StreamGraph } from '../../../lib/stream/index.ts';
import type { CompiledGpu } from '../../../lib/stream/run/gpu.ts';
import type { FusedOptions } from '../../../lib/stream/targets/cuda-layout.ts';
import { eachBackend } from '../../support/backends.ts';
import { generator } from '../../kernel/random.ts';
import { graphOf } from '../support.ts';
import { agrees, compileTogether, deviceBackends, firstState, inputItems } from './support.ts';

const small: FusedOptions = { threads: 32, sharedBytes: 1500 };

interface Ends {
  readonly source: string;
  /** Scalars in an item of the input; default 1. */
  readonly scalars?: number;
  readonly options?: FusedOptions;
  /** Whether the input consists of 0 and 1. */
  readonly bits?: true;
}

/** Programs, by what is special about them. */
const programs: Readonly<Record<string, Ends>> = {
  'one to one': { source: 'float->float filter F { work pop 1 push 1 { push(pop() * 0.1 + 1); } } float->float pipeline Main { add F; }' },
  'odd rates': { source: 'float->float filter F { work pop 7 push 3 { for (int i = 0; i < 3; i++) push(peek(2 * i) - peek(6 - i)); for (int i = 0; i < 7; i++) pop(); } } '
    + 'float->float filter G { work pop 4 push 5 { for (int i = 0; i < 5; i++) push(peek(i % 4) * i); for (int i = 0; i < 4; i++) pop(); } } '
    + 'float->float pipeline Main { add F; add G; }' },
  'windows over windows': { source: 'float->float filter F(int n, int p) { work pop p push 1 peek n { float s = 0; for (int i = 0; i < n; i++) s += peek(i) * (i - 2); '
    + 'push(s / n); for (int i = 0; i < p; i++) pop(); } } float->float pipeline Main { add F(40, 1); add F(9, 3); add F(17, 2); }' },
  'a window longer than a round': { source: 'float->float filter F { work pop 1 push 1 peek 300 { push(peek(0) + peek(299)); pop(); } } '
    + 'float->float filter G { work pop 1 push 1 peek 200 { push(peek(0) * peek(199)); pop(); } } float->float pipeline Main { add F; add G; }',
    options: { threads: 32, sharedBytes: 3300 } },
  'branches of several lengths': { source: 'int->int filter F(int n) { work pop 1 push 1 peek n { push(peek(0) ^ peek(n - 1)); pop(); } } '
    + 'int->int splitjoin S { split roundrobin(2, 1, 3); add F(4); add pipeline { add F(2); add F(30); }; add Identity<int>; join roundrobin(4, 2, 6); } '
    + 'int->int pipeline Main { add F(3); add S; add F(5); }' },
  'a prework that takes and gives otherwise': { source: 'int->int filter F { prework pop 3 push 5 { for (int i = 0; i < 5; i++) push(i * 100); '
    + 'for (int i = 0; i < 3; i++) pop(); } '
    + 'work pop 1 push 1 peek 2 { push(peek(0) + peek(1)); pop(); } } int->int filter G { work pop 2 push 2 peek 6 { push(peek(5)); push(peek(3)); pop(); pop(); } } '
    + 'int->int pipeline Main { add F; add G; }' },
  'a prework at the end': { source: 'int->int filter F { prework pop 1 push 2 { push(-1); push(pop()); } work pop 1 push 1 peek 3 { push(peek(2)); pop(); } } '
    + 'int->int filter G { work pop 1 push 1 { push(pop() * 3); } } int->int pipeline Main { add G; add F; }' },
  'structs of several kinds': { source: 'struct P { int a; float b; double c; bit d; } P->P filter F { work pop 1 push 1 peek 3 { P p = peek(0); P q = peek(2); '
    + 'p.a += q.a; p.b = p.b * q.b; p.c = p.c - q.c; p.d = p.d ^ q.d; push(p); pop(); } } P->P pipeline Main { add F; add F; }', scalars: 4 },
  'an item of one kind to one of several': { source: 'struct P { int a; float b; } float->P filter F { work pop 2 push 1 { P p; p.a = (int) peek(0); p.b = peek(1); '
    + 'pop(); pop(); push(p); } } float->P pipeline Main { add F; }' },
  'complex numbers': { source: 'complex->complex filter F { work pop 1 push 1 peek 2 { push(peek(0) * peek(1) + 1i); pop(); } } '
    + 'complex->complex pipeline Main { add F; add F; }', scalars: 2 },
  'arrays': { source: 'float[3]->float[3] filter F { work pop 1 push 1 { float[3] a = pop(); float[3] b; for (int i = 0; i < 3; i++) b[i] = a[2 - i] * 2; push(b); } } '
    + 'float[3]->float[3] pipeline Main { add F; }', scalars: 3 },
  'bits': { source: 'bit->bit filter F { work pop 3 push 2 { push(peek(0) ^ peek(2)); push(peek(1) & peek(0)); pop(); pop(); pop(); } } '
    + 'bit->bit pipeline Main { add F; }', bits: true },
  'booleans': { source: 'boolean->boolean filter F { work pop 2 push 1 { boolean a = pop(); boolean b = pop(); push(a != b); } } '
    + 'boolean->boolean pipeline Main { add F; }', bits: true },
  'doubles': { source: 'double->double filter F { work pop 1 push 1 peek 5 { push(peek(0) / 3 + peek(4)); pop(); } } double->double pipeline Main { add F; }' },
  'whole numbers to doubles': { source: 'int->double filter F { work pop 1 push 2 { double x = pop(); push(x / 7); push(sqrt(abs(x))); } } int->double pipeline Main { add F; }' },
};

const integers = (count: number, seed: number): number[] => {
  const random = generator(seed);
  return Array.from({ length: count }, () => Math.floor(random() * 4001) - 2000);
};

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
  }, { backends: deviceBackends, cases: Object.keys(programs).length + 5 });
});
