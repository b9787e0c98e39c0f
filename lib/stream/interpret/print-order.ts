// The order of printed output. Each back end fires nodes in an order of its own. If several nodes print, the texts are sorted into the same
// order for all back ends: by steady state, starting with the initialisation; within each by node, following the channels forward; and for
// each node by firing. Programs without a steady state (dynamic rates, unbalanced rates) run only in the interpreter, in its own order.
import { elementAt } from '../../core/known.ts';
import { isDynamic, sdfOf } from '../elaborate/to-sdf.ts';
import type { GraphNode, StreamGraph } from '../graph.ts';
import { ScheduleError } from '../schedule/error.ts';
import { scheduled, type SteadyState } from '../schedule/steady.ts';
import { bodiesOf, someStatement } from './walk.ts';

/** The maximum number of values that a run may print. */
export const mostPrinted = 1e7;

/** Whether a node's code prints. */
export function prints(node: GraphNode): boolean {
  return node.kind === 'filter' && bodiesOf(node.code).some((body) => someStatement(body, ({ kind }) => kind === 'print'));
}

/** The nodes that print, if there are several; otherwise none, because the lines of one node are in order as it fires. */
export function severalPrinters({ nodes }: StreamGraph): readonly number[] {
  const found = nodes.filter(prints).map(({ id }) => id);
  return found.length > 1 ? found : [];
}

/** The steady state of a graph; undefined if there is none. */
export function steadyOf(graph: StreamGraph): SteadyState | undefined {
  if (graph.nodes.some(isDynamic)) return undefined;
  try {
    return scheduled(sdfOf(graph)).steady;
  } catch (error) {
    if (error instanceof ScheduleError) return undefined;
    throw error;
  }
}

interface Entry {
  readonly state: number;
  readonly place: number;
  readonly firing: number;
  text: string;
}

/** Sorts the texts of several printing nodes. */
export class OrderedTexts {
  readonly #steady: SteadyState;
  readonly #places: readonly number[];
  readonly #entries: Entry[] = [];

  constructor(steady: SteadyState) {
    this.#steady = steady;
    const places = steady.order.map(() => 0);
    steady.order.forEach((node, place) => { places[node] = place; });
    this.#places = places;
  }

  /** The steady state of a node's firing (from 0); -1: before the first one. */
  stateOf(node: number, firing: number): number {
    const { initFirings, repetitions } = this.#steady;
    return firing < elementAt(initFirings, node) ? -1 : Math.floor((firing - elementAt(initFirings, node)) / elementAt(repetitions, node));
  }

  /** Adds what a node prints in a firing (from 0); the texts of one firing keep their order. */
  add(node: number, firing: number, text: string): void {
    const last = this.#entries.at(-1);
    const place = elementAt(this.#places, node);
    if (last?.place === place && last.firing === firing) last.text += text;
    else this.#entries.push({ state: this.stateOf(node, firing), place, firing, text });
  }

  /** The complete text, in order. */
  toString(): string {
    return this.#sorted().map(({ text }) => text).join('');
  }

  #sorted(): Entry[] {
    return this.#entries.sort((a, b) => a.state - b.state || a.place - b.place || a.firing - b.firing);
  }

  /** Removes and returns the text of the steady states before this one. */
  take(before: number): string {
    const sorted = this.#sorted();
    const end = sorted.findIndex(({ state }) => state >= before);
    return sorted.splice(0, end < 0 ? sorted.length : end).map(({ text }) => text).join('');
  }
}

const linesIn = (text: string): number => {
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) ++lines;
  return lines;
};

/** The printed output of a run in the interpreter, and how many of its lines are final. */
export class Printout {
  /** How many lines at the start are final. */
  lines = 0;
  readonly #texts: OrderedTexts | undefined;
  #text = '';
  /** By printing node: the steady state of its next firing. */
  readonly #states = new Map<number, number>();
  /** The minimum of these: all lines before it are final. */
  #settled = -1;
  readonly #linesOf = new Map<number, number>();

  constructor(graph: StreamGraph) {
    const printers = severalPrinters(graph);
    const steady = printers.length === 0 ? undefined : steadyOf(graph);
    if (steady === undefined) return;
    this.#texts = new OrderedTexts(steady);
    for (const node of printers) this.#states.set(node, this.#texts.stateOf(node, 0));
    this.#settled = Math.min(...this.#states.values());
  }

  add(node: number, firing: number, text: string): void {
    const lines = linesIn(text);
    if (this.#texts === undefined) {
      this.#text += text;
      this.lines += lines;
      return;
    }
    this.#texts.add(node, firing, text);
    const state = this.#texts.stateOf(node, firing);
    this.#linesOf.set(state, (this.#linesOf.get(state) ?? 0) + lines);
  }

  /** Called when a node has fired `firings` times. */
  fired(node: number, firings: number): void {
    if (this.#texts === undefined) return;
    const before = this.#states.get(node);
    if (before === undefined) return;
    const state = this.#texts.stateOf(node, firings);
    if (state === before) return;
    this.#states.set(node, state);
    if (before > this.#settled) return;
    const settled = Math.min(...this.#states.values());
    for (; this.#settled < settled; ++this.#settled) {
      this.lines += this.#linesOf.get(this.#settled) ?? 0;
      this.#linesOf.delete(this.#settled);
    }
  }

  /** Removes and returns the text that is final; `isOver`: all of it. */
  take(isOver: boolean): string {
    if (this.#texts !== undefined) return this.#texts.take(isOver ? Infinity : this.#settled);
    const text = this.#text;
    this.#text = '';
    return text;
  }

  toString(): string {
    return this.#texts === undefined ? this.#text : this.#texts.toString();
  }
}

/** The first lines of what was printed. */
export function firstLines(printed: string, count: number): string {
  let end = 0;
  for (let i = 0; i < count && end < printed.length; ++i) end = (printed.indexOf('\n', end) + 1) || printed.length;
  return printed.slice(0, end);
}
