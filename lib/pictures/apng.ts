// Films: animated PNG (https://www.w3.org/TR/png-3/), which browsers play wherever they show a PNG.
import { crc32 } from 'node:zlib';
import { encode } from 'fast-png';
import { elementAt, required } from '../core/known.ts';

/** A film's frames: rows of palette entries, from the top. */
export interface Film {
  readonly width: number;
  readonly height: number;
  /** At most 256 colours, as red, green and blue. */
  readonly palette: readonly (readonly [number, number, number])[];
  /** At least one; `width` * `height` entries each. */
  readonly frames: readonly Uint8Array[];
  /** How long each frame is shown, in milliseconds. */
  readonly milliseconds: number;
}

const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

function chunk(type: string, data: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(12 + data.length);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(type, 4, 'latin1');
  bytes.set(data, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, 8 + data.length)), 8 + data.length);
  return bytes;
}

/** The data of a PNG's chunks by type; those of one type follow each other. */
function chunksOf(png: Uint8Array): Map<string, Uint8Array[]> {
  const bytes = Buffer.from(png.buffer, png.byteOffset, png.length);
  const found = new Map<string, Uint8Array[]>();
  for (let at = signature.length; at < bytes.length;) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString('latin1', at + 4, at + 8);
    found.set(type, [...found.get(type) ?? [], bytes.subarray(at + 8, at + 8 + length)]);
    at += 12 + length;
  }
  return found;
}

function words(...values: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => bytes.writeUInt32BE(value, 4 * i));
  return bytes;
}

/** What says where a frame stands and how long: the whole picture, replaced by the next one. */
function frameControl(sequence: number, { width, height, milliseconds }: Film): Uint8Array {
  const times = Buffer.alloc(6);
  times.writeUInt16BE(Math.min(65_535, Math.max(1, Math.round(milliseconds))), 0);
  times.writeUInt16BE(1000, 2);
  return Buffer.concat([words(sequence, width, height, 0, 0), times]);
}

/** An animated PNG that repeats without end. */
export function filmPng(film: Film): Uint8Array {
  const { width, height, frames } = film;
  const palette = film.palette.map((colour) => [...colour]);
  const parts: Uint8Array[] = [];
  let sequence = 0;
  frames.forEach((data, index) => {
    const chunks = chunksOf(encode({ width, height, data, channels: 1, depth: 8, palette }, { zlib: { level: 9 } }));
    const of = (type: string): Uint8Array[] => chunks.get(type) ?? [];
    if (index === 0) {
      const [head, colours] = ['IHDR', 'PLTE'].map((type) => chunk(type, elementAt(of(type), 0)));
      parts.push(signature, required(head), chunk('acTL', words(frames.length, 0)), required(colours));
    }
    parts.push(chunk('fcTL', frameControl(sequence++, film)));
    for (const part of of('IDAT')) {
      parts.push(index === 0 ? chunk('IDAT', part) : chunk('fdAT', Buffer.concat([words(sequence++), part])));
    }
  });
  return Buffer.concat([...parts, chunk('IEND', new Uint8Array(0))]);
}
