// Maxwell's equations in units with ε₀ = μ₀ = c = 1: Yee's leapfrog. K. S. Yee, IEEE Trans. Antennas Propag. 14 (1966).
//
// The components of a cell belong to different places: those of E to the cell's centre, moved up by half a cell along their own axis (in
// two dimensions Ez stays at the centre); those of H to the centre moved along the two other axes. H belongs to a time half a step
// before that of E.
import { define } from '../define.ts';
import type { Equation } from '../types.ts';

/** Electromagnetic waves. Grids are periodic, unless conditions are given for the places above. */
export const maxwell = {
  /** Two dimensions, with the electric field along z: fields `Ez`, `Hx`, `Hy`; coefficient `eps`, the relative permittivity. */
  inTwoDimensions: (): Equation<'Ez' | 'Hx' | 'Hy', never, 'eps'> => define({
    dimensions: 2, fields: ['Ez', 'Hx', 'Hy'], coefficients: ['eps'],
    step: [({ Ez, Hx, Hy }, _, { dx, dy, dt }) => ({
      Ez: Ez(), Hx: Hx() - (dt / dy) * (Ez(0, 1) - Ez()), Hy: Hy() + (dt / dx) * (Ez(1, 0) - Ez()),
    }), ({ Ez, Hx, Hy, eps }, _, { dx, dy, dt }) => ({
      Ez: Ez() + ((dt / dx) * (Hy() - Hy(-1, 0)) - (dt / dy) * (Hx() - Hx(0, -1))) / eps(), Hx: Hx(), Hy: Hy(),
    })],
  }),

  /** Three dimensions, empty space: fields `Ex`, `Ey`, `Ez`, `Hx`, `Hy`, `Hz`. The divergence of E and H stays as it was to rounding. */
  inThreeDimensions: (): Equation<'Ex' | 'Ey' | 'Ez' | 'Hx' | 'Hy' | 'Hz', never, never> => define({
    dimensions: 3, fields: ['Ex', 'Ey', 'Ez', 'Hx', 'Hy', 'Hz'],
    step: [({ Ex, Ey, Ez, Hx, Hy, Hz }, _, { dx, dy, dz, dt }) => ({
      Ex: Ex(), Ey: Ey(), Ez: Ez(),
      Hx: Hx() + (dt / dz) * (Ey(0, 0, 1) - Ey()) - (dt / dy) * (Ez(0, 1, 0) - Ez()),
      Hy: Hy() + (dt / dx) * (Ez(1, 0, 0) - Ez()) - (dt / dz) * (Ex(0, 0, 1) - Ex()),
      Hz: Hz() + (dt / dy) * (Ex(0, 1, 0) - Ex()) - (dt / dx) * (Ey(1, 0, 0) - Ey()),
    }), ({ Ex, Ey, Ez, Hx, Hy, Hz }, _, { dx, dy, dz, dt }) => ({
      Ex: Ex() + (dt / dy) * (Hz() - Hz(0, -1, 0)) - (dt / dz) * (Hy() - Hy(0, 0, -1)),
      Ey: Ey() + (dt / dz) * (Hx() - Hx(0, 0, -1)) - (dt / dx) * (Hz() - Hz(-1, 0, 0)),
      Ez: Ez() + (dt / dx) * (Hy() - Hy(-1, 0, 0)) - (dt / dy) * (Hx() - Hx(0, -1, 0)),
      Hx: Hx(), Hy: Hy(), Hz: Hz(),
    })],
  }),

  /** The largest stable step in empty space, 1 / √(Σ 1/dx²). */
  largestStep: (spacing: readonly number[]): number => 1 / Math.sqrt(spacing.reduce((sum, d) => sum + 1 / (d * d), 0)),

  /** The frequency of a plane wave of wave numbers k on a grid: sin²(ω dt / 2) / dt² = Σ sin²(k dx / 2) / dx², exact for the scheme. */
  frequency: (k: readonly number[], spacing: readonly number[], dt: number): number => {
    const sum = k.reduce((total, each, axis) => total + (Math.sin((each * (spacing[axis] ?? 1)) / 2) / (spacing[axis] ?? 1)) ** 2, 0);
    return (2 / dt) * Math.asin(dt * Math.sqrt(sum));
  },
} as const;
