// imaging.jacobian: where a displacement folds.
import { callChecks, callOptions, deviceFor, newReals, requireOut, viewOf, withResults, type CallInfo } from '../core/call.ts';
import { anything, truth } from '../core/checks.ts';
import type { Device } from '../core/device.ts';
import { refusal } from '../core/errors.ts';
import { normally, optionsOf, type ChecksOf } from '../core/options.ts';
import type { CallOptions } from '../core/progress.ts';
import { checkImage, shownImage, spacingOf, type Image, type Pixels } from '../files/image.ts';
import { axesOf, gridOf } from './warp.ts';

/** Options of {@link jacobian}. */
export interface JacobianOptions<V extends Pixels = Pixels> extends CallOptions {
  /** Compute only the bounds of the determinants. Default false. */
  readonly boundsOnly?: boolean;
  /** Default: the device of the device arrays among the arguments, or else the thread's default device. */
  readonly device?: Device;
  /** Where the determinants go; must not overlap the input. Default: a new array like the input's, on the device if it is there. */
  readonly out?: V;
}

/** Bounds of the determinants. */
export interface JacobianRange {
  /** Nothing folds if this is above zero. Infinity if no determinant is a number. */
  readonly min: number;
  readonly max: number;
  /** Points whose determinant is zero or less. */
  readonly folded: number;
  /** Points whose determinant is NaN, which the bounds ignore. */
  readonly unknown: number;
}

/** Result of {@link jacobian}. */
export interface JacobianResult<V extends Pixels = Pixels> extends JacobianRange {
  /** The determinants, one channel; absent with `boundsOnly`. */
  readonly image?: Image<V>;
  readonly info: CallInfo;
}

const jacobianOptions = optionsOf('jacobian', {
  boundsOnly: normally(truth, false), ...callChecks, out: anything,
} satisfies ChecksOf<JacobianOptions>);

/**
 * Determinant of the Jacobian matrix of x + u(x) at every point: the factor by which the displacement changes volumes. Derivatives are
 * central differences, one-sided at the border, so that affine displacements have their exact determinant everywhere. The
 * distances of the pixels do not change it.
 *
 * @param displacement u in pixels, one channel per axis (x, y, and z for volumes)
 * @throws ArgumentError naming the argument, before any work; aborted calls reject with `signal.reason`
 */
export async function jacobian<V extends Pixels>(displacement: Image<V>, given: JacobianOptions<V> = {}): Promise<JacobianResult<V>> {
  const options = jacobianOptions.read(given);
  const checked = checkImage(displacement, 'displacement');
  const { data, type, width, height, depth, channels, points } = checked;
  if (channels !== axesOf(checked)) throw refusal('displacement.channels', `${axesOf(checked)}, one per axis`, `${channels}`);
  requireOut(options.out, type, points);
  const device = deviceFor(options, [data, options.out]);
  const bare = options.boundsOnly && options.out === undefined;
  const result = bare ? undefined : (options.out ?? newReals(data, type, points, device)) as V;
  return await withResults(options.out === undefined && result !== undefined ? [result] : [], async () => {
    const { deviceSeconds, report } = await device.run('imaging.jacobian', {
      ...gridOf(checked), displacement: viewOf(data), ...(result === undefined ? {} : { result: viewOf(result) }),
    }, callOptions(options));
    const { least: min, most: max, folded, unknown } = report.bounds;
    const range = { min, max, folded, unknown, info: { backend: device.backend, deviceSeconds } };
    return result === undefined ? range : { image: shownImage({ data: result, width, height, depth, ...spacingOf(checked) }), ...range };
  });
}
