// How a result is written to a path that the user chose.
import type { ImageMeta } from '../../imaging/index.ts';
import { orientationOf, type LoadedImage } from './input.ts';

/** Meta of a result for a path: PNG keeps 8 or 16 bits, NIfTI the orientation; other formats get the pixels' own type. */
export function outputMeta(path: string, { meta }: LoadedImage): Partial<ImageMeta> {
  if (/\.png$/i.test(path)) return { sampleType: meta?.sampleType === 'uint16' ? 'uint16' : 'uint8' };
  return meta !== undefined && /\.nii(\.gz)?$/i.test(path) ? orientationOf(meta) : {};
}
