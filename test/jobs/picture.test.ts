import assert from 'node:assert/strict';
import { decode, encode } from 'fast-png';
import { clippedRange, finiteRange, gridPng, pngLuminance, spreadRange } from '../../lib/pictures/grid.ts';

describe('pictures of grids', () => {
  it('draws the lowest value darkest, the highest brightest and missing values grey', () => {
    const { width, height, data, channels } = decode(gridPng([0, 1, NaN, 0.5], 2, 2));
    assert.deepEqual([width, height, channels], [2, 2, 3]);
    const sum = (pixel: number) => data[3 * pixel]! + data[3 * pixel + 1]! + data[3 * pixel + 2]!;
    assert.ok(sum(0) < sum(3) && sum(3) < sum(1));
    assert.deepEqual([...data.subarray(6, 9)], [128, 128, 128]);
  });

  it('clamps values outside the given range', () => {
    const { data } = decode(gridPng([-5, 0, 1, 9], 2, 2, [0, 1]));
    assert.deepEqual(data.subarray(0, 3), data.subarray(3, 6));
    assert.deepEqual(data.subarray(6, 9), data.subarray(9, 12));
  });

  it('finds the finite range', () => {
    assert.deepEqual(finiteRange([NaN, 3, -2, Infinity]), [-2, 3]);
    assert.deepEqual(finiteRange([NaN]), [0, 1]);
    assert.deepEqual(finiteRange([]), [0, 1]);
  });

  it('shows a constant in the middle of a range', () => {
    assert.deepEqual([[3, 3], [-4, -4], [0, 0], [1, 2]].map((range) => spreadRange(range as [number, number])), [[1.5, 4.5], [-6, -2], [-0.5, 0.5], [1, 2]]);
  });

  it('clips extremes from the range', () => {
    const values = Float64Array.from({ length: 1001 }, (_, i) => i);
    values[500] = 1e9;
    values[501] = NaN;
    assert.deepEqual(clippedRange(values, 0.01), [9, 992]);
    assert.deepEqual(clippedRange([3]), [3, 3]);
    assert.deepEqual(clippedRange([NaN]), [0, 1]);
  });

  it('reads grey, colour and 16-bit pictures as luminance between 0 and 1', () => {
    const grey = encode({ width: 2, height: 1, channels: 1, depth: 8, data: new Uint8Array([0, 255]) });
    assert.deepEqual([...pngLuminance(grey).values], [0, 1]);
    const colour = encode({ width: 1, height: 1, channels: 4, depth: 8, data: new Uint8Array([255, 0, 0, 255]) });
    assert.ok(Math.abs(pngLuminance(colour).values[0]! - 0.2126) < 1e-12);
    const deep = encode({ width: 1, height: 1, channels: 1, depth: 16, data: new Uint16Array([65535]) });
    assert.ok(Math.abs(pngLuminance(deep).values[0]! - 1) < 1e-12);
  });
});
