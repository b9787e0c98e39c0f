// What is known of counters and variables: loops whose turns decide loops inside of them, and guards that are left out or stay.
import assert from 'node:assert/strict';
import { bodyText } from '../../../lib/kernel/text.ts';
import { planProgram } from '../../../lib/stream/plan/plan.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { lowerProgram } from '../../../lib/stream/lower/program.ts';
import { graphOf } from '../support.ts';
import { runLowered } from './machine.ts';

const program = (fields: string, work: string, head = 'work pop 1 push 1'): string => `int->int filter F { ${fields} ${head} { ${work} } }
  int->int pipeline P { add F; }`;

/** The group's code, after it gave what the interpreter gives. */
function checked(source: string, options = {}): string {
  const plan = planProgram(graphOf(source), { savings: false, ...options });
  const input = Array.from({ length: 64 }, (_, i) => (i * 7) % 23);
  assert.deepEqual(runLowered(plan, input).output, [...interpretSync(graphOf(source), { input }).output]);
  const { functions } = lowerProgram(plan).program;
  return functions.filter(({ name }) => name.startsWith('group_')).map(({ body }) => bodyText(body)).join('\n');
}

const sum = 'int[64] t; t[0] = pop(); ';
/** Small filters would be unrolled whole. */
const whole = { filterSize: 0 };

describe('loops that decide how loops inside of them count', () => {
  it('are written turn by turn, and nothing inside is checked', () => {
    const code = checked(program('', `${sum} for (int span = 2; span <= 64; span *= 2)
      for (int at = 0; at < 64; at += span) for (int i = 0; i < span / 2; i++) t[at + i + span / 2] += t[at + i] + i; push(t[63]);`), whole);
    assert.equal(code.match(/step 32 /g)?.length, 1);
    assert.equal(code.match(/= 0 to 32 step 1/g)?.length, 1);
    assert.doesNotMatch(code, /guard|steps|while/);
  });
  it('also through functions, and through what is declared from the counter', () => {
    const code = checked(program('void halves(int[64] t, int n) { int half = n / 2; for (int i = 0; i < half; i++) t[i + half] += t[i]; }',
      `${sum} for (int n = 64; n > 1; n /= 2) halves(t, n); push(t[63]);`), whole);
    assert.equal(code.match(/\bfor\b/g)?.length, 7);
    assert.doesNotMatch(code, /guard|steps|while/);
  });
  it('stay loops where they count by a fixed step, where their code is long, or where data decides', () => {
    const plain = checked(program('', `${sum} for (int n = 0; n < 6; n++) for (int i = 0; i < n; i++) t[i] += n; push(t[63]);`), whole);
    assert.equal(plain.match(/\bfor n\d+: i/g)?.length, 2);
    const long = Array.from({ length: 60 }, (_, i) => `t[i & ${i}] = t[(i + ${i}) & 63] * ${i} + t[(i * ${i}) & 63];`).join(' ');
    const code = checked(program('', `${sum} for (int n = 1; n < 64; n *= 2) for (int i = 0; i < n; i++) { ${long} } push(t[63]);`), whole);
    assert.ok(code.split('\n').length < 200);
    assert.match(checked(program('', `${sum} for (int n = 1; n < 64; n *= 2) for (int i = 0; i < (t[0] & 7); i++) t[i] += n; push(t[63]);`), whole),
      /while n\d+: lt\(v\d+, 64\)/);
  });
});

describe('bounds of variables', () => {
  const guards = (work: string, fields = 'int[8] t;'): number =>
    checked(program(fields, `int x = pop(); ${work} push(x + t[7]);`), whole).match(/guard/g)?.length ?? 0;
  it('follow from what they are given', () => {
    assert.equal(guards('int a = x & 3; int b = a + 4; t[b] = x; a = b - 1; t[a] = x;'), 0);
    assert.equal(guards('for (int i = 0; i < 4; i++) { int at = 2 * i; t[at + 1] = x; }'), 0);
    assert.equal(guards('for (int i = 1; i < 9; i += 3) { t[i] += x; }'), 0);
  });
  for (const [what, work] of [
    ['a branch', 'int a = x & 3; if (x > 7) a = (x & 1) + 9; if (a < 8) t[a] = x;'],
    ['the other branch', 'int a = x & 3; if (x > 7) { a = 2; } else { a = x; } t[a & 15 & a] = 1;'],
    ['a loop that may run or not', 'int a = x & 15; for (int i = 0; i < (x & 3); i++) a = 1; if (a < 8) t[a] = x;'],
    ['an earlier turn', 'int a = 0; for (int i = 0; i < 3; i++) { t[a] = x; a = a + 2; a = a + (x & 1); } '],
    ['a turn that was left with continue', 'int a = x & 15; for (int i = 0; i < 40 & x > 2; i++) { if (x > 5) continue; a = 1; } if (a < 8) t[a] = x;'],
  ] as const) {
    it(`are forgotten behind ${what}`, () => { assert.ok(guards(work) > 0); });
  }
});
