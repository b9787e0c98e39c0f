// Exact solutions of the equations and of their schemes, for checks and pictures.
import { choice, number, positive, requireNumber, requireRange, truth, whole } from '../core/checks.ts';
import { needed, normally, optionsOf, type ChecksOf } from '../core/options.ts';
import { record } from '../core/shapes.ts';
import { refusal } from '../core/errors.ts';
import type { GasState } from './types.ts';

/** The two states between the waves of a Riemann problem, and the solution everywhere. */
export class RiemannSolution {
  readonly left: GasState;
  readonly right: GasState;
  readonly gamma: number;
  /** Pressure and velocity between the outer waves. */
  readonly pressure: number;
  readonly velocity: number;
  /** Densities on both sides of the contact. */
  readonly densityLeft: number;
  readonly densityRight: number;

  /** @internal Use {@link exactRiemann}. */
  constructor(left: GasState, right: GasState, gamma: number, pressure: number, velocity: number) {
    this.left = left;
    this.right = right;
    this.gamma = gamma;
    this.pressure = pressure;
    this.velocity = velocity;
    this.densityLeft = densityBehind(left, pressure, gamma);
    this.densityRight = densityBehind(right, pressure, gamma);
  }

  /** Largest |u| + c of the four states. */
  get fastest(): number {
    const { velocity, pressure, gamma } = this;
    const middle = [this.densityLeft, this.densityRight].map((density) => ({ density, velocity, pressure }));
    return Math.max(...[this.left, this.right, ...middle].map((state) => Math.abs(state.velocity) + soundSpeed(state, gamma)));
  }

  /**
   * The gas at x/t, with the diaphragm at x = 0.
   * @throws ArgumentError for a speed that is not finite
   */
  at(speed: number): GasState {
    requireNumber(speed, 'speed');
    if (speed < this.velocity) return this.#side(speed, this.left, 1);
    return this.#side(speed, this.right, -1);
  }

  /** Left of the contact; right of it in the mirror (`sign` -1). */
  #side(speed: number, side: GasState, sign: 1 | -1): GasState {
    const { gamma, pressure } = this;
    const s = sign * speed;
    const u = sign * side.velocity;
    const middle = sign * this.velocity;
    const sound = soundSpeed(side, gamma);
    const star = { density: densityBehind(side, pressure, gamma), velocity: this.velocity, pressure };
    if (pressure > side.pressure) { // shock
      const ratio = pressure / side.pressure;
      const shock = u - sound * Math.sqrt(((gamma + 1) * ratio + gamma - 1) / (2 * gamma));
      return s < shock ? side : star;
    }
    if (s < u - sound) return side;
    const soundStar = sound * (pressure / side.pressure) ** ((gamma - 1) / (2 * gamma));
    if (s > middle - soundStar) return star;
    const factor = (2 + ((gamma - 1) / sound) * (u - s)) / (gamma + 1);
    return {
      density: side.density * factor ** (2 / (gamma - 1)),
      velocity: (sign * 2 * (sound + ((gamma - 1) / 2) * u + s)) / (gamma + 1),
      pressure: side.pressure * factor ** ((2 * gamma) / (gamma - 1)),
    };
  }
}

/** Speed of sound. */
export function soundSpeed({ density, pressure }: GasState, gamma: number): number {
  return Math.sqrt((gamma * pressure) / density);
}

function densityBehind({ density, pressure }: GasState, star: number, gamma: number): number {
  const ratio = star / pressure;
  if (ratio <= 1) return density * ratio ** (1 / gamma);
  const weight = (gamma - 1) / (gamma + 1);
  return (density * (ratio + weight)) / (weight * ratio + 1);
}

/** Velocity that a wave to pressure p gives to a side, and its derivative. */
function waveFunction(p: number, { density, pressure }: GasState, sound: number, gamma: number): [number, number] {
  if (p > pressure) {
    const a = 2 / ((gamma + 1) * density);
    const b = ((gamma - 1) / (gamma + 1)) * pressure;
    const root = Math.sqrt(a / (p + b));
    return [(p - pressure) * root, root * (1 - (p - pressure) / (2 * (p + b)))];
  }
  const power = (p / pressure) ** ((gamma - 1) / (2 * gamma));
  return [((2 * sound) / (gamma - 1)) * (power - 1), (power * pressure) / (density * sound * p)];
}

const gasState = record({ density: positive, velocity: number(), pressure: positive }, 'ignore');

/**
 * The exact solution of the Riemann problem of an ideal gas.
 * @example
 * const sod = swept.exactRiemann({ density: 1, velocity: 0, pressure: 1 }, { density: 0.125, velocity: 0, pressure: 0.1 });
 * sod.at((x - 0.5) / t).density
 *
 * @throws ArgumentError if the two states move apart so fast that a vacuum forms between them
 * @see E. F. Toro: Riemann Solvers and Numerical Methods for Fluid Dynamics, chapter 4
 */
export function exactRiemann(left: GasState, right: GasState, gamma = 1.4): RiemannSolution {
  gasState(left, 'left');
  gasState(right, 'right');
  requireNumber(gamma, 'gamma', { above: 1 });
  const [cl, cr] = [soundSpeed(left, gamma), soundSpeed(right, gamma)];
  const apart = right.velocity - left.velocity;
  const limit = (2 * (cl + cr)) / (gamma - 1);
  if (limit <= apart) {
    const expected = `a state that moves away from the left one at less than ${limit}, the speed at which a vacuum forms`;
    throw refusal('right', expected, `velocities ${left.velocity} and ${right.velocity}`);
  }
  // Two rarefactions as first guess: exact for those, and above zero always.
  const power = (gamma - 1) / (2 * gamma);
  let p = ((cl + cr - ((gamma - 1) / 2) * apart) / (cl / left.pressure ** power + cr / right.pressure ** power)) ** (1 / power);
  for (let round = 0; round < 100; round += 1) {
    const [fl, dl] = waveFunction(p, left, cl, gamma);
    const [fr, dr] = waveFunction(p, right, cr, gamma);
    const next = Math.max(p - (fl + fr + apart) / (dl + dr), p * 1e-3);
    const change = Math.abs(next - p) / (next + p);
    p = next;
    if (change < 1e-15) break;
  }
  const velocity = (left.velocity + right.velocity + waveFunction(p, right, cr, gamma)[0] - waveFunction(p, left, cl, gamma)[0]) / 2;
  for (const value of [p, velocity]) requireRange(value, 'left');
  return new RiemannSolution({ ...left }, { ...right }, gamma, p, velocity);
}

/** Grid and step of {@link heatModeFactor}. */
export interface HeatModeOptions {
  readonly n: number;
  readonly fourier: number;
  readonly periodic?: boolean;
}

const modeOptions = optionsOf('heatModeFactor', {
  n: needed(whole(2)), fourier: needed(positive), periodic: normally(truth, false),
} satisfies ChecksOf<HeatModeOptions>);

/**
 * Factor by which one step of `heat` multiplies the mode cos(πk i/(n-1)) of reflective boundaries, or cos(2πk i/n) of periodic
 * ones: exact for the scheme.
 * @throws ArgumentError naming the argument
 */
export function heatModeFactor(mode: number, options: HeatModeOptions): number {
  const { n, fourier, periodic } = modeOptions.read(options);
  requireNumber(mode, 'mode');
  return requireRange(1 - 4 * fourier * Math.sin((Math.PI * mode) / (periodic ? n : 2 * (n - 1))) ** 2, 'fourier');
}

/** Options of {@link heatSeries}. */
export interface HeatSeriesOptions {
  readonly initial: 'parabola' | 'ramp';
  readonly length: number;
  readonly diffusivity: number;
  /** Default 100, as in the named initial conditions. */
  readonly amplitude?: number;
}

const seriesOptions = optionsOf('heatSeries', {
  initial: needed(choice(['parabola', 'ramp'] as const)), length: needed(positive), diffusivity: needed(positive),
  amplitude: normally(number(), 100),
} satisfies ChecksOf<HeatSeriesOptions>);

/**
 * The exact temperature at x and time t between insulated ends, from a(x) = amplitude x (1 - x/L) or amplitude (1 - x/L):
 * its cosine series, summed until the terms vanish.
 * @throws ArgumentError naming the argument
 */
export function heatSeries(x: number, t: number, options: HeatSeriesOptions): number {
  const { initial, length, diffusivity, amplitude } = seriesOptions.read(options);
  requireNumber(x, 'x');
  requireNumber(t, 't', { least: 0 });
  const parabola = initial === 'parabola';
  const scale = parabola ? (-4 * amplitude * length) / Math.PI ** 2 : (4 * amplitude) / Math.PI ** 2;
  let sum = parabola ? (amplitude * length) / 6 : amplitude / 2;
  for (let k = parabola ? 2 : 1; k < 200_000; k += 2) {
    const decay = Math.exp(-diffusivity * ((k * Math.PI) / length) ** 2 * t);
    if (decay < 1e-18) break;
    sum += (scale * decay * Math.cos((k * Math.PI * x) / length)) / k ** 2;
  }
  return requireRange(sum, 'length');
}

/** Distance of the points and time step. */
export interface GridSteps {
  readonly dx: number;
  readonly dt: number;
}

const growthOptions = optionsOf('kuramotoSivashinskyGrowth', {
  dx: needed(positive), dt: needed(positive),
} satisfies ChecksOf<GridSteps>);

/** Result of {@link kuramotoSivashinskyGrowth}. */
export interface Growth {
  /** Growth factor of one step of the scheme. */
  readonly factor: number;
  /** Growth rate of the scheme, per time. */
  readonly rate: number;
  /** Growth rate of the equation, q² - q⁴. */
  readonly exact: number;
}

/**
 * Growth of a small mode of wavenumber q in `kuramotoSivashinsky`, by the scheme and by the equation.
 * @throws ArgumentError naming the argument
 */
export function kuramotoSivashinskyGrowth(q: number, options: GridSteps): Growth {
  const { dx, dt } = growthOptions.read(options);
  requireNumber(q, 'q');
  const s = Math.sin((q * dx) / 2) ** 2;
  const z = dt * ((4 * s) / dx ** 2 - (16 * s * s) / dx ** 4);
  const factor = requireRange(1 + z + (z * z) / 2, 'dt');
  return { factor, rate: requireRange(Math.log(factor) / dt, 'dt'), exact: requireRange(q ** 2 - q ** 4, 'q') };
}
