// Plain or persistent launches of schedules, by the first launches.
import assert from 'node:assert/strict';
import { openDevice } from '../../../lib/core/device.ts';
import { compileForDevice, run } from '../../../lib/stream/index.ts';
import { LaunchChoice, type LaunchWay } from '../../../lib/stream/run/launch-choice.ts';
import { graphOf } from '../support.ts';

/** Makes launches of which each way takes so many seconds per step; returns the ways. */
function launches(choice: LaunchChoice, count: number, seconds: Readonly<Record<LaunchWay, number>>, steps = 100): LaunchWay[] {
  return Array.from({ length: count }, () => {
    const way = choice.next(steps);
    choice.took(way, seconds[way] * steps, steps);
    return way;
  });
}

describe('ways to launch a schedule', function () {
  this.timeout(60_000);

  it('are tried by turns, and the faster one is kept', () => {
    for (const [seconds, kept] of [[{ plain: 2, persistent: 1 }, 'persistent'], [{ plain: 1, persistent: 2 }, 'plain'], [{ plain: 1, persistent: 0.995 }, 'plain']] as const) {
      const choice = new LaunchChoice('auto');
      assert.equal(choice.chosen, undefined);
      assert.deepEqual(launches(choice, 6, seconds), ['plain', 'persistent', 'plain', 'persistent', kept, kept]);
      assert.equal(choice.chosen, kept);
    }
  });

  it('count by their best timing, whatever order they end in', () => {
    const choice = new LaunchChoice('auto');
    const ways = Array.from({ length: 6 }, () => choice.next(50));
    assert.deepEqual(ways, ['plain', 'persistent', 'plain', 'persistent', 'plain', 'plain']);
    for (const [way, seconds] of [['persistent', 90], ['plain', 50], ['persistent', 40], ['plain', 60]] as const) choice.took(way, seconds, 50);
    assert.equal(choice.chosen, 'persistent');
  });

  it('are plain for short launches, which do not count', () => {
    const choice = new LaunchChoice('auto');
    assert.deepEqual(launches(choice, 4, { plain: 2, persistent: 1 }, 7), ['plain', 'plain', 'plain', 'plain']);
    assert.equal(choice.chosen, undefined);
    assert.deepEqual(launches(choice, 5, { plain: 2, persistent: 1 }).at(-1), 'persistent');
  });

  it('are tried again after launches that failed', () => {
    const choice = new LaunchChoice('auto');
    assert.equal(choice.next(100), 'plain');
    assert.equal(choice.next(100), 'persistent');
    choice.failed();
    assert.deepEqual(launches(choice, 5, { plain: 1, persistent: 2 }), ['plain', 'persistent', 'plain', 'persistent', 'plain']);
  });

  it('stay as asked', () => {
    for (const way of ['plain', 'persistent'] as const) {
      const choice = new LaunchChoice(way);
      assert.deepEqual(launches(choice, 5, { plain: 1, persistent: 1 }), [way, way, way, way, way]);
    }
  });

  it('give the same bits while they are tried and after', async () => {
    const graph = graphOf('float->float filter F { work pop 1 push 1 peek 4 { push(peek(0) * 0.3 + peek(3) * peek(1)); pop(); } } float->float pipeline Main { add F; add F; }');
    const input = Float32Array.from({ length: 30_000 }, (_, i) => Math.sin(i));
    const { output } = await run(graph, { input, backend: 'wasm' });
    await using device = await openDevice({ backend: 'simt' });
    for (const mode of ['swp', 'serial'] as const) {
      using program = await compileForDevice(graph, { device, mode, threads: 128, coarsening: 1 });
      assert.equal(program.schedule?.launch, undefined);
      for (let i = 0; i < 5; ++i) assert.deepEqual((await program.run(input)).output, output);
      assert.ok(program.schedule?.launch === 'plain' || program.schedule?.launch === 'persistent', String(program.schedule?.launch));
      assert.deepEqual((await program.run(input)).output, output);
    }
    using plain = await compileForDevice(graph, { device, mode: 'swp', threads: 128, coarsening: 1, launch: 'plain' });
    assert.equal(plain.schedule?.launch, 'plain');
  });
});
