// Systems solved by hand.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { solve } from '../../lib/tridiagonal/index.ts';
import { eachBackend } from '../support/backends.ts';
import { relativeDifference } from '../support/reference.ts';

interface Golden {
  readonly name: string;
  readonly lower: readonly number[];
  readonly diagonal: readonly number[];
  readonly upper: readonly number[];
  readonly rhs: readonly number[];
  readonly x: readonly number[];
  readonly periodic?: boolean;
}

const cases: readonly Golden[] = [
  { name: 'one row', lower: [9], diagonal: [4], upper: [9], rhs: [2], x: [0.5] },
  { name: 'two rows', lower: [0, 1], diagonal: [2, 3], upper: [1, 0], rhs: [4, 7], x: [1, 2] },
  { name: 'three rows', lower: [0, 1, 2], diagonal: [4, 5, 6], upper: [1, 2, 0], rhs: [6, 17, 22], x: [1, 2, 3] },
  { name: 'the Laplacian of order 5', lower: [0, -1, -1, -1, -1], diagonal: [2, 2, 2, 2, 2], upper: [-1, -1, -1, -1, 0], rhs: [1, 0, 0, 0, 1], x: [1, 1, 1, 1, 1] },
  { name: 'the identity', lower: [0, 0, 0, 0], diagonal: [1, 1, 1, 1], upper: [0, 0, 0, 0], rhs: [1, -2, 3, -4], x: [1, -2, 3, -4] },
  { name: 'an upper triangle', lower: [0, 0, 0], diagonal: [2, 2, 2], upper: [2, 4, 0], rhs: [6, 8, 4], x: [3, 0, 2] },
  { name: 'a lower triangle', lower: [0, 2, 4], diagonal: [2, 2, 2], upper: [0, 0, 0], rhs: [4, 4, 4], x: [2, 0, 2] },
  { name: 'one periodic row, all entries added', periodic: true, lower: [1], diagonal: [2], upper: [5], rhs: [16], x: [2] },
  { name: 'two periodic rows, corners added', periodic: true, lower: [1, 1], diagonal: [4, 5], upper: [1, 1], rhs: [8, 12], x: [1, 2] },
  { name: 'a periodic ring of 4', periodic: true, lower: [1, 1, 1, 1], diagonal: [4, 4, 4, 4], upper: [1, 1, 1, 1], rhs: [10, 12, 18, 20], x: [1, 2, 3, 4] },
];

describe('hand-made systems', () => {
  eachBackend((_, device) => {
    for (const { name, x, periodic = false, ...bands } of cases) {
      for (const make of [Float64Array, Float32Array]) {
        for (const stable of [false, true]) {
          it(`solves ${name} (${make.name.replace('Array', '')}${stable ? ', pivoting' : ''})`, async () => {
            const typed = (values: readonly number[]) => make.from(values);
            const { solution, status, row } = await solve({
              lower: typed(bands.lower), diagonal: typed(bands.diagonal), upper: typed(bands.upper), rhs: typed(bands.rhs),
              periodic, stable, device: await device(),
            });
            ok(status.allOk);
            deepStrictEqual([...row], [-1]);
            ok(solution instanceof make);
            const error = relativeDifference(Float64Array.from(solution), Float64Array.from(x));
            ok(error <= (make === Float32Array ? 1e-6 : 1e-15), `x = ${solution}, off by ${error}`);
          });
        }
      }
    }

    it('solves a pivot-needing system only by pivoting', async () => {
      const system = {
        lower: Float64Array.of(0, 1, 1), diagonal: Float64Array.of(0, 0, 1), upper: Float64Array.of(1, 1, 0),
        rhs: Float64Array.of(2, 4, 5), device: await device(),
      };
      const pivoted = await solve({ ...system, stable: true });
      ok(pivoted.status.allOk);
      deepStrictEqual([...pivoted.solution], [1, 2, 3]);
      const plain = await solve({ ...system, algorithm: 'thomas' });
      strictEqual(plain.status.at(0).state, 'zero-pivot');
      strictEqual(plain.status.at(0).row, 0);
    });
  });
});
