// Pyramids of images: levels of half the extents, and the way of displacements back up.
import { callOptions, viewOf } from '../core/call.ts';
import { type Device, type DeviceArray, resultArray } from '../core/device.ts';
import { elementAt } from '../core/known.ts';
import type { CallOptions } from '../core/progress.ts';
import { relativeSpacing, type CheckedImage, type Pixels } from '../files/image.ts';
import { axesOf } from './warp.ts';

/** Extents of a level, and the axes along which it is halved to become the next, coarser one. */
export interface PyramidLevel {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  /** Distances of points, where those of the image are not equal. */
  readonly spacing: readonly [number, number, number] | undefined;
  readonly halved: { readonly halveX: boolean; readonly halveY: boolean; readonly halveZ: boolean };
}

/** Axes shorter than this are not halved any more. */
const leastHalved = 8;
/** Axes whose points are farther apart than this many times the closest ones wait. */
const farther = Math.SQRT2;
const none = { halveX: false, halveY: false, halveZ: false };

/** The minimum length of the coarsest level's longest side, unless more levels are requested. */
export function coarsestSide(depth: number): number {
  return depth > 1 ? 16 : 32;
}

/** Which axes of a level are halved: the long ones, without those whose points are far apart compared with the others. */
function halvedAxes(extents: readonly number[], spacing: readonly number[]): PyramidLevel['halved'] {
  const long = extents.map((extent) => extent >= leastHalved);
  const closest = Math.min(...spacing.filter((_, axis) => elementAt(long, axis)));
  const [halveX = false, halveY = false, halveZ = false] = long.map((is, axis) => is && elementAt(spacing, axis) <= farther * closest);
  return { halveX, halveY, halveZ };
}

/**
 * The levels of a grid, finest first: at most `most` of them, by default as many as leave the coarsest one with 32 points on its
 * longest side, 16 for volumes. Short axes keep their extent, and so do axes whose points are far apart until the others' are too.
 */
export function planPyramid(
  grid: { width: number; height: number; depth: number; spacing?: readonly [number, number, number] | undefined }, most?: number,
): PyramidLevel[] {
  const levels: PyramidLevel[] = [];
  const { spacing, ...size } = grid;
  const isEven = relativeSpacing({ ...size, spacing }).every((each) => each === 1);
  let extents: [number, number, number] = [size.width, size.height, size.depth];
  let distances: [number, number, number] = isEven || spacing === undefined ? [1, 1, 1] : [...spacing];
  for (;;) {
    const [width, height, depth] = extents;
    const level = { width, height, depth, spacing: isEven ? undefined : distances };
    const goesOn = most === undefined ? Math.max(...extents) / 2 >= coarsestSide(grid.depth) : levels.length + 1 < most;
    const halved = halvedAxes(extents, isEven ? [1, 1, 1] : distances);
    const { halveX, halveY, halveZ } = halved;
    if (!goesOn || !(halveX || halveY || halveZ)) {
      levels.push({ ...level, halved: none });
      return levels;
    }
    levels.push({ ...level, halved });
    const halve = [halveX, halveY, halveZ];
    extents = extents.map((extent, axis) => (elementAt(halve, axis) ? Math.ceil(extent / 2) : extent)) as typeof extents;
    distances = distances.map((each, axis) => (elementAt(halve, axis) ? 2 * each : each)) as typeof distances;
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
  device: Device, type: Type, image: Pixels, fine: PyramidLevel, coarse: PyramidLevel, options: CallOptions, channels = 1,
): Resampled {
  const array = resultArray(device, type, channels * pointsOf(coarse));
  return { array, seconds: resample(device, type, fine, channels, false, image, array, options) };
}

/** A displacement on the next, finer level. */
export function double(
  device: Device, type: Type, displacement: Pixels, fine: PyramidLevel, options: CallOptions,
): Resampled {
  const axes = axesOf(fine);
  const array = resultArray(device, type, axes * pointsOf(fine));
  return { array, seconds: resample(device, type, fine, axes, true, displacement, array, options) };
}
