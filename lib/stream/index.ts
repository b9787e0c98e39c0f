// The namespace `stream` of the package: the StreamIt language, from source to scheduled programs.
export { duplicate, feedbackLoop, filter, fromSource, pipeline, roundRobin, splitJoin } from './builders/index.ts';
export type {
  AnyStream, Constant, FeedbackLoopOptions, FilterOptions, ItemType, JoinPolicy, Policy, SourceOptions, SplitJoinOptions, StreamNode,
  TypedConstant,
} from './builders/index.ts';
export { collapseLinear, type LinearFilter, type LinearProgram } from './algebra/index.ts';
export { check, elaborate, parse } from './compile.ts';
export type { CheckOptions, CheckResult, Compiled, CompileOptions, ParseOptions, ParseResult, Source } from './compile.ts';
export { formatDiagnostic, ProgramError } from './diagnostics.ts';
export type { Span } from './ast.ts';
export type { SyntaxLimits } from './front/limits.ts';
export type { Diagnostic, SourceFile } from './diagnostics.ts';
export { describeGraph } from './elaborate/describe.ts';
export { defaultLimits, type ElaborationLimits } from './elaborate/limits.ts';
export type { ParameterValue, ParameterValues } from './elaborate/parameters.ts';
export { toSdf, type SdfOptions } from './elaborate/to-sdf.ts';
export type { Channel, FileFormat, GraphNode, GraphTree, StreamGraph } from './graph.ts';
export { StreamRunError } from './interpret/error.ts';
export { interpret } from './interpret/interpret.ts';
export type { Interpretation, InterpretOptions, RunLimits } from './interpret/index.ts';
export { NoCompilerError } from '../core/compile/compiler.ts';
export { deviceModes, streamBackends } from './run/backends.ts';
export type { DeviceBackend, DeviceMode, FormerBackend, ShareChoice, StreamBackend } from './run/backends.ts';
export { run } from './run/index.ts';
export type { Scalars } from './run/prepare.ts';
export type { StreamRun, StreamRunOptions } from './run/index.ts';
export { compileForDevice, type DeviceCompileOptions, type LinkRates, type TuneOptions } from './run/for-device.ts';
export type { DeviceProgram, DeviceProgramOptions, DeviceProgramRun } from './run/device-program.ts';
export type { TunedLayout, TunedLayouts } from './run/tune.ts';
export { open, sessionBackends, type SessionBackend, type StreamSessionOptions } from './session/index.ts';
export type { StreamBlock } from './session/engine.ts';
export type { StreamChunk, StreamFormOptions } from './session/forms.ts';
export type { StreamSession } from './session/session.ts';
export type { StreamPair } from './session/streams.ts';
export type { ScheduleFigures } from './run/gpu-types.ts';
export { estimateCosts } from './profile/estimate.ts';
export { profile } from './profile/index.ts';
export type { DeviceProfile, DeviceProfileOptions, Profile, ProfiledBackend, ProfileOptions } from './profile/types.ts';
export type { GpuProfile } from './profile/gpu.ts';
export { graphSvg } from './pictures/graph-svg.ts';
export { ganttSvg, type GanttBar } from './pictures/gantt-svg.ts';
// Of scheduling and partitioning: what makes a schedule or a plan, and what checks one. Their parts are for this package alone.
export {
  initFirings, pushSchedule, repetitions, ScheduleError, singleAppearanceSchedule, steadyState, validateSchedule,
} from './schedule/index.ts';
export type {
  CheckedSchedule, ScheduleErrorReason, ScheduleLimits, SchedulePlace, ScheduleProblem, SteadySchedule, SteadyState, Step,
} from './schedule/index.ts';
export { Solver, type Solution, type SolveOptions } from './schedule/solver.ts';
export {
  assignToCores, cpuCosts, partitionTasks, partitionTasksByIlp, pipelineByIlp, placesOf, planHybrid, schedulePipeline, selectConfiguration,
  validateHybrid, validatePartition, validatePipeline,
} from './partition/index.ts';
export type {
  Candidate, CheckedPipeline, Configuration, ConfigurationOptions, Contracted, CoreOptions, CorePlan, CoreSlice, CostTable, FiringPlace,
  GpuProperties,
  HeuristicOptions, HybridCheck, HybridOperation, HybridOptions, HybridPlan, HybridProblem, HybridSlice, IlpPartition, InstancePlace,
  IntervalBounds, Member, MovingCosts, Pipeline, PipelineIlpOptions, PipelineIlpResult, PipelineOptions, PipelineProblem, RuntimeTable,
  ScheduledPipeline, StageBuffer, TaskIlpOptions, TaskLoads, TaskPartition, TaskProblem, Threaded, ThreadedOptions,
} from './partition/index.ts';
export type { SdfActor, SdfChannel, SdfGraph } from './sdf.ts';
