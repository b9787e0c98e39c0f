// Runs cut into pieces that do not depend on each other: where nothing is carried from one firing to the next, the items that come out of
// a later part of the input are those of a run that begins there.
import { countRun, passedBy, type RunAmount, type RunCounts } from '../emit/counts.ts';
import type { ProgramPlan } from '../emit/plan.ts';

/** A piece of a run: where its input and output begin, in items, and how its nodes fire. */
export interface Piece {
  readonly inputFrom: number;
  readonly outputFrom: number;
  readonly outputItems: number;
  readonly counts: RunCounts;
}

/** Whether a later part of the input gives a later part of the output: no state, prework, numbers of firings, files or loops. */
export function isCuttable({ graph, analyses, externals, groups }: ProgramPlan): boolean {
  const isPlain = graph.nodes.every((node) => node.kind !== 'filter' ||
    (!node.code.stateful && node.code.prework === undefined && analyses.get(node.code)?.usesIteration !== true));
  return isPlain && graph.channels.every(({ initial }) => initial.length === 0) && !groups.some(({ isLoop }) => isLoop) &&
    externals.length === 2 && externals[0]!.kind === 'input' && externals[1]!.kind === 'output';
}

/** Cuts a run into at most `most` pieces of whole steady states; one piece where it cannot be cut. */
export function cutRun(plan: ProgramPlan, amount: RunAmount, most: number): Piece[] {
  const counts = countRun(plan, amount);
  const outputItems = counts.passed[plan.externals.findIndex(({ kind }) => kind === 'output')] ?? 0;
  const whole = [{ inputFrom: 0, outputFrom: 0, outputItems, counts }];
  if (most <= 1 || !isCuttable(plan)) return whole;
  const states = Math.floor(counts.steadyStates / most);
  // Short pieces are not worth their initialisation.
  if (states < 4) return whole;
  const [input, output] = plan.externals;
  const perState = (external: typeof input) => {
    const count = plan.steady.repetitions[external!.node]!;
    return passedBy(plan, external!, count);
  };
  const [taken, given] = [perState(input) * states, perState(output) * states];
  return Array.from({ length: most }, (_, i) => {
    const items = i === most - 1 ? counts.passed[1]! - i * given : given;
    const piece = countRun(plan, { input: amount.input - i * taken, items });
    return { inputFrom: i * taken, outputFrom: i * given, outputItems: items, counts: piece };
  });
}
