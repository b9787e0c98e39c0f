// Modulo scheduling of section 4.8: stages of actors, transfers and shuffles for a given task partition.
import { requireCount } from '../../core/checks.ts';
import { elementAt } from '../../core/known.ts';
import { ScheduleError } from '../schedule/error.ts';
import { topologicalOrder } from '../schedule/index.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { peekingActors } from './costs.ts';
import { requireCounts, requireFields, requireList, requireRateGraph } from '../require.ts';

/** An operation on a channel, between its ends. */
export interface ChannelOperation {
  readonly channel: number;
  readonly kind: 'toGpu' | 'toCpu' | 'shuffle' | 'deshuffle';
  readonly stage: number;
}

/** Stages of a partitioned graph; iteration j of an actor or operation runs in launch j + stage. */
export interface StagePlan {
  /** By actor id. */
  readonly stages: readonly number[];
  readonly operations: readonly ChannelOperation[];
  /** Launches that an iteration spans. */
  readonly depth: number;
}

/** The operation a channel needs, according to the four conditions of section 4.5.1. */
function reorders({ from, to }: SdfChannel, onGpu: readonly boolean[], peeks: readonly boolean[]): 'shuffle' | 'deshuffle' | undefined {
  const [u, v] = [elementAt(peeks, from), elementAt(peeks, to)];
  if (onGpu[from] && !onGpu[to]) return u ? undefined : 'deshuffle';
  if (!onGpu[from] && onGpu[to]) return v ? undefined : 'shuffle';
  if (onGpu[from] && onGpu[to] && u !== v) return u ? 'shuffle' : 'deshuffle';
  return undefined;
}

/**
 * Stages by the paper's rules: a consumer at least one stage after its producer, two across CPU and GPU, one more for a shuffle or
 * deshuffle. Transfers into the GPU run as late as possible and those out of it as soon as possible, which keeps device buffers
 * short-lived. Feedback loops must already be fused: throws {@link ScheduleError} (`graph`) for a graph with cycles other than an actor's
 * own.
 */
export function assignStages(graph: SdfGraph, onGpu: readonly boolean[]): StagePlan {
  requireRateGraph(graph);
  requireList('onGpu', onGpu, 'a boolean for each actor');
  const order = topologicalOrder(graph);
  if (!order) throw new ScheduleError('graph', 'stages need a graph without loops: fuse each loop into one actor with state first');
  const peeks = peekingActors(graph);
  const inputs: SdfChannel[][] = graph.actors.map(() => []);
  for (const channel of graph.channels) if (channel.from !== channel.to) elementAt(inputs, channel.to).push(channel);
  const stages = graph.actors.map(() => 0);
  for (const actor of order) {
    for (const channel of elementAt(inputs, actor)) {
      const apart = (onGpu[channel.from] === onGpu[actor] ? 1 : 2) + (reorders(channel, onGpu, peeks) ? 1 : 0);
      stages[actor] = Math.max(elementAt(stages, actor), elementAt(stages, channel.from) + apart);
    }
  }
  const operations = inputs.flat().flatMap((channel): ChannelOperation[] => {
    const { id, from, to } = channel;
    const kind = reorders(channel, onGpu, peeks);
    const after = elementAt(stages, from) + 1, before = elementAt(stages, to) - 1;
    const change = (stage: number): ChannelOperation[] => kind ? [{ channel: id, kind, stage }] : [];
    if (onGpu[from] === onGpu[to]) return change(after);
    if (onGpu[from]) return [...change(after), { channel: id, kind: 'toCpu', stage: kind ? after + 1 : after }];
    return [{ channel: id, kind: 'toGpu', stage: kind ? before - 1 : before }, ...change(before)];
  });
  return { stages, operations, depth: Math.max(0, ...stages) + 1 };
}

/** Returns the problems of a stage plan, by following each channel from its producer through its operations to its consumer. */
export function validateStages(graph: SdfGraph, onGpu: readonly boolean[], plan: StagePlan): string[] {
  requireRateGraph(graph);
  requireList('onGpu', onGpu, 'a place for each actor');
  requireFields('plan', plan, 'stages of actors and operations', ['operations']);
  requireCounts('plan.stages', plan.stages, graph.actors.length);
  for (const [i, operation] of plan.operations.entries()) {
    requireFields(`plan.operations[${i}]`, operation, 'an operation with channel, kind and stage');
    requireCount(operation.stage, `plan.operations[${i}].stage`, Number.MIN_SAFE_INTEGER);
  }
  const problems: string[] = [];
  const looks = (actor: number): boolean => graph.channels.some(({ to, peek, pop }) => to === actor && peek > pop);
  for (const { id, from, to } of graph.channels) {
    if (from === to) continue;
    let at = elementAt(plan.stages, from), isOnGpu = onGpu[from] === true;
    // The layout that an actor on the GPU writes and reads: shuffled unless it peeks.
    let isShuffled = isOnGpu && !looks(from);
    for (const { kind, stage } of plan.operations.filter(({ channel }) => channel === id).sort((a, b) => a.stage - b.stage)) {
      if (stage <= at) problems.push(`channel ${id}: ${kind} in stage ${stage} follows stage ${at}`);
      at = stage;
      if (kind === 'toGpu' || kind === 'toCpu') isOnGpu = kind === 'toGpu';
      else if (!isOnGpu) problems.push(`channel ${id}: ${kind} of data that is not on the GPU`);
      if (kind === 'shuffle' || kind === 'deshuffle') isShuffled = kind === 'shuffle';
    }
    if (elementAt(plan.stages, to) <= at) problems.push(`channel ${id}: consumer in stage ${plan.stages[to]} follows stage ${at}`);
    if (isOnGpu !== (onGpu[to] === true)) problems.push(`channel ${id}: data ends on the wrong side`);
    if (isShuffled !== (onGpu[to] === true && !looks(to))) problems.push(`channel ${id}: data ends in the wrong layout`);
  }
  return problems;
}
