// Places of arrays in shared memory.
import assert from 'node:assert/strict';
import { packingOrder, placeInOrder, type Packed } from '../../../lib/stream/targets/cuda-packing.ts';
import { fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { program } from '../programs/support.ts';

/** Random arrays: many sizes and phases. */
function arraysOf(seed: number): Packed[] {
  let state = seed + 1;
  const random = (below: number): number => (state = Math.imul(state, 0x41c64e6d) + 12345 >>> 0) % 65_521 % below;
  return Array.from({ length: random(40) }, () => {
    const from = random(9);
    return { from, to: from + random(4), bytes: 16 * random(200) };
  });
}

const inUse = (arrays: readonly Packed[]): number => Math.max(0, ...arrays.map(({ from: at }) =>
  arrays.reduce((sum, { from, to, bytes }) => sum + (from <= at && at <= to ? bytes : 0), 0)));

describe('places in shared memory', () => {
  it('do not overlap where arrays are in use at the same time, in any order, and behind what is there already', () => {
    for (let seed = 0; seed < 300; ++seed) {
      const arrays = arraysOf(seed);
      for (const order of [arrays.map((_, i) => i), packingOrder(arrays)]) {
        const begin = 16 * (seed % 5);
        const { places, end } = placeInOrder(arrays, order, begin);
        assert.ok(end >= begin + inUse(arrays));
        arrays.forEach((a, i) => {
          assert.ok(places[i]! >= begin && places[i]! + a.bytes <= end && places[i]! % 16 === 0);
          for (const [j, b] of arrays.entries()) {
            if (j >= i || a.from > b.to || b.from > a.to) continue;
            assert.ok(places[i]! >= places[j]! + b.bytes || places[j]! >= places[i]! + a.bytes, `seed ${seed}: ${i} and ${j}`);
          }
        });
      }
    }
  });

  it('take little more than what is in use at the same time', () => {
    let [sum, least, largest] = [0, 0, 0];
    for (let seed = 0; seed < 300; ++seed) {
      const arrays = arraysOf(seed);
      sum += placeInOrder(arrays, packingOrder(arrays), 0).end;
      least += inUse(arrays);
      largest += placeInOrder(arrays, arrays.map((_, i) => i).sort((a, b) => arrays[b]!.bytes - arrays[a]!.bytes), 0).end;
    }
    assert.ok(sum < 1.05 * least, `${sum} bytes of ${least}`);
    assert.ok(sum < largest);
  });

  it('let MPEG2Subset have a steady state in 3700 bytes', () => {
    const { sharedBytes, states } = fusedProgram(program('mpeg2-subset'));
    assert.ok(sharedBytes < 3700 * states, `${sharedBytes} bytes of ${states} states`);
  });
});
