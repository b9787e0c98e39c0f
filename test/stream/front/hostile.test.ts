// Hostile sources: refused with a diagnostic in bounded time, never a crash.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { Worker } from 'node:worker_threads';
import { check } from '../../../lib/stream/front/check.ts';
import { parse } from '../../../lib/stream/front/parser.ts';

const inWork = (text: string) => `void->void filter F { int x; work { ${text} } }`;
const many = (text: string, count = 100_000) => text.repeat(count);

/** Source and the first error's code, line and column; undefined: it is right, if large. */
const sources: Readonly<Record<string, readonly [string, string | undefined]>> = {
  'parentheses 100 000 deep': [inWork(`x = ${many('(')}1${many(')')};`), 'S0115 1:140'],
  'blocks 100 000 deep': [inWork(many('{') + many('}')), 'S0115 1:137'],
  'pipelines 100 000 deep': [`void->void pipeline P { ${many('add pipeline {')}`, 'S0115 1:1425'],
  'if under if': [inWork(`${many('if (true) ')};`), 'S0115 1:1031'],
  'for under for': [inWork(`${many('for (;;) ')};`), 'S0115 1:937'],
  'do under do': [inWork(many('do ')), 'S0115 1:337'],
  'signs before an operand': [inWork(`x = ${many('- ')}1;`), 'S0123 1:199039'],
  'casts before an operand': [inWork(`x = ${many('(int)')}1;`), 'S0123 1:497536'],
  'a sum of 100 000': [inWork(`x = 1${many('+1')};`), 'S0123 1:1042'],
  'indices behind each other': [inWork(`x${many('[0]')} = 1;`), 'S0123 1:1538'],
  'indices in each other': [inWork(`x = ${many('x[')}`), 'S0115 1:239'],
  'calls in each other': [inWork(`x = ${many('f(')}`), 'S0115 1:239'],
  'conditionals in each other': [inWork(`x = ${many('true ? 1 : ')}2;`), 'S0115 1:1126'],
  'an else-if chain of 100 000': [inWork(`if (true) ; ${many('else if (true) ; ')}`), 'S0123 1:8554'],
  'braces of elements': [`static { int x = ${many('{')}`, 'S0115 1:118'],
  'dimensions of a type': [`void->void filter F { int${many('[1]')} x; work { } }`, 'S0123 1:1525'],
  'a million digits': [`static { int x = ${many('9', 1_000_000)}; }`, 'S0106 1:18'],
  'a million hexadecimal digits': [`static { int x = 0x${many('f', 1_000_000)}; }`, 'S0106 1:18'],
  'a huge exponent': [inWork(`float y = 1e${many('9')}; println(y);`), undefined],
  'a string without an end, of a million characters': [`static { string s = "${many('a', 1_000_000)}`, 'S0102 1:21'],
  'a comment without an end': [`/*${many('* /')}`, 'S0104 1:1'],
  'a million NULs': [many('\0', 1_000_000), 'S0101 1:1'],
  'halves of surrogate pairs': [many('\ud800x\udc00 '), 'S0101 1:1'],
  'more than a million tokens': [many('a ', 1_000_001), 'S0117 1:2000001'],
  'a million tokens of nonsense': [many('a ', 999_999), 'S0107 1:3'],
  'opening braces and names': [many('a { '), 'S0107 1:3'],
  'a line of 300 000 statements': [inWork(many('x = 1; ', 100_000)), undefined],
  '20 000 errors': [`void->void pipeline P { ${many('add 1; ', 20_000)} }`, 'S0107 1:29'],
  'a name of a million characters': [inWork(`${many('y', 1_000_000)} = 1;`), 'S0201 1:37'],
  'the same stream 20 000 times': [many('int->int filter F { work push 1 pop 1 { push(pop()); } } ', 20_000), undefined],
  '20 000 undefined names': [inWork(many('y = z; ', 20_000)), 'S0201 1:37'],
  'structs in structs': [`${Array.from({ length: 20_000 }, (_, i) => `struct S${i} { S${i + 1} a; }`).join(' ')}
    struct S20000 { int a; } void->void filter F { S0 s; work { println(s.a.a.a == s.a.a.a); } }`, 'S0213 1:1099'],
  'functions that call each other, 20 000 of them': [`void->void filter F { ${Array.from({ length: 20_000 }, (_, i) =>
    `int f${i}(int x) { return f${i + 1}(x); }`).join(' ')} int f20000(int x) { return x; } work { println(f0(1)); } }`, undefined],
  'functions outside of streams that call each other': [`${Array.from({ length: 20_000 }, (_, i) => `int f${i}(int x) { return f${i + 1}(x); }`).join(' ')}
    int f20000(int x) { return x; } void->void filter F { work { println(f0(1)); } }`, undefined],
  'assignments in a row': [inWork(`x = ${many('x = ')}1;`), undefined],
  'filters without types side by side': [
    `void->void splitjoin P { split roundrobin; ${many('add pipeline { add filter { work pop 1 push 1 { push(pop()); } } } ', 2000)} join roundrobin; }`,
    'S0504 1:63'],
  'filters without types in each other': [
    `void->void pipeline P { ${many('add splitjoin { split roundrobin; add filter { work pop 1 push 1 { push(pop()); } } ', 40)} add filter { work { } } ${
    many('join roundrobin; } ', 40)} }`, 'S0504 1:63'],
  'sections of constants that need each other': [`${Array.from({ length: 10_000 }, (_, i) => `static { int c${i} = c${i + 1}; }`).join(' ')}
    static { int c10000 = 1; } void->void filter F { work { println(c0); } }`, undefined],
};

/** Code, line and column of the first error of parsing or, without any, of checking. */
function firstError(text: string): string | undefined {
  const { program, diagnostics } = parse([{ name: 'hostile.str', text }]);
  const syntax = diagnostics.find(({ severity }) => severity === 'error');
  const found = syntax ?? check(program).diagnostics.find(({ severity }) => severity === 'error');
  return found === undefined ? undefined : `${found.code} ${found.line}:${found.column}`;
}

describe('hostile sources', () => {
  for (const [title, [text, code]] of Object.entries(sources)) {
    it(title, function timed() {
      this.timeout(120_000);
      strictEqual(firstError(text), code);
    });
  }

  it('keep to the limits that are given', () => {
    const codes = (text: string, limits: Parameters<typeof parse>[1]) => parse([{ name: 'a', text }], limits).diagnostics.map(({ code }) => code);
    const small = 'void->void filter F { int x; work { x = ((1)) + 2; } }';
    deepStrictEqual(codes(small, {}), []);
    deepStrictEqual(codes(small, { characters: small.length }), []);
    deepStrictEqual(codes(small, { characters: small.length - 1 }), ['S0116']);
    deepStrictEqual(codes(small, { tokens: 23 }), []);
    deepStrictEqual(codes(small, { tokens: 22 }), ['S0117']);
    deepStrictEqual(codes(small, { nesting: 4 }), []);
    deepStrictEqual(codes(small, { nesting: 3 }), ['S0115']);
    deepStrictEqual(codes(small, { expression: 1 }), []);
    deepStrictEqual(codes(small, { expression: 0 }), ['S0123']);
  });

  it('may be nested 1000 deep where the option says so', () => {
    const depth = 1000;
    const deep = (open: string, inner: string, close: string) => inWork(`${many(open, depth)}${inner}${many(close, depth)}`);
    for (const text of [inWork(`x = ${many('(', depth)}1${many(')', depth)}; println(x);`), deep('{', 'x = 1; println(x);', '}'), deep('if (true) ', 'x = 1; println(x);', '')]) {
      const { program, diagnostics } = parse([{ name: 'a', text }], { nesting: depth + 10 });
      deepStrictEqual([...diagnostics, ...check(program).diagnostics].map(({ code }) => code), []);
      deepStrictEqual(parse([{ name: 'a', text }], { nesting: depth - 10 }).diagnostics.map(({ code }) => code), ['S0115']);
    }
  });

  it('report at most 50 errors of syntax for a file', () => {
    const { diagnostics } = parse([{ name: 'a', text: `void->void pipeline P { ${many('add 1; ', 200)} }` }]);
    strictEqual(diagnostics.length, 50);
  });

  it('report at most 100 errors of checking, and say so', () => {
    const { program } = parse([{ name: 'a', text: inWork(many('y = z; ', 200)) }]);
    const { diagnostics } = check(program);
    const errors = diagnostics.filter(({ severity }) => severity === 'error');
    strictEqual(errors.length, 101);
    strictEqual(errors.at(-1)!.code, 'S0100');
  });

  it('leave room on the stack at the default limits, in a worker with a small one, too', async () => {
    const text = `void->void pipeline P { ${'add pipeline {'.repeat(48)} add F(1); ${'}'.repeat(49)}
      void->void filter F(int n) { int x; work { ${'{'.repeat(30)} x = ${'('.repeat(60)}1${')'.repeat(60)}${'+1'.repeat(400)}; println(x); ${'}'.repeat(30)} } }`;
    const url = (path: string) => new URL(`../../../lib/stream/front/${path}`, import.meta.url).href;
    const code = `import('tsx/esm/api').then(async ({ register }) => {
      register();
      const { parse } = await import(${JSON.stringify(url('parser.ts'))});
      const { check } = await import(${JSON.stringify(url('check.ts'))});
      const { program, diagnostics } = parse([{ name: 'deep', text: ${JSON.stringify(text)} }]);
      require('node:worker_threads').parentPort.postMessage([...diagnostics, ...check(program).diagnostics].map((d) => d.code + d.message));
    });`;
    const worker = new Worker(code, { eval: true, resourceLimits: { stackSizeMb: 0.9 } });
    const found = await new Promise((resolve, reject) => { worker.on('message', resolve).on('error', reject); });
    deepStrictEqual(found, []);
    await worker.terminate();
  });

  it('parse and check files of nothing', () => {
    deepStrictEqual(parse([]).diagnostics, []);
    deepStrictEqual(check(parse([]).program).diagnostics.map(({ code, line, column }) => [code, line, column]), [['S0502', 1, 1]]);
    ok(parse([{ name: '', text: '' }]).program.files.length === 1);
  });
});
