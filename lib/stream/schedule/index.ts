// Scheduling of graphs with constant rates: everything here is a pure function of SdfGraph and tables of costs.
export { gcd, kMaxFirings, repetitions, type ScheduleLimits } from './balance.ts';
export { ScheduleError, type SchedulePlace, type ScheduleErrorReason } from './error.ts';
export { initFirings } from './init.ts';
export {
  accessAt, accessPosition, deshuffle, firingOf, kBlockGroup, kWarpGroup, layoutItems, positionOf, shuffle, streamIndexOf, threadOf,
  type Access, type LayoutEnd,
} from './layout.ts';
export { actorsWithPrework, firstRates, itemsPopped, itemsPushed, type Step } from './marking.ts';
export { pushSchedule, singleAppearanceSchedule, steadyState, type SteadySchedule, type SteadyState } from './steady.ts';
export {
  adjacency, checkGraph, describeChannel, isLoop, stronglyConnected, topologicalOrder, type Adjacency, type Components,
} from './topology.ts';
export { validateSchedule, type CheckedSchedule, type ScheduleProblem } from './validate.ts';
