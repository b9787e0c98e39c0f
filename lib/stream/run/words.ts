// What several threads of a compiled program are told, as words that both runtimes read: machine.ts and machine-launches.ts here,
// targets/runtime/pieces.h and launches.h in C++.
import { elementAt } from '../../core/known.ts';
import type { RunCounts } from '../plan/counts.ts';
import type { GroupEnd, LaunchPlan } from '../plan/launches.ts';

/** How steady states run. */
export const wayNumbers = { alone: 0, launches: 1, pieces: 2 } as const;
export type WayName = keyof typeof wayNumbers;

/** Kinds of ends by number. */
const endKinds: readonly GroupEnd['kind'][] = ['read', 'write', 'stream', 'file', 'own'];

/**
 * A plan of launches: threads, multiplier, last stage, chunk; of each channel's ring the items, slots and residual (zeros where it has
 * none); of each group the stage, iterations in a steady state, number of ends, and of these kind, slot, each, id; number of tasks, of each
 * the number of slices, and of these group, first iteration, count; of each thread the number of tasks it looks at, and these.
 *
 * @param iterations by group, in a steady state
 */
export function launchWords(
  { multiplier, lastStage, chunk, stages, tasks, orders, ends, rings }: LaunchPlan, iterations: readonly number[],
): Int32Array {
  const words = [orders.length, multiplier, lastStage, chunk];
  for (const ring of rings) words.push(ring?.items ?? 0, ring?.slots ?? 0, ring?.residual ?? 0);
  ends.forEach((list, group) => {
    words.push(elementAt(stages, group), elementAt(iterations, group), list.length);
    for (const { kind, slot, each, id } of list) words.push(endKinds.indexOf(kind), slot, each, id);
  });
  words.push(tasks.length);
  for (const { slices } of tasks) {
    words.push(slices.length);
    for (const { actor, from, count } of slices) words.push(actor, from, count);
  }
  for (const order of orders) words.push(order.length, ...order);
  return Int32Array.from(words);
}

/** Reads the words of {@link launchWords} for a program of so many channels and groups. */
export function readLaunches(words: Int32Array, channels: number, groups: number) {
  let at = 0;
  const next = (): number => elementAt(words, at++);
  const list = <T>(count: number, read: () => T): T[] => Array.from({ length: count }, read);
  // Evaluated in the order in which they are written.
  const threads = next(), multiplier = next(), lastStage = next(), chunk = next();
  return {
    threads, multiplier, lastStage, chunk,
    rings: list(channels, () => ({ items: next(), slots: next(), residual: next() })),
    groups: list(groups, () => ({
      stage: next(), iterations: next(),
      ends: list(next(), () => ({ kind: elementAt(endKinds, next()), slot: next(), each: next(), id: next() })),
    })),
    tasks: list(next(), () => list(next(), () => ({ group: next(), from: next(), count: next() }))),
    orders: list(threads, () => list(next(), next)),
  };
}

/** What {@link launchWords} says; rings of channels that have none are zeros. */
export type LaunchOrders = ReturnType<typeof readLaunches>;

/** A piece of a run: where its input and output begin, in items, and how its nodes fire. */
export interface Piece {
  readonly inputFrom: number;
  readonly outputFrom: number;
  readonly outputItems: number;
  /** Items that come out before those of the piece, which nobody wants, and after how many steady states all of them are out. */
  readonly dropped: number;
  readonly warmUp: number;
  readonly counts: RunCounts;
}

/**
 * Pieces of a run: threads, number of pieces; of each where its input and output begin, the items that nobody wants and the steady states
 * until they are out, steady states, number of steps behind them, and of these node and count.
 */
export function pieceWords(pieces: readonly Piece[], threads: number): Int32Array {
  return Int32Array.from([Math.min(threads, pieces.length), pieces.length, ...pieces.flatMap(
    ({ inputFrom, outputFrom, dropped, warmUp, counts: { steadyStates, tail } }) => [inputFrom, outputFrom, dropped, warmUp, steadyStates,
      tail.length, ...tail.flatMap(({ actor, count }) => [actor, count])])]);
}

/** Reads the words of {@link pieceWords}. */
export function readPieces(words: Int32Array) {
  let at = 2;
  const next = (): number => elementAt(words, at++);
  return Array.from({ length: elementAt(words, 1) }, () => ({
    inputFrom: next(), outputFrom: next(), dropped: next(), warmUp: next(), steadyStates: next(),
    tail: Array.from({ length: next() }, () => ({ actor: next(), count: next() })),
  }));
}

/** What a machine is told of a piece. */
export type PieceOrder = ReturnType<typeof readPieces>[number];
