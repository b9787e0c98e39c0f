// Page-locked memory that a device lends to runs: copies of their inputs, which it uploads at the link's full speed, and results that it
// writes to directly. There is none for small arrays, on devices that work in the processor's memory, and where the limit is reached.
import { isMainThread } from 'node:worker_threads';
import { elementTypeOf, typeNumber, type ElementType, type TypedArray } from './arrays.ts';
import { addon } from './binding.ts';
import { Device } from './device.ts';
import { KeptBuffers } from './kept-buffers.ts';

/** Bytes from which on arrays are lent memory: Staging::kLeastLent of native/core/staging.h. */
const leastBytes = 2 ** 22;

/** `device` may only look like one: whoever takes it checks it later. */
const lends = (device: Device): boolean => device instanceof Device && device.backend !== 'cpu' && Device.usable(device);

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
    giveBack: (copy) => { kept.get(device)?.give(copy.buffer as ArrayBuffer); },
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

/** By device: memory of earlier copies. New buffers would make the garbage collector work in each run. */
const kept = new WeakMap<Device, KeptBuffers<ArrayBuffer>>();

function lentInput(device: Device, source: TypedArray): TypedArray | undefined {
  if (source.byteLength < leastBytes || !lends(device)) return undefined;
  const type = elementTypeOf(source);
  if (type !== 'float32' && type !== 'float64' && type !== 'int32') return undefined;
  const own = kept.get(device) ?? new KeptBuffers<ArrayBuffer>(leastBytes);
  kept.set(device, own);
  const earlier = own.take(source.byteLength);
  return addon().lendInput(Device.number(device), typeNumber(type), source.length, earlier && new Uint8Array(earlier));
}

/**
 * An array of undefined contents for the results of calls of one device; undefined: the caller makes an ordinary one. Once all is written,
 * {@link settleResult}, or {@link giveBack} if nobody is to see it. From then on it is like any other array, and stays valid when the
 * device is closed; its memory serves later results once it is collected.
 *
 * Only on the main thread: results of a worker are there to be transferred, and external memory may not outlive the thread that made it.
 */
export function lentResult(device: Device, type: ElementType, length: number): TypedArray | undefined {
  if (!isMainThread || !lends(device)) return undefined;
  const made = addon().lendResult(Device.number(device), typeNumber(type), length);
  return made === undefined ? undefined : transferable(made);
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

/** Calls of the device from here on copy a lent result as they copy other arrays. */
export function settleResult(array: TypedArray): void {
  addon().settleResult(array);
}

/** Detaches a lent array and gives its memory back, once the calls that use it have ended. Nothing happens to other arrays. */
export function giveBack(array: TypedArray): void {
  addon().giveBack(array);
}

/** Has the device make memory that runs have missed, for later ones: called at the end of a run. */
export function provideLent(device: Device): void {
  if (lends(device)) addon().provideLent(Device.number(device));
}
