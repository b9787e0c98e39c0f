// Placements with one live block per partition, as in Fig. 4(a) of Moazeni et al. (2009).
import { elementAt } from '../../core/known.ts';
import { alignUp, type Prepared } from './prepared.ts';

/**
 * Colours blocks in the given order, each with the first colour that no neighbour has, and places the partitions one after another in order
 * of their colours. A partition is as large as its largest member, and aligned for all its members.
 */
function colourInOrder(problem: Prepared, order: Iterable<number>): number[] {
  const colour: number[] = new Array<number>(problem.count).fill(-1);
  const size: number[] = [];
  const alignment: number[] = [];
  for (const block of order) {
    const taken = new Set(elementAt(problem.neighbours, block).map((other) => colour[other]));
    let own = 0;
    while (taken.has(own)) ++own;
    colour[block] = own;
    size[own] = Math.max(size[own] ?? 0, elementAt(problem.bytes, block));
    alignment[own] = Math.max(alignment[own] ?? 1, elementAt(problem.alignment, block));
  }
  let end = 0;
  const offset = size.map((bytes, own) => {
    const at = alignUp(end, elementAt(alignment, own));
    end = at + bytes;
    return at;
  });
  return colour.map((own) => elementAt(offset, own));
}

/**
 * The order in which Algorithm 1 adds blocks to its set B': it starts with the first block, then repeatedly adds a block that is adjacent
 * to one already added. Of several candidates, it takes the first in source order; if there is none (another component of the graph, a case
 * the paper's listing leaves open), the first remaining block.
 */
function* adjacencyOrder({ count, neighbours }: Prepared): Generator<number> {
  const state: ('far' | 'adjacent' | 'added')[] = new Array<'far'>(count).fill('far');
  for (let added = 0; added < count; ++added) {
    const adjacent = state.indexOf('adjacent');
    const block = adjacent >= 0 ? adjacent : state.indexOf('far');
    state[block] = 'added';
    for (const other of elementAt(neighbours, block)) if (state[other] === 'far') state[other] = 'adjacent';
    yield block;
  }
}

/** Algorithm 1 (Memory Reuse) of Moazeni et al. (2009) as printed; see {@link adjacencyOrder} for what it leaves open. */
export function greedy(problem: Prepared): number[] {
  return colourInOrder(problem, adjacencyOrder(problem));
}

/** The same colouring with the largest block first, so that a partition never grows after its first block. Ties in source order. */
export function coloring(problem: Prepared): number[] {
  const order = problem.bytes.map((_, block) => block);
  return colourInOrder(problem, order.sort((a, b) => elementAt(problem.bytes, b) - elementAt(problem.bytes, a) || a - b));
}
