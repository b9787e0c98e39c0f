// The representation: text that reads back, what the verifier refuses, what the interpreter says on the edge of the rules.
import assert from 'node:assert/strict';
import { Machine, type Trap } from '../../lib/kernel/interpret.ts';
import { parseProgram } from '../../lib/kernel/parse.ts';
import { programText } from '../../lib/kernel/text.ts';
import { verify } from '../../lib/kernel/verify.ts';
import { mapBody, mapProgram, walkBody } from '../../lib/kernel/visit.ts';
import { interpreted, randomInput, randomProgram } from './random.ts';

/** The value of an expression in a function of its own. */
function valueOf(expression: string, type: string, head = ''): unknown {
  const program = verify(parseProgram(`${head}\nfunction f() -> (${type}) { return (${expression}) }`));
  return new Machine(program).call('f')[0];
}

function refused(text: string, message: RegExp): void {
  assert.throws(() => verify(parseProgram(text)), (error: { code: string; message: string }) => {
    assert.equal(error.code, 'ERR_WARPLOOM_INTERNAL');
    assert.match(error.message, message);
    return true;
  });
}

describe('kernel representation', () => {
  it('of 300 random programs is valid, prints, and reads back the same', () => {
    for (let seed = 0; seed < 300; ++seed) {
      const program = verify(randomProgram(seed));
      const text = programText(program);
      const again = verify(parseProgram(text));
      assert.equal(programText(again), text);
      const input = randomInput(seed);
      assert.deepEqual(interpreted(again, input), interpreted(program, input));
    }
  });

  it('is walked and mapped whole, and kept where nothing changes', () => {
    for (let seed = 0; seed < 50; ++seed) {
      const program = randomProgram(seed);
      assert.equal(mapProgram(program, (body) => mapBody(body, { expression: (e) => e, statement: (s) => s })), program);
      let walked = 0;
      let mapped = 0;
      for (const { body } of program.functions) {
        walkBody(body, { expression: () => { ++walked; }, statement: () => { ++walked; } });
        mapBody(body, { expression: (e) => { ++mapped; return e; }, statement: (s) => { ++mapped; return s; } });
      }
      assert.equal(mapped, walked);
    }
  });

  for (const [expression, type, value] of [
    ['add(2147483647, 1)', 'i32', -2147483648], ['neg(-2147483648)', 'i32', -2147483648], ['abs(-2147483648)', 'i32', -2147483648],
    ['mul(65537, 65537)', 'i32', 131073], ['div(-2147483648, -1)', 'i32', -2147483648], ['rem(-2147483648, -1)', 'i32', 0],
    ['div(-7, 2)', 'i32', -3], ['rem(-7, 2)', 'i32', -1], ['shl(1, 33)', 'i32', 2], ['shr(-8, 1)', 'i32', -4],
    ['shr_u(-1, 28)', 'i32', 15], ['shr(-8, -31)', 'i32', -4],
    ['convert.i32(f64(2147483648))', 'i32', 2147483647], ['convert.i32(f32(-inf))', 'i32', -2147483648], ['convert.i32(f64(nan))', 'i32', 0],
    ['convert.i32(f64(-1.9))', 'i32', -1], ['convert.f32(16777217)', 'f32', 16777216], ['add(f32(16777216), f32(1))', 'f32', 16777216],
    ['div(f32(1), f32(3))', 'f32', Math.fround(1 / 3)], ['rem(f64(-5), f64(3))', 'f64', -2], ['min(f64(0), f64(-0))', 'f64', -0],
    ['max(f32(nan), f32(1))', 'f32', NaN], ['rint(f64(2.5))', 'f64', 2], ['rint(f64(-0.4))', 'f64', -0], ['rint(f32(3.5))', 'f32', 4],
    ['high(f64(-2))', 'i32', -1073741824], ['low(f64(0.1))', 'i32', -1717986918], ['words(1073741824, 1)', 'f64', 2 + 2 ** -51],
    ['words(-2147483648, 0)', 'f64', -0], ['words(2146435072, 0)', 'f64', Infinity], ['low(f64(5e-324))', 'i32', 1],
    ['lt_u(-1, 5)', 'bool', 0], ['lt(f64(nan), f64(1))', 'bool', 0], ['ne(f64(nan), f64(nan))', 'bool', 1],
    ['select(false, div(1, 0), 7)', 'i32', 7], ['and(false, eq(div(1, 0), 1))', 'bool', 0], ['or(true, eq(div(1, 0), 1))', 'bool', 1],
    ['extract(shl(splat(3), 33), 2)', 'i32', 6], ['extract(add(lanes(f32(1), f32(2), f32(3), f32(4)), splat(f32(0.5))), 3)', 'f32', 4.5],
    ['convert.i32(convert.bool(-5))', 'i32', 1],
  ] as const) {
    it(`${expression} is ${Object.is(value, -0) ? '-0' : value}`, () => {
      assert.ok(Object.is(valueOf(expression, type), value), String(valueOf(expression, type)));
    });
  }

  for (const [what, text, message] of [
    ['types that do not fit', 'function f() { var x: i32 x = f32(1) }', /x is of type i32/],
    ['mixed operands', 'function f() -> (i32) { return (add(1, f32(1))) }', /types do not fit/],
    ['a local read before it is set', 'function f(c: bool) -> (i32) { var x: i32 if c { x = 1 } return (x) }', /read before it is set: x/],
    ['a local set in a loop that may not run', 'function f(n: i32) -> (i32) { var i: i32 var x: i32 for L: i = 0 to n step 1 { x = 1 } return (x) }',
      /read before it is set: x/],
    ['a counter read behind its loop', 'function f() -> (i32) { var i: i32 for L: i = 0 to 3 step 1 { } return (i) }', /read before it is set: i/],
    ['a counter that the body sets', 'function f() { var i: i32 for L: i = 0 to 3 step 1 { i = 1 } }', /sets its counter i/],
    ['an index outside', 'global a f32[4]\nfunction f() -> (f32) { return (a[2 + 2]) }', /outside of a/],
    ['vectors beyond the end', 'global a f32[4]\nfunction f() -> (f32x4) { return (a.f32x4[1]) }', /outside of a/],
    ['a table that is written', 'constant a f32[4]\nfunction f() { a[0] = f32(1) }', /a is written/],
    ['a missing return', 'function f(c: bool) -> (i32) { if c { return (1) } }', /without a return/],
    ['a call of what comes later', 'function f() { call g() }\nfunction g() { }', /g is not defined/],
    ['recursion', 'function f() { call f() }', /f is not defined/],
    ['arguments that do not fit', 'import g(i32)\nfunction f() { call g(f32(1)) }', /arguments of g/],
    ['continue of a block', 'function f() { block B: { continue B } }', /not around continue/],
    ['a logical not of an integer', 'function f() -> (i32) { return (not(1)) }', /types do not fit/],
    ['a single that is none', 'global a f32[2] = (1)\nfunction f() { a[0] = convert.f32(f32(1)) }', /types do not fit/],
    ['lanes of two sizes', 'function f(a: f64x2) -> (f32) { return (extract(a, 0)) }', /\(f64\) in place of \(f32\)/],
    ['a name that stands twice', 'global a f32[1]\nfunction a() { }', /twice/],
  ] as const) it(`refuses ${what}`, () => { refused(text, message); });

  it('refuses text that is none, and says where', () => {
    for (const [text, message] of [
      ['function f() {\n  x = 1\n}', /line 2: x is not understood/], ['function f() {\n\n  if 1 ; {}', /line 3: what begins with ";/],
      ['function f() { return (bogus(1)) }', /bogus/], ['global a f33[4]', /the type f33/], ['function f() {', /the end of the text/],
    ] as const) assert.throws(() => parseProgram(text), message);
  });

  it('interprets traps, guards, limits and what is taken to hold', () => {
    const run = (text: string) => () => new Machine(verify(parseProgram(text)), { limit: 1000 }).call('f');
    assert.throws(run('function f() { trap 7 f64(2.5) }'), (error: Trap) => error.site === 7 && error.value === 2.5);
    assert.throws(run('function f() { guard lt_u(5, 5) else 3 f64(5) }'), (error: Trap) => error.site === 3 && error.value === 5);
    assert.deepEqual(run('function f() { guard lt_u(4, 5) else 3 f64(5) }')(), []);
    assert.throws(run('function f() { while L: true { } }'), /takes too long/);
    assert.throws(run('function f() -> (i32) { var a: i32 a = 0 return (div(1, a)) }'), /division by zero/);
    assert.throws(run('global g i32[4]\nfunction f() -> (i32) { var a: i32 a = 4 return (g[a]) }'), /lies outside/);
    assert.throws(run('global g i32[4]\nfunction f() -> (i32) { var a: i32 a = -1 return (g[a + 2]) }'), /the index a is -1/);
    assert.throws(run('function f() { var a: i32 in 0..3 a = 4 }'), /breaks its range/);
    assert.throws(run('function f() -> (i32) { local b i32[2] b[0] = 1 return (b[1]) }'), /read before it is written/);
    assert.throws(run('function f() { var i: i32 for L: i = 0 to 5 step 1 most 4 { } }'), /more than 4 iterations/);
    assert.throws(run('function f() { var i: i32 for L: i = 2147483640 to 2147483647 step 5 { } }'), /wraps/);
  });
});
