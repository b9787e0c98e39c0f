// The Euler equations of an ideal gas in one, two and three dimensions: MUSCL on primitive variables, HLLC with bounds of the wave speeds,
// SSP-RK2, and fluxes of first order where those would give a density or pressure below 0.
import { choice } from '../../core/checks.ts';
import type { Equation } from '../types.ts';
import { fusedEuler } from './euler-fused.ts';
import { musclEuler, musclEulerIn2, musclEulerIn3 } from './euler-muscl.ts';
import { wenoEuler, wenoEulerIn2, wenoEulerIn3 } from './euler-weno.ts';

const reconstructions = ['muscl', 'weno5'] as const;
type Reconstruction = (typeof reconstructions)[number];
const checkReconstruction = choice(reconstructions);

/**
 * The Euler equations of an ideal gas. Fields `rho`, `mx`, `my`, `mz` (momentum per volume) and `E` (total energy per volume); parameter
 * `gamma`. Run it with `dt: { cfl: 0.4 }`; CFL numbers up to 0.5 keep density and pressure above 0 in one dimension.
 */
export const euler = {
  /**
   * One dimension. `reconstruction`: 'muscl', of second order (default), or 'weno5': WENO of fifth order with SSP-RK3, which has sharper
   * waves at two to three times the work, and small oscillations beside strong shocks.
   * @throws ArgumentError (`ERR_WARPLOOM_INVALID_ARGUMENT`) for another reconstruction
   */
  inOneDimension: (reconstruction: Reconstruction = 'muscl'): Equation<'rho' | 'mx' | 'E', 'gamma', never> => {
    checkReconstruction(reconstruction, 'reconstruction');
    return reconstruction === 'muscl' ? musclEuler : wenoEuler(musclEuler.definition);
  },

  /**
   * One dimension, by the scheme of the swept rule's paper: limited by pressure ratios, Rusanov fluxes with the Roe average's spectral
   * radius, the midpoint rule. Its steps have 180 operations for a cell, multiply-adds are fused, and in float64 its bits are those of
   * `swept.euler` with `limiter: 'paper'`. It is of second order in smooth gas, but does not protect density and pressure: a step that
   * would take one below 0 ends the run. CFL numbers up to 0.55 are stable.
   */
  fusedInOneDimension: (): Equation<'rho' | 'mx' | 'E', 'gamma', never> => fusedEuler,

  /**
   * Two dimensions. `reconstruction` as in one; 'weno5' reconstructs along each axis by itself, so it is of fifth order for density waves
   * at constant velocity and pressure, and of second order, with small errors, where those vary too.
   * @throws ArgumentError (`ERR_WARPLOOM_INVALID_ARGUMENT`) for another reconstruction
   */
  inTwoDimensions: (reconstruction: Reconstruction = 'muscl'): Equation<'rho' | 'mx' | 'my' | 'E', 'gamma', never> => {
    checkReconstruction(reconstruction, 'reconstruction');
    return reconstruction === 'muscl' ? musclEulerIn2 : wenoEulerIn2(musclEulerIn2.definition);
  },

  /**
   * Three dimensions. `reconstruction` as in two.
   * @throws ArgumentError (`ERR_WARPLOOM_INVALID_ARGUMENT`) for another reconstruction
   */
  inThreeDimensions: (reconstruction: Reconstruction = 'muscl'): Equation<'rho' | 'mx' | 'my' | 'mz' | 'E', 'gamma', never> => {
    checkReconstruction(reconstruction, 'reconstruction');
    return reconstruction === 'muscl' ? musclEulerIn3 : wenoEulerIn3(musclEulerIn3.definition);
  },

  /** Walls at all sides: the normal momentum is odd about the face, everything else even. */
  walls: {
    inOneDimension: { fields: { rho: 'mirror', mx: 'odd-mirror', E: 'mirror' } },
    inTwoDimensions: {
      x: { fields: { rho: 'mirror', mx: 'odd-mirror', my: 'mirror', E: 'mirror' } },
      y: { fields: { rho: 'mirror', mx: 'mirror', my: 'odd-mirror', E: 'mirror' } },
    },
    inThreeDimensions: {
      x: { fields: { rho: 'mirror', mx: 'odd-mirror', my: 'mirror', mz: 'mirror', E: 'mirror' } },
      y: { fields: { rho: 'mirror', mx: 'mirror', my: 'odd-mirror', mz: 'mirror', E: 'mirror' } },
      z: { fields: { rho: 'mirror', mx: 'mirror', my: 'mirror', mz: 'odd-mirror', E: 'mirror' } },
    },
  },
} as const;
