// A step of the Euler equations: MUSCL on primitive variables with monotonised central slopes, HLLC, and fluxes of first order where a
// density or pressure would fall below 0. B. van Leer, J. Comput. Phys. 32 (1979).
import {
  energy, hll, hllc, isGas, known, larger, parts, physical, pressureBound, primitive, smaller, sound, square, total, type Axis, type Gas,
  type PerAxis,
} from './gas.ts';

/** The state of the cell k cells on along an axis. */
export type At = (axis: Axis, k: number) => Gas;

/** Half the difference across the middle cell: monotonised central, 0 at extrema. */
const slope = (before: number, own: number, next: number): number => {
  const [a, b] = [own - before, next - own];
  const central = 0.25 * (a + b), least = Math.abs(a) < Math.abs(b) ? a : b;
  const limited = Math.abs(least) < Math.abs(central) ? least : central;
  return a * b > 0 ? limited : 0;
};

const slopes = (before: Gas, own: Gas, next: Gas): Gas => [slope(before[0], own[0], next[0]), slope(before[1], own[1], next[1]),
  parts(own[2].length, (i) => slope(before[2][i], own[2][i], next[2][i]))];

/**
 * By axis: 2 dt / dx over the share of the axis in the cell's CFL number. If U ± this · F is admissible in both cells of every face, a step
 * is a mean of admissible states (Hu, Adams and Shu, J. Comput. Phys. 242 (2013)).
 */
export const leaps = (w: Gas, c: number, ratios: PerAxis<number>): PerAxis<number> => {
  const n: number = ratios.length;
  if (n === 1) return parts(1, () => 2 * ratios[0]);
  const s = parts(n, (i) => Math.abs(w[2][i]) + c);
  const crossed = 2 * total(parts(n, (i) => ratios[i] * s[i]));
  if (n === 2) {
    const scale = crossed * (1 / (s[0] * s[1]));
    return parts(2, (i) => scale * (i === 0 ? s[1] : s[0]));
  }
  const xy = s[0] * s[1], scale = crossed * (1 / (xy * s[2]));
  return [scale * (s[1] * s[2]), scale * (s[0] * s[2]), scale * xy];
};

/** The flux between the second and the third of four cells. */
export const faceFlux = (at: At, k: number, ratios: PerAxis<number>, axis: Axis, gamma: number): Gas => {
  const [a, b] = [at(axis, k), at(axis, k + 1)];
  const [[before], [wa, ca], [wb, cb], [after]] = [known(at(axis, k - 1), gamma), known(a, gamma), known(b, gamma),
    known(at(axis, k + 2), gamma)];
  const [sa, sb] = [slopes(before, wa, wb), slopes(wa, wb, after)];
  const flux = hllc([wa[0] + sa[0], wa[1] + sa[1], parts(ratios.length, (i) => wa[2][i] + sa[2][i])],
    [wb[0] - sb[0], wb[1] - sb[1], parts(ratios.length, (i) => wb[2][i] - sb[2][i])], axis, gamma);
  const [isGasInA, isGasInB] = [isGas(a, flux, -leaps(wa, ca, ratios)[axis]), isGas(b, flux, leaps(wb, cb, ratios)[axis])];
  return isGasInA && isGasInB ? flux : hll(wa, wb, axis, gamma);
};

/** The state after a forward step; `ratios`: dt / dx along each axis; `flux`: between cells k and k + 1. */
export const advanced = (at: At, ratios: PerAxis<number>, gamma: number, flux: typeof faceFlux): Gas => {
  const q = at(0, 0);
  const changes = parts(ratios.length, (axis): Gas => {
    const [left, right] = [flux(at, -1, ratios, axis, gamma), flux(at, 0, ratios, axis, gamma)];
    const ratio = ratios[axis];
    return [ratio * (right[0] - left[0]), ratio * (right[1] - left[1]), parts(ratios.length, (i) => ratio * (right[2][i] - left[2][i]))];
  });
  let [rho, e] = [q[0], q[1]];
  for (const change of changes) {
    rho -= change[0];
    e -= change[1];
  }
  return [rho, e, parts(ratios.length, (i) => {
    let m = q[2][i];
    for (const change of changes) m -= change[2][i];
    return m;
  })];
};

/** The mean with the state at the beginning of the step: the second stage of SSP-RK2. */
export const mean = (before: number, now: number): number => 0.5 * (before + now);

/** Everything that a step calls. */
export const functions = {
  parts, total, square, known, primitive, smaller, larger, energy, sound, physical, hll, pressureBound, hllc, isGas, slope, slopes,
  leaps, faceFlux, advanced, mean,
};
