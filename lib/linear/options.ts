// Checks of the options that all solver calls share.
import { describeValue, holds } from '../core/arrays.ts';
import { refusal } from '../core/errors.ts';
import { whole, type Check } from '../core/checks.ts';
import { normally } from '../core/options.ts';
import type { BatchOptions, Layout, Strides } from './types.ts';

/** Counts and strides: they stay exact in float64 and fit int64. */
const count = whole(0);

const strideNames: readonly string[] = ['offset', 'systemStride', 'rowStride', 'rhsStride'] satisfies (keyof Strides)[];

function isStrides(value: unknown): value is Strides {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) return false;
  const { systemStride, rowStride } = value as Partial<Strides>;
  if (systemStride === undefined || rowStride === undefined) return false;
  return Object.entries(value).every(([name, stride]) =>
    strideNames.includes(name) && (stride === undefined || (Number.isSafeInteger(stride) && (stride as number) >= 0)));
}

const layout: Check<Layout> = (value, name) => {
  if (value === 'contiguous' || value === 'interleaved' || isStrides(value)) return;
  const strides = 'strides { offset?, systemStride, rowStride, rhsStride? } that are whole and not negative';
  throw refusal(name, `"contiguous", "interleaved" or ${strides}`, describeValue(value));
};

/** Layouts of arrays of these names. */
function layoutsOf<Name extends string>(arrayNames: readonly Name[]): Check<NonNullable<BatchOptions<Name>['layouts']>> {
  const known: readonly string[] = arrayNames;
  return (value, name) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw refusal(name, 'an object of layouts', describeValue(value));
    }
    for (const [key, each] of Object.entries(value)) {
      if (!known.includes(key)) throw refusal(`${name}.${key}`, `layouts of ${known.join(', ')}`, `one of ${key}`);
      if (each !== undefined) layout(each, `${name}.${key}`);
    }
  };
}

const offsets: Check<NonNullable<BatchOptions<string>['offsets']>> = (value, name) => {
  if (holds(value, 'int32') || holds(value, 'int64')) return;
  if (!Array.isArray(value)) throw refusal(name, 'an array of whole numbers, an Int32Array or a BigInt64Array', describeValue(value));
  value.forEach((offset, index) => count(offset, `${name}.${index}`));
};

/** Checks of BatchOptions for arrays with these names. */
export function batchChecks<Name extends string>(arrayNames: readonly Name[]) {
  return {
    n: count, batch: count, rhsCount: normally(count, 1), offsets, layout: normally(layout, 'contiguous'), layouts: layoutsOf(arrayNames),
  };
}
