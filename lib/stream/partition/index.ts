// Partitioning of graphs over CPU cores and the GPU, and software pipelines over processors.
export { checkCosts, cpuCosts, peekingActors, type CostTable } from './costs.ts';
export { assignToCores, placesOf, type CoreOptions, type CorePlan, type CoreSlice } from './cores.ts';
export { validatePipeline, type CheckedPipeline, type FiringPlace } from './pipeline-check.ts';
