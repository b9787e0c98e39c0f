// Made by scripts/generate-operations.mjs from the addon's metadata (visit() of cuda/**/*.h): change it there.

/** What parameters choose from, in the order of the C++ enumerations: reports name them by number. */
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

/** Name of an operation, `domain.operation` as in cuda/core/operations.inc. */
export type OperationName = keyof typeof choices;
