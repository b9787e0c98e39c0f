// imaging.warp: an image at displaced points.
import {
  callChecks, callOptions, deviceFor, newReals, requireOut, requireReals, viewOf, withResults, type CallInfo, type RealType,
} from '../core/call.ts';
import { anything } from '../core/checks.ts';
import type { Device } from '../core/device.ts';
import { refusal } from '../core/errors.ts';
import { optionsOf, type ChecksOf } from '../core/options.ts';
import type { CallOptions } from '../core/progress.ts';
import { checkImage, shownImage, spacingOf, type CheckedImage, type Image, type Pixels } from '../files/image.ts';

/** Options of {@link warp}. */
export interface WarpOptions<V extends Pixels = Pixels> extends CallOptions {
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

const warpOptions = optionsOf('warp', { ...callChecks, out: anything } satisfies ChecksOf<WarpOptions>);

/**
 * An image at x + u(x): `result(x) = image(x + u(x))` by linear interpolation, every channel. Points outside the grid take the
 * value of the nearest border point; a displacement of NaN gives NaN, and so does a NaN pixel to all points interpolated from it.
 *
 * @param displacement u in pixels: an image with one channel per axis (x, y, and z for volumes) on the image's grid, or its array
 * @throws ArgumentError naming the argument, before any work; aborted calls reject with `signal.reason`
 */
export async function warp<V extends Pixels>(
  image: Image<V>, displacement: Image | Pixels, given: WarpOptions<V> = {},
): Promise<WarpResult<V>> {
  const options = warpOptions.read(given);
  const checked = checkImage(image, 'image');
  const positions = displacementData(displacement, checked, 'displacement');
  const { data, type, width, height, depth, channels, points } = checked;
  requireOut(options.out, type, data.length);
  const device = deviceFor(options, [data, positions, options.out]);
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
