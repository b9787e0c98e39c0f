// imaging.curvature: the curvature of the level sets of an image or a volume.
import { callChecks, callOptions, deviceFor, newReals, requireOut, viewOf, withResults, type CallInfo } from '../core/call.ts';
import { anything } from '../core/checks.ts';
import type { Device } from '../core/device.ts';
import { briefly } from '../core/display.ts';
import { refusal } from '../core/errors.ts';
import { optionsOf, parametersOf, type ChecksOf } from '../core/options.ts';
import type { CallOptions } from '../core/progress.ts';
import { checkImage, shownImage, spacingFields, spacingOf, type Image, type Pixels } from '../files/image.ts';
import { choices } from '../core/operations.gen.ts';

/** How a curvature is computed; within a backend all variants produce the same bits. */
export const curvatureVariants = choices['imaging.curvature'].variant;
/** One of {@link curvatureVariants}. */
export type CurvatureVariant = (typeof curvatureVariants)[number];

/** Options of {@link curvature}. */
export interface CurvatureOptions<V extends Pixels = Pixels> extends CallOptions {
  /** Added to the squared norm of the gradient, in squared pixel values. Default 1e-4, for images of about 0 … 1; 1e-30 to 1e30. */
  readonly eps?: number;
  /** One norm over all channels (default), as for vector-valued images; false: each channel on its own. */
  readonly coupled?: boolean;
  /**
   * `direct`: a thread per pixel, everything from memory. `tile`: tiles in shared memory (cuda and simt). `march`: patches in
   * registers that move through the planes. `tile` and `march` support one channel, or channels that are not coupled. Default
   * `auto`: `march` if possible, otherwise `direct`.
   */
  readonly variant?: CurvatureVariant;
  /** Default: the device of the device arrays among the arguments, or else the thread's default device. */
  readonly device?: Device;
  /** Where the result goes; must not overlap the image. Default: a new array like the image's, on the device if it is there. */
  readonly out?: V;
}

/** Result of {@link curvature}. */
export interface CurvatureResult<V extends Pixels = Pixels> {
  readonly image: Image<V>;
  readonly info: CallInfo & { readonly variant: CurvatureVariant };
}

const curvatureOptions = optionsOf('curvature', {
  ...parametersOf('imaging.curvature', 'eps', 'coupled', 'variant'), ...callChecks, out: anything,
} satisfies ChecksOf<CurvatureOptions>);

/**
 * K(u) = div(∇u / √(|∇u|² + eps)) at every pixel, the sum over the axes of the differences of the fluxes through the faces to both
 * neighbours. The gradient on a face consists of the forward difference along its axis and, along the other axes, the mean of four
 * neighbouring differences. Differences are divided by the distance of the pixels, in units of the smallest `spacing` of the image;
 * with unequal distances only `direct` is there. Outside the grid the nearest pixel is repeated, so that no flux leaves it: the values
 * of K add up to zero. |K| is at most twice the number of axes. A NaN pixel gives NaN at itself and around it.
 *
 * All variants of a backend produce the same bits. float64 has the same bits on every backend; float32 uses roots with a relative
 * error of 2⁻²² on cuda, and rounded ones elsewhere.
 *
 * @throws ArgumentError naming the argument, before any work; `ERR_WARPLOOM_UNSUPPORTED` for a variant that does not support the image;
 *   aborted calls reject with `signal.reason`
 * @see the paper's Curvature2D and Curvature3D; Rudin, Osher, Fatemi: Nonlinear total variation based noise removal (1992)
 */
export async function curvature<V extends Pixels>(image: Image<V>, given: CurvatureOptions<V> = {}): Promise<CurvatureResult<V>> {
  const options = curvatureOptions.read(given);
  const { eps, coupled, variant, out } = options;
  const checked = checkImage(image, 'image');
  const { data, type, width, height, depth, channels } = checked;
  if ((variant === 'tile' || variant === 'march') && coupled && channels > 1) {
    throw refusal('variant', '"direct", coupled: false, or one channel', `"${variant}" with ${channels} channels`);
  }
  requireOut(out, type, data.length);
  const device = deviceFor(options, [data, out]);
  const result = (out ?? newReals(data, type, data.length, device)) as V;
  return await withResults(out === undefined ? [result] : [], async () => {
    const { deviceSeconds, report } = await device.run('imaging.curvature', {
      type, width, height, depth, ...spacingFields(checked), channels, coupled, eps, variant, image: viewOf(data), result: viewOf(result),
    }, callOptions(options));
    const info = { backend: device.backend, deviceSeconds, variant: report.variant };
    return briefly('Curvature', { image: shownImage({ data: result, width, height, depth, channels, ...spacingOf(checked) }), info });
  });
}
