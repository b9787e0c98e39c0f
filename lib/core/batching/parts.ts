// Arrays of several calls as one, and back.
import type { TypedArray } from '../arrays.ts';
import { KeptBuffers } from '../kept-buffers.ts';
import { elementAt } from '../known.ts';

/** Inputs of launches serve again: as garbage they would be collected several times a second. */
const kept = new KeptBuffers<ArrayBuffer>(2 ** 12);

/** Arrays of one length, one after the other, for one launch: {@link giveBack} takes them. */
export function joined<Kind extends TypedArray>(arrays: readonly Kind[]): Kind {
  const first = elementAt(arrays, 0);
  const bytes = first.byteLength * arrays.length;
  const make = first.constructor as new (buffer: ArrayBuffer, from: number, length: number) => Kind;
  const all = new make(kept.take(bytes) ?? new ArrayBuffer(2 ** Math.ceil(Math.log2(Math.max(1, bytes)))), 0, first.length * arrays.length);
  arrays.forEach((array, index) => { all.set(array as never, index * first.length); });
  return all;
}

/** Says that the launch has succeeded for which arrays were joined, so that nobody reads them any more. */
export function giveBack(arrays: Iterable<TypedArray>): void {
  for (const { buffer } of arrays) kept.give(buffer as ArrayBuffer);
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
