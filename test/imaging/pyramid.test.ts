// Levels of pyramids, and imaging.resample between them, on every backend.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import type { Device } from '../../lib/core/device.ts';
import { double, halve, planPyramid } from '../../lib/imaging/pyramid.ts';
import { deviceOf, eachBackend, hasBackend } from '../support/backends.ts';
import { Random } from '../support/random.ts';

function noise(count: number, seed: number): Float64Array {
  const random = new Random(seed);
  return Float64Array.from({ length: count }, () => random.uniform());
}

/** Weights 1 3 3 1 along one axis, at a stride. */
function halved(values: Float64Array, n: number, stride: number): Float64Array {
  const m = Math.ceil(n / 2);
  const blocks = values.length / (n * stride);
  const result = new Float64Array(blocks * m * stride);
  for (let b = 0; b < blocks; b += 1) {
    for (let i = 0; i < m; i += 1) {
      for (let s = 0; s < stride; s += 1) {
        const at = (k: number) => values[(b * n + Math.min(Math.max(2 * i + k, 0), n - 1)) * stride + s]!;
        result[(b * m + i) * stride + s] = (at(-1) + 3 * at(0) + 3 * at(1) + at(2)) / 8;
      }
    }
  }
  return result;
}

function testResample(device: () => Promise<Device>): void {
  it('halves by the weights 1 3 3 1, every second axis or all', async () => {
    for (const [width, height, depth] of [[16, 9, 1], [8, 8, 8], [9, 5, 11], [30, 1, 1]] as const) {
      const values = noise(width * height * depth, width);
      const [fine, coarse] = planPyramid({ width, height, depth }, 2);
      const { array } = halve(await device(), 'float64', values, fine!, coarse!, {});
      using found = array;
      let expected = values;
      if (width >= 8) expected = halved(expected, width, 1);
      if (height >= 8) expected = halved(expected, height, coarse!.width);
      if (depth >= 8) expected = halved(expected, depth, coarse!.width * coarse!.height);
      const result = await found.read() as Float64Array;
      strictEqual(result.length, expected.length);
      result.forEach((value, i) => ok(Math.abs(value - expected[i]!) < 1e-15, `${width}x${height}x${depth} at ${i}`));
      if (!hasBackend('cpu')) continue;
      const { array: other } = halve(await deviceOf('cpu'), 'float64', values, fine!, coarse!, {});
      using same = other;
      deepStrictEqual(result, await same.read());
    }
  });

  it('doubles displacements: linear fields stay linear inside, lengths follow the pixels', async () => {
    const grid = { width: 20, height: 12, depth: 1 };
    const [fine, coarse] = planPyramid(grid, 2);
    const points = coarse!.width * coarse!.height;
    const field = new Float64Array(2 * points);
    // u = a + b x in coarse pixels; coarse pixel i stands at fine 2 i + 1/2.
    for (let i = 0; i < points; i += 1) {
      field[i] = 1 + 0.5 * (i % coarse!.width);
      field[points + i] = -2 + 0.25 * Math.floor(i / coarse!.width);
    }
    const { array } = double(await device(), 'float64', field, fine!, {});
    using found = array;
    const result = await found.read() as Float64Array;
    for (let y = 1; y < 11; y += 1) {
      for (let x = 1; x < 19; x += 1) {
        strictEqual(result[y * 20 + x], 2 * (1 + (0.5 * (x - 0.5)) / 2), `x at ${x}, ${y}`);
        strictEqual(result[240 + y * 20 + x], 2 * (-2 + (0.25 * (y - 0.5)) / 2), `y at ${x}, ${y}`);
      }
    }
  });
}

describe('pyramids', () => {
  it('levels: halved while long, short axes kept', () => {
    const sides = (grid: { width: number; height: number; depth: number }, most?: number) =>
      planPyramid(grid, most).map(({ width, height, depth }) => [width, height, depth]);
    deepStrictEqual(sides({ width: 128, height: 128, depth: 1 }), [[128, 128, 1], [64, 64, 1], [32, 32, 1]]);
    deepStrictEqual(sides({ width: 64, height: 64, depth: 64 }), [[64, 64, 64], [32, 32, 32], [16, 16, 16]]);
    deepStrictEqual(sides({ width: 100, height: 7, depth: 5 }), [[100, 7, 5], [50, 7, 5], [25, 7, 5]]);
    deepStrictEqual(sides({ width: 33, height: 9, depth: 1 }, 9), [[33, 9, 1], [17, 5, 1], [9, 5, 1], [5, 5, 1]]);
    deepStrictEqual(sides({ width: 4, height: 4, depth: 1 }), [[4, 4, 1]]);
  });

  eachBackend((_backend, device) => testResample(device), { cases: 2 });

  it('refuses arrays that do not fit', async () => {
    if (!hasBackend('cpu')) return;
    const [fine, coarse] = planPyramid({ width: 16, height: 16, depth: 1 }, 2);
    await rejects(halve(await deviceOf('cpu'), 'float64', new Float64Array(255), fine!, coarse!, {}).seconds, { argument: 'values' });
  });
});
