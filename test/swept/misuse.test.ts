// Every option of every equation with wrong values: the code and the option's name, before any work.
import { ok, rejects, strictEqual, throws } from 'node:assert/strict';
import { ArgumentError } from '../../lib/core/errors.ts';
import { euler, heat, kuramotoSivashinsky, restore, type HeatSimulation } from '../../lib/swept/index.ts';
import { deviceOf } from '../support/backends.ts';

type Make = (options: never) => Promise<{ dispose(): void }>;

const notNumbers: unknown[] = ['1', null, {}, [], true, 3n, NaN, Infinity, -Infinity];
const notPositive: unknown[] = [...notNumbers, 0, -1];
const notCounts: unknown[] = [...notPositive, 1.5, 2 ** 53];
const notNames: unknown[] = ['', 'Auto', 'none', 0, null, {}, true, []];
const gas = { density: 1, velocity: 0, pressure: 1 };
const floats = (length: number, fill = 1) => new Float64Array(length).fill(fill);
const withNaN = (length: number) => floats(length).with(1, NaN);

/** Wrong values by option and the argument they are blamed on, where it is not the option. */
const common: Record<string, [unknown[], (string | RegExp)?][]> = {
  n: [[notCounts], [[undefined, 1, 2, 2 ** 33]]],
  dx: [[notPositive], [[1e-100, 1e100]]],
  length: [[notPositive, 'length']],
  dt: [[notPositive]],
  precision: [[[...notNames, 'float16', 'complex128']]],
  batch: [[notCounts], [[2 ** 31]]],
  paper: [[[0, 1, 'yes', null, {}]]],
  onUnstable: [[['ignore', 1, null, {}, true]]],
  variant: [[[...notNames, 'fast', 'cpu-swept']]],
  points: [[[-1, 1.5, NaN, '2', null, 5000]]],
  depth: [[[-1, 1.5, NaN, '2', null]]],
  threads: [[[-1, 1.5, NaN, '2', null, 4096]]],
  device: [[['cpu', {}, 0, null]]],
  colour: [[['red', undefined]]],
};
const boundaryMistakes: [unknown[], (string | RegExp)?][] = [
  [['', 'open', 3, null, true, 'Periodic'], 'boundary'], [[{ left: 'periodic' }], 'boundary.right'],
  [[{ left: 'periodic', right: 'dirichlet' }], 'boundary.right'], [[{ left: 'dirichlet', right: 'periodic' }], 'boundary.left'],
  [[{ left: 'dirichlet', right: 'dirichlet', top: 1 }], 'boundary.top'], [[{ kind: 'periodic' }, { kind: 'x' }, {}], 'boundary.kind'],
  [[{ kind: 'dirichlet', values: 3 }], 'boundary.values'],
];

const equations: Record<string, { make: Make; good: Record<string, unknown>; own: Record<string, [unknown[], (string | RegExp)?][]> }> = {
  heat: {
    make: heat as Make, good: { n: 9, dx: 1, dt: 0.1, initial: 'ramp' },
    own: {
      diffusivity: [[notPositive], [[100], 'dt']], fourier: [[notPositive], [[0.2], 'fourier']], gamma: [[[1.4]]],
      boundary: [...boundaryMistakes, [['outflow'], 'boundary'], [[{ kind: 'dirichlet', value: NaN }, { kind: 'dirichlet', value: 'x' }], 'boundary.value']],
      initial: [
        [[undefined, null, 3, {}, new Int32Array(9), 'sod', floats(8), floats(10), floats(0)], 'initial'], [[withNaN(9)], 'initial[1]'],
        [[{ kind: 'paper' }], 'initial.kind'], [[{ kind: 'ramp', amplitude: NaN }], 'initial.amplitude'], [[{ kind: 'ramp', mode: 3 }], 'initial.mode'],
        [[{ kind: 'cosine' }, { kind: 'cosine', mode: 1.5 }], 'initial.mode'], [[['ramp', 'ramp']], 'initial'], [[[floats(8)]], 'initial[0]'],
      ],
    },
  },
  kuramotoSivashinsky: {
    make: kuramotoSivashinsky as Make, good: { n: 16, dx: 0.5, dt: 0.005, initial: 'paper' },
    own: {
      boundary: [...boundaryMistakes, [['outflow', 'reflective'], 'boundary'], [[{ kind: 'dirichlet', value: 1 }], 'boundary.value']],
      n: [[[4, 3]]], dt: [[[0.01, 1]]], fourier: [[[0.1]]], cfl: [[[0.1]]],
      initial: [[[undefined, 'ramp', floats(15)], 'initial'], [[{ kind: 'mode' }, { kind: 'mode', waves: -1 }], 'initial.waves']],
    },
  },
  euler: {
    make: euler as Make, good: { n: 16, dx: 0.1, dt: 0.01, initial: 'sod' },
    own: {
      n: [[[4, 3]]], dt: [[[0.1, 1]]], cfl: [[notPositive], [[0.3], 'cfl']], gamma: [[notPositive], [[1, 0.5]]], limiter: [[[...notNames, 'superbee']]],
      boundary: [
        ...boundaryMistakes, [[{ kind: 'dirichlet', value: 3 }, { kind: 'dirichlet', value: null }], 'boundary.value'],
        [[{ left: { kind: 'dirichlet', value: { ...gas, density: 0 } }, right: 'outflow' }], 'boundary.left.value.density'],
      ],
      initial: [
        [[undefined, 'ramp', floats(16), floats(48, 0), floats(48, -1)], 'initial'], [[withNaN(48)], 'initial[1]'],
        [[{ density: floats(16), velocity: floats(16) }], 'initial.pressure'], [[{ density: floats(15), velocity: floats(16), pressure: floats(16) }], 'initial.density'],
        [[{ density: floats(16), velocity: floats(16), pressure: floats(16, 0) }], 'initial'],
        [[{ kind: 'riemann', left: gas }], 'initial.right'], [[{ kind: 'riemann', left: gas, right: { ...gas, pressure: -1 } }], 'initial.right.pressure'],
        [[{ kind: 'riemann', left: gas, right: gas, diaphragm: 2 }], 'initial.diaphragm'], [[{ kind: 'wave', amplitude: 1 }], 'initial.amplitude'],
      ],
    },
  },
};

let refused = 0;

async function expectRefusal(call: Promise<unknown>, argument: string, label: string): Promise<void> {
  await rejects(call, (error: unknown) => {
    ok(error instanceof ArgumentError, `${label}: ${String(error)}`);
    strictEqual(error.code, 'ERR_WARPLOOM_INVALID_ARGUMENT');
    ok(error.argument === argument && error.message.startsWith(`${argument}: `), `${label}: blamed ${error.argument}: ${error.message}`);
    return true;
  }, label);
  refused += 1;
}

const show = (value: unknown): string => (typeof value === 'bigint' ? `${value}n` : JSON.stringify(value)?.slice(0, 80) ?? String(value));

describe('misuse of swept', () => {
  for (const [name, { make, good, own }] of Object.entries(equations)) {
    it(`by options of ${name} is refused by name`, async () => {
      const device = await deviceOf('cpu');
      const before = device.memory().inUseBytes;
      for (const table of [common, own]) for (const [option, mistakes] of Object.entries(table)) {
        for (const [values, argument = option] of mistakes) for (const value of values) {
          const options: Record<string, unknown> = { device, ...good, [option]: value };
          if (option === 'length') delete options['dx'];
          if ((option === 'cfl' || option === 'fourier') && value !== good[option] && argument === option && !(typeof value === 'number' && value > 0 && Number.isFinite(value))) {
            delete options['dt'];
          }
          await expectRefusal(make(options as never), String(argument), `${name}({ ${option}: ${show(value)} })`);
        }
      }
      ok(device.memory().inUseBytes <= before, 'nothing was allocated'); // less: another test's arrays were collected
      (await make({ device, ...good } as never)).dispose();
    });
  }

  it('by leaving out or doubling spacing and time step is refused', async () => {
    const device = await deviceOf('cpu');
    await expectRefusal(kuramotoSivashinsky({ n: 16, dt: 0.001, initial: 'paper', device }), 'dx', 'no spacing');
    await expectRefusal(heat({ n: 16, initial: 'ramp', device }), 'dt', 'no time step');
    await expectRefusal(heat({ n: 16, dx: 1, length: 2, dt: 0.1, initial: 'ramp', device }), 'length', 'both spacings');
    await expectRefusal(euler({ n: 16, dx: 1, dt: 0.1, cfl: 0.1, initial: 'sod', device }), 'cfl', 'both time steps');
    for (const options of [undefined, null, 3, 'x', []]) await expectRefusal(heat(options as never), 'options', 'no options');
  });

  it('by arguments of methods is refused', async () => {
    const device = await deviceOf('cpu');
    using simulation: HeatSimulation = await heat({ n: 9, dx: 1, dt: 0.1, initial: 'ramp', device });
    const any = simulation as unknown as Record<'advance' | 'advanceTo' | 'read' | 'save' | 'totals' | 'norms', (...values: unknown[]) => Promise<unknown>>;
    for (const steps of [undefined, null, -1, 1.5, NaN, '3']) await expectRefusal(any.advance(steps), 'steps', `advance(${show(steps)})`);
    for (const time of [undefined, null, NaN, Infinity, '3', -1]) await expectRefusal(any.advanceTo(time), 'time', `advanceTo(${show(time)})`);
    for (const path of [undefined, '', 3]) await expectRefusal(any.save(path), 'path', `save(${show(path)})`);
    for (const problem of [-1, 1, 0.5, null]) await expectRefusal(any.totals(problem), 'problem', `totals(${show(problem)})`);
    await expectRefusal(any.norms({ component: 1 }), 'component', 'norms');
    for (const method of ['advance', 'advanceTo', 'read'] as const) {
      const first = method === 'read' ? [] : [1];
      await expectRefusal(any[method](...first, { signal: 3 }), 'signal', method);
      await expectRefusal(any[method](...first, { onProgress: 3 }), 'onProgress', method);
      await expectRefusal(any[method](...first, { colour: 3 }), 'colour', method);
    }
    const snapshots = (options: unknown) => () => simulation.snapshots(options as never);
    for (const [options, argument] of [
      [{}, 'every'], [{ every: 0 }, 'every'], [{ every: 1, steps: [1] }, 'steps'], [{ steps: 3 }, 'steps'], [{ steps: [1.5] }, 'steps[0]'],
      [{ steps: [3, 2] }, 'steps[1]'], [{ times: [1, NaN] }, 'times[1]'], [{ times: [1], until: 3 }, 'until'], [null, 'options'],
    ] as const) throws(snapshots(options), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });
    await expectRefusal(restore(3 as never), 'path', 'restore');
    await expectRefusal(restore('x', { variant: 'y' } as never), 'variant', 'restore');
    strictEqual(simulation.stepsDone, 0);
  });

  after(() => {
    ok(refused > 400, `${refused}`);
    console.log(`      ${refused} wrong calls refused`);
  });
});
