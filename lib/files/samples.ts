// Images of 8 and 16 bits, as decoders of other libraries give them.
import { types } from 'node:util';
import { typedArrayKind } from '../core/arrays.ts';
import { required } from '../core/known.ts';
import type { GridSize, Image, Pixels, Spacing } from './image.ts';
import type { ImageFormat, ImageMeta, SampleType } from './images/common.ts';

/** Arrays of samples of 8 and 16 bits. */
export type Samples = Uint8Array | Uint8ClampedArray | Uint16Array | Int8Array | Int16Array;

/** An image of samples of 8 or 16 bits, in planes like those of {@link Image}. */
export interface SampleImage<S extends Samples = Samples> extends GridSize {
  readonly data: S;
  readonly channels?: number;
  readonly spacing?: Spacing;
}

/** Smallest and largest sample by the array's name. */
const limits: Readonly<Record<string, readonly [number, number]>> = {
  Uint8Array: [0, 255], Uint8ClampedArray: [0, 255], Uint16Array: [0, 65_535], Int8Array: [-128, 127], Int16Array: [-32_768, 32_767],
};

/** The difference of the largest and the smallest sample of a kind of array. */
export function rangeOfSamples(kind: string): number {
  const [least, most] = limits[kind] as readonly [number, number];
  return most - least;
}

/** What a pixel of 1 is as a sample: unsigned samples become 0 to 1, as in {@link readImage}; signed ones keep their values. */
function unitOf(kind: string): number {
  const [least, most] = limits[kind] as readonly [number, number];
  return least === 0 ? most : 1;
}

const isObject = (value: unknown): value is { readonly data?: unknown } => typeof value === 'object' && value !== null;

/** The kind of array that an image of samples has; undefined for other images, and for what is none. */
export function samplesKind(image: unknown): string | undefined {
  const data = isObject(image) ? image.data : undefined;
  const kind = types.isTypedArray(data) ? typedArrayKind(data) : undefined;
  return kind !== undefined && kind in limits ? kind : undefined;
}

/**
 * Two images whose pixels can be compared, and the range that their values have by type: samples of one kind keep their values, others are
 * as operations compute them.
 */
export function comparable<V extends Pixels>(one: Image<V> | SampleImage, two: Image<V> | SampleImage): {
  readonly images: readonly [Image<V>, Image<V>];
  readonly range: number;
} {
  const [first, second] = [samplesKind(one), samplesKind(two)];
  const stored = first !== undefined && first === second;
  const signed = [first, second].find((kind) => kind?.startsWith('Int'));
  const range = stored ? rangeOfSamples(first) : signed === undefined ? 1 : rangeOfSamples(signed);
  return { images: [realImage(one, stored), realImage(two, stored)], range };
}

/** The pixels of an image of samples as float32; other images as they are. `stored`: samples keep their values. */
export function realImage<V extends Pixels>(image: Image<V> | SampleImage, stored = false): Image<V> {
  const kind = samplesKind(image);
  if (kind === undefined) return image as Image<V>;
  const unit = stored ? 1 : unitOf(kind);
  const data = Float32Array.from(image.data as Samples, (sample) => sample / unit);
  return { ...image, data } as unknown as Image<V>;
}

const fileTypes: Readonly<Record<string, SampleType>> = {
  Uint8Array: 'uint8', Uint8ClampedArray: 'uint8', Uint16Array: 'uint16', Int8Array: 'int8', Int16Array: 'int16',
};

/** What a file of samples holds: the pixels that they stand for there, and the metadata with which these become the samples again. */
export function filedSamples(image: SampleImage, format: ImageFormat, meta: Partial<ImageMeta>): {
  readonly image: Image<Float64Array>;
  readonly meta: Partial<ImageMeta>;
} {
  const kind = required(samplesKind(image));
  const isUnit = ['png', 'jpeg', 'webp', 'tiff'].includes(format); // unsigned samples are 0 to 1 there
  const { slope = isUnit ? 1 / unitOf(kind) : 1, intercept = 0, sampleType = required(fileTypes[kind]) } = meta;
  const data = Float64Array.from(image.data, (sample) => sample * slope + intercept);
  return { image: { ...image, data }, meta: { ...meta, sampleType } };
}

/** Pixels as samples of a kind: rounded and clamped, 0 for those that are not numbers. */
export function samplesOf(pixels: Float32Array | Float64Array, kind: string, stored = false): Samples {
  const unit = stored ? 1 : unitOf(kind);
  const [least, most] = limits[kind] as readonly [number, number];
  const Kind = required((globalThis as unknown as Record<string, new (length: number) => Samples>)[kind]);
  const samples = new Kind(pixels.length);
  for (let i = 0; i < pixels.length; i += 1) {
    const value = Math.round(required(pixels[i]) * unit);
    samples[i] = Number.isNaN(value) ? 0 : Math.min(most, Math.max(least, value));
  }
  return samples;
}
