// PNG of 8 and 16 bits by fast-png, after checking everything that a file claims.
import { convertIndexedToRgb, decode, encode, type DecodedPng } from 'fast-png';
import { refusal } from '../../core/errors.ts';
import { elementAt, required } from '../../core/known.ts';
import type { CheckedImage } from '../image.ts';
import {
  allocatePixels, damaged, encodeSamples, guarded, limitsOf, pixelTypeFor, requireExtents, scaleFor, spread, unsupported,
  type ImageMeta, type ReadResult, type SampleType, type Source,
} from './common.ts';
import { pngSignature } from './detect.ts';
import { inflateExactly } from './inflate.ts';

interface Chunk { readonly type: string; readonly data: Buffer; readonly whole: Buffer }

/** The chunks of a file; refuses one that ends outside it. */
function chunksOf({ bytes, name }: Source): Chunk[] {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const chunks: Chunk[] = [];
  for (let at = 8; ;) {
    if (at + 12 > file.length) throw damaged(name, 'a PNG file that ends before its end chunk');
    const length = file.readUInt32BE(at);
    if (at + 12 + length > file.length) throw damaged(name, `a PNG chunk of ${length} bytes that ends outside the file`);
    const type = file.toString('latin1', at + 4, at + 8);
    chunks.push({ type, data: file.subarray(at + 8, at + 8 + length), whole: file.subarray(at, at + 12 + length) });
    if (type === 'IEND') return chunks;
    at += 12 + length;
  }
}

interface Header {
  readonly width: number;
  readonly height: number;
  /** Bits of a sample. */
  readonly depth: number;
  readonly color: number;
  readonly interlaced: boolean;
}

const channelsByColor: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

function headerOf(source: Source, chunks: readonly Chunk[]): Header {
  const { data, type } = elementAt(chunks, 0);
  if (type !== 'IHDR' || data.length !== 13) throw damaged(source.name, 'a PNG file without a header');
  const [width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)];
  const [depth, color, interlace] = [data.readUInt8(8), data.readUInt8(9), data.readUInt8(12)];
  const channels = channelsByColor[color];
  if (channels === undefined || ![1, 2, 4, 8, 16].includes(depth) || interlace > 1) {
    throw damaged(source.name, `a PNG header of ${depth} bits, colour type ${color}, interlacing ${interlace}`);
  }
  requireExtents(source, [width, height, color === 3 ? 3 : channels]);
  if (interlace === 1 && depth < 8) throw unsupported(source.name, 'an interlaced PNG of less than 8 bits');
  return { width, height, depth, color, interlaced: interlace === 1 };
}

/** Bytes that the pixel data of a file inflates to, with the filter byte of each row. */
function inflatedBytes({ width, height, depth, color, interlaced }: Header): number {
  const bits = depth * required(channelsByColor[color]);
  const rows = (w: number, h: number) => (w > 0 && h > 0 ? h * (1 + Math.ceil((w * bits) / 8)) : 0);
  if (!interlaced) return rows(width, height);
  const passes = [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]] as const;
  return passes.reduce((sum, [x, y, dx, dy]) => sum + rows(Math.ceil((width - x) / dx), Math.ceil((height - y) / dy)), 0);
}

/** One number per sample, for pictures of less than 8 bits too. */
function unpack({ data, width, height, depth, channels }: DecodedPng): ArrayLike<number> {
  if (depth >= 8) return data;
  const perRow = Math.ceil((width * channels * depth) / 8);
  const samples = new Uint8Array(width * height * channels);
  for (let y = 0, i = 0; y < height; y += 1) {
    for (let x = 0; x < width * channels; x += 1, i += 1) {
      const bit = x * depth;
      samples[i] = (data[y * perRow + (bit >> 3)]! >> (8 - depth - (bit & 7))) & (2 ** depth - 1);
    }
  }
  return samples;
}

/** Colours of a picture with a palette, without alpha. */
function paletteColours(png: DecodedPng): Uint8Array {
  const palette = required(png.palette).map((colour) => colour.slice(0, 3));
  return convertIndexedToRgb({ ...png, palette });
}

/** Reads a PNG file. */
export async function readPng(source: Source): Promise<ReadResult> {
  const { name, options } = source;
  const chunks = chunksOf(source);
  const header = headerOf(source, chunks);
  const pixels = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data));
  await inflateExactly(pixels, inflatedBytes(header), name);
  // Only what pixels need: profiles and texts, which inflate as well, stay out.
  const needed = chunks.filter(({ type }) => ['IHDR', 'PLTE', 'IDAT', 'IEND'].includes(type)).map(({ whole }) => whole);
  const png = guarded(name, 'fast-png', () => decode(Buffer.concat([pngSignature, ...needed]), { checkCrc: true }));
  const indexed = header.color === 3;
  if (indexed && png.palette === undefined) throw damaged(name, 'a PNG file whose palette is missing');
  const samples = indexed ? guarded(name, 'fast-png', () => paletteColours(png)) : unpack(png);
  const channels = indexed ? 3 : png.channels;
  const hasAlpha = header.color === 4 || header.color === 6;
  const keep = hasAlpha && options.alpha !== 'keep' ? channels - 1 : channels;
  const full = indexed ? 255 : 2 ** png.depth - 1;
  const sampleType: SampleType = png.depth === 16 ? 'uint16' : 'uint8';
  const scale = scaleFor(source, 1 / full, 0);
  const points = header.width * header.height;
  const data = allocatePixels(pixelTypeFor(source, sampleType), points * keep);
  spread(samples, data, { channels, keep, interleaved: true, ...scale, points, first: 0 });
  const notes = [...(keep < channels ? ['its alpha channel was dropped'] : [])];
  return {
    image: { data, width: header.width, height: header.height, ...(keep > 1 ? { channels: keep } : {}) },
    meta: { format: 'png', sampleType, ...scale, ...(notes.length > 0 ? { notes } : {}) },
  };
}

/** The bytes of a PNG file: 8 bits, or 16 with `sampleType: 'uint16'`; 1 to 4 channels. */
export function formatPng(image: CheckedImage<Float32Array | Float64Array>, meta: Partial<ImageMeta>): Uint8Array {
  const { width, height, depth, channels, points } = image;
  const sampleType = meta.sampleType ?? 'uint8';
  if (sampleType !== 'uint8' && sampleType !== 'uint16') throw refusal('meta.sampleType', 'uint8 or uint16 (PNG)', sampleType);
  if (depth > 1) throw refusal('image.depth', '1: PNG holds no volumes', String(depth));
  if (channels > 4) throw refusal('image.channels', '1 to 4 (PNG)', String(channels));
  const bytes = encodeSamples(image.data, sampleType, true, {
    slope: meta.slope ?? 1 / required(limitsOf(sampleType))[1], intercept: meta.intercept ?? 0,
    order: (i) => (i % channels) * points + Math.floor(i / channels),
  });
  const data = sampleType === 'uint8' ? bytes : new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
  return encode({ width, height, data, channels, depth: sampleType === 'uint8' ? 8 : 16 });
}
