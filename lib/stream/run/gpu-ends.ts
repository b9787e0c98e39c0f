// Input and output of runs on a device. Items are either in JavaScript's memory, and pass through the device slice by slice, or in arrays
// that are on the device already.
import { holds, isUsedInPlace, unseenPart } from '../../core/arrays.ts';
import { resultArray, type Device, type DeviceArray } from '../../core/device.ts';
import { refusal } from '../../core/errors.ts';
import { elementAt, required } from '../../core/known.ts';
import { lentResult, provideLent, type LentResult } from '../../core/lent.ts';
import { scalarCount } from '../interpret/values.ts';
import type { RunCounts } from '../plan/counts.ts';
import { countsOf, kindsIn, makeArray, type Kind } from '../plan/layout.ts';
import type { FusedEnd } from '../targets/cuda-places.ts';
import type { FusedProgram } from '../targets/cuda.ts';
import type { Borrowed } from './borrowed.ts';
import { joinItems, outOfMemory, type PreparedRun, type Scalars, type StreamArrays } from './prepare.ts';

/** The arrays of a stream on the device: one for each kind of scalar. */
export type StreamMemory = readonly DeviceArray[];

/** Input and output of one launch. */
export interface Span {
  readonly input: StreamMemory;
  readonly output: StreamMemory;
  /** Items in the arrays before the first steady state. In the input these include the steady states that blocks compute again. */
  readonly firstInput: number;
  readonly firstOutput: number;
  /** Fetches the output; called right after the launch. */
  take(signal: AbortSignal | undefined): Promise<unknown>;
  dispose(): void;
}

/** The open ends of the graph in one run. */
export interface Ends {
  readonly counts: RunCounts;
  /** The number of output items of the run. */
  readonly items: number;
  /** Bytes of device memory that a steady state needs during its launch. */
  readonly stateBytes: number;
  /** Scalars of input items from `begin` to `end`, or to the end of the input, in memory order. */
  part(begin: number, end: number): Promise<ArrayLike<number>>;
  /** The same for what reads them before it waits for anything. */
  partNow?(begin: number, end: number): ArrayLike<number>;
  /** Writes output items, the first of which is number `item`. If they are the whole output, the array itself may become the output. */
  put(scalars: Scalars, item: number): Promise<void>;
  span(state: number, states: number): Span;
  /** Called while the device has as much to do as it is given at once. */
  whileBusy?(): void;
  /** Whether the arrays of so many further steady states may be queued: at most `bytes` and `spans` that are not done. */
  mayQueue?(states: number, limits: { readonly bytes: number; readonly spans: number }): boolean;
}

export const elementTypes = { i: 'int32', f: 'float32', d: 'float64' } as const;

const nothing = (): void => undefined;

/** Arrays on the device for spans of so many steady states with so many items of input. */
interface SpanArrays {
  readonly states: number;
  readonly items: number;
  readonly input: readonly DeviceArray[];
  readonly output: readonly DeviceArray[];
}

/** Where the output of a run goes. */
export interface Outlet {
  /** At least as many scalars as come out, without those that are dropped. */
  readonly array: Scalars;
  /** Items at the beginning that go nowhere; default 0. */
  readonly dropped?: number;
  /** Whether nobody else sees the array before the run ends, so that the device's threads may write it at any time. */
  readonly isUnseen?: boolean;
}

function disposeOf({ input, output }: SpanArrays): void {
  for (const array of [...input, ...output]) array.dispose();
}

/** The number of output items of a run, limited to `items`. */
export function itemsOut({ plan, output }: FusedProgram, { passed }: RunCounts, items = Infinity): number {
  return Math.min(items, elementAt(passed, plan.externals.findIndex(({ id }) => id === output.external.id)));
}

/** Part of an array; typed arrays are not copied. */
export function partOf(input: ArrayLike<number>, begin: number, end: number): ArrayLike<number> {
  if (begin === 0 && end >= input.length) return input;
  if (holds(input, 'float32') || holds(input, 'int32') || holds(input, 'float64')) return input.subarray(begin, end);
  return Array.prototype.slice.call(input, begin, end) as number[];
}

/**
 * Bytes of a result that one turn of the event loop copies to the caller's own array, which has to be done there, since the caller could
 * detach it in between; and pieces of a slice at most, each of which is a call.
 */
const pieceBytes = 2 ** 22, mostPieces = 8;

/** An array in pieces, each with its place; one piece where it is written without a copy. */
export function piecesOf(array: Scalars): [at: number, piece: Scalars][] {
  if (isUsedInPlace(array)) return [[0, array]];
  const each = Math.max(pieceBytes / array.BYTES_PER_ELEMENT, Math.ceil(array.length / mostPieces));
  return Array.from({ length: Math.max(1, Math.ceil(array.length / each)) }, (_, i): [number, Scalars] =>
    [i * each, array.subarray(i * each, (i + 1) * each)]);
}

/** Items in JavaScript's memory. */
export class HostEnds implements Ends {
  readonly counts: RunCounts;
  readonly items: number;
  readonly stateBytes: number;
  readonly #program: FusedProgram;
  readonly #device: Device;
  readonly #input: ArrayLike<number>;
  /** The input by kind. */
  readonly #arrays: StreamArrays;
  readonly #borrowed: Borrowed | undefined;
  /** Spans that are not done, and their steady states. */
  #queued = { spans: 0, states: 0 };
  readonly #warmStates: number;
  #output: Scalars | undefined;
  /** The output's memory, if it is the device's. */
  #lent: LentResult | undefined;
  /** Arrays on the device that no launch uses. */
  readonly #free: SpanArrays[] = [];
  #isDisposed = false;

  /** Whether nobody else sees the output yet. */
  readonly #isOwn: boolean;

  /** Items at the beginning of the output that go nowhere. */
  readonly #dropped: number;

  /**
   * @param out where the output goes; default: a new array
   * @param borrowed what makes the input, if it is the caller's still
   */
  constructor(
    program: FusedProgram, device: Device, { amount, counts, streams }: PreparedRun, input: ArrayLike<number>, out?: Outlet,
    borrowed?: Borrowed,
  ) {
    this.#isOwn = out?.isUnseen ?? out === undefined;
    this.#dropped = out?.dropped ?? 0;
    this.counts = counts;
    this.items = itemsOut(program, counts, amount.items);
    this.#program = program;
    this.#device = device;
    this.#input = input;
    this.#arrays = required(streams.get(program.input.external.id)).arrays;
    this.#warmStates = program.warmStates;
    const scalars = Math.max(0, this.items - this.#dropped) * scalarCount(program.output.external.type);
    if (out !== undefined && out.array.length < scalars) throw refusal('out', `at least ${scalars} elements`, String(out.array.length));
    this.#output = out?.array.subarray(0, scalars);
    this.#borrowed = borrowed;
    this.stateBytes = [program.input, program.output].reduce((sum, { external, kinds, items }) => {
      const counted = countsOf(external.type);
      return sum + kinds.reduce((bytes, kind) => bytes + items * counted[kind] * (kind === 'd' ? 8 : 4), 0);
    }, 0);
  }

  /** Scalars of all output items, in memory order. */
  get output(): Scalars {
    return this.#output ??= this.#room();
  }

  #room(): Scalars {
    const { type } = this.#program.output.external;
    const [only, ...others] = kindsIn(countsOf(type));
    const scalars = this.items * scalarCount(type);
    try {
      const kind = only === undefined || others.length > 0 ? 'd' : only;
      this.#lent = lentResult(this.#device, elementTypes[kind], scalars);
      // The pages of others are made by the threads that write them.
      return this.#lent?.array as Scalars | undefined ?? makeArray(kind, scalars);
    } catch (error) {
      throw outOfMemory(`there is no memory for ${this.items} items of output: ask for fewer at a time`, scalars * 8, error);
    }
  }

  part(begin: number, end: number): Promise<ArrayLike<number>> {
    const width = scalarCount(this.#program.input.external.type);
    return Promise.resolve(partOf(this.#input, begin * width, end * width));
  }

  partNow(begin: number, end: number): ArrayLike<number> {
    const width = scalarCount(this.#program.input.external.type);
    return partOf(this.#borrowed?.readable ?? this.#input, begin * width, end * width);
  }

  mayQueue(states: number, { bytes, spans }: { readonly bytes: number; readonly spans: number }): boolean {
    return this.#queued.spans < spans && (this.#queued.states + states) * this.stateBytes <= bytes;
  }

  put(scalars: Scalars, item: number): Promise<void> {
    const width = scalarCount(this.#program.output.external.type);
    if (this.#output === undefined && item === 0 && scalars.length === this.items * width) this.#output = scalars;
    else this.output.set(scalars.subarray(Math.max(0, this.#dropped - item) * width), Math.max(0, item - this.#dropped) * width);
    return Promise.resolve();
  }

  span(state: number, states: number): Span {
    const { input: source } = this.#program;
    const firstInput = this.#warmStates * source.items;
    const begin = source.before + state * source.items - firstInput;
    const end = source.before + (state + states) * source.items + source.external.later.beyond;
    const takes = countsOf(source.external.type);
    const arrays = this.#arraysFor(states, end - begin);
    const { input, output } = arrays;
    let isTaken = false, isDone = false;
    this.#count(1, states);
    const written = Promise.all(input.map((array, at) => {
      const kind = elementAt(source.kinds, at);
      return array.write(required(this.#arrays[kind]).subarray(begin * takes[kind], end * takes[kind]));
    }));
    written.catch(nothing); // reported by take()
    const take = async (signal: AbortSignal | undefined): Promise<void> => {
      await Promise.all([written, this.#take(output, state, states, signal)]);
      isTaken = true;
    };
    const dispose = (): void => {
      if (!isDone) this.#count(-1, -states);
      isDone = true;
      if (isTaken && !this.#isDisposed) this.#free.push(arrays);
      else disposeOf(arrays);
    };
    return { input, output, firstInput, firstOutput: 0, take, dispose };
  }

  #count(spans: number, states: number): void {
    this.#queued = { spans: this.#queued.spans + spans, states: this.#queued.states + states };
  }

  /** Arrays for so many steady states and items of input: those of an earlier span, or new ones. */
  #arraysFor(states: number, items: number): SpanArrays {
    const { input: source, output: sink } = this.#program;
    for (let found = this.#free.pop(); found !== undefined; found = this.#free.pop()) {
      if (found.states === states && found.items === items) return found;
      disposeOf(found);
    }
    const make = ({ external: { type }, kinds }: FusedEnd, count: number): DeviceArray[] => kinds.map((kind) =>
      resultArray(this.#device, elementTypes[kind], count * countsOf(type)[kind]));
    return { states, items, input: make(source, items), output: make(sink, states * sink.items) };
  }

  whileBusy(): void {
    this.#lent?.prepare();
  }

  /** The output, for the caller. */
  handOut(): Scalars {
    const { output } = this, lent = this.#lent;
    if (lent?.array !== output) return output;
    this.#lent = undefined;
    return this.#output = lent.settle() as Scalars;
  }

  /** Frees the memory on the device that spans have used, and what nobody is to see of the output. */
  dispose(): void {
    this.#isDisposed = true;
    this.#lent?.drop();
    this.#lent = undefined;
    provideLent(this.#device);
    for (const arrays of this.#free.splice(0)) disposeOf(arrays);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  async #take(made: StreamMemory, state: number, states: number, signal: AbortSignal | undefined): Promise<void> {
    const { external: { type }, kinds, items, before } = this.#program.output;
    const width = scalarCount(type);
    const options = signal === undefined ? {} : { signal };
    const first = before + state * items, shown = (item: number): number => Math.max(0, item - this.#dropped) * width;
    const to = this.output.subarray(shown(first), shown(first + states * items));
    if (kinds.length === 1 && first >= this.#dropped) {
      const array = required(made[0]);
      await Promise.all(this.#isOwn ? [array.read(unseenPart(to), 0, options)]
        : piecesOf(to).map(([at, piece]) => array.read(piece, at, options)));
      return;
    }
    const parts = await Promise.all(made.map((array) => array.read(undefined, 0, options)));
    await this.put(joinItems(Object.fromEntries(kinds.map((kind, i) => [kind, parts[i]])), type, states * items), first);
  }
}

/** Items in device arrays; all their scalars are of one kind. */
export class DeviceEnds implements Ends {
  readonly counts: RunCounts;
  readonly items: number;
  readonly stateBytes = 0;
  readonly #program: FusedProgram;
  readonly #input: DeviceArray;
  readonly #output: DeviceArray;

  constructor(program: FusedProgram, counts: RunCounts, items: number, input: DeviceArray, output: DeviceArray) {
    this.counts = counts;
    this.items = items;
    this.#program = program;
    this.#input = input;
    this.#output = output;
  }

  async part(begin: number, end: number): Promise<ArrayLike<number>> {
    const { external: { type }, kinds } = this.#program.input;
    const width = scalarCount(type);
    const last = Math.min(end, Math.floor(this.#input.length / width));
    const scalars = makeArray(kinds[0] as Kind, Math.max(0, last - begin) * width);
    if (scalars.length > 0) await this.#input.read(scalars, begin * width);
    return scalars;
  }

  async put(scalars: Scalars, item: number): Promise<void> {
    if (scalars.length > 0) await this.#output.write(scalars, item * scalarCount(this.#program.output.external.type));
  }

  span(state: number): Span {
    const { input: source, output: sink } = this.#program;
    return {
      input: [this.#input], output: [this.#output], firstInput: source.before + state * source.items,
      firstOutput: sink.before + state * sink.items, take: () => Promise.resolve(), dispose: nothing,
    };
  }
}
