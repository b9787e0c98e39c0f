// Where results of the operations of registration go: arrays of the caller, or new ones beside the inputs.
import type { BackendName } from '../core/binding.ts';
import { DeviceArray } from '../core/device-array.ts';
import { defaultDevice, type Device } from '../core/device.ts';
import { ArgumentError, refusal } from '../core/errors.ts';
import type { CallOptions } from '../core/progress.ts';
import { deviceOfCall, pixelType, type Pixels } from './image.ts';

export type PixelType = 'float32' | 'float64';

/** What every result says of its call. */
export interface CallInfo {
  readonly backend: BackendName;
  /** Seconds of the operation proper, without transfers. */
  readonly deviceSeconds: number;
}

/** Signal and progress of a call without `undefined` fields. */
export function callOptions({ signal, onProgress }: CallOptions): CallOptions {
  return { ...(signal === undefined ? {} : { signal }), ...(onProgress === undefined ? {} : { onProgress }) };
}

/** The device of a call, opened if need be. */
export async function deviceFor(option: Device | undefined, arrays: readonly unknown[]): Promise<Device> {
  return deviceOfCall(option, arrays) ?? await defaultDevice();
}

/** Refuses an `out` that does not hold `count` elements of `type`. */
export function requireOut(out: Pixels | undefined, type: PixelType, count: number, name = 'out'): void {
  if (out === undefined) return;
  const own = pixelType(out, name);
  if (own !== type) throw refusal(name, `${type} elements`, own);
  if (out.length !== count) throw refusal(name, `${count} elements`, `${out.length}`);
}

/** Refuses a displacement that is not one component per axis of the grid, in the image's type. */
export function requireDisplacement(data: unknown, type: PixelType, count: number, name: string): asserts data is Pixels {
  const own = pixelType(data, name);
  if (own !== type) throw refusal(name, `${type} elements like the image`, own);
  if ((data as Pixels).length !== count) throw refusal(name, `${count} elements, one component per axis`, `${(data as Pixels).length}`);
}

/** A new array for `count` results: in device memory when the input `like` is there. */
export async function newPixels(like: Pixels, type: PixelType, count: number, device: Device): Promise<Pixels> {
  if (like instanceof DeviceArray) return device.array(type, count);
  return type === 'float32' ? new Float32Array(count) : new Float64Array(count);
}

/** Runs `body` with results made by newPixels, and frees them when it fails. */
export async function withResults<T>(made: readonly Pixels[], body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    for (const array of made) if (array instanceof DeviceArray) array.dispose();
    throw error;
  }
}

/** Refuses what is neither true nor false nor absent. */
export function requireBoolean(value: unknown, name: string): void {
  if (value !== undefined && typeof value !== 'boolean') throw new ArgumentError(name, 'expected true or false');
}
