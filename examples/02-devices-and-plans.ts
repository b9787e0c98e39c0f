// Arrays that stay on the device, and a matrix planned once for many right-hand sides.
import { devices, openDevice, tridiagonal } from 'warploom';

for (const { backend, available, name, reason } of devices()) console.log(`${backend}: ${available ? name : reason}`);

await using device = await openDevice({ backend: 'auto' });
const [batch, n, steps] = [256, 1024, 50];

// One matrix shared by the batch (n entries per band), interleaved right-hand sides.
await using plan = await tridiagonal.plan({
  lower: -1, diagonal: Float64Array.from({ length: n }, (_, i) => 2.5 + (i % 3)), upper: -1, n, batch, layout: 'interleaved', device,
});
using state = await device.array(new Float64Array(n * batch).fill(1));
let seconds = 0;
for (let step = 0; step < steps; step += 1) {
  const { info } = await plan.solve({ rhs: state, out: state, layout: 'interleaved' }); // in place, on the device
  seconds += info.deviceSeconds;
}
const end = await state.read();
const what = plan.factorisation === 'none' ? 'the matrix' : `${plan.factorisation} factors`;
console.log(`${steps} solves of ${batch} x ${n} by a plan: ${(seconds / steps * 1e6).toFixed(0)} us each on ${device.name};`,
  `${(plan.bytes / 2 ** 20).toFixed(1)} MiB kept (${what}), largest value left`,
  end.reduce((most, value) => Math.max(most, value)).toExponential(2));

// How far can the answers be trusted? Condition and error bounds, per system.
const matrix = { lower: -1, diagonal: new Float64Array(n).fill(2), upper: -1, device };
const rhs = Float64Array.from({ length: n }, (_, i) => Math.sin(i));
const { solution } = await tridiagonal.solve({ ...matrix, rhs });
const { reciprocalCondition, forwardError } = await tridiagonal.condition({ ...matrix, rhs, solution });
console.log(`the Laplacian of order ${n}: condition ${(1 / reciprocalCondition[0]!).toExponential(2)},`,
  `forward error at most ${forwardError![0]!.toExponential(2)}`);
