// What each block of a schedule makes, as lists of words (cuda/stream/pipelined.cuh), and where channels and state lie in the device's
// memory.
import { elementAt, required } from '../../core/known.ts';
import { plan } from '../../kernel/memory/plan.ts';
import type { Pipeline } from '../partition/index.ts';
import type { IrType } from '../ir.ts';
import { countsOf, kindsIn, type Kind } from '../plan/layout.ts';
import { openEnds } from '../plan/open-ends.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { stagedBytes, type InstanceEnd, type Instances } from '../targets/cuda-instances.ts';
import type { PipelineProgram } from '../targets/cuda-pipeline.ts';

/** Ways of chapter 3 to run a program on a device. */
export type PipelineMode = 'swp' | 'swpnc' | 'serial';

/** Items that an instance of a shuffle moves (section 4.7). */
export const shuffleItems = 1024;

/** How filters run: what Algorithm 2 chooses, or what stands in for it. */
export interface InstanceChoice {
  /** Threads of an instance, by actor of {@link PipelineProgram.graph}; of the open ends: items. */
  readonly threads: readonly number[];
  /** Time of an instance, in any unit, by actor. */
  readonly delays: readonly number[];
}

/** A schedule, ready for the device. */
export interface DeviceSchedule {
  /** A list for each step and block, one after the other. */
  readonly lists: Int32Array;
  readonly listWords: number;
  readonly blocks: number;
  /** n of SWPn. */
  readonly coarsening: number;
  /** Threads of a block. */
  readonly threads: number;
  /** Shared memory: windows that are staged, then the lists. */
  readonly stagedBytes: number;
  readonly sharedBytes: number;
  /** Steady states of an iteration. */
  readonly states: number;
  /** Launches from the first to the last stage of an iteration. */
  readonly stages: number;
  /** Launches of a round: 1, or one for each filter. */
  readonly steps: number;
  /** Bytes of all channels and of state. */
  readonly arenaBytes: number;
  /** What stands there before the first iteration, in programs whose slices go on with what others left. */
  readonly kept: readonly KeptPart[];
  /** Instances of an iteration, entries of all lists. */
  readonly instances: number;
  readonly entries: number;
  /** Interval per unit of work over its bound, minus 1; undefined for the serial schedule. */
  readonly gap?: number;
}

/** Numbers of one kind that a program keeps between iterations. */
export interface KeptPart {
  /** The buffer that holds them in other back ends; undefined: items of the input that have not been taken. */
  readonly name: string | undefined;
  readonly kind: Kind;
  /** Where they are in the device's memory, in words. */
  readonly at: number;
  /** Numbers that are kept; undefined: the whole buffer. */
  readonly count: number | undefined;
  /** Numbers in the ring before whose front they stand; undefined: they stand at `at`. */
  readonly ring: number | undefined;
}

/** When windows and outputs are in shared memory: windows are loaded before the firings, outputs are stored behind them. */
const windowsLive = [{ begin: 0, end: 2 }], outputsLive = [{ begin: 1, end: 3 }];

/** Bytes of shared memory of a filter's instance of so many threads, and where its ends lie there. */
export function stagedPlaces(ends: readonly InstanceEnd[], threads: number): { readonly at: readonly number[]; readonly bytes: number } {
  const staged = ends.filter(({ access }) => access === 'staged');
  const { offsets, bytes } = plan({ blocks: staged.map((end) => (
    { name: '', bytes: stagedBytes(end, threads), live: end.isInput ? windowsLive : outputsLive })) }, 'packing');
  return { at: ends.map((end) => offsets[staged.indexOf(end)] ?? 0), bytes };
}

/** By actor: its ends, the number of its code, and its number among those with this code. */
export interface ActorCode {
  readonly code: number;
  readonly member: number;
  readonly ends: readonly InstanceEnd[];
  readonly isOrdered: boolean;
}

export function codesByActor({ codes }: Instances, actors: number): readonly ActorCode[] {
  const found: ActorCode[] = Array.from({ length: actors }, () => ({ code: 0, member: 0, ends: [], isOrdered: false }));
  codes.forEach(({ actors: own, ends, isOrdered }, code) => {
    own.forEach((actor, member) => { found[actor] = { code, member, ends: elementAt(ends, member), isOrdered }; });
  });
  return found;
}

/** One thing that a block makes: instances `first` and on of an actor, for the iteration of its stage. */
interface Item {
  readonly actor: number;
  readonly stage: number;
  readonly first: number;
  count: number;
}

/** Lists of blocks; neighbouring instances of an actor are one entry (section 4.9). */
export type Lists = readonly (readonly Item[])[];

/**
 * The lists of a pipeline. Blocks take actors in the order of the stream: without loops, what an instance needs of its own launch and
 * block is then made before, whatever order the pipeline states, and neighbours stand together. With loops, they take that order.
 */
export function listsOf({ places }: Pipeline, program: PipelineProgram, n: number, blocks: number): Lists {
  const lists: Item[][] = Array.from({ length: blocks }, () => []);
  const all = orderOf(program).flatMap((actor) => elementAt(places, actor).map((place, firing) => ({ actor, firing, ...place })));
  for (const { actor, firing, processor, stage } of program.open.size === 0 ? all : all.sort((a, b) => a.order - b.order)) {
    const list = elementAt(lists, processor);
    const last = list.at(-1);
    if (last !== undefined && last.actor === actor && last.stage === stage && last.first + last.count === firing * n) last.count += n;
    else list.push({ actor, stage, first: firing * n, count: n });
  }
  return lists;
}

/** The order of the stream, from the input to the output. */
export function orderOf({ plan, actors: { groups }, graph: { actors: { length } } }: PipelineProgram): readonly number[] {
  return [length - 2, ...plan.groups.map((group) => groups.indexOf(group)), length - 1];
}

/** A step for each actor: its instances dealt out to all blocks, or one block's where they must follow each other. */
export function serialLists(
  { graph: { actors } }: PipelineProgram, order: readonly number[], repetitions: readonly number[], blocks: number,
): Lists[] {
  return order.map((actor) => {
    const count = elementAt(repetitions, actor);
    if (elementAt(actors, actor).stateful) {
      return Array.from({ length: blocks }, (_, block) => (block === actor % blocks ? [{ actor, stage: 0, first: 0, count }] : []));
    }
    const end = (block: number): number => Math.floor(block * count / blocks);
    return Array.from({ length: blocks }, (_, block) =>
      (end(block + 1) === end(block) ? [] : [{ actor, stage: 0, first: end(block), count: end(block + 1) - end(block) }]));
  });
}

/** Most firings whose windows are staged together. */
const mostStaged = 4096;

/** Instances of an actor whose windows are staged together, where that may be: so many as fit. */
export function groupOf(ends: readonly InstanceEnd[], threads: number, mode: PipelineMode): number {
  // The thesis stages the working set of one instance.
  if (mode === 'swpnc' || ends.every(({ access }) => access !== 'staged')) return 1;
  let group = 1;
  while (2 * group * threads <= mostStaged && stagedPlaces(ends, 2 * group * threads).bytes <= groupedBytes) group *= 2;
  return group;
}

/** Bytes of shared memory for several instances together. */
const groupedBytes = 49_152;

/** The ring of a channel: by kind, where it begins, in words of four bytes. */
interface Ring {
  /** Items that an iteration moves; of a channel on which nothing moves: those that stand there. */
  readonly items: number;
  readonly slots: number;
  readonly tokens: number;
  readonly at: Readonly<Record<string, number>>;
}

/** The words of lists (cuda/stream/pipelined.cuh). */
export class ListWriter {
  readonly #program: PipelineProgram;
  readonly #choice: InstanceChoice;
  readonly #mode: PipelineMode;
  readonly #codes: readonly ActorCode[];
  /** By number of the channel or stream. */
  readonly #rings = new Map<number, Ring>();
  /** By name of the buffer: where it begins. */
  readonly #kept = new Map<string, number>();
  readonly #firings: readonly number[];
  #words = 0;
  readonly kept: KeptPart[] = [];
  stagedBytes = 0;

  constructor(program: PipelineProgram, choice: InstanceChoice, mode: PipelineMode, repetitions: readonly number[],
    slots: readonly number[]) {
    this.#program = program;
    this.#mode = mode;
    this.#choice = choice;
    const { actors, instances, isContinued } = program;
    this.#codes = codesByActor(instances, actors.groups.length);
    this.#firings = repetitions.map((count, actor) => count * elementAt(choice.threads, actor));
    for (const { id, from, push, tokens } of actors.graph.channels) {
      this.#place(elementAt(actors.channels, id), push * elementAt(this.#firings, from), elementAt(slots, id), tokens);
    }
    for (const { id, actor, items, tokens } of actors.inner) {
      const each = items * elementAt(this.#firings, actor);
      this.#place(id, each === 0 ? tokens : each, each === 0 ? 1 : 1 + Math.ceil(tokens / each), tokens);
    }
    for (const { kept: buffer, kind } of this.#codes.flatMap(({ ends }) => ends)) {
      if (buffer === undefined || this.#kept.has(buffer.name)) continue;
      const at = this.#room(required(buffer.length), kind);
      this.#kept.set(buffer.name, at);
      this.kept.push({ name: buffer.name, kind, at, count: undefined, ring: undefined });
    }
    if (!isContinued) this.kept.length = 0;
    if (this.#words >= 2 ** 31 || this.#firings.some((count) => count >= 2 ** 31)) {
      throw new UnsupportedProgram(`the channels of an iteration take ${4 * this.#words} bytes`);
    }
  }

  /** Words of all channels and of state. */
  get words(): number {
    return this.#words;
  }

  #room(scalars: number, kind: Kind): number {
    const at = this.#words;
    this.#words += Math.ceil(scalars * (kind === 'd' ? 2 : 1) / ringUnit) * ringUnit;
    return at;
  }

  #place(channel: number, items: number, slots: number, tokens: number): void {
    const { plan } = this.#program;
    const at: Record<string, number> = {}, counts = countsOf(typeOf(plan, channel));
    const isInput = channel === openEnds(plan).input.id;
    for (const kind of kindsIn(counts)) {
      const ring = slots * items * counts[kind];
      at[kind] = this.#room(ring, kind);
      if (tokens === 0) continue;
      this.kept.push({ name: isInput ? undefined : `c${channel}${kind}`, kind, at: at[kind], count: tokens * counts[kind], ring });
    }
    this.#rings.set(channel, { items, slots, tokens, at });
  }

  #end({ channel, kind, stride, isInput, kept }: Pick<InstanceEnd, 'channel' | 'kind' | 'stride' | 'isInput' | 'kept'>, shared: number,
  ): number[] {
    if (kept !== undefined) return [required(this.#kept.get(kept.name)), 0, 1, 0, 0];
    const { slots, items, at, tokens } = required(this.#rings.get(channel));
    // What stands on the input's channel came before what the start of the program brings.
    const isTaken = channel === openEnds(this.#program.plan).input.id;
    return [required(at[kind]), items * stride, slots, isInput || isTaken ? tokens * stride : 0, shared];
  }

  #entry({ actor, stage, first, count }: Item): number[] {
    const { plan, width, instances, graph, actors } = this.#program;
    const own = this.#codes[actor];
    const threads = elementAt(this.#choice.threads, actor);
    let [code, member, group] = [instances.codes.length + actor - this.#codes.length, 0, 1];
    let ends: number[][];
    if (own !== undefined) {
      ({ code, member } = own);
      group = own.isOrdered ? 1 : groupOf(own.ends, threads, this.#mode);
      const { at, bytes } = stagedPlaces(own.ends, threads * group);
      this.stagedBytes = Math.max(this.stagedBytes, bytes);
      ends = own.ends.map((end, i) => this.#end(end, elementAt(at, i)));
    } else {
      const { id } = required(graph.channels.find(({ from, to }) => from === actor || to === actor));
      const channel = elementAt(actors.channels, id), counts = countsOf(typeOf(plan, channel));
      ends = kindsIn(counts).map((kind) =>
        this.#end({ channel, kind, stride: counts[kind], isInput: actor > this.#codes.length }, 0));
      if (width > 1) this.stagedBytes = Math.max(this.stagedBytes, shuffleBytes(width, typeOf(plan, channel)));
    }
    const words = [code, member, stage, first, count, threads, elementAt(this.#firings, actor), group, ...ends.flat()];
    return [words.length + 1, ...words];
  }

  /** The lists, and what a block must have of shared memory. */
  write(steps: readonly Lists[]): Pick<DeviceSchedule, 'lists' | 'listWords' | 'stagedBytes' | 'sharedBytes' | 'arenaBytes' | 'kept'> {
    return { ...packed(steps.flatMap((lists) => lists.map((list) => list.flatMap((item) => this.#entry(item))))),
      stagedBytes: this.stagedBytes, sharedBytes: this.stagedBytes + listBytes, arenaBytes: 4 * this.#words, kept: this.kept };
  }
}

/** Bytes of a block's shared memory to which its lists come. */
export const listBytes = 4096;

/** Lists of one length, a zero at the end of each. */
export function packed(lists: readonly (readonly number[])[]): Pick<DeviceSchedule, 'lists' | 'listWords'> {
  const listWords = Math.max(...lists.map(({ length }) => length)) + 1;
  const words = new Int32Array(listWords * lists.length);
  lists.forEach((list, at) => { words.set(list, at * listWords); });
  return { lists: words, listWords };
}

/** Rings begin at multiples of so many words. */
const ringUnit = 64;

/** Instances of a shuffle that are moved at once (cuda/stream/shuffle.cuh). */
const shufflesTogether = 4;

/** Bytes of shared memory of shuffles, whose instances have so many items, for items of a type (cuda/stream/shuffle.cuh). */
export function shuffleBytes(width: number, type: IrType, items = shuffleItems): number {
  const bytes = Math.max(...kindsIn(countsOf(type)).map((kind) => (kind === 'd' ? 8 : 4)));
  const elements = (instances: number): number => {
    const rows = instances * items / width;
    return rows * (width + Math.max(1, Math.floor(32 / rows)));
  };
  return bytes * Math.max(elements(1), elements(shufflesTogether));
}

/** The type of a channel's items; the open ends' channels are numbered as their streams. */
export function typeOf({ graph, externals }: ProgramPlan, channel: number): IrType {
  return externals.find(({ id }) => id === channel)?.type ?? elementAt(graph.channels, channel).type;
}

