// A step of the Euler equations: MUSCL on primitive variables with monotonised central slopes, HLLC, and fluxes of first order where a
// density or pressure would fall below 0. B. van Leer, J. Comput. Phys. 32 (1979).
import {
  energy, hll, hllc, isGas, larger, parts, physical, pressureBound, primitive, smaller, sound, square, type Axis, type Gas, type PerAxis,
} from './gas.ts';

/** The state of the cell k cells on along an axis. */
export type At = (axis: Axis, k: number) => Gas;

/** The value at the face of the middle cell towards the last one: monotonised central slope, 0 at extrema. */
const faceValue = (before: number, own: number, next: number): number => {
  const [a, b] = [own - before, next - own];
  const most = smaller(smaller(Math.abs(a), Math.abs(b)), 0.25 * Math.abs(a + b));
  return a * b > 0 ? own + (a > 0 ? most : -most) : own;
};

const faceState = (before: Gas, own: Gas, next: Gas): Gas => [faceValue(before[0], own[0], next[0]),
  faceValue(before[1], own[1], next[1]), parts(own[2].length, (i) => faceValue(before[2][i], own[2][i], next[2][i]))];

/**
 * Whether U ± F · 2 dt / dx over the share of the axis in the cell's CFL number is admissible. If it is in both cells of every face, a
 * step is a mean of admissible states (Hu, Adams and Shu, J. Comput. Phys. 242 (2013)).
 */
export const isSafe = (q: Gas, w: Gas, flux: Gas, side: number, ratios: PerAxis<number>, axis: Axis, gamma: number): boolean => {
  const c = sound(w, gamma);
  let sum = 0;
  for (const each of parts(ratios.length, (i) => ratios[i] * (Math.abs(w[2][i]) + c))) sum += each;
  return isGas(q, flux, side * sum, Math.abs(w[2][axis]) + c);
};

/** The flux between the second and the third of four cells. */
export const faceFlux = (at: At, k: number, ratios: PerAxis<number>, axis: Axis, gamma: number): Gas => {
  const [a, b] = [at(axis, k), at(axis, k + 1)];
  const [wa, wb] = [primitive(a, gamma), primitive(b, gamma)];
  const [before, after] = [primitive(at(axis, k - 1), gamma), primitive(at(axis, k + 2), gamma)];
  const flux = hllc(faceState(before, wa, wb), faceState(after, wb, wa), axis, gamma);
  if (isSafe(a, wa, flux, -2, ratios, axis, gamma) && isSafe(b, wb, flux, 2, ratios, axis, gamma)) return flux;
  return hll(wa, wb, axis, gamma);
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
  parts, square, primitive, smaller, larger, energy, sound, physical, hll, pressureBound, hllc, isGas, faceValue, faceState, isSafe,
  faceFlux, advanced, mean,
};
