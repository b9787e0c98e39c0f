// Batches of random tridiagonal systems in device memory, as the benchmarks time them.
import type { Device, DeviceArray } from '../lib/core/device.ts';
import { Random } from '../test/support/random.ts';
import type { ParameterSet } from './native.ts';

export type Precision = 'float32' | 'float64';
export const precisions: readonly Precision[] = ['float32', 'float64'];

export interface Shape {
  readonly systems: number;
  readonly n: number;
}

export const bytesOf = (precision: Precision): number => (precision === 'float32' ? 4 : 8);
const allocateHost = (precision: Precision, length: number): Float32Array | Float64Array =>
  (precision === 'float32' ? new Float32Array(length) : new Float64Array(length));

/** Random rows, diagonally dominant with margin 0.5; period 2^20 - 3 so that rows never align with systems. */
export interface HostBands {
  readonly lower: Float32Array | Float64Array;
  readonly diagonal: Float32Array | Float64Array;
  readonly upper: Float32Array | Float64Array;
  readonly rhs: Float32Array | Float64Array;
}

function repeatFrom(pattern: Float32Array | Float64Array, target: Float32Array | Float64Array): void {
  target.set(pattern.subarray(0, Math.min(pattern.length, target.length)));
  for (let filled = pattern.length; filled < target.length; filled *= 2) {
    target.copyWithin(filled, 0, Math.min(filled, target.length - filled));
  }
}

/** `length` rows of bands and right-hand sides. */
export function randomBands(precision: Precision, length: number, seed: number): HostBands {
  const random = new Random(seed);
  const period = Math.min(length, 2 ** 20 - 3);
  const pattern: Record<keyof HostBands, Float64Array> = {
    lower: new Float64Array(period), diagonal: new Float64Array(period),
    upper: new Float64Array(period), rhs: new Float64Array(period),
  };
  for (let i = 0; i < period; i += 1) {
    const a = random.uniform();
    const c = random.uniform();
    pattern.lower[i] = a;
    pattern.upper[i] = c;
    pattern.diagonal[i] = (random.uniform() < 0 ? -1 : 1) * (0.5 + Math.abs(a) + Math.abs(c));
    pattern.rhs[i] = random.uniform();
  }
  const spread = (values: Float64Array) => {
    const target = allocateHost(precision, length);
    repeatFrom(allocateHost(precision, period).map((_, i) => values[i]!) as Float32Array, target);
    return target;
  };
  return {
    lower: spread(pattern.lower), diagonal: spread(pattern.diagonal),
    upper: spread(pattern.upper), rhs: spread(pattern.rhs),
  };
}

/** One set of arrays of a batch on the device, contiguous. */
export class DeviceSystems implements Disposable {
  readonly shape: Shape;
  readonly precision: Precision;
  readonly arrays: Record<'lower' | 'diagonal' | 'upper' | 'rhs' | 'solution' | 'status' | 'row', DeviceArray>;

  private constructor(shape: Shape, precision: Precision, arrays: DeviceSystems['arrays']) {
    this.shape = shape;
    this.precision = precision;
    this.arrays = arrays;
  }

  static async upload(device: Device, shape: Shape, precision: Precision, bands: HostBands): Promise<DeviceSystems> {
    const solution = allocateHost(precision, shape.systems * shape.n);
    return new DeviceSystems(shape, precision, {
      lower: await device.array(bands.lower), diagonal: await device.array(bands.diagonal),
      upper: await device.array(bands.upper), rhs: await device.array(bands.rhs),
      solution: await device.array(solution),
      status: await device.array(new Int32Array(shape.systems)), row: await device.array(new Int32Array(shape.systems)),
    });
  }

  private view(name: 'lower' | 'diagonal' | 'upper' | 'rhs' | 'solution'): object {
    return { data: this.arrays[name], extents: [this.shape.systems, this.shape.n] };
  }

  /** Parameters of `tridiagonal.solve`. */
  solve(method: ParameterSet): ParameterSet {
    const { n, systems } = this.shape;
    return {
      type: this.precision, n, batch: systems, rhsCount: 1,
      lower: this.view('lower'), diagonal: this.view('diagonal'), upper: this.view('upper'),
      rhs: this.view('rhs'), solution: this.view('solution'),
      status: this.arrays.status, row: this.arrays.row, ...method,
    };
  }

  /** Parameters of the solver peers. */
  peer(): ParameterSet {
    const { n, systems } = this.shape;
    return {
      type: this.precision, n, batch: systems, lower: this.view('lower'), diagonal: this.view('diagonal'),
      upper: this.view('upper'), rhs: this.view('rhs'), solution: this.view('solution'),
    };
  }

  [Symbol.dispose](): void {
    for (const array of Object.values(this.arrays)) array[Symbol.dispose]();
  }
}

/** Worst componentwise backward error of `count` systems spread over the batch; throws on a bad status word. */
export async function spotCheck(systems: DeviceSystems, bands: HostBands, count = 8): Promise<number> {
  const { n, systems: batch } = systems.shape;
  const x = await systems.arrays.solution.read() as Float32Array | Float64Array;
  const status = await systems.arrays.status.read() as Int32Array;
  const bad = status.findIndex((word) => (word & 0xff) !== 0);
  if (bad >= 0) throw new Error(`system ${bad} ended with status ${status[bad]}`);
  let worst = 0;
  for (let k = 0; k < count; k += 1) {
    const base = Math.floor((k * (batch - 1)) / Math.max(count - 1, 1)) * n;
    for (let i = 0; i < n; i += 1) {
      const at = base + i;
      const left = i > 0 ? bands.lower[at]! * x[at - 1]! : 0;
      const right = i < n - 1 ? bands.upper[at]! * x[at + 1]! : 0;
      const middle = bands.diagonal[at]! * x[at]!;
      const size = Math.abs(left) + Math.abs(middle) + Math.abs(right) + Math.abs(bands.rhs[at]!);
      const error = Math.abs(bands.rhs[at]! - left - middle - right) / (size || 1);
      if (!(error <= worst)) worst = Number.isNaN(error) ? Infinity : error;
    }
  }
  return worst;
}
