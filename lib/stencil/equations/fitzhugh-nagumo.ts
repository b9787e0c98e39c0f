// The FitzHugh–Nagumo model of excitable media: u_t = D ∇²u + u (1 - u) (u - a) - v, v_t = ε (u - g v). Central differences of
// second order.
// J. Nagumo, S. Arimoto and S. Yoshizawa, Proc. IRE 50 (1962); J. D. Murray, Mathematical Biology II (2003), 1.6.
import { define } from '../define.ts';
import type { Dimensions, Equation, Method } from '../types.ts';

/** Pulses and spirals in an excitable medium. */
export const fitzHughNagumo = {
  /** Fields `u` (excitation) and `v` (recovery); parameters `D`, `a` (threshold, 0 to 1/2), `eps` and `g`. Default method `ssprk2`. */
  equation: (dimensions: Dimensions, method: Method = 'ssprk2'): Equation<'u' | 'v', 'D' | 'a' | 'eps' | 'g', never> => define({
    dimensions, fields: ['u', 'v'], parameters: ['D', 'a', 'eps', 'g'], method, diffusivity: (_, { D }) => D,
    rate: ({ u, v }, { D, a, eps, g }, { laplacian }) => ({
      u: D * laplacian(u) + u() * (1 - u()) * (u() - a) - v(), v: eps * (u() - g * v()),
    }),
  }),

  /** A medium with spirals, for a spacing of 1 and steps by a diffusion number of 0.3. */
  spirals: { D: 1, a: 0.1, eps: 0.005, g: 1 },

  /** A step that is safe with `euler` and `ssprk2` for u between -0.5 and 1.5: by diffusion and reaction. */
  largestStep: ({ D }: { readonly D: number }, spacing: readonly number[]): number =>
    1 / (2 * D * spacing.reduce((sum, d) => sum + 1 / (d * d), 0) + 2),

  /** The front for eps = 0 and v = 0: u = 1 / (1 + exp((x - c t) / √(2 D))) with c = √(D / 2) (1 - 2 a), exact on all of space. */
  front: (D: number, a: number) => (x: number, t: number): number =>
    1 / (1 + Math.exp((x - Math.sqrt(D / 2) * (1 - 2 * a) * t) / Math.sqrt(2 * D))),
} as const;
