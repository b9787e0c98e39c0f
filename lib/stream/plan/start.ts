// How long the start of a run affects its output, which decides whether a run may begin in the middle of its input.
import { elementAt } from '../../core/known.ts';
import type { ProgramPlan } from './plan.ts';

/**
 * The number of steady states after which the first contents of the channels no longer affect the output. −1 if they never do, not even in
 * the first steady state (no prework); undefined if they always may: state and numbers of firings (unless the plan handles them), files,
 * loops.
 */
export function startMatters(plan: ProgramPlan): number | undefined {
  const { graph, analyses, externals, groups, sdf, steady, options } = plan;
  const isPlain = graph.nodes.every((node) => node.kind !== 'filter' || options.handled.has(node.id) ||
    (!node.code.stateful && analyses.get(node.code)?.usesIteration !== true));
  if (!isPlain || groups.some(({ isLoop }) => isLoop) || graph.channels.some(({ initial }) => initial.length > 0)) return undefined;
  if (externals.length !== 2 || externals[0]?.kind !== 'input' || externals[1]?.kind !== 'output') return undefined;
  // By node: steady states in which its input may differ from that in the middle of a longer run; undefined: none, not even the first.
  const until = new Map<number, number>();
  for (const actor of steady.order) {
    const node = elementAt(graph.nodes, actor);
    for (const id of node.inputs) {
      if (id === undefined) continue;
      const channel = elementAt(sdf.channels, id);
      const source = elementAt(graph.nodes, channel.from);
      const isPreworked = source.kind === 'filter' && source.code.prework !== undefined;
      const before = until.get(channel.from) ?? (isPreworked ? 0 : undefined);
      if (before === undefined) continue;
      const rate = channel.push * elementAt(steady.repetitions, channel.from);
      if (rate === 0) return undefined;
      until.set(actor, Math.max(until.get(actor) ?? 0, before + Math.ceil(elementAt(steady.residual, id) / rate)));
    }
    if (externals[1].node === node.id) return until.get(actor) ?? (node.kind === 'filter' && node.code.prework !== undefined ? 0 : -1);
  }
  return undefined;
}
