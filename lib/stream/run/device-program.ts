// Programs compiled for one device: for data that lies there, and to compile before the first run.
import { describeValue } from '../../core/arrays.ts';
import { isArray, rule, type Check } from '../../core/checks.ts';
import { DeviceArray, resultArray, type Device } from '../../core/device.ts';
import { DisposedError, refusal } from '../../core/errors.ts';
import { required } from '../../core/known.ts';
import type { Kernel } from '../../core/module.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { snapshot } from '../../core/snapshot.ts';
import type { StreamGraph } from '../graph.ts';
import { amountChecks } from '../interpret/options.ts';
import { scalarCount } from '../interpret/values.ts';
import { inputChecks, stopChecks } from '../options.ts';
import { countRun } from '../plan/counts.ts';
import { countsOf } from '../plan/layout.ts';
import { within } from '../stop.ts';
import type { FusedEnd } from '../targets/cuda-layout.ts';
import { cpuNote, type DeviceBackend } from './backends.ts';
import { DeviceEnds, elementTypes, itemsOut } from './gpu-ends.ts';
import type { CompiledGpu, ScheduleFigures } from './gpu.ts';
import type { StreamRun } from './index.ts';

/** Options of {@link DeviceProgram.run}. */
export interface DeviceProgramOptions {
  /** End after this many output items. Default: when the input ends. */
  readonly items?: number;
  /** End after this many steady states. */
  readonly iterations?: number;
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
  /** Seconds on the device; undefined if the run was too short for it, so that the CPU made it. */
  readonly deviceSeconds?: number;
}

const deviceArray: Check<DeviceArray> = rule('a DeviceArray', (value) => value instanceof DeviceArray);
const runOptions = optionsOf('run', {
  ...amountChecks, ...stopChecks, timeout: normally(stopChecks.timeout, 600_000), out: deviceArray,
} satisfies ChecksOf<DeviceProgramOptions & { readonly out?: DeviceArray }>);

/**
 * A program on a device, made by `compileForDevice`. The device makes all whole steady states; the CPU makes what precedes them
 * (preworks, windows that fill) and the last partial one. Free it with `using`, {@link DeviceProgram.dispose}, or leave it to the garbage
 * collector.
 */
export class DeviceProgram {
  readonly graph: StreamGraph;
  readonly device: Device;
  readonly #compiled: CompiledGpu;
  #disposed = false;

  /** @internal Use `compileForDevice`. */
  constructor(graph: StreamGraph, compiled: CompiledGpu) {
    this.graph = graph;
    this.device = compiled.device;
    this.#compiled = compiled;
  }

  /** The kernel as compiled for the device: its registers and memory. */
  get kernel(): Kernel {
    return this.#compiled.kernel;
  }

  /** What the schedule comes to, with modes `swp`, `swpnc` and `serial`; undefined with `fused`. */
  get schedule(): ScheduleFigures | undefined {
    return this.#compiled.figures;
  }

  /** Whether the program was disposed; every run then fails with ERR_WARPLOOM_DISPOSED. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * Runs the program from its start, with the same output bits as every other back end.
   * @param input scalars of the items on the open input, in memory order. Those of a device array are not copied to the host and must not
   * change before the call settles; bits and booleans in it are 0 or 1.
   * @param options `out`: for device arrays: where to write, at least as many scalars as come out; default: a new array
   * @throws StreamRunError if the program faults, ArgumentError for arrays that do not fit it
   */
  run(input: ArrayLike<number>, options?: DeviceProgramOptions): Promise<StreamRun>;
  run(input: DeviceArray, options?: DeviceProgramOptions & { readonly out?: DeviceArray }): Promise<DeviceProgramRun>;
  async run(
    input: ArrayLike<number> | DeviceArray, given: DeviceProgramOptions & { readonly out?: DeviceArray } = {},
  ): Promise<StreamRun | DeviceProgramRun> {
    const { out, ...options } = runOptions.read(given);
    if (this.#disposed) throw new DisposedError('the program was disposed; compile it again');
    if (input instanceof DeviceArray) return this.#runOnArrays(input, out, options);
    if (!isArray(input)) throw refusal('input', 'an array, a typed array or a DeviceArray of numbers', describeValue(input));
    inputChecks.input(input, 'input');
    if (out !== undefined) throw refusal('out', 'none unless the input is a DeviceArray', 'a DeviceArray');
    const { note, ...made } = await this.#compiled.run(snapshot(input), options);
    if (note === undefined) return { ...made, backend: this.device.backend as DeviceBackend };
    return { ...made, backend: 'wasm', note: cpuNote(note) };
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

  /** Frees the code after the runs that were made. Calling it again has no effect. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#compiled.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
