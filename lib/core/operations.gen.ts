// Made by scripts/generate-operations.mjs from the addon's metadata (visit() of cuda/**/*.h): change it there.
import type { Rows } from './rows.ts';

/** What parameters choose from, in the order of the C++ enumerations. */
export const choices = {
  'tridiagonal.solve': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
    transpose: ['none', 'transpose', 'conjugate'],
    structure: ['general', 'positive-definite'],
    algorithm: ['auto', 'cr', 'pcr', 'cr-pcr', 'pcr-thomas', 'thomas', 'cr-regpack', 'pivoting', 'partition'],
  },
  'tridiagonal.factor': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
    transpose: ['none', 'transpose', 'conjugate'],
    structure: ['general', 'positive-definite'],
    factorisation: ['regpack', 'pivoted', 'cholesky'],
  },
  'tridiagonal.solve_factored': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
    factorisation: ['regpack', 'pivoted', 'cholesky'],
    transpose: ['none', 'transpose', 'conjugate'],
    structure: ['general', 'positive-definite'],
  },
  'tridiagonal.multiply': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
    transpose: ['none', 'transpose', 'conjugate'],
    structure: ['general', 'positive-definite'],
  },
  'tridiagonal.condition': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
    transpose: ['none', 'transpose', 'conjugate'],
    structure: ['general', 'positive-definite'],
  },
  'tridiagonal.vjp': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
    transpose: ['none', 'transpose', 'conjugate'],
    structure: ['general', 'positive-definite'],
  },
  'scan.prefix': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
    operator: ['sum', 'product', 'max'],
    algorithm: ['auto', 'regpack', 'shared'],
  },
  'swept.advance': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
    equation: ['heat', 'kuramoto-sivashinsky', 'euler'],
    variant: ['auto', 'classic', 'classic-graph', 'shared', 'hybrid', 'register', 'tiled', 'cpu-classic', 'cpu-tiled'],
    left: ['periodic', 'reflective', 'dirichlet', 'outflow'],
    right: ['periodic', 'reflective', 'dirichlet', 'outflow'],
    limiter: ['paper', 'minmod', 'van-leer', 'mc'],
  },
  'swept.measure': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
  },
  'imaging.cosine': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
  },
  'imaging.resample': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
  },
  'imaging.warp': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
  },
  'imaging.jacobian': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
  },
  'imaging.registration': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
    variant: ['semi-implicit', 'explicit'],
    measure: ['ssd', 'ncc'],
  },
  'imaging.curvature': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
    variant: ['auto', 'direct', 'tile', 'march'],
  },
  'imaging.denoise': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
    method: ['primal-dual', 'flow'],
    noise: ['gaussian', 'impulse'],
    variant: ['auto', 'direct', 'march'],
  },
  'imaging.segment': {
    type: ['float32', 'float64', 'complex64', 'complex128'],
    variant: ['auto', 'direct', 'march', 'cpu'],
    step: ['semi-implicit', 'explicit'],
    initial: ['given', 'checkerboard', 'ball', 'box'],
  },
} as const;

/** What parameters are when they are left out, and the numbers that they may be (finite ones in any case). */
export const parameters = {
  'tridiagonal.solve': {
    type: { default: 'float64' },
    n: { default: 0, whole: true, least: 0, most: 2147483647 },
    batch: { default: 0, whole: true, least: 0 },
    rhsCount: { default: 1, whole: true, least: 0 },
    periodic: { default: false },
    transpose: { default: 'none' },
    structure: { default: 'general' },
    algorithm: { default: 'auto' },
    depth: { default: 0, whole: true, least: 0, most: 32 },
    stable: { default: false },
    check: { default: false },
    refine: { default: false },
    tolerance: { default: 0, least: 0 },
    summarize: { default: false },
  },
  'tridiagonal.factor': {
    type: { default: 'float64' },
    n: { default: 0, whole: true, least: 0, most: 2147483647 },
    batch: { default: 0, whole: true, least: 0 },
    periodic: { default: false },
    transpose: { default: 'none' },
    structure: { default: 'general' },
    factorisation: { default: 'regpack' },
    summarize: { default: false },
  },
  'tridiagonal.solve_factored': {
    type: { default: 'float64' },
    n: { default: 0, whole: true, least: 0, most: 2147483647 },
    batch: { default: 0, whole: true, least: 0 },
    rhsCount: { default: 1, whole: true, least: 0 },
    periodic: { default: false },
    factorisation: { default: 'regpack' },
    shared: { default: false },
    transpose: { default: 'none' },
    structure: { default: 'general' },
    check: { default: false },
    tolerance: { default: 0, least: 0 },
    summarize: { default: false },
  },
  'tridiagonal.multiply': {
    type: { default: 'float64' },
    n: { default: 0, whole: true, least: 0, most: 2147483647 },
    batch: { default: 0, whole: true, least: 0 },
    rhsCount: { default: 1, whole: true, least: 0 },
    periodic: { default: false },
    transpose: { default: 'none' },
    structure: { default: 'general' },
    alpha: { default: 1 },
    beta: { default: 0 },
  },
  'tridiagonal.condition': {
    type: { default: 'float64' },
    n: { default: 0, whole: true, least: 0, most: 2147483647 },
    batch: { default: 0, whole: true, least: 0 },
    rhsCount: { default: 0, whole: true, least: 0 },
    periodic: { default: false },
    transpose: { default: 'none' },
    structure: { default: 'general' },
  },
  'tridiagonal.vjp': {
    type: { default: 'float64' },
    n: { default: 0, whole: true, least: 0, most: 2147483647 },
    batch: { default: 0, whole: true, least: 0 },
    rhsCount: { default: 1, whole: true, least: 0 },
    periodic: { default: false },
    transpose: { default: 'none' },
    structure: { default: 'general' },
    stable: { default: false },
    summarize: { default: false },
  },
  'scan.prefix': {
    type: { default: 'float64' },
    n: { default: 0, whole: true, least: 0 },
    batch: { default: 1, whole: true, least: 0 },
    operator: { default: 'sum' },
    exclusive: { default: false },
    algorithm: { default: 'auto' },
    depth: { default: 0, whole: true, least: 0, most: 32 },
    radix: { default: 2, whole: true, least: 2, most: 4 },
  },
  'swept.advance': {
    type: { default: 'float64' },
    equation: { default: 'heat' },
    variant: { default: 'auto' },
    n: { default: 0, whole: true },
    batch: { default: 1, whole: true, least: 0 },
    steps: { default: 0, whole: true, least: 0, most: 1073741824 },
    left: { default: 'periodic' },
    right: { default: 'periodic' },
    dx: { default: 1, above: 0 },
    dt: { default: 1, above: 0 },
    diffusivity: { default: 1 },
    gamma: { default: 1.4 },
    limiter: { default: 'minmod' },
    check: { default: true },
    points: { default: 0, whole: true, least: 0 },
    depth: { default: 0, whole: true, least: 0 },
    threads: { default: 0, whole: true, least: 0, most: 1024 },
  },
  'swept.measure': {
    type: { default: 'float64' },
    n: { default: 0, whole: true, least: 1 },
    rows: { default: 0, whole: true, least: 0 },
  },
  'imaging.cosine': {
    type: { default: 'float64' },
    width: { default: 1, whole: true, least: 1, most: 65536 },
    height: { default: 1, whole: true, least: 1, most: 65536 },
    depth: { default: 1, whole: true, least: 1, most: 65536 },
    channels: { default: 1, whole: true, least: 1, most: 1073741824 },
    inverse: { default: false },
  },
  'imaging.resample': {
    type: { default: 'float32' },
    width: { default: 1, whole: true, least: 1, most: 1073741824 },
    height: { default: 1, whole: true, least: 1, most: 1073741824 },
    depth: { default: 1, whole: true, least: 1, most: 1073741824 },
    channels: { default: 1, whole: true, least: 1, most: 1073741824 },
    halveX: { default: true },
    halveY: { default: true },
    halveZ: { default: true },
    up: { default: false },
  },
  'imaging.warp': {
    type: { default: 'float32' },
    width: { default: 1, whole: true, least: 1, most: 1073741824 },
    height: { default: 1, whole: true, least: 1, most: 1073741824 },
    depth: { default: 1, whole: true, least: 1, most: 1073741824 },
    channels: { default: 1, whole: true, least: 1, most: 1073741824 },
    relative: { default: true },
    count: { default: 0, whole: true, least: 0, most: 2147483647 },
  },
  'imaging.jacobian': {
    type: { default: 'float32' },
    width: { default: 1, whole: true, least: 1, most: 1073741824 },
    height: { default: 1, whole: true, least: 1, most: 1073741824 },
    depth: { default: 1, whole: true, least: 1, most: 1073741824 },
  },
  'imaging.registration': {
    type: { default: 'float32' },
    width: { default: 1, whole: true, least: 1, most: 65536 },
    height: { default: 1, whole: true, least: 1, most: 65536 },
    depth: { default: 1, whole: true, least: 1, most: 65536 },
    channels: { default: 1, whole: true, least: 1, most: 1073741824 },
    spacingX: { default: 1, least: 1e-9, most: 1000000000 },
    spacingY: { default: 1, least: 1e-9, most: 1000000000 },
    spacingZ: { default: 1, least: 1e-9, most: 1000000000 },
    variant: { default: 'semi-implicit' },
    measure: { default: 'ssd' },
    alpha: { default: 0.1, above: 0 },
    step: { default: 0, least: 0 },
    accelerate: { default: true },
    stepScale: { default: 1, above: 0 },
    iterations: { default: 50, whole: true, least: 0, most: 10000000 },
    tolerance: { default: 0, least: 0 },
  },
  'imaging.curvature': {
    type: { default: 'float32' },
    width: { default: 1, whole: true, least: 1, most: 1073741824 },
    height: { default: 1, whole: true, least: 1, most: 1073741824 },
    depth: { default: 1, whole: true, least: 1, most: 1073741824 },
    spacingX: { default: 1, least: 1e-9, most: 1000000000 },
    spacingY: { default: 1, least: 1e-9, most: 1000000000 },
    spacingZ: { default: 1, least: 1e-9, most: 1000000000 },
    channels: { default: 1, whole: true, least: 1, most: 4096 },
    coupled: { default: true },
    eps: { default: 0.0001, least: 1e-30, most: 1e+30 },
    variant: { default: 'auto' },
  },
  'imaging.denoise': {
    type: { default: 'float32' },
    width: { default: 1, whole: true, least: 1, most: 1073741824 },
    height: { default: 1, whole: true, least: 1, most: 1073741824 },
    depth: { default: 1, whole: true, least: 1, most: 1073741824 },
    spacingX: { default: 1, least: 1e-9, most: 1000000000 },
    spacingY: { default: 1, least: 1e-9, most: 1000000000 },
    spacingZ: { default: 1, least: 1e-9, most: 1000000000 },
    channels: { default: 1, whole: true, least: 1, most: 4096 },
    coupled: { default: true },
    method: { default: 'primal-dual' },
    noise: { default: 'gaussian' },
    variant: { default: 'auto' },
    weight: { default: 0, least: 0 },
    sigma: { default: 0, least: 0 },
    eps: { default: 0.0001, least: 1e-30, most: 1e+30 },
    dt: { default: 0, least: 0 },
    tolerance: { default: 0.0001, least: 0 },
    iterations: { default: 500, whole: true, least: 1, most: 1000000 },
    checkEvery: { default: 10, whole: true, least: 1, most: 1000 },
    fill: { default: false },
  },
  'imaging.segment': {
    type: { default: 'float32' },
    width: { default: 1, whole: true, least: 1, most: 1073741824 },
    height: { default: 1, whole: true, least: 1, most: 1073741824 },
    depth: { default: 1, whole: true, least: 1, most: 1073741824 },
    spacingX: { default: 1, least: 1e-9, most: 1000000000 },
    spacingY: { default: 1, least: 1e-9, most: 1000000000 },
    spacingZ: { default: 1, least: 1e-9, most: 1000000000 },
    channels: { default: 1, whole: true, least: 1, most: 256 },
    variant: { default: 'auto' },
    step: { default: 'semi-implicit' },
    initial: { default: 'checkerboard' },
    square: { default: 5 },
    x0: { default: 0 },
    y0: { default: 0 },
    z0: { default: 0 },
    x1: { default: 0 },
    y1: { default: 0 },
    z1: { default: 0 },
    radius: { default: 1 },
    normalize: { default: true },
    mu: { default: 0.25, least: 0, most: 1000000 },
    nu: { default: 0, least: -1000000, most: 1000000 },
    lambda1: { default: 1, least: 0, most: 1000000 },
    lambda2: { default: 1, least: 0, most: 1000000 },
    epsilon: { default: 1, least: 0.001, most: 1000 },
    eta: { default: 1e-16, least: 1e-30, most: 1 },
    dt: { default: 0.5, least: 0.000001, most: 1000000 },
    tolerance: { default: 0.001, least: 0, most: 1000000 },
    iterations: { default: 500, whole: true, least: 0, most: 16777216 },
    energyEvery: { default: 0, whole: true, least: 0, most: 16777216 },
    reinitializeEvery: { default: 0, whole: true, least: 0, most: 16777216 },
    reinitializeSteps: { default: 10, whole: true, least: 1, most: 1000 },
  },
} as const;

/**
 * The words of fields that several operations have, all of them alike, for what stands below their domains: choices,
 * and arrays with a word for each outcome (its state in the low byte, above it flags, the first the lowest bit).
 */
export const common = {
  type: ['float32', 'float64', 'complex64', 'complex128'],
  transpose: ['none', 'transpose', 'conjugate'],
  structure: ['general', 'positive-definite'],
  status: {
    states: ['ok', 'zero-pivot', 'non-finite', 'inaccurate'],
    flags: ['resolvedByPivoting'],
  },
  factorisation: ['regpack', 'pivoted', 'cholesky'],
} as const;

/** Records, and rows of them, that several operations report, all of them alike. */
export interface CommonReports {
  readonly summary: {
    readonly zeroPivots: number;
    readonly nonFinites: number;
    readonly inaccurates: number;
    readonly resolved: number;
    readonly firstFailed: number;
    readonly firstWord: number;
    readonly firstRow: number;
  } | undefined;
  readonly noted: Rows<{ readonly place: number; readonly word: number; readonly row: number }> | undefined;
}

/**
 * What operations report of a call, beside the arrays they write: the report structs in
 * cuda/<domain>/<operation>.h say what each field means.
 */
export interface Reports {
  'tridiagonal.solve': {
    readonly algorithm:
      | 'auto' | 'cr' | 'pcr' | 'cr-pcr' | 'pcr-thomas' | 'thomas' | 'cr-regpack' | 'pivoting' | 'partition';
    readonly depth: number;
    readonly threads: number;
    readonly launches: number;
    readonly summary: CommonReports['summary'];
    readonly noted: CommonReports['noted'];
  };
  'tridiagonal.factor': {
    readonly summary: CommonReports['summary'];
    readonly noted: CommonReports['noted'];
  };
  'tridiagonal.solve_factored': {
    readonly summary: CommonReports['summary'];
    readonly noted: CommonReports['noted'];
  };
  'tridiagonal.multiply': Readonly<Record<string, never>>;
  'tridiagonal.condition': Readonly<Record<string, never>>;
  'tridiagonal.vjp': {
    readonly algorithm:
      | 'auto' | 'cr' | 'pcr' | 'cr-pcr' | 'pcr-thomas' | 'thomas' | 'cr-regpack' | 'pivoting' | 'partition';
    readonly depth: number;
    readonly threads: number;
    readonly launches: number;
    readonly summary: CommonReports['summary'];
    readonly noted: CommonReports['noted'];
  };
  'scan.prefix': Readonly<Record<string, never>>;
  'swept.advance': {
    readonly variant:
      | 'auto' | 'classic' | 'classic-graph' | 'shared' | 'hybrid' | 'register' | 'tiled' | 'cpu-classic' | 'cpu-tiled';
    readonly points: number;
    readonly depth: number;
    readonly threads: number;
    readonly completed: number;
    readonly firstBad: number;
  };
  'swept.measure': {
    readonly rows: Rows<{
      readonly sum: number;
      readonly trapezoid: number;
      readonly absoluteSum: number;
      readonly squareSum: number;
      readonly least: number;
      readonly most: number;
    }>;
  };
  'imaging.cosine': Readonly<Record<string, never>>;
  'imaging.resample': Readonly<Record<string, never>>;
  'imaging.warp': Readonly<Record<string, never>>;
  'imaging.jacobian': {
    readonly bounds: {
      readonly least: number;
      readonly most: number;
      readonly folded: number;
      readonly unknown: number;
    };
  };
  'imaging.registration': {
    readonly iterations: number;
    readonly converged: boolean;
    readonly step: number;
    readonly history: Rows<{ readonly value: number }>;
  };
  'imaging.curvature': {
    readonly variant: 'auto' | 'direct' | 'tile' | 'march';
  };
  'imaging.denoise': {
    readonly variant: 'auto' | 'direct' | 'march';
    readonly iterations: number;
    readonly converged: boolean;
    readonly filled: number;
    readonly solutions: number;
    readonly weight: number;
    readonly sigma: number;
    readonly energy: number;
    readonly gap: number;
    readonly residual: number;
    readonly dt: number;
    readonly history: Rows<{ readonly iteration: number; readonly energy: number; readonly measure: number }>;
  };
  'imaging.segment': {
    readonly variant: 'auto' | 'direct' | 'march' | 'cpu';
    readonly iterations: number;
    readonly converged: boolean;
    readonly energy: number;
    readonly change: number;
    readonly inside: number;
    readonly valid: number;
    readonly means: Rows<{ readonly inside: number; readonly outside: number }>;
    readonly history: Rows<{ readonly iteration: number; readonly energy: number }>;
  };
}

/** Name of an operation, `domain.operation` as in cuda/core/operations.inc. */
export type OperationName = keyof Reports;
