// Plans for several threads, encoded as words that both runtimes read: machine.ts and machine-launches.ts here, targets/runtime/pieces.h
// and launches.h in C++.
import { elementAt } from '../../core/known.ts';
import type { RunCounts } from '../plan/counts.ts';
import type { GroupEnd, LaunchPlan } from '../plan/launches.ts';

/** How steady states run. */
export const wayNumbers = { alone: 0, launches: 1, pieces: 2 } as const;
/** The same for a C++ program that makes what requests say (session.h). */
export const sessionNumber = 3;
export type WayName = keyof typeof wayNumbers;

/** Kinds of ends by number. */
const endKinds: readonly GroupEnd['kind'][] = ['read', 'write', 'stream', 'file', 'own'];

/**
 * A launch plan: threads, multiplier, last stage, chunk; for each channel the items, slots and residual of its ring (zeros without a ring);
 * for each group its stage, iterations per steady state and number of ends, and for each end its kind, slot, each, id; the number of tasks,
 * for each task the number of slices, and for each slice its group, first iteration, count; for each thread the number of tasks it looks
 * at, and their numbers.
 *
 * @param iterations by group, per steady state
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

/** Decodes the words of {@link launchWords} for a program with these numbers of channels and groups. */
export function readLaunches(words: Int32Array, channels: number, groups: number) {
  let at = 0;
  const next = (): number => elementAt(words, at++);
  const list = <T>(count: number, read: () => T): T[] => Array.from({ length: count }, read);
  // The order of evaluation is the order of writing.
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

/** The decoded plan of {@link launchWords}; channels without a ring have zeros. */
export type LaunchOrders = ReturnType<typeof readLaunches>;

/** A piece of a run: where its input and output begin, in items, and how its nodes fire. */
export interface Piece {
  readonly inputFrom: number;
  readonly outputFrom: number;
  readonly outputItems: number;
  /** How many items come out before those of the piece and are discarded, and after how many steady states they are all out. */
  readonly dropped: number;
  readonly warmUp: number;
  readonly counts: RunCounts;
}

/**
 * The pieces of a run: threads, number of pieces; for each piece where its input and output begin, how many items are discarded and after
 * how many steady states, steady states, number of steps after them, and for each step its node and count.
 */
export function pieceWords(pieces: readonly Piece[], threads: number): Int32Array {
  return Int32Array.from([Math.min(threads, pieces.length), pieces.length, ...pieces.flatMap(
    ({ inputFrom, outputFrom, dropped, warmUp, counts: { steadyStates, tail } }) => [inputFrom, outputFrom, dropped, warmUp, steadyStates,
      tail.length, ...tail.flatMap(({ actor, count }) => [actor, count])])]);
}

/** Decodes the words of {@link pieceWords}. */
export function readPieces(words: Int32Array) {
  let at = 2;
  const next = (): number => elementAt(words, at++);
  return Array.from({ length: elementAt(words, 1) }, () => ({
    inputFrom: next(), outputFrom: next(), dropped: next(), warmUp: next(), steadyStates: next(),
    tail: Array.from({ length: next() }, () => ({ actor: next(), count: next() })),
  }));
}

/** One piece, as a machine receives it. */
export type PieceOrder = ReturnType<typeof readPieces>[number];
