// imaging.denoise: total variation denoising of images and volumes.
import { describeValue } from '../core/arrays.ts';
import { callChecks, deviceFor, newReals, requireOut, viewOf, withResults, type CallInfo } from '../core/call.ts';
import { anything, choice, either, oneOf, positive, truth } from '../core/checks.ts';
import { type Device, DeviceArray } from '../core/device.ts';
import { briefly } from '../core/display.ts';
import { refusal } from '../core/errors.ts';
import { lastOf, required } from '../core/known.ts';
import { choices, type Reports } from '../core/operations.gen.ts';
import { normally, optionsOf, parametersOf, rangesOf, type ChecksOf, type Taken } from '../core/options.ts';
import type { CallOptions } from '../core/progress.ts';
import { checkImage, shownImage, spacingFields, spacingOf, type CheckedImage, type Image, type Pixels } from '../files/image.ts';
import type { Mask } from './distances.ts';
import { checkMask, hideOutside, hostPixels, placed, restoreOutside } from './mask.ts';
import { realImage, samplesKind, samplesOf, type SampleImage, type Samples } from '../files/samples.ts';
import { statusOf, type IterationStatus } from './status.ts';

/** How the energy is minimised. */
export const denoiseMethods = choices['imaging.denoise'].method;
/** One of {@link denoiseMethods}. */
export type DenoiseMethod = (typeof denoiseMethods)[number];

/** The noise model of the data term. */
export const noiseKinds = choices['imaging.denoise'].noise;
/** One of {@link noiseKinds}. */
export type NoiseKind = (typeof noiseKinds)[number];

/** How the iterations are computed; all variants produce the same bits. */
export const denoiseVariants = choices['imaging.denoise'].variant;
/** One of {@link denoiseVariants}. */
export type DenoiseVariant = (typeof denoiseVariants)[number];

/** A check of the state of a denoising. */
export interface DenoiseCheck {
  /** Iterations so far. */
  readonly iteration: number;
  /** w TV(u) + D(u - f) per pixel and channel. */
  readonly energy: number;
  /** `primal-dual`: upper bound on how far the energy is above its minimum, as a fraction of the energy. `flow`: undefined. */
  readonly gap?: number;
  /** `flow`: decrease of the energy since the previous check, as a fraction of it. */
  readonly decrease?: number;
}

/** Options of {@link denoise}. */
export interface DenoiseOptions<V extends Pixels = Pixels> extends Omit<CallOptions, 'onProgress'> {
  /**
   * `primal-dual` (default): Chambolle and Pock's iteration, accelerated for gaussian noise, until the duality gap is small. `flow`:
   * explicit steps of the curvature flow, for gaussian noise; its gradient norms are smoothed by `eps`, so it ends slightly above
   * the minimum.
   */
  readonly method?: DenoiseMethod;
  /** `gaussian` (default): the data term is |u - f|²/2. `impulse`: |u - f|, for salt and pepper and other outliers. */
  readonly noise?: NoiseKind;
  /** Weight w of the total variation: larger is smoother. Same meaning as scikit-image's `weight`. */
  readonly weight?: number;
  /**
   * Instead of the weight, with `primal-dual` and gaussian noise: the standard deviation of the noise. The weight is chosen so that
   * the root mean square of u - f equals sigma to within 0.1 % (discrepancy principle). `estimate` (default if no weight is given):
   * the standard deviation is estimated from the image, by the median of its finest wavelet details.
   */
  readonly sigma?: number | 'estimate';
  /** One norm over all channels (default): edges are kept where any channel has them. False: each channel on its own. */
  readonly coupled?: boolean;
  /** `primal-dual`: the gap at which to stop, default 1e-4. `flow`: the decrease between two checks at which to stop, default 1e-5. */
  readonly tolerance?: number;
  /** Maximum number of iterations for each weight that is tried. Default 1000, with `flow` 5000. */
  readonly iterations?: number;
  /** Iterations between two checks. Default 10, at most 1000. */
  readonly checkEvery?: number;
  /** `flow`: added to the squared gradients, default 1e-4. */
  readonly eps?: number;
  /** `flow`: the step. Default 1 / (4 axes w / √eps + 1), half the stability limit of the linearised flow. */
  readonly dt?: number;
  /**
   * Treatment of pixels that are NaN. `refuse` (default): an error. `fill`: they have no data term and the minimiser fills them in
   * from their surroundings (inpainting); a hole takes about as many iterations as its width squared. Infinite pixels are always
   * rejected.
   */
  readonly missing?: 'refuse' | 'fill';
  /**
   * Where to measure, width × height × depth entries: nonzero is inside. Only pixels inside have a data term and count in the noise
   * level; those outside are returned as they are. Default everywhere.
   */
  readonly mask?: Mask;
  /** Images of 8 and 16 bits: true returns the same type, rounded and clamped; false (default) float32. */
  readonly sameType?: boolean;
  /**
   * `march`: an iteration in one pass over memory, for one channel or channels that are not coupled. `direct`: in two passes, a thread per
   * pixel (cuda and simt). Default `auto`.
   */
  readonly variant?: DenoiseVariant;
  /** Default: the device of the device arrays among the arguments, or else the thread's default device. */
  readonly device?: Device;
  /** Where the result goes; must not overlap the image. Default: a new array like the image's, on the device if it is there. */
  readonly out?: V;
  /** Called from time to time with the iterations so far, their maximum, and the energy per pixel and channel that was reached. */
  readonly onProgress?: (done: number, most: number, state: { readonly energy: number }) => void;
}

/** Result of {@link denoise}. */
export interface DenoiseResult<V extends Pixels = Pixels> {
  readonly image: Image<V>;
  /** Iterations in total, over all weights. */
  readonly iterations: number;
  /** Energy of the result, per pixel and channel. */
  readonly energy: number;
  /** `primal-dual`: the energy is above its minimum by at most this fraction of itself. */
  readonly gap?: number;
  /** Whether the tolerance was reached. */
  readonly converged: boolean;
  /** How the iterations with the last weight ended and, if they did not converge, what to change. */
  readonly status: IterationStatus;
  readonly weight: number;
  /** The standard deviation for which the weight was chosen, given or estimated. */
  readonly sigma?: number;
  /** Gaussian noise: root mean square of u - f over the pixels with data. */
  readonly residual?: number;
  /** Pixel values that were NaN and have been filled. */
  readonly filled: number;
  /** Checks during the iterations with the last weight. */
  readonly history: readonly DenoiseCheck[];
  readonly info: CallInfo & {
    readonly variant: DenoiseVariant;
    /** Number of weights that were tried. */
    readonly solutions: number;
    /** `flow`: the step. */
    readonly dt?: number;
  };
}

const checks = {
  ...parametersOf('imaging.denoise', 'method', 'noise', 'coupled', 'variant', 'checkEvery'), ...callChecks,
  ...rangesOf('imaging.denoise', 'tolerance', 'iterations', 'eps'), weight: positive, dt: positive,
  sigma: either(positive, choice(['estimate'] as const)), missing: normally(choice(['refuse', 'fill'] as const), 'refuse'), out: anything,
  mask: anything, sameType: normally(truth, false),
} satisfies ChecksOf<DenoiseOptions>;
const denoiseOptions = optionsOf('denoise', checks);

/** Options with their defaults. */
interface Setup {
  readonly method: DenoiseMethod;
  readonly noise: NoiseKind;
  readonly weight: number;
  readonly sigma: number;
  readonly coupled: boolean;
  readonly tolerance: number;
  readonly iterations: number;
  readonly checkEvery: number;
  readonly eps: number;
  readonly dt: number;
  readonly fill: boolean;
  readonly variant: DenoiseVariant;
}

/** Refuses options that do not go together, and fills in defaults. */
function setupOf(options: Taken<DenoiseOptions, typeof checks>, { channels }: CheckedImage): Setup {
  const { method, noise, coupled, variant, checkEvery } = options;
  const flow = method === 'flow';
  if (flow && noise === 'impulse') throw refusal('noise', '"gaussian" with method "flow"', '"impulse"');
  for (const name of ['eps', 'dt'] as const) {
    if (!flow && options[name] !== undefined) throw refusal(name, 'none: it belongs to method "flow"', describeValue(options[name]));
  }
  oneOf({ weight: options.weight, sigma: options.sigma }, ['weight', 'sigma']);
  if (options.weight === undefined && (flow || noise === 'impulse')) {
    throw refusal('weight', `a number with ${flow ? 'method "flow"' : 'noise "impulse"'}`, 'undefined');
  }
  if (variant === 'march' && coupled && channels > 1) {
    throw refusal('variant', '"direct", coupled: false, or one channel', `"march" with ${channels} channels`);
  }
  return {
    method, noise, coupled, variant, weight: options.weight ?? 0,
    sigma: typeof options.sigma === 'number' ? options.sigma : 0,
    tolerance: options.tolerance ?? (flow ? 1e-5 : 1e-4), iterations: options.iterations ?? (flow ? 5000 : 1000),
    checkEvery, eps: options.eps ?? 1e-4, dt: options.dt ?? 0, fill: options.missing === 'fill',
  };
}

/** A row of the report's history. */
function checkOf({ iteration, energy, measure }: Record<'iteration' | 'energy' | 'measure', number>, flow: boolean): DenoiseCheck {
  if (!flow) return { iteration, energy, gap: measure };
  return { iteration, energy, ...(Number.isFinite(measure) ? { decrease: measure } : {}) };
}

/** The result without image and device. */
function summaryOf(report: Reports['imaging.denoise'], { method, tolerance }: Setup) {
  const flow = method === 'flow';
  const { variant, iterations, converged, filled, solutions, weight, sigma, residual, dt } = report;
  const history = [...report.history].map((row) => checkOf(row, flow));
  const last = lastOf(history);
  const status = statusOf({ converged, iterations: last.iteration, measure: last.gap ?? last.decrease ?? NaN, tolerance },
    flow ? 'relative decrease of the energy between two checks' : 'duality gap relative to the energy',
    flow ? 'raise iterations, dt or tolerance, or use method "primal-dual"' : 'raise iterations or tolerance');
  return {
    status, iterations, energy: last.energy, ...(last.gap === undefined ? {} : { gap: last.gap }), converged, weight,
    ...(sigma > 0 ? { sigma } : {}), ...(residual >= 0 ? { residual } : {}), filled, history,
    info: { variant, solutions, ...(dt > 0 ? { dt } : {}) },
  };
}

/**
 * Removes noise and keeps edges: finds the image u with the smallest energy w TV(u) + D(u - f), where f is the given image and
 * TV(u) the sum over the pixels of the norm of the forward differences (isotropic, of all channels together unless `coupled` is
 * false; nothing across the border; divided by the distance of the pixels, in units of the smallest `spacing` of the image). Rudin, Osher
 * and Fatemi's model with gaussian noise, TV-L1 with impulses.
 *
 * The iterations run and are stopped on the device. `primal-dual` stops when the duality gap, an upper bound on the distance to the
 * minimum, is at most `tolerance` of the energy; energies and gaps are summed in float64 in a fixed order. Results repeat to the
 * bit; `primal-dual` and float64 have the same bits on every backend.
 *
 * Images of 8 and 16 bits are taken too: unsigned ones are computed as 0 to 1, signed ones (such as Hounsfield units) as they are.
 *
 * @example
 * const { image, weight, gap } = await imaging.denoise({ data, width, height }, { sigma: 'estimate' });
 *
 * @throws ArgumentError (`ERR_WARPLOOM_INVALID_ARGUMENT`) naming the argument: options before any work; `image` for pixels that are NaN
 *   or infinite and `sigma` for a level that the image cannot have, once they are found; `ERR_WARPLOOM_UNSUPPORTED` for a variant
 *   that the backend does not have. Aborted calls reject with `signal.reason`.
 * @see Rudin, Osher, Fatemi (1992); Chambolle, Pock: A first-order primal-dual algorithm (2011), Algorithms 1 and 2; Bresson, Chan (2008)
 */
export function denoise<V extends Pixels>(image: Image<V>, given?: DenoiseOptions<V>): Promise<DenoiseResult<V>>;
export function denoise<S extends Samples>(
  image: SampleImage<S>, given: DenoiseOptions<Float32Array> & { readonly sameType: true },
): Promise<Omit<DenoiseResult<Float32Array>, 'image'> & { readonly image: SampleImage<S> }>;
export function denoise(image: SampleImage, given?: DenoiseOptions<Float32Array>): Promise<DenoiseResult<Float32Array>>;
export async function denoise(image: Image | SampleImage, given: DenoiseOptions = {}): Promise<unknown> {
  const options = denoiseOptions.read(given);
  const kind = samplesKind(image);
  const checked = checkImage(realImage(image), 'image');
  const inside = checkMask(options.mask, checked);
  if (options.sameType && kind === undefined) throw refusal('sameType', 'false, or an image of 8 or 16 bits', 'true');
  if (options.sameType && options.out !== undefined) throw refusal('out', 'none with sameType', describeValue(options.out));
  requireOut(options.out, checked.type, checked.data.length);
  const device = deviceFor(options, [checked.data, options.out]);
  const result = inside === undefined ? await denoiseOn(device, checked, options)
    : await denoiseInside(device, checked, inside, options);
  if (!options.sameType) return result;
  return briefly('Denoised', { ...result, image: { ...result.image, data: samplesOf(result.image.data as Float32Array, required(kind)) } });
}

type TakenDenoiseOptions = Taken<DenoiseOptions, typeof checks>;

/** Denoises where a mask says: pixels outside have no data, and are those of the image in the result. */
async function denoiseInside(
  device: Device, image: CheckedImage, inside: Uint8Array, options: TakenDenoiseOptions,
): Promise<DenoiseResult> {
  const { signal } = options;
  const original = await hostPixels(image.data, signal);
  const hidden = original.slice();
  hideOutside(hidden, inside);
  if (options.missing === 'refuse') {
    const missing = hidden.filter((value, i) => Number.isNaN(value) && inside[i % inside.length] === 1).length;
    if (missing > 0) throw refusal('image', 'numbers inside the mask (missing: "fill" fills in others)', `${missing} that are NaN`);
  }
  const data = placed(device, image.data, hidden);
  try {
    const result = await denoiseOn(device, { ...image, data }, { ...options, missing: 'fill' });
    const outside = image.channels * inside.reduce((count, is) => count + 1 - is, 0);
    const { data: found } = result.image;
    if (found instanceof DeviceArray) {
      const pixels = await hostPixels(found, signal);
      restoreOutside(pixels, original, inside);
      await found.write(pixels);
    } else {
      restoreOutside(found, original, inside);
    }
    return briefly('Denoised', { ...result, filled: result.filled - outside });
  } finally {
    if (data instanceof DeviceArray) data.dispose();
  }
}

/** Denoises a checked image. */
async function denoiseOn<V extends Pixels>(
  device: Device, checked: CheckedImage<V>, options: TakenDenoiseOptions,
): Promise<DenoiseResult<V>> {
  const { data, type, width, height, depth, channels } = checked;
  const setup = setupOf(options, checked);
  const { out, signal, onProgress } = options;
  const result = (out ?? newReals(data, type, data.length, device)) as V;
  return await withResults(out === undefined ? [result] : [], async () => {
    // The operation reports an energy where others report a total.
    const report = onProgress === undefined ? undefined : (done: number, energy: number): void => onProgress(done, setup.iterations,
        { energy });
    const run = await device.run('imaging.denoise', {
      type, width, height, depth, ...spacingFields(checked), channels, ...setup, image: viewOf(data), result: viewOf(result),
    }, { ...(signal === undefined ? {} : { signal }), ...(report === undefined ? {} : { onProgress: report }) });
    const { info, ...summary } = summaryOf(run.report, setup);
    const { deviceSeconds } = run;
    return briefly('Denoised', {
      image: shownImage({ data: result, width, height, depth, channels, ...spacingOf(checked) }),
      ...summary, info: { backend: device.backend, deviceSeconds, ...info },
    });
  });
}
