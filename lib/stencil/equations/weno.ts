// Fluxes of fifth order for the Euler equations in one, two and three dimensions: WENO-Z on the conserved variables along each axis,
// HLLC, and fluxes of first order where a density or pressure would fall below 0. R. Borges, M. Carmona, B. Costa and W. S. Don,
// J. Comput. Phys. 227 (2008).
import type { Reader } from '../types.ts';
import { hll, hllc, isGas, known, parts, primitive, type Axis, type Gas, type PerAxis } from './gas.ts';
import { advanced, functions as muscl, leaps, type At } from './muscl.ts';

/** The value at the face of the middle cell of five towards the last one, from means over the cells. */
const wenoValue = (a: number, b: number, c: number, d: number, e: number): number => {
  const [ab, bc, cd, de] = [a - b, b - c, c - d, d - e];
  const [x, y, z] = [ab - bc, bc - cd, cd - de];
  const [p, q, r] = [3 * bc - ab, b - d, 3 * cd - de];
  const [s0, s1, s2] = [(13 / 12) * x * x + 0.25 * p * p, (13 / 12) * y * y + 0.25 * q * q, (13 / 12) * z * z + 0.25 * r * r];
  const tau = Math.abs(s0 - s2);
  const [t0, t1, t2] = [tau / (s0 + 1e-40), tau / (s1 + 1e-40), tau / (s2 + 1e-40)];
  const [w0, w1, w2] = [0.1 + 0.1 * t0 * t0, 0.6 + 0.6 * t1 * t1, 0.3 + 0.3 * t2 * t2];
  const values = w0 * (2 * a - 7 * b + 11 * c) + w1 * (5 * c - b + 2 * d) + w2 * (2 * c + 5 * d - e);
  return values / (6 * (w0 + w1 + w2));
};

/** The primitive state at a face; that of the cell where density or pressure would not be above 0. */
const wenoState = (a: Gas, b: Gas, c: Gas, d: Gas, e: Gas, own: Gas, gamma: number): Gas => {
  const rho = wenoValue(a[0], b[0], c[0], d[0], e[0]);
  const energy = wenoValue(a[1], b[1], c[1], d[1], e[1]);
  const w = primitive([rho, energy, parts(c[2].length, (i) => wenoValue(a[2][i], b[2][i], c[2][i], d[2][i], e[2][i]))], gamma);
  return rho > 0 && w[1] > 0 ? w : own;
};

/** The flux between the third and the fourth of six cells. */
const wenoFlux = (at: At, k: number, ratios: PerAxis<number>, axis: Axis, gamma: number): Gas => {
  const [a, b, c, d, e, f] = [at(axis, k - 2), at(axis, k - 1), at(axis, k), at(axis, k + 1), at(axis, k + 2), at(axis, k + 3)];
  const [[wc, sc], [wd, sd]] = [known(c, gamma), known(d, gamma)];
  const flux = hllc(wenoState(a, b, c, d, e, wc, gamma), wenoState(f, e, d, c, b, wd, gamma), axis, gamma);
  const [isGasInC, isGasInD] = [isGas(c, flux, -leaps(wc, sc, ratios)[axis]), isGas(d, flux, leaps(wd, sd, ratios)[axis])];
  return isGasInC && isGasInD ? flux : hll(wc, wd, axis, gamma);
};

/** A share of the state at the beginning of the step, and one of the state after a forward step. */
export const blend = (share: number, before: number, rest: number, now: number): number => share * before + rest * now;

/** The states after a forward step: reconstructed along each axis by itself. */
export const wenoIn1 = (rho: Reader, mx: Reader, E: Reader, gamma: number, ratio: number): Gas =>
  advanced((_, k) => [rho(k), E(k), parts(1, () => mx(k))], parts(1, () => ratio), gamma, wenoFlux);

export const wenoIn2 = (rho: Reader, mx: Reader, my: Reader, E: Reader, gamma: number, [x, y]: readonly number[]): Gas => {
  const cell = (i: number, j: number): Gas => [rho(i, j), E(i, j), parts(2, (a) => (a === 0 ? mx(i, j) : my(i, j)))];
  const ratios = parts(2, (a) => (a === 0 ? x : y)) as PerAxis<number>;
  return advanced((axis, k) => (axis === 0 ? cell(k, 0) : cell(0, k)), ratios, gamma, wenoFlux);
};

export const wenoIn3 = (
  rho: Reader, mx: Reader, my: Reader, mz: Reader, E: Reader, gamma: number, ratios: PerAxis<number>,
): Gas => {
  const cell = (i: number, j: number, k: number): Gas => [rho(i, j, k), E(i, j, k), [mx(i, j, k), my(i, j, k), mz(i, j, k)]];
  return advanced((axis, k) => (axis === 0 ? cell(k, 0, 0) : axis === 1 ? cell(0, k, 0) : cell(0, 0, k)), ratios, gamma, wenoFlux);
};

/** Everything that a step calls. */
export const functions = { ...muscl, wenoValue, wenoState, wenoFlux, blend, wenoIn1, wenoIn2, wenoIn3 };
