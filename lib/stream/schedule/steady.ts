// The schedule of a graph, computed once: how often each actor fires in a steady state (section 2.3.2), what comes before the first one,
// and an order. Arguments are not checked here: index.ts does that for callers of the package.
import { addAt, elementAt, lastOf, required } from '../../core/known.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { ScheduleError } from './error.ts';
import { componentsOf, forwardOrder, type Components } from './order.ts';

/** Default maximum number of firings of all actors together in one steady state: enough for large images through a few filters. */
export const kMaxFirings = 50_000_000;

/** One entry of a schedule: `count` firings of `actor` in a row. */
export interface Step {
  readonly actor: number;
  readonly count: number;
}

/** One iteration of a graph. Arrays are indexed by actor id or channel id. */
export interface SteadyState {
  /** Primitive firing rates, by actor. */
  readonly repetitions: readonly number[];
  /** Firings before the first steady state, by actor: prework and peek windows. */
  readonly initFirings: readonly number[];
  /** The same as a schedule; the first firing of an actor with prework is its prework. */
  readonly init: readonly Step[];
  /** Items on each channel after the initialisation and after every steady state (m_uv of the paper); at least peek − pop. */
  readonly residual: readonly number[];
  /** An order of the actors in which channels go forward, except in feedback loops. */
  readonly order: readonly number[];
}

/** A schedule of one steady state. */
export interface SteadySchedule {
  readonly steps: readonly Step[];
  /** By channel: the maximum number of items since the start of the initialisation. */
  readonly buffers: readonly number[];
  /** Each actor appears once. In a single-appearance schedule, false only if a feedback loop holds too few items for that. */
  readonly isSingleAppearance: boolean;
}

/** Everything that scheduling determines about a graph. */
export interface Schedule extends Components, Adjacency {
  readonly steady: SteadyState;
  /** The single-appearance schedule. */
  readonly single: SteadySchedule;
}

/** Channels of each actor, by actor id, in order of channel ids. */
export interface Adjacency {
  readonly inputs: readonly (readonly SdfChannel[])[];
  readonly outputs: readonly (readonly SdfChannel[])[];
}

/** The structure of the graph. */
interface Shape extends Adjacency, Components {
  readonly graph: SdfGraph;
}

/** Channels by consumer and by producer. */
export function adjacency(graph: SdfGraph): Adjacency {
  const inputs: SdfChannel[][] = graph.actors.map(() => []);
  const outputs: SdfChannel[][] = graph.actors.map(() => []);
  for (const channel of graph.channels) {
    elementAt(outputs, channel.from).push(channel);
    elementAt(inputs, channel.to).push(channel);
  }
  return { inputs, outputs };
}

/** How messages refer to a channel. */
export function describeChannel(graph: SdfGraph, channel: SdfChannel): string {
  return `channel ${channel.id} (${elementAt(graph.actors, channel.from).name} → ${elementAt(graph.actors, channel.to).name})`;
}

/** Successors of each actor along the channels that `keeps` accepts. */
function successorsOf(graph: SdfGraph, keeps: (channel: SdfChannel) => boolean): number[][] {
  const successors: number[][] = graph.actors.map(() => []);
  for (const channel of graph.channels) if (keeps(channel)) elementAt(successors, channel.from).push(channel.to);
  return successors;
}

/** Strongly connected components of the graph, or of the subgraph of channels that `keeps` accepts. */
export function stronglyConnected(graph: SdfGraph, keeps: (channel: SdfChannel) => boolean = () => true): Components {
  return componentsOf(successorsOf(graph, keeps));
}

/** True for a component that contains a cycle: several actors, or one that feeds itself. */
export function isLoop(graph: SdfGraph, members: readonly number[]): boolean {
  return members.length > 1 || graph.channels.some(({ from, to }) => from === members[0] && to === from);
}

function shapeOf(graph: SdfGraph): Shape {
  return { graph, ...adjacency(graph), ...stronglyConnected(graph) };
}

/** Actors in an order in which every kept channel except self-loops goes forward; undefined if there is none. */
export function topologicalOrder(graph: SdfGraph, keeps: (channel: SdfChannel) => boolean = () => true): number[] | undefined {
  return forwardOrder(successorsOf(graph, (channel) => channel.from !== channel.to && keeps(channel)));
}

const isCount = (value: number | undefined): boolean => value === undefined || (Number.isSafeInteger(value) && value >= 0);

function channelFault(graph: SdfGraph, channel: SdfChannel, place: number): string | undefined {
  const { from, to, push, pop, peek, tokens, firstPush, firstPop, firstPeek } = channel;
  if (channel.id !== place) return `id ${channel.id} stands at place ${place}`;
  if (!graph.actors[from] || !graph.actors[to]) return `ends ${from} and ${to} are not both actors`;
  if (![push, pop, peek, tokens].every((value: number | undefined) => value !== undefined && isCount(value)) ||
    ![firstPush, firstPop, firstPeek].every(isCount)) return 'rates and tokens must be integers ≥ 0';
  if (peek < pop) return `peek rate ${peek} is less than pop rate ${pop}`;
  if (firstPeek !== undefined && firstPeek < (firstPop ?? pop)) return `first peek rate ${firstPeek} is less than the first pop rate`;
  return undefined;
}

/** Throws a {@link ScheduleError} (`graph`) unless ids equal positions, rates are integers ≥ 0 and peek ≥ pop. */
export function checkIdsAndRates(graph: SdfGraph): void {
  graph.actors.forEach(({ id }, place) => {
    if (id !== place) throw new ScheduleError('graph', `actor ${id} stands at place ${place}`, { actors: [place] });
  });
  graph.channels.forEach((channel, place) => {
    const fault = channelFault(graph, channel, place);
    if (fault !== undefined) throw new ScheduleError('graph', `channel ${place}: ${fault}`, { channel: place });
  });
}

/** An exact ratio in lowest terms, both parts positive. */
interface Ratio { readonly over: bigint; readonly under: bigint }

/** Greatest common divisor; gcd(0, n) = n. */
export function gcd(a: bigint, b: bigint): bigint {
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

/** If the rate is 0 on one side only, the other side can never fire. */
function checkZeroRates(graph: SdfGraph): void {
  for (const channel of graph.channels) {
    if ((channel.push === 0) === (channel.pop === 0)) continue;
    const verb = channel.push === 0 ? 'nothing comes while' : 'items come while nothing goes:';
    throw new ScheduleError('inconsistent', `${describeChannel(graph, channel)} cannot balance: ${verb} ` +
      `push rate ${channel.push}, pop rate ${channel.pop}`, { channel: channel.id, actors: [channel.from, channel.to] });
  }
}

/** Firing rates of the actors in the component of `root`, relative to it. */
function spread({ graph, inputs, outputs }: Shape, root: number, rates: (Ratio | undefined)[], limit: bigint): number[] {
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

/**
 * Primitive firing rates: the smallest positive integers k with k_from · push = k_to · pop on every channel, by actor. Unconnected parts of
 * the graph are primitive separately. Exact for any rates. Throws {@link ScheduleError}: `graph`, `inconsistent` (with the channel) or
 * `limit`.
 */
export function repetitions(graph: SdfGraph, limit = kMaxFirings): number[] {
  checkIdsAndRates(graph);
  return firingRates(shapeOf(graph), limit);
}

function firingRates(shape: Shape, limit: number): number[] {
  const { graph } = shape;
  checkZeroRates(graph);
  const rates: (Ratio | undefined)[] = graph.actors.map(() => undefined);
  const counts = graph.actors.map(() => 0n);
  for (const { id } of graph.actors) {
    if (rates[id] !== undefined) continue;
    const members = spread(shape, id, rates, BigInt(limit));
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

/** Rates of the first firing: those of the prework if there is one, otherwise the usual ones. */
export function firstRates(channel: SdfChannel): { push: number; pop: number; peek: number } {
  const pop = channel.firstPop ?? channel.pop;
  return {
    push: channel.firstPush ?? channel.push, pop,
    peek: channel.firstPeek ?? (channel.firstPop === undefined ? channel.peek : pop),
  };
}

/** Actors whose first firing differs: some channel has a first rate at their end. */
export function actorsWithPrework(graph: SdfGraph): boolean[] {
  const found = graph.actors.map(() => false);
  for (const { from, to, firstPush, firstPop, firstPeek } of graph.channels) {
    if (firstPush !== undefined) found[from] = true;
    if (firstPop !== undefined || firstPeek !== undefined) found[to] = true;
  }
  return found;
}

/** How many items `count` firings of the producer push; the first of them runs the prework. */
export function itemsPushed(channel: SdfChannel, count: number): number {
  return count === 0 ? 0 : firstRates(channel).push + (count - 1) * channel.push;
}

/** How many items `count` firings of the consumer pop; the first of them runs the prework. */
export function itemsPopped(channel: SdfChannel, count: number): number {
  return count === 0 ? 0 : firstRates(channel).pop + (count - 1) * channel.pop;
}

/** Maximum number of steps in a schedule. Push schedules, and loops that fire one actor at a time, have many. */
const kMaxSteps = 2_000_000;

/**
 * Appends a step to a list, merging it with the last one if that is of the same actor. Throws {@link ScheduleError} (`limit`) if the list
 * gets too long.
 */
export function appendStep(steps: Step[], actor: number, count: number): void {
  const last = steps[steps.length - 1];
  if (last?.actor === actor) steps[steps.length - 1] = { actor, count: last.count + count };
  else if (steps.length < kMaxSteps) steps.push({ actor, count });
  else throw new ScheduleError('limit', `one steady state has more than ${kMaxSteps} steps: choose smaller rates`, { actors: [actor] });
}

/** The number of items on each channel, and its maximum so far. */
export class Marking {
  readonly tokens: number[];
  readonly peak: number[];
  readonly fired: number[];
  private readonly ends: Adjacency;

  /** @param start the state to continue from; default: the graph's own start */
  constructor(graph: SdfGraph, start?: { readonly tokens: readonly number[]; readonly fired: readonly number[] }, ends = adjacency(graph)) {
    this.ends = ends;
    this.tokens = [...start?.tokens ?? graph.channels.map(({ tokens }) => tokens)];
    this.peak = [...this.tokens];
    this.fired = [...start?.fired ?? graph.actors.map(() => 0)];
  }

  /** The first input that keeps the actor from firing once; undefined if it can fire. */
  blockedBy(actor: number): SdfChannel | undefined {
    const isFirst = this.fired[actor] === 0;
    return elementAt(this.ends.inputs, actor).find((channel) =>
      elementAt(this.tokens, channel.id) < (isFirst ? firstRates(channel).peek : channel.peek));
  }

  /** Fires as often as the inputs allow, at most `limit` times; returns how often. */
  fireUpTo(actor: number, limit: number): number {
    let count = 0;
    if (this.fired[actor] === 0 && limit > 0 && this.blockedBy(actor) === undefined) {
      this.apply(actor, 1);
      count = 1;
    }
    if (this.fired[actor] === 0) return count;
    const inputs = elementAt(this.ends.inputs, actor);
    let more = limit - count;
    for (const { id, pop, push, peek, from, to } of inputs) {
      const drain = from === to ? pop - push : pop;
      if (elementAt(this.tokens, id) < peek) more = 0;
      else if (drain > 0) more = Math.min(more, Math.floor((elementAt(this.tokens, id) - peek) / drain) + 1);
    }
    if (more > 0) this.apply(actor, more);
    return count + Math.max(more, 0);
  }

  /** Fires `count` times; the caller knows that this is allowed. A first firing must come alone. */
  apply(actor: number, count: number): void {
    const isFirst = this.fired[actor] === 0;
    addAt(this.fired, actor, count);
    for (const channel of elementAt(this.ends.inputs, actor)) {
      addAt(this.tokens, channel.id, isFirst ? -itemsPopped(channel, count) : -count * channel.pop);
    }
    for (const channel of elementAt(this.ends.outputs, actor)) {
      const { id } = channel;
      addAt(this.tokens, id, isFirst ? itemsPushed(channel, count) : count * channel.push);
      this.peak[id] = Math.max(elementAt(this.peak, id), elementAt(this.tokens, id));
    }
  }

  /** Resets the maximum numbers of items. */
  resetPeak(): void {
    this.tokens.forEach((value, id) => { this.peak[id] = value; });
  }
}

/** The smallest number of producer firings that push `needed` items. */
function firingsFor(channel: SdfChannel, needed: number): number {
  if (needed <= 0) return 0;
  const first = firstRates(channel).push;
  if (needed <= first) return 1;
  return channel.push === 0 ? Infinity : 1 + Math.ceil((needed - first) / channel.push);
}

/** How many items must have been pushed when the consumer has fired `count` times and is ready for the steady state. */
function itemsNeeded(channel: SdfChannel, count: number): number {
  const residue = itemsPopped(channel, count) + channel.peek - channel.pop;
  return (count > 0 ? Math.max(residue, firstRates(channel).peek) : residue) - channel.tokens;
}

class InitCounts {
  readonly counts: number[];
  private readonly shape: Shape;
  private readonly rates: readonly number[];
  private readonly limit: number;
  private total = 0;

  constructor(shape: Shape, rates: readonly number[], limit: number) {
    this.shape = shape;
    this.rates = rates;
    this.limit = limit;
    this.counts = rates.map(() => 0);
    const prework = actorsWithPrework(shape.graph);
    // Consumers first: when a component is reached, the demand of all its outside consumers is known.
    shape.components.forEach((members) => {
      for (const actor of members) if (prework[actor]) this.raise(actor, Math.max(1, elementAt(this.counts, actor)));
      this.settle(members, members.length > 1 ? this.caps(members) : undefined);
    });
  }

  private raise(actor: number, count: number): void {
    this.total += count - elementAt(this.counts, actor);
    this.counts[actor] = count;
    if (this.total <= this.limit) return;
    throw new ScheduleError('limit', `the initialisation needs more than ${this.limit} firings ` +
      `(seen at ${elementAt(this.shape.graph.actors, actor).name}): the peek windows are too long`, { actors: [actor] });
  }

  /**
   * The maximum demand in a loop without deadlock: by then every member has fired, and whole steady states cover the demand from outside. A
   * demand beyond it would feed on itself forever.
   */
  private caps(members: readonly number[]): Map<number, number> {
    const { component, graph } = this.shape;
    const own = component[elementAt(members, 0)];
    const inside = graph.channels.filter(({ from, to }) => component[from] === own && component[to] === own);
    const asked = Math.max(...members.map((actor) => Math.ceil(elementAt(this.counts, actor) / elementAt(this.rates, actor))));
    const held = inside.reduce((sum, channel) => sum + Math.ceil(
      (channel.tokens + channel.peek + firstRates(channel).push) / Math.max(1, elementAt(this.rates, channel.to) * channel.pop)), 0);
    return new Map(members.map((actor) => [actor, (asked + held + members.length + 2) * elementAt(this.rates, actor) + 2]));
  }

  private settle(members: readonly number[], caps: Map<number, number> | undefined): void {
    const { graph, component, inputs } = this.shape;
    const queue = [...members];
    const queued = new Set(members);
    while (queue.length > 0) {
      const actor = required(queue.shift());
      queued.delete(actor);
      for (const channel of elementAt(inputs, actor)) {
        const count = firingsFor(channel, itemsNeeded(channel, elementAt(this.counts, actor)));
        const { from } = channel;
        if (count <= elementAt(this.counts, from)) continue;
        const isInside = component[from] === component[actor];
        if (count === Infinity || (isInside && (from === actor || count > required(caps?.get(from))))) {
          throw starved(graph, channel, members);
        }
        this.raise(from, count);
        if (isInside && !queued.has(from)) {
          queue.push(from);
          queued.add(from);
        }
      }
    }
  }
}

function starved(graph: SdfGraph, channel: SdfChannel, members: readonly number[]): ScheduleError {
  const window = Math.max(channel.peek, firstRates(channel).peek);
  return new ScheduleError('deadlock', `${describeChannel(graph, channel)} never holds the ${window} items that ` +
    ` ${elementAt(graph.actors, channel.to).name} looks at: enqueue more items on the loop`, { channel: channel.id, actors: members });
}

/**
 * How often each actor fires before the first steady state: the smallest numbers such that all prework has run and every channel then holds
 * at least peek − pop items. Throws {@link ScheduleError}: `deadlock` or `limit`.
 */
export function initFirings(graph: SdfGraph, rates: readonly number[], limit = kMaxFirings): number[] {
  return new InitCounts(shapeOf(graph), rates, limit).counts;
}

/**
 * Fires each actor `counts[actor]` times from the state in `marking`, in `order`, as often in a row as items allow. Throws {@link
 * ScheduleError} (`deadlock`) naming the actors that cannot continue.
 */
export function fireAll(graph: SdfGraph, marking: Marking, order: readonly number[], counts: readonly number[]): Step[] {
  const left = [...counts];
  const steps: Step[] = [];
  let waiting = order.filter((actor) => elementAt(left, actor) > 0);
  while (waiting.length > 0) {
    let fired = 0;
    for (const actor of waiting) {
      const count = marking.fireUpTo(actor, elementAt(left, actor));
      if (count === 0) continue;
      addAt(left, actor, -count);
      fired += count;
      appendStep(steps, actor, count);
    }
    if (fired === 0) throw deadlock(graph, marking, waiting);
    waiting = waiting.filter((actor) => elementAt(left, actor) > 0);
  }
  return steps;
}

function deadlock(graph: SdfGraph, marking: Marking, waiting: readonly number[]): ScheduleError {
  const chain = [elementAt(waiting, 0)];
  for (let next = marking.blockedBy(elementAt(chain, 0))?.from; next !== undefined; next = marking.blockedBy(next)?.from) {
    if (chain.includes(next)) {
      chain.splice(0, chain.indexOf(next));
      break;
    }
    chain.push(next);
  }
  const cycle = chain.filter((actor) => marking.blockedBy(actor) !== undefined);
  const wanted = cycle.map((actor): Wanted => {
    const channel = required(marking.blockedBy(actor));
    const isFirst = marking.fired[actor] === 0;
    return {
      name: elementAt(graph.actors, actor).name, of: elementAt(graph.actors, channel.from).name,
      held: elementAt(marking.tokens, channel.id),
      needed: isFirst ? firstRates(channel).peek : channel.peek,
    };
  });
  const { id } = required(marking.blockedBy(elementAt(cycle, 0)));
  return new ScheduleError('deadlock', deadlockText(wanted), { channel: id, actors: cycle });
}

/** What a deadlocked node waits for: a number of items from another node, and how many of them it has. */
export interface Wanted {
  readonly name: string;
  readonly of: string;
  readonly needed: number;
  readonly held: number;
}

/** Describes nodes that wait for each other. */
export function deadlockText(cycle: readonly Wanted[]): string {
  const shown = cycle.slice(0, 8).map(({ name, of, needed, held }) =>
    `${name} waits for ${needed} ${needed === 1 ? 'item' : 'items'} of ${of} and has ${held}`);
  const rest = cycle.length > shown.length ? [`and ${cycle.length - shown.length} more nodes in this cycle`] : [];
  return `deadlock: ${[...shown, ...rest].join(', ')}: enqueue more items on the loop`;
}

/**
 * Channels that impose no order within one steady state, because the items on them already suffice for all firings of the consumer. Only
 * channels in feedback loops count, so that the order follows the stream elsewhere.
 */
function isDelay(rates: readonly number[], tokens: readonly number[]): (channel: SdfChannel) => boolean {
  return ({ id, to, pop, peek }) => elementAt(tokens, id) - (peek - pop) >= elementAt(rates, to) * pop;
}

/** Components in stream order; within each loop, actors in the order of the channels that do not delay. */
function flowOrder(
  graph: SdfGraph, whole: Components, rates: readonly number[], tokens: readonly number[],
): { order: number[]; groups: number[][] } {
  const { component, components } = whole;
  const enough = isDelay(rates, tokens);
  const orders = (channel: SdfChannel): boolean => component[channel.from] === component[channel.to] && !enough(channel);
  const inner = topologicalOrder(graph, orders)?.map((actor) => [actor]) ??
    stronglyConnected(graph, orders).components.map((members) => [...members]).reverse();
  const inside: number[][][] = components.map(() => []);
  for (const group of inner) elementAt(inside, elementAt(component, elementAt(group, 0))).push(group);
  const groups = componentOrder(graph, whole).flatMap((id) => elementAt(inside, id));
  return { order: groups.flat(), groups };
}

/** Components in stream order; of several candidates, the one with the smallest actor comes first. */
function componentOrder({ channels }: SdfGraph, { component, components }: Components): number[] {
  const first = components.map((members) => elementAt(members, 0));
  const ranked = [...components.keys()].sort((a, b) => elementAt(first, a) - elementAt(first, b));
  const rank = components.map(() => 0);
  ranked.forEach((id, at) => { rank[id] = at; });
  const successors: number[][] = components.map(() => []);
  for (const { from, to } of channels) {
    const [source, target] = [elementAt(component, from), elementAt(component, to)];
    if (source !== target) elementAt(successors, elementAt(rank, source)).push(elementAt(rank, target));
  }
  return required(forwardOrder(successors)).map((at) => elementAt(ranked, at));
}

/**
 * Rates, initialisation and order of a graph, and its single-appearance schedule. Proves that the graph never deadlocks. Throws {@link
 * ScheduleError}: `graph`, `inconsistent`, `deadlock` or `limit`.
 */
export function scheduled(graph: SdfGraph, limit = kMaxFirings): Schedule {
  checkIdsAndRates(graph);
  const shape = shapeOf(graph);
  const rates = firingRates(shape, limit);
  const { counts } = new InitCounts(shape, rates, limit);
  const residual = graph.channels.map((channel) =>
    channel.tokens + itemsPushed(channel, elementAt(counts, channel.from)) - itemsPopped(channel, elementAt(counts, channel.to)));
  const { order, groups } = flowOrder(graph, shape, rates, residual);
  const marking = new Marking(graph, undefined, shape);
  const init = fireAll(graph, marking, order, counts);
  const single = appearances(graph, marking, groups, rates);
  return { ...shape, steady: { repetitions: rates, initFirings: counts, init, residual, order }, single };
}

/** Replays the initialisation of a steady state. */
function markingAfterInit(graph: SdfGraph, { init }: SteadyState): Marking {
  const marking = new Marking(graph);
  for (const { actor, count } of init) marking.fireUpTo(actor, count);
  return marking;
}

/** One steady state, group by group. */
function appearances(graph: SdfGraph, marking: Marking, groups: readonly number[][], rates: readonly number[]): SteadySchedule {
  const steps = groups.flatMap((group) => fireAll(graph, marking, group, rates));
  return { steps, buffers: marking.peak, isSingleAppearance: steps.length === graph.actors.length };
}

/**
 * Every actor once, in stream order, with its firing rate: S1 of Figure 2.7. A feedback loop that holds too few items for that is fired in
 * rounds, each actor as often as it can.
 */
export function singleAppearanceSchedule(graph: SdfGraph, steady: SteadyState): SteadySchedule {
  const { groups } = flowOrder(graph, stronglyConnected(graph), steady.repetitions, steady.residual);
  return appearances(graph, markingAfterInit(graph, steady), groups, steady.repetitions);
}

/**
 * Fires every actor only as often as its consumers need: S2 of Figure 2.7, with the lowest latency. Several sinks take turns by the
 * completed share of their firings.
 */
export function pushSchedule(graph: SdfGraph, steady: SteadyState): SteadySchedule {
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
