// Lowers one function of a program: firings of a node, or iterations of a group.
import { elementAt, required } from '../../core/known.ts';
import {
  binary, call, f64, get, i32, load, set, store, type Expression, type KernelFunction, type Local, type Statement,
} from '../../kernel/ir.ts';
import { placesOf } from '../plan/layout.ts';
import { firingCodes, firingSize, type Group } from '../plan/plan.ts';
import { rounds } from '../plan/rounds.ts';
import type { GraphNode } from '../graph.ts';
import type { FilterCode, StateVariable, Variable } from '../ir.ts';
import type { Step } from '../schedule/index.ts';
import { compareOf, operate } from './arithmetic.ts';
import type { ProgramBuffers } from './buffers.ts';
import { callFunction } from './call.ts';
import { Context, type Lowering, type Style } from './context.ts';
import { runBody } from './frame.ts';
import { KeptLocals } from './kept.ts';
import { together } from './loop.ts';
import { moverFiring, type MoverNode } from './movers.ts';
import { onlyMoves } from './moves.ts';
import { Positions } from './positions.ts';
import type { Site } from './sites.ts';
import { statement } from './statement.ts';
import { held, holdsArrays, sizeOfType, type Binding, type Buffers, type Ex } from './value.ts';
import { Writer } from './writer.ts';

type FilterNode = Extract<GraphNode, { kind: 'filter' }>;
/** `small`: as little code as possible; `baseline`: all nodes in the order of the schedule, every channel in its buffer. */
export type Mode = 'node' | 'group' | 'small' | 'baseline';

/** Most statements create a local, and engines allow 50,000 per function. */
const mostStatements = 40_000;
const styles: Readonly<Record<Mode, Style>> = {
  node: { loop: 0, explode: 8 }, group: { loop: 48, explode: 64 }, small: { loop: 0, explode: 16 }, baseline: { loop: 0, explode: 8 },
};
/** The maximum number of consecutive firings whose code is repeated. */
const mostCopies = 64;
/** Fields with up to this many scalars are kept in locals. */
const mostKept = 16;

export interface FunctionOptions {
  /** Groups begin at the indices in `ix` instead of at the fronts of channels. */
  readonly placed?: boolean;
  /**
   * How many firings of a filter with long sums are interleaved, depending on how many items it pops: four form a vector; eight hide the
   * latency of a sum when their items are adjacent. Default: 1, for targets whose compilers interleave firings themselves.
   */
  readonly together?: (pop: number) => number;
}

/** Interleaved firings of the same code, by offset. */
interface Batch {
  readonly code: FilterCode;
  readonly offsets: readonly number[];
}

const lowering: Lowering = { statement, call: callFunction };

export class FunctionMaker {
  readonly #p: ProgramBuffers;
  readonly #mode: Mode;
  readonly #togetherOf: (pop: number) => number;
  /** Whether the target's compiler vectorises loops. */
  readonly #isVectorised: boolean;
  readonly #name: string;
  readonly #w: Writer;
  readonly #n: Local = { name: 'n', type: 'i32' };
  readonly #kept = new KeptLocals();
  readonly #state = new Map<number, Map<Variable, Binding>>();
  readonly #positions: Positions;
  readonly #group: Group | undefined;

  /** @param group the group to iterate; undefined for a function of one node */
  constructor(program: ProgramBuffers, mode: Mode, name: string, group: Group | undefined, options: FunctionOptions) {
    this.#p = program;
    this.#togetherOf = options.together ?? (() => 1);
    this.#isVectorised = options.together === undefined;
    this.#mode = mode;
    this.#name = name;
    this.#group = group;
    this.#w = new Writer(name, mostStatements);
    this.#positions = new Positions({
      program, writer: this.#w, kept: this.#kept, group, isBaseline: mode === 'baseline', inLocals: mode === 'group',
      isPlaced: options.placed === true, isWrittenOut: (step) => this.#isWrittenOut(step), site: (site) => this.#site(site),
    });
  }

  /** Fires a node `n` times, by its prework or its work. The ends of channels are in `ix`. */
  fire(id: number, isFirst: boolean): KernelFunction {
    const node = elementAt(this.#p.plan.graph.nodes, id);
    this.#w.each({ to: get(this.#n) }, () => {
      this.#firing(node, isFirst);
      this.#positions.advance(node, isFirst);
    });
    return this.#finish(this.#makeRoom(node, isFirst));
  }

  /** Moves items to the front of an output buffer that has no room left at its end. */
  #makeRoom(node: GraphNode, isFirst: boolean): Statement[] {
    const { sdf } = this.#p.plan;
    return node.outputs.flatMap((channel) => {
      if (channel === undefined) return [];
      const { push, firstPush } = elementAt(sdf.channels, channel);
      const need = operate('*', get(this.#n), i32(isFirst ? firstPush ?? push : push), true);
      return [call('room', [i32(channel), need, i32(elementAt(this.#p.capacities, channel))])];
    });
  }

  /** Iterations of a group, starting at the front of its channels. */
  group(): KernelFunction {
    const group = required(this.#group);
    if (group.isJammed && this.#mode === 'group') return this.#jammed(group);
    this.#w.each({ to: get(this.#n) }, () => {
      this.#positions.beginIteration();
      for (const { steps, times } of group.isLoop ? rounds(group.steps) : [{ steps: group.steps, times: 1 }]) {
        const all = (): void => { for (const step of steps) this.#step(step); };
        if (times > 1) this.#w.each({ to: i32(times) }, all);
        else all();
      }
      this.#positions.endIteration();
    });
    return this.#finish([]);
  }

  /** A group of one filter: firings with the same code are interleaved, dead ones are skipped. */
  #jammed(group: Group): KernelFunction {
    const [{ actor, count: period }] = group.steps as [Step];
    const node = this.#p.plan.graph.nodes[actor] as FilterNode;
    const codes = firingCodes(this.#p.plan, node);
    const width = this.#widthOf(node, period);
    const spans = (width > 1 ? [width, 1] : [1]).map((span) => ({ span, firings: span * period, batches: codes.flatMap((code, firing) =>
      (code === undefined ? [] : [{ code, offsets: Array.from({ length: span }, (_, i) => i * period + firing) }])) }));
    return this.#inSpans(node, get(this.#n), spans);
  }

  /** How many firings, one out of every `period`, are interleaved. Not for array items: vectorisation then happens within a firing. */
  #widthOf(node: FilterNode, period: number): number {
    const [channel] = node.inputs;
    const type = channel === undefined ? undefined : elementAt(this.#p.plan.graph.channels, channel).type;
    return type !== undefined && holdsArrays(type) ? 1 : this.#togetherOf(period * node.code.work.rates.pop);
  }

  /** A loop over interleaved firings, and one for the remaining firings. */
  #inSpans(
    node: FilterNode, total: Expression,
    spans: readonly { readonly span: number; readonly firings: number; readonly batches: readonly Batch[] }[],
  ): KernelFunction {
    const w = this.#w;
    const end = w.stable({ e: total, stable: false }).e;
    let from: Expression = i32(0);
    for (const { span, firings, batches } of spans) {
      const to = span === 1 ? end : w.stable({ e: binary('band', end, i32(-span)), stable: false }).e;
      w.each({ from, to, step: span }, () => {
        let done = 0;
        for (const batch of batches) done = this.#firings(node, done, batch);
        this.#positions.skip(node, firings - done);
        this.#positions.settle(node);
      });
      from = to;
    }
    return this.#finish([]);
  }

  /** Interleaved firings at these offsets, after `done` earlier ones. Returns how many are done then. */
  #firings(node: FilterNode, done: number, { code, offsets }: Batch): number {
    let next = done;
    const contexts = offsets.map((offset) => {
      this.#positions.skip(node, offset - next);
      next = offset + 1;
      return this.#context(node, code, false);
    });
    together(contexts as [Context], code.work.body);
    for (const context of contexts) context.finish();
    return next;
  }

  #step({ actor, count }: Step): void {
    const node = elementAt(this.#p.plan.graph.nodes, actor);
    const codes = node.kind !== 'filter' ? [undefined] : this.#mode === 'baseline' ? [node.code] : firingCodes(this.#p.plan, node);
    const fire = (firing: number): void => {
      const code = codes[firing % codes.length];
      if (node.kind !== 'filter') this.#moverFiring(node);
      else if (code === undefined) this.#positions.skip(node, 1);
      else this.#filterFiring(node, code, false);
    };
    if (!this.#isWrittenOut({ actor, count })) {
      this.#positions.settle(node);
      this.#w.each({ to: i32(count / codes.length) }, () => {
        for (let i = 0; i < codes.length; ++i) fire(i);
        this.#positions.settle(node);
      });
      return;
    }
    for (let i = 0; i < count; ++i) fire(i);
    if (required(this.#group).isLoop) this.#positions.settle(node);
  }

  /** Whether the code of each firing of a step is written out. */
  #isWrittenOut({ actor, count }: Step): boolean {
    if (count === 1) return true;
    if (this.#mode !== 'group' || required(this.#group).isLoop) return false;
    const { plan } = this.#p;
    const node = elementAt(plan.graph.nodes, actor);
    const size = firingSize(plan, node, plan.options.filterSize) * count;
    return size <= plan.options.groupSize && (node.kind !== 'filter' || count <= mostCopies);
  }

  #style(node: FilterNode, code: FilterCode): Style {
    const base = styles[this.#mode];
    if (this.#mode !== 'group' || this.#group?.isJammed === true) return base;
    const { plan } = this.#p;
    const { body } = code.work;
    // A filter alone in its group shares no locals with others, and compilers vectorise its loops if they stay loops.
    if (this.#isVectorised && this.#group?.steps.length === 1 && onlyMoves(body)) return base;
    const unrolled = required(plan.analyses.get(code)).unrolled(body);
    // The versions of the code share the limit.
    const most = plan.options.filterSize / new Set(firingCodes(plan, node)).size;
    return unrolled <= most ? { ...base, loop: most } : base;
  }

  #firing(node: GraphNode, isFirst: boolean): void {
    if (node.kind === 'filter') this.#filterFiring(node, node.code, isFirst);
    else this.#moverFiring(node);
  }

  #filterFiring(node: FilterNode, code: FilterCode, isFirst: boolean): void {
    const context = this.#context(node, code, isFirst);
    runBody(context, (isFirst ? required(code.prework) : code.work).body, undefined);
    context.finish();
    if (!context.options.analysis.usesIteration) return;
    const local = this.#word('it', node.id);
    this.#w.emit(set(local, operate('+', get(local), i32(1))));
  }

  /** The context of the next firing. */
  #context(node: FilterNode, code: FilterCode, isFirst: boolean): Context {
    const w = this.#w;
    return new Context({
      lowering, writer: w, code, analysis: required(this.#p.plan.analyses.get(code)), node: node.id, style: this.#style(node, code),
      buffers: (variable) => this.#fieldBuffers(node.id, code.state, variable), state: this.#stateOf(node.id, code.state),
      site: (site) => this.#site(site),
      input: this.#positions.end(node, 0, true, isFirst), output: this.#positions.end(node, 0, false, isFirst),
      iteration: () => w.stable({ e: get(this.#word('it', node.id)), stable: false }), random: () => this.#word('rs', node.id),
      tick: (site) => { this.#tick(site); },
    });
  }

  #site(site: Site): number {
    return this.#p.site(site);
  }

  /** Counts one iteration of a loop with an unknown trip count. */
  #tick(site: number): void {
    const { steps } = this.#p.system;
    const left = this.#w.stable({ e: operate('-', load(steps, i32(0)), f64(1)), stable: false }).e;
    this.#w.emit(store(steps, i32(0), left));
    this.#w.guard(compareOf('>=', left, f64(0)), site, i32(0));
  }

  #fieldBuffers(node: number, state: readonly StateVariable[], variable: StateVariable): Buffers {
    return this.#p.field(node, state.indexOf(variable), variable.initial, variable.role === 'constant');
  }

  /** Scalar state, kept in locals of the function. */
  #stateOf(node: number, state: readonly StateVariable[]): ReadonlyMap<Variable, Binding> {
    let bindings = this.#state.get(node);
    if (bindings !== undefined) return bindings;
    this.#state.set(node, bindings = new Map<Variable, Binding>());
    state.forEach((variable, field) => {
      if (variable.role !== 'state' || holdsArrays(variable.type) || sizeOfType(variable.type) > mostKept) return;
      const buffers = this.#fieldBuffers(node, state, variable);
      const slots = placesOf(variable.type).map(({ kind, at: place }, i) => {
        const local = this.#kept.element(`f${node}_${field}_${i}`, required(buffers[kind]), place);
        return { ex: { e: get(local), stable: false } satisfies Ex, local };
      });
      bindings.set(variable, held(variable.type, { slots }));
    });
    return bindings;
  }

  /** A word of a node: the number of its firing, or the state of its random number generator. */
  #word(which: 'it' | 'rs', node: number): Local {
    return this.#kept.element(`${which}${node}`, this.#p.system[which], node);
  }

  #moverFiring(node: MoverNode): void {
    moverFiring({
      w: this.#w, externals: this.#p.plan.externals, isGroup: this.#group !== undefined,
      end: (port, isInput) => this.#positions.end(node, port, isInput, false),
      file: (external) => this.#positions.writer(external),
      reader: (external) => ({
        local: this.#positions.reader(external), buffers: this.#p.external(external), ix: this.#p.system.ix, length: 2 * external.id + 1,
      }),
    }, node);
  }

  /** The whole function: the values it keeps in locals are loaded at the start and stored at the end. */
  #finish(before: readonly Statement[]): KernelFunction {
    const body = [...before, ...this.#kept.around(this.#w.body)];
    return { name: this.#name, parameters: [this.#n], results: [], buffers: this.#w.buffers, body };
  }
}
