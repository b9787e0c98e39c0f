// C++ of programs with many nodes: functions of one shape stand there once, with equal output; what is too large runs as WebAssembly.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cppProgram } from '../../../lib/stream/targets/cpp.ts';
import { planProgram } from '../../../lib/stream/plan/plan.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { run } from '../../../lib/stream/index.ts';
import { compileCppTogether, cppLimits, defaultCppPlan } from '../../../lib/stream/run/cpp.ts';
import { graphOf, hasCompiler } from '../support.ts';

const wide = (n: number, filter: string): string => `float->float splitjoin P { split duplicate;
  for (int i = 0; i < ${n}; i++) add F(i); join roundrobin; } ${filter}`;
const programs: Readonly<Record<string, (n: number) => string>> = {
  'constants in the code': (n) => wide(n, 'float->float filter F(int k) { work push 1 pop 1 { push(pop() * (k - 3.5) + 0.5); } }'),
  'tables, windows and loops': (n) => wide(n, `float->float filter F(int k) { float[40] h; init { for (int i = 0; i < 40; i++) h[i] = i * k - 7; }
    work push 1 pop 1 peek 40 { float s = 0; for (int i = 0; i < 40; i++) s += h[i] * peek(i); push(s); pop(); } }`),
  'state, prework and faults that may come': (n) => wide(n, `float->float filter F(int k) { float[8] a; int at = k;
    prework push 1 pop 1 { a[0] = pop(); push(k); } work push 1 pop 1 { int i = (int) pop(); a[(at + i) & 7] += i / (k + 1.5); at = at + 3; push(a[i & 7] / (1 + i)); } }`),
  'a pipeline': (n) => `int->int pipeline P { for (int i = 0; i < ${n}; i++) add F(i); }
    int->int filter F(int k) { int sum; work push 1 pop 1 { sum += pop() % (k + 2); push(sum ^ k); } }`,
};
const input = Array.from({ length: 150 }, (_, i) => (i * 37) % 19);

/** Functions and lines of the program's own. */
function sizeOf(text: string): { functions: number; lines: number } {
  const { body } = cppProgram(planProgram(graphOf(text), defaultCppPlan));
  return { functions: body.split('\n').filter((line) => /static void (fire|first|group)s?_\d/.test(line)).length, lines: body.split('\n').length };
}

describe('C++ of many nodes', function () {
  this.timeout(240_000);

  for (const [name, text] of Object.entries(programs)) {
    it(`has a function for each shape: ${name}`, () => {
      const [some, more] = [sizeOf(text(20)), sizeOf(text(320))];
      assert.ok(more.functions <= some.functions + 12, `${some.functions} functions of 20 nodes, ${more.functions} of 320`);
      assert.ok((more.lines - some.lines) / 300 < 30, `${more.lines} lines`);
    });
  }

  it('does not spend a compiler\'s effort on long functions that are called rarely', () => {
    const functions = (n: number) => cppProgram(planProgram(graphOf(programs['constants in the code']!(n)), defaultCppPlan)).body.split('\n')
      .filter((line) => /^__attribute__.* static void (fires?|first)_/.test(line));
    const isSpared = (line: string) => line.includes('optimize("O0")');
    assert.equal(functions(20).filter(isSpared).length, 0);
    // The splitter's and the joiner's.
    assert.equal(functions(320).filter(isSpared).length, 2);
  });

  it('gives what the interpreter gives', async function () {
    if (!hasCompiler()) this.skip();
    const folder = mkdtempSync(join(tmpdir(), 'warploom-test-'));
    try {
      const graphs = Object.values(programs).map((text) => graphOf(text(24)));
      // Groups are shared as in programs of many lines too.
      const compiled = await compileCppTogether(graphs, { cacheFolder: folder, effort: 1, shareFrom: 0 });
      for (const [at, graph] of graphs.entries()) {
        const expected = interpretSync(graph, { input }).output;
        assert.ok(expected.length > 100);
        assert.deepEqual(Array.from((await compiled[at]!.run(input)).output), Array.from(expected), Object.keys(programs)[at]);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('runs as WebAssembly where a compiler would take minutes, and says so', async function () {
    if (!hasCompiler()) this.skip();
    const graph = graphOf(programs['a pipeline']!(40));
    const { lines } = cppLimits;
    cppLimits.lines = 100;
    try {
      const found = await run(graph, { backend: 'cpp', input });
      assert.equal(found.backend, 'wasm');
      assert.match(found.note!, /too large for a C\+\+ compiler/);
      assert.deepEqual(Array.from(found.output), Array.from(interpretSync(graph, { input }).output));
    } finally {
      cppLimits.lines = lines;
    }
  });

  it('is compiled within the time of the run', async function () {
    if (!hasCompiler()) this.skip();
    const graph = graphOf(programs['tables, windows and loops']!(61));
    await assert.rejects(run(graph, { backend: 'cpp', input, timeout: 40 }), { code: 'ERR_WARPLOOM_SYSTEM_FAILED', message: /took more than 40 ms/ });
  });
});
