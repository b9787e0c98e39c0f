// The initialisation schedule: prework once, and enough firings that every peeking actor finds its window in the steady state.
import { addAt, elementAt, required } from '../../core/known.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { scheduleLimits, type ScheduleLimits } from './balance.ts';
import { ScheduleError } from './error.ts';
import { actorsWithPrework, appendStep, firstRates, itemsPopped, type Marking, type Step } from './marking.ts';
import { adjacency, describeChannel, stronglyConnected, type Adjacency } from './topology.ts';
import { requireCounts, requireRateGraph } from '../require.ts';

/** Least number of producer firings after which `needed` items have come. */
function firingsFor(channel: SdfChannel, needed: number): number {
  if (needed <= 0) return 0;
  const first = firstRates(channel).push;
  if (needed <= first) return 1;
  return channel.push === 0 ? Infinity : 1 + Math.ceil((needed - first) / channel.push);
}

/** Items that must have come on the channel when its consumer has fired `count` times and is ready for the steady state. */
function itemsNeeded(channel: SdfChannel, count: number): number {
  const residue = itemsPopped(channel, count) + channel.peek - channel.pop;
  return (count > 0 ? Math.max(residue, firstRates(channel).peek) : residue) - channel.tokens;
}

class InitCounts {
  readonly counts: number[];
  private readonly graph: SdfGraph;
  private readonly rates: readonly number[];
  private readonly ends: Adjacency;
  private readonly limit: number;
  private total = 0;

  constructor(graph: SdfGraph, rates: readonly number[], limit: number) {
    this.graph = graph;
    this.rates = rates;
    this.limit = limit;
    this.ends = adjacency(graph);
    this.counts = graph.actors.map(() => 0);
    const { components, component } = stronglyConnected(graph);
    const prework = actorsWithPrework(graph);
    // Consumers first: when a component is reached, all that its consumers outside ask of it is known.
    components.forEach((members) => {
      for (const actor of members) if (prework[actor]) this.raise(actor, Math.max(1, elementAt(this.counts, actor)));
      const caps = members.length > 1 ? this.caps(members, component) : undefined;
      this.settle(members, component, caps);
    });
  }

  private raise(actor: number, count: number): void {
    this.total += count - elementAt(this.counts, actor);
    this.counts[actor] = count;
    if (this.total <= this.limit) return;
    throw new ScheduleError('limit', `the initialisation needs more than ${this.limit} firings ` +
      `(seen at ${elementAt(this.graph.actors, actor).name}): the peek windows are too long`, { actors: [actor] });
  }

  /**
   * No live loop needs more than this: by then every member has fired and whole steady states cover what is asked from outside.
   * A demand beyond it feeds on itself for ever.
   */
  private caps(members: readonly number[], component: readonly number[]): Map<number, number> {
    const own = component[elementAt(members, 0)];
    const inside = this.graph.channels.filter(({ from, to }) => component[from] === own && component[to] === own);
    const asked = Math.max(...members.map((actor) => Math.ceil(elementAt(this.counts, actor) / elementAt(this.rates, actor))));
    const held = inside.reduce((sum, channel) => sum + Math.ceil(
      (channel.tokens + channel.peek + firstRates(channel).push) / Math.max(1, elementAt(this.rates, channel.to) * channel.pop)), 0);
    return new Map(members.map((actor) => [actor, (asked + held + members.length + 2) * elementAt(this.rates, actor) + 2]));
  }

  private settle(members: readonly number[], component: readonly number[], caps: Map<number, number> | undefined): void {
    const queue = [...members];
    const queued = new Set(members);
    while (queue.length > 0) {
      const actor = required(queue.shift());
      queued.delete(actor);
      for (const channel of elementAt(this.ends.inputs, actor)) {
        const count = firingsFor(channel, itemsNeeded(channel, elementAt(this.counts, actor)));
        const { from } = channel;
        if (count <= elementAt(this.counts, from)) continue;
        const isInside = component[from] === component[actor];
        if (count === Infinity || (isInside && (from === actor || count > required(caps?.get(from))))) {
          throw starved(this.graph, channel, members);
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
 * How often each actor fires before the first steady state: the least numbers such that all prework has run and every
 * channel then holds at least peek − pop items. Throws {@link ScheduleError}: `deadlock` or `limit`.
 */
export function initFirings(graph: SdfGraph, rates: readonly number[], limits: ScheduleLimits = {}): number[] {
  requireRateGraph(graph);
  requireCounts('rates', rates, graph.actors.length, 1);
  return new InitCounts(graph, rates, scheduleLimits.read(limits, 'limits').maxFirings).counts;
}

/**
 * Fires each actor `counts[actor]` times from where `marking` stands, in `order`, as often in a row as items allow.
 * Throws {@link ScheduleError} (`deadlock`) naming the actors that cannot go on.
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

/** What a node in a deadlock waits for: so many items of another node, of which it has some. */
export interface Wanted {
  readonly name: string;
  readonly of: string;
  readonly needed: number;
  readonly held: number;
}

/** Words for nodes that wait for each other. */
export function deadlockText(cycle: readonly Wanted[]): string {
  const shown = cycle.slice(0, 8).map(({ name, of, needed, held }) =>
    `${name} waits for ${needed} ${needed === 1 ? 'item' : 'items'} of ${of} and has ${held}`);
  const rest = cycle.length > shown.length ? [`and ${cycle.length - shown.length} more nodes in this cycle`] : [];
  return `deadlock: ${[...shown, ...rest].join(', ')}: enqueue more items on the loop`;
}
