// The WebAssembly module of the cpu backend (native/wasm): its memory, and the text and errors that it returns.
import type { TypedArray } from '../arrays.ts';
import { engine, type WasmFunction, type WasmMemory } from '../wasm-engine.ts';

/** The names of Code in cuda/core/status.h. */
const codes = [
  '', 'INVALID_ARGUMENT', 'OUT_OF_MEMORY', 'DEVICE_LOST', 'NOT_COMPILED', 'UNAVAILABLE', 'CANCELLED', 'UNSUPPORTED', 'INTERNAL',
];

/** An error as the addon would throw it: native-error.ts makes the library's own of it. */
export function plainError(code: string, message: string, fields: object = {}): Error {
  return Object.assign(new Error(message), fields, { code: `ERR_WARPLOOM_${code}` });
}

/** An error that names an argument. */
export function refused(argument: string, expected: string, received: string): Error {
  return plainError('INVALID_ARGUMENT', `expected ${expected}, received ${received}`, { argument, expected, received });
}

/** What the module says of a failure. */
interface Failure {
  readonly code: number;
  readonly message?: string;
  readonly argument?: string;
  readonly expected?: string;
  readonly received?: string;
  /** The array that was received. */
  readonly slot?: number;
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array => new Uint8Array(buffer, byteOffset, byteLength);

/** An instance of the module. Its memory may move when it grows, so that no view of it may be kept. */
export class Machine {
  readonly #exports: Readonly<Record<string, WasmFunction | undefined>>;
  readonly #memory: WasmMemory;
  readonly #numbers: number;
  #onProgress: ((done: number, total: number) => void) | undefined;

  /** @param code the module, or its bytes */
  constructor(code: object) {
    const never = (): number => 52; // ENOSYS: the module writes nothing
    const imports = {
      env: {
        __cxa_allocate_exception: () => 0,
        __cxa_throw: () => { throw new RangeError('an exception in the WebAssembly module'); },
      },
      warploom: { cancelled: () => 0, progress: (done: number, total: number) => this.#onProgress?.(done, total) },
      wasi_snapshot_preview1: {
        environ_get: () => 0, environ_sizes_get: (count: number, size: number) => this.#environment(count, size),
        clock_time_get: (_clock: number, _precision: bigint, time: number) => this.#clock(time),
        fd_close: never, fd_seek: never, fd_write: never,
        proc_exit: () => { throw new RangeError('the WebAssembly module ended'); },
      },
    };
    const module = code instanceof Uint8Array ? new engine.Module(code as Uint8Array<ArrayBuffer>) : code;
    this.#exports = new engine.Instance(module, imports).exports;
    this.#memory = this.#exports.memory as unknown as WasmMemory;
    this.call('_initialize');
    this.#numbers = this.call('warploom_numbers');
  }

  #environment(count: number, size: number): number {
    const view = new DataView(this.#memory.buffer);
    view.setUint32(count, 0, true);
    view.setUint32(size, 0, true);
    return 0;
  }

  #clock(time: number): number {
    new DataView(this.#memory.buffer).setBigUint64(time, BigInt(Math.round(performance.now() * 1e6)), true);
    return 0;
  }

  /** Calls a function of native/wasm/exports.cpp. */
  call(name: string, ...values: number[]): number {
    return (this.#exports[name] as WasmFunction)(...values);
  }

  /** {@link Machine.call} with a function that is told of progress meanwhile. */
  callWith(onProgress: ((done: number, total: number) => void) | undefined, name: string, ...values: number[]): number {
    this.#onProgress = onProgress;
    try {
      return this.call(name, ...values);
    } finally {
      this.#onProgress = undefined;
    }
  }

  /** The numbers of a call. */
  get numbers(): Float64Array {
    return new Float64Array(this.#memory.buffer, this.#numbers, 512 + 5 * 128);
  }

  floats(address: number, length: number): Float64Array {
    return new Float64Array(this.#memory.buffer, address, length);
  }

  write(address: number, source: ArrayBufferView): void {
    new Uint8Array(this.#memory.buffer, address, source.byteLength).set(bytesOf(source));
  }

  read(address: number, target: TypedArray): void {
    bytesOf(target).set(new Uint8Array(this.#memory.buffer, address, target.byteLength));
  }

  clear(address: number, bytes: number): void {
    new Uint8Array(this.#memory.buffer, address, bytes).fill(0);
  }

  move(to: number, from: number, bytes: number): void {
    new Uint8Array(this.#memory.buffer).copyWithin(to, from, from + bytes);
  }

  /** The text that the last function left. */
  text(): string {
    const bytes = new Uint8Array(this.#memory.buffer, this.call('warploom_text'), this.call('warploom_text_length'));
    return new TextDecoder().decode(bytes.slice());
  }

  /** The error that the last function left. `received`: describes the array of a slot. */
  failure(received: (slot: number) => string = () => ''): Error {
    const { code, slot = -1, message, ...rest } = JSON.parse(this.text()) as Failure;
    if (message !== undefined) return plainError(codes[code] ?? 'INTERNAL', message, rest);
    return refused(rest.argument ?? '', rest.expected ?? '', slot >= 0 ? received(slot) : rest.received ?? '');
  }
}
