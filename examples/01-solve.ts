// A first solve: one system, then a batch, then what happens when a system cannot be solved.
import { tridiagonal } from 'warploom';

// -x[i-1] + 2 x[i] - x[i+1] = rhs[i]: numbers are constant bands.
const { solution } = await tridiagonal.solve({
  lower: -1, diagonal: new Float64Array(5).fill(2), upper: -1, rhs: Float64Array.of(1, 0, 0, 0, 1),
});
console.log('one system:', [...solution].map((value) => value.toFixed(12)).join(' '));

// 1000 systems of 512 unknowns, one after the other in memory; every band has one entry per row.
const [batch, n] = [1000, 512];
const band = (entry: (i: number) => number) => Float64Array.from({ length: batch * n }, (_, i) => entry(i));
const matrix = { lower: band((i) => Math.sin(i)), diagonal: band(() => 3), upper: band((i) => Math.cos(i)) };
const many = await tridiagonal.solve({ ...matrix, rhs: band((i) => i % 7), n, batch, check: true });
const { algorithm, backend, deviceSeconds } = many.info;
console.log(`a batch: ${batch} x ${n} on ${backend} by ${algorithm} in ${(deviceSeconds * 1e3).toFixed(2)} ms;`,
  `worst backward error ${Math.max(...many.backwardError!).toExponential(1)}`);
if (!many.status.allOk) process.exitCode = 1;

// Failures stay in their system: no NaN without a status, no exception for the others.
matrix.diagonal.fill(0, 3 * n, 4 * n); // a zero diagonal needs pivoting …
matrix.diagonal[7 * n + 100] = NaN; // … and this input is no number
const mixed = await tridiagonal.solve({ ...matrix, rhs: band(() => 1), n, batch, check: true });
console.log('system 3:', mixed.status.at(3).state, mixed.status.at(3).resolvedByPivoting ? '(solved again by pivoting)' : '');
console.log('system 7:', mixed.status.at(7).state, 'at row', mixed.status.at(7).row);
console.log('the rest:', JSON.stringify(mixed.status.counts()));
