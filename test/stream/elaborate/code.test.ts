// The code that elaboration makes: shared, folded, with roles of fields, known loops and proved indices, and fit names.
import assert from 'node:assert/strict';
import { describeGraph, toSdf } from '../../../lib/stream/elaborate/index.ts';
import { fitName, Namer } from '../../../lib/stream/elaborate/names.ts';
import { ratesOf } from '../../../lib/stream/elaborate/to-sdf.ts';
import type { FilterCode } from '../../../lib/stream/ir.ts';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { graphOf } from '../support.ts';

const codes = (graph: StreamGraph): FilterCode[] => graph.nodes.flatMap((node) => (node.kind === 'filter' ? [node.code] : []));
const roles = (source: string): Record<string, string> => Object.fromEntries(codes(graphOf(source))[0]!.state.map(({ name, role }) => [name, role]));
const filter = (fields: string, body: string, rates = 'pop 4 push 4'): string => `int->int filter F { ${fields} work ${rates} { ${body} } }`;

describe('code of filters', () => {
  it('is shared by instances with equal arguments', () => {
    const graph = graphOf('int->int filter F(int n, float x) { work pop 1 push 1 { push(pop() * n + (int) x); } }\n' +
      'int->int pipeline P { add F(1, 0.0); add F(2, 0.0); add F(1, 0.0); add F(1, -0.0); }');
    const [a, b, c, d] = codes(graph);
    assert.equal(a, c);
    assert.notEqual(a, b);
    assert.notEqual(a, d);
  });

  it('is shared by anonymous filters that see equal values', () => {
    const graph = graphOf('int->int pipeline P { for (int i = 0; i < 4; i++) { int k = i / 2; add int->int filter { work pop 1 push 1 { push(pop() + k); } }; } }');
    const [a, b, c, d] = codes(graph);
    assert.ok(a === b && c === d && a !== c);
  });

  it('has constants in place of parameters', () => {
    const graph = graphOf('float->float filter F(int n, float g) { float k; init { k = g * n; } work pop n push 1 { if (n > 2) push(k * 2 + pop()); else push(pop());' +
      ' for (int i = 1; i < n; i++) pop(); } } float->float pipeline P { add F(3, 0.5); }');
    assert.equal(describeGraph(graph, { code: true }), `input float -> F
output float <- F
pipeline P
  F: filter F_ float->float pop 3 push 1

filter F_ float->float pop 3 push 1 {
  work
    push (3.0 + pop())
    int i = 1
    loop (i < 3) (2 turns)
      pop()
    step
      i = (i + 1)
}
`.replaceAll('F_', codes(graph)[0]!.name));
  });

  it('tells scratch, state and constant fields apart', () => {
    assert.deepEqual(roles(filter('int[4] t;', 'for (int i = 0; i < 4; i++) t[i] = pop(); for (int i = 0; i < 4; i++) push(t[3 - i]);')), { t: 'scratch' });
    assert.deepEqual(roles(filter('int[4] t;', 'for (int i = 0; i < 4; i++) push(t[i]); for (int i = 0; i < 4; i++) t[i] = pop();')), { t: 'state' });
    assert.deepEqual(roles(filter('int[4] t;', 'for (int i = 0; i < 3; i++) t[i] = pop(); pop(); for (int i = 0; i < 4; i++) push(t[i]);')), { t: 'state' });
    assert.deepEqual(roles(filter('int[2][2] t;', 'for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) t[i][j] = pop();' +
      ' for (int i = 0; i < 4; i++) push(t[i & 1][i / 2]);')), { t: 'scratch' });
    assert.deepEqual(roles(filter('int x;', 'if (peek(0) > 0) x = 1; for (int i = 0; i < 4; i++) push(pop() + x);')), { x: 'state' });
    assert.deepEqual(roles(filter('int x;', 'if (peek(0) > 0) x = 1; else x = 2; for (int i = 0; i < 4; i++) push(pop() + x);')), { x: 'scratch' });
    assert.deepEqual(roles(filter('int x; void set(int v) { if (v > 5) return; x = v; }', 'set(peek(0)); for (int i = 0; i < 4; i++) push(pop() + x);')), { x: 'state' });
    assert.deepEqual(roles(filter('int[4] t = {1, 2, 3, 4};', 'for (int i = 0; i < 4; i++) push(pop() + t[i]);')), { t: 'constant' });
  });

  it('says which filters are stateful', () => {
    const isStateful = (source: string) => codes(graphOf(source))[0]!.stateful;
    assert.equal(isStateful('int->int stateful filter F { int[1] t; work pop 1 push 1 { t[0] = pop(); push(t[0]); } }'), false);
    assert.equal(isStateful('int->int filter F { int n; work pop 1 push 1 { push(pop() + n++); } }'), true);
    assert.equal(isStateful('int->int filter F { work pop 1 push 1 { int x = pop(); println(x); push(x); } }'), true);
    assert.equal(isStateful('int->int filter F { work pop 1 push 1 { push(pop() + iter()); } }'), false);
    assert.equal(isStateful('int->float filter F { work pop 1 push 1 { push(pop() + random()); } }'), true);
  });

  it('proves indices where it is simple', () => {
    const text = describeGraph(graphOf(filter('int[8] t = {1, 2, 3, 4, 5, 6, 7, 8};', 'for (int i = 0; i < 4; i++) { int x = pop(); push(t[i + 4] + t[x & 7] + t[x % 8]' +
      ' + t[2 * i]); }')), { code: true });
    assert.match(text, /t\[\(i \+ 4\)\]/);
    assert.match(text, /t\[\(x & 7\)\]/);
    assert.match(text, /t\[\(x % 8\)\?\]/);
    assert.match(text, /t\[\(2 \* i\)\]/);
  });
});

describe('names', () => {
  it('are fit for every target', () => {
    for (const name of ['int', 'class', 'NULL', 'M_PI', '__x', '_', '9', 'wl_x', 'a__b', 'sin', 'threadIdx', 'é€', 'x'.repeat(1000), 'await', 'EOF', '']) {
      const fit = fitName(name);
      assert.match(fit, /^[A-Za-z][A-Za-z0-9_]*$/);
      assert.doesNotMatch(fit, /__|^wl_/);
      assert.ok(fit.length <= 60);
      assert.notEqual(fit, name);
    }
    assert.equal(fitName('lowPass_2'), 'lowPass_2');
  });

  it('are unique', () => {
    const namer = new Namer();
    const given = ['a', 'a', 'a_2', 'a', 'a_2', 'a_2_2', 'int', 'int', 'int_', 'x_1', 'x__1'].map((name) => namer.unique(name));
    assert.equal(new Set(given).size, given.length);
  });
});

describe('rates of wide splitters', () => {
  it('are added up once, not for each port', () => {
    let reads = 0;
    const weights = new Proxy(Array.from({ length: 3000 }, (_, i) => i % 5), {
      get(target, key) {
        ++reads;
        return Reflect.get(target, key) as unknown;
      },
    });
    const node = { id: 0, name: 's', kind: 'splitter', weights, inputs: [0], outputs: [] } as const;
    for (let port = 0; port < 3000; ++port) assert.deepEqual(ratesOf(node, port), { push: port % 5, pop: 6000, peek: 6000 });
    assert.ok(reads < 15_000, String(reads));
  });
});

describe('toSdf', () => {
  it('gives rates, tokens and first firings', () => {
    const graph = graphOf('int->int filter F { prework push 3 pop 1 { pop(); push(1); push(2); push(3); } work pop 1 push 1 peek 4 { push(peek(3)); pop(); } }\n' +
      'int->int feedbackloop L { join roundrobin(2, 1); body F; loop Identity<int>; split roundrobin(2, 1); enqueue 5; enqueue 6; enqueue 7; }');
    const { actors, channels } = toSdf(graph);
    const find = (from: string, to: string) => channels.find((each) => actors[each.from]!.name === from && actors[each.to]!.name === to)!;
    assert.deepEqual(find('L_join', 'F'), {
      id: find('L_join', 'F').id, from: graph.nodes.findIndex(({ name }) => name === 'L_join'), to: graph.nodes.findIndex(({ name }) => name === 'F'),
      push: 3, pop: 1, peek: 4, tokens: 0, firstPop: 1, firstPeek: 1, bytesPerItem: 4,
    });
    assert.equal(find('F', 'L_split').firstPush, 3);
    assert.equal(find('Identity', 'L_join').tokens, 3);
    assert.deepEqual(actors.filter(({ moves }) => moves).map(({ name }) => name).sort(), ['Identity', 'L_join', 'L_split']);
  });

  it('gives open ends as actors with state where asked', () => {
    const graph = graphOf('float->float filter F { prework push 1 pop 5 { for (int i = 0; i < 5; i++) pop(); push(0); } '
      + 'work pop 2 push 3 peek 7 { pop(); push(peek(5)); pop(); push(1); push(2); } }');
    const { actors, channels } = toSdf(graph, { ends: true });
    assert.deepEqual(actors.slice(1), [{ id: 1, name: 'input', stateful: true, moves: true }, { id: 2, name: 'output', stateful: true, moves: true }]);
    assert.deepEqual(channels, [
      { id: 0, from: 1, to: 0, push: 2, pop: 2, peek: 7, tokens: 0, firstPop: 5, firstPeek: 5, bytesPerItem: 4 },
      { id: 1, from: 0, to: 2, push: 3, pop: 3, peek: 3, tokens: 0, firstPush: 1, bytesPerItem: 4 },
    ]);
    assert.deepEqual(toSdf(graph).channels, []);
    const loop = graphOf('int->int feedbackloop L { join roundrobin(3, 1); body Identity<int>; loop Identity<int>; split roundrobin(3, 1); enqueue 5; }');
    const ends = toSdf(loop, { ends: true });
    const [input, output] = ends.channels.slice(-2).map(({ from, to, push, pop }) => [ends.actors[from]!.name, ends.actors[to]!.name, push, pop]);
    assert.deepEqual([input, output], [['input', 'L_join', 3, 3], ['L_split', 'output', 3, 3]]);
  });

  it('refuses dynamic rates by name', () => {
    const graph = graphOf('int->int filter Some { work pop [0, 2] push 1 { push(pop()); } }');
    assert.throws(() => toSdf(graph), /Some has rates that are known only when it fires/);
  });
});
