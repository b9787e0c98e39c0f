// Public names of the domain `scan`.
import './batched.ts';
export { scan, scanAlgorithms, scanDepths, scanOperators } from './prefix.ts';
export type { ScanAlgorithm, ScanArray, ScanDepth, ScanOperator, ScanOptions, ScanResult } from './prefix.ts';
