// tridiagonal.condition: condition estimates and error bounds.
import { makeResult } from '../core/arrays.ts';
import { callChecks, deviceFor } from '../core/call.ts';
import { anything } from '../core/checks.ts';
import { briefly } from '../core/display.ts';
import { refusal } from '../core/errors.ts';
import { optionsOf, type ChecksOf } from '../core/options.ts';
import { runInfo, shapeParameters, viewOf } from '../linear/problem.ts';
import { matrixChecks, shapeChecks } from './options.ts';
import { matrixParameters, resolveProblem } from './problem.ts';
import type { CallOptions, MatrixOptions, RunInfo, ShapeOptions, Vector } from './types.ts';
import { requireVector } from '../linear/views.ts';

/** Options of {@link condition}. */
export interface ConditionOptions extends MatrixOptions, ShapeOptions, CallOptions {
  /** With `solution`: the right-hand sides for whose solutions error bounds are computed. */
  readonly rhs?: Vector;
  /** With `rhs`: the computed solutions. */
  readonly solution?: Vector;
}

/** Result of {@link condition}. */
export interface ConditionResult {
  /** 1 / (|A|_1 est(|A^-1|_1)) per system; 0 for a singular matrix. */
  readonly reciprocalCondition: Float64Array;
  /** Bound on |x - xtrue|_inf / |x|_inf, `batch * rhsCount`, system-major; only with `rhs` and `solution`. */
  readonly forwardError?: Float64Array;
  /** Componentwise backward error, same shape. */
  readonly backwardError?: Float64Array;
  readonly info: RunInfo;
}

const conditionOptions = optionsOf('tridiagonal.condition', {
  ...matrixChecks, ...shapeChecks, ...callChecks, rhs: anything, solution: anything,
} satisfies ChecksOf<ConditionOptions>);

/**
 * Reciprocal condition numbers of a batch, estimated in the 1-norm (Higham's method, LAPACK gtcon), and
 * forward error bounds of given solutions (LAPACK gtrfs).
 *
 * @throws ArgumentError naming the argument; `ERR_WARPLOOM_OUT_OF_MEMORY`; `ERR_WARPLOOM_DEVICE_LOST`
 */
export async function condition(given: ConditionOptions): Promise<ConditionResult> {
  const options = conditionOptions.read(given);
  const { rhs, solution, lower, diagonal, upper, signal, onProgress } = options;
  if ((rhs === undefined) !== (solution === undefined)) {
    throw refusal(rhs === undefined ? 'rhs' : 'solution', 'an array: error bounds need rhs and solution', 'undefined');
  }
  const bounds = rhs !== undefined && solution !== undefined;
  if (bounds) {
    requireVector(rhs, 'rhs');
    requireVector(solution, 'solution');
  }
  const problem = resolveProblem(options, bounds ? { rhs, solution } : {});
  const { batch, rhsCount } = problem.shape;
  const result = (length: number) => makeResult('float64', length) as Float64Array;
  const reciprocalCondition = result(batch);
  const outputs = bounds
    ? { forwardError: result(batch * rhsCount), backwardError: result(batch * rhsCount) } : {};
  const parameters = {
    ...shapeParameters(problem), ...matrixParameters(options, problem), reciprocalCondition, ...outputs,
    rhsCount: bounds ? rhsCount : 0,
    ...(bounds ? { rhs: viewOf(problem, 'rhs', rhs), solution: viewOf(problem, 'solution', solution) } : {}),
  };
  const device = deviceFor(options, [rhs, solution, lower, diagonal, upper]);
  const { deviceSeconds } = await device.run('tridiagonal.condition', parameters, { signal, onProgress });
  return briefly('Condition', { reciprocalCondition, ...outputs, info: runInfo(device, problem, deviceSeconds) });
}
