// kernel.reduce: a fixed order, the same bits everywhere, and the rules for NaN, zeros and nothing.
import assert from 'node:assert/strict';
import { kernel, type Device } from '../../lib/index.ts';
import { reduceValues } from '../../lib/kernel/call/order.ts';
import { eachBackend } from '../support/backends.ts';
import { canCompile } from '../support/modules.ts';

const reductions = ['sum', 'mean', 'min', 'max', 'norm1', 'norm2', 'normInf', 'argmin', 'argmax'] as const;
const sizes = [0, 1, 2, 3, 31, 32, 33, 511, 512, 513, 1023, 4095, 4096, 4097, 12_289];
const random = (length: number): Float64Array => Float64Array.from({ length }, (_, i) => ((Math.imul(i + 1, 0x9e3779b1) >>> 5) - 2 ** 26) / 777);

/** What the documentation says, by other code: the tree over elements, written as recursion. */
function sumOf(values: readonly number[]): number {
  if (values.length > 4096) {
    const blocks = Array.from({ length: Math.ceil(values.length / 4096) }, (_, b) => sumOf(values.slice(4096 * b, 4096 * (b + 1))));
    return sumOf(blocks);
  }
  const sums = Array.from({ length: 512 }, (_, c) => values.filter((_value, i) => i % 512 === c).reduce((a, b) => a + b, -0));
  const halved = (from: number[]): number => (from.length === 1 ? from[0]!
    : halved(from.slice(0, from.length / 2).map((a, c) => a + from[c + from.length / 2]!)));
  return halved(sums);
}

describe('kernel.reduce', () => {
  it('adds in the documented order', async () => {
    for (const n of sizes.slice(1)) {
      const x = random(n);
      const want = sumOf(Array.from(x));
      assert.equal(reduceValues(x, 'sum'), want, String(n));
      assert.equal(await kernel.reduce((a) => a, [x], 'sum'), want, String(n));
      assert.equal(await kernel.reduce((a) => a, [x], 'norm2'), Math.sqrt(sumOf(Array.from(x, (a) => a * a))));
      assert.equal(await kernel.reduce((a) => a, [x], 'norm1'), sumOf(Array.from(x, Math.abs)));
    }
  });

  it('is accurate: within the bound for many equal terms', async () => {
    const n = 3_000_001;
    const found = await kernel.reduce((a) => a, [new Float64Array(n).fill(0.1)], 'sum');
    // Twice 17 roundings, for two levels of blocks, of the exact sum of the double nearest to 0.1.
    assert.ok(Math.abs(found - n * 0.1) <= 2 * 17 * 2 ** -53 * n * 0.1 + 2 ** -30, String(found - n * 0.1));
  });

  it('follows Math.min and Math.max, and finds the first place', async () => {
    const x = Float64Array.of(3, -0, 0, -0, 7, 7);
    assert.ok(Object.is(await kernel.reduce((a) => a, [x], 'min'), -0));
    assert.equal(await kernel.reduce((a) => a, [x], 'argmin'), 1);
    assert.equal(await kernel.reduce((a) => a, [x], 'argmax'), 4);
    assert.equal(await kernel.reduce((a) => -Math.abs(a), [x], 'argmax'), 1 + 0);
    const holes = Float64Array.of(3, NaN, 1, NaN);
    for (const how of ['min', 'max', 'sum', 'norm2', 'normInf'] as const) assert.ok(Number.isNaN(await kernel.reduce((a) => a, [holes], how)), how);
    assert.equal(await kernel.reduce((a) => a, [holes], 'argmin'), 1);
    const far = new Float64Array(20_000);
    far[17_123] = 5;
    far[17_124] = 5;
    far[9_000] = -1;
    assert.deepEqual(await kernel.reduce((a) => [a, -a], [far], 'argmax'), [17_123, 9_000]);
    const infinite = Float64Array.of(Infinity, Infinity);
    assert.deepEqual([await kernel.reduce((a) => a, [infinite], 'min'), await kernel.reduce((a) => a, [infinite], 'argmin')], [Infinity, 0]);
    assert.ok(Object.is(await kernel.reduce((a) => a, [Float64Array.of(-0)], 'sum'), -0));
  });

  it('gives what is documented for nothing', async () => {
    const found = await Promise.all(reductions.map((how) => kernel.reduce((a) => a, [new Float64Array()], how)));
    assert.deepEqual(found, [0, NaN, Infinity, -Infinity, 0, 0, 0, -1, -1]);
  });

  it('counts truth values, reduces several values, broadcasts', async () => {
    const x = random(5000), y = Float32Array.from(random(100));
    const found = await kernel.reduce((a) => ({ positive: a > 0, sum: [a, 2 * a] as const }), [x], 'sum');
    assert.equal(found.positive, x.filter((a) => a > 0).length);
    assert.equal(found.sum[1], 2 * found.sum[0]);
    const whole = await kernel.reduce((a, b) => a * b, [{ data: x, shape: [50, 1] }, y], 'sum');
    assert.equal(whole, sumOf(Array.from({ length: 5000 }, (_, i) => x[Math.floor(i / 100)]! * y[i % 100]!)));
    // Single precision for the values, doubles for their sum.
    assert.equal(await kernel.reduce((b) => b * b, [y], 'sum'), sumOf(Array.from(y, (b) => Math.fround(b * b))));
    assert.equal(await kernel.reduce((a, b) => a + b, [2, 3], 'sum'), 5);
  });

  it('does not depend on threads or back end', async function () {
    this.timeout(60_000);
    const x = random(700_003);
    const f = '(a) => { let s = a; for (let i = 0; i < 30; ++i) s = Math.sqrt(Math.abs(s + i)); return s; }';
    const [one, two] = await Promise.all([1, 3].map((threads) => kernel.reduce(f, [x], 'sum', { threads })));
    assert.equal(one, two);
    assert.equal(await kernel.reduce(f, [x], 'argmax', { threads: 2 }), await kernel.reduce(f, [x], 'argmax', { threads: 1 }));
    const part = x.subarray(0, 5000);
    assert.equal(await kernel.reduce((a) => a / 3, [part], 'sum', { backend: 'interpreter' }), await kernel.reduce((a) => a / 3, [part], 'sum'));
  });

  it('refuses other reductions', async () => {
    await assert.rejects(kernel.reduce((a) => a, [1], 'median' as never), { argument: 'reduction', code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    await assert.rejects(kernel.reduce((a) => a, [1], 'sum', { out: 1 } as never), { argument: 'out' });
  });
});

eachBackend((backend, opened) => {
  describe('kernel.reduce on devices', function () {
    this.timeout(60_000);
    let device: Device;
    before(async function () {
      if (backend !== 'cpu' && !await canCompile(backend, 2)) this.skip();
      device = await opened();
    });

    it('gives the bits of the CPU for all sizes, types and reductions', async () => {
      for (const kind of [Float64Array, Float32Array, Int32Array]) {
        const x = kind.from(random(12_300));
        using there = await device.array(x);
        for (const n of sizes) {
          for (const how of n === 12_289 && kind === Float64Array ? reductions : ['sum', 'argmin'] as const) {
            for (const offset of [0, 1]) {
              const part = { offset, shape: [n] };
              const [found, want] = await Promise.all([there, x].map((data) => kernel.reduce((a, b) => a * b + 0.3, [{ data, ...part }, 1.1], how)));
              assert.ok(Object.is(found, want), `${kind.name} ${n} ${how} ${offset}: ${found} ${want}`);
            }
          }
        }
      }
    });

    it('reduces several values, views, and enough blocks for a second level', async () => {
      const x = random(600);
      using there = await device.array(x);
      const views = [{ shape: [11, 13], strides: [2, 40], offset: 3 }, { shape: [11, 1], offset: 9 }] as const;
      for (const how of ['sum', 'argmax'] as const) {
        const [found, want] = await Promise.all([there, x].map((data) =>
          kernel.reduce((a, b) => [a * b, a > b, -a], [{ data, ...views[0] }, { data, ...views[1] }], how)));
        assert.deepEqual(found, want);
      }
      // 4097 and a half blocks, most of them of one element that is repeated.
      const many = { shape: [4097, 4098], strides: [0, 0] };
      if (backend === 'simt') return; // minutes there: cuda does it
      const [found, want] = await Promise.all([there, x].map((data) => kernel.reduce((a) => [a, 3 * a], [{ data, ...many, offset: 5 }], 'sum')));
      assert.deepEqual(found, want);
    });
  });
}, { cases: 2 });
