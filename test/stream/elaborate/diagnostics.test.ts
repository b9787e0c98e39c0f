// What elaboration has to say about programs that are well formed but wrong, with code, place and message.
import assert from 'node:assert/strict';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { UnsupportedProgram } from '../../../lib/stream/plan/unsupported.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import { build } from '../support.ts';

interface Wrong {
  readonly source: string;
  readonly code: string;
  readonly at: readonly [line: number, column: number];
  readonly message: string;
}

const unit = 'int->int filter Id { work pop 1 push 1 { push(pop()); } }\n';
const toFloat = 'int->float filter ToFloat { work pop 1 push 1 { push(pop()); } }\n';

const wrong: readonly Wrong[] = [
  {
    source: 'int->int filter F(int n) { work pop 1 push 2 {\nint x = pop(); for (int i = 0; i < x; i++) push(i);\nfor (int i = 0; i < n; i++) push(i); } }\n' +
      'int->int pipeline P { add F(3); }',
    code: 'S4032', at: [1, 44], message: 'work pushes at least 3 items, but push 2 is declared (in P / F(3))',
  },
  {
    source: 'int->int filter F(int n) { work pop n push 1 { push(pop()); if (peek(0) > 0) pop(); } }\nint->int pipeline P { add F(4); }',
    code: 'S4032', at: [1, 37], message: 'work pops 1 to 2 items, but pop 4 is declared (in P / F(4))',
  },
  {
    source: `${unit}${toFloat}int->int pipeline P {\nif (true) add ToFloat;\nadd Id;\n}`, code: 'S4043', at: [5, 5],
    message: 'ToFloat gives float, but Id takes int (in P)',
  },
  {
    source: `${unit}int->int splitjoin P {\nsplit roundrobin(1, 2);\nfor (int i = 0; i < 3; i++) add Id;\njoin roundrobin; }`,
    code: 'S4044', at: [3, 7], message: '2 weights for 3 streams (in P)',
  },
  {
    source: `${unit}int->int splitjoin P {\nsplit duplicate;\nfor (int i = 0; i < 3; i++) add Id;\njoin roundrobin(1, 2, 3, 4); }`,
    code: 'S4044', at: [5, 6], message: '4 weights for 3 streams (in P)',
  },
  {
    source: `${unit}int->int pipeline P {\nfor (int i = 0; i < 0; i++) add Id;\n}`, code: 'S4042', at: [2, 19], message: 'this pipeline has no streams (in P)',
  },
  {
    source: 'void->int filter One { work push 1 { push(1); } }\nint->int filter Id { work pop 1 push 1 { push(pop()); } }\n' +
      'int->int splitjoin P {\nsplit roundrobin(1, 1);\nadd Id; add One;\njoin roundrobin; }',
    code: 'S4046', at: [4, 7], message: 'One has no input, but its weight is 1 (in P)',
  },
  {
    source: 'int->int filter F(int n) { work pop 1 push 1 {\nint k = pop(); int[k] a; push(a[0] + n); } }\nint->int pipeline P { add F(1); }',
    code: 'S4001', at: [2, 20], message: 'the length of an array is not a constant (in P / F(1))',
  },
  {
    source: 'int->int filter F { int k; int next() { return k + 1; } work pop 1 push 1 {\nk++; int[next()] a; push(pop() + a[0]); } }\n' +
      'int->int pipeline P { add F; }', code: 'S4001', at: [2, 10], message: 'the length of an array is not a constant (in P / F)',
  },
  {
    source: 'int->int filter F(int n, int[n] t) { work pop 1 push 1 { push(pop() + t[0]); } }\n' +
      'int->int pipeline P { float[3] t; for (int i = 0; i < 3; i++) t[i] = i;\nadd F(3, t); }', code: 'S0301', at: [3, 10], message: '',
  },
  {
    source: 'int->int filter F(int n, int[n] t) { int[2] a; work pop 1 push 1 {\na = t; push(pop() + a[0]); } }\nint->int pipeline P { int[3] t; add F(3, t); }',
    code: 'S4007', at: [2, 5], message: 'a value of int[3] cannot be used where int[2] is expected (in P / F(3, int[3]))',
  },
  {
    source: 'int->int filter F(int n) { work pop [n, 2] push 1 { push(pop()); } }\nint->int pipeline P { add F(5); }',
    code: 'S4030', at: [1, 37], message: 'the pop rate is at least 5 but at most 2 (in P / F(5))',
  },
  {
    source: 'int->int filter F { int k; init { int z = 0;\nk = 5 / z; } work pop 1 push 1 { push(pop() + k); } }', code: 'S5002', at: [2, 5],
    message: '5 / 0: an integer cannot be divided by zero (in F)',
  },
];

describe('diagnostics of elaboration', () => {
  for (const { source, code, at, message } of wrong) {
    it(`${code}: ${message || source.slice(0, 40)}`, () => {
      const errors = build(source).diagnostics.filter(({ severity }) => severity === 'error');
      assert.deepEqual(errors.map((each) => [each.code, each.line, each.column]), [[code, ...at]], errors.map((each) => each.message).join('\n'));
      if (message !== '') assert.equal(errors[0]!.message, message);
    });
  }

  it('reports what is wrong in several instances', () => {
    const { diagnostics } = build('int->int filter F(int n) { work pop 1 push 2 {\nint[pop()] a; push(a[0]); push(n); } }\nint->int filter G(int n) { work pop 1 push 1 {\n' +
      'int[pop()] a; push(n); } }\nint->int pipeline P { add F(3); add G(2); }');
    assert.deepEqual(diagnostics.filter(({ severity }) => severity === 'error').map((each) => each.line), [2, 4]);
  });

  it('warns of rates that the code does not keep, and takes those of the code', () => {
    const of = (work: string, n: number) => build(`int->int filter F(int n) { ${work} }\nint->int pipeline P { add F(${n}); }`);
    const messages = ({ diagnostics }: ReturnType<typeof of>) => diagnostics.filter(({ code }) => code >= 'S4').map(({ code, message }) => `${code} ${message}`);
    const ratesOf = ({ graph }: ReturnType<typeof of>) => graph!.nodes.map((node) => (node.kind === 'filter' ? [node.code.prework?.rates, node.code.work.rates] : []));
    const pushes = of('work pop 1 push 2 { for (int i = 0; i < n; i++) push(i); pop(); }', 3);
    assert.deepEqual(messages(pushes), ['S4032 work pushes 3 items, but push 2 is declared (in P / F(3))']);
    assert.deepEqual(ratesOf(pushes), [[undefined, { push: 3, pop: 1, peek: 1 }]]);
    const pops = of('work pop n push 1 { push(pop()); }', 2);
    assert.deepEqual(messages(pops), ['S4032 work pops 1 item, but pop 2 is declared (in P / F(2))']);
    assert.deepEqual(interpretSync(pops.graph!, { input: [1, 2, 3, 4, 5] }).output, [1, 3]);
    const more = of('work pop 1 push 1 { push(pop() * n + pop()); }', 2);
    assert.deepEqual(ratesOf(more), [[undefined, { push: 1, pop: 2, peek: 2 }]]);
    const peeks = of('work pop 1 push 1 peek n { int s = 0; for (int i = 0; i <= n; i++) s += peek(i);\npush(s); pop(); }', 4);
    assert.deepEqual(messages(peeks), ['S4033 work looks at item 4, but peek 4 is declared (in P / F(4))']);
    assert.deepEqual(ratesOf(peeks), [[undefined, { push: 1, pop: 1, peek: 5 }]]);
    const first = of('prework push n { } work pop 1 push 1 { push(pop()); }', 2);
    assert.deepEqual(messages(first), ['S4032 prework pushes 0 items, but push 2 is declared (in P / F(2))']);
    assert.deepEqual(ratesOf(first), [[{ push: 0, pop: 0, peek: 0 }, { push: 1, pop: 1, peek: 1 }]]);
    assert.deepEqual(ratesOf(of('work { push(pop()); }', 2)), [[undefined, { push: 1, pop: 1, peek: 1 }]]);
  });

  it('warns of rates that do not balance', () => {
    const { graph, diagnostics } = build('int->int splitjoin P { split roundrobin(1, 2);\nadd int->int filter {\n' +
      'work pop 1 push 1 { push(pop()); } };\nadd Identity<int>; join roundrobin; }');
    assert.deepEqual(diagnostics.map((each) => [each.code, each.severity]), [['S4054', 'warning']]);
    assert.match(diagnostics[0]!.message, /cannot balance/);
    assert.deepEqual(interpretSync(graph!, { input: [1, 2, 3, 4, 5, 6] }).output, [1, 2, 4, 3]);
  });

  it('warns of a file that is not there, and does not run the program without it', () => {
    const source = 'float->float filter F { float[2] w = init_array_1D_float("taps.bin", 2);\nwork pop 1 push 1 { push(pop() * w[0]); } }';
    const { graph, diagnostics } = build(source);
    assert.deepEqual(diagnostics.map((each) => [each.code, each.severity, each.column]), [['S4021', 'warning', 38]]);
    assert.throws(() => interpretSync(graph!, { input: [1] }), /S5011: there is no file 'taps\.bin'/);
    assert.throws(() => compileWasm(graph!), UnsupportedProgram);
    const given = build(source, { files: { 'taps.bin': new TextEncoder().encode('3 4') } });
    assert.deepEqual(interpretSync(given.graph!, { input: [1] }).output, [3]);
  });

  it('warns of an index that is always outside, and lets programs that never get there run', () => {
    const { graph, diagnostics } = build('int->int filter F(int n) { int[4] a; work pop 1 push 1 { int x = pop(); if (x > 1000) x = a[n]; push(x + a[0]); } }\n' +
      'int->int pipeline P { add F(4); }');
    assert.deepEqual(diagnostics.map((each) => [each.code, each.severity]), [['S4013', 'warning']]);
    assert.ok(graph !== undefined);
  });
});
