// JPEG and WebP by the optional package sharp, after checking what a file claims.
import type sharpFunction from 'sharp';
import type { Metadata, Sharp } from 'sharp';
import { refusal, WarploomError } from '../../core/errors.ts';
import { missingPackages } from '../../core/optional.ts';
import type { CheckedImage } from '../image.ts';
import {
  allocatePixels, damaged, encodeSamples, pixelTypeFor, requireExtents, scaleFor, spread, unsupported,
  type ImageMeta, type ReadResult, type Source,
} from './common.ts';

type Lossy = 'jpeg' | 'webp';

/** JPEG keeps every colour sample, and almost every level. */
const jpegOptions = { quality: 95, chromaSubsampling: '4:4:4' } as const;
/** WebP keeps all, also the colours of transparent pixels. */
const webpOptions = { lossless: true, exact: true } as const;

/** sharp, which decodes JPEG and WebP. @throws UnavailableError without it */
export async function loadSharp(): Promise<typeof sharpFunction> {
  try {
    return (await import('sharp')).default;
  } catch (error) {
    throw missingPackages(error, 'JPEG and WebP need an optional package', 'sharp');
  }
}

/** Runs sharp: what it throws becomes the error for a damaged file. */
async function decoded<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof WarploomError) throw error;
    const [line] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw damaged(name, `sharp cannot read it: ${line}`, error);
  }
}

/** What the reader did to the pixels that a user may not expect. */
function notesOf({ orientation = 1, space, hasProfile, hasAlpha, pages = 1 }: Metadata, { alpha, page }: Source['options']): string[] {
  const profile = space === 'cmyk' ? ['its CMYK colours were converted to sRGB']
    : hasProfile ? ['its colours were converted from its profile to sRGB'] : [];
  return [
    ...(orientation > 1 ? ['turned upright, as its EXIF orientation says'] : []),
    ...profile,
    ...(hasAlpha && alpha !== 'keep' ? ['its alpha channel was dropped'] : []),
    ...(pages > 1 && page === undefined ? [`the first of ${pages} frames (choose one with page)`] : []),
  ];
}

/** Reads JPEG and WebP: upright, in sRGB or grey. */
export async function readJpegOrWebp(source: Source, format: Lossy): Promise<ReadResult> {
  const { bytes, name, options } = source;
  const sharp = await loadSharp();
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const about = await decoded(name, () => sharp(file).metadata());
  const { width, height, channels, depth, space, pages = 1, pageHeight } = about;
  requireExtents(source, [width, pageHeight ?? height, channels]);
  if (depth !== 'uchar') throw unsupported(name, `${format === 'jpeg' ? 'a JPEG' : 'a WebP'} file of ${depth} samples`);
  if (options.page !== undefined && options.page >= pages) throw refusal('page', `0 to ${pages - 1}`, String(options.page));
  const isGrey = space === 'b-w';
  const keepAlpha = about.hasAlpha && options.alpha === 'keep';
  const pipeline = (): Sharp => {
    const page = options.page === undefined ? {} : { page: options.page };
    const upright = sharp(file, { limitInputPixels: options.maxPixels, ...page }).autoOrient();
    const coloured = upright.toColourspace(isGrey ? 'b-w' : 'srgb');
    return (keepAlpha ? coloured : coloured.removeAlpha()).raw();
  };
  const { data: samples, info } = await decoded(name, () => pipeline().toBuffer({ resolveWithObject: true }));
  const points = info.width * info.height;
  const scale = scaleFor(source, 1 / 255, 0);
  const data = allocatePixels(pixelTypeFor(source, 'uint8'), points * info.channels);
  spread(samples, data, { channels: info.channels, keep: info.channels, interleaved: true, ...scale, points, first: 0 });
  const notes = notesOf(about, options);
  return {
    image: { data, width: info.width, height: info.height, ...(info.channels > 1 ? { channels: info.channels } : {}) },
    meta: { format, sampleType: 'uint8', ...scale, ...(notes.length > 0 ? { notes } : {}) },
  };
}

/** The bytes of a JPEG file (grey or RGB, quality 95 without subsampling) or of a lossless WebP file (grey, RGB, RGBA). */
export async function formatJpegOrWebp(
  image: CheckedImage<Float32Array | Float64Array>, meta: Partial<ImageMeta>, format: Lossy,
): Promise<Uint8Array> {
  const { width, height, depth, channels, points } = image;
  const title = format === 'jpeg' ? 'JPEG' : 'WebP';
  const { sampleType = 'uint8', slope = 1 / 255, intercept = 0 } = meta;
  if (sampleType !== 'uint8') throw refusal('meta.sampleType', `uint8 (${title})`, sampleType);
  if (depth > 1) throw refusal('image.depth', `1: ${title} holds no volumes`, String(depth));
  const allowed: readonly number[] = format === 'jpeg' ? [1, 3] : [1, 3, 4];
  if (channels !== 1 && channels !== 3 && (channels !== 4 || format === 'jpeg')) {
    throw refusal('image.channels', `${allowed.join(', ')} (${title})`, String(channels));
  }
  const most = format === 'jpeg' ? 65_535 : 16_383;
  if (Math.max(width, height) > most) throw refusal('image', `at most ${most} pixels per side (${title})`, `${width} × ${height}`);
  const order = (i: number): number => (i % channels) * points + Math.floor(i / channels);
  const samples = encodeSamples(image.data, 'uint8', true, { slope, intercept, order });
  const sharp = await loadSharp();
  const raw = sharp(samples, { raw: { width, height, channels }, limitInputPixels: false });
  const coloured = channels === 1 ? raw.toColourspace('b-w') : raw;
  return format === 'jpeg' ? coloured.jpeg(jpegOptions).toBuffer() : coloured.webp(webpOptions).toBuffer();
}
