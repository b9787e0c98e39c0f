// How a run is shared among threads: in independent pieces, in launches under a plan, or not at all.
//
// Pieces: if nothing is carried over from one firing to the next, a later part of the input gives the same output as in a run that begins
// there. The items that preworks leave on the channels at the start of a run have to pass through first, so a piece begins some steady
// states earlier and discards their output.
import { elementAt, leading } from '../../core/known.ts';
import { countRun, passedBy, type RunAmount, type RunCounts } from '../plan/counts.ts';
import { nearness, planLaunches } from '../plan/launches.ts';
import { firingCodes, type External, type ProgramPlan } from '../plan/plan.ts';
import { startMatters } from '../plan/start.ts';
import { costOf, countedCosts } from '../profile/estimate.ts';
import { launchWords, pieceWords, type Piece, type WayName } from './words.ts';

/** Parameters for choosing how to use threads. */
export interface ThreadChoice {
  /** The maximum number of threads. */
  readonly threads: number;
  /** Microseconds per firing, by node. Default: counted operations. */
  readonly costs?: readonly number[];
  /** The minimum work in microseconds between two barriers. Default 400. */
  readonly launchMicroseconds?: number;
}

/** How many times faster compiled code is than operation counts suggest; mean of the twelve programs of examples/stream. */
const countedSpeed = { wasm: 40, cpp: 100 } as const;
/** A back end that compiles. */
export type CompiledBackend = keyof typeof countedSpeed;

/** How threads execute a run. */
export interface Way {
  readonly kind: WayName;
  /** The plan of the program that the threads run. */
  readonly plan: ProgramPlan;
  /** How many threads take part. */
  readonly threads: number;
  /** The launches or pieces, as encoded by words.ts. */
  readonly words: Int32Array;
  /** For launches only. */
  readonly tasks: number;
  /** The counts of the run, or of its pieces. */
  readonly parts: readonly RunCounts[];
  /** By channel: how many items it must hold. */
  readonly capacities: readonly number[];
}

/** The run to be shared. */
interface Whole {
  readonly amount: RunAmount;
  readonly counts: RunCounts;
  /** The run ends when this many lines are printed. */
  readonly lines: number;
}

/**
 * The maximum number of pieces per thread, and the minimum microseconds per piece. Idle threads take the next piece, because cores are not
 * equally fast.
 */
const piecesByThread = 16;
const pieceMicroseconds = 2000;

/** How a run is cut. */
export interface Cuts {
  /** Threads that take pieces; 1: the run is not cut. */
  readonly threads: number;
  /** The maximum number of pieces; default: one per thread. */
  readonly most?: number;
  /** The minimum number of steady states per piece if there are more pieces than threads. */
  readonly leastStates?: number;
}

/** For each steady state that it discards, a piece must have at least this many of its own. */
const worthDropping = 16;

/** Cuts a run, counted as `counts`, into pieces of whole steady states; one piece where it cannot be cut. */
export function cutRun(
  plan: ProgramPlan, amount: RunAmount, counts: RunCounts, { threads, most = threads, leastStates = 1 }: Cuts,
): Piece[] {
  const outputItems = counts.passed[plan.externals.findIndex(({ kind }) => kind === 'output')] ?? 0;
  const whole = [{ inputFrom: 0, outputFrom: 0, outputItems, dropped: 0, warmUp: 0, counts }];
  const matters = threads <= 1 ? undefined : startMatters(plan);
  if (matters === undefined) return whole;
  const [input, output] = leading(plan.externals, 2);
  const inState = ({ node, later }: External): number => elementAt(plan.steady.repetitions, node) * later.items;
  const [taken, given] = [inState(input), inState(output)];
  if (given === 0) return whole;
  const atStart = passedBy(output, elementAt(plan.steady.initFirings, output.node));
  const warmUp = matters < 0 ? 0 : matters + Math.ceil(atStart / given);
  // Short pieces are not worth their warm-up.
  const least = Math.max(4, worthDropping * warmUp);
  const count = Math.min(most, Math.max(threads, Math.floor(counts.steadyStates / leastStates)));
  const states = Math.max(Math.floor(counts.steadyStates / count), least);
  const pieces = Math.min(count, Math.floor(counts.steadyStates / states));
  if (pieces < 2) return whole;
  return Array.from({ length: pieces }, (_, i) => {
    const from = i * states;
    const before = Math.min(warmUp, from);
    const dropped = before * given;
    const items = i === pieces - 1 ? outputItems - from * given : states * given;
    const inputFrom = (from - before) * taken;
    const piece = countRun(plan, { input: amount.input - inputFrom, items: dropped + items });
    return { inputFrom, outputFrom: from * given, outputItems: items, dropped, warmUp: before, counts: piece };
  });
}

/** What a plan's operations come to, by node: microseconds of a firing as written, and what is left of that in the plan. */
interface Counted {
  readonly times: readonly number[];
  readonly left: readonly number[];
}

/** Counting takes milliseconds, which every run would spend again. */
const counted = new WeakMap<ProgramPlan, Counted>();

function countedOf(plan: ProgramPlan): Counted {
  let known = counted.get(plan);
  if (known === undefined) {
    const left = plan.graph.nodes.map((node, id) => {
      if (node.kind !== 'filter' || !plan.firings.has(id)) return 1;
      const codes = firingCodes(plan, node);
      return codes.reduce((sum, code) => sum + (code === undefined ? 0 : costOf(code)), 0) / codes.length / costOf(node.code);
    });
    counted.set(plan, known = { times: countedCosts(plan.graph), left });
  }
  return known;
}

/**
 * Mean microseconds per firing, by node of the plan: given (by node of the program as written), or derived from counted operations; scaled
 * down for dead firings and shorter code.
 */
export function nodeTimes(plan: ProgramPlan, given: readonly number[] | undefined, backend: CompiledBackend): readonly number[] {
  const { times, left } = countedOf(plan);
  return plan.graph.nodes.map((_, id) => {
    const origin = plan.origins[id];
    const whole = given === undefined || origin === undefined ? elementAt(times, id) / countedSpeed[backend] : elementAt(given, origin);
    return whole * elementAt(left, id);
  });
}

/** Threads are started for runs with a longer estimate in milliseconds; no run blocks the calling thread for longer. */
export const worthThreads = 100;

/** The estimated duration of a run, from counted operations: right to a small factor; Infinity if it ends when enough lines are printed. */
export function estimatedMilliseconds(plan: ProgramPlan, { counts, lines }: Whole, backend: CompiledBackend): number {
  if (lines !== Infinity) return Infinity;
  return nodeTimes(plan, undefined, backend).reduce((sum, time, node) => sum + time * elementAt(counts.firings, node), 0) / 1000;
}

/** The run on one thread. */
export function alone(plan: ProgramPlan, { counts }: Whole): Way {
  return { kind: 'alone', plan, threads: 1, words: new Int32Array(), tasks: 0, parts: [counts], capacities: counts.peaks };
}

/** Pieces, if the program has no state and the run is long enough. */
function inPieces(
  plan: ProgramPlan, { amount, counts }: Whole, { threads, costs }: ThreadChoice, backend: CompiledBackend,
): Way | undefined {
  const times = nodeTimes(plan, costs, backend);
  const state = plan.steady.repetitions.reduce((sum, count, node) => sum + count * elementAt(times, node), 0);
  const pieces = cutRun(plan, amount, counts, {
    threads, most: piecesByThread * threads, leastStates: Math.ceil(pieceMicroseconds / Math.max(state, 1e-3)),
  });
  if (pieces.length === 1) return undefined;
  const parts = pieces.map((piece) => piece.counts);
  return {
    kind: 'pieces', plan, threads: Math.min(threads, pieces.length), words: pieceWords(pieces, threads), tasks: 0, parts,
    capacities: counts.peaks.map((_, id) => Math.max(...parts.map(({ peaks }) => elementAt(peaks, id)))),
  };
}

/** Launches, unless the run is short or its work cannot be divided. */
function inLaunches(
  planned: () => ProgramPlan, { counts }: Whole, { threads, costs, launchMicroseconds = 400 }: ThreadChoice, backend: CompiledBackend,
): Way | undefined {
  if (counts.steadyStates < 2) return undefined;
  const plan = planned();
  const launches = planLaunches(plan, {
    cores: threads, costs: nodeTimes(plan, costs, backend), states: counts.steadyStates, launchMicroseconds, near: nearness[backend],
  });
  const { orders, multiplier, tasks, capacities } = launches;
  if (orders.length < 2 || counts.steadyStates < 2 * multiplier) return undefined;
  return {
    kind: 'launches', plan, threads: orders.length, words: launchWords(launches, plan.groups.map(({ iterations }) => iterations)),
    tasks: tasks.length, parts: [counts], capacities: capacities.map((items, id) => Math.max(items, elementAt(counts.peaks, id))),
  };
}

/**
 * Chooses how to run: pieces if the program has no state, otherwise launches, otherwise one thread.
 *
 * @param planned returns the program's plan for launches on that many cores
 */
export function wayOf(
  plan: ProgramPlan, planned: () => ProgramPlan, run: Whole, choice: ThreadChoice & { readonly pieces?: boolean | undefined },
  backend: CompiledBackend,
): Way {
  if (choice.threads === 1 || run.lines !== Infinity) return alone(plan, run);
  const pieces = choice.pieces === false ? undefined : inPieces(plan, run, choice, backend);
  if (pieces !== undefined) return pieces;
  return (plan.printers.length > 0 ? undefined : inLaunches(planned, run, choice, backend)) ?? alone(plan, run);
}
