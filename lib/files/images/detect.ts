// What a file is, by its first bytes. Loads none of the formats' libraries.
import type { ImageFormat } from './common.ts';

export const pngSignature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);

const latin = (bytes: Uint8Array, from: number, to: number): string => Buffer.from(bytes.subarray(from, to)).toString('latin1');

/** True for the first bytes of a DICOM file (part 10). */
export const isDicom = (bytes: Uint8Array): boolean => latin(bytes, 128, 132) === 'DICM';

/** True for the first bytes of a NIfTI file that is not gzipped. */
export function isNifti(bytes: Uint8Array): boolean {
  const magic = (at: number) => latin(bytes, at, at + 3);
  const size = niftiHeaderBytes(bytes);
  return (['n+1', 'ni1'].includes(magic(344)) && size === 348) || (['n+2', 'ni2'].includes(magic(4)) && size === 540);
}

/** 348 or 540 in either byte order, or another number. */
export function niftiHeaderBytes(bytes: Uint8Array): number {
  if (bytes.length < 4) return 0;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const little = view.getInt32(0, true);
  return little === 348 || little === 540 ? little : view.getInt32(0, false);
}

/** True for the first bytes of a TIFF file, BigTIFF included. */
function isTiff(bytes: Uint8Array): boolean {
  const [a, b, c, d] = bytes;
  return (a === 0x49 && b === 0x49 && (c === 42 || c === 43) && d === 0) || (a === 0x4d && b === 0x4d && c === 0 && (d === 42 || d === 43));
}

/** The format that a file's first bytes show; a gzipped file is assumed to be NIfTI. */
export function formatOfBytes(bytes: Uint8Array): ImageFormat | undefined {
  if (pngSignature.equals(bytes.subarray(0, 8))) return 'png';
  if (latin(bytes, 0, 3) === '\xff\xd8\xff') return 'jpeg';
  if (latin(bytes, 0, 4) === 'RIFF' && latin(bytes, 8, 12) === 'WEBP') return 'webp';
  if (latin(bytes, 0, 6) === '\x93NUMPY') return 'npy';
  if (isDicom(bytes)) return 'dicom';
  if (isNifti(bytes) || (bytes[0] === 0x1f && bytes[1] === 0x8b)) return 'nifti';
  return isTiff(bytes) ? 'tiff' : undefined;
}
