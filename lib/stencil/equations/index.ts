// Equations of the library, defined as users define theirs.
export { advection } from './advection.ts';
export { burgers } from './burgers.ts';
export { euler } from './euler.ts';
export { grayScott } from './gray-scott.ts';
export { heat } from './heat.ts';
export { wave } from './wave.ts';
