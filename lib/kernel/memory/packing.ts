// First-fit offsets: several live blocks may be placed inside the space of a dead one, as in Fig. 4(b) of Moazeni et al. (2009).
import { elementAt } from '../../core/known.ts';
import { Work } from './work.ts';
import { coloring } from './partitions.ts';
import { alignUp, heightOf, type Prepared } from './prepared.ts';

/** Where blocks may lie, in units, beside what keeps them apart. */
export interface Bounds {
  /** By block: the lowest offset it may have. */
  readonly floors: readonly number[];
  /** No block lies on both sides of this offset. */
  readonly fence: number;
}

/** Places blocks in order, each at the lowest offset that is free of the neighbours placed before it. */
export function firstFit(problem: Prepared, order: readonly number[], bounds?: Bounds): number[] {
  const { count, bytes, alignment, neighbours } = problem;
  const offsets: number[] = new Array<number>(count).fill(-1);
  const near = new Int32Array(count).fill(-1); // by block: of which block it is known to be a neighbour
  const placed: number[] = []; // by offset
  for (const block of order) {
    for (const other of elementAt(neighbours, block)) near[other] = block;
    const [size, unit] = [elementAt(bytes, block), elementAt(alignment, block)];
    const from = (least: number): number => {
      const at = alignUp(least, unit);
      return bounds !== undefined && at < bounds.fence && at + size > bounds.fence ? alignUp(bounds.fence, unit) : at;
    };
    let at = from(bounds?.floors[block] ?? 0);
    for (const other of placed) {
      if (near[other] !== block) continue;
      const begin = elementAt(offsets, other);
      if (at + size <= begin) break;
      at = Math.max(at, from(begin + elementAt(bytes, other)));
    }
    offsets[block] = at;
    const next = placed.findIndex((other) => elementAt(offsets, other) > at);
    placed.splice(next < 0 ? placed.length : next, 0, block);
  }
  return offsets;
}

/** The maximum number of repairs per initial order. */
const maxRepairs = 64;

/** Blocks by decreasing weight; ties in source order. */
function byWeight(problem: Prepared, weight: (block: number) => number): number[] {
  return problem.bytes.map((_, block) => block).sort((a, b) => weight(b) - weight(a) || a - b);
}

/**
 * First fit, largest first, then repair: while the pool exceeds the bound, a block at its top moves to the front of the order and
 * everything is placed again; each block moves at most once. Repeats this for two other orders (bytes times number of neighbours; number of
 * neighbours) and returns the best placement, which is never worse than that of `coloring`.
 */
export function packing(problem: Prepared, work = new Work()): number[] {
  let best = coloring(problem);
  let least = heightOf(best, problem.bytes);
  const degree = (block: number) => elementAt(problem.neighbours, block).length + 1;
  const orders = [
    byWeight(problem, (block) => elementAt(problem.bytes, block)),
    byWeight(problem, (block) => elementAt(problem.bytes, block) * degree(block)),
    byWeight(problem, degree),
  ];
  for (let order of orders) {
    const moved = new Set<number>();
    while (least > problem.lowerBound && moved.size < maxRepairs) {
      work.spend(problem.count ** 2 / 4);
      if (moved.size > 0 && work.exhausted) break;
      const offsets = firstFit(problem, order);
      const height = heightOf(offsets, problem.bytes);
      if (height < least) {
        best = offsets;
        least = height;
      }
      const top = order.find((block) => !moved.has(block) && elementAt(offsets, block) + elementAt(problem.bytes, block) === height);
      if (top === undefined) break;
      moved.add(top);
      order = [top, ...order.filter((block) => block !== top)];
    }
  }
  return best;
}
