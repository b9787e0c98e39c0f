// Displacements of registration put to further use: one after the other, and backwards.
import { callChecks, callOptions, deviceFor, viewOf, type CallInfo, type Reals } from '../core/call.ts';
import { number, whole } from '../core/checks.ts';
import { type Device, DeviceArray, inputArray, resultArray } from '../core/device.ts';
import { refusal } from '../core/errors.ts';
import { elementAt } from '../core/known.ts';
import { normally, optionsOf, type ChecksOf } from '../core/options.ts';
import type { CallOptions } from '../core/progress.ts';
import { checkImage, requireAlike, shownImage, spacingOf, type CheckedImage, type Image, type Pixels } from '../files/image.ts';
import { hostPixels } from './mask.ts';
import { statusOf, type IterationStatus } from './status.ts';
import { axesOf, gridOf } from './warp.ts';

/** A displacement as an argument: one channel per axis. */
function checkDisplacement<V extends Pixels>(displacement: Image<V>, name: string): CheckedImage<V> {
  const checked = checkImage(displacement, name);
  if (checked.channels !== axesOf(checked)) throw refusal(`${name}.channels`, `${axesOf(checked)}, one per axis`, `${checked.channels}`);
  return checked;
}

/** A displacement at displaced points: `field(x + at(x))`. */
async function carried(device: Device, grid: CheckedImage, field: Reals, at: Reals, options: CallOptions): Promise<[DeviceArray, number]> {
  const result = resultArray(device, grid.type, grid.channels * grid.points);
  try {
    const { deviceSeconds } = await device.run('imaging.warp', {
      ...gridOf(grid), channels: grid.channels, relative: true, count: grid.points,
      image: viewOf(field), positions: viewOf(at), result: viewOf(result as Reals),
    }, callOptions({ signal: options.signal }));
    return [result, deviceSeconds];
  } catch (error) {
    result.dispose();
    throw error;
  }
}

/** The values of a result where those of an argument are. */
function likeData<V extends Pixels>(like: V, device: Device, values: Float32Array | Float64Array): V {
  return (like instanceof DeviceArray ? inputArray(device, values) : values) as V;
}

/** Options of {@link composeDisplacements}. */
export interface ComposeOptions extends CallOptions {
  /** Default: the device of the device arrays among the arguments, or else the thread's default device. */
  readonly device?: Device;
}

/** Result of {@link composeDisplacements}. */
export interface ComposeResult<V extends Pixels = Pixels> {
  /** In pixels, one channel per axis. */
  readonly displacement: Image<V>;
  readonly info: CallInfo;
}

const composeOptions = optionsOf('composeDisplacements', { ...callChecks } satisfies ChecksOf<ComposeOptions>);

/**
 * Two displacements, one after the other: `first(x) + second(x + first(x))`, by linear interpolation. Warping an image by the result does
 * what warping it by `second`, and that by `first`, would do, with one interpolation instead of two.
 *
 * @param first in pixels, one channel per axis (x, y, and z for volumes)
 * @param second in pixels, on the same grid and of the same type
 * @throws ArgumentError naming the argument, before any work; aborted calls reject with `signal.reason`
 */
export async function composeDisplacements<V extends Pixels>(
  first: Image<V>, second: Image<V>, given: ComposeOptions = {},
): Promise<ComposeResult<V>> {
  const options = composeOptions.read(given);
  const [one, two] = [checkDisplacement(first, 'first'), checkDisplacement(second, 'second')];
  requireAlike(two, one, 'second');
  const device = deviceFor(options, [one.data, two.data]);
  const carrying = carried(device, one, two.data, one.data, options); // reads both as they are at the call
  const [own, [moved, deviceSeconds]] = await Promise.all([hostPixels(one.data, options.signal), carrying]);
  try {
    const sum = await moved.read(undefined, 0, callOptions({ signal: options.signal })) as Float32Array;
    for (let i = 0; i < sum.length; i += 1) sum[i] = elementAt(sum, i) + elementAt(own, i);
    const { width, height, depth, channels } = one;
    const data = likeData(one.data, device, sum);
    const info = { backend: device.backend, deviceSeconds };
    return { displacement: shownImage({ data, width, height, depth, channels, ...spacingOf(one) }), info };
  } finally {
    moved.dispose();
  }
}

/** Options of {@link invertDisplacement}. */
export interface InvertOptions extends CallOptions {
  /** The largest error of a component, in pixels, at which the iterations end. Default 1e-3. */
  readonly tolerance?: number;
  /** Maximum number of iterations. Default 100. */
  readonly iterations?: number;
  /** Default: the device of the displacement, or else the thread's default device. */
  readonly device?: Device;
}

/** Result of {@link invertDisplacement}. */
export interface InvertResult<V extends Pixels = Pixels> {
  /** v in pixels with v(x) + u(x + v(x)) = 0. */
  readonly displacement: Image<V>;
  readonly converged: boolean;
  readonly iterations: number;
  /** The largest component of v(x) + u(x + v(x)) in pixels and, if that is above the tolerance, what to change. */
  readonly status: IterationStatus;
  readonly info: CallInfo;
}

const invertOptions = optionsOf('invertDisplacement', {
  ...callChecks, tolerance: normally(number({ above: 0 }), 1e-3), iterations: normally(whole(1, 100_000), 100),
} satisfies ChecksOf<InvertOptions>);

/** The largest difference of two fields, where both are numbers. */
function farthest(a: Float32Array | Float64Array, b: Float32Array | Float64Array): number {
  let most = 0;
  for (let i = 0; i < a.length; i += 1) {
    const off = Math.abs(elementAt(a, i) - elementAt(b, i));
    if (off > most) most = off;
  }
  return most;
}

/** Iterations between two looks at the error. */
const lookEvery = 5;

/**
 * The inverse of a displacement: v with `v(x) + u(x + v(x)) = 0`, by the iteration v ← -u(x + v), which converges where neighbouring points
 * move by less than their distance relative to each other. With it, what belongs to the reference is carried to the template: `warp` of a
 * label image of the reference by v gives the labels of the template.
 *
 * @param displacement u in pixels, one channel per axis (x, y, and z for volumes)
 * @throws ArgumentError naming the argument, before any work; aborted calls reject with `signal.reason`
 * @see Chen, Lu, Chen, Ruchala, Olivera: A simple fixed-point approach to invert a deformation field (2008)
 */
export async function invertDisplacement<V extends Pixels>(displacement: Image<V>, given: InvertOptions = {}): Promise<InvertResult<V>> {
  const options = invertOptions.read(given);
  const { tolerance, iterations, signal, onProgress } = options;
  const u = checkDisplacement(displacement, 'displacement');
  const device = deviceFor(options, [u.data]);
  const back = (await hostPixels(u.data, signal)).map((value) => 0 - value) as Float32Array;
  const negative = inputArray(device, back);
  const held: DeviceArray[] = [negative];
  let [field, seconds, done, error, found] = [negative, 0, 0, Infinity, back];
  try {
    while (done < iterations && !(error <= tolerance)) {
      const [next, taken] = await carried(device, u, negative, field, { signal });
      held.push(next);
      done += 1;
      seconds += taken;
      if (done % lookEvery === 0 || done === iterations) {
        const [before, after] = [await field.read() as Float32Array, await next.read() as Float32Array];
        error = farthest(before, after); // of the field before
        found = error <= tolerance ? before : after;
      }
      if (held.length > 2) held.splice(1, 1)[0]?.dispose();
      field = next;
      onProgress?.(done, iterations);
    }
  } finally {
    for (const array of held) array.dispose();
  }
  const { width, height, depth, channels } = u;
  const converged = error <= tolerance;
  const change = 'raise iterations or tolerance; a displacement that folds has no inverse (see jacobian)';
  const status = statusOf({ converged, iterations: done, measure: error, tolerance }, 'largest error in pixels', change);
  return {
    displacement: shownImage({ data: likeData(u.data, device, found), width, height, depth, channels, ...spacingOf(u) }),
    converged, iterations: done, status,
    info: { backend: device.backend, deviceSeconds: seconds },
  };
}
