// The format of results written to a path that the user chose.
import { required } from '../../core/known.ts';
import { formatImage, formatOfPath } from '../../files/write-image.ts';
import type { Image, ImageMeta } from '../../imaging/index.ts';
import { orientationOf, type LoadedImage } from './input.ts';

/** Metadata of a result for a path: PNG has 8 or 16 bits, NIfTI keeps the orientation; other formats have the pixels' own type. */
export function outputMeta(path: string, { meta }: LoadedImage): Partial<ImageMeta> {
  if (/\.png$/i.test(path)) return { sampleType: meta?.sampleType === 'uint16' ? 'uint16' : 'uint8' };
  return meta !== undefined && /\.nii(\.gz)?$/i.test(path) ? orientationOf(meta) : {};
}

/** Refuses, before the work, a path whose format cannot hold images like this one: writes one of a pixel in each slice. */
export async function checkOutput(path: string, source: LoadedImage, { depth = 1, channels = 1 }: Image = source.image): Promise<void> {
  const { header: _ofOtherExtents, ...meta } = outputMeta(path, source);
  const image = { data: new Float32Array(depth * channels), width: 1, height: 1, depth, channels };
  await formatImage(image, required(formatOfPath(path)), meta);
}
