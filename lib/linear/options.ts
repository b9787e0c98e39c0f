// Tables of the options that calls of solvers share.
import { describeValue, holds } from '../core/arrays.ts';
import { refusal } from '../core/errors.ts';
import { anything, choice, count, truth, type FieldCheck } from '../core/options.ts';
import { structures, transposes, type Strides } from './types.ts';

const strideNames: readonly string[] = ['offset', 'systemStride', 'rowStride', 'rhsStride'] satisfies (keyof Strides)[];

function isStrides(value: unknown): value is Strides {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) return false;
  const { systemStride, rowStride } = value as Partial<Strides>;
  if (systemStride === undefined || rowStride === undefined) return false;
  return Object.entries(value).every(([name, stride]) =>
    strideNames.includes(name) && (stride === undefined || (Number.isSafeInteger(stride) && (stride as number) >= 0)));
}

const layout: FieldCheck = (value, name) => {
  if (value === 'contiguous' || value === 'interleaved' || isStrides(value)) return;
  const strides = 'strides { offset?, systemStride, rowStride, rhsStride? } that are whole and not negative';
  throw refusal(name, `"contiguous", "interleaved" or ${strides}`, describeValue(value));
};

/** Layouts of arrays of these names. */
function layoutsOf(arrayNames: readonly string[]): FieldCheck {
  return (value, name) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw refusal(name, 'an object of layouts', describeValue(value));
    }
    for (const [key, each] of Object.entries(value)) {
      if (!arrayNames.includes(key)) throw refusal(`${name}.${key}`, `layouts of ${arrayNames.join(', ')}`, `one of ${key}`);
      if (each !== undefined) layout(each, `${name}.${key}`);
    }
  };
}

const offsets: FieldCheck = (value, name) => {
  if (holds(value, 'int32') || holds(value, 'int64')) return;
  if (!Array.isArray(value)) throw refusal(name, 'an array of whole numbers, an Int32Array or a BigInt64Array', describeValue(value));
  value.forEach((offset, index) => count(offset, `${name}.${index}`));
};

/** Fields of BatchOptions of arrays of these names. */
export function batchFields(arrayNames: readonly string[]) {
  return { n: count, batch: count, rhsCount: count, offsets, layout, layouts: layoutsOf(arrayNames) };
}

/** Arrays are checked by views.ts, where missing ones are reported too. */
export const arrayField = anything;

/** What a call says of its matrices beside their entries. */
export const operatorFields = { complex: truth, periodic: truth, transpose: choice(transposes), structure: choice(structures) };
