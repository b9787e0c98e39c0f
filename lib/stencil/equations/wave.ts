// The wave equation u_tt = c² ∇²u as a system of first order in time: u_t = v, v_t = c² ∇²u. Central differences of second order.
import { define } from '../define.ts';
import type { Dimensions, Equation, Method } from '../types.ts';

/** The wave equation. */
export const wave = {
  /** Fields `u` and `v` = u_t, parameter `c`, the speed. Default method `rk4`: midpoint and euler amplify waves. */
  equation: (dimensions: Dimensions, method: Method = 'rk4'): Equation<'u' | 'v', 'c', never> => define({
    dimensions, fields: ['u', 'v'], parameters: ['c'], method,
    rate: ({ u, v }, { c }, { laplacian }) => ({ u: v(), v: c * c * laplacian(u) }), speed: (_, { c }) => c,
  }),

  /** The same in a medium: coefficient `c2`, the square of the speed in every cell. */
  inMedium: (dimensions: Dimensions, method: Method = 'rk4'): Equation<'u' | 'v', never, 'c2'> => define({
    dimensions, fields: ['u', 'v'], coefficients: ['c2'], method,
    rate: ({ u, v, c2 }, _, { laplacian }) => ({ u: v(), v: c2() * laplacian(u) }), speed: ({ c2 }) => Math.sqrt(c2()),
  }),

  /** The largest stable step of `rk4`: its limit 2√2 on the imaginary axis over the highest frequency, 2 c √(Σ 1/dx²). */
  largestStep: (c: number, spacing: readonly number[]): number => Math.SQRT2 / (c * Math.sqrt(spacing.reduce((sum,
    d) => sum + 1 / (d * d), 0))),

  /** A standing wave cos(ω t) Π cos(k x), with ω = c |k|; exact on all of space, and between mirrors where sin(k x) is 0. */
  standing: (c: number, k: readonly number[]) => (place: readonly number[], t: number): number =>
    Math.cos(c * Math.hypot(...k) * t) * k.reduce((product, each, axis) => product * Math.cos(each * (place[axis] ?? 0)), 1),
} as const;
