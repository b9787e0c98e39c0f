// imaging.segment: two regions by active contours without edges.
import { describeValue, holds } from '../core/arrays.ts';
import { deviceFor, requireOut, type CallInfo, type RealType } from '../core/calls.ts';
import { requireBoolean, requireCall, requireChoice, requireDevice, requireFields, requireReal, requireWhole } from '../core/checks.ts';
import { DeviceArray } from '../core/device-array.ts';
import type { Device } from '../core/device.ts';
import { refusal } from '../core/errors.ts';
import type { CallOptions } from '../core/progress.ts';
import type { ContourOptions, Ring } from './contour.ts';
import { checkImage, type CheckedImage, type Image, type Pixels } from '../files/image.ts';
import { segmentInPortions } from './segment-call.ts';
import { choices } from '../core/operations.gen.ts';

/** How a step is made. */
export const segmentSteps = choices['imaging.segment'].step;
export type SegmentStep = (typeof segmentSteps)[number];

/** How steps are carried out; every variant gives the same bits. `direct` and `march` need a GPU (or the shim), `cpu` the cpu backend. */
export const segmentVariants = choices['imaging.segment'].variant;
export type SegmentVariant = (typeof segmentVariants)[number];

/**
 * The level set to begin with; positive is inside.
 * - `checkerboard`: sin(pi x / square) sin(pi y / square), in volumes times sin(pi z / square); `square` in pixels, default 5. Every
 *   part of the image has contours near it, so that it converges soonest.
 * - `ball`: radius - distance from `centre` (default: the image's), pixels; `radius` default: a third of the shortest side.
 * - `box`: distance to the nearest side of the box from corner `low` to corner `high`; default: the middle half of each side.
 * - or an array of width × height × depth values, clipped to ±2^20; a NaN counts as 0.
 */
export type InitialContour<V extends Pixels = Pixels> =
  | 'checkerboard' | 'ball' | 'box' | V
  | { readonly kind: 'checkerboard'; readonly square?: number }
  | { readonly kind: 'ball'; readonly centre?: readonly number[]; readonly radius?: number }
  | { readonly kind: 'box'; readonly low?: readonly number[]; readonly high?: readonly number[] };

/** Where a call is, for {@link SegmentOptions.onProgress}. */
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
   * Intensities count in units of (greatest - least) of the image, so that mu and nu do not depend on its units. Default true; false: as
   * they are.
   */
  readonly normalize?: boolean;
  /** Width of the smoothed delta epsilon / (epsilon² + phi²), in units of the level set. Default 1. */
  readonly epsilon?: number;
  /** Added to squared gradients of the level set. Default 1e-16. */
  readonly eta?: number;
  /** Time step. Default 0.5. */
  readonly dt?: number;
  /**
   * `semi-implicit` (default): the point's own value in the curvature is the new one, stable for every dt. `explicit`: the old one; the
   * step of a point is cut where it would not be stable.
   */
  readonly step?: SegmentStep;
  /** Ends when the root mean square of a step is at most this. Default 1e-3; 0: never. */
  readonly tolerance?: number;
  /** Most iterations. Default 500. */
  readonly iterations?: number;
  /** The first contour. Default `checkerboard`. */
  readonly initial?: InitialContour<V>;
  /** Iterations between reinitialisations of the level set to a signed distance. Default 0: none. */
  readonly reinitializeEvery?: number;
  /** Steps of 1/2 pixel of each reinitialisation. Default 10. */
  readonly reinitializeSteps?: number;
  /** Iterations between entries of `history`. Default 20; 0: the first and the last. An entry costs a GPU about four iterations. */
  readonly energyEvery?: number;
  /** Default `auto`. */
  readonly variant?: SegmentVariant;
  /** Default: the device of the device arrays among the arguments, else the thread's default device. */
  readonly device?: Device;
  /** Where results go; no parts of the image. Default: new arrays, on the device when the image is there. */
  readonly out?: { readonly levelSet?: V; readonly mask?: V extends DeviceArray ? DeviceArray : Uint8Array };
  /** Iterations made, the most there will be, and where the energy is; some times a second. */
  readonly onProgress?: (done: number, total: number, state: SegmentProgress) => void;
}

/** Result of {@link segment}. */
export interface SegmentResult<V extends Pixels = Pixels> {
  /** Positive inside. */
  readonly levelSet: V;
  /** 1 inside, 0 outside. */
  readonly mask: V extends DeviceArray ? DeviceArray : Uint8Array;
  /** Mean intensity of each channel in both regions; a region without pixels has the mean of the image. */
  readonly means: { readonly inside: Float64Array; readonly outside: Float64Array };
  /** Energies of level sets on the way, the first and the last among them. */
  readonly history: readonly { readonly iteration: number; readonly energy: number }[];
  /** That of the result. */
  readonly energy: number;
  readonly iterations: number;
  /** Whether `tolerance` ended it. */
  readonly converged: boolean;
  /** Root mean square of the last step. */
  readonly change: number;
  /** Pixels inside that have data. */
  readonly inside: number;
  /**
   * Traces the contours of `levelSet` as it is when this is called, of a volume those of one slice: closed rings (see
   * {@link contourRings}). The work is cut into slices of a few milliseconds, between which the event loop gets its turn. A level set on
   * the device is read first. Aborted calls reject with `signal.reason`.
   */
  contours(options?: ContourOptions & { readonly signal?: AbortSignal }): Promise<readonly Ring[]>;
  readonly info: CallInfo & { readonly type: RealType; readonly variant: SegmentVariant };
}

/** A checked call. @internal */
export interface SegmentCall {
  readonly device: Device;
  readonly image: CheckedImage;
  readonly options: SegmentOptions;
  /** Fields of the operation that say what the level set is at the begin. */
  readonly initial: Record<string, unknown>;
  readonly given: Pixels | undefined;
}

const known = [
  'mu', 'nu', 'lambda1', 'lambda2', 'weights', 'normalize', 'epsilon', 'eta', 'dt', 'step', 'tolerance', 'iterations', 'initial',
  'reinitializeEvery', 'reinitializeSteps', 'energyEvery', 'variant', 'device', 'out',
];
const mostIterations = 2 ** 24;

function checkOptions(options: SegmentOptions): void {
  if (typeof options === 'object' && options !== null && 'contours' in options) {
    throw refusal('contours', 'no such option: contours are traced by `await result.contours()`', describeValue(options.contours));
  }
  requireCall(options as CallOptions, known, 'segment');
  for (const name of ['mu', 'nu', 'lambda1', 'lambda2', 'epsilon', 'eta', 'dt', 'tolerance'] as const) {
    requireReal(options[name], name, false);
  }
  for (const name of ['iterations', 'reinitializeEvery', 'energyEvery'] as const) requireWhole(options[name], name, 0, mostIterations);
  requireWhole(options.reinitializeSteps, 'reinitializeSteps', 1, 1000);
  requireBoolean(options.normalize, 'normalize');
  requireChoice(options.step, 'step', segmentSteps);
  requireChoice(options.variant, 'variant', segmentVariants);
  requireDevice(options.device);
}

function checkWeights(weights: unknown, channels: number): void {
  if (weights === undefined) return;
  const numbers = Array.isArray(weights) || ArrayBuffer.isView(weights) ? Array.from(weights as unknown as ArrayLike<unknown>) : [];
  const fits = (weight: unknown) => typeof weight === 'number' && weight >= 0 && weight <= 1e6;
  const good = numbers.length === channels && numbers.every(fits);
  if (!good) throw refusal('weights', `${channels} numbers from 0 to 1e6, one per channel`, describeValue(weights));
}

/** Coordinates of a point, one per axis. */
function requirePoint(value: unknown, name: string, axes: number): readonly number[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || value.length !== axes || !value.every(Number.isFinite)) {
    throw refusal(name, `${axes} finite numbers, x first`, describeValue(value));
  }
  return value as number[];
}

const corner = (letters: readonly string[], point: readonly number[]): Record<string, number> =>
  Object.fromEntries(point.map((value, axis) => [letters[axis]!, value]));

/** The fields of the operation for a shape. */
function shapeFields(shape: { readonly kind: string } & Record<string, unknown>, image: CheckedImage): Record<string, unknown> {
  requireChoice(shape.kind, 'initial.kind', ['checkerboard', 'ball', 'box']);
  const fields = { checkerboard: ['square'], ball: ['centre', 'radius'], box: ['low', 'high'] }[shape.kind]!;
  requireFields(shape, ['kind', ...fields], 'initial', `a ${shape.kind}`);
  const sides = [image.width, image.height, ...(image.depth > 1 ? [image.depth] : [])];
  if (shape.kind === 'checkerboard') {
    requireReal(shape['square'], 'initial.square');
    return { initial: 'checkerboard', square: shape['square'] };
  }
  if (shape.kind === 'ball') {
    requireReal(shape['radius'], 'initial.radius');
    const centre = requirePoint(shape['centre'], 'initial.centre', sides.length) ?? sides.map((side) => (side - 1) / 2);
    return { initial: 'ball', radius: shape['radius'] ?? Math.max(0.5, Math.min(...sides) / 3), ...corner(['x0', 'y0', 'z0'], centre) };
  }
  const low = requirePoint(shape['low'], 'initial.low', sides.length) ?? sides.map((side) => (side - 1) / 4);
  const high = requirePoint(shape['high'], 'initial.high', sides.length) ?? sides.map((side) => (3 * (side - 1)) / 4);
  return { initial: 'box', ...corner(['x0', 'y0', 'z0'], low), ...corner(['x1', 'y1', 'z1'], high) };
}

function checkInitial(initial: unknown, image: CheckedImage): Pick<SegmentCall, 'initial' | 'given'> {
  if (ArrayBuffer.isView(initial) || initial instanceof DeviceArray) {
    requireOut(initial as Pixels, image.type, image.points, 'initial');
    return { initial: { initial: 'given' }, given: initial as Pixels };
  }
  if (typeof initial === 'string') return { initial: shapeFields({ kind: initial }, image), given: undefined };
  if (typeof initial !== 'object' || initial === null || Array.isArray(initial)) {
    throw refusal('initial', 'a level set or a shape', describeValue(initial));
  }
  return { initial: shapeFields(initial as { kind: string }, image), given: undefined };
}

function checkOut(out: SegmentOptions['out'], image: CheckedImage): void {
  if (out === undefined) return;
  requireFields(out, ['levelSet', 'mask'], 'out', 'out');
  requireOut(out.levelSet, image.type, image.points, 'out.levelSet');
  const mask: unknown = out.mask;
  if (mask === undefined) return;
  const fits = holds(mask, 'uint8') || (mask instanceof DeviceArray && mask.type === 'uint8');
  if (!fits || (mask as Uint8Array).length !== image.points) throw refusal('out.mask', `${image.points} bytes`, describeValue(mask));
}

/** Options that later portions read, as they are at the call. */
function takenOptions(options: SegmentOptions): SegmentOptions {
  const { weights, out } = options;
  return {
    ...options, ...(weights === undefined ? {} : { weights: [...weights] }), ...(out === undefined ? {} : { out: { ...out } }),
  } as SegmentOptions;
}

/**
 * Divides an image or a volume into two regions of which each is as uniform as can be, with a short contour between them: minimises
 * mu × length + nu × area inside + Σ over the channels of weight × (lambda1 ∫ inside (f - c1)² + lambda2 ∫ outside (f - c2)²)
 * by gradient descent on a level set (Chan and Vese 2001; the semi-implicit step after Getreuer 2012, for all points at once).
 *
 * Pixels with a value that is not finite (in any channel) have no data: only the curvature and nu act there, and they count in no mean.
 * `inside` may be the bright region or the dark one, as the first contour leads to. Results have the same bits on every backend, with
 * every variant and number of threads. docs/imaging-segment.md has the formulas.
 *
 * @example
 * const found = await imaging.segment({ data, width: 512, height: 512 }, { mu: 0.1 });
 * draw(found.mask, await found.contours());
 *
 * @throws ArgumentError (`ERR_WARPLOOM_INVALID_ARGUMENT`) naming the argument, before any work; `ERR_WARPLOOM_UNSUPPORTED` for a variant
 *   that the device or the image does not go with; `ERR_WARPLOOM_OUT_OF_MEMORY`; `ERR_WARPLOOM_DEVICE_LOST`. Aborted calls reject
 *   with `signal.reason`.
 */
export async function segment<V extends Pixels>(image: Image<V>, options: SegmentOptions<V> = {}): Promise<SegmentResult<V>> {
  checkOptions(options);
  const checked = checkImage(image, 'image');
  checkWeights(options.weights, checked.channels);
  const { initial, given } = checkInitial(options.initial ?? 'checkerboard', checked);
  checkOut(options.out, checked);
  const arrays = [image.data, given, options.out?.levelSet, options.out?.mask];
  options.signal?.throwIfAborted();
  const device = deviceFor(options.device, arrays);
  return await segmentInPortions({ device, image: checked, options: takenOptions(options), initial, given }) as SegmentResult<V>;
}
