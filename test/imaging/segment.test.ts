// imaging.segment on every backend.
import { deepStrictEqual, rejects } from 'node:assert/strict';
import { segment } from '../../lib/imaging/segment.ts';
import { eachBackend } from '../support/backends.ts';

describe('imaging.segment', () => {
  eachBackend((_backend, device) => {
    for (const n of [0, 1, 31, 1023, 1024, 1025, 5000]) {
      it(`multiplies ${n} elements`, async () => {
        const values = Float64Array.from({ length: n }, (_, i) => i - 3);
        const result = await segment(values, { factor: 3, device: await device() });
        deepStrictEqual(result, values.map((value) => 3 * value));
      });
    }
  });

  it('refuses what is no array of floats and unknown options', async () => {
    await rejects(segment([1] as never), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    await rejects(segment(new Float64Array(1), { factr: 2 } as never), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
  });
});
