// Images of a job: read from files or generated, and scaled to the range 0 to 1 for which the operations' parameters are meant.
import { basename } from 'node:path';
import { refusal } from '../../core/errors.ts';
import { required } from '../../core/known.ts';
import { addNoise, discs, readImage, sheppLogan, type Image, type ImageMeta } from '../../imaging/index.ts';
import type { ImageInput, ImageJob } from './fields.ts';

export type HostImage = Image<Float32Array | Float64Array>;

/** An image in the form that the computation uses. */
export interface LoadedImage {
  readonly image: HostImage;
  /** The file's metadata; undefined for generated images. */
  readonly meta: ImageMeta | undefined;
  /** Intensities that were mapped to 0 and 1. */
  readonly range: readonly [number, number];
  /** The image without noise, if it is known. */
  readonly truth: HostImage | undefined;
  /** The labels of `discs`. */
  readonly mask: Uint8Array | undefined;
  /** Where to measure; undefined: everywhere. */
  readonly region: Uint8Array | undefined;
  /** What reading changed, such as a dropped alpha channel. */
  readonly notes?: readonly string[];
  /** A readable label: the file or the phantom, and its extents. */
  readonly label: string;
}

/** Smallest and largest finite value; [0, 1] if there are fewer than two different ones. */
function ownRange(data: Float32Array | Float64Array): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of data) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low < high ? [low, high] : [0, 1];
}

/** pixel → (pixel - low) / (high - low), or back. */
export function rescale(image: HostImage, [low, high]: readonly [number, number], back = false): HostImage {
  if (low === 0 && high === 1) return image;
  const scale = high - low;
  const data = image.data.map((value: number) => (back ? value * scale + low : (value - low) / scale)) as Float32Array;
  return { ...image, data };
}

/** The intensity range of a file in a job. */
function rangeFor(job: ImageJob, meta: ImageMeta | undefined, data: Float32Array | Float64Array): readonly [number, number] {
  const unitFile = meta === undefined || (['png', 'jpeg', 'webp', 'tiff'].includes(meta.format) && meta.sampleType.startsWith('u'));
  const { range = unitFile ? 'unit' : 'own' } = job;
  if (range === 'unit') return [0, 1];
  if (range === 'own') return ownRange(data);
  if (!(range[0] < range[1])) throw refusal('range', 'two numbers, the smaller one first', `${range[0]}, ${range[1]}`);
  return range;
}

/** "256 × 256", "64 × 64 × 64", with channels. */
export function extentsOf({ width, height, depth = 1, channels = 1 }: HostImage): string {
  return [width, height, ...(depth > 1 ? [depth] : [])].join(' × ') + (channels > 1 ? `, ${channels} channels` : '');
}

function generate(input: Exclude<ImageInput, string>, type: 'float32' | 'float64') {
  const options = { type, dimensions: input.dimensions } as const;
  if (input.phantom === 'shepp-logan') return { image: sheppLogan(input.size, options) as HostImage, mask: undefined };
  return discs(input.size, options) as { image: HostImage; mask: Uint8Array };
}

/** Reads labels of the image's extents: 1 where a channel is not 0 (JPEG: 128 and more). `field`: of the job. */
export async function readLabels(path: string, image: HostImage, field: string): Promise<Uint8Array> {
  const { image: labels, meta: { format } } = await readImage(path, { values: 'stored' });
  const [found, wanted] = [labels, image].map((one) => extentsOf({ ...one, channels: 1 }));
  if (found !== wanted) throw refusal(field, `labels of ${wanted} pixels`, required(found));
  const isLabel = (value: number): boolean => (format === 'jpeg' ? value >= 128 : value !== 0); // what JPEG makes of 0 is not 0
  const inside = new Uint8Array(labels.data.length / (labels.channels ?? 1));
  labels.data.forEach((value: number, i: number) => { if (isLabel(value)) inside[i % inside.length] = 1; });
  return inside;
}

/** Reads or generates an image. `resolve` maps paths in the job file to paths in the file system. */
export async function loadImage(input: ImageInput, job: ImageJob, resolve: (path: string) => string): Promise<LoadedImage> {
  const type = job.precision;
  if (typeof input !== 'string') {
    const { image, mask } = generate(input, type);
    const noisy = job.addNoise === undefined ? image : addNoise(image, job.addNoise);
    const region = job.mask === undefined ? undefined : await readLabels(resolve(job.mask), image, 'mask');
    return { image: noisy, meta: undefined, range: [0, 1], truth: image, mask, region, label: `${input.phantom} ${extentsOf(image)}` };
  }
  const { raw, ...read } = job.read ?? {};
  const layout = raw === undefined ? {} : { raw, format: 'raw' as const };
  const { image: stored, meta } = await readImage(resolve(input), { ...read, type, ...layout });
  const range = rangeFor(job, meta, stored.data);
  const image = rescale(stored, range);
  const label = `${basename(input)} ${extentsOf(image)}`;
  const region = job.mask === undefined ? undefined : await readLabels(resolve(job.mask), image, 'mask');
  const notes = meta.notes?.map((note) => `${basename(input)}: ${note}`) ?? [];
  if (job.addNoise === undefined) return { image, meta, range, truth: undefined, mask: undefined, region, notes, label };
  return { image: addNoise(image, job.addNoise), meta, range, truth: image, mask: undefined, region, notes, label };
}

/**
 * Extension and metadata of a result, given its source: the source's format if it can be written (NIfTI keeps header and
 * orientation, with the result's own numbers), TIFF for volumes, otherwise PNG.
 */
export function outputFormat({ image, meta }: LoadedImage): { ending: string; meta: Partial<ImageMeta> } {
  if (meta?.format === 'nifti' || meta?.format === 'dicom') return { ending: '.nii.gz', meta: orientationOf(meta) };
  if (meta?.format === 'npy' || meta?.format === 'raw') return { ending: '.npy', meta: {} };
  const volume = (image.depth ?? 1) > 1;
  if (volume || meta?.format === 'tiff' || (image.channels ?? 1) > 4) return { ending: '.tif', meta: {} };
  return { ending: '.png', meta: { sampleType: meta?.sampleType === 'uint16' ? 'uint16' : 'uint8' } };
}

/** The part of a file's metadata that is valid for other data on the same grid: its position. */
export function orientationOf({ affine, spacing, header, description }: ImageMeta): Partial<ImageMeta> {
  return {
    ...(affine === undefined ? {} : { affine }), ...(spacing === undefined ? {} : { spacing }),
    ...(header === undefined ? {} : { header }), ...(description === undefined ? {} : { description }),
  };
}
