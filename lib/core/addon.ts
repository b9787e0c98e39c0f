// The addon's functions, and what they describe.
import type { ElementType, TypedArray } from './arrays.ts';

/** Names of the backends, in the order in which `devices()` lists them. */
export type BackendName = 'cuda' | 'cpu' | 'simt';

/** One device of one backend, usable or not. */
export interface DeviceDescription {
  readonly backend: BackendName;
  /** Number of the device within its backend. */
  readonly index: number;
  readonly available: boolean;
  /** One line: why it can or cannot be used. */
  readonly reason: string;
  readonly name: string;
  readonly memoryBytes: number;
  /** 90 for Hopper; 0 if not applicable. */
  readonly computeCapability: number;
  /** Multiprocessors of a GPU, cores on the cpu backend. */
  readonly multiprocessors: number;
  readonly l2Bytes: number;
  /** Versions of driver and runtime; empty if there are none. */
  readonly driver: string;
}

/** Use of a device's memory, in bytes. */
export interface MemoryUse {
  /** Arrays and workspaces that are still reachable. */
  readonly inUseBytes: number;
  /** Kept by the pools for reuse: device memory, and host memory that arrays of calls were copied into. */
  readonly pooledBytes: number;
  /** Peak number of bytes in use, or, if larger, the peak number of bytes that calls in flight held in copies of their arrays. */
  readonly peakBytes: number;
  readonly limitBytes: number;
}

/** One field of an operation's parameters, from its C++ `visit()`. */
export interface FieldDescription {
  readonly name: string;
  readonly kind: 'choice' | 'integer' | 'real' | 'boolean' | 'array' | 'view';
  readonly role?: 'input' | 'output' | 'inOut';
  readonly type?: string;
  readonly choices?: readonly string[];
  /** Its value if it is omitted. */
  readonly default?: string | number | boolean;
  /** Numbers are at least `least`, or above `above`, and at most `most`. */
  readonly least?: number;
  readonly above?: number;
  readonly most?: number;
  /** Status words: the states encoded in their low byte, and the flags above it. */
  readonly states?: readonly string[];
  readonly flags?: readonly string[];
}

/** One field of what an operation reports: a number, or a table of numbers with named columns. */
export interface ReportField {
  readonly name: string;
  readonly kind: 'choice' | 'integer' | 'real' | 'boolean' | 'record' | 'rows';
  readonly choices?: readonly string[];
  readonly columns?: readonly string[];
  /** A table that is present only if it was requested, or if there is something to report. */
  readonly optional?: boolean;
}

/** All operations of the build by name, `domain.operation` as in cuda/core/operations.inc. */
export type Operations = Readonly<Record<string, {
  readonly fields: readonly FieldDescription[];
  readonly report: readonly ReportField[];
}>>;

/** Seconds on the device; if the operation has a report, followed by its fields in order: see report.ts. */
export type RawOutcome = number | readonly [seconds: number, ...fields: (number | Float64Array | undefined)[]];

/** Test controls for fault injection in the simt backend. */
export interface Faults {
  calls(): number;
  /** The maximum number of unfinished submitted calls since this was last called. */
  mostInFlight(): number;
  arm(skip: number, error: number, persistent: boolean): void;
  disarm(): void;
}

/** Bytes copied between arrays and the addon, and bytes requested from the system for that, by all devices of the process. */
export interface Traffic {
  readonly taken: number;
  readonly returned: number;
  /** Bytes among those returned that the event loop copied. */
  readonly settling: number;
  readonly fresh: number;
  /** Slices computed, for calls that were cut. */
  readonly slices: number;
}

/** The addon's exports. Devices and device arrays are identified by numbers; see native/core/device_object.cpp. */
export interface Addon {
  /** Numbers of the call being packed (pack.ts). */
  readonly numbers: Float64Array;
  readonly faults?: Faults;
  /** The same for the cuda backend. */
  readonly cudaFaults?: Faults;
  traffic(): Traffic;
  devices(): DeviceDescription[];
  operations(): Operations;
  /** Returns the device's number, which calls can use immediately, and a promise that settles when the device is open. */
  open(target: object, backend: string, index: number,
    options: { memoryLimit?: number; threads?: number; queueLimit?: number }): [number, Promise<void>];
  /**
   * Returns the array's number, which calls can use immediately, and a promise that settles when it has its contents. `type`: index in
   * {@link elementTypes}.
   */
  allocate(device: number, target: object, type: number, length: number, source: TypedArray | undefined,
    id: number): [number, Promise<void>];
  /** Returns the number of an array whose memory is allocated on first use. */
  reserve(device: number, target: object, type: number, length: number, zeroed: boolean): number;
  pinned(device: number, type: ElementType, length: number): Promise<TypedArray>;
  run(device: number, operation: number, id: number,
    onProgress: ((done: number, total: number) => void) | undefined, ...values: unknown[]): Promise<RawOutcome>;
  workspace(device: number, operation: number, id: number, onProgress: undefined, ...values: unknown[]): number;
  memory(device: number): MemoryUse;
  trim(device: number): Promise<void>;
  cancel(device: number, id: number): void;
  close(device: number): Promise<void>;
  upload(array: number, source: TypedArray, offset: number, id: number): Promise<void>;
  /** `owned`: no other code sees the target before the promise settles. */
  download(array: number, target: TypedArray, offset: number, id: number, owned: boolean): Promise<void>;
  copy(to: number, from: number, id: number): Promise<void>;
  release(array: number): void;
  /**
   * The number of a module with this image (a cubin, or a shared object on the simt backend), and a promise of the limit on a block's
   * shared memory followed by five figures per kernel.
   */
  loadModule(device: number, target: object, image: Uint8Array, kernels: readonly string[], id: number): [number, Promise<number[]>];
  /** Copies a typed array to a new one of the same size, by several threads. */
  copyArray(this: void, to: TypedArray, from: TypedArray): void;
  /**
   * Has threads of the process, by the system's numbers, keep to cores of their own; false where it may not use `spare` cores more than
   * that, or the system refuses. Not in the WebAssembly addon.
   */
  pinThreads?(threads: Int32Array, spare: number): boolean;
  unpinThreads?(threads: Int32Array): void;
  // See lent.ts. Undefined: no page-locked memory is free.
  lendRoom(device: number, type: number, length: number, idle: readonly TypedArray[]): TypedArray | undefined;
  /** Between these two, only calls that read the lent array may be made. */
  beginCopy(lent: TypedArray, source: TypedArray): void;
  finishCopy(lent: TypedArray): void;
  handOut(array: TypedArray): TypedArray | undefined;
  settleRoom(array: TypedArray): void;
  giveBack(array: TypedArray): void;
  provideLent(device: number): void;
  /** Runs launches that module.ts has packed, so many times; returns a promise of the seconds on the device. */
  launchModule(module: number, numbers: Float64Array, bytes: Uint8Array, id: number, times: number): Promise<number>;
  /** Loads NVRTC by path or name; returns a string that says why if it cannot be used. `architectures`: 90 for sm_90. */
  findNvrtc(path: string): { readonly path: string; readonly version: string; readonly architectures: readonly number[] } | string;
  /** Compiles a file and blocks meanwhile: call it in a process of its own. `error` is empty on success. */
  compileNvrtc(library: string, source: string, output: string, options: readonly string[]): { error: string; log: string };
  residentBlocks(module: number, kernel: number, threads: number, sharedBytes: number): number;
  releaseModule(module: number): void;
}
