// Firings run together and firings left out: programs of long sums, with odd rates and windows, give what the interpreter gives.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { compileCppTogether } from '../../../lib/stream/run/cpp.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import { graphOf, hasCompiler } from '../support.ts';
import { Random, randomInput } from './random-programs.ts';

/** A filter that sums over its window, in one of several forms. */
function sum(r: Random, name: string): string {
  const [taps, pop, push] = [8 + r.below(30), 1 + r.below(4), 1 + r.below(3)];
  const work = r.pick([
    `float s = 0; for (int i = 0; i < ${taps}; i++) s += h[i] * peek(i); for (int k = 0; k < ${push}; k++) push(s * (k + 0.3));`,
    `float s = peek(0); float m = 0; for (int i = ${taps - 1}; i >= 0; i--) { float x = h[i] * peek(i); s = s * 0.9 + x; m = max(m, x); }
      ${['push(s);', 'push(m);', 'push(s - m);'].slice(0, push).join(' ')}`,
    `for (int k = 0; k < ${push}; k++) { float s = 0.5; for (int i = 0; i < ${taps}; i++) s += h[(i + k) % ${taps}] * peek(${taps - 1} - i); push(s); }`,
    `float[${push}] s; for (int i = 0; i < ${taps}; i++) for (int k = 0; k < ${push}; k++) s[k] = s[k] + peek(i) * h[i];
      float t = 0; for (int i = 0; i < ${taps}; i++) { if (peek(i) > 0) t += peek(i); else t -= h[i]; } for (int k = 0; k < ${push}; k++) push(s[k] + t);`,
  ]);
  return `float->float filter ${name} { float[${taps}] h; init { for (int i = 0; i < ${taps}; i++) h[i] = sin(i * 0.7 + ${r.below(9)}); }
    work pop ${pop} push ${push} peek ${Math.max(taps, pop)} { ${work} for (int i = 0; i < ${pop}; i++) pop(); } }`;
}

/** A filter that throws most of its input away. */
function thin(r: Random, name: string): string {
  const keep = r.below(4);
  const pop = keep + 1 + r.below(7);
  return `float->float filter ${name} { work pop ${pop} push 2 { for (int i = 0; i < ${keep}; i++) pop(); push(pop()); ${
    r.pick(['push(1);', 'push(0.5);'])} for (int i = ${keep + 1}; i < ${pop}; i++) pop(); } }`;
}

function program(seed: number): string {
  const r = new Random(seed);
  const text = [sum(r, 'A'), sum(r, 'B'), sum(r, 'C'), thin(r, 'D'), thin(r, 'E')];
  const main = r.pick(['add A; add D; add B;', 'add A; add B; add D; add E; add C;',
    'add splitjoin { split duplicate; add A; add A; join roundrobin; } add B; add D;',
    'add splitjoin { split duplicate; add pipeline { add B; add D; } add pipeline { add B; add D; } join roundrobin(2); } add C;']);
  const used = text.filter((_, i) => main.includes(`add ${'ABCDE'[i]!};`));
  return `${used.join('\n')}\nfloat->float pipeline P { ${main} }`;
}

const plans = [{}, { maxMultiplicity: 1 }, { maxMultiplicity: 7 }, { blockBytes: 1 }];
const inputOf = (seed: number): number[] => randomInput(seed, 'float', 700 + seed);

describe('firings run together', function () {
  this.timeout(120_000);

  it('as WebAssembly, as the interpreter runs them', () => {
    let jammed = 0;
    for (let seed = 0; seed < 60; ++seed) {
      const source = program(seed);
      const graph = graphOf(source);
      const compiled = compileWasm(graph, plans[seed % plans.length]);
      jammed += compiled.plan.groups.filter(({ isJammed }) => isJammed).length;
      assert.deepEqual([...compiled.run(inputOf(seed)).output], interpretSync(graph, { input: inputOf(seed) }).output, source);
    }
    assert.ok(jammed > 100, String(jammed));
  });

  it('in C++ as the interpreter runs them', async function () {
    if (!hasCompiler()) this.skip();
    const cacheFolder = mkdtempSync(join(tmpdir(), 'warploom-test-'));
    try {
      const graphs = Array.from({ length: 20 }, (_, seed) => graphOf(program(100 + seed)));
      const compiled = await compileCppTogether(graphs, { cacheFolder, effort: 1 });
      for (const [i, graph] of graphs.entries()) {
        assert.deepEqual([...(await compiled[i]!.run(inputOf(i))).output], interpretSync(graph, { input: inputOf(i) }).output, program(100 + i));
      }
    } finally {
      rmSync(cacheFolder, { recursive: true, force: true });
    }
  });

  it('with loops whose ends depend on other loops or on data', () => {
    const work = (text: string): string => `float->float filter F { float[20] h; init { for (int i = 0; i < 20; i++) h[i] = i * 0.37; }
      work pop 1 push 1 peek 20 { float s = 0; ${text} push(s); pop(); } }`;
    for (const text of [
      'for (int a = 0; a < 20; a++) { float t = 0; for (int i = a; i < 20; i++) t += h[i] * peek(i - a); s += t; }',
      'for (int a = 1; a < 20; a++) { float t = 0; for (int i = a; i <= 19; i += 3) t += h[i - a] * peek(i); s = max(s, t); }',
      'int n = 5; for (int a = 0; a < 10; a++) for (int i = a; i < n; i++) { if (n < 19 && peek(i) > 0) n = n + 1; s += h[i] * peek(n); }',
      'int k = 1; for (int a = 0; a < 9; a++) for (int i = a; i < 20; i += k) { if (k < 4) k++; s += h[i] * peek(i); }',
      'for (int a = 0; a < 9; a++) { int e = a; for (int i = e; i < 20; i++) { if (e > 0) e = e - 1; s += h[i - e] * peek(i); } }',
      'int z = (int) abs(peek(0)) % 2; for (int a = 0; a < 20; a++) s += z != 0 && peek(a / z % 2 + 1) > 0 ? peek(a) : z == 0 ? 1 : peek((3 + z) / z);',
      'for (int a = 0; a < 20; a++) { for (int i = a; i < (int) abs(peek(0)) % 20; i++) s += peek(i - a); }',
    ]) {
      const graph = graphOf(work(text));
      assert.deepEqual([...compileWasm(graph).run(inputOf(1)).output], interpretSync(graph, { input: inputOf(1) }).output, text);
    }
  });

  it('leaves out firings whose items are thrown away, unless they can fail', () => {
    const fir = (index: string): string => `float->float filter Fir { float[16] h; init { for (int i = 0; i < 16; i++) h[i] = i; }
      work pop 1 push 1 peek 16 { float s = 0; for (int i = 0; i < 16; i++) s += h[${index}] * peek(i); push(s); pop(); } }
      float->float filter Thin { work pop 5 push 1 { pop(); pop(); push(pop()); pop(); pop(); } } float->float pipeline P { add Fir; add Thin; }`;
    assert.match(compileWasm(graphOf(fir('i'))).source, /function group_0\(n: i32\)[^}]*for n\d+: n\d+ = 0 to t\d+ step 4 /);
    const graph = graphOf(fir('(int) peek(i) & 31'));
    assert.match(compileWasm(graph).source, /function group_0\(n: i32\)[^}]*for n\d+: n\d+ = 0 to t\d+ step 8 /);
    assert.deepEqual([...compileWasm(graph).run(inputOf(0).map((x) => Math.abs(x) % 8)).output],
      interpretSync(graph, { input: inputOf(0).map((x) => Math.abs(x) % 8) }).output);
  });
});
