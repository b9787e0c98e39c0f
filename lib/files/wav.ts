// WAV files: samples of sound.
import { describeValue, holds } from '../core/arrays.ts';
import { requireCount, requireList } from '../core/checks.ts';
import { refusal } from '../core/errors.ts';

/** Sound as stored in a file. */
export interface Sound {
  /** Samples from -1 to 1; those of several channels alternate: left, right, left, right. */
  readonly numbers: Float32Array<ArrayBuffer>;
  /** Samples per second and channel. */
  readonly rate: number;
  /** How many channels alternate in `numbers`. */
  readonly channels: number;
}

/** What the `fmt ` chunk of a file says. */
interface SampleFormat {
  /** 1: integers; 3: floats. */
  readonly kind: number;
  readonly channels: number;
  readonly rate: number;
  readonly bits: number;
}

/** The format that an extensible `fmt ` chunk only points to. */
const extensible = 0xfffe;

function readFormat(view: DataView, start: number, end: number): SampleFormat | undefined {
  if (end - start < 16) return undefined;
  const kind = view.getUint16(start, true);
  return {
    kind: kind === extensible && end - start >= 26 ? view.getUint16(start + 24, true) : kind,
    channels: view.getUint16(start + 2, true), rate: view.getUint32(start + 4, true), bits: view.getUint16(start + 14, true),
  };
}

/** Reads one sample of a format; undefined for formats that are not read. */
function sampleReader(view: DataView, { kind, bits }: SampleFormat): ((at: number) => number) | undefined {
  if (kind === 3) return bits === 32 ? (at) => view.getFloat32(at, true) : undefined;
  if (kind !== 1) return undefined;
  switch (bits) {
    case 16: return (at) => view.getInt16(at, true) / 32768;
    case 24: return (at) => (view.getUint16(at, true) | (view.getInt8(at + 2) << 16)) / 8388608;
    case 32: return (at) => view.getInt32(at, true) / 2147483648;
    default: return undefined;
  }
}

function readSamples(view: DataView, start: number, end: number, format: SampleFormat, name: string): Float32Array<ArrayBuffer> {
  const read = sampleReader(view, format);
  if (read === undefined) {
    const got = `format ${format.kind} with ${format.bits} bits`;
    throw refusal(name, 'WAV samples that are 16, 24 or 32-bit integers or 32-bit floats', got);
  }
  const bytes = format.bits / 8;
  return Float32Array.from({ length: Math.floor((end - start) / bytes) }, (_, i) => read(start + i * bytes));
}

/**
 * Reads the bytes of a WAV file with 16-bit, 24-bit or 32-bit integers or 32-bit floats.
 * @param bytes the file
 * @param name what errors call the file
 * @throws ArgumentError for anything else
 */
export function parseWav(bytes: Uint8Array, name = 'wav'): Sound {
  if (!holds(bytes, 'uint8')) throw refusal(name, 'the bytes of a WAV file (Uint8Array)', describeValue(bytes));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tag = (at: number) => (at + 4 <= bytes.length ? Buffer.from(bytes.subarray(at, at + 4)).toString('latin1') : '');
  if (tag(0) !== 'RIFF' || tag(8) !== 'WAVE') throw refusal(name, 'a WAV file', 'another file');
  let format: SampleFormat | undefined;
  for (let at = 12; at + 8 <= bytes.length;) {
    const size = view.getUint32(at + 4, true);
    const start = at + 8;
    const end = Math.min(bytes.length, start + size);
    if (tag(at) === 'fmt ') format = readFormat(view, start, end) ?? format;
    if (tag(at) === 'data') {
      if (format === undefined) break;
      return { numbers: readSamples(view, start, end, format, name), rate: format.rate, channels: format.channels };
    }
    at = start + size + (size & 1);
  }
  throw refusal(name, 'a WAV file with samples', 'none');
}

/** Most samples: sizes in a WAV file are 32-bit. */
const mostSamples = 2 ** 31 - 32;

/**
 * The bytes of a WAV file of 16-bit samples.
 * @param numbers samples, with several channels interleaved; numbers beyond -1 and 1 are clipped, NaN becomes 0
 * @param rate samples per second and channel
 * @param channels how many channels alternate; default 1
 * @throws ArgumentError for invalid arguments
 */
export function formatWav(numbers: ArrayLike<number>, rate: number, channels = 1): Uint8Array<ArrayBuffer> {
  requireList(numbers, 'numbers');
  requireCount(numbers.length, 'numbers.length', 0, mostSamples);
  requireCount(rate, 'rate', 1, 2 ** 31 - 1);
  requireCount(channels, 'channels', 1, 1024);
  const dataBytes = 2 * numbers.length;
  const bytes = new Uint8Array(44 + dataBytes);
  const view = new DataView(bytes.buffer);
  const tag = (at: number, name: string) => bytes.set(Buffer.from(name, 'latin1'), at);
  tag(0, 'RIFF');
  view.setUint32(4, 36 + dataBytes, true);
  tag(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, Math.min(2 * rate * channels, 2 ** 32 - 1), true);
  view.setUint16(32, 2 * channels, true);
  view.setUint16(34, 16, true);
  tag(36, 'data');
  view.setUint32(40, dataBytes, true);
  for (let i = 0; i < numbers.length; ++i) {
    const sample: unknown = numbers[i];
    if (typeof sample !== 'number') throw refusal(`numbers[${i}]`, 'a number', describeValue(sample));
    view.setInt16(44 + 2 * i, Math.round(Math.max(-1, Math.min(1, sample)) * 32767), true);
  }
  return bytes;
}
