// Page-locked memory that a device lends to runs: copies of their inputs, which it uploads at the link's full speed, and results that it
// writes to directly. There is none for small arrays, on devices that work in the processor's memory, and where the limit is reached.
import { isMainThread } from 'node:worker_threads';
import { elementBytes, elementTypeOf, typeNumber, type ElementType, type TypedArray } from './arrays.ts';
import { addon } from './binding.ts';
import { Device } from './device.ts';

/** Bytes from which on arrays are lent memory: Staging::kLeastLent of native/core/staging.h. */
const leastBytes = 2 ** 22;
/** Milliseconds for which rooms that nobody needs are kept. */
const keptMilliseconds = 10_000;

/** `device` may only look like one: whoever takes it checks it later. */
const lends = (device: Device): boolean => device instanceof Device && device.backend !== 'cpu' && Device.usable(device);

/**
 * The rooms of one device: blocks of its page-locked memory, each with a buffer that only the library sees. They are used again and again,
 * since each new buffer of that size would have the garbage collector begin its work at once.
 */
class Rooms {
  readonly #device: Device;
  /** Rooms that the library does not use; the caller may have the results in some. */
  readonly #idle = new Map<ArrayBufferLike, TypedArray>();
  #timer: NodeJS.Timeout | undefined;

  constructor(device: Device) {
    this.#device = device;
  }

  take(type: ElementType, length: number): TypedArray | undefined {
    const found = addon().lendRoom(Device.number(this.#device), typeNumber(type), length, [...this.#idle.values()]);
    if (found !== undefined) this.#idle.delete(found.buffer);
    else this.#makeWay(length * elementBytes(type));
    return found;
  }

  /** The room of an array serves again, once no call uses it and nobody has what was handed out of it. */
  give({ buffer }: TypedArray): void {
    this.#idle.set(buffer, new Uint8Array(buffer));
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      for (const room of this.#idle.values()) addon().giveBack(room);
      this.#idle.clear();
    }, keptMilliseconds).unref();
  }

  /** The room of another size that was used least lately no longer keeps the device from making others. */
  #makeWay(bytes: number): void {
    const other = [...this.#idle.values()].find(({ byteLength }) => byteLength < bytes || byteLength / 2 > bytes);
    if (other === undefined) return;
    this.#idle.delete(other.buffer);
    addon().giveBack(other);
  }
}

const rooms = new WeakMap<Device, Rooms>();

function roomsOf(device: Device): Rooms {
  const own = rooms.get(device) ?? new Rooms(device);
  rooms.set(device, own);
  return own;
}

/** A device as a lender of memory for inputs: see {@link Lender}. */
export function lenderOf(device: Device): Lender {
  const begin = (copy: TypedArray, source: TypedArray): void => { addon().beginCopy(copy, source); };
  const finish = (copy: TypedArray): void => { addon().finishCopy(copy); };
  return {
    room: (source) => lentInput(device, source), begin, finish,
    copy: (source) => {
      const copy = lentInput(device, source);
      if (copy === undefined) return undefined;
      begin(copy, source);
      finish(copy);
      return copy;
    },
    giveBack: (copy) => { roomsOf(device).give(copy); },
  };
}

/** What lends memory to copies of inputs. */
export interface Lender {
  /** An array of undefined contents for a copy of an array; undefined: the caller copies it to ordinary memory. */
  room(source: TypedArray): TypedArray | undefined;
  /**
   * Begins to copy an array into its room. Calls of the device that are made from here on wait for what they read; nobody else may read
   * the copy before {@link finish}, which has to follow before any code of the user runs.
   */
  begin(copy: TypedArray, source: TypedArray): void;
  finish(copy: TypedArray): void;
  /** All of this at once. */
  copy(source: TypedArray): TypedArray | undefined;
  giveBack(copy: TypedArray): void;
}

function lentInput(device: Device, source: TypedArray): TypedArray | undefined {
  if (source.byteLength < leastBytes || !lends(device)) return undefined;
  const type = elementTypeOf(source);
  return type === 'float32' || type === 'float64' || type === 'int32' ? roomsOf(device).take(type, source.length) : undefined;
}

/** The results of calls of one device, in its memory. */
export class LentResult {
  /** Where calls write. No other code may see it. */
  readonly array: TypedArray;
  readonly #rooms: Rooms;
  #handedOut: TypedArray | undefined;

  constructor(array: TypedArray, own: Rooms) {
    this.array = array;
    this.#rooms = own;
  }

  /**
   * Makes the array that the caller will see, in a buffer of its own. The garbage collector, which takes each new buffer of many megabytes
   * as a reason to work, may take milliseconds here: so this is called while the device works.
   */
  prepare(): void {
    if (this.#handedOut !== undefined) return;
    const made = addon().handOut(this.array);
    if (made !== undefined) this.#handedOut = transferable(made);
  }

  /**
   * Once all is written: the array for the caller. It is like any other, and stays valid when the device is closed; its memory serves later
   * results once it is collected.
   */
  settle(): TypedArray {
    this.prepare();
    const made = this.#handedOut ?? this.array.slice();
    addon().settleRoom(this.array);
    this.#rooms.give(this.array);
    return made;
  }

  /** Nobody is to see it: its memory is free once the calls that use it have ended. */
  drop(): void {
    this.#rooms.give(this.array);
  }
}

/**
 * Room of undefined contents for the results of calls of one device, to be settled or dropped; undefined: the caller makes an ordinary
 * array.
 *
 * Only on the main thread: results of a worker are there to be transferred, and external memory may not outlive the thread that made it.
 */
export function lentResult(device: Device, type: ElementType, length: number): LentResult | undefined {
  if (!isMainThread || !lends(device)) return undefined;
  const own = roomsOf(device), array = own.take(type, length);
  return array === undefined ? undefined : new LentResult(array, own);
}

/**
 * Node marks buffers on external memory as untransferable, since their memory goes with the environment that made them. The main thread's
 * outlives all others, so there a buffer without the mark is safe. Before Node 22, such buffers are copied where they are transferred.
 */
function transferable(array: TypedArray): TypedArray {
  const buffer = array.buffer as ArrayBuffer & { transfer?: () => ArrayBuffer };
  if (typeof buffer.transfer !== 'function') return array;
  const Kind = array.constructor as new (buffer: ArrayBuffer) => TypedArray;
  return new Kind(buffer.transfer());
}

/** Has the device make memory that runs have missed, for later ones: called at the end of a run. */
export function provideLent(device: Device): void {
  if (lends(device)) addon().provideLent(Device.number(device));
}
