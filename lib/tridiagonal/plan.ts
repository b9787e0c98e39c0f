// tridiagonal.plan: factor once, solve many.
import { z } from 'zod';
import type { DeviceArray } from '../core/device-array.ts';
import { resultArray, type Device } from '../core/device.ts';
import { ArgumentError, WarploomError } from '../core/errors.ts';
import { arrayField, callFields, matrixFields, parseOptions, shapeFields } from './options.ts';
import {
  laidOutLike, matrixParameters, resolveDevice, resolveProblem, runInfo, shapeParameters, viewOf, withResult, type Problem,
} from './problem.ts';
import { SystemStatuses } from './status.ts';
import type { CallOptions, ElementType, MatrixOptions, RunInfo, ShapeOptions, Vector } from './types.ts';
import { isSplit, requireVector } from './views.ts';

/**
 * What a plan keeps: `regpack` the multipliers of cyclic reduction (no pivoting), `pivoted` LAPACK gttrf's
 * factors, `cholesky` L D L^H of a positive definite matrix.
 */
export type Factorisation = (typeof factorisations)[number];

/** Every value of {@link Factorisation}. */
export const factorisations = ['regpack', 'pivoted', 'cholesky'] as const;

/** Options of {@link plan}. */
export interface PlanOptions extends MatrixOptions, Omit<ShapeOptions, 'rhsCount'>, CallOptions {
  /** Default: `pivoted` with `stable`, `cholesky` for positive definite matrices, else `regpack`. */
  readonly factorisation?: Factorisation;
  /** Partial pivoting. Default false. */
  readonly stable?: boolean;
}

/** Options of {@link Plan.solve}. */
export interface PlanSolveOptions<V extends Vector = Vector>
  extends Pick<ShapeOptions, 'rhsCount' | 'layout' | 'layouts'>, Omit<CallOptions, 'device'> {
  /** Right-hand sides of the element type of the plan. */
  readonly rhs: V;
  /** Where the solution goes; may be `rhs`. Default: a new array like `rhs`. */
  readonly out?: V;
}

/** Result of {@link Plan.solve}. */
export interface PlanSolveResult<V extends Vector = Vector> {
  readonly solution: V;
  readonly status: SystemStatuses;
  readonly info: RunInfo;
}

const planSchema = z.strictObject({
  ...matrixFields, ...shapeFields, ...callFields, rhsCount: z.undefined(),
  factorisation: z.enum(factorisations).optional(), stable: z.boolean().optional(),
}).omit({ rhsCount: true });

const solveSchema = z.strictObject({
  rhs: arrayField, out: arrayField, rhsCount: shapeFields.rhsCount, layout: shapeFields.layout,
  layouts: shapeFields.layouts, signal: callFields.signal, onProgress: callFields.onProgress,
});

const elementBytes: Record<ElementType, number> = { float32: 4, float64: 8, complex64: 8, complex128: 16 };

/** Bytes of the factors of a shape, as `factor_bytes` of cuda/tridiagonal/factor.h counts them. */
function factorBytes(type: ElementType, n: number, batch: number, periodic: boolean): number {
  const element = elementBytes[type];
  const bytes = n * batch * (6 * element + 8) + (periodic ? batch * 4 * element : 0);
  return Math.ceil(bytes / 256) * 256 + 256;
}

/**
 * The factors of a batch of matrices on their device. Made by {@link plan}; free it with `await using` or
 * {@link Plan.dispose}. Calls may overlap; the device runs them in order.
 */
export class Plan {
  readonly device: Device;
  readonly factorisation: Factorisation;
  /** Outcome of the factorisation of each system; a zero pivot here fails every solve of that system. */
  readonly status: SystemStatuses;
  readonly info: RunInfo;
  readonly #problem: Problem;
  readonly #periodic: boolean;
  readonly #factors: DeviceArray;
  readonly #running = new Set<Promise<unknown>>();
  #disposed = false;

  /** Use {@link plan}. */
  constructor(parts: {
    device: Device; problem: Problem; periodic: boolean; factorisation: Factorisation;
    factors: DeviceArray; status: SystemStatuses; info: RunInfo;
  }) {
    this.device = parts.device;
    this.factorisation = parts.factorisation;
    this.status = parts.status;
    this.info = parts.info;
    this.#problem = parts.problem;
    this.#periodic = parts.periodic;
    this.#factors = parts.factors;
  }

  /** Unknowns per system (the largest when ragged). */
  get n(): number {
    return this.#problem.shape.n;
  }

  /** Systems. */
  get batch(): number {
    return this.#problem.shape.batch;
  }

  /** Device memory of the factors, in bytes. */
  get bytes(): number {
    return this.#factors.length;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * Solves op(A) x = rhs with the factors.
   * @throws ArgumentError naming the argument; `ERR_WARPLOOM_DISPOSED`; as `solve` otherwise
   */
  async solve<V extends Vector>(options: PlanSolveOptions<V>): Promise<PlanSolveResult<V>> {
    if (this.#disposed) throw new WarploomError('ERR_WARPLOOM_DISPOSED', 'the plan is disposed; make a new one');
    parseOptions(solveSchema, options, 'plan.solve');
    const call = this.#solve(options);
    this.#running.add(call);
    try {
      return await call;
    } finally {
      this.#running.delete(call);
    }
  }

  async #solve<V extends Vector>(options: PlanSolveOptions<V>): Promise<PlanSolveResult<V>> {
    const { rhs, out, signal, onProgress } = options;
    requireVector(rhs, 'rhs');
    if (out !== undefined) requireVector(out, 'out');
    const problem = this.#problemOf(options, out === undefined ? { rhs } : { rhs, out });
    const rhsView = viewOf(problem, 'rhs', rhs);
    if (out !== undefined) viewOf(problem, 'solution', out, 'out');
    signal?.throwIfAborted();
    resolveDevice(this.device, [rhs, out]);
    const { batch, rhsCount } = problem.shape;
    return withResult({ problem, device: this.device, name: 'solution', like: rhs, out }, async (solution) => {
      const status = new Int32Array(batch * rhsCount);
      const { deviceSeconds } = await this.device.run('tridiagonal.solve_factored', Object.assign(shapeParameters(problem), {
        rhsCount, periodic: this.#periodic, factorisation: this.factorisation, factors: this.#factors, rhs: rhsView,
        solution: viewOf(problem, 'solution', solution), status,
      }), { signal, onProgress });
      const rows = new Int32Array(status.length);
      for (let index = 0; index < rows.length; index += 1) rows[index] = this.status.rows[Math.floor(index / rhsCount)] ?? -1;
      return { solution, status: new SystemStatuses(status, rows, rhsCount), info: runInfo(this.device, problem, deviceSeconds) };
    });
  }

  #problemOf(options: PlanSolveOptions, vectors: Record<string, Vector>): Problem {
    const { type, offsets, shape } = this.#problem;
    const { n, batch } = shape;
    const { layout, layouts, rhsCount } = options;
    const complex = type.startsWith('complex');
    const ragged = offsets === undefined ? {} : { offsets };
    const split = Object.values(vectors).some(isSplit);
    const resolved = resolveProblem({
      n, batch, ...ragged, ...(complex && !split ? { complex } : {}), ...(rhsCount === undefined ? {} : { rhsCount }),
      ...(layout === undefined ? {} : { layout }), ...(layouts === undefined ? {} : { layouts }),
    }, vectors);
    if (resolved.type !== type) throw new ArgumentError('rhs', `expected ${type} elements like the plan, received ${resolved.type}`);
    return layouts?.solution === undefined ? laidOutLike(resolved, 'solution', 'rhs') : resolved;
  }

  /** Waits for running solves and frees the factors. Further calls do nothing. */
  async dispose(): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    await Promise.allSettled(this.#running);
    this.#factors[Symbol.dispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }
}

/**
 * Factors a batch of tridiagonal matrices for many solves with new right-hand sides.
 *
 * @example
 * await using factored = await plan({ lower, diagonal, upper, n, batch });
 * for (const rhs of steps) await factored.solve({ rhs, out: rhs });
 *
 * @throws ArgumentError naming the argument; `ERR_WARPLOOM_OUT_OF_MEMORY`; `ERR_WARPLOOM_DEVICE_LOST`
 * @see LAPACK gttrf/gttrs, pttrf/pttrs
 */
export async function plan(options: PlanOptions): Promise<Plan> {
  parseOptions(planSchema, options, 'tridiagonal.plan');
  const { lower, diagonal, upper, signal, onProgress, structure = 'general', stable = false } = options;
  const factorisation = options.factorisation
    ?? (structure === 'positive-definite' ? 'cholesky' : stable ? 'pivoted' : 'regpack');
  if (stable && factorisation === 'regpack') {
    throw new ArgumentError('factorisation', 'expected "pivoted" or "cholesky" with stable: true, received "regpack"');
  }
  if (factorisation === 'cholesky' && structure === 'general') {
    throw new ArgumentError('factorisation', 'expected structure "positive-definite" with "cholesky"');
  }
  const problem = resolveProblem(options, {});
  const matrix = matrixParameters(options, problem);
  signal?.throwIfAborted();
  const device = resolveDevice(options.device, [lower, diagonal, upper]);
  const { n, batch } = problem.shape;
  const factors = resultArray(device, 'uint8', factorBytes(problem.type, n, batch, matrix.periodic), true);
  try {
    const status = new Int32Array(batch);
    const row = new Int32Array(batch).fill(-1);
    const { deviceSeconds } = await device.run('tridiagonal.factor', {
      ...shapeParameters(problem), ...matrix, factorisation, factors, status, row,
    }, { signal, onProgress });
    return new Plan({
      device, problem, periodic: matrix.periodic, factorisation, factors,
      status: new SystemStatuses(status, row, 1), info: runInfo(device, problem, deviceSeconds),
    });
  } catch (error) {
    factors[Symbol.dispose]();
    throw error;
  }
}
