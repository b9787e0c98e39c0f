// The device's part of a hybrid plan as lists of what each block makes (cuda/stream/pipelined.cuh), and where the rings of channels lie in
// its memory.
import { elementAt, required } from '../../core/known.ts';
import type { HybridPlan, HybridSlice } from '../partition/index.ts';
import { countsOf, kindsIn, type Kind } from '../plan/layout.ts';
import type { HybridProgram } from '../plan/hybrid.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import type { InstanceEnd } from '../targets/cuda-instances.ts';
import type { HybridText } from '../targets/cuda-hybrid.ts';
import { stagedMemory } from './gpu-pipelined.ts';
import { codesByActor, groupOf, listBytes, packed, shuffleBytes, stagedPlaces, typeOf, type ActorCode } from './gpu-lists.ts';

/** A ring of whole iterations in the device's memory. */
export interface DeviceRing {
  /** Channel of the hybrid program's graph. */
  readonly channel: number;
  readonly slots: number;
  /** Items of an iteration. */
  readonly items: number;
  readonly isShuffled: boolean;
  /** By kind: where it begins, in words of four bytes. */
  readonly at: Readonly<Partial<Record<Kind, number>>>;
}

/** A field, a number of firings, or the state of random numbers, which an actor on the device keeps between firings. */
export interface DeviceField {
  /** The buffer that holds it on cores. */
  readonly name: string;
  readonly kind: Kind;
  /** Where it is, in words. */
  readonly at: number;
  readonly length: number;
}

/** Items inside a loop on the device, of one channel. */
export interface DeviceLoop {
  /** Number of the channel. */
  readonly id: number;
  readonly ring: DeviceRing;
  readonly tokens: number;
}

/** Lists for the blocks of a device. */
export interface HybridLists {
  /** A list for each block, one after the other. */
  readonly lists: Int32Array;
  readonly listWords: number;
  readonly blocks: number;
  readonly threads: number;
  /** Shared memory: windows that are staged, then the lists. */
  readonly stagedBytes: number;
  readonly sharedBytes: number;
  /** By buffer of the plan; undefined: on the host. */
  readonly rings: readonly (DeviceRing | undefined)[];
  /** What actors on the device keep between firings. */
  readonly fields: readonly DeviceField[];
  readonly loops: readonly DeviceLoop[];
  /** Words of four bytes that all rings and state take. */
  readonly words: number;
  /** Entries of all lists; 0: the device has nothing to do. */
  readonly entries: number;
}

/** Rings begin at multiples of so many words. */
const ringUnit = 64;
/** Most firings in order whose windows are staged together. */
const mostInOrder = 512;

/** The most firings in order, of so many, that instances have whose windows fit. */
function inOrderFirings(ends: readonly InstanceEnd[], all: number): number {
  for (let most = Math.min(mostInOrder, all); most > 1; --most) {
    if (all % most === 0 && stagedPlaces(ends, most).bytes <= stagedMemory) return most;
  }
  return 1;
}

class Writer {
  readonly #program: HybridProgram;
  readonly #plan: HybridPlan;
  readonly #text: HybridText;
  readonly #codes: readonly ActorCode[];
  readonly rings: readonly (DeviceRing | undefined)[];
  readonly fields: DeviceField[] = [];
  readonly loops: DeviceLoop[] = [];
  words = 0;
  stagedBytes = 0;
  threads = 32;

  constructor(program: HybridProgram, plan: HybridPlan, text: HybridText) {
    this.#program = program;
    this.#plan = plan;
    this.#text = text;
    this.#codes = codesByActor(text.instances, program.device.groups.length);
    this.rings = plan.buffers.map(({ channel, onGpu, slots, isShuffled }) => (onGpu ? this.#ring(channel, slots, isShuffled) : undefined));
    program.nodes.forEach((actor, id) => {
      if (actor !== undefined && plan.onGpu[id] === true && program.inOrder[id] === true) this.#keep(id, actor);
    });
    if (this.words >= 2 ** 31 || plan.repetitions.some((count) => count >= 2 ** 31)) {
      throw new UnsupportedProgram(`the channels of an iteration take ${4 * this.words} bytes`);
    }
  }

  #ring(channel: number, slots: number, isShuffled: boolean): DeviceRing {
    const { from, push } = elementAt(this.#program.graph.channels, channel);
    const items = push * elementAt(this.#plan.repetitions, from);
    return { channel, slots, items, isShuffled, at: this.#place(elementAt(this.#program.channels, channel), slots * items) };
  }

  /** Room for so many items of a channel, by its number. */
  #place(number: number, items: number): DeviceRing['at'] {
    const counts = countsOf(typeOf(this.#program.onDevice, number));
    const at: Partial<Record<Kind, number>> = {};
    for (const kind of kindsIn(counts)) at[kind] = this.#room(items * counts[kind], kind);
    return at;
  }

  #room(scalars: number, kind: Kind): number {
    const at = this.words;
    this.words += Math.ceil(scalars * (kind === 'd' ? 2 : 1) / ringUnit) * ringUnit;
    return at;
  }

  /** Room for what an actor keeps between firings. */
  #keep(id: number, actor: number): void {
    const firings = elementAt(this.#plan.repetitions, id);
    for (const { id: number, items: each, tokens, actor: own } of this.#program.device.inner) {
      if (own !== actor) continue;
      const items = each * firings === 0 ? tokens : each * firings;
      const slots = each * firings === 0 ? 1 : 1 + Math.ceil(tokens / items);
      const at = this.#place(number, slots * items);
      this.loops.push({ id: number, tokens, ring: { channel: -1, slots, items, isShuffled: false, at } });
    }
    for (const { kept, kind } of elementAt(this.#codes, actor).ends) {
      if (kept === undefined || this.fields.some(({ name }) => name === kept.name)) continue;
      const length = required(kept.length);
      this.fields.push({ name: kept.name, kind, at: this.#room(length, kind), length });
    }
  }

  #typeOf(channel: number) {
    return typeOf(this.#program.onDevice, elementAt(this.#program.channels, channel));
  }

  /** The words of one kind of a ring, as an end sees it. */
  #end({ at, items, slots }: DeviceRing, kind: Kind, stride: number, tokens: number, shared: number): number[] {
    return [required(at[kind]), items * stride, slots, tokens * stride, shared];
  }

  /** The ring that an end of a node reads or writes: the last or the first one of its channel. */
  #ringOf({ channel: number, isInput }: InstanceEnd): { ring: DeviceRing; tokens: number } {
    const loop = this.loops.find(({ id }) => id === number);
    if (loop !== undefined) return loop;
    const channel = this.#program.channels.indexOf(number);
    const own = this.rings.filter((_, at) => elementAt(this.#plan.buffers, at).channel === channel);
    const { tokens } = elementAt(this.#program.graph.channels, channel);
    return { ring: required(own[isInput ? own.length - 1 : 0]), tokens: isInput ? tokens : 0 };
  }

  #actor(id: number): { words: number[]; ends: number[] } {
    const { code, member, ends, isOrdered } = elementAt(this.#codes, required(this.#program.nodes[id]));
    const firings = elementAt(this.#plan.firings, id), threads = isOrdered ? inOrderFirings(ends, firings) : firings;
    const group = isOrdered ? 1 : groupOf(ends, threads, 'swp');
    const { at, bytes } = stagedPlaces(ends, group * threads);
    this.stagedBytes = Math.max(this.stagedBytes, bytes);
    if (!isOrdered) this.threads = Math.max(this.threads, threads);
    return {
      words: [code, member, elementAt(this.#plan.stages, id), threads, elementAt(this.#plan.repetitions, id), group],
      ends: ends.flatMap((end, i) => {
        if (end.kept !== undefined) return [required(this.fields.find(({ name }) => name === end.kept?.name)).at, 0, 1, 0, 0];
        const { ring, tokens } = this.#ringOf(end);
        return this.#end(ring, end.kind, end.stride, tokens, elementAt(at, i));
      }),
    };
  }

  #operation(id: number): { words: number[]; ends: number[] } {
    const { channel, kind, stage, instances } = elementAt(this.#plan.operations, id);
    const place = this.#plan.operations.slice(0, id).filter((each) => each.channel === channel).length;
    const own = this.rings.filter((_, at) => elementAt(this.#plan.buffers, at).channel === channel);
    const type = this.#typeOf(channel), counts = countsOf(type);
    const { width, shuffleItems } = this.#plan;
    this.stagedBytes = Math.max(this.stagedBytes, shuffleBytes(width, type, shuffleItems));
    return {
      words: [this.#text.shuffleCode(type, kind === 'deshuffle'), 0, stage, shuffleItems, instances * shuffleItems, 1],
      ends: kindsIn(counts).flatMap((each) =>
        [place, place + 1].flatMap((at) => this.#end(required(own[at]), each, counts[each], 0, 0))),
    };
  }

  entry({ kind, id, from, count }: HybridSlice): number[] {
    const { words: [code, member, stage, threads, firings, group], ends } = kind === 'actor' ? this.#actor(id) : this.#operation(id);
    // All firings in order are one instance of the plan, and several of the device.
    const times = kind === 'actor' ? elementAt(this.#plan.firings, id) / required(threads) : 1;
    const words = [code, member, stage, times * from, times * count, threads, firings, group].map(required);
    return [words.length + ends.length + 1, ...words, ...ends];
  }
}

/** The lists of a plan. Throws UnsupportedProgram where an iteration's channels are too large. */
export function hybridLists(program: HybridProgram, plan: HybridPlan, text: HybridText): HybridLists {
  const writer = new Writer(program, plan, text);
  const lists = plan.multiprocessors.map((slices) => slices.map((slice) => writer.entry(slice)));
  const { rings, fields, loops, threads, stagedBytes, words } = writer;
  return {
    ...packed(lists.map((entries) => entries.flat())), blocks: lists.length, threads: Math.ceil(threads / 32) * 32, stagedBytes,
    sharedBytes: stagedBytes + listBytes, rings, fields, loops, words, entries: lists.reduce((sum, list) => sum + list.length, 0),
  };
}
