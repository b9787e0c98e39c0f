// Instance partitioning: against brute force, against packing, and its refusals.
import assert from 'node:assert/strict';
import {
  partitionInstances, partitionInstancesByIlp, validateInstances, type InstanceClass,
} from '../../../lib/stream/partition/index.ts';
import { Solver } from '../../../lib/stream/schedule/solver.ts';

/** The least largest load, by trying all ways. */
function optimum(classes: readonly InstanceClass[], processors: number): number {
  const jobs = classes.flatMap(({ count, time }) => Array.from({ length: count }, () => time));
  const load = Array.from({ length: processors }, () => 0);
  let best = Infinity;
  const place = (at: number): void => {
    if (at === jobs.length) {
      best = Math.min(best, Math.max(...load));
      return;
    }
    for (let p = 0; p < processors; ++p) {
      load[p]! += jobs[at]!;
      if (load[p]! < best) place(at + 1);
      load[p]! -= jobs[at]!;
      if (load[p] === 0) break;
    }
  };
  place(0);
  return best;
}

describe('instance partitioning (4.13, 4.14)', function () {
  this.timeout(120_000);
  let solver: Solver;
  before(() => { solver = new Solver(); });
  after(() => solver[Symbol.asyncDispose]());

  it('finds the optimum of small problems', async () => {
    let state = 3;
    const draw = (n: number): number => (state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff) % n;
    for (let trial = 0; trial < 12; ++trial) {
      const classes = Array.from({ length: 2 + draw(3) }, () => ({ count: draw(4), time: 1 + draw(30) }));
      const processors = 2 + draw(2);
      const least = optimum(classes, processors);
      const exact = await partitionInstancesByIlp(classes, processors, { solver, gap: 1e-6 });
      assert.deepEqual(validateInstances(classes, processors, exact), []);
      assert.ok(exact.isProven && Math.abs(exact.interval - least) <= 1e-6 * least, `${JSON.stringify(classes)} on ${processors}`);
      const packed = partitionInstances(classes, processors);
      assert.deepEqual(validateInstances(classes, processors, packed), []);
      assert.ok(packed.bound <= least * (1 + 1e-9) && packed.interval >= least * (1 - 1e-9));
    }
  });

  it('betters longest-first where that fails', async () => {
    // 3 + 3 and 2 + 2 + 2; longest first gives 7.
    const exact = await partitionInstancesByIlp([{ count: 2, time: 3 }, { count: 3, time: 2 }], 2, { solver });
    assert.equal(exact.interval, 6);
  });

  it('takes empty classes, times of 0 and 132 processors', () => {
    const none = partitionInstances([], 3);
    assert.deepEqual([none.interval, none.bound, none.load], [0, 0, [0, 0, 0]]);
    const many = partitionInstances([{ count: 2640, time: 1.5 }, { count: 500, time: 4.25 }, { count: 9, time: 0 }], 132);
    assert.ok(many.interval <= 1.01 * many.bound);
  });

  it('refuses bad problems and names bad partitions', async () => {
    assert.throws(() => partitionInstances([{ count: 1, time: 1 }], 0), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'processors' });
    assert.throws(() => partitionInstances([{ count: 1.5, time: 1 }], 2), { argument: 'classes[0].count' });
    await assert.rejects(partitionInstancesByIlp([{ count: 1, time: NaN }], 2), { argument: 'classes[0].time' });
    assert.throws(() => partitionInstances([{ count: 2e6, time: 1 }], 2), { argument: 'classes' });
    const faults = validateInstances([{ count: 2, time: 3 }], 2, { counts: [[1, 0]], load: [3, 1], interval: 2, bound: 0 });
    assert.equal(faults.length, 3);
  });
});
