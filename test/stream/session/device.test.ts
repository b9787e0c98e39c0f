// Sessions on devices: what the CPU gives, whatever the chunks; what goes to the CPU, and why.
import assert from 'node:assert/strict';
import { benchmarkPrograms, randomInput } from '../../../examples/stream/programs.ts';
import { openDevice, type Device } from '../../../lib/core/device.ts';
import { open, run, StreamRunError, type StreamGraph } from '../../../lib/stream/index.ts';
import { eachBackend } from '../../support/backends.ts';
import { DeviceEngine } from '../../../lib/stream/session/device.ts';
import { requirePieces } from '../../../lib/stream/session/pieces.ts';
import { StreamSession } from '../../../lib/stream/session/session.ts';
import { randomInput as randomItems, randomProgram } from '../emit/random-programs.ts';
import { faulty } from '../gpu/faulty-programs.ts';
import { loopGraph, loopPrograms } from '../gpu/loop-programs.ts';
import { pipelinedTogether } from '../gpu/pipelined.ts';
import { compileTogether, deviceBackends, firstState, inputItems } from '../gpu/support.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';
import { cut, inChunks } from './support.ts';

const input = Float32Array.from({ length: 30_011 }, (_, i) => Math.fround(Math.sin(i)));
const windows = graphOf(`float->float filter F { work pop 3 push 2 peek 40 { push(peek(0) * 0.3 + peek(39)); push(peek(7) - peek(20)); pop(); pop(); pop(); } }
  float->float filter G { work pop 1 push 1 peek 4 { push(peek(0) + peek(3)); pop(); } } float->float pipeline Main { add G; add F; add G; }`);
const delays = graphOf(`float->float filter D(int n) { prework push n { for (int i = 0; i < n; i++) push(i * 0.5); } work pop 1 push 1 { push(pop()); } }
  float->float filter G { work pop 2 push 1 peek 9 { push(peek(0) * peek(8)); pop(); pop(); } } float->float pipeline Main { add D(7); add G; add D(3); }`);
const structs = graphOf(`struct P { int a; float b; } P->P filter F {
  work pop 1 push 1 peek 2 { P x = peek(0); x.a += peek(1).a; x.b *= 0.5; push(x); pop(); } } P->P pipeline Main { add F; }`);
const fails = graphOf('int->int filter F { int[8] t = {1, 2, 3, 4, 5, 6, 7, 8}; work pop 1 push 1 peek 3 { push(t[peek(1)] * 100 / (peek(2) - 3)); pop(); } } '
  + 'int->int pipeline Main { add F; }');

/** Programs with state that devices find by scans, or from the number of the firing, and one whose firings one thread makes in order. */
const stateful = ([
  ['counter', 'float->float filter F { int i; work pop 1 push 1 { push(pop() * i); i++; } } float->float pipeline Main { add F; }'],
  ['sums', 'int->int filter F { int s; work pop 1 push 1 { int x = pop(); s = (x & 31) == 0 ? x : s * 3 + x; push(s); } } '
    + 'int->int filter G { work pop 3 push 2 peek 5 { push(peek(0) + peek(4)); push(peek(2)); pop(); pop(); pop(); } } '
    + 'int->int pipeline Main { add G; add F; add G; add F; }'],
  ['history', `float->float filter F { float[5] h; prework push 2 { push(1); push(2); } work pop 1 push 1 {
      for (int i = 0; i < 4; i++) h[i] = h[i + 1]; h[4] = pop(); push(h[0] + h[4]); } }
    float->float pipeline Main { add F; }`],
  ['in order', `float->float filter Fir { work pop 1 push 1 peek 400 { float s = 0; for (int i = 0; i < 400; i++) s += peek(i) * (0.1 + i); push(s); pop(); } }
    float->float filter Smooth { float y; work pop 1 push 1 { y = 0.9 * y + 0.1 * pop(); push(y); } } float->float pipeline Main { add Fir; add Smooth; }`],
] as const).map(([name, source]) => [name, graphOf(source)] as const);

/** Faults of several filters in one steady state, of which the one that comes first in the program is told; and in a part of one. */
const faultyTogether = {
  'two branches': 'int->int filter A(int k) { int s = k; int[9] t; work pop 1 push 1 { int x = pop(); s += x >> 2; push(t[(s - k) * 9]); } } '
    + 'int->int filter B { int s; work pop 3 push 3 { for (int i = 0; i < 3; i++) { int x = pop(); s = s ^ x; push(60 / (x - 5)); } } } '
    + 'int->int pipeline Main { add splitjoin { split roundrobin(3, 3); add B; add A(2); join roundrobin(3, 3); }; add B; }',
  'a part of a steady state': 'int->int filter A { int s; work pop 1 push 1 { int x = pop(); s = (s + x) & 15; push(7 % (x - 4)); } } '
    + 'int->int filter B { work pop 5 push 5 { for (int i = 0; i < 5; i++) push(pop()); } } '
    + 'int->int filter C { work pop 2 push 3 peek 4 { push(peek(3)); push(12 / (peek(2) + 9)); push(peek(0)); pop(); pop(); } } '
    + 'int->int pipeline Main { add A; add C; add B; add A; }',
};

describe('sessions on devices', function () {
  this.timeout(120_000);

  eachBackend((backend, opened) => {
    let device: Device;
    before(async () => { device = await opened(); });

    async function compare(graph: StreamGraph, items: ArrayLike<number>, hows: readonly (number | 'random')[], name: string): Promise<void> {
      const expected = await run(graph, { input: items, backend: 'wasm' });
      for (const how of hows) {
        const found = await inChunks(graph, cut(items, how), { device, ...(how === 'random' ? { chunk: 500 } : {}) });
        // Which side is faster where firings follow each other is measured on a GPU.
        if (name.startsWith('in order') && backend === 'cuda' && found.backend === 'wasm') assert.match(found.note!, /in order, a device takes/);
        else assert.deepEqual([found.backend, found.note, found.error], [backend, undefined, undefined], name);
        assert.deepEqual(found.output, [...expected.output as Float32Array], `${name} in chunks of ${how}`);
      }
    }

    it('give what runs give', async () => {
      for (const [name, graph] of [['windows', windows], ['delays', delays]] as const) {
        await compare(graph, input.subarray(0, 9000), [1e9, 997, 'random'], name);
        await compare(graph, input.subarray(0, 300), [1, 61], name);
        for (const items of [0, 1, 40, 100]) await compare(graph, input.subarray(0, items), [13], `${name} ${items}`);
      }
      await compare(structs, Float64Array.from({ length: 801 }, (_, i) => i), [1, 301, 1e9], 'structs');
      for (const name of ['fm-radio', 'des', 'filterbank']) {
        const sample = benchmarkPrograms.find((each) => each.name === name)!;
        await compare(program(name), randomInput(sample, 200 * sample.inputItems + 400), [1777, 1e9], name);
      }
    });

    it('keep several chunks under way, and give them in order', async () => {
      const expected = [...(await run(windows, { input })).output as Float32Array];
      const session = await open<Float32Array>(windows, { device, chunk: 700 });
      let read = 0, most = 0, taken = 0;
      const source = (function* () { for (const chunk of cut(input, 700)) { ++read; yield chunk; } })();
      const found: number[] = [];
      for await (const block of session.process(source)) {
        ++taken;
        most = Math.max(most, read - taken);
        found.push(...block);
      }
      assert.deepEqual(found, expected);
      assert.ok(most >= 1 && most <= 3, `${most} chunks ahead`);
      const parts = await open<Float32Array>(windows, { device }).then((each) => Promise.all([each.push(input.subarray(0, 9000)), each.push(input.subarray(9000)), each.end()]));
      assert.deepEqual(parts.flatMap((part) => [...part]), expected);
    });

    it('give what comes before a fault, then its message', async () => {
      for (const [at, value] of [[700, 9], [1500, 3], [3, 8]] as const) {
        const items = Int32Array.from({ length: 2000 }, (_, i) => (i === at ? value : i % 3));
        const error = await run(fails, { input: items, backend: 'wasm' }).then(() => assert.fail(), (reason: unknown) => reason as Error);
        const before = (await run(fails, { input: items.subarray(0, at), backend: 'wasm' })).output;
        for (const how of [97, 1e9]) {
          const found = await inChunks(fails, cut(items, how), { device });
          assert.equal((found.error as Error).message, error.message);
          assert.deepEqual(found.output.slice(0, before.length), [...before as Int32Array]);
        }
      }
    });

    it('take and give arrays of the device', async () => {
      for (const [name, graph] of [['windows', windows], ['delays', delays]] as const) {
        const expected = [...(await run(graph, { input })).output as Float32Array];
        for (const lengths of [[30_011], [11, 10_000, 500, 3, 0, 19_497], [1, 2, 40, 30, 9938, 20_000], [5000, -3000, 17, -4000, 17_994]]) {
          const session = await open<Float32Array>(graph, { device, chunk: 2500 });
          const found: number[] = [];
          let at = 0;
          for (const length of lengths) {
            const part = input.subarray(at, at + Math.abs(length));
            at += part.length;
            if (length < 0) found.push(...await session.push(part)); // from JavaScript's memory
            else {
              using array = await device.array(part);
              using made = await session.push(array);
              found.push(...await made.read() as Float32Array);
            }
          }
          assert.equal(at, input.length);
          found.push(...await session.end());
          assert.deepEqual(found, expected, `${name} ${lengths.join(' ')}`);
        }
      }
      const items = Int32Array.from({ length: 2000 }, (_, i) => (i === 1500 ? 3 : i % 3));
      const expected = (await run(fails, { input: items.subarray(0, 1500), backend: 'wasm' })).output;
      const session = await open<Int32Array>(fails, { device, chunk: 300 });
      using array = await device.array(items);
      using made = await session.push(array);
      assert.deepEqual((await made.read() as Int32Array).subarray(0, expected.length), expected);
      await assert.rejects(session.push(array), { name: 'StreamRunError' });
      const other = await open(windows, { device });
      await assert.rejects(other.push(array), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'items' });
      await other.close();
      await assert.rejects((await open(windows)).push(array), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'items' });
    });

    it('give what runs give: random programs', async () => {
      const samples = Array.from({ length: 60 }, (_, seed) => ({ seed, ...randomProgram(seed) }))
        .map(({ seed, source, type }) => ({ seed, type, graph: graphOf(source), options: { threads: 32, sharedBytes: 6000 } }));
      const compiled = await compileTogether(device, samples);
      let ran = 0;
      for (const [i, { seed, type, graph }] of samples.entries()) {
        const own = compiled[i];
        if (own === undefined || own.program.input.items === 0 || own.program.output.items === 0) continue;
        try {
          requirePieces(graph, own);
        } catch {
          continue;
        }
        ++ran;
        const numbers = randomItems(seed, type, inputItems(own, firstState(own) + 70) + seed % 5);
        const expected = await run(graph, { input: numbers, backend: 'wasm' }).catch((error: unknown) => error as Error);
        for (const chunk of [13, 200]) {
          const stop = new AbortController();
          const outlet = { type: graph.output!.type, path: undefined };
          const engine = new DeviceEngine(graph, own, outlet, { files: {}, seed: 1, chunk }, stop.signal);
          const session = new StreamSession({ graph, engine, outlet, latency: 0, chunk, print: undefined, stop, close: () => undefined });
          const found: number[] = [];
          let error: Error | undefined;
          try {
            for await (const block of session.process(cut(numbers, 'random', seed))) found.push(...block as Float32Array);
          } catch (reason) {
            error = reason as Error;
          }
          if (expected instanceof Error) assert.equal(error?.message, expected.message, `seed ${seed}`);
          else assert.deepEqual([found, error], [[...expected.output as Float32Array], undefined], `seed ${seed}`);
        }
      }
      assert.ok(ran > 10, `${ran} programs`);
    });

    it('go on by WebAssembly where the device has no memory', async () => {
      const expected = [...(await run(windows, { input })).output as Float32Array];
      // A device with memory of its own stages copies, which its limit counts too.
      for (const isDiscrete of backend === 'simt' ? [false, true] : [true]) {
        if (isDiscrete) process.env['WARPLOOM_SIMT_DISCRETE'] = '1';
        const opening = openDevice({ backend: backend as 'simt', memoryLimit: 150_000 });
        await using small = await opening.finally(() => { delete process.env['WARPLOOM_SIMT_DISCRETE']; });
        const session = await open<Float32Array>(windows, { device: small });
        const parts = [await session.push(input.subarray(0, 2000)), await session.push(input.subarray(2000)), await session.end()];
        assert.equal(session.backend, backend);
        assert.deepEqual(parts.flatMap((part) => [...part]), expected);
      }
    });

    it('hand state on from chunk to chunk', async () => {
      for (const [name, graph] of stateful) {
        const items = graph.input!.type.kind === 'scalar' && graph.input!.type.name === 'int' ? Int32Array.from(input, (x) => x * 1000) : input;
        await compare(graph, items.subarray(0, 30_000), [1e9, 3001], name);
        for (const length of [0, 1, 40, 300]) await compare(graph, items.subarray(0, length), [13], `${name} ${length}`);
      }
      const [, sums] = stateful[1]!;
      const items = Int32Array.from(input, (x) => x * 1000);
      const expected = [...(await run(sums, { input: items, backend: 'wasm' })).output as Int32Array];
      const session = await open<Int32Array>(sums, { device });
      // It gives what runs give, but for the items that it says it holds back.
      let given = 0;
      const found: number[] = [];
      for (const length of [5, 4000, 1, 9000]) {
        given += length;
        found.push(...await session.push(items.subarray(given - length, given)));
        const least = (await run(sums, { input: items.subarray(0, Math.max(0, given - session.latency!)), backend: 'wasm' })).output.length;
        assert.ok(found.length >= least && session.latency! < 8192, `${found.length} of ${given}, ${least} are due`);
      }
      using array = await device.array(items.subarray(given));
      using made = await session.push(array);
      found.push(...await made.read() as Int32Array, ...await session.end());
      assert.deepEqual(found, expected);
      // Two at a time, of which one is left.
      const two = await Promise.all([0, 1].map(() => open<Int32Array>(sums, { device })));
      await two[0]!.push(items.subarray(0, 9000));
      await two[0]!.close();
      assert.deepEqual([...await two[1]!.push(items), ...await two[1]!.end()], expected);
      const small = await open<Int32Array>(sums, { device, chunk: 3 });
      assert.match(small.note!, /the device takes \d+ items at a time, not 3$/);
      await small.close();
    });

    /** What a session gives for an array of the device. */
    async function pushed(session: StreamSession<Int32Array>, part: Int32Array): Promise<ArrayLike<number>> {
      using array = await device.array(part);
      using made = await session.push(array);
      return await made.read() as Int32Array;
    }

    /** All that a session gives, and the message of its error, which has what `end` made before it. */
    async function gathered(session: StreamSession<Int32Array>, parts: Iterable<ArrayLike<number>>, areOnDevice: boolean) {
      const output: number[] = [];
      try {
        for (const part of parts) output.push(...Array.from(await (areOnDevice ? pushed(session, part as Int32Array) : session.push(part))));
        output.push(...await session.end());
        return { output, error: undefined };
      } catch (error) {
        if (error instanceof StreamRunError) output.push(...(error.output ?? []) as Int32Array);
        return { output, error: error instanceof StreamRunError ? error.message : String((error as { code?: unknown }).code) };
      }
    }

    it('tell what goes wrong behind state, and give what comes before', async () => {
      const samples = Object.entries({ ...faulty, ...faultyTogether }).map(([name, source], i) =>
        ({ name, graph: graphOf(source), options: i % 2 === 0 ? { threads: 32, sharedBytes: 4000 } : { threads: 64, sharedBytes: 40_000 } }));
      const compiled = await compileTogether(device, samples);
      let faults = 0, ends = 0;
      for (const [i, { name, graph }] of samples.entries()) {
        const own = compiled[i]!;
        if (own.program.state?.countsTurns === true) {
          assert.throws(() => { requirePieces(graph, own); }, /loops that might turn more often/);
          continue;
        }
        requirePieces(graph, own);
        const outlet = { type: graph.output!.type, path: undefined };
        for (const [at, how, length] of [[3, 1e9, 900], [700, 97, 9000], [5003, 1e9, 9000], [8000, 2500, 9000], [8996, 400, 9000], [8999, 1300, 9001]] as const) {
          const items = Int32Array.from({ length }, (_, k) => (k < at ? k & 1 : k - at < 4 ? 4 + (k & 1) : -1));
          const expected = await gathered(await open<Int32Array>(graph), cut(items, how), false);
          const stop = new AbortController();
          const engine = new DeviceEngine(graph, own, outlet, { files: {}, seed: 1, chunk: 1000 }, stop.signal);
          const found = await gathered(
            new StreamSession<Int32Array>({ graph, engine, outlet, latency: 0, chunk: 1000, print: undefined, stop, close: () => undefined }),
            cut(items, how), (i + at) % 2 === 1);
          assert.deepEqual([found.error, found.output.length], [expected.error, expected.output.length], `${name}, ${at} in chunks of ${how}`);
          assert.deepEqual(found.output, expected.output, name);
          if (found.error === undefined) ++ends;
          else ++faults;
        }
      }
      for (const each of compiled) each?.dispose();
      assert.ok(faults >= 30 && ends >= 1, `${faults} faults, ${ends} ends`);
    });

    it('hand on what loops and state in order keep', async () => {
      const programs = loopPrograms.filter((_, i) => backend === 'cuda' || i % 2 === 0);
      const samples = programs.map((each, i) => ({ graph: loopGraph(each), options: {
        mode: (['swp', 'swpnc', 'serial'] as const)[i % 3]!, threads: 32, coarsening: 1, processors: 1 + i % 3 } }));
      const compiled = await pipelinedTogether(device, samples);
      let refused = 0;
      for (const [i, made] of compiled.entries()) {
        const { graph } = samples[i]!, { name, type } = programs[i]!;
        const numbers = randomItems(i, type, Math.min(20_000, inputItems(made!, 5 * made!.wholeStates + 3) + i));
        const expected = (await run(graph, { input: numbers, backend: 'wasm' })).output as Int32Array;
        const stop = new AbortController(), chunk = (1 + i % 2) * made!.wholeStates * made!.program.input.items + i;
        try {
          requirePieces(graph, made!, chunk);
        } catch (error) {
          assert.match(String(error), /state in order, and might go wrong/);
          ++refused;
          continue;
        }
        const engine = new DeviceEngine(graph, made!, { type: graph.output!.type, path: undefined }, { files: {}, seed: 1, chunk }, stop.signal);
        const session = new StreamSession({ graph, engine, outlet: { type: graph.output!.type, path: undefined }, latency: 0, chunk, print: undefined, stop,
          close: () => undefined });
        const found: number[] = [];
        for await (const block of session.process(cut(numbers, i % 3 === 0 ? 'random' : 700, i))) found.push(...block as Int32Array);
        assert.deepEqual(found, [...expected], name);
      }
      for (const each of compiled) each?.dispose();
      assert.ok(refused < 3, `${refused} programs were refused`);
    });

    it('end early without leaving anything', async () => {
      const used = device.memory().inUseBytes;
      for await (const _ of (await open(windows, { device, chunk: 500 })).process([input])) break;
      for (const graph of [windows, ...stateful.slice(1, 3).map(([, each]) => each)]) {
        const stop = new AbortController();
        const session = await open(graph, { device, signal: stop.signal });
        const pushed = session.push(input);
        stop.abort(new Error('enough'));
        await assert.rejects(pushed, /enough/);
      }
      for (let k = 0; k < 2000 && device.memory().inUseBytes > used; ++k) await new Promise((resolve) => { setTimeout(resolve, 10); });
      assert.ok(device.memory().inUseBytes <= used);
    });

    it('tell a fault behind the last push: iterations, pipes and `end`', async () => {
      const graph = graphOf('int->int filter F { int s; work pop 1 push 1 { int x = pop(); s = (s + x) & 15; push(7 % (x - 4)); } } int->int pipeline Main { add F; }');
      const items = Int32Array.from({ length: 100 }, (_, i) => (i === 97 ? 4 : 9));
      for (const how of [{ device }, { backend: 'wasm' as const }]) {
        const output: number[] = [];
        const iterated = (async () => {
          for await (const block of (await open<Int32Array>(graph, how)).process([items])) output.push(...block);
        })();
        await assert.rejects(iterated, /7 % 0/);
        assert.equal(output.length, 97);
        const piped = (await open<Int32Array>(graph, how)).transform();
        const written = piped.writable.getWriter();
        void written.write(items).catch(() => undefined);
        void written.close().catch(() => undefined);
        const read = (async () => { let count = 0; for await (const block of piped.readable) count += (block as Int32Array).length; return count; })();
        await assert.rejects(read, /7 % 0/);
      }
    });

    it('go to the CPU, with a note, where no device can run them', async () => {
      const state = graphOf('float->float filter F { float s; work pop 1 push 1 { s += pop(); push(s); } } float->float pipeline Main { add F; }');
            const risky = graphOf('int->int filter D { prework push 2 { push(0); push(0); } work pop 1 push 1 { push(pop()); } } int->int filter G { work pop 1 push 1 { '
        + 'push(100 / (pop() + 1)); } } int->int pipeline Main { add D; add G; }');
      for (const [graph, reason] of [
        [state, /keeps 's'.*in order, a device takes/], [risky, /prework might go wrong/],
      ] as const) {
        const session = await open<Float32Array>(graph, { device });
        assert.equal(session.backend, 'wasm');
        assert.match(session.note!, /^the program ran on the CPU: /);
        assert.match(session.note!, reason);
        assert.equal((await session.push([1, 2, 3])).length, 3);
        assert.equal((await session.end()).length, graph === risky ? 2 : 0);
      }
      await assert.rejects(open(windows, { device, backend: 'wasm' }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'device' });
      await assert.rejects(open(windows, { fast: true }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'fast' });
    });
  }, { backends: deviceBackends, cases: 11 });
});
