// Minimises bytes by branch and bound. Blocks are placed by increasing offset, each as low as the previous ones allow: any placement can be
// pushed down to one of this form (canonical placements and dominance after Moffitt, MiniMalloc, ASPLOS 2023; here with alignment, and an
// interference graph that need not come from intervals).
import { addAt, elementAt, lastOf, required } from '../../core/known.ts';
import type { Work } from './work.ts';
import { packing } from './packing.ts';
import { alignUp, leastRoom, heightOf, type Prepared } from './prepared.ts';

/** A placement and whether the search was complete. */
export interface ExactResult {
  readonly offsets: number[];
  readonly complete: boolean;
}

/** Marks a placed block in the key of a state. */
const maxCode = 0xffff;
/** The maximum number of states that are remembered. */
const maxRemembered = 400_000;

/** How a state was reached: where the next block may begin (offset and block combined in one number), and the height so far. */
interface Arrival {
  readonly from: number;
  readonly height: number;
}

/** A clique, with the maximum space that its topmost block can leave free below the next multiple of the alignment. */
interface SearchedClique {
  readonly blocks: readonly number[];
  readonly alignment: number;
  readonly slack: number;
}

/** A state of the search, and the block being tried in it, or -1. */
interface Frame {
  readonly height: number;
  readonly candidates: readonly number[];
  tried: number;
  block: number;
  raised: [block: number, floor: number][];
}

/** A clique that contains a block, and the block's padded size in it. */
interface Membership {
  readonly clique: number;
  readonly padded: number;
}

/** For each block, the previous one that is interchangeable with it: same size, alignment and neighbours, adjacent or not. */
function twinsOf({ bytes, alignment, neighbours }: Prepared): number[] {
  const latest = new Map<string, number>();
  return bytes.map((size, block) => {
    const kind = `${size}/${alignment[block]}/`;
    const open = `${kind}open ${elementAt(neighbours, block).join()}`;
    const closed = `${kind}closed ${[...elementAt(neighbours, block), block].sort((a, b) => a - b).join()}`;
    const twin = latest.get(open) ?? latest.get(closed) ?? -1;
    latest.set(open, block).set(closed, block);
    return twin;
  });
}

/** Searches one connected component of the interference graph. */
class Search {
  readonly bytes: readonly number[];
  private readonly alignment: readonly number[];
  private readonly neighbours: readonly (readonly number[])[];
  private readonly cliques: readonly SearchedClique[];
  private readonly cliquesOf: readonly (readonly Membership[])[];
  /** An interchangeable block that must be placed first, or -1. */
  private readonly twin: readonly number[];
  private readonly floor: number[];
  private readonly placed: boolean[];
  private readonly rest: number[];
  /** Whether the key of a state can have a single character per floor, because floors are small. */
  private readonly compact: boolean;
  private readonly codes: number[];
  private readonly offsets: number[];
  private readonly known = new Map<string, Arrival>();
  /** The number of bytes to beat. */
  least: number;
  best: readonly number[] | undefined;
  private readonly frames: Frame[] = [];
  private readonly goal: number;
  private readonly work: Work;

  constructor(problem: Prepared, least: number, goal: number, work: Work) {
    const { count, bytes, alignment, neighbours, cliques } = problem;
    this.bytes = bytes;
    this.alignment = alignment;
    this.neighbours = neighbours;
    const padded = (block: number, unit: number) => alignUp(elementAt(bytes, block), unit);
    this.cliques = cliques.map(({ blocks, alignment: unit }) => ({
      blocks, alignment: unit, slack: blocks.reduce((most, block) => Math.max(most, padded(block, unit) - elementAt(bytes, block)), 0),
    }));
    this.cliquesOf = bytes.map((size, block) => cliques.flatMap((clique, c) => (
      clique.blocks.includes(block) ? [{ clique: c, padded: alignUp(size, clique.alignment) }] : [])));
    this.twin = twinsOf(problem);
    this.floor = new Array<number>(count).fill(0);
    this.placed = new Array<boolean>(count).fill(false);
    this.offsets = new Array<number>(count).fill(0);
    this.rest = cliques.map(({ blocks, alignment: unit }) => blocks.reduce((sum, block) => sum + padded(block, unit), 0));
    this.codes = new Array<number>(count).fill(0);
    this.compact = least < maxCode && count < 1000;
    this.least = least;
    this.goal = goal;
    this.work = work;
    this.enter(0, -1, 0);
  }

  /**
   * Tries canonical placements until all are tried, the work budget runs out, or `slice` operations are spent. Returns whether to continue.
   */
  proceed(slice: number): boolean {
    const until = Math.max(0, this.work.left - slice);
    while (this.frames.length > 0 && this.work.left > until) this.advance();
    return this.frames.length > 0 && !this.work.exhausted;
  }

  /** Whether every canonical placement was tried, or proved to be no better. */
  get complete(): boolean {
    return this.frames.length === 0;
  }

  /** Whether the unplaced blocks of some clique, stacked from the lowest offset possible for any of them, reach `least`. */
  private hopeless(last: number): boolean {
    for (let c = 0; c < this.cliques.length; ++c) {
      const rest = required(this.rest[c]);
      if (rest === 0) continue;
      const { blocks, alignment, slack } = required(this.cliques[c]);
      let lowest = Infinity;
      for (const block of blocks) {
        if (!this.placed[block] && required(this.floor[block]) < lowest) lowest = required(this.floor[block]);
      }
      this.work.spend(blocks.length);
      const from = Math.max(lowest, last);
      if ((alignment === 1 ? from : alignUp(from, alignment)) + rest - slack >= this.least) return true;
    }
    return false;
  }

  /** Unplaced blocks that may come next: lowest floor first, then largest first. */
  private candidates(last: number, lastBlock: number): number[] {
    const { floor, bytes, placed } = this;
    let reach = Infinity; // a block that would begin at or above the end of another one's free space is dominated
    for (let block = 0; block < placed.length; ++block) {
      if (placed[block]) continue;
      reach = Math.min(reach, required(floor[block]) + required(bytes[block]));
      // Left behind: it can only move up to the current offset if an unplaced neighbour is placed first.
      if (required(floor[block]) < last && required(this.neighbours[block]).every((other) => placed[other])) return [];
    }
    const found: number[] = [];
    for (let block = 0; block < placed.length; ++block) {
      if (placed[block] || required(floor[block]) >= reach || required(floor[block]) < last) continue;
      if (floor[block] === last && block < lastBlock) continue; // equal offsets: one order is enough
      const twin = required(this.twin[block]);
      if (twin >= 0 && !placed[twin]) continue;
      found.push(block);
    }
    this.work.spend(2 * placed.length);
    return found.sort((a, b) => required(floor[a]) - required(floor[b]) || required(bytes[b]) - required(bytes[a]) || a - b);
  }

  /** Records a state: placed blocks, and floors of the others. True if it has been seen before, at no greater height or offset. */
  private seen(last: number, lastBlock: number, height: number): boolean {
    const { floor, placed, codes } = this;
    for (let block = 0; block < placed.length; ++block) codes[block] = placed[block] ? maxCode : required(floor[block]);
    const key = this.compact ? String.fromCharCode(...codes) : codes.join();
    const from = last * this.placed.length + lastBlock;
    const known = this.known.get(key);
    this.work.spend(4 * this.placed.length);
    if (known !== undefined) return known.from <= from && known.height <= height;
    if (this.known.size < maxRemembered) this.known.set(key, { from, height });
    return false;
  }

  /** Enters a state: records a complete placement, or starts trying the blocks that may come next. */
  private enter(last: number, lastBlock: number, height: number): void {
    const depth = this.frames.length;
    if (depth === this.placed.length) {
      this.least = height;
      this.best = [...this.offsets];
      return;
    }
    if (this.hopeless(last) || (depth > 1 && this.seen(last, lastBlock, height))) return;
    this.frames.push({ height, candidates: this.candidates(last, lastBlock), tried: 0, block: -1, raised: [] });
  }

  /** Tries the next block of the innermost state, or leaves the state if there is none. */
  private advance(): void {
    const frame = lastOf(this.frames);
    if (frame.block >= 0) this.lift(frame);
    const block = frame.candidates[frame.tried];
    if (block === undefined || this.least <= this.goal) {
      this.frames.pop();
      return;
    }
    frame.tried += 1;
    this.work.spend(1);
    const at = elementAt(this.floor, block);
    const end = at + elementAt(this.bytes, block);
    if (end >= this.least) return;
    this.put(frame, block, at, end);
    this.enter(at, block, Math.max(frame.height, end));
  }

  private put(frame: Frame, block: number, at: number, end: number): void {
    frame.block = block;
    for (const other of elementAt(this.neighbours, block)) {
      const above = alignUp(end, required(this.alignment[other]));
      if (this.placed[other] || required(this.floor[other]) >= above) continue;
      frame.raised.push([other, required(this.floor[other])]);
      this.floor[other] = above;
    }
    this.placed[block] = true;
    this.offsets[block] = at;
    for (const { clique, padded } of elementAt(this.cliquesOf, block)) addAt(this.rest, clique, -padded);
  }

  private lift(frame: Frame): void {
    const { block } = frame;
    for (const { clique, padded } of elementAt(this.cliquesOf, block)) addAt(this.rest, clique, padded);
    this.placed[block] = false;
    for (const [other, floor] of frame.raised) this.floor[other] = floor;
    frame.raised = [];
    frame.block = -1;
  }
}

/** Connected components of the interference graph, each as ascending block indices. */
function components({ count, neighbours }: Prepared): number[][] {
  const part: number[] = new Array<number>(count).fill(-1);
  const parts: number[][] = [];
  for (let block = 0; block < count; ++block) {
    if (elementAt(part, block) >= 0) continue;
    const members = [block];
    part[block] = parts.length;
    for (let i = 0; i < members.length; ++i) {
      for (const other of elementAt(neighbours, elementAt(members, i))) {
        if (elementAt(part, other) >= 0) continue;
        part[other] = parts.length;
        members.push(other);
      }
    }
    parts.push(members.sort((a, b) => a - b));
  }
  return parts;
}

/** The problem restricted to some blocks, which share no edge with the others. */
function restrict(problem: Prepared, members: readonly number[]): Prepared {
  const place = new Map(members.map((block, i) => [block, i]));
  const bytes = members.map((block) => elementAt(problem.bytes, block));
  const cliques = problem.cliques.filter(({ blocks }) => place.has(elementAt(blocks, 0)))
    .map(({ blocks, alignment }) => ({ alignment, blocks: blocks.map((block) => required(place.get(block))) }));
  return {
    count: members.length, unit: problem.unit, cliques, bytes,
    alignment: members.map((block) => elementAt(problem.alignment, block)),
    neighbours: members.map((block) => elementAt(problem.neighbours, block).map((other) => required(place.get(other)))),
    lowerBound: leastRoom(cliques, bytes),
  };
}

/** Operations between two yields to the event loop. */
const kSlice = 300_000;

/**
 * Finds the minimum number of bytes, or the best found when the work budget runs out. Connected components are searched one by one, and
 * only as long as they determine the size of the pool. Yields regularly, so that the caller can do other work.
 */
export function* exact(problem: Prepared, work: Work): Generator<void, ExactResult> {
  const offsets = packing(problem, work);
  const parts = components(problem).map((members) => ({ members, part: restrict(problem, members) }));
  // No component needs to be smaller than the minimum of another one.
  let goal = problem.lowerBound;
  let complete = true;
  for (const { members, part } of parts.sort((a, b) => b.part.lowerBound - a.part.lowerBound)) {
    const own = members.map((block) => elementAt(offsets, block));
    const height = heightOf(own, part.bytes);
    if (height <= goal) continue;
    if (work.exhausted) {
      complete = false;
      break;
    }
    const search = new Search(part, height, goal, work);
    while (search.proceed(kSlice)) yield;
    search.best?.forEach((offset, i) => { offsets[elementAt(members, i)] = offset; });
    if (search.complete) goal = Math.max(goal, search.least);
    else complete &&= search.least <= goal;
  }
  return { offsets, complete: complete || heightOf(offsets, problem.bytes) === goal };
}
