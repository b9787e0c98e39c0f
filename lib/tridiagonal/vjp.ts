// tridiagonal.vjp: the gradient of a solve, by one solve with the adjoint matrix.
import { elementTypeOf, makeResult } from '../core/arrays.ts';
import { type Device, DeviceArray, resultArray } from '../core/device.ts';
import { ArgumentError, refusal } from '../core/errors.ts';
import { required } from '../core/known.ts';
import { callChecks, deviceFor, release } from '../core/call.ts';
import { anything } from '../core/checks.ts';
import { briefly } from '../core/display.ts';
import { optionsOf, parametersOf, type ChecksOf, type Taken } from '../core/options.ts';
import { laidOutLike, runInfo, shapeParameters, viewOf, withResult, type Problem } from '../linear/problem.ts';
import { matrixChecks, shapeChecks } from './options.ts';
import { matrixParameters, resolveProblem } from './problem.ts';
import { infoOf, type SolveInfo } from './solve.ts';
import type { SystemStatuses } from '../linear/status.ts';
import type {
  Band, CallOptions, ComplexNumber, MatrixOptions, RealArray, ShapeOptions, Vector,
} from './types.ts';
import { bandView, isConstant, isSplit, requireVector, vectorView, type View } from '../linear/views.ts';
import { makeWords, statusesOf } from '../linear/words.ts';

/** Options of {@link vjp}. `cotangent` and `solution` are laid out as `rhs` is in `solve`. */
export interface VjpOptions<V extends Vector = Vector> extends MatrixOptions, ShapeOptions, CallOptions {
  /** What `solve` returned for this matrix. */
  readonly solution: V;
  /** Gradient of the loss with respect to `solution`, with the same kind, type and layout. */
  readonly cotangent: V;
  /** Partial pivoting in the adjoint solve. Default false. */
  readonly stable?: boolean;
}

/** Result of {@link vjp}: gradients shaped like the inputs of `solve`, each on the same device as its input. */
export interface VjpResult<V extends Vector = Vector> {
  readonly rhs: V;
  /** Like the band: per system, summed over the batch if shared, one number if constant. */
  readonly lower: Band;
  readonly diagonal: Band;
  /** Absent for positive definite matrices, for which `lower` includes both off-diagonals. */
  readonly upper?: Band;
  readonly status: SystemStatuses;
  readonly info: SolveInfo;
}

const checks = {
  ...matrixChecks, ...shapeChecks, ...callChecks, solution: anything, cotangent: anything, ...parametersOf('tridiagonal.vjp', 'stable'),
} satisfies ChecksOf<VjpOptions>;
const vjpOptions = optionsOf('tridiagonal.vjp', checks);

/**
 * Vector-Jacobian product of x = op(A)^-1 rhs: with w = op(A)^-H g for the cotangent g, the gradient with respect to `rhs` is w, and the
 * gradient with respect to op(A) is -w x^H on the three bands, summed over right-hand sides. Complex gradients are those of a real loss L:
 * dL = Re(conj(gradient) * d(input)).
 *
 * Sums are formed in double precision, in an order that depends only on the shape: the same call gives the same bits. A band given by
 * strides must address each of its elements once; strides of zero request sums.
 *
 * @throws as `solve`, with the arguments' own names
 * @see Giles, "Collected matrix derivative results for forward and reverse mode AD" (2008), section 2.3.1
 */
export async function vjp<V extends Vector>(given: VjpOptions<V>): Promise<VjpResult<V>> {
  const options = vjpOptions.read(given);
  const { solution, cotangent, stable, signal, onProgress } = options;
  const problem = problemOf(options);
  const parameters = Object.assign(shapeParameters(problem), matrixParameters(options, problem), {
    rhsCount: problem.shape.rhsCount, stable,
    cotangent: viewOf(problem, 'rhs', cotangent, 'cotangent'), solution: viewOf(problem, 'solution', solution),
  });
  const device = deviceFor(options, [solution, cotangent, options.lower, options.diagonal, options.upper]);
  return await withResult({ problem, device, name: 'rhs', like: cotangent, out: undefined }, async (rhs) => {
    const gradients = makeGradients(options, problem, device);
    try {
      const { batch, rhsCount } = problem.shape;
      Object.assign(parameters, makeWords(batch * rhsCount), { rhsGradient: viewOf(problem, 'rhs', rhs) });
      for (const { name, view } of gradients) Object.assign(parameters, { [`${name}Gradient`]: view });
      const { deviceSeconds, report } = await device.run('tridiagonal.vjp', parameters, { signal, onProgress });
      const status = statusesOf(batch * rhsCount, rhsCount, report);
      return resultOf(rhs, gradients, status, infoOf(report, runInfo(device, problem, deviceSeconds)));
    } catch (error) {
      release(gradients.map(({ array }) => array));
      throw ofBand(error);
    }
  });
}

/** If a gradient is rejected, the strides of its band are the reason. */
function ofBand(error: unknown): unknown {
  const band = error instanceof ArgumentError ? /^(\w+)Gradient$/.exec(error.argument)?.[1] : undefined;
  if (band === undefined) return error;
  return refusal(band, 'strides that address no element twice, so that its gradient is an array', 'strides that do');
}

/** The problem of the adjoint solve: cotangent and solution have the layout of right-hand sides. */
function problemOf(options: Taken<VjpOptions, typeof checks>): Problem {
  const { solution, cotangent } = options;
  requireVector(solution, 'solution');
  requireVector(cotangent, 'cotangent');
  const layouts = { ...options.layouts };
  const layout = layouts.rhs ?? layouts.solution ?? options.layout;
  Object.assign(layouts, { rhs: layout, solution: layout });
  const problem = laidOutLike(resolveProblem({ ...options, layouts }, { cotangent, solution }), 'solution', 'rhs');
  vectorView(solution, problem.type, problem.layoutOf('rhs'), problem.shape, 'solution');
  vectorView(cotangent, problem.type, problem.layoutOf('rhs'), problem.shape, 'cotangent');
  return problem;
}

type BandName = 'lower' | 'diagonal' | 'upper';

/** The gradient with respect to one band: an array like it, or one element if it is constant. */
interface Gradient {
  readonly name: BandName;
  readonly array: Vector;
  readonly view: View;
  readonly constant: boolean;
}

function makeGradients(options: MatrixOptions, problem: Problem, device: Device): Gradient[] {
  const gradients: Gradient[] = [];
  for (const name of ['lower', 'diagonal', 'upper'] as const) {
    const band = options[name];
    if (band === undefined) continue;
    const constant = isConstant(band);
    const array = constant ? makeResult(problem.type, 1) as RealArray : arraysLike(band, name, problem, device);
    gradients.push({ name, array, view: gradientView(band, array, problem, name), constant });
  }
  return gradients;
}

/** If the band repeats an entry, its gradient is the sum over all repetitions. */
function gradientView(band: Band, array: Vector, problem: Problem, name: BandName): View {
  const of = isConstant(band) ? band : array;
  const view = bandView(of, problem.type, problem.layoutOf(name), problem.shape, name);
  const extents = view.extents.map((extent, index) => (view.strides[index] === 0 ? 1 : extent));
  return isConstant(band) ? { data: array as RealArray, offset: 0, extents, strides: view.strides } : { ...view, extents };
}

/** Arrays for a gradient, zeroed if the gradient leaves gaps. */
function arraysLike(vector: Vector, name: BandName, problem: Problem, device: Device): Vector {
  const { n, batch } = problem.shape;
  const plain = typeof problem.layoutOf(name) === 'string' && problem.offsets === undefined;
  const part = (array: RealArray | DeviceArray): RealArray | DeviceArray => {
    const whole = plain && (array.length === n * batch || array.length === n);
    if (array instanceof DeviceArray) return resultArray(device, array.type, array.length, !whole);
    return makeResult(required(elementTypeOf(array)), array.length) as RealArray;
  };
  return isSplit(vector) ? { re: part(vector.re), im: part(vector.im) } : part(vector);
}

function resultOf<V extends Vector>(rhs: V, gradients: Gradient[], status: SystemStatuses, info: SolveInfo): VjpResult<V> {
  const bands: Partial<Record<BandName, Band>> = {};
  for (const { name, array, constant } of gradients) bands[name] = constant ? numberOf(array as RealArray) : array;
  const { lower, diagonal, upper } = bands;
  return briefly('Gradients', {
    rhs, lower: required(lower), diagonal: required(diagonal), ...(upper === undefined ? {} : { upper }), status, info,
  });
}

function numberOf([re = 0, im]: RealArray): number | ComplexNumber {
  return im === undefined ? re : { re, im };
}
