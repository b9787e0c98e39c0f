// Cubic spline interpolation: the tridiagonal system of second derivatives, one solve for many series.
import { describeValue, isReal, makeFloat64, makeResult, typedCopy } from '../core/arrays.ts';
import { callChecks } from '../core/call.ts';
import { choice, requireCount, requireList, requireNumbers, requireRange, whole, type Check } from '../core/checks.ts';
import { refusal } from '../core/errors.ts';
import { implicitDevice, type Device } from '../core/device.ts';
import { briefText, fieldsPlainly, inspection } from '../core/display.ts';
import { elementAt } from '../core/known.ts';
import { normally, optionsOf, type ChecksOf, type Taken } from '../core/options.ts';
import { inSlices } from '../core/slices.ts';

/**
 * End condition of {@link cubicSpline}: 'natural' (zero second derivative), 'clamped' (given slopes)
 * or 'periodic' (first and last value equal, value, slope and curvature continuous across the ends).
 */
export type SplineBoundary = 'natural' | 'clamped' | 'periodic';

/** Options of {@link cubicSpline}. */
export interface SplineOptions {
  /** Default 'natural'. */
  readonly boundary?: SplineBoundary;
  /** For 'clamped': slopes at the first and last knot, used by every series; default [0, 0]. */
  readonly slopes?: readonly [number, number];
  /** Default: the thread's default device. */
  readonly device?: Device;
  readonly signal?: AbortSignal;
}

/** Options of {@link CubicSpline.evaluate}. */
export interface EvaluateOptions {
  readonly series?: number;
  readonly order?: 0 | 1 | 2;
}

const evaluateOptions = optionsOf('evaluate', {
  series: normally(whole(0), 0), order: normally(choice([0, 1, 2] as const), 0),
} satisfies ChecksOf<EvaluateOptions>);

/** Slopes at both ends, of any kind of array. */
const slopes: Check<readonly [number, number]> = (value, name) => {
  requireNumbers(value, name);
  if (value.length !== 2) throw refusal(name, 'two numbers', describeValue(value));
};

const checks = {
  boundary: normally(choice(['natural', 'clamped', 'periodic'] as const), 'natural'), slopes: normally(slopes, [0, 0]),
  device: callChecks.device, signal: callChecks.signal,
} satisfies ChecksOf<SplineOptions>;
/** @internal */
export const splineOptions = optionsOf('cubicSpline', checks);
type TakenOptions = Taken<SplineOptions, typeof checks>;

/** Piecewise cubics through the knots of one or more series that share their abscissas. */
export class CubicSpline {
  readonly x: Float64Array;
  /** Series by series: value of series s at knot k is y[s*x.length + k]. */
  readonly y: Float64Array;
  /** Second derivatives at the knots, laid out as y. */
  readonly curvature: Float64Array;
  readonly boundary: SplineBoundary;

  /** @internal use {@link cubicSpline} */
  constructor(x: Float64Array, y: Float64Array, curvature: Float64Array, boundary: SplineBoundary) {
    this.x = x;
    this.y = y;
    this.curvature = curvature;
    this.boundary = boundary;
  }

  /** A line for each field, in consoles. */
  [inspection](): string {
    return briefText('CubicSpline', this);
  }

  /** Its fields, with arrays for typed arrays. */
  toJSON(): object {
    return fieldsPlainly(this);
  }

  /** Number of series. */
  get seriesCount(): number { return this.y.length / this.x.length; }

  /** Interval k with x[k] <= t <= x[k+1]; the end intervals extend beyond the data. */
  #interval(t: number): number {
    let low = 0;
    let high = this.x.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.x[middle]! <= t) low = middle;
      else high = middle;
    }
    return low;
  }

  #wrap(t: number): number {
    if (this.boundary !== 'periodic') return t;
    const first = elementAt(this.x, 0);
    const period = elementAt(this.x, this.x.length - 1) - first;
    return first + ((((t - first) % period) + period) % period);
  }

  /**
   * Value (order 0), slope (1) or curvature (2) of one series at each of `at`. Beyond the data the end
   * cubics continue; periodic splines repeat.
   * @throws ArgumentError for places that are not finite numbers, and for a series or order that does not exist
   */
  evaluate(at: ArrayLike<number>, options: EvaluateOptions = {}): Float64Array {
    const { series, order } = evaluateOptions.read(options);
    requireCount(series, 'series', 0, this.seriesCount - 1);
    requireNumbers(at, 'at');
    const base = series * this.x.length;
    const value = (raw: number): number => {
      const t = this.#wrap(raw);
      const k = this.#interval(t);
      const h = this.x[k + 1]! - this.x[k]!;
      const right = (t - this.x[k]!) / h;
      const left = 1 - right;
      const [y0, y1] = [this.y[base + k]!, this.y[base + k + 1]!];
      const [m0, m1] = [this.curvature[base + k]!, this.curvature[base + k + 1]!];
      if (order === 2) return left * m0 + right * m1;
      if (order === 1) {
        return (y1 - y0) / h + (h / 6) * ((3 * right * right - 1) * m1 - (3 * left * left - 1) * m0);
      }
      return left * y0 + right * y1
        + (h * h / 6) * ((left ** 3 - left) * m0 + (right ** 3 - right) * m1);
    };
    return Float64Array.from(at, (raw) => requireRange(value(raw), 'at'));
  }
}

/** A copy of the numbers at the time of the call; NaN for values that are not numbers. */
function taken(values: ArrayLike<number>, name: string): Float64Array {
  if (isReal(values)) return Float64Array.from(typedCopy(values));
  requireList(values, name);
  const copy = makeFloat64(values.length);
  for (let k = 0; k < copy.length; ++k) {
    const value: unknown = values[k];
    if (typeof value !== 'number') throw refusal(name, 'numbers', `${name}[${k}]: ${describeValue(value)}`);
    copy[k] = value;
  }
  return copy;
}

async function checkKnots(
  x: Float64Array, y: Float64Array, boundary: SplineBoundary, signal: AbortSignal | undefined,
): Promise<void> {
  const count = x.length;
  const slices = { signal, grain: 2 ** 16 };
  await inSlices(count, (begin, end) => {
    for (let k = begin; k < end; ++k) {
      if (!Number.isFinite(x[k]!) || (k > 0 && !(x[k]! > x[k - 1]!))) {
        throw refusal('x', 'finite, strictly ascending knots', `x[${k}] = ${x[k]}`);
      }
    }
  }, slices);
  await inSlices(y.length, (begin, end) => {
    for (let k = begin; k < end; ++k) if (!Number.isFinite(y[k]!)) throw refusal('y', 'finite values', `y[${k}] = ${y[k]}`);
  }, slices);
  if (boundary !== 'periodic') return;
  for (let s = 0; s < y.length; s += count) {
    if (y[s] !== y[s + count - 1]) {
      throw refusal('y', 'equal first and last values for a periodic spline', `${y[s]} and ${y[s + count - 1]}`);
    }
  }
}

/** Bands and right-hand sides of the second-derivative system for `rows` unknown knots. */
async function splineSystem(
  x: Float64Array, y: Float64Array, { boundary, slopes }: Pick<TakenOptions, 'boundary' | 'slopes'>,
  signal: AbortSignal | undefined,
) {
  const knots = x.length;
  const series = y.length / knots;
  // The last knot of a periodic spline repeats the first, so there is one unknown less.
  const rows = boundary === 'periodic' ? knots - 1 : knots;
  const lower = new Float64Array(rows);
  const diagonal = new Float64Array(rows).fill(1);
  const upper = new Float64Array(rows);
  const rhs = makeFloat64(rows * series);
  const width = (k: number) => x[k + 1]! - x[k]!;
  const setRow = (k: number): void => {
    const inner = k > 0 && k < knots - 1;
    if (!inner && boundary === 'natural') return;
    const before = inner ? k - 1 : boundary === 'periodic' ? knots - 2 : k - 1;
    const hasLeft = before >= 0;
    const hasRight = k < knots - 1;
    if (hasLeft) lower[k] = width(before);
    if (hasRight) upper[k] = width(k);
    diagonal[k] = 2 * ((hasLeft ? width(before) : 0) + (hasRight ? width(k) : 0));
    for (let s = 0; s < series; ++s) {
      const at = s * knots;
      const slope = (i: number) => (y[at + i + 1]! - y[at + i]!) / width(i);
      const left = hasLeft ? slope(before) : slopes[0];
      const right = hasRight ? slope(k) : slopes[1];
      rhs[s * rows + k] = 6 * (right - left);
    }
  };
  await inSlices(rows, (begin, end) => {
    for (let k = begin; k < end; ++k) setRow(k);
  }, { signal, grain: Math.ceil(4096 / series) });
  return { rows, series, lower, diagonal, upper, rhs };
}

/**
 * Interpolates series that share their knots by cubic splines, all in one batched solve of the
 * symmetric, strictly dominant second-derivative system (de Boor, A Practical Guide to Splines, ch. IV).
 * @param x knots, strictly ascending, at least 2 (3 when periodic)
 * @param y values, series by series: a multiple of x.length; periodic series end on their first value
 * @throws ArgumentError before any work for knots or values out of range
 */
export async function cubicSpline(
  x: ArrayLike<number>, y: ArrayLike<number>, options: SplineOptions = {},
): Promise<CubicSpline> {
  const { boundary, slopes: ends, device = implicitDevice(), signal } = splineOptions.read(options);
  const chosen = { boundary, slopes: [ends[0], ends[1]] as const };
  const [knots, values] = [taken(x, 'x'), taken(y, 'y')];
  const count = knots.length;
  const least = boundary === 'periodic' ? 3 : 2;
  if (count < least) throw refusal('x', `at least ${least} knots${least === 3 ? ' for a periodic spline' : ''}`, `${count}`);
  if (values.length === 0 || values.length % count !== 0) throw refusal('y', `a multiple of ${count} values`, `${values.length}`);
  signal?.throwIfAborted();
  await checkKnots(knots, values, boundary, signal);
  const { rows, series, lower, diagonal, upper, rhs } = await splineSystem(knots, values, chosen, signal);
  const solution = makeResult('float64', rhs.length) as Float64Array;
  const row = (data: Float64Array) => ({ data, extents: [1, rows] });
  const many = (data: Float64Array) => ({ data, extents: [1, series, rows] });
  await device.run('tridiagonal.solve', {
    type: 'float64', n: rows, batch: 1, rhsCount: series, periodic: boundary === 'periodic',
    lower: row(lower), diagonal: row(diagonal), upper: row(upper),
    rhs: many(rhs), solution: many(solution), status: new Int32Array(series),
  }, { signal });
  if (rows === count) return new CubicSpline(knots, values, solution, boundary);
  const curvature = makeFloat64(values.length);
  for (let s = 0; s < series; ++s) {
    curvature.set(solution.subarray(s * rows, (s + 1) * rows), s * count);
    curvature[(s + 1) * count - 1] = solution[s * rows]!;
  }
  return new CubicSpline(knots, values, curvature, boundary);
}
