// Devices: finding, opening, and calling operations on them.
import {
  pinnedArray, requireElementType, requireLength, type ArrayOf, type ElementType, type KindOf, type TypedArray,
} from './arrays.ts';
import { addon, type BackendName, type DeviceDescription, type MemoryUse } from './binding.ts';
import { Attention } from './attention.ts';
import { Batcher } from './batching/batcher.ts';
import type { BatcherOptions } from './batching/options.ts';
import { allocateArray, arrayShape, DeviceMemory, reserveArray, takeArray, type Owner } from './device-memory.ts';
import { deviceBundle, inspection, jupyterDisplay, type MimeBundle } from './display.ts';
import { choice, whole } from './checks.ts';
import { choose } from './devices.ts';
import { observesRuns, traceRun, type RunTrace } from './diagnostics.ts';
import { DisposedError } from './errors.ts';
import { isLogged, log } from './log.ts';
import { defaultQueueLimit, maxQueueLimit, maxThreads } from './limits.ts';
import type { DeviceModule } from './module.ts';
import { readModuleOptions, type ModuleOptions } from './module-options.ts';
import { fromNative, rethrow } from './native-error.ts';
import { normally, optionsOf, type ChecksOf } from './options.ts';
import { pack, type Packed, type Parameters } from './pack.ts';
import { cancellable, type CallOptions } from './progress.ts';
import { reportOf, secondsOf, type ReportOf } from './report.ts';

export type { BackendName, DeviceDescription, MemoryUse } from './binding.ts';

/** Options of {@link openDevice}. */
export interface OpenDeviceOptions {
  /** 'auto' (default): what the environment variable `WARPLOOM_BACKEND` names; without it, cuda if it is available, otherwise cpu. */
  readonly backend?: BackendName | 'auto';
  /** Number of the device within its backend; default 0. */
  readonly index?: number;
  /**
   * Bytes of device memory that arrays, workspaces and calls may take in total, and separately the bytes of host memory into which
   * arrays of calls in flight may be copied. On the cpu backend there is a single memory and a single sum: arrays, copies, and
   * workspaces of the calls in flight. Default (or 0): all of the device's memory, and half the memory of the machine or of the
   * process's control group.
   */
  readonly memoryLimit?: number;
  /** Worker threads of the cpu backend; default (or 0): all cores. */
  readonly threads?: number;
  /**
   * Maximum number of waiting calls; further calls are rejected with ERR_WARPLOOM_QUEUE_FULL, as are calls whose copies exceed
   * `memoryLimit`. Default 1024.
   */
  readonly queueLimit?: number;
}

/** Outcome of a call of an operation. */
export interface RunResult<Report = unknown> {
  /** Seconds of the operation proper on the device, without transfers. */
  readonly deviceSeconds: number;
  /** What the operation reports about the call, besides the arrays that it wrote. */
  readonly report: Report;
}

/** @internal What an array needs to know of its device. */
interface DeviceOwner extends Owner {
  readonly device: Device;
}

/** What compiles modules, once it is loaded. */
let compiling: Promise<typeof import('./compile/module.ts')> | undefined;

/**
 * `length` elements of `type` in a device's memory, made by `Device.array`. Operations take it wherever
 * they take a typed array, and work on it in place; calls on one device run in the order they were made,
 * so a chain needs no `await` between its links. Free it with `using`, {@link DeviceArray.dispose}, or leave it to the
 * garbage collector, which knows its size. Freeing an array that a pending call uses is safe. `T` is the typed array that
 * {@link DeviceArray.read} gives: `DeviceArray<Float64Array>` for float64 and complex128 elements.
 */
export class DeviceArray<T extends TypedArray = TypedArray> extends DeviceMemory<T> {
  readonly device: Device;

  /** @internal Use `Device.array`. */
  constructor(owner: DeviceOwner, type: ElementType, length: number) {
    super(owner, type, length);
    this.device = owner.device;
  }
}

/**
 * An open device with its own queue: calls run one after another in the order in which they were made, off the event loop. Close it
 * with `using`, `await using` or {@link Device.close}.
 */
export class Device {
  /** What `devices()` says about it. */
  readonly description: DeviceDescription;
  #handle = 0;
  #attention: Attention | undefined;
  #opened: Promise<void> = Promise.resolve();
  #isOpen = false;
  #failure: unknown;
  #closing: Promise<void> | undefined;
  #queueLimit = defaultQueueLimit;

  /** Only true for devices that were opened: objects that imitate one are rejected by name. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && #handle in value;
  }

  /** @internal Use {@link openDevice}. */
  constructor(description: DeviceDescription) {
    this.description = description;
    if (description.backend === 'cuda') this.#attention = new Attention();
  }

  get backend(): BackendName { return this.description.backend; }
  get name(): string { return this.description.name; }

  /** @internal */
  [inspection](): string { return `Device { ${this.backend}: ${this.name}${this.closed ? ', closed' : ''} }`; }

  /** @internal */
  [jupyterDisplay](): MimeBundle { return deviceBundle(this[inspection](), this.description); }

  /** Whether the device was closed. */
  get closed(): boolean { return this.#closing !== undefined; }

  /**
   * Puts a typed array's elements, or zeros, into device memory.
   * @param data a typed array (copied at the call), or an element type with `length`
   * @param lengthOrType elements of a new zeroed array; or the element type if it is not the typed array's own: 'complex64' and
   *   'complex128' take (real, imaginary) pairs
   */
  async array<T extends TypedArray>(data: T, lengthOrType?: ElementType, options?: CallOptions): Promise<DeviceArray<KindOf<T>>>;
  async array<E extends ElementType>(data: E, lengthOrType: number, options?: CallOptions): Promise<DeviceArray<ArrayOf<E>>>;
  async array(
    data: TypedArray | ElementType, lengthOrType?: ElementType | number, options: CallOptions = {},
  ): Promise<DeviceArray> {
    const owner = this.#owner();
    if (typeof data === 'string') {
      requireElementType(data, 'type');
      requireLength(lengthOrType, 'length');
      return allocateArray(new DeviceArray(owner, data, lengthOrType), owner, undefined, options);
    }
    const { type, length } = arrayShape(data, lengthOrType);
    return allocateArray(new DeviceArray(owner, type, length), owner, data, options);
  }

  #owner(): DeviceOwner {
    return { device: this, backend: this.backend, handle: this.#use(), cancel: this.#cancel, attention: this.#attention };
  }

  /**
   * A zeroed typed array in page-locked memory: it is transferred at the device's full speed and used without a copy, so it must
   * not change while a call uses it. (The cpu backend gives plain aligned memory.)
   */
  async pinned(type: ElementType, length: number): Promise<TypedArray> {
    requireElementType(type, 'type');
    requireLength(length, 'length');
    return pinnedArray(await addon().pinned(this.#use(), type, length).catch(rethrow));
  }

  /**
   * Runs an operation of cuda/core/operations.inc by name; the domains' functions call it. Parameters are
   * the fields of the operation's struct; a view is `{ data, imaginary?, offset?, extents?, strides? }`: all of `data` if it has no
   * extents, contiguous elements if it has no strides. Typed arrays are copied at the call and outputs written back before the
   * promise settles; device arrays, pinned arrays and SharedArrayBuffers are used in place. The result includes what the operation
   * reports, by name: {@link Reports}.
   * @throws ArgumentError naming the field (as a rejection, before any work)
   */
  run<Name extends string>(
    operation: Name, parameters: Parameters, options: CallOptions = noOptions,
  ): Promise<RunResult<ReportOf<Name>>> {
    try {
      const handle = this.#use();
      const started = observesRuns() || isLogged() ? this.#traced(handle, operation, parameters, options)
        : this.#start(handle, operation, parameters, options);
      return started as Promise<RunResult<ReportOf<Name>>>;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #traced(handle: number, operation: string, parameters: Parameters, options: CallOptions): Promise<RunResult> {
    const trace: RunTrace = { operation, backend: this.backend, device: this.name };
    return traceRun(trace, async () => {
      const result = await this.#start(handle, operation, parameters, options);
      trace.deviceSeconds = result.deviceSeconds;
      log(() => `${operation} on ${trace.backend}: ${(1000 * result.deviceSeconds).toPrecision(3)} ms`);
      return result;
    });
  }

  #start(handle: number, operation: string, parameters: Parameters, options: CallOptions): Promise<RunResult> {
    const attention = this.#attention;
    if (options.signal === undefined && options.onProgress === undefined) {
      return launch(handle, operation, parameters, 0, undefined, attention);
    }
    return cancellable(options, this.#cancel, (id, report) => launch(handle, operation, parameters, id, report, attention));
  }

  /**
   * Compiles device code and loads it: text that includes "cuda/core/module.cuh" and declares its kernels with `WARPLOOM_KERNEL`
   * (docs/modules.md). Compiled modules are cached between processes. The cpu backend has no modules.
   * @throws ArgumentError for invalid options and for kernels that the text does not declare, before any work; ModuleError with the
   * compiler's messages if the text does not compile; UnavailableError if there is no compiler, saying what would help
   */
  module(options: ModuleOptions): Promise<DeviceModule> {
    return Device.module(this, options, false);
  }

  /** Makes a queue in which calls of equal operation, shape and options that many callers make share launches: see {@link Batcher}. */
  batcher(options: BatcherOptions = {}): Batcher<Device> {
    this.#use();
    return new Batcher<Device>(this, options);
  }

  /** Bytes of device memory that a call with these parameters takes besides its arrays. */
  workspace(operation: string, parameters: Parameters): number {
    const handle = this.#use();
    const packed: Packed = pack(operation, parameters);
    try {
      return addon().workspace(handle, packed.operation, 0, undefined, ...packed.values);
    } catch (error) {
      throw fromNative(error);
    }
  }

  /**
   * Use of the device's memory now. An array that was just disposed of counts until the device frees it; awaiting {@link trim}
   * frees it.
   */
  memory(): MemoryUse {
    return addon().memory(this.#use());
  }

  /** Frees what was disposed of before the call, and returns memory kept for reuse to the system. */
  async trim(): Promise<void> {
    await addon().trim(this.#use()).catch(rethrow);
  }

  /**
   * Waits for the calls made so far, which their signals can still cancel, then frees everything on the device. Calling it again
   * returns the same promise.
   */
  close(): Promise<void> {
    this.#closing ??= this.#failure === undefined ? addon().close(this.#handle).catch(rethrow) : Promise.resolve();
    return this.#closing;
  }

  /** Begins to close the device, without waiting. */
  [Symbol.dispose](): void {
    void this.close();
  }

  /** The same as `close()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  readonly #cancel = (id: number): void => { addon().cancel(this.#handle, id); };

  #use(): number {
    if (this.#closing !== undefined) throw new DisposedError('the device was closed; open it again');
    if (this.#failure !== undefined) throw this.#failure as Error;
    return this.#handle;
  }

  /**
   * @internal Begins to open a device. It accepts calls at once, which wait until it is open; if that fails, they reject
   * with the reason, as {@link Device.opened} does.
   */
  static begin(description: DeviceDescription, options: OpenDeviceOptions): Device {
    const device = new Device(description);
    const { memoryLimit = 0, threads = 0, queueLimit = defaultQueueLimit } = options;
    try {
      const [handle, opened] = addon().open(device, description.backend, description.index, { memoryLimit, threads, queueLimit });
      device.#handle = handle;
      device.#queueLimit = queueLimit;
      device.#opened = opened.then(() => {
        device.#isOpen = true;
        log(() => `opened ${description.backend} ${description.index}, ${description.name}`);
      }, (error: unknown) => {
        device.#failure = fromNative(error);
        throw device.#failure;
      });
      device.#opened.catch(() => undefined); // the calls report it as well
    } catch (error) {
      rethrow(error);
    }
    return device;
  }

  /** @internal Settles when a device that was begun is open, or failed to open. */
  static opened(device: Device): Promise<void> {
    return device.#opened;
  }

  /** @internal Maximum number of calls waiting on a device. */
  static queueLimit(device: Device): number {
    return device.#queueLimit;
  }

  /** @internal Whether a device has been opened, so that it can be asked for its memory and workspaces. */
  static isOpen(device: Device): boolean {
    return device.#isOpen;
  }

  /** @internal Whether a device accepts calls: it is neither closed nor failed to open. */
  static usable(device: Device): boolean {
    return device.#closing === undefined && device.#failure === undefined;
  }

  /** @internal The addon's number of a usable device. */
  static number(device: Device): number {
    return device.#handle;
  }

  /** @internal See `module`. `isBackground`: the compiler gives way to other programs and to the end of this process. */
  static async module(device: Device, options: ModuleOptions, isBackground: boolean): Promise<DeviceModule> {
    const read = readModuleOptions(options, isBackground), owner = device.#owner();
    const { makeModule } = await (compiling ??= import('./compile/module.ts'));
    return makeModule(owner, device.description, read);
  }

  /** @internal See {@link resultArray}. */
  static reserve(device: Device, type: ElementType, length: number, zeroed: boolean): DeviceArray {
    const owner = device.#owner();
    return reserveArray(new DeviceArray(owner, type, length), owner, zeroed);
  }

  /** @internal See {@link inputArray}. */
  static take(device: Device, source: TypedArray | DeviceArray, type?: ElementType): DeviceArray {
    const owner = device.#owner();
    const shape = source instanceof DeviceArray ? source : arrayShape(source, type);
    return takeArray(new DeviceArray(owner, shape.type, shape.length), owner, source);
  }
}

/**
 * A device array that is available immediately, for results of calls made right after. Its memory is allocated on the device's thread when
 * the first of them runs; if there is not enough, that call rejects with ERR_WARPLOOM_OUT_OF_MEMORY. Unlike `device.array(type, length)`
 * there is no promise to wait for. The first call must write all of it, or `zeroed` must be true; otherwise it holds whatever was in the
 * memory before. Dispose of it when a call that should have written it fails, as {@link withResults} of call.ts does.
 */
export function resultArray(device: Device, type: ElementType, length: number, zeroed = false): DeviceArray {
  return Device.reserve(device, type, length, zeroed);
}

/**
 * A device array with the current elements of an array, available immediately. Elements of a typed array are copied before this returns;
 * those of a device array are as the calls made so far leave them. If the copy fails, the calls made right after reject. For functions of
 * several steps, which must not read a caller's array after they have returned. `type`: if it is not the typed array's own.
 */
export function inputArray(device: Device, source: TypedArray | DeviceArray, type?: ElementType): DeviceArray {
  return Device.take(device, source, type);
}

const noOptions: CallOptions = {};

/** Packs and starts a call in one step: no other JavaScript may run between packing and the addon's reading. */
function launch(
  handle: number, operation: string, parameters: Parameters, id: number, report: CallOptions['onProgress'],
  attention: Attention | undefined,
): Promise<RunResult> {
  const packed = pack(operation, parameters);
  const call = addon().run(handle, packed.operation, id, report, ...packed.values);
  return (attention === undefined ? call : attention.pay(call))
    .then((outcome) => ({ deviceSeconds: secondsOf(outcome), report: reportOf(packed.report, outcome) }), rethrow);
}

const openOptions = optionsOf('openDevice', {
  backend: normally(choice(['auto', 'cuda', 'cpu', 'simt'] as const), 'auto'), index: normally(whole(0, 2 ** 31 - 1), 0),
  memoryLimit: normally(whole(0), 0), threads: normally(whole(0, maxThreads), 0),
  queueLimit: normally(whole(1, maxQueueLimit), defaultQueueLimit),
} satisfies ChecksOf<OpenDeviceOptions>);

/**
 * Opens a device.
 * @throws UnavailableError if the build or the machine has no such backend, saying why
 * @throws ArgumentError for an invalid option
 */
export async function openDevice(given: OpenDeviceOptions = {}): Promise<Device> {
  const options = openOptions.read(given);
  const device = Device.begin(choose(options.backend, options.index), options);
  await Device.opened(device);
  return device;
}

let shared: Device | undefined;

/**
 * The device of calls that name none, available at once: they are queued while it is being opened. See {@link defaultDevice}.
 * @throws UnavailableError when there is no backend at all
 */
export function implicitDevice(): Device {
  if (shared === undefined || !Device.usable(shared)) shared = Device.begin(choose('auto', 0), {});
  return shared;
}

/**
 * The device of calls that name none: `openDevice()` once per thread, closed with it. If it has been closed, it is opened again.
 */
export async function defaultDevice(): Promise<Device> {
  const device = implicitDevice();
  await Device.opened(device);
  return device.closed ? defaultDevice() : device;
}
