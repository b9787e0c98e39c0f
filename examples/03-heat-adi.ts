// The two-dimensional heat equation by ADI, written with the package's own operations: each half step is
// a product along one axis and a solve along the other; nothing leaves the device between steps.
import { openDevice, tridiagonal } from 'warploom';

const [width, height] = [256, 192];
const [diffusivity, dt, steps] = [1, 1.5, 40];
const r = diffusivity * dt / 2; // cells of size 1

await using device = await openDevice();

/** Bands of I + s * delta^2 for a line of n cells without flux through its ends, shared by all lines. */
function bands(n: number, s: number) {
  const diagonal = new Float64Array(n).fill(1 - 2 * s);
  diagonal[0]! += s;
  diagonal[n - 1]! += s;
  return { lower: s, diagonal, upper: s };
}

// The grid is row-major: lines along x are contiguous, lines along y are strided by the width.
const alongX = { n: width, batch: height, layouts: vectors({ systemStride: width, rowStride: 1 }) };
const alongY = { n: height, batch: width, layouts: vectors({ systemStride: 1, rowStride: width }) };
function vectors(strides: tridiagonal.Strides) {
  return { rhs: strides, solution: strides, x: strides, y: strides };
}

// A mode that the scheme damps by an exactly known factor per step.
const [p, q] = [2, 3];
const initial = Float64Array.from({ length: width * height }, (_, k) =>
  Math.cos(Math.PI * p * (k % width + 0.5) / width) * Math.cos(Math.PI * q * (Math.floor(k / width) + 0.5) / height));

using u = await device.array(initial);
using work = await device.array('float64', width * height);
let seconds = 0;
for (let step = 0; step < steps; step += 1) {
  for (const [explicit, implicit] of [[alongY, alongX], [alongX, alongY]] as const) {
    const product = await tridiagonal.multiply({ ...explicit, ...bands(explicit.n, r), x: u, y: work, device });
    const solved = await tridiagonal.solve({ ...implicit, ...bands(implicit.n, -r), rhs: work, out: u, device });
    solved.status.throwIfFailed();
    seconds += product.info.deviceSeconds + solved.info.deviceSeconds;
  }
}

const factor = tridiagonal.HeatAdi.modeFactor(p, q, { width, height, diffusivity, dt }) ** steps;
const end = await u.read();
const error = end.reduce((most, value, k) => Math.max(most, Math.abs(value - factor * initial[k]!)), 0);
console.log(`${steps} ADI steps of ${width} x ${height} on ${device.name}: ${(seconds / steps * 1e3).toFixed(3)} ms a step;`,
  `error against the exact mode ${error.toExponential(1)}`);
if (!(error < 1e-13)) process.exitCode = 1;
// `npm start` runs the same scheme on a picture of measured data and draws it: examples/jobs/heat-adi.json.
