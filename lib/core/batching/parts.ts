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

/**
 * Part `index` of `count` equal ones: written to `out`, or in a buffer of its own; in place for calls whose arrays are `owned`, whose
 * results nobody else changes either.
 */
export function partOf<Kind extends TypedArray>(all: Kind, index: number, count: number, out?: Kind, owned = false): Kind {
  const length = all.length / count;
  const from = index * length, to = from + length;
  if (out === undefined) return (owned ? all.subarray(from, to) : all.slice(from, to)) as Kind;
  out.set(all.subarray(from, to) as never);
  return out;
}
