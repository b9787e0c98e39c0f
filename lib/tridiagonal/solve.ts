// tridiagonal.solve and tridiagonal.workspace.
import { callChecks, deviceFor, promised, runInto } from '../core/call.ts';
import { anything, choice } from '../core/checks.ts';
import { Device, type DeviceArray } from '../core/device.ts';
import { briefText, fieldsPlainly, inspection } from '../core/display.ts';
import { refusal } from '../core/errors.ts';
import type { Reports } from '../core/operations.gen.ts';
import { snapshot } from '../core/snapshot.ts';
import { normally, optionsOf, parametersOf, type ChecksOf, type Taken } from '../core/options.ts';
import { laidOutLike, resultFor, runInfo, viewOf, type Problem } from '../linear/problem.ts';
import type { SystemStatuses } from '../linear/status.ts';
import type { View } from '../linear/views.ts';
import { backwardErrorsLike, makeWords, statusesOf, wordBytes, type BackwardErrors, type CallWords } from '../linear/words.ts';
import { matrixChecks, shapeChecks } from './options.ts';
import { matrixParameters, resolveProblem } from './problem.ts';
import {
  depths, type Algorithm, type CallOptions, type MatrixOptions, type RunInfo,
  type ShapeOptions, type Vector,
} from './types.ts';

/** How a solve is done, and how far its result is trusted. */
export interface MethodOptions {
  /** Default `auto`. An algorithm that does not support the problem rejects with `ERR_WARPLOOM_UNSUPPORTED` and says why. */
  readonly algorithm?: Algorithm;
  /** Rows per thread of `cr-regpack`: 0 (default, policy), 2, 4, 8, 16 or 32. */
  readonly depth?: number;
  /**
   * Partial pivoting of scaled rows, corrected by residuals until every row is solved as well as rounding allows
   * (componentwise backward error at most 4 machine epsilons); with `algorithm` auto or pivoting. Default false.
   */
  readonly stable?: boolean;
  /**
   * Componentwise backward error of every system in the same call; systems above `tolerance` are solved
   * again by pivoting. Default false.
   */
  readonly check?: boolean;
  /**
   * Iterative refinement with residuals and solution in about twice the precision: for condition numbers well below 1/epsilon the
   * solution is exact except for its final rounding. Default false.
   */
  readonly refine?: boolean;
  /** Largest accepted componentwise backward error of `check`. Default 64 machine epsilons of the type. */
  readonly tolerance?: number;
}

/** Options of {@link solve}. */
export interface SolveOptions<V extends Vector = Vector>
  extends MatrixOptions, ShapeOptions, MethodOptions, CallOptions {
  /** Right-hand sides; unchanged unless `out` is the same array. */
  readonly rhs: V;
  /** Where the solution goes. Default: a new array like `rhs`, on the device if `rhs` is there. */
  readonly out?: V;
}

/** What a solve did. */
export interface SolveInfo extends RunInfo {
  readonly algorithm: Algorithm;
  /** Rows per thread; 0 if not applicable. */
  readonly depth: number;
  /** Threads per system; 1 on the cpu backend. */
  readonly threads: number;
  /** Kernel launches; 0 on the cpu backend. */
  readonly launches: number;
}

/** Result of {@link solve}. */
export interface SolveResult<V extends Vector = Vector> {
  /** Laid out as `layouts.solution`, or else like `rhs`. Failures are reported by `status`, not by NaN. */
  readonly solution: V;
  readonly status: SystemStatuses;
  /** `batch * rhsCount` entries, system-major: first row with a zero pivot or non-finite input, or -1. Created on first access. */
  readonly row: Int32Array;
  /**
   * With `check`: componentwise backward errors, `batch * rhsCount`, system-major; in device memory, to be disposed of by the
   * caller, if `rhs` is there.
   */
  readonly backwardError?: BackwardErrors<V>;
  readonly info: SolveInfo;
}

const checks = {
  ...matrixChecks, ...shapeChecks, ...callChecks, rhs: anything, out: anything, depth: normally(choice(depths), 0),
  ...parametersOf('tridiagonal.solve', 'algorithm', 'stable', 'check', 'refine', 'tolerance'),
} satisfies ChecksOf<SolveOptions>;
/** @internal */
export const solveOptions = optionsOf('tridiagonal.solve', checks, (defaults) => ({ ...defaults }));
const workspaceOptions = optionsOf('tridiagonal.workspace', checks);

interface Prepared {
  readonly problem: Problem;
  readonly parameters: Record<string, unknown> & Partial<Results>;
}

/** The parameters that a solve writes to. */
interface Results {
  status: CallWords['status'];
  row: CallWords['row'];
  summarize: boolean;
  solution: View;
  backwardError: Float64Array | DeviceArray | undefined;
}

/**
 * Solves a batch of tridiagonal systems, lower[i]*x[i-1] + diagonal[i]*x[i] + upper[i]*x[i+1] = rhs[i].
 *
 * Bands have one entry per row and may be per system, shared by the batch (n entries) or constant (a
 * number); layouts have names, see {@link Layout}. Inputs are left unchanged. Systems fail individually, as `status` reports; the
 * call rejects only for invalid arguments, lack of memory or a lost device.
 *
 * @example
 * const { solution } = await solve({
 *   lower: -1, diagonal: new Float64Array(5).fill(2), upper: -1, rhs: Float64Array.of(1, 0, 0, 0, 1),
 * });                                             // Float64Array [1, 1, 1, 1, 1]
 *
 * @throws ArgumentError (`ERR_WARPLOOM_INVALID_ARGUMENT`) naming the argument, before any work;
 *   `ERR_WARPLOOM_UNSUPPORTED` if `algorithm` does not support the problem; `ERR_WARPLOOM_OUT_OF_MEMORY`;
 *   `ERR_WARPLOOM_DEVICE_LOST`. Aborted calls reject with `signal.reason`.
 * @see Davidson, Owens: Register Packing for Cyclic Reduction (2011) for `cr-regpack`; LAPACK gtsv for `stable`.
 */
export function solve<V extends Vector>(given: SolveOptions<V>): Promise<SolveResult<V>> {
  return promised(() => start(solveOptions.read(given)));
}

/** @internal Options of a solve that were read. */
export type TakenSolveOptions<V extends Vector = Vector> = Taken<SolveOptions<V>, typeof checks>;

function start<V extends Vector>(options: TakenSolveOptions<V>): Promise<SolveResult<V>> {
  const { problem, parameters } = prepare(options);
  const { rhs, out, lower, diagonal, upper, check } = options;
  const device = deviceFor(options, [rhs, out, lower, diagonal, upper]);
  const { batch, rhsCount } = problem.shape;
  const count = batch * rhsCount;
  const solution = resultFor(problem, device, 'solution', rhs, out);
  const backwardError = check ? backwardErrorsLike(rhs, device, count) : undefined;
  const words = makeWords(count);
  parameters.status = words.status; // one by one: Object.assign takes as long as all checks of the options
  parameters.row = words.row;
  parameters.summarize = words.summarize;
  parameters.backwardError = backwardError;
  parameters.solution = viewOf(problem, 'solution', solution);
  const made = out === undefined ? [solution, backwardError] : [backwardError];
  return runInto({ device, operation: 'tridiagonal.solve', parameters, options, made }, ({ deviceSeconds, report }) =>
    new Solved(solution, statusesOf(count, rhsCount, report), backwardError, infoOf(report, runInfo(device, problem, deviceSeconds))));
}

/** @internal A result whose rows are created on first access. */
export class Solved<V extends Vector> implements SolveResult<V> {
  readonly solution: V;
  readonly status: SystemStatuses;
  declare readonly backwardError?: BackwardErrors<V>;
  readonly info: SolveInfo;

  constructor(solution: V, status: SystemStatuses, backwardError: BackwardErrors<V> | undefined, info: SolveInfo) {
    this.solution = solution;
    this.status = status;
    if (backwardError !== undefined) this.backwardError = backwardError;
    this.info = info;
  }

  get row(): Int32Array {
    return this.status.rows;
  }

  /** A line for each field, in consoles. */
  [inspection](): string {
    return briefText('Solved', this);
  }

  /** Its fields, with arrays for typed arrays. */
  toJSON(): object {
    return fieldsPlainly(this);
  }
}

/** Combines `run` with what the solve reports. */
export function infoOf({ algorithm, depth, threads, launches }: Reports['tridiagonal.solve'], run: RunInfo): SolveInfo {
  const { backend, deviceSeconds, type, n, batch } = run;
  return { backend, deviceSeconds, type, n, batch, algorithm, depth, threads, launches };
}

/**
 * Device memory that {@link solve} with the same options takes besides its arrays, in bytes.
 * @throws as {@link solve} does for invalid arguments
 */
export async function workspace(given: SolveOptions): Promise<number> {
  const taken = workspaceOptions.read(given);
  const device = deviceFor(taken, [taken.rhs, taken.out, taken.lower, taken.diagonal, taken.upper]);
  const options = Device.isOpen(device) ? taken : snapshot(taken);
  const { problem, parameters } = prepare(options);
  const { rhs, out } = options;
  if (!Device.isOpen(device)) await Device.opened(device);
  const { batch, rhsCount } = problem.shape;
  const length = batch * rhsCount;
  const solution = out === undefined ? viewOf(problem, 'rhs', rhs) : viewOf(problem, 'solution', out, 'out');
  return device.workspace('tridiagonal.solve', Object.assign(parameters, makeWords(length), { solution })) + wordBytes(length);
}

/** @internal Checks a solve. */
export function prepare(options: TakenSolveOptions): Prepared {
  const vectors = options.out === undefined ? { rhs: options.rhs } : { rhs: options.rhs, out: options.out };
  const resolved = resolveProblem(options, vectors);
  const problem = options.layouts?.solution === undefined ? laidOutLike(resolved, 'solution', 'rhs') : resolved;
  const { depth, algorithm, stable, check, refine, tolerance } = options;
  if (depth !== 0 && algorithm !== 'cr-regpack') {
    throw refusal('depth', `none with algorithm "${algorithm}" (it is the packing depth of cr-regpack)`, String(depth));
  }
  if (stable && algorithm !== 'auto' && algorithm !== 'pivoting') {
    throw refusal('algorithm', '"auto" or "pivoting" with stable: true', `"${algorithm}"`);
  }
  if (tolerance !== 0 && !check) throw refusal('tolerance', 'none without check: true', String(tolerance));
  if (options.out !== undefined) viewOf(problem, 'solution', options.out, 'out');
  const { type, offsets, shape: { n, batch, rhsCount } } = problem;
  const { lower, diagonal, upper, periodic, transpose, structure } = matrixParameters(options, problem);
  const rhs = viewOf(problem, 'rhs', options.rhs);
  // One literal with every field: objects built in several steps are slow to read.
  const parameters = {
    type, n, batch, rhsCount, offsets, lower, diagonal, upper, periodic, transpose, structure, rhs, solution: undefined,
    algorithm, depth, stable, check, refine, tolerance, status: undefined, row: undefined, summarize: undefined, backwardError: undefined,
  };
  return { problem, parameters };
}
