// The order in which reductions combine elements: the same on all back ends and for any number of threads. Blocks of 4096 consecutive
// elements have 512 accumulators; accumulator c takes elements c, c + 512, … of the block in turn. Then the upper half of the
// accumulators is combined into the lower one, until one is left. The results of the blocks are reduced in the same way, until one is left.

/** Elements of a block, and its accumulators. */
export const reducedItems = 4096, accumulators = 512;

/** How two values are combined. */
export type Combination = 'sum' | 'min' | 'max';

/** What changes no value that it is combined with. */
export const identities: Readonly<Record<Combination, number>> = { sum: -0, min: Infinity, max: -Infinity };

const combine: Readonly<Record<Combination, (a: number, b: number) => number>> = { sum: (a, b) => a + b, min: Math.min, max: Math.max };

/** Reduces values in the fixed order. */
export function reduceValues(values: Float64Array, how: Combination): number {
  const [apply, identity] = [combine[how], identities[how]];
  const sums = new Float64Array(accumulators);
  let left = values;
  do {
    const next = new Float64Array(Math.max(1, Math.ceil(left.length / reducedItems)));
    for (let block = 0; block < next.length; ++block) {
      const items = left.subarray(block * reducedItems, (block + 1) * reducedItems);
      sums.fill(identity);
      items.forEach((item, i) => { sums[i % accumulators] = apply(Number(sums[i % accumulators]), item); });
      for (let half = accumulators / 2; half >= 1; half /= 2) {
        for (let c = 0; c < half; ++c) sums[c] = apply(Number(sums[c]), Number(sums[c + half]));
      }
      next[block] = Number(sums[0]);
    }
    left = next;
  } while (left.length > 1);
  return Number(left[0]);
}

/** The first value that equals `wanted`, by `Object.is`; -1 if there is none. */
export function placeOf(values: ArrayLike<number>, wanted: number): number {
  for (let i = 0; i < values.length; ++i) if (Object.is(values[i], wanted)) return i;
  return -1;
}
