// One small valid call for each operation of the registry, for tests that are generated from it. Values solve -x[i-1] + 4 x[i] - x[i+1] =
// 1, or scan ones.
/** Parameters that a test may change before the call. */
export type LooseParameters = Record<string, unknown>;

/** A `view` field. */
export interface LooseView {
  data: unknown;
  imaginary?: unknown;
  offset?: number;
  extents?: readonly number[];
  strides?: readonly number[];
}

export const smallN = 5;
export const smallBatch = 3;
const elements = smallN * smallBatch;

/** Contiguous systems: as many as fit into `data`. */
export function viewOf(data: unknown, n = smallN, batch = n === 0 ? 0 : (data as { length: number }).length / n): LooseView {
  return { data, extents: [batch, n] };
}

const filled = (value: number): Float64Array => new Float64Array(elements).fill(value);
const matrix = (): LooseParameters => ({
  type: 'float64', n: smallN, batch: smallBatch,
  lower: viewOf(filled(-1)), diagonal: viewOf(filled(4)), upper: viewOf(filled(-1)),
  periodic: false, transpose: 'none', structure: 'general',
});
const words = (count = smallBatch): Int32Array => new Int32Array(count);

// cuda/tridiagonal/factor.cpp, factor_bytes(float64, smallN, smallBatch, false, pivoted).
const factorBytes = 512;

const grid = { width: smallN, height: smallBatch, depth: 1 };
/** Components of a grid's points, one component after another. */
const flat = (value: number, components = 1): LooseView => ({
  data: new Float64Array(components * elements).fill(value),
});

const builders: Record<string, () => LooseParameters> = {
  'tridiagonal.solve': () => ({
    ...matrix(), rhsCount: 1, rhs: viewOf(filled(1)), solution: viewOf(filled(0)), algorithm: 'auto', depth: 0,
    stable: false, check: true, refine: false, tolerance: 0, status: words(), row: words(),
    backwardError: new Float64Array(smallBatch), summarize: true,
  }),
  'tridiagonal.factor': () => ({
    ...matrix(), factorisation: 'pivoted', factors: new Uint8Array(factorBytes), status: words(), row: words(), summarize: true,
  }),
  'tridiagonal.solve_factored': () => ({
    ...matrix(), rhsCount: 1, factorisation: 'pivoted', shared: false, check: true, tolerance: 0,
    factors: new Uint8Array(factorBytes), rhs: viewOf(filled(1)), solution: viewOf(filled(0)), status: words(), row: words(),
    backwardError: new Float64Array(smallBatch), summarize: true,
  }),
  'tridiagonal.multiply': () => ({
    ...matrix(), rhsCount: 1, x: viewOf(filled(1)), y: viewOf(filled(0)), alpha: 1, beta: 0,
  }),
  'tridiagonal.condition': () => ({
    ...matrix(), rhsCount: 1, rhs: viewOf(filled(1)), solution: viewOf(filled(0.5)),
    reciprocalCondition: new Float64Array(smallBatch), forwardError: new Float64Array(smallBatch),
    backwardError: new Float64Array(smallBatch),
  }),
  'tridiagonal.vjp': () => ({
    ...matrix(), rhsCount: 1, cotangent: viewOf(filled(1)), solution: viewOf(filled(0.5)), rhsGradient: viewOf(filled(0)),
    lowerGradient: viewOf(filled(0)), diagonalGradient: viewOf(filled(0)), upperGradient: viewOf(filled(0)), stable: false,
    status: words(), row: words(), summarize: true,
  }),
  'scan.prefix': () => ({
    type: 'float64', n: smallN, batch: smallBatch, operator: 'sum', exclusive: false, algorithm: 'auto', depth: 0,
    radix: 2, flags: new Uint8Array(elements), values: flat(1),
    result: flat(0),
  }),
  'swept.advance': () => ({
    type: 'float64', equation: 'euler', variant: 'auto', n: smallN, batch: 1, steps: 2, left: 'reflective', right: 'reflective',
    dx: 1, dt: 0.1, diffusivity: 1, gamma: 1.4, limiter: 'minmod', check: true, points: 0, depth: 0, threads: 0,
    state: flat(1),
    next: flat(0),
  }),
  'swept.measure': () => ({
    type: 'float64', n: smallN, rows: smallBatch,
    state: flat(1),
  }),
  'imaging.cosine': () => ({ type: 'float64', ...grid, channels: 1, inverse: false, values: flat(1), result: flat(0) }),
  'imaging.resample': () => ({
    type: 'float64', ...grid, channels: 1, halveX: true, halveY: true, halveZ: true, up: false, values: flat(1),
    result: { ...flat(0), data: new Float64Array(6) },
  }),
  'imaging.warp': () => ({
    type: 'float64', ...grid, channels: 1, relative: true, count: elements, image: flat(1), positions: flat(0, 2), result: flat(0),
  }),
  'imaging.jacobian': () => ({
    type: 'float64', ...grid, displacement: flat(0, 2), result: flat(0),
  }),
  'imaging.registration': () => ({
    type: 'float64', ...grid, channels: 1, variant: 'semi-implicit', measure: 'ssd', alpha: 0.1, step: 1, accelerate: true, stepScale: 1,
    iterations: 2, tolerance: 0, reference: flat(1), template: flat(1), initial: flat(0, 2), result: flat(0, 2),
  }),
  'imaging.curvature': () => ({
    type: 'float64', ...grid, channels: 1, coupled: true, eps: 1e-4, variant: 'auto',
    image: flat(1),
    result: flat(0),
  }),
  'imaging.denoise': () => ({
    type: 'float64', ...grid, channels: 1, coupled: true, method: 'primal-dual', noise: 'gaussian',
    variant: 'auto', weight: 0.1, sigma: 0, eps: 1e-4, dt: 0, tolerance: 1e-4, iterations: 4, checkEvery: 2, fill: false,
    image: flat(1),
    result: flat(0),
  }),
  'imaging.segment': () => ({
    type: 'float64', ...grid, channels: 1, variant: 'auto', step: 'semi-implicit', initial: 'given', square: 2,
    x0: 0, y0: 0, z0: 0, x1: 0, y1: 0, z1: 0, radius: 1, normalize: true, mu: 0.25, nu: 0, lambda1: 1, lambda2: 1, epsilon: 1,
    eta: 1e-16, dt: 0.5, tolerance: 0, iterations: 3, energyEvery: 0, reinitializeEvery: 0, reinitializeSteps: 1,
    image: flat(1), given: flat(1), levelSet: flat(0), weights: Float64Array.of(1), mask: new Uint8Array(elements),
  }),
};

/** Views that a call may leave out. */
export const optionalViews: ReadonlySet<string> = new Set(['imaging.registration initial', 'imaging.jacobian result']);

/** Names of the operations that have an entry here; a test compares them with the registry. */
export const coveredOperations = Object.keys(builders);

/** Fresh valid parameters of an operation. */
export function validParameters(operation: string): LooseParameters {
  return builders[operation]!();
}
