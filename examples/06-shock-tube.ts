// Sod's shock tube with three limiters in one pass over time, and the exact solution beside them.
import { swept } from 'warploom';

const sod = swept.exactRiemann({ density: 1, velocity: 0, pressure: 1 }, { density: 0.125, velocity: 0, pressure: 0.1 });
console.log(`exact: pressure ${sod.pressure.toFixed(7)} and velocity ${sod.velocity.toFixed(7)} behind the shock`);

for (const limiter of ['minmod', 'van-leer', 'mc'] as const) {
  await using tube = await swept.euler({ n: 258, cfl: 0.4, initial: 'sod', boundary: 'dirichlet', limiter });
  for await (const { step, time, state } of tube.snapshots({ times: [0.1, 0.2] })) {
    let error = 0;
    tube.x.forEach((x, i) => { error += tube.dx * Math.abs(state.density[i]! - sod.at((x - 0.5) / time).density); });
    console.log(`${limiter.padEnd(9)} t = ${time}, step ${step}: L1 error of the density ${error.toExponential(2)}`);
    if (!(error < 5e-3)) process.exitCode = 1;
  }
  const { mass } = await tube.totals();
  const { backend, variant } = tube.info;
  console.log(`${' '.repeat(9)} mass ${mass.toFixed(12)}, by ${variant} on ${backend}`);
}
