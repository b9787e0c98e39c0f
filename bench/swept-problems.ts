// The problems that `swept` times: one for each equation and more of Euler's, and what a time step of each costs at least.
import { exactRiemann } from '../lib/swept/exact.ts';
import type { Precision } from './systems.ts';

export type ProblemName = 'heat' | 'ks' | 'euler' | 'sod' | 'euler-default' | 'sod-default';
type RealArray = Float32Array | Float64Array;

export interface Problem {
  readonly name: ProblemName;
  /** A variation of another problem: timed in float64 and at few sizes. */
  readonly variation?: boolean;
  readonly components: number;
  /** States that each launch of `classic` reads; it writes one. Their bytes are what a step moves when nothing is kept. */
  readonly reads: readonly number[];
  /** Arithmetic instructions of one point's step, divisions and roots expanded, each face flux computed once. */
  readonly instructions: number;
  /** Parameters of `swept.advance` beside sizes and arrays. */
  parameters(n: number): Readonly<Record<string, unknown>>;
  /** The state at the start, component by component. */
  initial(n: number, precision: Precision): RealArray;
}

const zeros = (precision: Precision, length: number): RealArray =>
  (precision === 'float32' ? new Float32Array(length) : new Float64Array(length));

/** Repeats the first `period` values of `values` to its end. */
function repeat(values: RealArray, period: number): void {
  for (let filled = period; filled < values.length; filled *= 2) values.copyWithin(filled, 0, Math.min(filled, values.length - filled));
}

/** The paper's bar: a ramp with reflective ends, Fo = 0.08418. */
const heat: Problem = {
  name: 'heat', components: 1, reads: [1], instructions: 3,
  parameters: () => ({ equation: 'heat', left: 'reflective', right: 'reflective', dx: 0.001, dt: 0.001, diffusivity: 8.418e-5 }),
  initial: (n, precision) => zeros(precision, n).map((_, i) => 100 * (1 - i / (n - 1))),
};

/** The paper's wave, which repeats every 512 points. */
const ks: Problem = {
  name: 'ks', components: 1, reads: [1, 2], instructions: 14,
  parameters: () => ({ equation: 'kuramoto-sivashinsky', left: 'periodic', right: 'periodic', dx: 0.5, dt: 0.005 }),
  initial(n, precision) {
    if (n % 512 !== 0) throw new RangeError(`the paper's wave needs a multiple of 512 points, not ${n}`);
    const values = zeros(precision, n);
    for (let i = 0; i < 512; i += 1) values[i] = 2 * Math.cos((19 * Math.PI * i) / 256);
    repeat(values, 512);
    return values;
  },
};

/** Wavelengths of the gas in the domain. */
const waves = 8;
const gamma = 1.4;

/** Smooth waves everywhere, so that no cell takes a short way through the limiter; the paper's limiter, dt/dx = 0.1. */
const euler: Problem = {
  name: 'euler', components: 3, reads: [1, 2], instructions: 180,
  parameters: (n) => ({ equation: 'euler', left: 'periodic', right: 'periodic', dx: 1 / n, dt: 0.1 / n, gamma, limiter: 'paper' }),
  initial(n, precision) {
    const state = zeros(precision, 3 * n);
    const period = n / waves;
    for (let i = 0; i < period; i += 1) {
      const phase = (2 * Math.PI * i) / period;
      const density = 1 + 0.2 * Math.sin(phase);
      const velocity = 0.2 * Math.cos(2 * phase);
      const pressure = 1 + 0.2 * Math.sin(phase + 1);
      state[i] = density;
      state[n + i] = density * velocity;
      state[2 * n + i] = pressure / (gamma - 1) + 0.5 * density * velocity * velocity;
    }
    for (let k = 0; k < 3; k += 1) repeat(state.subarray(k * n, (k + 1) * n), period);
    return state;
  },
};

/** {@link euler} with the limiter that users get. */
const eulerDefault: Problem = {
  ...euler, name: 'euler-default', variation: true, parameters: (n) => ({ ...euler.parameters(n), limiter: 'van-leer' }),
};

/** Conserved state of a tube from the gas at the centres of its cells. */
function tube(n: number, precision: Precision, at: (cell: number) => { density: number; velocity: number; pressure: number }): RealArray {
  const state = zeros(precision, 3 * n);
  for (let i = 0; i < n; i += 1) {
    const { density, velocity, pressure } = at(i);
    state[i] = density;
    state[n + i] = density * velocity;
    state[2 * n + i] = pressure / (gamma - 1) + 0.5 * density * velocity * velocity;
  }
  return state;
}

const sides = [{ density: 1, velocity: 0, pressure: 1 }, { density: 0.125, velocity: 0, pressure: 0.1 }] as const;

/** The paper's Fig. 9: Sod's tube between held ends, its limiter, dt = 1e-7 where that is stable. Nearly all of the gas is at rest. */
const sod: Problem = {
  ...euler, name: 'sod', variation: true,
  parameters: (n) => ({
    equation: 'euler', left: 'dirichlet', right: 'dirichlet', dx: 1 / (n - 2), dt: Math.min(1e-7, 0.2 / (n - 2)), gamma, limiter: 'paper',
  }),
  initial: (n, precision) => tube(n, precision, (i) => sides[i < n / 2 ? 0 : 1]),
};

/** What a user's tube is: the default limiter and ends, the waves well under way. */
const sodDefault: Problem = {
  ...euler, name: 'sod-default', variation: true,
  parameters: (n) => ({ equation: 'euler', left: 'outflow', right: 'outflow', dx: 1 / n, dt: 0.1 / n, gamma, limiter: 'van-leer' }),
  initial(n, precision) {
    const exact = exactRiemann(...sides, gamma);
    return tube(n, precision, (i) => exact.at(((i + 0.5) / n - 0.5) / 0.1));
  },
};

export const problems: readonly Problem[] = [heat, ks, euler, sod, eulerDefault, sodDefault];

/**
 * FP64 instructions that a GPU issues in a second, by compute capability: multiprocessors times 64 lanes times the boost
 * clock of the H100 and H200; float32 has twice the lanes. Undefined for GPUs whose rates are not entered.
 */
export function issueRate(computeCapability: number, multiprocessors: number, precision: Precision): number | undefined {
  if (computeCapability !== 90) return undefined;
  return multiprocessors * (precision === 'float64' ? 64 : 128) * 1.98e9;
}
