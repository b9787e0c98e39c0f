// Creates a simulation from the options of an equation.
import { implicitDevice } from '../core/device.ts';
import { refusal } from '../core/errors.ts';
import { anything, callback, choice, either, number, oneOf, positive, requireNumber, truth, whole } from '../core/checks.ts';
import { elementAt, required } from '../core/known.ts';
import { needed, normally, optionsOf, rangesOf, type ChecksOf, type Taken } from '../core/options.ts';
import { checkEnds, lengthOf, placementChecks, places, spacing, type Ends } from './grid.ts';
import {
  conditionsOf, gasCondition, heatCondition, initialState, precisionOf, requireGasState, waveCondition, type Condition, type Grid,
} from './initial.ts';
import { HeatSimulation, GasSimulation, WaveSimulation } from './simulations.ts';
import {
  cflLimits, fastestSignal, fourierLimit, kuramotoSivashinskyLimit, requireStable,
} from './stability.ts';
import {
  type BoundaryName, type CommonOptions, type EquationName, type EulerOptions, type HeatOptions,
  type KuramotoSivashinskyOptions, type Placement, type RealArray, type Setup,
} from './types.ts';

/** Numbers in one typed array of V8. */
const mostNumbers = 2 ** 32 - 1;

/** Checks of the options that all equations take; boundary and initial state are looked at when the grid is known. */
const commonChecks = (leastPoints: number, components: number) => ({
  ...placementChecks, n: needed(whole(leastPoints, Math.floor(mostNumbers / components))), batch: normally(whole(1, mostNumbers), 1),
  dx: positive, length: positive, dt: positive, precision: choice(['float32', 'float64'] as const), initial: anything, boundary: anything,
  paper: normally(truth, false), onUnstable: either(choice(['refuse', 'warn'] as const), callback),
});

const heatOptions = optionsOf('swept.heat', {
  ...commonChecks(3, 1), diffusivity: positive, fourier: positive,
} satisfies ChecksOf<HeatOptions>);
const waveOptions = optionsOf('swept.kuramotoSivashinsky', commonChecks(5, 1) satisfies ChecksOf<KuramotoSivashinskyOptions>);
const gasOptions = optionsOf('swept.euler', {
  ...commonChecks(5, 3), gamma: normally(number({ above: 1 }), 1.4), cfl: positive, ...rangesOf('swept.advance', 'limiter'),
} satisfies ChecksOf<EulerOptions>);

type TakenOptions = Taken<CommonOptions<unknown, unknown>, ReturnType<typeof commonChecks>>;

/** What an equation brings to {@link prepare}. */
interface Equation {
  readonly name: EquationName;
  readonly components: number;
  readonly condition: Condition;
  readonly initial: unknown;
  readonly boundary: BoundaryName;
  readonly spacing: { dx?: number; length?: number };
  readonly gamma: number;
}

interface Prepared {
  readonly setup: Omit<Setup, 'dt' | 'limiter' | 'diffusivity'>;
  readonly state: RealArray;
  readonly ends: Ends;
}

/** Checks what all equations have in common beyond single options, and makes the initial state. */
function prepare(options: TakenOptions, equation: Equation): Prepared {
  const { name, components } = equation;
  const { batch } = options;
  const n = required(options.n);
  const most = Math.floor(mostNumbers / components / n);
  if (batch > most) throw refusal('batch', `at most ${most} problems of ${n} points of ${name}`, `${batch}`);
  const ends = checkEnds(options.boundary, name, equation.boundary);
  const dx = spacing(options, name, n, ends, equation.spacing);
  const initial = options.initial ?? equation.initial;
  if (initial === undefined) throw refusal('initial', `a typed array, or one of ${conditionsOf(name)}`, 'undefined');
  const type = options.precision ?? precisionOf(initial) ?? 'float64';
  const left = ends.left.kind;
  const right = ends.right.kind;
  const grid: Grid = {
    n, batch, type, x: places(name, n, dx, left), length: lengthOf(name, n, dx, ends), periodic: left === 'periodic', gamma: equation.gamma,
  };
  const held = name === 'kuramoto-sivashinsky' ? left === 'dirichlet' || right === 'dirichlet'
    : ends.left.value !== undefined || ends.right.value !== undefined;
  const state = initialState(initial, grid, components, equation.condition, held);
  if (held) hold(state, grid, components, ends, name);
  return { setup: { equation: name, type, n, batch, dx, left, right, gamma: equation.gamma }, state, ends };
}

/** Values of an end point from an end's `value`. */
function endValues(value: unknown, name: string, equation: EquationName, gamma: number): number[] {
  if (equation === 'kuramoto-sivashinsky') return [0];
  if (equation === 'heat') {
    requireNumber(value, name);
    return [value];
  }
  requireGasState(value, name);
  const { density, velocity, pressure } = value;
  return [density, density * velocity, pressure / (gamma - 1) + 0.5 * density * velocity * velocity];
}

/** Writes the values that ends hold into the end points of every problem. */
function hold(state: RealArray, { n, batch, gamma }: Grid, components: number, ends: Ends, equation: EquationName): void {
  for (const side of ['left', 'right'] as const) {
    const end = ends[side];
    if (end.kind !== 'dirichlet' || (end.value === undefined && equation !== 'kuramoto-sivashinsky')) continue;
    const values = endValues(end.value, ends.left === ends.right ? 'boundary.value' : `boundary.${side}.value`, equation, gamma);
    for (let row = 0; row < batch * components; row += 1) {
      state[row * n + (side === 'left' ? 0 : n - 1)] = elementAt(values, row % components);
    }
  }
}

function placement({ device, variant, points, depth, threads }: TakenOptions): Placement {
  return { device: device ?? implicitDevice(), variant, points, depth, threads };
}

/** dt of an option that may be given as `dt` or by a number of its own. */
function timeStep<Name extends 'fourier' | 'cfl'>(
  options: { readonly [K in Name | 'dt']?: number }, number: Name | undefined, unit: number, normal: number | undefined,
): { dt: number; argument: 'dt' | Name } {
  const names = (number === undefined ? ['dt'] : ['dt', number]) as readonly ('dt' | Name)[];
  const argument = oneOf(options, names) ?? 'dt';
  const dt = argument === 'dt' ? options.dt ?? normal : required<number>(options[argument]) * unit;
  if (dt === undefined) throw refusal('dt', names.join(' or '), 'neither');
  if (!(Number.isFinite(dt) && dt > 0)) throw refusal(argument, 'a positive finite time step', String(dt));
  return { dt, argument };
}

/**
 * A simulation of u_t = diffusivity u_xx by forward differences in time and central ones in space.
 * @example
 * await using rod = await swept.heat({ n: 1001, length: 1, diffusivity: 1e-4, fourier: 0.4, initial: 'parabola' });
 * await rod.advanceTo(100);
 * const temperature = await rod.read();
 *
 * @throws ArgumentError (`ERR_WARPLOOM_INVALID_ARGUMENT`) naming the option, before any work
 */
export async function heat(given: HeatOptions): Promise<HeatSimulation> {
  const options = heatOptions.read(given);
  const { paper, diffusivity = paper ? 8.418e-5 : 1 } = options;
  const { setup, state } = prepare(options, {
    name: 'heat', components: 1, condition: heatCondition, initial: paper ? 'parabola' : undefined,
    boundary: 'reflective', spacing: paper ? { dx: 0.001 } : { length: 1 }, gamma: 1.4,
  });
  const unit = (setup.dx * setup.dx) / diffusivity;
  const { dt, argument } = timeStep(options, 'fourier', unit, paper ? 0.001 : undefined);
  requireStable(dt, fourierLimit * unit, 'a Fourier number of at most 1/2', argument, options.onUnstable);
  return HeatSimulation.start({ ...setup, dt, diffusivity, limiter: 'van-leer' }, placement(options), state);
}

/**
 * A simulation of the Kuramoto–Sivashinsky equation u_t = -((u²)_x/2 + u_xx + u_xxxx) by central differences and the midpoint rule.
 * @example
 * await using flame = await swept.kuramotoSivashinsky({ n: 1024, dx: 0.5, dt: 0.005, initial: 'paper' });
 * for await (const { time, state } of flame.snapshots({ times: [10, 20, 30] })) console.log(time, Math.max(...state));
 *
 * @throws ArgumentError (`ERR_WARPLOOM_INVALID_ARGUMENT`) naming the option, before any work
 */
export async function kuramotoSivashinsky(given: KuramotoSivashinskyOptions): Promise<WaveSimulation> {
  const options = waveOptions.read(given);
  const { paper } = options;
  const { setup, state } = prepare(options, {
    name: 'kuramoto-sivashinsky', components: 1, condition: waveCondition, initial: paper ? 'paper' : undefined,
    boundary: 'periodic', spacing: paper ? { dx: 0.5 } : {}, gamma: 1.4,
  });
  const { dt } = timeStep(options, undefined, 1, paper ? 0.005 : undefined);
  requireStable(dt, kuramotoSivashinskyLimit(setup.dx), 'the fourth difference', 'dt', options.onUnstable);
  return WaveSimulation.start({ ...setup, dt, diffusivity: 1, limiter: 'van-leer' }, placement(options), state);
}

/**
 * A simulation of the Euler equations of gas dynamics, by finite volumes and the midpoint rule.
 * @example
 * await using tube = await swept.euler({ n: 1026, cfl: 0.4, initial: 'sod', boundary: 'dirichlet' });
 * await tube.advanceTo(0.2);
 * const { density } = await tube.read();
 *
 * @throws ArgumentError (`ERR_WARPLOOM_INVALID_ARGUMENT`) naming the option, before any work
 */
export async function euler(given: EulerOptions): Promise<GasSimulation> {
  const options = gasOptions.read(given);
  const { paper, gamma, limiter = paper ? 'paper' : 'van-leer' } = options;
  const { setup, state } = prepare(options, {
    name: 'euler', components: 3, condition: gasCondition, initial: paper ? 'sod' : undefined,
    boundary: paper ? 'dirichlet' : 'outflow', spacing: { length: 1 }, gamma,
  });
  const unit = setup.dx / fastestSignal(state, setup);
  const { dt, argument } = timeStep(options, 'cfl', unit, paper ? 1e-7 : undefined);
  const limit = cflLimits[limiter];
  requireStable(dt, limit * unit, `limiter ${limiter} with a CFL number of at most ${limit}`, argument, options.onUnstable);
  return GasSimulation.start({ ...setup, dt, diffusivity: 1, limiter }, placement(options), state);
}
