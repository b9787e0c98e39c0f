// Dead firings, and firings that can do less: iterations of their loops add constant zeros or compute what nobody reads. All of this is
// about firings in whole steady states; those before and after run the code as written.
import { elementAt, required } from '../../core/known.ts';
import { ratesOf } from '../elaborate/to-sdf.ts';
import type { Channel, GraphNode, StreamGraph } from '../graph.ts';
import { evaluatesSome } from '../interpret/walk.ts';
import type { FilterCode } from '../ir.ts';
import type { SteadyState } from '../schedule/steady.ts';
import { itemAt, itemsBefore, lcm, longestPattern, movedItems, patternOf, periodOf, sourcesOf, type Pattern } from './patterns.ts';
import { traceFiring, type FiringTrace } from './trace.ts';
import { withoutIdleTurns } from './turns.ts';

/** The firings of a filter in steady states, for one period. */
export interface SavedFirings {
  /** By firing: the code that remains; undefined: the firing is dead. */
  readonly codes: readonly (FilterCode | undefined)[];
}

/** A graph with its steady state. */
export interface Scheduled {
  readonly graph: StreamGraph;
  readonly steady: SteadyState;
  /** Nodes of feedback loops, which are not analysed across firings. */
  readonly loops: ReadonlySet<number>;
}

/** Budgets of all traces together and of one; the maximum number of items or firings in a steady state that are tracked. */
const mostSteps = 2_000_000;
const mostStepsOfOne = 400_000;
const nothing = (): undefined => undefined;
const mostItems = 65_536;
/** The maximum number of versions of a filter's code. */
const mostCodes = 64;

type FilterNode = Extract<GraphNode, { kind: 'filter' }>;

/** By filter: its steady-state firings, if some are dead or do less than written. */
export function savedFirings(scheduled: Scheduled): ReadonlyMap<number, SavedFirings> {
  return new Savings(scheduled).find();
}

class Savings {
  readonly #graph: StreamGraph;
  readonly #steady: SteadyState;
  readonly #loops: ReadonlySet<number>;
  readonly #patterns: (Pattern | undefined)[] = [];
  /** By filter: the traces of one period of firings. */
  readonly #traces = new Map<number, readonly (FiringTrace | undefined)[]>();
  readonly #known = new Map<FilterCode, FiringTrace | undefined>();
  /** By channel: 1 for each item of a steady state that is used; undefined: all are. */
  readonly #used: (Uint8Array | undefined)[] = [];
  #left = mostSteps;

  constructor({ graph, steady, loops }: Scheduled) {
    this.#graph = graph;
    this.#steady = steady;
    this.#loops = loops;
  }

  find(): ReadonlyMap<number, SavedFirings> {
    const { order } = this.#steady;
    for (const id of order) this.#follow(elementAt(this.#graph.nodes, id));
    const found = new Map<number, SavedFirings>();
    for (const id of [...order].reverse()) {
      const node = elementAt(this.#graph.nodes, id);
      const live = this.#liveFirings(node);
      this.#use(node, live);
      const saved = node.kind === 'filter' ? this.#saved(node, live) : undefined;
      if (saved !== undefined) found.set(id, saved);
    }
    return found;
  }

  #channelsOf(ports: readonly (number | undefined)[]): Channel[] {
    return ports.flatMap((channel) => (channel === undefined ? [] : [elementAt(this.#graph.channels, channel)]));
  }

  /** The value of an item at this offset from the first item that the node's steady-state firings pop, if it is known. */
  #item(node: GraphNode, port: number, place: number): number | undefined {
    const channel = node.inputs[port];
    const first = itemsBefore(node, port, elementAt(this.#steady.initFirings, node.id), true);
    return channel === undefined ? undefined : itemAt(this.#patterns[channel], first + place);
  }

  /** Traces one period of a node's firings, and finds the patterns of its outputs. */
  #follow(node: GraphNode): void {
    const period = this.#loops.has(node.id) ? undefined : periodOf(node, this.#patterns);
    const isKnown = period !== undefined && (period <= mostCodes || node.kind !== 'filter');
    if (node.kind === 'filter') this.#traces.set(node.id, isKnown ? this.#tracesOf(node, period) : [this.#plain(node.code)]);
    if (!isKnown || (node.kind !== 'filter' && this.#channelsOf(node.inputs).every(({ id }) => this.#patterns[id] === undefined))) return;
    for (const channel of this.#channelsOf(node.outputs)) {
      const item = (port: number, place: number) => this.#item(node, port, place);
      if (period * ratesOf(node, channel.fromPort).push > longestPattern) continue;
      const pushed = node.kind === 'filter' ? this.#pushed(node) : movedItems(node, channel.fromPort, period, item);
      if (pushed === undefined) continue;
      const initial = channel.initial.map(({ numbers, type }) => (type.kind === 'scalar' ? numbers[0] : undefined));
      this.#patterns[channel.id] = patternOf(channel, node, elementAt(this.#steady.initFirings, node.id), pushed,
        [...initial, ...this.#first(node)]);
    }
  }

  #trace(code: FilterCode, work: FilterCode['work'], items: (place: number) => number | undefined): FiringTrace | undefined {
    const most = Math.min(mostStepsOfOne, this.#left);
    const budget = { left: most };
    const trace = traceFiring(code, work, items, budget);
    this.#left -= most - Math.max(budget.left, 0);
    return trace;
  }

  /** The trace of a firing with unknown input. */
  #plain(code: FilterCode): FiringTrace | undefined {
    if (!this.#known.has(code)) this.#known.set(code, this.#trace(code, code.work, nothing));
    return this.#known.get(code);
  }

  #tracesOf(node: FilterNode, period: number): readonly (FiringTrace | undefined)[] {
    const { code } = node;
    const { pop, peek } = code.work.rates;
    return Array.from({ length: period }, (_, firing) => {
      const item = (place: number) => this.#item(node, 0, firing * pop + place);
      const isPlain = Array.from({ length: Math.min(peek, mostItems) }, (__, place) => item(place)).every((x) => x === undefined);
      return isPlain ? this.#plain(code) : this.#trace(code, code.work, item);
    });
  }

  #pushed({ id }: FilterNode): readonly (number | undefined)[] | undefined {
    const traces = required(this.#traces.get(id));
    return traces.includes(undefined) ? undefined : (traces as readonly FiringTrace[]).flatMap(({ pushed }) => pushed);
  }

  /** What a node's prework pushes. */
  #first(node: GraphNode): readonly (number | undefined)[] {
    if (node.kind !== 'filter' || node.code.prework === undefined) return [];
    const { code } = node;
    const { prework } = node.code;
    return this.#trace(code, prework, nothing)?.pushed ?? Array.from({ length: Math.min(prework.rates.push, mostItems) }, () => undefined);
  }

  /** By firing of a steady state: whether it is live; undefined: all are. */
  #liveFirings(node: GraphNode): readonly boolean[] | undefined {
    const outputs = this.#channelsOf(node.outputs);
    const firings = elementAt(this.#steady.repetitions, node.id);
    if (node.kind !== 'filter' || this.#loops.has(node.id) || outputs.length === 0 || firings > mostItems) return undefined;
    const [channel] = outputs;
    const used = channel === undefined ? undefined : this.#used[channel.id];
    // After the last steady state it may fire on arbitrary items in place of those that nobody uses.
    if (node.code.stateful || countsFirings(node.code) || used === undefined || this.#plain(node.code)?.canFail !== false) return undefined;
    const { push } = node.code.work.rates;
    const live = Array.from({ length: firings }, (_, firing) => {
      const first = this.#firstPushed(required(channel), node) + firing * push;
      return Array.from({ length: push }, (__, i) => used[(first + i) % used.length]).includes(1);
    });
    return live.includes(false) ? live : undefined;
  }

  #firstPushed({ initial, fromPort }: Channel, node: GraphNode): number {
    return initial.length + itemsBefore(node, fromPort, elementAt(this.#steady.initFirings, node.id), false);
  }

  /** Finds the items of its inputs that a node uses. */
  #use(node: GraphNode, live: readonly boolean[] | undefined): void {
    const { kind, id } = node;
    if (this.#loops.has(id) || kind === 'writer' || kind === 'reader') return;
    if (kind === 'filter') this.#useByFilter(node, live);
    else if (id !== this.#graph.output?.node) this.#useByMover(node);
  }

  #useByFilter(node: FilterNode, live: readonly boolean[] | undefined): void {
    const firings = elementAt(this.#steady.repetitions, node.id);
    const { pop, peek } = node.code.work.rates;
    const traces = required(this.#traces.get(node.id));
    const [channel] = this.#channelsOf(node.inputs);
    const items = firings * pop;
    if (channel === undefined || items === 0 || items > mostItems || firings * peek > 16 * mostItems || traces.includes(undefined)) return;
    const used = new Uint8Array(items);
    const first = itemsBefore(node, 0, elementAt(this.#steady.initFirings, node.id), true);
    for (let firing = 0; firing < firings; ++firing) {
      if (live?.[firing] === false) continue;
      for (const place of required(traces[firing % traces.length]).used) used[(first + firing * pop + place) % items] = 1;
    }
    this.#setUsed(channel, used);
  }

  #setUsed({ id }: Channel, used: Uint8Array): void {
    if (used.includes(0)) this.#used[id] = used;
  }

  /** In one pass over all items: split-joins may have thousands of ports. */
  #useByMover(node: GraphNode): void {
    const outputs = this.#channelsOf(node.outputs);
    if (outputs.every(({ id }) => this.#used[id] === undefined)) return;
    const firings = elementAt(this.#steady.repetitions, node.id);
    const inputs = node.inputs.map((channel, port) => {
      const { pop } = ratesOf(node, port);
      const items = firings * pop;
      if (channel === undefined || items === 0 || items > mostItems) return undefined;
      const first = itemsBefore(node, port, elementAt(this.#steady.initFirings, node.id), true);
      return { channel: elementAt(this.#graph.channels, channel), used: new Uint8Array(items), pop, first };
    });
    for (const channel of outputs) {
      const used = this.#used[channel.id];
      const sources = sourcesOf(node, channel.fromPort);
      const first = this.#firstPushed(channel, node);
      for (let firing = 0; firing < firings; ++firing) {
        sources.forEach(([from, place], i) => {
          const input = inputs[from];
          if (input === undefined || (used !== undefined && used[(first + firing * sources.length + i) % used.length] === 0)) return;
          input.used[(input.first + firing * input.pop + place) % input.used.length] = 1;
        });
      }
    }
    for (const input of inputs) if (input !== undefined) this.#setUsed(input.channel, input.used);
  }

  #saved(node: FilterNode, live: readonly boolean[] | undefined): SavedFirings | undefined {
    const traces = required(this.#traces.get(node.id));
    const codes = traces.map((trace) => (trace === undefined ? node.code : withoutIdleTurns(node.code, trace)));
    const all = lcm(codes.length, live?.length ?? 1);
    if (all > mostItems) return undefined;
    const firings = Array.from({ length: all }, (_, i) => (live?.[i % live.length] === false ? undefined : codes[i % codes.length]));
    const period = periodIn(firings);
    // Many versions of the code would cost more than they save.
    const few = period <= mostCodes || new Set(firings).size <= 2 ? firings.slice(0, period) : undefined;
    return few?.every((code) => code === node.code) === false ? { codes: few } : undefined;
  }
}

/** Whether the code uses the number of its firing. */
function countsFirings(code: FilterCode): boolean {
  return evaluatesSome(code.work.body, ({ kind }) => kind === 'iter');
}

/** The period of a list. */
function periodIn(list: readonly unknown[]): number {
  for (let period = 1; 2 * period <= list.length; ++period) {
    if (list.length % period === 0 && list.every((each, i) => each === list[i % period])) return period;
  }
  return list.length;
}
