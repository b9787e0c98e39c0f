// Landmarks: pairs of points that belong together, and how far a displacement leaves them apart.
import { callOptions, viewOf } from '../core/call.ts';
import { anything } from '../core/checks.ts';
import { describeValue, makeTypedArray, typedArrayKind } from '../core/arrays.ts';
import type { Device } from '../core/device.ts';
import { refusal } from '../core/errors.ts';
import { elementAt } from '../core/known.ts';
import { optionsOf, type ChecksOf } from '../core/options.ts';
import type { CallOptions } from '../core/progress.ts';
import { type CheckedImage, type Pixels } from '../files/image.ts';
import { axesOf, gridOf } from './warp.ts';

/** Pairs of points in pixels, x first, one point after the other: `[x0, y0, x1, y1, …]`, with z for volumes. */
export interface Landmarks {
  /** Points of the reference. */
  readonly reference: ArrayLike<number>;
  /** The corresponding points of the template. */
  readonly template: ArrayLike<number>;
}

/**
 * Target registration error: distances from x + u(x) at the reference's landmarks to those of the template, in the unit of the
 * reference's `spacing`, or in pixels if it has none.
 */
export interface LandmarkError {
  readonly mean: number;
  /** 95 of 100 landmarks are off by at most this much. */
  readonly p95: number;
  readonly max: number;
}

const fields = optionsOf('landmarks', { reference: anything, template: anything } satisfies ChecksOf<Landmarks>);

/** Rejects landmarks that are not pairs of points with `axes` finite coordinates each. */
export function requireLandmarks(landmarks: Landmarks | undefined, axes: number): void {
  if (landmarks === undefined) return;
  fields.read(landmarks, 'landmarks');
  for (const key of ['reference', 'template'] as const) {
    const points: unknown = landmarks[key];
    if (!Array.isArray(points) && typedArrayKind(points) === undefined) {
      throw refusal(`landmarks.${key}`, 'an array of coordinates', describeValue(points));
    }
    const { length } = landmarks[key];
    if (length === 0 || length % axes !== 0) throw refusal(`landmarks.${key}`, `points of ${axes} coordinates`, `${length} numbers`);
    for (let i = 0; i < length; i += 1) {
      if (!Number.isFinite(landmarks[key][i])) throw refusal(`landmarks.${key}`, 'finite coordinates', String(landmarks[key][i]));
    }
  }
  if (landmarks.reference.length !== landmarks.template.length) {
    throw refusal('landmarks.template', `${landmarks.reference.length} numbers like landmarks.reference`, `${landmarks.template.length}`);
  }
}

/** The error of a displacement on its device, at checked landmarks. */
export async function landmarkError(
  device: Device, displacement: Pixels, grid: CheckedImage, landmarks: Landmarks, options: CallOptions,
): Promise<LandmarkError> {
  const axes = axesOf(grid);
  const count = landmarks.reference.length / axes;
  const make = (length: number) => makeTypedArray(grid.type, length) as Float32Array | Float64Array;
  const positions = make(axes * count);
  for (let i = 0; i < count; i += 1) {
    for (let a = 0; a < axes; a += 1) positions[a * count + i] = elementAt(landmarks.reference, i * axes + a);
  }
  const moved = make(axes * count);
  await device.run('imaging.warp', {
    ...gridOf(grid), channels: axes, relative: false, count,
    image: viewOf(displacement), positions: viewOf(positions), result: viewOf(moved),
  }, callOptions({ signal: options.signal }));
  const distances = Float64Array.from({ length: count }, (_, i) => {
    let squares = 0;
    for (let a = 0; a < axes; a += 1) {
      const at = i * axes + a;
      const off = elementAt(landmarks.reference, at) + elementAt(moved, a * count + i) - elementAt(landmarks.template, at);
      squares += (off * elementAt(grid.spacing ?? [1, 1, 1], a)) ** 2;
    }
    return Math.sqrt(squares);
  }).sort();
  const mean = distances.reduce((sum, distance) => sum + distance, 0) / count;
  return { mean, p95: elementAt(distances, Math.min(count - 1, Math.ceil(0.95 * count) - 1)), max: elementAt(distances, count - 1) };
}
