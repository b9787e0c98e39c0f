// Sessions by C++: a child process each, with the output of runs to the bit, whatever becomes of the process or its reader.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { benchmarkPrograms, randomInput } from '../../../examples/stream/programs.ts';
import { open, run, type StreamGraph } from '../../../lib/stream/index.ts';
import { cppLimits } from '../../../lib/stream/run/cpp.ts';
import { randomInput as randomItems, randomProgram } from '../emit/random-programs.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';
import { cut, inChunks } from './support.ts';

const backend = 'cpp';
const faulty = graphOf(`int->int filter F { int[4] t; int n; work pop 1 push 1 { int x = pop(); t[x] += 1; push(n++ + t[x]); } }
  int->int pipeline Main { add Identity<int>; add F; }`);
/** Loops as often as an item says; the sum is kept from firing to firing. */
const looping = graphOf(`int->int filter L { int s; work pop 1 push 1 { int n = pop(); int x = 1; while (x != n) { x = x * 3 + 1; s = s ^ x; } push(s); } }
  int->int pipeline Main { add L; }`);

/** Child processes of this one. */
function children(): number[] {
  const found = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim();
  return found === '' ? [] : found.split(' ').map(Number);
}

/** Waits until the processes of sessions that are over are gone. */
async function none(before: readonly number[]): Promise<void> {
  for (let i = 0; i < 3000; ++i) {
    if (children().every((id) => before.includes(id))) return;
    await delay(10);
  }
  assert.fail(`left: ${children().join()}`);
}

/** What a run gives, or its error. */
const runOf = (graph: StreamGraph, input: ArrayLike<number>) => run(graph, { input, backend: 'wasm' }).then(
  ({ output, printed }) => ({ output: [...output as Int32Array], text: printed, error: undefined }),
  (error: unknown) => ({ output: [], text: '', error: error as Error }));

describe('sessions by C++', function () {
  this.timeout(60_000);
  const isLinux = process.platform === 'linux';

  for (const name of ['fm-radio', 'filterbank', 'bitonic']) {
    it(`run ${name} in chunks`, async () => {
      const sample = benchmarkPrograms.find((each) => each.name === name)!;
      const graph = program(name);
      const input = randomInput(sample, 3 * sample.inputItems + 3013);
      const expected = await runOf(graph, input);
      for (const how of [1, 7, 997, 'random', 1e9] as const) {
        const found = await inChunks(graph, cut(input, how), { backend });
        assert.deepEqual([found.backend, found.note, found.error], ['cpp', undefined, undefined]);
        assert.deepEqual(found.output, expected.output, `in chunks of ${how}`);
      }
    });
  }

  it('run random programs', async () => {
    for (let seed = 0; seed < 5; ++seed) {
      const { source, type } = randomProgram(seed);
      const graph = graphOf(source);
      for (const items of [0, 1, 5, 151]) {
        const input = randomItems(seed, type, items);
        const expected = await runOf(graph, input);
        const found = await inChunks(graph, cut(input, 'random', seed), { backend });
        assert.equal((found.error as Error | undefined)?.message, expected.error?.message, `seed ${seed}`);
        if (expected.error === undefined) assert.deepEqual(found.output, expected.output, `seed ${seed}, ${items} items\n${source}`);
      }
    }
  });

  it('keep state, windows, preworks, files and records of several types, and print in order', async () => {
    const graph = graphOf(`struct P { float x; int n; }
      P->P filter A { int n; float[3] h; prework push 2 { P p; p.n = 7; push(p); push(p); }
        work pop 3 push 2 peek 5 { P p = peek(4); h[n % 3] = p.x; n++; p.n += n; p.x += h[(n + 1) % 3]; println(p.n); push(p); P q = pop(); push(pop()); pop(); } }
      void->int filter R { work push 1 { push(random(100)); } }
      P->P filter B { work pop 1 push 1 peek 2 { P p = pop(); println(p.x); push(p); } }
      P->P pipeline Main { add A; add Identity<P>; add B; }`);
    const input = Array.from({ length: 2 * 200 }, (_, i) => (i % 2 === 0 ? (i % 17) / 4 : i));
    const expected = await runOf(graph, input);
    assert.ok(expected.output.length > 200 && expected.text.length > 200);
    for (const how of [1, 13, 'random', 1000] as const) {
      const found = await inChunks(graph, cut(input, how), { backend });
      assert.deepEqual([found.error, found.output, found.text], [undefined, expected.output, expected.text]);
    }
    const file = graphOf('void->int pipeline Main { add FileReader<int>("x"); add F; } int->int filter F { int s; work pop 2 push 1 { s += pop() * pop(); push(s); } }');
    const files = { x: new Uint8Array(Int32Array.of(5, 6, 7, 8, 9, 10, 11, 12).buffer) };
    const all = await run(file, { iterations: 300, files });
    await using session = await open<Int32Array>(file, { backend, files, chunk: 100 });
    assert.deepEqual([...await session.pull(), ...await session.pull(), ...await session.pull()], [...all.output as Int32Array]);
  });

  it('give what comes before a fault, then its message', async () => {
    const input = Array.from({ length: 301 }, (_, i) => (i === 150 ? -1 : i % 4));
    const { error } = await runOf(faulty, input);
    const before = (await runOf(faulty, input.slice(0, 150))).output;
    for (const how of [1, 7, 1000]) {
      const found = await inChunks(faulty, cut(input, how), { backend });
      assert.equal((found.error as Error).message, error?.message);
      assert.deepEqual(found.output, before);
    }
  });

  it('fail with a typed error when the process dies, and the next session runs', async () => {
    if (!isLinux) return;
    const before = children();
    const session = await open<Int32Array>(faulty, { backend });
    assert.deepEqual([...await session.push([1, 1])], [1, 3]);
    const [own] = children().filter((id) => !before.includes(id));
    process.kill(own!, 'SIGKILL');
    const failure = { code: 'ERR_WARPLOOM_SYSTEM_FAILED', message: /compiled program died by SIGKILL/ };
    await assert.rejects(async () => { for (;;) await session.push([1]); }, failure);
    await assert.rejects(session.push([1]), failure);
    assert.ok(session.closed);
    await none(before);
    assert.deepEqual((await inChunks(faulty, [[1, 1]], { backend })).output, [1, 3]);
  });

  it('end in the middle of a loop, by a signal and by close', async () => {
    const before = children();
    const control = new AbortController(), reason = new Error('enough');
    const session = await open(looping, { backend, signal: control.signal });
    const made = session.push([0]);
    setTimeout(() => { control.abort(reason); }, 30);
    await assert.rejects(made, reason);
    const other = await open(looping, { backend });
    const pending = other.push([0]);
    await Promise.all([other.close(), assert.rejects(pending, { code: 'ERR_WARPLOOM_DISPOSED' })]);
    const aborted = AbortSignal.abort(reason);
    await assert.rejects(open(looping, { backend, signal: aborted }), reason);
    if (isLinux) await none(before);
  });

  it('read no more of a source than is taken, and hold no more memory the longer they run', async () => {
    const graph = graphOf('float->float filter F { float s; work pop 1 push 1 { s = s * 0.5 + pop(); push(s); } } float->float pipeline Main { add F; }');
    const before = isLinux ? children() : [];
    let read = 0;
    function* source(): Generator<Float32Array> {
      for (;;) {
        ++read;
        yield new Float32Array(65_536).fill(read);
      }
    }
    const session = await open<Float32Array>(graph, { backend });
    const [own] = isLinux ? children().filter((id) => !before.includes(id)) : [];
    const peak = (): number => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${own}/status`, 'utf8'))?.[1]);
    let blocks = 0, early = 0, late = 0;
    for await (const block of session.process(source())) {
      ++blocks;
      assert.equal(block.length, 65_536);
      if (blocks % 50 === 0) await delay(20);
      assert.ok(read <= blocks + 1, `${read} chunks for ${blocks} blocks`);
      if (blocks === 20 && isLinux) early = peak();
      if (blocks === 400) {
        if (isLinux) late = peak();
        break;
      }
    }
    if (isLinux) assert.ok(early > 0 && late <= early + 256, `${early} KB, then ${late}`);
    assert.ok(session.closed);
    if (isLinux) await none(before);
  });

  it('refuse what they do not take, and programs that no compiler gets', async () => {
    const invalid = { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' };
    await assert.rejects(open(faulty, { backend, thread: true }), { ...invalid, argument: 'thread' });
    await assert.rejects(open(faulty, { backend: 'wasm', compiler: 'g++' }), { ...invalid, argument: 'compiler' });
    await assert.rejects(open(faulty, { backend, compiler: 'no-such-compiler' }), { code: 'ERR_WARPLOOM_UNAVAILABLE' });
    const dynamic = graphOf('int->int filter D { work pop * push * { push(pop()); } } int->int pipeline Main { add D; }');
    await assert.rejects(open(dynamic, { backend }), { code: 'ERR_WARPLOOM_UNSUPPORTED' });
    const { lines } = cppLimits;
    cppLimits.lines = 10;
    try {
      const graph = graphOf(`int->int pipeline Main { for (int i = 0; i < 30; i++) add F(i); }
        int->int filter F(int a) { int s; work pop 1 push 1 { s += pop() * a; push(s % 7); } }`);
      const session = await open(graph, { backend });
      assert.equal(session.backend, 'wasm');
      assert.match(session.note!, /too large for a C\+\+ compiler/);
      await session.close();
    } finally {
      cppLimits.lines = lines;
    }
  });
});
