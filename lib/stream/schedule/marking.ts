// Items on the channels while actors fire: the state that the makers of schedules work on (validate.ts has its own).
import { requireCount } from '../../core/checks.ts';
import { addAt, elementAt } from '../../core/known.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { ScheduleError } from './error.ts';
import { adjacency, type Adjacency } from './topology.ts';
import { requireFields, requireRateGraph, requireSizes } from '../require.ts';

/** One entry of a schedule: `count` firings of `actor` in a row. */
export interface Step {
  readonly actor: number;
  readonly count: number;
}

/** Rates of the first firing: those of prework where given, else the usual ones. */
export function firstRates(channel: SdfChannel): { push: number; pop: number; peek: number } {
  requireFields('channel', channel, 'a channel with rates');
  const pop = channel.firstPop ?? channel.pop;
  return {
    push: channel.firstPush ?? channel.push, pop,
    peek: channel.firstPeek ?? (channel.firstPop === undefined ? channel.peek : pop),
  };
}

/** Actors whose first firing differs: some channel gives a first rate at their end. */
export function actorsWithPrework(graph: SdfGraph): boolean[] {
  requireRateGraph(graph);
  const found = graph.actors.map(() => false);
  for (const { from, to, firstPush, firstPop, firstPeek } of graph.channels) {
    if (firstPush !== undefined) found[from] = true;
    if (firstPop !== undefined || firstPeek !== undefined) found[to] = true;
  }
  return found;
}

/** Items that `count` firings of the producer give, the first of them by prework. */
export function itemsPushed(channel: SdfChannel, count: number): number {
  requireFields('channel', channel, 'a channel with rates');
  requireSizes('channel.push', [channel.push, firstRates(channel).push]);
  requireCount(count, 'count', 0);
  return count === 0 ? 0 : firstRates(channel).push + (count - 1) * channel.push;
}

/** Items that `count` firings of the consumer take, the first of them by prework. */
export function itemsPopped(channel: SdfChannel, count: number): number {
  requireFields('channel', channel, 'a channel with rates');
  requireSizes('channel.pop', [channel.pop, firstRates(channel).pop]);
  requireCount(count, 'count', 0);
  return count === 0 ? 0 : firstRates(channel).pop + (count - 1) * channel.pop;
}

/** Entries of one schedule: loops that go round one firing at a time and push schedules have many. */
const kMaxSteps = 2_000_000;

/** Adds a step to a list, joining it with the last one of the same actor. Throws {@link ScheduleError} (`limit`) where it gets too long. */
export function appendStep(steps: Step[], actor: number, count: number): void {
  const last = steps[steps.length - 1];
  if (last?.actor === actor) steps[steps.length - 1] = { actor, count: last.count + count };
  else if (steps.length < kMaxSteps) steps.push({ actor, count });
  else throw new ScheduleError('limit', `one steady state has more than ${kMaxSteps} steps: choose smaller rates`, { actors: [actor] });
}

/** Items on each channel and the most there ever were. */
export class Marking {
  readonly tokens: number[];
  readonly peak: number[];
  readonly fired: number[];
  private readonly ends: Adjacency;

  /** @param start where firing goes on; default: the graph's own start */
  constructor(graph: SdfGraph, start?: { readonly tokens: readonly number[]; readonly fired: readonly number[] }) {
    this.ends = adjacency(graph);
    this.tokens = [...start?.tokens ?? graph.channels.map(({ tokens }) => tokens)];
    this.peak = [...this.tokens];
    this.fired = [...start?.fired ?? graph.actors.map(() => 0)];
  }

  /** The first input that keeps the actor from firing once; undefined: it can fire. */
  blockedBy(actor: number): SdfChannel | undefined {
    const isFirst = this.fired[actor] === 0;
    return elementAt(this.ends.inputs, actor).find((channel) =>
      elementAt(this.tokens, channel.id) < (isFirst ? firstRates(channel).peek : channel.peek));
  }

  /** Fires as often as its inputs allow, at most `limit` times; returns how often. */
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

  /** `count` firings; the caller knows that they are allowed. A first firing must come alone. */
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

  /** Starts counting the most items anew. */
  resetPeak(): void {
    this.tokens.forEach((value, id) => { this.peak[id] = value; });
  }
}
