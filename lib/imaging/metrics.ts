// How good an answer is: the usual figures, computed on the host in float64.
import { describeValue } from '../core/arrays.ts';
import { requireFields, requireReal, requireWhole } from '../core/checks.ts';
import { DeviceArray } from '../core/device-array.ts';
import { refusal } from '../core/errors.ts';
import { checkImage, requireAlike, type CheckedImage, type Image } from './image.ts';

type HostImage = Image<Float32Array | Float64Array>;
type HostPixels = Float32Array | Float64Array;

/** A labelling: nonzero is inside. */
export type Mask = Uint8Array | Float32Array | Float64Array;

function hostImage(image: HostImage, name: string): CheckedImage<HostPixels> {
  const checked = checkImage(image, name);
  if (checked.data instanceof DeviceArray) {
    throw refusal(`${name}.data`, 'a Float32Array or a Float64Array (read the DeviceArray first)', 'a DeviceArray');
  }
  return checked;
}

function pair(image: HostImage, reference: HostImage): [CheckedImage<HostPixels>, CheckedImage<HostPixels>] {
  const [a, b] = [hostImage(image, 'image'), hostImage(reference, 'reference')];
  requireAlike({ ...b, type: a.type }, a, 'reference');
  return [a, b];
}

/** Neumaier's sum of f(0) … f(count - 1). */
function sumOf(count: number, f: (i: number) => number): number {
  let sum = 0;
  let lost = 0;
  for (let i = 0; i < count; i += 1) {
    const value = f(i);
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  return sum + lost;
}

/** Mean of the squared differences of two images. */
export function meanSquaredError(image: HostImage, reference: HostImage): number {
  const [a, b] = pair(image, reference);
  return sumOf(a.data.length, (i) => (a.data[i]! - b.data[i]!) ** 2) / a.data.length;
}

/**
 * Peak signal-to-noise ratio in decibels: 10 log10(peak² / mean squared error). Infinity for equal images.
 *
 * @param peak the largest value that pixels can have; default 1
 */
export function psnr(image: HostImage, reference: HostImage, peak = 1): number {
  requireReal(peak, 'peak');
  return 10 * Math.log10(peak ** 2 / meanSquaredError(image, reference));
}

/** Sums of `width` neighbours along one axis, for the windows that lie inside: extent - width + 1 of them. */
function boxSums(values: Float64Array, shape: readonly number[], axis: number, width: number): { values: Float64Array; shape: number[] } {
  const inner = shape.slice(0, axis).reduce((a, b) => a * b, 1);
  const outer = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
  const extent = shape[axis]!;
  const windows = extent - width + 1;
  const sums = new Float64Array(inner * windows * outer);
  for (let o = 0; o < outer; o += 1) {
    for (let w = 0; w < windows; w += 1) {
      for (let i = 0; i < inner; i += 1) {
        let sum = 0;
        for (let k = 0; k < width; k += 1) sum += values[(o * extent + w + k) * inner + i]!;
        sums[(o * windows + w) * inner + i] = sum;
      }
    }
  }
  return { values: sums, shape: shape.map((n, i) => (i === axis ? windows : n)) };
}

function windowMeans(values: Float64Array, shape: readonly number[], width: number): Float64Array {
  let current = { values, shape: [...shape] };
  shape.forEach((_, axis) => { current = boxSums(current.values, current.shape, axis, width); });
  const count = width ** shape.length;
  return current.values.map((sum) => sum / count);
}

/** Options of {@link ssim}. */
export interface SsimOptions {
  /** Side of the window, odd. Default 7. */
  readonly window?: number;
  /** Difference of the largest and smallest value that pixels can have. Default 1. */
  readonly range?: number;
}

/**
 * Structural similarity (Wang et al. 2004): mean over all windows of `window`ᵈ pixels with equal weights that lie inside of the
 * image, sample variances, K1 = 0.01, K2 = 0.03, mean over the channels. 1 for equal images.
 *
 * @throws ArgumentError when an image has a side shorter than the window
 */
export function ssim(image: HostImage, reference: HostImage, options: SsimOptions = {}): number {
  requireFields(options, ['window', 'range'], 'options', 'ssim');
  const { window = 7, range = 1 } = options;
  requireReal(range, 'range');
  requireWhole(window, 'window', 3, 255);
  if (window % 2 === 0) throw refusal('window', 'an odd number', String(window));
  const [a, b] = pair(image, reference);
  const shape = a.depth > 1 ? [a.width, a.height, a.depth] : [a.width, a.height];
  if (Math.min(...shape) < window) throw refusal('window', `at most the shortest side, ${Math.min(...shape)}`, String(window));
  const [c1, c2] = [(0.01 * range) ** 2, (0.03 * range) ** 2];
  const samples = window ** shape.length;
  const unbiased = samples / (samples - 1);
  let total = 0;
  for (let channel = 0; channel < a.channels; channel += 1) {
    const part = (data: HostPixels) => Float64Array.from(data.subarray(channel * a.points, (channel + 1) * a.points));
    const [x, y] = [part(a.data), part(b.data)];
    const mean = (values: Float64Array) => windowMeans(values, shape, window);
    const [mx, my] = [mean(x), mean(y)];
    const [mxx, myy, mxy] = [mean(x.map((v) => v * v)), mean(y.map((v) => v * v)), mean(x.map((v, i) => v * y[i]!))];
    total += sumOf(mx.length, (i) => {
      const [p, q] = [mx[i]!, my[i]!];
      const [vx, vy, vxy] = [unbiased * (mxx[i]! - p * p), unbiased * (myy[i]! - q * q), unbiased * (mxy[i]! - p * q)];
      return ((2 * p * q + c1) * (2 * vxy + c2)) / ((p * p + q * q + c1) * (vx + vy + c2));
    }) / mx.length;
  }
  return total / a.channels;
}

/** Normalised cross-correlation of two images, -1 to 1: 1 when one is the other times a positive number plus a constant. */
export function ncc(image: HostImage, reference: HostImage): number {
  const [a, b] = pair(image, reference);
  const n = a.data.length;
  const [ma, mb] = [sumOf(n, (i) => a.data[i]!) / n, sumOf(n, (i) => b.data[i]!) / n];
  const covariance = sumOf(n, (i) => (a.data[i]! - ma) * (b.data[i]! - mb));
  const scale = Math.sqrt(sumOf(n, (i) => (a.data[i]! - ma) ** 2) * sumOf(n, (i) => (b.data[i]! - mb) ** 2));
  return covariance / scale;
}

function sameLength(a: { length: number }, b: { length: number }, name: string): void {
  if (a.length !== b.length) throw refusal(name, `${a.length} entries`, `${b.length}`);
}

/** Dice coefficient of two labellings: twice the common pixels over the sum of both, 0 to 1; 1 for two empty ones. */
export function dice(mask: Mask, reference: Mask): number {
  sameLength(mask, reference, 'reference');
  let [common, sum] = [0, 0];
  for (let i = 0; i < mask.length; i += 1) {
    const [a, b] = [mask[i] !== 0, reference[i] !== 0];
    if (a && b) common += 1;
    sum += Number(a) + Number(b);
  }
  return sum === 0 ? 1 : (2 * common) / sum;
}

/** Larger one of {@link dice} of a labelling and of its complement: which side is called inside is arbitrary in `segment`. */
export function diceEitherWay(mask: Mask, reference: Mask): number {
  return Math.max(dice(mask, reference), dice(Uint8Array.from(mask as ArrayLike<number>, (v) => Number(v === 0)), reference));
}

/** Squared distance of every pixel to the nearest nonzero one (Felzenszwalb and Huttenlocher 2012), one axis after the other. */
function squaredDistances(mask: Mask, shape: readonly number[]): Float64Array {
  let field = Float64Array.from(mask as ArrayLike<number>, (v) => (v === 0 ? Infinity : 0));
  shape.forEach((extent, axis) => {
    const inner = shape.slice(0, axis).reduce((a, b) => a * b, 1);
    const next = new Float64Array(field.length);
    const lines = field.length / extent;
    const line = new Float64Array(extent);
    for (let l = 0; l < lines; l += 1) {
      const start = Math.floor(l / inner) * inner * extent + (l % inner);
      for (let i = 0; i < extent; i += 1) line[i] = field[start + i * inner]!;
      lowerEnvelope(line, (i, value) => { next[start + i * inner] = value; });
    }
    field = next;
  });
  return field;
}

/** min over q of (p - q)² + f(q), for every p. */
function lowerEnvelope(f: Float64Array, set: (p: number, value: number) => void): void {
  const n = f.length;
  const parabolas: number[] = [];
  const starts: number[] = [];
  for (let q = 0; q < n; q += 1) {
    if (f[q] === Infinity) continue;
    let start = -Infinity;
    while (parabolas.length > 0) {
      const v = parabolas.at(-1)!;
      start = (f[q]! + q * q - (f[v]! + v * v)) / (2 * (q - v));
      if (start > starts.at(-1)!) break;
      parabolas.pop();
      starts.pop();
      start = -Infinity;
    }
    parabolas.push(q);
    starts.push(start);
  }
  for (let p = 0, k = 0; p < n; p += 1) {
    while (k + 1 < parabolas.length && starts[k + 1]! < p) k += 1;
    const v = parabolas[k];
    set(p, v === undefined ? Infinity : (p - v) ** 2 + f[v]!);
  }
}

/** Pixels of a labelling that have a neighbour (by a face) outside of it, or stand at the border. */
function surfaceOf(mask: Mask, shape: readonly number[]): Uint8Array {
  const surface = new Uint8Array(mask.length);
  const strides = shape.map((_, axis) => shape.slice(0, axis).reduce((a, b) => a * b, 1));
  for (let i = 0; i < mask.length; i += 1) {
    if (mask[i] === 0) continue;
    const isEdge = shape.some((extent, axis) => {
      const at = Math.floor(i / strides[axis]!) % extent;
      if (extent === 1) return false;
      return at === 0 || at === extent - 1 || mask[i - strides[axis]!] === 0 || mask[i + strides[axis]!] === 0;
    });
    if (isEdge) surface[i] = 1;
  }
  return surface;
}

/** Where a grid's pixels are, as the metrics of labellings take it. */
export interface MaskShape {
  readonly width: number;
  readonly height: number;
  /** Default 1. */
  readonly depth?: number;
}

/**
 * Hausdorff distance of the borders of two labellings, in pixels: the farthest that a border pixel of one is from the border of the
 * other. Infinity when one is empty and the other is not, 0 when both are.
 */
export function hausdorff(mask: Mask, reference: Mask, { width, height, depth = 1 }: MaskShape): number {
  sameLength(mask, reference, 'reference');
  if (mask.length !== width * height * depth) {
    throw refusal('mask', `width * height * depth = ${width * height * depth} entries`, `${mask.length}`);
  }
  const shape = [width, height, depth];
  const [a, b] = [surfaceOf(mask, shape), surfaceOf(reference, shape)];
  if (!a.includes(1) && !b.includes(1)) return 0;
  const farthest = (from: Uint8Array, to: Uint8Array) => {
    const distances = squaredDistances(to, shape);
    return from.reduce((most, inside, i) => (inside === 1 ? Math.max(most, distances[i]!) : most), 0);
  };
  return Math.sqrt(Math.max(farthest(a, b), farthest(b, a)));
}

/**
 * Energy of Rudin, Osher and Fatemi: weight · TV(image) + ½ Σ (image - noisy)², with the isotropic total variation of forward
 * differences, zero across the border, and the norm taken over all axes and channels. Divide by the number of pixels to compare sizes.
 */
export function rofEnergy(image: HostImage, noisy: HostImage, weight: number): number {
  requireReal(weight, 'weight');
  const [u, f] = pair(image, noisy);
  const { width, height, depth, points, channels, data } = u;
  const variation = sumOf(points, (i) => {
    const x = i % width;
    const y = Math.floor(i / width) % height;
    const z = Math.floor(i / (width * height));
    let squares = 0;
    for (let c = 0; c < channels; c += 1) {
      const at = c * points + i;
      if (x + 1 < width) squares += (data[at + 1]! - data[at]!) ** 2;
      if (y + 1 < height) squares += (data[at + width]! - data[at]!) ** 2;
      if (z + 1 < depth) squares += (data[at + width * height]! - data[at]!) ** 2;
    }
    return Math.sqrt(squares);
  });
  return weight * variation + 0.5 * sumOf(data.length, (i) => (data[i]! - f.data[i]!) ** 2);
}

/** What {@link targetRegistrationError} gives, in pixels. */
export interface RegistrationError {
  readonly mean: number;
  /** 95 of 100 points are at most so far off. */
  readonly p95: number;
  readonly max: number;
}

/**
 * Distance of two displacement fields, pixel by pixel: how far a registration puts points from where they belong.
 *
 * @param displacement components x, y (and z) as channels
 * @param exact the true field, likewise
 * @param mask where to count; default everywhere
 */
export function targetRegistrationError(displacement: HostImage, exact: HostImage, mask?: Mask): RegistrationError {
  const a = hostImage(displacement, 'displacement');
  const b = hostImage(exact, 'exact');
  requireAlike({ ...b, type: a.type }, a, 'exact');
  if (mask !== undefined && mask.length !== a.points) throw refusal('mask', `${a.points} entries`, describeValue(mask));
  const distances: number[] = [];
  for (let i = 0; i < a.points; i += 1) {
    if (mask !== undefined && mask[i] === 0) continue;
    let squares = 0;
    for (let c = 0; c < a.channels; c += 1) squares += (a.data[c * a.points + i]! - b.data[c * a.points + i]!) ** 2;
    distances.push(Math.sqrt(squares));
  }
  if (distances.length === 0) throw refusal('mask', 'at least one nonzero entry', 'none');
  const sorted = Float64Array.from(distances).sort();
  return {
    mean: sumOf(sorted.length, (i) => sorted[i]!) / sorted.length,
    p95: sorted[Math.min(sorted.length - 1, Math.ceil(0.95 * sorted.length) - 1)]!, max: sorted.at(-1)!,
  };
}
