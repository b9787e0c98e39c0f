// How many firings of one node another needs, computed from constant rates.
import { elementAt, lastOf, required } from '../../core/known.ts';
import { partToSdf } from '../elaborate/to-sdf.ts';
import type { StreamGraph } from '../graph.ts';
import { Marking } from '../schedule/steady.ts';
import type { SdfGraph } from '../sdf.ts';

/**
 * Computes S(m), the number of firings of an upstream node without which a downstream one cannot fire m times. Arguments must not decrease.
 */
export interface Wavefront {
  /** Infinity if the downstream node can never fire that often. */
  needs(m: number): number;
}

/** Two nodes and everything on the paths between them. */
export interface Between {
  readonly up: number;
  readonly down: number;
  /** Includes both ends. */
  readonly nodes: ReadonlySet<number>;
}

/** Nodes that can be reached from a node along channels, or against them. */
function reachedFrom({ nodes, channels }: StreamGraph, start: number, side: 'inputs' | 'outputs'): Set<number> {
  const reached = new Set<number>();
  const stack = [start];
  while (stack.length > 0) {
    for (const channel of elementAt(nodes, required(stack.pop()))[side]) {
      const next = channel === undefined ? undefined : elementAt(channels, channel)[side === 'outputs' ? 'to' : 'from'];
      if (next === undefined || reached.has(next)) continue;
      reached.add(next);
      stack.push(next);
    }
  }
  return reached;
}

/** The nodes between two nodes; undefined if no channels lead from one to the other. */
export function between(graph: StreamGraph, up: number, down: number): Between | undefined {
  const after = reachedFrom(graph, up, 'outputs');
  if (!after.has(down)) return undefined;
  const before = reachedFrom(graph, down, 'inputs');
  return { up, down, nodes: new Set([up, down, ...[...after].filter((id) => before.has(id))]) };
}

/** S(m) between two nodes; undefined if rates on the path are known only when filters fire. Rates elsewhere do not matter. */
export function counted(graph: StreamGraph, { up, down, nodes }: Between): Wavefront | undefined {
  const sdf = partToSdf(graph, nodes);
  return sdf === undefined ? undefined : new Counted(sdf, up, down);
}

class Counted implements Wavefront {
  readonly #marking: Marking;
  readonly #up: number;
  readonly #down: number;

  constructor(sdf: SdfGraph, up: number, down: number) {
    this.#marking = new Marking(sdf);
    this.#up = up;
    this.#down = down;
  }

  needs(m: number): number {
    const { fired } = this.#marking;
    while (elementAt(fired, this.#down) < m) if (!this.#pull()) return Infinity;
    return m <= 0 ? 0 : elementAt(fired, this.#up);
  }

  /** Fires the downstream node once, and others only if they must. */
  #pull(): boolean {
    const stack = [this.#down];
    const waiting = new Set(stack);
    while (stack.length > 0) {
      const id = lastOf(stack);
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
}
