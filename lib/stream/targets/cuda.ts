// Planned programs without state as one CUDA kernel: every block makes steady states of its own stretch of the input, in rounds. Groups of
// nodes run one after the other, their iterations shared among the threads; channels between groups lie in shared memory, all others in
// registers.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer, KernelFunction, Program } from '../../kernel/ir.ts';
import { dropCopies } from '../../kernel/passes/copies.ts';
import { paddedIndex, padBuffers } from '../../kernel/passes/pad.ts';
import { dropNeedlessFills } from '../../kernel/passes/scalars.ts';
import { tabulate } from '../../kernel/passes/tables.ts';
import { tidy } from '../../kernel/passes/tidy.ts';
import { cLiteral, cName, cTypes } from '../../kernel/print/c-family.ts';
import { cudaCanFail, cudaParameters, printCuda } from '../../kernel/print/cuda.ts';
import { forCount, isStraight } from '../../kernel/passes/slice.ts';
import { sizeOf } from '../../kernel/passes/unroll.ts';
import { walkBody } from '../../kernel/visit.ts';
import type { StreamGraph } from '../graph.ts';
import { lowerProgram, type LoweredProgram } from '../lower/program.ts';
import { countsOf, kindsIn, type Kind } from '../plan/layout.ts';
import { isJammed } from '../plan/jam.ts';
import { planProgram, type External, type Group, type PlanOptions, type ProgramPlan } from '../plan/plan.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { startMatters } from '../plan/start.ts';
import { levelsOf, tasksOf, type Member, type Task, type Tasks } from './cuda-tasks.ts';

/** How a program is laid out on a GPU. */
export interface FusedOptions extends PlanOptions {
  /** Threads of a block, a multiple of 32. Default 384, or 256 for programs of few groups. */
  readonly threads?: number;
  /** Bytes of shared memory that a block may take. Default 112,000, or 49,152 for programs of few groups. */
  readonly sharedBytes?: number;
  /** Blocks that one multiprocessor holds at least; bounds the registers. Default 2. */
  readonly minBlocks?: number;
  /** Firings of a filter with long sums over a window that a thread makes together, so that it loads the window once. Default 2. */
  readonly width?: number;
}

/**
 * Where gaps stand, so that threads find their items in different banks: one scalar behind every 2^`shift` (31: none), for windows that
 * overlap; or one item behind every row of so many items, where positions alone tell what row an iteration is in.
 */
interface Gaps {
  readonly shift: number;
  /** Items; 0: there are no rows. */
  readonly row: number;
  /** Items: 0 or 1. */
  readonly gap: number;
}

/** A part of a block's shared memory: the scalars of one kind of a channel or stream. */
export interface Tile {
  readonly buffer: Buffer;
  readonly bytesEach: number;
  /** Scalars in an item. */
  readonly stride: number;
  /** Where it begins. */
  readonly at: number;
  readonly gaps: Gaps;
}

/** An open end: where steady states find their items. */
export interface FusedEnd {
  readonly external: External;
  readonly kinds: readonly Kind[];
  /** Items in a steady state. */
  readonly items: number;
  /** Items before the first steady state. */
  readonly before: number;
}

/** A program for `device.module`. */
export interface FusedProgram {
  readonly plan: ProgramPlan;
  readonly source: string;
  readonly kernel: string;
  readonly threads: number;
  readonly sharedBytes: number;
  /** Steady states of a round. */
  readonly states: number;
  /** Rounds after which what a block found on the channels no longer matters. */
  readonly warmRounds: number;
  /** Steady states at the start of a run to which preworks may matter: another back end makes them. */
  readonly startStates: number;
  readonly input: FusedEnd;
  readonly output: FusedEnd;
}

export const fusedKernel = 'wl_fused';

/** What a block takes. Programs of few groups are bound by memory, and many small blocks hide its latency best. */
export const smallBlocks = { threads: 256, sharedBytes: 49_152, minBlocks: 2, width: 2 };
const largeBlocks = { threads: 384, sharedBytes: 112_000, minBlocks: 2, width: 2 };
const fewGroups = 4;
/** Steady states of a round for which small blocks are large enough. */
const fullStates = 64;

/** What plans for a GPU take: groups stay small enough for the registers of a thread. */
export const defaultCudaPlan: PlanOptions = { groupSize: 4000, filterSize: 1500, forCores: 2 };

/** Most steady states of a round: beyond, the threads only get longer loops. */
const mostStates = 4096;
/** Iterations of the smallest group that a thread makes in a round, from which on longer rounds are not worth their memory. */
const enoughTurns = 4;

const scalarBytes: Readonly<Record<Kind, number>> = { i: 4, f: 4, d: 8 };

/** Steady states until a node's items are right, whatever stood on the channels at the start, by node. */
function untilRight({ sdf, graph, steady }: ProgramPlan): number {
  const until = graph.nodes.map(() => 0);
  for (const actor of steady.order) {
    for (const id of elementAt(graph.nodes, actor).inputs) {
      if (id === undefined) continue;
      const { from, push } = elementAt(sdf.channels, id);
      const rate = push * elementAt(steady.repetitions, from);
      const residual = elementAt(steady.residual, id);
      if (rate === 0 && residual > 0) throw new UnsupportedProgram('items that never move stand on a channel');
      const own = residual === 0 ? 0 : Math.ceil(residual / rate);
      until[actor] = Math.max(elementAt(until, actor), elementAt(until, from) + own);
    }
  }
  return Math.max(0, ...until);
}

const noGaps = 31;

/** Gaps for which threads whose items lie a power of two apart meet in few banks. */
function gapsFor({ moved, stride, beside }: Stretch): Gaps {
  if (beside === 0) {
    const row = moved.reduce((a, b) => a / gcd(a, b) * b);
    return { shift: noGaps, row, gap: row * stride % 2 === 0 ? 1 : 0 };
  }
  // As many items lie between gaps as a firing takes, so that the places of a window differ by constants.
  const most = Math.max(...moved.map((items) => Math.log2(powerOfTwoIn(items * stride))));
  return { shift: most <= 1 ? noGaps : Math.min(10, most), row: 0, gap: 0 };
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

/** Where scalar `index` of a stretch stands. */
function placeWith({ shift, row, gap }: Gaps, stride: number, index: number): number {
  return row === 0 ? paddedIndex(index, shift) : index + Math.floor(index / (row * stride)) * gap * stride;
}

function powerOfTwoIn(x: number): number {
  return x === 0 ? 1 : x & -x;
}

/** Scalars that lie in shared memory for a round, and when. */
interface Stretch {
  readonly buffer: Buffer;
  readonly kind: Kind;
  /** Scalars in a steady state, and beside them. */
  readonly each: number;
  readonly beside: number;
  /** Scalars in an item. */
  readonly stride: number;
  /** Items that an iteration moves at either end. */
  readonly moved: readonly number[];
  /** First and last phase in which it is in use: the load is phase 0, level l is l + 1. */
  readonly from: number;
  readonly to: number;
}

/** Nodes of a slice that is worth a warp, and of code that takes as long as a barrier. */
const leastNodes = 24, barrierNodes = 40;
/** Firings that share an item, from which on several are made together. */
const leastOverlap = 4;

/** More turns than there are. */
const never = 2 ** 31 - 1;

interface GroupEnd extends Pick<Gaps, 'row' | 'gap'> {
  /** Items that an iteration moves, and those before the first. */
  readonly each: number;
  readonly base: number;
}

class FusedMaker {
  readonly #plan: ProgramPlan;
  readonly #lowered: LoweredProgram;
  #options: typeof smallBlocks;
  readonly #input: FusedEnd;
  readonly #output: FusedEnd;
  /** By group: groups of one level do not wait for each other. */
  readonly #levels: readonly number[];
  readonly #lastLevel: number;
  /** By group: nodes of an iteration's code. */
  readonly #sizes: readonly number[];
  #stretches: readonly Stretch[];
  /** By group: those of which a thread makes several iterations together. */
  #wide: ReadonlyMap<number, { readonly width: number; readonly f: KernelFunction }> = new Map();
  readonly #states: number;
  readonly #tiles: ReadonlyMap<Buffer, Tile>;
  readonly #sharedBytes: number;

  constructor(plan: ProgramPlan, options: FusedOptions) {
    this.#plan = plan;
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
    this.#options = { ...largeBlocks, ...given };
    this.#input = this.#endOf('input');
    this.#output = this.#endOf('output');
    this.#lowered = lowerProgram(plan, { placed: true, nodes: [], passes, together: () => 1 });
    this.#levels = levelsOf(plan);
    this.#lastLevel = Math.max(...this.#levels);
    this.#stretches = this.#findStretches();
    this.#sizes = plan.groups.map(({ id }) =>
      sizeOf(required(this.#lowered.program.functions.find(({ name }) => name === `group_${id}`)).body));
    if (plan.groups.length <= fewGroups) {
      const large = this.#options;
      this.#options = { ...smallBlocks, ...given };
      if (this.#chooseStates() < fullStates) this.#options = large;
    }
    this.#wide = this.#findWide(this.#chooseStates());
    this.#stretches = this.#findStretches();
    this.#states = this.#chooseStates();
    const { tiles, bytes } = this.#layOut(this.#states);
    this.#tiles = tiles;
    this.#sharedBytes = bytes;
  }

  #endOf(kind: 'input' | 'output'): FusedEnd {
    const external = required(this.#plan.externals.find((each) => each.kind === kind));
    const firings = elementAt(this.#plan.steady.initFirings, external.node);
    const { first, later } = external;
    return {
      external, kinds: kindsIn(countsOf(external.type)), items: later.items * elementAt(this.#plan.steady.repetitions, external.node),
      before: firings === 0 ? 0 : first.items + (firings - 1) * later.items,
    };
  }

  #streamBuffer(id: number, kind: Kind): Buffer {
    const name = required(this.#plan.streamArrays.find((each) => each.id === id && each.kind === kind)).name;
    return required(this.#lowered.program.buffers.find((buffer) => buffer.name === name));
  }

  #findStretches(): Stretch[] {
    const plan = this.#plan;
    const found: Stretch[] = [];
    const groupAt = (node: number): Group => elementAt(plan.groupOf, node);
    const ends = [{ end: this.#input, isIn: true }, { end: this.#output, isIn: false }];
    for (const { end: { external, kinds, items }, isIn } of ends) {
      const { id, iterations } = groupAt(external.node);
      const level = elementAt(this.#levels, id);
      const counts = countsOf(external.type);
      for (const kind of kinds) {
        found.push({
          buffer: this.#streamBuffer(external.id, kind), kind, each: items * counts[kind], beside: external.later.beyond * counts[kind],
          stride: counts[kind], moved: [items / iterations * this.#widthOf(id)], from: isIn ? 0 : level + 1, to: isIn ? level + 1 : this.#lastLevel + 2,
        });
      }
    }
    for (const { buffer, kind, use, channel, stride } of this.#lowered.declarations) {
      if (use !== 'channel' || plan.storage[required(channel)] !== 'block') continue;
      const { id, from, to } = elementAt(plan.sdf.channels, required(channel));
      const [each, residual] = [elementAt(plan.rates, id) * required(stride), elementAt(plan.steady.residual, id) * required(stride)];
      const [source, sink] = [groupAt(from), groupAt(to)];
      if (source === sink || source.id > sink.id) throw new UnsupportedProgram('a group takes what it made in iterations before');
      found.push({
        buffer, kind, each, beside: residual, stride: required(stride),
        moved: [source, sink].map((group) => elementAt(plan.rates, id) / group.iterations * this.#widthOf(group.id)),
        from: residual > 0 ? 0 : elementAt(this.#levels, source.id) + 1,
        to: residual > 0 ? this.#lastLevel + 2 : elementAt(this.#levels, sink.id) + 1,
      });
    }
    return found;
  }


  /** Places in shared memory for rounds of so many steady states: what is in use at the same time lies apart. */
  #layOut(states: number): { tiles: Map<Buffer, Tile>; bytes: number } {
    const placed: { readonly stretch: Stretch; readonly at: number; readonly end: number }[] = [];
    const tiles = new Map<Buffer, Tile>();
    const sized = this.#stretches.map((stretch) => {
      const gaps = gapsFor(stretch);
      const bytes = scalarBytes[stretch.kind] * (placeWith(gaps, stretch.stride, stretch.each * states + stretch.beside) + 1);
      return { stretch, gaps, bytes: Math.ceil(bytes / 16) * 16 };
    });
    let most = 0;
    for (const { stretch, gaps, bytes } of sized.sort((a, b) => b.bytes - a.bytes)) {
      const others = placed.filter((each) => each.stretch.from <= stretch.to && stretch.from <= each.stretch.to)
        .sort((a, b) => a.at - b.at);
      let at = 0;
      for (const other of others) {
        if (other.at >= at + bytes) break;
        at = Math.max(at, other.end);
      }
      placed.push({ stretch, at, end: at + bytes });
      most = Math.max(most, at + bytes);
      tiles.set(stretch.buffer, { buffer: stretch.buffer, bytesEach: scalarBytes[stretch.kind], stride: stretch.stride, at, gaps });
    }
    return { tiles, bytes: most };
  }

  #chooseStates(): number {
    const { sharedBytes, threads } = this.#options;
    const fits = (states: number): boolean => this.#layOut(states).bytes <= sharedBytes;
    if (!fits(1)) {
      throw new UnsupportedProgram(`the channels of one steady state take ${this.#layOut(1).bytes} bytes of shared memory, ${
        sharedBytes} are there`);
    }
    const least = Math.min(...this.#plan.groups.map(({ iterations }) => iterations));
    let [low, high] = [1, Math.min(mostStates, Math.ceil(enoughTurns * threads / least)) + 1];
    while (high - low > 1) {
      const middle = low + high >> 1;
      if (fits(middle)) low = middle;
      else high = middle;
    }
    // Whole iterations of threads that make several together; and for one state alone, nothing is made together.
    const isWhole = (states: number): boolean => [...this.#wide].every(([id, { width }]) =>
      states * elementAt(this.#plan.groups, id).iterations % width === 0);
    if (![...Array(low).keys()].some((i) => isWhole(i + 1))) {
      this.#wide = new Map();
      this.#stretches = this.#findStretches();
    }
    let best = { states: 0, time: Infinity };
    for (let states = low; states > 0 && (best.states === 0 || states > low / 2); --states) {
      const time = isWhole(states) ? this.#timeOf(states) : Infinity;
      if (time < best.time) best = { states, time };
    }
    return best.states;
  }

  #widthOf(group: number): number {
    return this.#wide.get(group)?.width ?? 1;
  }

  /** Filters with long sums over windows, where threads have work enough. */
  #findWide(states: number): Map<number, { width: number; f: KernelFunction }> {
    const { width, threads } = this.#options;
    const found = new Map<number, { width: number; f: KernelFunction }>();
    if (width === 1) return found;
    const { program, system: { ix } } = this.#lowered;
    const { groups, sdf, analyses, graph } = this.#plan;
    for (let level = 0; level <= this.#lastLevel; ++level) {
      const own = groups.filter(({ id }) => this.#levels[id] === level);
      if (own.reduce((sum, { iterations }) => sum + states * iterations, 0) < width * threads) continue;
      for (const { id, steps } of own) {
        const { actor } = elementAt(steps, 0);
        const node = elementAt(graph.nodes, actor);
        const overlaps = sdf.channels.some(({ to, peek, pop }) => to === actor && peek >= leastOverlap * pop);
        if (steps.length > 1 || node.kind !== 'filter' || !overlaps || !isJammed(node.code, required(analyses.get(node.code)))) continue;
        const f = forCount(program, required(program.functions.find(({ name }) => name === `group_${id}`)), ix, width);
        if (isStraight(f)) found.set(id, { width, f });
      }
    }
    return found;
  }

  /** What a steady state takes in rounds of so many: code that a warp goes through, as nodes. */
  #timeOf(states: number): number {
    const warps = this.#options.threads / 32;
    let sum = 0;
    for (let level = 0; level <= this.#lastLevel; ++level) {
      let [units, work] = [0, 0];
      for (const { id, iterations } of this.#plan.groups) {
        if (this.#levels[id] !== level) continue;
        const taken = Math.ceil(states * iterations / this.#widthOf(id) / 32);
        units += taken;
        work += taken * elementAt(this.#sizes, id) * this.#widthOf(id);
      }
      const busy = Math.ceil(units / warps);
      // Where few warps have work, it is cut into slices.
      const slices = busy > 1 ? 1 : Math.min(Math.floor(warps / units), Math.max(1, Math.floor(work / units / leastNodes)));
      sum += busy * work / units / slices + barrierNodes;
    }
    return sum / states;
  }

  make(): FusedProgram {
    const { threads, minBlocks } = this.#options;
    const begins = startMatters(this.#plan);
    if (begins === undefined) throw new UnsupportedProgram('the program has state');
    const { program: lowered, system: { ix } } = this.#lowered;
    const tasks = tasksOf({
      program: lowered, plan: this.#plan, levels: this.#levels, ix, states: this.#states, threads, wide: this.#wide,
      isAlike: (a, b) => this.#tiles.get(a)?.gaps.shift === this.#tiles.get(b)?.gaps.shift,
    });
    const all = tasks.levels.flat();
    const gaps = new Map<Buffer, number>();
    const addGap = (buffer: Buffer, of: Buffer): void => {
      const shift = this.#tiles.get(of)?.gaps.shift ?? noGaps;
      if (shift !== noGaps) gaps.set(buffer, shift);
    };
    for (const buffer of this.#tiles.keys()) addGap(buffer, buffer);
    for (const { members: [first] } of all) for (const [by, buffer] of first?.buffers ?? []) addGap(by, buffer);
    const buffers = [...lowered.buffers, ...tasks.placeholders];
    const program = padBuffers({ ...lowered, buffers, functions: all.map(({ f }) => f) }, gaps);
    refuseHost(program);
    const text = [
      '#ifdef WARPLOOM_SIMT', '#define WL_STRUCT_LANES', '#endif', '#include "cuda/core/module.cuh"', '#include "arithmetic.h"',
      '#include "cuda/stream/fused.cuh"', '', 'namespace {', printCuda({ ...program, imports: [] }), 
      ...this.#programText(program, tasks, threads, minBlocks),
      '}  // namespace', '', `WARPLOOM_KERNEL(${fusedKernel}, warploom::WARPLOOM_TARGET::stream::FusedAgent<Program>)`, '',
    ].join('\n');
    return {
      plan: this.#plan, source: text, kernel: fusedKernel, threads, sharedBytes: this.#sharedBytes, states: this.#states,
      warmRounds: Math.ceil(untilRight(this.#plan) / this.#states), startStates: Math.max(0, begins), input: this.#input,
      output: this.#output,
    };
  }

  #tile(buffer: Buffer): Tile {
    return required(this.#tiles.get(buffer));
  }

  #layout(buffer: Buffer): string {
    const { gaps: { shift, row, gap }, stride } = this.#tile(buffer);
    return row === 0 ? `fused::Spread<${shift}>` : `fused::Rows<${row * stride}, ${gap * stride}>`;
  }

  #pointer(buffer: Buffer): string {
    return `block.shared<${cTypes[buffer.element]}>(${this.#tile(buffer).at})`;
  }

  #programText(program: Program, tasks: Tasks, threads: number, minBlocks: number): string[] {
    const kinds = (end: FusedEnd) => end.kinds.length;
    const { steady, tables } = this.#steadyText(program, tasks);
    return [
      ...tables,
      'using warploom::WARPLOOM_TARGET::device::Block;', 'namespace fused = warploom::WARPLOOM_TARGET::stream;', '',
      'struct Program {',
      `  static constexpr int kThreads = ${threads}, kMinBlocks = ${minBlocks}, kStates = ${this.#states};`,
      `  static constexpr int kInputs = ${kinds(this.#input)}, kOutputs = ${kinds(this.#output)};`,
      '  using Parameters = fused::FusedParameters<kInputs, kOutputs>;',
      ...this.#loadText(), ...steady, ...this.#storeText(), ...this.#settleText(), '};',
    ];
  }

  #loadText(): string[] {
    const { external, kinds, items } = this.#input;
    const counts = countsOf(external.type);
    const lines = kinds.map((kind, i) => {
      const buffer = this.#streamBuffer(external.id, kind);
      const type = cTypes[buffer.element];
      return `    fused::load_tile<${this.#layout(buffer)}>(block, ${this.#pointer(buffer)}, static_cast<const ${type}*>(p.input[${
        i}]) + (p.first_input + state * ${items}) * ${counts[kind]}, (states * ${items} + ${external.later.beyond}) * ${counts[kind]});`;
    });
    return ['  static WARPLOOM_DEVICE void load(const Block& block, const Parameters& p, int64_t state, int states) {', ...lines, '  }'];
  }

  #storeText(): string[] {
    const { external, kinds, items } = this.#output;
    const counts = countsOf(external.type);
    const lines = kinds.map((kind, i) => {
      const buffer = this.#streamBuffer(external.id, kind);
      const type = cTypes[buffer.element];
      return `    fused::store_tile<${this.#layout(buffer)}>(block, ${this.#pointer(buffer)}, static_cast<${type}*>(p.output[${
        i}]) + (p.first_output + state * ${items}) * ${counts[kind]}, states * ${items * counts[kind]});`;
    });
    return ['  static WARPLOOM_DEVICE void store(const Block& block, const Parameters& p, int64_t state, int states) {', ...lines, '  }'];
  }

  #settleText(): string[] {
    const lines = this.#stretches.flatMap(({ buffer, each, beside }) => {
      if (beside === 0 || buffer === this.#streamBufferOf(buffer)) return [];
      return [`    fused::settle_tile<${this.#layout(buffer)}>(block, ${this.#pointer(buffer)}, states * ${each}, ${beside});`];
    });
    return [
      `  static WARPLOOM_DEVICE void settle(const Block&${lines.length > 0 ? ' block' : ''}, int${lines.length > 0 ? ' states' : ''}) {`,
      ...lines, '  }',
    ];
  }

  #streamBufferOf(buffer: Buffer): Buffer | undefined {
    return this.#plan.streamArrays.some(({ name }) => name === buffer.name) ? buffer : undefined;
  }

  #steadyText(program: Program, { levels }: Tasks): { steady: string[]; tables: string[] } {
    const parameters = cudaParameters(program);
    const steady: string[] = [], tables: string[] = [];
    for (const tasks of levels) {
      let offset = 0;
      for (const task of tasks) {
        const span = Math.ceil(this.#states * required(task.members[0]).group.iterations * task.parts / task.width / 32) * 32;
        steady.push(...this.#taskText(program, task, required(parameters.get(task.f.name)), span, offset, tables));
        // Each begins with a warp of its own, so that all threads of a warp do the same.
        offset = (offset + span * task.members.length) % this.#options.threads;
      }
      steady.push('    block.sync();');
    }
    return { steady: ['  static WARPLOOM_DEVICE void steady(const Block& block, const fused::Round& round) {', ...steady, '  }'], tables };
  }

  /** By place in `ix`: where iterations of a group begin at their ends. */
  #endsOf(group: Group): ReadonlyMap<number, GroupEnd> {
    const { sdf, storage, rates, steady, externals } = this.#plan;
    const members = new Set(group.steps.map(({ actor }) => actor));
    const ends = new Map<number, GroupEnd>();
    for (const { id, from, to } of sdf.channels) {
      if (storage[id] !== 'block') continue;
      const each = elementAt(rates, id) / group.iterations;
      const gaps = this.#gapsOf(`c${id}`);
      if (members.has(to)) ends.set(2 * id, { each, base: 0, ...gaps });
      if (members.has(from)) ends.set(2 * id + 1, { each, base: elementAt(steady.residual, id), ...gaps });
    }
    for (const { id, node, slot, later } of externals) {
      const each = later.items * elementAt(steady.repetitions, node) / group.iterations;
      if (members.has(node)) ends.set(slot, { each, base: 0, ...this.#gapsOf(`x${id}`) });
    }
    return ends;
  }

  /** Those of a channel or stream, alike in all its arrays: their names are its own and the kind. */
  #gapsOf(name: string): Pick<Gaps, 'row' | 'gap'> {
    for (const [buffer, { gaps }] of this.#tiles) if (buffer.name.slice(0, -1) === name) return gaps;
    return { row: 0, gap: 0 };
  }

  /** @param span threads that take a member's part, whole warps; @param offset the first thread that takes any */
  #taskText(
    program: Program, task: Task, parameters: readonly Buffer[], span: number, offset: number, tables: string[],
  ): string[] {
    const { f: { name }, isCounted, parts, members, width } = task;
    const { graph } = this.#plan;
    const { steps } = this.#lowered.system;
    const [{ group }] = members as [Member];
    /** What each member has: one text for all, or the one of the member's number. */
    const choice = (type: string, values: readonly string[]): string => {
      const [first] = values as [string];
      if (values.every((value) => value === first)) return first;
      const numbers = values.map(Number), step = elementAt(numbers, 1) - elementAt(numbers, 0);
      if (type === 'int' && numbers.every((x, i) => x === elementAt(numbers, 0) + i * step)) return `(${first} + member * ${step})`;
      const table = `wl_of_members_${tables.length}`;
      tables.push(`WL_UNIFORM_TABLE ${type} ${table}[] = {${values.join(', ')}};`);
      return `${table}[member]`;
    };
    const ends = members.map((member) => this.#endsOf(member.group));
    const positions = members[0]?.slots.map((_, at) => {
      const own = members.map(({ slots }, i) => required(required(ends[i]).get(elementAt(slots, at))));
      const base = choice('int', own.map((end) => String(end.base)));
      // Iterations that begin in a row of their own move by what a row takes.
      const moved = own.map(({ each }) => each * width);
      const each = choice('int', own.map((end, i) => String(elementAt(moved, i) + (end.row === moved[i] ? end.gap : 0))));
      const turns = choice('int', own.map((end, i) =>
        String(end.row > elementAt(moved, i) && end.gap > 0 ? end.row / elementAt(moved, i) : never)));
      return `${base === '0' ? '' : `${base} + `}turn * ${each}${turns === String(never) ? '' : ` + turn / ${turns}`}`;
    }) ?? [];
    const args = members[0]?.args.map(({ type }, at) =>
      choice(cTypes[type], members.map((member) => cLiteral(type as 'i32', elementAt(member.args, at).value)))) ?? [];
    const argument = (buffer: Buffer): string => {
      if (buffer === steps) return '&turns';
      const places = members.map((member) => {
        const tile = this.#tiles.get(member.buffers.get(buffer) ?? buffer);
        if (tile === undefined) throw new UnsupportedProgram(`the program keeps '${buffer.name}' between firings`);
        return String(tile.at);
      });
      return `block.shared<${cTypes[buffer.element]}>(${choice('int', places)})`;
    };
    const fails = cudaCanFail(program, name);
    const list = [
      ...(isCounted ? ['1'] : parts === 1 ? [] : ['part']), ...positions, ...args, ...parameters.map(argument), ...(fails ? ['fault'] : []),
    ];
    const call = `${cName(name)}(${list.join(', ')})`;
    const nodes = group.steps.map(({ actor }) => elementAt(graph.nodes, actor).name.replaceAll(/[^\w .-]/g, '')).slice(0, 6).join(', ');
    const first = offset === 0 ? 'block.thread()' : `fused::turned(block, ${offset})`;
    const whole = `round.states * ${group.iterations * parts}`;
    const all = width === 1 ? whole : `(${whole} + ${width - 1}) / ${width}`;
    const head = members.length === 1 ? [`    for (int i = ${first}; i < ${all}; i += kThreads) {`] : [
      `    for (int all = ${first}; all < ${members.length * span}; all += kThreads) {`,
      `      const int member = all / ${span}, i = all - member * ${span};`, `      if (i >= ${all}) continue;`,
    ];
    return [
      `    // ${nodes}${group.steps.length > 6 ? ' …' : ''}${members.length > 1 ? `, and ${members.length - 1} more like it` : ''}`, ...head,
      parts === 1 ? '      const int turn = i;' : `      const int turn = i / ${parts}, part = i - turn * ${parts};`,
      ...(parameters.includes(steps) ? [`      double turns = round.turns_at(turn / ${group.iterations});`] : []),
      ...(fails ? ['      wl_fault fault;', `      if (!${call}) round.fail(turn / ${group.iterations});`] : [`      ${call};`]),
      '    }',
    ];
  }
}

/** What a compiler does not do by itself. */
function passes(program: Program): Program {
  return tidy(program, dropCopies(dropNeedlessFills(tabulate(program))));
}

/** Throws for what only a host does: printing. */
function refuseHost({ functions, imports }: Program): void {
  const hosts = new Set(imports.map(({ name }) => name));
  for (const { body } of functions) {
    walkBody(body, { statement: (s) => { if (s.kind === 'call' && hosts.has(s.callee)) throw new UnsupportedProgram('the program prints'); } });
  }
}

/**
 * Prints a graph as one kernel. Throws UnsupportedProgram for programs with state or other ends than an open input and output, and for
 * those whose channels do not fit, ScheduleError where there is no schedule.
 */
export function fusedProgram(graph: StreamGraph, options: FusedOptions = {}): FusedProgram {
  const plan = planProgram(graph, { ...defaultCudaPlan, ...options });
  if (startMatters(plan) === undefined) throw new UnsupportedProgram('the program has state, loops, files, or other ends than one input and one output');
  return new FusedMaker(plan, options).make();
}
