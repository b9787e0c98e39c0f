// Sessions of programs of every kind: messages, dynamic rates, files, prints, sources, faults; many sessions at once; what they hold back.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { elaborate, open, run, type SessionBackend, type StreamGraph } from '../../../lib/stream/index.ts';
import { apps } from '../programs/apps/index.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';
import { cut, inChunks } from './support.ts';

const samples = Array.from({ length: 240 }, (_, i) => (i * 37) % 11 - 4);
const backends: readonly SessionBackend[] = ['wasm', 'interpret'];

/** What a session of a program without an open input gives until there is enough. */
async function pulled(graph: StreamGraph, enough: number, options: Parameters<typeof open>[1] = {}): Promise<number[] | string> {
  let text = '';
  const numbers: number[] = [];
  for await (const block of (await open(graph, options)).process()) {
    if (typeof block === 'string') text += block;
    else numbers.push(...block);
    if (numbers.length >= enough || text.length >= enough) break;
  }
  return text === '' ? numbers : text;
}

describe('sessions of all kinds of programs', function () {
  this.timeout(60_000);

  const features = readdirSync(new URL('../../../examples/stream/features/', import.meta.url)).map((name) => name.replace('.str', ''));
  for (const name of features) {
    it(`features: ${name}`, async () => {
      const { graph } = await elaborate(readFileSync(new URL(`../../../examples/stream/features/${name}.str`, import.meta.url), 'utf8'));
      const files = Object.fromEntries(graph.nodes.flatMap((node) =>
        (node.kind === 'reader' ? [[node.file.path, new Uint8Array(Int32Array.of(5, 6, 7, 8, 9, 10, 11).buffer)]] : [])));
      if (graph.input === undefined) {
        const expected = await run(graph, { iterations: 40, files });
        const [written] = Object.values(expected.files);
        for (const backend of backends) {
          const found = await pulled(graph, 100, { backend, files, chunk: 8 });
          const all = graph.output !== undefined ? [...expected.output as Float32Array]
            : written !== undefined ? [...new Int32Array(written.buffer)] : expected.printed;
          const length = Math.min(found.length, all.length);
          assert.ok(length > 20, `${backend} ${found.length} ${all.length}`);
          assert.deepEqual(found.slice(0, length), all.slice(0, length), backend);
        }
        return;
      }
      const input = name === 'dynamic-rates' ? samples.map((x, i) => (i % 2 === 0 ? Math.abs(x) : x)) : samples;
      const expected = await run(graph, { input, files });
      for (const how of [1, 7, 'random', 1000] as const) {
        const found = await inChunks(graph, cut(input, how), { files });
        assert.deepEqual([found.error, found.output, found.text, found.backend],
          [undefined, [...expected.output as Float32Array], expected.printed, expected.backend], String(how));
      }
    });
  }

  it('applications', async () => {
    let ran = 0;
    for (const { name, source, input } of apps) {
      const graph = graphOf(source);
      if (graph.input === undefined || input === undefined) continue;
      ++ran;
      const expected = await run(graph, { input });
      const found = await inChunks(graph, cut(input, 'random', ran));
      assert.deepEqual([found.error, found.output], [undefined, [...expected.output as Float32Array]], name);
    }
    assert.ok(ran > 20, String(ran));
  });

  it('delivers messages without a latency as runs do', async () => {
    const graph = graphOf(`float->float filter Meter(portal<Gain> p) { work pop 1 push 1 { float x = pop(); if (x > 2) p.set(0.5 * x) [*]; push(x); } }
      float->float filter Gain { float g; work pop 1 push 1 peek 3 { push((g + 1) * peek(2)); pop(); } handler set(float h) { g = h; } }
      float->float pipeline Main { portal<Gain> p; add Gain to p; add Meter(p); add Identity<float>; add Gain to p; }`);
    const expected = await run(graph, { input: samples });
    assert.equal(expected.backend, 'interpret');
    for (const how of [1, 13, 'random', 1000] as const) {
      assert.deepEqual((await inChunks(graph, cut(samples, how))).output, expected.output);
    }
  });

  it('waits in the middle of firings with dynamic rates', async () => {
    const graph = graphOf(`int->int filter Runs { work pop * push * { int n = pop(); if (n < 0) n = -n; int s = 0; for (int i = 0; i < n; i++) { s += pop(); push(s); } } }
      int->int filter Double { work pop 1 push 1 peek 2 { push(2 * peek(1)); pop(); } } int->int pipeline Main { add Double; add Runs; add Double; }`);
    const { output } = await run(graph, { input: samples });
    for (const how of [1, 5, 'random', 1000] as const) assert.deepEqual((await inChunks(graph, cut(samples, how))).output, output);
    const session = await open(graph);
    assert.equal(session.latency, undefined);
    const closing = session.push(samples);
    await session.close();
    await assert.rejects(closing, { code: 'ERR_WARPLOOM_DISPOSED' });
  });

  it('prints in order, whole lines at a time', async () => {
    const several = graphOf(`int->int filter A { int n; work pop 1 push 1 { int x = pop(); print(n++); println(x); push(x); } }
      int->void filter B { work pop 3 { println(pop() + pop() * 100); pop(); } } int->void pipeline Main { add A; add A; add B; }`);
    const expected = (await run(several, { input: samples })).printed;
    const partly = graphOf('int->void filter P { work pop 1 { print(pop()); if (peeked() > 0) println(); } } int->void pipeline Main { add P; }'
      .replace('if (peeked() > 0) println();', 'print(","); if (n++ % 7 == 0) println("|");').replace('filter P {', 'filter P { int n;'));
    for (const backend of backends) {
      for (const how of [1, 5, 1000]) {
        const found = await inChunks(several, cut(samples, how), { backend });
        assert.deepEqual([found.text, found.error], [expected, undefined], backend);
      }
      const session = await open<string>(partly, { backend });
      const blocks: string[] = [];
      for await (const block of session.process(samples)) blocks.push(block);
      assert.equal(blocks.join(''), (await run(partly, { input: samples })).printed);
      assert.ok(blocks.slice(0, -1).every((block) => block.endsWith('\n')));
    }
  });

  it('gives text beside the output to print', async () => {
    const graph = graphOf('int->int filter P { work pop 1 push 1 { int x = pop(); println(x); push(-x); } } int->int pipeline Main { add P; }');
    await assert.rejects(open(graph), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'print' });
    const expected = await run(graph, { input: samples });
    for (const backend of backends) {
      const found = await inChunks(graph, cut(samples, 9), { backend });
      assert.deepEqual([found.output, found.text], [[...expected.output as Int32Array], expected.printed]);
    }
  });

  it('gives what comes before a fault, then its message', async () => {
    const faulty = [
      ['int->int filter F { int[4] t; int n; work pop 1 push 1 { int x = pop(); t[x] += 1; push(n++ + t[x]); } } int->int pipeline Main { add F; }', 3],
      ['int->int filter F { work pop 2 push 3 { int x = pop(); push(1); push(2); push(pop() / (x - 100)); } } int->int pipeline Main { add F; add Identity<int>; }', 100],
      ['int->int filter G { work pop 1 push 1 peek 3 { push(peek(2) % (peek(0) - 100)); pop(); } } int->int pipeline Main { add Identity<int>; add G; }', 100],
    ] as const;
    for (const [source, bad] of faulty) {
      const graph = graphOf(source);
      const good = Array.from({ length: 150 }, (_, i) => i % 4);
      const input = [...good, bad === 3 ? -1 : bad, ...good];
      const { message } = await run(graph, { input, backend: 'wasm' }).then(() => assert.fail(), (error: unknown) => error as Error);
      const before = (await run(graph, { input: input.map((x) => (good.includes(x) ? x : 2)), backend: 'wasm' })).output as Int32Array;
      const least = (await run(graph, { input: good, backend: 'wasm' })).output.length - 4;
      for (const backend of backends) {
        for (const how of [1, 7, 64, 1000]) {
          const found = await inChunks(graph, cut(input, how), { backend });
          assert.equal((found.error as Error).message, (await run(graph, { input, backend }).then(() => assert.fail(), (e: unknown) => e as Error)).message);
          assert.deepEqual(found.output.slice(0, least), [...before].slice(0, least));
          assert.ok(found.output.length >= least, `${found.output.length} of ${least} by ${backend}`);
          assert.ok(message.length > 0);
        }
        const session = await open(graph, { backend });
        const blocks = session.process(cut(input, 20));
        let items = 0;
        await assert.rejects(async () => { for await (const block of blocks) items += block.length; }, { name: 'StreamRunError' });
        assert.ok(items >= least);
        assert.ok(session.closed);
        await assert.rejects(session.push([1]), { name: 'StreamRunError' });
      }
    }
  });

  it('takes turns: many sessions of one program and of others', async () => {
    const sources = Array.from({ length: 12 }, (_, i) =>
      `float->float filter F { float s; float[5] last; int n;
       work pop 2 push 1 peek 4 { s = s * 0.9 + peek(3) * ${i + 1}; last[n % 5] = s; n++; push(s + last[(n + 1) % 5]); pop(); pop(); } }
       float->float pipeline Main { add F; add Identity<float>; }`);
    const graphs = sources.map((source) => graphOf(source));
    const sessions = await Promise.all(Array.from({ length: 60 }, async (_, i) => {
      const graph = graphs[i % graphs.length]!;
      const input = Float32Array.from({ length: 200 + i }, (__, k) => Math.sin(k * (i + 1)));
      return { session: await open<Float32Array>(graph), graph, input, output: [] as number[] };
    }));
    for (let at = 0; at < 300; at += 23) {
      await Promise.all(sessions.map(async ({ session, input, output }) => { output.push(...await session.push(input.subarray(at, at + 23))); }));
    }
    for (const { session, graph, input, output } of sessions) {
      output.push(...await session.end());
      assert.deepEqual(output, [...(await run(graph, { input })).output as Float32Array]);
    }
  });

  it('processes calls in their order, and copies what it is given', async () => {
    const graph = program('fm-radio');
    const input = Float32Array.from({ length: 5000 }, (_, i) => Math.sin(i));
    const session = await open<Float32Array>(graph);
    const own = new Float32Array(100);
    const parts: Promise<Float32Array>[] = [];
    for (let at = 0; at < input.length; at += 100) {
      own.set(input.subarray(at, at + 100));
      parts.push(session.push(own));
    }
    parts.push(session.end());
    assert.deepEqual((await Promise.all(parts)).flatMap((part) => [...part]), [...(await run(graph, { input })).output as Float32Array]);
  });

  it('holds back no more than it says', async () => {
    const sources = [
      'float->float filter F { work pop 1 push 1 { push(pop()); } } float->float pipeline Main { add F; }',
      'float->float filter F { work pop 5 push 2 peek 64 { push(peek(63)); push(peek(0)); for (int i = 0; i < 5; i++) pop(); } } float->float filter G { work pop 3 '
        + 'push 1 peek 7 { push(peek(6)); pop(); pop(); pop(); } } float->float pipeline Main { add F; add G; }',
      'float->float filter D { prework push 3 { push(1); push(2); push(3); } work pop 2 push 2 { push(pop()); push(pop()); } } float->float filter E { work pop 4 '
        + 'push 1 { push(pop()); pop(); pop(); pop(); } } float->float pipeline Main { add D; add E; }',
      'float->float filter U { work pop 3 push 12 { for (int i = 0; i < 12; i++) push(i + peek(i / 4)); pop(); pop(); pop(); } } float->float filter E { work pop 1 '
        + 'push 1 peek 3 { push(peek(2)); pop(); } } float->float pipeline Main { add U; add E; }',
    ];
    sources.push('float->float filter D { prework push 5 { for (int i = 0; i < 5; i++) push(i); } work pop 1 push 1 { push(pop()); } } float->float pipeline Main { '
      + 'add D; add Identity<float>; }');
    for (const graph of [...sources.map((source) => graphOf(source)), program('fm-radio'), program('filterbank'), program('mpeg2-subset')]) {
      const session = await open<Float32Array>(graph);
      const latency = session.latency!;
      let given = 0, isReached = false;
      const most = Math.min(900, 3 * latency + 160);
      for (let n = 1; n <= most; ++n) {
        given += (await session.push([n % 5])).length;
        const out = async (items: number): Promise<number> =>
          (await run(graph, { input: Float32Array.from({ length: items }, (_, i) => (i + 1) % 5), backend: 'wasm' })).output.length;
        if (n < latency || (most > 400 && n % 7 !== 0)) continue;
        assert.ok(given >= await out(n - latency), `${given} after ${n} with ${latency}`);
        if (latency > 0 && given < await out(n - latency + 1)) isReached = true;
      }
      if (most <= 400) assert.ok(isReached || latency === 0, `${latency} is more than is held back`);
      await session.close();
    }
  });
});
