// Values worked out beforehand, and what follows from their bounds.
import assert from 'node:assert/strict';
import { Machine } from '../../lib/kernel/interpret.ts';
import type { Program } from '../../lib/kernel/ir.ts';
import { parseProgram } from '../../lib/kernel/parse.ts';
import { tabulate } from '../../lib/kernel/passes/tables.ts';
import { tidy } from '../../lib/kernel/passes/tidy.ts';
import { useRanges } from '../../lib/kernel/passes/ranges.ts';
import { bodyText } from '../../lib/kernel/text.ts';
import { verify } from '../../lib/kernel/verify.ts';
import { keepsMeaning, type Pass } from './pass-support.ts';

const head = 'external x f32[64]\nglobal g i32[64]\nglobal h f32[64]\nconstant k i32[8] = (3, 1, 4, 1, 5, 2, 6, 5)\n';
const locals = 'var i: i32 var a: i32 var b: i32 var c: i32 var s: f32';
const program = (body: string): string => `${head}function f(n: i32) { ${locals} ${body} }`;

/** The body after a pass that changes nothing of what is written. */
function made(text: string, pass: Pass = tabulate): { readonly body: string; readonly program: Program } {
  const before = verify(parseProgram(text));
  const after = verify(pass(before));
  for (const arg of [0, 5, 64]) {
    const [a, b] = [before, after].map((each) => {
      const machine = new Machine(each, { external: { x: Float32Array.from({ length: 64 }, (_, i) => i / 3) } });
      machine.call('f', [arg]);
      return ['g', 'h'].map((name) => machine.contents(each.buffers.find((buffer) => buffer.name === name)!));
    });
    assert.deepEqual(b, a);
  }
  return { body: bodyText(after.functions[0]!.body), program: after };
}

const reversal = 'a = 0 b = i c = 1 while M: lt(c, 16) { a = add(mul(a, 2), rem(b, 2)) b = div(b, 2) c = mul(c, 2) }';

describe('kernel pass: tabulate', () => {
  it('reads from a table what loops find from a counter alone', () => {
    const { body, program: after } = made(program(`for L: i = 0 to 16 step 1 { ${reversal} h[a] = x[i] }`));
    assert.equal(body, 'for L: i = 0 to 16 step 1 {\n  a = f_table0[i]\n  h[a] = x[i]\n}');
    assert.deepEqual([...after.buffers.at(-1)!.initial as Float64Array], [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15]);
  });
  it('for loops that begin later and go in steps, with several values, one of a table and one of single precision', () => {
    const { body } = made(program(`for L: i = 3 to 40 step 4 { a = 0 s = f32(0) for M: b = 0 to 6 step 1 { a = add(a, k[b])
      s = add(div(s, f32(3)), convert.f32(mul(i, a))) } g[i] = a h[i] = s }`));
    assert.match(body, /^for L: i = 3 to 40 step 4 \{\n {2}a = f_table0\[i\]\n {2}s = f_table1\[i\]\n {2}g\[i\] = a\n/);
  });
  it('with mathematical functions, which give the same on all targets', () => {
    const { body } = made(program(`for L: i = 0 to 16 step 1 { s = f32(0) for M: b = 0 to 3 step 1 { s = add(s, convert.f32(sin(convert.f64(i)))) } h[i] = s }`));
    assert.equal(body, 'for L: i = 0 to 16 step 1 {\n  s = f_table0[i]\n  h[i] = s\n}');
  });
  it('so that guards go', () => {
    const guarded = program(`for L: i = 0 to 16 step 1 { ${reversal} guard lt_u(add(a, 4), 20) else 1 f64(0) h[add(a, 4)] = x[i] }`);
    assert.match(made(guarded).body, /guard/);
    assert.doesNotMatch(made(guarded, (before) => tidy(before, tabulate(before))).body, /guard/);
    // Zeros behind what a table begins with count.
    assert.match(made(`constant t i32[4] = (5, 6)\n${program('guard lt(4, t[band(n, 3)]) else 1 f64(0)')}`.replace('n, 3', '0, n'), useRanges).body, /guard/);
  });
  const left: Readonly<Record<string, string>> = {
    'what depends on data': 'a = g[i] b = i while M: lt(a, 9) { a = add(a, 3) } h[band(a, 7)] = x[i]',
    'what depends on arguments': 'a = n while M: lt(a, 9) { a = add(a, 3) } h[band(a, 7)] = x[i]',
    'what goes on from one turn to the next': 'for M: b = 0 to 3 step 1 { a = band(add(a, b), 15) } h[a] = x[i]',
    'what writes': 'a = i while M: lt(a, 9) { g[a] = i a = add(a, 3) } h[band(a, 15)] = x[i]',
    'what may leave the loop around': 'a = i while M: lt(a, 9) { a = add(a, 3) if eq(a, 4) { break L } } h[band(a, 15)] = x[i]',
    'what takes no loop': 'a = mul(i, i) h[band(a, 15)] = x[i]',
    'what never ends': 'a = i while M: eq(n, 99) { a = i } if eq(n, 7) { while N: lt(a, 9) { a = band(a, 7) } } h[band(a, 15)] = x[i]',
  };
  for (const [what, body] of Object.entries(left)) {
    it(`leaves ${what}`, () => {
      const before = verify(parseProgram(program(`a = 0 for L: i = 0 to 16 step 1 { ${body} }`)));
      assert.equal(tabulate(before), before);
    });
  }
  it('leaves loops whose tables would be long or take long, and those with bounds that are not known', () => {
    for (const [bounds, body] of [['0 to 5000', reversal], ['0 to n', reversal], ['0 to 4000', 'a = 0 while M: lt(a, 10000) { a = add(a, 1) }']]) {
      const before = verify(parseProgram(program(`for L: i = ${bounds} step 1 { ${body} h[band(a, 15)] = x[band(i, 15)] }`)));
      assert.equal(tabulate(before), before);
    }
  });
});

describe('kernel pass: tidy', () => {
  keepsMeaning('tidy of all functions', (before) => tidy(before, { ...before, functions: before.functions.map((f) => ({ ...f })) }), 100);
  it('leaves what did not change', () => {
    const before = verify(parseProgram(`${program('a = 1 g[a] = 2')}\nfunction e(n: i32) { var a: i32 a = 1 g[a] = 2 }`));
    const [f, e] = before.functions;
    const after = tidy(before, { ...before, functions: [f!, { ...e! }] });
    assert.equal(after.functions[0], f);
    assert.match(bodyText(after.functions[1]!.body), /g\[1\] = 2/);
    assert.equal(tidy(before, before), before);
  });
});
