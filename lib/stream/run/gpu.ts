// Programs on a device that runs kernels. What preworks leave behind at the start of a run, and what is left over at its end, WebAssembly
// makes; all whole steady states between are the device's, in launches that take a slice of the input each.
import { holds } from '../../core/arrays.ts';
import type { Device, DeviceArray } from '../../core/device.ts';
import { elementAt, required } from '../../core/known.ts';
import type { DeviceModule, Kernel } from '../../core/module.ts';
import { arithmeticHeader } from '../../kernel/print/c-family.ts';
import type { StreamGraph } from '../graph.ts';
import { scalarCount, typeBytes } from '../interpret/values.ts';
import { countsOf, kindsIn, makeArray, type Kind } from '../plan/layout.ts';
import { startMatters } from '../plan/start.ts';
import { fusedProgram, smallBlocks, type FusedEnd, type FusedOptions, type FusedProgram } from '../targets/cuda.ts';
import { within } from '../stop.ts';
import {
  joinItems, prepareRun, type PreparedRun, type RunResult, type Scalars, type StreamArrays, type ThreadOptions,
} from './prepare.ts';
import { compileWasm, type CompiledWasm } from './wasm.ts';

export interface GpuCompileOptions extends FusedOptions {
  /** Lets float operations be joined, so that outputs differ in rounding. */
  readonly fast?: boolean;
  readonly signal?: AbortSignal;
  readonly timeout?: number;
}

/** One array of a stream on the device for each kind of scalars. */
export type StreamMemory = readonly DeviceArray[];

/** Steady states on arrays of the device. */
export interface GpuSpan {
  readonly input: StreamMemory;
  readonly output: StreamMemory;
  /** Items before the first steady state in the arrays; on the input at least those of {@link CompiledGpu.warmStates}. */
  readonly firstInput: number;
  readonly firstOutput: number;
  readonly states: number;
  readonly signal?: AbortSignal;
}

const elementTypes = { i: 'int32', f: 'float32', d: 'float64' } as const;
/** No steady state went wrong. */
const noFault = 2 ** 31 - 1;
/** Turns that loops without known end may make in an iteration: more are left to the CPU. */
const turnsEach = 1e6;
/** Bytes of input and output in a launch, and the time that one should take. */
const launchBytes = 2 ** 27;
const launchSeconds = 0.02;
/** Launches that are under way at once. */
const inFlight = 3;
/** Rounds that a block makes for each one that it makes only to begin. */
const worthWarming = 8;

/** A program compiled for a device. */
export class CompiledGpu {
  readonly program: FusedProgram;
  readonly #device: Device;
  readonly #module: DeviceModule;
  readonly #wasm: CompiledWasm;
  readonly #kernel: Kernel;

  private constructor(program: FusedProgram, device: Device, module: DeviceModule, wasm: CompiledWasm) {
    this.program = program;
    this.#device = device;
    this.#module = module;
    this.#wasm = wasm;
    this.#kernel = required(module.kernels.get(program.kernel));
  }

  /**
   * Compiles a graph for a device. Throws UnsupportedProgram for programs with state and those that do not fit, ScheduleError where there
   * is no schedule, UnavailableError where nothing compiles device code.
   */
  static async compile(graph: StreamGraph, device: Device, options: GpuCompileOptions = {}): Promise<CompiledGpu> {
    const { fast, signal, timeout, ...how } = options;
    const made = async (program: FusedProgram): Promise<CompiledGpu> => new CompiledGpu(program, device, await device.module({
      source: program.source, kernels: [program.kernel], headers: { 'arithmetic.h': arithmeticHeader() },
      ...(fast === undefined ? {} : { fast }), ...(signal === undefined ? {} : { signal }), ...(timeout === undefined ? {} : { timeout }),
    }), compileWasm(graph));
    const program = fusedProgram(graph, how);
    const compiled = await made(program);
    if (compiled.kernel.residentBlocks(program.threads, program.sharedBytes) > 0) return compiled;
    // A GPU with less shared memory.
    compiled.dispose();
    return made(fusedProgram(graph, { ...how, ...smallBlocks }));
  }

  get kernel(): Kernel {
    return this.#kernel;
  }

  /** Steady states before those of a launch that its blocks make again, for what they leave on the channels. */
  get warmStates(): number {
    return this.program.warmRounds * this.program.states;
  }

  /** Runs the program from its start. `input`: scalars of the items on the open input. */
  async run(input: ArrayLike<number> | undefined, options: ThreadOptions): Promise<RunResult> {
    return within(options, (signal) => this.#run(input, { ...options, signal }));
  }

  /** Makes steady states whose items lie on the device; seconds that they took, and the first that went wrong, if any did. */
  async launch({ input, output, firstInput, firstOutput, states, signal }: GpuSpan): Promise<{ deviceSeconds: number; fault?: number }> {
    const { program } = this;
    const rounds = Math.ceil(states / program.states);
    const resident = this.#kernel.residentBlocks(program.threads, program.sharedBytes) * this.#device.description.multiprocessors;
    const each = Math.max(Math.ceil(rounds / Math.max(1, resident)), Math.min(rounds, worthWarming * program.warmRounds), 1);
    using fault = await this.#device.array(Int32Array.of(noFault));
    const { deviceSeconds } = await this.#module.launch(program.kernel, {
      blocks: Math.ceil(rounds / each), threads: program.threads, sharedBytes: program.sharedBytes,
      arguments: [
        ...input, ...output, fault, { i64: firstInput }, { i64: firstOutput }, { f64: turnsEach }, { i32: states }, { i32: each },
        { i32: program.warmRounds },
      ],
      ...(signal === undefined ? {} : { signal }),
    });
    const [first] = await fault.read() as Int32Array;
    return first === noFault ? { deviceSeconds } : { deviceSeconds, fault: required(first) };
  }

  async #run(input: ArrayLike<number> | undefined, options: ThreadOptions): Promise<RunResult> {
    const { startStates } = this.program;
    const run = prepareRun(this.program.plan, input, options);
    const from = startStates + this.warmStates, to = run.counts.steadyStates;
    if (to <= from || run.lines !== Infinity) return this.#wasm.runHereOrAside(input, options);
    const output = this.#roomFor(run);
    const before = this.#before(input, from, output, options);
    const seconds = await this.#middle(run, from, to, output, options.signal);
    if (seconds === undefined) return this.#wasm.runHereOrAside(input, options);
    const after = this.#after(input, to, output, options);
    const { counts } = run;
    return {
      output, printed: '', files: {}, firings: counts.firings, exhausted: counts.exhausted,
      milliseconds: before + 1000 * seconds + after,
    };
  }

  /** Scalars of all items that come out, in memory order. */
  #roomFor({ counts }: PreparedRun): Scalars {
    const { external } = this.program.output;
    const items = elementAt(counts.passed, this.program.plan.externals.indexOf(external));
    const [only, ...others] = kindsIn(countsOf(external.type));
    return others.length === 0 && only !== undefined ? makeArray(only, items * countsOf(external.type)[only])
      : new Float64Array(items * scalarCount(external.type));
  }

  /** The start of the run up to a steady state; milliseconds. */
  #before(input: ArrayLike<number> | undefined, states: number, output: Scalars, options: ThreadOptions): number {
    const items = this.program.output.before + states * this.program.output.items;
    if (items === 0) return 0;
    const made = this.#wasm.run(input, { ...pick(options), items });
    output.set(made.output);
    return made.milliseconds;
  }

  /** What comes out behind the last whole steady state; milliseconds. */
  #after(input: ArrayLike<number> | undefined, states: number, output: Scalars, options: ThreadOptions): number {
    const { plan, input: source, output: sink } = this.program;
    const width = scalarCount(sink.external.type);
    const done = sink.before + states * sink.items;
    const total = output.length / width;
    if (total === done) return 0;
    const matters = startMatters(plan) ?? 0;
    const back = Math.min(states, matters < 0 ? 0 : matters + Math.ceil(sink.before / Math.max(1, sink.items)));
    const begin = (states - back) * source.items * scalarCount(source.external.type);
    const part = input !== undefined && (holds(input, 'float32') || holds(input, 'int32') || holds(input, 'float64'))
      ? input.subarray(begin) : Array.prototype.slice.call(input, begin);
    const made = this.#wasm.run(part, { ...pick(options), items: back * sink.items + total - states * sink.items });
    output.set(made.output.subarray((back * sink.items + sink.before) * width), done * width);
    return made.milliseconds;
  }

  /** Steady states by the device; seconds that they took there, undefined where one went wrong. */
  async #middle(run: PreparedRun, from: number, to: number, output: Scalars, signal: AbortSignal | undefined): Promise<number | undefined> {
    const { input: source, output: sink } = this.program;
    const arrays = required(run.streams.get(source.external.id)).arrays;
    const bytes = source.items * typeBytes(source.external.type) + sink.items * typeBytes(sink.external.type);
    const most = Math.max(1, Math.floor(launchBytes / Math.max(1, bytes)));
    const whole = (states: number): number => Math.max(this.program.states, Math.floor(states / this.program.states) * this.program.states);
    let size = whole(Math.min(most, 64 * this.program.states * this.#device.description.multiprocessors));
    let seconds = 0;
    let isRight = true as boolean;
    const pending = new Set<Promise<void>>();
    let failure: unknown;
    for (let at = from; at < to && isRight && failure === undefined;) {
      signal?.throwIfAborted();
      const states = Math.min(size, to - at);
      const slice = this.#slice(arrays, at, states, output, signal).then(({ deviceSeconds, fault }) => {
        seconds += deviceSeconds;
        isRight &&= fault === undefined;
        if (states === size && deviceSeconds > 0) size = whole(Math.min(most, size * Math.min(8, launchSeconds / deviceSeconds)));
      }).catch((error: unknown) => { failure ??= error; }).finally(() => pending.delete(slice));
      pending.add(slice);
      at += states;
      if (pending.size >= inFlight) await Promise.race(pending);
    }
    await Promise.all(pending);
    if (failure !== undefined) throw failure;
    return isRight ? seconds : undefined;
  }

  /** One launch, with what it takes there and what it gives back. */
  async #slice(
    arrays: StreamArrays, at: number, states: number, output: Scalars, signal: AbortSignal | undefined,
  ): Promise<{ deviceSeconds: number; fault?: number }> {
    const { input: source, output: sink } = this.program;
    const { warmStates } = this;
    const begin = source.before + (at - warmStates) * source.items;
    const end = source.before + (at + states) * source.items + source.external.later.beyond;
    const input = await this.#arrays(source, (kind, width) => required(arrays[kind]).subarray(begin * width, end * width));
    const made = await this.#arrays(sink, (_, width) => states * sink.items * width);
    try {
      const done = await this.launch({
        input, output: made, firstInput: warmStates * source.items, firstOutput: 0, states, ...(signal === undefined ? {} : { signal }),
      });
      if (done.fault === undefined) await this.#take(made, at, states, output);
      return done;
    } finally {
      for (const array of [...input, ...made]) array.dispose();
    }
  }

  #arrays({ external, kinds }: FusedEnd, of: (kind: Kind, width: number) => Scalars | number): Promise<DeviceArray[]> {
    const counts = countsOf(external.type);
    return Promise.all(kinds.map((kind) => {
      const given = of(kind, counts[kind]);
      return typeof given === 'number' ? this.#device.array(elementTypes[kind], given) : this.#device.array(given);
    }));
  }

  /** Takes what came out of steady states. */
  async #take(made: readonly DeviceArray[], at: number, states: number, output: Scalars): Promise<void> {
    const { external, kinds, items, before } = this.program.output;
    const width = scalarCount(external.type);
    const to = output.subarray((before + at * items) * width, (before + (at + states) * items) * width);
    if (kinds.length === 1) {
      await required(made[0]).read(to);
      return;
    }
    const parts = await Promise.all(made.map((array) => array.read()));
    to.set(joinItems(Object.fromEntries(kinds.map((kind, i) => [kind, parts[i]])) as StreamArrays, external.type, states * items));
  }

  dispose(): void {
    this.#module.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** What a part of a run is told of the whole. */
function pick({ seed, maxTurns }: ThreadOptions): Pick<ThreadOptions, 'seed' | 'maxTurns'> {
  return { ...(seed === undefined ? {} : { seed }), ...(maxTurns === undefined ? {} : { maxTurns }) };
}
