// Arrays of several calls as one, and back.
import type { TypedArray } from '../arrays.ts';
import { elementAt } from '../known.ts';

/** Arrays of one length, one after the other. */
export function joined<Kind extends TypedArray>(arrays: readonly Kind[]): Kind {
  const first = elementAt(arrays, 0);
  const all = new (first.constructor as new (length: number) => Kind)(first.length * arrays.length);
  arrays.forEach((array, index) => { all.set(array as never, index * first.length); });
  return all;
}

/** Part `index` of `count` equal ones, in a buffer of its own, or written to `out`. */
export function partOf<Kind extends TypedArray>(all: Kind, index: number, count: number, out?: Kind): Kind {
  const length = all.length / count;
  if (out === undefined) return all.slice(index * length, (index + 1) * length) as Kind;
  out.set(all.subarray(index * length, (index + 1) * length) as never);
  return out;
}
