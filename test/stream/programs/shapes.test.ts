// The twelve programs have the structure that docs/stream-programs.md states.
import assert from 'node:assert/strict';
import { program, shapeOf } from './support.ts';

const expected: readonly (readonly [name: string, filters: number, routing: number, peeking: number, stateful: number, input: number, output: number])[] = [
  ['bitonic', 26, 22, 0, 0, 8, 8],
  ['bitonic-rec', 34, 58, 0, 0, 8, 8],
  ['channel-vocoder', 53, 4, 34, 0, 50, 17],
  ['dct', 36, 4, 0, 0, 256, 256],
  ['des', 37, 16, 0, 0, 64, 64],
  ['fft-coarse', 24, 2, 0, 0, 256, 256],
  ['fft-fine', 83, 38, 0, 0, 64, 64],
  ['filterbank', 51, 2, 16, 0, 8, 8],
  ['fm-radio', 45, 22, 22, 0, 5, 1],
  ['matrix-mult', 27, 14, 0, 0, 252, 108],
  ['mpeg2-subset', 29, 10, 0, 1, 403, 450],
  ['tde', 29, 0, 0, 0, 1080, 1080],
];

describe('structure of the twelve programs', () => {
  for (const [name, filters, routing, peeking, stateful, input, output] of expected) {
    it(name, () => {
      assert.deepEqual(shapeOf(program(name)), { nodes: filters + routing, filters, routing, peeking, stateful, rates: [input, output] });
    });
  }
});
