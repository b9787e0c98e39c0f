// The levels of an alignment, on the host: means of two pixels along the halved axes, and the points that are compared.
import { elementAt, required } from '../core/known.ts';
import type { CheckedImage } from '../files/image.ts';
import type { PyramidLevel } from './pyramid.ts';

type HostPixels = Float32Array | Float64Array;

/** One level. */
export interface AlignLevel {
  readonly extents: readonly [number, number, number];
  readonly points: number;
  /** Pixels of the finest level in one of this, by axis. */
  readonly scale: readonly number[];
  readonly reference: HostPixels;
  readonly template: HostPixels;
  /** The points of the reference that are compared. */
  readonly chosen: Uint32Array;
  /** Where a point is, in lengths from the first pixel of the finest level. */
  readonly place: (point: number, to: number[]) => void;
}

/** At most this many points are compared on a level: an even selection gives the same few parameters. */
const mostChosen = 2 ** 15;

/** Means of pixels along the halved axes, by channel; a mean that misses a pixel is of the others, and NaN if it misses all. */
function halved(pixels: HostPixels, channels: number, fine: PyramidLevel, coarse: PyramidLevel): HostPixels {
  const [nx, ny, nz] = [coarse.width, coarse.height, coarse.depth];
  const { halveX, halveY, halveZ } = fine.halved;
  const result = new (pixels.constructor as new (length: number) => HostPixels)(channels * nx * ny * nz);
  const ends = (at: number, halves: boolean, extent: number): [number, number] =>
    (halves ? [2 * at, Math.min(extent - 1, 2 * at + 1)] : [at, at]);
  for (let i = 0; i < result.length; i += 1) {
    const [x, y, z, c] = [i % nx, Math.floor(i / nx) % ny, Math.floor(i / nx / ny) % nz, Math.floor(i / nx / ny / nz)];
    const [[x0, x1], [y0, y1], [z0, z1]] = [ends(x, halveX, fine.width), ends(y, halveY, fine.height), ends(z, halveZ, fine.depth)];
    let [sum, count] = [0, 0];
    for (let k = z0; k <= z1; k += 1) {
      for (let j = y0; j <= y1; j += 1) {
        for (let h = x0; h <= x1; h += 1) {
          const value = required(pixels[((c * fine.depth + k) * fine.height + j) * fine.width + h]);
          if (!Number.isFinite(value)) continue;
          sum += value;
          count += 1;
        }
      }
    }
    result[i] = count > 0 ? sum / count : NaN;
  }
  return result;
}

/** Points of a reference that are numbers, evenly selected. */
function chosenOf(reference: HostPixels, points: number): Uint32Array {
  const finite: number[] = [];
  for (let i = 0; i < points; i += 1) if (Number.isFinite(reference[i])) finite.push(i);
  const every = Math.max(1, finite.length / mostChosen);
  return Uint32Array.from({ length: Math.floor(finite.length / every) }, (_, k) => elementAt(finite, Math.floor(k * every)));
}

/** The levels, the finest first. */
export function alignLevels(
  plan: readonly PyramidLevel[], reference: HostPixels, template: HostPixels, { channels, spacing = [1, 1, 1] }: CheckedImage,
): AlignLevel[] {
  let [fixed, moving, scale] = [reference, template, [1, 1, 1]];
  return plan.map((size, level) => {
    if (level > 0) {
      const fine = elementAt(plan, level - 1);
      [fixed, moving] = [halved(fixed, channels, fine, size), halved(moving, channels, fine, size)];
      const halves = [fine.halved.halveX, fine.halved.halveY, fine.halved.halveZ];
      scale = scale.map((each, axis) => (elementAt(halves, axis) ? 2 * each : each));
    }
    const { width, height, depth } = size;
    const own = scale;
    const points = width * height * depth;
    const at = (index: number, axis: number): number => ((index + 0.5) * elementAt(own, axis) - 0.5) * elementAt(spacing, axis);
    return {
      extents: [width, height, depth], points, scale: own, reference: fixed, template: moving, chosen: chosenOf(fixed, points),
      place: (point, to) => {
        to[0] = at(point % width, 0);
        to[1] = at(Math.floor(point / width) % height, 1);
        if (depth > 1) to[2] = at(Math.floor(point / width / height), 2);
      },
    };
  });
}
