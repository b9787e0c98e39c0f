// Files as programs read and write them: little-endian 32-bit words (doubles: 64 bits); bits are packed 32 to a word, lowest first.
import { elementAt } from '../../core/known.ts';
import type { IrType, ScalarName } from '../ir.ts';
import { Fault } from './fault.ts';
import { isScalar, vectorSizes } from './values.ts';

/** The scalars of a type in memory order. */
export function scalarsOf(type: IrType, into: ScalarName[] = []): ScalarName[] {
  switch (type.kind) {
    case 'scalar': into.push(type.name); break;
    case 'vector': for (let i = 0; i < vectorSizes[type.name]; ++i) into.push('float'); break;
    case 'array': for (let i = 0; i < type.length; ++i) scalarsOf(type.element, into); break;
    case 'struct': for (const field of type.fields) scalarsOf(field.type, into); break;
    case 'void': break;
  }
  return into;
}

const width = (name: ScalarName): number => (name === 'double' ? 8 : 4);

/** The numbers of a file's complete items, in order. Throws a fault if there is not a single item. */
export function decodeFile(bytes: Uint8Array, type: IrType, path: string): Float64Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isScalar(type, 'bit')) {
    const bits = new Float64Array(Math.floor(bytes.length / 4) * 32);
    for (let i = 0; i < bits.length; ++i) bits[i] = (view.getUint32((i >> 5) * 4, true) >>> (i & 31)) & 1;
    return nonEmpty(bits, path);
  }
  const parts = scalarsOf(type);
  const itemBytes = parts.reduce((sum, part) => sum + width(part), 0);
  const numbers = new Float64Array(Math.floor(bytes.length / itemBytes) * parts.length);
  let at = 0;
  for (let i = 0; i < numbers.length; ++i) {
    const part = elementAt(parts, i % parts.length);
    numbers[i] = part === 'double' ? view.getFloat64(at, true) : part === 'float' ? view.getFloat32(at, true)
      : wordOf(part, view.getInt32(at, true));
    at += width(part);
  }
  return nonEmpty(numbers, path);
}

function wordOf(part: ScalarName, word: number): number {
  return part === 'boolean' ? Number(word !== 0) : part === 'bit' ? word & 1 : word;
}

function nonEmpty(numbers: Float64Array, path: string): Float64Array {
  if (numbers.length === 0) throw new Fault('S5010', `the file '${path}' holds no item`, undefined);
  return numbers;
}

/** Encodes numbers as a file; the last word of bits is padded with zeros. */
export function encodeFile(numbers: ArrayLike<number>, type: IrType): Uint8Array {
  if (isScalar(type, 'bit')) {
    const words = new DataView(new ArrayBuffer(Math.ceil(numbers.length / 32) * 4));
    for (let i = 0; i < numbers.length; ++i) {
      const at = (i >> 5) * 4;
      words.setUint32(at, (words.getUint32(at, true) | (elementAt(numbers, i) << (i & 31))) >>> 0, true);
    }
    return new Uint8Array(words.buffer);
  }
  const parts = scalarsOf(type);
  const size = Array.from(numbers, (_, i) => width(elementAt(parts, i % parts.length))).reduce((sum, each) => sum + each, 0);
  const view = new DataView(new ArrayBuffer(size));
  let at = 0;
  for (let i = 0; i < numbers.length; ++i) {
    const part = elementAt(parts, i % parts.length);
    if (part === 'double') view.setFloat64(at, elementAt(numbers, i), true);
    else if (part === 'float') view.setFloat32(at, elementAt(numbers, i), true);
    else view.setInt32(at, elementAt(numbers, i), true);
    at += width(part);
  }
  return new Uint8Array(view.buffer);
}
