// Where the numbers of a cascade (./cascade.ts) are kept that other lanes or later rows take: in shared memory, a ring of rows for each.
// Registers would hold them too long: what a compiler moves to memory for lack of registers are loads that are under way, and then it
// waits for them. What comes from other lanes costs half as many instructions as shuffles do.
import { required } from '../../core/known.ts';
import type { Cascade, Link } from './links.ts';
import type { Taken } from './sharing.ts';

export interface Rings {
  /** By number: whether one row of it is enough, and which of those of one row, or of several, it is. */
  readonly places: ReadonlyMap<number, { readonly isOne: boolean; readonly at: number }>;
  /** How many of both, and rows of the latter. */
  readonly ones: number;
  readonly others: number;
  readonly rows: number;
  /** By how many lanes those that are read are before a lane or behind it. */
  readonly beside: readonly number[];
}

/** The link that makes a number. */
export const makerOf = ({ links }: Pick<Cascade, 'links'>, index: number): Link =>
  required(links.find(({ from, f }) => index >= from && index < from + f.results.length));

/** Rows since a number that a link takes was made. */
export const ageOf = (cascade: Pick<Cascade, 'links'>, { lead }: Link, { index, offset }: Taken): number =>
  (offset.length === 1 ? 0 : makerOf(cascade, index).lead - lead - required(offset[0]));

const known = new WeakMap<Cascade, Rings>();

export function ringsOf(cascade: Cascade): Rings {
  const rings = known.get(cascade) ?? make(cascade);
  known.set(cascade, rings);
  return rings;
}

function make(cascade: Cascade): Rings {
  const places = new Map<number, { isOne: boolean; at: number }>();
  let [ones, others, rows] = [0, 0, 1];
  const beside = new Set<number>();
  const found = new Map<number, { oldest: number; isKept: boolean }>();
  for (const link of cascade.links) {
    for (const each of link.takes) {
      if (each.offset.length === 1) continue; // rows of a line are not followed by others
      const age = ageOf(cascade, link, each), by = required(each.offset.at(-1));
      const { oldest, isKept } = found.get(each.index) ?? { oldest: 0, isKept: makerOf(cascade, each.index).loads !== undefined };
      found.set(each.index, { oldest: Math.max(oldest, age), isKept: isKept || age > 1 || by !== 0 });
      if (by !== 0) beside.add(by);
    }
  }
  for (const [index, { oldest, isKept }] of [...found].sort(([a], [b]) => a - b)) {
    if (!isKept) continue;
    places.set(index, { isOne: oldest === 0, at: oldest === 0 ? ones : others });
    if (oldest === 0) ones += 1;
    else others += 1;
    rows = Math.max(rows, oldest + 1);
  }
  return { places, ones, others, rows, beside: [...beside].sort((a, b) => a - b) };
}

/** Numbers of a block in shared memory. */
export function ringLength(cascade: Cascade): number {
  const { ones, others, rows } = ringsOf(cascade);
  return (ones + rows * others) * cascade.lanes;
}
