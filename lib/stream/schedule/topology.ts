// Shape of a dataflow graph: who feeds whom, loops, and orders that respect the channels.
import { callback, requireCount } from '../../core/checks.ts';
import { addAt, elementAt, lastOf, required } from '../../core/known.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { ScheduleError } from './error.ts';
import { requireFields, requireList, requireRateGraph } from '../require.ts';

/** Channels of each actor, by actor id, in the order of their ids. */
export interface Adjacency {
  readonly inputs: readonly (readonly SdfChannel[])[];
  readonly outputs: readonly (readonly SdfChannel[])[];
}

/** Channels by consumer and by producer. */
export function adjacency(graph: SdfGraph): Adjacency {
  requireRateGraph(graph);
  const inputs: SdfChannel[][] = graph.actors.map(() => []);
  const outputs: SdfChannel[][] = graph.actors.map(() => []);
  for (const channel of graph.channels) {
    elementAt(outputs, channel.from).push(channel);
    elementAt(inputs, channel.to).push(channel);
  }
  return { inputs, outputs };
}

/** How messages name a channel. */
export function describeChannel(graph: SdfGraph, channel: SdfChannel): string {
  requireRateGraph(graph);
  requireFields('channel', channel, 'a channel of the graph');
  requireCount(channel.id, 'channel.id', 0);
  for (const end of ['from', 'to'] as const) requireCount(channel[end], `channel.${end}`, 0, graph.actors.length - 1);
  return `channel ${channel.id} (${elementAt(graph.actors, channel.from).name} → ${elementAt(graph.actors, channel.to).name})`;
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

/** Throws a {@link ScheduleError} (`graph`) unless ids are places, rates are integers ≥ 0 and peek ≥ pop. */
export function checkGraph(graph: SdfGraph): void {
  requireFields('graph', graph, 'a graph of rates, as stream.toSdf gives it', ['actors', 'channels']);
  for (const [place, channel] of (graph.channels as readonly (SdfChannel | null)[]).entries()) {
    const ends = [channel?.from, channel?.to];
    if (!ends.every(Number.isInteger) || ends.every((end) => graph.actors[required(end)] !== undefined)) continue;
    throw new ScheduleError('graph', `channel ${place}: ends ${ends.join(' and ')} are not both actors`, { channel: place });
  }
  requireRateGraph(graph);
  graph.actors.forEach(({ id }, place) => {
    if (id !== place) throw new ScheduleError('graph', `actor ${id} stands at place ${place}`, { actors: [place] });
  });
  graph.channels.forEach((channel, place) => {
    const fault = channelFault(graph, channel, place);
    if (fault !== undefined) throw new ScheduleError('graph', `channel ${place}: ${fault}`, { channel: place });
  });
}

/** One actor's position in Tarjan's walk. */
interface Visit { readonly actor: number; next: number }

class ComponentSearch {
  readonly component: number[];
  readonly components: number[][] = [];
  private readonly index: number[];
  private readonly low: number[];
  private readonly stack: number[] = [];
  private readonly successors: readonly (readonly number[])[];
  private counter = 0;

  constructor(successors: readonly (readonly number[])[]) {
    this.successors = successors;
    this.component = successors.map(() => -1);
    this.index = successors.map(() => -1);
    this.low = successors.map(() => 0);
    for (let actor = 0; actor < successors.length; ++actor) if (this.index[actor] === -1) this.walk(actor);
  }

  private enter(actor: number): Visit {
    this.index[actor] = this.low[actor] = this.counter++;
    this.stack.push(actor);
    return { actor, next: 0 };
  }

  private walk(root: number): void {
    const path = [this.enter(root)];
    while (path.length > 0) {
      const visit = lastOf(path);
      const target = elementAt(this.successors, visit.actor)[visit.next++];
      if (target === undefined) {
        path.pop();
        this.leave(visit.actor, path[path.length - 1]?.actor);
      } else if (this.index[target] === -1) path.push(this.enter(target));
      else if (this.component[target] === -1) {
        this.low[visit.actor] = Math.min(elementAt(this.low, visit.actor), elementAt(this.index, target));
      }
    }
  }

  private leave(actor: number, parent: number | undefined): void {
    if (parent !== undefined) this.low[parent] = Math.min(elementAt(this.low, parent), elementAt(this.low, actor));
    if (this.low[actor] !== this.index[actor]) return;
    const members: number[] = [];
    let member: number;
    do {
      member = required(this.stack.pop());
      this.component[member] = this.components.length;
      members.push(member);
    } while (member !== actor);
    this.components.push(members.sort((a, b) => a - b));
  }
}

/** Strongly connected components. `components` stands in reverse topological order (consumers first), as Tarjan's search yields it. */
export interface Components {
  /** Component of each actor. */
  readonly component: readonly number[];
  /** Members of each component, ascending. */
  readonly components: readonly (readonly number[])[];
}

/** Components of the graph, or of the part of it whose channels `keeps` accepts. Linear time, no recursion. */
export function stronglyConnected(graph: SdfGraph, keeps: (channel: SdfChannel) => boolean = () => true): Components {
  requireRateGraph(graph);
  callback(keeps, 'keeps');
  const successors: number[][] = graph.actors.map(() => []);
  for (const channel of graph.channels) if (keeps(channel)) elementAt(successors, channel.from).push(channel.to);
  const { component, components } = new ComponentSearch(successors);
  return { component, components };
}

/** True for a component that holds a loop: several actors, or one that feeds itself. */
export function isLoop(graph: SdfGraph, members: readonly number[]): boolean {
  requireRateGraph(graph);
  requireList('members', members, 'ids of actors');
  return members.length > 1 || graph.channels.some(({ from, to }) => from === members[0] && to === from);
}

/**
 * Actors in an order in which every kept channel goes forward, smallest id first where there is a choice;
 * undefined if the kept channels hold a loop. Self-loops are not counted.
 */
export function topologicalOrder(graph: SdfGraph, keeps: (channel: SdfChannel) => boolean = () => true): number[] | undefined {
  requireRateGraph(graph);
  callback(keeps, 'keeps');
  const waiting = graph.actors.map(() => 0);
  const kept = graph.channels.filter((channel) => channel.from !== channel.to && keeps(channel));
  const targets: number[][] = graph.actors.map(() => []);
  for (const { from, to } of kept) {
    elementAt(targets, from).push(to);
    addAt(waiting, to, 1);
  }
  const ready = graph.actors.map(({ id }) => id).filter((id) => waiting[id] === 0);
  const order: number[] = [];
  while (ready.length > 0) {
    const actor = required(ready.shift());
    order.push(actor);
    for (const target of elementAt(targets, actor)) if (addAt(waiting, target, -1) === 0) insertSorted(ready, target);
  }
  return order.length === graph.actors.length ? order : undefined;
}

function insertSorted(values: number[], value: number): void {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (elementAt(values, middle) < value) low = middle + 1;
    else high = middle;
  }
  values.splice(low, 0, value);
}
