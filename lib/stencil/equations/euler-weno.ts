// The Euler equations with WENO of fifth order and SSP-RK3.
import { define } from '../define.ts';
import type { Definition, Equation } from '../types.ts';
import { blend, functions, wenoIn1, wenoIn2, wenoIn3 } from './weno.ts';

type Rules<F extends string> = Pick<Definition<F, 'gamma', never>, 'speed' | 'admissible'>;

/** The equations in one dimension, with speed and admissible states as given. */
export const wenoEuler = ({ speed, admissible }: Rules<'rho' | 'mx' | 'E'>): Equation<'rho' | 'mx' | 'E', 'gamma', never> => define({
  dimensions: 1, fields: ['rho', 'mx', 'E'], parameters: ['gamma'], functions, speed, admissible,
  step: [({ rho, mx, E }, { gamma }, { dx, dt }) => {
    const q = wenoIn1(rho, mx, E, gamma, dt / dx);
    return { rho: q[0], mx: q[2][0], E: q[1] };
  }, ({ rho, mx, E }, { gamma }, { dx, dt, before }) => {
    const q = wenoIn1(rho, mx, E, gamma, dt / dx);
    return {
      rho: blend(0.75, before.rho(), 0.25, q[0]), mx: blend(0.75, before.mx(), 0.25, q[2][0]), E: blend(0.75, before.E(), 0.25, q[1]),
    };
  }, ({ rho, mx, E }, { gamma }, { dx, dt, before }) => {
    const q = wenoIn1(rho, mx, E, gamma, dt / dx);
    return {
      rho: blend(1 / 3, before.rho(), 2 / 3, q[0]), mx: blend(1 / 3, before.mx(), 2 / 3, q[2][0]), E: blend(1 / 3, before.E(), 2 / 3, q[1]),
    };
  }],
});

/** In two dimensions. */
export const wenoEulerIn2 = (
  { speed, admissible }: Rules<'rho' | 'mx' | 'my' | 'E'>,
): Equation<'rho' | 'mx' | 'my' | 'E', 'gamma', never> => define({
  dimensions: 2, fields: ['rho', 'mx', 'my', 'E'], parameters: ['gamma'], functions, speed, admissible,
  step: [({ rho, mx, my, E }, { gamma }, { dx, dy, dt }) => {
    const q = wenoIn2(rho, mx, my, E, gamma, [dt / dx, dt / dy]);
    return { rho: q[0], mx: q[2][0], my: q[2][1], E: q[1] };
  }, ({ rho, mx, my, E }, { gamma }, { dx, dy, dt, before }) => {
    const q = wenoIn2(rho, mx, my, E, gamma, [dt / dx, dt / dy]);
    return {
      rho: blend(0.75, before.rho(), 0.25, q[0]), mx: blend(0.75, before.mx(), 0.25, q[2][0]),
      my: blend(0.75, before.my(), 0.25, q[2][1]), E: blend(0.75, before.E(), 0.25, q[1]),
    };
  }, ({ rho, mx, my, E }, { gamma }, { dx, dy, dt, before }) => {
    const q = wenoIn2(rho, mx, my, E, gamma, [dt / dx, dt / dy]);
    return {
      rho: blend(1 / 3, before.rho(), 2 / 3, q[0]), mx: blend(1 / 3, before.mx(), 2 / 3, q[2][0]),
      my: blend(1 / 3, before.my(), 2 / 3, q[2][1]), E: blend(1 / 3, before.E(), 2 / 3, q[1]),
    };
  }],
});

/** In three dimensions. */
export const wenoEulerIn3 = (
  { speed, admissible }: Rules<'rho' | 'mx' | 'my' | 'mz' | 'E'>,
): Equation<'rho' | 'mx' | 'my' | 'mz' | 'E', 'gamma', never> => define({
  dimensions: 3, fields: ['rho', 'mx', 'my', 'mz', 'E'], parameters: ['gamma'], functions, speed, admissible,
  step: [({ rho, mx, my, mz, E }, { gamma }, { dx, dy, dz, dt }) => {
    const q = wenoIn3(rho, mx, my, mz, E, gamma, [dt / dx, dt / dy, dt / dz]);
    return { rho: q[0], mx: q[2][0], my: q[2][1], mz: q[2][2], E: q[1] };
  }, ({ rho, mx, my, mz, E }, { gamma }, { dx, dy, dz, dt, before }) => {
    const q = wenoIn3(rho, mx, my, mz, E, gamma, [dt / dx, dt / dy, dt / dz]);
    return {
      rho: blend(0.75, before.rho(), 0.25, q[0]), mx: blend(0.75, before.mx(), 0.25, q[2][0]),
      my: blend(0.75, before.my(), 0.25, q[2][1]), mz: blend(0.75, before.mz(), 0.25, q[2][2]), E: blend(0.75, before.E(), 0.25, q[1]),
    };
  }, ({ rho, mx, my, mz, E }, { gamma }, { dx, dy, dz, dt, before }) => {
    const q = wenoIn3(rho, mx, my, mz, E, gamma, [dt / dx, dt / dy, dt / dz]);
    return {
      rho: blend(1 / 3, before.rho(), 2 / 3, q[0]), mx: blend(1 / 3, before.mx(), 2 / 3, q[2][0]),
      my: blend(1 / 3, before.my(), 2 / 3, q[2][1]), mz: blend(1 / 3, before.mz(), 2 / 3, q[2][2]),
      E: blend(1 / 3, before.E(), 2 / 3, q[1]),
    };
  }],
});
