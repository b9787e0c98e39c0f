// The pixel data of TIFF pages: strips and tiles, inflated no further than their pixels require.
import { damaged, unsupported } from './common.ts';
import { inflateExactly } from './inflate.ts';

const compressions: Readonly<Record<number, string>> = {
  2: 'CCITT', 3: 'CCITT fax 3', 4: 'CCITT fax 4', 6: 'old JPEG', 7: 'JPEG', 34712: 'JPEG 2000', 34887: 'LERC', 34925: 'LZMA',
  50000: 'Zstandard', 50001: 'WebP',
};

/** LZW with the bits of TIFF: most significant first, and codes that grow one entry early. */
function unLzw(data: Uint8Array, expected: number, name: string): Uint8Array {
  const out = new Uint8Array(expected);
  // Entry k is the string of entry prefix[k] and one more byte; each is read from its end.
  const prefix = new Uint16Array(4097);
  const last = new Uint8Array(4097);
  const lengths = new Uint16Array(4097);
  for (let k = 0; k < 256; k += 1) [last[k], lengths[k]] = [k, 1];
  let [next, bits, previous, length, at, buffer, held] = [258, 9, -1, 0, 0, 0, 0];
  while (length < expected) {
    while (held < bits) {
      if (at >= data.length) throw damaged(name, 'LZW data that ends early');
      buffer = ((buffer << 8) | data[at]!) & 0xffffff;
      at += 1;
      held += 8;
    }
    held -= bits;
    const code = (buffer >> held) & ((1 << bits) - 1);
    if (code === 257) throw damaged(name, 'LZW data that ends early');
    if (code === 256) {
      [next, bits, previous] = [258, 9, -1];
      continue;
    }
    if (code > next || (code >= 256 && previous < 0) || (code === next && previous < 0)) {
      throw damaged(name, 'LZW data with an undefined code');
    }
    const known = code === next ? previous : code;
    const size = lengths[known]!;
    let first = 0;
    for (let k = known, i = size - 1; i >= 0; i -= 1, k = prefix[k]!) {
      first = last[k]!;
      if (length + i < expected) out[length + i] = first;
    }
    length += size;
    if (code === next && length < expected) out[length] = first;
    if (code === next) length += 1;
    if (previous >= 0 && next < 4096) {
      [prefix[next], last[next], lengths[next]] = [previous, first, lengths[previous]! + 1];
      next += 1;
    }
    bits = next >= 2047 ? 12 : next >= 1023 ? 11 : next >= 511 ? 10 : 9;
    previous = code;
  }
  return out;
}

/** Runs of bytes: a count and its bytes, or a count and one byte that repeats. */
function unPackBits(data: Uint8Array, expected: number, name: string): Uint8Array {
  const out = new Uint8Array(expected);
  let [at, length] = [0, 0];
  while (length < expected) {
    const count = data[at];
    at += 1;
    if (count === undefined) throw damaged(name, 'PackBits data that ends early');
    if (count === 128) continue;
    const run = count < 128 ? count + 1 : 257 - count;
    const size = Math.min(run, expected - length);
    if (count < 128) {
      if (at + run > data.length) throw damaged(name, 'PackBits data that ends early');
      out.set(data.subarray(at, at + size), length);
      at += run;
    } else {
      if (at >= data.length) throw damaged(name, 'PackBits data that ends early');
      out.fill(data[at]!, length, length + size);
      at += 1;
    }
    length += size;
  }
  return out;
}

/** The bytes of one strip or tile: exactly `expected` of them. */
export async function expand(data: Uint8Array, compression: number, expected: number, name: string): Promise<Uint8Array> {
  switch (compression) {
    case 1:
      if (data.length < expected) throw damaged(name, `a strip of ${data.length} bytes, but its pixels need ${expected}`);
      return data.slice(0, expected);
    case 5: return unLzw(data, expected, name);
    case 8: case 32946: return inflateExactly(data, expected, name);
    case 32773: return unPackBits(data, expected, name);
    default: throw unsupported(name, `a TIFF file compressed by ${compressions[compression] ?? `method ${compression}`}`);
  }
}

/** What is needed of a strip in order to undo a predictor. */
export interface Rows {
  readonly rows: number;
  /** Samples of a row. */
  readonly samples: number;
  /** Samples of a pixel. */
  readonly step: number;
  readonly bytes: 1 | 2 | 4 | 8;
  readonly littleEndian: boolean;
}

/** Undoes horizontal differences (predictor 2), in place. */
function undoDifferences(data: Uint8Array, { rows, samples, step, bytes, littleEndian }: Rows): void {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  for (let y = 0; y < rows; y += 1) {
    for (let i = step; i < samples; i += 1) {
      const at = (y * samples + i) * bytes;
      const before = at - step * bytes;
      if (bytes === 1) data[at]! += data[before]!;
      else if (bytes === 2) view.setUint16(at, view.getUint16(at, littleEndian) + view.getUint16(before, littleEndian), littleEndian);
      else view.setUint32(at, view.getUint32(at, littleEndian) + view.getUint32(before, littleEndian), littleEndian);
    }
  }
}

/** Undoes the byte planes and differences of floating-point samples (predictor 3); the result is big-endian whatever the file is. */
function undoFloatPlanes(data: Uint8Array, { rows, samples, step, bytes }: Rows): Uint8Array {
  const out = new Uint8Array(data.length);
  const width = samples * bytes;
  for (let y = 0; y < rows; y += 1) {
    const row = data.subarray(y * width, (y + 1) * width);
    for (let i = step; i < width; i += 1) row[i]! += row[i - step]!;
    for (let i = 0; i < samples; i += 1) for (let b = 0; b < bytes; b += 1) out[y * width + i * bytes + b] = row[b * samples + i]!;
  }
  return out;
}

/** Undoes a predictor; returns the bytes and their order. */
export function unpredict(
  data: Uint8Array, predictor: number, isFloat: boolean, rows: Rows, name: string,
): { data: Uint8Array; littleEndian: boolean } {
  if (predictor === 1) return { data, littleEndian: rows.littleEndian };
  if (predictor === 2 && !isFloat && rows.bytes <= 4) {
    undoDifferences(data, rows);
    return { data, littleEndian: rows.littleEndian };
  }
  if (predictor === 3 && isFloat) return { data: undoFloatPlanes(data, rows), littleEndian: false };
  const samples = `${8 * rows.bytes}-bit ${isFloat ? 'floating-point' : 'integer'} samples`;
  throw unsupported(name, `a TIFF file with predictor ${predictor} for ${samples}`);
}
