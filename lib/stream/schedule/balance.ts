// Balance equations: how often each actor fires in one steady state (section 2.3.2: k_u O_uv = k_v I_uv for every channel).
import { elementAt, required } from '../../core/known.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { describeValue } from '../../core/arrays.ts';
import { whole } from '../../core/checks.ts';
import { refusal } from '../../core/errors.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { ScheduleError } from './error.ts';
import { adjacency, checkGraph, describeChannel, type Adjacency } from './topology.ts';

/** Most firings of all actors together in one steady state, unless the caller says otherwise: large pictures through some filters. */
export const kMaxFirings = 50_000_000;

/** Limits of scheduling. */
export interface ScheduleLimits {
  /** Most firings in one steady state, and most in the initialisation; default {@link kMaxFirings}. */
  readonly maxFirings?: number;
}

/** An exact ratio in lowest terms, both parts positive. */
interface Ratio { readonly over: bigint; readonly under: bigint }

/** Greatest common divisor of non-negative integers; gcd(0, n) = n. */
export function gcd(a: bigint, b: bigint): bigint {
  for (const [name, x] of [['a', a], ['b', b]] as const) {
    if (typeof x !== 'bigint' || x < 0n) throw refusal(name, 'a bigint of at least 0', typeof x === 'bigint' ? `${x}n` : describeValue(x));
  }
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

function ratio(over: bigint, under: bigint): Ratio {
  const divisor = gcd(over, under);
  return { over: over / divisor, under: under / divisor };
}

function inconsistent(graph: SdfGraph, channel: SdfChannel, from: Ratio, to: Ratio): ScheduleError {
  const scale = from.under * to.under / gcd(from.under, to.under);
  const firings = [from, to].map(({ over, under }) => over * (scale / under));
  const [u, v] = [elementAt(graph.actors, channel.from).name, elementAt(graph.actors, channel.to).name];
  return new ScheduleError('inconsistent', `${describeChannel(graph, channel)} cannot balance: the other channels make ${u} fire ` +
    `${firings[0]} times while ${v} fires ${firings[1]} times, so that ${elementAt(firings, 0) * BigInt(channel.push)} items come ` +
    `(${channel.push} per firing) and ${elementAt(firings, 1) * BigInt(channel.pop)} go (${channel.pop} per firing)`,
  { channel: channel.id, actors: [channel.from, channel.to] });
}

function tooLarge(graph: SdfGraph, actor: number, limit: number): ScheduleError {
  return new ScheduleError('limit', `one steady state needs more than ${limit} firings ` +
    `(seen at ${elementAt(graph.actors, actor).name}): choose rates with smaller least common multiples`, { actors: [actor] });
}

/** Rates 0 on one side only leave no firing rate but 0. */
function checkZeroRates(graph: SdfGraph): void {
  for (const channel of graph.channels) {
    if ((channel.push === 0) === (channel.pop === 0)) continue;
    const verb = channel.push === 0 ? 'nothing comes while' : 'items come while nothing goes:';
    throw new ScheduleError('inconsistent', `${describeChannel(graph, channel)} cannot balance: ${verb} ` +
      `push rate ${channel.push}, pop rate ${channel.pop}`, { channel: channel.id, actors: [channel.from, channel.to] });
  }
}

/** Firing rates of the component of `root` relative to it. */
function spread(graph: SdfGraph, { inputs, outputs }: Adjacency, root: number, rates: (Ratio | undefined)[], limit: bigint): number[] {
  rates[root] = { over: 1n, under: 1n };
  const members = [root];
  for (let at = 0; at < members.length; ++at) {
    const actor = elementAt(members, at);
    for (const channel of [...elementAt(inputs, actor), ...elementAt(outputs, actor)]) {
      if (channel.push === 0) continue;
      const { from, to } = channel;
      const [push, pop] = [BigInt(channel.push), BigInt(channel.pop)];
      const own = required(rates[actor]);
      const other = actor === from ? to : from;
      const rate = actor === from ? ratio(own.over * push, own.under * pop) : ratio(own.over * pop, own.under * push);
      const known = rates[other];
      if (known === undefined) {
        // In a primitive solution the root fires at least `under` times and this actor at least `over` times.
        if (rate.over > limit || rate.under > limit) throw tooLarge(graph, other, Number(limit));
        rates[other] = rate;
        members.push(other);
      } else if (known.over !== rate.over || known.under !== rate.under) {
        throw inconsistent(graph, channel, required(rates[from]), required(rates[to]));
      }
    }
  }
  return members;
}

/** Reads the limits of a schedule. @internal */
export const scheduleLimits = optionsOf('limits of schedules', {
  maxFirings: normally(whole(1), kMaxFirings),
} satisfies ChecksOf<ScheduleLimits>);

/**
 * Primitive firing rates: the least positive integers k with k_from · push = k_to · pop on every channel, by actor.
 * Parts of the graph that no channel joins are primitive each on its own. Exact for any rates.
 * Throws {@link ScheduleError}: `graph`, `inconsistent` (with the channel) or `limit`.
 */
export function repetitions(graph: SdfGraph, limits: ScheduleLimits = {}): number[] {
  checkGraph(graph);
  const { maxFirings: limit } = scheduleLimits.read(limits, 'limits');
  checkZeroRates(graph);
  const ends = adjacency(graph);
  const rates: (Ratio | undefined)[] = graph.actors.map(() => undefined);
  const counts = graph.actors.map(() => 0n);
  for (const { id } of graph.actors) {
    if (rates[id] !== undefined) continue;
    const members = spread(graph, ends, id, rates, BigInt(limit));
    let multiple = 1n;
    for (const member of members) {
      const { under } = required(rates[member]);
      multiple = multiple / gcd(multiple, under) * under;
      if (multiple > BigInt(limit)) throw tooLarge(graph, member, limit);
    }
    for (const member of members) counts[member] = required(rates[member]).over * multiple / required(rates[member]).under;
  }
  let total = 0n;
  for (let actor = 0; actor < counts.length; ++actor) {
    total += elementAt(counts, actor);
    if (total > BigInt(limit)) throw tooLarge(graph, actor, limit);
  }
  return counts.map(Number);
}
