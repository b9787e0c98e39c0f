// imaging.cosineTransform: the discrete cosine transform of images, with its own kernels.
import { callChecks, callOptions, deviceFor, newReals, requireOut, viewOf, withResults, type CallInfo } from '../core/call.ts';
import { anything } from '../core/checks.ts';
import type { Device } from '../core/device.ts';
import { briefly } from '../core/display.ts';
import { optionsOf, parametersOf, type ChecksOf } from '../core/options.ts';
import type { CallOptions } from '../core/progress.ts';
import { checkImage, shownImage, spacingOf, type Image, type Pixels } from '../files/image.ts';

/** Options of {@link cosineTransform}. */
export interface CosineOptions<V extends Pixels = Pixels> extends CallOptions {
  /** The inverse: values from coefficients (type III). Default false. */
  readonly inverse?: boolean;
  /** Default: the device of the device arrays among the arguments, or else the thread's default device. */
  readonly device?: Device;
  /** Where the result goes; must not overlap the input. Default: a new array like the input, on the device if it is there. */
  readonly out?: V;
}

/** Result of {@link cosineTransform}. */
export interface CosineResult<V extends Pixels = Pixels> {
  /** Coefficients, or values: the same grid, type and channels. */
  readonly image: Image<V>;
  readonly info: CallInfo;
}

const cosineOptions = optionsOf('cosineTransform', {
  ...parametersOf('imaging.cosine', 'inverse'), ...callChecks, out: anything,
} satisfies ChecksOf<CosineOptions>);

/**
 * Orthonormal discrete cosine transform of type II along every axis of each channel, or its inverse:
 * `C(k) = s(k) sum_x f(x) cos(pi (2x + 1) k / 2n)` with `s(0) = sqrt(1/n)` and `s(k) = sqrt(2/n)`, one axis after the other. Being
 * orthonormal it keeps the sum of squares (Parseval), and the inverse is its transpose.
 *
 * Lengths 2^a 3^b 5^c take a mixed-radix transform, others Bluestein's convolution: every length up to 65536 takes O(n log n).
 * A NaN makes all coefficients of its channel NaN. Results have the same bits on every backend; only a zero may have another sign.
 * @throws ArgumentError naming the argument, before any work; aborted calls reject with `signal.reason`
 * @see Makhoul, A fast cosine transform in one and two dimensions (1980)
 */
export async function cosineTransform<V extends Pixels>(image: Image<V>, given: CosineOptions<V> = {}): Promise<CosineResult<V>> {
  const options = cosineOptions.read(given);
  const checked = checkImage(image, 'image');
  const { data, type, width, height, depth, channels } = checked;
  requireOut(options.out, type, data.length);
  const device = deviceFor(options, [data, options.out]);
  const result = (options.out ?? newReals(data, type, data.length, device)) as V;
  return await withResults(options.out === undefined ? [result] : [], async () => {
    const { deviceSeconds } = await device.run('imaging.cosine', {
      type, width, height, depth, channels, inverse: options.inverse, values: viewOf(data), result: viewOf(result),
    }, callOptions(options));
    const info = { backend: device.backend, deviceSeconds };
    return briefly('Transformed', { image: shownImage({ data: result, width, height, depth, channels, ...spacingOf(checked) }), info });
  });
}
