// Burgers' equation u_t + (u²/2)_x = ν u_xx in one dimension: central differences of second order in conservation form.
import { define } from '../define.ts';
import type { Equation, Method } from '../types.ts';

/** The viscous Burgers equation. */
export const burgers = {
  /** Field `u`, parameter `nu`, the viscosity. Cells must resolve the viscous layer: |u| dx / ν ≤ 2, or the solution oscillates. */
  equation: (method: Method = 'ssprk3'): Equation<'u', 'nu', never> => define({
    dimensions: 1, fields: ['u'], parameters: ['nu'], method, speed: ({ u }) => u(), diffusivity: (_, { nu }) => nu,
    rate: ({ u }, { nu }, { dx, laplacian }) => ({ u: nu * laplacian(u) - (u(1) * u(1) - u(-1) * u(-1)) * (1 / (4 * dx)) }),
  }),

  /** A step that is safe with `ssprk3` for |u| up to `most`. */
  largestStep: (nu: number, most: number, dx: number): number => 1 / (2 * nu / (dx * dx) + most / dx),

  /** A shock layer that moves at speed `c`: u = c - A tanh(A (x - c t) / (2 ν)), exact on all of space (Whitham, Linear and Nonlinear
   * Waves, 4.3). */
  layer: (nu: number, c: number, A: number) => (x: number, t: number): number => c - A * Math.tanh((A * (x - c * t)) / (2 * nu)),
} as const;
