// Stores that wait for the loads behind them.
import { delayStores } from '../../lib/kernel/passes/late-stores.ts';
import type { Program } from '../../lib/kernel/ir.ts';
import { becomes, keepsMeaning } from './pass-support.ts';

const pass = (most?: number) => (program: Program): Program => delayStores(program, new Set(program.buffers), most);

describe('kernel pass: delayStores', () => {
  keepsMeaning('delayStores', pass());
  keepsMeaning('delayStores of few', pass(2), 100);

  it('has loads come before stores to buffers that the function does not load', () => {
    becomes(pass(), `external x i32[8]
external y i32[8]
external z i32[8]
function f(i: i32) {
  var k: i32
  y[0] = x[i]
  y[i] = add(i, 2)
  i = add(i, 1)
  y[i] = i
  z[1] = x[2]
  for L: k = 0 to 3 step 1 {
    y[k] = x[k]
    y[4] = 5
  }
  y[3] = z[4]
}`, `  kept = x[i]
  kept_1 = i
  kept_2 = add(i, 2)
  i = add(i, 1)
  y[0] = kept
  y[kept_1] = kept_2
  y[i] = i
  z[1] = x[2]
  for L: k = 0 to 3 step 1 {
    kept_3 = x[k]
    y[k] = kept_3
    y[4] = 5
  }
  kept_4 = z[4]
  y[3] = kept_4`);
  });

  it('keeps no more waiting than it may', () => {
    const text = (count: number): string => `external x i32[99]\nexternal y i32[99]\nfunction f() {\n${
      Array.from({ length: count }, (_, i) => `  y[${i}] = x[${i}]`).join('\n')}\n}`;
    becomes(pass(2), text(3), '  kept = x[0]\n  kept_1 = x[1]\n  y[0] = kept\n  y[1] = kept_1\n  kept_2 = x[2]\n  y[2] = kept_2');
  });
});
