// Multi-threaded actors (section 3.4). An instance does one firing per thread, so rates are multiplied by the number of threads and the
// steady state is computed again.
import { requireCount, whole } from '../../core/checks.ts';
import { elementAt } from '../../core/known.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { ScheduleError } from '../schedule/error.ts';
import { gcd, isLoop, kMaxFirings, steadyState, stronglyConnected, type SteadyState } from '../schedule/index.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { requireCounts, requireRateGraph, requireSteady } from '../require.ts';

/** A graph whose actors fire in instances of several threads. */
export interface Threaded {
  /**
   * The graph with the rates of whole instances. It begins after the initialisation of the given graph: its tokens are the items on the
   * channels at that point, and no first firing differs.
   */
  readonly graph: SdfGraph;
  /** K_v: the number of instances of each actor in one iteration. */
  readonly repetitions: readonly number[];
  /** M_uv: the number of items on each channel between iterations. */
  readonly tokens: readonly number[];
  /** Steady states of the given graph in one iteration: the amount of work by which intervals are divided for comparison. */
  readonly steadyStates: number;
}

/** By what the steady states of a graph of threads are to be divisible. */
export interface ThreadedOptions {
  /** The number of items of an iteration is a multiple of this on each channel; default 1. Shuffles take 1024 at a time (section 4.7). */
  readonly itemsMultiple?: number;
  /** The number of steady states in one iteration is a multiple of this; default 1. */
  readonly steadyStatesMultiple?: number;
}

/** Checks of the options of {@link threaded}, for functions that pass them on. */
export const threadedChecks = {
  itemsMultiple: normally(whole(1, 2 ** 20), 1), steadyStatesMultiple: normally(whole(1, 2 ** 30), 1),
} satisfies ChecksOf<ThreadedOptions>;

const threadedOptions = optionsOf('stream.threaded', threadedChecks);

const lcm = (a: bigint, b: bigint): bigint => a / gcd(a, b) * b;

/**
 * The smallest multiple of `atLeast` steady states in which each actor does whole instances and each channel moves whole groups of items.
 * `groups`: items in a group, by channel.
 */
export function leastSteadyStates(graph: SdfGraph, repetitions: readonly number[], threads: readonly number[], groups: readonly number[],
  atLeast: number): number {
  let states = BigInt(atLeast);
  const include = (amount: number, unit: number): void => {
    if (amount > 0) states = lcm(states, BigInt(unit) / gcd(BigInt(unit), BigInt(amount)));
  };
  repetitions.forEach((count, actor) => { include(count, elementAt(threads, actor)); });
  for (const { id, from, push } of graph.channels) include(elementAt(repetitions, from) * push, elementAt(groups, id));
  const firings = repetitions.reduce((sum, count) => sum + BigInt(count), 0n) * states;
  if (firings <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(states);
  throw new ScheduleError('limit',
    `one iteration of whole instances needs ${states} steady states: choose numbers of threads with more in common`);
}

function widened(channel: SdfChannel, tokens: number, made: number, taken: number): SdfChannel {
  const { id, from, to, push, pop, peek, bytesPerItem } = channel;
  return { id, from, to, push: push * made, pop: pop * taken, peek: taken * pop + peek - pop, tokens, bytesPerItem };
}

/**
 * The graph in which one instance of each actor does `threads` firings: rates are multiplied by the number of threads, a window is
 * threads · pop + peek − pop, and the numbers of instances K_v are computed again (line 7 of Algorithm 2). The initialisation is that of
 * the given graph.
 *
 * @throws ScheduleError: `deadlock` if a loop holds too few items for such instances, `limit`, and the errors of {@link steadyState}
 */
export function threaded(given: SdfGraph, threads: readonly number[], options: ThreadedOptions = {}, known?: SteadyState): Threaded {
  requireRateGraph(given);
  requireCounts('threads', threads, given.actors.length, 1);
  for (const count of threads) requireCount(count, 'threads', 1, 2 ** 30);
  const { itemsMultiple, steadyStatesMultiple } = threadedOptions.read(options, 'options');
  if (known !== undefined) requireSteady(given, known);
  const steady = known ?? steadyState(given);
  const groups = given.channels.map(({ from, to }) => from === to ? 1 : itemsMultiple);
  const steadyStates = leastSteadyStates(given, steady.repetitions, threads, groups, steadyStatesMultiple);
  const repetitions = steady.repetitions.map((count, actor) => count * steadyStates / elementAt(threads, actor));
  const instances = repetitions.reduce((sum, count) => sum + count, 0);
  if (instances > kMaxFirings) throw new ScheduleError('limit', `${instances} instances in one iteration, at most ${kMaxFirings}`);
  const graph = {
    actors: given.actors,
    channels: given.channels.map((channel) => widened(
      channel, elementAt(steady.residual, channel.id), elementAt(threads, channel.from), elementAt(threads, channel.to))),
  };
  // Without loops the items on the channels suffice, because windows reach no further beyond the consumed items than before.
  if (stronglyConnected(graph).components.some((members) => isLoop(graph, members))) steadyState(graph);
  return { graph, repetitions, tokens: steady.residual, steadyStates };
}
