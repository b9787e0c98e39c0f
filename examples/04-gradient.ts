// Gradients through a solve: fit the diagonal of a system so that its solution meets a target.
import { tridiagonal } from 'warploom';

const n = 40;
const rhs = Float64Array.from({ length: n }, (_, i) => Math.sin(i / 3));
const wanted = Float64Array.from({ length: n }, (_, i) => 3 + Math.cos(i / 5)); // the diagonal to be found
const sides = { lower: -1, upper: -1 };
const { solution: target } = await tridiagonal.solve({ ...sides, diagonal: wanted, rhs });

const diagonal = new Float64Array(n).fill(3);
let loss = Infinity;
for (let step = 0; step <= 400; step += 1) {
  const { solution } = await tridiagonal.solve({ ...sides, diagonal, rhs });
  const cotangent = solution.map((value, i) => value - target[i]!); // gradient of |x - target|^2 / 2
  loss = cotangent.reduce((sum, value) => sum + value * value, 0) / 2;
  if (step % 100 === 0) console.log(`step ${step}: loss ${loss.toExponential(2)}`);
  const gradient = await tridiagonal.vjp({ ...sides, diagonal, solution, cotangent });
  (gradient.diagonal as Float64Array).forEach((value, i) => { diagonal[i]! -= 4 * value; });
}
if (!(loss < 1e-3)) process.exitCode = 1;
