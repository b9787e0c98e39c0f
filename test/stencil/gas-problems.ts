// Riemann problems and other runs of the Euler equations in one dimension.
import { stencil } from '../../lib/index.ts';

const { euler } = stencil.equations;

export interface Problem {
  /** Density, velocity, pressure. */
  readonly left: readonly [number, number, number];
  readonly right: readonly [number, number, number];
  readonly diaphragm: number;
  readonly time: number;
  readonly gamma?: number;
  /** L1 of the density that a good scheme of second order has at n = 401. */
  readonly most: number;
}

export const problems: Readonly<Record<string, Problem>> = {
  Sod: { left: [1, 0, 1], right: [0.125, 0, 0.1], diaphragm: 0.5, time: 0.2, most: 1.8e-3 },
  Lax: { left: [0.445, 0.698, 3.528], right: [0.5, 0, 0.571], diaphragm: 0.5, time: 0.14, most: 6.5e-3 },
  'Toro 2 (123)': { left: [1, -2, 0.4], right: [1, 2, 0.4], diaphragm: 0.5, time: 0.15, most: 3.1e-3 },
  'Toro 3': { left: [1, 0, 1000], right: [1, 0, 0.01], diaphragm: 0.5, time: 0.012, most: 3.9e-2 },
  'Toro 4': { left: [5.99924, 19.5975, 460.894], right: [5.99242, -6.19633, 46.095], diaphragm: 0.4, time: 0.035, most: 0.2 },
  'Toro 5': { left: [1, -19.59745, 1000], right: [1, -19.59745, 0.01], diaphragm: 0.8, time: 0.012, most: 3.5e-2 },
  LeBlanc: { left: [1, 0, 0.2 / 3], right: [1e-3, 0, 0.2e-9 / 3], diaphragm: 1 / 3, time: 2 / 3, gamma: 5 / 3, most: 1.9e-3 },
};

/** Other problems as density, velocity and pressure: the length, the time and the state. */
export const others: Readonly<Record<string, { length: number; time: number; at: (x: number) => readonly [number, number, number] }>> = {
  'Shu and Osher': { length: 10, time: 1.8, at: (x) => (x < 1 ? [3.857143, 2.629369, 31 / 3] : [1 + 0.2 * Math.sin(5 * (x - 5)), 0, 1]) },
  'Woodward and Colella': { length: 1, time: 0.038, at: (x) => [1, 0, x < 0.1 ? 1000 : x < 0.9 ? 0.01 : 100] },
};

export type Options = Partial<Parameters<typeof stencil.simulate<'rho' | 'mx' | 'E', 'gamma', never>>[1]>;

/** A run of states given as density, velocity and pressure. */
export async function start(
  n: number, length: number, gamma: number, at: (x: number) => readonly number[], { reconstruction, ...more }: Options & {
    readonly reconstruction?: 'muscl' | 'weno5' } = {},
) {
  const of = (make: (rho: number, u: number, p: number) => number) => (x: number) => {
    const [rho, u, p] = at(x);
    return make(rho!, u!, p!);
  };
  return stencil.simulate(euler.inOneDimension(reconstruction), {
    shape: [n], spacing: length / n, dt: { cfl: 0.4 }, parameters: { gamma }, boundary: 'outflow', backend: 'wasm', threads: 1,
    initial: { rho: of((rho) => rho), mx: of((rho, u) => rho * u), E: of((rho, u, p) => p / (gamma - 1) + 0.5 * rho * u * u) }, ...more,
  });
}

export const sum = (values: ArrayLike<number>): number => Array.from(values).reduce((a, b) => a + b);
