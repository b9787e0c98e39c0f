// Items of stream programs in files: raw words, .npy, WAV and text.
import { refusal } from '../../core/errors.ts';
import { readBytes, writeFileAtomic } from '../../core/files.ts';
import { formatNpy, parseNpy } from '../../files/npy.ts';
import { formatWav, parseWav } from '../../files/wav.ts';
import { decodeFile, encodeFile } from '../../stream/interpret/index.ts';
import type { IrType } from '../../stream/ir.ts';

const endingOf = (path: string): string => /\.[a-z0-9]+$/i.exec(path)?.[0].toLowerCase() ?? '';

function parseText(content: string, path: string): Float64Array {
  const words = content.split(/[\s,;]+/).filter((word) => word !== '');
  return Float64Array.from(words, (word) => {
    const value = Number(word);
    if (Number.isNaN(value) && word !== 'NaN') throw refusal(path, 'numbers', `'${word.slice(0, 40)}'`);
    return value;
  });
}

/** Reads the scalars of the items in a file; the format follows from the extension. `rate`: sampling rate of a WAV file in hertz. */
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

/** How a WAV file is written. */
export interface SoundOptions {
  /** Samples per second and channel. Default 48000. */
  readonly rate?: number | undefined;
  /** Interleaved channels. Default 1. */
  readonly channels?: number | undefined;
}

/** Writes items; the format follows from the extension. Returns the number of items. `sound`: for a .wav file. */
export async function writeItems(path: string, numbers: ArrayLike<number>, type: IrType, sound: SoundOptions = {}): Promise<number> {
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
