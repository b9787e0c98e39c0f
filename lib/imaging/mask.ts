// Masks: where an operation measures. Pixels outside count as pixels without data, which are NaN.
import { types } from 'node:util';
import { describeValue, typedCopy } from '../core/arrays.ts';
import { type Device, DeviceArray, inputArray } from '../core/device.ts';
import { refusal } from '../core/errors.ts';
import { required } from '../core/known.ts';
import type { CheckedImage, Pixels } from '../files/image.ts';
import type { Mask } from './distances.ts';

/** A checked mask, 1 inside, as it is at the call; undefined for none. */
export function checkMask(mask: unknown, { points }: CheckedImage): Uint8Array | undefined {
  if (mask === undefined) return undefined;
  if (!types.isUint8Array(mask) && !types.isFloat32Array(mask) && !types.isFloat64Array(mask)) {
    throw refusal('mask', 'a Uint8Array, Float32Array or Float64Array', describeValue(mask));
  }
  const given: Mask = mask;
  if (given.length !== points) throw refusal('mask', `width * height * depth = ${points} entries`, `${given.length}`);
  const inside = new Uint8Array(points);
  let count = 0;
  for (let i = 0; i < points; i += 1) {
    if (given[i] === 0) continue;
    inside[i] = 1;
    count += 1;
  }
  if (count === 0) throw refusal('mask', 'at least one nonzero entry', 'none');
  return inside;
}

/** Pixels on the host, as they are at the call. */
export async function hostPixels(pixels: Pixels, signal?: AbortSignal): Promise<Float32Array | Float64Array> {
  return pixels instanceof DeviceArray ? await pixels.read(undefined, 0, { signal }) as Float32Array : typedCopy(pixels);
}

/** Pixels outside the mask become NaN, in all channels. */
export function hideOutside(pixels: Float32Array | Float64Array, inside: Uint8Array): void {
  for (let i = 0, at = 0; i < pixels.length; i += 1, at = at + 1 === inside.length ? 0 : at + 1) if (inside[at] === 0) pixels[i] = NaN;
}

/** Pixels outside the mask become those of another image. */
export function restoreOutside(pixels: Float32Array | Float64Array, from: Float32Array | Float64Array, inside: Uint8Array): void {
  for (let i = 0, at = 0; i < pixels.length; i += 1, at = at + 1 === inside.length ? 0 : at + 1) {
    if (inside[at] === 0) pixels[i] = required(from[i]);
  }
}

/** Pixels where those that they stand for are: on the device, or the array itself. The caller frees device arrays. */
export function placed(device: Device, like: Pixels, pixels: Float32Array | Float64Array): Pixels {
  return like instanceof DeviceArray ? inputArray(device, pixels) : pixels;
}

/** Pixels of all channels times their mask, and the masks after them: both are smoothed alike, and their ratio is the mean inside. */
export function maskedStack<P extends Float32Array | Float64Array>(pixels: P, inside: Uint8Array): P {
  const stack = new (pixels.constructor as new (length: number) => P)(2 * pixels.length);
  for (let i = 0, at = 0; i < pixels.length; i += 1, at = at + 1 === inside.length ? 0 : at + 1) {
    if (inside[at] === 0 || !Number.isFinite(pixels[i])) continue;
    stack[i] = required(pixels[i]);
    stack[pixels.length + i] = 1;
  }
  return stack;
}

/** The smallest share of a coarse pixel inside the mask with which it counts. */
const leastShare = 0.25;

/** The samples of a stack; NaN where too little of them is inside. */
export function unstacked<P extends Float32Array | Float64Array>(stack: P, samples: number): P {
  const pixels = stack.slice(0, samples) as P;
  for (let i = 0; i < samples; i += 1) {
    const share = required(stack[samples + i]);
    pixels[i] = share >= leastShare ? required(pixels[i]) / share : NaN;
  }
  return pixels;
}
