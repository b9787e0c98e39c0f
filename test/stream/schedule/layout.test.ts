// Buffer layouts: bijective, equal at both ends of a channel, and coalesced.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  accessAt, accessPosition, deshuffle, firingOf, kBlockGroup, kWarpGroup, layoutItems, positionOf, shuffle, streamIndexOf, threadOf,
  type LayoutEnd,
} from '../../../lib/stream/schedule/index.ts';

const ends = fc.record({
  width: fc.constantFrom(1, 2, kWarpGroup, kBlockGroup), groups: fc.integer({ min: 1, max: 4 }),
  rate: fc.integer({ min: 1, max: 5 }), instances: fc.integer({ min: 1, max: 4 }),
}).map(({ width, groups, rate, instances }) => ({ width, end: { rate, instances, threads: width * groups } }));

function accesses({ rate, threads, instances }: LayoutEnd): { instance: number; thread: number; item: number }[] {
  const all = [];
  for (let instance = 0; instance < instances; ++instance) {
    for (let thread = 0; thread < threads; ++thread) for (let item = 0; item < rate; ++item) all.push({ instance, thread, item });
  }
  return all;
}

describe('buffer layouts', () => {
  it('are bijective, with their inverses (equation 3.15 and the form by warps)', () => {
    fc.assert(fc.property(ends, ({ width, end }) => {
      const total = layoutItems(end, width);
      const seen = new Set<number>();
      for (let position = 0; position < total; ++position) {
        const index = streamIndexOf(position, total, width);
        assert.ok(index >= 0 && index < total);
        assert.equal(positionOf(index, total, width), position);
        seen.add(index);
      }
      assert.equal(seen.size, total);
    }), { numRuns: 60 });
  });

  it('give every access its own place, with the inverse (equations 3.16 and 3.17)', () => {
    fc.assert(fc.property(ends, ({ width, end }) => {
      const seen = new Set<number>();
      for (const access of accesses(end)) {
        const position = accessPosition(end, width, access);
        assert.deepEqual(accessAt(end, width, position), access);
        seen.add(position);
      }
      assert.equal(seen.size, layoutItems(end, width));
      assert.equal(Math.max(...seen), seen.size - 1);
    }), { numRuns: 60 });
  });

  it('let each thread see consecutive items of the stream, and firings are a bijection', () => {
    fc.assert(fc.property(ends, ({ width, end }) => {
      const total = layoutItems(end, width);
      for (const access of accesses(end)) {
        const firing = firingOf(end, width, access.instance, access.thread);
        assert.deepEqual(threadOf(end, width, firing), { instance: access.instance, thread: access.thread });
        assert.equal(streamIndexOf(accessPosition(end, width, access), total, width), end.rate * firing + access.item);
      }
    }), { numRuns: 60 });
  });

  it('coalesce: neighbouring threads of a group touch neighbouring places', () => {
    const end = { rate: 3, threads: 128, instances: 2 };
    for (let thread = 1; thread < 32; ++thread) {
      const at = (tid: number): number => accessPosition(end, kWarpGroup, { instance: 1, thread: tid, item: 2 });
      assert.equal(at(thread) - at(thread - 1), 1);
    }
  });

  it('agree with the worked example of Figure 3.10', () => {
    // A: 256 threads, rate 2, once; B: 128 threads, rate 1, four times: both ends see 512 items.
    const [a, b] = [{ rate: 2, threads: 256, instances: 1 }, { rate: 1, threads: 128, instances: 4 }];
    assert.equal(layoutItems(a, kBlockGroup), layoutItems(b, kBlockGroup));
    // (3.16): thread 130's second pop stands at 128 + 1·128·2 + 2.
    assert.equal(accessPosition(a, kBlockGroup, { instance: 0, thread: 130, item: 1 }), 386);
    // (3.15): place 386 holds item ⌊386/128⌋ + 2·(512/128).
    assert.equal(streamIndexOf(386, 512, kBlockGroup), 11);
    assert.deepEqual(accessAt(b, kBlockGroup, 386), { instance: 3, thread: 2, item: 0 });
  });

  it('shuffle and deshuffle buffers', () => {
    const from = Float32Array.from({ length: 256 }, (_, at) => at);
    const to = new Float32Array(256), back = new Float32Array(256);
    shuffle(from, to, 32);
    assert.deepEqual([...to.subarray(0, 4), to[32]], [0, 8, 16, 24, 1]);
    deshuffle(to, back, 32);
    assert.deepEqual(back, from);
    assert.throws(() => shuffle(from, new Float32Array(8), 32), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    assert.throws(() => shuffle(from, to, 7), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    assert.throws(() => layoutItems({ rate: 1, threads: 33, instances: 1 }, 32), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    assert.throws(() => layoutItems({ rate: 0, threads: 32, instances: 1 }, 32), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
  });
});
