// What all image formats share: samples as stored in files, limits, and errors for untrusted files.
import { refusal, WarploomError } from '../../core/errors.ts';
import { required } from '../../core/known.ts';
import type { Image } from '../image.ts';

/** All of {@link ImageFormat}. */
export const imageFormats = ['png', 'jpeg', 'webp', 'tiff', 'nifti', 'dicom', 'npy', 'raw'] as const;
/** A format that {@link readImage} reads or {@link writeImage} writes. */
export type ImageFormat = (typeof imageFormats)[number];

/** Types of samples in files. */
export const sampleTypes = [
  'uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32', 'uint64', 'int64', 'float32', 'float64',
] as const;
/** Type of the samples in a file. */
export type SampleType = (typeof sampleTypes)[number];

/** What a file says about its image besides the pixels; {@link writeImage} accepts it. */
export interface ImageMeta {
  readonly format: ImageFormat;
  /** Type of the samples in the file. */
  readonly sampleType: SampleType;
  /** A pixel is `slope` times the sample in the file plus `intercept`. */
  readonly slope: number;
  readonly intercept: number;
  /** Distances between pixels in x, y and z, if the file gives them: in millimetres unless the file uses another unit. */
  readonly spacing?: readonly [number, number, number];
  /**
   * Row by row the 4 × 4 matrix from pixel (x, y, z, 1) to the patient's coordinates in millimetres, x to the right, y anterior, z
   * superior (NIfTI and DICOM; DICOM's own axes are converted).
   */
  readonly affine?: readonly number[];
  /** A NIfTI-1 header with its extensions, as it was in the file: writing changes only the fields that depend on the pixels. */
  readonly header?: Uint8Array;
  /** The file's description of itself. */
  readonly description?: string;
  /** Notes for the user: dropped alpha, converted colours, uneven slices. */
  readonly notes?: readonly string[];
}

/** Layout of raw samples in a file without a header. */
export interface RawLayout {
  readonly width: number;
  readonly height: number;
  /** Default 1. */
  readonly depth?: number;
  /** Default 1. */
  readonly channels?: number;
  readonly sampleType: SampleType;
  /** Default true. */
  readonly littleEndian?: boolean;
  /** Bytes before the first sample. Default 0. */
  readonly offset?: number;
  /** True: the components of a pixel are adjacent. Default false: one plane after the other. */
  readonly interleaved?: boolean;
}

/** All of {@link AxisOrder}. */
export const axisOrders = ['yx', 'zyx', 'cyx', 'czyx', 'yxc', 'zyxc'] as const;
/** Meaning of the axes of a .npy array, slowest first. */
export type AxisOrder = (typeof axisOrders)[number];

/** Options of {@link readImage}. */
export interface ReadOptions {
  /** Default: detected from the content, or else from the name. `raw` must be given explicitly, together with the option `raw`. */
  readonly format?: ImageFormat;
  /** Type of the pixels. Default float64 if the file has float64, otherwise float32. */
  readonly type?: 'float32' | 'float64';
  /** Maximum number of samples (pixels times channels) in an image. Default 2²⁸ = 268 435 456, one gigabyte as float32. */
  readonly maxPixels?: number;
  /**
   * `unit` (default): unsigned integers of PNG, JPEG, WebP and TIFF become 0 to 1; all others are the values that the file represents
   * (with its slope and intercept). `stored`: the samples as they are, without slope and intercept.
   */
  readonly values?: 'unit' | 'stored';
  /** What happens to an alpha channel of a PNG, WebP or TIFF. Default `drop`. */
  readonly alpha?: 'drop' | 'keep';
  /** Which page of a TIFF, from 0 (default: all, as slices), or which frame of an animated WebP (default: the first). */
  readonly page?: number;
  /** Which SeriesInstanceUID of a DICOM folder that holds several. */
  readonly series?: string;
  /** Axes of a .npy array. Default by its rank: yx, zyx, czyx. */
  readonly axes?: AxisOrder;
  /** Layout of a raw file. */
  readonly raw?: RawLayout;
}

/** Result of {@link readImage}. */
export interface ReadResult {
  readonly image: Image<Float32Array | Float64Array>;
  readonly meta: ImageMeta;
}

/** A reader's input: the bytes, their name in errors, and the caller's options with their defaults. */
export interface Source {
  readonly bytes: Uint8Array;
  readonly name: string;
  readonly options: ReadOptions & { readonly maxPixels: number };
}

export const defaultMaxPixels = 2 ** 28;

/** A field of a file that a library's types promise but that files may omit. */
export const fieldOr = <T>(value: T | undefined, fallback: T): T => value ?? fallback;

/** A file that is truncated, or whose header contradicts itself or its data. */
export function damaged(name: string, what: string, cause?: unknown): WarploomError {
  return new WarploomError('ERR_WARPLOOM_DAMAGED_FILE', `${name}: ${what}`, cause === undefined ? undefined : { cause });
}

/** A valid file of a kind that is not supported. */
export function unsupported(name: string, what: string): WarploomError {
  return new WarploomError('ERR_WARPLOOM_UNSUPPORTED', `${name}: ${what}`);
}

/** Rejects extents that are not positive or whose product exceeds the cap; returns the product. */
export function requireExtents(source: Source, extents: readonly number[]): number {
  if (!extents.every((extent) => Number.isSafeInteger(extent) && extent >= 1)) {
    throw damaged(source.name, `extents (${extents.join(', ')}) that are not positive whole numbers`);
  }
  const samples = extents.reduce((product, extent) => product * extent, 1);
  const { maxPixels } = source.options;
  if (samples > maxPixels) {
    const size = `${source.name} of ${extents.join(' × ')} = ${samples} (raise maxPixels if this is intended)`;
    throw refusal('maxPixels', `an image of at most ${maxPixels} samples`, size);
  }
  return samples;
}

/** Bytes of one sample. */
export const bytesOfSample = (type: SampleType): number => Number(required(/\d+/.exec(type))[0]) / 8;

/** Smallest and largest sample of an integer type. */
export function limitsOf(type: SampleType): readonly [number, number] | undefined {
  if (type.startsWith('float')) return undefined;
  const bits = 8 * bytesOfSample(type);
  return type.startsWith('u') ? [0, 2 ** bits - 1] : [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
}

/** Any array of numbers that samples are read into. */
export type Samples = Exclude<ReturnType<typeof numberArray>, BigInt64Array | BigUint64Array>;

function numberArray(type: SampleType, buffer: ArrayBuffer) {
  switch (type) {
    case 'uint8': return new Uint8Array(buffer);
    case 'int8': return new Int8Array(buffer);
    case 'uint16': return new Uint16Array(buffer);
    case 'int16': return new Int16Array(buffer);
    case 'uint32': return new Uint32Array(buffer);
    case 'int32': return new Int32Array(buffer);
    case 'uint64': return new BigUint64Array(buffer);
    case 'int64': return new BigInt64Array(buffer);
    case 'float32': return new Float32Array(buffer);
    case 'float64': return new Float64Array(buffer);
  }
}

function swapBytes(bytes: Buffer, size: number): void {
  if (size === 2) bytes.swap16();
  else if (size === 4) bytes.swap32();
  else if (size === 8) bytes.swap64();
}

/** The samples of `bytes` (a copy; 64-bit integers are rounded to float64). */
export function decodeSamples(bytes: Uint8Array, type: SampleType, littleEndian: boolean): Samples {
  const copy = new ArrayBuffer(bytes.length);
  new Uint8Array(copy).set(bytes);
  if (!littleEndian) swapBytes(Buffer.from(copy), bytesOfSample(type));
  const array = numberArray(type, copy);
  return array instanceof BigInt64Array || array instanceof BigUint64Array ? Float64Array.from(array, Number) : array;
}

/**
 * The bytes of the samples that represent pixels: (pixel - intercept) / slope, rounded and clamped for integers, NaN as 0.
 *
 * @param order the pixel that each sample comes from; default: in order
 */
export function encodeSamples(
  pixels: Float32Array | Float64Array, type: SampleType, littleEndian: boolean,
  { slope = 1, intercept = 0, order }: { slope?: number; intercept?: number; order?: (i: number) => number } = {},
): Uint8Array {
  const size = bytesOfSample(type);
  const buffer = new ArrayBuffer(pixels.length * size);
  const array = numberArray(type, buffer);
  const limits = limitsOf(type);
  const plain = slope === 1 && intercept === 0;
  for (let i = 0; i < pixels.length; i += 1) {
    const pixel = pixels[order === undefined ? i : order(i)]!;
    let value = plain ? pixel : (pixel - intercept) / slope;
    if (limits !== undefined) value = Number.isNaN(value) ? 0 : Math.min(limits[1], Math.max(limits[0], Math.round(value)));
    if (array instanceof BigInt64Array || array instanceof BigUint64Array) {
      // The largest float64 that the type holds.
      array[i] = BigInt(Math.min(value, array instanceof BigInt64Array ? 2 ** 63 - 1024 : 2 ** 64 - 2048));
    } else {
      array[i] = value;
    }
  }
  const bytes = Buffer.from(buffer);
  if (!littleEndian) swapBytes(bytes, size);
  return bytes;
}

/** Type of the pixels of an image whose file has samples of `type`. */
export function pixelTypeFor({ options }: Source, type: SampleType): 'float32' | 'float64' {
  return options.type ?? (type === 'float64' ? 'float64' : 'float32');
}

export function allocatePixels(type: 'float32' | 'float64', length: number): Float32Array | Float64Array {
  return type === 'float64' ? new Float64Array(length) : new Float32Array(length);
}

/** Slope and intercept that a reader applies, by the option `values`. */
export function scaleFor({ options }: Source, slope: number, intercept: number): { slope: number; intercept: number } {
  return options.values === 'stored' ? { slope: 1, intercept: 0 } : { slope, intercept };
}

/** How samples become planes: see {@link spread}. */
export interface Spread {
  /** Components of a pixel in the file; those beyond `keep` are dropped. */
  readonly channels: number;
  readonly keep: number;
  readonly interleaved: boolean;
  readonly slope: number;
  readonly intercept: number;
  /** Pixels of the image per channel, and where these samples' pixels begin among them. */
  readonly points: number;
  readonly first: number;
}

/** Writes samples of some pixels into the planes of an image. */
export function spread(samples: ArrayLike<number>, out: Float32Array | Float64Array, how: Spread): void {
  const { channels, keep, interleaved, slope, intercept, points, first } = how;
  const pixels = samples.length / channels;
  const plain = slope === 1 && intercept === 0;
  for (let c = 0; c < keep; c += 1) {
    const [start, step] = interleaved ? [c, channels] : [c * pixels, 1];
    const target = c * points + first;
    for (let i = 0, at = start; i < pixels; i += 1, at += step) {
      const sample = samples[at]!;
      out[target + i] = plain ? sample : slope * sample + intercept;
    }
  }
}

/** Runs a library's decoder: anything it throws becomes the error for a damaged file. */
export function guarded<T>(name: string, library: string, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof WarploomError) throw error;
    throw damaged(name, `${library} cannot read it: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}
