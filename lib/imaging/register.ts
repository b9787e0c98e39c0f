// imaging.register: curvature registration of two images or volumes, from coarse to fine.
import { describeValue } from '../core/arrays.ts';
import { deviceFor, release, requireOut } from '../core/call.ts';
import { briefly } from '../core/display.ts';
import { refusal } from '../core/errors.ts';
import { elementAt } from '../core/known.ts';
import { checkImage, requireAlike, shownImage, spacingOf, type CheckedImage, type Image, type Pixels } from '../files/image.ts';
import { requireWeights } from './align-solve.ts';
import { requireLandmarks } from './landmarks.ts';
import { checkMask } from './mask.ts';
import { registerAligned } from './register-aligned.ts';
import { registerLevels } from './register-levels.ts';
import { realImage, type SampleImage } from '../files/samples.ts';
import { axesOf, displacementData } from './warp.ts';
import {
  registerOptions, type RegisterCall, type RegisterOptions, type RegisterResult, type TakenRegisterOptions,
} from './register-options.ts';

type Given = Image | SampleImage;

function checkPair(reference: Given, template: Given): { fixed: CheckedImage; moving: CheckedImage } {
  const fixed = checkImage(realImage(reference), 'reference');
  const moving = checkImage(realImage(template), 'template');
  requireAlike(moving, fixed, 'template');
  requireSpacing(moving, fixed);
  return { fixed: { ...fixed, spacing: fixed.spacing ?? moving.spacing }, moving };
}

/** Refuses a template whose pixels have another distance than the reference's, where both are known. */
function requireSpacing({ spacing: moving }: CheckedImage, { spacing: fixed, depth }: CheckedImage): void {
  if (moving === undefined || fixed === undefined) return;
  const sides = depth > 1 ? 3 : 2;
  const differs = fixed.slice(0, sides).some((each, axis) => Math.abs(each - elementAt(moving, axis)) > 1e-4 * each);
  if (differs) {
    throw refusal('template.spacing', `${fixed.slice(0, sides).join(' × ')} like the reference (resample it first)`,
      moving.slice(0, sides).join(' × '));
  }
}

/** Options that later steps read, as they are at the call. */
function takenOptions(options: TakenRegisterOptions): TakenRegisterOptions {
  const { iterations, weights, landmarks, out } = options;
  return {
    ...options,
    ...(Array.isArray(iterations) ? { iterations: [...iterations as readonly number[]] } : {}),
    ...(weights === undefined ? {} : { weights: [...weights] }),
    ...(landmarks === undefined ? {}
      : { landmarks: { reference: Float64Array.from(landmarks.reference), template: Float64Array.from(landmarks.template) } }),
    ...(out === undefined ? {} : { out: { ...out } }),
  };
}

/**
 * Curvature registration: the displacement u that minimises `D(u) + alpha/2 sum_l |lap u_l|²`, where D compares template(x + u(x)) with
 * reference(x): half the sum of squared differences, or with `ncc` the number of pixels times 1 - correlation. Smooth motion costs
 * little and affine motion nothing, so no alignment is needed beforehand unless the images are far apart (`align`). Each iteration solves
 * for the curvature in one step by cosine transforms, all on the device; see docs/imaging-register.md for the scheme.
 *
 * With unequal distances of the pixels (`spacing`), u counts pixels of each axis, while the curvature and the gradients of the images
 * are those of lengths, in units of the smallest distance; the pyramid halves the axes with the closest pixels first.
 *
 * With several channels (colours, or several contrasts of one object) D is the mean over them, each with its weight; `ncc` takes one
 * scale and one offset for all of them.
 *
 * Samples that are not finite, in either image, exert no force and do not count. Results have the same bits on every backend.
 *
 * Images of 8 and 16 bits are taken too: unsigned ones are computed as 0 to 1, signed ones as they are.
 *
 * @param reference float32 or float64, at most 65536 pixels per side and fewer than 2³¹ in total, any number of channels
 * @param template the image that is warped, with the same type, extents and channels
 * @throws ArgumentError naming the argument, before any work; `ERR_WARPLOOM_OUT_OF_MEMORY`; aborted calls reject with `signal.reason`
 * @see Fischer, Modersitzki: Curvature based image registration (2003), sections 2 to 4
 * @see Beck, Teboulle: A fast iterative shrinkage-thresholding algorithm (2009), for the extrapolation
 */
export function register<V extends Pixels>(
  reference: Image<V>, template: Image<V>, given?: RegisterOptions<V>,
): Promise<RegisterResult<V>>;
export function register(
  reference: SampleImage, template: SampleImage, given?: RegisterOptions<Float32Array>,
): Promise<RegisterResult<Float32Array>>;
export async function register(reference: Given, template: Given, given: RegisterOptions = {}): Promise<unknown> {
  const call = checkedCall(reference, template, registerOptions.read(given));
  return call.options.align === undefined ? registered(call) : registerAligned(call, registered);
}

function checkedCall(reference: Given, template: Given, options: TakenRegisterOptions): RegisterCall {
  if (options.accelerate === true && options.variant === 'explicit') throw refusal('accelerate', 'false with variant "explicit"', 'true');
  const { fixed, moving } = checkPair(reference, template);
  const inside = checkMask(options.mask, fixed);
  const axes = axesOf(fixed);
  const initial = options.initial === undefined ? undefined : displacementData(options.initial, fixed, 'initial');
  if (initial !== undefined && options.align !== undefined) throw refusal('initial', 'none with `align`', 'a displacement');
  requireLandmarks(options.landmarks, axes);
  if (options.weights !== undefined && options.measure === 'ncc') {
    throw refusal('weights', 'none with measure "ncc"', describeValue(options.weights));
  }
  requireWeights(options.weights, fixed.channels);
  requireOut(options.out?.displacement, fixed.type, axes * fixed.points, 'out.displacement');
  requireOut(options.out?.warped, fixed.type, fixed.data.length, 'out.warped');
  const arrays = [fixed.data, moving.data, initial, options.out?.displacement, options.out?.warped];
  const device = deviceFor(options, arrays);
  return { device, reference: fixed, template: moving, axes, initial, inside, options: takenOptions(options) };
}

/** Runs a checked call, without an alignment. */
async function registered(call: RegisterCall): Promise<RegisterResult> {
  const { reference, axes, options } = call;
  const { displacement, warped, ...rest } = await registerLevels(call);
  const { width, height, depth, channels } = reference;
  try {
    options.signal?.throwIfAborted();
  } catch (error) {
    release([displacement, warped].filter((array) => array !== options.out?.displacement && array !== options.out?.warped));
    throw error;
  }
  return briefly('Registered', {
    displacement: shownImage({ data: displacement, width, height, depth, channels: axes, ...spacingOf(reference) }),
    warped: shownImage({ data: warped, width, height, depth, ...(channels > 1 ? { channels } : {}), ...spacingOf(reference) }), ...rest,
  });
}
