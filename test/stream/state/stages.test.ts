// What is found of the fields of filters: of which kind they are, and what is not taken for one of these.
import assert from 'node:assert/strict';
import { planProgram } from '../../../lib/stream/plan/plan.ts';
import { startMattersOnDevice, stateOf } from '../../../lib/stream/state/index.ts';
import { graphOf } from '../support.ts';

const filter = (fields: string, body: string): string =>
  `int->int filter F { ${fields} work pop 1 push 1 { int x = pop(); ${body} } } int->int pipeline Main { add F; }`;

/** The kinds of a filter's stages; closed forms first. */
function kindsOf(source: string): string[] {
  const plan = planProgram(graphOf(source));
  const [found] = stateOf(plan).values();
  assert.ok(found !== undefined);
  const { closed: { counters, cycles }, stages } = found;
  return [
    ...counters.map(({ step }) => `counter ${step}`), ...cycles.map(({ rows, since }) => `cycle ${rows.length}${since > 0 ? ` since ${since}` : ''}`),
    ...stages.flatMap((stage) => ('kind' in stage ? [`recorded ${stage.longestLag}`]
      : stage.map(({ kind, wrap, factors, choices }) => [
        kind, ...(wrap === undefined ? [] : [`${wrap.low}/${wrap.size}`]), ...(factors === undefined ? [] : [factors.join()]),
        ...(choices === undefined ? [] : [`of ${choices.length}`]),
      ].join(' ')))),
  ];
}

describe('the state of filters', () => {
  const kinds: readonly (readonly [name: string, fields: string, body: string, kinds: readonly string[]])[] = [
    ['a counter', 'int i;', 'i += 3; push(x + i);', ['counter 3']],
    ['the number of the firing', '', 'push(x + iter());', ['counter 1']],
    ['a counter in steps that depend on a branch of no effect', 'int i;', 'if (i > 5) i += 2; else i += 2; push(x + i);', ['counter 2']],
    ['a remainder', 'int i;', 'i = (i + 9) % 6; push(x + i);', ['cycle 2']],
    ['a beginning before the cycle', 'int i = 20;', 'if (i > 3) i -= 5; else i = (i + 1) & 3; push(x + i);', ['cycle 4 since 4']],
    ['a field that is never changed', 'int k = 4; int s;', 's += x * k; push(s);', ['sum 1']],
    ['a recurrence', 'int s;', 's = 3 * s + x; push(s);', ['sum 3']],
    ['a factor that comes in', 'int s;', 's = x * s + 1; push(s);', ['sum']],
    ['a sum that is set back', 'int s;', 'if (x > 3) s = 0; else s += x; push(s);', ['sum']],
    ['two together', 'int a; int b;', 'a += b; b -= a + x; push(b);', ['sum 1,1,-1,0']],
    ['a mask', 'int s;', 's = (s + x) & 31; push(s);', ['sum 0/32']],
    ['a remainder by a power of two has signs', 'int s;', 's = ((s + x) % 8 + 8) % 8; push(s);', ['sum 0/8']],
    ['bits', 'int s;', 's = (s & x) | 4; push(s);', ['bits']],
    ['a mode', 'int m;', 'm = x > 3 ? 2 : m == 2 ? 1 : 0; push(m);', ['choice of 3']],
    ['a history', 'int[4] h;', 'for (int i = 0; i < 3; i++) h[i] = h[i + 1]; h[3] = x; push(h[0]);', ['recorded 4']],
    ['a ring', 'int[5] r; int i;', 'push(r[i]); r[i] = x; i = (i + 1) % 5;', ['cycle 5', 'recorded 5']],
    ['the item before', 'int p;', 'push(p); p = x * x;', ['recorded 1']],
    ['what only the first firings change', 'int a = 2; boolean d;', 'if (!d) a += x; d = true; push(a);', ['cycle 1 since 1', 'sum 1']],
    ['a stage behind another', 'int s; int p;', 's += x; push(p); p = s * s;', ['sum 1', 'recorded 1']],
  ];
  for (const [name, fields, body, expected] of kinds) it(name, () => assert.deepEqual(kindsOf(filter(fields, body)), expected));

  const refused: readonly (readonly [fields: string, body: string, reason: RegExp])[] = [
    ['int s;', 's = s * s + x; push(s);', /'s'/],
    ['int s;', 's = (s + x) % 7; push(s);', /'s'/],
    ['int s;', 's = (s + x) & 62; push(s);', /'s'/],
    ['int s = 100;', 's = s + x; if (s > 127) s -= 256; push(s);', /'s'/],
    ['int s;', 's += x; while (s > 127) s -= 128; while (s < -128) s += 256; push(s);', /'s'/],
    ['int s;', 's = max(s, x); push(s);', /'s'/],
    ['int s;', 's = s < 0 ? s + x : s - x; push(s);', /'s'/],
    ['int s;', 's = (s << x) ^ (s >> 1); push(s);', /'s'/],
    ['int[8] t;', 't[x & 7] += 1; push(t[0]);', /'t'/],
    ['int s;', 'int k = s > 5 ? 1 : 2; s = s + (k + 3); push(s + x); s ^= x;', /'s'/],
    ['int s;', 'int k = s > 5 ? 1 : 2; s = s + (k + 3) + x; push(s);', /'s'/],
    ['int s;', 'int k = s == 3 ? x : 7; s = s + k; push(s);', /'s'/],
    ['int s; int n;', 's += x; while (s > 63) { s -= 128; n += 1; } while (s < -64) s += 128; push(s + n);', /'n'/],
    ['float f;', 'f = f * 0.5 + x; push((int) f);', /'f'/],
    ['float f;', 'f += x; push((int) f);', /'f'/],
    ['int n;', 'n = n + 1; if (n > x) n = x; push(n);', /'n'/],
  ];
  for (const [fields, body, reason] of refused) {
    it(`nothing is taken for more than it is: ${body}`, () => {
      const plan = planProgram(graphOf(filter(fields, body)));
      assert.throws(() => stateOf(plan), (error: { reason?: string }) =>
        reason.test(error.reason ?? '') && /^F \(line 1\) keeps/.test(error.reason ?? ''));
      assert.equal(startMattersOnDevice(plan), undefined);
    });
  }
});
