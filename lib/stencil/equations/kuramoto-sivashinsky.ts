// The Kuramoto–Sivashinsky equation u_t = -(u²/2)_x - u_xx - u_xxxx in one dimension: central differences of second order, in
// conservation form. Y. Kuramoto and T. Tsuzuki, Prog. Theor. Phys. 55 (1976); G. I. Sivashinsky, Acta Astronautica 4 (1977).
import { fma } from '../../core/fma.ts';
import { define } from '../define.ts';
import type { Equation, Method } from '../types.ts';

const fusedEquation = define({
  dimensions: 1, fields: ['u'],
  step: [({ u }, _, { dx, dt }) => {
    const d2 = 1 / (dx * dx), d4 = d2 * d2, tau = dt / 2, near = u(-1) + u(1);
    const convected = fma(fma(-tau / (4 * dx), u(1) - u(-1), tau * (4 * d4 - d2)), near, (1 + tau * (2 * d2 - 6 * d4)) * u());
    return { u: fma(-tau * d4, u(-2) + u(2), convected) };
  }, ({ u }, _, { dx, dt, before }) => {
    const d2 = 1 / (dx * dx), d4 = d2 * d2, near = u(-1) + u(1);
    const own = fma(dt * (2 * d2 - 6 * d4), u(), before.u());
    return { u: fma(-dt * d4, u(-2) + u(2), fma(fma(-dt / (4 * dx), u(1) - u(-1), dt * (4 * d4 - d2)), near, own)) };
  }],
});

/** The Kuramoto–Sivashinsky equation. Its solutions are chaotic: two runs agree for long only if they agree to the bit. */
export const kuramotoSivashinsky = {
  /** Field `u`. Default method `midpoint`. The sum of `u` is conserved between periodic ends. */
  equation: (method: Method = 'midpoint'): Equation<'u', never, never> => define({
    dimensions: 1, fields: ['u'], method,
    rate: ({ u }, _, { dx }) => {
      const near = u(-1) + u(1);
      const convection = (u(1) * u(1) - u(-1) * u(-1)) * (1 / (4 * dx));
      const second = (near - 2 * u()) * (1 / (dx * dx));
      const fourth = (u(-2) - 4 * near + 6 * u() + u(2)) * (1 / (dx * dx * dx * dx));
      return { u: -convection - second - fourth };
    },
  }),

  /**
   * A step of `midpoint` in which sums with equal coefficients are combined and multiply-adds are fused: 14 operations for a cell instead
   * of some 30. It rounds differently, so that its bits are those of `swept.kuramotoSivashinsky`, not those of `equation`.
   */
  fused: (): Equation<'u', never, never> => fusedEquation,

  /** The largest stable step of `euler`, `midpoint` and `ssprk2` for small u, by the highest mode of the grid: 2 / (16/dx⁴ - 4/dx²). */
  largestStep: (dx: number): number => 2 / (16 / dx ** 4 - 4 / dx ** 2),

  /** The rate at which a small mode of wave number q grows, q² - q⁴. */
  growth: (q: number): number => q * q - q ** 4,

  /** The same on a grid: exact for the differences. */
  growthOnGrid: (q: number, dx: number): number => {
    const s = (2 * Math.sin((q * dx) / 2)) / dx;
    return s * s - s ** 4;
  },
} as const;
