// Runs cut into pieces that do not depend on each other: where nothing is carried from one firing to the next, the items that come out of
// a later part of the input are those of a run that begins there. What preworks leave on the channels at the start of a run has to pass
// through first, so a piece begins some steady states earlier and drops what comes out of them.
import { countRun, passedBy, type RunAmount, type RunCounts } from '../plan/counts.ts';
import type { ProgramPlan } from '../plan/plan.ts';

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

/** How a run is cut. */
export interface Cuts {
  /** Threads that take pieces; 1: the run stays whole. */
  readonly threads: number;
  /** Most pieces; default: one for each thread. */
  readonly most?: number;
  /** Least steady states of a piece, where there are more pieces than threads. */
  readonly leastStates?: number;
}

/** Steady states of its own that each piece has at least for each one that it drops. */
const worthDropping = 16;

/**
 * Steady states after which what stood on the channels at the start no longer matters to what comes out; −1 where it never does, not even
 * before the first (no prework); undefined where it always may: state, numbers of firings, files, loops.
 */
export function startMatters(plan: ProgramPlan): number | undefined {
  const { graph, analyses, externals, groups, sdf, steady } = plan;
  const isPlain = graph.nodes.every((node) => node.kind !== 'filter' ||
    (!node.code.stateful && analyses.get(node.code)?.usesIteration !== true));
  if (!isPlain || groups.some(({ isLoop }) => isLoop) || graph.channels.some(({ initial }) => initial.length > 0)) return undefined;
  if (externals.length !== 2 || externals[0]!.kind !== 'input' || externals[1]!.kind !== 'output') return undefined;
  // By node: steady states in which it may take other items than in the middle of a longer run; undefined: none, not even before the first.
  const until = new Map<number, number>();
  for (const actor of steady.order) {
    const node = graph.nodes[actor]!;
    for (const id of node.inputs) {
      if (id === undefined) continue;
      const channel = sdf.channels[id]!;
      const source = graph.nodes[channel.from]!;
      const isPreworked = source.kind === 'filter' && source.code.prework !== undefined;
      const before = until.get(channel.from) ?? (isPreworked ? 0 : undefined);
      if (before === undefined) continue;
      const rate = channel.push * steady.repetitions[channel.from]!;
      if (rate === 0) return undefined;
      until.set(actor, Math.max(until.get(actor) ?? 0, before + Math.ceil(steady.residual[id]! / rate)));
    }
    if (externals[1]!.node === node.id) return until.get(actor) ?? (node.kind === 'filter' && node.code.prework !== undefined ? 0 : -1);
  }
  return undefined;
}

/** Cuts a run, counted as `counts`, into pieces of whole steady states; one piece where it cannot be cut. */
export function cutRun(
  plan: ProgramPlan, amount: RunAmount, counts: RunCounts, { threads, most = threads, leastStates = 1 }: Cuts,
): Piece[] {
  const outputItems = counts.passed[plan.externals.findIndex(({ kind }) => kind === 'output')] ?? 0;
  const whole = [{ inputFrom: 0, outputFrom: 0, outputItems, dropped: 0, warmUp: 0, counts }];
  const matters = threads <= 1 ? undefined : startMatters(plan);
  if (matters === undefined) return whole;
  const [input, output] = plan.externals;
  const repetitions = (node: number) => plan.steady.repetitions[node]!;
  const taken = passedBy(plan, input!, repetitions(input!.node) + 1) - passedBy(plan, input!, 1);
  const given = passedBy(plan, output!, repetitions(output!.node) + 1) - passedBy(plan, output!, 1);
  if (given === 0) return whole;
  const atStart = passedBy(plan, output!, plan.steady.initFirings[output!.node]!);
  const warmUp = matters < 0 ? 0 : matters + Math.ceil(atStart / given);
  // Short pieces are not worth their beginning.
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
