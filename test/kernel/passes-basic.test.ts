// Inlining, constant folding and dead code: what each makes of small programs, and random programs that mean the same after as before.
import assert from 'node:assert/strict';
import { dropDead, dropUnreached } from '../../lib/kernel/passes/dead.ts';
import { inlineCalls } from '../../lib/kernel/passes/inline.ts';
import { simplify } from '../../lib/kernel/passes/simplify.ts';
import { becomes, keepsMeaning, lastFunction } from './pass-support.ts';

const head = 'external x f32[16]\nglobal g i32[16]\nconstant t i32[4] = (5, 6, 7, 8)\nimport note(i32)\n';

describe('kernel pass: simplify', () => {
  keepsMeaning('simplify', simplify);
  it('puts what is known in place of locals and folds', () => {
    becomes(simplify, `${head}function f(n: i32) -> (i32) { var a: i32 var b: i32 a = 3 b = a return (add(mul(n, add(b, -2)), t[sub(a, 1)])) }`,
      '  a = 3\n  b = 3\n  return (add(n, 7))');
  });
  it('follows branches that are known, and forgets where two meet', () => {
    becomes(simplify, `${head}function f(c: bool) -> (i32) { var a: i32 var b: i32 a = 1 if lt(a, 2) { b = 4 } else { b = 5 }
      if c { a = 2 } return (add(a, b)) }`, '  a = 1\n  b = 4\n  if c {\n    a = 2\n  }\n  return (add(a, 4))');
  });
  it('knows nothing of what a loop changes', () => {
    becomes(simplify, `${head}function f(n: i32) -> (i32) { var a: i32 var i: i32 a = 1 for L: i = 0 to n step 1 { a = add(a, a) } return (a) }`,
      '  a = 1\n  for L: i = 0 to n step 1 {\n    a = add(a, a)\n  }\n  return (a)');
  });
  it('drops loops without iterations, and loops of one', () => {
    becomes(simplify, `${head}function f() { var i: i32 for L: i = 3 to 3 step 1 { g[i] = 1 } for M: i = 2 to 4 step 2 { g[i] = i } while N: false { } }`,
      '  i = 2\n  g[2] = 2');
  });
  it('drops guards that hold; those that do not become traps, and what stands behind goes', () => {
    becomes(simplify, `${head}function f() { guard lt_u(3, 4) else 1 f64(0) guard lt_u(-1, 4) else 2 f64(-1) g[0] = 1 }`, '  trap 2 f64(-1)');
  });
  it('leaves rounding alone: x + 0, x * 0 and x - x of floats stay', () => {
    becomes(simplify, `${head}function f(x: f32) -> (f32, f32, f32, f32) { return (add(x, f32(0)), mul(x, f32(0)), sub(x, x), add(x, f32(-0))) }`,
      '  return (add(x, f32(0)), mul(x, f32(0)), sub(x, x), x)', 'function f(x: f32) -> (f32, f32, f32, f32)');
  });
  it('takes blocks away that only end', () => {
    becomes(simplify, `${head}function f(c: bool) { block B: { g[0] = 1 break B } block C: { if c { break C } g[1] = 1 } }`,
      '  g[0] = 1\n  block C: {\n    if c {\n      break C\n    }\n    g[1] = 1\n  }');
  });
});

describe('kernel pass: dropDead', () => {
  keepsMeaning('dropDead', dropDead);
  it('drops what nothing reads', () => {
    becomes(dropDead, `${head}function f(n: i32) -> (i32) { var a: i32 var b: i32 a = 1 b = add(a, 1) a = n if lt(n, 3) { b = 2 } return (a) }`,
      '  a = n\n  return (a)');
  });
  it('keeps what the next iteration reads', () => {
    becomes(dropDead, `${head}function f(n: i32) { var a: i32 var i: i32 a = 0 for L: i = 0 to n step 1 { g[i] = a a = i } }`,
      '  a = 0\n  for L: i = 0 to n step 1 {\n    g[i] = a\n    a = i\n  }');
  });
  it('drops arrays that are written only, and what filled them', () => {
    becomes(dropDead, `${head}function f(n: i32) { local b i32[4] var i: i32 fill b[0] for 4 for L: i = 0 to 4 step 1 { b[i] = mul(n, i) } g[0] = n }`,
      '  g[0] = n');
  });
  it('keeps calls, traps and endless loops', () => {
    becomes(dropDead, `${head}function f(n: i32) { call note(n) guard lt(n, 3) else 1 f64(0) while L: true { } g[0] = 1 }`,
      '  call note(n)\n  guard lt(n, 3) else 1 f64(0)\n  while L: true {\n  }\n  g[0] = 1');
  });
  it('drops what nothing reaches', () => {
    const made = dropUnreached(lastFunction(`${head}function a() { g[0] = 1 }\nfunction b() { }\nfunction c() { call a() }`).program, new Set(['c']));
    assert.deepEqual(made.functions.map(({ name }) => name), ['a', 'c']);
    assert.deepEqual([made.imports.length, made.buffers.map(({ name }) => name)], [0, ['x', 'g']]);
  });
});

describe('kernel pass: inlineCalls', () => {
  keepsMeaning('inlineCalls', inlineCalls);
  keepsMeaning('inlineCalls, simplify, dropDead', (program) => dropDead(simplify(inlineCalls(program))));
  it('puts bodies in place under new names', () => {
    becomes((program) => dropDead(simplify(inlineCalls(program))),
      `${head}function sq(a: i32) -> (i32) { return (mul(a, a)) }\nfunction f(a: i32) -> (i32) { var r: i32 call r = sq(add(a, 1)) return (r) }`,
      '  a_1 = add(a, 1)\n  returned = mul(a_1, a_1)\n  return (returned)');
  });
  it('turns early returns into breaks, and takes arrays along', () => {
    const { body, text } = lastFunction(`${head}function h(a: i32) -> (i32) { local b i32[2] b[0] = a if lt(a, 0) { return (0) } return (b[0]) }
      function f(a: i32) -> (i32) { local b2 i32[2] var r: i32 b2[1] = 3 call r = h(a) return (add(r, b2[1])) }`, inlineCalls);
    assert.match(text, /local b_1 i32\[2\]/);
    assert.match(body, /block inlined: \{\n {2}b_1\[0\] = a_1\n {2}if lt\(a_1, 0\) \{\n {4}returned = 0\n {4}break inlined\n {2}\}\n {2}returned = b_1\[0\]\n\}/);
  });
});
