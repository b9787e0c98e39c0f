// Where items of a hybrid run lie: on the host in the memory that the cores' machines share and in the arrays of the program's ends, on the
// device in rings. Everything is seen as words of four bytes.
import { addAt, elementAt, required } from '../../core/known.ts';
import type { DeviceArray } from '../../core/device.ts';
import { countsOf, kindsIn, type Kind } from '../plan/layout.ts';
import { typeOf } from './gpu-lists.ts';
import type { CommonData } from './common.ts';
import type { DeviceRing } from './hybrid-lists.ts';
import type { HybridParts } from './hybrid-parts.ts';
import type { HybridStreams } from './hybrid-streams.ts';
import type { Scalars } from './prepare.ts';

/** The words of an array's memory. */
function wordsOf(array: Scalars): Int32Array {
  return new Int32Array(array.buffer, array.byteOffset, array.byteLength / 4);
}

/** Words of a scalar. */
const scalarWords = (kind: Kind): number => (kind === 'd' ? 2 : 1);

/** One kind of the items of a channel on the host: iteration j begins `at + each · (j mod slots)`. */
export interface HostPart {
  readonly words: Int32Array;
  readonly at: number;
  readonly each: number;
  readonly slots: number;
  /** Words behind the last slot that are stored at the front as well. */
  readonly residual: number;
  /** Whether nobody else sees the words before the run is over. */
  readonly isUnseen: boolean;
}

/** The other end of a transfer: the same items in a ring of the device. */
interface DevicePart {
  readonly at: number;
  readonly each: number;
  readonly slots: number;
}

/** A transfer of a plan, with one part for each kind of numbers. */
export interface HybridTransfer {
  readonly isIn: boolean;
  /** Between the device and the program's input or output: no core waits for it. */
  readonly isEnd: boolean;
  readonly stage: number;
  readonly parts: readonly { readonly host: HostPart; readonly device: DevicePart }[];
}

/** Items that stay on a channel whose reader is on the device. */
export interface HybridRest {
  readonly ring: DeviceRing;
  readonly kind: Kind;
  readonly stride: number;
  /** Items. */
  readonly tokens: number;
  /** Where they are before the first iteration. */
  readonly first: Int32Array;
  /** Where cores look for them after so many iterations; undefined: in the program's input, where they are anyway. */
  readonly after: ((iterations: number) => Int32Array) | undefined;
}

/** What an actor on the device keeps between firings: where cores have it before the first iteration and behind the last one. */
interface HybridField {
  readonly words: Int32Array;
  readonly at: number;
}

/** The memory of a run. */
export interface HybridMemory {
  readonly transfers: readonly HybridTransfer[];
  readonly rests: readonly HybridRest[];
  readonly fields: readonly HybridField[];
}

class Layout {
  readonly #parts: HybridParts;
  readonly #common: CommonData;
  readonly #streams: HybridStreams;

  constructor(parts: HybridParts, common: CommonData, streams: HybridStreams) {
    this.#parts = parts;
    this.#common = common;
    this.#streams = streams;
  }

  /** The words of a channel's buffer in the machines' memory. */
  #channel(id: number, kind: Kind): Int32Array {
    return this.#buffer(`c${id}${kind}`, kind);
  }

  #buffer(wanted: string, kind: Kind): Int32Array {
    const { at, length } = required(this.#common.places.find(({ name }) => name === wanted));
    return new Int32Array(required(this.#common.memory).buffer, at, length * scalarWords(kind));
  }

  #hostPart(channel: number, kind: Kind, perItem: number, items: number): HostPart {
    const { program, input, output, launches } = this.#parts;
    const id = elementAt(program.channels, channel);
    if (id >= program.plan.graph.channels.length) {
      // What stands on the input's channel came before.
      const isInput = id === input.external.id;
      const begin = isInput ? input.before + input.external.later.beyond : output.before;
      const words = wordsOf(required(required(this.#streams.whole.get(id))[kind]));
      const isUnseen = !isInput && this.#streams.isUnseen;
      return { words, at: begin * perItem, each: items * perItem, slots: Infinity, residual: 0, isUnseen };
    }
    const { residual, slots } = required(launches.rings[id]);
    return {
      words: this.#channel(id, kind), at: residual * perItem, each: items * perItem, slots, residual: residual * perItem, isUnseen: false,
    };
  }

  #kinds(channel: number): { readonly kind: Kind; readonly stride: number }[] {
    const { program } = this.#parts;
    const counts = countsOf(typeOf(program.plan, elementAt(program.channels, channel)));
    return kindsIn(counts).map((kind) => ({ kind, stride: counts[kind] }));
  }

  transfers(): HybridTransfer[] {
    const { program, plan, lists } = this.#parts;
    const passed = this.#parts.program.graph.channels.map(() => 0);
    return plan.operations.flatMap(({ channel, kind: what, stage }): HybridTransfer[] => {
      const place = addAt(passed, channel, 1) - 1;
      if (what !== 'toGpu' && what !== 'toCpu') return [];
      const isIn = what === 'toGpu';
      const isEnd = elementAt(program.channels, channel) >= program.plan.graph.channels.length;
      const own = lists.rings.filter((_, at) => elementAt(plan.buffers, at).channel === channel);
      const ring = required(own[isIn ? place + 1 : place]);
      return [{ isIn, isEnd, stage, parts: this.#kinds(channel).map(({ kind, stride }) => {
        const perItem = stride * scalarWords(kind);
        return {
          host: this.#hostPart(channel, kind, perItem, ring.items),
          device: { at: required(ring.at[kind]), each: ring.items * perItem, slots: ring.slots },
        };
      }) }];
    });
  }

  fields(): HybridField[] {
    return this.#parts.lists.fields.map(({ name, kind, at, length }) =>
      ({ at, words: this.#buffer(name, kind).subarray(0, length * scalarWords(kind)) }));
  }

  /** Items inside loops. */
  loops(): HybridRest[] {
    const { program, lists, launches } = this.#parts;
    return lists.loops.flatMap(({ id, ring, tokens }): HybridRest[] => {
      const host = launches.rings[id];
      if (tokens === 0) return [];
      const counts = countsOf(typeOf(program.plan, id));
      return kindsIn(counts).map((kind) => {
        const words = this.#channel(id, kind), perItem = counts[kind] * scalarWords(kind);
        return { ring, kind, stride: counts[kind], tokens, first: words.subarray(0, tokens * perItem), after: (iterations) => {
          const at = host === undefined ? 0 : iterations % host.slots * host.items * perItem;
          return words.subarray(at, at + tokens * perItem);
        } };
      });
    });
  }

  rests(): HybridRest[] {
    const { program, plan, lists, input, launches } = this.#parts;
    return program.graph.channels.flatMap(({ id: channel, to, tokens }): HybridRest[] => {
      const ring = lists.rings.filter((_, at) => elementAt(plan.buffers, at).channel === channel).at(-1);
      if (tokens === 0 || plan.onGpu[to] !== true || ring === undefined) return [];
      const id = elementAt(program.channels, channel);
      return this.#kinds(channel).map(({ kind, stride }) => {
        const perItem = stride * scalarWords(kind);
        const common = { ring, kind, stride, tokens };
        if (id === input.external.id) {
          const words = wordsOf(required(required(this.#streams.whole.get(id))[kind]));
          return { ...common, first: words.subarray(input.before * perItem, (input.before + tokens) * perItem), after: undefined };
        }
        const words = this.#channel(id, kind);
        const { items, slots } = required(launches.rings[id]);
        return { ...common, first: words.subarray(0, tokens * perItem), after: (iterations) => {
          const at = iterations % slots * items * perItem;
          return words.subarray(at, at + tokens * perItem);
        } };
      });
    });
  }
}

/** The memory of a run. */
export function hybridMemory(parts: HybridParts, common: CommonData, streams: HybridStreams): HybridMemory {
  const layout = new Layout(parts, common, streams);
  // Those from the device come first: the calls that bring items to it copy them first.
  return {
    transfers: layout.transfers().sort((a, b) => Number(a.isIn) - Number(b.isIn)), rests: [...layout.rests(), ...layout.loops()],
    fields: layout.fields(),
  };
}

/** Calls `visit` for each stretch of a circular buffer of `all` elements that elements `from` to `to` of an endless stream take. */
function eachStretch(from: number, to: number, all: number, visit: (place: number, from: number, count: number) => void): void {
  for (let at = from; at < to;) {
    const place = (at % all + all) % all;
    const count = Math.min(to - at, all - place);
    visit(place, at - from, count);
    at += count;
  }
}

/** Scalars of whole iterations between the order of the stream and that of a ring: (3.15) and its inverse, iteration by iteration. */
function reordered(words: Int32Array, { ring, kind, stride }: HybridRest, width: number, isBack: boolean): Int32Array {
  if (!ring.isShuffled) return words;
  const made = new Int32Array(words.length), size = scalarWords(kind), each = ring.items * stride, column = each / width;
  for (let begin = 0; begin < words.length / size; begin += each) {
    for (let index = 0; index < each; ++index) {
      const place = index % column * width + Math.floor(index / column);
      const [to, from] = isBack ? [index, place] : [place, index];
      for (let word = 0; word < size; ++word) made[(begin + to) * size + word] = elementAt(words, (begin + from) * size + word);
    }
  }
  return made;
}

/** Puts what stands on channels of the device at the start where iterations −1, −2, … would have put it. It is read at the call. */
export function bringRests({ rests, fields }: HybridMemory, arena: DeviceArray, width: number): Promise<unknown>[] {
  const own = fields.map(({ words, at }) => arena.write(Int32Array.from(words), at));
  return [...own, ...rests.flatMap((rest) => {
    const { ring, kind, stride, tokens, first } = rest;
    const perItem = stride * scalarWords(kind);
    const words = reordered(Int32Array.from(first), rest, width, false);
    const writes: Promise<unknown>[] = [];
    eachStretch(-tokens * perItem, 0, ring.slots * ring.items * perItem, (place, from, count) => {
      writes.push(arena.write(words.subarray(from, from + count), required(ring.at[kind]) + place));
    });
    return writes;
  })];
}

/** Takes what is left on channels of the device after so many iterations to where cores look for it. */
export async function takeRests({ rests, fields }: HybridMemory, arena: DeviceArray, width: number, iterations: number): Promise<void> {
  await Promise.all([...fields.map(({ words, at }) => arena.read(words, at)), ...rests.map(async (rest) => {
    const { ring, kind, stride, tokens, after } = rest;
    if (after === undefined) return;
    const perItem = stride * scalarWords(kind), end = iterations * ring.items * perItem;
    const words = new Int32Array(tokens * perItem);
    const reads: Promise<unknown>[] = [];
    eachStretch(end - tokens * perItem, end, ring.slots * ring.items * perItem, (place, from, count) => {
      reads.push(arena.read(words.subarray(from, from + count), required(ring.at[kind]) + place));
    });
    await Promise.all(reads);
    after(iterations).set(reordered(words, rest, width, true));
  })]);
}
