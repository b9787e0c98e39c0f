// What the public functions load when they are first called.
export { compileKernel } from './compile.ts';
export { mapArrays } from './map.ts';
export { reduceArrays } from './reduce.ts';
