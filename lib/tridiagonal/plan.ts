// tridiagonal.plan: one matrix, or a batch of them, and many right-hand sides.
import { makeInt32 } from '../core/arrays.ts';
import { Device, DeviceArray, inputArray, resultArray } from '../core/device.ts';
import { refusal, WarploomError } from '../core/errors.ts';
import { callChecks, deviceFor, promised, runInto } from '../core/call.ts';
import { anything, choice } from '../core/checks.ts';
import { briefly } from '../core/display.ts';
import { elementAt } from '../core/known.ts';
import { cancelChecks, optionsOf, parametersOf, type ChecksOf, type Taken } from '../core/options.ts';
import { snapshot } from '../core/snapshot.ts';
import { laidOutLike, resultFor, runInfo, shapeParameters, viewOf, type Problem } from '../linear/problem.ts';
import { SystemStatuses } from '../linear/status.ts';
import { impliesComplex, isSplit, requireVector, typeOf, type View } from '../linear/views.ts';
import { backwardErrorsLike, makeWords, statusesOf, type BackwardErrors, type CallWords } from '../linear/words.ts';
import { matrixChecks, shapeChecks } from './options.ts';
import { matrixParameters, oneMatrix, resolveProblem, type MatrixParameters } from './problem.ts';
import type { ArrayName, CallOptions, ElementType, Layout, MatrixOptions, RunInfo, ShapeOptions, Structure, Vector } from './types.ts';
import { choices } from '../core/operations.gen.ts';

/**
 * What a plan keeps. `none`: the bands themselves, so that each solve does exactly what `solve` does with them, bit for bit; `regpack`:
 * factors L D U without row exchanges; `pivoted`: LAPACK gttrf's factors; `cholesky`: L D L^H of a positive definite matrix.
 */
export type Factorisation = (typeof factorisations)[number];

/** Every value of {@link Factorisation}. */
export const factorisations = ['none', ...choices['tridiagonal.factor'].factorisation] as const;

/** Options of {@link plan}. */
export interface PlanOptions extends MatrixOptions, Omit<ShapeOptions, 'rhsCount'>, CallOptions {
  /**
   * Default: on GPUs `none` for systems of equal length that are neither periodic nor `stable`, which run at memory speed without factors.
   * Otherwise `cholesky` for positive definite matrices, `pivoted` with `stable`, and `regpack` for the rest.
   */
  readonly factorisation?: Factorisation;
  /** Partial pivoting; periodic matrices are pivoted as a whole. Default false. */
  readonly stable?: boolean;
  /**
   * Componentwise backward error of every system in each solve; systems above `tolerance` are solved again by pivoting, as in
   * `solve`. The plan then keeps a copy of the bands besides its factors. Default false.
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

const { rhsCount, layout, layouts, ...factorShape } = shapeChecks;

const checks = {
  ...matrixChecks, ...factorShape, layout, layouts, ...callChecks, factorisation: choice(factorisations),
  ...parametersOf('tridiagonal.solve', 'stable', 'check', 'tolerance'),
} satisfies ChecksOf<PlanOptions>;
const planOptions = optionsOf('tridiagonal.plan', checks);
type TakenPlanOptions = Taken<PlanOptions, typeof checks>;

const solveChecks = { rhs: anything, out: anything, rhsCount, layout, layouts, ...cancelChecks } satisfies ChecksOf<PlanSolveOptions>;
const solveOptions = optionsOf('plan.solve', solveChecks, (defaults) => ({ ...defaults }));

const elementBytes: Record<ElementType, number> = { float32: 4, float64: 8, complex64: 8, complex128: 16 };

const pageBytes = 256;

/** @internal Bytes of the factors of a shape, as `factor_bytes` of cuda/tridiagonal/factor.h counts them. */
export function factorBytes(type: ElementType, n: number, batch: number, periodic: boolean, factorisation: Factorisation): number {
  const element = elementBytes[type];
  const pivoted = factorisation === 'pivoted';
  const arrays = pivoted ? (periodic ? 6 : 4) : (factorisation === 'regpack' ? 3 : 2) + (periodic ? 1 : 0);
  const perSystem = (n > 0 ? 4 : 0) + (periodic && !pivoted ? 3 * element : 0);
  const bytes = n * batch * (arrays * element + (pivoted ? 1 : 0)) + batch * perSystem;
  return Math.max(pageBytes, Math.ceil(bytes / pageBytes) * pageBytes);
}

/** The parameters that differ from solve to solve. */
const noSides: Partial<CallWords> & { rhsCount?: number; rhs?: View; solution?: View; backwardError?: unknown } = {
  rhsCount: 1, rhs: undefined, solution: undefined, backwardError: undefined, status: undefined, row: undefined, summarize: false,
};

/** The contents of a plan. */
interface Kept {
  readonly device: Device;
  readonly problem: Problem;
  readonly factorisation: Factorisation;
  /** Parameters that are the same in every solve, the matrix or its factors, and placeholders for the others. */
  readonly fixed: Readonly<Record<string, unknown> & typeof noSides>;
  readonly check: boolean;
  /** Factors and copies of bands. */
  readonly owned: readonly DeviceArray[];
  readonly bytes: number;
}

const contiguous = (): Layout => 'contiguous';

/**
 * A batch of matrices on their device, factored or not. Made by {@link plan}; free it with `await using` or
 * {@link Plan.dispose}. Calls may overlap; the device runs them in order.
 */
export class Plan {
  readonly device: Device;
  readonly factorisation: Factorisation;
  /**
   * What planning found in the matrix of each system: non-finite entries, and zero pivots of the factorisation or, without one, of a solve
   * with a zero right-hand side. Solves of such a system fail.
   */
  readonly status: SystemStatuses;
  readonly info: RunInfo;
  readonly #kept: Kept;
  /** The problem of a solve with one contiguous right-hand side, and the parameters of it that never change. */
  readonly #usual: Problem;
  readonly #running = new Set<Promise<unknown>>();
  #disposed = false;

  /** @internal Use {@link plan}. */
  constructor(kept: Kept, status: SystemStatuses, info: RunInfo) {
    this.device = kept.device;
    this.factorisation = kept.factorisation;
    this.status = status;
    this.info = info;
    this.#kept = kept;
    this.#usual = usualProblem(kept.problem);
  }

  /** Unknowns per system (the largest when ragged). */
  get n(): number {
    return this.#kept.problem.shape.n;
  }

  /** Systems. */
  get batch(): number {
    return this.#kept.problem.shape.batch;
  }

  /**
   * Device memory that the plan keeps for its solves, in bytes: the bands as given (`none`), or factors with 3 elements per row
   * (`regpack`), 2 (`cholesky`) or 4 and a byte (`pivoted`), and 1, 1 or 2 elements more if periodic; one matrix for the whole
   * batch is stored once.
   */
  get bytes(): number {
    return this.#kept.bytes;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * Solves op(A) x = rhs.
   * @throws ArgumentError naming the argument; `ERR_WARPLOOM_DISPOSED`; as `solve` otherwise
   */
  solve<V extends Vector>(options: PlanSolveOptions<V>): Promise<PlanSolveResult<V>> {
    return promised(() => {
      if (this.#disposed) throw new WarploomError('ERR_WARPLOOM_DISPOSED', 'the plan is disposed; make a new one');
      const call = this.#solve(solveOptions.read(options));
      const ended = (): void => void this.#running.delete(call);
      this.#running.add(call);
      call.then(ended, ended);
      return call;
    });
  }

  #solve<V extends Vector>(options: Taken<PlanSolveOptions<V>, typeof solveChecks>): Promise<PlanSolveResult<V>> {
    const { rhs, out, signal } = options;
    const { device, factorisation, fixed, check } = this.#kept;
    const problem = this.#problemOf(options);
    const rhsView = viewOf(problem, 'rhs', rhs);
    const outView = out === undefined ? undefined : viewOf(problem, 'solution', out, 'out');
    deviceFor({ device, signal }, [rhs, out]);
    const { batch, rhsCount } = problem.shape, count = batch * rhsCount;
    const solution = resultFor(problem, device, 'solution', rhs, out);
    const backwardError = check ? backwardErrorsLike(rhs, device, count) : undefined;
    const words = makeWords(count);
    const parameters = { ...fixed }; // a copy to overwrite: Object.assign takes as long as all checks of the options
    parameters.rhsCount = rhsCount;
    parameters.rhs = rhsView;
    parameters.solution = outView ?? viewOf(problem, 'solution', solution);
    parameters.backwardError = backwardError;
    parameters.status = words.status;
    parameters.row = words.row;
    parameters.summarize = words.summarize;
    const operation = factorisation === 'none' ? 'tridiagonal.solve' : 'tridiagonal.solve_factored';
    const made = out === undefined ? [solution, backwardError] : [backwardError];
    return runInto({ device, operation, parameters, options, made }, ({ deviceSeconds, report }) => briefly('Solved', {
      solution, status: statusesOf(count, rhsCount, report), ...(backwardError && { backwardError }),
      info: runInfo(device, problem, deviceSeconds),
    }));
  }

  #problemOf(options: Taken<PlanSolveOptions, typeof solveChecks>): Problem {
    const { rhs, out, layout, layouts, rhsCount } = options;
    requireVector(rhs, 'rhs');
    if (out !== undefined) requireVector(out, 'out');
    const usual = layout === 'contiguous' && layouts === undefined && rhsCount === 1;
    if (usual && this.#fits(rhs) && (out === undefined || this.#fits(out))) return this.#usual;
    const { type, offsets, shape } = this.#kept.problem;
    const { n, batch } = shape;
    const complex = type.startsWith('complex');
    const ragged = offsets === undefined ? {} : { offsets };
    const vectors: Record<string, Vector> = out === undefined ? { rhs } : { rhs, out };
    const split = Object.values(vectors).some(isSplit);
    const resolved = resolveProblem({
      n, batch, ...ragged, ...(complex && !split ? { complex } : {}), rhsCount, layout, ...(layouts === undefined ? {} : { layouts }),
    }, vectors);
    if (resolved.type !== type) throw refusal('rhs', `${type} elements like the plan`, resolved.type);
    return layouts?.solution === undefined ? laidOutLike(resolved, 'solution', 'rhs') : resolved;
  }

  /** Whether a vector certainly fits the plan. Any other goes through resolveProblem, which says what is wrong. */
  #fits(vector: Vector): boolean {
    const { type } = this.#kept.problem, complex = type.startsWith('complex');
    if (isSplit(vector) || (impliesComplex(vector) && !complex)) return false;
    if (complex && 'device' in vector && !impliesComplex(vector)) return false;
    return typeOf(vector, complex) === type;
  }

  /** Waits for running solves and frees the plan's memory. Further calls do nothing. */
  async dispose(): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    await Promise.allSettled(this.#running);
    for (const array of this.#kept.owned) array.dispose();
  }

  /** The same as `dispose()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }
}

/**
 * Prepares a batch of tridiagonal matrices for many solves with new right-hand sides.
 *
 * Without factors (`factorisation: 'none'`, the default of most plans on GPUs), solutions, states and backward errors are bit-identical to
 * those of {@link solve} with the same matrices, right-hand sides and layouts.
 *
 * @example
 * await using prepared = await plan({ lower, diagonal, upper, n, batch });
 * for (const rhs of steps) await prepared.solve({ rhs, out: rhs });
 *
 * @throws ArgumentError naming the argument; `ERR_WARPLOOM_OUT_OF_MEMORY`; `ERR_WARPLOOM_DEVICE_LOST`
 * @see LAPACK gttrf/gttrs, pttrf/pttrs
 */
export async function plan(given: PlanOptions): Promise<Plan> {
  const options = planOptions.read(given);
  checkMethod(options);
  const problem = resolveProblem({ ...options, rhsCount: 1 }, {});
  const matrix = matrixParameters(options, problem);
  const device = deviceFor(options, [options.lower, options.diagonal, options.upper]);
  if (Device.isOpen(device)) return prepare(device, options, problem, matrix);
  // The device's backend determines what is kept; the arrays are copied as they are now.
  const taken = snapshot(matrix);
  await Device.opened(device);
  return prepare(device, options, problem, taken);
}

function checkMethod({ factorisation, structure, stable, check, tolerance }: TakenPlanOptions): void {
  if (stable && (factorisation === 'regpack' || factorisation === 'none')) {
    throw refusal('factorisation', '"pivoted" or "cholesky" with stable: true', JSON.stringify(factorisation));
  }
  if (factorisation === 'cholesky' && structure === 'general') {
    throw refusal('factorisation', '"none", "regpack" or "pivoted" with structure "general"', '"cholesky"');
  }
  if (tolerance !== 0 && !check) throw refusal('tolerance', 'none without check: true', String(tolerance));
}

/** The properties that determine what a plan keeps. */
interface MatrixKind {
  readonly structure: Structure;
  readonly stable: boolean;
  readonly periodic: boolean;
  readonly ragged: boolean;
}

/**
 * @internal What is kept by default. On GPUs, factors gain nothing for contiguous rows (H200, 65536×512: 152 us with and without; float64
 * 302 instead of 306; positive definite 122 instead of 133) and halve the speed of other layouts, and a plan does not know the layout yet.
 * Periodic systems gain nothing by the number of arrays that are read and written (6 with factors, 5 without, 14 if a system does not fit
 * one pass). Ragged ones were not compared.
 */
export function usualFactorisation({ backend }: Device, { structure, stable, periodic, ragged }: MatrixKind): Factorisation {
  if (!stable && !periodic && !ragged && backend !== 'cpu') return 'none';
  return structure === 'positive-definite' ? 'cholesky' : stable ? 'pivoted' : 'regpack';
}

/** One right-hand side per system, contiguous. */
function usualProblem({ type, offsets, shape }: Problem): Problem {
  return { type, shape: { ...shape, rhsCount: 1 }, layoutOf: contiguous, ...(offsets === undefined ? {} : { offsets }) };
}

async function prepare(device: Device, options: TakenPlanOptions, problem: Problem, matrix: MatrixParameters): Promise<Plan> {
  const { check, tolerance, stable } = options;
  const { structure, periodic } = matrix;
  const ragged = problem.offsets !== undefined;
  const factorisation = options.factorisation ?? usualFactorisation(device, { structure, stable, periodic, ragged });
  const owned: DeviceArray[] = [], pending: Promise<void>[] = [];
  try {
    const kept = check || factorisation === 'none' ? keepMatrix(device, matrix, owned, pending) : matrix;
    const preparing = factorisation === 'none' ? keepBands(device, problem, kept, options, owned)
      : keepFactors(device, problem, kept, factorisation, options, owned);
    const [{ fixed, status, bytes, deviceSeconds }] = await Promise.all([preparing, ...pending]);
    const checked = check ? { ...kept, check, tolerance } : {};
    return new Plan({
      device, problem, factorisation, check, owned, bytes, fixed: { ...shapeParameters(problem), ...checked, ...fixed, ...noSides },
    }, status, runInfo(device, problem, deviceSeconds));
  } catch (error) {
    for (const array of owned) array.dispose();
    throw error;
  }
}

/** What planning adds to the parameters that are the same in every solve, and its findings. */
interface Prepared {
  readonly fixed: Readonly<Record<string, unknown>>;
  readonly status: SystemStatuses;
  readonly bytes: number;
  readonly deviceSeconds: number;
}

/** Without factors: a solve of zeros finds what would make every solve fail. */
async function keepBands(
  device: Device, problem: Problem, matrix: MatrixParameters, { signal, onProgress }: PlanOptions, owned: readonly DeviceArray[],
): Promise<Prepared> {
  const { n, batch, rows = n * batch } = problem.shape;
  const bytes = owned.reduce((sum, array) => sum + array.bytes, 0);
  using zeros = resultArray(device, problem.type, rows, true);
  const view = viewOf(usualProblem(problem), 'rhs', zeros);
  const parameters = { ...shapeParameters(problem), ...matrix, rhsCount: 1, rhs: view, solution: view, ...makeWords(batch) };
  const { deviceSeconds, report } = await device.run('tridiagonal.solve', parameters, { signal, onProgress });
  return { fixed: { ...matrix }, status: statusesOf(batch, 1, report), bytes, deviceSeconds };
}

async function keepFactors(
  device: Device, problem: Problem, matrix: MatrixParameters, factorisation: Factorisation, { signal, onProgress }: PlanOptions,
  owned: DeviceArray[],
): Promise<Prepared> {
  const { n, batch } = problem.shape;
  const { periodic } = matrix;
  const shared = isShared(matrix, problem);
  const systems = shared ? 1 : batch;
  const factors = resultArray(device, 'uint8', factorBytes(problem.type, n, systems, periodic, factorisation), true);
  owned.push(factors);
  const bands = shared ? oneMatrix(matrix) : matrix;
  const parameters = { factorisation, factors, ...shapeParameters(problem), ...bands, ...makeWords(systems), batch: systems };
  const { deviceSeconds, report } = await device.run('tridiagonal.factor', parameters, { signal, onProgress });
  const found = statusesOf(systems, 1, report);
  const status = shared ? ofEverySystem(found, batch) : found;
  return { fixed: { periodic, factorisation, factors, shared }, status, bytes: factors.length, deviceSeconds };
}

const bandNames = ['lower', 'diagonal', 'upper'] as const satisfies readonly ArrayName[];

/** Whether all systems have the same matrix: bands that are constant or shared by the batch. */
function isShared(matrix: MatrixParameters, { shape, offsets }: Problem): boolean {
  return offsets === undefined && shape.batch > 1 && bandNames.every((name) => (matrix[name]?.strides[0] ?? 0) === 0);
}

/** Repeats the status of one matrix for each of `batch` systems. */
function ofEverySystem(one: SystemStatuses, batch: number): SystemStatuses {
  if (one.allOk) return new SystemStatuses(batch, undefined, 1);
  return new SystemStatuses(makeInt32(batch).fill(elementAt(one.words, 0)), makeInt32(batch).fill(elementAt(one.rows, 0)), 1);
}

/**
 * The matrix with its bands copied to device memory, as they are now. The copies are added to `owned`, and promises for copies from device
 * arrays to `pending`.
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
