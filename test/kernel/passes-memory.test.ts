// Bounds of integers and arrays in locals.
import assert from 'node:assert/strict';
import { dropDead } from '../../lib/kernel/passes/dead.ts';
import { useRanges } from '../../lib/kernel/passes/ranges.ts';
import { dropNeedlessFills, replaceArrays } from '../../lib/kernel/passes/scalars.ts';
import { simplify } from '../../lib/kernel/passes/simplify.ts';
import { becomes, keepsMeaning, lastFunction } from './pass-support.ts';

const head = 'external x f32[16]\nglobal g i32[16]\n';

describe('kernel pass: useRanges', () => {
  keepsMeaning('useRanges', useRanges);
  it('drops guards that hold: of counters, masks, what was asked before', () => {
    becomes(useRanges, `${head}function f(n: i32) { var i: i32 for L: i = 0 to 16 step 1 {
      guard lt_u(i, 16) else 1 f64(0) guard lt_u(band(n, 15), 16) else 2 f64(0) guard lt_u(n, 9) else 3 f64(0) guard lt_u(n, 10) else 4 f64(0) g[i] = 1 } }`,
    '  for L: i = 0 to 16 step 1 {\n    guard lt_u(n, 9) else 3 f64(0)\n    g[i] = 1\n  }');
  });
  it('keeps guards that may fail', () => {
    becomes(useRanges, `${head}function f(n: i32) { var i: i32 for L: i = 0 to n step 1 { guard lt_u(i, 16) else 1 f64(0) g[i] = 1 }
      for M: i = -1 to 3 step 1 { guard lt_u(i, 3) else 2 f64(0) } }`,
    `  for L: i = 0 to n step 1 {\n    guard lt_u(i, 16) else 1 f64(0)\n    g[i] = 1\n  }
  for M: i = -1 to 3 step 1 {\n    guard lt_u(i, 3) else 2 f64(0)\n  }`);
  });
  it('learns from conditions, and forgets what is assigned', () => {
    becomes(useRanges, `${head}function f(n: i32) { var k: i32 k = n
      if and(ge(k, 0), lt(k, 16)) { guard lt_u(k, 16) else 1 f64(0) g[k] = 1 } else { guard lt_u(k, 16) else 2 f64(0) }
      while L: lt(k, 4) { guard lt(k, 4) else 3 f64(0) k = add(k, 1) guard lt(k, 4) else 4 f64(0) } }`,
    `  k = n\n  if and(ge(k, 0), lt(k, 16)) {\n    g[k] = 1\n  } else {\n    guard lt_u(k, 16) else 2 f64(0)\n  }
  while L: lt(k, 4) {\n    k = add.exact(k, 1)\n    guard lt(k, 4) else 4 f64(0)\n  }`);
  });
  it('marks what cannot wrap and moves constants into offsets', () => {
    becomes(useRanges, `${head}function f(n: i32 in 0..3, m: i32) -> (f32) { g[add(add(mul(n, 2), 1), 2)] = add(m, 1) return (x[add(m, 1)]) }`,
      '  g[mul.exact(n, 2) + 3] = add(m, 1)\n  return (x[add(m, 1)])');
  });
});

describe('kernel pass: replaceArrays', () => {
  keepsMeaning('simplify, replaceArrays, simplify, dropDead', (program) => dropDead(simplify(replaceArrays(simplify(program)))));
  const whole = (text: string) => lastFunction(text, (program) => dropDead(simplify(replaceArrays(program))));
  it('keeps arrays with known places in locals', () => {
    const { text } = whole(`${head}function f(n: i32) -> (i32) { local b i32[3] fill b[0] for 3 b[1] = n b[0 + 2] = add(n, 1) return (mul(add(b[0], b[1]), b[2])) }`);
    assert.equal(text.split('\n').slice(1).join('\n'), '  var b_at2: i32\n  b_at2 = add(n, 1)\n  return (mul(n, b_at2))\n}');
  });
  it('leaves arrays with an index that is not known, and large ones', () => {
    const text = `${head}function f(n: i32 in 0..2) -> (i32) { local b i32[3] local c i32[65] fill b[0] for 3 c[0] = 1 return (add(b[n], c[0])) }`;
    const { program } = lastFunction(text);
    assert.equal(replaceArrays(program), program);
  });
  it('copies one by one, all read before any is written', () => {
    becomes((program) => dropDead(replaceArrays(program)),
      `${head}function f() -> (i32) { local b i32[3] b[0] = 1 b[1] = 2 copy b[1] = b[0] for 2 copy g[3] = b[0] for 2 return (b[2]) }`,
      `  b_at0 = 1\n  b_at1 = 2\n  copied = b_at0\n  copied_1 = b_at1\n  b_at1 = copied\n  b_at2 = copied_1
  copied_2 = b_at0\n  copied_3 = b_at1\n  g[3] = copied_2\n  g[3 + 1] = copied_3\n  return (b_at2)`);
  });
});

describe('kernel pass: dropNeedlessFills', () => {
  keepsMeaning('dropNeedlessFills', dropNeedlessFills, 600);
  const fills = (body: string): number =>
    lastFunction(`${head}function f(n: i32 in 0..3) { local b i32[4] var i: i32 fill b[0] for 4 ${body} }`, dropNeedlessFills).body.split('fill').length - 1;
  for (const [what, count, body] of [
    ['a loop that writes all', 0, 'for L: i = 0 to 4 step 1 { b[i] = i } g[0] = b[n]'],
    ['two loops that write all', 0, 'for L: i = 0 to 4 step 2 { b[i] = i } for M: i = 0 to 3 step 2 { b[i + 1] = i } g[0] = b[n]'],
    ['stores and a copy that write all', 0, 'b[0] = 1 copy b[1] = g[0] for 3 g[0] = b[n]'],
    ['reads behind what was written', 0, 'b[0] = 1 g[0] = b[0] copy b[1] = g[0] for 3 g[0] = b[n]'],
    ['a loop that writes part', 1, 'for L: i = 0 to 3 step 1 { b[i] = i } g[0] = b[n]'],
    ['a loop that reads', 1, 'for L: i = 0 to 4 step 1 { b[i] = add(b[n], i) } g[0] = b[n]'],
    ['a loop that may end early', 1, 'for L: i = 0 to 4 step 1 { if eq(n, i) { break L } b[i] = i } g[0] = b[n]'],
    ['a branch that writes', 1, 'if eq(n, 0) { for L: i = 0 to 4 step 1 { b[i] = i } } g[0] = b[n]'],
    ['a read before', 1, 'g[0] = b[n] for L: i = 0 to 4 step 1 { b[i] = i }'],
  ] as const) it(`${count === 0 ? 'drops' : 'keeps'} zeros before ${what}`, () => { assert.equal(fills(body), count); });
});
