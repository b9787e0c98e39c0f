// What a call may take: the searches end by the work they did, give the event loop turns, and can be ended.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { optimize } from '../../lib/scratchpad/optimize.ts';
import { interference, plan } from '../../lib/kernel/memory/plan.ts';
import { Work } from '../../lib/kernel/memory/work.ts';

/** A kernel whose arrays are needed one after another, with no barrier in the text. */
function chain(arrays: number): string {
  const each = Array.from({ length: arrays }, (_, i) => i);
  return `__global__ void k(float* g) {\n${each.map((i) => `  __shared__ float a${i}[${32 + (i * 37) % 97}];\n`).join('')}  int t = threadIdx.x;\n`
    + `${each.map((i) => `  a${i}[t] = g[t + ${i}]; g[t + ${i}] = a${i}[t];\n`).join('')}}\n`;
}

/** Blocks that interfere at random: hard to place. */
function hard(count: number) {
  let state = 7;
  const next = (below: number): number => (state = (state * 1103515245 + 12345) % 2147483648) % below;
  const blocks = Array.from({ length: count }, (_, i) => {
    const begin = next(60);
    return { name: `b${i}`, bytes: 16 * (1 + next(40)) + 8, live: [{ begin, end: begin + 1 + next(12) }] };
  });
  return { blocks };
}

describe('scratchpad: bounds', function () {
  this.timeout(120_000); // on busy machines

  it('a hundred arrays that share a place need no more searching than the default allows', async () => {
    const { report } = await optimize(chain(100));
    const [kernel] = report.kernels;
    strictEqual(kernel!.status, 'rewritten');
    strictEqual(kernel!.bytesAfter, 4 * Math.max(...Array.from({ length: 100 }, (_, i) => 32 + (i * 37) % 97)));
    ok(kernel!.optimal);
    ok(kernel!.barriersAdded.length < 100);
  });

  it('thousands of arrays are refused at once', async () => {
    const { report } = await optimize(chain(2000));
    deepStrictEqual(report.refused.map(({ code }) => code), ['too-deep']);
  });

  it('the searches of a call stop when its budget is spent, and the best found is right', async () => {
    const few = await optimize(chain(40), { budget: 1 });
    const many = await optimize(chain(40));
    strictEqual(few.report.kernels[0]!.status, 'rewritten');
    ok(few.report.kernels[0]!.bytesAfter >= many.report.kernels[0]!.bytesAfter);
  });

  it('exact planning spends its budget and says what is left open', () => {
    const problem = hard(60);
    const short = plan(problem, 'exact', { budget: 20_000 });
    const long = plan(problem, 'exact');
    ok(short.bytes >= long.bytes && long.bytes >= long.lowerBound);
    for (const { offsets, optimal, bytes, lowerBound } of [short, long]) {
      for (const [a, b] of interference(problem)) {
        const apart = offsets[a]! + problem.blocks[a]!.bytes <= offsets[b]! || offsets[b]! + problem.blocks[b]!.bytes <= offsets[a]!;
        ok(apart, `blocks ${a} and ${b} share bytes`);
      }
      if (bytes === lowerBound) ok(optimal);
    }
    if (short.optimal) strictEqual(short.bytes, long.bytes);
  });

  it('gives the event loop turns, and ends with the reason of its signal', async () => {
    const work = new Work(1e9);
    let turns = 0;
    const count = setInterval(() => { turns += 1; }, 0);
    while (turns < 3) await work.pause(); // without turns it would not end
    clearInterval(count);

    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    await rejects(new Work(1, signal).pause(), reason);
    await rejects(optimize(chain(4), { signal }), reason);
    const controller = new AbortController();
    const running = optimize(chain(200), { signal: controller.signal });
    setImmediate(() => controller.abort(reason));
    await rejects(running, reason);
  });

  it('options are checked', async () => {
    for (const budget of [0, -1, 1.5, NaN, '1']) await rejects(optimize(chain(2), { budget: budget as number }), { argument: 'budget' });
    await rejects(optimize(chain(2), { signal: {} as AbortSignal }), { argument: 'signal' });
  });
});
