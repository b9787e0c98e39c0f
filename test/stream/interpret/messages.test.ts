// Messages arrive where the data of the firing that they belong to is, whatever stands between sender and receiver.
import assert from 'node:assert/strict';
import { interpretSync, StreamRunError } from '../../../lib/stream/interpret/index.ts';
import { run } from '../../../lib/stream/run/index.ts';
import { graphOf } from '../support.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
const receiver = 'int->int filter R { int k = 0; work pop 1 push 1 { push(pop() * 1000 + k); } handler set(int x) { k = x; } }\n';
const sender = (latency: string) => `int->int filter S(portal<R> p) { int n = 0; work pop 1 push 1 { n++; if (n % 4 == 0) p.set(n) ${latency}; push(pop()); } }\n`;
/** S, something between, and R. */
const downstream = (latency: string, between: string) => `${receiver}${sender(latency)}int->int pipeline P { portal<R> p; add S(p); ${between} add R to p; }`;
/** The last of 4, 8, 12 … that is at most `n`, or 0. */
const lastSent = (n: number, most = Infinity): number => Math.max(0, Math.floor(Math.min(n, most) / 4) * 4);
const outputOf = (source: string, input: readonly number[]): readonly number[] => interpretSync(graphOf(source), { input }).output;

describe('messages downstream', () => {
  for (const latency of [0, 1, 2, 5, -1, -3]) {
    it(`with latency ${latency}, beside items one by one`, () => {
      const found = outputOf(downstream(`[${latency}:${latency}]`, 'add Identity<int>; add Identity<int>;'), range(20));
      assert.deepEqual(found, range(20).map((m) => m * 1000 + lastSent(m - latency, 20)));
    });

    it(`with latency ${latency}, past a filter that looks ahead`, () => {
      // R's firing m sees items m to m + 2.
      const peeking = 'add int->int filter { work pop 1 push 1 peek 3 { push(pop()); } };';
      const found = outputOf(downstream(`[${latency}:${latency}]`, peeking), range(20));
      assert.deepEqual(found, range(18).map((m) => m * 1000 + lastSent(m + 2 - latency, 20)));
    });

    it(`with latency ${latency}, past filters of other rates`, () => {
      // Pairs become three items: R's firing m sees the first 2 * ceil(m / 3) items.
      const rates = 'add int->int filter { work pop 2 push 3 { int a = pop(); push(a); push(pop()); push(a); } };';
      const found = outputOf(downstream(`[${latency}:${latency}]`, rates), range(24));
      const items = range(12).flatMap((i) => [2 * i - 1, 2 * i, 2 * i - 1]);
      assert.deepEqual(found, items.map((x, i) => x * 1000 + lastSent(2 * Math.ceil((i + 1) / 3) - latency, 24)));
    });
  }

  it('past a prework that gives items of its own', () => {
    const delay = 'add int->int filter { prework push 3 { for (int i = 0; i < 3; i++) push(0); } work pop 1 push 1 { push(pop()); } };';
    const found = outputOf(downstream('[0:0]', delay), range(12));
    assert.deepEqual(found, [0, 0, 0, ...range(12).map((m) => m * 1000 + lastSent(m))]);
  });

  it('take the greatest latency of a range, and the bound that is given of an open one', () => {
    const of = (latency: string) => outputOf(downstream(latency, ''), range(12));
    assert.deepEqual(of('[0:3]'), of('[3:3]'));
    assert.deepEqual(of('[2:*]'), of('[2:2]'));
    assert.deepEqual(of('[*:2]'), of('[2:2]'));
  });

  it('without latency come before the next firing of the receiver', () => {
    for (const latency of ['', '[*]', '[*:*]']) {
      assert.deepEqual(outputOf(downstream(latency, ''), range(12)), range(12).map((m) => m * 1000 + lastSent(m)));
    }
  });

  it('to a handler that its own filter calls as a function', async () => {
    const own = 'int->int filter R { int k = 0; init { set(3); } work pop 1 push 1 { if (k > 8) set(0); push(pop() * 1000 + k); set(k + 2); } '
      + 'handler set(int x) { k = x; } }\n';
    const input = range(6);
    const wanted = [3, 5, 7, 0, 2, 4].map((k, i) => (i + 1) * 1000 + k);
    const graph = graphOf(`${own}int->int pipeline P { add R; }`);
    for (const backend of ['interpret', 'wasm'] as const) assert.deepEqual(Array.from((await run(graph, { backend, input })).output), wanted, backend);
    const sent = `${own}${sender('[0:0]')}int->int pipeline P { portal<R> p; add S(p); add R to p; }`;
    assert.deepEqual(outputOf(sent, input), [1003, 2005, 3007, 4004, 5006, 6008]);
  });

  it('to several receivers, each at its place', () => {
    const source = `${receiver}${sender('[1:1]')}int->int pipeline P { portal<R> p; add S(p); add splitjoin { split duplicate; add R to p; ` +
      'add pipeline { add int->int filter { work pop 1 push 1 peek 4 { push(pop()); } }; add R to p; }; join roundrobin; }; }';
    assert.deepEqual(outputOf(source, range(12)), range(9).flatMap((m) => [m * 1000 + lastSent(m - 1), m * 1000 + lastSent(m + 2)]));
  });

  it('with several arguments, in the order in which they were sent', () => {
    const source = 'float->float filter R { float a = 1; float b = 0; work pop 1 push 1 { push(a * pop() + b); }\n' +
      'handler line(float x, float y) { a = x; b = y; } handler shift(float by) { b += by; } }\n' +
      'float->float filter S(portal<R> p) { int n; work pop 1 push 1 { n++; if (n == 3) { p.line(2, 10) [0:0]; p.shift(0.5) [0:0]; p.shift(1) [1:1]; } push(pop()); } }\n' +
      'float->float pipeline P { portal<R> p; add S(p); add R to p; }';
    assert.deepEqual(outputOf(source, range(6)), [1, 2, 16.5, 19.5, 21.5, 23.5]);
  });
});

describe('messages upstream', () => {
  const upstream = (latency: string, between: string) => `${receiver}${sender(latency)}int->int pipeline P { portal<R> p; add R to p; ${between} add S(p); }`;

  for (const latency of [0, 1, 3, 10]) {
    it(`with latency ${latency} come after the last firing that matters for the sender's`, () => {
      // Sent in firing n, in force from the receiver's firing n + latency + 1 on.
      const found = outputOf(upstream(`[${latency}:${latency}]`, 'add Identity<int>;'), range(24));
      assert.deepEqual(found, range(24).map((m) => m * 1000 + lastSent(m - latency - 1)));
    });

    it(`with latency ${latency}, past filters of other rates that look ahead`, () => {
      // Three items go in for two; S's firing n needs the first 3 * ceil(n / 2) + 1.
      const rates = 'add int->int filter { work pop 3 push 2 peek 4 { push(pop()); push(pop()); pop(); } };';
      const found = outputOf(upstream(`[${latency}:${latency}]`, rates), range(31));
      const last = (n: number) => 3 * Math.ceil(n / 2) + 1;
      const inForce = (j: number) => range(5).map((i) => 4 * i).filter((n) => last(n + latency) < j).at(-1) ?? 0;
      const items = range(10).flatMap((i) => [3 * i - 2, 3 * i - 1]);
      assert.deepEqual(found, items.map((j) => j * 1000 + inForce(j)));
    });
  }

  it('hop a frequency: what a detector finds changes the mixer in front of it, exactly so many firings later', () => {
    const source = 'int->int filter Mixer { int shift = 0; work pop 1 push 1 { push(pop() + shift); } handler hop(int by) { shift += by; } }\n' +
      'int->int filter Detect(portal<Mixer> mixer) { work pop 4 push 4 { int most = 0; for (int i = 0; i < 4; i++) most = max(most, peek(i));\n' +
      'if (most > 100) mixer.hop(-100) [2:2]; for (int i = 0; i < 4; i++) push(pop()); } }\n' +
      'int->int pipeline P { portal<Mixer> mixer; add Mixer to mixer; add Detect(mixer); }';
    const input = range(48).map((i) => i * 5);
    const hops: number[] = [];
    const expected: number[] = [];
    input.forEach((x, i) => {
      expected.push(x - 100 * hops.filter((from) => i + 1 > from).length);
      if (i % 4 !== 3) return;
      // Firing n of the detector is (i + 1) / 4; the mixer hears of it after its firing 4 (n + 2).
      if (Math.max(0, ...expected.slice(-4)) > 100) hops.push(i + 1 + 8);
    });
    assert.ok(hops.length > 2);
    assert.deepEqual(outputOf(source, input), expected);
  });

  it('in a loop: to a filter before the sender', () => {
    const source = `${receiver}${sender('[2:2]')}void->int pipeline P { portal<R> p; add void->int filter { int i; work push 1 { push(++i); } }; add R to p; ` +
      'add splitjoin { split duplicate; add S(p); add Identity<int>; join roundrobin; }; }';
    const { output } = interpretSync(graphOf(source), { items: 40 });
    assert.deepEqual(output, range(20).flatMap((m) => [0, 1].map(() => m * 1000 + lastSent(m - 3))));
  });
});

describe('messages', () => {
  it('in both directions', () => {
    const two = 'int->int filter A(portal<R> p) { int k = 0; int n; work pop 1 push 1 { p.set(n++) [0:0]; push(pop() + k); } handler put(int x) { k = x; } }\n' +
      'int->int filter B(portal<A> q) { int n; work pop 1 push 1 { q.put(n++) [0:0]; push(pop()); } }\n';
    const source = `${receiver}${two}int->int pipeline P { portal<R> p; portal<A> q; add A(p) to q; add R to p; add B(q); }`;
    assert.deepEqual(outputOf(source, range(4)), [1000, 2001, 4002, 6003]);
  });
});

describe('messages that cannot be', () => {
  const failure = (source: string): StreamRunError => {
    try {
      outputOf(source, range(8));
    } catch (error) {
      assert.ok(error instanceof StreamRunError, String(error));
      return error;
    }
    throw new Error('it ran');
  };

  it('upstream with a negative latency', () => {
    const { diagnostic } = failure(`${receiver}${sender('[-1:-1]')}int->int pipeline P { portal<R> p; add R to p; add S(p); }`);
    assert.deepEqual([diagnostic.code, diagnostic.line], ['S5013', 2]);
    assert.match(diagnostic.message, /set of S to R cannot arrive with latency -1/);
  });

  it('to a filter on no common path', () => {
    const { diagnostic } = failure(`${receiver}${sender('[1:1]')}int->int splitjoin P { portal<R> p; split duplicate; add S(p); add R to p; join roundrobin; }`);
    assert.deepEqual([diagnostic.code, diagnostic.line], ['S5014', 2]);
  });

  it('between two filters that would wait for each other', () => {
    const source = 'int->int filter A(portal<B> p) { work pop 1 push 1 { p.set(1) [-3:-3]; push(pop()); } handler put(int x) { } }\n' +
      'int->int filter B(portal<A> q) { work pop 1 push 1 { q.put(1) [0:0]; push(pop()); } handler set(int x) { } }\n' +
      'int->int pipeline P { portal<B> p; portal<A> q; add A(p) to q; add B(q) to p; }';
    const { diagnostic } = failure(source);
    assert.deepEqual([diagnostic.code, diagnostic.line], ['S5013', 2]);
    assert.match(diagnostic.message, /put of B to A cannot arrive with latency 0: A and B wait for each other/);
  });
});

describe('stream.run', () => {
  it('takes the interpreter for programs with messages', async () => {
    const made = await run(graphOf(downstream('[1:1]', '')), { input: range(12) });
    assert.equal(made.backend, 'interpret');
    assert.deepEqual(Array.from(made.output), range(12).map((m) => m * 1000 + lastSent(m - 1)));
  });
});

describe('lines that a handler prints', () => {
  const graph = graphOf(`int->void filter R { int n = 0; work pop 1 { pop(); n++; } handler tell(int x) { println(x + ":" + n); } }
    void->int filter S(portal<R> p) { int n = 0; work push 1 { n++; if (n % 4 == 0) p.tell(n) [0:0]; push(n); } }
    void->void pipeline P { portal<R> p; add S(p); add R to p; }`);

  it('count as items of a program that has no others', async () => {
    for (const items of [1, 2, 3]) {
      const expected = range(items).map((i) => `${4 * i}:${4 * i - 1}\n`).join('');
      assert.equal(interpretSync(graph, { items }).printed, expected);
      assert.equal((await run(graph, { items })).printed, expected);
    }
  });

  it('come with the firings of so many steady states', () => {
    assert.equal(interpretSync(graph, { iterations: 8 }).printed, '4:3\n8:7\n');
  });
});
