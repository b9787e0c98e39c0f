// TIFF written: one page per slice, one uncompressed strip per page, little-endian.
import { refusal } from '../../core/errors.ts';
import { required } from '../../core/known.ts';
import type { CheckedImage } from '../image.ts';
import { bytesOfSample, encodeSamples, limitsOf, type ImageMeta, type SampleType } from './common.ts';

const short = 3;
const long = 4;

/** One entry of a directory: its values are in the entry, or at an offset when they are longer than four bytes. */
interface Entry { readonly tag: number; readonly type: typeof short | typeof long; readonly values: readonly number[] }

function pageEntries(image: CheckedImage, type: SampleType, strip: number, bytes: number): Entry[] {
  const { width, height, channels } = image;
  const colour = channels === 3 || channels === 4;
  const format = type.startsWith('float') ? 3 : type.startsWith('u') ? 1 : 2;
  const each = (value: number) => Array.from({ length: channels }, () => value);
  const extra = colour ? channels - 3 : channels - 1;
  return [
    { tag: 256, type: long, values: [width] },
    { tag: 257, type: long, values: [height] },
    { tag: 258, type: short, values: each(8 * bytesOfSample(type)) },
    { tag: 259, type: short, values: [1] },
    { tag: 262, type: short, values: [colour ? 2 : 1] },
    { tag: 273, type: long, values: [strip] },
    { tag: 277, type: short, values: [channels] },
    { tag: 278, type: long, values: [height] },
    { tag: 279, type: long, values: [bytes] },
    { tag: 284, type: short, values: [1] },
    ...(extra > 0 ? [{ tag: 338, type: short, values: Array.from({ length: extra }, () => (colour ? 2 : 0)) } as const] : []),
    { tag: 339, type: short, values: each(format) },
  ];
}

/** A directory at `at`, its long values behind it. */
function formatDirectory(entries: readonly Entry[], at: number, next: (end: number) => number): Buffer {
  const head = 2 + 12 * entries.length + 4;
  const values: Buffer[] = [];
  let valuesAt = at + head;
  const directory = Buffer.alloc(head);
  directory.writeUInt16LE(entries.length, 0);
  entries.forEach(({ tag, type, values: numbers }, i) => {
    const place = 2 + 12 * i;
    const size = type === short ? 2 : 4;
    const bytes = Buffer.alloc(Math.max(4, numbers.length * size));
    numbers.forEach((value, k) => (type === short ? bytes.writeUInt16LE(value, 2 * k) : bytes.writeUInt32LE(value, 4 * k)));
    directory.writeUInt16LE(tag, place);
    directory.writeUInt16LE(type, place + 2);
    directory.writeUInt32LE(numbers.length, place + 4);
    if (numbers.length * size <= 4) {
      bytes.copy(directory, place + 8, 0, 4);
    } else {
      directory.writeUInt32LE(valuesAt, place + 8);
      values.push(bytes);
      valuesAt += bytes.length;
    }
  });
  directory.writeUInt32LE(next(valuesAt), head - 4);
  return Buffer.concat([directory, ...values]);
}

/** The bytes of a TIFF file: float32 or float64 like the image, or the requested `sampleType`. */
export function formatTiff(image: CheckedImage<Float32Array | Float64Array>, meta: Partial<ImageMeta>): Uint8Array {
  const { data, width, height, depth, channels, points, type } = image;
  const sampleType = meta.sampleType ?? type;
  if (sampleType.endsWith('int64')) throw refusal('meta.sampleType', 'a type of 8, 16 or 32 bits, or float64 (TIFF)', sampleType);
  const unit = sampleType.startsWith('u') ? 1 / required(limitsOf(sampleType))[1] : 1;
  const slice = width * height;
  const bytes = slice * channels * bytesOfSample(sampleType);
  if (bytes * depth + 512 * depth + channels * 8 * depth >= 2 ** 32) {
    throw refusal('image', 'at most 4 GiB of pixels (TIFF; write NIfTI or .npy)', `${bytes * depth} bytes`);
  }
  const order = { slope: meta.slope ?? unit, intercept: meta.intercept ?? 0 };
  const pieces: Buffer[] = [Buffer.from([0x49, 0x49, 42, 0, 8, 0, 0, 0])];
  let at = 8;
  for (let z = 0; z < depth; z += 1) {
    // The strip stands behind its directory, whose length does not depend on where it lies.
    const length = formatDirectory(pageEntries(image, sampleType, 0, bytes), at, () => 0).length;
    const padded = length + ((8 - ((at + length) % 8)) % 8);
    const stripEnd = at + padded + bytes;
    const follows = stripEnd + (stripEnd % 2);
    const directory = formatDirectory(pageEntries(image, sampleType, at + padded, bytes), at, () => (z + 1 < depth ? follows : 0));
    const pixels = new (data.constructor as typeof Float64Array)(slice * channels);
    for (let c = 0; c < channels; c += 1) {
      for (let i = 0; i < slice; i += 1) pixels[i * channels + c] = data[c * points + z * slice + i]!;
    }
    const strip = Buffer.from(encodeSamples(pixels, sampleType, true, order));
    pieces.push(directory, Buffer.alloc(padded - length), strip, Buffer.alloc(follows - stripEnd));
    at = follows;
  }
  return Buffer.concat(pieces);
}
