// One function of a program: firings of a node, or iterations of a group.
import { binary, call, exact, f64, get, i32, load, set, store, type Expression, type KernelFunction, type Local, type ScalarType,
  type Statement } from '../../kernel/ir.ts';
import { ratesOf } from '../elaborate/to-sdf.ts';
import { countsOf, placesOf } from '../emit/layout.ts';
import { firingSize, type External, type Group } from '../emit/plan.ts';
import { rounds } from '../emit/rounds.ts';
import type { GraphNode } from '../graph.ts';
import type { IrType, StateVariable, Variable } from '../ir.ts';
import type { Step } from '../schedule/index.ts';
import { compareOf, operate } from './arithmetic.ts';
import { runBody } from './call.ts';
import { Context, type Style } from './context.ts';
import { End, Stretch, type EndOptions, type Tape } from './ends.ts';
import { together } from './loop.ts';
import { moverFiring, type MoverNode } from './movers.ts';
import type { ProgramBuffers } from './program.ts';
import type { Site } from './sites.ts';
import {
  held, holdsArrays, sizeOfType, type Binding, type Buffers, type Ex,
} from './value.ts';
import { Writer } from './writer.ts';

type FilterNode = Extract<GraphNode, { kind: 'filter' }>;
/** `small`: as little code as possible; `baseline`: all nodes in the order of the schedule, every channel in its buffer. */
export type Mode = 'node' | 'group' | 'small' | 'baseline';

const mostStatements = 120_000;
const styles: Readonly<Record<Mode, Style>> = {
  node: { loop: 0, explode: 8 }, group: { loop: 48, explode: 64 }, small: { loop: 0, explode: 16 }, baseline: { loop: 0, explode: 8 },
};
/** Firings in a row that are written one behind the other. */
const mostCopies = 64;
/** Scalars up to which a field is kept in locals. */
const mostKept = 16;

/** A value that a function keeps in a local while it runs: what it is at the start, and where it is stored at the end. */
interface Kept {
  readonly local: Local;
  readonly initial: Expression;
  readonly store: ((value: Expression) => Statement) | undefined;
  /** Counts from 0 in each iteration of a group. */
  readonly isOfIteration: boolean;
}

/** The end of a channel or stream at a function, by name. */
type EndName = `${'r' | 'w'}${number}`;

/** What all firings of a node see of an end alike. */
interface EndShape {
  /** Of the channel or stream. */
  readonly id: number;
  readonly external: External | undefined;
  readonly options: EndOptions;
}

export interface MadeFunction {
  readonly f: KernelFunction;
  /** Whether firings can raise faults. */
  readonly raises: boolean;
}

export class FunctionMaker {
  readonly #p: ProgramBuffers;
  readonly #mode: Mode;
  readonly #name: string;
  readonly #w: Writer;
  readonly #n: Local = { name: 'n', type: 'i32' };
  readonly #kept = new Map<string, Kept>();
  readonly #state = new Map<number, Map<Variable, Binding>>();
  readonly #stretches = new Map<number, Stretch | undefined>();
  readonly #shapes = new Map<string, EndShape | undefined>();
  /** Buffers of channels that are filled and emptied in each iteration of the group, where not all places are known. */
  readonly #iteration = new Map<number, Buffers>();
  #group: Group | undefined;
  #raises = false;
  /** Items moved in the present iteration, by end, where places are known. */
  readonly #moved = new Map<EndName, number>();

  constructor(program: ProgramBuffers, mode: Mode, name: string) {
    this.#p = program;
    this.#mode = mode;
    this.#name = name;
    this.#w = new Writer(name, mostStatements);
  }

  /** Fires a node `n` times, by its prework or its work; ends of channels in `ix`. */
  fire(id: number, isFirst: boolean): MadeFunction {
    const node = this.#p.plan.graph.nodes[id]!;
    this.#w.each({ to: get(this.#n) }, () => {
      this.#firing(node, isFirst);
      this.#advanceAll(node, isFirst);
    });
    return this.#finish(this.#makeRoom(node, isFirst));
  }

  /** Moves items to the front of output buffers where there is no room behind them. */
  #makeRoom(node: GraphNode, isFirst: boolean): Statement[] {
    const { sdf } = this.#p.plan;
    return node.outputs.flatMap((channel) => {
      if (channel === undefined) return [];
      const { push, firstPush } = sdf.channels[channel]!;
      const need = operate('*', get(this.#n), i32(isFirst ? firstPush ?? push : push), true);
      return [call('room', [i32(channel), need, i32(this.#p.capacities[channel]!)])];
    });
  }

  /** Iterations of a group, from the front of its channels on. `isWhole`: firings that nobody needs are made too. */
  group(group: Group, isWhole = false): MadeFunction {
    this.#group = group;
    if (group.live !== undefined && this.#mode === 'group') return this.#jammed(group, group.live, isWhole);
    this.#w.each({ to: get(this.#n) }, () => {
      this.#stretches.clear();
      for (const { steps, times } of group.isLoop ? rounds(group.steps) : [{ steps: group.steps, times: 1 }]) {
        const all = (): void => { for (const step of steps) this.#step(step); };
        if (times > 1) this.#w.each({ to: i32(times) }, all);
        else all();
      }
      this.#settleIteration();
    });
    return this.#finish([]);
  }

  /** A group of one filter: firings whose items are used, several together. */
  #jammed(group: Group, live: readonly number[], isWhole: boolean): MadeFunction {
    const [{ actor, count: period }] = group.steps as [Step];
    const node = this.#p.plan.graph.nodes[actor] as FilterNode;
    if (isWhole || live.length === period) return this.#jammedWhole(node, period);
    const width = live.length === 1 ? this.#p.togetherOf(period * node.code.work.rates.pop) : 1;
    const [first = 0] = live;
    const spans = [...(width > 1 ? [{ span: width, offsets: Array.from({ length: width }, (_, i) => i * period + first) }] : []),
      { span: 1, offsets: live }];
    return this.#inSpans(node, get(this.#n), spans.map(({ span, offsets }) => ({ span, offsets, firings: span * period, width })));
  }

  #jammedWhole(node: FilterNode, period: number): MadeFunction {
    const width = this.#p.togetherOf(node.code.work.rates.pop);
    const spans = (width > 1 ? [width, 1] : [1]).map((span) =>
      ({ span, offsets: Array.from({ length: span }, (_, i) => i), firings: span, width }));
    return this.#inSpans(node, operate('*', get(this.#n), i32(period), true), spans);
  }

  /** A loop for as many as go together, and one for the rest. */
  #inSpans(
    node: FilterNode, total: Expression,
    spans: readonly { readonly span: number; readonly offsets: readonly number[]; readonly firings: number; readonly width: number }[],
  ): MadeFunction {
    const w = this.#w;
    const end = w.stable({ e: total, stable: false }).e;
    let from: Expression = i32(0);
    for (const { span, offsets, firings, width } of spans) {
      const to = span === 1 ? end : w.stable({ e: binary('band', end, i32(-span)), stable: false }).e;
      w.each({ from, to, step: span }, () => {
        let done = 0;
        for (let i = 0; i < offsets.length; i += width) done = this.#firings(node, done, offsets.slice(i, i + width));
        this.#skip(node, firings - done);
        this.#settleNode(node);
      });
      from = to;
    }
    return this.#finish([]);
  }

  /** Firings at these places, together, after so many that are done; gives how many are done then. */
  #firings(node: FilterNode, done: number, offsets: readonly number[]): number {
    let next = done;
    const contexts = offsets.map((offset) => {
      this.#skip(node, offset - next);
      next = offset + 1;
      return this.#context(node, false);
    });
    together(contexts as [Context], node.code.work.body);
    for (const context of contexts) context.finish();
    return next;
  }

  /** Calls `visit` with each end of a channel at the node, and with the items that a firing moves. */
  #eachEnd(node: GraphNode, isFirst: boolean, visit: (name: EndName, rate: number) => void): void {
    const idOf = (id: number | undefined, port: number, isInput: boolean): number | undefined =>
      id ?? this.#externalOf(node, port, isInput)?.id;
    node.inputs.forEach((channel, port) => {
      const id = idOf(channel, port, true);
      if (id !== undefined) visit(`r${id}`, ratesOf(node, port, isFirst).pop);
    });
    node.outputs.forEach((channel, port) => {
      const id = idOf(channel, port, false);
      if (id !== undefined) visit(`w${id}`, ratesOf(node, port, isFirst).push);
    });
  }

  /** Passes over firings. */
  #skip(node: GraphNode, firings: number): void {
    this.#eachEnd(node, false, (name, rate) => { this.#moved.set(name, (this.#moved.get(name) ?? 0) + firings * rate); });
  }

  #step({ actor, count }: Step): void {
    const node = this.#p.plan.graph.nodes[actor]!;
    if (!this.#isWrittenOut({ actor, count })) {
      this.#settleNode(node);
      this.#w.each({ to: i32(count) }, () => {
        this.#firing(node, false);
        this.#settleNode(node);
      });
      return;
    }
    for (let i = 0; i < count; ++i) this.#firing(node, false);
    if (this.#group!.isLoop) this.#settleNode(node);
  }

  /** Whether the firings of a step are written one behind the other. */
  #isWrittenOut({ actor, count }: Step): boolean {
    if (count === 1) return true;
    if (this.#mode !== 'group' || this.#group!.isLoop) return false;
    const { plan } = this.#p;
    const node = plan.graph.nodes[actor]!;
    const size = firingSize(plan, node, plan.options.filterSize) * count;
    return size <= plan.options.groupSize && (node.kind !== 'filter' || count <= mostCopies);
  }

  #style(node: GraphNode): Style {
    const base = styles[this.#mode];
    if (this.#mode !== 'group' || node.kind !== 'filter' || this.#group?.live !== undefined) return base;
    const { plan } = this.#p;
    const unrolled = plan.analyses.get(node.code)!.unrolled(node.code.work.body);
    return unrolled <= plan.options.filterSize ? { ...base, loop: plan.options.filterSize } : base;
  }

  #firing(node: GraphNode, isFirst: boolean): void {
    if (node.kind === 'filter') this.#filterFiring(node, isFirst);
    else this.#moverFiring(node);
  }

  #filterFiring(node: FilterNode, isFirst: boolean): void {
    const { code } = node;
    const context = this.#context(node, isFirst);
    runBody(context, (isFirst ? code.prework! : code.work).body, undefined);
    context.finish();
    if (!context.options.analysis.usesIteration) return;
    const local = this.#word('it', node.id);
    this.#w.emit(set(local, operate('+', get(local), i32(1))));
  }

  /** What the next firing is written in. */
  #context(node: FilterNode, isFirst: boolean): Context {
    const { code } = node;
    const w = this.#w;
    return new Context({
      writer: w, code, analysis: this.#p.plan.analyses.get(code)!, node: node.id, style: this.#style(node),
      buffers: (variable) => this.#fieldBuffers(node.id, code.state, variable), state: this.#stateOf(node.id, code.state),
      site: (site) => this.#site(site), input: this.#end(node, 0, true, isFirst), output: this.#end(node, 0, false, isFirst),
      iteration: () => w.stable({ e: get(this.#word('it', node.id)), stable: false }), random: () => this.#word('rs', node.id),
      tick: (site) => { this.#tick(site); },
    });
  }

  #site(site: Site): number {
    this.#raises = true;
    return this.#p.site(site);
  }

  /** One of the turns that loops without known end may make. */
  #tick(site: number): void {
    const { steps } = this.#p.system;
    const left = this.#w.stable({ e: operate('-', load(steps, i32(0)), f64(1)), stable: false }).e;
    this.#w.emit(store(steps, i32(0), left));
    this.#w.guard(compareOf('>=', left, f64(0)), site, i32(0));
  }

  #fieldBuffers(node: number, state: readonly StateVariable[], variable: StateVariable): Buffers {
    return this.#p.field(node, state.indexOf(variable), variable.initial, variable.role === 'constant');
  }

  /** Scalar state in locals of the function. */
  #stateOf(node: number, state: readonly StateVariable[]): ReadonlyMap<Variable, Binding> {
    let bindings = this.#state.get(node);
    if (bindings !== undefined) return bindings;
    this.#state.set(node, bindings = new Map());
    state.forEach((variable, field) => {
      if (variable.role !== 'state' || holdsArrays(variable.type) || sizeOfType(variable.type) > mostKept) return;
      const buffers = this.#fieldBuffers(node, state, variable);
      const slots = placesOf(variable.type).map(({ kind, at: place }, i) => {
        const local = this.#keepElement(`f${node}_${field}_${i}`, buffers[kind]!, place);
        return { ex: { e: get(local), stable: false } satisfies Ex, local };
      });
      bindings.set(variable, held(variable.type, { slots }));
    });
    return bindings;
  }

  #keep(name: string, type: ScalarType, kept: Omit<Kept, 'local'>): Local {
    let found = this.#kept.get(name);
    if (found === undefined) this.#kept.set(name, found = { ...kept, local: { name, type } });
    return found.local;
  }

  /** An element of a buffer of the program, loaded at the start of the function and stored at its end. */
  #keepElement(name: string, buffer: Parameters<typeof load>[0], place: number): Local {
    return this.#keep(name, buffer.element, {
      initial: load(buffer, i32(place)), store: (value) => store(buffer, i32(place), value), isOfIteration: false,
    });
  }

  /** A word of a node: the number of its firing, the state of its random numbers. */
  #word(which: 'it' | 'rs', node: number): Local {
    return this.#keepElement(`${which}${node}`, this.#p.system[which], node);
  }

  #externalOf(node: GraphNode, port: number, isInput: boolean): External | undefined {
    const wanted = isInput ? 'input' : 'output';
    return port === 0 ? this.#p.plan.externals.find(({ kind, node: id }) => kind === wanted && id === node.id) : undefined;
  }

  /** One end of a channel for the next firing. */
  #end(node: GraphNode, port: number, isInput: boolean, isFirst: boolean): End | undefined {
    const key = `${node.id} ${port} ${isInput} ${isFirst}`;
    if (!this.#shapes.has(key)) this.#shapes.set(key, this.#shapeOf(node, port, isInput, isFirst));
    const shape = this.#shapes.get(key);
    if (shape === undefined) return undefined;
    const { id, external, options } = shape;
    const stretch = external === undefined ? this.#stretchOf(id) : undefined;
    return new End(this.#w, options, stretch ?? this.#tape(id, external, isInput, options.rate));
  }

  #shapeOf(node: GraphNode, port: number, isInput: boolean, isFirst: boolean): EndShape | undefined {
    const channel = (isInput ? node.inputs : node.outputs)[port];
    const external = channel === undefined ? this.#externalOf(node, port, isInput) : undefined;
    if (channel === undefined && external === undefined) return undefined;
    const rates = ratesOf(node, port, isFirst);
    const rate = isInput ? rates.pop : rates.push;
    const type = channel === undefined ? external!.type : this.#p.plan.graph.channels[channel]!.type;
    const span = node.kind === 'filter' ? node.code.span : undefined;
    const site = (kind: 'pop' | 'push' | 'peek', limit: number): number => this.#site({ kind, node: node.id, span, limit });
    return { id: channel ?? external!.id, external, options: {
      type, isInput, rate, window: isInput ? rates.peek : rate,
      sites: { rate: () => site(isInput ? 'pop' : 'push', rate), peek: () => site('peek', rates.peek) },
    } };
  }

  /** Items of a channel within one iteration of the group, where all firings that move them are written out. */
  #stretchOf(channel: number): Stretch | undefined {
    if (this.#group === undefined || !this.#isIteration(channel)) return undefined;
    if (this.#stretches.has(channel)) return this.#stretches.get(channel);
    const { graph, storage, rates } = this.#p.plan;
    const { from, to, type } = graph.channels[channel]!;
    const isKnown = this.#group.steps.every((step) => (step.actor !== from && step.actor !== to) || this.#isWrittenOut(step));
    const inLocals = storage[channel] === 'registers' && this.#mode === 'group';
    const stretch = isKnown ? new Stretch(type, rates[channel]! / this.#group.iterations, inLocals) : undefined;
    this.#stretches.set(channel, stretch);
    return stretch;
  }

  /** Buffers of a channel or stream, and the index of the next item. */
  #tape(id: number, external: External | undefined, isInput: boolean, rate: number): Tape {
    const buffers = external === undefined ? this.#channelBuffers(id) : this.#p.external(external);
    const name: EndName = `${isInput ? 'r' : 'w'}${id}`;
    const moved = this.#moved.get(name) ?? 0;
    if (this.#group !== undefined) this.#moved.set(name, moved + rate);
    const local = this.#index(name, id, isInput, external);
    return { buffers, start: { base: get(local), add: moved, stable: true } };
  }

  /** The local with the index of an end. */
  #index(name: EndName, id: number, isInput: boolean, external: External | undefined): Local {
    const isGroup = this.#group !== undefined && external === undefined;
    if (isGroup && this.#isIteration(id)) return this.#keep(name, 'i32', { initial: i32(0), store: undefined, isOfIteration: true });
    if (isGroup && !this.#p.isPlaced) {
      const begin = i32(isInput ? 0 : this.#p.plan.steady.residual[id]!);
      return this.#keep(name, 'i32', { initial: begin, store: undefined, isOfIteration: false });
    }
    return this.#keepElement(name, this.#p.system.ix, 2 * id + (isInput ? 0 : 1));
  }

  #isIteration(id: number): boolean {
    return this.#mode !== 'baseline' && this.#p.plan.storage[id] !== 'block';
  }

  #channelBuffers(id: number): Buffers {
    if (this.#group === undefined || !this.#isIteration(id)) return this.#p.channel(id);
    let buffers = this.#iteration.get(id);
    if (buffers === undefined) {
      const items = this.#p.plan.rates[id]! / this.#group.iterations;
      const counts = countsOf(this.#p.plan.graph.channels[id]!.type as IrType);
      ({ buffers } = this.#w.place({ i: counts.i * items, f: counts.f * items, d: counts.d * items }));
      this.#iteration.set(id, buffers);
    }
    return buffers;
  }

  /** Writes how far the ends of a node have moved. */
  #settleNode(node: GraphNode): void {
    this.#eachEnd(node, false, (name) => { this.#settle(name); });
    for (const { id, node: owner } of this.#p.plan.externals) {
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
    const kept = this.#kept.get(name);
    if (items > 0 && kept !== undefined) this.#w.emit(set(kept.local, exact('add', get(kept.local), i32(items))));
  }

  #settleIteration(): void {
    for (const name of [...this.#moved.keys()]) this.#settle(name);
    for (const { local, isOfIteration } of this.#kept.values()) if (isOfIteration) this.#w.emit(set(local, i32(0)));
  }

  /** In a function of one node: moves the kept ends behind a firing. */
  #advanceAll(node: GraphNode, isFirst: boolean): void {
    this.#eachEnd(node, isFirst, (name, rate) => { this.#advance(name, rate); });
    for (const { id, kind, node: owner } of this.#p.plan.externals) {
      if (owner === node.id && (kind === 'reader' || kind === 'writer')) this.#advance(kind === 'reader' ? `r${id}` : `w${id}`, 1);
    }
  }

  #moverFiring(node: MoverNode): void {
    moverFiring({
      w: this.#w, externals: this.#p.plan.externals, isGroup: this.#group !== undefined,
      end: (port, isInput) => this.#end(node, port, isInput, false),
      file: (external) => this.#tape(external.id, external, false, 1),
      reader: (external) => {
        const local = this.#index(`r${external.id}`, external.id, true, external);
        this.#settle(`r${external.id}`);
        return { local, buffers: this.#p.external(external), ix: this.#p.system.ix, length: 2 * external.id + 1 };
      },
    }, node);
  }

  /** The whole function: what it keeps is loaded before and stored behind. */
  #finish(before: readonly Statement[]): MadeFunction {
    const kept = [...this.#kept.values()];
    const body = [
      ...before, ...kept.map(({ local, initial }) => set(local, initial)), ...this.#w.body,
      ...kept.flatMap(({ local, store: put }) => (put === undefined ? [] : [put(get(local))])),
    ];
    return { f: { name: this.#name, parameters: [this.#n], results: [], buffers: this.#w.buffers, body }, raises: this.#raises };
  }
}
