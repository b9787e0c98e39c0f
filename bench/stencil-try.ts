// Tries streaming shapes.
import { writeFileSync, appendFileSync } from 'node:fs';
import { openDevice, stencil } from '../lib/index.ts';
const quick = process.argv.includes('--quick');
const out = `${process.env['WARPLOOM_OUT'] ?? '/tmp'}/stencil-try.txt`;
writeFileSync(out, '');
const say = (line: string): void => { console.log(line); appendFileSync(out, `${line}\n`); };
await using device = await openDevice({ backend: quick ? 'simt' : 'cuda' });
const star = stencil.define({ dimensions: 2, fields: ['u'], parameters: ['a', 'b'], step: ({ u }, { a, b }) => ({ u: a * u() + b * (u(-1, 0) + u(1, 0) + (u(0, -1) + u(0, 1))) }) });
const heat = stencil.define({ dimensions: 2, fields: ['u'], parameters: ['D'], rate: ({ u }, { D }, { laplacian }) => ({ u: D * laplacian(u) }), method: 'euler' });
const box = stencil.define({ dimensions: 2, fields: ['u'], parameters: ['a', 'b', 'c'], step: ({ u }, { a, b, c }) => ({ u: a * u() + b * (u(-1, 0) + u(1, 0) + (u(0, -1) + u(0, 1))) + c * (u(-1, -1) + u(-1, 1) + (u(1, -1) + u(1, 1))) }) });
const gs = stencil.define({
  dimensions: 2, fields: ['u', 'v'], parameters: ['F', 'k', 'Du', 'Dv'],
  rate: ({ u, v }, { F, k, Du, Dv }, { laplacian }) => { const r = u() * v() * v(); return { u: Du * laplacian(u) - r + F * (1 - u()), v: Dv * laplacian(v) + r - (F + k) * v() }; },
  method: 'euler',
});
const seven = stencil.define({ dimensions: 3, fields: ['u'], parameters: ['D'], rate: ({ u }, { D }, { laplacian }) => ({ u: D * laplacian(u) }), method: 'euler' });
type Options = Record<string, unknown>;
async function time(name: string, equation: unknown, n: number, dims: number, parameters: Options, more: Options): Promise<void> {
  const begin = performance.now();
  try {
    const shape = Array(dims).fill(quick ? 200 : n);
    const initial = Object.fromEntries((equation as { fields: string[] }).fields.map((f) => [f, f === 'v' ? 0.25 : 0.5]));
    await using run = await stencil.simulate(equation as never, { shape, dt: 0.1, initial, parameters, device, ...more } as never);
    const ready = performance.now() - begin;
    await run.advance(quick ? 7 : 24);
    const before = run.info;
    const steps = quick ? 12 : more['variant'] === 'classic' ? 48 : 240;
    await run.advance(steps);
    const { info } = run;
    const rate = (info.cellUpdatesPerSecond * 0 + (shape.reduce((a: number, b: number) => a * b) * (info.steps - before.steps)) / (info.seconds - before.seconds)) / 1e9;
    say(`${name} ${n}^${dims} ${JSON.stringify(more)} ${rate.toFixed(1)} G/s  ready ${(ready / 1000).toFixed(2)} s  ${info.reason}`);
  } catch (error) {
    say(`${name} ${JSON.stringify(more)} failed: ${String(error).slice(0, 300)}`);
  }
}
const list: (readonly [string, unknown, number, number, Options, Options])[] = [];
const add = (...each: readonly [string, unknown, number, number, Options, Options]): void => { list.push(each); };
const ab = { a: 0.6, b: 0.1 };
for (const [depth, points] of [[6, 4], [8, 4], [4, 8], [4, 4]] as const) add('star', star, 10208, 2, ab, { variant: 'streaming', depth, points });
add('star', star, 10208, 2, ab, { variant: 'classic' });
for (const [depth, points] of [[4, 4], [3, 4], [6, 2], [4, 2]] as const) add('gray-scott', gs, 8192, 2, { F: 0.04, k: 0.06, Du: 0.16, Dv: 0.08 }, { variant: 'streaming', depth, points });
add('gray-scott', gs, 8192, 2, { F: 0.04, k: 0.06, Du: 0.16, Dv: 0.08 }, { variant: 'classic' });
for (const [depth, points] of [[6, 4], [4, 4], [8, 2], [3, 8]] as const) add('box', box, 8784, 2, { ...ab, c: 0.01 }, { variant: 'streaming', depth, points });
for (const [depth, points] of [[6, 4], [8, 4]] as const) add('heat', heat, 10208, 2, { D: 1 }, { variant: 'streaming', depth, points });
add('star mirror', star, 10208, 2, ab, { variant: 'streaming', depth: 6, points: 4, boundary: 'mirror' });
for (const [depth, points] of [[5, 4], [7, 4], [10, 4], [10, 2], [12, 2], [6, 8]] as const) add('star', star, 10208, 2, ab, { variant: 'streaming', depth, points });
add('star float32', star, 10208, 2, ab, { variant: 'streaming', depth: 8, points: 8, precision: 'float32' });
add('heat 3-D', seven, 512, 3, { D: 1 }, { variant: 'classic' });
for (const n of [512, 2048]) add('star', star, n, 2, ab, { variant: 'streaming', depth: 6, points: 4 });

{
  const begin = performance.now();
  await Promise.all(list.map(async ([name, equation, , dims, parameters, more]) => {
    const initial = Object.fromEntries((equation as { fields: string[] }).fields.map((f) => [f, 0.5]));
    try {
      await using run = await stencil.simulate(equation as never, { shape: Array(dims).fill(dims === 2 ? 400 : 16), dt: 0.1, initial, parameters, device, ...more } as never);
      void run;
    } catch (error) { say(`${name} ${String(error).slice(0, 200)}`); }
  }));
  say(`compiled ${list.length} in ${((performance.now() - begin) / 1000).toFixed(1)} s`);
}
// Same bits on the device as in WebAssembly.
for (const [equation, parameters] of [[star, ab], [gs, { F: 0.04, k: 0.06, Du: 0.16, Dv: 0.08 }]] as const) {
  for (const boundary of ['periodic', 'mirror', { kind: 'dirichlet', value: 0.3 }]) {
    const states: Float64Array[] = [];
    for (const more of [{ backend: 'wasm' }, { device, variant: 'streaming' }, { device, variant: 'classic' }]) {
      const initial = Object.fromEntries((equation as { fields: readonly string[] }).fields.map((f, i) => [f, (x: number, y: number) => 0.5 + 0.2 * Math.sin(x * (i + 1) + y * 3)]));
      await using run = await stencil.simulate(equation as never, { shape: [251, 317], dt: 0.1, initial, parameters, boundary, ...more } as never);
      await run.advance(61);
      states.push(Object.values(await run.state())[0] as Float64Array);
    }
    say(`bits ${JSON.stringify(boundary)}: ${states.slice(1).map((s) => s.every((x, i) => Object.is(x, states[0]![i]))).join()}`);
  }
}

for (const each of list) await time(...each);
