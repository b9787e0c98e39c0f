// What `imaging.register` takes and gives.
import { describeValue } from '../core/arrays.ts';
import { callChecks, type CallInfo } from '../core/call.ts';
import { anything, callback, choice, number, positive, whole, type Check } from '../core/checks.ts';
import type { Device } from '../core/device.ts';
import { refusal } from '../core/errors.ts';
import { choices } from '../core/operations.gen.ts';
import { nested, normally, optionsOf, parametersOf, rangesOf, type ChecksOf, type Taken } from '../core/options.ts';
import type { CallOptions } from '../core/progress.ts';
import type { CheckedImage, GridSize, Image, Pixels } from '../files/image.ts';
import { alignModels, type AlignModel } from './align-solve.ts';
import type { AlignResult } from './align.ts';
import type { JacobianRange } from './jacobian.ts';
import type { Mask } from './distances.ts';
import type { IterationStatus } from './status.ts';
import type { LandmarkError, Landmarks } from './landmarks.ts';

/** How the images are compared. */
export const registrationMeasures = choices['imaging.registration'].measure;
/** One of {@link registrationMeasures}. */
export type RegistrationMeasure = (typeof registrationMeasures)[number];

/** How the gradient flow is stepped. */
export const registrationVariants = choices['imaging.registration'].variant;
/** One of {@link registrationVariants}. */
export type RegistrationVariant = (typeof registrationVariants)[number];

/** Options of {@link register}. */
export interface RegisterOptions<V extends Pixels = Pixels> extends CallOptions {
  /**
   * `ssd` (default): sum of squared differences, for images with the same intensities. `ncc`: normalised cross-correlation, for images
   * whose intensities differ by a scale and an offset.
   */
  readonly measure?: RegistrationMeasure;
  /**
   * Weight of each channel's squared differences, 0 or more, with `ssd`, also in the alignment before. Default 1 each: an image of three
   * equal channels then moves as one of them does.
   */
  readonly weights?: readonly number[];
  /**
   * Brings the template near the reference by {@link align} first, by a map of this model, which does not count as curvature. The
   * displacement is that of both together. Default: none.
   */
  readonly align?: AlignModel;
  /** Weight of the curvature: larger is stiffer. Default 0.1, for intensities of about 0 … 1 with `ssd`; `ncc` scales them itself. */
  readonly alpha?: number;
  /**
   * Step of the flow. Default, on each level: 1 / max |grad template|² (with `ncc` for the scaled template), with `explicit`
   * 1.5 / (max |grad template|² + alpha λ²), λ = 8, in 3-D 12.
   */
  readonly tau?: number;
  /** Maximum number of pyramid levels. Default: until the longest side is under 64 pixels (32 for volumes). */
  readonly levels?: number;
  /** Maximum number of iterations on each level, or a list with one number per level, coarsest first. Default 60, in 3-D 40. */
  readonly iterations?: number | readonly number[];
  /** A level ends when its measure has fallen by less than this fraction over 10 iterations. Default 1e-3; 0: never. */
  readonly tolerance?: number;
  /**
   * `semi-implicit` (default): the curvature by cosine transforms, with any step size. `explicit`: by its stencil, in many small
   * steps, as stability requires.
   */
  readonly variant?: RegistrationVariant;
  /** Nesterov's extrapolation, with `semi-implicit`: far fewer iterations. Default true, and false with `explicit`. */
  readonly accelerate?: boolean;
  /** A displacement to start from, in pixels; the pyramid then has one level unless `levels` says otherwise. Default zero. */
  readonly initial?: Image<V> | V;
  /**
   * Where to measure, width × height × depth entries over the reference: nonzero is inside. Pixels outside exert no force and do not count;
   * the displacement is smooth there. Default everywhere.
   */
  readonly mask?: Mask;
  /** Corresponding points, for `tre`. */
  readonly landmarks?: Landmarks;
  /** Called at the end of each level. */
  readonly onLevel?: (level: RegistrationLevel) => void;
  /** Default: the device of the device arrays among the arguments, or else the thread's default device. */
  readonly device?: Device;
  /** Where the results go; must not overlap the inputs. Default: new arrays like the reference's, on the device if it is there. */
  readonly out?: { readonly displacement?: V; readonly warped?: V };
}

const { iterations: iterationsOfLevel, accelerate } = rangesOf('imaging.registration', 'iterations', 'accelerate');

/** Iterations of all levels, or of each. */
const iterations: Check<number | readonly number[]> = (value, name) => {
  if (!Array.isArray(value)) return iterationsOfLevel(value, name);
  if (value.length === 0) throw refusal(name, 'a number per level', describeValue(value));
  value.forEach((count: unknown, level) => iterationsOfLevel(count, `${name}[${level}]`));
};

const out = nested(optionsOf('out', { displacement: anything, warped: anything } satisfies ChecksOf<NonNullable<RegisterOptions['out']>>));

const checks = {
  ...parametersOf('imaging.registration', 'measure', 'alpha', 'variant'), ...callChecks, accelerate, iterations, tau: positive,
  levels: whole(1, 32), tolerance: normally(number({ least: 0 }), 1e-3), initial: anything, landmarks: anything, mask: anything,
  weights: anything, align: choice(alignModels), onLevel: callback, out,
} satisfies ChecksOf<RegisterOptions>;

/** Reads the options of a registration. */
export const registerOptions = optionsOf('register', checks);
export type TakenRegisterOptions<V extends Pixels = Pixels> = Taken<RegisterOptions<V>, typeof checks>;

/** One level of a registration. */
export interface RegistrationLevel extends GridSize {
  readonly depth: number;
  readonly iterations: number;
  /** Whether `tolerance` ended the run. */
  readonly converged: boolean;
  /** The step it took. */
  readonly tau: number;
  /**
   * The measure at the start of each iteration, and that of the level's result: the mean squared difference over pixels and channels
   * (`ssd`), or 1 - correlation (`ncc`).
   */
  readonly values: Float64Array;
}

/** Result of {@link register}. */
export interface RegisterResult<V extends Pixels = Pixels> {
  /** u in pixels, one channel per axis (x, y, and z for volumes): template(x + u(x)) looks like reference(x). */
  readonly displacement: Image<V>;
  /** template(x + u(x)), with the template's channels. */
  readonly warped: Image<V>;
  /** Bounds of the determinant of the Jacobian matrix of x + u(x): nothing folds while `min` is above zero. */
  readonly jacobian: JacobianRange;
  /** Errors at the landmarks, if they were given. */
  readonly tre?: LandmarkError;
  /** How `align` went, if it was asked for. */
  readonly alignment?: Omit<AlignResult, 'displacement'>;
  /** The levels, coarsest first. */
  readonly history: readonly RegistrationLevel[];
  /** Iterations of all levels. */
  readonly iterations: number;
  /** Whether `tolerance` ended the finest level. */
  readonly converged: boolean;
  /** How the finest level ended and, if it did not converge, what to change. */
  readonly status: IterationStatus;
  /** The measure at full resolution before (at `initial`) and after. */
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
  /** 1 where the reference counts; undefined: everywhere. */
  readonly inside: Uint8Array | undefined;
  readonly options: TakenRegisterOptions;
}
