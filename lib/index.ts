// Warploom: GPU numerics for Node. All public names; each namespace is also an entry of its own (warploom/tridiagonal, …).
export * from './core/index.ts';
export * as tridiagonal from './tridiagonal/index.ts';
export { scan } from './scan/index.ts';
export type { ScanAlgorithm, ScanArray, ScanDepth, ScanOperator, ScanOptions, ScanResult } from './scan/index.ts';
export * as stencil from './stencil/index.ts';
export * as kernel from './kernel/index.ts';
export * as swept from './swept/index.ts';
export * as imaging from './imaging/index.ts';
export * as files from './files/index.ts';
export * as scratchpad from './scratchpad/index.ts';
export * as stream from './stream/index.ts';
export * as jobs from './jobs/index.ts';
export * as server from './server/index.ts';
export * as notebook from './notebook/index.ts';
