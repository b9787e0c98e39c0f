// Planned programs without state as one CUDA kernel: every block makes steady states of its own stretch of the input, in rounds. Groups of
// nodes run one after the other, their iterations shared among the threads; channels between groups lie in shared memory, all others in
// registers.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer, KernelFunction, Program } from '../../kernel/ir.ts';
import { dropCopies } from '../../kernel/passes/copies.ts';
import { paddedIndex, padBuffers } from '../../kernel/passes/pad.ts';
import { onlyOnce, sliceFunction, type Slice } from '../../kernel/passes/slice.ts';
import { dropNeedlessFills } from '../../kernel/passes/scalars.ts';
import { tabulate } from '../../kernel/passes/tables.ts';
import { tidy } from '../../kernel/passes/tidy.ts';
import { cName, cTypes } from '../../kernel/print/c-family.ts';
import { cudaCanFail, cudaParameters, printCuda } from '../../kernel/print/cuda.ts';
import { sizeOf } from '../../kernel/passes/unroll.ts';
import { walkBody } from '../../kernel/visit.ts';
import type { StreamGraph } from '../graph.ts';
import { lowerProgram, type LoweredProgram } from '../lower/program.ts';
import { countsOf, kindsIn, type Kind } from '../plan/layout.ts';
import { planProgram, type External, type Group, type PlanOptions, type ProgramPlan } from '../plan/plan.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { startMatters } from '../plan/start.ts';

/** How a program is laid out on a GPU. */
export interface FusedOptions extends PlanOptions {
  /** Threads of a block, a multiple of 32. Default 256. */
  readonly threads?: number;
  /** Bytes of shared memory that a block may take. Default 49152. */
  readonly sharedBytes?: number;
  /** Blocks that one multiprocessor holds at least; bounds the registers. Default 2. */
  readonly minBlocks?: number;
}

/** A part of a block's shared memory: the scalars of one kind of a channel or stream. */
export interface Tile {
  readonly buffer: Buffer;
  readonly bytesEach: number;
  /** Where it begins. */
  readonly at: number;
  /** A gap of one stands behind every 2^shift scalars; 31: there are no gaps. */
  readonly shift: number;
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

const defaults = { threads: 256, sharedBytes: 49_152, minBlocks: 2 };

/** What plans for a GPU take: groups stay small enough for the registers of a thread. */
export const defaultCudaPlan: PlanOptions = { groupSize: 1500, filterSize: 1500, forCores: 2 };

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

/** Shared memory has so many banks, as a power of two. */
const banks = 5;
const noGaps = 31;

/**
 * Gaps for which threads whose items lie a power of two apart meet in few banks. Where windows overlap, as many items lie between gaps as
 * a firing takes, so that the places of a window differ by constants.
 */
function shiftFor({ strides, beside }: Stretch): number {
  const most = Math.max(...strides.map((stride) => Math.log2(powerOfTwoIn(stride))));
  if (most <= 1) return noGaps;
  return Math.min(10, beside > 0 ? most : Math.max(banks, most));
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
  /** Scalars that an iteration moves at either end. */
  readonly strides: readonly number[];
  /** First and last phase in which it is in use: the load is phase 0, level l is l + 1. */
  readonly from: number;
  readonly to: number;
}

/** Iterations of a group, or a slice of each: what threads share out among themselves. */
interface Task {
  readonly group: Group;
  readonly f: KernelFunction;
  /** Whether the function takes the number of iterations. */
  readonly isCounted: boolean;
  /** Parts of an iteration; where there are several, the function takes the part's number. */
  readonly parts: number;
}

/** Nodes from which on the code of an iteration needs more registers than threads have. */
const mostNodes = 1000;

class FusedMaker {
  readonly #plan: ProgramPlan;
  readonly #lowered: LoweredProgram;
  readonly #options: typeof defaults;
  readonly #input: FusedEnd;
  readonly #output: FusedEnd;
  /** By group: groups of one level do not wait for each other. */
  readonly #levels: readonly number[];
  readonly #lastLevel: number;
  readonly #stretches: readonly Stretch[];
  readonly #states: number;
  readonly #tiles: ReadonlyMap<Buffer, Tile>;
  readonly #sharedBytes: number;

  constructor(plan: ProgramPlan, options: FusedOptions) {
    this.#plan = plan;
    this.#options = { ...defaults, ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) };
    this.#input = this.#endOf('input');
    this.#output = this.#endOf('output');
    this.#lowered = lowerProgram(plan, { placed: true, nodes: [], passes, together: () => 1 });
    this.#levels = levelsOf(plan);
    this.#lastLevel = Math.max(...this.#levels);
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
          strides: [items / iterations * counts[kind]], from: isIn ? 0 : level + 1, to: isIn ? level + 1 : this.#lastLevel + 2,
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
        buffer, kind, each, beside: residual, strides: [each / source.iterations, each / sink.iterations],
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
      const shift = shiftFor(stretch);
      const bytes = scalarBytes[stretch.kind] * (paddedIndex(stretch.each * states + stretch.beside, shift) + 1);
      return { stretch, shift, bytes: Math.ceil(bytes / 16) * 16 };
    });
    let most = 0;
    for (const { stretch, shift, bytes } of sized.sort((a, b) => b.bytes - a.bytes)) {
      const others = placed.filter((each) => each.stretch.from <= stretch.to && stretch.from <= each.stretch.to)
        .sort((a, b) => a.at - b.at);
      let at = 0;
      for (const other of others) {
        if (other.at >= at + bytes) break;
        at = Math.max(at, other.end);
      }
      placed.push({ stretch, at, end: at + bytes });
      most = Math.max(most, at + bytes);
      tiles.set(stretch.buffer, { buffer: stretch.buffer, bytesEach: scalarBytes[stretch.kind], at, shift });
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
    const enough = Math.min(mostStates, Math.max(1, Math.ceil(enoughTurns * threads / least)));
    let [low, high] = [1, enough + 1];
    while (high - low > 1) {
      const middle = low + high >> 1;
      if (fits(middle)) low = middle;
      else high = middle;
    }
    // Whole turns of all threads, if that leaves most of them.
    const turn = threads / gcd(threads, least);
    return low >= turn ? low - low % turn : low;
  }

  make(): FusedProgram {
    const { threads, minBlocks } = this.#options;
    const begins = startMatters(this.#plan);
    if (begins === undefined) throw new UnsupportedProgram('the program has state');
    const tasks = this.#tasks();
    const functions = [...tasks.values()].flat().map(({ f }) => f);
    const gaps = new Map([...this.#tiles].flatMap(([buffer, { shift }]) => (shift === noGaps ? [] : [[buffer, shift] as const])));
    const program = padBuffers({ ...this.#lowered.program, functions }, gaps);
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

  #pointer(buffer: Buffer): string {
    return `block.shared<${cTypes[buffer.element]}>(${this.#tile(buffer).at})`;
  }

  #programText(program: Program, tasks: Tasks, threads: number, minBlocks: number): string[] {
    const kinds = (end: FusedEnd) => end.kinds.length;
    return [
      'using warploom::WARPLOOM_TARGET::device::Block;', 'namespace fused = warploom::WARPLOOM_TARGET::stream;', '',
      'struct Program {',
      `  static constexpr int kThreads = ${threads}, kMinBlocks = ${minBlocks}, kStates = ${this.#states};`,
      `  static constexpr int kInputs = ${kinds(this.#input)}, kOutputs = ${kinds(this.#output)};`,
      '  using Parameters = fused::FusedParameters<kInputs, kOutputs>;',
      ...this.#loadText(), ...this.#steadyText(program, tasks), ...this.#storeText(), ...this.#settleText(), '};',
    ];
  }

  #loadText(): string[] {
    const { external, kinds, items } = this.#input;
    const counts = countsOf(external.type);
    const lines = kinds.map((kind, i) => {
      const buffer = this.#streamBuffer(external.id, kind);
      const type = cTypes[buffer.element];
      return `    fused::load_tile<${this.#tile(buffer).shift}>(block, ${this.#pointer(buffer)}, static_cast<const ${type}*>(p.input[${
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
      return `    fused::store_tile<${this.#tile(buffer).shift}>(block, ${this.#pointer(buffer)}, static_cast<${type}*>(p.output[${
        i}]) + (p.first_output + state * ${items}) * ${counts[kind]}, states * ${items * counts[kind]});`;
    });
    return ['  static WARPLOOM_DEVICE void store(const Block& block, const Parameters& p, int64_t state, int states) {', ...lines, '  }'];
  }

  #settleText(): string[] {
    const lines = this.#stretches.flatMap(({ buffer, each, beside }) => {
      if (beside === 0 || buffer === this.#streamBufferOf(buffer)) return [];
      return [`    fused::settle_tile<${this.#tile(buffer).shift}>(block, ${this.#pointer(buffer)}, states * ${each}, ${beside});`];
    });
    return [
      `  static WARPLOOM_DEVICE void settle(const Block&${lines.length > 0 ? ' block' : ''}, int${lines.length > 0 ? ' states' : ''}) {`,
      ...lines, '  }',
    ];
  }

  #streamBufferOf(buffer: Buffer): Buffer | undefined {
    return this.#plan.streamArrays.some(({ name }) => name === buffer.name) ? buffer : undefined;
  }

  /** By level: what is shared out among the threads. */
  #tasks(): Tasks {
    const tasks = new Map<number, Task[]>();
    const { program, system: { ix } } = this.#lowered;
    const warps = this.#options.threads / 32;
    for (let level = 0; level <= this.#lastLevel; ++level) {
      const groups = this.#plan.groups.filter(({ id }) => this.#levels[id] === level);
      const busy = groups.reduce((sum, group) => sum + Math.ceil(this.#states * group.iterations / 32), 0);
      tasks.set(level, groups.flatMap((group): Task[] => {
        const f = required(program.functions.find(({ name }) => name === `group_${group.id}`));
        const most = Math.max(Math.floor(warps / busy), Math.ceil(sizeOf(f.body) / mostNodes));
        const slices: readonly Slice[] | undefined = most < 2 ? undefined
          : sliceFunction(program, onlyOnce(program, f, ix), { most });
        return slices?.map((slice) => ({ group, f: slice.f, isCounted: false, parts: slice.parts }))
          ?? [{ group, f, isCounted: true, parts: 1 }];
      }));
    }
    return tasks;
  }

  #steadyText(program: Program, tasks: Tasks): string[] {
    const parameters = cudaParameters(program);
    const lines: string[] = ['    int all;'];
    for (const list of tasks.values()) {
      let offset = 0;
      for (const task of list) {
        lines.push(...this.#taskText(program, task, required(parameters.get(task.f.name)), offset));
        // Each begins with a warp of its own, for all threads of a warp to do the same.
        const units = this.#states * task.group.iterations * task.parts;
        offset = (offset + Math.ceil(units / 32) * 32) % this.#options.threads;
      }
      lines.push('    block.sync();');
    }
    return ['  static WARPLOOM_DEVICE void steady(const Block& block, const fused::Round& round) {', ...lines, '  }'];
  }

  #taskText(
    program: Program, { group, f: { name }, isCounted, parts }: Task, parameters: readonly Buffer[], offset: number,
  ): string[] {
    const { graph, sdf, storage, rates, steady, externals } = this.#plan;
    const { ix, steps } = this.#lowered.system;
    const members = new Set(group.steps.map(({ actor }) => actor));
    const places: string[] = [];
    const turn = parts === 1 ? 'i' : 'turn';
    const end = (slot: number, each: number, base: number): void => {
      places.push(`ix[${slot}] = ${base === 0 ? '' : `${base} + `}${turn} * ${each};`);
    };
    for (const { id, from, to } of sdf.channels) {
      if (storage[id] !== 'block') continue;
      const each = elementAt(rates, id) / group.iterations;
      if (members.has(to)) end(2 * id, each, 0);
      if (members.has(from)) end(2 * id + 1, each, elementAt(steady.residual, id));
    }
    for (const { node, slot, later } of externals) {
      if (members.has(node)) end(slot, later.items * elementAt(steady.repetitions, node) / group.iterations, 0);
    }
    const argument = (buffer: Buffer): string => {
      if (buffer === ix) return 'ix';
      if (buffer === steps) return '&turns';
      if (!this.#tiles.has(buffer)) throw new UnsupportedProgram(`the program keeps '${buffer.name}' between firings`);
      return this.#pointer(buffer);
    };
    const fails = cudaCanFail(program, name);
    const count = isCounted ? ['1'] : parts === 1 ? [] : ['part'];
    const call = `${cName(name)}(${[...count, ...parameters.map(argument), ...(fails ? ['fault'] : [])].join(', ')})`;
    const nodes = group.steps.map(({ actor }) => elementAt(graph.nodes, actor).name.replaceAll(/[^\w .-]/g, '')).slice(0, 6).join(', ');
    const first = offset === 0 ? 'block.thread()' : `fused::turned(block, ${offset})`;
    return [
      `    // ${nodes}${group.steps.length > 6 ? ' …' : ''}`, `    all = round.states * ${group.iterations * parts};`,
      `    for (int i = ${first}; i < all; i += kThreads) {`,
      ...(parts === 1 ? [] : [`      const int turn = i / ${parts}, part = i - turn * ${parts};`]),
      ...(parameters.includes(ix) ? [`      int ix[${required(ix.length)}];`, `      ${places.join(' ')}`] : []),
      ...(parameters.includes(steps) ? ['      double turns = round.turns;'] : []),
      ...(fails ? ['      wl_fault fault;', `      if (!${call}) round.fail(${turn} / ${group.iterations});`] : [`      ${call};`]),
      '    }',
    ];
  }
}

/** By level: what is shared out among the threads. */
type Tasks = ReadonlyMap<number, readonly Task[]>;

/** By group: how many others it waits for in a row. */
function levelsOf({ groups, groupOf, sdf }: ProgramPlan): number[] {
  const levels = groups.map(() => 0);
  for (let isSettled = false; !isSettled;) {
    isSettled = true;
    for (const { from, to } of sdf.channels) {
      const [source, sink] = [elementAt(groupOf, from).id, elementAt(groupOf, to).id];
      if (source === sink || elementAt(levels, sink) > elementAt(levels, source)) continue;
      levels[sink] = elementAt(levels, source) + 1;
      isSettled = false;
    }
  }
  return levels;
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
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
