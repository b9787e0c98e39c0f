// Advection u_t + a u_x (+ b u_y + c u_z) = 0 with constant velocity: differences of third order, biased upwind.
import { define } from '../define.ts';
import type { Equation, Method } from '../types.ts';

/** Linear advection with a constant velocity. */
export const advection = {
  /** One dimension: field `u`, parameter `a`, the velocity. */
  inOneDimension: (method: Method = 'ssprk3'): Equation<'u', 'a', never> => define({
    dimensions: 1, fields: ['u'], parameters: ['a'], method, speed: (_, { a }) => a,
    rate: ({ u }, { a }, { dx }) => ({
      u: -a * (a > 0 ? 2 * u(1) + 3 * u() - 6 * u(-1) + u(-2) : -u(2) + 6 * u(1) - 3 * u() - 2 * u(-1)) * (1 / (6 * dx)),
    }),
  }),

  /** Two dimensions: field `u`, parameters `a` and `b`, the velocity. */
  inTwoDimensions: (method: Method = 'ssprk3'): Equation<'u', 'a' | 'b', never> => define({
    dimensions: 2, fields: ['u'], parameters: ['a', 'b'], method, speed: (_, { a, b }) => ({ x: a, y: b }),
    rate: ({ u }, { a, b }, { dx, dy }) => {
      const ux = (a > 0 ? 2 * u(1, 0) + 3 * u() - 6 * u(-1, 0) + u(-2, 0) : -u(2, 0) + 6 * u(1, 0) - 3 * u() - 2 * u(-1,
        0)) * (1 / (6 * dx));
      const uy = (b > 0 ? 2 * u(0, 1) + 3 * u() - 6 * u(0, -1) + u(0, -2) : -u(0, 2) + 6 * u(0, 1) - 3 * u() - 2 * u(0,
        -1)) * (1 / (6 * dy));
      return { u: -a * ux - b * uy };
    },
  }),

  /** The largest step that is safe with `ssprk3`: Σ |velocity| dt/dx ≤ 1.25 (the stability limit of the pair is 1.62 in one dimension). */
  largestStep: (velocity: readonly number[], spacing: readonly number[]): number =>
    1.25 / velocity.reduce((sum, a, axis) => sum + Math.abs(a) / (spacing[axis] ?? 1), 0),
} as const;
