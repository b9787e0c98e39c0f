// The Gray–Scott model of two substances that diffuse and react (Pearson, Complex patterns in a simple system, Science 261, 1993).
import { define } from '../define.ts';
import type { Dimensions, Equation, Method } from '../types.ts';

/** Gray and Scott's reaction and diffusion: u_t = Du ∇²u - u v² + F (1 - u), v_t = Dv ∇²v + u v² - (F + k) v. */
export const grayScott = {
  /** Fields `u` and `v`; parameters `F` (feed), `k` (kill), `Du`, `Dv`. */
  equation: (dimensions: Dimensions, method: Method = 'euler'): Equation<'u' | 'v', 'F' | 'k' | 'Du' | 'Dv', never> => define({
    dimensions, fields: ['u', 'v'], parameters: ['F', 'k', 'Du', 'Dv'], method,
    diffusivity: (_, { Du, Dv }) => Math.max(Du, Dv),
    rate: ({ u, v }, { F, k, Du, Dv }, { laplacian }) => {
      const reaction = u() * v() * v();
      return { u: Du * laplacian(u) - reaction + F * (1 - u()), v: Dv * laplacian(v) + reaction - (F + k) * v() };
    },
  }),

  /** Parameters of patterns that Pearson describes, for a spacing of 1 and steps of 1. */
  patterns: {
    spots: { F: 0.03, k: 0.062, Du: 0.16, Dv: 0.08 },
    stripes: { F: 0.035, k: 0.06, Du: 0.16, Dv: 0.08 },
    mitosis: { F: 0.0367, k: 0.0649, Du: 0.16, Dv: 0.08 },
  },

  /** The largest step of `euler`, by diffusion and reaction, for 0 ≤ u, v ≤ 1. */
  largestStep: ({ F, k, Du, Dv }: Readonly<Record<'F' | 'k' | 'Du' | 'Dv', number>>, spacing: readonly number[]): number =>
    1 / (2 * Math.max(Du, Dv) * spacing.reduce((sum, d) => sum + 1 / (d * d), 0) + (1 + F + k) / 2),
} as const;
