// The format of results written to a path that the user chose.
import type { ImageMeta } from '../../imaging/index.ts';
import { orientationOf, type LoadedImage } from './input.ts';

/** Metadata of a result for a path: PNG has 8 or 16 bits, NIfTI keeps the orientation; other formats have the pixels' own type. */
export function outputMeta(path: string, { meta }: LoadedImage): Partial<ImageMeta> {
  if (/\.png$/i.test(path)) return { sampleType: meta?.sampleType === 'uint16' ? 'uint16' : 'uint8' };
  return meta !== undefined && /\.nii(\.gz)?$/i.test(path) ? orientationOf(meta) : {};
}
