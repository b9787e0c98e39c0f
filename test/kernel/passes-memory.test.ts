// Bounds of integers and arrays in locals.
import assert from 'node:assert/strict';
import { Machine, Trap } from '../../lib/kernel/interpret.ts';
import { dropCopies } from '../../lib/kernel/passes/copies.ts';
import { dropDead } from '../../lib/kernel/passes/dead.ts';
import { keepElements } from '../../lib/kernel/passes/keep.ts';
import { useRanges } from '../../lib/kernel/passes/ranges.ts';
import { dropNeedlessFills, replaceArrays } from '../../lib/kernel/passes/scalars.ts';
import { simplify } from '../../lib/kernel/passes/simplify.ts';
import { parseProgram } from '../../lib/kernel/parse.ts';
import { verify } from '../../lib/kernel/verify.ts';
import { casesOf } from '../support/thorough.ts';
import { becomes, keepsMeaning, lastFunction } from './pass-support.ts';
import { generator } from './random.ts';

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

describe('kernel pass: keepElements', () => {
  it('keeps the meaning of random loops over few elements', () => {
    const statements = ['b[n] = add(b[n], i)', 'b[0] = add(b[0], b[n])', 'g[n] = add(g[n], c[0])', 'c[0] = i', 'c[0] = add(c[0], mul(i, n))',
      'g[i] = add(g[i], b[n])', 'if gt(c[0], 9) { break L }', 'if eq(i, n) { continue L }', 'b[1] = sub(g[3], b[1])', 'copy g[0] = b[0] for 4',
      'guard lt(g[3], 90) else 1 f64(0)', 'if lt(i, n) { b[n] = add(b[n], 3) }'];
    let changed = 0;
    for (let seed = 0; seed < casesOf(800, 2000); ++seed) {
      const random = generator(seed);
      const below = (n: number): number => Math.floor(random() * n);
      const body = Array.from({ length: 1 + below(4) }, () => statements[below(statements.length)]).join(' ');
      const { program } = lastFunction(`${head}function f(n: i32 in 0..3) -> (i32) { local b i32[4] local c i32[1] var i: i32 fill b[0] for 4 fill c[0] for 1
        for L: i = 0 to ${below(5)} step 1 { ${body} } g[8] = b[0] g[9] = b[1] g[10] = c[0] return (b[n]) }`);
      const made = verify(keepElements(program));
      if (made !== program) ++changed;
      const outcome = (of: typeof program): unknown => {
        const machine = new Machine(of, { external: { x: new Float32Array(16) } });
        const g = of.buffers.find(({ name }) => name === 'g')!;
        machine.contents(g).set([1, 2, 3, 4, 5, 6, 7, 8]);
        try {
          return [machine.call('f', [seed % 4]), [...machine.contents(g)]];
        } catch (error) {
          assert.ok(error instanceof Trap);
          return error.site;
        }
      };
      assert.deepEqual(outcome(made), outcome(program), body);
    }
    assert.ok(changed > casesOf(160, 400), `only ${changed} programs changed`);
  });
  it('keeps a sum in a local while its loop runs', () => {
    becomes(keepElements, `${head}function f(n: i32 in 0..3) { local b f32[4] var i: i32 fill b[0] for 4
      for L: i = 0 to 8 step 1 { b[n] = add(b[n], x[i]) b[n] = mul(b[n], f32(0.5)) } x[0] = b[n] }`,
    `  fill b[0] for 4
  kept = b[n]
  for L: i = 0 to 8 step 1 {
    kept = add(kept, x[i])
    kept = mul(kept, f32(0.5))
  }
  b[n] = kept
  x[0] = b[n]`);
  });
  it('keeps two, also where the loop ends early', () => {
    becomes(keepElements, `${head}function f(n: i32 in 0..3) { local b i32[4] local c i32[4] var i: i32 fill b[0] for 4 fill c[0] for 4
      for L: i = 0 to 8 step 1 { b[0] = add(b[0], i) c[n] = add(c[n], b[0]) if gt(c[n], 9) { break L } } g[0] = add(b[0], c[n]) }`,
    `  fill b[0] for 4
  fill c[0] for 4
  kept = b[0]
  kept_1 = c[n]
  for L: i = 0 to 8 step 1 {
    kept = add(kept, i)
    kept_1 = add(kept_1, kept)
    if gt(kept_1, 9) {
      break L
    }
  }
  c[n] = kept_1
  b[0] = kept
  g[0] = add(b[0], c[n])`);
  });
  for (const [what, body] of [
    ['an index that moves', 'for L: i = 0 to 4 step 1 { b[i] = add(b[i], n) }'],
    ['an index that the loop sets', 'k = 0 for L: i = 0 to 4 step 1 { b[k] = add(b[k], n) k = i }'],
    ['another element of the buffer', 'for L: i = 0 to 4 step 1 { b[n] = add(b[n], b[i]) }'],
    ['the same buffer copied', 'for L: i = 0 to 4 step 1 { b[n] = add(b[n], i) copy g[0] = b[0] for 4 }'],
    ['an element that is written first', 'for L: i = 0 to 4 step 1 { b[n] = i b[n] = add(b[n], i) }'],
    ['an element that a branch reads', 'for L: i = 0 to 4 step 1 { if eq(i, n) { b[n] = add(b[n], i) } b[n] = 1 }'],
    ['a loop of unknown length', 'for L: i = 0 to n step 1 { b[n] = add(b[n], i) }'],
    ['a guard that others see the buffer after', 'for L: i = 0 to 4 step 1 { g[n] = add(g[n], i) guard lt(i, 3) else 1 f64(0) }'],
    ['a way out of two loops', 'for M: k = 0 to n step 1 { for L: i = 0 to 4 step 1 { b[n] = add(b[n], i) if eq(i, n) { break M } } }'],
  ] as const) it(`leaves ${what}`, () => {
    const { program } = lastFunction(`${head}function f(n: i32 in 0..3) { local b i32[4] var i: i32 var k: i32 fill b[0] for 4 ${body} g[0] = b[n] }`);
    assert.equal(keepElements(program), program);
  });
});

describe('kernel pass: dropCopies', () => {
  keepsMeaning('dropCopies', (program) => dropCopies(dropNeedlessFills(program)), 600);
  it('keeps the meaning of random moves between arrays', () => {
    const places = ['b', 'c', 'e', 'g', 'h'] as const;
    let dropped = 0;
    for (let seed = 0; seed < casesOf(800, 2000); ++seed) {
      const random = generator(seed);
      const integer = (below: number): number => Math.floor(random() * below);
      const pick = <T>(list: readonly T[]): T => list[integer(list.length)]!;
      const place = (index: string): string => {
        const buffer = pick(places);
        return buffer === 'g' || buffer === 'h' ? `${buffer}[add(${pick(['k', '0', '3'])}, ${index})]` : `${buffer}[${index}]`;
      };
      const whole = (): string => {
        const buffer = pick(places);
        return buffer === 'g' || buffer === 'h' ? `${buffer}[${pick(['k', '0', 'mul(k, 2)'])}]` : `${buffer}[0]`;
      };
      const statement = (): string => pick([
        () => { const [to, from] = [whole(), whole()]; return to[0] === from[0] ? '' : `copy ${to} = ${from} for ${pick([4, 4, 4, 3])}`; },
        () => { const [to, from] = [place('i'), place('i')]; return to[0] === from[0] ? '' : `for L: i = 0 to 4 step 1 { ${to} = ${from} }`; },
        () => `for L: i = 0 to 2 step 1 { for M: j = 0 to 2 step 1 { ${place('add(mul(i, 2), j)')} = add(${place('add(mul(j, 2), i)')}, 1) } }`,
        () => `for L: i = 0 to 4 step 2 { t = add(i, ${integer(2)}) ${place('t')} = ${integer(9)} }`,
        () => `${place('k')} = ${integer(99)}`,
        () => `${place(String(integer(4)))} = add(${place('n')}, ${place('k')})`,
        () => `fill ${pick(['b', 'c', 'e'])}[0] for 4`,
        () => 'k = add(band(k, 1), 1)',
        () => `if lt(n, 2) { ${place('n')} = 5 }`,
      ])();
      const text = `global g i32[16]\nglobal h i32[16]\nfunction f(n: i32 in 0..3) { local b i32[4] local c i32[4] local e i32[4]
        var i: i32 var j: i32 var t: i32 var k: i32 var r: i32 k = 1
        for R: r = 0 to 3 step 1 { fill b[0] for 4 fill c[0] for 4 fill e[0] for 4
          ${Array.from({ length: 3 + integer(9) }, statement).join('\n')}
          copy h[8] = ${pick(['b', 'c', 'e'])}[0] for 4 } }`;
      const program = verify(parseProgram(text));
      const made = verify(dropCopies(dropNeedlessFills(program)));
      const buffersOf = ({ functions: [f] }: typeof program): number => f!.buffers.length;
      dropped += buffersOf(program) - buffersOf(made);
      for (const n of [0, 3]) {
        const results = [program, made].map((each) => {
          const machine = new Machine(each);
          machine.call('f', [n]);
          return each.buffers.flatMap((buffer) => [...machine.contents(buffer)]);
        });
        assert.deepEqual(results[1], results[0], text);
      }
    }
    assert.ok(dropped > casesOf(200, 500), `only ${dropped} arrays went`);
  });
  const text = (body: string): string => lastFunction(`${head}global h i32[64]\nfunction f(n: i32 in 0..3) { local b i32[4] local c i32[4] var i: i32 ${body} }`,
    (program) => dropCopies(dropNeedlessFills(program))).text;
  for (const [what, isDropped, body] of [
    ['of an array that is only read', true, 'copy b[0] = h[n] for 4 g[n] = b[n]'],
    ['by a loop', true, 'for L: i = 0 to 4 step 1 { b[i] = h[add(n, i)] } g[n] = b[n]'],
    ['of what is written first', true, 'fill b[0] for 4 b[n] = 3 copy h[n] = b[0] for 4'],
    ['of an array that is written', false, 'copy b[0] = h[n] for 4 b[1] = 2 g[n] = b[n]'],
    ['of an array whose origin is written', false, 'copy b[0] = h[n] for 4 h[1] = 2 g[n] = b[n]'],
    ['of part of an array', false, 'fill b[0] for 4 copy b[0] = h[n] for 3 g[n] = b[n]'],
    ['to a place that is read between', false, 'fill b[0] for 4 b[n] = h[1] copy h[n] = b[0] for 4'],
    ['of what an iteration before has left', false, 'fill b[0] for 4 for L: i = 0 to 2 step 1 { b[n] = i copy h[mul(i, 4)] = b[0] for 4 }'],
    ['from where a branch may leave', false, 'block B: { fill b[0] for 4 if eq(n, 1) { break B } copy h[n] = b[0] for 4 }'],
  ] as const) it(`${isDropped ? 'drops' : 'keeps'} a copy ${what}`, () => { assert.equal(/\bb\[/.test(text(body)), !isDropped, text(body)); });
});
