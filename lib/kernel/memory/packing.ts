// First-fit offsets: several live blocks may be placed inside the space of a dead one, as in Fig. 4(b) of Moazeni et al. (2009).
import { elementAt } from '../../core/known.ts';
import { Work } from './work.ts';
import { coloring } from './partitions.ts';
import { alignUp, heightOf, type Prepared } from './prepared.ts';

/** Places blocks in order, each at the lowest offset that is free of the neighbours placed before it. */
function firstFit(problem: Prepared, order: readonly number[]): number[] {
  const offsets: number[] = new Array<number>(problem.count).fill(-1);
  for (const block of order) {
    const placed = elementAt(problem.neighbours, block).filter((other) => elementAt(offsets, other) >= 0);
    placed.sort((a, b) => elementAt(offsets, a) - elementAt(offsets, b));
    let at = 0;
    for (const other of placed) {
      if (at + elementAt(problem.bytes, block) <= elementAt(offsets, other)) break;
      at = Math.max(at, alignUp(elementAt(offsets, other) + elementAt(problem.bytes, other), elementAt(problem.alignment, block)));
    }
    offsets[block] = at;
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
