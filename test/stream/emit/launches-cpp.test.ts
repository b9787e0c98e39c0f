// Launches on threads of a compiled program: the output of one thread, bit for bit, and the same faults and ends.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WarploomError } from '../../../lib/core/errors.ts';
import { randomFloats } from '../../../examples/stream/programs.ts';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { StreamRunError } from '../../../lib/stream/interpret/error.ts';
import { compileCpp } from '../../../lib/stream/run/cpp.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import type { RunOptions, ThreadOptions } from '../../../lib/stream/run/prepare.ts';
import { filterCases, graphCases } from '../interpret/cases.ts';
import { program } from '../programs/support.ts';
import { graphOf, hasCompiler } from '../support.ts';
import { randomInput, randomProgram } from './random-programs.ts';
import { twoFaults, twoFaultsInput } from './two-faults.ts';

const short: ThreadOptions = { launchMicroseconds: 0, pieces: false };

describe('launches on threads of C++', function () {
  this.timeout(240_000);
  const cacheFolder = mkdtempSync(join(tmpdir(), 'warploom-test-'));
  before(function () {
    if (!hasCompiler()) this.skip();
  });
  after(() => rmSync(cacheFolder, { recursive: true, force: true }));

  async function agrees(graph: StreamGraph, input: ArrayLike<number> | undefined, options: RunOptions = {}, what = ''): Promise<void> {
    const expected = compileWasm(graph).run(input, options);
    const compiled = await compileCpp(graph, { cacheFolder, effort: 1 });
    for (const threads of [2, 3, 5]) {
      // With long firings a core has several tasks in a launch, which others may take.
      const costs = threads === 2 ? {} : { costs: graph.nodes.map(({ id }) => 1000 + 100 * (id % 7)) };
      const found = await compiled.run(input, { ...short, launchMicroseconds: threads === 3 ? 0.5 : 0, ...costs, ...options, threads });
      assert.deepEqual([found.output, found.printed, found.files, found.firings, found.exhausted],
        [expected.output, expected.printed, expected.files, expected.firings, expected.exhausted], `${what}, ${threads} threads`);
    }
  }

  it('give features their output', async () => {
    const some = [...graphCases, ...filterCases.filter(({ name }) => /prework|file|iter|state|print/i.test(name))].filter((_, i) => i % 3 === 0);
    for (const { name, source, input, items } of some) await agrees(graphOf(source), input, items === undefined ? {} : { items }, name);
  });

  it('give random programs their output', async () => {
    for (let seed = 5000; seed < 5003; ++seed) {
      const { source, type } = randomProgram(seed);
      await agrees(graphOf(source), randomInput(seed, type, 700), {}, source);
    }
  });

  it('give programs with state, loops, windows and any end their output', async () => {
    await agrees(program('iir'), randomFloats(5000));
    await agrees(program('echo'), randomFloats(9000));
    await agrees(program('fm-stereo'), randomFloats(30_000));
    await agrees(program('fm-radio'), randomFloats(3000), { items: 333 });
  });

  it('and pieces join without a seam', async () => {
    const graph = program('fm-radio');
    const compiled = await compileCpp(graph, { cacheFolder, effort: 1 });
    const input = randomFloats(5000);
    for (const options of [{}, { items: 801 }]) {
      const expected = compileWasm(graph).run(input, options);
      for (const threads of [2, 3, 5]) {
        const found = await compiled.run(input, { threads, ...options });
        assert.deepEqual([found.output, found.exhausted], [expected.output, expected.exhausted]);
      }
    }
    const faulty = await compileCpp(graphOf('int->int filter F { work pop 1 push 1 { int x = pop(); push(x == 7 ? x % (x - 7) : 1 / x); } } int->int pipeline P { add F; }'),
      { cacheFolder, effort: 1 });
    const ones = new Int32Array(1000).fill(1);
    ones[300] = 7;
    ones[700] = 0;
    await assert.rejects(faulty.run(ones, { threads: 4 }), (error) => error instanceof StreamRunError && /%/.test(error.message));
    assert.deepEqual((await faulty.run(ones.subarray(0, 300), { threads: 4 })).output, new Int32Array(300).fill(1));
  });

  it('go on with earlier iterations after a fault, in the same task too', async () => {
    const compiled = await compileCpp(twoFaults, { cacheFolder, effort: 1 });
    for (const behind of [64, 80, 96, 97, 112, 128]) {
      await assert.rejects(compiled.run(twoFaultsInput(behind), { ...short, costs: [1000, 1100, 1200, 1300, 1400], threads: 2 }),
        (error) => error instanceof StreamRunError && error.diagnostic.code === 'S5001', `${behind} items behind`);
    }
  });

  it('end with the first fault, after the time, or when told', async () => {
    const graph = graphOf(`
      int->int filter A { int n; work pop 1 push 1 { n++; int x = pop(); while (x > 5) x = x | 8; push(n == 1500 ? 1 / (x - 1) : x); } }
      int->int filter B { int n; int[4] t; work pop 1 push 1 { n++; t[n == 1499 ? n : 0] = 1; push(pop()); } }
      int->int pipeline P { add A; add B; add A; }`);
    const compiled = await compileCpp(graph, { cacheFolder, effort: 1 });
    const ones = new Int32Array(4000).fill(1);
    const run = (input: Int32Array, options: ThreadOptions) => compiled.run(input, { ...short, threads: 3, ...options });
    await assert.rejects(run(ones, {}), (error) => error instanceof StreamRunError && error.diagnostic.code === 'S5001');
    const late = ones.map((x, i) => (i === 1000 ? 6 : x));
    await assert.rejects(run(late, { maxTurns: 1e6 }), (error) => error instanceof StreamRunError && error.diagnostic.code === 'S4101');
    const controller = new AbortController();
    setTimeout(() => { controller.abort(new Error('enough')); }, 150);
    await Promise.all([
      assert.rejects(run(late, { maxTurns: 1e15, timeout: 300 }), (error) => error instanceof WarploomError && /300 ms/.test(error.message)),
      assert.rejects(run(late, { maxTurns: 1e15, signal: controller.signal }), /enough/),
    ]);
    assert.equal((await run(ones.subarray(0, 1000), {})).output.length, 1000);
  });
});
