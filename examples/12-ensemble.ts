// An ensemble over a parameter, with its diagram: how fast fronts of Fisher's equation u_t = D u_xx + r u (1 - u) travel, for sixteen
// growth rates in one run. Fronts that begin steep approach the speed 2 √(r D) from below:
// x(t) ≈ 2 √(r D) t - 3/2 √(D / r) ln t (Bramson, 1983).
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { notebook, stencil } from 'warploom';

const fisher = stencil.define({
  dimensions: 1, fields: ['u'], parameters: ['D', 'r'],
  rate: ({ u }, { D, r }, { laplacian }) => ({ u: D * laplacian(u) + r * u() * (1 - u()) }),
  method: 'ssprk2', boundary: 'mirror', admissible: ({ u }) => u >= 0 && u <= 1.001,
});
const cells = 600, spacing = 0.5;
const rates = Array.from({ length: 16 }, (_, i) => 0.25 + 0.125 * i);

await using run = await stencil.simulate(fisher, {
  shape: [cells], spacing, dt: 0.1, parameters: { D: 1, r: rates }, initial: { u: (x) => (x < 10 ? 1 : 0) },
});

/** Where u falls below one half, between two cells, for every member. */
function fronts(u: stencil.RealArray): number[] {
  return rates.map((_, member) => {
    const own = u.subarray(member * cells, (member + 1) * cells);
    const first = own.findIndex((value) => value < 0.5);
    const [before, after] = [own[first - 1]!, own[first]!];
    return (first - 0.5 + (before - 0.5) / (before - after)) * spacing;
  });
}

await run.advanceTo(20);
const early = fronts((await run.state()).u);
await run.advanceTo(50);
const late = fronts((await run.state()).u);
const speeds = late.map((place, member) => (place - early[member]!) / 30);

// The diagram, as text and as a picture.
const expected = rates.map((r) => 2 * Math.sqrt(r) - (1.5 / Math.sqrt(r)) * (Math.log(50 / 20) / 30));
const errors = speeds.map((speed, i) => speed / expected[i]! - 1);
for (const [i, r] of rates.entries()) {
  const bar = '█'.repeat(Math.round(14 * speeds[i]!));
  console.log(`r = ${r.toFixed(3)}  ${bar.padEnd(56)} ${speeds[i]!.toFixed(3)}, expected ${expected[i]!.toFixed(3)}`);
}
const measured = { x: rates, y: speeds, mark: 'point' } as const, limit = { x: rates, y: rates.map((r) => 2 * Math.sqrt(r)) };
const chart = notebook.plot({ measured, 'limit 2 √(r D)': limit }, {
  title: "Speed of fronts of Fisher's equation, D = 1", x: 'growth rate r (1/time)', y: 'speed of the front (length/time)',
});
const path = join(tmpdir(), 'warploom-front-speeds.svg');
await writeFile(path, await chart.svg());
console.log(`${run.members} members, ${run.stepsDone} steps, ${run.info.backend}; picture: ${path}`);
if (!errors.every((error) => Math.abs(error) < 0.03)) process.exitCode = 1;
