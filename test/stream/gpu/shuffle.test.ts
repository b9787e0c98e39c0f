// The kernels of section 4.7 against the layout's own functions on the host.
import assert from 'node:assert/strict';
import { deshuffle, shuffle } from '../../../lib/stream/schedule/index.ts';
import { scalar } from '../../../lib/stream/interpret/values.ts';
import { shuffleBytes } from '../../../lib/stream/run/gpu-lists.ts';
import { eachBackend } from '../../support/backends.ts';
import { deviceBackends } from './support.ts';

const types = [['int32', 'int', Int32Array], ['float32', 'float', Float32Array], ['float64', 'double', Float64Array]] as const;
const widths = [32, 128] as const;
const nameOf = (type: string, width: number, isBack: boolean): string => `${isBack ? 'deshuffle' : 'shuffle'}_${type}_${width}`;
const ways = types.flatMap(([type, c, make]) => widths.flatMap((width) => [false, true].map((isBack) => ({ type, c, make, width, isBack }))));
const source = ['#include "cuda/core/module.cuh"', '#include "cuda/stream/shuffle.cuh"', ...ways.map(({ type, c, width, isBack }) =>
  `WARPLOOM_KERNEL(${nameOf(type, width, isBack)}, warploom::WARPLOOM_TARGET::stream::ShuffleAgent<${c}, ${width}, ${isBack}>)`), ''].join('\n');

describe('shuffle and deshuffle on devices', function () {
  this.timeout(60_000);

  eachBackend((_, opened) => {
    it('give what the host gives, whatever the threads and blocks', async () => {
      const device = await opened();
      using module = await device.module({ source, kernels: ways.map(({ type, width, isBack }) => nameOf(type, width, isBack)) });
      for (const { type, c, make, width, isBack } of ways) {
        for (const [total, blocks, threads] of [[1024, 1, 256], [3072, 2, 32], [7 * 1024, 1, 96], [16 * 1024, 3, 256], [11 * 1024, 20, 160]] as const) {
          const from = new make(total).map((__, i) => i * 3 + 0.5);
          const expected = new make(total);
          (isBack ? deshuffle : shuffle)(from, expected, width);
          using given = await device.array(from);
          using found = await device.array(new make(total).fill(-1));
          const sharedBytes = shuffleBytes(width, scalar(c as 'int'));
          await module.launch(nameOf(type, width, isBack), { blocks, threads, sharedBytes, arguments: [given, found, { i32: total }] });
          assert.deepEqual(await found.read(), expected, `${nameOf(type, width, isBack)} of ${total}`);
        }
      }
    });
  }, { backends: deviceBackends, cases: 1 });
});
