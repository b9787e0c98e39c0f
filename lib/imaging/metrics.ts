// How good an answer is: the usual figures, computed on the host in float64. Those that take more than one pass over the pixels are cut
// into slices of a few milliseconds, between which the event loop gets its turn; what they read is copied at the call.
import { types } from 'node:util';
import { describeValue, makeFloat64, typedCopy } from '../core/arrays.ts';
import { abortSignal, anything, positive, requireNumber, requireRange, whole } from '../core/checks.ts';
import { DeviceArray } from '../core/device.ts';
import { refusal } from '../core/errors.ts';
import { elementAt, required } from '../core/known.ts';
import { needed, normally, optionsOf, type ChecksOf } from '../core/options.ts';
import { inSlices } from '../core/slices.ts';
import { comparable, type SampleImage } from '../files/samples.ts';
import { sortInTurns, squaredDistances, surfaceOf, type Mask } from './distances.ts';
import {
  checkImage, checkSpacing, relativeSpacing, requireAlike, type CheckedImage, type Image, type Spacing,
} from '../files/image.ts';

export type { Mask } from './distances.ts';

/** An image in JavaScript's memory. */
export type HostImage = Image<Float32Array | Float64Array>;
/** An image whose pixels are compared, of floating-point numbers or of integers. */
export type Compared = HostImage | SampleImage;
type HostPixels = Float32Array | Float64Array;

/** An image with the pixels that it has now: metrics are computed in turns of the event loop. */
function hostImage(image: HostImage, name: string): CheckedImage<HostPixels> {
  const checked = checkImage(image, name);
  if (checked.data instanceof DeviceArray) {
    throw refusal(`${name}.data`, 'a Float32Array or a Float64Array (read the DeviceArray first)', 'a DeviceArray');
  }
  return { ...checked, data: typedCopy(checked.data) };
}

function pair(image: HostImage, reference: HostImage): [CheckedImage<HostPixels>, CheckedImage<HostPixels>] {
  const [a, b] = [hostImage(image, 'image'), hostImage(reference, 'reference')];
  requireAlike({ ...b, type: a.type }, a, 'reference');
  return [a, b];
}

/** {@link pair} of images that may have 8 or 16 bits, and the range of their values. */
function comparedPair(image: Compared, reference: Compared): { a: CheckedImage<HostPixels>; b: CheckedImage<HostPixels>; range: number } {
  const { images, range } = comparable(image, reference);
  const [a, b] = pair(...images);
  return { a, b, range };
}

/** Neumaier's sum. */
class Sum {
  #sum = 0;
  #lost = 0;

  add(value: number): void {
    const next = this.#sum + value;
    this.#lost += Math.abs(this.#sum) >= Math.abs(value) ? this.#sum - next + value : value - next + this.#sum;
    this.#sum = next;
  }

  get total(): number {
    return this.#sum + this.#lost;
  }
}

/** Items that a slice looks at between two looks at the clock. */
const grain = 2 ** 13;

/** Sum of f(0) … f(count - 1). */
async function sumOf(count: number, f: (i: number) => number, signal?: AbortSignal): Promise<number> {
  const sum = new Sum();
  await inSlices(count, (begin, end) => {
    for (let i = begin; i < end; i += 1) sum.add(f(i));
  }, { signal, grain });
  return sum.total;
}

/** f(0) … f(count - 1). */
async function filled(count: number, f: (i: number) => number, signal?: AbortSignal): Promise<Float64Array> {
  const values = makeFloat64(count);
  await inSlices(count, (begin, end) => {
    for (let i = begin; i < end; i += 1) values[i] = f(i);
  }, { signal, grain });
  return values;
}

/**
 * Mean of the squared differences of two images. Those of 8 and 16 bits of one type are compared by the values that they have (0 to 255);
 * beside an image of another type they are what operations compute with: unsigned ones 0 to 1, signed ones as they are.
 */
export function meanSquaredError(image: Compared, reference: Compared): number {
  return squaredError(comparedPair(image, reference));
}

function squaredError({ a, b }: ReturnType<typeof comparedPair>): number {
  const sum = new Sum();
  for (let i = 0; i < a.data.length; i += 1) sum.add((required(a.data[i]) - required(b.data[i])) ** 2);
  return sum.total / a.data.length;
}

/**
 * Peak signal-to-noise ratio in decibels: 10 log10(peak² / mean squared error). Infinity for equal images.
 *
 * Images of 8 and 16 bits are taken as {@link meanSquaredError} takes them.
 *
 * @param peak the range of the values that pixels can have; default 1, for two images of one type of 8 or 16 bits 255 or 65535
 */
export function psnr(image: Compared, reference: Compared, peak?: number): number {
  if (peak !== undefined) requireNumber(peak, 'peak', { above: 0 });
  const compared = comparedPair(image, reference);
  const error = squaredError(compared);
  return error === 0 ? Infinity : requireRange(10 * Math.log10((peak ?? compared.range) ** 2 / error), 'peak');
}

interface Field {
  readonly values: Float64Array;
  readonly shape: readonly number[];
}

/** Sums of `width` neighbours along one axis, for the windows that are inside: extent - width + 1 of them. */
async function boxSums({ values, shape }: Field, axis: number, width: number, signal: AbortSignal | undefined): Promise<Field> {
  const inner = shape.slice(0, axis).reduce((a, b) => a * b, 1);
  const outer = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
  const extent = elementAt(shape, axis);
  const windows = extent - width + 1;
  const sums = makeFloat64(inner * windows * outer);
  await inSlices(sums.length, (begin, end) => {
    for (let at = begin; at < end; at += 1) {
      const line = Math.floor(at / inner);
      const o = Math.floor(line / windows);
      const first = (o * extent + (line - o * windows)) * inner + (at - line * inner);
      let sum = 0;
      for (let k = 0; k < width; k += 1) sum += required(values[first + k * inner]);
      sums[at] = sum;
    }
  }, { signal, grain });
  return { values: sums, shape: shape.map((n, i) => (i === axis ? windows : n)) };
}

async function windowMeans(
  values: Float64Array, shape: readonly number[], width: number, signal: AbortSignal | undefined,
): Promise<Float64Array> {
  let current: Field = { values, shape };
  for (let axis = 0; axis < shape.length; axis += 1) current = await boxSums(current, axis, width, signal);
  const count = width ** shape.length;
  const { values: sums } = current;
  await inSlices(sums.length, (begin, end) => {
    for (let i = begin; i < end; i += 1) sums[i] = required(sums[i]) / count;
  }, { signal, grain });
  return sums;
}

/** Options of {@link ssim}. */
export interface SsimOptions {
  /** Side of the window, odd. Default 7. */
  readonly window?: number;
  /**
   * Difference between the largest and smallest value that pixels can have. Default 1, for two images of one type of 8 or 16 bits 255 or
   * 65535.
   */
  readonly range?: number;
  /** Cancels the call, which then rejects with `signal.reason`. */
  readonly signal?: AbortSignal;
}

const ssimOptions = optionsOf('ssim', {
  window: normally(whole(3, 255), 7), range: positive, signal: abortSignal,
} satisfies ChecksOf<SsimOptions>);

/**
 * Structural similarity (Wang et al. 2004): mean over all windows of `window`ᵈ pixels with equal weights that are inside the image,
 * sample variances, K1 = 0.01, K2 = 0.03, mean over the channels. 1 for equal images. Images of 8 and 16 bits are taken as
 * {@link meanSquaredError} takes them.
 *
 * @throws ArgumentError if a side of an image is shorter than the window
 */
export async function ssim(image: Compared, reference: Compared, options: SsimOptions = {}): Promise<number> {
  const { window, range: given, signal } = ssimOptions.read(options);
  if (window % 2 === 0) throw refusal('window', 'an odd number', String(window));
  const { a, b, range: own } = comparedPair(image, reference);
  const range = given ?? own;
  const shape = a.depth > 1 ? [a.width, a.height, a.depth] : [a.width, a.height];
  if (Math.min(...shape) < window) throw refusal('window', `at most the shortest side, ${Math.min(...shape)}`, String(window));
  signal?.throwIfAborted();
  const [c1, c2] = [(0.01 * range) ** 2, requireRange((0.03 * range) ** 2, 'range')];
  const samples = window ** shape.length;
  const unbiased = samples / (samples - 1);
  let total = 0;
  for (let channel = 0; channel < a.channels; channel += 1) {
    const [x, y] = [a, b].map(({ data }) => data.subarray(channel * a.points, (channel + 1) * a.points)) as [HostPixels, HostPixels];
    const mean = async (f: (i: number) => number) => windowMeans(await filled(a.points, f, signal), shape, window, signal);
    const [mx, my] = [await mean((i) => x[i]!), await mean((i) => y[i]!)];
    const [mxx, myy, mxy] = [await mean((i) => x[i]! * x[i]!), await mean((i) => y[i]! * y[i]!), await mean((i) => x[i]! * y[i]!)];
    total += await sumOf(mx.length, (i) => {
      const [p, q] = [mx[i]!, my[i]!];
      const [vx, vy, vxy] = [unbiased * (mxx[i]! - p * p), unbiased * (myy[i]! - q * q), unbiased * (mxy[i]! - p * q)];
      return ((2 * p * q + c1) * (2 * vxy + c2)) / ((p * p + q * q + c1) * (vx + vy + c2));
    }, signal) / mx.length;
  }
  return total / a.channels;
}

/** Normalised cross-correlation of two images, -1 to 1: 1 if one is the other times a positive number plus a constant. */
export async function ncc(image: Compared, reference: Compared): Promise<number> {
  const { a, b } = comparedPair(image, reference);
  const n = a.data.length;
  const [ma, mb] = [await sumOf(n, (i) => required(a.data[i])) / n, await sumOf(n, (i) => required(b.data[i])) / n];
  const covariance = await sumOf(n, (i) => (required(a.data[i]) - ma) * (required(b.data[i]) - mb));
  const scale = Math.sqrt(await sumOf(n, (i) => (required(a.data[i]) - ma) ** 2) * await sumOf(n, (i) => (required(b.data[i]) - mb) ** 2));
  return covariance / scale;
}

/** A labelling and another one of its length. */
function labels(mask: unknown, reference: unknown): void {
  for (const [name, value] of [['mask', mask], ['reference', reference]] as const) {
    requireMask(value, name);
  }
  const [count, other] = [(mask as Mask).length, (reference as Mask).length];
  if (count !== other) throw refusal('reference', `${count} entries`, `${other}`);
}

function requireMask(value: unknown, name: string): asserts value is Mask {
  if (types.isUint8Array(value) || types.isFloat32Array(value) || types.isFloat64Array(value)) return;
  throw refusal(name, 'a Uint8Array, a Float32Array or a Float64Array', describeValue(value));
}

/** Pixels of both labellings, and of each. */
function counts(mask: Mask, reference: Mask): { common: number; inside: number; wanted: number } {
  labels(mask, reference);
  let [common, inside, wanted] = [0, 0, 0];
  for (let i = 0; i < mask.length; i += 1) {
    const a = mask[i] === 0 ? 0 : 1;
    const b = reference[i] === 0 ? 0 : 1;
    common += a & b;
    inside += a;
    wanted += b;
  }
  return { common, inside, wanted };
}

const diceOf = (common: number, sum: number): number => (sum === 0 ? 1 : (2 * common) / sum);

/** Dice coefficient of two labellings: twice the number of common pixels over the sum of both, from 0 to 1; 1 for two empty ones. */
export function dice(mask: Mask, reference: Mask): number {
  const { common, inside, wanted } = counts(mask, reference);
  return diceOf(common, inside + wanted);
}

/** The larger {@link dice} of a labelling and of its complement: which region `segment` calls inside is arbitrary. */
export function diceEitherWay(mask: Mask, reference: Mask): number {
  const { common, inside, wanted } = counts(mask, reference);
  return Math.max(diceOf(common, inside + wanted), diceOf(wanted - common, mask.length - inside + wanted));
}

/** Extents of a grid, for the metrics of labellings. */
export interface MaskShape {
  readonly width: number;
  readonly height: number;
  /** Default 1. */
  readonly depth?: number;
  /** Distances of adjacent pixels in x, y and (for volumes) z. Default 1 each. */
  readonly spacing?: Spacing;
}

/** The extents of a grid; an image will do. */
const gridFields = optionsOf('a grid', {
  width: needed(whole(1)), height: needed(whole(1)), depth: normally(whole(1), 1), data: anything, channels: anything, spacing: anything,
});

/**
 * Hausdorff distance between the borders of two labellings, in the unit of `size.spacing` (without one, in pixels): the largest
 * distance of a border pixel of one from the border of the other. Infinity if one is empty and the other is not, 0 if both are.
 */
export async function hausdorff(mask: Mask, reference: Mask, size: MaskShape): Promise<number> {
  labels(mask, reference);
  const [first, second] = [typedCopy(mask), typedCopy(reference)];
  const { width, height, depth, spacing: given } = gridFields.read(size, 'size');
  const spacing = checkSpacing(given, depth, 'size.spacing') ?? [1, 1, 1];
  if (mask.length !== width * height * depth) {
    throw refusal('mask', `width * height * depth = ${width * height * depth} entries`, `${mask.length}`);
  }
  const shape = [width, height, depth];
  const [a, b] = [await surfaceOf(first, shape), await surfaceOf(second, shape)];
  if (!a.includes(1) && !b.includes(1)) return 0;
  const farthest = async (from: Uint8Array, to: Uint8Array) => {
    const distances = await squaredDistances(to, shape, spacing);
    let most = 0;
    await inSlices(from.length, (begin, end) => {
      for (let i = begin; i < end; i += 1) if (from[i] === 1) most = Math.max(most, required(distances[i]));
    }, { grain });
    return most;
  };
  return Math.sqrt(Math.max(await farthest(a, b), await farthest(b, a)));
}

/**
 * Energy of Rudin, Osher and Fatemi: weight · TV(image) + ½ Σ (image - noisy)², with the isotropic total variation of forward
 * differences, zero across the border, divided by the distance of the pixels in units of the smallest one (`spacing`), and the norm
 * taken over all axes and channels. Divide by the number of pixels to compare sizes.
 */
export async function rofEnergy(image: HostImage, noisy: HostImage, weight: number): Promise<number> {
  requireNumber(weight, 'weight', { above: 0 });
  const [u, f] = pair(image, noisy);
  const { width, height, depth, points, channels, data } = u;
  const [dx, dy, dz] = relativeSpacing(u);
  const variation = await sumOf(points, (i) => {
    const x = i % width;
    const y = Math.floor(i / width) % height;
    const z = Math.floor(i / (width * height));
    let squares = 0;
    for (let c = 0; c < channels; c += 1) {
      const at = c * points + i;
      if (x + 1 < width) squares += ((required(data[at + 1]) - required(data[at])) / dx) ** 2;
      if (y + 1 < height) squares += ((required(data[at + width]) - required(data[at])) / dy) ** 2;
      if (z + 1 < depth) squares += ((required(data[at + width * height]) - required(data[at])) / dz) ** 2;
    }
    return Math.sqrt(squares);
  });
  return weight * variation + 0.5 * await sumOf(data.length, (i) => (required(data[i]) - required(f.data[i])) ** 2);
}

/** Result of {@link targetRegistrationError}, in the unit of the field's `spacing`, or in pixels if it has none. */
export interface RegistrationError {
  readonly mean: number;
  /** 95 of 100 points are off by at most this much. */
  readonly p95: number;
  readonly max: number;
}

/**
 * Distance between two displacement fields, pixel by pixel: how far a registration moves points from where they belong.
 *
 * @param displacement components x, y (and z) as channels
 * @param exact the true field, in the same form
 * @param mask where to count; default everywhere
 */
export async function targetRegistrationError(displacement: HostImage, exact: HostImage, mask?: Mask): Promise<RegistrationError> {
  const a = hostImage(displacement, 'displacement');
  const b = hostImage(exact, 'exact');
  requireAlike({ ...b, type: a.type }, a, 'exact');
  if (mask !== undefined) {
    requireMask(mask, 'mask');
    if (mask.length !== a.points) throw refusal('mask', `${a.points} entries`, describeValue(mask));
  }
  const [found, wanted, inside] = [typedCopy(a.data), typedCopy(b.data), mask === undefined ? undefined : typedCopy(mask)];
  const distances = makeFloat64(a.points);
  let count = 0;
  await inSlices(a.points, (begin, end) => {
    for (let i = begin; i < end; i += 1) {
      if (inside !== undefined && inside[i] === 0) continue;
      let squares = 0;
      for (let c = 0; c < a.channels; c += 1) {
        squares += ((required(found[c * a.points + i]) - required(wanted[c * a.points + i])) * (a.spacing?.[c] ?? 1)) ** 2;
      }
      distances[count] = Math.sqrt(squares);
      count += 1;
    }
  }, { grain });
  if (count === 0) throw refusal('mask', 'at least one nonzero entry', 'none');
  const sorted = await sortInTurns(distances.subarray(0, count));
  return {
    mean: await sumOf(count, (i) => required(sorted[i])) / count,
    p95: elementAt(sorted, Math.min(count - 1, Math.ceil(0.95 * count) - 1)), max: elementAt(sorted, count - 1),
  };
}
