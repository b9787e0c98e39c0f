// Partitioning of graphs over CPU cores and the GPU, and software pipelines over processors.
export { checkCosts, cpuCosts, orderedActors, type CostTable } from './costs.ts';
export {
  checkRuntimes, selectConfiguration, type Candidate, type Configuration, type ConfigurationOptions, type RuntimeTable,
} from './configuration.ts';
export { assignToCores, placesOf, type CoreOptions, type CorePlan, type CoreSlice } from './cores.ts';
export { partitionTasks, taskUnrollFactor, type HeuristicOptions } from './heuristic.ts';
export {
  planHybrid, validateHybrid, type HybridCheck, type HybridOperation, type HybridOptions, type HybridPlan, type HybridProblem,
  type HybridSlice, type MovingCosts,
} from './hybrid/index.ts';
export {
  partitionInstances, partitionInstancesByIlp, validateInstances, type InstanceClass, type InstancePartition,
} from './instance-ilp.ts';
export { blockSizes, registerLimits, residentBlocks, type BlockNeeds, type GpuProperties } from './occupancy.ts';
export { packingBound, packJobs, type Packing } from './packing.ts';
export { validatePipeline, type CheckedPipeline, type FiringPlace } from './pipeline-check.ts';
export { partitionTasksByIlp, type IlpPartition, type TaskIlpOptions } from './task-ilp.ts';
export { fixedActors, partitionLoads, unrollTask, type TaskLoads, type TaskPartition, type TaskProblem } from './task.ts';
export { recomputeLoads, validatePartition } from './validate.ts';
export {
  cycleRatio, instancesOf, intervalBounds, unroll, unrollFactor, type Dependence, type Instances, type IntervalBounds, type PipelineProblem,
} from './instances.ts';
export {
  coarsen, packPipeline, realise, schedulePipeline, type InstancePlace, type Pipeline, type PipelineOptions, type ScheduledPipeline,
} from './pipeline.ts';
export { pipelineByIlp, type PipelineIlpOptions, type PipelineIlpResult } from './pipeline-ilp.ts';
export { contractLoops, type Contracted, type Member } from './loops.ts';
export { validateStages } from './stages-check.ts';
export { assignStages, type ChannelOperation, type StageBuffer, type StageOptions, type StagePlan, type StageProblem } from './stages.ts';
export { threaded, type Threaded, type ThreadedOptions } from './threaded.ts';
