// The memory of a device array. DeviceArray (device.ts) adds the device; the two files would otherwise import each other.
import { addon } from './binding.ts';
import {
  describeValue, elementBytes, elementTypeOf, holds, makeResult, numbersPerElement, requireElementType, takeUnseen, typedArrayName,
  typeNumber, type ElementType, type TypedArray,
} from './arrays.ts';
import type { Attention } from './attention.ts';
import { inspection } from './display.ts';
import { traceTransfer, type TransferTrace } from './diagnostics.ts';
import { DisposedError, refusal } from './errors.ts';
import { rethrow } from './native-error.ts';
import { cancellable, requireOptions, type CallOptions } from './progress.ts';

/** What an array's memory needs to know of its device. */
export interface Owner {
  readonly backend: string;
  readonly handle: number;
  readonly cancel: (id: number) => void;
  readonly attention: Attention | undefined;
}

/**
 * `length` elements of `type` in a device's memory: the part of a `DeviceArray` that does not involve its device. `T` is the typed
 * array that its elements are read into.
 */
export abstract class DeviceMemory<T extends TypedArray = TypedArray> {
  readonly type: ElementType;
  /** Elements; a complex element counts once. */
  readonly length: number;
  #handle = 0;
  #disposed = false;
  readonly #backend: string;
  readonly #cancel: (id: number) => void;
  readonly #attention: Attention | undefined;

  /** Only true for arrays made by a device: objects that imitate one are rejected by name. */
  static [Symbol.hasInstance]<A>(this: abstract new (...given: never) => A, value: unknown): value is A {
    return typeof value === 'object' && value !== null && #handle in value;
  }

  /** @internal Use `Device.array`. */
  constructor({ backend, cancel, attention }: Owner, type: ElementType, length: number) {
    this.#backend = backend;
    this.type = type;
    this.length = length;
    this.#cancel = cancel;
    this.#attention = attention;
  }

  /** Size in bytes. */
  get bytes(): number {
    return this.length * elementBytes(this.type);
  }

  /** Whether the array was disposed; every use of it then fails with ERR_WARPLOOM_DISPOSED. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * Copies the array to JavaScript's memory.
   * @param target where to; default: a new typed array of the right kind (complex: interleaved pairs)
   * @param offset first element to read; the length of `target` says how many
   */
  read<A extends T>(target: A, offset?: number, options?: CallOptions): Promise<A>;
  read(target?: T, offset?: number, options?: CallOptions): Promise<T>;
  read(target?: TypedArray, offset = 0, options: CallOptions = {}): Promise<TypedArray> {
    try {
      const into = target !== undefined ? target : makeResult(this.type, Math.max(0, this.length - offset));
      this.#check('target', into);
      return this.#transfer('download', into.byteLength, options, (id) =>
        addon().download(this.#use('array'), into, offset, id, takeUnseen(into)).then(() => into));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Copies a typed array to the device. The data is read at the call: changing `source` afterwards is safe
   * (unless it lies on a SharedArrayBuffer or in pinned memory, which are read while the transfer runs).
   * @param offset first element to write
   */
  write(source: T, offset = 0, options: CallOptions = {}): Promise<void> {
    try {
      this.#check('source', source);
      return this.#transfer('upload', source.byteLength, options, (id) =>
        addon().upload(this.#use('array'), source, offset, id));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Copies all elements of an array of the same type, length and device. */
  copyFrom(other: DeviceMemory, options: CallOptions = {}): Promise<void> {
    try {
      if (!(other instanceof DeviceMemory)) throw refusal('other', 'a DeviceArray', describeValue(other));
      return this.#transfer('copy', this.bytes, options, (id) =>
        addon().copy(this.#use('array'), other.#use('other'), id));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Frees the memory after the calls that still use it. Calling it again has no effect. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    addon().release(this.#handle);
  }

  /** The same as `dispose()`. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** @internal */
  [inspection](): string {
    return `DeviceArray { ${this.#disposed ? 'disposed, ' : ''}${this.length} × ${this.type} on ${this.#backend} }`;
  }

  #check(name: string, array: unknown): void {
    if (holds(array, this.type)) return;
    throw refusal(name, `a ${typedArrayName(this.type)} for ${this.type} elements`, describeValue(array));
  }

  #use(name: string): number {
    if (this.#disposed) throw new DisposedError('the device array was disposed; create a new one', name);
    return this.#handle;
  }

  #transfer<T>(direction: TransferTrace['direction'], bytes: number, options: CallOptions,
    start: (id: number) => Promise<T>): Promise<T> {
    requireOptions(options);
    return traceTransfer(() => ({ direction, bytes, backend: this.#backend }), () =>
      cancellable({ signal: options.signal }, this.#cancel, (id) => {
        const transfer = start(id);
        return this.#attention?.pay(transfer) ?? transfer;
      }).catch(rethrow));
  }

  /** @internal The addon's number of an array that is used under `name`. */
  static handleOf(this: void, array: DeviceMemory, name: string, part = ''): number {
    return array.#disposed ? array.#use(`${name}${part}`) : array.#handle;
  }

  /** @internal Whether an array belongs to a device: each device has its own function that cancels calls. */
  static isOf(this: void, array: DeviceMemory, owner: Owner): boolean {
    return array.#cancel === owner.cancel;
  }

  /** @internal Allocates a new array's memory, filled with zeros or with the current elements of `source`. */
  static async allocate<A extends DeviceMemory>(
    this: void, array: A, owner: Owner, source: TypedArray | undefined, options: CallOptions,
  ): Promise<A> {
    requireOptions(options);
    try {
      await cancellable({ signal: options.signal }, owner.cancel, (id) => {
        const [handle, made] = addon().allocate(owner.handle, array, typeNumber(array.type), array.length, source, id);
        array.#handle = handle;
        return made;
      });
    } catch (error) {
      if (array.#handle !== 0) array.dispose();
      rethrow(error);
    }
    return array;
  }

  /** @internal Creates a new array immediately; its memory is allocated on first use. See `resultArray`. */
  static reserve<A extends DeviceMemory>(this: void, array: A, owner: Owner, zeroed: boolean): A {
    try {
      array.#handle = addon().reserve(owner.handle, array, typeNumber(array.type), array.length, zeroed);
    } catch (error) {
      rethrow(error);
    }
    return array;
  }

  /** @internal Creates a new array immediately, with the current elements of `source`. See `inputArray`. */
  static taking<A extends DeviceMemory>(this: void, array: A, owner: Owner, source: TypedArray | DeviceMemory): A {
    if (source instanceof DeviceMemory) {
      const copy = DeviceMemory.reserve(array, owner, false);
      addon().copy(copy.#handle, source.#use('source'), 0).catch(ignore);
      return copy;
    }
    try {
      const [handle, made] = addon().allocate(owner.handle, array, typeNumber(array.type), array.length, source, 0);
      array.#handle = handle;
      made.catch(ignore); // the calls that use the array fail as well
    } catch (error) {
      rethrow(error);
    }
    return array;
  }
}

function ignore(): void {}

/** @internal */
export const handleOf = DeviceMemory.handleOf;
/** @internal */
export const isOf = DeviceMemory.isOf;
/** @internal */
export const allocateArray = DeviceMemory.allocate;
/** @internal */
export const reserveArray = DeviceMemory.reserve;
/** @internal */
export const takeArray = DeviceMemory.taking;

/** Type and length of a new array from the arguments of `Device.array`. */
export function arrayShape(source: TypedArray, type: unknown): { type: ElementType; length: number } {
  const own = elementTypeOf(source);
  if (own === undefined) {
    throw refusal('data', 'a Float32Array, Float64Array, Int32Array, BigInt64Array, Uint8Array or an element type',
      describeValue(source));
  }
  if (type !== undefined) requireElementType(type, 'type');
  const wanted = type ?? own;
  if (!holds(source, wanted)) throw refusal('data', `a ${typedArrayName(wanted)}`, describeValue(source));
  if (source.length % numbersPerElement(wanted) !== 0) {
    throw refusal('data', 'pairs of real and imaginary parts', describeValue(source));
  }
  return { type: wanted, length: source.length / numbersPerElement(wanted) };
}
