// Spots that divide: the Gray–Scott model from a function, with snapshots, an ensemble over a parameter, and a check in plain JavaScript.
import { stencil } from 'warploom';

const grayScott = stencil.define({
  dimensions: 2, fields: ['u', 'v'], parameters: ['F', 'k', 'Du', 'Dv'],
  rate: ({ u, v }, { F, k, Du, Dv }, { laplacian }) => {
    const reaction = u() * v() * v();
    return { u: Du * laplacian(u) - reaction + F * (1 - u()), v: Dv * laplacian(v) + reaction - (F + k) * v() };
  },
  method: 'euler', admissible: ({ u, v }) => u >= 0 && v >= 0,
});
const inside = (x: number, y: number): boolean => Math.abs(x - 48) < 7 && Math.abs(y - 40) < 5;
const initial = { u: (x: number, y: number) => (inside(x, y) ? 0.5 : 1), v: (x: number, y: number) => (inside(x, y) ? 0.25 : 0) };
const parameters = { F: 0.03, k: 0.062, Du: 0.16, Dv: 0.08 };
const shape = [96, 80];

/** One line of the picture for every eighth row. */
function draw(v: stencil.RealArray): string {
  const rows = Array.from({ length: 12 }, (_, i) => Array.from({ length: 40 }, (__, j) => ' .:*#'[Math.min(4,
    Math.floor(12 * v[8 * i * 80 + 2 * j]!))]).join(''));
  return rows.join('\n');
}

await using run = await stencil.simulate(grayScott, { shape, dt: 1, initial, parameters, steps: 4000 });
for await (const { step, state } of run.snapshots({ every: 2000 })) console.log(`step ${step}\n${draw(state.v)}`);
const { backend, variant, reason, cellUpdatesPerSecond } = run.info;
console.log(`${(cellUpdatesPerSecond / 1e6).toFixed(0)} million cells per second: ${backend}, ${variant}, ${reason}`);

// Four feed rates in one run.
const feeds = [0.025, 0.03, 0.035, 0.04];
await using ensemble = await stencil.simulate(grayScott, { shape, dt: 1, initial, parameters: { ...parameters, F: feeds } });
await ensemble.advance(1000);
const { v } = await ensemble.state();
feeds.forEach((F, member) => {
  const own = v.subarray(member * 96 * 80, (member + 1) * 96 * 80);
  console.log(`F = ${F}: ${own.filter((x) => x > 0.1).length} cells above 0.1`);
});

// The function itself, in plain JavaScript, gives the same bits.
const states = await Promise.all((['javascript', 'auto'] as const).map(async (where) => {
  await using each = await stencil.simulate(grayScott, { shape: [12, 10], dt: 1, initial: { u: 1, v: (x, y) => 0.02 * x * y / 10 },
    parameters, backend: where });
  await each.advance(50);
  return (await each.state()).v;
}));
const isSame = states[0]!.every((value, i) => Object.is(value, states[1]![i]));
console.log(`bits as in JavaScript: ${isSame}`);
if (!isSame) process.exitCode = 1;
