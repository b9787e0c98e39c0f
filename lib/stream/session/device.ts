// Sessions on devices. As in runs (run/gpu.ts), WebAssembly makes what preworks and filling windows leave behind at the start, and what
// comes after the last whole steady state; the device makes all whole steady states between, slice by slice. Up to three slices are under
// way, so that one is uploaded and one downloaded while a third is computed.
import { setMaxListeners } from 'node:events';
import { DeviceArray, inputArray, resultArray } from '../../core/device.ts';
import { refusal } from '../../core/errors.ts';
import { required } from '../../core/known.ts';
import { snapshot } from '../../core/snapshot.ts';
import { scalarCount } from '../interpret/values.ts';
import type { StreamGraph } from '../graph.ts';
import { countsOf, makeArray } from '../plan/layout.ts';
import { startMatters } from '../plan/start.ts';
import { whileBusy } from '../run/activity.ts';
import type { DeviceBackend } from '../run/backends.ts';
import { elementTypes } from '../run/gpu-ends.ts';
import type { CompiledGpu } from '../run/gpu.ts';
import { noteLost } from '../run/lost.ts';
import { joinItems, type Scalars } from '../run/prepare.ts';
import { SessionState } from './device-state.ts';
import { joined, madeOf, requireArray } from './device-ends.ts';
import { InOrder, scalarsFrom, widthOf, type Made, type MadeArray, type Outlet, type SessionEngine } from './engine.ts';
import { ItemQueue } from './items.ts';
import { inFlight } from './pieces.ts';
import { Progress } from './progress.ts';
import { WasmEngine, type CompiledOptions } from './wasm.ts';

/** Steady states that are made together. */
interface Slice {
  readonly state: number;
  readonly states: number;
  /** What they give; undefined: the device cannot make one of them. */
  readonly made: Promise<Made | undefined>;
}

/** A run on a device. */
export class DeviceEngine implements SessionEngine {
  readonly backend: DeviceBackend;
  readonly depth = inFlight;
  readonly #compiled: CompiledGpu;
  readonly #graph: StreamGraph;
  readonly #outlet: Outlet;
  readonly #options: CompiledOptions;
  readonly #stop: AbortSignal;
  readonly #submissions: InOrder;
  readonly #results: InOrder;
  readonly #progress: Progress;
  /** Items that slices still need. */
  readonly #queue: ItemQueue;
  /** Steady states that a slice has at most. */
  readonly #most: number;
  /** What precedes the device's first steady state; how many items it was given. */
  readonly #start: WasmEngine;
  #started = 0;
  /** Items of output that were given. */
  #delivered = 0;
  /** The device's first steady state, and the next one that will be submitted. */
  readonly #from: number;
  #next: number;
  readonly #underWay = new Set<Promise<unknown>>();
  /** What slices hand on to each other, in programs with state. */
  readonly #state: SessionState | undefined;
  /** A slice of a program with state went wrong: what it began with is still needed, and nothing that follows counts. */
  #hasFailed = false;
  /** What takes over where the device cannot go on, and at the end. */
  #rest: { readonly engine: WasmEngine; given: number; dropped: number } | undefined;

  /** @param chunk items of input of a slice */
  constructor(
    graph: StreamGraph, compiled: CompiledGpu, outlet: Outlet, options: CompiledOptions & { readonly chunk: number }, stop: AbortSignal,
  ) {
    const { program, device } = compiled;
    this.backend = device.backend as DeviceBackend;
    this.#compiled = compiled;
    this.#graph = graph;
    this.#outlet = outlet;
    this.#options = options;
    this.#stop = stop;
    setMaxListeners(0, stop); // every slice under way listens
    this.#submissions = new InOrder(stop);
    this.#results = new InOrder(stop);
    this.#progress = new Progress(program.plan, outlet);
    this.#queue = new ItemQueue(required(graph.input).type);
    this.#from = this.#next = program.startStates + compiled.warmStates;
    const most = Math.max(program.states, Math.floor(options.chunk / this.#progress.taken));
    if (compiled.hasState) this.#state = new SessionState(graph, compiled, { files: options.files, seed: options.seed }, stop);
    this.#most = this.#state === undefined ? most : Math.max(1, Math.floor(most / this.#state.round)) * this.#state.round;
    this.#start = new WasmEngine(graph, outlet, options, stop);
  }

  push(numbers: ArrayLike<number>): Promise<Made> {
    const own = snapshot(numbers);
    return this.#collect(this.#submissions.do(() => {
      this.#queue.append(own);
      return this.#submit(this.#queue.total);
    }));
  }

  /** Items of input that slices hold back, beside those of a steady state. */
  get heldBack(): number {
    return this.#state === undefined ? 0 : (this.#state.round - 1) * this.#progress.taken;
  }

  takes(array: unknown): array is DeviceArray {
    return array instanceof DeviceArray;
  }

  pushArray(array: DeviceArray): Promise<MadeArray> {
    requireArray('items', array, this.#compiled.program.input, this.#compiled.device);
    requireArray('items', array, this.#compiled.program.output, undefined);
    return this.#submissions.do(() => this.#fromArray(array)).catch((error: unknown) => {
      noteLost(this.#compiled.device, error);
      throw error;
    });
  }

  end(): Promise<Made> {
    return this.#collect(this.#submissions.do(async () => {
      const { total } = this.#queue;
      const pieces = await this.#submit(total);
      return [...pieces, () => this.#finish(total)];
    }));
  }

  pull(): Promise<Made> {
    return Promise.resolve({ output: scalarsFrom([], this.#outlet.type), text: '' });
  }

  dispose(): void {
    this.#state?.dispose();
    this.#start.dispose();
    this.#rest?.engine.dispose();
  }

  /**
   * Makes what an array completes: by what lies before it, and its first items, in JavaScript's memory; by the array itself; and what it
   * leaves for the next one goes to JavaScript's memory again.
   */
  async #fromArray(array: DeviceArray): Promise<MadeArray> {
    const { program: { input, output }, device } = this.#compiled;
    const queue = this.#queue;
    if (queue.hasPart) throw refusal('items', 'whole items before those of a DeviceArray', 'a part of an item');
    const [taken, given] = [scalarCount(input.external.type), scalarCount(output.external.type)];
    const begin = queue.total, end = begin + array.length / taken;
    const read = async (from: number, to: number): Promise<void> => {
      const numbers = makeArray(required(input.kinds[0]), (to - from) * taken);
      if (numbers.length > 0) await array.read(numbers, (from - begin) * taken, { signal: this.#stop });
      queue.append(numbers);
    };
    const states = this.#wholeStates(this.#progress.states(end));
    await this.#results.do(() => Promise.resolve());
    const before = this.#delivered;
    /** Where the output of steady states up to one ends in the new array. */
    const lengthAt = (state: number): number => (this.#progress.passed('output', state) - before) * given;
    const inside = this.#firstInside(begin, states);
    if (this.#rest !== undefined || inside >= states) {
      await read(begin, end);
      const { output: numbers, error } = await this.#collect(this.#submit(end));
      return { output: inputArray(device, numbers), ...(error === undefined ? {} : { error }) };
    }
    await read(begin, this.#progress.needed(inside));
    const first = await this.#collect(this.#submit(queue.total));
    if (first.error !== undefined) return { output: inputArray(device, first.output), error: first.error };
    await this.#state?.begin(this.#from, (from, to) => this.#scalars(from, to));
    const made = resultArray(device, elementTypes[required(output.kinds[0])], lengthAt(states));
    try {
      if (first.output.length > 0) await made.write(first.output, 0, { signal: this.#stop });
      const { good, error: failed } = await this.#inArray(array, made, { begin, before, from: inside, to: states });
      this.#next = states;
      this.#delivered += made.length / given - first.output.length / given;
      queue.restart(this.#neededFrom(good));
      await read(queue.total, end);
      if (good === states) return { output: made };
      const rest = failed === undefined ? await this.#byRest(good, this.#progress.needed(states))
        : madeOf(scalarsFrom([], this.#outlet.type), failed);
      if (rest.output.length > 0) await made.write(rest.output, lengthAt(good), { signal: this.#stop });
      if (rest.error === undefined) return { output: made };
      const numbers = makeArray(required(output.kinds[0]), lengthAt(good) + rest.output.length);
      await made.read(numbers, 0, { signal: this.#stop });
      made.dispose();
      return { output: inputArray(device, numbers), error: rest.error };
    } catch (error) {
      made.dispose();
      throw error;
    }
  }

  /** The first steady state for which an array that begins with an item holds all that its blocks need, and a run that takes over. */
  #firstInside(begin: number, states: number): number {
    const { program: { input }, warmStates } = this.#compiled;
    const each = this.#progress.taken, round = this.#state?.round ?? 1;
    const first = Math.max(this.#next, Math.ceil((begin - input.before) / each) + warmStates, Math.ceil(begin / each) + this.#back(states));
    return this.#next + Math.ceil((first - this.#next) / round) * round;
  }

  /** Makes steady states of an array; tells the first that failed, or was not made because another did, and why if it has to be known. */
  async #inArray(
    array: DeviceArray, made: DeviceArray,
    { begin, before, from, to }: { readonly begin: number; readonly before: number; readonly from: number; readonly to: number },
  ): Promise<{ readonly good: number; readonly error?: Error | undefined }> {
    const { program: { input } } = this.#compiled;
    for (let state = from; state < to;) {
      const states = Math.min(this.#most, to - state);
      const firstInput = input.before + state * input.items - begin, firstOutput = this.#progress.passed('output', state) - before;
      const span = {
        input: [array], output: [made], firstInput, firstOutput, states, signal: this.#stop, state: this.#state?.next(state),
      };
      const { fault } = await whileBusy(this.#compiled.device, () => this.#compiled.launch(span));
      if (fault !== undefined) {
        return this.#state === undefined ? { good: state } : { good: state + fault, error: await this.#state.errorIn(span, fault) };
      }
      state += states;
    }
    return { good: to };
  }

  /** Submits what so many items suffice for. Its pieces give what they make, called in order. */
  async #submit(total: number): Promise<(() => Promise<Made>)[]> {
    const pieces: (() => Promise<Made>)[] = [];
    const startItems = this.#progress.needed(this.#from);
    if (this.#started < startItems) {
      const end = Math.min(total, startItems);
      const made = this.#start.push(this.#scalars(this.#started, end));
      made.catch(() => undefined);
      this.#started = end;
      pieces.push(() => made);
    }
    const states = this.#wholeStates(this.#progress.states(total));
    const part = (from: number, to: number): Scalars => this.#scalars(from, Math.min(to, this.#queue.total));
    if (this.#next < states && await this.#state?.begin(this.#from, part) === false) return pieces;
    while (this.#next < states) {
      while (this.#underWay.size >= inFlight) await Promise.race(this.#underWay);
      this.#stop.throwIfAborted();
      if (this.#hasFailed) break;
      const slice = this.#slice(this.#next, Math.min(this.#most, states - this.#next));
      this.#next += slice.states;
      pieces.push(() => this.#made(slice));
    }
    return pieces;
  }

  /** Steady states up to which slices are made, of those that the input suffices for. */
  #wholeStates(states: number): number {
    const round = this.#state?.round ?? 1;
    return states <= this.#next ? states : this.#next + Math.floor((states - this.#next) / round) * round;
  }

  /** What pieces make, in order, up to the first that fails. */
  #collect(submitted: Promise<readonly (() => Promise<Made>)[]>): Promise<Made> {
    submitted.catch(() => undefined);
    return this.#results.do(async () => {
      const made: Made[] = [];
      for (const piece of await submitted) {
        made.push(await piece());
        if (made.at(-1)?.error !== undefined) break;
      }
      const error = made.at(-1)?.error;
      const output = joined(made.map((each) => each.output), this.#outlet);
      this.#delivered += output.length / widthOf(this.#outlet.type);
      return { output, text: '', ...(error === undefined ? {} : { error }) };
    });
  }

  /** Scalars of items of the input. */
  #scalars(from: number, to: number): Scalars {
    const { type } = required(this.#graph.input);
    return joinItems(this.#queue.view(from, to), type, to - from);
  }

  /** Submits a slice to the device. */
  #slice(state: number, states: number): Slice {
    const made = whileBusy(this.#compiled.device, () => this.#launch(state, states));
    this.#underWay.add(made);
    made.catch(() => undefined).finally(() => { this.#underWay.delete(made); });
    return { state, states, made };
  }

  async #launch(state: number, states: number): Promise<Made | undefined> {
    if (this.#rest !== undefined) return undefined;
    const { device, program: { input, output }, warmStates } = this.#compiled;
    const firstInput = warmStates * input.items;
    const begin = input.before + state * input.items - firstInput;
    const end = input.before + (state + states) * input.items + input.external.later.beyond;
    const arrays = this.#queue.view(begin, end);
    const made: DeviceArray[] = [];
    const keep = (array: DeviceArray): DeviceArray => {
      made.push(array);
      return array;
    };
    const free = (): void => { for (const array of made) array.dispose(); };
    const signal = this.#stop;
    signal.addEventListener('abort', free, { once: true });
    try {
      const counts = countsOf(output.external.type);
      const inputs = input.kinds.map((kind) => keep(inputArray(device, required(arrays[kind]))));
      const outputs = output.kinds.map((kind) => keep(resultArray(device, elementTypes[kind], states * output.items * counts[kind])));
      const span = { input: inputs, output: outputs, firstInput, firstOutput: 0, states, signal, state: this.#state?.next(state) };
      const [{ fault }, ...parts] = await Promise.all(
        [this.#compiled.launch(span), ...outputs.map((array) => array.read(undefined, 0, { signal }))]);
      if (fault !== undefined && this.#state === undefined) return undefined;
      this.#hasFailed ||= fault !== undefined;
      const error = fault === undefined ? undefined : await this.#state?.errorIn(span, fault);
      const whole = Object.fromEntries(output.kinds.map((kind, i) => [kind, parts[i]]));
      return madeOf(joinItems(whole, output.external.type, (fault ?? states) * output.items), error);
    } catch (error) {
      noteLost(device, error);
      // WebAssembly makes what the device has no memory for, or none for the copies of several slices at once.
      const { code } = error as { code?: unknown };
      if (this.#state !== undefined) throw error;
      if ((code === 'ERR_WARPLOOM_OUT_OF_MEMORY' || code === 'ERR_WARPLOOM_QUEUE_FULL') && !signal.aborted) return undefined;
      throw error;
    } finally {
      signal.removeEventListener('abort', free);
      free();
    }
  }

  /** What a slice gives; where the device cannot make it, WebAssembly makes it, and everything after it. */
  async #made({ state, states, made: making }: Slice): Promise<Made> {
    const made = this.#rest === undefined ? await making : undefined;
    if (made === undefined) return this.#byRest(state, this.#progress.needed(state + states));
    this.#forget(state + states);
    return made;
  }

  /** Steady states before another that must be made again before it can be made. */
  #back(state: number): number {
    const { plan, output: { before, items } } = this.#compiled.program;
    const matters = startMatters(plan) ?? 0;
    return Math.min(state, matters < 0 ? 0 : matters + Math.ceil(before / items));
  }

  /** The first item that is needed from a steady state on. */
  #neededFrom(state: number): number {
    const { taken } = this.#progress;
    const { program: { input }, warmStates } = this.#compiled;
    return Math.min(input.before + (state - warmStates) * taken, (state - this.#back(state)) * taken);
  }

  /** Drops items that are not needed from a steady state on. */
  #forget(state: number): void {
    this.#queue.drop(Math.max(0, this.#neededFrom(state) - this.#queue.first));
  }

  /** Has WebAssembly go on from a steady state on, with items up to one of the input. */
  async #byRest(state: number, to: number): Promise<Made> {
    const { taken } = this.#progress;
    const { before, items } = this.#compiled.program.output;
    const back = this.#back(state);
    const rest = this.#rest ??= {
      engine: new WasmEngine(this.#graph, this.#outlet, this.#options, this.#stop), given: (state - back) * taken,
      dropped: back * items + before,
    };
    const numbers = this.#scalars(rest.given, to);
    rest.given = to;
    this.#queue.drop(Math.max(0, to - this.#queue.first));
    return this.#kept(await rest.engine.push(numbers));
  }

  /** What is left of what takes over gives, without what was there before. */
  #kept({ output, ...made }: Made): Made {
    const rest = required(this.#rest);
    const width = scalarCount(required(this.#outlet.type));
    const dropped = Math.min(rest.dropped, output.length / width);
    rest.dropped -= dropped;
    return { ...made, output: output.subarray(dropped * width) };
  }

  async #finish(total: number): Promise<Made> {
    if (this.#progress.states(total) < this.#from) return this.#start.end();
    if (this.#state !== undefined) {
      const part = (from: number, to: number): Scalars => this.#scalars(from, Math.min(to, total));
      if (!await this.#state.begin(this.#from, part)) return madeOf(scalarsFrom([], this.#outlet.type));
      return { ...await this.#state.last(this.#next, total, part), text: '' };
    }
    const before = await this.#byRest(this.#next, total);
    if (before.error !== undefined) return before;
    const after = this.#kept(await required(this.#rest).engine.end());
    return { ...after, output: joined([before.output, after.output], this.#outlet) };
  }
}
