// What lowered programs trap at, with its site and value; and what they print.
import assert from 'node:assert/strict';
import { planProgram } from '../../../lib/stream/plan/plan.ts';
import type { SiteKind } from '../../../lib/stream/lower/sites.ts';
import { graphOf } from '../support.ts';
import { runLowered } from './machine.ts';

const filter = (body: string, fields = '', head = 'work pop 1 push 1'): string => `int->int filter F { ${fields} ${head} { ${body} } }
  int->int pipeline P { add F; }`;

const faulty: Readonly<Record<string, readonly [source: string, kind: SiteKind]>> = {
  'an index beyond an array': [filter('t[pop()] = 1; push(t[0]);', 'int[4] t;'), 'index'],
  'a negative index': [filter('push(t[pop() - 9]);', 'int[4] t;'), 'index'],
  'an index that a condition guards, in the other case': [filter('int x = pop(); push(x > 3 || t[x + 2] == 0 ? 1 : 0);', 'int[4] t;'), 'index'],
  'a quotient': [filter('push(7 / (pop() - 5));'), 'divide'],
  'a remainder': [filter('push(7 % (pop() - 5));'), 'remainder'],
  'a peek beyond the window': [filter('push(peek(pop()));', '', 'work pop 1 push 1 peek 3'), 'peek'],
  'too many pops': [filter('int x = pop(); while (x > 4) x = pop(); push(x);'), 'pop'],
  'a push that is left out': [filter('int x = pop(); if (x < 5) push(x);'), 'push'],
  'a range of random numbers': [filter('push(random(4 - pop()));'), 'random'],
  'a loop without end': [filter('int x = pop(); while (x > 4) x = x | 1; push(x);'), 'steps'],
};

describe('faults of lowered programs', () => {
  for (const [name, [source, kind]] of Object.entries(faulty)) {
    it(name, function () {
      this.timeout(60_000);
      for (const options of [{}, { filterSize: 0, groupSize: 1 }]) {
        const { fault, lowered } = runLowered(planProgram(graphOf(source), options), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert.equal(fault === undefined ? undefined : lowered.sites[fault]!.kind, kind);
      }
    });
  }

  it('print texts and values at their sites', () => {
    const { printed, lowered } = runLowered(planProgram(graphOf(`int->int filter A { work pop 1 push 1 { int x = pop(); print("x"); println(x); push(x); } }
      int->int pipeline P { add A; }`)), [5, 7]);
    const seen = printed.map(([site, values]) => [lowered.sites[site]!.print!.text ?? '', values]);
    assert.deepEqual(seen, [['x', []], ['', [5]], ['x', []], ['', [7]]]);
  });
});
