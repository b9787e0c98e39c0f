// The namespace `swept` of the package.
export { euler, heat, kuramotoSivashinsky } from './create.ts';
export { GasSimulation, HeatSimulation, restore, WaveSimulation } from './simulations.ts';
export type { AnySimulation, RestoreOptions } from './simulations.ts';
export { Simulation } from './simulation.ts';
export { Figures } from './measure.ts';
export type { Place, RowFigures } from './measure.ts';
export { exactRiemann, heatModeFactor, heatSeries, kuramotoSivashinskyGrowth, RiemannSolution } from './exact.ts';
export type { GridSteps, Growth, HeatModeOptions, HeatSeriesOptions } from './exact.ts';
export { cflLimits, fourierLimit, kuramotoSivashinskyLimit } from './stability.ts';
export type { SnapshotOptions } from '../core/goals.ts';
export { boundaries, equations, limiters, variants } from './types.ts';
export type {
  BoundaryName, BoundaryOption, CommonOptions, End, EquationName, EulerOptions, GasFields, GasInitial, GasState, GasTotals, HeatInitial,
  HeatOptions, KuramotoSivashinskyOptions, Limiter, Norms, RealArray, Setup, SimulationInfo, Snapshot,
  StabilityWarning, Totals, Variant, WaveInitial,
} from './types.ts';
