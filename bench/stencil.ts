// Equations from functions, marching in time: every step on one state, from when it is placed to when all steps are done.
//
//   stencil/<equation>/<dims>/<size>/<variant>   seconds per step; the limit is one read and one write of the state, for gas arithmetic
//   on the host's cores: stencil-host.ts
//   stencil/compile/<what>                       from the call of simulate to a run that can take its first step
import { stencil } from '../lib/index.ts';
import type { BenchContext } from './domain.ts';
import { copyFloor } from './floor.ts';
import { hostRows, type HostCase } from './stencil-host.ts';
import { measureRow, type Problem } from './stencil-row.ts';

const star5 = stencil.define({
  dimensions: 2, fields: ['u'], parameters: ['a', 'b'],
  step: ({ u }, { a, b }) => ({ u: a * u() + b * (u(-1, 0) + u(1, 0) + (u(0, -1) + u(0, 1))) }),
});
const box9 = stencil.define({
  dimensions: 2, fields: ['u'], parameters: ['a', 'b', 'c'],
  step: ({ u }, { a, b, c }) => ({
    u: a * u() + b * (u(-1, 0) + u(1, 0) + (u(0, -1) + u(0, 1))) + c * (u(-1, -1) + u(-1, 1) + (u(1, -1) + u(1, 1))),
  }),
});
const star7 = stencil.define({
  dimensions: 3, fields: ['u'], parameters: ['a', 'b'],
  step: ({ u }, { a, b }) => ({
    u: a * u() + b * (u(-1, 0, 0) + u(1, 0, 0) + (u(0, -1, 0) + u(0, 1, 0)) + (u(0, 0, -1) + u(0, 0, 1))),
  }),
});

interface Case extends Problem {
  readonly variants: readonly stencil.StencilVariant[];
}

const { euler, grayScott, heat, kuramotoSivashinsky, shallowWater, wave } = stencil.equations;
const both = ['streaming', 'classic'] as const, chosen = ['auto', 'classic'] as const;

/** Smooth waves in a gas, so that every cell does all the arithmetic. */
const gas = (...momenta: readonly string[]) => (n: number): Readonly<Record<string, unknown>> => ({
  rho: (x: number, y = 0) => 1 + 0.2 * Math.sin((2 * Math.PI * x) / n) * Math.cos((2 * Math.PI * y) / n), E: 2.5,
  ...Object.fromEntries(momenta.map((name, i) => [name, 0.3 / (i + 1)])),
});
const cases: readonly Case[] = [
  { name: 'star5', equation: star5 as never, shape: [10208, 10208], small: [40, 200], parameters: { a: 0.6, b: 0.1 }, variants: both },
  { name: 'star5', equation: star5 as never, shape: [512, 512], small: [30, 100], parameters: { a: 0.6, b: 0.1 },
    variants: ['persistent', 'graph', ...both] },
  { name: 'star5', equation: star5 as never, shape: [8192, 8192], small: [32, 64], parameters: { a: 0.6, b: 0.1 },
    variants: ['swept', ...both] },
  { name: 'box9', equation: box9 as never, shape: [8784, 8784], small: [40, 200], parameters: { a: 0.5, b: 0.1, c: 0.025 },
    variants: both },
  { name: 'heat', equation: heat.equation(2) as never, shape: [10208, 10208], small: [40, 200], parameters: { D: 1 }, variants: both },
  { name: 'gray-scott', equation: grayScott.equation(2) as never, shape: [8192, 8192], small: [40, 200],
    parameters: grayScott.patterns.spots, variants: both },
  { name: 'wave-rk4', equation: wave.equation(2) as never, shape: [4096, 4096], small: [40, 200], parameters: { c: 1 }, variants: both },
  { name: 'heat', equation: heat.equation(1) as never, shape: [2 ** 24], small: [1000], parameters: { D: 1 }, variants: both },
  { name: 'heat', equation: heat.equation(1) as never, shape: [2 ** 14], small: [100], parameters: { D: 1 },
    variants: ['persistent', ...both] },
  ...[2 ** 20, 2 ** 24].flatMap((n): Case[] => [
    { name: 'heat-fused', equation: heat.fusedInOneDimension() as never, shape: [n], small: [1000],
      parameters: { D: 1 }, variants: chosen },
    { name: 'kuramoto-sivashinsky', equation: kuramotoSivashinsky.equation() as never, shape: [n], small: [1000], parameters: {},
      variants: chosen },
    { name: 'kuramoto-sivashinsky-fused', equation: kuramotoSivashinsky.fused() as never, shape: [n], small: [1000], parameters: {},
      variants: chosen },
    { name: 'euler', equation: euler.inOneDimension() as never, shape: [n], small: [1000], parameters: { gamma: 1.4 }, variants: chosen,
      initial: gas('mx'), instructions: 350 },
    { name: 'euler-fused', equation: euler.fusedInOneDimension() as never, shape: [n], small: [1000], parameters: { gamma: 1.4 },
      variants: chosen, initial: gas('mx') },
  ]),
  { name: 'euler', equation: euler.inTwoDimensions() as never, shape: [4096, 4096], small: [40, 60], parameters: { gamma: 1.4 },
    variants: ['classic'], initial: gas('mx', 'my'), instructions: 800 },
  { name: 'euler', equation: euler.inThreeDimensions() as never, shape: [256, 256, 256], small: [5, 6, 40], parameters: { gamma: 1.4 },
    variants: ['classic'], initial: gas('mx', 'my', 'mz'), instructions: 1330 },
  { name: 'shallow-water', equation: shallowWater.inTwoDimensions() as never, shape: [4096, 4096], small: [40, 60], parameters: { g: 9.81 },
    variants: both, initial: (n) => ({ h: (x: number, y: number) => 1 + 0.1 * Math.sin((2 * Math.PI * (x + y)) / n), hu: 0.1, hv: 0 }) },
  { name: 'star7', equation: star7 as never, shape: [64, 64, 64], small: [5, 12, 28], parameters: { a: 0.4, b: 0.1 },
    variants: ['persistent', 'graph', 'classic'] },
  { name: 'star7', equation: star7 as never, shape: [512, 512, 512], small: [9, 10, 11], parameters: { a: 0.4, b: 0.1 }, variants: both },
  { name: 'star7', equation: star7 as never, shape: [768, 768, 768], small: [9, 10, 12], parameters: { a: 0.4, b: 0.1 }, variants: both },
  { name: 'heat', equation: heat.equation(3) as never, shape: [512, 512, 512], small: [9, 10, 11], parameters: { D: 1 }, variants: both },
];

const hostCases: readonly HostCase[] = [
  { name: 'star5', equation: star5 as never, shape: [4096, 4096], small: [128, 128], parameters: { a: 0.6, b: 0.1 }, python: {
    slices: 'v[1:-1, 1:-1] = 0.6 * u[1:-1, 1:-1] + 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + (u[1:-1, :-2] + u[1:-1, 2:]))',
    loops: 'v[i, j] = 0.6 * u[i, j] + 0.1 * (u[i - 1, j] + u[i + 1, j] + (u[i, j - 1] + u[i, j + 1]))',
  } },
  { name: 'box9', equation: box9 as never, shape: [4096, 4096], small: [40, 200], parameters: { a: 0.5, b: 0.1, c: 0.025 } },
  { name: 'star7', equation: star7 as never, shape: [256, 256, 256], small: [9, 10, 70], parameters: { a: 0.4, b: 0.1 } },
  { name: 'heat', equation: heat.equation(1) as never, shape: [2 ** 24], small: [9000], parameters: { D: 1 } },
  { name: 'gray-scott', equation: grayScott.equation(2) as never, shape: [2048, 2048], small: [40, 200],
    parameters: grayScott.patterns.spots },
  { name: 'wave-rk4', equation: wave.equation(2) as never, shape: [2048, 2048], small: [40, 200], parameters: { c: 1 } },
];

/** Steps of one measurement, so that it takes a while; and how many are made. */
const seconds = 0.2, repeats = 5;

async function measure(context: BenchContext, each: Case, variant: stencil.StencilVariant, rate: number): Promise<void> {
  const { quick, device } = context;
  const { name, shape } = each;
  const id = `stencil/${name}/${shape.length}/${shape.join('x')}/${variant}`;
  if (!context.wanted(id)) return;
  await measureRow(context, each, {
    id, options: { device, variant, tune: !quick && variant === 'streaming' }, rate, seconds, repeats,
    steps: () => (quick ? { warm: 2, unit: 4 } : { warm: 50, unit: 10 }),
    note: ({ reason, depth, threads }, cells) => `${(cells / 1e9).toFixed(1)} G cells/s; ${reason}; depth ${depth}, ${threads} threads`,
  });
}

/** From the call to the end of the first step: compiled, and with the module from the cache on disk. */
async function compile(context: BenchContext): Promise<void> {
  const { device } = context;
  if (device.backend === 'cpu' || !context.wanted('stencil/compile/cold')) return;
  // A constant of its own, so that no earlier run has compiled it.
  const step = `({ u }) => ({ u: ${Math.random()} * (u(-1, 0) + u(1, 0) + u(0, -1) + u(0, 1)) })`;
  for (const [what, note] of [['cold', 'from the text to the end of the first step'], ['cached',
    'the module comes from the cache on disk']] as const) {
    const began = performance.now();
    const equation = stencil.define({ dimensions: 2, fields: ['u'], step: what === 'cold' ? step : `${step} // again` });
    await using run = await stencil.simulate(equation, { shape: [600, 600], dt: 1, initial: { u: 1 }, device });
    await run.advance(1);
    context.emit({ id: `stencil/compile/${what}`, value: (performance.now() - began) / 1000, unit: 's', spread: 0,
      note: `${note}; ${run.info.reason}` });
  }
}

/** The benchmark `stencil`. */
export async function benchmarkStencil(context: BenchContext): Promise<void> {
  const bytes = context.quick ? 2 ** 16 : 2 ** 30;
  const rate = bytes / (await copyFloor(context.device, bytes)).seconds;
  if (context.device.backend === 'cpu') return hostRows(context, hostCases, rate);
  for (const each of cases) {
    for (const variant of each.variants) {
      try {
        await measure(context, each, variant, rate);
      } catch (error) {
        context.say(`${each.name} ${variant}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
  await compile(context);
}
