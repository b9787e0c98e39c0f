// Steady-state schedules: single appearance (shortest to write) and push (least latency and buffers), section 2.3.2.
import { addAt, elementAt, lastOf, required } from '../../core/known.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { repetitions, type ScheduleLimits } from './balance.ts';
import { ScheduleError } from './error.ts';
import { fireAll, initFirings } from './init.ts';
import { appendStep, itemsPopped, itemsPushed, Marking, type Step } from './marking.ts';
import { adjacency, stronglyConnected, topologicalOrder } from './topology.ts';
import { requireRateGraph, requireSteady } from '../require.ts';

/** What one iteration of a graph is. Arrays go by actor id or channel id. */
export interface SteadyState {
  /** Primitive firing rates, by actor. */
  readonly repetitions: readonly number[];
  /** Firings before the first steady state, by actor: prework and peek windows. */
  readonly initFirings: readonly number[];
  /** The same as a schedule; the first firing of an actor with prework is its prework. */
  readonly init: readonly Step[];
  /** Items on each channel after the initialisation and after every steady state (m_uv of the paper); at least peek − pop. */
  readonly residual: readonly number[];
  /** An order of the actors in which channels go forward, loops aside. */
  readonly order: readonly number[];
}

/** A schedule of one steady state. */
export interface SteadySchedule {
  readonly steps: readonly Step[];
  /** Most items on each channel from the start of the initialisation on. */
  readonly buffers: readonly number[];
  /** Each actor appears once. False for a single-appearance schedule only where a loop lacks the items for it. */
  readonly isSingleAppearance: boolean;
}

/**
 * Channels that order nothing within one steady state: what stands on them already feeds all firings of the consumer.
 * Only those inside a loop count, so that the order follows the stream elsewhere.
 */
function isDelay(rates: readonly number[], tokens: readonly number[]): (channel: SdfChannel) => boolean {
  return ({ id, to, pop, peek }) => elementAt(tokens, id) - (peek - pop) >= elementAt(rates, to) * pop;
}

/** Loops in the order of the stream, and inside each loop the actors in the order of the channels that do not delay. */
function flowOrder(graph: SdfGraph, rates: readonly number[], tokens: readonly number[]): { order: number[]; groups: number[][] } {
  const { component, components } = stronglyConnected(graph);
  const enough = isDelay(rates, tokens);
  const orders = (channel: SdfChannel): boolean => component[channel.from] === component[channel.to] && !enough(channel);
  const inner = topologicalOrder(graph, orders)?.map((actor) => [actor]) ??
    stronglyConnected(graph, orders).components.map((members) => [...members]).reverse();
  const inside: number[][][] = components.map(() => []);
  for (const group of inner) elementAt(inside, elementAt(component, elementAt(group, 0))).push(group);
  const groups = componentOrder(graph, component, components).flatMap((id) => elementAt(inside, id));
  return { order: groups.flat(), groups };
}

/** Components in the order of the stream, that of the smallest actor first where there is a choice. */
function componentOrder(graph: SdfGraph, component: readonly number[], components: readonly (readonly number[])[]): number[] {
  const first = components.map((members) => elementAt(members, 0));
  const ranked = components.map((_, id) => id).sort((a, b) => elementAt(first, a) - elementAt(first, b));
  const rank = new Map(ranked.map((id, at) => [id, at]));
  const condensed: SdfGraph = {
    actors: ranked.map((id, at) => ({ ...elementAt(graph.actors, elementAt(elementAt(components, id), 0)), id: at })),
    channels: graph.channels.map((channel) => ({
      ...channel, from: required(rank.get(elementAt(component, channel.from))), to: required(rank.get(elementAt(component, channel.to))),
    })),
  };
  return required(topologicalOrder(condensed)).map((at) => elementAt(ranked, at));
}

/** Marking after the initialisation, and the way there. */
function initialise(graph: SdfGraph, counts: readonly number[], order: readonly number[]): { marking: Marking; init: Step[] } {
  const marking = new Marking(graph);
  return { marking, init: fireAll(graph, marking, order, counts) };
}

/** Replays the initialisation of a steady state. */
function markingAfterInit(graph: SdfGraph, { init }: SteadyState): Marking {
  const marking = new Marking(graph);
  for (const { actor, count } of init) marking.fireUpTo(actor, count);
  return marking;
}

/**
 * Rates, initialisation and order of a graph; proves that it never deadlocks.
 * Throws {@link ScheduleError}: `graph`, `inconsistent`, `deadlock` or `limit`.
 */
export function steadyState(graph: SdfGraph, limits: ScheduleLimits = {}): SteadyState {
  const rates = repetitions(graph, limits);
  const counts = initFirings(graph, rates, limits);
  const residual = graph.channels.map((channel) =>
    channel.tokens + itemsPushed(channel, elementAt(counts, channel.from)) - itemsPopped(channel, elementAt(counts, channel.to)));
  const { order, groups } = flowOrder(graph, rates, residual);
  const { marking, init } = initialise(graph, counts, order);
  for (const group of groups) fireAll(graph, marking, group, rates);
  return { repetitions: rates, initFirings: counts, init, residual, order };
}

/**
 * Every actor once, in the order of the stream, with its firing rate: S1 of Figure 2.7. A loop whose items do not allow that
 * is fired in rounds, each actor as often as it can.
 */
export function singleAppearanceSchedule(graph: SdfGraph, steady: SteadyState): SteadySchedule {
  requireRateGraph(graph);
  requireSteady(graph, steady);
  const marking = markingAfterInit(graph, steady);
  const { groups } = flowOrder(graph, steady.repetitions, steady.residual);
  const steps = groups.flatMap((group) => fireAll(graph, marking, group, steady.repetitions));
  return { steps, buffers: marking.peak, isSingleAppearance: steps.length === graph.actors.length };
}

/**
 * Every actor just as often as its consumers need to fire: S2 of Figure 2.7, the least latency. Several sinks take turns by
 * the share of their firings done.
 */
export function pushSchedule(graph: SdfGraph, steady: SteadyState): SteadySchedule {
  requireRateGraph(graph);
  requireSteady(graph, steady);
  const marking = markingAfterInit(graph, steady);
  const { outputs } = adjacency(graph);
  const rates = steady.repetitions;
  const left = [...rates];
  const steps: Step[] = [];
  const demand = (sink: number): void => {
    const path = [sink];
    while (path.length > 0) {
      const actor = lastOf(path);
      const channel = marking.blockedBy(actor);
      if (channel === undefined) {
        marking.apply(actor, 1);
        addAt(left, actor, -1);
        appendStep(steps, actor, 1);
        path.pop();
      } else if (path.length > graph.actors.length) {
        throw new ScheduleError('deadlock', `deadlock: ${elementAt(graph.actors, actor).name} waits for itself`,
          { channel: channel.id, actors: path });
      } else path.push(channel.from);
    }
  };
  const sinks = steady.order.filter((actor) => elementAt(outputs, actor).every(({ to }) => to === actor));
  for (let sink = leastDone(sinks, left, rates); sink !== undefined; sink = leastDone(sinks, left, rates)) demand(sink);
  for (const actor of steady.order) while (elementAt(left, actor) > 0) demand(actor);
  return { steps, buffers: marking.peak, isSingleAppearance: steps.length === graph.actors.length };
}

function leastDone(sinks: readonly number[], left: readonly number[], rates: readonly number[]): number | undefined {
  let best: number | undefined;
  for (const sink of sinks) {
    const [mine, rate] = [elementAt(left, sink), elementAt(rates, sink)];
    if (mine > 0 && (best === undefined || mine * elementAt(rates, best) > elementAt(left, best) * rate)) best = sink;
  }
  return best;
}
