// A benchmark program on a device: random input that repeats itself, launches that are timed, and a check of every item that comes out
// against C++ as the original compiler writes it (or WebAssembly where there is no C++ compiler), bit for bit. What a program without state
// makes repeats itself as its input does; of programs with state, all of it is made beforehand, so their launches are shorter.
import { randomInput, type BenchmarkProgram } from '../examples/stream/programs.ts';
import type { Device, DeviceArray } from '../lib/core/device.ts';
import { NoCompilerError } from '../lib/core/compile/compiler.ts';
import type { StreamGraph } from '../lib/stream/graph.ts';
import { countRun } from '../lib/stream/plan/counts.ts';
import { compileCpp } from '../lib/stream/run/cpp.ts';
import { DeviceEnds, elementTypes, itemsOut } from '../lib/stream/run/gpu-ends.ts';
import { Carry, stateBefore } from '../lib/stream/run/gpu-state.ts';
import type { CompiledGpu } from '../lib/stream/run/gpu.ts';
import { compiledWasm, compileWasm } from '../lib/stream/run/wasm.ts';
import { summarise } from './statistics.ts';
import { anchorOf } from './stream-programs.ts';

export type Items = Int32Array | Float32Array;

/** Bytes that a launch reads and writes, with state and without, and the longest one: what is more is made shorter. */
const launchBytes = 2e9, stateLaunchBytes = 1e9, mostLaunchSeconds = 0.1;
/** Seconds of launches before the first that counts, and of those that do. */
const warmSeconds = 0.05, timedSeconds = 1.5;
/** Items of input, about, after which it repeats itself; and seconds in which one core makes what must come out. */
const mostPeriodItems = 2 ** 20, referenceSeconds = 0.5;
const quickPeriodItems = 3000;

/** Launches of one compiled program. */
export interface LaunchTiming {
  /** Items of output a second, of the best launch. */
  readonly best: number;
  readonly spread: number;
  readonly launches: number;
  /** Bytes read and written a second, of the best launch. */
  readonly bytesPerSecond: number;
}

export const bytesOf = (items: Items): Uint8Array => new Uint8Array(items.buffer, items.byteOffset, items.byteLength);

/** What comes out of a run without end. */
class Expected {
  /** Items of the start and of one period, which come again and again; with a start without end, all there are. */
  readonly #items: Items;
  readonly #start: number;

  constructor(items: Items, start: number) {
    this.#items = items;
    this.#start = start;
  }

  /** Throws unless these are the items from item `first` on. */
  require(found: Items, first: number, id: string): void {
    const period = this.#items.length - this.#start;
    for (let done = 0; done < found.length;) {
      const item = first + done;
      const place = item < this.#start ? item : this.#start + (item - this.#start) % period;
      const expected = this.#items.subarray(place, place + found.length - done);
      if (expected.length === 0) throw new RangeError(`${id}: nobody knows what item ${item} must be`);
      const part = found.subarray(done, done + expected.length);
      if (Buffer.compare(bytesOf(part), bytesOf(expected)) !== 0) {
        const bits = [part, expected].map((items) => new Int32Array(items.buffer, items.byteOffset, items.length));
        const at = bits[0]!.findIndex((value, i) => value !== bits[1]![i]);
        throw new Error(`${id}: item ${item + at} is ${part[at]}, on the CPU ${expected[at]}`);
      }
      done += expected.length;
    }
  }
}

/** What the CPU makes of an input. */
async function onCpu(graph: StreamGraph, input: Items): Promise<Items> {
  try {
    return (await (await compileCpp(graph, { baseline: true })).run(input)).output as Items;
  } catch (error) {
    if (!(error instanceof NoCompilerError)) throw error;
    return compileWasm(graph).run(input).output as Items;
  }
}

/** The input of a program on a device, with room for launches of any variant of it. All its items are single numbers. */
export class StreamWork {
  readonly name: string;
  readonly #device: Device;
  readonly #quick: boolean;
  /** One period of the input. */
  readonly #period: Items;
  readonly #expected: Expected;
  readonly #input: DeviceArray;
  /** Steady states of the input. */
  readonly #states: number;
  readonly #graph: StreamGraph;

  private constructor(
    name: string, graph: StreamGraph, device: Device, quick: boolean, period: Items, expected: Expected, input: DeviceArray, states: number,
  ) {
    this.#graph = graph;
    this.name = name;
    this.#device = device;
    this.#quick = quick;
    this.#period = period;
    this.#expected = expected;
    this.#input = input;
    this.#states = states;
  }

  /** @param compiled the program with the default layout */
  static async open(program: BenchmarkProgram, graph: StreamGraph, compiled: CompiledGpu, quick: boolean): Promise<StreamWork> {
    const { device, warmStates, program: { input: source, output: sink, startStates, states: round } } = compiled;
    const lead = startStates + warmStates;
    const rate = anchorOf(program).original / sink.items * source.items;
    const periodItems = quick ? quickPeriodItems : Math.min(mostPeriodItems, rate * referenceSeconds);
    const periodStates = Math.max(1, Math.round(periodItems / source.items));
    const period = randomInput(program, periodStates * source.items);
    const itemsIn = (states: number): number => source.before + states * source.items + source.external.later.beyond;
    const start = sink.before + lead * sink.items;
    const isPeriodic = compiled.program.state === undefined;
    const bytes = isPeriodic ? launchBytes : stateLaunchBytes;
    // A part of a round is left over.
    const states = quick ? 2 * lead + 5 * round + 1 : lead + Math.ceil(bytes / bytesEach(compiled));
    const made = isPeriodic ? lead + periodStates : states;
    const output = await onCpu(graph, repeated(period, itemsIn(made)));
    const expected = new Expected(output.subarray(0, sink.before + made * sink.items), isPeriodic ? start : Infinity);
    const input = await device.array(period instanceof Int32Array ? 'int32' : 'float32', itemsIn(states));
    const chunk = repeated(period, Math.ceil(mostPeriodItems * 4 / period.length) * period.length);
    for (let at = 0; at < input.length; at += chunk.length) await input.write(chunk.subarray(0, input.length - at), at);
    return new StreamWork(program.name, graph, device, quick, period, expected, input, states);
  }

  /** Steady states up to which it is known what comes out: without end, unless the program has state. */
  knownStates({ program: { state } }: CompiledGpu): number {
    return state === undefined ? Infinity : this.#states;
  }

  /** Input in the memory of the host. */
  hostInput(items: number): Items {
    return repeated(this.#period, items);
  }

  /** Throws unless these are the first items that come out of a run on such input. */
  requireOutput(found: ArrayLike<number>, id: string): void {
    this.#expected.require(found as Items, 0, id);
  }

  /**
   * Times launches of the program in some layout, and checks all that they wrote unless it may differ in rounding. `forSeconds`: of
   * launches that count.
   */
  async time(compiled: CompiledGpu, id: string, { isExact = true, forSeconds = timedSeconds } = {}): Promise<LaunchTiming> {
    const { warmStates, program: { input: source, output: sink, startStates } } = compiled;
    const from = startStates + warmStates;
    // With state, launches make whole rounds.
    const whole = (count: number): number => (compiled.program.state === undefined ? count : count - count % compiled.program.states);
    let states = whole(this.#states - from);
    const state = compiled.program.state && await stateBefore(compiled.program, compiledWasm(this.#graph), {
      part: (begin, end) => Promise.resolve(this.hostInput(end).subarray(begin)),
    }, from, {});
    if (2 * from > this.#states) throw new RangeError(`${id}: blocks begin ${from} steady states early, more than half of the input`);
    // New arrays are zero: what an earlier layout wrote does not count.
    using output = await this.#device.array(elementTypes[sink.kinds[0]!], sink.before + this.#states * sink.items);
    // By schedules of chapter 3, what launches hand on lies in their rings: the device makes all but the start of a run.
    const isOrdered = compiled.hasState && state === undefined;
    const launch = async (): Promise<number> => {
      if (isOrdered) return this.#wholeRun(compiled, output);
      const carry = state && new Carry(this.#device, state);
      const { deviceSeconds, fault } = await compiled.launch({
        input: [this.#input], output: [output], firstInput: source.before + from * source.items,
        firstOutput: sink.before + from * sink.items, states, ...(carry === undefined ? {} : { state: carry.next(from) }),
      }).finally(() => { carry?.dispose(); });
      if (fault !== undefined) throw new Error(`${id}: steady state ${from + fault} went wrong`);
      return deviceSeconds;
    };
    let seconds = await this.#warm(launch);
    if (seconds > mostLaunchSeconds && !this.#quick && !isOrdered) {
      states = whole(Math.ceil(states * mostLaunchSeconds / seconds));
      seconds = await launch();
    }
    const all: number[] = [];
    const count = this.#quick ? 2 : Math.max(5, Math.min(21, Math.floor(forSeconds / seconds)));
    while (all.length < count) all.push(await launch());
    if (isExact) await this.#requireWritten(output, sink.before + from * sink.items, states * sink.items, id);
    const least = Math.min(...all);
    const bytesPerSecond = states * bytesEach(compiled) / least;
    return { best: states * sink.items / least, spread: summarise(all).spread, launches: count, bytesPerSecond };
  }

  /** Seconds on the device of a run on all of the input. */
  async #wholeRun(compiled: CompiledGpu, output: DeviceArray): Promise<number> {
    const { program } = compiled;
    const counts = countRun(program.plan, { input: this.#input.length, items: output.length });
    const { deviceSeconds, note } = await compiled.process(
      new DeviceEnds(program, counts, itemsOut(program, counts, output.length), this.#input, output), {});
    if (deviceSeconds === undefined || note !== undefined) throw new Error(`${this.name}: the CPU made the run: ${note}`);
    return deviceSeconds;
  }

  /** Launches until the device runs at its usual clock; seconds of the last one. */
  async #warm(launch: () => Promise<number>): Promise<number> {
    for (let sum = 0; ;) {
      const seconds = await launch();
      sum += seconds;
      if (this.#quick || sum >= warmSeconds) return seconds;
    }
  }

  async #requireWritten(output: DeviceArray, first: number, count: number, id: string): Promise<void> {
    const room = (output.type === 'int32' ? new Int32Array(Math.min(count, 4 * mostPeriodItems))
      : new Float32Array(Math.min(count, 4 * mostPeriodItems)));
    for (let done = 0; done < count; done += room.length) {
      const part = room.subarray(0, count - done);
      await output.read(part, first + done);
      this.#expected.require(part, first + done, id);
    }
  }

  dispose(): void {
    this.#input.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** Bytes that a steady state reads and writes in the device's memory. */
export function bytesEach({ program: { input, output } }: CompiledGpu): number {
  return 4 * (input.items + output.items);
}

/** `count` items, the period again and again. */
function repeated(period: Items, count: number): Items {
  const items = period instanceof Int32Array ? new Int32Array(count) : new Float32Array(count);
  items.set(period.subarray(0, count));
  for (let made = Math.min(period.length, count); made < count; made *= 2) items.copyWithin(made, 0, Math.min(made, count - made));
  return items;
}
