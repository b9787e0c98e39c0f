// Parts of schemes for the Euler equations of an ideal gas, in one, two and three dimensions.
//
// A state is [density, energy, momenta] where it is conserved, and [density, pressure, velocities] where it is primitive; energies are
// total, per volume. The functions are compiled from their text, so they call each other by name and nothing else.
// E. F. Toro, Riemann Solvers and Numerical Methods for Fluid Dynamics, 3rd edition (2009), chapters 1, 4, 10 and 14.

export type Axis = 0 | 1 | 2;

/** One for each axis: as many as there are dimensions. */
export type PerAxis<T> = readonly [T, T, T];

/** [density, energy, momenta], [density, pressure, velocities], or fluxes of the former. */
export type Gas = readonly [number, number, PerAxis<number>];

/** What f gives for each of n axes. */
export const parts = <T>(n: number, f: (axis: Axis) => T): PerAxis<T> =>
  (n === 1 ? [f(0)] : n === 2 ? [f(0), f(1)] : [f(0), f(1), f(2)]) as unknown as PerAxis<T>;

/** The sum of the squares. */
export const square = (v: PerAxis<number>): number => {
  let sum = 0;
  for (const each of v) sum += each * each;
  return sum;
};

export const primitive = (q: Gas, gamma: number): Gas => {
  const inverse = 1 / q[0];
  return [q[0], (gamma - 1) * (q[1] - 0.5 * square(q[2]) * inverse), parts(q[2].length, (i) => q[2][i] * inverse)];
};

/** Of numbers that are not NaN; cheaper than Math.min, which has to look for -0 and NaN. */
export const smaller = (a: number, b: number): number => (a < b ? a : b);
export const larger = (a: number, b: number): number => (a > b ? a : b);

export const energy = (w: Gas, gamma: number): number => w[1] * (1 / (gamma - 1)) + 0.5 * w[0] * square(w[2]);

export const sound = (w: Gas, gamma: number): number => Math.sqrt((gamma * w[1]) / w[0]);

/** The flux along an axis of a state with energy e. */
export const physical = (w: Gas, e: number, axis: Axis): Gas => {
  const v = w[2][axis];
  return [w[0] * v, (e + w[1]) * v, parts(w[2].length, (i) => w[0] * w[2][i] * v + (i === axis ? w[1] : 0))];
};

/** The flux of Harten, Lax and van Leer with the speeds of both states: keeps density and pressure above 0 for CFL numbers up to 1/2. */
export const hll = (l: Gas, r: Gas, axis: Axis, gamma: number): Gas => {
  const [cl, cr] = [sound(l, gamma), sound(r, gamma)];
  const low = smaller(smaller(l[2][axis] - cl, r[2][axis] - cr), 0);
  const high = larger(larger(l[2][axis] + cl, r[2][axis] + cr), 0);
  const [el, er] = [energy(l, gamma), energy(r, gamma)];
  const [f, g] = [physical(l, el, axis), physical(r, er, axis)];
  const scale = 1 / (high - low);
  const mixed = (a: number, b: number, u: number, v: number): number => (high * a - low * b + low * high * (v - u)) * scale;
  return [mixed(f[0], g[0], l[0], r[0]), mixed(f[1], g[1], el, er),
    parts(l[2].length, (i) => mixed(f[2][i], g[2][i], l[0] * l[2][i], r[0] * r[2][i]))];
};

/**
 * A pressure that is not below that between the waves of a Riemann problem: the larger one, where shocks up to it would already slow the
 * gas enough (Guermond and Popov, J. Comput. Phys. 321 (2016)). Otherwise from f(p) ≥ (p - p₀) / √(γ ρ p), which holds for every shock
 * from a pressure of at most p₀ up to p, with f the change of velocity.
 */
export const pressureBound = (l: Gas, r: Gas, approach: number, gamma: number): number => {
  const isLeft = l[1] < r[1];
  const [rho, p, most] = isLeft ? [l[0], l[1], r[1]] : [r[0], r[1], l[1]];
  const gap = most - p;
  if (approach <= 0 || 2 * gap * gap >= approach * approach * (rho * ((gamma + 1) * most + (gamma - 1) * p))) return most;
  const [a, b] = [Math.sqrt(gamma * l[0]), Math.sqrt(gamma * r[0])];
  const d = (approach * a * b) / (a + b);
  const root = 0.5 * (d + Math.sqrt(d * d + 4 * most));
  return larger(root * root, most);
};

/** The flux of the HLLC solver, with bounds of the speeds of both outer waves: those of shocks up to that pressure. */
export const hllc = (l: Gas, r: Gas, axis: Axis, gamma: number): Gas => {
  const [ul, ur] = [l[2][axis], r[2][axis]];
  const bound = pressureBound(l, r, ul - ur, gamma);
  const half = 0.5 * (gamma + 1);
  const low = ul - Math.sqrt((gamma * l[1] + half * (bound - l[1])) / l[0]);
  const high = ur + Math.sqrt((gamma * r[1] + half * (bound - r[1])) / r[0]);
  const [ml, mr] = [l[0] * (low - ul), r[0] * (high - ur)];
  const middle = (r[1] - l[1] + ul * ml - ur * mr) / (ml - mr);
  const isLeft = middle >= 0;
  const [w, outer, m] = [isLeft ? l : r, isLeft ? low : high, isLeft ? ml : mr];
  // The speed of the wave that is crossed; 0 if there is none.
  const crossed = isLeft ? smaller(low, 0) : larger(high, 0);
  const e = energy(w, gamma);
  const f = physical(w, e, axis);
  const u = w[2][axis];
  const inverse = 1 / (outer - middle);
  const density = m * inverse;
  const star = ((outer - u) * e - w[1] * u + (w[1] + m * (middle - u)) * middle) * inverse;
  return [f[0] + crossed * (density - w[0]), f[1] + crossed * (star - e),
    parts(w[2].length, (i) => f[2][i] + crossed * (density * (i === axis ? middle : w[2][i]) - w[0] * w[2][i]))];
};

/** Whether U + k F / s has density and pressure above 0, for s > 0. */
export const isGas = (q: Gas, f: Gas, k: number, s: number): boolean => {
  const rho = s * q[0] + k * f[0];
  return rho > 0 && 2 * rho * (s * q[1] + k * f[1]) > square(parts(q[2].length, (i) => s * q[2][i] + k * f[2][i]));
};
