// stream.run: every backend gives the same, limits and options are checked, and a missing compiler is said.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ArgumentError, WarploomError } from '../../../lib/core/errors.ts';
import { interpret, NoCompilerError, run, type StreamRunOptions } from '../../../lib/stream/index.ts';
import { intFilter } from '../interpret/cases.ts';
import { graphOf, hasCompiler } from '../support.ts';

const smooth = graphOf(`float->float filter Mean(int n) { work pop 1 push 1 peek n {
  float s = 0; for (int i = 0; i < n; i++) s += peek(i); push(s / n); pop(); } }
  float->float pipeline P { add Mean(7); add Mean(3); }`);
const input = Float32Array.from({ length: 500 }, (_, i) => Math.sin(i) * 10);

/** Calls with no program on PATH. */
async function withoutPath<T>(body: () => Promise<T>): Promise<T> {
  const { PATH } = process.env;
  process.env.PATH = '';
  try {
    return await body();
  } finally {
    process.env.PATH = PATH;
  }
}

describe('stream.run', function () {
  this.timeout(120_000);
  const folder = mkdtempSync(join(tmpdir(), 'warploom-test-'));
  const { XDG_CACHE_HOME } = process.env;
  before(() => { process.env.XDG_CACHE_HOME = folder; });
  after(() => {
    if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME;
    else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
    rmSync(folder, { recursive: true, force: true });
  });

  it('gives the same by every backend and any number of threads', async function () {
    const expected = Array.from((await run(smooth, { input, backend: 'interpret' })).output);
    assert.equal(expected.length, 492);
    for (const way of [{}, { backend: 'auto' }, { backend: 'wasm' }, { backend: 'wasm', threads: 2 }] satisfies StreamRunOptions[]) {
      const found = await run(smooth, { input, ...way });
      assert.deepEqual(Array.from(found.output), expected, JSON.stringify(way));
      assert.equal(found.backend, 'wasm');
      assert.ok(found.milliseconds > 0);
    }
  });

  it('counts the firings of each run, whatever happens to those of earlier ones', async () => {
    const countsOf = async (length: number, items?: number): Promise<number[]> => {
      const made = await run(smooth, { input: input.subarray(0, length), backend: 'wasm', ...(items === undefined ? {} : { items }) });
      return (made as unknown as { firings: number[] }).firings;
    };
    for (const [length, items] of [[100], [100, 20], [100, 21], [99], [100], [98, 20], [97], [100, 20]] as const) {
      const outputs = items ?? length - 8, found = await countsOf(length, items);
      assert.deepEqual(found, [outputs + 2, outputs], `${length} ${items}`);
      found.fill(-1);
    }
  });

  it("takes 'js', the former name of 'wasm', and says so", async () => {
    const former = await run(smooth, { input, backend: 'js' });
    assert.deepEqual(Array.from(former.output), Array.from((await run(smooth, { input, backend: 'wasm' })).output));
    assert.equal(former.backend, 'wasm');
    assert.match(former.note ?? '', /'js' is called 'wasm'/);
    assert.equal((await run(smooth, { input })).note, undefined);
  });

  it('gives the same by C++, and nearly that where operations may be reordered', async function () {
    if (!hasCompiler()) this.skip();
    const expected = Array.from((await run(smooth, { input, backend: 'interpret' })).output);
    for (const threads of [undefined, 2]) {
      const found = await run(smooth, { input, backend: 'cpp', ...(threads === undefined ? {} : { threads }) });
      assert.deepEqual(Array.from(found.output), expected);
      assert.equal(found.backend, 'cpp');
    }
    const fast = await run(smooth, { input, backend: 'cpp', fast: true });
    for (const [i, x] of expected.entries()) assert.ok(Math.abs(fast.output[i]! - x) < 1e-4);
  });

  for (const backend of ['interpret', 'wasm', 'cpp'] as const) {
    it(`ends when enough lines are printed, however they are: ${backend}`, async function () {
      if (backend === 'cpp' && !hasCompiler()) this.skip();
      const counter = 'void->int filter Source { int n; work push 1 { push(n); n++; } }';
      const program = (body: string) => graphOf(`${counter} int->void filter Print { work pop 1 { ${body} } }
        void->void pipeline Main { add Source; add Print; }`);
      for (const [body, text] of [
        ['print(pop()); print("\\n");', '0\n1\n2\n'], ['int x = pop(); if (x % 5 == 0) println(x); else print("-");', '0\n----5\n----10\n'],
        ['print("a\\nb"); println(pop());', 'a\nb0\na\n'],
      ] as const) {
        assert.equal((await run(program(body), { backend, items: 3 })).printed, text);
      }
      await assert.rejects(run(program('print(pop());'), { backend, items: 3 }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'items' });
      if (backend === 'interpret') return;
      // A line that never comes.
      const never = program('int x = pop(); if (x < 0 && x > 5) println(x);');
      await assert.rejects(run(never, { backend, items: 1, timeout: 1000 }), { code: 'ERR_WARPLOOM_SYSTEM_FAILED' });
    });

    it(`refuses output and printing without end: ${backend}`, async function () {
      if (backend === 'cpp' && !hasCompiler()) this.skip();
      const source = graphOf('void->float filter Main { float x; work push 1 { push(x); x = x + 1; } }', { main: 'Main' });
      if (backend === 'interpret') await assert.rejects(interpret(source, { items: 1000, limits: { bytes: 4000 } }), /S5006/);
      else await assert.rejects(run(source, { backend, items: 3e9 }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'items' });
      const chatter = graphOf('void->void filter Main { work { for (int i = 0; i < 100000; i++) print(i); } }', { main: 'Main' });
      await assert.rejects(run(chatter, { backend, iterations: 1000 }), /prints more than 10000000 values/);
    });
  }

  it('shares the work by times that are given', async () => {
    const state = graphOf(`int->int filter S { int s; work pop 1 push 1 { s += pop(); for (int i = 0; i < 50; i++) s = s * 3 + i; push(s); } }
      int->int pipeline P { add S; add S; add S; }`);
    const many = Int32Array.from({ length: 20_000 }, (_, i) => i);
    const alone = (await run(state, { input: many, backend: 'wasm', threads: 1 })).output;
    assert.deepEqual((await run(state, { input: many, threads: 2, costs: [100, 50, 50] })).output, alone);
    assert.deepEqual((await run(state, { input: many, threads: 2, costs: 'measured' })).output, alone);
    for (const costs of [[], [1], [1, 2, NaN], [1, 2, -1]]) {
      await assert.rejects(run(state, { input: many, threads: 2, costs }), (error) => error instanceof ArgumentError && error.argument === 'costs');
    }
  });

  it('says that there is no compiler, and does without one where it may', async () => {
    await withoutPath(async () => {
      await assert.rejects(run(smooth, { input, backend: 'cpp' }), (error) => error instanceof NoCompilerError
        && error.code === 'ERR_WARPLOOM_UNAVAILABLE' && /run as WebAssembly/.test(error.message));
      assert.equal((await run(smooth, { input })).backend, 'wasm');
    });
    await assert.rejects(run(smooth, { input, backend: 'cpp', compiler: 'no-such-compiler' }), NoCompilerError);
  });

  it('runs long programs beside the calling thread, where they can be stopped', async () => {
    const slow = graphOf(intFilter('int x = pop(); for (int i = 0; i < 2000000000; i++) x = x * 3 + i; push(x);'));
    const many = new Int32Array(1000);
    await assert.rejects(run(slow, { input: many, timeout: 300 }), (error) => error instanceof WarploomError
      && error.code === 'ERR_WARPLOOM_SYSTEM_FAILED' && /300 ms/.test(error.message));
    const controller = new AbortController();
    setTimeout(() => { controller.abort(new Error('enough')); }, 100);
    await assert.rejects(run(slow, { input: many, threads: 1, signal: controller.signal }), /enough/);
  });

  it('refuses options that cannot be, by name', async () => {
    for (const [options, name] of [
      [{ threads: 0 }, 'threads'], [{ threads: 1.5 }, 'threads'], [{ threads: 2000 }, 'threads'], [{ timeout: 0 }, 'timeout'], [{ timeout: NaN }, 'timeout'],
      [{ fast: true }, 'fast'], [{ compiler: 'g++', backend: 'wasm' }, 'compiler'], [{ backend: 'gpu' as 'wasm' }, 'backend'],
      [{ thread: 2 }, 'thread'], [{ limits: { step: 1 } }, 'limits.step'], [{ limits: { steps: -1 } }, 'limits.steps'], [{ seed: 0.5 }, 'seed'],
      [{ files: { a: [1] } }, "files['a']"], [{ input: ['1'] }, 'input[0]'], [{ input: 5 }, 'input'], [{ signal: {} }, 'signal'], [{ items: 1, iterations: 1 }, 'iterations'],
    ] as const) {
      await assert.rejects(run(smooth, { input, ...options as object }), (error) => error instanceof ArgumentError && error.argument === name
        && error.expected !== '' && error.received !== '', name);
    }
    await assert.rejects(run(smooth, { input, thread: 2 } as object), /did you mean 'threads'\?/);
    const { output } = await run(smooth, { input, backend: 'interpret', limits: { steps: undefined } });
    assert.equal(output.length, input.length - 8);
  });
});
