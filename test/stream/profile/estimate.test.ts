// Counted costs: loops whose turns depend on the counters of loops around them.
import assert from 'node:assert/strict';
import { elaborate } from '../../../lib/stream/compile.ts';
import { estimateCosts } from '../../../lib/stream/profile/estimate.ts';

/** Nanoseconds of a firing whose work is these loops around one sum, less those of a firing without. */
async function cost(loops: string, window = 64): Promise<number> {
  const text = (body: string): string =>
    `float->float filter Main { work push 1 pop 1 peek ${window} { float s = 0; ${body} push(s); pop(); } }`;
  const [full, none] = await Promise.all([text(`${loops} s += peek(0);`), text('')].map(async (code) => estimateCosts((await elaborate(code)).graph)[0]!));
  return 1000 * (full! - none!);
}

describe('counted costs', () => {
  it('count a triangle of turns as half a square', async () => {
    for (const n of [3, 8, 9, 64, 1000]) {
      const square = await cost(`for (int i = 0; i < ${n}; i++) for (int j = 0; j < ${n}; j++)`);
      const lower = await cost(`for (int i = 0; i < ${n}; i++) for (int j = i; j < ${n}; j++)`);
      const upper = await cost(`for (int i = 0; i < ${n}; i++) for (int j = 0; j <= i; j++)`);
      const turns = n * (n + 1) / 2, outer = await cost(`for (int i = 0; i < ${n}; i++) for (int j = 0; j < 0; j++)`);
      // An inner turn costs the same in all three: what is left without the outer loop's own operations.
      const each = (square - outer) / (n * n);
      for (const found of [lower, upper]) assert.ok(Math.abs(found - outer - turns * each) <= 0.02 * turns * each + n, `${n}: ${found} ${turns * each}`);
    }
  });

  it('follow counters that are doubled, go down, and are nested three deep', async () => {
    const turn = (await cost('for (int i = 0; i < 1000; i++)')) / 1000;
    const doubled = await cost('for (int m = 1; m < 256; m *= 2) for (int j = 0; j < m; j++)');
    assert.ok(Math.abs(doubled / turn - 255) < 60, `${doubled / turn}`);
    const down = await cost('for (int i = 99; i >= 0; i--) for (int j = 0; j < 2 * i + 1; j++)');
    // The bound costs two operations each turn beside the seven of a turn.
    assert.ok(Math.abs(down / turn / (9 / 7) / 10_000 - 1) < 0.05, `${down / turn}`);
    const cube = await cost('for (int i = 0; i < 40; i++) for (int j = 0; j < i; j++) for (int k = j; k < i; k++)');
    assert.ok(Math.abs(cube / turn / (40 * 41 * 39 / 6) - 1) < 0.06, `${cube / turn}`);
  });

  it('count loops of which nothing is known eight times', async () => {
    const turn = (await cost('for (int i = 0; i < 1000; i++)')) / 1000;
    const some = await cost('int n = 5; if (peek(1) > 0) n = 9; for (int i = 0; i < n; i++)');
    assert.ok(some > 7 * turn && some < 12 * turn + 10, `${some / turn}`);
  });
});
