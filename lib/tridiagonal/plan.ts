// tridiagonal.plan: factor once, solve many.
import { makeInt32 } from '../core/arrays.ts';
import { DeviceArray } from '../core/device-array.ts';
import { inputArray, resultArray, type Device } from '../core/device.ts';
import { refusal, WarploomError } from '../core/errors.ts';
import { callFields, checkOptions, choice, optionTable, realFrom, truth } from '../core/options.ts';
import { arrayField, matrixFields, shapeFields } from './options.ts';
import {
  laidOutLike, matrixParameters, resolveDevice, resolveProblem, runInfo, shapeParameters, viewOf, withResult,
  type MatrixParameters, type Problem,
} from './problem.ts';
import { SystemStatuses } from './status.ts';
import type { ArrayName, CallOptions, ElementType, Layout, MatrixOptions, RunInfo, ShapeOptions, Vector } from './types.ts';
import { impliesComplex, isSplit, requireVector, typeOf, type View } from './views.ts';
import { backwardErrorsLike, freeErrors, makeWords, withWords, type BackwardErrors } from './words.ts';
import { choices } from '../core/operations.gen.ts';

/**
 * What a plan keeps: `regpack` the multipliers of cyclic reduction (no pivoting), `pivoted` LAPACK gttrf's
 * factors, `cholesky` L D L^H of a positive definite matrix.
 */
export type Factorisation = (typeof factorisations)[number];

/** Every value of {@link Factorisation}. */
export const factorisations = choices['tridiagonal.factor'].factorisation;

/** Options of {@link plan}. */
export interface PlanOptions extends MatrixOptions, Omit<ShapeOptions, 'rhsCount'>, CallOptions {
  /** Default: `pivoted` with `stable`, `cholesky` for positive definite matrices, else `regpack`. */
  readonly factorisation?: Factorisation;
  /** Partial pivoting; periodic matrices are pivoted as a whole. Default false. */
  readonly stable?: boolean;
  /**
   * Componentwise backward error of every system in each solve; systems above `tolerance` are solved anew by pivoting, as
   * `solve` does. The plan then keeps a copy of the bands. Default false.
   */
  readonly check?: boolean;
  /** Largest accepted componentwise backward error of `check`. Default 64 machine epsilons of the type. */
  readonly tolerance?: number;
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
  /** Only for a plan with `check`: as in the result of `solve`. */
  readonly backwardError?: BackwardErrors<V>;
  readonly info: RunInfo;
}

const { rhsCount, layout, layouts, ...factorShape } = shapeFields;

const planTable = optionTable({
  ...matrixFields, ...factorShape, layout, layouts, ...callFields, factorisation: choice(factorisations), stable: truth,
  check: truth, tolerance: realFrom(0),
});

const solveTable = optionTable({
  rhs: arrayField, out: arrayField, rhsCount, layout, layouts, signal: callFields.signal, onProgress: callFields.onProgress,
});

const elementBytes: Record<ElementType, number> = { float32: 4, float64: 8, complex64: 8, complex128: 16 };

const pageBytes = 256;

/** Bytes of the factors of a shape, as `factor_bytes` of cuda/tridiagonal/factor.h counts them. */
function factorBytes(type: ElementType, n: number, batch: number, periodic: boolean, factorisation: Factorisation): number {
  const element = elementBytes[type];
  const pivoted = factorisation === 'pivoted';
  const arrays = pivoted ? (periodic ? 6 : 4) : (factorisation === 'regpack' ? 3 : 2) + (periodic ? 1 : 0);
  const perSystem = (n > 0 ? 4 : 0) + (periodic && !pivoted ? 3 * element : 0);
  const bytes = n * batch * (arrays * element + (pivoted ? 1 : 0)) + batch * perSystem;
  return Math.max(pageBytes, Math.ceil(bytes / pageBytes) * pageBytes);
}

/** What is the same in every solve of a plan. */
interface Factored {
  readonly device: Device;
  readonly problem: Problem;
  readonly factorisation: Factorisation;
  readonly factors: DeviceArray;
  /** One matrix for the whole batch. */
  readonly shared: boolean;
  readonly periodic: boolean;
  /** With `check`: the matrix, on the device, and the tolerance. */
  readonly checked: Record<string, unknown> | undefined;
  /** Copies of bands that the plan owns. */
  readonly bands: readonly DeviceArray[];
}

const contiguous = (): Layout => 'contiguous';

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
  readonly #factored: Factored;
  /** The problem of solves with one contiguous right-hand side, and what never changes of their parameters. */
  readonly #usual: Problem;
  readonly #fixed: Readonly<Record<string, unknown>>;
  readonly #running = new Set<Promise<unknown>>();
  #disposed = false;

  /** @internal Use {@link plan}. */
  constructor(factored: Factored, status: SystemStatuses, info: RunInfo) {
    const { problem, periodic, factorisation, factors, shared, checked } = factored;
    this.device = factored.device;
    this.factorisation = factorisation;
    this.status = status;
    this.info = info;
    this.#factored = factored;
    const { type, offsets, shape } = problem;
    this.#usual = { type, shape: { ...shape, rhsCount: 1 }, layoutOf: contiguous, ...(offsets === undefined ? {} : { offsets }) };
    this.#fixed = { ...shapeParameters(problem), periodic, factorisation, factors, shared, ...checked };
  }

  /** Unknowns per system (the largest when ragged). */
  get n(): number {
    return this.#factored.problem.shape.n;
  }

  /** Systems. */
  get batch(): number {
    return this.#factored.problem.shape.batch;
  }

  /**
   * Device memory of the factors, in bytes: per row 3 elements (`regpack`), 2 (`cholesky`) or 4 and a byte (`pivoted`);
   * periodic ones 1, 1 or 2 elements more; one matrix for the whole batch is kept once.
   */
  get bytes(): number {
    return this.#factored.factors.length;
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
    checkOptions(solveTable, options, 'plan.solve');
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
    const { device, checked } = this.#factored;
    const problem = this.#problemOf(options);
    const rhsView = viewOf(problem, 'rhs', rhs);
    if (out !== undefined) viewOf(problem, 'solution', out, 'out');
    signal?.throwIfAborted();
    resolveDevice(device, [rhs, out]);
    const { batch, rhsCount } = problem.shape;
    return withResult({ problem, device, name: 'solution', like: rhs, out }, async (solution) => {
      const words = makeWords(device, batch * rhsCount);
      const backwardError = checked === undefined ? undefined : backwardErrorsLike(rhs, device, batch * rhsCount);
      const parameters = Object.assign({
        rhsCount, rhs: rhsView, solution: viewOf(problem, 'solution', solution), backwardError,
      }, this.#fixed, words);
      try {
        const [{ deviceSeconds }, status] = await withWords(words, rhsCount, () =>
          device.run('tridiagonal.solve_factored', parameters, { signal, onProgress }));
        const result = { solution, status, info: runInfo(device, problem, deviceSeconds) };
        return backwardError === undefined ? result : Object.assign(result, { backwardError });
      } catch (error) {
        freeErrors(backwardError);
        throw error;
      }
    });
  }

  #problemOf(options: PlanSolveOptions): Problem {
    const { rhs, out, layout, layouts, rhsCount } = options;
    requireVector(rhs, 'rhs');
    if (out !== undefined) requireVector(out, 'out');
    const usual = layout === undefined && layouts === undefined && rhsCount === undefined;
    if (usual && this.#fits(rhs) && (out === undefined || this.#fits(out))) return this.#usual;
    const { type, offsets, shape } = this.#factored.problem;
    const { n, batch } = shape;
    const complex = type.startsWith('complex');
    const ragged = offsets === undefined ? {} : { offsets };
    const vectors: Record<string, Vector> = out === undefined ? { rhs } : { rhs, out };
    const split = Object.values(vectors).some(isSplit);
    const resolved = resolveProblem({
      n, batch, ...ragged, ...(complex && !split ? { complex } : {}), ...(rhsCount === undefined ? {} : { rhsCount }),
      ...(layout === undefined ? {} : { layout }), ...(layouts === undefined ? {} : { layouts }),
    }, vectors);
    if (resolved.type !== type) throw refusal('rhs', `${type} elements like the plan`, resolved.type);
    return layouts?.solution === undefined ? laidOutLike(resolved, 'solution', 'rhs') : resolved;
  }

  /** Whether a vector is of the plan's type beyond doubt; what is not goes through resolveProblem, which says why. */
  #fits(vector: Vector): boolean {
    const { type } = this.#factored.problem;
    const complex = type.startsWith('complex');
    if (isSplit(vector) || (impliesComplex(vector) && !complex)) return false;
    if (complex && 'device' in vector && !impliesComplex(vector)) return false;
    return typeOf(vector, complex) === type;
  }

  /** Waits for running solves and frees the factors. Further calls do nothing. */
  async dispose(): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    await Promise.allSettled(this.#running);
    this.#factored.factors.dispose();
    for (const band of this.#factored.bands) band.dispose();
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
  checkOptions(planTable, options, 'tridiagonal.plan');
  const { lower, diagonal, upper, signal, onProgress, check = false, tolerance = 0 } = options;
  const factorisation = factorisationOf(options);
  if (tolerance !== 0 && !check) throw refusal('tolerance', 'none without check: true', String(tolerance));
  const problem = resolveProblem(options, {});
  const matrix = matrixParameters(options, problem);
  signal?.throwIfAborted();
  const device = resolveDevice(options.device, [lower, diagonal, upper]);
  const { n, batch } = problem.shape;
  const shared = isShared(matrix, problem);
  const systems = shared ? 1 : batch;
  const factors = resultArray(device, 'uint8', factorBytes(problem.type, n, systems, matrix.periodic, factorisation), true);
  const bands: DeviceArray[] = [];
  try {
    const copies: Promise<void>[] = [];
    const kept = check ? keepMatrix(device, matrix, bands, copies) : matrix;
    const words = makeWords(device, systems);
    const parameters = { factorisation, factors, ...shapeParameters(problem), ...kept, ...words, batch: systems };
    const factoring = withWords(words, 1, () => device.run('tridiagonal.factor', parameters, { signal, onProgress }));
    const [[{ deviceSeconds }, found]] = await Promise.all([factoring, ...copies]);
    const { periodic: _, ...views } = kept;
    const checked = check ? { ...views, check, tolerance } : undefined;
    const status = shared ? ofEverySystem(found, batch) : found;
    const { periodic } = matrix;
    return new Plan({ device, problem, periodic, factorisation, factors, shared, checked, bands },
      status, runInfo(device, problem, deviceSeconds));
  } catch (error) {
    for (const array of [factors, ...bands]) array.dispose();
    throw error;
  }
}

function factorisationOf({ factorisation, structure = 'general', stable = false }: PlanOptions): Factorisation {
  const chosen = factorisation ?? (structure === 'positive-definite' ? 'cholesky' : stable ? 'pivoted' : 'regpack');
  if (stable && chosen === 'regpack') {
    throw refusal('factorisation', '"pivoted" or "cholesky" with stable: true', '"regpack"');
  }
  if (chosen === 'cholesky' && structure === 'general') {
    throw refusal('factorisation', '"regpack" or "pivoted" with structure "general"', '"cholesky"');
  }
  return chosen;
}

const bandNames = ['lower', 'diagonal', 'upper'] as const satisfies readonly ArrayName[];

/** Whether all systems have the same matrix: bands shared by the batch or constant. */
function isShared(matrix: MatrixParameters, { shape, offsets }: Problem): boolean {
  return offsets === undefined && shape.batch > 1 && bandNames.every((name) => (matrix[name]?.systemStride ?? 0) === 0);
}

/** The status of one matrix as that of each of `batch` systems. */
function ofEverySystem(one: SystemStatuses, batch: number): SystemStatuses {
  if (one.allOk) return new SystemStatuses(batch, undefined, 1);
  return new SystemStatuses(makeInt32(batch).fill(one.words[0]!), makeInt32(batch).fill(one.rows[0]!), 1);
}

/**
 * The matrix with its bands copied into device memory, as they are now; `owned` receives the copies, `pending` what copies
 * from arrays on the device are waited for with.
 */
function keepMatrix(device: Device, matrix: MatrixParameters, owned: DeviceArray[], pending: Promise<void>[]): MatrixParameters {
  const copyOf = (data: View['data']): DeviceArray => {
    const onDevice = data instanceof DeviceArray;
    const copy = onDevice ? resultArray(device, data.type, data.length) : inputArray(device, data);
    owned.push(copy);
    if (onDevice) pending.push(copy.copyFrom(data));
    return copy;
  };
  const kept: MatrixParameters = { ...matrix };
  for (const name of bandNames) {
    const view = matrix[name];
    if (view === undefined) continue;
    const own: View = { ...view, data: copyOf(view.data) };
    if (view.imaginary !== undefined) own.imaginary = copyOf(view.imaginary);
    kept[name] = own;
  }
  return kept;
}
