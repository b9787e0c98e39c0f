// Programs compiled to C++, many in one file: every feature and random programs, bit for bit as the interpreter runs them.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WarploomError } from '../../../lib/core/errors.ts';
import { StreamRunError } from '../../../lib/stream/interpret/error.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { NoCompilerError } from '../../../lib/core/compile/compiler.ts';
import { compileCpp, compileCppTogether, type CppCompileOptions } from '../../../lib/stream/run/cpp.ts';
import { arithmeticCases, filterCases, graphCases, intFilter, statementCases, type Case } from '../interpret/cases.ts';
import { graphOf, hasCompiler } from '../support.ts';
import { casesOf } from '../../support/thorough.ts';
import { randomInput, randomProgram } from './random-programs.ts';

const cases: readonly Case[] = [...arithmeticCases, ...filterCases, ...graphCases, ...statementCases].filter(({ name }) => name !== 'dynamic rates');
const randoms = casesOf(12, 30);

describe('C++ back end', function () {
  this.timeout(240_000);
  const folder = mkdtempSync(join(tmpdir(), 'warploom-test-'));
  const options: CppCompileOptions = { cacheFolder: folder, effort: 1 };
  before(function () {
    // A machine without a compiler has WebAssembly alone.
    if (!hasCompiler()) this.skip();
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('runs every feature as the interpreter does', async () => {
    const compiled = await compileCppTogether(cases.map(({ source }) => graphOf(source)), options);
    for (const [i, { name, input, items, output }] of cases.entries()) {
      const found = await compiled[i]!.run(input, items === undefined ? {} : { items });
      assert.deepEqual([...found.output], output.map((x) => (x === 0 ? 0 : x)), name);
    }
  });

  it('runs every feature so in its baseline mode', async () => {
    const some = cases.filter((_, i) => i % 3 === 0);
    const compiled = await compileCppTogether(some.map(({ source }) => graphOf(source)), { ...options, baseline: true });
    for (const [i, { name, input, items, output }] of some.entries()) {
      const found = await compiled[i]!.run(input, items === undefined ? {} : { items });
      assert.deepEqual([...found.output], output.map((x) => (x === 0 ? 0 : x)), name);
    }
  });

  it('runs random programs as the interpreter does', async () => {
    const made = Array.from({ length: randoms }, (_, i) => randomProgram(1000 + i));
    const graphs = made.map(({ source }) => graphOf(source));
    const compiled = await compileCppTogether(graphs, options);
    for (const [i, { source, type }] of made.entries()) {
      const input = randomInput(i, type, 200);
      const reference = interpretSync(graphs[i]!, { input });
      const found = await compiled[i]!.run(input);
      assert.deepEqual([...found.output], reference.output, source);
    }
  });

  it('reports faults with their place in the source', async () => {
    const compiled = await compileCpp(graphOf(intFilter('int x = pop(); push(100 / x);')), options);
    assert.deepEqual([...(await compiled.run([1, 2, 50])).output], [100, 50, 2]);
    await assert.rejects(compiled.run([1, 0]), (error) => error instanceof StreamRunError && error.diagnostic.code === 'S5002'
      && error.diagnostic.span.file === 0);
  });

  it('stops a program that does not end', async () => {
    const compiled = await compileCpp(graphOf(intFilter('int x = pop(); while (x != 0) x = x | 1; push(x);')), options);
    await assert.rejects(compiled.run([1], { maxTurns: 1e6 }), (error) => error instanceof StreamRunError && error.diagnostic.code === 'S4101');
    await assert.rejects(compiled.run([1], { maxTurns: 1e15, timeout: 300 }), (error) => error instanceof WarploomError
      && error.code === 'ERR_WARPLOOM_SYSTEM_FAILED' && /300 ms/.test(error.message));
    const controller = new AbortController();
    setTimeout(() => { controller.abort(new Error('enough')); }, 50);
    await assert.rejects(compiled.run([1], { maxTurns: 1e15, signal: controller.signal }), /enough/);
  });

  it('shares the work of a stateless program among processes', async () => {
    const graph = graphOf(`float->float filter Fir(int n) { work pop 1 push 1 peek n {
      float s = 0; for (int i = 0; i < n; i++) s += peek(i) * (i + 0.5); push(s); pop(); } }
      float->float pipeline P { add Fir(9); add Fir(4); }`);
    const compiled = await compileCpp(graph, options);
    const input = Float32Array.from({ length: 3001 }, (_, i) => Math.sin(i) * 10);
    const alone = await compiled.run(input);
    assert.deepEqual([...alone.output], interpretSync(graph, { input }).output);
    assert.deepEqual((await compiled.run(input, { threads: 3 })).output, alone.output);
  });

  it('says what is missing where there is no compiler', async () => {
    const graph = graphOf(intFilter('push(pop());'));
    await assert.rejects(compileCpp(graph, { ...options, compiler: 'no-such-compiler' }), (error) => error instanceof NoCompilerError
      && error.code === 'ERR_WARPLOOM_UNAVAILABLE' && /no-such-compiler/.test(error.message));
    await assert.rejects(compileCpp(graph, { ...options, compiler: '/nowhere/g++' }), NoCompilerError);
  });
});
