// Items as bytes, in chunks: see interpret/files.ts for the format.
import { endianness } from 'node:os';
import { describeValue } from '../../core/arrays.ts';
import { refusal } from '../../core/errors.ts';
import { decodeFile, encodeFile } from '../interpret/files.ts';
import { isScalar, typeBytes } from '../interpret/values.ts';
import type { IrType } from '../ir.ts';
import { countsOf, kindsIn, placesOf } from '../plan/layout.ts';
import type { StreamBlock } from './engine.ts';

/** Bits in a word. */
const wordBits = 32;

/** Whether the bytes of items of one of these types are those of their numbers in memory. */
function isPlain(type: IrType): boolean {
  return endianness() === 'LE' && kindsIn(countsOf(type)).length === 1
    && placesOf(type).every(({ name }) => name === 'float' || name === 'double' || name === 'int');
}

/** Reads items from chunks of bytes; an item may be spread over several. */
export class ByteReader {
  readonly #type: IrType;
  /** Bytes that are read together: an item, or a word of bits. */
  readonly #unit: number;
  readonly #isPlain: boolean;
  #rest = new Uint8Array();

  constructor(type: IrType) {
    this.#type = type;
    this.#unit = isScalar(type, 'bit') ? 4 : typeBytes(type);
    this.#isPlain = isPlain(type);
  }

  /** Scalars of the items that these bytes complete. */
  read(chunk: unknown): ArrayLike<number> {
    if (!(chunk instanceof Uint8Array)) throw refusal('source', 'bytes (Uint8Array)', describeValue(chunk));
    const length = this.#rest.length + chunk.length;
    const whole = length - length % this.#unit;
    const bytes = new Uint8Array(length);
    bytes.set(this.#rest);
    bytes.set(chunk, this.#rest.length);
    this.#rest = bytes.slice(whole);
    if (whole === 0) return [];
    if (!this.#isPlain) return decodeFile(bytes.subarray(0, whole), this.#type, 'source');
    const [kind] = kindsIn(countsOf(this.#type));
    const { buffer } = bytes;
    return kind === 'i' ? new Int32Array(buffer, 0, whole / 4) : kind === 'f' ? new Float32Array(buffer, 0, whole / 4)
      : new Float64Array(buffer, 0, whole / 8);
  }
}

/** Writes blocks as bytes. */
export interface ByteWriter {
  write(block: StreamBlock): Uint8Array;
  /** What is left at the end: a part of a word of bits. */
  end(): Uint8Array;
}

/** A writer for items of a type; undefined: for text. */
export function bytesOf(type: IrType | undefined): ByteWriter {
  const none = new Uint8Array();
  if (type === undefined) return { write: (block) => Buffer.from(block as string), end: () => none };
  if (isScalar(type, 'bit')) return bitWriter(type);
  const plain = isPlain(type);
  return {
    write: (block) => {
      if (typeof block === 'string' || !plain) return encodeFile(block as ArrayLike<number>, type);
      return new Uint8Array(block.buffer, block.byteOffset, block.byteLength);
    },
    end: () => none,
  };
}

function bitWriter(type: IrType): ByteWriter {
  let rest: number[] = [];
  return {
    write: (block) => {
      const bits = [...rest, ...block as Int32Array];
      rest = bits.splice(bits.length - bits.length % wordBits);
      return encodeFile(bits, type);
    },
    end: () => encodeFile(rest, type),
  };
}
