// Where everything lies in a block's shared memory: what is in use at the same time lies apart.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer } from '../../kernel/ir.ts';
import { countsOf, type Kind } from '../plan/layout.ts';
import type { External } from '../plan/plan.ts';
import { gapsFor, noGaps, placeWith, scalarBytes, type Gapped, type Gaps } from './cuda-gaps.ts';
import { packingOrder } from './cuda-packing.ts';

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

/** Steady states of rounds for which places in shared memory are looked for: they suit others as well. */
const usualStates = 16;
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

export class Places {
  readonly #input: FusedEnd;
  readonly #lastLevel: number;
  /** By kind: the buffer of the input. */
  readonly #buffer: (kind: Kind) => Buffer;
  /** Stretches in the order of a short search, for those that were laid out last. */
  #ranks: { readonly of: readonly Stretch[]; readonly by: ReadonlyMap<Stretch, number> } = { of: [], by: new Map() };

  constructor(input: FusedEnd, lastLevel: number, buffer: (kind: Kind) => Buffer) {
    this.#input = input;
    this.#lastLevel = lastLevel;
    this.#buffer = buffer;
  }

  /** Places in shared memory for rounds of so many steady states: what is in use at the same time lies apart. */
  layOut(states: number, stretches: readonly Stretch[], readsAhead: boolean): Placed {
    // What is large first, what is made first, or as a short search finds for sizes of this kind.
    if (this.#ranks.of !== stretches) {
      const usual = sizedFor(stretches, usualStates).map(({ stretch: { from, to }, bytes }) => ({ from, to, bytes }));
      this.#ranks = { of: stretches, by: new Map(packingOrder(usual).map((number, rank) => [elementAt(stretches, number), rank])) };
    }
    const { by } = this.#ranks;
    const sized = sizedFor(stretches, states);
    return [
      this.#placeBy(states, readsAhead, sized.toSorted((a, b) => b.bytes - a.bytes)),
      this.#placeBy(states, readsAhead, sized.toSorted((a, b) => a.stretch.from - b.stretch.from || b.bytes - a.bytes)),
      this.#placeBy(states, readsAhead, sized.toSorted((a, b) => required(by.get(a.stretch)) - required(by.get(b.stretch)))),
    ].reduce((best, each) => (each.bytes < best.bytes ? each : best));
  }

  #placeBy(states: number, readsAhead: boolean, sized: readonly Sized[]): Placed {
    const direct = readsAhead ? sized.find(({ stretch, gaps }) => this.#isDirect(stretch, gaps)) : undefined;
    const half = direct?.bytes ?? 0;
    const { landings, bytes: landed } = direct === undefined ? this.#landingsOf(states, readsAhead) : { landings: [], bytes: 0 };
    const placed: { readonly stretch: Stretch; readonly at: number; readonly end: number }[] = [];
    const tiles = new Map<Buffer, Tile>();
    let most = Math.max(landed, half);
    for (const each of direct === undefined ? sized : [direct, ...sized.filter((other) => other !== direct)]) {
      const { stretch, gaps, bytes } = each;
      // What stays for the next round is not in the part that alternates, and nothing lies partly in it.
      const least = bytes > half || (stretch.from === 0 && stretch.to === this.#lastLevel + 2) ? Math.max(landed, half) : landed;
      let at = each === direct ? 0 : least;
      for (const other of placed) { // by place
        if (other.stretch.from > stretch.to || stretch.from > other.stretch.to) continue;
        if (other.at >= at + bytes) break;
        at = Math.max(at, other.end);
        if (at < half && at + bytes > half) at = half;
      }
      const next = placed.findIndex((other) => other.at > at);
      placed.splice(next < 0 ? placed.length : next, 0, { stretch, at, end: at + bytes });
      most = Math.max(most, at + bytes);
      const alternates = at < half;
      tiles.set(stretch.buffer, { buffer: stretch.buffer, bytesEach: scalarBytes[stretch.kind], stride: stretch.stride,
        at: alternates ? at : at + half, alternates, gaps });
    }
    return { tiles, landings, half, bytes: most + half };
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
  #isDirect({ buffer, kind, each, stride }: Stretch, { shift, row, gap }: Gaps): boolean {
    const { kinds: [only, ...others] } = this.#input;
    const together = 16 / scalarBytes[kind];
    return only !== undefined && others.length === 0 && buffer === this.#buffer(only) && each % together === 0 && shift === noGaps
      && (gap === 0 || (row * stride % together === 0 && gap * stride % together === 0));
  }
}

/** Stretches and their bytes in rounds of so many steady states. */
function sizedFor(stretches: readonly Stretch[], states: number): Sized[] {
  return stretches.map((stretch) => {
    const gaps = gapsFor(stretch);
    const bytes = scalarBytes[stretch.kind] * (placeWith(gaps, stretch.stride, stretch.each * states + stretch.beside) + 1);
    return { stretch, gaps, bytes: Math.ceil(bytes / 16) * 16 };
  });
}
