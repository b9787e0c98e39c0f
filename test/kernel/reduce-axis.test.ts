// kernel.reduce along axes, against loops in plain JavaScript; all back ends give the same bits.
import assert from 'node:assert/strict';
import { DeviceArray, kernel, type Device } from '../../lib/index.ts';
import { eachBackend } from '../support/backends.ts';
import { canCompile } from '../support/modules.ts';
import { Random } from '../support/random.ts';

const reductions = ['sum', 'mean', 'min', 'max', 'norm1', 'norm2', 'normInf', 'argmin', 'argmax'] as const;
type How = (typeof reductions)[number];

/** Elements of each group along the axes, in row-major order of the other axes. */
function groupsOf(x: ArrayLike<number>, shape: readonly number[], axes: readonly number[]): number[][] {
  const groups = new Map<string, number[]>();
  const count = shape.reduce((a, b) => a * b, 1);
  // Also those of no elements.
  let keys: string[] = [''];
  shape.forEach((extent, d) => { if (!axes.includes(d)) keys = keys.flatMap((key) => Array.from({ length: extent }, (_, i) => `${key}${i},`)); });
  for (const key of keys) groups.set(key, []);
  for (let i = 0; i < count; ++i) {
    let rest = i;
    const place = shape.toReversed().map((extent) => { const at = rest % extent; rest = Math.floor(rest / extent); return at; }).toReversed();
    groups.get(place.filter((_, d) => !axes.includes(d)).map((at) => `${at},`).join(''))!.push(x[i]!);
  }
  return [...groups.values()];
}

function plain(group: readonly number[], how: How): number {
  const least = (sign: 1 | -1): number => group.findIndex((a) => group.every((b) => (Number.isNaN(a) ? true : !Number.isNaN(b)
    && (sign * a < sign * b || (a === b && !(a === 0 && Object.is(sign * b, -0) && !Object.is(sign * a, -0)))))));
  switch (how) {
    case 'min': return Math.min(...group);
    case 'max': return Math.max(...group);
    case 'argmin': return least(1);
    case 'argmax': return least(-1);
    case 'normInf': return group.length === 0 ? 0 : Math.max(...group.map(Math.abs));
    case 'sum': return group.reduce((a, b) => a + b, 0);
    case 'mean': return group.reduce((a, b) => a + b, 0) / group.length;
    case 'norm1': return group.reduce((a, b) => a + Math.abs(b), 0);
    case 'norm2': return Math.sqrt(group.reduce((a, b) => a + b * b, 0));
  }
}

/** Whole numbers of which all sums are exact, so that their order does not matter. */
const whole = (random: Random, length: number): Float64Array => Float64Array.from({ length }, () => Math.floor(random.next() * 41) - 20);

describe('kernel.reduce along axes', function () {
  this.timeout(60_000);

  it('gives what loops give, for shapes and axes of all kinds', async () => {
    const random = new Random(5);
    const shapes = [[1], [7], [8], [9], [65], [3, 5], [1, 4], [17, 3], [2, 3, 4], [9, 1, 8], [2, 9, 2, 3], [0, 3], [3, 0]];
    for (const [k, shape] of shapes.entries()) {
      const x = whole(random, shape.reduce((a, b) => a * b, 1));
      for (const axis of shape.keys()) {
        for (const how of k % 3 === 0 ? reductions : ['sum', 'argmin', 'norm2'] as const) {
          const found = await kernel.reduce((a) => a, [{ data: x, shape }], how, { axis: (axis + k) % 2 === 0 ? axis : axis - shape.length });
          const want = groupsOf(x, shape, [axis]).map((group) => plain(group, how));
          assert.deepEqual(Array.from(found), want.map((value) => (how === 'mean' && Number.isNaN(value) ? NaN : value)), `${shape.join()} ${axis} ${how}`);
          assert.equal(found.constructor, how === 'argmin' || how === 'argmax' ? Int32Array : Float64Array);
        }
      }
      if (shape.length < 2) continue;
      const axes = [shape.length - 1, 0];
      for (const how of ['sum', 'max', 'norm2', 'mean'] as const) {
        assert.deepEqual(Array.from(await kernel.reduce((a) => a, [{ data: x, shape }], how, { axis: axes })),
          groupsOf(x, shape, axes).map((group) => plain(group, how)), `${shape.join()} both ${how}`);
      }
    }
  });

  it('takes several inputs and results, views, numbers, single precision and functions', async () => {
    const x = whole(new Random(9), 60), y = Float32Array.of(1, 2, 3);
    const weighted = await kernel.reduce((a, w, s) => ({ total: s * a * w, many: [a > 0, -a] as const }), [{ data: x, shape: [4, 5, 3] }, y, 2], 'sum', { axis: 1 });
    const groups = groupsOf(x, [4, 5, 3], [1]);
    assert.deepEqual(Array.from(weighted.total), groups.map((group, i) => group.reduce((sum, a) => sum + 2 * a * y[i % 3]!, 0)));
    assert.deepEqual(Array.from(weighted.many[0]), groups.map((group) => group.filter((a) => a > 0).length));
    assert.deepEqual(Array.from(weighted.many[1]), groups.map((group) => group.reduce((sum, a) => sum - a, 0)));
    // A transposed view; a part of an array.
    const turned = await kernel.reduce((a) => a, [{ data: x, shape: [5, 12], strides: [1, 5] }], 'argmax', { axis: 0 });
    assert.deepEqual(Array.from(turned), groupsOf(x, [12, 5], [1]).map((group) => plain(group, 'argmax')));
    // Values in single precision, sums in double.
    const thirds = Float32Array.from({ length: 18 }, (_, i) => i / 3);
    const sums = await kernel.reduce((a) => a * a, [{ data: thirds, shape: [2, 9] }], 'sum', { axis: 1 });
    groupsOf(thirds, [2, 9], [1]).forEach((group, i) => {
      const exact = group.reduce((sum, a) => sum + Math.fround(a * a), 0);
      assert.ok(Math.abs(sums[i]! - exact) <= 1e-14 * exact, `${sums[i]} ${exact}`);
    });
    assert.deepEqual(Array.from(await kernel.reduce((a) => a, [{ data: thirds, shape: [2, 9] }], 'argmax', { axis: 1 })), [8, 8]);
    const functions = { twice: '(a) => 2 * a' };
    assert.deepEqual(await kernel.reduce('(a) => twice(a)', [{ data: x, shape: [20, 3] }], 'max', { axis: 0, functions }),
      Float64Array.from(groupsOf(x, [20, 3], [0]), (group) => 2 * plain(group, 'max')));
  });

  it('follows the rules for NaN and zeros, and sums accurately', async () => {
    const x = Float64Array.of(0, 3, NaN, -0, 3, 1, -0, -7, NaN, 0, 2, 5);
    for (const how of ['min', 'max', 'argmin', 'argmax'] as const) {
      const found = await kernel.reduce((a) => a, [{ data: x, shape: [4, 3] }], how, { axis: 0 });
      groupsOf(x, [4, 3], [0]).forEach((group, i) => { assert.ok(Object.is(found[i], plain(group, how)), `${how} ${i}: ${found[i]} for ${plain(group, how)}`); });
    }
    const n = 100_000;
    const [sum] = await kernel.reduce((a) => a, [{ data: new Float64Array(n).fill(0.1), shape: [1, n] }], 'sum', { axis: 1 });
    assert.ok(Math.abs(sum! - 10_000) < 1e-9, String(sum));
    const some = Float64Array.from({ length: 5000 }, (_, i) => Math.sin(i) * 10 ** (i % 7));
    const [one, other] = await Promise.all((['wasm', 'interpreter'] as const).map((backend) =>
      kernel.reduce((a) => a / 3, [{ data: some, shape: [100, 50] }], 'sum', { axis: 0, backend })));
    assert.deepEqual(one, other);
  });

  it('gives what is documented for nothing, and refuses other axes', async () => {
    const none = { data: new Float64Array(), shape: [0, 2] };
    const found = await Promise.all(reductions.map(async (how) => (await kernel.reduce((a) => a, [none], how, { axis: 0 }))[1]));
    assert.deepEqual(found, [0, NaN, Infinity, -Infinity, 0, 0, 0, -1, -1]);
    assert.ok(Number.isNaN(await kernel.reduce((a) => a, [none], 'mean')));
    assert.equal(await kernel.reduce((a) => a, [Float64Array.of(1, 2, 6)], 'mean'), 3);
    for (const [axis, how, name] of [[2, 'sum', 'axis'], [-3, 'sum', 'axis'], [0.5, 'sum', 'axis'], ['x', 'sum', 'axis'], [[0, 0], 'sum', 'axis'],
      [[], 'sum', 'axis'], [[0, 5], 'sum', 'axis[1]'], [[0, 1], 'argmin', 'axis']] as const) {
      await assert.rejects(kernel.reduce((a) => a, [none], how, { axis: axis as never }), { argument: name, code: 'ERR_WARPLOOM_INVALID_ARGUMENT' }, String(axis));
    }
    await assert.rejects(kernel.reduce((a) => a, [3], 'sum', { axis: 0 }), { argument: 'axis' });
    await assert.rejects(kernel.reduce('(a) => a + far', [none], 'sum', { axis: 0 }), { name: 'FunctionError', argument: 'f' });
  });

  it('reads arrays at the call', async () => {
    const x = Float64Array.of(1, 2, 3, 4);
    const sum = kernel.reduce((a) => a, [{ data: x, shape: [2, 2] }], 'sum', { axis: 0 });
    x.fill(0);
    assert.deepEqual(Array.from(await sum), [4, 6]);
  });
});

eachBackend((backend, opened) => {
  describe('kernel.reduce along axes on devices', function () {
    this.timeout(120_000);
    let device: Device;
    before(async function () {
      if (backend !== 'cpu' && !await canCompile(backend, 4)) this.skip();
      device = await opened();
    });

    it('gives the bits of the CPU, on the device', async () => {
      const x = Float64Array.from({ length: 9 * 70 }, (_, i) => Math.sin(i) * 10 ** (i % 5));
      using there = await device.array(x);
      for (const [axis, how] of [[0, 'sum'], [1, 'norm2'], [1, 'argmin']] as const) {
        const want = await kernel.reduce((a) => a / 3, [{ data: x, shape: [9, 70] }], how, { axis });
        const found: unknown = await kernel.reduce((a) => a / 3, [{ data: there, shape: [9, 70] }], how, { axis });
        assert.ok(found instanceof DeviceArray && found.type === (how === 'argmin' ? 'int32' : 'float64'));
        assert.deepEqual(await found.read(), want, `${axis} ${how}`);
        found.dispose();
        if (backend === 'cpu') continue;
        assert.deepEqual(await kernel.reduce((a) => a / 3, [{ data: x, shape: [9, 70] }], how, { axis, device }), want);
      }
    });
  });
}, { cases: 4 });
