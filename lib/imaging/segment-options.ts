// What `imaging.segment` takes and gives.
import { callChecks, type CallInfo, type RealType } from '../core/call.ts';
import { anything } from '../core/checks.ts';
import type { Device, DeviceArray } from '../core/device.ts';
import { choices } from '../core/operations.gen.ts';
import { normally, optionsOf, parametersOf, rangesOf, type ChecksOf, type Taken } from '../core/options.ts';
import type { CallOptions } from '../core/progress.ts';
import type { ContourOptions, Ring } from './contour.ts';
import type { Mask } from './distances.ts';
import type { IterationStatus } from './status.ts';
import type { CheckedImage, Pixels } from '../files/image.ts';

/** How a step is computed. */
export const segmentSteps = choices['imaging.segment'].step;
/** One of {@link segmentSteps}. */
export type SegmentStep = (typeof segmentSteps)[number];

/**
 * How steps are executed; every variant produces the same bits. `direct` and `march` need a GPU (or the SIMT shim), `cpu` the cpu
 * backend.
 */
export const segmentVariants = choices['imaging.segment'].variant;
/** One of {@link segmentVariants}. */
export type SegmentVariant = (typeof segmentVariants)[number];

/**
 * The initial level set; positive is inside.
 * - `checkerboard`: sin(pi x / square) sin(pi y / square), in volumes times sin(pi z / square); `square` default 5. Every part of the
 *   image has contours near it, so that it converges fastest.
 * - `ball`: radius - distance from `centre` (default: the image's); `radius` default: a third of the shortest side.
 * - `box`: distance to the nearest side of the box from corner `low` to corner `high`; default: the middle half of each side.
 * Positions are in pixels; `square`, `radius` and distances in units of the smallest `spacing` of the image.
 * - or an array of width × height × depth values, clipped to ±2^20; a NaN counts as 0.
 */
export type InitialContour<V extends Pixels = Pixels> =
  | 'checkerboard' | 'ball' | 'box' | V
  | { readonly kind: 'checkerboard'; readonly square?: number }
  | { readonly kind: 'ball'; readonly centre?: readonly number[]; readonly radius?: number }
  | { readonly kind: 'box'; readonly low?: readonly number[]; readonly high?: readonly number[] };

/** Progress of a call, for {@link SegmentOptions.onProgress}. */
export interface SegmentProgress {
  readonly energy: number;
  /** Root mean square of the last step. */
  readonly change: number;
}

/** Options of {@link segment}. */
export interface SegmentOptions<V extends Pixels = Pixels> extends Omit<CallOptions, 'onProgress'> {
  /** Weight of the contour's length (of its area in volumes): larger is smoother. Default 0.25. */
  readonly mu?: number;
  /** Weight of the area inside; negative favours growth. Default 0. */
  readonly nu?: number;
  /** Weight of the variance inside. Default 1. */
  readonly lambda1?: number;
  /** Weight of the variance outside. Default 1. */
  readonly lambda2?: number;
  /** Weight of each channel in the variances. Default 1 each. */
  readonly weights?: readonly number[];
  /**
   * Intensities are measured in units of the image's range (largest minus smallest value), so that mu and nu do not depend on its
   * units. Default true; false: as they are.
   */
  readonly normalize?: boolean;
  /** Width of the smoothed delta epsilon / (epsilon² + phi²), in units of the level set. Default 1. */
  readonly epsilon?: number;
  /** Added to squared gradients of the level set. Default 1e-16. */
  readonly eta?: number;
  /** Time step. Default 0.5. */
  readonly dt?: number;
  /**
   * `semi-implicit` (default): the point's own value in the curvature is the new one; stable for every dt. `explicit`: the old one;
   * the step of a point is limited where it would not be stable.
   */
  readonly step?: SegmentStep;
  /** The run ends when the root mean square of a step is at most this. Default 1e-3; 0: never. */
  readonly tolerance?: number;
  /** Maximum number of iterations. Default 500. */
  readonly iterations?: number;
  /** The first contour. Default `checkerboard`. */
  readonly initial?: InitialContour<V>;
  /** Iterations between reinitialisations of the level set to a signed distance. Default 0: none. */
  readonly reinitializeEvery?: number;
  /** Steps of 1/2 pixel of each reinitialisation. Default 10. */
  readonly reinitializeSteps?: number;
  /**
   * Iterations between entries of `history`. Default 20; 0: only the first and the last. On a GPU an entry costs about as much as
   * four iterations.
   */
  readonly energyEvery?: number;
  /**
   * Where to segment, width × height × depth entries: nonzero is inside. Pixels outside have no data and are outside the resulting mask.
   * Default everywhere.
   */
  readonly mask?: Mask;
  /** Default `auto`. */
  readonly variant?: SegmentVariant;
  /** Default: the device of the device arrays among the arguments, or else the thread's default device. */
  readonly device?: Device;
  /** Where results go; must not overlap the image. Default: new arrays, on the device if the image is there. */
  readonly out?: { readonly levelSet?: V; readonly mask?: V extends DeviceArray ? DeviceArray : Uint8Array };
  /** Called with the iterations so far, their maximum, and the current progress, several times per second. */
  readonly onProgress?: (done: number, total: number, state: SegmentProgress) => void;
}

/** Options that are parameters of the operation. */
export const segmentParameters = parametersOf('imaging.segment',
  'mu', 'nu', 'lambda1', 'lambda2', 'normalize', 'epsilon', 'eta', 'dt', 'step', 'tolerance', 'iterations', 'reinitializeEvery',
  'reinitializeSteps', 'variant');

const checks = {
  ...segmentParameters, ...callChecks, energyEvery: normally(rangesOf('imaging.segment', 'energyEvery').energyEvery, 20),
  weights: anything, initial: normally(anything, 'checkerboard' as never), out: anything, mask: anything,
} satisfies ChecksOf<SegmentOptions>;

/** Reads the options of a segmentation. */
export const segmentOptions = optionsOf('segment', checks);
export type TakenSegmentOptions<V extends Pixels = Pixels> = Taken<SegmentOptions<V>, typeof checks>;

/** Result of {@link segment}. */
export interface SegmentResult<V extends Pixels = Pixels> {
  /** Positive inside. */
  readonly levelSet: V;
  /** 1 inside, 0 outside. */
  readonly mask: V extends DeviceArray ? DeviceArray : Uint8Array;
  /** Mean intensity of each channel in both regions; an empty region has the mean of the image. */
  readonly means: { readonly inside: Float64Array; readonly outside: Float64Array };
  /** Energies of level sets during the run, including the first and the last. */
  readonly history: readonly { readonly iteration: number; readonly energy: number }[];
  /** Energy of the result. */
  readonly energy: number;
  readonly iterations: number;
  /** Whether `tolerance` ended the run. */
  readonly converged: boolean;
  /** How the run ended and, if it did not converge, what to change. */
  readonly status: IterationStatus;
  /** Root mean square of the last step. */
  readonly change: number;
  /** Pixels inside that have data. */
  readonly inside: number;
  /**
   * Traces the contours of `levelSet` as it is when this is called, or those of one slice of a volume: closed rings (see {@link
   * contourRings}). The work is cut into slices of a few milliseconds, between which the event loop can run. A level set on the
   * device is read first. Aborted calls reject with `signal.reason`.
   */
  contours(options?: ContourOptions & { readonly signal?: AbortSignal }): Promise<readonly Ring[]>;
  readonly info: CallInfo & { readonly type: RealType; readonly variant: SegmentVariant };
}

/** A checked call. @internal */
export interface SegmentCall {
  readonly device: Device;
  readonly image: CheckedImage;
  readonly options: TakenSegmentOptions;
  /** Fields of the operation that describe the initial level set. */
  readonly initial: Record<string, unknown>;
  readonly given: Pixels | undefined;
}
