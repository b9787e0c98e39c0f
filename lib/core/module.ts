// Modules: device code that was compiled at run time, and its launches. Created by Device.module.
import { describeValue } from './arrays.ts';
import { addon } from './binding.ts';
import { abortSignal, anything, hasFields, requireCount, requireList, text, truth, whole } from './checks.ts';
import { DeviceMemory, handleOf, isOf, type Owner } from './device-memory.ts';
import { DisposedError, refusal } from './errors.ts';
import { elementAt } from './known.ts';
import { rethrow } from './native-error.ts';
import { needed, normally, optionsOf } from './options.ts';
import { cancellable } from './progress.ts';

/** An argument of a kernel: a DeviceArray (its address), or a number of the type that the kernel's `Parameters` declare in its place. */
export type KernelArgument =
  | DeviceMemory
  | { readonly i32: number }
  | { readonly i64: number | bigint }
  | { readonly f32: number }
  | { readonly f64: number };

/** Options of {@link DeviceModule.launch}. */
export interface LaunchOptions {
  readonly blocks: number;
  /** Threads per block: a multiple of 32, at most the kernel's `maxThreads`. */
  readonly threads: number;
  /** Bytes of dynamic shared memory per block; default 0. */
  readonly sharedBytes?: number;
  /** All blocks run at once, so that they can wait for each other (`Block::sync_grid`); they must all be resident. Default false. */
  readonly cooperative?: boolean;
  /** Values for the fields of the kernel's `Parameters`, in order. */
  readonly arguments?: readonly KernelArgument[];
  /** Cancels the launch if it has not begun. */
  readonly signal?: AbortSignal;
}

/** Options of {@link DeviceModule.launchAll}. */
export interface LaunchAllOptions {
  /** How often the whole list runs, 1 to 65536; default 1. On a GPU, a list that runs more than once becomes a CUDA graph: its later
   * rounds cost the host almost nothing. */
  readonly times?: number;
  /** Cancels what has not begun. */
  readonly signal?: AbortSignal;
}

/** One of several launches. */
export interface ListedLaunch extends Omit<LaunchOptions, 'signal'> {
  /** Name of the kernel. */
  readonly kernel: string;
}

/** The result of a launch. */
export interface LaunchResult {
  /** Seconds on the device, for all launches of the call together. */
  readonly deviceSeconds: number;
}

/** A kernel of a module, as compiled for the device. On the simt backend, figures that do not apply are 0. */
export interface Kernel {
  readonly name: string;
  /** Registers per thread. */
  readonly registers: number;
  /** Bytes of static shared memory per block. */
  readonly sharedBytes: number;
  /** Bytes of local memory per thread: spilled registers, and arrays that are not in registers. */
  readonly localBytes: number;
  /** Maximum number of threads per block. */
  readonly maxThreads: number;
  /** Size of its `Parameters`; the arguments of a launch must fill it exactly. */
  readonly parameterBytes: number;
  /** Blocks of this size, with this much dynamic shared memory, that a multiprocessor can run at once; 0 if none fits. */
  residentBlocks(threads: number, sharedBytes?: number): number;
}

/** Maximum number of launches per call. */
const mostLaunches = 1 << 16;

const launchFields = {
  blocks: needed(whole(0, 2 ** 31 - 1)), threads: needed(whole(32, 1024)), sharedBytes: normally(whole(0, 2 ** 31 - 1), 0),
  cooperative: normally(truth, false), arguments: normally(anything, undefined as never),
};
const launchOptions = optionsOf('launch', { ...launchFields, signal: abortSignal });
const listedOptions = optionsOf('launchAll', { ...launchFields, kernel: needed(text()) });
const listOptions = optionsOf('launchAll', { times: normally(whole(1, mostLaunches), 1), signal: abortSignal });

/** The options of a launch, with defaults. */
interface Read extends Omit<LaunchOptions, 'signal'> {
  readonly sharedBytes: number;
  readonly cooperative: boolean;
}

/** Packs launches for the addon (native/core/module_object.cpp). */
class Packing {
  readonly numbers: number[] = [];
  #bytes = new DataView(new ArrayBuffer(256));
  #length = 0;
  readonly #owner: Owner;

  constructor(owner: Owner) {
    this.#owner = owner;
  }

  get bytes(): Uint8Array {
    return new Uint8Array(this.#bytes.buffer, 0, this.#length);
  }

  /** Adds a launch. `within`: prefix of its options' names in messages. */
  add(number: number, kernel: Kernel, options: Read, within: string): void {
    const list: unknown = options.arguments ?? [];
    requireList(list, `${within}arguments`);
    const begin = this.#place(16, 0);
    const slots: number[] = [];
    let widest = 1;
    for (let i = 0; i < list.length; i += 1) {
      widest = Math.max(widest, this.#put(list[i], `${within}arguments[${i}]`, slots));
    }
    this.#place(widest, 0);
    const bytes = this.#length - begin;
    // C++ counts an empty struct as one byte.
    if (bytes !== kernel.parameterBytes && !(list.length === 0 && kernel.parameterBytes === 1)) {
      throw refusal(`${within}arguments`, `${kernel.parameterBytes} bytes, the size of the Parameters of kernel ${kernel.name}`,
        `${list.length} values that take ${bytes}`);
    }
    if (bytes === 0) this.#place(1, 1);
    const { blocks, threads, sharedBytes, cooperative } = options;
    this.numbers.push(number, blocks, threads, sharedBytes, cooperative ? 1 : 0, begin, slots.length / 2, ...slots);
  }

  /** Reserves `bytes` at the next multiple of `multiple`; returns the offset. */
  #place(multiple: number, bytes: number): number {
    const at = Math.ceil(this.#length / multiple) * multiple;
    this.#length = at + bytes;
    if (this.#length > this.#bytes.byteLength) {
      const larger = new Uint8Array(Math.max(this.#length, 2 * this.#bytes.byteLength));
      larger.set(new Uint8Array(this.#bytes.buffer));
      this.#bytes = new DataView(larger.buffer);
    }
    return at;
  }

  /** Writes an argument; returns its size. */
  #put(value: unknown, name: string, slots: number[]): number {
    if (value instanceof DeviceMemory) {
      const handle = handleOf(value, name);
      if (!isOf(value, this.#owner)) throw refusal(name, 'an array of the same device', 'an array of another device');
      slots.push(this.#place(8, 8), handle);
      return 8;
    }
    const given = hasFields(value) ? Object.keys(value) : [];
    const type = given.length === 1 ? elementAt(given, 0) : '';
    const number: unknown = hasFields(value) ? value[type] : undefined;
    switch (type) {
      case 'i32': {
        requireInteger(number, -(2 ** 31), 2 ** 31 - 1, `${name}.i32`);
        // Reserving may replace the bytes.
        const at = this.#place(4, 4);
        this.#bytes.setInt32(at, Number(number), true);
        return 4;
      }
      case 'i64': {
        requireInteger(number, -(2n ** 63n), 2n ** 63n - 1n, `${name}.i64`);
        const at = this.#place(8, 8);
        this.#bytes.setBigInt64(at, BigInt(number), true);
        return 8;
      }
      case 'f32':
      case 'f64': {
        if (typeof number !== 'number') throw refusal(`${name}.${type}`, 'a number', describeValue(number));
        const size = type === 'f32' ? 4 : 8;
        const at = this.#place(size, size);
        if (type === 'f32') this.#bytes.setFloat32(at, number, true);
        else this.#bytes.setFloat64(at, number, true);
        return size;
      }
      default: throw refusal(name, 'a DeviceArray, { i32 }, { i64 }, { f32 } or { f64 }', describeValue(value));
    }
  }
}

function requireInteger(value: unknown, low: number | bigint, high: number | bigint, name: string): asserts value is number | bigint {
  const isInteger = Number.isSafeInteger(value) || (typeof low === 'bigint' && typeof value === 'bigint');
  if (isInteger && (value as number) >= low && (value as number) <= high) return;
  throw refusal(name, `a whole number from ${low} to ${high}`, describeValue(value));
}

/**
 * Device code that was compiled at run time by `Device.module`. Launches run in the order in which they were made, among all other calls
 * on the device, so a chain needs no `await` between its links. Free a module with `using` or {@link DeviceModule.dispose}, or leave it to
 * the garbage collector. Freeing a module with pending launches is safe.
 */
export class DeviceModule {
  /** The kernels by name. */
  readonly kernels: ReadonlyMap<string, Kernel>;
  readonly #kernels = new Map<string, Kernel>();
  readonly #numbers = new Map<string, number>();
  readonly #owner: Owner;
  #handle = 0;
  #mostShared = 0;
  #disposed = false;

  private constructor(owner: Owner) {
    this.#owner = owner;
    this.kernels = this.#kernels;
  }

  /** @internal Loads a compiled image. */
  static async load(
    owner: Owner, image: Uint8Array, names: readonly string[], signal: AbortSignal | undefined,
  ): Promise<DeviceModule> {
    const module = new DeviceModule(owner);
    try {
      const figures = await cancellable({ signal }, owner.cancel, (id) => {
        const [handle, loaded] = addon().loadModule(owner.handle, module, image, names, id);
        module.#handle = handle;
        return loaded;
      });
      module.#describe(names, figures);
    } catch (error) {
      if (module.#handle !== 0) module.dispose();
      rethrow(error);
    }
    return module;
  }

  #describe(names: readonly string[], [mostShared = 0, ...figures]: readonly number[]): void {
    this.#mostShared = mostShared;
    for (const [number, name] of names.entries()) {
      const [registers = 0, sharedBytes = 0, localBytes = 0, maxThreads = 0, parameterBytes = 0] = figures.slice(5 * number);
      const residentBlocks = (threads: number, dynamicBytes = 0): number => {
        requireCount(threads, 'threads', 1, 2 ** 31 - 1);
        requireCount(dynamicBytes, 'sharedBytes', 0, 2 ** 31 - 1);
        return addon().residentBlocks(this.#use(), number, threads, dynamicBytes);
      };
      this.#numbers.set(name, number);
      this.#kernels.set(name, { name, registers, sharedBytes, localBytes, maxThreads, parameterBytes, residentBlocks });
    }
  }

  /** Whether the module was disposed; every use of it then fails with ERR_WARPLOOM_DISPOSED. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * Launches a kernel. Arguments are checked and copied at the call.
   * @throws ArgumentError if the arguments do not fit the kernel (as a rejection, before any work)
   */
  launch(kernel: string, options: LaunchOptions): Promise<LaunchResult> {
    try {
      this.#use();
      const read = launchOptions.read(options);
      const packing = new Packing(this.#owner);
      this.#pack(packing, kernel, 'kernel', read, '');
      return this.#start(packing, read.signal, 1);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Launches kernels one after another in a single call, which takes less time than separate calls; with `times`, over and over again.
   * @throws ArgumentError naming the first launch whose options do not fit its kernel (as a rejection, before any launch runs)
   */
  launchAll(launches: readonly ListedLaunch[], options: LaunchAllOptions = {}): Promise<LaunchResult> {
    try {
      this.#use();
      const { signal, times } = listOptions.read(options);
      requireList(launches, 'launches');
      if (launches.length > mostLaunches) throw refusal('launches', `at most ${mostLaunches}`, String(launches.length));
      const packing = new Packing(this.#owner);
      for (let i = 0; i < launches.length; i += 1) {
        const within = `launches[${i}]`;
        const read = listedOptions.read(elementAt(launches, i), within);
        this.#pack(packing, read.kernel, `${within}.kernel`, read, `${within}.`);
      }
      return this.#start(packing, signal, times);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Frees the module after its pending launches. Calling it again has no effect. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    addon().releaseModule(this.#handle);
  }

  /** The same as `dispose()`. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** The same as {@link DeviceModule.dispose}: does not wait for pending launches. */
  [Symbol.asyncDispose](): Promise<void> {
    this.dispose();
    return Promise.resolve();
  }

  #use(): number {
    if (this.#disposed) throw new DisposedError('the module was disposed; make a new one');
    return this.#handle;
  }

  #pack(packing: Packing, name: string, argument: string, options: Read, within: string): void {
    const kernel = this.#kernels.get(name), number = this.#numbers.get(name);
    if (kernel === undefined || number === undefined) {
      throw refusal(argument, `one of ${[...this.#kernels.keys()].join(', ')}`, describeValue(name));
    }
    const { threads, sharedBytes } = options;
    if (threads % 32 !== 0 || threads > kernel.maxThreads) {
      throw refusal(`${within}threads`, `a multiple of 32, at most ${kernel.maxThreads} for kernel ${name}`, String(threads));
    }
    const free = this.#mostShared - kernel.sharedBytes;
    if (sharedBytes > free) throw refusal(`${within}sharedBytes`, `at most ${free} on this device`, String(sharedBytes));
    packing.add(number, kernel, options, within);
  }

  #start(packing: Packing, signal: AbortSignal | undefined, times: number): Promise<LaunchResult> {
    const handle = this.#use();
    const { cancel, attention } = this.#owner;
    const numbers = Float64Array.from(packing.numbers);
    return cancellable({ signal }, cancel, (id) => {
      const call = addon().launchModule(handle, numbers, packing.bytes, id, times);
      return attention?.pay(call) ?? call;
    }).then((deviceSeconds) => ({ deviceSeconds }), rethrow);
  }
}
