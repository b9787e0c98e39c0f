// tridiagonal.multiply: products with batches of tridiagonal matrices.
import { describeValue } from '../core/arrays.ts';
import { callChecks, deviceFor, promised, runInto } from '../core/call.ts';
import { anything } from '../core/checks.ts';
import { briefly } from '../core/display.ts';
import { refusal } from '../core/errors.ts';
import { optionsOf, parametersOf, type ChecksOf, type Taken } from '../core/options.ts';
import { laidOutLike, runInfo, shapeParameters, viewOf, resultFor, type Problem } from '../linear/problem.ts';
import { matrixChecks, shapeChecks } from './options.ts';
import { matrixParameters, resolveProblem } from './problem.ts';
import type { CallOptions, MatrixOptions, RunInfo, ShapeOptions, Vector } from './types.ts';
import { requireVector } from '../linear/views.ts';

/** Options of {@link multiply}. */
export interface MultiplyOptions<V extends Vector = Vector> extends MatrixOptions, ShapeOptions, CallOptions {
  /** The vectors to multiply; left unchanged. */
  readonly x: V;
  /** Read if `beta` is not zero, and overwritten with the product. Default: a new array like `x`. */
  readonly y?: V;
  /** Default 1. */
  readonly alpha?: number;
  /** Default 0. */
  readonly beta?: number;
}

/** Result of {@link multiply}. */
export interface MultiplyResult<V extends Vector = Vector> {
  /** The array given as `y`, or a new one. */
  readonly y: V;
  readonly info: RunInfo;
}

const checks = {
  ...matrixChecks, ...shapeChecks, ...callChecks, x: anything, y: anything, ...parametersOf('tridiagonal.multiply', 'alpha', 'beta'),
} satisfies ChecksOf<MultiplyOptions>;
/** @internal */
export const multiplyOptions = optionsOf('tridiagonal.multiply', checks);

/**
 * y = alpha * op(A) * x + beta * y for every system and right-hand side (LAPACK lagtm with free factors).
 * Bands, layouts and options are those of `solve`; `x` and `y` must not overlap.
 *
 * @throws ArgumentError naming the argument; `ERR_WARPLOOM_OUT_OF_MEMORY`; `ERR_WARPLOOM_DEVICE_LOST`
 */
export function multiply<V extends Vector>(given: MultiplyOptions<V>): Promise<MultiplyResult<V>> {
  return promised(() => start(multiplyOptions.read(given)));
}

/** @internal Options of a multiplication that were read. */
export type TakenMultiplyOptions<V extends Vector = Vector> = Taken<MultiplyOptions<V>, typeof checks>;

/** @internal Checks a multiplication. */
export function prepare(options: TakenMultiplyOptions): { readonly problem: Problem; readonly parameters: Record<string, unknown> } {
  const { x, alpha, beta } = options;
  requireVector(x, 'x');
  if (options.y === undefined && beta !== 0) throw refusal('y', `an array with beta ${describeValue(beta)}`, 'undefined');
  const resolved = resolveProblem(options, options.y === undefined ? { x } : { x, y: options.y });
  const problem = options.layouts?.y === undefined ? laidOutLike(resolved, 'y', 'x') : resolved;
  const parameters = Object.assign(shapeParameters(problem), matrixParameters(options, problem), {
    rhsCount: problem.shape.rhsCount, x: viewOf(problem, 'x', x), alpha, beta,
  });
  if (options.y !== undefined) viewOf(problem, 'y', options.y);
  return { problem, parameters };
}

function start<V extends Vector>(options: TakenMultiplyOptions<V>): Promise<MultiplyResult<V>> {
  const { x, lower, diagonal, upper } = options;
  const { problem, parameters } = prepare(options);
  const device = deviceFor(options, [x, options.y, lower, diagonal, upper]);
  const y = resultFor(problem, device, 'y', x, options.y);
  Object.assign(parameters, { y: viewOf(problem, 'y', y) });
  const made = options.y === undefined ? [y] : [];
  return runInto({ device, operation: 'tridiagonal.multiply', parameters, options, made }, ({ deviceSeconds }) =>
    briefly('Product', { y, info: runInfo(device, problem, deviceSeconds) }));
}
