// NumPy's .npy format, versions 1.0 and 2.0: little-endian, C order, the element types of this library.
import { describeValue, holds, typedArrayKind } from '../core/arrays.ts';
import { anything, choice, requireList } from '../core/checks.ts';
import { needed, optionsOf, type ChecksOf } from '../core/options.ts';
import { refusal } from '../core/errors.ts';
import { elementAt } from '../core/known.ts';

/** Element types that a .npy file of this library can hold. Complex arrays are interleaved pairs. */
export type NpyType =
  | 'float32' | 'float64' | 'complex64' | 'complex128' | 'int8' | 'uint8' | 'int16' | 'uint16' | 'int32' | 'uint32' | 'int64';

/** Data of one .npy file. For complex types `data` holds (real, imaginary) pairs. */
export interface NpyArray {
  readonly type: NpyType;
  readonly shape: readonly number[];
  readonly data:
    | Float32Array | Float64Array | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | BigInt64Array;
}

const DESCRIPTORS: Record<NpyType, string> = {
  float32: '<f4', float64: '<f8', complex64: '<c8', complex128: '<c16',
  int8: '|i1', uint8: '|u1', int16: '<i2', uint16: '<u2', int32: '<i4', uint32: '<u4', int64: '<i8',
};
const TYPES = new Map(Object.entries(DESCRIPTORS).map(([type, code]) => [code, type as NpyType]));
const MAGIC = Buffer.from('\x93NUMPY', 'latin1');

function arrayOver(type: NpyType, buffer: ArrayBuffer): NpyArray['data'] {
  switch (type) {
    case 'float32': case 'complex64': return new Float32Array(buffer);
    case 'float64': case 'complex128': return new Float64Array(buffer);
    case 'int8': return new Int8Array(buffer);
    case 'uint8': return new Uint8Array(buffer);
    case 'int16': return new Int16Array(buffer);
    case 'uint16': return new Uint16Array(buffer);
    case 'int32': return new Int32Array(buffer);
    case 'uint32': return new Uint32Array(buffer);
    case 'int64': return new BigInt64Array(buffer);
  }
}

function refuse(name: string, expected: string, received: string): never {
  throw refusal(name, expected, received);
}

/** The keys of the header's Python dictionary literal, of which only three exist. */
function parseHeader(header: string, name: string): { type: NpyType; shape: number[] } {
  const descriptor = /'descr'\s*:\s*'([^']*)'/.exec(header)?.[1];
  const order = /'fortran_order'\s*:\s*(True|False)/.exec(header)?.[1];
  const shapeText = /'shape'\s*:\s*\(([^)]*)\)/.exec(header)?.[1];
  if (descriptor === undefined || order === undefined || shapeText === undefined) {
    refuse(name, 'a .npy header with descr, fortran_order and shape', header.trim().slice(0, 80));
  }
  const type = TYPES.get(descriptor);
  if (type === undefined) {
    refuse(name, `element type ${[...TYPES.keys()].join(', ')}`, `'${descriptor}'`);
  }
  if (order === 'True') refuse(name, 'C order (numpy.ascontiguousarray)', 'Fortran order');
  const shape = shapeText.split(',').map((s) => s.trim()).filter((s) => s !== '').map(Number);
  if (shape.some((extent) => !Number.isSafeInteger(extent) || extent < 0)) {
    refuse(name, 'a shape of whole numbers', `(${shapeText})`);
  }
  return { type, shape };
}

/**
 * Reads the bytes of a .npy file.
 * @param bytes the file
 * @param name how errors name the file
 * @throws ArgumentError for anything but a complete little-endian C-order array of a known type
 */
export function parseNpy(bytes: Uint8Array, name = 'npy'): NpyArray {
  if (!holds(bytes, 'uint8')) refuse(name, 'the bytes of a .npy file (Uint8Array)', describeValue(bytes));
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (file.length < 10 || !file.subarray(0, 6).equals(MAGIC)) {
    refuse(name, 'a .npy file', `${file.length} bytes without the NUMPY magic`);
  }
  const wide = elementAt(file, 6) >= 2;
  const start = wide ? 12 : 10;
  const length = file.length < start ? NaN : wide ? file.readUInt32LE(8) : file.readUInt16LE(8);
  if (!(start + length <= file.length)) refuse(name, 'a complete header', `${file.length} bytes`);
  const { type, shape } = parseHeader(file.toString('latin1', start, start + length), name);
  const bytesPerElement = Number(DESCRIPTORS[type].slice(2));
  const elements = shape.reduce((product, extent) => product * extent, 1);
  const body = file.subarray(start + length);
  if (body.length !== elements * bytesPerElement) {
    refuse(name, `${elements * bytesPerElement} bytes of data for shape (${shape.join(', ')})`,
      `${body.length} bytes`);
  }
  const copy = new ArrayBuffer(body.length);
  new Uint8Array(copy).set(body);
  return { type, shape, data: arrayOver(type, copy) };
}

const arrayFields = optionsOf('a .npy array', {
  type: needed(choice(Object.keys(DESCRIPTORS) as NpyArray['type'][])), shape: anything, data: anything,
} satisfies ChecksOf<NpyArray>);

function checkArray(array: NpyArray): void {
  const { type, shape, data } = arrayFields.read(array, 'array');
  requireList(shape, 'array.shape');
  if (!Array.from(shape).every((extent) => Number.isSafeInteger(extent) && extent >= 0)) {
    refuse('array.shape', 'whole numbers', describeValue(shape));
  }
  const kind = arrayOver(type, new ArrayBuffer(0)).constructor.name;
  if (typedArrayKind(data) !== kind) refuse('array.data', `a ${kind}`, describeValue(data));
}

/**
 * The bytes of a .npy file (version 1.0; header padded to 64 bytes as NumPy does).
 * @throws ArgumentError when `shape` does not multiply to the number of elements, or `data` has another type than `type`
 */
export function formatNpy(array: NpyArray): Uint8Array {
  checkArray(array);
  const { type, shape, data } = array;
  const elements = data.length / (type.startsWith('complex') ? 2 : 1);
  if (Array.from(shape).reduce((product, extent) => product * extent, 1) !== elements) {
    refuse('array.shape', `extents that multiply to ${elements}`, `(${Array.from(shape).join(', ')})`);
  }
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${Array.from(shape).join(', ')})`;
  const dictionary = `{'descr': '${DESCRIPTORS[type]}', 'fortran_order': False, 'shape': ${tuple}, }`;
  const padding = 63 - ((10 + dictionary.length) % 64);
  const header = Buffer.from(`${dictionary}${' '.repeat(padding)}\n`, 'latin1');
  const prefix = Buffer.alloc(10);
  MAGIC.copy(prefix);
  prefix[6] = 1;
  prefix.writeUInt16LE(header.length, 8);
  return Buffer.concat([prefix, header, Buffer.from(data.buffer, data.byteOffset, data.byteLength)]);
}
