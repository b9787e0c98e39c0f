// What sessions on devices take and give: arrays of the device that fit the ends of a program, and blocks that are joined.
import type { Device, DeviceArray } from '../../core/device.ts';
import { refusal } from '../../core/errors.ts';
import { scalarCount } from '../interpret/values.ts';
import { elementTypes } from '../run/gpu-ends.ts';
import type { Scalars } from '../run/prepare.ts';
import type { FusedEnd } from '../targets/cuda-places.ts';
import { scalarsFrom, type Made, type Outlet } from './engine.ts';

/** What pieces give that print nothing. */
export function madeOf(output: Scalars, error?: Error): Made {
  return { output, text: '', ...(error === undefined ? {} : { error }) };
}

/** Refuses arrays for an end of a program. `device`: none: only types are looked at. */
export function requireArray(name: string, array: DeviceArray, { external: { type }, kinds }: FusedEnd, device: Device | undefined): void {
  const [kind, ...others] = kinds;
  if (kind === undefined || others.length > 0) {
    throw refusal(name, "an array in JavaScript's memory, since the items have numbers of several types", 'a DeviceArray');
  }
  if (device === undefined) return;
  if (array.device !== device) throw refusal(name, "an array of the session's device", 'an array of another device');
  if (array.type !== elementTypes[kind]) throw refusal(name, `${elementTypes[kind]} elements`, array.type);
  const width = scalarCount(type);
  if (array.length % width !== 0) throw refusal(name, `whole items of ${width} elements`, `${array.length} elements`);
}

/** Blocks one after the other. */
export function joined(blocks: readonly Scalars[], { type }: Outlet): Scalars {
  const some = blocks.filter(({ length }) => length > 0);
  const [first] = some;
  if (first === undefined) return scalarsFrom([], type);
  if (some.length === 1) return first;
  const length = some.reduce((sum, block) => sum + block.length, 0);
  const all = new (first.constructor as new (length: number) => Scalars)(length);
  let at = 0;
  for (const block of some) {
    all.set(block, at);
    at += block.length;
  }
  return all;
}
