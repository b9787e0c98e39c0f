// Sessions as iterations and as streams of Node and of the web: back-pressure, early ends, errors, bytes, memory.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ReadableStream } from 'node:stream/web';
import { setImmediate as turn, setTimeout as after } from 'node:timers/promises';
import { open, run, type StreamChunk, type StreamSession } from '../../../lib/stream/index.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';

const radio = program('fm-radio');
const plain = graphOf('float->float filter F { float s; work pop 1 push 1 { s = s / 2 + pop(); push(s); } } float->float pipeline Main { add F; }');
const mean = graphOf('float->float filter F { work pop 2 push 1 peek 5 { push(peek(0) + peek(4)); pop(); pop(); } } float->float pipeline Main { add F; }');
const input = Float32Array.from({ length: 20_011 }, (_, i) => Math.fround(Math.sin(i)));
const listenerCount = (signal: AbortSignal): number => (process.getActiveResourcesInfo().length >= 0
  ? (signal as unknown as { [key: symbol]: Map<string, { size: number }> | undefined })[
    Object.getOwnPropertySymbols(signal).find((each) => each.description === 'kEvents')!]?.get('abort')?.size ?? 0 : 0);

/** A source that counts what is read of it, and tells when it is ended early. */
function counting(chunk = 100, most = Infinity) {
  const state = { read: 0, isReturned: false };
  const source = (async function* () {
    try {
      for (; state.read < most; ++state.read) yield input.slice(0, chunk);
    } finally {
      state.isReturned = state.read < most;
    }
  })();
  return { state, source };
}

async function all(blocks: AsyncIterable<unknown>): Promise<number[]> {
  const numbers: number[] = [];
  for await (const block of blocks) for (const x of block as Float32Array) numbers.push(x);
  return numbers;
}

describe('streams of sessions', function () {
  this.timeout(60_000);

  for (const [name, graph] of [['the radio', radio], ['state', plain], ['windows', mean]] as const) {
    it(`takes every kind of source: ${name}`, async () => {
      const expected = [...(await run(graph, { input })).output as Float32Array];
      const sources: (() => AsyncIterable<StreamChunk> | Iterable<StreamChunk>)[] = [
        () => [input], () => input, () => [...input], () => [[...input.subarray(0, 777)], new Float32Array(), input.subarray(777)],
        () => Readable.from(input, { objectMode: true }), () => new Set([input.subarray(0, 10_000), input.subarray(10_000)]),
        () => (async function* () { await turn(); yield 0.5; await turn(); yield input.subarray(1); })(),
        () => new ReadableStream({ start(controller) { controller.enqueue(input); controller.close(); } }),
      ];
      for (const [i, make] of sources.entries()) {
        const found = await all((await open(graph, { chunk: 1000 })).process(make()));
        if (i !== 6) assert.deepEqual(found, expected, String(i));
        else assert.equal(found.length, expected.length);
      }
      const session = await open(graph);
      assert.deepEqual(await all(Readable.from([input.subarray(0, 5000), input.subarray(5000)]).pipe(session.duplex())), expected);
      const web = (await open(graph)).transform();
      const readable = new ReadableStream<Float32Array>({ start(controller) {
        controller.enqueue(input.subarray(0, 3));
        controller.enqueue(input.subarray(3));
        controller.close();
      } });
      assert.deepEqual(await all(readable.pipeThrough(web)), expected);
    });
  }

  it('moves bytes, cut anywhere', async () => {
    const bytes = new Uint8Array(input.buffer);
    const expected = (await run(mean, { input })).output as Float32Array;
    const pieces = [bytes.subarray(0, 1), bytes.subarray(1, 1003), new Uint8Array(), bytes.subarray(1003)];
    const found: Uint8Array[] = [];
    for await (const block of (await open(mean)).process(pieces, { bytes: true })) found.push(block.slice());
    assert.deepEqual(new Float32Array(Buffer.concat(found).buffer.slice(0)).length > 0, true);
    assert.ok(Buffer.concat(found).equals(Buffer.from(expected.buffer, expected.byteOffset, expected.byteLength)));
    const parts: Buffer[] = [];
    await pipeline(Readable.from(pieces.filter(({ length }) => length > 0).map((piece) => Buffer.from(piece)), { objectMode: false }), (await open(mean)).duplex({ bytes: true }),
      new Writable({ write(chunk: Buffer, _, done) { parts.push(chunk); done(); } }));
    assert.ok(Buffer.concat(parts).equals(Buffer.concat(found)));
    const bits = graphOf('bit->bit filter N { work pop 1 push 1 { push(1 - pop()); } } bit->bit pipeline Main { add N; }');
    const words = new Uint8Array(Int32Array.from({ length: 9 }, (_, i) => i * 0x1234567).buffer);
    const flipped: Uint8Array[] = [];
    for await (const block of (await open(bits, { chunk: 7 })).process([words.subarray(0, 5), words.subarray(5)], { bytes: true })) flipped.push(block);
    assert.deepEqual([...Buffer.concat(flipped)], [...words].map((x) => x ^ 0xff));
  });

  it('reads no more than is asked for', async () => {
    const { state, source } = counting();
    const blocks = (await open(plain)).process(source);
    await turn();
    assert.equal(state.read, 0);
    for (let k = 1; k <= 5; ++k) {
      await blocks.next();
      await after(5);
      assert.ok(state.read <= k, `${state.read} after ${k}`);
    }
    await blocks.return();
    assert.ok(state.isReturned);
  });

  it('stops Node and web sources while nobody reads', async () => {
    for (const kind of ['node', 'web'] as const) {
      const { state, source } = counting();
      const session = await open(plain);
      if (kind === 'node') {
        const duplex = Readable.from(source, { highWaterMark: 1 }).pipe(session.duplex());
        await once(duplex, 'readable');
        await after(50);
        const before = state.read;
        assert.ok(before < 12, `${before} chunks`);
        await after(50);
        assert.equal(state.read, before);
        duplex.destroy();
        await once(duplex, 'close');
      } else {
        const readable = (ReadableStream as unknown as { from(source: unknown): ReadableStream<Float32Array> }).from(source)
          .pipeThrough(session.transform());
        const reader = readable.getReader();
        await reader.read();
        await after(50);
        const before = state.read;
        assert.ok(before < 6, `${before} chunks`);
        await after(50);
        assert.equal(state.read, before);
        await reader.cancel();
      }
      await after(5);
      assert.ok(session.closed);
    }
  });

  it('ends everything where the consumer ends', async () => {
    const { state, source } = counting();
    const session = await open(plain);
    for await (const block of session.process(source)) {
      assert.equal(block.length, 100);
      break;
    }
    assert.ok(state.isReturned && session.closed);
    await assert.rejects(session.push([1]), { code: 'ERR_WARPLOOM_DISPOSED' });
    assert.throws(() => session.process([1]), { code: 'ERR_WARPLOOM_DISPOSED' });
  });

  it('passes on errors of the source, after what came before', async () => {
    const failing = async function* () {
      yield input.subarray(0, 10);
      await turn();
      throw new RangeError('the antenna fell off');
    };
    const session = await open(plain);
    let items = 0;
    await assert.rejects(async () => { for await (const block of session.process(failing())) items += block.length; }, /antenna/);
    assert.equal(items, 10);
    assert.ok(session.closed);
    const broken = new PassThrough({ objectMode: true });
    const piped = (await open(plain)).duplex();
    const done = pipeline(broken, piped, async (blocks: AsyncIterable<Float32Array>) => { for await (const _ of blocks) broken.destroy(new Error('torn')); });
    broken.write(input.subarray(0, 10));
    await assert.rejects(done, /torn/);
    const wrong = await open(plain);
    await assert.rejects(all(wrong.process(['x' as unknown as number])), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'source' });
    await assert.rejects(all((await open(plain)).process([Buffer.alloc(4)])), /bytes: true/);
  });

  it('ends by its signal, whatever it waits for, and leaves no listener', async () => {
    for (const graph of [plain, graphOf('int->int filter F { work pop * push 1 { int n = pop(); while (n > 0) n -= pop(); push(n); } } int->int pipeline Main { add F; }')]) {
      const stop = new AbortController();
      const before = listenerCount(stop.signal);
      const session = await open(graph, { signal: stop.signal });
      const never = (async function* () {
        yield [1, 2, 3];
        await new Promise(() => undefined);
      })();
      const waiting = all(session.process(never));
      setTimeout(() => { stop.abort(new Error('enough')); }, 20);
      await assert.rejects(waiting, /enough/);
      await assert.rejects(session.push([1]), /enough/);
      assert.ok(session.closed);
      assert.equal(listenerCount(stop.signal), before);
      const other = new AbortController();
      const closed = await open(graph, { signal: other.signal });
      assert.equal(listenerCount(other.signal), 1);
      await closed.close();
      assert.equal(listenerCount(other.signal), 0);
      await assert.rejects(open(graph, { signal: AbortSignal.abort(new Error('before')) }), /before/);
    }
  });

  it('leaves no thread, and does not keep the process', async () => {
    const dynamic = graphOf('int->int filter F { work pop * push 1 { int n = pop(); while (n > 0) n -= pop(); push(n); } } int->int pipeline Main { add F; }');
    const count = (): number => process.getActiveResourcesInfo().filter((name) => /Worker|MessagePort/.test(name)).length;
    const before = count();
    for (let k = 0; k < 3; ++k) {
      const session = await open(dynamic);
      assert.equal((await session.push([0, 3, 1])).length, 1);
      if (k === 0) await session.close();
      else if (k === 1) await session.end();
      else for await (const _ of session.process([[2, 0, 0, 0]])) break;
    }
    for (let k = 0; k < 100 && count() > before; ++k) await after(10);
    assert.equal(count(), before);
    const script = `import { open, elaborate } from ${JSON.stringify(new URL('../../../lib/stream/index.ts', import.meta.url).href)};
      const { graph } = await elaborate('int->int filter F { work pop * push 1 { int n = pop(); while (n > 0) n -= pop(); push(n); } } int->int pipeline Main { add F; }');
      const session = await open(graph);
      await session.push([0]);`;
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', script], { stdio: 'inherit' });
    const [code] = await once(child, 'close') as [number];
    assert.equal(code, 0);
  });

  it('runs in threads of their own', async () => {
    for (const graph of [radio, plain]) {
      const expected = [...(await run(graph, { input })).output as Float32Array];
      const found = await Promise.all([1, 2].map(async () => all((await open(graph, { thread: true })).process([input.subarray(0, 7000), input.subarray(7000)]))));
      assert.deepEqual(found, [expected, expected]);
      const few = input.subarray(0, 2000);
      const interpreted = await all((await open(graph, { thread: true, backend: 'interpret' })).process(few));
      assert.deepEqual(interpreted, [...(await run(graph, { input: few })).output as Float32Array]);
    }
    const endless = graphOf('int->int filter F { work pop 1 push 1 { int x = pop(); while (x != 5) x = x * x % 1000; push(x); } } int->int pipeline Main { add F; }');
    for (const backend of ['wasm', 'interpret'] as const) {
      const session = await open(endless, { thread: true, backend });
      const pushed = session.push([5, 5, 1]);
      await after(30);
      await session.close();
      await assert.rejects(pushed, { code: 'ERR_WARPLOOM_DISPOSED' });
    }
    const faulty = graphOf('int->int filter F { work pop 1 push 1 { push(10 / (pop() - 7)); } } int->int pipeline Main { add F; }');
    const session = await open<Int32Array>(faulty, { thread: true });
    assert.equal(session.backend, 'wasm');
    assert.deepEqual([...await session.push([8, 9, 7, 1])], [10, 5]);
    await assert.rejects(session.push([1]), { name: 'StreamRunError' });
    const recursive = graphOf('int->int filter F { int fact(int n) { if (n < 2) return 1; return n * fact(n - 1); } '
      + 'work pop 1 push 1 { push(fact(pop())); } } int->int pipeline Main { add F; }');
    const slow = await open<Int32Array>(recursive, { thread: true });
    assert.deepEqual([slow.backend, [...await slow.push([5])]], ['interpret', [120]]);
    await slow.close();
    await assert.rejects(open(recursive, { thread: true, backend: 'wasm' }), { code: 'ERR_WARPLOOM_UNSUPPORTED' });
  });

  it('refuses what does not fit', async () => {
    const wrong = (argument: string) => ({ code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });
    const session = await open(plain);
    for (const items of ['x', null, undefined, {}, 5]) await assert.rejects(session.push(items as unknown as number[]), wrong('items'));
    await assert.rejects(session.push(['x'] as unknown as number[]), wrong('items[0]'));
    await assert.rejects(session.pull(), wrong('graph'));
    for (const source of [undefined, 5, {}]) assert.throws(() => session.process(source as unknown as number[]), wrong('source'));
    assert.throws(() => session.process([], { bytes: 1 } as object), wrong('bytes'));
    assert.throws(() => session.duplex({ bits: true } as object), wrong('bits'));
    assert.throws(() => session.transform(null as unknown as object), wrong('options'));
    assert.equal((await session.push([1])).length, 1, 'and goes on');
    const source = await open(graphOf('void->int filter S { int n; work push 1 { push(n++); } } void->int pipeline Main { add S; }'), { chunk: 10 });
    await assert.rejects(source.push([1]), wrong('items'));
    assert.throws(() => source.process([1]), wrong('source'));
    assert.deepEqual([...await source.pull() as Int32Array, ...await source.pull() as Int32Array], Array.from({ length: 20 }, (_, i) => i));
    await assert.rejects(open(plain, { backend: 'js' as 'wasm' }), wrong('backend'));
    await assert.rejects(open(plain, { chunk: 0 }), wrong('chunk'));
    const two = graphOf('void->int filter S { int n; work push 1 { push(n++); } } '
      + 'void->void pipeline Main { add S; add splitjoin { split duplicate; add FileWriter<int>("a"); add FileWriter<int>("b"); join roundrobin(0, 0); }; }');
    await assert.rejects(open(two), wrong('graph'));
  });

  it('lets others have their turn, and ends in the middle of a long chunk', async () => {
    const stop = new AbortController();
    const session = await open(program('channel-vocoder'), { signal: stop.signal });
    await session.push(new Float32Array(5000));
    const working = session.push(new Float32Array(4e6).fill(0.5));
    let turns = 0;
    // By turns, not by time: a busy machine may end the chunk before a timer comes.
    const counter = setInterval(() => { if (++turns === 3) stop.abort(new Error('stop')); }, 1);
    await assert.rejects(working, /stop/);
    clearInterval(counter);
  });

  it('keeps no more memory the longer the stream', async () => {
    const chunk = Float32Array.from({ length: 50_000 }, (_, i) => Math.sin(i));
    const chunks = function* (count: number) { for (let i = 0; i < count; ++i) yield chunk; };
    let items = 0, most = 0;
    const used = (): number => {
      (globalThis as { gc?: () => void }).gc?.();
      const { heapUsed, external, arrayBuffers } = process.memoryUsage();
      return heapUsed + external + arrayBuffers;
    };
    const session = await open(plain, { backend: 'wasm' });
    let before = 0, blocks = 0;
    for await (const block of session.process(chunks(200))) {
      items += block.length;
      if (++blocks === 20) before = used();
      if (blocks > 20 && blocks % 20 === 0) most = Math.max(most, used());
    }
    assert.equal(items, 10_000_000);
    assert.ok(most - before < 3e7, `${most - before} bytes more`);
  });

  it('holds a thousand idle sessions in little memory', async () => {
    const sessions: StreamSession<Float32Array>[] = [];
    const before = process.memoryUsage.rss();
    for (let i = 0; i < 1000; ++i) {
      const session = await open<Float32Array>(i % 2 === 0 ? radio : plain);
      await session.push(input.subarray(0, 100));
      sessions.push(session);
    }
    const each = (process.memoryUsage.rss() - before) / 1000;
    assert.ok(each < 200_000, `${each} bytes each`);
    const expected = [...(await run(radio, { input: input.subarray(0, 500) })).output as Float32Array];
    for (const session of sessions.filter((_, i) => i % 50 === 0)) {
      const found = [...await session.push(input.subarray(100, 500)), ...await session.end()];
      assert.deepEqual(found, expected);
    }
    for (const session of sessions) await session.close();
  });
});
