// The namespace `stencil` of the package.
export { define } from './define.ts';
export * as equations from './equations/index.ts';
export { inspect, simulate } from './simulate.ts';
export type { Inspection } from './request.ts';
export type { InspectOptions } from './simulate.ts';
export { Run } from './run.ts';
export { methods, stencilBackends, stencilVariants } from './types.ts';
export type {
  AdaptiveStep, Admissible, AxisConditions, Boundary, BoundaryFunction, BoundaryTools, BoundaryValue, CellValues, Condition, Definition,
  Diffusivity, Dimensions, Equation, FieldConditions, Method, Numbers, Place, Rate, Reader, Readers, RealArray, RunBackend, RunCallOptions,
  RunInfo, RunOptions, ShapeInfo, SimulateOptions, Speed, State, StencilBackend, StencilSnapshot, StencilVariant, Step, StepTools, Tools,
} from './types.ts';
export type { SnapshotOptions } from '../core/goals.ts';
