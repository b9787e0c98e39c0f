// What all calls of operations share: choosing the device, allocating results, and passing arrays to an operation.
import { describeValue, elementTypeOf, makeResult, type ElementType, type TypedArray } from './arrays.ts';
import type { BackendName } from './binding.ts';
import { Device, DeviceArray, implicitDevice, resultArray, type RunResult } from './device.ts';
import { rule } from './checks.ts';
import { refusal } from './errors.ts';
import { cancelChecks } from './options.ts';
import type { Parameters } from './pack.ts';
import type { CallOptions } from './progress.ts';
import type { ReportOf } from './report.ts';

/** Arrays of real numbers, in JavaScript's memory or on a device. */
export type Reals = Float32Array | Float64Array | DeviceArray;
/** Element type of arrays of real numbers. */
export type RealType = 'float32' | 'float64';

/** Information about the call in every result. */
export interface CallInfo {
  readonly backend: BackendName;
  /** Seconds of the operation proper, without transfers. */
  readonly deviceSeconds: number;
}

/** Element type of an array of real numbers; rejects everything else. */
export function requireReals(array: unknown, name: string): RealType {
  const type = array instanceof DeviceArray ? array.type : elementTypeOf(array);
  if (type === 'float32' || type === 'float64') return type;
  const received = array instanceof DeviceArray ? `a DeviceArray of ${array.type}` : describeValue(array);
  throw refusal(name, 'a Float32Array, a Float64Array or a DeviceArray of such', received);
}

/** Rejects an `out` that does not hold `count` elements of `type`. */
export function requireOut(out: unknown, type: RealType, count: number, name = 'out'): void {
  if (out === undefined) return;
  const own = requireReals(out, name);
  if (own !== type) throw refusal(name, `${type} elements`, own);
  if ((out as Reals).length !== count) throw refusal(name, `${count} elements`, `${(out as Reals).length}`);
}

/** Options of every function that runs on a device. */
export const callChecks = { device: rule<Device>('a Device', (value) => value instanceof Device), ...cancelChecks };

/** Complex numbers as two arrays. */
export interface SplitParts {
  readonly re: unknown;
  readonly im: unknown;
}

/** Whether a value has { re, im }. Typed arrays are excluded first, because looking up a name in them is slow. */
export function hasParts(value: unknown): value is SplitParts {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value) && !(value instanceof DeviceArray)
    && 're' in value && 'im' in value;
}

function sameDevice(device: Device | undefined, array: unknown): Device | undefined {
  if (!(array instanceof DeviceArray)) return device;
  if (device === undefined || array.device === device) return array.device;
  throw refusal('device', 'the device that holds the device arrays of the call', 'another one');
}

/**
 * The device of a call: that of the option, or that of the device arrays among `arrays` (and their parts), or the thread's default one,
 * which may still be opening but accepts calls at once.
 * @throws ArgumentError for arrays of two devices; `signal.reason` if the call was already aborted
 */
export function deviceFor(
  { device: asked, signal }: { readonly device?: Device; readonly signal?: AbortSignal }, arrays: readonly unknown[],
): Device {
  let device = asked;
  for (const array of arrays) {
    if (ArrayBuffer.isView(array)) continue;
    device = hasParts(array) ? sameDevice(sameDevice(device, array.re), array.im) : sameDevice(device, array);
  }
  signal?.throwIfAborted();
  return device ?? implicitDevice();
}

/** Signal and progress of a call without `undefined` fields. */
export function callOptions({ signal, onProgress }: CallOptions): CallOptions {
  return { ...(signal === undefined ? {} : { signal }), ...(onProgress === undefined ? {} : { onProgress }) };
}

/**
 * A new array for `length` results, which the operation writes completely: on the device if the input `like` is there, otherwise in
 * JavaScript's memory. `zeroed`: the operation leaves gaps.
 */
export function newArray(like: unknown, type: ElementType, length: number, device: Device, zeroed = false): TypedArray | DeviceArray {
  return like instanceof DeviceArray ? resultArray(device, type, length, zeroed) : makeResult(type, length);
}

/** {@link newArray} of real numbers. */
export function newReals(like: Reals, type: RealType, count: number, device: Device): Reals {
  return newArray(like, type, count, device) as Reals;
}

/** Frees those of the given values that are device arrays, or consist of device arrays. */
export function release(made: Iterable<unknown>): void {
  for (const array of made) {
    for (const part of hasParts(array) ? [array.re, array.im] : [array]) if (part instanceof DeviceArray) part.dispose();
  }
}

/** The promise that `start` returns, or one that rejects if it throws. Async functions take a microsecond longer. */
export function promised<T>(start: () => Promise<T>): Promise<T> {
  try {
    return start();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** One run of an operation. */
export interface Run<Name extends string> {
  readonly device: Device;
  readonly operation: Name;
  readonly parameters: Parameters;
  readonly options: CallOptions;
  /** Arrays that were allocated for it, and are freed if it fails. */
  readonly made: readonly unknown[];
}

/** Runs an operation; `finish` builds the result for the caller. */
export function runInto<Name extends string, T>(
  { device, operation, parameters, options, made }: Run<Name>, finish: (result: RunResult<ReportOf<Name>>) => T,
): Promise<T> {
  return device.run(operation, parameters, options).then(finish, (error: unknown) => {
    release(made);
    throw error;
  });
}

/** Runs `body` with results that were allocated for it, and frees them if it fails. */
export async function withResults<T>(made: readonly unknown[], body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    release(made);
    throw error;
  }
}

/**
 * Device arrays with the elements of typed arrays, which are read before this returns, or of zeros: all of them, or none if one does not
 * fit.
 */
export async function deviceArrays(
  device: Device, sources: readonly (TypedArray | { readonly type: ElementType; readonly length: number })[],
): Promise<DeviceArray[]> {
  const made = await Promise.allSettled(sources.map((source) =>
    (ArrayBuffer.isView(source) ? device.array(source) : device.array(source.type, source.length))));
  const failed = made.find((each) => each.status === 'rejected');
  const arrays = made.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  if (failed === undefined) return arrays;
  release(arrays);
  throw failed.reason;
}

/** A view of the whole array. */
export function viewOf(data: Reals) {
  return { data };
}
