// A shock wave hits a bubble of a light gas: the Euler equations of the library in two dimensions.
//
//   warploom simulate examples/equations/bubble.mjs --film rho -o bubble
//   warploom simulate examples/equations/bubble.mjs --film rho -o fine --shape 216,72 --spacing 0.00694444
import { stencil } from 'warploom';

const gamma = 1.4, mach = 1.5;
const before = { rho: 1, u: 0, p: 1 };
// Behind a shock that moves to the right (Rankine and Hugoniot).
const rho = ((gamma + 1) * mach ** 2) / ((gamma - 1) * mach ** 2 + 2);
const after = { rho, u: Math.sqrt(gamma) * mach * (1 - 1 / rho), p: 1 + ((2 * gamma) / (gamma + 1)) * (mach ** 2 - 1) };

const bubble = { x: 0.4, y: 0.25, radius: 0.15, rho: 0.138 };
const state = (x, y) => {
  if (x < 0.15) return after;
  return Math.hypot(x - bubble.x, y - bubble.y) < bubble.radius ? { ...before, rho: bubble.rho } : before;
};
const { euler } = stencil.equations;

export default euler.inTwoDimensions();

export const options = {
  shape: [108, 36], spacing: 1 / 72, dt: { cfl: 0.4 }, until: { time: 0.3 }, snapshots: 24, parameters: { gamma },
  initial: {
    rho: (x, y) => state(x, y).rho,
    mx: (x, y) => state(x, y).rho * state(x, y).u,
    my: 0,
    E: (x, y) => state(x, y).p / (gamma - 1) + (state(x, y).rho * state(x, y).u ** 2) / 2,
  },
  boundary: { x: 'outflow', y: euler.walls.inTwoDimensions.y },
};
