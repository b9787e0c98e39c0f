// One function of a written program: firings of a node, or iterations of a group.
import { ratesOf } from '../elaborate/to-sdf.ts';
import type { GraphNode } from '../graph.ts';
import type { IrType, StateVariable, Variable } from '../ir.ts';
import type { Step } from '../schedule/index.ts';
import type { Site } from '../lower/sites.ts';
import { Context, type Lessons, type Style, type Writing } from './context.ts';
import { callFunction } from './call.ts';
import { runBody } from './frame.ts';
import { End, type Registers } from './ends.ts';
import { countsOf, kinds, placesOf, type Kind } from '../plan/layout.ts';
import { together } from './loop.ts';
import { externalArrays, moverFiring, type MoverNode } from './movers.ts';
import { firingSize, type External, type Group } from '../plan/plan.ts';
import { rounds } from '../plan/rounds.ts';
import type { FunctionText, ProgramWriter } from './program-writer.ts';
import { statement } from './statement.ts';
import { sizeOfType, type Binding, type Ex, type Place } from './value.ts';
import { Retry, Writer } from './writer.ts';

type FilterNode = Extract<GraphNode, { kind: 'filter' }>;
/** `baseline`: all nodes in the order of the schedule, every channel in its array. */
type Mode = 'node' | 'group' | 'small' | 'baseline';

const mostLines = 60_000;
const styles: Readonly<Record<Mode, Style>> = {
  node: { loop: 0, explode: 8 }, group: { loop: 48, explode: 64 }, small: { loop: 0, explode: 16 }, baseline: { loop: 0, explode: 8 },
};
/** Firings in a row that are written one behind the other. */
const mostCopies = 64;

/** Names that a function keeps in variables while it runs, loaded at its start and stored at its end. */
interface Kept {
  readonly name: string;
  readonly kind: Kind;
  readonly from: string;
}

const writing: Writing = { statement, call: callFunction };

export class FunctionMaker {
  readonly #p: ProgramWriter;
  readonly #lessons: Lessons;
  readonly #mode: Mode;
  readonly #w: Writer;
  readonly #kept = new Map<string, Kept>();
  readonly #state = new Map<number, Map<Variable, Binding>>();
  readonly #registers = new Map<number, Registers>();
  /** Arrays filled and emptied in each iteration, by channel. */
  readonly #iteration = new Map<number, Place['arrays']>();
  #group: Group | undefined;
  /** Whether what was written can raise a fault. */
  #raises = false;
  /** Items moved in the present iteration, by end (`r5`, `w5`), where places are known. */
  readonly #moved = new Map<string, number>();

  constructor(program: ProgramWriter, lessons: Lessons, mode: Mode) {
    this.#p = program;
    this.#lessons = lessons;
    this.#mode = mode;
    this.#w = new Writer(program.dialect, mostLines);
  }

  /** Fires a node `n` times, by its prework or its work; ends of channels in `wl_ix`. */
  fire(id: number, isFirst: boolean): FunctionText {
    const node = this.#p.plan.graph.nodes[id]!;
    const w = this.#w;
    const name = `${isFirst ? 'first' : 'fire'}_${id}`;
    w.open(this.#loopHead('wl_n', 'n'));
    this.#firing(node, isFirst);
    this.#advanceAll(node, isFirst);
    w.close();
    return this.#finish(name, this.#makeRoom(node, isFirst));
  }

  #loopHead(counter: string, bound: string): string {
    return `for (int ${counter} = 0; ${counter} < ${bound}; ++${counter}) {`;
  }

  /** Moves items to the front of output arrays where there is no room behind them. */
  #makeRoom(node: GraphNode, isFirst: boolean): string[] {
    const { graph, sdf } = this.#p.plan;
    return node.outputs.flatMap((channel) => {
      if (channel === undefined) return [];
      const { push, firstPush } = sdf.channels[channel]!;
      const each = isFirst ? firstPush ?? push : push;
      const counts = countsOf(graph.channels[channel]!.type);
      const [i, f, d] = kinds.map((kind) => (counts[kind] === 0 ? '0' : this.#p.channel(channel)[kind]));
      const sizes = `${counts.i}, ${counts.f}, ${counts.d}`;
      return [`wl_room(${channel}, n * ${each}, ${this.#p.capacities[channel]!}, ${i}, ${f}, ${d}, ${sizes});`];
    });
  }

  /** Iterations of a group, from the front of its channels on. */
  group(group: Group): FunctionText {
    this.#group = group;
    const w = this.#w;
    if (group.live !== undefined && this.#mode === 'group') return this.#jammed(group, group.live);
    w.open(this.#loopHead('wl_n', 'n'));
    this.#registers.clear();
    for (const { steps, times } of group.isLoop ? rounds(group.steps) : [{ steps: group.steps, times: 1 }]) {
      if (times > 1) w.open(this.#loopHead(this.#w.name('n'), String(times)));
      for (const step of steps) this.#step(step);
      if (times > 1) w.close();
    }
    this.#settleIteration();
    w.close();
    return this.#finish(`group_${group.id}`, []);
  }

  /** A group of one filter: firings whose items are used, several together. */
  #jammed(group: Group, live: readonly number[]): FunctionText {
    const w = this.#w;
    const [{ actor, count: period }] = group.steps as [Step];
    const node = this.#p.plan.graph.nodes[actor] as FilterNode;
    // A firing that may fail has to be made.
    const isWhole = this.#lessons.raises || live.length === period;
    // Compilers see to it that several run together.
    const width = 1;
    w.emit(this.#p.dialect.variable('i', 'wl_n', '0'));
    const loop = (offsets: readonly number[], span: number): void => {
      w.open(`for (; wl_n <= n${isWhole && period > 1 ? ` * ${period}` : ''} - ${span}; wl_n += ${span}) {`);
      let done = 0;
      for (let from = 0; from < offsets.length; from += width) done = this.#firings(node, done, offsets.slice(from, from + width));
      this.#skip(node, (isWhole ? span : span * period) - done);
      this.#settleNode(node);
      w.close();
    };
    const [first = 0] = live;
    if (isWhole) for (const span of width > 1 ? [width, 1] : [1]) loop(Array.from({ length: span }, (_, i) => i), span);
    else {
      if (live.length === 1 && width > 1) loop(Array.from({ length: width }, (_, i) => i * period + first), width);
      loop(live, 1);
    }
    if (this.#raises && !isWhole) throw new Retry('raises', node);
    return this.#finish(`group_${group.id}`, []);
  }

  /** Firings at these places, together, after so many that are done; gives how many are done then. */
  #firings(node: FilterNode, done: number, offsets: readonly number[]): number {
    let at = done;
    const contexts = offsets.map((offset) => {
      this.#skip(node, offset - at);
      at = offset + 1;
      return this.#context(node, false);
    });
    together(contexts as [Context], node.code.work.body);
    for (const context of contexts) context.finish();
    return at;
  }

  /** Calls `visit` with the index of each end of a channel at the node, and with the items that a firing moves. */
  #eachEnd(node: GraphNode, isFirst: boolean, visit: (name: string, rate: number) => void): void {
    node.inputs.forEach((id, port) => visit(`r${id ?? this.#externalOf(node, port, true)?.id}`, ratesOf(node, port, isFirst).pop));
    node.outputs.forEach((id, port) => visit(`w${id ?? this.#externalOf(node, port, false)?.id}`, ratesOf(node, port, isFirst).push));
  }

  /** Passes over firings. */
  #skip(node: GraphNode, firings: number): void {
    this.#eachEnd(node, false, (name, rate) => this.#moved.set(name, (this.#moved.get(name) ?? 0) + firings * rate));
  }

  #step({ actor, count }: Step): void {
    const node = this.#p.plan.graph.nodes[actor]!;
    if (!this.#isWrittenOut({ actor, count })) {
      this.#settleNode(node);
      this.#w.open(this.#loopHead(this.#w.name('n'), String(count)));
      this.#firing(node, false);
      this.#settleNode(node);
      this.#w.close();
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
    const isMover = node.kind !== 'filter';
    return size <= plan.options.groupSize && (isMover || count <= mostCopies);
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
    const w = this.#w;
    const context = this.#context(node, isFirst);
    runBody(context, (isFirst ? code.prework! : code.work).body, undefined);
    context.finish();
    if (context.options.analysis.usesIteration) {
      const name = this.#keep(`it${node.id}`, 'i', `wl_it[${node.id}]`);
      w.emit(`${name} = ${this.#p.dialect.binary('+', 'i', name, '1', undefined)};`);
    }
  }

  /** What the next firing is written in. */
  #context(node: FilterNode, isFirst: boolean): Context {
    const { code } = node;
    const w = this.#w;
    return new Context({
      writing, writer: w, code, analysis: this.#p.plan.analyses.get(code)!, node: node.id, style: this.#style(node), lessons: this.#lessons,
      fields: { arrays: (variable) => this.#fieldArrays(node.id, code.state, variable) }, state: this.#stateOf(node.id, code.state),
      site: (site) => this.#site(site), input: this.#end(node, 0, true, isFirst), output: this.#end(node, 0, false, isFirst),
      iteration: () => w.stable({ text: this.#keep(`it${node.id}`, 'i', `wl_it[${node.id}]`), kind: 'i', stable: false }),
      random: () => this.#keep(`rs${node.id}`, 'i', `wl_rs[${node.id}]`),
    });
  }

  #site(site: Site): number {
    this.#raises = true;
    return this.#p.site(site);
  }

  #fieldArrays(node: number, state: readonly StateVariable[], variable: StateVariable): Record<Kind, string> {
    return this.#p.field(node, state.indexOf(variable), variable.initial, variable.role === 'constant');
  }

  /** Scalar state in variables of the function. */
  #stateOf(node: number, state: readonly StateVariable[]): ReadonlyMap<Variable, Binding> {
    let bindings = this.#state.get(node);
    if (bindings !== undefined) return bindings;
    this.#state.set(node, bindings = new Map());
    state.forEach((variable, at) => {
      if (variable.role !== 'state' || variable.type.kind === 'array' || sizeOfType(variable.type) > 16) return;
      if (this.#lessons.inMemory.has(variable)) return;
      const arrays = this.#fieldArrays(node, state, variable);
      const slots = placesOf(variable.type).map(({ kind, at: place }, i) => {
        const text = this.#keep(`f${node}_${at}_${i}`, kind, `${arrays[kind]}[${place}]`);
        return { ex: { text, kind, stable: false } satisfies Ex, isVariable: true, depth: 0 };
      });
      bindings.set(variable, { kind: 'slots', slots });
    });
    return bindings;
  }

  #keep(name: string, kind: Kind, from: string): string {
    if (!this.#kept.has(name)) this.#kept.set(name, { name, kind, from });
    return name;
  }

  #externalOf(node: GraphNode, port: number, isInput: boolean): External | undefined {
    const wanted = isInput ? 'input' : 'output';
    return port === 0 ? this.#p.plan.externals.find(({ kind, node: id }) => kind === wanted && id === node.id) : undefined;
  }

  /** One end of a channel for the next firing. */
  #end(node: GraphNode, port: number, isInput: boolean, isFirst: boolean): End | undefined {
    const channel = (isInput ? node.inputs : node.outputs)[port];
    const external = channel === undefined ? this.#externalOf(node, port, isInput) : undefined;
    if (channel === undefined && external === undefined) return undefined;
    const rates = ratesOf(node, port, isFirst);
    const rate = isInput ? rates.pop : rates.push;
    const type = channel === undefined ? external!.type : this.#p.plan.graph.channels[channel]!.type;
    const options = { type, isInput, rate, window: isInput ? rates.peek : rate };
    const span = node.kind === 'filter' ? node.code.span : undefined;
    const site = (kind: 'pop' | 'push' | 'peek', limit: number) => () => this.#site({ kind, node: node.id, span, limit });
    const sites = { rate: site(isInput ? 'pop' : 'push', rate), peek: site('peek', rates.peek) };
    if (channel !== undefined && this.#group !== undefined) {
      const registers = this.#registersOf(channel);
      if (registers !== undefined) return new End(this.#w, { ...options, registers }, sites);
    }
    return new End(this.#w, { ...options, ...this.#tapeEnd(channel ?? external!.id, external, isInput, rate, type) }, sites);
  }

  #registersOf(channel: number): Registers | undefined {
    const { storage, graph } = this.#p.plan;
    if (storage[channel] !== 'registers' || this.#mode !== 'group' || this.#lessons.channels.has(channel)) return undefined;
    const { from, to } = graph.channels[channel]!;
    const steps = this.#group!.steps.filter(({ actor }) => actor === from || actor === to);
    if (!steps.every((step) => this.#isWrittenOut(step))) return undefined;
    let registers = this.#registers.get(channel);
    if (registers === undefined) this.#registers.set(channel, registers = { channel, items: [], head: 0 });
    return registers;
  }

  #tapeEnd(id: number, external: External | undefined, isInput: boolean, rate: number, type: IrType) {
    const arrays = external === undefined ? this.#channelArrays(id) : externalArrays(external, type);
    const side = isInput ? 'r' : 'w';
    const name = `${side}${id}`;
    const place = `wl_ix[${2 * id + (isInput ? 0 : 1)}]`;
    const isIteration = this.#group !== undefined && external === undefined && this.#isIteration(id);
    const moved = this.#moved.get(name) ?? 0;
    if (this.#group !== undefined) this.#moved.set(name, moved + rate);
    if (isIteration && this.#isDirect(id)) return { tape: { arrays }, start: this.#w.int(moved) };
    const from = isIteration ? '0' : this.#group !== undefined && external === undefined && !this.#p.isPlaced
      ? String(isInput ? 0 : this.#p.plan.steady.residual[id]!) : place;
    this.#keep(name, 'i', from);
    return { tape: { arrays }, start: this.#w.plus({ text: name, kind: 'i', stable: true }, moved) };
  }

  /** Whether all places of an iteration's channel are known, so that no index is kept. */
  #isDirect(id: number): boolean {
    const { from, to } = this.#p.plan.graph.channels[id]!;
    return this.#group!.steps.every((step) => (step.actor !== from && step.actor !== to) || this.#isWrittenOut(step));
  }

  #isIteration(id: number): boolean {
    return this.#mode !== 'baseline' && this.#p.plan.storage[id] !== 'block';
  }

  #channelArrays(id: number): Place['arrays'] {
    if (this.#group === undefined || !this.#isIteration(id)) return this.#p.channel(id);
    let arrays = this.#iteration.get(id);
    if (arrays === undefined) {
      const { type } = this.#p.plan.graph.channels[id]!;
      const items = this.#p.plan.rates[id]! / this.#group.iterations;
      const counts = countsOf(type);
      ({ arrays } = this.#w.local({ i: counts.i * items, f: counts.f * items, d: counts.d * items }));
      this.#iteration.set(id, arrays);
    }
    return arrays;
  }

  /** Writes how far the ends of a node have moved. */
  #settleNode(node: GraphNode): void {
    this.#eachEnd(node, false, (name) => this.#settle(name));
    for (const { id, node: owner } of this.#p.plan.externals) {
      if (owner !== node.id) continue;
      this.#settle(`r${id}`);
      this.#settle(`w${id}`);
    }
  }

  #settle(name: string): void {
    const moved = this.#moved.get(name) ?? 0;
    this.#moved.delete(name);
    if (moved > 0 && this.#kept.has(name)) this.#w.emit(`${name} = ${this.#p.dialect.offset(name, String(moved))};`);
  }

  #settleIteration(): void {
    for (const name of [...this.#moved.keys()]) this.#settle(name);
    for (const { name, from } of this.#kept.values()) if (from === '0' && this.#isIterationName(name)) this.#w.emit(`${name} = 0;`);
  }

  #isIterationName(name: string): boolean {
    const id = Number(name.slice(1));
    return /^[rw]\d+$/.test(name) && id < this.#p.plan.graph.channels.length && this.#isIteration(id);
  }

  /** In a function of one node: moves the kept ends behind a firing. */
  #advanceAll(node: GraphNode, isFirst: boolean): void {
    const move = (name: string, rate: number): void => {
      if (rate > 0 && this.#kept.has(name)) this.#w.emit(`${name} = ${this.#p.dialect.offset(name, String(rate))};`);
    };
    this.#eachEnd(node, isFirst, move);
    for (const { id, kind, node: owner } of this.#p.plan.externals) {
      if (owner === node.id && (kind === 'reader' || kind === 'writer')) move(kind === 'reader' ? `r${id}` : `w${id}`, 1);
    }
  }

  #moverFiring(node: MoverNode): void {
    moverFiring({
      w: this.#w, externals: this.#p.plan.externals, isGroup: this.#group !== undefined,
      end: (port, isInput) => this.#end(node, port, isInput, false), keep: (name, from) => this.#keep(name, 'i', from),
      settle: (name) => this.#settle(name), loopHead: (bound) => this.#loopHead(this.#w.name('n'), String(bound)),
      file: (external) => this.#tapeEnd(external.id, external, false, 1, external.type),
    }, node);
  }

  /** The whole function: what it keeps is loaded before and stored behind. */
  #finish(name: string, before: readonly string[]): FunctionText {
    const { dialect } = this.#p;
    const kept = [...this.#kept.values()];
    const lines = [
      ...before.map((line) => `  ${line}`), ...kept.map((each) => `  ${dialect.variable(each.kind, each.name, each.from)}`),
        ...this.#w.lines,
      ...kept.filter(({ from }) => from.endsWith(']')).map((each) => `  ${each.from} = ${each.name};`),
    ];
    return { name, lines, locals: this.#w.locals };
  }
}
