// Messages with latency where rates are known only when filters fire: the wavefront is what has really been taken and given.
import assert from 'node:assert/strict';
import { interpretSync, StreamRunError } from '../../../lib/stream/interpret/index.ts';
import { run } from '../../../lib/stream/run/index.ts';
import { graphOf } from '../support.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
const receiver = 'int->int filter R { int k = 0; work pop 1 push 1 { push(pop() * 1000 + k); } handler set(int x) { k = x; } }\n';
const sender = (latency: string) =>
  `int->int filter S(portal<R> p) { int n = 0; work pop 1 push 1 { n++; if (n % 4 == 0) p.set(n) ${latency}; push(pop()); } }\n`;
const downstream = (latency: string, between: string) =>
  `${receiver}${sender(latency)}int->int pipeline P { portal<R> p; add S(p); ${between} add R to p; }`;
const upstream = (latency: string, between: string, from = sender(latency)) =>
  `${receiver}${from}int->int pipeline P { portal<R> p; add R to p; ${between} add S(p); }`;
const outputOf = (source: string, input: readonly number[]): readonly number[] => interpretSync(graphOf(source), { input }).output;

const evens = 'add int->int filter { work pop 1 push [0, 1] { int x = pop(); if (x % 2 == 0) push(x); } };';
/** x stands there x % 4 times. */
const copies = 'add int->int filter { work pop 1 push * { int x = pop(); for (int i = 0; i < x % 4; i++) push(x); } };';
/** Firing n takes n items and sends n before it has any of them. */
const growing = (latency: string) => `int->int filter S(portal<R> p) { int n; work pop * push * { n++; p.set(n) ${latency}; ` +
  'for (int i = 0; i < n; i++) push(pop()); } }\n';

describe('messages downstream among dynamic rates', () => {
  // Only even items reach R: its firing m sees item 2m, so S(m) = 2m. What S sends in firing 4 is in force from the first m with
  // 2m >= 4 + k on, what it sends in firing 8 from the first with 2m >= 8 + k.
  const forced: Readonly<Record<number, readonly number[]>> = {
    0: [0, 4, 4, 8, 8, 12], 1: [0, 0, 4, 4, 8, 8], 2: [0, 0, 4, 4, 8, 8], 3: [0, 0, 0, 4, 4, 8], [-1]: [0, 4, 4, 8, 8, 12],
    // R's firing 1 (item 2) waits for S's firing 4, firing 3 (item 6) for firing 8, firing 5 for firing 12.
    [-2]: [4, 4, 8, 8, 12, 12],
  };
  for (const [latency, values] of Object.entries(forced)) {
    it(`with latency ${latency}, past a filter that drops items`, () => {
      const found = outputOf(downstream(`[${latency}:${latency}]`, evens), range(12));
      assert.deepEqual(found, values.map((k, i) => (2 * i + 2) * 1000 + k));
    });
  }

  it('past a filter that gives none, one, two or three', () => {
    // 1, 2 2, 3 3 3, (4), 5, 6 6, 7 7 7, (8), 9, 10 10, 11 11 11. S(m) is the item itself: the message of firing 4 comes before the first
    // item that is at least 4 + k. With k = 2 that is 6, for the message of firing 8 it is 10.
    const items = [1, 2, 2, 3, 3, 3, 5, 6, 6, 7, 7, 7, 9, 10, 10, 11, 11, 11];
    assert.deepEqual(outputOf(downstream('[0:0]', copies), range(12)), items.map((x) => x * 1000 + (x >= 8 ? 8 : x >= 4 ? 4 : 0)));
    assert.deepEqual(outputOf(downstream('[2:2]', copies), range(12)), items.map((x) => x * 1000 + (x >= 10 ? 8 : x >= 6 ? 4 : 0)));
    // For a range the greatest latency counts.
    assert.deepEqual(outputOf(downstream('[0:2]', copies), range(12)), outputOf(downstream('[2:2]', copies), range(12)));
  });

  it('from a sender that gives none, one, two or three', () => {
    const from = 'int->int filter S(portal<R> p) { int n; work pop 1 push [0, 3] { n++; int x = pop(); if (x % 4 == 0) p.set(x) [0:0]; ' +
      'for (int i = 0; i < x % 4; i++) push(x); } }\n';
    const source = `${receiver}${from}int->int pipeline P { portal<R> p; add S(p); add Identity<int>; add R to p; }`;
    const items = [1, 2, 2, 3, 3, 3, 5, 6, 6, 7, 7, 7, 9];
    assert.deepEqual(outputOf(source, range(9)), items.map((x) => x * 1000 + (x > 8 ? 8 : x > 4 ? 4 : 0)));
  });

  it('past a window as long as its first item says', () => {
    // Firing m of the filter between takes item m and looks at m % 3 items behind it: R's firing m sees S's firings up to m + m % 3:
    // 2, 4, 3, 5, 7, 6, 8, 10, 9. But S(m) does not fall: firing 3 comes after firing 2, so 2, 4, 4, 5, 7, 7, 8, 10, 10.
    const window = 'add int->int filter { work pop 1 push 1 peek * { int s = peek(peek(0) % 3); push(pop()); } };';
    const needs = [2, 4, 4, 5, 7, 7, 8, 10, 10];
    assert.deepEqual(outputOf(downstream('[0:0]', window), range(10)).slice(0, 9),
      needs.map((s, i) => (i + 1) * 1000 + (s >= 8 ? 8 : s >= 4 ? 4 : 0)));
  });

  it('to a receiver of dynamic rates: by what it needs at least to begin', () => {
    // R takes pairs but is sure of one item only: before firing m it is known to need 2m - 1 firings of S. The message of firing 4 comes
    // before the first m with 2m - 1 >= 4, which is 3, that of firing 8 before firing 5.
    const pairs = 'int->int filter R { int k; work pop [1, *] push 1 { int a = pop(); push((a + pop()) * 1000 + k); } ' +
      'handler set(int x) { k = x; } }\n';
    const source = `${pairs}${sender('[0:0]')}int->int pipeline P { portal<R> p; add S(p); add R to p; }`;
    assert.deepEqual(outputOf(source, range(12)), [3000, 7000, 11004, 15004, 19008, 23008]);
    // Sure of both, it is told in time: 2m >= 4 at firing 2.
    assert.deepEqual(outputOf(source.replace('[1, *]', '[2, *]'), range(12)), [3000, 7004, 11004, 15008, 19008, 23012]);
  });

  it('around a loop that takes before it gives', () => {
    // The loop's filter adds what comes back, with a delay of one: item m of the loop is 1 + … + m, and bears the mark m.
    const source = `${receiver}${sender('[1:1]')}int->int pipeline P { portal<R> p; add S(p); add int->int feedbackloop { join roundrobin(1, 1);
      body int->int filter { work pop [2, 2] push [2, 2] { int s = pop() + pop(); push(s); push(s); } }; loop Identity<int>; split roundrobin(1, 1); enqueue 0; };
      add R to p; }`;
    const sums = [1, 3, 6, 10, 15, 21, 28, 36, 45, 55];
    assert.deepEqual(outputOf(source, range(10)), sums.map((x, i) => x * 1000 + (i + 1 >= 9 ? 8 : i + 1 >= 5 ? 4 : 0)));
  });

  it('are not held up by dynamic rates off the way', () => {
    // The other branch takes as many items as it likes; S and R are in the one of constant rates, and a sink beside.
    const source = `${receiver}${sender('[1:1]')}int->int pipeline P { portal<R> p; add S(p); add splitjoin { split duplicate; add R to p;
      add int->int filter { int n; work pop [1, 2] push [1, 2] { n++; push(pop()); if (n % 2 == 0) push(pop()); } };
      join roundrobin(1, 1); }; }`;
    const found = outputOf(source, range(12));
    assert.deepEqual(found, range(12).flatMap((m) => [m * 1000 + (m >= 9 ? 8 : m >= 5 ? 4 : 0), m]));
  });
});

describe('messages upstream among dynamic rates', () => {
  // S's firing n takes n items: S(n) = n (n + 1) / 2 = 1, 3, 6, 10. What it sends in firing n is in force behind R's firing S(n + k).
  const forced: Readonly<Record<number, readonly number[]>> = {
    0: [0, 1, 1, 2, 2, 2, 3, 3, 3, 3], 1: [0, 0, 0, 1, 1, 1, 2, 2, 2, 2], 2: [0, 0, 0, 0, 0, 0, 1, 1, 1, 1],
  };
  for (const [latency, values] of Object.entries(forced)) {
    const wanted = values.map((k, i) => (i + 1) * 1000 + k);
    const from = growing(`[${latency}:${latency}]`);

    it(`with latency ${latency}, from a sender that takes ever more`, () => {
      assert.deepEqual(outputOf(upstream('', '', from), range(10)), wanted);
      assert.deepEqual(outputOf(upstream('', 'add Identity<int>;', from), range(10)), wanted);
    });

    it(`with latency ${latency}, where another branch would let the receiver run ahead`, () => {
      // The joiner asks the other branch first, and for four items at a time.
      const source = (first: string, second: string) => `${receiver}${from}int->int pipeline P { portal<R> p; add R to p; ` +
        `add splitjoin { split duplicate; add ${first}; add ${second}; join roundrobin(4, 4); }; }`;
      const blocks = [wanted.slice(0, 4), wanted.slice(4, 8)].flatMap((block) => [...block, ...block]);
      assert.deepEqual(outputOf(source('Identity<int>', 'S(p)'), range(10)), blocks);
      assert.deepEqual(outputOf(source('S(p)', 'Identity<int>'), range(10)), blocks);
    });
  }

  it('past a filter that drops items', () => {
    // R's items are 1000 j + k; the filter between keeps those of even j. S's firing n needs R's firings up to 2n, so what it sends in
    // firing 4 is in force behind R's firing 2 (4 + k): 8 for k = 0, 10 for k = 1.
    const keep = 'add int->int filter { work pop 1 push [0, 1] { int x = pop(); if (x / 1000 % 2 == 0) push(x); } };';
    const wanted = (last: number) => range(12).filter((j) => j % 2 === 0).map((j) => j * 1000 + (j > last ? 4 : 0));
    assert.deepEqual(outputOf(upstream('[0:0]', keep), range(12)), wanted(8));
    assert.deepEqual(outputOf(upstream('[1:1]', keep), range(12)), wanted(10));
  });

  it('from two senders of different pace', () => {
    // A takes 1, 2, 3 … items and tells its count n behind R's firing n (n + 1) / 2; B takes three at a time and tells 100 n behind firing
    // 3 n. Where both come behind the same firing (3, 6), the one that was sent first is heard first; they set different fields.
    const source = 'int->int filter R { int k; int l; work pop 1 push 1 { push(pop() * 10000 + k + l); } handler a(int x) { k = x; } ' +
      'handler b(int x) { l = x; } }\n' +
      'int->int filter A(portal<R> p) { int n; work pop * push * { n++; p.a(n) [0:0]; for (int i = 0; i < n; i++) push(pop()); } }\n' +
      'int->int filter B(portal<R> p) { int n; work pop 3 push 3 { n++; p.b(100 * n) [0:0]; for (int i = 0; i < 3; i++) push(pop()); } }\n' +
      'int->int pipeline P { portal<R> p; add R to p; add splitjoin { split duplicate; add A(p); add B(p); join roundrobin; }; }';
    const k = [0, 1, 1, 2, 2, 2, 3, 3, 3, 3], l = [0, 0, 0, 100, 100, 100, 200, 200, 200, 300];
    const wanted = range(9).flatMap((j) => [0, 1].map(() => j * 10000 + k[j - 1]! + l[j - 1]!));
    assert.deepEqual(outputOf(source, range(12)).slice(0, 18), wanted);
    // The same in the other order, and where the source never ends.
    const swapped = source.replace('add A(p); add B(p);', 'add B(p); add A(p);');
    assert.deepEqual(outputOf(swapped, range(12)).slice(0, 18), wanted);
    const endless = swapped.replace('int->int pipeline P { portal<R> p;',
      'void->int pipeline P { portal<R> p; add void->int filter { int i; work push 1 { push(++i); } };');
    assert.deepEqual(interpretSync(graphOf(endless), { items: 18 }).output, wanted);
  });

  it('to a receiver that takes what it likes', () => {
    // R's firing j takes j % 2 + 1 items and gives one; S takes pairs: S(n) = 2n.
    const source = 'int->int filter R { int k; int j; work pop [1, 2] push 1 { j++; int x = pop(); if (j % 2 == 1) x = pop(); push(x * 1000 + k); } ' +
      'handler set(int x) { k = x; } }\n' +
      'int->int filter S(portal<R> p) { int n; work pop 2 push 2 { n++; p.set(n) [1:1]; push(pop()); push(pop()); } }\n' +
      'int->int pipeline P { portal<R> p; add R to p; add S(p); }';
    // R gives 2, 3, 5, 6, 8, 9, 11, 12; the message of firing n is in force behind firing 2 (n + 1).
    assert.deepEqual(outputOf(source, range(12)), [2000, 3000, 5000, 6000, 8001, 9001, 11002, 12002]);
  });
});

describe('messages among dynamic rates', () => {
  it('run by the interpreter when nothing else is asked for', async () => {
    const made = await run(graphOf(downstream('[0:0]', evens)), { input: range(8) });
    assert.equal(made.backend, 'interpret');
    assert.deepEqual(Array.from(made.output), [2000, 4004, 6004, 8008]);
  });

  it('are refused where sender and receiver would wait for each other', () => {
    const source = 'int->int filter A(portal<B> p) { work pop 1 push * { p.set(1) [-3:-3]; push(pop()); } handler put(int x) { } }\n' +
      'int->int filter B(portal<A> q) { work pop 1 push 1 { q.put(1) [0:0]; push(pop()); } handler set(int x) { } }\n' +
      'int->int pipeline P { portal<B> p; portal<A> q; add A(p) to q; add B(q) to p; }';
    assert.throws(() => outputOf(source, range(8)), (error: unknown) => {
      assert.ok(error instanceof StreamRunError);
      assert.deepEqual([error.diagnostic.code, error.diagnostic.line], ['S5013', 2]);
      assert.match(error.message, /put of B to A cannot arrive with latency 0: A and B wait for each other/);
      return true;
    });
  });

  // Rates that are declared as unknown but turn out constant: every message comes where it does with constant ones.
  const stages: readonly ((open: boolean) => string)[] = [
    (open) => `add int->int filter { work ${open ? 'pop * push *' : 'pop 2 push 3'} { int a = pop(); push(a); push(pop()); push(a); } };`,
    (open) => `add int->int filter { work pop ${open ? '[1, 4] push [0, 9]' : '3 push 2'} { push(pop()); pop(); push(pop()); } };`,
    (open) => `add int->int filter { work pop 1 push ${open ? '* peek *' : '1 peek 4'} { int x = peek(3); push(pop()); } };`,
    (open) => 'add splitjoin { split roundrobin(2, 1); ' +
      `add int->int filter { work ${open ? 'pop * push *' : 'pop 1 push 2'} { int a = pop(); push(a); push(a); } }; ` +
      'add Identity<int>; join roundrobin(4, 1); };',
    (open) => `add int->int filter { prework push ${open ? '[0, 5]' : '3'} { for (int i = 0; i < 3; i++) push(0); } work pop 1 push 1 { push(pop()); } };`,
  ];
  const pace = (open: boolean, latency: string) => `int->int filter S(portal<R> p) { int n = 0; work ${open ? 'pop * push *' : 'pop 2 push 2'} ` +
    `{ n++; if (n % 3 == 0) p.set(n) ${latency}; push(pop()); push(pop()); } }\n`;
  it('come as among constant rates where rates turn out constant', () => {
    let state = 1;
    const random = (below: number): number => (state = (Math.imul(state, 1103515245) + 12345) >>> 0, Math.floor(state / 2 ** 32 * below));
    let different = 0;
    for (let trial = 0; trial < 100; ++trial) {
      const chosen = range(1 + random(3)).map(() => stages[random(stages.length)]!);
      const isUp = random(2) === 0;
      const latency = isUp ? random(5) : random(9) - 4;
      const source = (open: boolean): string => {
        const ends = pace(open, `[${latency}:${latency}]`), between = chosen.map((stage) => stage(open)).join(' ');
        return `${receiver}${ends}int->int pipeline P { portal<R> p; ${isUp ? `add R to p; ${between} add S(p);` : `add S(p); ${between} add R to p;`} }`;
      };
      const constant = outputOf(source(false), range(60));
      const silent = outputOf(source(false).replace('n % 3 == 0', 'n < 0'), range(60));
      if (constant.some((x, i) => x !== silent[i])) ++different;
      const found = outputOf(source(true), range(60));
      // At the end of the input, what is sure to be there before a firing is not the same.
      const length = Math.min(found.length, constant.length);
      assert.ok(length >= constant.length - 12, source(true));
      assert.deepEqual(found.slice(0, length), constant.slice(0, length), source(true));
    }
    assert.ok(different > 60, String(different));
  });
});
