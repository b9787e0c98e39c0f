// NIfTI-1 and NIfTI-2 volumes, plain or gzipped, of either byte order; NIfTI-1 written.
import { gzip } from 'node:zlib';
import { promisify } from 'node:util';
import { readHeader, type NIFTI1, type NIFTI2 } from 'nifti-reader-js';
import { version } from '../../core/version.ts';
import { refusal } from '../../core/errors.ts';
import { elementAt, leading, required } from '../../core/known.ts';
import type { CheckedImage } from '../image.ts';
import {
  allocatePixels, bytesOfSample, damaged, decodeSamples, encodeSamples, guarded, pixelTypeFor, requireExtents, scaleFor, spread,
  unsupported, type ImageMeta, type ReadResult, type SampleType, type Source,
} from './common.ts';
import { isNifti, niftiHeaderBytes } from './detect.ts';
import { gunzipByHeader } from './inflate.ts';

const typeByCode: Readonly<Record<number, SampleType>> = {
  2: 'uint8', 4: 'int16', 8: 'int32', 16: 'float32', 64: 'float64', 256: 'int8', 512: 'uint16', 768: 'uint32', 1024: 'int64',
  1280: 'uint64', 128: 'uint8', 2304: 'uint8',
};
const unreadCodes: Readonly<Record<number, string>> = {
  1: 'single bits', 32: 'complex numbers', 1536: '128-bit floating-point numbers', 1792: 'complex numbers', 2048: 'complex numbers',
};
/** Components of the datatypes RGB24 and RGBA32. */
const componentsByCode: Readonly<Record<number, number>> = { 128: 3, 2304: 4 };
const codeByType = Object.fromEntries(
  Object.entries(typeByCode).filter(([code]) => !(Number(code) in componentsByCode)).map(([code, type]) => [type, Number(code)]));

/** Bytes after the announced data that a gzipped file may have. */
const slack = 4096;
const headerBytes = 352;

/** Where the voxels are and what they are. */
interface Layout {
  readonly version: 1 | 2;
  readonly littleEndian: boolean;
  readonly code: number;
  readonly type: SampleType;
  /** Extents in x, y, z. */
  readonly extents: readonly [number, number, number];
  /** Product of the extents beyond the third, times the colours of a voxel. */
  readonly channels: number;
  readonly colours: number;
  readonly offset: number;
  readonly bytes: number;
}

function layoutOf(start: Uint8Array, source: Source): Layout {
  const { name } = source;
  if (start.length < 348 || !isNifti(start)) throw damaged(name, 'not a NIfTI header');
  const view = new DataView(start.buffer, start.byteOffset, start.byteLength);
  const version = niftiHeaderBytes(start) === 540 ? 2 : 1;
  const littleEndian = view.getInt32(0, true) === (version === 1 ? 348 : 540);
  const paired = start[version === 1 ? 345 : 5] === 0x69;
  if (paired) throw unsupported(name, 'a NIfTI header whose voxels are in another file (.hdr and .img); save it as .nii');
  if (version === 2 && start.length < headerBytes) throw damaged(name, 'a NIfTI-2 file that ends within its header');
  const dim = (i: number) => (version === 1 ? view.getInt16(40 + 2 * i, littleEndian) : Number(view.getBigInt64(16 + 8 * i, littleEndian)));
  const count = dim(0);
  if (!(count >= 1 && count <= 7)) throw damaged(name, `a NIfTI header of ${count} dimensions`);
  const dims = Array.from({ length: 7 }, (_, i) => (i < count ? dim(i + 1) : 1));
  const code = view.getInt16(version === 1 ? 70 : 12, littleEndian);
  const type = typeByCode[code];
  if (type === undefined) throw unsupported(name, `a NIfTI file of ${unreadCodes[code] ?? `datatype ${code}`}`);
  const colours = componentsByCode[code] ?? 1;
  const bits = view.getInt16(version === 1 ? 72 : 14, littleEndian);
  if (bits !== 8 * bytesOfSample(type) * colours) throw damaged(name, `a NIfTI header of ${bits} bits per voxel for datatype ${code}`);
  const samples = requireExtents(source, [...dims, colours]);
  const offset = version === 1 ? view.getFloat32(108, littleEndian) : Number(view.getBigInt64(168, littleEndian));
  if (!(Number.isSafeInteger(offset) && offset >= (version === 1 ? 348 : 540) && offset <= 2 ** 28)) {
    throw damaged(name, `a NIfTI header that puts its voxels at byte ${offset}`);
  }
  const volumes = dims.slice(3).reduce((product, extent) => product * extent, 1);
  if (colours > 1 && volumes > 1) throw unsupported(name, 'a NIfTI series of coloured volumes');
  const [x, y, z] = dims as [number, number, number];
  const bytes = samples * bytesOfSample(type);
  return { version, littleEndian, code, type, extents: [x, y, z], channels: volumes * colours, colours, offset, bytes };
}

/** Voxel to patient: the sform where there is one, else the qform, else the spacing. */
function affineOf(header: NIFTI1 | NIFTI2, start: DataView, version: 1 | 2): number[] {
  const { littleEndian, pixDims, sform_code: sform, qform_code: qform } = header;
  if (sform > 0) {
    const at = (i: number) => (version === 1 ? start.getFloat32(280 + 4 * i, littleEndian) : start.getFloat64(400 + 8 * i, littleEndian));
    return [...Array.from({ length: 12 }, (_, i) => at(i)), 0, 0, 0, 1];
  }
  const [, dx, dy, dz] = leading(pixDims, 4);
  if (!(qform > 0)) return [dx, 0, 0, 0, 0, dy, 0, 0, 0, 0, dz, 0, 0, 0, 0, 1];
  const { quatern_b: b, quatern_c: c, quatern_d: d } = header;
  // Rounded components may be a little longer than one together.
  const a = Math.sqrt(Math.max(0, 1 - (b * b + c * c + d * d)));
  const z = pixDims[0] === -1 ? -dz : dz;
  return [
    dx * (a * a + b * b - c * c - d * d), dy * 2 * (b * c - a * d), z * 2 * (b * d + a * c), header.qoffset_x,
    dx * 2 * (b * c + a * d), dy * (a * a + c * c - b * b - d * d), z * 2 * (c * d - a * b), header.qoffset_y,
    dx * 2 * (b * d - a * c), dy * 2 * (c * d + a * b), z * (a * a + d * d - c * c - b * b), header.qoffset_z,
    0, 0, 0, 1,
  ];
}

/** Factor from a header's unit of length to millimetres. */
const millimetres = (units: number): number => ({ 1: 1000, 3: 0.001 })[units & 7] ?? 1;

function metaOf(file: Uint8Array, { version, type, offset }: Layout, source: Source): ImageMeta {
  // Without the extensions, whose lengths the parser would follow wherever they point.
  const plain = new Uint8Array(version === 1 ? headerBytes : 544);
  plain.set(file.subarray(0, version === 1 ? 348 : 540));
  const header = guarded(source.name, 'nifti-reader-js', () => readHeader(plain.buffer));
  const slope = Number.isFinite(header.scl_slope) && header.scl_slope !== 0 ? header.scl_slope : 1;
  const intercept = Number.isFinite(header.scl_slope) && header.scl_slope !== 0 && Number.isFinite(header.scl_inter) ? header.scl_inter : 0;
  const factor = millimetres(header.xyzt_units);
  const spacing = [1, 2, 3].map((i) => Math.abs(elementAt(header.pixDims, i)) * factor) as [number, number, number];
  const affine = affineOf(header, new DataView(plain.buffer), version).map((v, i) => (i < 12 ? v * factor : v));
  const description = header.description.replace(/\0.*$/s, '').trim();
  return {
    format: 'nifti', sampleType: type, ...scaleFor(source, slope, intercept), spacing, affine,
    ...(version === 1 ? { header: file.slice(0, offset) } : {}), ...(description === '' ? {} : { description }),
  };
}

/** Reads a NIfTI file. */
export async function readNifti(source: Source): Promise<ReadResult> {
  const gzipped = source.bytes[0] === 0x1f && source.bytes[1] === 0x8b;
  const file = !gzipped ? source.bytes : await gunzipByHeader(source.bytes, headerBytes, source.name, (start) => {
    const { offset, bytes } = layoutOf(start, source);
    return offset + bytes + slack;
  });
  const layout = layoutOf(file, source);
  const { extents: [width, height, depth], channels, colours, type, offset, bytes, littleEndian } = layout;
  if (file.length < offset + bytes) {
    throw damaged(source.name, `${Math.max(0, file.length - offset)} bytes of voxels, but its header announces ${bytes}`);
  }
  const meta = metaOf(file, layout, source);
  const points = width * height * depth;
  const data = allocatePixels(pixelTypeFor(source, type), points * channels);
  const { slope, intercept } = colours > 1 ? { slope: 1, intercept: 0 } : meta;
  const samples = decodeSamples(file.subarray(offset, offset + bytes), type, littleEndian);
  spread(samples, data, { channels, keep: channels, interleaved: colours > 1, slope, intercept, points, first: 0 });
  const image = { data, width, height, ...(depth > 1 ? { depth } : {}), ...(channels > 1 ? { channels } : {}) };
  return { image, meta: { ...meta, slope, intercept } };
}

/** A header of this library, little-endian, with the orientation that `meta` has. */
function freshHeader({ spacing = [1, 1, 1], affine, description }: Partial<ImageMeta>): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeInt32LE(348, 0);
  header.write('r', 38, 'latin1');
  const lengths = affine === undefined ? spacing
    : [0, 1, 2].map((j) => Math.hypot(elementAt(affine, j), elementAt(affine, 4 + j), elementAt(affine, 8 + j)));
  [1, ...lengths, 1, 1, 1, 1].forEach((value, i) => header.writeFloatLE(value, 76 + 4 * i));
  header.writeUInt8(2, 123); // millimetres
  header.write((description ?? `warploom ${version}`).slice(0, 79), 148, 'latin1');
  if (affine !== undefined) {
    header.writeInt16LE(1, 254);
    for (let i = 0; i < 12; i += 1) header.writeFloatLE(elementAt(affine, i), 280 + 4 * i);
  }
  return header;
}

/** Extents beyond the third of an earlier header, when they still hold `channels` volumes. */
function laterDims(channels: number, readShort: (at: number) => number): number[] {
  const count = readShort(40);
  const dims = Array.from({ length: 4 }, (_, i) => (i + 4 <= count ? readShort(48 + 2 * i) : 1));
  if (count >= 4 && dims.reduce((a, b) => a * b, 1) === channels) return dims.slice(0, count - 3);
  return channels > 1 ? [channels] : [];
}

/** The bytes of a NIfTI-1 file. A header in `meta` is kept, with its byte order and extensions, except for what depends on the pixels. */
export async function formatNifti(
  image: CheckedImage<Float32Array | Float64Array>, meta: Partial<ImageMeta>, gzipped: boolean,
): Promise<Uint8Array> {
  const { width, height, depth, channels } = image;
  const sampleType = meta.sampleType ?? image.type;
  if (Math.max(width, height, depth, channels) > 32_767) {
    throw refusal('image', 'extents of at most 32767 (NIfTI-1)', `${width} × ${height} × ${depth}, ${channels} channels`);
  }
  const given = meta.header;
  if (given !== undefined && (given.length < 348 || !isNifti(given))) {
    throw refusal('meta.header', 'a NIfTI-1 header', `${given.length} bytes`);
  }
  const header = given === undefined ? freshHeader(meta) : Buffer.concat([given, Buffer.alloc(Math.max(0, headerBytes - given.length))]);
  const littleEndian = header.readInt32LE(0) === 348;
  const short = (value: number, at: number) => (littleEndian ? header.writeInt16LE(value, at) : header.writeInt16BE(value, at));
  const real = (value: number, at: number) => (littleEndian ? header.writeFloatLE(value, at) : header.writeFloatBE(value, at));
  const later = laterDims(channels, (at) => (littleEndian ? header.readInt16LE(at) : header.readInt16BE(at)));
  const extents = [width, height, depth, ...later];
  const count = later.length > 0 ? extents.length : depth > 1 || given !== undefined ? 3 : 2;
  [count, ...extents, ...Array.from({ length: 7 - extents.length }, () => 1)].forEach((value, i) => short(value, 40 + 2 * i));
  short(required(codeByType[sampleType]), 70);
  short(8 * bytesOfSample(sampleType), 72);
  real(header.length, 108);
  const { slope = 1, intercept = 0 } = meta;
  real(slope, 112);
  real(intercept, 116);
  header.write('n+1\0', 344, 'latin1');
  // As a reader will see them: the header has float32.
  const scale = { slope: Math.fround(slope), intercept: Math.fround(intercept) };
  const file = Buffer.concat([header, encodeSamples(image.data, sampleType, littleEndian, scale)]);
  return gzipped ? promisify(gzip)(file) : file;
}
