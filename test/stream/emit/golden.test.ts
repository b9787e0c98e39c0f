// The code that three small programs become, in full. To renew the files after a change that was meant: GOLDEN=write mocha THIS_FILE.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { emitCpp } from '../../../lib/stream/emit/emit-cpp.ts';
import { emitJs } from '../../../lib/stream/emit/emit-js.ts';
import { planProgram } from '../../../lib/stream/emit/plan.ts';
import { graphOf } from '../support.ts';

const programs: Readonly<Record<string, string>> = {
  sort: `int->int filter Order { work pop 2 push 2 { int a = pop(); int b = pop(); if (a > b) { push(b); push(a); } else { push(a); push(b); } } }
    int->int pipeline P { add splitjoin { split roundrobin(2); add Order; add Order; join roundrobin(1); } add Order; }`,
  smooth: `float->float filter Mean(int n) { work pop 1 push 1 peek n { float s = 0; for (int i = 0; i < n; i++) s += peek(i); push(s / n); pop(); } }
    float->float filter Thin { work pop 2 push 1 { push(pop()); pop(); } }
    float->float pipeline P { add Mean(100); add Thin; }`,
  echo: `float->float feedbackloop P { join roundrobin(1, 1); body float->float filter { work pop 2 push 1 { push(pop() + 0.5 * pop()); } }
    split duplicate; enqueue 0.0; enqueue 0.0; }`,
};

function check(name: string, text: string): void {
  const path = new URL(`golden/${name}`, import.meta.url);
  if (process.env.GOLDEN === 'write') writeFileSync(path, text);
  assert.equal(text, readFileSync(path, 'utf8'));
}

describe('emitted code', () => {
  for (const [name, source] of Object.entries(programs)) {
    it(`of ${name}`, () => {
      const plan = planProgram(graphOf(source));
      check(`${name}.js.txt`, emitJs(plan).source);
      check(`${name}.cpp.txt`, emitCpp(plan).body);
    });
  }
});
