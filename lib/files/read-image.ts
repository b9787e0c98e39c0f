// readImage: any of the formats, from a path or from bytes.
import { describeValue, holds, typedCopy } from '../core/arrays.ts';
import { anything, choice, text, whole } from '../core/checks.ts';
import { refusal } from '../core/errors.ts';
import { describeFile, readBytes } from '../core/files.ts';
import { normally, optionsOf, type ChecksOf } from '../core/options.ts';
import { snapshot } from '../core/snapshot.ts';
import { shownImage, type Spacing } from './image.ts';
import { readNpy, readRaw } from './images/arrays.ts';
import {
  axisOrders, defaultMaxPixels, imageFormats, requireExtents, unsupported, type ImageFormat, type ReadOptions, type ReadResult, type Source,
} from './images/common.ts';
import { formatOfBytes } from './images/detect.ts';

/** Each with its library, which only a file of its kind loads. */
const readers: Readonly<Record<ImageFormat, (source: Source) => ReadResult | Promise<ReadResult>>> = {
  png: async (source) => (await import('./images/png.ts')).readPng(source),
  jpeg: async (source) => (await import('./images/jpeg-webp.ts')).readJpegOrWebp(source, 'jpeg'),
  webp: async (source) => (await import('./images/jpeg-webp.ts')).readJpegOrWebp(source, 'webp'),
  tiff: async (source) => (await import('./images/tiff.ts')).readTiff(source),
  nifti: async (source) => (await import('./images/nifti.ts')).readNifti(source),
  dicom: async (source) => (await import('./images/dicom.ts')).readDicom(source),
  npy: readNpy,
  raw: readRaw,
};

const readOptions = optionsOf('readImage', {
  format: choice(imageFormats), type: choice(['float32', 'float64'] as const), maxPixels: normally(whole(1, 2 ** 40), defaultMaxPixels),
  values: choice(['unit', 'stored'] as const), alpha: choice(['drop', 'keep'] as const), page: whole(0, 2 ** 31), series: text(),
  axes: choice(axisOrders), raw: anything,
} satisfies ChecksOf<ReadOptions>);

function checkReadOptions(given: ReadOptions): Source['options'] {
  const options = readOptions.read(given);
  const { format } = options;
  if (options.raw !== undefined && format !== 'raw') {
    throw refusal('format', '"raw", which `raw` describes', format === undefined ? 'none' : `"${format}"`);
  }
  return options;
}

/** Longest file that is read into memory: what the cap allows at eight bytes a sample, and headers. */
async function readCapped(path: string, options: Source['options']): Promise<Uint8Array> {
  const { size } = await describeFile(path);
  if (size > 8 * options.maxPixels + 2 ** 24) requireExtents({ bytes: new Uint8Array(), name: path, options }, [size]);
  if (size > 2 ** 31 - 1) throw unsupported(path, 'a file of more than 2 GiB');
  return readBytes(path);
}

/** The spacing that a file states, where computations can use it. */
function spacingIn({ meta: { spacing }, image: { depth = 1 } }: ReadResult): { readonly spacing?: Spacing } {
  const stated = spacing?.slice(0, depth > 1 ? 3 : 2) ?? [];
  const usable = stated.length > 0 && stated.every((each) => each >= 1e-9 && each <= 1e9);
  return usable ? { spacing: stated as unknown as Spacing } : {};
}

const shown = (read: ReadResult): ReadResult => ({ ...read, image: shownImage({ ...read.image, ...spacingIn(read) }) });

/**
 * Reads an image or a volume: PNG (8, 16 bits and less), JPEG, WebP, TIFF and TIFF stacks, NIfTI (.nii, .nii.gz), DICOM (a file or a
 * folder of slices), .npy, raw samples. Unsigned integers of PNG, JPEG, WebP and TIFF become 0 to 1; the slopes and intercepts of NIfTI
 * and DICOM are applied; alpha is dropped. The distances of voxels that NIfTI and DICOM files state become the
 * image's `spacing`. `meta` records all that, and {@link writeImage} accepts it.
 *
 * JPEG and WebP need the optional package sharp; they come upright (EXIF), grey or in sRGB. Compressed DICOM files need the package of
 * their compression, except for run lengths.
 *
 * Files are not trusted: extents are checked against `maxPixels` before memory is allocated, compressed data is inflated no further than
 * the header announces, and offsets are checked against the file.
 *
 * @param source a path (for DICOM also of a folder), or the bytes of a file
 * @throws ArgumentError for options, and for images of more than `maxPixels` samples; `ERR_WARPLOOM_DAMAGED_FILE` for files that are
 *   cut off or contradict themselves; `ERR_WARPLOOM_UNSUPPORTED` for kinds that are not read, with the kind;
 *   UnavailableError for a missing package, with the command that installs it; FileError
 */
export async function readImage(source: string | Uint8Array, options: ReadOptions = {}): Promise<ReadResult> {
  const checked = checkReadOptions(snapshot(options));
  if (typeof source !== 'string' && !holds(source, 'uint8')) {
    throw refusal('source', 'a path or the bytes of a file', describeValue(source));
  }
  if (typeof source === 'string' && (await describeFile(source)).isDirectory()) {
    if (checked.format !== undefined) choice(['dicom'])(checked.format, 'format');
    return shown(await (await import('./images/dicom.ts')).readDicomFolder(source, checked));
  }
  const bytes = typeof source === 'string' ? await readCapped(source, checked) : typedCopy(source);
  const name = typeof source === 'string' ? source : 'source';
  const format = checked.format ?? formatOfBytes(bytes);
  if (format === undefined) {
    throw unsupported(name, 'not PNG, JPEG, WebP, TIFF, NIfTI, DICOM or .npy '
      + '(raw samples need their layout: format "raw", on the command line --raw)');
  }
  return shown(await readers[format]({ bytes, name, options: checked }));
}
