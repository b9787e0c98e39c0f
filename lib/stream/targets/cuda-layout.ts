// Where everything lies while a block makes a round of steady states: channels between groups and the ends of the program in shared memory,
// as many steady states as fit and keep the threads busy.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer, KernelFunction, Program } from '../../kernel/ir.ts';
import { dropCopies } from '../../kernel/passes/copies.ts';
import { dropNeedlessFills } from '../../kernel/passes/scalars.ts';
import { forCount, isStraight } from '../../kernel/passes/slice.ts';
import { tabulate } from '../../kernel/passes/tables.ts';
import { tidy } from '../../kernel/passes/tidy.ts';
import { sizeOf } from '../../kernel/passes/unroll.ts';
import { lowerProgram, type LoweredProgram } from '../lower/program.ts';
import { isJammed } from '../plan/jam.ts';
import { countsOf, kindsIn, type Kind } from '../plan/layout.ts';
import type { Group, PlanOptions, ProgramPlan } from '../plan/plan.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import type { ProgramState } from '../state/index.ts';
import { copiesOf, withoutCopies } from './cuda-copies.ts';
import { accessesIn } from './cuda-gaps.ts';
import { Places, type FusedEnd, type Placed, type Stretch, type Tile } from './cuda-places.ts';
import { levelsOf } from './cuda-tasks.ts';
import { stateGap } from './cuda-view-gaps.ts';
import { usersOf, viewsOf, withViews } from './cuda-views.ts';
import { StateLayout, stageLevels } from './state-layout.ts';

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
  /**
   * Copies the input of the next round to shared memory while a round is computed. Takes shared memory for it twice, and hides the latency
   * of memory where a multiprocessor has room for few blocks. Default false.
   */
  readonly readsAhead?: boolean;
  /**
   * Whether branches whose long code differs only in constants share it and find these in tables: then it stays in the cache of
   * instructions. Default false.
   */
  readonly hasTables?: boolean;
  /** Whether loops stay loops and no iteration is cut, for the shortest text. Default: only where the text is too long otherwise. */
  readonly isCompact?: boolean;
  /** Characters that the text may have. Default 1,000,000. */
  readonly mostText?: number;
}

/** Scalars of a steady state of the input, from `begin` to `end`. */
export interface Run {
  readonly begin: number;
  readonly end: number;
}

/** What the text of a program follows from. */
export type PrintedLayout = Pick<RoundLayout, 'plan' | 'lowered' | 'state' | 'options' | 'input' | 'output' | 'landings' | 'half' |
  'stretches' | 'states' | 'tiles'> & {
    /** By buffer of the input: scalars of a steady state that are loaded, if not all. */
    readonly parts?: ReadonlyMap<Buffer, Run>;
  };

/** The open input or output of a program. */
export function endOf({ externals, steady }: ProgramPlan, kind: 'input' | 'output'): FusedEnd {
  const external = required(externals.find((each) => each.kind === kind));
  const firings = elementAt(steady.initFirings, external.node);
  const { first, later } = external;
  return {
    external, kinds: kindsIn(countsOf(external.type)), items: later.items * elementAt(steady.repetitions, external.node),
    before: firings === 0 ? 0 : first.items + (firings - 1) * later.items,
  };
}

/** What a block takes. Programs of few groups are bound by memory, and many small blocks hide its latency best. */
export const smallBlocks = { threads: 256, sharedBytes: 49_152, minBlocks: 2, width: 2, readsAhead: false };
const largeBlocks = { threads: 384, sharedBytes: 112_000, minBlocks: 2, width: 2, readsAhead: false };
const fewGroups = 4;
/** Steady states of a round for which small blocks are large enough. */
const fullStates = 64;

/** Most steady states of a round: beyond, the threads only get longer loops. */
const mostStates = 4096;
/**
 * How much longer a steady state may take by estimate in longer rounds of whole warps. On an H200, DCT makes 113 to 117 G items/s in rounds
 * of 32 steady states (256 and 512 threads), 93 in rounds of 24 (384 threads).
 */
const fullWorth = 1.05;
/** Iterations of the smallest group that a thread makes in a round, from which on longer rounds are not worth their memory. */
const enoughTurns = 4;

/** Steady states for each thread from which on longer rounds of passes gain nothing. */
const passTurns = 2;

/** Nodes of a slice that is worth a warp, and of code that takes as long as a barrier. */
const leastNodes = 24, barrierNodes = 40;
/** Firings that share an item, from which on several are made together. */
const leastOverlap = 4;

/** How steady states in rounds lie in a block's shared memory, and how many of them. */
export class RoundLayout {
  readonly plan: ProgramPlan;
  readonly lowered: LoweredProgram;
  /** Undefined for programs without state. */
  readonly state: StateLayout | undefined;
  options: typeof smallBlocks;
  readonly input: FusedEnd;
  readonly output: FusedEnd;
  /** By group: groups of one level do not wait for each other. */
  readonly levels: readonly number[];
  readonly lastLevel: number;
  /** By group: nodes of an iteration's code. */
  readonly #sizes: readonly number[];
  /** By group: accesses of an iteration. */
  readonly #accesses: readonly ReadonlyMap<Buffer, number>[];
  stretches: readonly Stretch[];
  readonly #places: Places;
  /** By group: those of which a thread makes several iterations together. */
  wide: ReadonlyMap<number, { readonly width: number; readonly f: KernelFunction }> = new Map();
  readonly states: number;
  readonly tiles: ReadonlyMap<Buffer, Tile>;
  /** By kind of the input's scalars: where the input of the next round lands, if it is copied ahead and not to its own place. */
  readonly landings: readonly number[];
  /** Bytes of the part of which there are two: the next round's input is copied to one while a round is in the other. 0: no such part. */
  readonly half: number;
  readonly sharedBytes: number;

  /** @param lowered the plan by {@link lowerForRounds} */
  constructor(plan: ProgramPlan, lowered: LoweredProgram, options: FusedOptions, state: ProgramState) {
    this.plan = plan;
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
    if (state.size > 0) given['readsAhead'] = false; // only the kernel of programs without state does
    this.options = { ...largeBlocks, ...given };
    this.input = endOf(plan, 'input');
    this.output = endOf(plan, 'output');
    this.levels = levelsOf(plan, stageLevels(plan, state));
    this.state = state.size === 0 ? undefined : new StateLayout(plan, lowered, state, this.levels);
    this.lowered = this.state === undefined ? lowered : { ...lowered, program: {
      ...lowered.program, functions: this.state.groups, buffers: [...lowered.program.buffers, ...this.state.functions.buffers] } };
    this.lastLevel = Math.max(...this.levels);
    const functions = plan.groups.map(({ id }) => required(this.lowered.program.functions.find(({ name }) => name === `group_${id}`)));
    this.#accesses = functions.map(accessesIn);
    this.#places = new Places(this.input, this.lastLevel, (kind) => this.streamBuffer(this.input.external.id, kind));
    this.stretches = this.#findStretches();
    this.#sizes = functions.map(({ body }) => sizeOf(body));
    if (plan.groups.length <= fewGroups) {
      const large = this.options;
      this.options = { ...smallBlocks, ...given };
      if (!this.#fits(1) || this.#chooseStates() < fullStates) this.options = large;
    }
    this.wide = this.#findWide(this.#chooseStates());
    this.stretches = this.#findStretches();
    this.states = this.#chooseStates();
    const { tiles, landings, half, bytes } = this.#layOut(this.states);
    this.tiles = tiles;
    this.landings = landings;
    this.half = half;
    this.sharedBytes = bytes;
  }

  streamBuffer(id: number, kind: Kind): Buffer {
    return streamBuffer(this, id, kind);
  }

  #findStretches(): Stretch[] {
    const state = this.state?.tiles(this.lastLevel, this.options.threads) ?? [];
    return [
      ...this.#streamStretches(), ...this.#channelStretches(),
      ...state.map((tile): Stretch => ({ ...tile, kind: 'i', stride: 1, moved: [], isDense: false, isPlain: true })),
    ];
  }

  #levelsOf(groups: readonly Group[]): number[] {
    return groups.map(({ id }) => elementAt(this.levels, id));
  }

  /** Those of the program's ends. */
  #streamStretches(): Stretch[] {
    const found: Stretch[] = [];
    const users = usersOf(this.plan);
    for (const { end, isIn } of [{ end: this.input, isIn: true }, { end: this.output, isIn: false }]) {
      const { external, kinds, items } = end;
      const { from, to } = required(users.get(external.id));
      const own = isIn ? to : from, counts = countsOf(external.type);
      for (const kind of kinds) {
        const buffer = this.streamBuffer(external.id, kind);
        found.push({
          buffer, kind, each: items * counts[kind], beside: external.later.beyond * counts[kind],
          stride: counts[kind], moved: own.map(({ id, iterations }) => items / iterations * this.widthOf(id)),
          isDense: kinds.length === 1 && counts[kind] === 1 && this.#isDense(buffer, items, own.map(({ id }) => id)),
          ...this.#strided(external.id, items, isIn && this.options.readsAhead),
          isWide: isIn && own.some(({ id }) => this.widthOf(id) > 1),
          from: isIn ? 0 : Math.min(...this.#levelsOf(own)) + 1, to: isIn ? Math.max(...this.#levelsOf(own)) + 1 : this.lastLevel + 2,
        });
      }
    }
    return found;
  }

  #channelStretches(): Stretch[] {
    const { sdf, rates, storage, steady } = this.plan;
    const found: Stretch[] = [];
    const users = usersOf(this.plan), { channels: gone } = viewsOf(this.plan);
    const arrays = this.lowered.declarations.filter(({ use }) => use === 'channel');
    const copies = copiesOf(this.plan);
    for (const { buffer, kind, channel, stride } of arrays) {
      const id = required(channel);
      if (storage[id] !== 'block' || gone.has(id)) continue;
      const [each, residual] = [elementAt(rates, id) * required(stride), elementAt(steady.residual, id) * required(stride)];
      const ends = elementAt(sdf.channels, id);
      const [source, sink] = [elementAt(this.plan.groupOf, ends.from), elementAt(this.plan.groupOf, ends.to)];
      if (source === sink || source.id > sink.id) throw new UnsupportedProgram('a group takes what it made in iterations before');
      if (copies.has(id)) continue;
      const { from, to } = required(users.get(id));
      const sinks = [...to, ...[...copies].flatMap(([copy, of]) => (of === id ? users.get(copy)?.to ?? [] : []))];
      const own = [...from, ...new Set(sinks)];
      found.push({
        buffer, kind, each, beside: residual, stride: required(stride),
        moved: own.map((group) => elementAt(rates, id) / group.iterations * this.widthOf(group.id)),
        // Arrays of one channel have the same gaps.
        isDense: stride === 1 && arrays.filter((other) => other.channel === channel).length === 1
          && this.#isDense(buffer, elementAt(rates, id), own.map((group) => group.id)),
        ...this.#strided(id, elementAt(rates, id), false), isWide: own.some((group) => this.widthOf(group.id) > 1),
        from: residual > 0 ? 0 : Math.min(...this.#levelsOf(from)) + 1,
        to: residual > 0 ? this.lastLevel + 2 : Math.max(...this.#levelsOf(sinks)) + 1,
      });
    }
    return found;
  }

  /** Gaps of an array that groups find at strided indices. @param isDirect whether copies of 16 bytes are to land there */
  #strided(id: number, row: number, isDirect: boolean): Pick<Stretch, 'strided'> {
    const own = viewsOf(this.plan).all.filter(({ root }) => root === id);
    if (own.length === 0) return {};
    const { from, to } = required(usersOf(this.plan).get(id));
    const others = [...from, ...to].filter((group) => !own.some((view) => view.group === group)).map(({ iterations }) =>
      ({ inner: [{ count: row / iterations, step: 1 }], outer: [{ count: iterations, step: row / iterations }] }));
    return { strided: { row, gap: stateGap(row, [...own, ...others], isDirect) } };
  }

  /** Whether most accesses to a buffer are by iterations that move several items and touch at least three quarters of them. */
  #isDense(buffer: Buffer, items: number, groups: readonly number[]): boolean {
    let [dense, sparse] = [0, 0];
    for (const id of groups) {
      const { iterations } = elementAt(this.plan.groups, id);
      const times = elementAt(this.#accesses, id).get(buffer) ?? 0;
      if (items > iterations && 4 * times * iterations >= 3 * items) dense += times * iterations;
      else if (items > iterations) sparse += times * iterations;
    }
    return dense > 0 && dense >= sparse;
  }

  #layOut(states: number, stretches = this.stretches): Placed {
    return this.#places.layOut(states, stretches, this.options.readsAhead);
  }

  /**
   * The layout of passes before the program's own, which begin no rounds early: a round is as many steady states as fit of what they need.
   * @param parts of some buffers of the input: the scalars of a steady state that are needed
   */
  forPasses(needed: ReadonlySet<Buffer>, parts: ReadonlyMap<Buffer, Run>): PrintedLayout {
    const { plan, lowered, state, options, input, output, landings, half } = this;
    const stretches = this.stretches.filter(({ buffer }) => needed.has(buffer)).map((stretch): Stretch => {
      const part = parts.get(stretch.buffer), each = part && part.end - part.begin;
      return each === undefined ? stretch : { ...stretch, each, moved: [each], isDense: false };
    });
    const fits = (more: number): boolean => this.#places.fits(more, stretches, this.options.readsAhead, this.sharedBytes);
    let states = this.states;
    // A firing for each thread, or whole warps of them.
    for (let more = passTurns * options.threads; more > states; more -= more > options.threads ? options.threads : 32) {
      if (fits(more)) states = more;
    }
    const { tiles } = this.#layOut(states, stretches);
    return { plan, lowered, state, options, input, output, landings, half, stretches, parts, states, tiles };
  }

  #fits(states: number): boolean {
    const { readsAhead, sharedBytes } = this.options;
    return this.#places.fits(states, this.stretches, readsAhead, sharedBytes);
  }

  #chooseStates(): number {
    const { sharedBytes, threads } = this.options;
    if (!this.#fits(1)) {
      throw new UnsupportedProgram(`the channels of one steady state take ${this.#layOut(1).bytes} bytes of shared memory, ${
        sharedBytes} are there`);
    }
    const { gone } = viewsOf(this.plan);
    const least = Math.min(...this.plan.groups.flatMap(({ id, iterations }) => (gone.has(id) ? [] : [iterations])));
    let [low, high] = [1, Math.min(mostStates, Math.ceil(enoughTurns * threads / least)) + 1];
    while (high - low > 1) {
      const middle = low + high >> 1;
      if (this.#fits(middle)) low = middle;
      else high = middle;
    }
    // Whole iterations of threads that make several together; and for one state alone, nothing is made together.
    const isWhole = (states: number): boolean => [...this.wide].every(([id, { width }]) =>
      states * elementAt(this.plan.groups, id).iterations % width === 0);
    if (![...Array(low).keys()].some((i) => isWhole(i + 1))) {
      this.wide = new Map();
      this.stretches = this.#findStretches();
    }
    let best = { states: 0, time: Infinity }, full = best;
    for (let states = low; states > 0 && (best.states === 0 || states > low / 2); --states) {
      const time = isWhole(states) ? this.#timeOf(states) : Infinity;
      if (time < best.time) best = { states, time };
      if (states % 32 === 0 && time < full.time) full = { states, time };
    }
    // Where the estimates differ by less than they are wrong, no lane idles.
    return full.states > best.states && full.time < fullWorth * best.time ? full.states : best.states;
  }

  widthOf(group: number): number {
    return this.wide.get(group)?.width ?? 1;
  }

  /** Filters with long sums over windows, where threads have work enough. */
  #findWide(states: number): Map<number, { width: number; f: KernelFunction }> {
    const { width, threads } = this.options;
    const found = new Map<number, { width: number; f: KernelFunction }>();
    if (width === 1) return found;
    const { program, system: { ix } } = this.lowered;
    const { groups, sdf, analyses, graph } = this.plan;
    const views = viewsOf(this.plan);
    for (let level = 0; level <= this.lastLevel; ++level) {
      const own = groups.filter(({ id }) => this.levels[id] === level && !views.gone.has(id));
      if (own.reduce((sum, { iterations }) => sum + states * iterations, 0) < width * threads) continue;
      for (const { id, steps } of own) {
        if (views.all.some(({ group }) => group.id === id)) continue; // they have one iteration's code
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
    const warps = this.options.threads / 32;
    const { gone } = viewsOf(this.plan);
    let sum = 0;
    for (let level = 0; level <= this.lastLevel; ++level) {
      const loads = Array.from({ length: warps }, () => 0);
      let [units, work] = [0, 0];
      for (const { id, iterations } of this.plan.groups) {
        if (this.levels[id] !== level || gone.has(id)) continue;
        const taken = Math.ceil(states * iterations / this.widthOf(id) / 32), size = elementAt(this.#sizes, id) * this.widthOf(id);
        for (let unit = units; unit < units + taken; ++unit) loads[unit % warps] = elementAt(loads, unit % warps) + size;
        units += taken;
        work += taken * size;
      }
      if (units === 0) {
        sum += barrierNodes;
        continue;
      }
      // Where few warps have work, it is cut into slices.
      const slices = units > warps ? 1 : Math.min(Math.floor(warps / units), Math.max(1, Math.floor(work / units / leastNodes)));
      sum += (units > warps ? Math.max(...loads) : work / units) / slices + barrierNodes;
    }
    return sum / states;
  }
}

/** The buffer of one kind of scalars of an open end. */
export function streamBuffer({ plan, lowered }: Pick<RoundLayout, 'plan' | 'lowered'>, id: number, kind: Kind): Buffer {
  const name = required(plan.streamArrays.find((each) => each.id === id && each.kind === kind)).name;
  return required(lowered.program.buffers.find((buffer) => buffer.name === name));
}

/** The functions of a plan's groups, whatever the layout. */
export function lowerForRounds(plan: ProgramPlan): LoweredProgram {
  return withViews(withoutCopies(lowerProgram(plan, { placed: true, nodes: [], passes, together: () => 1 })));
}

/** What a compiler does not do by itself. */
function passes(program: Program): Program {
  return tidy(program, dropCopies(dropNeedlessFills(tabulate(program))));
}
