// How many firings of one node another one needs, derived from the firings so far, for rates that are known only at run time.
//
// Each firing is marked with the number of firings of the upstream node that it needs: the largest mark of any item that it consumed or
// peeked at, but at least the mark of the previous firing. The items that it pushes carry its mark; initial items of channels carry 0.
import { elementAt, required } from '../../core/known.ts';
import type { StreamGraph } from '../graph.ts';
import type { Between, Wavefront } from './wavefront.ts';

/** What a trace needs to know of a run. */
export interface Tapes {
  firings(node: number): number;
  /** How many items have been popped from a channel so far, and how many are on it. */
  popped(channel: number): number;
  standing(channel: number): number;
  /** How many items the next firing of a node needs on a port to begin, and how many the current or last one has looked at. */
  need(node: number, port: number): number;
  reach(node: number, port: number): number;
}

/** Marks of the items of a channel: the items up to the `ends[i]`-th, counted from 1, have at most the mark `marks[i]`. */
interface Log {
  readonly producer: number;
  ends: number[];
  marks: number[];
  /** How many entries are no longer needed. */
  past: number;
}

interface Port {
  readonly port: number;
  readonly channel: number;
}

export class Trace implements Wavefront {
  readonly #up: number;
  readonly #down: number;
  readonly #tapes: Tapes;
  readonly #inputs = new Map<number, readonly Port[]>();
  readonly #outputs = new Map<number, readonly Port[]>();
  readonly #logs = new Map<number, Log>();
  /** By node: the mark of its last firing. */
  readonly #marks = new Map<number, number>();
  /** By node: how many items had been popped from its inputs when its last firing began. */
  readonly #begun = new Map<number, readonly number[]>();
  /** Nodes whose unfinished firing is being marked. */
  readonly #asked = new Set<number>();

  constructor(graph: StreamGraph, { up, down, nodes }: Between, tapes: Tapes) {
    this.#up = up;
    this.#down = down;
    this.#tapes = tapes;
    const inside = (ids: readonly (number | undefined)[], end: 'from' | 'to'): Port[] => ids.flatMap((channel, port) =>
      (channel !== undefined && nodes.has(elementAt(graph.channels, channel)[end]) ? [{ port, channel }] : []));
    for (const id of nodes) {
      this.#inputs.set(id, inside(elementAt(graph.nodes, id).inputs, 'from'));
      this.#outputs.set(id, inside(elementAt(graph.nodes, id).outputs, 'to'));
      for (const { channel } of required(this.#outputs.get(id))) {
        this.#logs.set(channel, { producer: id, ends: [elementAt(graph.channels, channel).initial.length], marks: [0], past: 0 });
      }
    }
  }

  /** The mark of the downstream node's next firing: the maximum over its previous firings and the items it will read. */
  needs(): number {
    const tapes = this.#tapes;
    return Math.max(this.#marks.get(this.#down) ?? 0, ...required(this.#inputs.get(this.#down)).map(({ port, channel }) =>
      this.#markOf(channel, tapes.popped(channel), tapes.need(this.#down, port))));
  }

  begins(node: number): void {
    const inputs = this.#inputs.get(node);
    if (inputs !== undefined) this.#begun.set(node, inputs.map(({ channel }) => this.#tapes.popped(channel)));
  }

  ended(node: number): void {
    if (!this.#inputs.has(node)) return;
    const mark = this.#firingOf(node, this.#tapes.firings(node));
    this.#marks.set(node, mark);
    for (const { channel } of required(this.#outputs.get(node))) {
      const log = required(this.#logs.get(channel));
      if (log.marks.at(-1) === mark) log.ends.pop();
      else log.marks.push(mark);
      log.ends.push(this.#tapes.popped(channel) + this.#tapes.standing(channel));
    }
    for (const { channel } of required(this.#inputs.get(node))) {
      this.#forget(required(this.#logs.get(channel)), this.#tapes.popped(channel));
    }
  }

  /** The mark of the n-th firing of a node, as far as it has got. */
  #firingOf(node: number, n: number): number {
    if (node === this.#up) return n;
    const begun = this.#begun.get(node);
    return Math.max(this.#marks.get(node) ?? 0, ...required(this.#inputs.get(node)).map(({ port, channel }, i) =>
      this.#markOf(channel, begun?.[i] ?? 0, this.#tapes.reach(node, port))));
  }

  /** The mark of the `count`-th item after the first `from` items of a channel. */
  #markOf(channel: number, from: number, count: number): number {
    if (count === 0) return 0;
    const { producer, ends, marks, past } = required(this.#logs.get(channel));
    for (let i = past; i < ends.length; ++i) if (elementAt(ends, i) >= from + count) return elementAt(marks, i);
    // In a loop, a node may read items pushed by a firing that is still unfinished.
    if (this.#asked.has(producer)) return this.#marks.get(producer) ?? 0;
    this.#asked.add(producer);
    const mark = this.#firingOf(producer, this.#tapes.firings(producer) + 1);
    this.#asked.delete(producer);
    return mark;
  }

  #forget(log: Log, popped: number): void {
    while (log.past + 1 < log.ends.length && elementAt(log.ends, log.past) < popped) ++log.past;
    if (log.past < 1024 || 2 * log.past < log.ends.length) return;
    log.ends = log.ends.slice(log.past);
    log.marks = log.marks.slice(log.past);
    log.past = 0;
  }
}
