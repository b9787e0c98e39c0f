// The namespace `scratchpad` of the package.
export { explain } from './explain.ts';
export type { Explanation } from './explain.ts';
export { optimize } from './optimize.ts';
export type { OptimizeOptions, OptimizeResult } from './options.ts';
export type { PinReason } from './ptx/values.ts';
export type {
  ArrayReport, BarrierReport, KernelReport, LiveRange, MovedPart, PartitionReport, PinnedReport, ResidencyReport, ScratchpadReport,
  SourcePlace,
} from './report.ts';
export { interference, maxBlocks, plan } from '../kernel/memory/plan.ts';
export type { PlanLimits } from '../kernel/memory/plan.ts';
export { planners } from '../kernel/memory/types.ts';
export type { Block, Partition, Plan, PlannerName, PlanProblem, PointRange } from '../kernel/memory/types.ts';
export { architectures, multiprocessors, occupancy } from '../kernel/occupancy.ts';
export type { Architecture, KernelResources, Limiter, Multiprocessor, Occupancy } from '../kernel/occupancy.ts';
