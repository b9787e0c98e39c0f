// writeImage: writes an image to a file, completely or not at all.
import { describeValue, holds, isReal, typedCopy } from '../core/arrays.ts';
import { anything, choice, number, rule, type Rule } from '../core/checks.ts';
import { refusal } from '../core/errors.ts';
import { writeFileAtomic } from '../core/files.ts';
import { optionsOf, type ChecksOf } from '../core/options.ts';
import { snapshot } from '../core/snapshot.ts';
import { checkImage, type CheckedImage, type Image } from './image.ts';
import { formatNpyImage, formatRaw } from './images/arrays.ts';
import { filedSamples, samplesKind, type SampleImage } from './samples.ts';
import { sampleTypes, type ImageFormat, type ImageMeta } from './images/common.ts';
import { formatTiff } from './images/tiff-write.ts';

const formatsByEnding: readonly (readonly [RegExp, ImageFormat])[] = [
  [/\.png$/i, 'png'], [/\.jpe?g$/i, 'jpeg'], [/\.webp$/i, 'webp'], [/\.tiff?$/i, 'tiff'],
  [/\.nii(\.gz)?$/i, 'nifti'], [/\.npy$/i, 'npy'], [/\.raw$/i, 'raw'],
];

/** Extensions of {@link writeImage}, for messages. */
export const imageEndings = '.png, .jpg, .webp, .tif, .nii, .nii.gz, .npy or .raw';

/** The format of a path's extension, among those that {@link writeImage} supports. */
export function formatOfPath(path: string): ImageFormat | undefined {
  return formatsByEnding.find(([ending]) => ending.test(path))?.[1];
}

/** So many numbers, whatever these are. */
const numbers = <T>(length: number): Rule<T> => rule(`${length} numbers`, (value) =>
  Array.isArray(value) && value.length === length && value.every((each) => typeof each === 'number'));

const metaFields = optionsOf('meta', {
  format: anything, sampleType: choice(sampleTypes), intercept: number(),
  slope: rule<number>('a finite number that is not 0', (value) => Number.isFinite(value) && value !== 0),
  spacing: numbers<readonly [number, number, number]>(3), affine: numbers<readonly number[]>(16),
  header: rule<Uint8Array>('bytes', (value) => holds(value, 'uint8')), description: anything, notes: anything,
} satisfies ChecksOf<ImageMeta>);

/** The bytes of an image in a format; see {@link writeImage}. `gzipped`: NIfTI as .nii.gz. */
export async function formatImage(
  given: Image<Float32Array | Float64Array> | SampleImage, format: ImageFormat, metaGiven: Partial<ImageMeta> = {}, gzipped = false,
): Promise<Uint8Array> {
  const fields = snapshot(metaFields.read(metaGiven, 'meta'));
  const isSamples = samplesKind(given) !== undefined;
  const { image, meta: stated } = isSamples ? filedSamples(given as SampleImage, format, fields) : { image: given as Image, meta: fields };
  const checked = checkImage(image, 'image');
  if (!isReal(checked.data)) {
    throw refusal('image.data', 'a typed array (read the DeviceArray first)', 'a DeviceArray');
  }
  const meta = stated.spacing === undefined && checked.spacing !== undefined ? { ...stated, spacing: checked.spacing } : stated;
  // Encoders are loaded first: they read what the image holds now.
  const pixels = { ...checked, data: typedCopy(checked.data) } as CheckedImage<Float32Array | Float64Array>;
  switch (format) {
    case 'png': return (await import('./images/png.ts')).formatPng(pixels, meta);
    case 'jpeg':
    case 'webp': return (await import('./images/jpeg-webp.ts')).formatJpegOrWebp(pixels, meta, format);
    case 'tiff': return formatTiff(pixels, meta);
    case 'nifti': return (await import('./images/nifti.ts')).formatNifti(pixels, meta, gzipped);
    case 'npy': return formatNpyImage(pixels, meta);
    case 'raw': return formatRaw(pixels, meta);
    default: throw refusal('format', 'png, jpeg, webp, tiff, nifti, npy or raw (DICOM is read only)', describeValue(format));
  }
}

/**
 * Writes an image to a file, completely or not at all. The extension of the path determines the format: .png, .jpg, .webp, .tif,
 * .nii, .nii.gz, .npy, .raw. JPEG (grey and RGB) is written in quality 95 with all of its colour samples, WebP (grey, RGB, RGBA) without
 * loss; both need the optional package sharp.
 *
 * Samples are (pixel - intercept) / slope, rounded and clamped if the type is an integer; NaN becomes 0 there. Without `meta`
 * PNG, JPEG and WebP get 8 bits for 0 to 1, the other formats the type of the pixels. With the `meta` of a file that was read, the file is
 * reproduced (except for JPEG its samples to the bit if the pixels are unchanged; NIfTI with its header and extensions). NIfTI stores
 * the image's `spacing`, unless `meta` states another.
 *
 * Arrays of 8 and 16 bits are written as the samples that they are, in their own type unless `meta` states another.
 *
 * @throws ArgumentError for an image, an extension or a `meta` that does not fit; UnavailableError without sharp; FileError
 */
export async function writeImage(
  path: string, image: Image<Float32Array | Float64Array> | SampleImage, meta: Partial<ImageMeta> = {},
): Promise<void> {
  const format = typeof path === 'string' ? formatOfPath(path) : undefined;
  if (format === undefined) throw refusal('path', `a path ending in ${imageEndings}`, describeValue(path));
  await writeFileAtomic(path, await formatImage(image, format, meta, /\.gz$/i.test(path)));
}
