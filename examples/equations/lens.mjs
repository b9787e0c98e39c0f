// A wave through a lens: the wave equation with a speed that depends on the place.
//
//   warploom simulate examples/equations/lens.mjs --film u -o lens

const width = 0.03; // of the pulse
const [from, lens] = [0.1, { x: 0.55, y: 0.5, radius: 0.25, index: 1.6 }];
const pulse = (x) => Math.exp(-(((x - from) / width) ** 2));

export default {
  dimensions: 2, fields: ['u', 'v'], coefficients: ['c2'],
  rate: ({ u, v, c2 }, _, { laplacian }) => ({ u: v(), v: c2() * laplacian(u) }),
  method: 'rk4',
};

export const options = {
  shape: [240, 160], spacing: 1 / 160, dt: 1 / 320, until: { time: 1.1 }, snapshots: 44,
  // A plane pulse that moves to the right: v = -c ∂u/∂x.
  initial: { u: pulse, v: (x) => (2 * (x - from) / width ** 2) * pulse(x) },
  coefficients: { c2: (x, y) => (Math.hypot(x - lens.x, y - lens.y) < lens.radius ? 1 / lens.index ** 2 : 1) },
  boundary: { x: 'outflow', y: 'mirror' },
  units: { x: 'm', y: 'm', t: 's', u: 'Pa' },
};
