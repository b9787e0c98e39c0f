// Items of stream programs in files: raw words, .npy, WAV and text.
import { readBytes, writeFileAtomic } from '../core/files.ts';
import { formatNpy, parseNpy } from '../core/npy.ts';
import { decodeFile, encodeFile } from '../stream/interpret/index.ts';
import type { IrType } from '../stream/ir.ts';
import { refusal } from '../core/errors.ts';

const endingOf = (path: string): string => /\.[a-z0-9]+$/i.exec(path)?.[0].toLowerCase() ?? '';

/** Samples of a WAV file with 16-bit, 24-bit or 32-bit integers or floats, channels interleaved, as numbers from -1 to 1. */
export function parseWav(bytes: Uint8Array, path: string): { numbers: Float32Array; rate: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tag = (at: number) => (at + 4 <= bytes.length ? String.fromCharCode(...bytes.subarray(at, at + 4)) : '');
  if (tag(0) !== 'RIFF' || tag(8) !== 'WAVE') throw refusal(path, 'a WAV file', 'another file');
  let format: { kind: number; rate: number; bits: number } | undefined;
  for (let at = 12; at + 8 <= bytes.length;) {
    const size = view.getUint32(at + 4, true), begin = at + 8, end = Math.min(bytes.length, begin + size);
    if (tag(at) === 'fmt ' && end - begin >= 16) {
      const kind = view.getUint16(begin, true);
      const real = kind === 0xfffe && end - begin >= 26 ? view.getUint16(begin + 24, true) : kind;
      format = { kind: real, rate: view.getUint32(begin + 4, true), bits: view.getUint16(begin + 14, true) };
    }
    if (tag(at) === 'data') {
      if (format === undefined) break;
      return { numbers: samples(view, begin, end, format, path), rate: format.rate };
    }
    at = begin + size + (size & 1);
  }
  throw refusal(path, 'a WAV file with samples', 'none');
}

function samples(view: DataView, begin: number, end: number, { kind, bits }: { kind: number; bits: number }, path: string): Float32Array {
  const bytes = bits / 8;
  const read: ((at: number) => number) | undefined = kind === 3 && bits === 32 ? (at) => view.getFloat32(at, true)
    : kind !== 1 ? undefined
      : bits === 16 ? (at) => view.getInt16(at, true) / 32768
        : bits === 24 ? (at) => ((view.getUint16(at, true) | (view.getInt8(at + 2) << 16))) / 8388608
          : bits === 32 ? (at) => view.getInt32(at, true) / 2147483648 : undefined;
  if (read === undefined) {
    throw refusal(path, 'WAV samples that are 16, 24 or 32-bit integers or 32-bit floats', `format ${kind} with ${bits} bits`);
  }
  return Float32Array.from({ length: Math.floor((end - begin) / bytes) }, (_, i) => read(begin + i * bytes));
}

/** A WAV file of 16-bit samples, the channels in turn; numbers beyond -1 and 1 are cut. */
export function formatWav(numbers: ArrayLike<number>, rate: number, channels = 1): Uint8Array {
  const bytes = new Uint8Array(44 + 2 * numbers.length), view = new DataView(bytes.buffer);
  const tag = (at: number, name: string) => [...name].forEach((letter, i) => view.setUint8(at + i, letter.charCodeAt(0)));
  tag(0, 'RIFF');
  view.setUint32(4, 36 + 2 * numbers.length, true);
  tag(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate * channels, true);
  view.setUint16(32, 2 * channels, true);
  view.setUint16(34, 16, true);
  tag(36, 'data');
  view.setUint32(40, 2 * numbers.length, true);
  for (let i = 0; i < numbers.length; ++i) view.setInt16(44 + 2 * i, Math.round(Math.max(-1, Math.min(1, numbers[i]!)) * 32767), true);
  return bytes;
}

function parseText(content: string, path: string): Float64Array {
  const words = content.split(/[\s,;]+/).filter((word) => word !== '');
  return Float64Array.from(words, (word) => {
    const value = Number(word);
    if (Number.isNaN(value) && word !== 'NaN') throw refusal(path, 'numbers', `'${word.slice(0, 40)}'`);
    return value;
  });
}

/** Scalars of the items in a file, by its ending; `rate`: of a WAV file, hertz. */
export async function readItems(path: string, type: IrType): Promise<{ numbers: ArrayLike<number>; rate?: number }> {
  const bytes = await readBytes(path);
  switch (endingOf(path)) {
    case '.npy': return { numbers: numbersOf(parseNpy(bytes, path).data) };
    case '.wav': return parseWav(bytes, path);
    case '.txt': return { numbers: parseText(bytes.toString('utf8'), path) };
    default: return { numbers: decodeFile(bytes, type, path) };
  }
}
const numbersOf = (data: ArrayLike<number | bigint>): Float64Array => Float64Array.from({ length: data.length }, (_, i) => Number(data[i]));

function scalarsPerItem(type: IrType): number {
  switch (type.kind) {
    case 'scalar': return 1;
    case 'vector': return { complex: 2, float2: 2, float3: 3, float4: 4 }[type.name];
    case 'array': return type.length * scalarsPerItem(type.element);
    case 'struct': return type.fields.reduce((sum, field) => sum + scalarsPerItem(field.type), 0);
    case 'void': return 1;
  }
}

/** Of a WAV file: samples a second, and channels that take turns. */
export interface Sound {
  readonly rate?: number | undefined;
  readonly channels?: number | undefined;
}

/** Writes items by the file's ending; returns how many there are. Sound: default one channel at 48000 a second. */
export async function writeItems(path: string, numbers: ArrayLike<number>, type: IrType, sound: Sound = {}): Promise<number> {
  const isInteger = type.kind === 'scalar' && type.name !== 'float' && type.name !== 'double';
  switch (endingOf(path)) {
    case '.npy': {
      const kind = isInteger ? 'int32' : type.kind === 'scalar' && type.name === 'double' ? 'float64' : 'float32';
      const data = { int32: Int32Array, float64: Float64Array, float32: Float32Array }[kind].from(numbers);
      await writeFileAtomic(path, formatNpy({ type: kind, shape: [numbers.length], data }));
      break;
    }
    case '.wav': await writeFileAtomic(path, formatWav(numbers, sound.rate ?? 48_000, sound.channels)); break;
    case '.txt': await writeFileAtomic(path, `${Array.from(numbers).join('\n')}\n`); break;
    default: await writeFileAtomic(path, encodeFile(numbers, type));
  }
  return numbers.length / scalarsPerItem(type);
}
