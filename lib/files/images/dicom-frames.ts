// Compressed frames of DICOM files: run lengths by this library, all others by optional packages.
import dicom, { type DataSet } from 'dicom-parser';
import { WarploomError } from '../../core/errors.ts';
import { elementAt, required } from '../../core/known.ts';
import { missingPackages } from '../../core/optional.ts';
import { bytesOfSample, damaged, guarded, unsupported, type SampleType } from './common.ts';
import { loadSharp } from './jpeg-webp.ts';

/** Gives the bytes of a frame's samples. */
type Decode = (frame: Uint8Array, channels: number, size: number) => Uint8Array | Promise<Uint8Array>;

/** A transfer syntax: what opens its decoder (none: this library's), and colours besides RGB that this gives as RGB. */
interface Compression {
  readonly title: string;
  readonly open?: () => Promise<Decode>;
  readonly colours?: readonly string[];
}
const jpeg: Compression = { title: 'JPEG', open: openJpeg, colours: ['YBR_FULL_422', 'YBR_FULL'] };
const lossless: Compression = { title: 'lossless JPEG', open: openLossless };
const jpegLs: Compression = { title: 'JPEG-LS', open: openJpegLs };
const jpeg2000: Compression = { title: 'JPEG 2000', open: openJpeg2000, colours: ['YBR_RCT', 'YBR_ICT'] };

/** Compressions that are read, by transfer syntax. */
export const compressions: Readonly<Record<string, Compression>> = {
  '1.2.840.10008.1.2.5': { title: 'run lengths' },
  '1.2.840.10008.1.2.4.50': jpeg, '1.2.840.10008.1.2.4.51': jpeg,
  '1.2.840.10008.1.2.4.57': lossless, '1.2.840.10008.1.2.4.70': lossless,
  '1.2.840.10008.1.2.4.80': jpegLs, '1.2.840.10008.1.2.4.81': jpegLs,
  '1.2.840.10008.1.2.4.90': jpeg2000, '1.2.840.10008.1.2.4.91': jpeg2000,
};

/** The packages as far as they are used. */
interface Codec<Name extends string> {
  readonly default: (options: object) => Promise<Readonly<Record<Name, new () => Decoding>>>;
}
interface LosslessPackage {
  readonly Decoder: new () => { decode: (buffer: ArrayBufferLike, offset: number, length: number, size: number) => ArrayBufferView };
}

/** What is read of a file before its pixels. */
export interface CompressedFile {
  readonly name: string;
  readonly set: DataSet;
  readonly syntax: string;
  readonly columns: number;
  readonly rows: number;
  readonly frames: number;
  readonly channels: number;
}

/** Samples of all frames, little-endian. */
export interface Decompressed {
  readonly bytes: Uint8Array;
  /** The components of a pixel are adjacent. */
  readonly interleaved: boolean;
}

/** A decoder of the packages codec-openjpeg and codec-charls. */
interface Decoding {
  getEncodedBuffer: (bytes: number) => Uint8Array;
  decode: () => void;
  getDecodedBuffer: () => Uint8Array;
  delete: () => void;
}

function ignore(): void {}

/** An instance that does not tell of each header on standard output. It becomes the object that it is given. */
const instance = <Name extends string>(codec: Codec<Name>) => codec.default({ print: ignore, printErr: ignore });

/** What a package exports, or one of its builds. */
async function packageFor<T>(title: string, name: string, build = ''): Promise<T> {
  const path = name + build; // bundlers leave it to the run
  try {
    return await import(path) as T;
  } catch (error) {
    throw missingPackages(error, `DICOM files compressed with ${title} need an optional package`, name);
  }
}

function decodeWith(decoder: Decoding, frame: Uint8Array): Uint8Array {
  try {
    decoder.getEncodedBuffer(frame.length).set(frame);
    decoder.decode();
    return Uint8Array.from(decoder.getDecodedBuffer()); // its memory goes with it
  } finally {
    decoder.delete();
  }
}

const build = '/decodewasmjs';

async function openJpeg2000(): Promise<Decode> {
  const { J2KDecoder } = await instance(await packageFor<Codec<'J2KDecoder'>>('JPEG 2000', '@cornerstonejs/codec-openjpeg', build));
  return (frame) => decodeWith(new J2KDecoder(), frame);
}

async function openJpegLs(): Promise<Decode> {
  const { JpegLSDecoder } = await instance(await packageFor<Codec<'JpegLSDecoder'>>('JPEG-LS', '@cornerstonejs/codec-charls', build));
  return (frame) => decodeWith(new JpegLSDecoder(), frame);
}

async function openLossless(): Promise<Decode> {
  const { Decoder } = await packageFor<LosslessPackage>('lossless JPEG', 'jpeg-lossless-decoder-js');
  return (frame, _channels, size) => {
    const { buffer, byteOffset, byteLength } = new Decoder().decode(frame.buffer, frame.byteOffset, frame.length, size);
    return new Uint8Array(buffer, byteOffset, byteLength);
  };
}

async function openJpeg(): Promise<Decode> {
  const sharp = await loadSharp();
  return (frame, channels) =>
    sharp(frame, { ignoreIcc: true, limitInputPixels: false }).toColourspace(channels === 1 ? 'b-w' : 'srgb').raw().toBuffer();
}

/** The compressed bytes of each frame: fragments may be several per frame, by the table of offsets. */
function framesOf({ name, set, frames }: CompressedFile): Uint8Array[] {
  const element = required(set.elements['x7fe00010']);
  const { fragments, basicOffsetTable: table } = element;
  if (element.encapsulatedPixelData !== true || fragments === undefined) throw damaged(name, 'compressed DICOM pixels without fragments');
  const join = (first: number, count: number): Uint8Array =>
    Uint8Array.from(dicom.readEncapsulatedPixelDataFromFragments(set, element, first, count) as Uint8Array);
  if (frames === 1) return [join(0, fragments.length)];
  if (fragments.length === frames) return Array.from({ length: frames }, (_, i) => join(i, 1));
  const offsets = table !== undefined && table.length > 0 ? table : dicom.createJPEGBasicOffsetTable(set, element);
  if (offsets.length !== frames) throw damaged(name, `${offsets.length} compressed frames, but its header announces ${frames}`);
  return offsets.map((_, i) => Uint8Array.from(dicom.readEncapsulatedImageFrame(set, element, i, offsets) as Uint8Array));
}

/** What a frame's own header announces. */
interface Announced {
  readonly width: number;
  readonly height: number;
  readonly bits: number;
  readonly components: number;
  /** Components of the first scan. */
  readonly together: number;
}

/** Of a JPEG or JPEG-LS frame, or of a JPEG 2000 codestream; undefined for what is none. */
function announced(frame: Uint8Array): Announced | undefined {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if (frame.length > 42 && view.getUint32(0) === 0xff4fff51) {
    const [width, height] = [view.getUint32(8) - view.getUint32(16), view.getUint32(12) - view.getUint32(20)];
    const components = view.getUint16(40);
    return { width, height, bits: (view.getUint8(42) & 127) + 1, components, together: components };
  }
  let found: Omit<Announced, 'together'> | undefined;
  for (let at = 2; at + 10 <= frame.length && frame[at] === 0xff;) {
    const marker = elementAt(frame, at + 1);
    const isFrame = marker === 0xf7 || (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker));
    if (isFrame) {
      const [height, width] = [view.getUint16(at + 5), view.getUint16(at + 7)];
      found = { bits: view.getUint8(at + 4), height, width, components: view.getUint8(at + 9) };
    }
    if (marker === 0xda) return found === undefined ? undefined : { ...found, together: view.getUint8(at + 4) };
    at += marker === 0xff ? 1 : 2 + view.getUint16(at + 2);
  }
  return undefined;
}

/** Whether a frame ends with the marker for it, before padding. Decoders fill up what is missing. */
function hasEnd(frame: Uint8Array): boolean {
  let end = frame.length;
  while (end > 0 && frame[end - 1] === 0) end -= 1;
  return frame[end - 2] === 0xff && frame[end - 1] === 0xd9;
}

/** The bytes of one plane: a count n from 0 to 127 before n + 1 bytes, or from 129 before one that stands 257 - n times. */
function expandRuns(name: string, from: Uint8Array, to: Uint8Array, first: number, step: number, count: number): void {
  let [at, done] = [0, 0];
  const put = (value: number | undefined): void => {
    if (value === undefined || done >= count) throw damaged(name, 'run lengths that do not fit its header');
    to[first + step * done] = value;
    done += 1;
  };
  while (done < count) {
    const control = from[at];
    if (control === undefined) throw damaged(name, `${done} bytes of run lengths, but its header announces ${count}`);
    at += 1;
    if (control === 128) continue;
    const length = control < 128 ? control + 1 : 257 - control;
    for (let i = 0; i < length; i += 1) put(from[control < 128 ? at + i : at]);
    at += control < 128 ? length : 1;
  }
}

/** A frame of run lengths: planes of bytes, the most significant byte first, component after component. */
function runLengthFrame(name: string, frame: Uint8Array, points: number, channels: number, size: number): Uint8Array {
  if (frame.length < 64) throw damaged(name, 'run lengths without a header');
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const segments = view.getUint32(0, true);
  if (segments !== channels * size) throw damaged(name, `${segments} segments of run lengths, not ${channels * size}`);
  const bytes = new Uint8Array(points * channels * size);
  for (let s = 0; s < segments; s += 1) {
    const begin = view.getUint32(4 + 4 * s, true);
    const end = s + 1 < segments ? view.getUint32(8 + 4 * s, true) : frame.length;
    const [channel, byte] = [Math.floor(s / size), size - 1 - (s % size)];
    if (begin < 64 || end < begin || end > frame.length) throw damaged(name, 'run lengths outside their frame');
    expandRuns(name, frame.subarray(begin, end), bytes, channel * points * size + byte, size, points);
  }
  return bytes;
}

/** Bytes that a decoder gave as samples of `size` bytes. */
function widened(name: string, given: Uint8Array, count: number, size: number): Uint8Array {
  if (given.length === count * size) return given;
  if (size !== 2 || given.length !== count) {
    throw damaged(name, `${given.length} decompressed bytes, but its header announces ${count * size}`);
  }
  const wide = new Uint8Array(2 * count);
  given.forEach((value, i) => { wide[2 * i] = value; });
  return wide;
}

/** One frame by a package; nothing is decoded whose own header differs from the file's. */
async function decodedFrame(
  { name, columns, rows, channels }: CompressedFile, { title }: Compression, decode: Decode, frame: Uint8Array, size: number,
): Promise<Decompressed> {
  const own = guarded(name, 'this library', () => announced(frame));
  if (own === undefined) throw damaged(name, `a frame that is not compressed with ${title}`);
  const [given, expected] = [[own.width, own.height, own.components].join(' × '), [columns, rows, channels].join(' × ')];
  if (given !== expected) throw damaged(name, `a compressed frame of ${given} samples, but its header announces ${expected}`);
  if (!hasEnd(frame)) throw damaged(name, `a frame of ${title} that is cut off`);
  if (own.bits > 8 * size) throw damaged(name, `compressed samples of ${own.bits} bits, but its header announces ${8 * size}`);
  if (title === 'JPEG' && own.bits > 8) {
    throw unsupported(name, 'a DICOM file compressed with JPEG of 12 bits; decompress it first (dcmdjpeg)');
  }
  try {
    const bytes = widened(name, await decode(frame, channels, size), columns * rows * channels, size);
    return { bytes, interleaved: title !== 'JPEG-LS' || own.together === own.components };
  } catch (error) {
    if (error instanceof WarploomError) throw error;
    const why = error instanceof Error ? `: ${error.message.split('\n')[0]}` : '';
    throw damaged(name, `its ${title} cannot be decoded${why}`, error);
  }
}

/**
 * Decompresses all frames of a file whose extents are checked.
 * @throws UnavailableError without the package, which run lengths do not need
 */
export async function decompressed(file: CompressedFile, type: SampleType): Promise<Decompressed> {
  const { name, syntax, columns, rows, frames, channels } = file;
  const compression = required(compressions[syntax]);
  const { open, title } = compression;
  const size = bytesOfSample(type);
  if (size > 2 && open !== undefined) throw unsupported(name, `a DICOM file compressed with ${title} of 32-bit samples`);
  const points = columns * rows;
  const bytes = new Uint8Array(points * channels * size * frames);
  const decode = await open?.();
  let interleaved = false;
  for (const [i, frame] of guarded(name, 'dicom-parser', () => framesOf(file)).entries()) {
    const found = decode === undefined ? { bytes: runLengthFrame(name, frame, points, channels, size), interleaved: false }
      : await decodedFrame(file, compression, decode, frame, size);
    bytes.set(found.bytes, i * points * channels * size);
    ({ interleaved } = found);
  }
  return { bytes, interleaved };
}
