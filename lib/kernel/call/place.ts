// Where a call runs, and how its arrays get there.
import { typedCopy, type TypedArray } from '../../core/arrays.ts';
import { defaultDevice, DeviceArray, inputArray, openDevice, type Device } from '../../core/device.ts';
import { devices } from '../../core/devices.ts';
import { refusal, UnavailableError } from '../../core/errors.ts';
import { hostBackend } from './compiled.ts';
import { spanOf, type Operand, type View } from './operands.ts';
import type { HostArray, KernelBackend } from './types.ts';

/** Where a call runs. Device arrays of the cpu backend are read and written from here. */
export type Site =
  | { readonly kind: 'device'; readonly device: Device }
  | { readonly kind: 'host'; readonly backend: 'wasm' | 'interpreter'; readonly device: Device | undefined };

/** The device of device arrays and options; undefined if there is none. */
function deviceOf(asked: Device | undefined, views: readonly View[]): Device | undefined {
  let device = asked;
  for (const { data, name } of views) {
    if (!(data instanceof DeviceArray)) continue;
    if (device !== undefined && data.device !== device) {
      throw refusal(asked === undefined ? name : 'device', 'one device for all arrays of the call', 'an array of another device');
    }
    device = data.device;
  }
  return device;
}

const opened = new Map<string, Promise<Device>>();

/** The device of a backend for calls that name none. */
async function openedFor(backend: 'cuda' | 'simt'): Promise<Device> {
  const own = devices().filter((device) => device.backend === backend);
  if (!own.some(({ available }) => available)) {
    throw new UnavailableError(`${backend} is not available: ${own[0]?.reason ?? 'no such backend in this build'}; use backend 'wasm'`);
  }
  if (backend === 'cuda') return defaultDevice();
  const known = await opened.get(backend);
  if (known?.closed === false) return known;
  const opening = openDevice({ backend });
  opened.set(backend, opening);
  opening.catch(() => { if (opened.get(backend) === opening) opened.delete(backend); });
  return opening;
}

/** Chooses where to run; at once, except where a device has to be opened. */
export function siteOf(asked: Device | undefined, backend: KernelBackend | undefined, views: readonly View[]): Site | Promise<Site> {
  const device = deviceOf(asked, views);
  if (device !== undefined && device.backend !== 'cpu') {
    if (backend !== undefined && backend !== device.backend) {
      throw refusal('backend', `'${device.backend}', that of the device`, `'${backend}'`);
    }
    return { kind: 'device', device };
  }
  if (backend === 'cuda' || backend === 'simt') {
    if (device !== undefined) throw refusal('backend', "'wasm' or 'interpreter' with a device of the cpu backend", `'${backend}'`);
    return openedFor(backend).then((found): Site => ({ kind: 'device', device: found }));
  }
  return { kind: 'host', backend: backend ?? hostBackend, device };
}

/**
 * The operands with all arrays on a device, at once: later changes of arrays do not matter to calls that are made of them right after.
 * Copies are added to `made`. `keeps`: arrays of the device are copied too, for calls that are made later.
 */
export function onDevice(operands: readonly Operand[], device: Device, made: DeviceArray[], keeps: boolean): Operand[] {
  const taken = new Map<View['data'], DeviceArray>();
  const copyOf = (data: View['data'], from: number, length: number): DeviceArray => {
    const isWhole = data instanceof DeviceArray || length === data.length;
    const copy = (isWhole ? taken.get(data) : undefined)
      ?? inputArray(device, data instanceof DeviceArray ? data : data.subarray(from, from + length) as TypedArray);
    if (isWhole) taken.set(data, copy);
    made.push(copy);
    return copy;
  };
  return operands.map((operand): Operand => {
    if (typeof operand === 'number' || (operand.data instanceof DeviceArray && !keeps)) return operand;
    if (operand.data instanceof DeviceArray) return { ...operand, data: copyOf(operand.data, 0, operand.data.length) };
    const [low, high] = spanOf(operand) ?? [operand.offset, operand.offset - 1];
    return { ...operand, data: copyOf(operand.data, low, high + 1 - low), offset: operand.offset - low };
  });
}

/** The operands with copies of the arrays in JavaScript's memory: for calls that cannot read them at once. */
export function copied(operands: readonly Operand[]): Operand[] {
  const copies = new Map<View['data'], HostArray>();
  return operands.map((operand) => {
    if (typeof operand === 'number' || operand.data instanceof DeviceArray) return operand;
    const copy = copies.get(operand.data) ?? typedCopy(operand.data);
    copies.set(operand.data, copy);
    return { ...operand, data: copy };
  });
}

/** The operands with all arrays in JavaScript's memory. */
export function onHost(operands: readonly Operand[], signal: AbortSignal | undefined): Promise<Operand[]> {
  return settled(copied(operands).map((operand): Operand | Promise<View> => {
    if (typeof operand === 'number' || !(operand.data instanceof DeviceArray)) return operand;
    return readPart(operand, operand.data, signal);
  }));
}

/** A view of a copy, in JavaScript's memory, of what a view of a device array covers. */
export async function readPart(view: View, data: DeviceArray, signal: AbortSignal | undefined): Promise<View> {
  const Kind = { float32: Float32Array, float64: Float64Array, int32: Int32Array }[view.type];
  const [low, high] = spanOf(view) ?? [view.offset, view.offset - 1];
  const copy = await data.read(new Kind(high + 1 - low), low, signal === undefined ? {} : { signal });
  return { ...view, data: copy as HostArray, offset: view.offset - low };
}

/** All of them, or the first failure, once none is under way any more. */
async function settled<T>(list: readonly (T | Promise<T>)[]): Promise<T[]> {
  const all = await Promise.allSettled(list);
  const failed = all.find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return all.map((each) => (each as PromiseFulfilledResult<T>).value);
}
