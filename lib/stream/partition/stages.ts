// Modulo scheduling of section 4.8: stages of actors, transfers and shuffles for a given task partition, and the buffers between them.
import { number } from '../../core/checks.ts';
import { elementAt } from '../../core/known.ts';
import { optionsOf, type ChecksOf } from '../../core/options.ts';
import { ScheduleError } from '../schedule/error.ts';
import { isLoop, stronglyConnected } from '../schedule/index.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { requireCounts, requireFields, requireList, requireRateGraph, requireSizes } from '../require.ts';
import { orderedActors } from './costs.ts';

/** A partitioned graph. */
export interface StageProblem {
  readonly graph: SdfGraph;
  /** Firings of each actor in one iteration. */
  readonly repetitions: readonly number[];
  /** Items on each channel between iterations; default: those of the graph, which are right where it comes from `threaded`. */
  readonly tokens?: readonly number[];
  /** By actor id. */
  readonly onGpu: readonly boolean[];
}

/** An operation on a channel, between its ends. */
export interface ChannelOperation {
  readonly channel: number;
  readonly kind: 'toGpu' | 'toCpu' | 'shuffle' | 'deshuffle';
  readonly stage: number;
}

/**
 * A ring of whole iterations of a channel, between its producer, its operations and its consumer. Iteration j of the producer stands in
 * slot j mod `slots`.
 */
export interface StageBuffer {
  readonly channel: number;
  readonly onGpu: boolean;
  /** Laid out for coalesced access; else in the order of the stream. */
  readonly isShuffled: boolean;
  /** Stages of who writes it and who reads it. */
  readonly written: number;
  readonly read: number;
  readonly slots: number;
  readonly bytes: number;
}

/** Stages of a partitioned graph; iteration j of an actor or operation runs in launch j + stage. */
export interface StagePlan {
  /** By actor id. */
  readonly stages: readonly number[];
  /** By channel, in the order in which items pass through them. */
  readonly operations: readonly ChannelOperation[];
  /** By channel, from the producer on. */
  readonly buffers: readonly StageBuffer[];
  readonly hostBytes: number;
  readonly deviceBytes: number;
  /** Launches that an iteration spans. */
  readonly depth: number;
}

/** Choices of {@link assignStages}. */
export interface StageOptions {
  /** Device memory for buffers, in bytes. Default: no limit. */
  readonly maxDeviceBytes?: number;
}

const stageOptions = optionsOf('stream.assignStages', { maxDeviceBytes: number({ least: 0 }) } satisfies ChecksOf<StageOptions>);

/** Throws {@link ArgumentError} unless the problem is complete and fits its graph. */
export function checkStageProblem(problem: StageProblem): void {
  requireFields('problem', problem, 'a graph with repetitions and onGpu');
  const { graph, repetitions, tokens, onGpu } = problem;
  requireRateGraph(graph);
  requireCounts('problem.repetitions', repetitions, graph.actors.length);
  if (tokens !== undefined) requireSizes('problem.tokens', tokens, graph.channels.length);
  requireList('problem.onGpu', onGpu, 'a boolean for each actor');
}

/** A channel in whole iterations. */
interface Flow {
  readonly channel: SdfChannel;
  /** Items of an iteration. */
  readonly items: number;
  /** The consumer reads iterations from j − reach to j − distance of its producer; `distance` is 0 outside loops. */
  readonly distance: number;
  readonly reach: number;
  readonly onGpu: readonly [from: boolean, to: boolean];
  /** Whether producer and consumer keep the order of the stream. */
  readonly ordered: readonly [from: boolean, to: boolean];
  readonly reorders: 'shuffle' | 'deshuffle' | undefined;
}

/** The operation a channel needs, according to the four conditions of section 4.5.1. */
function reorders([fromGpu, toGpu]: readonly [boolean, boolean], [u, v]: readonly [boolean, boolean]): Flow['reorders'] {
  if (fromGpu && !toGpu) return u ? undefined : 'deshuffle';
  if (!fromGpu && toGpu) return v ? undefined : 'shuffle';
  if (fromGpu && toGpu && u !== v) return u ? 'shuffle' : 'deshuffle';
  return undefined;
}

function flowsOf({ graph, repetitions, tokens, onGpu }: StageProblem): Flow[] {
  const ordered = orderedActors(graph, tokens, repetitions);
  const { component, components } = stronglyConnected(graph);
  const loops = components.map((members) => isLoop(graph, members));
  return graph.channels.map((channel): Flow => {
    const { id, from, to, push, pop, peek } = channel;
    const items = push * elementAt(repetitions, from), left = tokens?.[id] ?? channel.tokens;
    const isInLoop = component[from] === component[to] && elementAt(loops, elementAt(component, from));
    const ends = [onGpu[from] === true, onGpu[to] === true] as const;
    const orders = [elementAt(ordered, from), elementAt(ordered, to)] as const;
    return {
      channel, items, onGpu: ends, ordered: orders, reorders: reorders(ends, orders),
      distance: isInLoop && items > 0 ? Math.floor((left - (peek - pop)) / items) : 0, reach: items > 0 ? Math.ceil(left / items) : 0,
    };
  });
}

/** Rules 1 to 3: stages between the ends of a channel. */
const apart = ({ onGpu, reorders: kind }: Flow): number => (onGpu[0] === onGpu[1] ? 1 : 2) + (kind ? 1 : 0);

/** The actors of a loop that cannot be spread over launches. */
function tightLoop(by: readonly (Flow | undefined)[], start: number): number[] {
  let actor = start;
  for (let back = 0; back < by.length; ++back) actor = by[actor]?.channel.from ?? actor;
  const loop = [actor];
  for (let at = by[actor]?.channel.from; at !== undefined && at !== actor; at = by[at]?.channel.from) loop.push(at);
  return loop;
}

/** Stages, or the actors of a loop that holds too few items for them. */
type Stages = { readonly stages: readonly number[]; readonly tight?: undefined } | { readonly tight: readonly number[] };

/** Least stages: longest paths, where iterations that stand on the channels of a loop shorten them. */
function leastStages(graph: SdfGraph, flows: readonly Flow[]): Stages {
  const stages = graph.actors.map(() => 0);
  const by: (Flow | undefined)[] = graph.actors.map(() => undefined);
  for (let round = 0; ; ++round) {
    let changed = -1;
    for (const flow of flows) {
      const { from, to } = flow.channel;
      const least = elementAt(stages, from) + apart(flow) - flow.distance;
      if (least <= elementAt(stages, to)) continue;
      [stages[to], by[to], changed] = [least, flow, to];
    }
    if (changed === -1) return { stages };
    if (round > graph.actors.length) return { tight: tightLoop(by, changed) };
  }
}

/** The actors of a loop that cannot be spread over launches; undefined: there is none. */
export function tightLoopOf(problem: StageProblem): readonly number[] | undefined {
  return leastStages(problem.graph, flowsOf(problem)).tight;
}

/** Operations of a channel: transfers into the GPU as late, those out of it as soon as possible. */
function operationsOf(flow: Flow, stages: readonly number[]): ChannelOperation[] {
  const { channel: { id, from, to }, onGpu, reorders: kind, distance } = flow;
  const after = elementAt(stages, from) + 1, before = elementAt(stages, to) + distance - 1;
  const change = (stage: number): ChannelOperation[] => kind ? [{ channel: id, kind, stage }] : [];
  if (onGpu[0] === onGpu[1]) return change(after);
  if (onGpu[0]) return [...change(after), { channel: id, kind: 'toCpu', stage: kind ? after + 1 : after }];
  return [{ channel: id, kind: 'toGpu', stage: kind ? before - 1 : before }, ...change(before)];
}

/** Rings between producer, operations and consumer. Items left over between iterations stand in the last one. */
function buffersOf(flow: Flow, operations: readonly ChannelOperation[], stages: readonly number[]): StageBuffer[] {
  const { channel: { id, from, to, bytesPerItem }, items, reach, ordered } = flow;
  let onGpu = flow.onGpu[0], isShuffled = onGpu && !ordered[0], written = elementAt(stages, from);
  const buffers: StageBuffer[] = [];
  const add = (read: number, kept: number): void => {
    const slots = Math.max(1, kept, read - written + kept + 1);
    buffers.push({ channel: id, onGpu, isShuffled, written, read, slots, bytes: slots * items * bytesPerItem });
  };
  for (const { kind, stage } of operations) {
    add(stage, 0);
    if (kind === 'toGpu' || kind === 'toCpu') onGpu = kind === 'toGpu';
    else isShuffled = kind === 'shuffle';
    written = stage;
  }
  add(elementAt(stages, to), reach);
  return buffers;
}

/**
 * Stages by the paper's rules: a consumer at least one stage after its producer, two across CPU and GPU, one more for a shuffle or
 * deshuffle. Transfers into the GPU run as late as possible and those out of it as soon as possible, which keeps device buffers
 * short-lived. A feedback loop is spread over launches as far as the iterations that stand on its channels allow. Throws
 * {@link ScheduleError}: `graph`, with the actors, for a loop that holds too few (see `contractLoops`), and `limit` where buffers exceed
 * `maxDeviceBytes`.
 */
export function assignStages(problem: StageProblem, options: StageOptions = {}): StagePlan {
  checkStageProblem(problem);
  const { maxDeviceBytes = Infinity } = stageOptions.read(options, 'options');
  const flows = flowsOf(problem);
  const found = leastStages(problem.graph, flows);
  if (found.tight) {
    const { tight } = found;
    const names = tight.slice(0, 8).map((actor) => elementAt(problem.graph.actors, actor).name).join(', ');
    throw new ScheduleError('graph',
      `the loop through ${names} holds too few items to be spread over launches: contract it to one actor with state first`,
      { actors: tight });
  }
  const { stages } = found;
  const operations = flows.map((flow) => operationsOf(flow, stages));
  const buffers = flows.flatMap((flow, at) => buffersOf(flow, elementAt(operations, at), stages));
  const bytesOn = (side: boolean): number => buffers.reduce((sum, { onGpu, bytes }) => sum + (onGpu === side ? bytes : 0), 0);
  const deviceBytes = bytesOn(true);
  if (deviceBytes > maxDeviceBytes) {
    throw new ScheduleError('limit',
      `buffers on the device take ${deviceBytes} bytes, at most ${maxDeviceBytes}: choose shorter iterations`);
  }
  return {
    stages, operations: operations.flat(), buffers, deviceBytes, hostBytes: bytesOn(false),
    depth: stages.reduce((most, stage) => Math.max(most, stage), 0) + 1,
  };
}
