// The language: trees of what is easily read otherwise, types of expressions, what names and calls mean.
import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert/strict';
import { check } from '../../../lib/stream/front/check.ts';
import { parse } from '../../../lib/stream/front/parser.ts';
import { print, printExpression } from '../../../lib/stream/front/printer.ts';
import { describe as typeText } from '../../../lib/stream/front/types.ts';
import type { CompositeDeclaration, Expression, FilterDeclaration, Program, Statement } from '../../../lib/stream/ast.ts';
import type { Checked } from '../../../lib/stream/front/checked.ts';

function good(text: string): Program {
  const { program, diagnostics } = parse([{ name: 'a.str', text }]);
  deepStrictEqual(diagnostics, []);
  return program;
}
/** Parses and checks a program that has no error. */
function whole(text: string): Checked {
  const { checked, diagnostics } = check(good(text));
  deepStrictEqual(diagnostics.filter(({ severity }) => severity === 'error').map(({ message, line }) => `${line}: ${message}`), []);
  return checked;
}
const filterOf = (program: Program, index = 0) => program.streams[index] as FilterDeclaration;
const workOf = (program: Program, index = 0): readonly Statement[] => filterOf(program, index).functions.find(({ kind }) => kind === 'work')!.body.statements;
const valueOf = (text: string): Expression => (workOf(good(`void->void filter F { work { x = ${text}; } }`))[0] as Extract<Statement, { kind: 'assign' }>).value;

/** An expression with all its parentheses. */
function grouped(node: Expression): string {
  switch (node.kind) {
    case 'binary': return `(${grouped(node.left)} ${node.operator} ${grouped(node.right)})`;
    case 'unary': return `(${node.operator}${grouped(node.operand)})`;
    case 'conditional': return `(${grouped(node.condition)} ? ${grouped(node.then)} : ${grouped(node.otherwise)})`;
    case 'cast': return `((${node.type.kind === 'primitive' ? node.type.name : '?'})${grouped(node.operand)})`;
    default: return printExpression(node);
  }
}

describe('binding of operators', () => {
  const cases: readonly (readonly [string, string])[] = [
    // Shifts bind like multiplication, unlike in C.
    ['a + b << 2', '(a + (b << 2))'], ['a << 2 + b', '((a << 2) + b)'], ['a << b * c', '((a << b) * c)'], ['a * b >> c', '((a * b) >> c)'],
    // The bit operators are one level, from the left.
    ['a | b & c', '((a | b) & c)'], ['a ^ b | c & d', '(((a ^ b) | c) & d)'], ['a & b == c', '(a & (b == c))'], ['a && b | c', '(a && (b | c))'],
    ['a || b && c', '(a || (b && c))'], ['a == b < c', '(a == (b < c))'], ['a - b - c', '((a - b) - c)'], ['a / b * c % d', '(((a / b) * c) % d)'],
    ['a ? b : c ? d : e', '(a ? b : (c ? d : e))'], ['a ? b ? c : d : e', '(a ? (b ? c : d) : e)'], ['a || b ? c + 1 : d', '((a || b) ? (c + 1) : d)'],
    ['(int) a * b', '(((int)a) * b)'], ['(int) -a', '((int)(-a))'], ['-(int) a + b', '((-((int)a)) + b)'], ['(float) (a + b) / c', '(((float)(a + b)) / c)'],
    ['!a && ~b == c', '((!a) && ((~b) == c))'], ['- -a - -b', '((-(-a)) - (-b))'], ['-a[1].b', '(-a[1].b)'], ['(a) - b', '(a - b)'],
  ];
  for (const [text, expected] of cases) it(text, () => strictEqual(grouped(valueOf(text)), expected));
});

describe('literals', () => {
  const cases: readonly (readonly [string, Partial<Record<'kind' | 'value', unknown>>])[] = [
    ['42', { kind: 'int', value: 42 }], ['007', { kind: 'int', value: 7 }], ['0xFFFFFFFF', { kind: 'int', value: -1 }], ['0X0000000010', { kind: 'int', value: 16 }],
    ['2147483648', { kind: 'int', value: -(2 ** 31) }], ['1.5', { kind: 'float', value: 1.5 }], ['1.', { kind: 'float', value: 1 }], ['.5', { kind: 'float', value: 0.5 }],
    ['1e3', { kind: 'float', value: 1000 }], ['1.5e-3f', { kind: 'float', value: 0.0015 }], ['3f', { kind: 'float', value: 3 }], ['2i', { kind: 'imaginary', value: 2 }],
    ['1.5e1i', { kind: 'imaginary', value: 15 }], ['pi', { kind: 'float', value: Math.PI }], ['true', { kind: 'boolean', value: true }],
    ['"a\\"b\\n"', { kind: 'string', value: 'a"b\n' }], ["'\\''", { kind: 'character', value: 39 }],
  ];
  for (const [text, expected] of cases) {
    it(text, () => {
      const { kind, value } = valueOf(text) as Extract<Expression, { kind: 'int' }>;
      deepStrictEqual({ kind, value }, expected);
    });
  }
});

describe('forms of the language', () => {
  const same = (text: string, expected: string) => strictEqual(print(good(text)), print(good(expected)));

  it('arrays: lengths before the name are the outer ones first, behind the name outermost', () => {
    same('void->void filter F { float[8][4] a; int b[2], c, d[3][4]; work { } }',
      'void->void filter F { float[8][4] a; int[2] b; int c; int[3][4] d; work { } }');
  });

  it('creators: names without arguments, optional semicolons, anonymous streams with and without types', () => {
    same(`void->void pipeline P { add A; add B(1); add Identity<int[2]>; add pipeline { add A(); } add int->int filter { work { } }; add S[3]->int filter { work { } }
      add A to p, q; }`,
    `void->void pipeline P { add A(); add B(1); add Identity<int[2]>(); add pipeline { add A(); }; add int->int filter { work { } }; add S[3]->int filter { work { } };
      add A() to p, q; }`);
  });

  it('splitters and joiners: with and without parentheses', () => {
    same('int->int splitjoin S { split duplicate(); join roundrobin(); }', 'int->int splitjoin S { split duplicate; join roundrobin; }');
  });

  it('nothing between parentheses, functions outside of streams, const, and assignments in a row', () => {
    same('int g(void) { } int h() { } void->void filter F(void) { const int k = 1; init() { } prework(void) push 1 { } ' +
      'work() { const int[2] i;for (a = b = 0; ; ) a = b[1] *= c; } }',
      'int g() { } int h() { } void->void filter F() { int k = 1; init { } prework push 1 { } work { int[2] i; for (b = 0, a = b; ; ) { b[1] *= c; a = b[1]; } } }');
    ok(good('int g() { } int h() { }').helpers[0]!.functions.length === 2);
    // What would be evaluated twice may not stand in the middle.
    deepStrictEqual(parse([{ name: 'a', text: 'void->void filter F { work { a = b[i++] = c; } }' }]).diagnostics.map(({ code }) => code), ['S0107']);
  });

  it('rates in any order, dynamic ones, with averages', () => {
    same('int->int filter F { work peek [1, 2, 3] push * pop [1,*] { } }', 'int->int filter F { work push * pop [1, *] peek [1, 3] { } }');
  });

  it('messages: latencies, and calls of packages told from them', () => {
    const [message, call] = workOf(good('native lib { void f(int x); } void->void filter F { work { p.f(1) [2:*]; lib.f(1); } }'));
    strictEqual(message!.kind, 'message');
    ok(call!.kind === 'expression' && call!.value.kind === 'call' && call!.value.name === 'lib.f');
    same('void->void filter F { work { p.m() [*]; p.m() [3]; p.m() [:4]; } }', 'void->void filter F { work { p.m() [*:*]; p.m() [3:3]; p.m() [*:4]; } }');
  });

  it('increments: statements, and values before and after', () => {
    const [first, second, third] = workOf(good('void->int filter F { work { x++; --x; push(x++ + --y); } }'));
    deepStrictEqual([first!.kind, second!.kind, third!.kind], ['increment', 'increment', 'push']);
    strictEqual(printExpression((third as Extract<Statement, { kind: 'push' }>).value), 'x++ + --y');
  });

  it('heads of loops with several parts; else-if chains; trailing commas; stray semicolons', () => {
    same('void->void filter F { ; int[2] a = {1, 2,}; work { for (i = 0, j = 1; ; i++, j--) ; if (a) ; else if (b) { } else ; ; } };',
      'void->void filter F { int[2] a = {1, 2}; work { for (i = 0, j = 1; ; i++, j--) ; if (a) ; else if (b) { } else ; ; } }');
  });

  it('several files are one program, names across them in any order', () => {
    const sources = [{ name: 'a.str', text: 'void->void pipeline P { add A(N); }' },
      { name: 'b.str', text: 'static { int N = 3; } void->void filter A(int n) { work { println(n); } }' }];
    const { program, diagnostics } = parse(sources);
    deepStrictEqual(diagnostics, []);
    const result = check(program);
    deepStrictEqual(result.diagnostics, []);
    deepStrictEqual([...result.checked.reached].map(({ name }) => name), ['P', 'A']);
  });
});

describe('types of expressions', () => {
  const fields = 'bit b; int i; float f; double d; boolean t; complex z; float2 v; int[3] a; float[2][4] m; P p;';
  const cases: readonly (readonly [string, string])[] = [
    ['b & b', 'bit'], ['b + b', 'int'], ['-b', 'int'], ['~b', 'bit'], ['b ^ i', 'int'], ['i + f', 'float'], ['f * d', 'double'], ['i * z', 'complex'], ['v + v', 'float2'],
    ['i / 2', 'int'], ['i << b', 'int'], ['t & t', 'boolean'], ['i < f', 'boolean'], ['z == i', 'boolean'], ['t ? i : f', 'float'], ['a', 'int[3]'], ['m[1]', 'float[4]'],
    ['m[1][2]', 'float'], ['p', 'P'], ['p.q[1]', 'float'], ['z.real', 'float'], ['v.y', 'float'], ['(int)f', 'int'], ['abs(i)', 'int'], ['abs(z)', 'float'], ['sin(i)', 'float'],
    ['sin(d)', 'double'], ['max(i, f)', 'float'], ['max(b, i)', 'int'], ['csqrt(f)', 'complex'], ['arg(z)', 'float'], ['random()', 'float'], ['twice(2)', 'int'],
    ['toRadians(i)', 'float'], ['i++', 'int'], ['pop()', 'float'], ['peek(1)', 'float'], ['iter()', 'int'], ['init_array_1D_float("x", 9)', 'float[9]'], ['"a" + i', 'string'],
  ];
  for (const [text, expected] of cases) {
    it(`${text}: ${expected}`, () => {
      const { program, diagnostics } = parse([{ name: 'a', text: `struct P { float[2] q; } float->float filter F { ${fields} int twice(int x) { return 2 * x; }
        work push 1 pop 1 peek 2 { println(${text}); push(pop()); } }` }]);
      deepStrictEqual(diagnostics, []);
      const { checked } = check(program);
      const call = (workOf(program)[0] as Extract<Statement, { kind: 'expression' }>).value as Extract<Expression, { kind: 'call' }>;
      strictEqual(typeText(checked.typeOf(call.args[0]!)), expected);
    });
  }
});

describe('what names and calls mean', () => {
  it('finds locals, parameters, fields, constants and captured variables', () => {
    const checked = whole(`static { int K = 2; }
      void->void pipeline Main { int n = 3; for (int j = 0; j < K; j++) add Make(n); }
      void->void pipeline Make(int size) { int k = size + 1;
        add void->void filter { int total; work { int size = 4; total += size + k + K; println(sum(total)); } int sum(int v) { return v; } } }`);
    const seen: string[] = [];
    const inner = [...checked.reached].find((stream) => stream.kind === 'filter') as FilterDeclaration;
    const visit = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      if ((value as Expression).kind === 'name') {
        const symbol = checked.symbolOf(value as Extract<Expression, { kind: 'name' }>);
        seen.push(`${symbol.kind} ${symbol.name}`);
        strictEqual(checked.symbolOfDeclaration(symbol.declaration), symbol);
      }
      Object.values(value).forEach(visit);
    };
    visit(inner.functions);
    deepStrictEqual(seen, ['field total', 'local size', 'local k', 'static K', 'field total', 'argument v']);
    strictEqual(checked.entry?.name, 'Main');
    strictEqual(checked.statics.length, 1);
  });

  it('finds targets of creators, messages and portals', () => {
    const checked = whole(`void->void pipeline Main { portal<R> p; add S(p); add Identity<int>; add R() to p; add FileWriter<int>("out"); }
      void->int filter S(portal<R> p) { work push 1 { push(1); p.set(2); } }
      int->int filter R { int v; work push 1 pop 1 { push(pop() + v); } handler set(int x) { v = x; } }`);
    const creators = (checked.entry as CompositeDeclaration).body.statements.flatMap((node) => ('creator' in node ? [node.creator] : []));
    deepStrictEqual(creators.map((creator) => checked.targetOf(creator).kind), ['stream', 'identity', 'stream', 'writer']);
    deepStrictEqual(creators.map((creator) => checked.portalsOf(creator).map(({ name }) => name)), [[], [], ['p'], []]);
    const message = workOf(checked.program, 1)[1] as Extract<Statement, { kind: 'message' }>;
    deepStrictEqual([checked.messageOf(message).portal.kind, checked.messageOf(message).handler.name], ['parameter', 'set']);
  });

  it('a helper of the filter goes before the one of a package and that of mathematics', () => {
    const checked = whole('helper pack { int sin(int x) { return x; } } void->void filter F { int sin(int x) { return x + 1; } work { println(sin(1) + pack.sin(2) + cos(3)); } }');
    const kinds: string[] = [];
    const visit = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      if ((value as Expression).kind === 'call') {
        const callee = checked.calleeOf(value as Extract<Expression, { kind: 'call' }>);
        kinds.push(callee.kind === 'function' ? callee.owner.name : callee.kind);
      }
      Object.values(value).forEach(visit);
    };
    visit(workOf(checked.program));
    deepStrictEqual(kinds, ['print', 'F', 'pack', 'math']);
  });

  it('checks only what the program reaches', () => {
    const { checked, diagnostics } = check(good('void->void filter Main { work { println(1); } } int->int filter Other { int x = undefined + "a"; work { foo(); } }'));
    deepStrictEqual(diagnostics.map(({ code }) => code), ['S0801']);
    throws(() => checked.typeOf((filterOf(checked.program, 1).fields[0]!.value)!), { code: 'ERR_WARPLOOM_INTERNAL' });
  });

  it('of several streams with open ends that nobody adds, the one called Main or like its file is the program', () => {
    const entryOf = (name: string, text: string) => check(parse([{ name, text }]).program).checked.entry?.name;
    const text = (name: string) => 'int->int filter A { work pop 1 push 1 { push(pop()); } } int->int filter Unused { work pop 1 push 1 { push(pop()); } } ' +
      `int->int pipeline ${name} { add A; }`;
    deepStrictEqual([entryOf('x.str', text('Main')), entryOf('fir.str', text('Fir')), entryOf('x.str', text('Fir'))], ['Main', 'Fir', undefined]);
  });

  it('a library of several streams is checked whole; the entry can be named', () => {
    const program = good('int->int filter First { work push 1 pop 1 { push(pop()); } } int->int filter B { work push 1 pop 1 { push(x); pop(); } }');
    deepStrictEqual(check(program).diagnostics.map(({ code }) => code), ['S0201']);
    strictEqual(check(program).checked.entry, undefined);
    const { checked, diagnostics } = check(program, { entry: 'First' });
    deepStrictEqual([checked.entry?.name, diagnostics.map(({ code }) => code)], ['First', ['S0801']]);
    deepStrictEqual(check(program, { entry: 'C' }).diagnostics.map(({ code }) => code), ['S0202', 'S0801', 'S0801']);
  });

  it('of several void->void streams the one with the name of its file is the program', () => {
    const text = 'void->void filter Test { work { println(1); } } void->void filter FFT { work { println(2); } }';
    const entryOf = (name: string) => {
      const { checked, diagnostics } = check(parse([{ name, text }]).program);
      return [checked.entry?.name, diagnostics.map(({ code }) => code)];
    };
    deepStrictEqual(entryOf('programs/FFT.str'), ['FFT', ['S0801']]);
    deepStrictEqual(entryOf('programs/fft.str'), ['FFT', ['S0801']]);
    deepStrictEqual(entryOf('other.str'), ['FFT', ['S0801', 'S0501']]);
  });

  it('types of ends of anonymous composites are left to be inferred', () => {
    const checked = whole('int->int pipeline P { add pipeline { add Identity<int>; } }');
    const inner = [...checked.reached].find(({ name }) => name === '')!;
    deepStrictEqual([checked.endsOf(inner).input.kind, checked.endsOf(inner).output.kind], ['unknown', 'unknown']);
  });
});

describe('speed', () => {
  it('10 000 lines parse and check in a second after warming up', function timed() {
    this.timeout(60_000);
    const filter = (index: number) => `float->float filter F${index}(float rate, int taps) {
  float[taps] coeff;
  int state;
  init {
    float m = taps - 1;
    for (int i = 0; i < taps; i++) {
      if (i - m / 2 == 0) coeff[i] = pi / rate;
      else coeff[i] = sin(rate * (i - m / 2)) / pi / (i - m / 2) * (0.54 - 0.46 * cos(2 * pi * i / m));
    }
  }
  work pop 1 push 1 peek taps {
    float sum = 0;
    for (int i = 0; i < taps; i++) {
      sum += peek(i) * coeff[i];
      state = (state << 1 ^ state >> 3) & 0xff;
    }
    push(sum + state);
    pop();
  }
}
`;
    const count = 477;
    const text = `void->void pipeline Main { add FileReader<float>("a"); ${Array.from({ length: count }, (_, i) => `add F${i}(${i}.5, 8);`).join('\n')}
      add FileWriter<float>("b"); }\n${Array.from({ length: count }, (_, i) => filter(i)).join('')}`;
    ok(text.split('\n').length >= 10_000);
    let best = Infinity;
    for (let run = 0; run < 4; ++run) {
      const start = process.cpuUsage();
      const { checked } = (() => check(good(text)))();
      strictEqual(checked.reached.size, count + 1);
      const { user, system } = process.cpuUsage(start);
      best = Math.min(best, (user + system) / 1e6);
    }
    ok(best < 8, `${best} s of processor time`);
  });
});
