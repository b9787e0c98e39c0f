// Places in a block's shared memory: arrays that are in use at the same time lie apart, in as few bytes as a short search finds.
import { elementAt } from '../../core/known.ts';

/** An array of so many bytes that is in use from one phase to another. */
export interface Packed {
  readonly bytes: number;
  readonly from: number;
  readonly to: number;
}

export interface Places {
  /** By array: where it begins. */
  readonly places: readonly number[];
  /** Where the last one ends. */
  readonly end: number;
  /** The array that ends there, by number; undefined if there is none. */
  readonly last: number | undefined;
}

/** How often the array that ends last is placed first, for each order to begin with; and how near to the least bytes is near enough. */
const tries = 32, nearEnough = 1.005;

const isApart = (a: Packed, b: Packed): boolean => a.from > b.to || b.from > a.to;

/** Places arrays in the given order, each at the first place from `begin` on where it fits. */
export function placeInOrder(arrays: readonly Packed[], order: readonly number[], begin: number): Places {
  const placed: { readonly array: Packed; readonly at: number; readonly end: number }[] = []; // by place
  const places = arrays.map(() => begin);
  let end = begin, last: number | undefined;
  for (const number of order) {
    const array = elementAt(arrays, number);
    let at = begin;
    for (const other of placed) {
      if (isApart(other.array, array)) continue;
      if (other.at >= at + array.bytes) break;
      at = Math.max(at, other.end);
    }
    places[number] = at;
    const next = placed.findIndex((other) => other.at > at);
    placed.splice(next < 0 ? placed.length : next, 0, { array, at, end: at + array.bytes });
    if (at + array.bytes > end) [end, last] = [at + array.bytes, number];
  }
  return { places, end, last };
}

/** An order in which arrays take few bytes: the largest ones first, or those in use first or longest; then what stands out comes first. */
export function packingOrder(arrays: readonly Packed[]): readonly number[] {
  const numbers = arrays.map((_, i) => i);
  const bySize = numbers.toSorted((a, b) => elementAt(arrays, b).bytes - elementAt(arrays, a).bytes);
  const by = (key: (array: Packed) => number): number[] => bySize.toSorted((a, b) => key(elementAt(arrays, a)) - key(elementAt(arrays, b)));
  const enough = nearEnough * leastBytes(arrays);
  let best: { readonly order: readonly number[]; readonly end: number } = { order: bySize, end: Infinity };
  for (const begin of [bySize, by(({ from }) => from), by(({ from, to }) => from - to)]) {
    let order = begin;
    for (let i = 0; i < tries && best.end > enough; ++i) {
      const { end, last } = placeInOrder(arrays, order, 0);
      if (end < best.end) best = { order, end };
      if (last === undefined || last === order[0]) break;
      order = [last, ...order.filter((each) => each !== last)];
    }
  }
  return best.order;
}

/** Bytes that are in use at the same time. */
function leastBytes(arrays: readonly Packed[]): number {
  return Math.max(0, ...arrays.map(({ from }) =>
    arrays.reduce((sum, each) => sum + (each.from <= from && from <= each.to ? each.bytes : 0), 0)));
}
