// The namespace `tridiagonal` of the package.
import './batched.ts';
import './batched-spline.ts';
export { solve, workspace } from './solve.ts';
export type { MethodOptions, SolveInfo, SolveOptions, SolveResult } from './solve.ts';
export { factorisations, plan, Plan } from './plan.ts';
export type { Factorisation, PlanOptions, PlanSolveOptions, PlanSolveResult } from './plan.ts';
export { multiply } from './multiply.ts';
export type { MultiplyOptions, MultiplyResult } from './multiply.ts';
export { condition } from './condition.ts';
export type { ConditionOptions, ConditionResult } from './condition.ts';
export { vjp } from './vjp.ts';
export type { VjpOptions, VjpResult } from './vjp.ts';
export { CubicSpline, cubicSpline } from './cubic-spline.ts';
export type { EvaluateOptions, SplineBoundary, SplineOptions } from './cubic-spline.ts';
export { HeatAdi } from './heat-adi.ts';
export type { HeatAdiOptions, HeatBoundary } from './heat-adi.ts';
export { fitModel, model, modelCoefficients, paperCoefficients } from './model.ts';
export type { ModelOptions, ModelPrediction, ModelSample } from './model.ts';
export { formatPolicy, readPolicy, tune, writePolicy } from './tune.ts';
export type { TunedPolicy, TuneOptions, TuneRow } from './tune.ts';
export { stateOf, SystemStatuses, wasResolvedByPivoting } from '../linear/status.ts';
export type { BackwardErrors } from '../linear/words.ts';
export type { NotedWords, StatusCounts, SystemOutcome, SystemState } from '../linear/status.ts';
export { algorithms, depths, elementTypes, structures, transposes } from './types.ts';
export type {
  Algorithm, ArrayName, Band, CallOptions, ComplexNumber, Depth, ElementType, Layout, MatrixOptions, ModelCoefficients, RealArray, RunInfo,
  ShapeOptions, SplitComplex, Strides, Structure, Transpose, Vector,
} from './types.ts';
