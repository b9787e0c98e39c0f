// Elaboration ends with the signal and when the time is over, wherever code of the program loops, and lets timers fire meanwhile.
import assert from 'node:assert/strict';
import { describeGraph, elaborate, run, pipeline, filter, type CompileOptions } from '../../../lib/stream/index.ts';

const sink = 'int->void filter Out { work pop 1 { println(pop()); } }\n';
const counter = 'void->int filter A { int n; work push 1 { push(n++); } }\n';
/** Programs that loop until their steps are used up: for hours. */
const endless: Readonly<Record<string, string>> = {
  init: `void->int filter A { int n; init { while (n >= 0) { n = (n + 1) & 255; } } work push 1 { push(n); } } ${sink}void->void pipeline P { add A; add Out; }`,
  'a function of init': `void->int filter A { int n; int spin(int x) { do { x = (x + 1) & 255; } while (x >= 0); return x; } init { n = spin(3); }
    work push 1 { push(n); } } ${sink}void->void pipeline P { add A; add Out; }`,
  'the body of a pipeline': `${counter}${sink}void->void pipeline P { add A; int k = 1; while (k > 0) { k = (k & 3) + 1; } add Out; }`,
  'the body of an inner one': `${counter}${sink}void->int pipeline Q { for (int i = 1; i > 0; i = (i & 7) + 1) { } add A; } void->void pipeline P { add Q; add Out; }`,
  'a section of constants': `static { int T; init { T = 1; while (T > 0) { T = (T & 3) + 1; } } }
    void->int filter A { work push 1 { push(T); } } ${sink}void->void pipeline P { add A; add Out; }`,
};
const limits = { steps: 1e13 };
const good = async (options: CompileOptions = {}): Promise<string> =>
  describeGraph((await elaborate(`${counter}${sink}void->void pipeline P { add A; add Out; }`, options)).graph);

describe('elaborations are stopped', function () {
  this.timeout(60_000);
  for (const [name, source] of Object.entries(endless)) {
    it(`in ${name}`, async () => {
      const stop = new AbortController();
      // It would never come if the thread were kept.
      setTimeout(() => { stop.abort(new Error('enough')); }, 300);
      await assert.rejects(elaborate(source, { limits, signal: stop.signal }), /^Error: enough$/);
      await assert.rejects(elaborate(source, { limits, timeout: 200 }), (error: Error & { code?: string }) => {
        assert.match(error.message, /^the elaboration took more than 200 ms$/);
        assert.equal(error.code, 'ERR_WARPLOOM_SYSTEM_FAILED');
        return true;
      });
      assert.match(await good({ timeout: 60_000 }), /Out/);
    });
  }

  it('in a program made by builders', async () => {
    const source = filter({
      name: 'Endless', input: 'void', output: 'int', code: 'int n; init { while (n >= 0) { n = (n + 1) & 255; } } work push 1 { push(n); }',
    });
    await assert.rejects(elaborate(pipeline(source), { limits, timeout: 200 }), /took more than 200 ms/);
  });

  it('before they begin', async () => {
    await assert.rejects(good({ signal: AbortSignal.abort(new Error('no')) }), /^Error: no$/);
  });

  it('between many streams', async () => {
    const many = `${counter}int->int filter F(int k) { work push 1 pop 1 { push(pop() + k); } }\n${sink}void->void pipeline P { add A;
      for (int i = 0; i < 40000; i++) add F(i); add Out; }`;
    const stop = new AbortController();
    let ticks = 0;
    const timer = setInterval(() => { if (++ticks === 3) stop.abort(new Error('enough')); }, 1);
    await assert.rejects(elaborate(many, { signal: stop.signal }), /^Error: enough$/);
    clearInterval(timer);
  });
});

describe('a long init', function () {
  this.timeout(60_000);
  const table = (turns: number) => `int->int filter T { int[64] t; init { int s = 1; 
      for (int i = 0; i < ${turns}; i++) { s = s * 1103515245 + 12345; t[(s >> 16) & 63] += s & 7; } }
    work push 1 pop 1 { push(t[pop() & 63]); } }\nint->int pipeline P { add T; add T; }`;

  it('leaves the thread to others, and gives what it gives on this thread', async () => {
    let ticks = 0;
    const timer = setInterval(() => { ++ticks; }, 5);
    const { graph, program, diagnostics } = await elaborate(table(3_000_000), { timeout: 50_000 });
    clearInterval(timer);
    assert.ok(ticks > 0);
    assert.equal(program.streams.length, 2);
    assert.deepEqual(diagnostics, []);
    const [first, second] = graph.nodes.map((node) => (node.kind === 'filter' ? node.code : undefined));
    assert.equal(first, second, 'filters with equal arguments share one code');
    const counts = new Int32Array(64);
    let s = 1;
    for (let i = 0; i < 3_000_000; ++i) {
      s = (Math.imul(s, 1103515245) + 12345) | 0;
      counts[(s >> 16) & 63]! += s & 7;
    }
    const input = [0, 1, 2, 63];
    const wanted = input.map((x) => counts[counts[x]! & 63]!);
    for (const backend of ['interpret', 'wasm'] as const) assert.deepEqual(Array.from((await run(graph, { backend, input })).output), wanted);
    assert.throws(() => { (graph.nodes as unknown[]).push(1); }, TypeError);
  });

  it('that goes wrong says so as ever', async () => {
    const wrong = table(3_000_000).replace('init {', 'init { int[4] a; int z = 4;').replace('int s = 1;', 'int s = 1; int q = 0;')
      .replace('} }\n    work', '} q = a[z]; }\n    work');
    await assert.rejects(elaborate(wrong), { code: 'ERR_WARPLOOM_INVALID_PROGRAM' });
  });
});
