// Offsets by first fit: several live blocks may be placed inside the space of one that is dead, as in Fig. 4(b) of Moazeni et al. (2009).
import { elementAt } from '../../core/known.ts';
import { Work } from '../work.ts';
import { coloring } from './partitions.ts';
import { alignUp, heightOf, type Prepared } from './prepared.ts';

/** Places blocks in order, each at the lowest offset free of the neighbours placed before it. */
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

/** Repairs tried from one order. */
const maxRepairs = 64;

/** Blocks by falling weight, ties in source order. */
function byWeight(problem: Prepared, weight: (block: number) => number): number[] {
  return problem.bytes.map((_, block) => block).sort((a, b) => weight(b) - weight(a) || a - b);
}

/**
 * First fit, largest first, then repair: as long as the pool is larger than the bound, a block that ends at its top goes to the
 * front of the order and everything is placed again, a block at most once. The same from two other orders (bytes times number
 * of neighbours, number of neighbours); the best placement counts, and never one worse than `coloring`'s.
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
