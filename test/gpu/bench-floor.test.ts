// The kernel that benchmarks take the floor from moves every element, however its grid walks the arrays: a floor that
// left elements out would be too low.
import { deepStrictEqual } from 'node:assert/strict';
import { gridsOf } from '../../bench/floor.ts';
import { benchmark } from '../../bench/native.ts';
import { eachBackend } from '../support/backends.ts';

describe('the floor of benchmarks', () => {
  eachBackend((_backend, device) => {
    for (const length of [4, 1020, 131_076]) {
      it(`writes the exclusive or of ${length} elements in every grid`, async () => {
        const from = Array.from({ length: 4 }, (_, k) => Int32Array.from({ length }, (_, i) => Math.imul(i + 1, 0x9e3779b1 + k)));
        for (let count = 1; count <= 4; count += 1) {
          const expected = Int32Array.from({ length }, (_, i) => from.slice(0, count).reduce((sum, array) => sum ^ array[i]!, 0));
          const open = await device();
          const sources = await Promise.all(from.slice(0, count).map((data) => open.array(new Float32Array(data.buffer))));
          for (const grid of gridsOf(4 * length * (count + 1))) {
            using to = await open.array(new Float32Array(length));
            const [first, second, third, fourth] = sources.map((data) => ({ data }));
            await benchmark(to, 'bench.stream', [{ type: 'float32', first, second, third, fourth, to: { data: to }, ...grid }], { calls: 1, repeats: 1, warmup: 0 });
            deepStrictEqual(new Int32Array((await to.read()).buffer), expected, JSON.stringify(grid));
          }
          for (const source of sources) source[Symbol.dispose]();
        }
      });
    }
  }, { backends: ['cuda'], cases: 3 });
});
