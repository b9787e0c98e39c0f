// Where the items of a function's channels and streams are, and how far each end has advanced.
import { elementAt, required } from '../../core/known.ts';
import { exact, get, i32, set, type Local } from '../../kernel/ir.ts';
import { ratesOf } from '../elaborate/to-sdf.ts';
import { countsOf } from '../plan/layout.ts';
import type { External, Group } from '../plan/plan.ts';
import type { GraphNode } from '../graph.ts';
import type { Step } from '../schedule/index.ts';
import type { ProgramBuffers } from './buffers.ts';
import { End, Stretch, type EndOptions, type Tape } from './ends.ts';
import type { KeptLocals } from './kept.ts';
import type { Site } from './sites.ts';
import type { Buffers } from './value.ts';
import type { Writer } from './writer.ts';

/** One end of a channel or stream: the function reads (`r`) or writes (`w`) there. */
type EndName = `${'r' | 'w'}${number}`;

/** What all firings of a node have in common at one end. */
interface EndShape {
  /** Number of the channel or stream. */
  readonly id: number;
  readonly external: External | undefined;
  readonly options: EndOptions;
}

export interface PositionOptions {
  readonly program: ProgramBuffers;
  readonly writer: Writer;
  readonly kept: KeptLocals;
  /** Undefined in a function of one node. */
  readonly group: Group | undefined;
  /** Every channel lies in its buffer. */
  readonly isBaseline: boolean;
  /** Items of channels may be kept in locals. */
  readonly inLocals: boolean;
  /** Channels begin at the indices in `ix`. */
  readonly isPlaced: boolean;
  /** Whether the code of each firing of a step is written out. */
  readonly isWrittenOut: (step: Step) => boolean;
  readonly site: (site: Site) => number;
}

export class Positions {
  readonly #o: PositionOptions;
  readonly #stretches = new Map<number, Stretch | undefined>();
  readonly #shapes = new Map<string, EndShape | undefined>();
  /** Buffers of channels that are filled and emptied in each iteration of the group, if not all places are known. */
  readonly #iteration = new Map<number, Buffers>();
  /** How many items have moved since the index of an end was set, if that is known. */
  readonly #moved = new Map<EndName, number>();

  constructor(options: PositionOptions) {
    this.#o = options;
  }

  #externalOf(node: GraphNode, port: number, isInput: boolean): External | undefined {
    const wanted = isInput ? 'input' : 'output';
    return port === 0 ? this.#o.program.plan.externals.find(({ kind, node: id }) => kind === wanted && id === node.id) : undefined;
  }

  /** One end of a channel for the next firing. */
  end(node: GraphNode, port: number, isInput: boolean, isFirst: boolean): End | undefined {
    const key = `${node.id} ${port} ${isInput} ${isFirst}`;
    if (!this.#shapes.has(key)) this.#shapes.set(key, this.#shapeOf(node, port, isInput, isFirst));
    const shape = this.#shapes.get(key);
    if (shape === undefined) return undefined;
    const { id, external, options } = shape;
    const stretch = external === undefined ? this.#stretchOf(id) : undefined;
    return new End(this.#o.writer, options, stretch ?? this.#tape(id, external, isInput, options.rate));
  }

  #shapeOf(node: GraphNode, port: number, isInput: boolean, isFirst: boolean): EndShape | undefined {
    const channel = (isInput ? node.inputs : node.outputs)[port];
    const external = channel === undefined ? this.#externalOf(node, port, isInput) : undefined;
    if (channel === undefined && external === undefined) return undefined;
    const rates = ratesOf(node, port, isFirst);
    const rate = isInput ? rates.pop : rates.push;
    const type = channel === undefined ? required(external).type : elementAt(this.#o.program.plan.graph.channels, channel).type;
    const span = node.kind === 'filter' ? node.code.span : undefined;
    const site = (kind: 'pop' | 'push' | 'peek', limit: number): number => this.#o.site({ kind, node: node.id, span, limit });
    return { id: channel ?? required(external).id, external, options: {
      type, isInput, rate, window: isInput ? rates.peek : rate,
      sites: { rate: () => site(isInput ? 'pop' : 'push', rate), peek: () => site('peek', rates.peek) },
    } };
  }

  #isIteration(id: number): boolean {
    return this.#o.group !== undefined && !this.#o.isBaseline && this.#o.program.plan.storage[id] !== 'block';
  }

  /** The items of a channel within one iteration of the group, if every firing that moves them is written out. */
  #stretchOf(channel: number): Stretch | undefined {
    if (!this.#isIteration(channel)) return undefined;
    if (this.#stretches.has(channel)) return this.#stretches.get(channel);
    const { graph, storage, rates } = this.#o.program.plan;
    const { steps, iterations } = required(this.#o.group);
    const { from, to, type } = elementAt(graph.channels, channel);
    const isKnown = steps.every((step) => (step.actor !== from && step.actor !== to) || this.#o.isWrittenOut(step));
    const inLocals = storage[channel] === 'registers' && this.#o.inLocals;
    const stretch = isKnown ? new Stretch(type, elementAt(rates, channel) / iterations, inLocals) : undefined;
    this.#stretches.set(channel, stretch);
    return stretch;
  }

  /** Buffers of a channel or stream, and the index of the next item. */
  #tape(id: number, external: External | undefined, isInput: boolean, rate: number): Tape {
    const buffers = external === undefined ? this.#channelBuffers(id) : this.#o.program.external(external);
    const name: EndName = `${isInput ? 'r' : 'w'}${id}`;
    const moved = this.#moved.get(name) ?? 0;
    if (this.#o.group !== undefined) this.#moved.set(name, moved + rate);
    const local = this.#index(name, id, isInput, external);
    return { buffers, start: { base: get(local), add: moved, stable: true } };
  }

  /** Where the next item of a file is written. */
  writer(external: External): Tape {
    return this.#tape(external.id, external, false, 1);
  }

  /** The local with the index of the next item of a file to read. */
  reader(external: External): Local {
    const name: EndName = `r${external.id}`;
    const local = this.#index(name, external.id, true, external);
    this.#settle(name);
    return local;
  }

  /** The local with the index of an end. */
  #index(name: EndName, id: number, isInput: boolean, external: External | undefined): Local {
    const { kept, program, group, isPlaced } = this.#o;
    if (external === undefined && this.#isIteration(id)) return kept.counter(name, 0, true);
    if (external === undefined && group !== undefined && !isPlaced) {
      return kept.counter(name, isInput ? 0 : elementAt(program.plan.steady.residual, id), false);
    }
    return kept.element(name, program.system.ix, 2 * id + (isInput ? 0 : 1));
  }

  #channelBuffers(id: number): Buffers {
    const { program, group, writer } = this.#o;
    if (!this.#isIteration(id)) return program.channel(id);
    let buffers = this.#iteration.get(id);
    if (buffers === undefined) {
      const items = elementAt(program.plan.rates, id) / required(group).iterations;
      const counts = countsOf(elementAt(program.plan.graph.channels, id).type);
      ({ buffers } = writer.place({ i: counts.i * items, f: counts.f * items, d: counts.d * items }));
      this.#iteration.set(id, buffers);
    }
    return buffers;
  }

  /** Calls `visit` for each end of a channel at the node, with the number of items that a firing moves. */
  #eachEnd(node: GraphNode, isFirst: boolean, visit: (name: EndName, rate: number, channel: number | undefined) => void): void {
    node.inputs.forEach((channel, port) => {
      const id = channel ?? this.#externalOf(node, port, true)?.id;
      if (id !== undefined) visit(`r${id}`, ratesOf(node, port, isFirst).pop, channel);
    });
    node.outputs.forEach((channel, port) => {
      const id = channel ?? this.#externalOf(node, port, false)?.id;
      if (id !== undefined) visit(`w${id}`, ratesOf(node, port, isFirst).push, channel);
    });
  }

  skip(node: GraphNode, firings: number): void {
    this.#eachEnd(node, false, (name, rate, channel) => {
      const stretch = channel === undefined ? undefined : this.#stretchOf(channel);
      if (stretch === undefined) this.#moved.set(name, (this.#moved.get(name) ?? 0) + firings * rate);
      else stretch.pass(name.startsWith('r'), firings * rate);
    });
  }

  /** Advances the indices of a node's ends to their current positions. */
  settle(node: GraphNode): void {
    this.#eachEnd(node, false, (name) => { this.#settle(name); });
    for (const { id, node: owner } of this.#o.program.plan.externals) {
      if (owner !== node.id) continue;
      this.#settle(`r${id}`);
      this.#settle(`w${id}`);
    }
  }

  #settle(name: EndName): void {
    const moved = this.#moved.get(name) ?? 0;
    this.#moved.delete(name);
    this.#advance(name, moved);
  }

  #advance(name: EndName, items: number): void {
    const local = this.#o.kept.find(name);
    if (items > 0 && local !== undefined) this.#o.writer.emit(set(local, exact('add', get(local), i32(items))));
  }

  /** Called at the start of each iteration of a group. */
  beginIteration(): void {
    this.#stretches.clear();
  }

  /** Called at the end of each iteration. */
  endIteration(): void {
    for (const name of [...this.#moved.keys()]) this.#settle(name);
    for (const local of this.#o.kept.ofIteration()) this.#o.writer.emit(set(local, i32(0)));
  }

  /** In a function of one node: advances its ends after a firing. */
  advance(node: GraphNode, isFirst: boolean): void {
    this.#eachEnd(node, isFirst, (name, rate) => { this.#advance(name, rate); });
    for (const { id, kind, node: owner } of this.#o.program.plan.externals) {
      if (owner === node.id && (kind === 'reader' || kind === 'writer')) this.#advance(kind === 'reader' ? `r${id}` : `w${id}`, 1);
    }
  }
}
