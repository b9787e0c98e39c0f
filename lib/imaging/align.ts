// imaging.align: a translation, a rigid or an affine map of one image onto another, from coarse to fine.
import { callChecks, deviceFor } from '../core/call.ts';
import { anything, choice, number, whole } from '../core/checks.ts';
import { type Device, inputArray, DeviceArray } from '../core/device.ts';
import { briefly } from '../core/display.ts';
import { refusal, WarploomError } from '../core/errors.ts';
import { elementAt, required } from '../core/known.ts';
import { normally, optionsOf, type ChecksOf, type Taken } from '../core/options.ts';
import type { CallOptions } from '../core/progress.ts';
import { checkImage, requireAlike, shownImage, spacingOf, type CheckedImage, type Image, type Pixels } from '../files/image.ts';
import { alignLevels, type AlignLevel } from './align-levels.ts';
import {
  alignModels, dampedStep, equationsAt, freedom, moved, requireWeights, restingMotion, type AlignModel, type AlignSetup, type Motion,
} from './align-solve.ts';
import type { Mask } from './distances.ts';
import { checkMask, hideOutside, hostPixels } from './mask.ts';
import { planPyramid } from './pyramid.ts';
import { realImage, type SampleImage } from '../files/samples.ts';
import { statusOf, type IterationStatus } from './status.ts';
import { axesOf } from './warp.ts';

/** Options of {@link align}. */
export interface AlignOptions extends CallOptions {
  /** `affine` (default); `rigid`: turns and shifts, in lengths of the `spacing`; `translation`. */
  readonly model?: AlignModel;
  /** `ssd` (default): intensities are the same; `ncc`: they differ by a factor and an offset in each channel. */
  readonly measure?: 'ssd' | 'ncc';
  /** Maximum number of levels of the pyramid. Default: until the longest side is under 64 pixels (32 for volumes). */
  readonly levels?: number;
  /** Maximum number of steps on each level. Default 50. */
  readonly iterations?: number;
  /** A level ends when a step moves no point by more than this, in its pixels. Default 1e-3. */
  readonly tolerance?: number;
  /** Weight of each channel's squared differences, 0 or more. Default 1 each. */
  readonly weights?: readonly number[];
  /** Where to measure, one entry per pixel of the reference: nonzero is inside. Default everywhere. */
  readonly mask?: Mask;
  /** Where the displacement goes if the reference is on a device. */
  readonly device?: Device;
}

/** Result of {@link align}. */
export interface AlignResult<V extends Pixels = Pixels> {
  /** Row by row the map from pixel (x, y, 1) of the reference, in volumes (x, y, z, 1), to the pixel of the template: 2 × 3 or 3 × 4. */
  readonly matrix: Float64Array;
  /** The same as a displacement in pixels, one channel per axis: for `warp`, and as `initial` of `register`. */
  readonly displacement: Image<V>;
  /** Mean squared difference on the finest level, times the weights, before and after (`ncc`: with the best factor and offset after). */
  readonly initialMeasure: number;
  readonly measure: number;
  readonly iterations: number;
  /** Whether `tolerance` ended the finest level. */
  readonly converged: boolean;
  /** How the finest level ended and, if it did not converge, what to change. */
  readonly status: IterationStatus;
}

const alignChecks = {
  model: normally(choice(alignModels), 'affine'), measure: normally(choice(['ssd', 'ncc'] as const), 'ssd'), levels: whole(1, 32),
  iterations: normally(whole(1, 100_000), 50), tolerance: normally(number({ above: 0 }), 1e-3), mask: anything, weights: anything,
  ...callChecks,
} satisfies ChecksOf<AlignOptions>;
const alignOptions = optionsOf('align', alignChecks);
type TakenAlignOptions = Taken<AlignOptions, typeof alignChecks>;

const mostDamping = 1e8;

/** How a level went. */
interface Level {
  readonly motion: Motion;
  readonly iterations: number;
  readonly step: number;
  readonly before: number;
  readonly after: number;
}

/** The steps of one level; between them the event loop has its turn. `report` is called with the steps so far. */
async function alignLevel(
  level: AlignLevel, start: Motion, setup: AlignSetup, options: TakenAlignOptions, report: (done: number) => void,
): Promise<Level> {
  const { iterations, tolerance, signal } = options;
  const pixel = Math.min(...Array.from({ length: setup.axes }, (_, a) => elementAt(setup.spacing, a) * elementAt(level.scale, a)));
  let [motion, damping, step, done] = [start, 1e-3, Infinity, 0];
  let equations = equationsAt(level, motion, setup);
  const before = equations.value;
  if (!Number.isFinite(before)) {
    throw new WarploomError('ERR_WARPLOOM_INVALID_ARGUMENT', 'template: too little of it lies under the reference to align them', {});
  }
  while (done < iterations && step > tolerance && damping < mostDamping) {
    await new Promise((settle) => { setImmediate(settle); });
    signal?.throwIfAborted();
    report(done);
    done += 1;
    const change = dampedStep(equations, damping);
    const next = change === undefined ? undefined : moved(motion, change, setup);
    const found = next === undefined ? undefined : equationsAt(level, next.motion, setup);
    if (next === undefined || found === undefined || !(found.value <= equations.value)) {
      // A step too small to change the measure's digits has arrived.
      if (next !== undefined && next.by / pixel <= tolerance) step = next.by / pixel;
      damping *= 10;
      continue;
    }
    [motion, equations, step, damping] = [next.motion, found, next.by / pixel, Math.max(1e-9, damping / 10)];
  }
  report(iterations);
  return { motion, iterations: done, step, before, after: equations.value };
}

/** The map of pixels of a motion of lengths. */
function pixelMatrix({ matrix, shift }: Motion, { axes, spacing, centre }: AlignSetup): Float64Array {
  const result = new Float64Array(axes * (axes + 1));
  for (let a = 0; a < axes; a += 1) {
    let constant = elementAt(centre, a) + required(shift[a]);
    for (let b = 0; b < axes; b += 1) {
      const each = required(matrix[a * axes + b]);
      constant -= each * elementAt(centre, b);
      result[a * (axes + 1) + b] = each * elementAt(spacing, b) / elementAt(spacing, a);
    }
    result[a * (axes + 1) + axes] = constant / elementAt(spacing, a);
  }
  return result;
}

/** A map of pixels as a displacement. */
function displacementOf(matrix: Float64Array, { type, width, height, points }: CheckedImage, axes: 2 | 3): Float32Array | Float64Array {
  const field = type === 'float64' ? new Float64Array(axes * points) : new Float32Array(axes * points);
  for (let i = 0; i < points; i += 1) {
    const x = [i % width, Math.floor(i / width) % height, Math.floor(i / width / height)];
    for (let a = 0; a < axes; a += 1) {
      let value = required(matrix[a * (axes + 1) + axes]) - elementAt(x, a);
      for (let b = 0; b < axes; b += 1) value += required(matrix[a * (axes + 1) + b]) * elementAt(x, b);
      field[a * points + i] = value;
    }
  }
  return field;
}

function setupOf(fixed: CheckedImage, { model, measure, weights }: TakenAlignOptions): AlignSetup {
  const axes = axesOf(fixed);
  const spacing = fixed.spacing ?? [1, 1, 1];
  const sides = [fixed.width, fixed.height, fixed.depth].slice(0, axes).map((extent, a) => (extent - 1) * elementAt(spacing, a));
  return {
    axes, channels: fixed.channels, model, matchesIntensity: measure === 'ncc', spacing, centre: sides.map((side) => side / 2),
    reach: Math.max(...sides, Math.min(...spacing)) / 2,
    weights: weights === undefined ? new Array<number>(fixed.channels).fill(1) : [...weights],
  };
}

/**
 * The translation, rigid or affine map that carries the template onto the reference with the least mean squared difference of their
 * intensities, over all channels: Gauss-Newton steps with Levenberg's damping, from coarse to fine, on the host (an even selection of at
 * most 32768 pixels of each level). Its displacement is a start for `register` where the images are far apart, or is used by `warp`.
 *
 * Pixels that are not finite do not count, nor those that fall outside the template; a quarter of all must fall inside.
 *
 * @param reference any number of channels
 * @param template the image that is moved, with the same extents and channels
 *
 * @example
 * const { displacement } = await imaging.align(reference, template, { model: 'rigid' });
 * const { displacement: u } = await imaging.register(reference, template, { initial: displacement });
 *
 * @throws ArgumentError naming the argument; aborted calls reject with `signal.reason`
 * @see Marquardt: An algorithm for least-squares estimation of nonlinear parameters (1963); Thévenaz, Ruttimann, Unser: A pyramid approach
 *   to subpixel registration based on intensity (1998)
 */
export function align<V extends Pixels>(reference: Image<V>, template: Image<V>, given?: AlignOptions): Promise<AlignResult<V>>;
export function align(reference: SampleImage, template: SampleImage, given?: AlignOptions): Promise<AlignResult<Float32Array>>;
export async function align(
  reference: Image | SampleImage, template: Image | SampleImage, given: AlignOptions = {},
): Promise<AlignResult> {
  const options = alignOptions.read(given);
  const fixed = checkImage(realImage(reference), 'reference');
  const moving = checkImage(realImage(template), 'template');
  requireAlike(moving, fixed, 'template');
  const inside = checkMask(options.mask, fixed);
  requireWeights(options.weights, fixed.channels);
  const device = fixed.data instanceof DeviceArray || moving.data instanceof DeviceArray ? deviceFor(options, [fixed.data, moving.data])
    : undefined;
  const setup = setupOf(fixed, options);
  if (fixed.points < freedom(setup)) throw refusal('reference', `at least ${freedom(setup)} pixels`, `${fixed.points}`);
  const [still, other] = await Promise.all([hostPixels(fixed.data, options.signal), hostPixels(moving.data, options.signal)]);
  if (inside !== undefined) hideOutside(still, inside);
  const levels = alignLevels(planPyramid(fixed, options.levels), still, other, fixed);
  let motion = restingMotion(setup.axes, setup.channels);
  const initialMeasure = equationsAt(elementAt(levels, 0), motion, setup).value;
  let [iterations, last]: [number, Level | undefined] = [0, undefined];
  const total = options.iterations * levels.length;
  for (const [index, level] of [...levels].reverse().entries()) {
    last = await alignLevel(level, motion, setup, options, (done) => options.onProgress?.(options.iterations * index + done, total));
    motion = last.motion;
    iterations += last.iterations;
  }
  const { step, after, iterations: own } = required(last);
  const matrix = pixelMatrix(motion, setup);
  const field = displacementOf(matrix, fixed, setup.axes);
  const data = device !== undefined && fixed.data instanceof DeviceArray ? inputArray(device, field) as Pixels : field;
  const { width, height, depth } = fixed;
  const converged = step <= options.tolerance;
  return briefly('Aligned', {
    matrix, displacement: shownImage({ data, width, height, depth, channels: setup.axes, ...spacingOf(fixed) }),
    initialMeasure, measure: after, iterations, converged,
    status: statusOf({ converged, iterations: own, measure: step, tolerance: options.tolerance },
      'on the finest level, pixels that the last step moved', 'raise iterations or tolerance, or try a model with fewer parameters'),
  });
}
