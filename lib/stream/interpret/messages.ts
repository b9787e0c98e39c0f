// Messages between filters, delivered by information wavefronts.
//
// S(m) is the least number of firings of the upstream filter without which the downstream one cannot fire m times. A message that is sent
// in the sender's n-th firing (from 1) with latency k arrives
// - downstream: right before the receiver's first firing m with S(m) >= n + k, the first that sees data of the sender's firing n + k;
// - upstream: right after the receiver's firing S(n + k), the last that can still affect the sender's firing n + k;
// - without latency: before the receiver's next firing.
// For a range [low:high] the greatest latency counts, for an open one the bound that is given. Nodes wait where a message could
// still come for their next firing: a receiver upstream does not run ahead of the sender, one downstream of a sender with negative
// latency behind it.
//
// Between constant rates S is counted ahead of the run (wavefront.ts). Where rates on the way are known only when a filter fires, it comes
// from what has been fired (trace.ts): downstream, S(m) of a firing that is about to begin, for a receiver of dynamic rates by the items
// that it needs at least; upstream, the receiver fires only where the sender's next firing cannot do without it, so that its count when
// the sender's firing n + k is over is S(n + k).
import { elementAt, required } from '../../core/known.ts';
import type { StreamGraph } from '../graph.ts';
import type { IrStatement } from '../ir.ts';
import { Fault } from './fault.ts';
import { Trace, type Tapes } from './trace.ts';
import type { Value } from './values.ts';
import { bodiesOf, eachStatement } from './walk.ts';
import { between, counted, type Wavefront } from './wavefront.ts';

type Message = Extract<IrStatement, { kind: 'message' }>;

/** A sender and one of its receivers. */
interface Route {
  readonly sender: number;
  readonly receiver: number;
  /** Undefined: all its messages come as soon as they can. */
  readonly way: Way | undefined;
  /** The least latency that any of its messages has. */
  least: number;
}

/** How messages with latency go from a sender to a receiver. */
interface Way {
  readonly isDownstream: boolean;
  /** Tells of each firing m of the receiver whether it comes after a message that belongs to the sender's firing `firing`. */
  due(firing: number): (m: number) => boolean;
  /** Whether the receiver's firing m may come when the sender has fired `done` times and no latency is below `least`. */
  mayGo(m: number, done: number, least: number): boolean;
}

const downstreamBy = (wavefront: Wavefront): Way => ({
  isDownstream: true,
  due: (firing) => (m) => wavefront.needs(m) >= firing,
  mayGo: (m, done, least) => least >= 0 || done >= wavefront.needs(m) - least,
});

const upstreamBy = (wavefront: Wavefront): Way => ({
  isDownstream: false,
  due: (firing) => {
    const last = wavefront.needs(firing);
    return (m) => m > last;
  },
  mayGo: (m, done, least) => m <= wavefront.needs(done + 1 + least),
});

/** What the messages of a run see of its nodes. */
export interface Nodes extends Tapes {
  /** Whether a node cannot go on with its next firing, or the one it is in, without a firing of `upstream`. */
  wants(node: number, upstream: number): boolean;
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
  const made = elementAt(graph.nodes, node);
  if (made.kind !== 'filter') return found;
  for (const body of bodiesOf(made.code)) {
    eachStatement(body, (s) => { if (s.kind === 'message') found.push(s); });
  }
  return found;
}

/** All messages of a run. */
export class Mail {
  readonly #graph: StreamGraph;
  readonly #receivers = new Map<string, readonly number[]>();
  /** By sender and by receiver. */
  readonly #routes: Route[][];
  readonly #letters: Letter[][];
  readonly #nodes: Nodes;
  readonly #traces: Trace[] = [];
  /** Whether there is any to look after. */
  readonly isUsed: boolean;
  /** Whether some wavefront comes from what has been fired. */
  isTraced = false;

  constructor(graph: StreamGraph, nodes: Nodes) {
    this.#graph = graph;
    this.#nodes = nodes;
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
        const way = latency === undefined ? undefined : this.#way(sender, receiver, message);
        route = { sender, receiver, least: Infinity, way };
        elementAt(this.#routes, sender).push(route);
        if (receiver !== sender) elementAt(this.#routes, receiver).push(route);
      }
      if (latency === undefined) continue;
      if (!required(route.way).isDownstream && latency < 0) {
        throw new Fault('S5013', `${this.#words(sender, message, receiver)} cannot arrive with latency ${latency}: ` +
          'the firings that it should precede are already over', message.span,
        { hint: 'messages sent upstream need a latency of 0 or more' });
      }
      route.least = Math.min(route.least, latency);
    }
  }

  #way(sender: number, receiver: number, message: Message): Way {
    const graph = this.#graph;
    if (sender === receiver) return downstreamBy({ needs: (m) => m });
    const down = between(graph, sender, receiver);
    if (down !== undefined) return downstreamBy(counted(graph, down) ?? this.#traced(new Trace(graph, down, this.#nodes)));
    const up = between(graph, receiver, sender);
    if (up === undefined) {
      throw new Fault('S5014', `${this.#words(sender, message, receiver)} has a latency, but neither filter is upstream of the other`,
        message.span, { hint: 'send it without latency: [*]' });
    }
    const wavefront = counted(graph, up);
    if (wavefront !== undefined) return upstreamBy(wavefront);
    this.isTraced = true;
    return {
      isDownstream: false,
      due: (firing) => () => this.#nodes.firings(sender) >= firing,
      mayGo: () => this.#nodes.wants(sender, receiver),
    };
  }

  #traced(trace: Trace): Trace {
    this.#traces.push(trace);
    this.isTraced = true;
    return trace;
  }

  #route(sender: number, receiver: number, isTimed: boolean): Route | undefined {
    return elementAt(this.#routes, sender).find((each) => each.sender === sender && each.receiver === receiver &&
      (each.way !== undefined) === isTimed);
  }

  #words(sender: number, message: Message, receiver: number): string {
    const { nodes } = this.#graph;
    return `the message ${message.handler.replace(/_\d*$/, '')} of ${elementAt(nodes, sender).name} to ${elementAt(nodes, receiver).name}`;
  }

  /** Keeps a message that `sender` sends in its n-th firing (from 1) for all receivers of its portal. */
  send(sender: number, n: number, message: Message, args: readonly Value[]): void {
    const latency = latencyOf(message);
    for (const receiver of this.#receivers.get(message.portal) ?? []) {
      const route = required(this.#route(sender, receiver, latency !== undefined));
      const isDue = route.way?.due(n + (latency ?? 0)) ?? (() => true);
      elementAt(this.#letters, receiver).push({ handler: message.handler, args, isDue });
    }
  }

  /** A node begins to fire. */
  begins(node: number): void {
    for (const trace of this.#traces) trace.begins(node);
  }

  /** A node has fired. */
  ended(node: number): void {
    for (const trace of this.#traces) trace.ended(node);
  }

  /** Messages that arrive before firing `m` (from 1) of a node, taken out. */
  arriving(node: number, m: number): readonly Letter[] {
    const letters = elementAt(this.#letters, node);
    if (letters.length === 0) return letters;
    const due = letters.filter((letter) => letter.isDue(m));
    if (due.length > 0) this.#letters[node] = letters.filter((letter) => !due.includes(letter));
    return due;
  }

  /** A node that must fire before the next firing of `node`, because it may still send a message for it. */
  awaited(node: number, isOver: (sender: number) => boolean): number | undefined {
    const m = this.#nodes.firings(node) + 1;
    for (const { sender, receiver, way, least } of elementAt(this.#routes, node)) {
      if (receiver !== node || sender === node || way === undefined || isOver(sender)) continue;
      if (!way.mayGo(m, this.#nodes.firings(sender), least)) return sender;
    }
    return undefined;
  }

  /** The error of a node that waits for a message for which its sender waits. */
  impossible(sender: number, receiver: number): Fault {
    const { least, way } = required(this.#route(sender, receiver, true));
    const message = required(messagesOf(this.#graph, sender).find((each) => latencyOf(each) === least));
    const names = [sender, receiver].map((id) => elementAt(this.#graph.nodes, id).name);
    if (!required(way).isDownstream) names.reverse();
    return new Fault('S5013', `${this.#words(sender, message, receiver)} cannot arrive with latency ${least}: ` +
      `${names.join(' and ')} wait for each other`, message.span, { hint: 'give it a larger latency' });
  }
}
