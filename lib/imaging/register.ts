// imaging.register: curvature registration of two images or volumes, from coarse to fine.
import { deviceFor, deviceOfCall, requireOut, type CallInfo } from '../core/calls.ts';
import { requireBoolean, requireCall, requireChoice, requireDevice, requireReal, requireWhole } from '../core/checks.ts';
import { describeValue } from '../core/arrays.ts';
import { DeviceArray } from '../core/device-array.ts';
import type { Device } from '../core/device.ts';
import { refusal } from '../core/errors.ts';
import type { CallOptions } from '../core/progress.ts';
import { checkImage, requireAlike, type CheckedImage, type GridSize, type Image, type Pixels } from '../files/image.ts';
import type { JacobianRange } from './jacobian.ts';
import { requireLandmarks, type LandmarkError, type Landmarks } from './landmarks.ts';
import { registerLevels } from './register-levels.ts';
import { axesOf, displacementData } from './warp.ts';
import { choices } from '../core/operations.gen.ts';

/** What the images are compared by. */
export const registrationMeasures = choices['imaging.registration'].measure;
export type RegistrationMeasure = (typeof registrationMeasures)[number];

/** How the gradient flow is stepped. */
export const registrationVariants = choices['imaging.registration'].variant;
export type RegistrationVariant = (typeof registrationVariants)[number];

/** Options of {@link register}. */
export interface RegisterOptions<V extends Pixels = Pixels> extends CallOptions {
  /**
   * `ssd` (default): sum of squared differences, for images of the same intensities. `ncc`: normalised cross-correlation, for images
   * whose intensities differ by a scale and an offset.
   */
  readonly measure?: RegistrationMeasure;
  /** Weight of the curvature: larger is stiffer. Default 0.1, for intensities of about 0 … 1 with `ssd`; `ncc` scales them itself. */
  readonly alpha?: number;
  /**
   * Step of the flow. Default, on each level: 1 / max |grad template|² (with `ncc` for the scaled template), with `explicit`
   * 1.5 / (max |grad template|² + alpha λ²), λ = 8, in 3-D 12.
   */
  readonly tau?: number;
  /** Levels of the pyramid at most. Default: until the longest side is under 64 pixels, of volumes 32. */
  readonly levels?: number;
  /** Iterations of each level at most; or of each level by itself, the coarsest first. Default 60, in 3-D 40. */
  readonly iterations?: number | readonly number[];
  /** A level ends when its measure fell by less than this fraction over 10 iterations. Default 1e-3; 0: never. */
  readonly tolerance?: number;
  /**
   * `semi-implicit` (default): the curvature by cosine transforms, any step. `explicit`: by its stencil, in the many small steps that
   * are stable.
   */
  readonly variant?: RegistrationVariant;
  /** Nesterov's extrapolation, with `semi-implicit`: far fewer iterations. Default true, and false with `explicit`. */
  readonly accelerate?: boolean;
  /** A displacement to start from, in pixels; the pyramid then has one level unless `levels` says otherwise. Default zero. */
  readonly initial?: Image<V> | V;
  /** Points that belong together, for `tre`. */
  readonly landmarks?: Landmarks;
  /** Called at the end of each level. */
  readonly onLevel?: (level: RegistrationLevel) => void;
  /** Default: the device of the device arrays among the arguments, else the thread's default device. */
  readonly device?: Device;
  /** Where the results go; no parts of the inputs. Default: new arrays like the reference's, on the device when it is there. */
  readonly out?: { readonly displacement?: V; readonly warped?: V };
}

/** One level of a registration. */
export interface RegistrationLevel extends GridSize {
  readonly depth: number;
  readonly iterations: number;
  /** Whether `tolerance` ended it. */
  readonly converged: boolean;
  /** The step it took. */
  readonly tau: number;
  /**
   * The measure where each iteration started, and of the level's result: the mean squared difference (`ssd`), or 1 - correlation (`ncc`).
   */
  readonly values: Float64Array;
}

/** Result of {@link register}. */
export interface RegisterResult<V extends Pixels = Pixels> {
  /** u in pixels, one channel per axis (x, y, and z for volumes): template(x + u(x)) looks like reference(x). */
  readonly displacement: Image<V>;
  /** template(x + u(x)). */
  readonly warped: Image<V>;
  /** Bounds of the determinant of the Jacobian matrix of x + u(x): nothing folds while `min` is above zero. */
  readonly jacobian: JacobianRange;
  /** Errors at the landmarks, where they were given. */
  readonly tre?: LandmarkError;
  /** The levels, the coarsest first. */
  readonly history: readonly RegistrationLevel[];
  /** Iterations of all levels. */
  readonly iterations: number;
  /** Whether `tolerance` ended the finest level. */
  readonly converged: boolean;
  /** The measure at full resolution before (of `initial`) and after. */
  readonly initialMeasure: number;
  readonly measure: number;
  readonly info: CallInfo;
}

/** A checked call. @internal */
export interface RegisterCall {
  readonly device: Device;
  readonly reference: CheckedImage;
  readonly template: CheckedImage;
  readonly axes: 2 | 3;
  readonly initial: Pixels | undefined;
  readonly options: RegisterOptions;
}

const names = [
  'measure', 'alpha', 'tau', 'levels', 'iterations', 'tolerance', 'variant', 'accelerate', 'initial', 'landmarks', 'onLevel', 'device',
  'out',
];
const mostIterations = 10_000_000;

function checkIterations(iterations: unknown): void {
  if (!Array.isArray(iterations)) return requireWhole(iterations, 'iterations', 0, mostIterations);
  if (iterations.length === 0) throw refusal('iterations', 'a number per level', 'none');
  iterations.forEach((count: unknown, level) => {
    if (count === undefined) throw refusal(`iterations[${level}]`, 'a whole number', 'undefined');
    requireWhole(count, `iterations[${level}]`, 0, mostIterations);
  });
}

function checkOptions(options: RegisterOptions): void {
  requireCall(options, names, 'register');
  const { measure, alpha, tau, levels, iterations, tolerance, variant, accelerate, onLevel, device, out } = options;
  requireChoice(measure, 'measure', registrationMeasures);
  requireChoice(variant, 'variant', registrationVariants);
  requireReal(alpha, 'alpha');
  requireReal(tau, 'tau');
  requireWhole(levels, 'levels', 1, 32);
  checkIterations(iterations);
  requireReal(tolerance, 'tolerance', false);
  if (tolerance !== undefined && tolerance < 0) throw refusal('tolerance', 'zero or a positive number', String(tolerance));
  requireBoolean(accelerate, 'accelerate');
  if (accelerate === true && variant === 'explicit') throw refusal('accelerate', 'false with variant "explicit"', 'true');
  if (onLevel !== undefined && typeof onLevel !== 'function') throw refusal('onLevel', 'a function', describeValue(onLevel));
  if (out !== undefined && (typeof out !== 'object' || out === null)) throw refusal('out', 'an object', describeValue(out));
  requireDevice(device);
}

function checkPair(reference: Image, template: Image): { fixed: CheckedImage; moving: CheckedImage } {
  const fixed = checkImage(reference, 'reference');
  const moving = checkImage(template, 'template');
  requireAlike(moving, fixed, 'template', false);
  for (const [name, image] of [['reference', fixed], ['template', moving]] as const) {
    if (image.channels !== 1) throw refusal(`${name}.channels`, '1', `${image.channels}`);
  }
  return { fixed, moving };
}

/** Options that later steps read, as they are at the call. */
function takenOptions(options: RegisterOptions): RegisterOptions {
  const { iterations, landmarks, out } = options;
  return {
    ...options,
    ...(Array.isArray(iterations) ? { iterations: [...iterations as readonly number[]] } : {}),
    ...(landmarks === undefined ? {}
      : { landmarks: { reference: Float64Array.from(landmarks.reference), template: Float64Array.from(landmarks.template) } }),
    ...(out === undefined ? {} : { out: { ...out } }),
  };
}

/** Frees what the call made when its results are not handed out. */
function disposeUnlessGiven(array: Pixels, given: Pixels | undefined): void {
  if (array instanceof DeviceArray && array !== given) array.dispose();
}

/**
 * Curvature registration: the displacement u that minimises `D(u) + alpha/2 sum_l |lap u_l|²`, where D compares template(x + u(x)) with
 * reference(x): half the sum of squared differences, or with `ncc` the number of pixels times 1 - correlation. Smooth movements cost
 * little and affine ones nothing, so no rigid alignment need come first. Each iteration solves for the curvature in one step by cosine
 * transforms, all on the device; see docs/imaging-register.md for the scheme.
 *
 * Pixels that are not finite, in either image, exert no force and do not count. Results have the same bits on every backend.
 *
 * @param reference one channel; float32 or float64, at most 65536 pixels a side and fewer than 2³¹ in all
 * @param template the image that is warped, alike
 * @throws ArgumentError naming the argument, before any work; `ERR_WARPLOOM_OUT_OF_MEMORY`; aborted calls reject with `signal.reason`
 * @see Fischer, Modersitzki: Curvature based image registration (2003), sections 2 to 4
 * @see Beck, Teboulle: A fast iterative shrinkage-thresholding algorithm (2009), for the extrapolation
 */
export async function register<V extends Pixels>(
  reference: Image<V>, template: Image<V>, options: RegisterOptions<V> = {},
): Promise<RegisterResult<V>> {
  checkOptions(options);
  const { fixed, moving } = checkPair(reference, template);
  const axes = axesOf(fixed);
  const initial = options.initial === undefined ? undefined : displacementData(options.initial, fixed, 'initial');
  requireLandmarks(options.landmarks, axes);
  requireOut(options.out?.displacement, fixed.type, axes * fixed.points, 'out.displacement');
  requireOut(options.out?.warped, fixed.type, fixed.points, 'out.warped');
  const arrays = [fixed.data, moving.data, initial, options.out?.displacement, options.out?.warped];
  deviceOfCall(options.device, arrays);
  options.signal?.throwIfAborted();
  const device = deviceFor(options.device, arrays);
  const call: RegisterCall = { device, reference: fixed, template: moving, axes, initial, options: takenOptions(options) };
  const { displacement, warped, ...rest } = await registerLevels(call);
  const { width, height, depth } = fixed;
  try {
    options.signal?.throwIfAborted();
  } catch (error) {
    disposeUnlessGiven(displacement, options.out?.displacement);
    disposeUnlessGiven(warped, options.out?.warped);
    throw error;
  }
  return {
    displacement: { data: displacement as V, width, height, depth, channels: axes },
    warped: { data: warped as V, width, height, depth }, ...rest,
  };
}
