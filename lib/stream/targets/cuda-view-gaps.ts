// Gaps between steady states in arrays that groups find at strided indices, so that the threads of a warp meet in few banks.
import { elementAt } from '../../core/known.ts';
import { sumOfDigits } from '../plan/permutations.ts';
import type { View } from './cuda-views.ts';

const lanes = 32, banks = 32;
/** Elements that one instruction moves at most, and what an instruction costs beside its accesses, which take a cycle for each bank. */
const widest = 4, instructionCost = 0.5;
/** Elements that a copy of 16 bytes moves. */
const copied = 4;

type Access = Pick<View, 'inner' | 'outer'>;

/** Cycles of a warp in which each thread moves an element, on average. */
export function cyclesOf(items: number, { inner, outer }: Access): number {
  const [run] = inner;
  const steps = [...outer.map(({ step }) => step), ...inner.slice(1).map(({ step }) => step), items];
  // Neighbours that are aligned alike in all threads move together.
  let width = run?.step === 1 ? widest : 1;
  while (width > 1 && (elementAt(inner, 0).count % width > 0 || steps.some((step) => step % width > 0))) width /= 2;
  const turns = outer.reduce((all, { count }) => all * count, 1);
  const at = Array.from({ length: lanes }, (_, lane) => Math.floor(lane / turns) * items + sumOfDigits(outer, lane % turns));
  let cycles = instructionCost;
  for (let first = 0; first < lanes; first += lanes / width) {
    const used = new Map<number, Set<number>>();
    for (const place of at.slice(first, first + lanes / width)) {
      const bank = Math.floor(place / width) % (banks / width);
      used.set(bank, (used.get(bank) ?? new Set()).add(place));
    }
    cycles += Math.max(...[...used.values()].map(({ size }) => size));
  }
  return cycles / width;
}

/**
 * Items between steady states for which accesses take the fewest cycles.
 * @param items of a steady state
 * @param isDirect whether copies of 16 bytes are to land in the array
 */
export function stateGap(items: number, accesses: readonly Access[], isDirect: boolean): number {
  const step = isDirect && items % copied === 0 ? copied : 1;
  let best = { gap: 0, cycles: Infinity };
  for (let gap = 0; gap < banks; gap += step) {
    const cycles = accesses.reduce((sum, each) => sum + cyclesOf(items + gap, each), 0);
    if (cycles < best.cycles) best = { gap, cycles };
  }
  return best.gap;
}
