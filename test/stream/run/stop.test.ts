// Every back end ends with the signal and when the time is over, wherever the program is, and lets timers fire meanwhile.
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { interpret, run, type StreamBackend, type StreamGraph } from '../../../lib/stream/index.ts';
import { recordChannelsAside } from '../../../lib/stream/interpret/index.ts';
import { graphOf, hasCompiler } from '../support.ts';

const programs: Readonly<Record<string, string>> = {
  work: 'int->int filter A { work push 1 pop 1 { int x = pop(); while (x >= 0) { x = x & 255; } push(x); } }',
  'work, nothing in the loop': 'int->int filter A { work push 1 pop 1 { while (true) { } push(pop()); } }',
  'a counter up to a number that is not known':
    'int->int filter A { int n; work push 1 pop 1 { n = pop() + 2147480000; int s = 0; for (int k = 0; k < 3000000; k++) for (int i = 0; i < n - 9; i++) s ^= i & k; push(s); } }',
  prework: 'int->int filter A { int x; prework push 1 pop 1 { x = pop(); while (x >= 0) { x = x & 255; } push(x); } work push 1 pop 1 { push(pop() + x); } }',
  'a function': `int->int filter A { int spin(int x) { do { x = (x + 1) & 255; } while (x >= 0); return x; } work push 1 pop 1 { push(spin(pop())); } }`,
};
const handler: Readonly<Record<string, string>> = {
  'a handler': `void->void pipeline P { portal<B> p; add A(p); add B() to p; add C(); }
    void->int filter A(portal<B> p) { int i; work push 1 { p.turn(i) [1:1]; push(i); i++; } }
    int->int filter B { int x; work push 1 pop 1 { push(pop() + x); } handler turn(int k) { x = k; while (x >= 0) { x = x & 255; } } }
    int->void filter C { work pop 1 { println(pop()); } }`,
  'what one firing asks of others': `void->void pipeline P { add A(); add B(); }
    void->int filter A { int i; work push 1 { for (int k = 0; k < 40; k++) i += k; push(i); } }
    int->void filter B { work pop 8000000 { int s = 0; for (int i = 0; i < 8000000; i++) s += pop(); println(s); } }`,
};
const good = graphOf('int->int filter A { work push 1 pop 1 { int x = pop(); while (x > 9) { x = x - 10; } push(x); } }');
const input = [12, 34, 56];

/** Ends by the signal, which a timer of this thread gives: it would never come if the thread were kept. */
async function stops(graph: StreamGraph, backend: StreamBackend): Promise<void> {
  const options = { backend, ...(graph.input === undefined ? { items: 5 } : { input }) };
  const stop = new AbortController();
  setTimeout(() => { stop.abort(new Error('enough')); }, 400);
  // A compiler may find out that a loop does nothing but count to the limit.
  const orLimit = (text: string): RegExp => new RegExp(backend === 'cpp' ? `${text}|S4101` : text);
  await assert.rejects(run(graph, { ...options, signal: stop.signal }), orLimit('^Error: enough$'));
  await assert.rejects(run(graph, { ...options, timeout: 300 }), orLimit('took more than 300 ms'));
  assert.deepEqual(Array.from((await run(good, { backend, input })).output), [2, 4, 6]);
}

describe('runs are stopped', function () {
  this.timeout(120_000);
  for (const [name, text] of Object.entries({ ...programs, ...handler })) {
    it(`by the interpreter, in ${name}`, () => stops(graphOf(text), 'interpret'));
  }
  for (const [name, text] of Object.entries(programs)) {
    it(`as WebAssembly, in ${name}`, () => stops(graphOf(text), 'wasm'));
    it(`as C++, in ${name}`, async function () {
      if (!hasCompiler()) this.skip();
      await stops(graphOf(text), 'cpp');
    });
  }

  it('while a profile is taken', async () => {
    const stop = new AbortController();
    setTimeout(() => { stop.abort(new Error('enough')); }, 300);
    const recording = recordChannelsAside(graphOf(programs['work']!), { input, signal: stop.signal }, 10);
    await assert.rejects(recording, /^Error: enough$/);
  });

  it('and what a long run is given may be changed at once', async () => {
    const count = graphOf('int->int filter A { work push 1 pop 1 { int x = pop(); int n = 0; while (n < 3000000) { n = n + (x & 1) + 1; } push(n + x); } }');
    for (const backend of ['interpret', 'wasm'] as const) {
      const given = [0, 1, 2];
      const running = run(count, { backend, input: given });
      given.fill(7);
      assert.deepEqual(Array.from((await running).output), [3000000, 3000001, 3000002], backend);
    }
  });

  it('and faults of long runs by the interpreter name their place', async () => {
    const graph = graphOf('int->int filter A { int[4] a; work push 1 pop 1 { int n = pop(); int i = 0; while (i < 9000000) { i++; } push(a[n + (i & 1)]); } }');
    await assert.rejects(interpret(graph, { input: [1, 4] }), (error: { diagnostic: { code: string }; node: string; firing: number }) => {
      assert.deepEqual([error.constructor.name, error.diagnostic.code, error.node, error.firing], ['StreamRunError', 'S5001', 'A', 1]);
      return true;
    });
  });

  it('several at a time', async () => {
    const graph = graphOf(programs['work']!);
    const all = Array.from({ length: 2 * availableParallelism() }, () => run(graph, { backend: 'interpret', input, timeout: 400 }));
    for (const { status } of await Promise.allSettled(all)) assert.equal(status, 'rejected');
  });
});
