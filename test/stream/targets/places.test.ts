// Places of arrays in a block's shared memory.
import assert from 'node:assert/strict';
import type { Buffer } from '../../../lib/kernel/ir.ts';
import { Places, type FusedEnd, type Stretch } from '../../../lib/stream/targets/cuda-places.ts';
import { fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { program } from '../programs/support.ts';
import { Random } from '../../support/random.ts';

const lastLevel = 8;
const kinds = ['i', 'f', 'd'] as const;

function stretch(random: Random, name: string): Stretch {
  const from = random.integer(0, lastLevel - 1), isKept = random.integer(0, 7) === 0;
  return {
    buffer: { name } as Buffer, kind: random.pick(kinds), each: random.integer(1, 40), beside: random.integer(0, 2), stride: 1, moved: [1], isDense: false,
    isPlain: true, from: isKept ? 0 : from + 1, to: isKept ? lastLevel + 2 : from + random.integer(1, 3),
  };
}

describe('places in shared memory', () => {
  it('lie apart where arrays are in use at the same time, in even and odd rounds, and never partly in what alternates', () => {
    for (let seed = 0; seed < 200; ++seed) {
      const random = new Random(seed);
      const own = Array.from({ length: random.integer(0, 19) }, (_, i) => stretch(random, `b${i}`));
      const isDirect = seed % 3 === 0;
      const input: Stretch = { ...stretch(random, 'input'), kind: 'i', each: isDirect ? 8 : 5, beside: 0, from: 0, to: 2 };
      const all = [...own, input];
      const end = { external: { type: { kind: 'scalar', name: 'int' }, later: { beyond: 0 } }, kinds: ['i'], items: 8, before: 0 } as unknown as FusedEnd;
      const states = random.integer(1, 40), readsAhead = seed % 2 === 0;
      const found = new Places(end, lastLevel, () => input.buffer);
      const { tiles, landings, half, bytes } = found.layOut(states, all, readsAhead);
      assert.deepEqual([bytes - 1, bytes].map((most) => found.fits(states, all, readsAhead, most)), [false, true]);
      assert.equal(landings.length > 0, readsAhead && !isDirect);
      assert.equal(half > 0, readsAhead && isDirect);
      const landed = landings.length === 0 ? 0 : 4 * states * 8;
      const places = all.map(({ buffer, kind, each, beside, from, to }) => {
        const { at, alternates } = tiles.get(buffer)!, size = (kind === 'd' ? 8 : 4) * (each * states + beside);
        assert.ok(at % 16 === 0 && at >= landed && (alternates ? at + size <= half : half === 0 || at >= 2 * half));
        assert.ok(at + size <= bytes && !(alternates && from === 0 && to === lastLevel + 2));
        return { at, end: at + size, from, to };
      });
      places.forEach((a, i) => {
        for (const b of places.slice(0, i)) if (a.from <= b.to && b.from <= a.to) assert.ok(a.at >= b.end || b.at >= a.end, `seed ${seed}`);
      });
    }
  });

  it('let MPEG2Subset have a steady state in 3700 bytes', () => {
    const { sharedBytes, states } = fusedProgram(program('mpeg2-subset'));
    assert.ok(sharedBytes < 3700 * states, `${sharedBytes} bytes of ${states} states`);
  });
});
