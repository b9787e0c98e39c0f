// Two-dimensional heat equation by the alternating direction implicit method, state kept on the device.
import { describeValue, holds, isReal, makeFloat64 } from '../core/arrays.ts';
import { anything, choice, positive, requireCount, requireNumber, requireRange, whole } from '../core/checks.ts';
import { refusal, WarploomError } from '../core/errors.ts';
import { callChecks, deviceArrays } from '../core/call.ts';
import { implicitDevice, type Device, type DeviceArray } from '../core/device.ts';
import { addAt, elementAt } from '../core/known.ts';
import { cancelChecks, needed, normally, optionsOf, type ChecksOf, type Taken } from '../core/options.ts';
import { SystemStatuses } from '../linear/status.ts';
import type { RealArray } from './types.ts';

/** Edge condition of {@link HeatAdi}: no flux through the edge, zero beyond it, or opposite edges joined. */
export type HeatBoundary = 'neumann' | 'dirichlet' | 'periodic';

/** Options of {@link HeatAdi.create}. Lengths and times in any consistent units. */
export interface HeatAdiOptions {
  /** Cells along x (columns), at least 1. */
  readonly width: number;
  /** Cells along y (rows), at least 1. */
  readonly height: number;
  /** Temperature of every cell, row by row: width*height values; its type fixes the precision. */
  readonly initial: Float32Array | Float64Array;
  /** Diffusivity, length²/time; positive. */
  readonly diffusivity: number;
  /** Cell size along x; default 1. */
  readonly dx?: number;
  /** Cell size along y; default dx. */
  readonly dy?: number;
  /** Time step; positive. The scheme is unconditionally stable. */
  readonly dt: number;
  /** Default 'neumann'. */
  readonly boundary?: HeatBoundary;
  /** Default: the thread's default device. */
  readonly device?: Device;
}

type Bands = { lower: DeviceArray; diagonal: DeviceArray; upper: DeviceArray };
/** Bands of I + sign * r * delta², and the layout of the lines along one axis of the grid: one line after another, each with its cells. */
interface Axis {
  n: number; batch: number; extents: readonly number[]; strides: readonly number[]; implicit: Bands; explicit: Bands;
  status: DeviceArray;
}

/**
 * Steps between two checks of the status words. A failed line spoils every later step, so no failure is missed, and a grid has far fewer
 * lines than cells.
 */
const stepsPerCheck = 32;

const checks = {
  width: needed(whole(1)), height: needed(whole(1)), initial: anything, diffusivity: needed(positive), dx: normally(positive, 1),
  dy: positive, dt: needed(positive), boundary: normally(choice(['neumann', 'dirichlet', 'periodic'] as const), 'neumann'),
  device: callChecks.device,
} satisfies ChecksOf<HeatAdiOptions>;
const createOptions = optionsOf('HeatAdi.create', checks);
const modeOptions = optionsOf('HeatAdi.modeFactor', checks);
const advanceOptions = optionsOf('HeatAdi.advance', cancelChecks);

/** Diffusivity * dt / 2, divided by the squares of the cell's sides. */
function sharesOf(
  { diffusivity, dx, dy = dx, dt }: Taken<Omit<HeatAdiOptions, 'initial'>, typeof checks>,
): { alongX: number; alongY: number } {
  const half = (diffusivity * dt) / 2;
  return { alongX: requireRange(half / (dx * dx), 'dt'), alongY: requireRange(half / (dy * dy), 'dt') };
}

/** Rows of I + s*delta² of n cells, where delta² u_i = u_{i-1} - 2 u_i + u_{i+1} with the edge condition. */
function bandRows(n: number, s: number, boundary: HeatBoundary) {
  const side = makeFloat64(n).fill(s);
  const diagonal = makeFloat64(n).fill(1 - 2 * s);
  if (boundary === 'neumann') {
    addAt(diagonal, 0, s);
    addAt(diagonal, n - 1, s);
  }
  return { lower: side, diagonal, upper: side };
}

/**
 * Peaceman–Rachford ADI for u_t = diffusivity * (u_xx + u_yy) on a grid of cells:
 * half steps (1 - r_x δx²) u* = (1 + r_y δy²) u and (1 - r_y δy²) u' = (1 + r_x δx²) u* with
 * r = diffusivity*dt/(2 h²). Second order in time and space. Each half step is one batched
 * `tridiagonal.multiply` along one axis and one `tridiagonal.solve` along the other with a matrix
 * shared by all lines; nothing crosses to the host between steps.
 *
 * Source: D. W. Peaceman, H. H. Rachford, J. SIAM 3 (1955), equations (17), (18); reference [10] of
 * Davidson and Owens (2011) names ADI as the use of batched tridiagonal solvers.
 */
export class HeatAdi {
  readonly width: number;
  readonly height: number;
  readonly dt: number;
  #steps = 0;
  #checked = 0;
  #device: Device;
  #type: 'float32' | 'float64';
  #state: DeviceArray;
  #work: DeviceArray;
  #x: Axis;
  #y: Axis;
  #periodic: boolean;
  #owned: DeviceArray[] = [];

  private constructor(fields: {
    width: number; height: number; dt: number; boundary: HeatBoundary; device: Device; type: 'float32' | 'float64'; owned: DeviceArray[];
    state: DeviceArray; work: DeviceArray; x: Axis; y: Axis;
  }) {
    this.width = fields.width;
    this.height = fields.height;
    this.dt = fields.dt;
    this.#device = fields.device;
    this.#type = fields.type;
    this.#state = fields.state;
    this.#work = fields.work;
    this.#x = fields.x;
    this.#y = fields.y;
    this.#periodic = fields.boundary === 'periodic';
    this.#owned = fields.owned;
  }

  /**
   * Copies the initial state and the four sets of bands to the device.
   * @throws ArgumentError for sizes, lengths or coefficients out of range, before any work
   */
  static async create(given: HeatAdiOptions): Promise<HeatAdi> {
    const options = createOptions.read(given);
    const { alongX, alongY } = sharesOf(options);
    const { width, height, dt, initial, boundary } = options;
    if (!isReal(initial)) {
      throw refusal('initial', 'a Float32Array or Float64Array', describeValue(initial));
    }
    if (initial.length !== width * height) {
      throw refusal('initial', `${width * height} values`, `${initial.length} values`);
    }
    const device = options.device ?? implicitDevice();
    const type = holds(initial, 'float32') ? 'float32' : 'float64';
    const bands = (n: number, s: number): RealArray[] => {
      const { lower, diagonal } = bandRows(n, s, boundary);
      return type === 'float32' ? [Float32Array.from(lower), Float32Array.from(diagonal)] : [lower, diagonal];
    };
    const owned = await deviceArrays(device, [
      initial, initial, new Int32Array(height), new Int32Array(width),
      ...bands(width, -alongX), ...bands(width, alongX),
      ...bands(height, -alongY), ...bands(height, alongY),
    ]);
    const [state, work, rowStatus, columnStatus] = owned as [DeviceArray, DeviceArray, DeviceArray, DeviceArray];
    // The matrix is symmetric: one array serves as both off-diagonals.
    const bandsAt = (at: number): Bands => {
      const side = elementAt(owned, at);
      return { lower: side, diagonal: elementAt(owned, at + 1), upper: side };
    };
    const x: Axis = {
      n: width, batch: height, extents: [height, width], strides: [width, 1], implicit: bandsAt(4), explicit: bandsAt(6), status: rowStatus,
    };
    const y: Axis = {
      n: height, batch: width, extents: [width, height], strides: [1, width], implicit: bandsAt(8), explicit: bandsAt(10),
      status: columnStatus,
    };
    return new HeatAdi({ width, height, dt, boundary, device, type, owned, state, work, x, y });
  }

  /** Steps taken so far. */
  get steps(): number { return this.#steps; }
  /** Simulated time so far. */
  get time(): number { return this.#steps * this.dt; }

  /**
   * Takes `count` time steps on the device.
   * @param control `signal` cancels between steps (the state is then that of the last whole step);
   *   `onProgress(done, total)` is called after each step
   * @throws `ERR_WARPLOOM_SYSTEM_FAILED`, naming the steps since the last successful check, if a line was not solved: its
   *   input was not finite (an initial value, or overflow) or it met a zero pivot; the state can then no longer be used
   */
  async advance(count: number, control: {
    signal?: AbortSignal; onProgress?: (done: number, total: number) => void;
  } = {}): Promise<void> {
    requireCount(count, 'count', 0);
    const { signal, onProgress } = advanceOptions.read(control);
    for (let step = 0; step < count; ++step) {
      signal?.throwIfAborted();
      // The device runs them in order, so there is no need to wait between them.
      await Promise.all([...this.#halfStep(this.#y, this.#x), ...this.#halfStep(this.#x, this.#y)]);
      this.#steps += 1;
      if (this.#steps - this.#checked >= stepsPerCheck || step + 1 === count) await this.#check();
      onProgress?.(step + 1, count);
    }
  }

  /** Rejects unless every line of the last step was solved. */
  async #check(): Promise<void> {
    for (const [name, axis] of [['row', this.#x], ['column', this.#y]] as const) {
      const words = await axis.status.read() as Int32Array;
      const statuses = new SystemStatuses(words, new Int32Array(words.length).fill(-1), 1);
      for (const { system, state } of statuses.failures()) {
        const first = this.#checked + 1;
        const steps = first === this.#steps ? `step ${first}` : `steps ${first} to ${this.#steps}`;
        throw new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED',
          `${steps}: ${words.length - statuses.counts().ok} of ${words.length} ${name}s failed, first ${name} ${system}: `
          + `${state}. Check the initial state for values that are not finite, and the coefficients for overflow.`);
      }
    }
    this.#checked = this.#steps;
  }

  /** Explicit along one axis, into the work array; then implicit along the other, back into the state. */
  #halfStep(explicitAxis: Axis, implicitAxis: Axis): readonly Promise<unknown>[] {
    const line = ({ extents, strides }: Axis, data: DeviceArray) => ({ data, extents, strides });
    const shared = ({ extents }: Axis, data: DeviceArray) => ({ data, extents, strides: [0, 1] });
    const common = (axis: Axis, bands: Bands) => ({
      type: this.#type, n: axis.n, batch: axis.batch, periodic: this.#periodic,
      lower: shared(axis, bands.lower), diagonal: shared(axis, bands.diagonal), upper: shared(axis, bands.upper),
    });
    const explicit = this.#device.run('tridiagonal.multiply', {
      ...common(explicitAxis, explicitAxis.explicit),
      x: line(explicitAxis, this.#state), y: line(explicitAxis, this.#work),
    });
    const implicit = this.#device.run('tridiagonal.solve', {
      ...common(implicitAxis, implicitAxis.implicit),
      rhs: line(implicitAxis, this.#work), solution: line(implicitAxis, this.#state),
      status: implicitAxis.status,
    });
    return [explicit, implicit];
  }

  /** The temperature of every cell, row by row, copied to the host. */
  async read(): Promise<Float32Array | Float64Array> {
    return (await this.#state.read()) as Float32Array | Float64Array;
  }

  /**
   * Factor by which one step multiplies the mode cos(pi p (x+1/2)/width) cos(pi q (y+1/2)/height) of a
   * 'neumann' grid: the exact solution of the discrete scheme, for checks.
   * @throws ArgumentError naming the argument
   */
  static modeFactor(p: number, q: number, given: Omit<HeatAdiOptions, 'initial'>): number {
    const options = modeOptions.read(given);
    const { alongX, alongY } = sharesOf(options);
    requireNumber(p, 'p');
    requireNumber(q, 'q');
    const along = (mode: number, n: number, share: number) => 4 * share * Math.sin((Math.PI * mode) / (2 * n)) ** 2;
    const ax = along(p, options.width, alongX);
    const ay = along(q, options.height, alongY);
    return requireRange(((1 - ax) * (1 - ay)) / ((1 + ax) * (1 + ay)), 'dt');
  }

  /** Frees the device arrays; later calls reject. */
  [Symbol.dispose](): void {
    for (const array of this.#owned) array[Symbol.dispose]();
    this.#owned = [];
  }
}
