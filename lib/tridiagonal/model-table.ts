// Coefficients of the register-packing model per architecture and element type, as refitted to the
// compiler's reports by `npm run bench -- tridiagonal --table1`.
import type { ModelCoefficients } from './types.ts';

/** Architecture, then element type. */
export const modelTable: Readonly<Record<string, Partial<Record<'float32' | 'float64', ModelCoefficients>>>> = {
  sm_90: {
    float32: {
      alpha: 87.53, beta: 5.085, gamma: 0, gammaPerRow: 16, lambda: 24,
      source: 'ptxas of nvcc 13.0, off by at most 18 registers',
    },
    float64: {
      alpha: 79.39, beta: 10.75, gamma: 0, gammaPerRow: 32, lambda: 48,
      source: 'ptxas of nvcc 13.0, off by at most 5 registers',
    },
  },
};
