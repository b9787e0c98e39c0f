// The directories of a TIFF file by the package `tiff`, after a walk that rejects files which its parser could not handle safely.
import { decode, type TiffIfd } from 'tiff';
import { damaged, fieldOr, guarded, unsupported, type Source } from './common.ts';

/** Bytes of a value, by its type. */
const valueBytes: Readonly<Record<number, number>> = { 1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8 };
const mostPages = 65_536;

/**
 * Follows the chain of directories once: each is in the file, none occurs twice, and all their values together are not much
 * longer than the file (the parser copies each). Gives their number.
 */
function walk({ bytes, name }: Source, littleEndian: boolean): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const seen = new Set<number>();
  let budget = 4 * bytes.length + 65_536;
  for (let at = view.getUint32(4, littleEndian); at !== 0;) {
    if (seen.has(at)) throw damaged(name, 'a TIFF file whose directories form a loop');
    if (seen.size >= mostPages) throw unsupported(name, `a TIFF file of more than ${mostPages} pages`);
    seen.add(at);
    if (at + 2 > bytes.length) throw damaged(name, 'a TIFF directory outside the file');
    const entries = view.getUint16(at, littleEndian);
    const end = at + 2 + 12 * entries;
    if (end + 4 > bytes.length) throw damaged(name, 'a TIFF directory that ends outside the file');
    for (let entry = at + 2; entry < end; entry += 12) {
      const tag = view.getUint16(entry, littleEndian);
      const length = (valueBytes[view.getUint16(entry + 2, littleEndian)] ?? 0) * view.getUint32(entry + 4, littleEndian);
      budget -= length;
      if (length > 4 && view.getUint32(entry + 8, littleEndian) + length > bytes.length) {
        throw damaged(name, `a TIFF value (tag ${tag}) outside the file`);
      }
      // Directories of cameras inside of directories would be followed without end.
      if (tag === 0x8769 || tag === 0x8825) throw unsupported(name, 'a TIFF file with camera directories (Exif, GPS)');
    }
    if (budget < 0) throw damaged(name, 'TIFF values that together are longer than the file');
    at = view.getUint32(end, littleEndian);
  }
  return seen.size;
}

/** The directories of the pages, checked sufficiently that reading their fields is safe. */
export function tiffDirectories(source: Source): { pages: TiffIfd[]; littleEndian: boolean } {
  const { bytes, name } = source;
  if (bytes.length < 8) throw damaged(name, 'a TIFF file of less than 8 bytes');
  const littleEndian = bytes[0] === 0x49;
  if (bytes[littleEndian ? 2 : 3] === 43) throw unsupported(name, 'a BigTIFF file (save it as TIFF)');
  if (walk(source, littleEndian) === 0) throw damaged(name, 'a TIFF file without a page');
  const pages = guarded(name, 'tiff', () => decode(bytes, { ignoreImageData: true }));
  // Reduced copies of another page.
  const full = pages.filter((page) => (fieldOr(page.newSubfileType, 0) & 1) === 0);
  return { pages: full.length > 0 ? full : pages, littleEndian };
}
