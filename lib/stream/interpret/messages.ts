// Messages between filters, delivered by information wavefronts.
//
// S(m) is the least number of firings of the upstream filter without which the downstream one cannot fire m times. A message that is sent
// in the sender's n-th firing (from 1) with latency k arrives
// - downstream: right before the receiver's first firing m with S(m) >= n + k, the first that sees data of the sender's firing n + k;
// - upstream: right after the receiver's firing S(n + k), the last that can still affect the sender's firing n + k;
// - without latency: before the receiver's next firing.
// Of a range [low:high] the greatest latency counts, of an open one the bound that is given. Nodes wait where a message could still come
// for their next firing: a receiver upstream does not run ahead of the sender, one downstream of a sender with negative latency behind it.
import { isDynamic, toSdf } from '../elaborate/to-sdf.ts';
import type { StreamGraph } from '../graph.ts';
import type { IrStatement } from '../ir.ts';
import { Marking } from '../schedule/marking.ts';
import type { SdfGraph } from '../sdf.ts';
import type { Actor } from './actors.ts';
import { Fault } from './fault.ts';
import type { Value } from './values.ts';
import { bodiesOf, eachStatement } from './walk.ts';

type Message = Extract<IrStatement, { kind: 'message' }>;

/** Counts what firings of a downstream node need of an upstream one, for numbers that do not fall. */
class Wavefront {
  readonly #marking: Marking;
  readonly #sdf: SdfGraph;
  readonly #up: number;
  readonly #down: number;

  constructor(sdf: SdfGraph, up: number, down: number) {
    this.#sdf = sdf;
    this.#marking = new Marking(sdf);
    this.#up = up;
    this.#down = down;
  }

  /** S(m); Infinity where the downstream node can never fire so often. */
  needs(m: number): number {
    if (this.#up === this.#down) return m;
    const { fired } = this.#marking;
    while (fired[this.#down]! < m) if (!this.#pull()) return Infinity;
    return m <= 0 ? 0 : fired[this.#up]!;
  }

  /** Fires the downstream node once, and everything else only where it must. */
  #pull(): boolean {
    const stack = [this.#down];
    const waiting = new Set(stack);
    while (stack.length > 0) {
      const id = stack.at(-1)!;
      const channel = this.#marking.blockedBy(id);
      if (channel === undefined) {
        this.#marking.apply(id, 1);
        waiting.delete(id);
        stack.pop();
        continue;
      }
      const gives = channel.push > 0 || (this.#marking.fired[channel.from] === 0 && (channel.firstPush ?? 0) > 0);
      if (waiting.has(channel.from) || !gives) return false;
      stack.push(channel.from);
      waiting.add(channel.from);
    }
    return true;
  }

  /** Names of both, for messages. */
  get names(): string {
    return `${this.#sdf.actors[this.#up]!.name} and ${this.#sdf.actors[this.#down]!.name}`;
  }
}

/** A sender and one of its receivers. */
interface Route {
  readonly sender: number;
  readonly receiver: number;
  /** Undefined: all its messages come as soon as they can. */
  readonly wavefront: Wavefront | undefined;
  readonly isDownstream: boolean;
  /** The least latency that any of its messages has. */
  least: number;
}

interface Letter {
  readonly handler: string;
  readonly args: readonly Value[];
  /** Whether it arrives before the receiver's firing `m` (from 1). */
  readonly isDue: (m: number) => boolean;
}

/** Latency of a message by the rule above; undefined: none. */
const latencyOf = ({ low, high }: Message): number | undefined => high ?? low;

function messagesOf(graph: StreamGraph, node: number): Message[] {
  const found: Message[] = [];
  const made = graph.nodes[node]!;
  if (made.kind !== 'filter') return found;
  for (const body of bodiesOf(made.code)) {
    eachStatement(body, (s) => { if (s.kind === 'message') found.push(s); });
  }
  return found;
}

/** Nodes that are reached from a node along channels. */
function reachedFrom(graph: StreamGraph, start: number): Set<number> {
  const reached = new Set<number>();
  const stack = [start];
  while (stack.length > 0) {
    for (const channel of graph.nodes[stack.pop()!]!.outputs) {
      const to = channel === undefined ? undefined : graph.channels[channel]!.to;
      if (to === undefined || reached.has(to)) continue;
      reached.add(to);
      stack.push(to);
    }
  }
  return reached;
}

/** All messages of a run. */
export class Mail {
  readonly #graph: StreamGraph;
  readonly #receivers = new Map<string, readonly number[]>();
  /** By sender and by receiver. */
  readonly #routes: Route[][];
  readonly #letters: Letter[][];
  #sdf: SdfGraph | undefined;
  /** Whether there is any to look after. */
  readonly isUsed: boolean;

  constructor(graph: StreamGraph) {
    this.#graph = graph;
    this.#routes = graph.nodes.map(() => []);
    this.#letters = graph.nodes.map(() => []);
    for (const { name, receivers } of graph.portals) this.#receivers.set(name, receivers);
    for (const { id } of graph.nodes) for (const message of messagesOf(graph, id)) this.#open(id, message);
    this.isUsed = this.#routes.some((routes) => routes.length > 0);
  }

  #open(sender: number, message: Message): void {
    const latency = latencyOf(message);
    for (const receiver of this.#receivers.get(message.portal) ?? []) {
      let route = this.#route(sender, receiver, latency !== undefined);
      if (route === undefined) {
        route = { sender, receiver, least: Infinity, ...this.#way(sender, receiver, latency, message) };
        this.#routes[sender]!.push(route);
        if (receiver !== sender) this.#routes[receiver]!.push(route);
      }
      if (latency === undefined) continue;
      if (!route.isDownstream && latency < 0) {
        throw new Fault('S5013', `${this.#words(sender, message, receiver)} cannot arrive with latency ${latency}: ` +
          'the firings that it should come before are over', message.span,
        { hint: 'messages against the stream need a latency of 0 or more' });
      }
      route.least = Math.min(route.least, latency);
    }
  }

  #way(sender: number, receiver: number, latency: number | undefined, message: Message): Pick<Route, 'wavefront' | 'isDownstream'> {
    if (latency === undefined) return { wavefront: undefined, isDownstream: true };
    const graph = this.#graph;
    const dynamic = graph.nodes.find(isDynamic);
    if (dynamic !== undefined) {
      throw new Fault('S5012', `${this.#words(sender, message, receiver)} has a latency, but ${dynamic.name} has rates that are ` +
        'known only when it fires', message.span, { hint: 'send it without latency: [*]' });
    }
    this.#sdf ??= toSdf(graph);
    if (sender === receiver || reachedFrom(graph, sender).has(receiver)) {
      return { wavefront: new Wavefront(this.#sdf, sender, receiver), isDownstream: true };
    }
    if (reachedFrom(graph, receiver).has(sender)) {
      return { wavefront: new Wavefront(this.#sdf, receiver, sender), isDownstream: false };
    }
    throw new Fault('S5014', `${this.#words(sender, message, receiver)} has a latency, but neither filter is upstream of the other`,
      message.span, { hint: 'send it without latency: [*]' });
  }

  #route(sender: number, receiver: number, isTimed: boolean): Route | undefined {
    return this.#routes[sender]!.find((each) => each.sender === sender && each.receiver === receiver &&
      (each.wavefront !== undefined) === isTimed);
  }

  #words(sender: number, message: Message, receiver: number): string {
    const { nodes } = this.#graph;
    return `the message ${message.handler.replace(/_\d*$/, '')} of ${nodes[sender]!.name} to ${nodes[receiver]!.name}`;
  }

  /** Keeps a message that `sender` sends in its n-th firing (from 1) for all receivers of its portal. */
  send(sender: number, n: number, message: Message, args: readonly Value[]): void {
    const latency = latencyOf(message);
    for (const receiver of this.#receivers.get(message.portal) ?? []) {
      const route = this.#route(sender, receiver, latency !== undefined)!;
      this.#letters[receiver]!.push({ handler: message.handler, args, isDue: this.#due(route, n + (latency ?? 0)) });
    }
  }

  #due({ wavefront, isDownstream }: Route, firing: number): (m: number) => boolean {
    if (wavefront === undefined) return () => true;
    if (isDownstream) return (m) => wavefront.needs(m) >= firing;
    const last = wavefront.needs(firing);
    return (m) => m > last;
  }

  /** Messages that arrive before firing `m` (from 1) of a node, taken out. */
  arriving(node: number, m: number): readonly Letter[] {
    const letters = this.#letters[node]!;
    if (letters.length === 0) return letters;
    const due = letters.filter((letter) => letter.isDue(m));
    if (due.length > 0) this.#letters[node] = letters.filter((letter) => !due.includes(letter));
    return due;
  }

  /** A node that must fire before the next firing of `node`, because it may still send a message for it. */
  awaited(node: number, actors: readonly Actor[], isOver: (sender: number) => boolean): number | undefined {
    const m = actors[node]!.firings + 1;
    for (const { sender, receiver, wavefront, isDownstream, least } of this.#routes[node]!) {
      if (receiver !== node || sender === node || wavefront === undefined || isOver(sender)) continue;
      const done = actors[sender]!.firings;
      const mayGo = isDownstream ? least >= 0 || done >= wavefront.needs(m) - least : m <= wavefront.needs(done + 1 + least);
      if (!mayGo) return sender;
    }
    return undefined;
  }

  /** The error of a node that waits for a message for which its sender waits. */
  impossible(sender: number, receiver: number): Fault {
    const { least, wavefront } = this.#route(sender, receiver, true)!;
    const message = messagesOf(this.#graph, sender).find((each) => latencyOf(each) === least)!;
    return new Fault('S5013', `${this.#words(sender, message, receiver)} cannot arrive with latency ${least}: ${wavefront!.names} wait ` +
      'for each other', message.span, { hint: 'give it a larger latency' });
  }
}
