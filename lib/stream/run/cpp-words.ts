// What several threads of a compiled program are told, as the integers that runtime/stream.cpp reads.
import type { LaunchPlan } from '../plan/launches.ts';
import type { Piece } from './split.ts';

/** How steady states run on several threads. */
export const wayNumbers = { launches: 1, pieces: 2 } as const;

/** A plan of launches. `iterations`: by group, in a steady state. */
export function launchWords(
  { multiplier, lastStage, chunk, stages, tasks, orders, ends, rings }: LaunchPlan, iterations: readonly number[],
): Int32Array {
  const words = [orders.length, multiplier, lastStage, chunk];
  for (const ring of rings) words.push(ring?.items ?? 0, ring?.slots ?? 0, ring?.residual ?? 0);
  ends.forEach((list, group) => {
    words.push(stages[group]!, iterations[group]!, list.length);
    for (const { kind, slot, each, id } of list) words.push(kind, slot, each, id);
  });
  words.push(tasks.length);
  for (const { slices } of tasks) {
    words.push(slices.length);
    for (const { actor, from, count } of slices) words.push(actor, from, count);
  }
  for (const order of orders) words.push(order.length, ...order);
  return Int32Array.from(words);
}

/** Pieces of a run. */
export function pieceWords(pieces: readonly Piece[], threads: number): Int32Array {
  return Int32Array.from([Math.min(threads, pieces.length), pieces.length, ...pieces.flatMap(
    ({ inputFrom, outputFrom, dropped, warmUp, counts: { steadyStates, tail } }) => [inputFrom, outputFrom, dropped, warmUp, steadyStates,
      tail.length, ...tail.flatMap(({ actor, count }) => [actor, count])])]);
}
