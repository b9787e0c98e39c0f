// The Euler equations in one dimension by the scheme of M. Magee and K. Niemeyer, J. Comput. Phys. 357 (2018), eqs. 10 to 21, with
// multiply-adds fused: states at faces limited by the ratio of pressure differences, the mean flux of both with the spectral radius of
// the Roe average as viscosity, and the midpoint rule. The operations are those of the swept engine (cuda/swept/euler.h), in the same
// order. Sums of products from both sides of a face are not fused, because the mirror image must round the same way.
import { fma } from '../../core/fma.ts';
import { define } from '../define.ts';

/** Density, momentum, energy; or fluxes of these. */
type Triple = readonly [number, number, number];

/** Pressure over gamma - 1. In steps: functions of that many are made once for all cells that need them (compile/stages.ts). */
const pressure = (q: Triple): number => {
  const [rho, momentum, energy] = q;
  const twice = rho + rho;
  const volume = 1 / twice;
  const half = momentum * volume;
  return fma(-momentum, half, energy);
};

/**
 * Which share of the difference to the cell before, and to the cell after, the states at the faces have: half, times min(1, r), where the
 * pressure is monotonic, with r the ratio of the pressure difference on the other side to the one on theirs. 0 elsewhere.
 */
const shares = (behind: number, ahead: number): readonly [number, number] => {
  const a = Math.abs(ahead), b = Math.abs(behind), least = 2 ** -96;
  const isAhead = a >= b, isBehind = b >= a;
  const large = isAhead ? ahead : behind, small = isAhead ? behind : ahead;
  const isMonotonic = (ahead >= least && behind >= least) || (-ahead >= least && -behind >= least);
  // Divisors that are not 0 are faster on GPUs.
  const part = small * (1 / (isMonotonic ? large + large : 1));
  const half = isMonotonic ? 0.5 : 0, less = isMonotonic ? part : 0;
  return [isBehind ? half : less, isAhead ? half : less];
};

/** Twice the flux between the second and the third of four cells, with that of energy divided by gamma. */
const twiceFlux = (a: Triple, b: Triple, c: Triple, d: Triple, gamma: number): Triple => {
  const pa = pressure(a), pb = pressure(b), pc = pressure(c), pd = pressure(d), middle = pc - pb;
  const right = shares(pb - pa, middle)[1], left = shares(middle, pd - pc)[0];
  const drop: Triple = [c[0] - b[0], c[1] - b[1], c[2] - b[2]];
  const l: Triple = [fma(right, drop[0], b[0]), fma(right, drop[1], b[1]), fma(right, drop[2], b[2])];
  const r: Triple = [fma(-left, drop[0], c[0]), fma(-left, drop[1], c[1]), fma(-left, drop[2], c[2])];
  // The Roe average, each part of it times the sum of the square roots of the densities.
  const product = l[0] * r[0], mean = Math.sqrt(product), scale = fma(2, mean, l[0] + r[0]);
  const inverse = 1 / (product * scale), perProduct = scale * inverse, perScale = product * inverse;
  const lVolume = r[0] * perProduct, rVolume = l[0] * perProduct, lSpeed = l[1] * lVolume, rSpeed = r[1] * rVolume;
  const momentum = fma(mean, lSpeed + rSpeed, l[1] + r[1]);
  const energy = fma(mean, l[2] * lVolume + r[2] * rVolume, l[2] + r[2]);
  const root = Math.sqrt(fma(-momentum, momentum, (scale + scale) * energy));
  const radius = fma(Math.sqrt((gamma * (gamma - 1)) / 2), root, Math.abs(momentum)) * perScale;
  // With shares x and y of one difference d the states differ by (x + y - 1) d.
  const weight = fma(radius, right + left, -radius), gamma1 = gamma - 1, enthalpy = -gamma1 / (2 * gamma);
  const lKinetic = l[1] * lSpeed, rKinetic = r[1] * rSpeed;
  return [
    fma(weight, drop[0], l[1] + r[1]),
    fma(weight, drop[1], fma(1 - gamma1 / 2, lKinetic + rKinetic, gamma1 * (l[2] + r[2]))),
    fma(weight * (1 / gamma), drop[2], lSpeed * fma(enthalpy, lKinetic, l[2]) + rSpeed * fma(enthalpy, rKinetic, r[2])),
  ];
};

/** The state after `ratio` = -dt / (2 dx) times the differences of twice the fluxes, added to `base`. */
const updated = (base: Triple, left: Triple, right: Triple, ratio: number, gamma: number): Triple => [
  fma(ratio, right[0] - left[0], base[0]), fma(ratio, right[1] - left[1], base[1]), fma(gamma * ratio, right[2] - left[2], base[2]),
];

/** The density, or NaN if density or pressure is not above 0; the bound covers the rounding of the products. */
const settled = (q: Triple): number =>
  (q[0] > 0 && fma((2 - 2 ** -50) * q[0], q[2], -(q[1] * q[1])) > 0 ? q[0] : NaN);

const functions = { pressure, shares, twiceFlux, updated, settled };

export const fusedEuler = define({
  dimensions: 1, fields: ['rho', 'mx', 'E'], parameters: ['gamma'], functions,
  step: [({ rho, mx, E }, { gamma }, { dx, dt }) => {
    const at = (k: number): Triple => [rho(k), mx(k), E(k)];
    const left = twiceFlux(at(-2), at(-1), at(0), at(1), gamma), right = twiceFlux(at(-1), at(0), at(1), at(2), gamma);
    const q = updated(at(0), left, right, -dt / (4 * dx), gamma);
    return { rho: q[0], mx: q[1], E: q[2] };
  }, ({ rho, mx, E }, { gamma }, { dx, dt, before }) => {
    const at = (k: number): Triple => [rho(k), mx(k), E(k)];
    const left = twiceFlux(at(-2), at(-1), at(0), at(1), gamma), right = twiceFlux(at(-1), at(0), at(1), at(2), gamma);
    const q = updated([before.rho(), before.mx(), before.E()], left, right, 2 * (-dt / (4 * dx)), gamma);
    return { rho: settled(q), mx: q[1], E: q[2] };
  }],
  speed: ({ rho, mx, E }, { gamma }) => {
    const v = mx() / rho();
    return Math.abs(v) + Math.sqrt(gamma * (gamma - 1) * (E() / rho() - 0.5 * v * v));
  },
});
