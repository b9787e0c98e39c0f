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

/** The sum. */
export const total = (v: PerAxis<number>): number => {
  const n: number = v.length;
  return n === 1 ? v[0] : n === 2 ? v[0] + v[1] : v[0] + v[1] + v[2];
};

/** The sum of the squares. */
export const square = (v: PerAxis<number>): number => total(parts(v.length, (i) => v[i] * v[i]));

/** The primitive state, and the speed of sound. */
export const known = (q: Gas, gamma: number): readonly [Gas, number] => {
  const inverse = 1 / q[0];
  const v = parts(q[2].length, (i) => q[2][i] * inverse);
  const p = (gamma - 1) * (q[1] - 0.5 * total(parts(q[2].length, (i) => q[2][i] * v[i])));
  return [[q[0], p, v], Math.sqrt(gamma * p * inverse)];
};

export const primitive = (q: Gas, gamma: number): Gas => known(q, gamma)[0];

/** Of numbers that are not NaN; cheaper than Math.min, which has to look for -0 and NaN. */
export const smaller = (a: number, b: number): number => (a < b ? a : b);
export const larger = (a: number, b: number): number => (a > b ? a : b);

export const energy = (w: Gas, gamma: number): number => w[1] * (1 / (gamma - 1)) + 0.5 * w[0] * square(w[2]);

export const sound = (w: Gas, gamma: number): number => Math.sqrt((gamma * w[1]) / w[0]);

/** The flux along an axis of a state with energy e. */
export const physical = (w: Gas, e: number, axis: Axis): Gas => {
  const v = w[2][axis];
  const mass = w[0] * v;
  return [mass, (e + w[1]) * v, parts(w[2].length, (i) => (i === axis ? mass * v + w[1] : mass * w[2][i]))];
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
 * A pressure that is not below that between the waves of a Riemann problem: the larger one, or that behind a shock that by itself slows
 * the gas of the lower pressure by `approach`. The pressure in between is at most the larger one, or both waves are shocks, of which that
 * one slows the gas by less. Without branches; the root is of a number above 0, for which it takes least.
 */
export const pressureBound = (l: Gas, r: Gas, approach: number, gamma: number): number => {
  const isLeft = l[1] < r[1] || (l[1] === r[1] && l[0] < r[0]); // the same seen from the other side
  const [rho, p, most] = [isLeft ? l[0] : r[0], isLeft ? l[1] : r[1], isLeft ? r[1] : l[1]];
  const speed = larger(approach, 0);
  const half = rho * (0.25 * (gamma + 1) * speed);
  return larger(p + speed * (half + Math.sqrt(half * half + gamma * (rho * p))), most);
};

/**
 * The flux of the HLLC solver, with bounds of the speeds of both outer waves: those of shocks up to that pressure. It is the flux of the
 * state at the face, which follows from the mass m that a wave takes up: density · (speed of the wave relative to the gas).
 */
export const hllc = (l: Gas, r: Gas, axis: Axis, gamma: number): Gas => {
  const [ul, ur] = [l[2][axis], r[2][axis]];
  const share = 0.5 * (gamma + 1) * pressureBound(l, r, ul - ur, gamma), rest = 0.5 * (gamma - 1);
  const [ml, mr] = [Math.sqrt(l[0] * (share + rest * l[1])), Math.sqrt(r[0] * (share + rest * r[1]))];
  // The wave in the middle moves at push / sum.
  const push = l[1] - r[1] + (ul * ml + ur * mr), sum = ml + mr;
  const isLeft = push >= 0;
  const [w, m] = [isLeft ? l : r, isLeft ? ml : mr];
  const [rho, p, u] = [w[0], w[1], w[2][axis]];
  const [drift, pushed] = [isLeft ? rho * u : -(rho * u), isLeft ? push : -push];
  const e = energy(w, gamma);
  // Between the outer wave and the one in the middle. The gas that the outer wave takes up, per density there, is room / sum.
  const room = (m - drift) * sum + rho * pushed;
  const both = 1 / (sum * room);
  const middle = push * (room * both), inverse = sum * (sum * both);
  const pressure = p + m * (isLeft ? u - middle : middle - u);
  const turned = rho * (u * p - middle * pressure);
  const star = (m * e + (isLeft ? turned : -turned)) * inverse;
  const isBetween = drift < m;
  return physical([isBetween ? rho * m * inverse : rho, isBetween ? pressure : p,
    parts(w[2].length, (i) => (i === axis ? (isBetween ? middle : u) : w[2][i]))], isBetween ? star : e, axis);
};

/** Whether U + k F has density and pressure above 0. */
export const isGas = (q: Gas, f: Gas, k: number): boolean => {
  const rho = q[0] + k * f[0];
  // Both before the answer: there is no branch then.
  const [energies, momenta] = [2 * rho * (q[1] + k * f[1]), square(parts(q[2].length, (i) => q[2][i] + k * f[2][i]))];
  return rho > 0 && energies > momenta;
};
