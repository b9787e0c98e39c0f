// Programs that are compiled for one device ahead of their first run, and that accept data on the device.
import { describeValue, holds, typedArrayName } from '../../core/arrays.ts';
import { isArray, rule, type Check } from '../../core/checks.ts';
import { DeviceArray, resultArray, type Device } from '../../core/device.ts';
import { DisposedError, refusal } from '../../core/errors.ts';
import { required } from '../../core/known.ts';
import { lenderOf } from '../../core/lent.ts';
import type { Kernel } from '../../core/module.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import type { LinearFilter } from '../algebra/index.ts';
import type { StreamGraph } from '../graph.ts';
import { amountChecks } from '../interpret/options.ts';
import { scalarCount } from '../interpret/values.ts';
import { dropInput, inputChecks, returnInput, stopChecks, takenInput } from '../options.ts';
import { countRun } from '../plan/counts.ts';
import { countsOf } from '../plan/layout.ts';
import { within } from '../stop.ts';
import type { FusedEnd } from '../targets/cuda-places.ts';
import { cpuNote, shareChoice, type DeviceBackend, type ShareChoice } from './backends.ts';
import { Borrowed } from './borrowed.ts';
import { DeviceEnds, elementTypes, itemsOut } from './gpu-ends.ts';
import type { CompiledGpu } from './gpu.ts';
import type { GpuWork, ScheduleFigures } from './gpu-types.ts';
import type { StreamRun } from './index.ts';
import { noteLost } from './lost.ts';
import type { RunResult, Scalars } from './prepare.ts';
import type { TunedLayouts } from './tune.ts';

/** Options of {@link DeviceProgram.run}. */
export interface DeviceProgramOptions {
  /** End after this many output items. Default: when the input ends. */
  readonly items?: number;
  /** End after this many steady states. */
  readonly iterations?: number;
  /** For data in JavaScript's memory: whether worker threads make some of it, as in `run`. Default `auto`. */
  readonly share?: ShareChoice;
  readonly signal?: AbortSignal;
  /** Time limit in milliseconds; default 600 000. */
  readonly timeout?: number;
}

/** The result of a run on arrays of the device. */
export interface DeviceProgramRun {
  /** Scalars of the items on the open output: the given array, or a new one. */
  readonly output: DeviceArray;
  /** Items on the open output. */
  readonly items: number;
  /** Whether the input ran out before `items` or `iterations` were reached. */
  readonly exhausted: boolean;
  readonly milliseconds: number;
  /** Seconds on the device; undefined if the run was too short for the device and ran on the CPU. */
  readonly deviceSeconds?: number;
}

const roomCheck: Check<DeviceArray | Scalars> = rule('a DeviceArray or a typed array',
  (value) => value instanceof DeviceArray || ArrayBuffer.isView(value));
const runOptions = optionsOf('run', {
  ...amountChecks, ...stopChecks, timeout: normally(stopChecks.timeout, 600_000), out: roomCheck,
  share: shareChoice,
} satisfies ChecksOf<DeviceProgramOptions & { readonly out?: DeviceArray | Scalars }>);

/**
 * A program on a device, made by `compileForDevice`. The device runs all whole steady states (with the modes of chapter 4, together with
 * CPU cores); the CPU runs what precedes them (preworks, windows that fill) and the last partial steady state. Free it with `using`,
 * {@link DeviceProgram.dispose}, or leave it to the garbage collector.
 */
export class DeviceProgram {
  /** The program that runs: with `algebraic`, the one in which linear filters are collapsed. */
  readonly graph: StreamGraph;
  /** With `algebraic`: the linear filters that replaced others; undefined without. */
  readonly algebraic: readonly LinearFilter[] | undefined;
  readonly device: Device;
  /** What the long search for the fastest layout found (`tune: true`); undefined without. */
  readonly tuned: TunedLayouts | undefined;
  readonly #compiled: CompiledGpu;
  #disposed = false;
  /** Runs that have not ended. */
  #running = 0;

  /** @internal Use `compileForDevice`. */
  constructor(graph: StreamGraph, compiled: CompiledGpu, { tuned, algebraic }: Partial<Pick<DeviceProgram, 'tuned' | 'algebraic'>> = {}) {
    this.graph = graph;
    this.device = compiled.device;
    this.tuned = tuned;
    this.algebraic = algebraic;
    this.#compiled = compiled;
  }

  /** The kernel as compiled for the device: its registers and memory. */
  get kernel(): Kernel {
    return this.#compiled.kernel;
  }

  /** What the schedule or plan comes to; undefined where all filters are one kernel (mode `fused`). */
  get schedule(): ScheduleFigures | undefined {
    return this.#compiled.figures;
  }

  /** Whether the program was disposed; every run then fails with ERR_WARPLOOM_DISPOSED. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * Runs the program from its start, with the same output bits as every other back end.
   * @param input scalars of the items on the open input, in memory order. Device arrays, pinned arrays and SharedArrayBuffers are read in
   * place: they must not change or be disposed before the call settles. Other arrays are copied at the call. Bits and booleans in a device
   * array must be 0 or 1.
   * @param options `out`: the array for the output, with room for all scalars: a device array if the input is one, otherwise a typed array
   * of the output's kind (a Float64Array for items of several kinds of numbers); a pinned one is written at the full speed of the link.
   * Its contents are undefined if the run fails. Default: a new array
   * @throws StreamRunError if the program faults, ArgumentError for arrays that do not fit it
   */
  run(input: ArrayLike<number>, options?: DeviceProgramOptions & { readonly out?: Scalars }): Promise<StreamRun>;
  run(input: DeviceArray, options?: DeviceProgramOptions & { readonly out?: DeviceArray }): Promise<DeviceProgramRun>;
  async run(
    input: ArrayLike<number> | DeviceArray, given: DeviceProgramOptions & { readonly out?: DeviceArray | Scalars } = {},
  ): Promise<StreamRun | DeviceProgramRun> {
    const { out, ...options } = runOptions.read(given);
    if (this.#disposed) throw new DisposedError('the program was disposed; compile it again');
    if (input instanceof DeviceArray) {
      if (out !== undefined && !(out instanceof DeviceArray)) throw refusal('out', 'a DeviceArray, as the input is', describeValue(out));
      if (options.share !== undefined) throw refusal('share', 'none for a DeviceArray, which only the device has', String(options.share));
      return this.#whileRunning(() => this.#runOnArrays(input, out, options));
    }
    if (!isArray(input)) throw refusal('input', 'an array, a typed array or a DeviceArray of numbers', describeValue(input));
    inputChecks.input(input, 'input');
    if (out !== undefined) this.#requireRoom(out, input);
    const { note, ...made } = await this.#runOnHostArrays(input, out as Scalars | undefined, options);
    const algebraic = this.algebraic === undefined ? {} : { algebraic: this.algebraic };
    if (note === undefined) return { ...made, ...algebraic, backend: this.device.backend as DeviceBackend };
    return { ...made, ...algebraic, backend: 'wasm', note: cpuNote(note) };
  }

  /** What it reads of the input later is copied when it returns. */
  #runOnHostArrays(
    input: ArrayLike<number>, out: Scalars | undefined, { share = 'auto', ...options }: DeviceProgramOptions,
  ): Promise<RunResult & GpuWork> {
    const lender = lenderOf(this.device);
    const { takesBorrowed, program: { input: { external } } } = this.#compiled;
    const borrowed = takesBorrowed ? Borrowed.of(input, external.type, lender) : undefined;
    if (borrowed === undefined) {
      const taken = takenInput(input, lender);
      const release = (): void => { returnInput(taken, input); };
      return this.#whileRunning(() => this.#compiled.run(taken, { ...options, share, release }, out)).finally(() => { dropInput(taken); });
    }
    const running = this.#whileRunning(() => this.#compiled.run(borrowed.input, { ...options, share, borrowed }, out));
    borrowed.returns();
    return running.finally(() => { borrowed.drop(); });
  }

  /** Keeps the module alive during a run, which consists of several launches. */
  async #whileRunning<T>(work: () => Promise<T>): Promise<T> {
    ++this.#running;
    try {
      return await work();
    } catch (error) {
      noteLost(this.device, error);
      throw error;
    } finally {
      if (--this.#running === 0 && this.#disposed) this.#compiled.dispose();
    }
  }

  async #runOnArrays(
    input: DeviceArray, out: DeviceArray | undefined, options: DeviceProgramOptions & { readonly timeout: number },
  ): Promise<DeviceProgramRun> {
    const { program } = this.#compiled;
    const { plan, input: source, output: sink } = program;
    this.#requireArray('input', input, source);
    const { items, iterations } = options;
    const counts = countRun(plan, {
      input: Math.floor(input.length / scalarCount(source.external.type)), ...(items === undefined ? {} : { items }),
      ...(iterations === undefined ? {} : { iterations }),
    });
    const made = itemsOut(program, counts, items);
    const length = made * scalarCount(sink.external.type);
    if (out !== undefined) {
      this.#requireArray('out', out, sink);
      if (out === input) throw refusal('out', 'another array than the input', 'the input');
      if (out.length < length) throw refusal('out', `at least ${length} elements`, String(out.length));
    }
    const output = out ?? resultArray(this.device, elementTypes[required(sink.kinds[0])], length);
    try {
      const work = await within(options, (signal) =>
        this.#compiled.process(new DeviceEnds(program, counts, made, input, output), { ...options, signal }));
      const { milliseconds, deviceSeconds } = work;
      return { output, items: made, exhausted: counts.exhausted, milliseconds, ...(deviceSeconds === undefined ? {} : { deviceSeconds }) };
    } catch (error) {
      if (out === undefined) output.dispose();
      throw error;
    }
  }

  /** Refuses what cannot take the output in JavaScript's memory. */
  #requireRoom(out: unknown, input: ArrayLike<number>): void {
    const [kind, ...others] = this.#compiled.program.output.kinds;
    const type = kind === undefined || others.length > 0 ? 'float64' : elementTypes[kind];
    if (!holds(out, type)) throw refusal('out', `a ${typedArrayName(type)}`, describeValue(out));
    if (ArrayBuffer.isView(input) && input.buffer === (out as Scalars).buffer) {
      throw refusal('out', 'memory of its own', "an array on the input's buffer");
    }
  }

  #requireArray(name: string, array: DeviceArray, { external: { type }, kinds }: FusedEnd): void {
    const [kind, ...others] = kinds;
    if (kind === undefined || others.length > 0) {
      throw refusal(name, "an array in JavaScript's memory, since the items have numbers of several types", 'a DeviceArray');
    }
    if (array.device !== this.device) throw refusal(name, "an array of the program's device", 'an array of another device');
    if (array.type !== elementTypes[kind]) throw refusal(name, `${elementTypes[kind]} elements`, array.type);
    if (name === 'input' && array.length % countsOf(type)[kind] !== 0) {
      throw refusal(name, `whole items of ${countsOf(type)[kind]} elements`, `${array.length} elements`);
    }
  }

  /** Frees the program once its pending runs have ended. Calling it again has no effect. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    if (this.#running === 0) this.#compiled.dispose();
  }

  /** The same as `dispose()`. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}
