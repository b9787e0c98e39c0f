// The shallow water equations over a flat bottom, in one and two dimensions: MUSCL on depth and velocity with minmod slopes, the HLL solver
// with the speeds of Toro (Shock-Capturing Methods for Free-Surface Shallow Flows, 2001, 10.3), SSP-RK2. Water at rest stays at rest.
import { define } from '../define.ts';
import type { Equation } from '../types.ts';
import { mean } from './muscl.ts';

/** Depth, momentum along the axis of a face, momentum along the other one. */
type Water = readonly [number, number, number];

const slope = (before: number, own: number, next: number): number => {
  const [a, b] = [own - before, next - own];
  return a * b > 0 ? (a > 0 ? Math.min(a, b) : Math.max(a, b)) : 0;
};

/** The flux between depths and velocities. */
const waterFlux = (l: Water, r: Water, g: number): Water => {
  const [cl, cr] = [Math.sqrt(g * l[0]), Math.sqrt(g * r[0])];
  const root = 0.5 * (cl + cr) + 0.25 * (l[1] - r[1]);
  const middle = (root > 0 ? root * root : 0) / g;
  const sharp = (h: number): number => (middle > h ? Math.sqrt(0.5 * middle * (middle + h)) / h : 1);
  const low = Math.min(l[1] - cl * sharp(l[0]), 0);
  const high = Math.max(r[1] + cr * sharp(r[0]), 0);
  const scale = 1 / (high - low);
  const mixed = (a: number, b: number, u: number, v: number): number => (high * a - low * b + low * high * (v - u)) * scale;
  const [ml, mr] = [l[0] * l[1], r[0] * r[1]];
  const mass = mixed(ml, mr, l[0], r[0]);
  // What moves along the face is carried by the mass.
  return [mass, mixed(ml * l[1] + 0.5 * g * l[0] * l[0], mr * r[1] + 0.5 * g * r[0] * r[0], ml, mr), mass * (mass > 0 ? l[2] : r[2])];
};

const waterState = ([h, m, n]: Water): Water => [h, m / h, n / h];

const waterSlopes = (before: Water, own: Water, next: Water): Water =>
  [slope(before[0], own[0], next[0]), slope(before[1], own[1], next[1]), slope(before[2], own[2], next[2])];

/** The flux between the second and the third of four cells. */
const waterFace = (at: (k: number) => Water, k: number, g: number): Water => {
  const [before, a, b, after] = [waterState(at(k - 1)), waterState(at(k)), waterState(at(k + 1)), waterState(at(k + 2))];
  const [sa, sb] = [waterSlopes(before, a, b), waterSlopes(a, b, after)];
  return waterFlux([a[0] + 0.5 * sa[0], a[1] + 0.5 * sa[1], a[2] + 0.5 * sa[2]],
    [b[0] - 0.5 * sb[0], b[1] - 0.5 * sb[1], b[2] - 0.5 * sb[2]], g);
};

/** The change of a cell by the fluxes along one axis. */
const waterChange = (at: (k: number) => Water, ratio: number, g: number): Water => {
  const [left, right] = [waterFace(at, -1, g), waterFace(at, 0, g)];
  return [ratio * (left[0] - right[0]), ratio * (left[1] - right[1]), ratio * (left[2] - right[2])];
};

const functions = { slope, waterFlux, waterState, waterSlopes, waterFace, waterChange, mean };

/** Waves in shallow water. The depth must be above 0 everywhere, if only by a film: dry cells are not admissible. */
export const shallowWater = {
  /** Fields `h` (depth) and `hu` (depth times velocity); parameter `g`. Run it with `dt: { cfl: 0.4 }`. */
  inOneDimension: (): Equation<'h' | 'hu', 'g', never> => define({
    dimensions: 1, fields: ['h', 'hu'], parameters: ['g'], functions,
    step: [({ h, hu }, { g }, { dx, dt }) => {
      const change = waterChange((k) => [h(k), hu(k), 0], dt / dx, g);
      return { h: h() + change[0], hu: hu() + change[1] };
    }, ({ h, hu }, { g }, { dx, dt, before }) => {
      const change = waterChange((k) => [h(k), hu(k), 0], dt / dx, g);
      return { h: mean(before.h(), h() + change[0]), hu: mean(before.hu(), hu() + change[1]) };
    }],
    speed: ({ h, hu }, { g }) => Math.abs(hu() / h()) + Math.sqrt(g * h()), admissible: ({ h }) => h > 0,
  }),

  /** Fields `h`, `hu` and `hv`; parameter `g`. */
  inTwoDimensions: (): Equation<'h' | 'hu' | 'hv', 'g', never> => define({
    dimensions: 2, fields: ['h', 'hu', 'hv'], parameters: ['g'], functions,
    step: [({ h, hu, hv }, { g }, { dx, dy, dt }) => {
      const x = waterChange((k) => [h(k, 0), hu(k, 0), hv(k, 0)], dt / dx, g);
      const y = waterChange((k) => [h(0, k), hv(0, k), hu(0, k)], dt / dy, g);
      return { h: h() + (x[0] + y[0]), hu: hu() + (x[1] + y[2]), hv: hv() + (x[2] + y[1]) };
    }, ({ h, hu, hv }, { g }, { dx, dy, dt, before }) => {
      const x = waterChange((k) => [h(k, 0), hu(k, 0), hv(k, 0)], dt / dx, g);
      const y = waterChange((k) => [h(0, k), hv(0, k), hu(0, k)], dt / dy, g);
      return {
        h: mean(before.h(), h() + (x[0] + y[0])), hu: mean(before.hu(), hu() + (x[1] + y[2])),
        hv: mean(before.hv(), hv() + (x[2] + y[1])),
      };
    }],
    speed: ({ h, hu, hv }, { g }) => {
      const c = Math.sqrt(g * h());
      return { x: Math.abs(hu() / h()) + c, y: Math.abs(hv() / h()) + c };
    },
    admissible: ({ h }) => h > 0,
  }),

  /** The depth after a dam at x = 0 has broken, with depths `left` > `right` > 0 (Stoker, Water Waves, 1957, 10.8), at x / t. */
  damBreak: (left: number, right: number, g: number): (speed: number) => number => {
    const c = Math.sqrt(g * left);
    const across = (h: number): number => (h - right) * Math.sqrt((g * (h + right)) / (2 * h * right)) - 2 * (c - Math.sqrt(g * h));
    let [low, high] = [right, left];
    for (let i = 0; i < 200; i += 1) {
      const h = (low + high) / 2;
      if (across(h) > 0) high = h;
      else low = h;
    }
    const u = 2 * (c - Math.sqrt(g * low));
    const shock = (low * u) / (low - right);
    return (s) => (s < -c ? left : s < u - Math.sqrt(g * low) ? (2 * c - s) ** 2 / (9 * g) : s < shock ? low : right);
  },
} as const;
