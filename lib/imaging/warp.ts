// imaging.warp: an image at displaced points.
import {
  callChecks, callOptions, deviceFor, newReals, requireOut, requireReals, viewOf, withResults, type CallInfo, type RealType,
} from '../core/call.ts';
import { describeValue, holds, typedCopy } from '../core/arrays.ts';
import { anything, choice, truth } from '../core/checks.ts';
import { type Device, DeviceArray, inputArray } from '../core/device.ts';
import { refusal } from '../core/errors.ts';
import { required } from '../core/known.ts';
import { normally, optionsOf, type ChecksOf } from '../core/options.ts';
import type { CallOptions } from '../core/progress.ts';
import { checkImage, shownImage, spacingOf, type CheckedImage, type Image, type Pixels } from '../files/image.ts';
import { hostPixels, placed } from './mask.ts';
import { realImage, samplesKind, samplesOf, type SampleImage, type Samples } from '../files/samples.ts';

/** Options of {@link warp}. */
export interface WarpOptions<V extends Pixels = Pixels> extends CallOptions {
  /**
   * `linear` (default), or `nearest`: the value of the nearest pixel, for labels; images of 8 and 16 bits then keep their type and values.
   */
  readonly interpolation?: 'linear' | 'nearest';
  /** Images of 8 and 16 bits with `linear`: true returns the same type, rounded and clamped; false (default) float32. */
  readonly sameType?: boolean;
  /** Default: the device of the device arrays among the arguments, or else the thread's default device. */
  readonly device?: Device;
  /** Where the result goes; must not overlap the inputs. Default: a new array like the image's, on the device if it is there. */
  readonly out?: V;
}

/** Result of {@link warp}. */
export interface WarpResult<V extends Pixels = Pixels> {
  readonly image: Image<V>;
  readonly info: CallInfo;
}

/** Components of a displacement: 2, or 3 for volumes. */
export function axesOf({ depth }: { readonly depth: number }): 2 | 3 {
  return depth > 1 ? 3 : 2;
}

/** Refuses a displacement that is not one component per axis of the grid, in the image's type. */
function requireDisplacement(data: unknown, type: RealType, count: number, name: string): asserts data is Pixels {
  const own = requireReals(data, name);
  if (own !== type) throw refusal(name, `${type} elements like the image`, own);
  if ((data as Pixels).length !== count) throw refusal(name, `${count} elements, one component per axis`, `${(data as Pixels).length}`);
}

/** A displacement as an argument: an image with one channel per axis, on the grid of `image`, or its array alone. */
export function displacementData(value: unknown, image: CheckedImage, name: string): Pixels {
  const axes = axesOf(image);
  const isImage = typeof value === 'object' && value !== null && 'data' in value && 'width' in value;
  if (!isImage) {
    requireDisplacement(value, image.type, axes * image.points, name);
    return value;
  }
  const given = checkImage(value as Image, name);
  for (const key of ['width', 'height', 'depth'] as const) {
    if (given[key] !== image[key]) throw refusal(`${name}.${key}`, `${image[key]}`, `${given[key]}`);
  }
  if (given.channels !== axes) throw refusal(`${name}.channels`, `${axes}, one per axis`, `${given.channels}`);
  requireDisplacement(given.data, image.type, axes * image.points, `${name}.data`);
  return given.data;
}

/** The fields of a grid that every operation takes. */
export function gridOf({ type, width, height, depth }: CheckedImage) {
  return { type, width, height, depth };
}

const warpOptions = optionsOf('warp', {
  ...callChecks, out: anything, interpolation: normally(choice(['linear', 'nearest'] as const), 'linear'), sameType: normally(truth, false),
} satisfies ChecksOf<WarpOptions>);

/** A displacement in whole pixels, where the given one is. */
async function rounded(device: Device, displacement: Pixels, signal: AbortSignal | undefined): Promise<Pixels> {
  const whole = await hostPixels(displacement, signal);
  for (let i = 0; i < whole.length; i += 1) whole[i] = Math.round(required(whole[i]));
  return placed(device, displacement, whole);
}

/** Samples in the type of a displacement. */
function inTypeOf(image: Image | SampleImage, kind: string | undefined, displacement: unknown, stored: boolean): Image {
  const real = realImage(image, stored);
  const data = typeof displacement === 'object' && displacement !== null && 'data' in displacement ? displacement.data : displacement;
  const isWide = holds(data, 'float64') || (data instanceof DeviceArray && data.type === 'float64');
  return kind !== undefined && isWide ? { ...real, data: Float64Array.from(real.data as Float32Array) } : real;
}

/**
 * An image at x + u(x): `result(x) = image(x + u(x))` by linear interpolation, every channel. Points outside the grid take the
 * value of the nearest border point; a displacement of NaN gives NaN, and so does a NaN pixel to all points interpolated from it.
 *
 * Images of 8 and 16 bits are taken too: unsigned ones are computed as 0 to 1 (with `nearest` as they are).
 *
 * @param displacement u in pixels: an image with one channel per axis (x, y, and z for volumes) on the image's grid, or its array
 * @throws ArgumentError naming the argument, before any work; aborted calls reject with `signal.reason`
 */
export function warp<V extends Pixels>(image: Image<V>, displacement: Image | Pixels, given?: WarpOptions<V>): Promise<WarpResult<V>>;
export function warp<S extends Samples>(
  image: SampleImage<S>, displacement: Image | Pixels,
  given: WarpOptions & ({ readonly interpolation: 'nearest' } | { readonly sameType: true }),
): Promise<{ readonly image: SampleImage<S>; readonly info: CallInfo }>;
export function warp(image: SampleImage, displacement: Image | Pixels, given?: WarpOptions): Promise<WarpResult<Float32Array>>;
export async function warp(image: Image | SampleImage, displacement: Image | Pixels, given: WarpOptions = {}): Promise<unknown> {
  const options = warpOptions.read(given);
  const kind = samplesKind(image);
  const nearest = options.interpolation === 'nearest';
  const same = kind !== undefined && (nearest || options.sameType);
  if (options.sameType && kind === undefined) throw refusal('sameType', 'false, or an image of 8 or 16 bits', 'true');
  if (same && options.out !== undefined) {
    throw refusal('out', 'none where the result has the type of the samples', describeValue(options.out));
  }
  const checked = checkImage(inTypeOf(image, kind, displacement, nearest), 'image');
  const positions = displacementData(displacement, checked, 'displacement');
  requireOut(options.out, checked.type, checked.data.length);
  const device = deviceFor(options, [checked.data, positions, options.out]);
  if (!nearest) {
    const linear = await warpOn(device, checked, positions, options);
    return same ? { ...linear, image: { ...linear.image, data: samplesOf(linear.image.data as Float32Array, kind) } } : linear;
  }
  const pixels = checked.data instanceof DeviceArray ? inputArray(device, checked.data) as Pixels : typedCopy(checked.data);
  let whole: Pixels | undefined;
  try {
    whole = await rounded(device, positions, options.signal);
    const found = await warpOn(device, { ...checked, data: pixels }, whole, options);
    return same ? { ...found, image: { ...found.image, data: samplesOf(found.image.data as Float32Array, kind, true) } } : found;
  } finally {
    for (const array of [whole, pixels]) if (array instanceof DeviceArray) array.dispose();
  }
}

/** Warps a checked image. */
async function warpOn<V extends Pixels>(
  device: Device, checked: CheckedImage<V>, positions: Pixels, options: Pick<WarpOptions, 'out' | 'signal' | 'onProgress'>,
): Promise<WarpResult<V>> {
  const { data, type, width, height, depth, channels, points } = checked;
  const result = (options.out ?? newReals(data, type, data.length, device)) as V;
  return await withResults(options.out === undefined ? [result] : [], async () => {
    const { deviceSeconds } = await device.run('imaging.warp', {
      ...gridOf(checked), channels, relative: true, count: points,
      image: viewOf(data), positions: viewOf(positions), result: viewOf(result),
    }, callOptions(options));
    const info = { backend: device.backend, deviceSeconds };
    return { image: shownImage({ data: result, width, height, depth, channels, ...spacingOf(checked) }), info };
  });
}
