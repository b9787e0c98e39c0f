// Where everything lies in a block's shared memory: what is in use at the same time lies apart.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer } from '../../kernel/ir.ts';
import { exact } from '../../kernel/memory/exact.ts';
import { firstFit } from '../../kernel/memory/packing.ts';
import { heightOf, prepare, resized, type Prepared } from '../../kernel/memory/prepared.ts';
import { Work } from '../../kernel/memory/work.ts';
import { countsOf, type Kind } from '../plan/layout.ts';
import type { External } from '../plan/plan.ts';
import { gapsFor, noGaps, placeWith, scalarBytes, type Gapped, type Gaps } from './cuda-gaps.ts';

/** A part of a block's shared memory: the scalars of one kind of a channel or stream. */
export interface Tile {
  readonly buffer: Buffer;
  readonly bytesEach: number;
  /** Scalars in an item. */
  readonly stride: number;
  /** Where it begins; in odd rounds it lies `half` bytes behind if it is in the part that alternates. */
  readonly at: number;
  readonly alternates: boolean;
  readonly gaps: Gaps;
}

/** An open end: where steady states find their items. */
export interface FusedEnd {
  readonly external: External;
  readonly kinds: readonly Kind[];
  /** Items in a steady state. */
  readonly items: number;
  /** Items before the first steady state. */
  readonly before: number;
}

/** Bytes by which a landing area is longer than what lands there: copies keep their alignment. */
const landingSlack = 16;

/**
 * Steady states of rounds for which an order of placing is looked for: it suits others as well; how long, about 5 ms; and for how
 * many stretches at most.
 */
const usualStates = 16, orderWork = 300_000, mostOrdered = 256;
/** Scalars that lie in shared memory for a round, and when. */
export interface Stretch extends Gapped {
  readonly buffer: Buffer;
  /** Scalars in a steady state. */
  readonly each: number;
  /** First and last phase in which it is in use: the load is phase 0, level l is l + 1. */
  readonly from: number;
  readonly to: number;
}

interface Sized { readonly stretch: Stretch; readonly gaps: Gaps; readonly bytes: number }

/** A block's shared memory. */
export interface Placed {
  readonly tiles: ReadonlyMap<Buffer, Tile>;
  readonly landings: readonly number[];
  readonly half: number;
  readonly bytes: number;
}

/** Stretches, what keeps them apart, and the order in which they take the least memory in rounds of {@link usualStates}. */
interface Search {
  readonly stretches: readonly Stretch[];
  readonly problem: Prepared;
  /** Undefined for too many stretches. */
  readonly order: readonly number[] | undefined;
}

export class Places {
  readonly #input: FusedEnd;
  readonly #lastLevel: number;
  /** By kind: the buffer of the input. */
  readonly #buffer: (kind: Kind) => Buffer;
  /** For the stretches that were laid out last. */
  #search: Search | undefined;

  constructor(input: FusedEnd, lastLevel: number, buffer: (kind: Kind) => Buffer) {
    this.#input = input;
    this.#lastLevel = lastLevel;
    this.#buffer = buffer;
  }

  /** Places in shared memory for rounds of so many steady states: what is in use at the same time lies apart. */
  layOut(states: number, stretches: readonly Stretch[], readsAhead: boolean): Placed {
    const { sized, problem, orders } = this.#sized(states, stretches);
    return orders.map((order) => this.#placeBy(states, readsAhead, sized, problem, order))
      .reduce((best, each) => (each.bytes < best.bytes ? each : best));
  }

  /** Whether {@link layOut} finds places in so many bytes. */
  fits(states: number, stretches: readonly Stretch[], readsAhead: boolean, bytes: number): boolean {
    const { sized, problem, orders } = this.#sized(states, stretches);
    return problem.lowerBound * problem.unit <= bytes
      && orders.some((order) => this.#placeBy(states, readsAhead, sized, problem, order).bytes <= bytes);
  }

  /** Stretches with their bytes, and in which orders to place them. */
  #sized(states: number, stretches: readonly Stretch[]): { sized: Sized[]; problem: Prepared; orders: (readonly number[])[] } {
    if (this.#search?.stretches !== stretches) this.#search = searchFor(stretches);
    const { problem, order } = this.#search;
    const sized = sizedFor(stretches, states);
    const bySize = numbersBy(sized.map((_, number) => number), ({ bytes }) => -bytes, sized);
    const orders = [bySize, numbersBy(bySize, ({ stretch: { from } }) => from, sized), ...order === undefined ? [] : [order]];
    return { sized, problem: resized(problem, sized.map(({ bytes }) => bytes)), orders };
  }

  #placeBy(states: number, readsAhead: boolean, sized: readonly Sized[], problem: Prepared, order: readonly number[]): Placed {
    const direct = readsAhead ? order.find((number) => this.#isDirect(elementAt(sized, number))) : undefined;
    const half = direct === undefined ? 0 : elementAt(sized, direct).bytes;
    const { landings, bytes: landed } = direct === undefined ? this.#landingsOf(states, readsAhead) : { landings: [], bytes: 0 };
    // What stays for the next round is not in the part that alternates, and nothing lies partly in it.
    const floors = sized.map(({ stretch: { from, to } }, number) =>
      (number !== direct && from === 0 && to === this.#lastLevel + 2 ? Math.max(landed, half) : landed));
    const { unit, bytes } = problem;
    const offsets = firstFit(problem, direct === undefined ? order : [direct, ...order.filter((number) => number !== direct)],
      { floors: floors.map((floor) => floor / unit), fence: half / unit });
    const tiles = new Map(sized.map(({ stretch: { buffer, kind, stride }, gaps }, number) => {
      const at = unit * elementAt(offsets, number), alternates = at < half;
      return [buffer, { buffer, bytesEach: scalarBytes[kind], stride, at: alternates ? at : at + half, alternates, gaps }] as const;
    }));
    return { tiles, landings, half, bytes: Math.max(landed, half, unit * heightOf(offsets, bytes)) + half };
  }

  /** Where the next round's input lands, from the beginning on. */
  #landingsOf(states: number, readsAhead: boolean): { landings: readonly number[]; bytes: number } {
    const landings: number[] = [];
    let bytes = 0;
    const { external, kinds, items } = this.#input;
    for (const kind of readsAhead ? kinds : []) {
      landings.push(bytes);
      const scalars = (states * items + external.later.beyond) * countsOf(external.type)[kind];
      bytes += Math.ceil((scalars * scalarBytes[kind] + landingSlack) / 16) * 16;
    }
    return { landings, bytes };
  }

  /** Whether it is the input, and groups of 16 bytes can be copied to where the firings expect them. */
  #isDirect({ stretch: { buffer, kind, each, stride }, gaps: { shift, row, gap } }: Sized): boolean {
    const { kinds: [only, ...others] } = this.#input;
    const together = 16 / scalarBytes[kind];
    return only !== undefined && others.length === 0 && buffer === this.#buffer(only) && each % together === 0 && shift === noGaps
      && (gap === 0 || (row * stride % together === 0 && gap * stride % together === 0));
  }
}

/**
 * Whether buffers can be stored while the next round begins: they have no gaps and, unless the input is read ahead, share no bytes with
 * what is in use from a round's load on.
 */
export function areStoredAside(
  buffers: readonly Buffer[], { states, stretches, tiles, options: { readsAhead } }: {
    readonly states: number; readonly stretches: readonly Stretch[]; readonly tiles: ReadonlyMap<Buffer, Tile>;
    readonly options: { readonly readsAhead: boolean };
  },
): boolean {
  const ranges = new Map(sizedFor(stretches, states).map(({ stretch: { buffer, from }, bytes }) => {
    const { at } = required(tiles.get(buffer));
    return [buffer, { at, end: at + bytes, from }] as const;
  }));
  return buffers.every((buffer) => {
    const { gaps: { shift, gap } } = required(tiles.get(buffer)), mine = required(ranges.get(buffer));
    const isApart = (): boolean => [...ranges.values()].every((other) =>
      other === mine || other.from > 0 || other.end <= mine.at || mine.end <= other.at);
    return shift === noGaps && gap === 0 && (readsAhead || isApart());
  });
}

/** Stretches and their bytes in rounds of so many steady states. */
function sizedFor(stretches: readonly Stretch[], states: number): Sized[] {
  return stretches.map((stretch) => {
    const gaps = gapsFor(stretch);
    const bytes = scalarBytes[stretch.kind] * (placeWith(gaps, stretch.stride, stretch.each * states + stretch.beside) + 1);
    return { stretch, gaps, bytes: Math.ceil(bytes / 16) * 16 };
  });
}

/** Numbers of stretches, those with the least key first; in the given order where it is the same. */
function numbersBy(numbers: readonly number[], key: (each: Sized) => number, sized: readonly Sized[]): number[] {
  const keys = sized.map(key);
  return numbers.toSorted((a, b) => elementAt(keys, a) - elementAt(keys, b));
}

function searchFor(stretches: readonly Stretch[]): Search {
  const blocks = sizedFor(stretches, usualStates).map(({ stretch: { buffer: { name }, from, to }, bytes }) =>
    ({ name, bytes, live: [{ begin: from, end: to + 1 }] }));
  const problem = prepare({ blocks });
  if (stretches.length > mostOrdered) return { stretches, problem, order: undefined };
  const steps = exact(problem, new Work(orderWork));
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  // First fit in the order of a placement places nothing higher than that.
  const { offsets } = step.value;
  return { stretches, problem, order: offsets.map((_, block) => block).sort((a, b) => elementAt(offsets, a) - elementAt(offsets, b)) };
}
