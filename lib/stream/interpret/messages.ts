// Messages between filters, delivered by information wavefronts.
//
// S(m) is the minimum number of firings of the upstream filter without which the downstream one cannot fire m times. A message that is sent
// in the sender's n-th firing (from 1) with latency k arrives
// - downstream: right before the receiver's first firing m with S(m) >= n + k, the first that sees data of the sender's firing n + k;
// - upstream: right after the receiver's firing S(n + k), the last that can still affect the sender's firing n + k;
// - without latency: before the receiver's next firing.
// For a range [low:high], the higher latency counts; for an open range, the bound that is given. Nodes wait as long as a message could
// still arrive for their next firing: a receiver upstream does not run ahead of the sender, and a receiver downstream of a sender with
// negative latency stays behind it.
//
// With constant rates, S is computed ahead of the run (wavefront.ts). If rates on the path are known only when a filter fires, S is derived
// from the firings so far (trace.ts). Downstream, this is S(m) of a firing that is about to begin; for receivers with dynamic rates, it
// follows from the minimum number of items they need. Upstream, the receiver fires only if the sender's next firing cannot do without it,
// so its count at the end of the sender's firing n + k is S(n + k).
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
  /** Undefined: all its messages arrive as soon as possible. */
  readonly way: Way | undefined;
  /** The lowest latency of its messages. */
  least: number;
}

/** How messages with latency travel from a sender to a receiver. */
interface Way {
  readonly isDownstream: boolean;
  /** Returns a test for each firing m of the receiver: whether it comes after a message that belongs to the sender's firing `firing`. */
  due(firing: number): (m: number) => boolean;
  /** Whether the receiver may perform firing m once the sender has fired `done` times, given that no latency is below `least`. */
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

/** What message delivery needs to know of the nodes. */
export interface Nodes extends Tapes {
  /** Whether a node cannot continue with its current or next firing unless `upstream` fires. */
  wants(node: number, upstream: number): boolean;
}

interface Letter {
  readonly handler: string;
  readonly args: readonly Value[];
  /** Whether it arrives before the receiver's firing `m` (from 1). */
  readonly isDue: (m: number) => boolean;
}

/** Latency of a message by the rule above; undefined if it has none. */
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
  /** Whether there are any messages. */
  readonly isUsed: boolean;
  /** Whether some wavefront is derived from the firings so far. */
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

  /** Queues a message that `sender` sends in its n-th firing (from 1) for all receivers of its portal. */
  send(sender: number, n: number, message: Message, args: readonly Value[]): void {
    const latency = latencyOf(message);
    for (const receiver of this.#receivers.get(message.portal) ?? []) {
      const route = required(this.#route(sender, receiver, latency !== undefined));
      const isDue = route.way?.due(n + (latency ?? 0)) ?? (() => true);
      elementAt(this.#letters, receiver).push({ handler: message.handler, args, isDue });
    }
  }

  /** Called when a node begins to fire. */
  begins(node: number): void {
    for (const trace of this.#traces) trace.begins(node);
  }

  /** Called when a node has fired. */
  ended(node: number): void {
    for (const trace of this.#traces) trace.ended(node);
  }

  /** Removes and returns the messages that arrive before firing `m` (from 1) of a node. */
  arriving(node: number, m: number): readonly Letter[] {
    const letters = elementAt(this.#letters, node);
    if (letters.length === 0) return letters;
    const due = letters.filter((letter) => letter.isDue(m));
    if (due.length > 0) this.#letters[node] = letters.filter((letter) => !due.includes(letter));
    return due;
  }

  /** A node that must fire before the next firing of `node`, because it may still send a message to it. */
  awaited(node: number, isOver: (sender: number) => boolean): number | undefined {
    const m = this.#nodes.firings(node) + 1;
    for (const { sender, receiver, way, least } of elementAt(this.#routes, node)) {
      if (receiver !== node || sender === node || way === undefined || isOver(sender)) continue;
      if (!way.mayGo(m, this.#nodes.firings(sender), least)) return sender;
    }
    return undefined;
  }

  /** The error for a node that waits for a message while the sender waits for that node. */
  impossible(sender: number, receiver: number): Fault {
    const { least, way } = required(this.#route(sender, receiver, true));
    const message = required(messagesOf(this.#graph, sender).find((each) => latencyOf(each) === least));
    const names = [sender, receiver].map((id) => elementAt(this.#graph.nodes, id).name);
    if (!required(way).isDownstream) names.reverse();
    return new Fault('S5013', `${this.#words(sender, message, receiver)} cannot arrive with latency ${least}: ` +
      `${names.join(' and ')} wait for each other`, message.span, { hint: 'give it a larger latency' });
  }
}
