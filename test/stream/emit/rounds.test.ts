// Steps that repeat: written out again they are the same.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { rounds } from '../../../lib/stream/plan/rounds.ts';
import { run } from '../../../lib/stream/run/index.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import { graphOf } from '../support.ts';

describe('rounds of a schedule', () => {
  it('are its steps again when written out', () => {
    const step = fc.record({ actor: fc.nat(3), count: fc.integer({ min: 1, max: 2 }) }, { noNullPrototype: true });
    fc.assert(fc.property(fc.array(step, { maxLength: 40 }), fc.nat(12), (list, times) => {
      const steps = [...list, ...Array.from({ length: times }, () => list).flat(), ...list.slice(0, 3)];
      assert.deepEqual(rounds(steps).flatMap((round) => Array.from({ length: round.times }, () => round.steps).flat()), steps);
    }));
  });

  it('are found', () => {
    const [a, b, c] = [0, 1, 2].map((actor) => ({ actor, count: 1 })) as [{ actor: number; count: number }, { actor: number; count: number }, { actor: number; count: number }];
    assert.deepEqual(rounds([c, a, b, a, b, a, b, c]), [{ steps: [c], times: 1 }, { steps: [a, b], times: 3 }, { steps: [c], times: 1 }]);
    assert.deepEqual(rounds([]), []);
  });

  it('keep the code of a loop inside a long steady state short', async () => {
    const graph = graphOf(`void->int filter S { int x; work push 1 { push(x); x = (x + 7) & 1023; } }
      int->int feedbackloop L { join roundrobin(1, 1); body int->int filter { work pop 2 push 1 { push((pop() + 3 * pop()) & 4095); } };
        loop Identity<int>; split duplicate; enqueue 0; }
      int->void filter K { work pop 5000 { int s = 0; for (int i = 0; i < 5000; i++) s += pop(); println(s); } }
      void->void pipeline P { add S; add L; add K; }`);
    // Some 10 000 steps.
    assert.ok(compileWasm(graph).source.length < 20_000);
    const expected = (await run(graph, { backend: 'interpret', items: 3 })).printed;
    assert.equal((await run(graph, { backend: 'wasm', items: 3 })).printed, expected);
  });
});
