// Problems for the planners of `scratchpad`, and how close each comes to the least bytes.
import { plan } from '../lib/kernel/memory/plan.ts';
import type { PlanProblem } from '../lib/kernel/memory/types.ts';

/** Random numbers; test/support/random.ts has one. */
export interface RandomSource {
  integer(low: number, high: number): number;
}

/** Straight-line kernels: `n` float arrays of 1 to 12 KB with 2-D tile shapes, each live for 1 to 4 of n barrier stages. */
export function intervalKernels(n: number, count: number, random: RandomSource): PlanProblem[] {
  return Array.from({ length: count }, () => ({
    blocks: Array.from({ length: n }, (_, i) => {
      let elements = 0;
      while (elements < 256 || elements > 3072) elements = random.integer(8, 66) * random.integer(8, 66);
      const begin = random.integer(0, n - 1);
      return { name: `s${i}`, bytes: 4 * elements, live: [{ begin, end: Math.min(begin + random.integer(1, 4), n) }] };
    }),
  }));
}

/** Blocks that fill a rectangle of `points` × `bytes` without a gap, cut at random: the least bytes are known, and hard to find. */
export function guillotine(n: number, points: number, bytes: number, random: RandomSource): PlanProblem {
  const parts = [{ begin: 0, end: points, low: 0, high: bytes }];
  while (parts.length < n) {
    const at = random.integer(0, parts.length - 1);
    const part = parts[at]!;
    const inTime = random.integer(0, 1) === 0;
    const [low, high] = inTime ? [part.begin, part.end] : [part.low, part.high];
    if (high - low < 2) continue;
    const cut = random.integer(low + 1, high - 1);
    parts[at] = inTime ? { ...part, end: cut } : { ...part, high: cut };
    parts.push(inTime ? { ...part, begin: cut } : { ...part, low: cut });
  }
  return {
    blocks: parts.map(({ begin, end, low, high }, i) => ({ name: `g${i}`, bytes: high - low, alignment: 1, live: [{ begin, end }] })),
  };
}

type Rule = 'none' | 'greedy' | 'coloring' | 'packing' | 'bound';

/** Bytes by rule relative to the least, over many problems. */
export interface Ratios {
  readonly mean: Readonly<Record<Rule, number>>;
  readonly worst: Readonly<Record<Rule, number>>;
  /** Problems whose least bytes were proved. */
  readonly proved: number;
}

/** Compares every rule with `exact`. */
export function ratios(problems: readonly PlanProblem[]): Ratios {
  const mean = { none: 0, greedy: 0, coloring: 0, packing: 0, bound: 0 };
  const worst = { ...mean };
  let proved = 0;
  for (const problem of problems) {
    const least = plan(problem, 'exact');
    proved += Number(least.optimal);
    const bytes: Record<Rule, number> = {
      none: least.bytesBefore, greedy: plan(problem, 'greedy').bytes, coloring: plan(problem, 'coloring').bytes,
      packing: plan(problem, 'packing').bytes, bound: least.lowerBound,
    };
    for (const rule of Object.keys(bytes) as Rule[]) {
      mean[rule] += bytes[rule] / least.bytes / problems.length;
      worst[rule] = Math.max(worst[rule], bytes[rule] / least.bytes);
    }
  }
  return { mean, worst, proved };
}
