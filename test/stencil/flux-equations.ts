// Equations whose cells have fluxes through the faces between them in common.
import { stencil } from '../../lib/index.ts';

/** A flux with a division per round: long enough to be worth sharing. */
export const functions = {
  flux: (l: number, r: number, k: number): number => {
    let sum = 0.25 * (l + r);
    for (let i = 0; i < 12; i += 1) sum += (0.01 * (l - sum) * (r - sum)) / (1 + sum * sum + k * i);
    if (sum > l) return sum - 0.1 * (r - l);
    return 0.5 * (sum + l) - 0.1 * (r - l);
  },
};
const { flux } = functions;

export const one = stencil.define({
  dimensions: 1, fields: ['u', 'v'], coefficients: ['c'], parameters: ['k'], functions, method: 'ssprk3',
  rate: ({ u, v, c }, { k }, { dx, x, t }) => {
    const own = (l: number, r: number): number => flux(l * 1.5, r, 0.5 * k);
    return {
      u: (own(u(-1), u() * c()) - own(u(), u(1) * c(1))) / dx + 0.01 * Math.abs(x - t),
      v: (flux(v(-2), v(1), k) - flux(v(-1), v(2), k)) / dx,
    };
  },
});
export const two = stencil.define({
  dimensions: 2, fields: ['u'], parameters: ['k'], functions, speed: ({ u }) => 1 + Math.abs(u()),
  step: ({ u }, { k }, { dx, dy, dt }) => {
    const across = (dt / dx) * (flux(u(0, 0), u(1, 0), k) - flux(u(-1, 0), u(0, 0), k));
    const along = (dt / dy) * (flux(u(0, 0), u(0, 1), k) - flux(u(0, -1), u(0, 0), k));
    return { u: u() - across - along };
  },
});
export const three = stencil.define({
  dimensions: 3, fields: ['u'], parameters: ['k'], functions, method: 'midpoint',
  rate: ({ u }, { k }, { dx }) => ({
    u: (flux(u(-1, 0, 0), u(), k) - flux(u(), u(1, 0, 0), k) + flux(u(0, -1, 0), u(), k) - flux(u(), u(0, 1, 0), k)
      + flux(u(0, 0, -1), u(), k) - flux(u(), u(0, 0, 1), k)) / dx,
  }),
});
