// What calls on arrays of real numbers have in common: their device, their results, and how arrays are handed to an operation.
import { describeValue, elementTypeOf, makeResult, type ElementType, type TypedArray } from './arrays.ts';
import type { BackendName } from './binding.ts';
import { DeviceArray } from './device-array.ts';
import { implicitDevice, resultArray, type Device } from './device.ts';
import { refusal } from './errors.ts';
import type { CallOptions } from './progress.ts';

/** Arrays of real numbers, in JavaScript's memory or on a device. */
export type Reals = Float32Array | Float64Array | DeviceArray;
export type RealType = 'float32' | 'float64';

/** What every result says of its call. */
export interface CallInfo {
  readonly backend: BackendName;
  /** Seconds of the operation proper, without transfers. */
  readonly deviceSeconds: number;
}

/** Element type of an array of real numbers; refuses everything else. */
export function requireReals(array: unknown, name: string): RealType {
  const type = array instanceof DeviceArray ? array.type : elementTypeOf(array);
  if (type === 'float32' || type === 'float64') return type;
  const received = array instanceof DeviceArray ? `a DeviceArray of ${array.type}` : describeValue(array);
  throw refusal(name, 'a Float32Array, a Float64Array or a DeviceArray of such', received);
}

/** Refuses an `out` that does not hold `count` elements of `type`. */
export function requireOut(out: unknown, type: RealType, count: number, name = 'out'): void {
  if (out === undefined) return;
  const own = requireReals(out, name);
  if (own !== type) throw refusal(name, `${type} elements`, own);
  if ((out as Reals).length !== count) throw refusal(name, `${count} elements`, `${(out as Reals).length}`);
}

/** The device of a call: that of the option, else of the device arrays among `arrays`; refuses arrays of two devices. */
export function deviceOfCall(option: Device | undefined, arrays: Iterable<unknown>): Device | undefined {
  let device = option;
  for (const array of arrays) {
    if (!(array instanceof DeviceArray)) continue;
    device ??= array.device;
    if (array.device !== device) throw refusal('device', 'the device of all device arrays of the call', 'another one');
  }
  return device;
}

/** {@link deviceOfCall}, or the thread's default device, which may still be opening: it takes calls at once. */
export function deviceFor(option: Device | undefined, arrays: Iterable<unknown>): Device {
  return deviceOfCall(option, arrays) ?? implicitDevice();
}

/** Signal and progress of a call without `undefined` fields. */
export function callOptions({ signal, onProgress }: CallOptions): CallOptions {
  return { ...(signal === undefined ? {} : { signal }), ...(onProgress === undefined ? {} : { onProgress }) };
}

/** A new array for `count` results, which the operation writes whole: in device memory when the input `like` is there. */
export function newReals(like: Reals, type: RealType, count: number, device: Device): Reals {
  return like instanceof DeviceArray ? resultArray(device, type, count) : makeResult(type, count) as Reals;
}

/** Runs `body` with results made by {@link newReals}, and frees them when it fails. */
export async function withResults<T>(made: readonly Reals[], body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    for (const array of made) if (array instanceof DeviceArray) array.dispose();
    throw error;
  }
}

/**
 * Device arrays of the elements of typed arrays, taken before this returns, and of zeros; all of them or, when one does not fit, none.
 */
export async function deviceArrays(
  device: Device, sources: readonly (TypedArray | { readonly type: ElementType; readonly length: number })[],
): Promise<DeviceArray[]> {
  const made = await Promise.allSettled(sources.map((source) =>
    (ArrayBuffer.isView(source) ? device.array(source) : device.array(source.type, source.length))));
  const failed = made.find((each) => each.status === 'rejected');
  const arrays = made.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  if (failed === undefined) return arrays;
  for (const array of arrays) array.dispose();
  throw failed.reason;
}

/** An array as an operation takes it. */
export function viewOf(data: Reals) {
  return { data, offset: 0, systemStride: 0, rowStride: 1, rhsStride: 0 };
}
