// Loops: unrolled, jammed, on vectors.
import assert from 'node:assert/strict';
import type { Program } from '../../lib/kernel/ir.ts';
import { Machine } from '../../lib/kernel/interpret.ts';
import { parseProgram } from '../../lib/kernel/parse.ts';
import { dropDead } from '../../lib/kernel/passes/dead.ts';
import { useRanges } from '../../lib/kernel/passes/ranges.ts';
import { simplify } from '../../lib/kernel/passes/simplify.ts';
import { jamSums } from '../../lib/kernel/passes/sums.ts';
import { unrollAndJam, unrollInner, unrollShort } from '../../lib/kernel/passes/unroll.ts';
import { vectoriseLanes } from '../../lib/kernel/passes/vectorise-lanes.ts';
import { vectoriseLoops } from '../../lib/kernel/passes/vectorise-loops.ts';
import { verify } from '../../lib/kernel/verify.ts';
import { becomes, keepsMeaning, lastFunction, type Pass } from './pass-support.ts';

const head = 'external x f32[64]\nexternal y f32[64]\nglobal g i32[64]\nglobal d f64[64]\nglobal e f64[64]\n';
const clean = (program: Program): Program => dropDead(simplify(program));

/** A function of one i32 gives the same after a pass, for many arguments and buffers full of different numbers. */
function same(pass: Pass, text: string, args: readonly number[]): string {
  const before = verify(parseProgram(head + text));
  const after = verify(pass(before));
  for (const arg of args) {
    const [a, b] = [before, after].map((program) => {
      const external = { x: Float32Array.from({ length: 64 }, (_, i) => Math.sin(i)), y: Float32Array.from({ length: 64 }, (_, i) => i / 7) };
      const machine = new Machine(program, { external });
      const results = machine.call('f', [arg]);
      return [results, program.buffers.map((buffer) => machine.contents(buffer))];
    });
    assert.deepEqual(b, a, `f(${arg})`);
  }
  return lastFunction(head + text, pass).body;
}

const counts = [-2147483648, -5, 0, 1, 2, 3, 4, 5, 7, 8, 15, 16];

describe('kernel pass: unrollShort', () => {
  keepsMeaning('unrollShort', unrollShort);
  it('writes out iterations', () => {
    becomes((program) => clean(unrollShort(program)), `${head}function f(n: i32) { var i: i32 for L: i = 1 to 6 step 2 { g[i] = mul(n, i) } }`,
      '  g[1] = n\n  g[3] = mul(n, 3)\n  g[5] = mul(n, 5)');
  });
  it('keeps exits, and inner loops first', () => {
    const text = `function f(n: i32) { var i: i32 var j: i32 for L: i = 0 to 3 step 1 { for M: j = 0 to 3 step 1 {
      if eq(n, j) { continue M } if eq(n, add(i, 4)) { break L } if eq(n, 5) { continue L } g[add(i, mul(j, 4))] = add(j, 10) } } }`;
    const body = same((program) => unrollShort(program, 2000), text, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert.doesNotMatch(body, /\bfor\b/);
    assert.match(body, /block L: /);
  });
  it('leaves loops whose code would be too large', () => {
    const { program } = lastFunction(`${head}function f(n: i32) { var i: i32 for L: i = 0 to 60 step 1 { g[i] = add(n, mul(i, i)) } }`);
    assert.equal(unrollShort(program), program);
  });
});

describe('kernel pass: unrollInner', () => {
  keepsMeaning('unrollInner', (program) => unrollInner(program, 4));
  it('makes several iterations at a time, then the rest', () => {
    const text = 'function f(n: i32) { var i: i32 for L: i = -3 to n step 1 { if lt(i, 0) { continue L } g[i] = add(g[i], i) } }';
    const body = same((program) => unrollInner(program, 4), text, [-2147483648, -3, -2, 0, 1, 2, 3, 4, 5, 30]);
    assert.match(body, /for L: i = first to middle step 4/);
    assert.match(body, /for L_\d: i = middle to end step 1 most 3/);
  });
});

const filter = `function f(n: i32) { var i: i32 var j: i32 var s: f32
  for L: i = 0 to n step 1 { s = f32(0) for M: j = 0 to 8 step 1 { s = add(s, mul(x[add(i, j)], y[j])) } d[i] = convert.f64(s) e[add(i, 1)] = f64(2) } }`;

describe('kernel pass: unrollAndJam', () => {
  it('runs outer iterations through one inner loop', () => {
    const body = same((program) => unrollAndJam(program, 4), filter, counts);
    assert.equal(body.split('for M').length - 1, 2);
    assert.match(body, /for L: i = first to middle step 4 \{\n {2}s = f32\(0\)\n {2}s_1 = f32\(0\)/);
    assert.match(body, /for M_1: j = 0 to 8 step 1 \{\n {4}s = .*\n {4}s_1 = .*x\[add\(add\.exact\(i, 1\), j\)\]/);
  });
  for (const [what, body] of [
    ['carried locals', 's = f32(0) for M: j = 0 to 8 step 1 { t = add(t, x[j]) } x[i] = t'],
    ['reads of what is written', 's = f32(0) for M: j = 0 to 8 step 1 { s = add(s, x[j]) } x[i] = s'],
    ['stores in the inner loop', 's = f32(0) for M: j = 0 to 8 step 1 { y[j] = x[i] }'],
    ['two stores to one buffer', 's = f32(0) for M: j = 0 to 8 step 1 { s = add(s, x[j]) } y[i] = s y[add(i, 1)] = f32(0)'],
    ['guards', 's = f32(0) for M: j = 0 to 8 step 1 { guard lt(i, 5) else 1 f64(0) s = add(s, x[j]) } y[i] = s'],
    ['locals that are read later', 't = f32(0) for M: j = 0 to 8 step 1 { t = add(t, x[j]) } y[i] = t'],
    ['exits', 's = f32(0) for M: j = 0 to 8 step 1 { s = add(s, x[j]) } if lt(s, f32(0)) { break L } y[i] = s'],
  ] as const) {
    it(`leaves loops with ${what}`, () => {
      const { program } = lastFunction(`${head}function f(n: i32) -> (f32) { var i: i32 var j: i32 var s: f32 var t: f32
        t = f32(0) for L: i = 0 to n step 1 { ${body} } return (t) }`);
      assert.equal(unrollAndJam(program, 4), program);
    });
  }
});

describe('kernel pass: vectoriseLoops', () => {
  keepsMeaning('vectoriseLoops', vectoriseLoops);
  it('computes elements four at a time', () => {
    const body = same(vectoriseLoops, `function f(n: i32) -> (f32) { var i: i32 var t: f32 var a: f32 a = y[3]
      for L: i = 0 to n step 1 { t = mul(x[add(i, 2)], a) y[i + 1] = sub(t, neg(y[i + 1])) } return (a) }`, counts);
    assert.match(body, /for L: i = first to middle step 4 \{\n {2}t_\d = mul\(x\.f32x4\[add\(i, 2\)\], splat\(a\)\)\n/);
    assert.match(body, /\n {2}y\.f32x4\[i \+ 1\] = sub\(t_\d, neg\(y\.f32x4\[i \+ 1\]\)\)/);
  });
  it('computes doubles two at a time, and integers with the counter', () => {
    assert.match(same(vectoriseLoops, 'function f(n: i32) { var i: i32 for L: i = 0 to n step 1 { d[i] = mul(e[i], f64(3)) } }', counts), /d\.f64x2\[i\]/);
    assert.match(same(vectoriseLoops, 'function f(n: i32) { var i: i32 for L: i = 3 to 60 step 1 { g[i] = shl(xor(i, n), 3) } }', counts),
      /g\.i32x4\[i\] = shl\(xor\(add\(splat\(i\), lanes\(0, 1, 2, 3\)\), splat\(n\)\), 3\)/);
  });
  for (const [what, loop] of [
    ['sums', 't = add(t, x[i])'], ['dependences', 'x[add(i, 1)] = x[i]'], ['strides', 'x[mul(i, 2)] = y[i]'], ['reads with strides', 'x[i] = y[mul(i, 2)]'],
    ['two stores to one buffer', 'x[i] = y[i] x[add(i, 1)] = t'], ['mixed types', 'x[i] = convert.f32(d[i])'],
    ['conditions', 'x[i] = select(lt(y[i], t), t, y[i])'], ['remainders', 'x[i] = rem(y[i], t)'],
  ] as const) {
    it(`leaves loops with ${what}`, () => {
      const { program } = lastFunction(`${head}function f(n: i32) -> (f32) { var i: i32 var t: f32 t = y[0] for L: i = 0 to n step 1 { ${loop} } return (t) }`);
      assert.equal(vectoriseLoops(program), program);
    });
  }
});

describe('kernel pass: vectoriseLanes', () => {
  keepsMeaning('unrollShort, simplify, useRanges, vectoriseLanes, dropDead',
    (program) => dropDead(vectoriseLanes(useRanges(simplify(unrollShort(program, 2000))))));
  it('turns a jammed filter into one on vectors', () => {
    const text = filter.replace('d[i] = convert.f64(s) e[add(i, 1)] = f64(2)', 'g[i] = convert.i32(mul(s, f32(1000)))');
    const body = same((program) => dropDead(vectoriseLanes(useRanges(simplify(unrollAndJam(program, 4))))), text, counts);
    assert.match(body, /for M_1: j = 0 to 8 step 1 \{\n {4}s_\d+ = add\(s_\d+, mul\(x\.f32x4\[.*\], splat\(y\[j\]\)\)\)\n {2}\}/);
    assert.match(body, /g\.i32x4\[i\] = convert\.i32x4\(mul\(s_\d+, splat\(f32\(1000\)\)\)\)/);
    assert.doesNotMatch(body, /extract/);
  });
  it('gathers what lies apart, and stores what lies together', () => {
    const lines = (f: (k: number) => string): string => [0, 1, 2, 3].map(f).join(' ');
    const text = `function f(n: i32 in 0..7) { var a: f32 var b: f32 var c: f32 var q: f32
      ${lines((k) => `${'abcq'[k]!} = mul(x[n + ${k * 3}], y[n + ${k}])`)} ${lines((k) => `y[n + ${k}] = add(${'abcq'[k]!}, f32(${k}))`)} }`;
    const body = same((program) => dropDead(vectoriseLanes(program)), text, [0, 3, 7]);
    assert.equal(body.split('\n').length, 2, body);
    assert.match(body, /mul\(lanes\(x\[n\], x\[n \+ 3\], x\[n \+ 6\], x\[n \+ 9\]\), y\.f32x4\[n\]\)/);
    assert.match(body, /y\.f32x4\[n\] = add\(a_1, lanes\(f32\(0\), f32\(1\), f32\(2\), f32\(3\)\)\)/);
  });
  it('moves elements that lie together, also between fills and copies', () => {
    const text = `function f(n: i32 in 0..7) { x[n] = y[n + 4] x[n + 1] = y[n + 5] x[n + 2] = y[n + 6] x[n + 3] = y[n + 7] fill g[0] for 3
      copy d[0] = e[3] for 2 y[0] = x[n] y[1] = x[n + 1] y[2] = x[n + 2] y[3] = x[n + 3] }`;
    assert.equal(same(vectoriseLanes, text, [0, 3, 7]),
      'x.f32x4[n] = y.f32x4[n + 4]\nfill g[0] for 3\ncopy d[0] = e[3] for 2\ny.f32x4[0] = x.f32x4[n]');
    const carried = `function f(n: i32 in 0..7) { var a: f32 var b: f32 var c: f32 var q: f32 a = x[n] b = x[n + 1] c = x[n + 2] q = x[n + 3] fill x[0] for 64
      y[n] = a y[n + 1] = b y[n + 2] = c y[n + 3] = q }`;
    assert.match(same((program) => dropDead(vectoriseLanes(program)), carried, [0, 3, 7]), /^a_1 = x\.f32x4\[n\]\nfill x.*\ny\.f32x4\[n\] = a_1$/);
  });
  it('leaves elements that lie apart where they are only moved', () => {
    const text = 'function f(n: i32 in 0..7) { x[n] = y[n] x[n + 1] = y[n + 8] x[n + 2] = y[n + 16] x[n + 3] = y[n + 24] }';
    assert.doesNotMatch(same(vectoriseLanes, text, [0, 7]), /f32x4/);
  });
  it('leaves copies that need each other', () => {
    const text = `function f(n: i32) { var a: f32 var b: f32 var c: f32 var q: f32
      a = mul(x[0], y[0]) b = mul(a, y[1]) c = mul(b, y[2]) q = mul(c, y[3]) x[0] = a x[1] = b x[2] = c x[3] = q }`;
    assert.doesNotMatch(same(vectoriseLanes, text, [0]), /mul\(.*f32x4/);
  });
  it('keeps accumulators right where one is read alone in the next iteration', () => {
    const text = `function f(n: i32) -> (f32) { var i: i32 var a: f32 var b: f32 var c: f32 var q: f32 var t: f32 a = f32(0) b = a c = a q = a t = a
      for L: i = 0 to n step 1 { t = add(t, a) a = add(a, mul(x[0], y[0])) b = add(b, mul(x[1], y[1])) c = add(c, mul(x[2], y[2])) q = add(q, mul(x[3], y[3])) }
      return (add(t, add(add(a, b), add(c, q)))) }`;
    same(vectoriseLanes, text, counts);
  });
});

describe('kernel pass: jamSums', () => {
  const product = (loop: string, sum = 's = f32(0)'): string => `function f(n: i32 in 0..3) { var i: i32 var j: i32 var s: f32 var t: f64
    for L: i = ${loop} { ${sum} for M: j = 0 to 8 step 1 { s = add(s, mul(x[add(mul(i, 8), j)], x[add(mul(n, 8), j)])) } y[add(i, 40)] = s } }`;
  it('runs four sums through one loop, written out where that is short', () => {
    const long = same((program) => jamSums(program, 100), product('0 to 8 step 1'), [0, 1, 3]);
    assert.equal(long.match(/for /g)?.length, 2);
    assert.match(long, /for L: i = 0 to 8 step 4 \{/);
    assert.equal(long.match(/s(?:_\d+)? = add\(s/g)?.length, 4);
    const short = same((program) => jamSums(program, 3000), product('0 to 8 step 1'), [0, 1, 3]);
    assert.doesNotMatch(short, /for /);
    assert.equal(short.match(/s(?:_\d+)? = add\(s/g)?.length, 64);
  });
  it('so that they become lanes', () => {
    const lanes = same((program) => dropDead(vectoriseLanes(simplify(useRanges(jamSums(program, 1000))))), product('0 to 8 step 1'), [0, 1, 3]);
    assert.match(lanes, /y\.f32x4\[i \+ 40\] = s_\d+\n/);
    assert.doesNotMatch(lanes, /\by\[/);
  });
  for (const [what, text] of [
    ['a number of sums that four do not divide', product('0 to 6 step 1')], ['bounds that are not known', product('0 to n step 1')],
    ['sums that go on', product('0 to 8 step 1', 't = f64(0)')],
    ['sums of doubles', product('0 to 8 step 1').replace('s = add(s, mul(x[add(mul(i, 8), j)], x[add(mul(n, 8), j)]))',
      't = add(t, convert.f64(x[j]))').replace('s = f32(0)', 't = f64(0)').replace('= s }', '= convert.f32(t) }')],
  ] as const) {
    it(`leaves loops with ${what}`, () => {
      const { program } = lastFunction(head + (what === 'sums that go on' ? text.replace('for L', 's = f32(0) for L') : text));
      assert.equal(jamSums(program), program);
    });
  }
});
