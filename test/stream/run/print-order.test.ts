// What several nodes print comes in one order, whatever runs the program: by steady states, in each by nodes, of each node by firings.
import assert from 'node:assert/strict';
import { run, type StreamBackend, type StreamRunOptions } from '../../../lib/stream/index.ts';
import { graphOf, hasCompiler } from '../support.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const lines = (...texts: readonly (string | readonly string[])[]): string => texts.flat().map((text) => `${text}\n`).join('');
const of = (letter: string, from: number, to: number): string[] => range(to - from).map((i) => `${letter}${from + i}`);

type Way = readonly [name: string, options: { readonly backend: StreamBackend; readonly threads?: number }];
const ways: readonly Way[] = [
  ['interpret', { backend: 'interpret' }], ['wasm', { backend: 'wasm', threads: 1 }], ['wasm, threads', { backend: 'wasm', threads: 3 }],
  ['C++', { backend: 'cpp', threads: 1 }], ['C++, threads', { backend: 'cpp', threads: 3 }],
];

/** The same text by every back end. */
function same(name: string, source: string, cases: readonly (readonly [StreamRunOptions, string])[]): void {
  for (const [way, options] of ways) {
    it(`${name}: ${way}`, async function () {
      if (options.backend === 'cpp' && !hasCompiler()) this.skip();
      const graph = graphOf(source);
      for (const [limits, expected] of cases) assert.equal((await run(graph, { ...limits, ...options })).printed, expected, JSON.stringify(limits));
    });
  }
}

const source = 'void->int filter A { int n; work push 1 { println("a" + n); push(n++); } }\n';
const abc = (peek: number): string => `${source}int->int filter B { int n; work pop 2 push 1 peek ${peek} { println("b" + n); n++; push(pop() + pop()); } }
  int->void filter C { int n; work pop 3 { println("c" + n); n++; for (int i = 0; i < 3; i++) pop(); } } void->void pipeline P { add A; add B; add C; }`;
/** Lines of abc after `states`: A fires 6 times, B 3 times, C once in each; before them A `ahead` times. */
const linesOfAbc = (states: number, ahead: number): string =>
  lines(of('a', 0, ahead), ...range(states).flatMap((k) => [of('a', ahead + 6 * k, ahead + 6 * k + 6), of('b', 3 * k, 3 * k + 3), of('c', k, k + 1)]));
const first = (text: string, count: number): string => lines(text.split('\n').slice(0, count));

describe('lines of several nodes', function () {
  this.timeout(120_000);
  same('of different rates', abc(2), [[{ iterations: 3 }, linesOfAbc(3, 0)],
    ...[1, 5, 6, 7, 10, 11, 29, 30].map((items) => [{ items }, first(linesOfAbc(3, 0), items)] as const)]);
  // Windows of four: A fires twice before the first steady state.
  same('with firings ahead', abc(4), [[{ iterations: 3 }, linesOfAbc(3, 2)],
    ...[1, 2, 3, 9, 12, 13, 22].map((items) => [{ items }, first(linesOfAbc(3, 2), items)] as const)]);

  const work = (letter: string, more = '') => `add int->int filter { int n; ${more} work pop 1 push 1 { print("${letter}"); print(n); println(""); n++; push(pop()); } };`;
  same('in branches, in pieces of a line', `${source}void->void pipeline P { add A;
    add splitjoin { split roundrobin(1, 2); ${work('x')} ${work('y')} join roundrobin(1, 2); };
    add int->void filter { work pop 1 { println("z" + pop()); } }; }`, [[{ iterations: 2 },
    lines(of('a', 0, 3), 'x0', of('y', 0, 2), of('z', 0, 3), of('a', 3, 6), 'x1', of('y', 2, 4), of('z', 3, 6))]]);

  same('by conditions, loops, functions and prework', `void->int filter A { int n;
      void tell(int x) { if (x % 2 == 1) println("odd " + x); }
      prework push 2 { println("first"); push(-1); push(-2); }
      work push 1 { tell(n); if (n % 3 == 0) println("three"); else for (int i = 0; i < n % 3; i++) println("turn " + i); push(n++); } }
    int->void filter B { work pop 1 { int x = pop(); do { println("got " + x); x -= 5; } while (x > 0); } }
    void->void pipeline P { add A; add B; }`, [[{ iterations: 6 }, lines(
    // The prework is ahead of the first steady state; it gives two items, so that A is one firing ahead of B from then on.
    'first', 'three', 'got -1', 'odd 1', 'turn 0', 'got -2', 'turn 0', 'turn 1', 'got 0', 'odd 3', 'three', 'got 1', 'turn 0', 'got 2', 'odd 5', 'turn 0', 'turn 1', 'got 3')]]
    .map(([options, text]) => [options as StreamRunOptions, text as string] as const));

  // One node prints ahead of what is asked for: C and B have taken 12 and 6 items, the prework gave A's first lines away.
  same('of one node that is ahead', `void->int filter A { int n; prework push 3 { for (int i = 0; i < 3; i++) push(-1); println("first"); } 
      work push 1 { println(n); push(n++); } }
    int->int filter B { work pop 1 push 1 { push(pop()); } } int->void filter C { work pop 2 { pop(); pop(); } } void->void pipeline P { add A; add B; add C; }`,
  [[{ iterations: 3 }, lines('first', of('', 0, 6))]]);
  const files = `void->int filter A { int n; work push 1 { println("a" + n); push(n++); } } int->int filter B { int n; work pop 1 push 1 { println("b" + n++); push(pop()); } }
    void->void pipeline P { add A; add splitjoin { split duplicate; add pipeline { add B; add int->void filter { work pop 1 { pop(); } }; };
    add pipeline { add int->int filter { work pop 3 push 1 { push(pop()); pop(); pop(); } }; add FileWriter<int>("w"); }; join roundrobin(0, 0); }; }`;
  same('beside a file of so many items', files, [[{ items: 2 }, lines(of('a', 0, 3), of('b', 0, 3), of('a', 3, 6), of('b', 3, 6))]]);

  // What is fired at last, beyond whole steady states, has its place by the same rule.
  const open = `int->int filter A { int n; work pop 1 push 1 { println("a" + n++); push(pop()); } }
    int->void filter B { int n; work pop 3 { println("b" + n++); for (int i = 0; i < 3; i++) pop(); } } int->void pipeline P { add A; add B; }`;
  same('to the end of the input', open, [[{ input: range(8) }, lines(of('a', 0, 3), 'b0', of('a', 3, 6), 'b1', of('a', 6, 8))],
    [{ input: range(8), items: 5 }, lines(of('a', 0, 3), 'b0', 'a3')], [{ input: range(8), items: 9 }, lines(of('a', 0, 3), 'b0', of('a', 3, 6), 'b1', 'a6')]]);

  const copies = `int->int filter F(int k) { work pop 1 push 1 { if (iter() % k == 0) println(k + ": " + iter()); push(pop()); } }
    void->void pipeline P { add void->int filter { int n; work push 1 { push(n++); } }; for (int k = 1; k <= 40; k++) add F(k); add int->void filter { work pop 1 { pop(); } }; }`;
  same('of many nodes of one shape', copies, [[{ iterations: 20 }, lines(range(20).flatMap((i) => range(40).filter((k) => i % (k + 1) === 0).map((k) => `${k + 1}: ${i}`)))]]);

  same('of one node come as they did', 'void->void filter A { int n; work { println("a" + n++); } }',
    [[{ iterations: 3 }, lines(of('a', 0, 3))], [{ items: 2 }, lines(of('a', 0, 2))]]);

  it('with messages, handlers among them', async () => {
    const graph = graphOf(`int->void filter R { int n; work pop 1 { println("r" + n); n++; pop(); } handler tell(int x) { println("told " + x); } }
      void->int filter S(portal<R> p) { int n; work push 1 { println("s" + n); if (n % 2 == 1) p.tell(n) [0:0]; push(n++); } }
      void->void pipeline P { portal<R> p; add S(p); add R to p; }`);
    assert.equal((await run(graph, { iterations: 4 })).printed, lines('s0', 'r0', 's1', 'told 1', 'r1', 's2', 'r2', 's3', 'told 3', 'r3'));
  });
});
