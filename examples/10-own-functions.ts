// Your own functions on arrays: compiled to one pass over memory, on the GPU or on the CPU.
import { kernel, openDevice } from 'warploom';

const n = 100_000;
const x = Float64Array.from({ length: n }, (_, i) => (i / n) * 20 - 10);

// Several operations in one pass; the number is the same for all elements.
const y = await kernel.map((t, a) => a * t * t + Math.sin(t), [x, 2]);
console.log(`2 x² + sin x at ${x[1]}: ${y[1]}`);

// Several results, variables, conditions and loops.
const { root, steps } = await kernel.map((t) => {
  // Newton's method for the cube root.
  let guess = t, count = 0;
  for (let k = 0; k < 60; ++k) {
    const next = guess === 0 ? 0 : (2 * guess + t / (guess * guess)) / 3;
    if (Math.abs(next - guess) <= 1e-15 * Math.abs(next)) break;
    guess = next;
    count += 1;
  }
  return { root: guess, steps: count };
}, [x]);
console.log(`the cube root of ${x[n - 1]} is ${root[n - 1]}, after ${steps[n - 1]} steps`);

// Sums in a fixed order: the same bits on every machine.
const dot = await kernel.reduce((a, b) => a * b, [x, y], 'sum');
const where = await kernel.reduce((v) => v, [y], 'argmin');
console.log(`x · y = ${dot}; y is smallest at x = ${x[where]}`);

// Axes are broadcast: the distance of every point of a column to every point of a row.
const points = { data: x, shape: [50], strides: [2000] };
const distances = await kernel.map((a, b) => Math.abs(a - b), [{ ...points, shape: [50, 1], strides: [2000, 0] }, points]);
console.log(`${distances.length} distances, the largest ${await kernel.reduce((d) => d, [distances], 'max')}`);

// On a device, arrays stay there; without a GPU, this is the CPU.
await using device = await openDevice();
using there = await device.array(x);
await kernel.map((v) => v / 2, [there], { out: there });
console.log(`halved on ${device.backend}: ${(await there.read())[0]}`);
