// warploom/browser: what runs in a page, as one module without imports (scripts/build-browser.mjs). The CPU backend is WebAssembly there.
export { load } from './binding.ts';
export * from '../core/index.ts';
export * as tridiagonal from '../tridiagonal/index.ts';
export { scan } from '../scan/index.ts';
export type { ScanAlgorithm, ScanArray, ScanDepth, ScanOperator, ScanOptions, ScanResult } from '../scan/index.ts';
export * as stencil from '../stencil/index.ts';
export * as kernel from '../kernel/index.ts';
export * as swept from '../swept/index.ts';
