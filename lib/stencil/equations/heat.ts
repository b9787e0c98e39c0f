// The heat equation u_t = D ∇²u in one, two and three dimensions: central differences of second order.
import { fma } from '../../core/fma.ts';
import { define } from '../define.ts';
import type { Dimensions, Equation, Method } from '../types.ts';

const fusedHeat = define({
  dimensions: 1, fields: ['u'], parameters: ['D'],
  step: ({ u }, { D }, { dx, dt }) => {
    const F = D * dt / (dx * dx);
    return { u: fma(F, u(-1) + u(1), (1 - 2 * F) * u()) };
  },
  diffusivity: (_, { D }) => D,
});

/** The heat (or diffusion) equation u_t = D ∇²u. */
export const heat = {
  /** Field `u`, parameter `D` (length²/time). Default method `euler`, which is of first order in time: its steps are short anyway. */
  equation: (dimensions: Dimensions, method: Method = 'euler'): Equation<'u', 'D', never> => define({
    dimensions, fields: ['u'], parameters: ['D'], method,
    rate: ({ u }, { D }, { laplacian }) => ({ u: D * laplacian(u) }), diffusivity: (_, { D }) => D,
  }),

  /**
   * In one dimension, a step of `euler` as F (u(-1) + u(1)) + (1 - 2 F) u() with F = D dt / dx² and one fused multiply-add: three
   * operations for a cell instead of six. It rounds differently, so that its bits are not those of `equation`.
   */
  fusedInOneDimension: (): Equation<'u', 'D', never> => fusedHeat,

  /** The largest stable step of `euler`, 1 / (2 D Σ 1/dx²): von Neumann's criterion, exact on periodic grids. */
  largestStep: (D: number, spacing: readonly number[]): number => 1 / (2 * D * spacing.reduce((sum, d) => sum + 1 / (d * d), 0)),

  /** exp(-D |k|² t) Π cos(k x): an exact solution on all of space, and between mirrors where sin(k x) is 0. */
  mode: (D: number, k: readonly number[]) => (place: readonly number[], t: number): number =>
    Math.exp(-D * k.reduce((sum, each) => sum + each * each, 0) * t) * k.reduce((product, each,
      axis) => product * Math.cos(each * (place[axis] ?? 0)), 1),

  /** The factor by which a step of `euler` multiplies the mode of wave numbers k on a grid: exact for the scheme. */
  factor: (D: number, k: readonly number[], spacing: readonly number[], dt: number): number =>
    1 - 4 * D * dt * k.reduce((sum, each, axis) => sum + (Math.sin((each * (spacing[axis] ?? 1)) / 2) / (spacing[axis] ?? 1)) ** 2, 0),
} as const;
