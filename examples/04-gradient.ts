// Gradients through a solve: recover the diffusion number of an implicit heat step from its result.
import { tridiagonal } from 'warploom';

const n = 200;
const rhs = Float64Array.from({ length: n }, (_, i) => (Math.floor(i / 20) % 2)); // a square wave
const matrix = (s: number) => ({ lower: -s, diagonal: 1 + 2 * s, upper: -s }); // I - s * delta^2
const { solution: measured } = await tridiagonal.solve({ ...matrix(3), rhs });

/** The loss |x - measured|^2 / 2 and its derivative by s, from one solve and one adjoint solve. */
async function lossOf(s: number): Promise<[loss: number, slope: number]> {
  const { solution } = await tridiagonal.solve({ ...matrix(s), rhs });
  const cotangent = solution.map((value, i) => value - measured[i]!);
  const gradient = await tridiagonal.vjp({ ...matrix(s), solution, cotangent });
  // Constant bands have one number as gradient; the chain rule of matrix(s) puts them together.
  const slope = 2 * (gradient.diagonal as number) - (gradient.lower as number) - (gradient.upper as number);
  return [cotangent.reduce((sum, value) => sum + value * value, 0) / 2, slope];
}

let [s, before] = [1, 1.1]; // the second point starts the secant method on the slope
let [, slopeBefore] = await lossOf(before);
for (let step = 0; step < 12; step += 1) {
  const [loss, slope] = await lossOf(s);
  console.log(`step ${step}: s = ${s.toFixed(9)}, loss ${loss.toExponential(2)}`);
  if (Math.abs(slope) < 1e-13) break;
  [s, before, slopeBefore] = [s - slope * (s - before) / (slope - slopeBefore), s, slope];
}
if (!(Math.abs(s - 3) < 1e-6)) process.exitCode = 1;
