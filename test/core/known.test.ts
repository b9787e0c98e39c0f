// What the code around knows to be there: given where it is, an error of the library's own where it is not.
import { deepStrictEqual, strictEqual, throws } from 'node:assert/strict';
import { elementAt, lastOf, leading, required } from '../../lib/core/known.ts';

const missing = { code: 'ERR_WARPLOOM_INTERNAL', message: /is missing: a defect of the library/ };

describe('what is known to be there', () => {
  it('is given', () => {
    const [a, b] = leading(Float64Array.of(1, 2, 3), 2);
    deepStrictEqual([a, b, leading([], 0), leading('xy', 2)], [1, 2, [], ['x', 'y']]);
    deepStrictEqual([elementAt([0, null], 0), elementAt([0, null], 1), lastOf('abc'), required(0), required('')], [0, null, 'c', 0, '']);
  });

  it('fails at once where it is not', () => {
    for (const make of [() => elementAt([1], 1), () => elementAt([1], -1), () => lastOf([]), () => leading([1], 2), () => required(undefined),
      () => required(null)]) throws(make, missing);
  });

  it('has the length in its type', () => {
    const three: [number, number, number] = leading([1, 2, 3], 3);
    strictEqual(three.length, 3);
    // @ts-expect-error two are not three
    const wrong: [number, number, number] = leading([1, 2, 3], 2);
    strictEqual(wrong.length, 2);
  });
});
