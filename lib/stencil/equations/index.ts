// Equations of the library, defined as users define theirs.
export { advection } from './advection.ts';
export { burgers } from './burgers.ts';
export { euler } from './euler.ts';
export { fitzHughNagumo } from './fitzhugh-nagumo.ts';
export { grayScott } from './gray-scott.ts';
export { heat } from './heat.ts';
export { kuramotoSivashinsky } from './kuramoto-sivashinsky.ts';
export { maxwell } from './maxwell.ts';
export { shallowWater } from './shallow-water.ts';
export { wave } from './wave.ts';
