// Scheduling of graphs with constant rates: everything here is a pure function of SdfGraph and cost tables. This is the public interface:
// arguments are checked here, once, and not in the code behind it.
import { describeValue } from '../../core/arrays.ts';
import { callback, requireCount, whole } from '../../core/checks.ts';
import { briefly } from '../../core/display.ts';
import { refusal } from '../../core/errors.ts';
import { required } from '../../core/known.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { requireCounts, requireFields, requireList, requireRateGraph, requireSizes, requireSteady } from '../require.ts';
import { ScheduleError } from './error.ts';
import type { Components } from './order.ts';
import * as within from './steady.ts';
import { kMaxFirings, type Adjacency, type SteadySchedule, type SteadyState } from './steady.ts';

export { ScheduleError, type SchedulePlace, type ScheduleErrorReason } from './error.ts';
export {
  accessAt, accessPosition, deshuffle, firingOf, kBlockGroup, kWarpGroup, layoutItems, positionOf, shuffle, streamIndexOf, threadOf,
  type Access, type LayoutEnd,
} from './layout.ts';
export type { Components } from './order.ts';
export { kMaxFirings, type Adjacency, type SteadySchedule, type SteadyState, type Step } from './steady.ts';
export { validateSchedule, type CheckedSchedule, type ScheduleProblem } from './validate.ts';

/** Limits of scheduling. */
export interface ScheduleLimits {
  /** Maximum number of firings in one steady state, and in the initialisation; default 50 million. */
  readonly maxFirings?: number;
}

const limitOptions = optionsOf('limits of schedules', { maxFirings: normally(whole(1), kMaxFirings) } satisfies ChecksOf<ScheduleLimits>);
const mostFirings = (limits: ScheduleLimits): number => limitOptions.read(limits, 'limits').maxFirings;

/** Greatest common divisor of non-negative integers; gcd(0, n) = n. */
export function gcd(a: bigint, b: bigint): bigint {
  for (const [name, x] of [['a', a], ['b', b]] as const) {
    if (typeof x !== 'bigint' || x < 0n) throw refusal(name, 'a bigint of at least 0', typeof x === 'bigint' ? `${x}n` : describeValue(x));
  }
  return within.gcd(a, b);
}

/** Channels by consumer and by producer. */
export function adjacency(graph: SdfGraph): Adjacency {
  requireRateGraph(graph);
  return within.adjacency(graph);
}

/** How messages refer to a channel. */
export function describeChannel(graph: SdfGraph, channel: SdfChannel): string {
  requireRateGraph(graph);
  requireFields('channel', channel, 'a channel of the graph');
  requireCount(channel.id, 'channel.id', 0);
  for (const end of ['from', 'to'] as const) requireCount(channel[end], `channel.${end}`, 0, graph.actors.length - 1);
  return within.describeChannel(graph, channel);
}

/** Throws a {@link ScheduleError} (`graph`) unless ids equal positions, rates are integers ≥ 0 and peek ≥ pop. */
export function checkGraph(graph: SdfGraph): void {
  requireFields('graph', graph, 'a graph of rates, as stream.toSdf gives it', ['actors', 'channels']);
  for (const [place, channel] of (graph.channels as readonly (SdfChannel | null)[]).entries()) {
    const ends = [channel?.from, channel?.to];
    if (!ends.every(Number.isInteger) || ends.every((end) => graph.actors[required(end)] !== undefined)) continue;
    throw new ScheduleError('graph', `channel ${place}: ends ${ends.join(' and ')} are not both actors`, { channel: place });
  }
  requireRateGraph(graph);
  within.checkIdsAndRates(graph);
}

/** Strongly connected components of the graph, or of the subgraph of channels that `keeps` accepts. Linear time, no recursion. */
export function stronglyConnected(graph: SdfGraph, keeps: (channel: SdfChannel) => boolean = () => true): Components {
  requireRateGraph(graph);
  callback(keeps, 'keeps');
  return within.stronglyConnected(graph, keeps);
}

/** True for a component that contains a cycle: several actors, or one that feeds itself. */
export function isLoop(graph: SdfGraph, members: readonly number[]): boolean {
  requireRateGraph(graph);
  requireList('members', members, 'ids of actors');
  return within.isLoop(graph, members);
}

/**
 * Actors in an order in which every kept channel goes forward; of several candidates, the smallest id comes first. Undefined if the kept
 * channels contain a cycle. Self-loops do not count.
 */
export function topologicalOrder(graph: SdfGraph, keeps: (channel: SdfChannel) => boolean = () => true): number[] | undefined {
  requireRateGraph(graph);
  callback(keeps, 'keeps');
  return within.topologicalOrder(graph, keeps);
}

/**
 * Primitive firing rates: the smallest positive integers k with k_from · push = k_to · pop on every channel, by actor. Unconnected parts of
 * the graph are primitive separately. Exact for any rates. Throws {@link ScheduleError}: `graph`, `inconsistent` (with the channel) or
 * `limit`.
 */
export function repetitions(graph: SdfGraph, limits: ScheduleLimits = {}): number[] {
  checkGraph(graph);
  return within.repetitions(graph, mostFirings(limits));
}

/** Rates of the first firing: those of the prework if there is one, otherwise the usual ones. */
export function firstRates(channel: SdfChannel): { push: number; pop: number; peek: number } {
  requireFields('channel', channel, 'a channel with rates');
  return within.firstRates(channel);
}

/** Actors whose first firing differs: some channel has a first rate at their end. */
export function actorsWithPrework(graph: SdfGraph): boolean[] {
  requireRateGraph(graph);
  return within.actorsWithPrework(graph);
}

function requireRate(channel: SdfChannel, rate: 'push' | 'pop', count: number): void {
  requireFields('channel', channel, 'a channel with rates');
  requireSizes(`channel.${rate}`, [channel[rate], within.firstRates(channel)[rate]]);
  requireCount(count, 'count', 0);
}

/** How many items `count` firings of the producer push; the first of them runs the prework. */
export function itemsPushed(channel: SdfChannel, count: number): number {
  requireRate(channel, 'push', count);
  return within.itemsPushed(channel, count);
}

/** How many items `count` firings of the consumer pop; the first of them runs the prework. */
export function itemsPopped(channel: SdfChannel, count: number): number {
  requireRate(channel, 'pop', count);
  return within.itemsPopped(channel, count);
}

/**
 * How often each actor fires before the first steady state: the smallest numbers such that all prework has run and every channel then holds
 * at least peek − pop items. Throws {@link ScheduleError}: `deadlock` or `limit`.
 */
export function initFirings(graph: SdfGraph, rates: readonly number[], limits: ScheduleLimits = {}): number[] {
  requireRateGraph(graph);
  requireCounts('rates', rates, graph.actors.length, 1);
  return within.initFirings(graph, rates, mostFirings(limits));
}

/**
 * Rates, initialisation and order of a graph. Proves that the graph never deadlocks. Throws {@link ScheduleError}: `graph`, `inconsistent`,
 * `deadlock` or `limit`.
 */
export function steadyState(graph: SdfGraph, limits: ScheduleLimits = {}): SteadyState {
  checkGraph(graph);
  return briefly('SteadyState', { ...within.scheduled(graph, mostFirings(limits)).steady });
}

/**
 * Every actor once, in stream order, with its firing rate: S1 of Figure 2.7. A feedback loop that holds too few items for that is fired in
 * rounds, each actor as often as it can.
 */
export function singleAppearanceSchedule(graph: SdfGraph, steady: SteadyState): SteadySchedule {
  requireRateGraph(graph);
  requireSteady(graph, steady);
  return briefly('SteadySchedule', { ...within.singleAppearanceSchedule(graph, steady) });
}

/**
 * Fires every actor only as often as its consumers need: S2 of Figure 2.7, with the lowest latency. Several sinks take turns by the
 * completed share of their firings.
 */
export function pushSchedule(graph: SdfGraph, steady: SteadyState): SteadySchedule {
  requireRateGraph(graph);
  requireSteady(graph, steady);
  return briefly('SteadySchedule', { ...within.pushSchedule(graph, steady) });
}
