// Pyramids of images: levels of half the extents, and the way of displacements back up.
import { callOptions, viewOf } from '../core/call.ts';
import { type Device, type DeviceArray, resultArray } from '../core/device.ts';
import type { CallOptions } from '../core/progress.ts';
import { type CheckedImage, type Pixels } from '../files/image.ts';
import { axesOf } from './warp.ts';

/** Extents of a level, and the axes along which it is halved to become the next, coarser one. */
export interface PyramidLevel {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  readonly halved: { readonly halveX: boolean; readonly halveY: boolean; readonly halveZ: boolean };
}

/** Axes shorter than this are not halved any more. */
const leastHalved = 8;
const none = { halveX: false, halveY: false, halveZ: false };

/** The minimum length of the coarsest level's longest side, unless more levels are requested. */
export function coarsestSide(depth: number): number {
  return depth > 1 ? 16 : 32;
}

/**
 * The levels of a grid, finest first: at most `most` of them, by default as many as leave the coarsest one with 32 points on its
 * longest side, 16 for volumes. Short axes keep their extent.
 */
export function planPyramid(grid: { width: number; height: number; depth: number }, most?: number): PyramidLevel[] {
  const levels: PyramidLevel[] = [];
  let { width, height, depth } = grid;
  for (;;) {
    const longest = Math.max(width, height, depth);
    const goesOn = most === undefined ? longest / 2 >= coarsestSide(grid.depth) : levels.length + 1 < most;
    const halved = { halveX: width >= leastHalved, halveY: height >= leastHalved, halveZ: depth >= leastHalved };
    if (!goesOn || !(halved.halveX || halved.halveY || halved.halveZ)) {
      levels.push({ width, height, depth, halved: none });
      return levels;
    }
    levels.push({ width, height, depth, halved });
    if (halved.halveX) width = Math.ceil(width / 2);
    if (halved.halveY) height = Math.ceil(height / 2);
    if (halved.halveZ) depth = Math.ceil(depth / 2);
  }
}

type Type = CheckedImage['type'];
/** Points of a level. */
export const pointsOf = ({ width, height, depth }: PyramidLevel): number => width * height * depth;

async function resample(
  device: Device, type: Type, fine: PyramidLevel, channels: number, up: boolean, from: Pixels, to: DeviceArray, options: CallOptions,
): Promise<number> {
  const { width, height, depth, halved } = fine;
  const { deviceSeconds } = await device.run('imaging.resample', {
    type, width, height, depth, channels, ...halved, up, values: viewOf(from), result: viewOf(to),
  }, callOptions({ signal: options.signal }));
  return deviceSeconds;
}

/**
 * An array on another level, in device memory, which calls may use at once and the caller frees; and the seconds that computing it
 * takes.
 */
export interface Resampled {
  readonly array: DeviceArray;
  readonly seconds: Promise<number>;
}

/** An image on the next, coarser level. */
export function halve(
  device: Device, type: Type, image: Pixels, fine: PyramidLevel, coarse: PyramidLevel, options: CallOptions,
): Resampled {
  const array = resultArray(device, type, pointsOf(coarse));
  return { array, seconds: resample(device, type, fine, 1, false, image, array, options) };
}

/** A displacement on the next, finer level. */
export function double(
  device: Device, type: Type, displacement: Pixels, fine: PyramidLevel, options: CallOptions,
): Resampled {
  const axes = axesOf(fine);
  const array = resultArray(device, type, axes * pointsOf(fine));
  return { array, seconds: resample(device, type, fine, axes, true, displacement, array, options) };
}
