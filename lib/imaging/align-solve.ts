// The alignment of two images by a translation, a rigid or an affine map: Gauss-Newton steps with Levenberg's damping, on the host.
import { describeValue } from '../core/arrays.ts';
import { refusal } from '../core/errors.ts';
import { elementAt, required } from '../core/known.ts';
import type { AlignLevel } from './align-levels.ts';

/** The maps among which an alignment is sought. */
export const alignModels = ['translation', 'rigid', 'affine'] as const;
/** One of {@link alignModels}. */
export type AlignModel = (typeof alignModels)[number];

/** Refuses weights that are not one finite number from 0 on per channel, not all of them 0. */
export function requireWeights(weights: unknown, channels: number): void {
  if (weights === undefined) return;
  const fits = Array.isArray(weights) && weights.length === channels
    && weights.every((each) => typeof each === 'number' && each >= 0 && each < Infinity) && weights.some((each) => each > 0);
  if (!fits) throw refusal('weights', `${channels} numbers of 0 or more, one per channel, not all 0`, describeValue(weights));
}

/**
 * A map of positions in lengths: y = centre + matrix (x - centre) + shift. Lengths count from the first pixel, in the unit of the spacing.
 * With it the intensities: gain × template + offset, for each channel.
 */
export interface Motion {
  readonly matrix: Float64Array;
  readonly shift: Float64Array;
  readonly gain: Float64Array;
  readonly offset: Float64Array;
}

/** What is aligned. */
export interface AlignSetup {
  readonly axes: 2 | 3;
  readonly channels: number;
  readonly model: AlignModel;
  /** Whether gain and offset are sought too, which makes the measure that of the correlation. */
  readonly matchesIntensity: boolean;
  readonly spacing: readonly number[];
  readonly centre: readonly number[];
  /** Of each channel's squared differences. */
  readonly weights: readonly number[];
  /** Half the longest side: turns and stretches are counted by what they move there. */
  readonly reach: number;
}

/** The normal equations at a motion, and the mean squared difference, times the weights. */
interface Equations {
  readonly matrix: Float64Array;
  readonly right: Float64Array;
  readonly value: number;
}

export const restingMotion = (axes: number, channels: number): Motion => ({
  matrix: Float64Array.from({ length: axes * axes }, (_, i) => (i % (axes + 1) === 0 ? 1 : 0)), shift: new Float64Array(axes),
  gain: new Float64Array(channels).fill(1), offset: new Float64Array(channels),
});

/** Number of parameters of the map. */
export function freedom({ model, axes }: AlignSetup): number {
  if (model === 'translation') return axes;
  return axes + (model === 'affine' ? axes * axes : axes === 2 ? 1 : 3);
}

/** Where a motion takes a position. */
function carry({ matrix, shift }: Motion, { axes, centre }: AlignSetup, x: readonly number[], to: number[]): void {
  for (let a = 0; a < axes; a += 1) {
    let sum = elementAt(centre, a) + required(shift[a]);
    for (let b = 0; b < axes; b += 1) sum += required(matrix[a * axes + b]) * (elementAt(x, b) - elementAt(centre, b));
    to[a] = sum;
  }
}

/** Derivatives of a template's value at y by the parameters, from its gradient there; x: the position that went there. */
function derivatives(
  setup: AlignSetup, x: readonly number[], y: readonly number[], { shift }: Motion, gradient: readonly number[], out: Float64Array,
): void {
  const { axes, model, centre, reach } = setup;
  for (let a = 0; a < axes; a += 1) out[a] = elementAt(gradient, a);
  if (model === 'affine') {
    for (let a = 0; a < axes; a += 1) {
      for (let b = 0; b < axes; b += 1) {
        out[axes + a * axes + b] = elementAt(gradient, a) * (elementAt(x, b) - elementAt(centre, b)) / reach;
      }
    }
  } else if (model === 'rigid') {
    const [px, py, pz = 0] = y.map((at, a) => (at - elementAt(centre, a) - required(shift[a])) / reach) as [number, number, number?];
    const [gx, gy, gz = 0] = gradient as unknown as [number, number, number?];
    if (axes === 2) {
      out[2] = gy * px - gx * py;
    } else {
      out[3] = gz * py - gy * pz;
      out[4] = gx * pz - gz * px;
      out[5] = gy * px - gx * py;
    }
  }
}

/** The value of a template at a position in pixels of its level, and the gradient by pixels; false outside. */
function sampled({ template, extents, points }: AlignLevel, channel: number, at: readonly number[], gradient: number[]): number {
  const [nx, ny, nz] = extents;
  const [x, y, z = 0] = at as unknown as [number, number, number?];
  if (!(x >= 0 && y >= 0 && z >= 0 && x <= nx - 1 && y <= ny - 1 && z <= nz - 1)) return NaN;
  const [i, j, k] = [Math.min(Math.floor(x), Math.max(0, nx - 2)), Math.min(Math.floor(y), Math.max(0, ny - 2)),
    Math.min(Math.floor(z), Math.max(0, nz - 2))];
  const [fx, fy, fz] = [x - i, y - j, z - k];
  const [dx, dy, dz] = [nx > 1 ? 1 : 0, ny > 1 ? nx : 0, nz > 1 ? nx * ny : 0];
  const first = channel * points + (k * ny + j) * nx + i;
  const value = (cx: number, cy: number, cz: number): number => required(template[first + cx * dx + cy * dy + cz * dz]);
  const mix = (a: number, b: number, t: number): number => a + t * (b - a);
  const [v000, v100, v010, v110] = [value(0, 0, 0), value(1, 0, 0), value(0, 1, 0), value(1, 1, 0)];
  const [v001, v101, v011, v111] = nz > 1 ? [value(0, 0, 1), value(1, 0, 1), value(0, 1, 1), value(1, 1, 1)] : [v000, v100, v010, v110];
  const [low, high] = [mix(mix(v000, v100, fx), mix(v010, v110, fx), fy), mix(mix(v001, v101, fx), mix(v011, v111, fx), fy)];
  gradient[0] = mix(mix(v100 - v000, v110 - v010, fy), mix(v101 - v001, v111 - v011, fy), fz);
  gradient[1] = mix(mix(v010 - v000, v110 - v100, fx), mix(v011 - v001, v111 - v101, fx), fz);
  gradient[2] = high - low;
  return mix(low, high, fz);
}

/** Least share of the points that must lie on the template. */
const leastOverlap = 0.25;

/** The equations of a step, over the points of a level. Value Infinity: too few points lie on the template. */
export function equationsAt(level: AlignLevel, motion: Motion, setup: AlignSetup): Equations {
  const { axes, channels, matchesIntensity, spacing, weights } = setup;
  const own = freedom(setup);
  const count = own + (matchesIntensity ? 2 * channels : 0);
  const [matrix, right, row] = [new Float64Array(count * count), new Float64Array(count), new Float64Array(count)];
  const [x, y, at, gradient]: number[][] = [[], [], [], []];
  let [sum, taken] = [0, 0];
  for (const point of level.chosen) {
    level.place(point, x as number[]);
    carry(motion, setup, x as number[], y as number[]);
    for (let a = 0; a < axes; a += 1) {
      (at as number[])[a] = (elementAt(y as number[], a) / elementAt(spacing, a) + 0.5) / elementAt(level.scale, a) - 0.5;
    }
    for (let c = 0; c < channels; c += 1) {
      const weight = elementAt(weights, c);
      const value = sampled(level, c, at as number[], gradient as number[]);
      const [gain, offset] = [required(motion.gain[c]), required(motion.offset[c])];
      const off = required(level.reference[c * level.points + point]) - (gain * value + offset);
      if (!Number.isFinite(off)) continue;
      for (let a = 0; a < axes; a += 1) {
        (gradient as number[])[a] = gain * elementAt(gradient as number[], a) / (elementAt(spacing, a) * elementAt(level.scale, a));
      }
      row.fill(0);
      derivatives(setup, x as number[], y as number[], motion, gradient as number[], row);
      if (matchesIntensity) {
        row[own + 2 * c] = value;
        row[own + 2 * c + 1] = 1;
      }
      for (let i = 0; i < count; i += 1) {
        const each = weight * required(row[i]);
        right[i] = required(right[i]) + each * off;
        for (let j = 0; j <= i; j += 1) matrix[i * count + j] = required(matrix[i * count + j]) + each * required(row[j]);
      }
      sum += weight * off * off;
      taken += 1;
    }
  }
  return { matrix, right, value: taken >= leastOverlap * channels * level.chosen.length && taken > 0 ? sum / taken : Infinity };
}

/** Solves the damped equations by Cholesky's factors; undefined if they have none. */
export function dampedStep({ matrix, right }: Equations, damping: number): Float64Array | undefined {
  const n = right.length;
  const [factor, step] = [matrix.slice(), right.slice()];
  for (let i = 0; i < n; i += 1) {
    factor[i * n + i] = required(factor[i * n + i]) * (1 + damping) + 1e-30;
    for (let j = 0; j <= i; j += 1) {
      let sum = required(factor[i * n + j]);
      for (let k = 0; k < j; k += 1) sum -= required(factor[i * n + k]) * required(factor[j * n + k]);
      if (i === j && !(sum > 0)) return undefined;
      factor[i * n + j] = i === j ? Math.sqrt(sum) : sum / required(factor[j * n + j]);
    }
  }
  for (let i = 0; i < n; i += 1) {
    for (let k = 0; k < i; k += 1) step[i] = required(step[i]) - required(factor[i * n + k]) * required(step[k]);
    step[i] = required(step[i]) / required(factor[i * n + i]);
  }
  for (let i = n - 1; i >= 0; i -= 1) {
    for (let k = i + 1; k < n; k += 1) step[i] = required(step[i]) - required(factor[k * n + i]) * required(step[k]);
    step[i] = required(step[i]) / required(factor[i * n + i]);
  }
  return step;
}

/** The rotation by a vector's length about its direction (Rodrigues); in the plane by its only entry. */
function rotation(turn: readonly number[]): number[] {
  if (turn.length === 1) {
    const [cos, sin] = [Math.cos(elementAt(turn, 0)), Math.sin(elementAt(turn, 0))];
    return [cos, -sin, sin, cos];
  }
  const angle = Math.hypot(...turn);
  if (angle === 0) return [1, 0, 0, 0, 1, 0, 0, 0, 1];
  const [x, y, z] = turn.map((each) => each / angle) as [number, number, number];
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  const t = 1 - c;
  return [t * x * x + c, t * x * y - s * z, t * x * z + s * y, t * x * y + s * z, t * y * y + c, t * y * z - s * x,
    t * x * z - s * y, t * y * z + s * x, t * z * z + c];
}

/** A motion after a step, and the farthest that the step moves a point within reach. */
export function moved(motion: Motion, step: Float64Array, setup: AlignSetup): { motion: Motion; by: number } {
  const { axes, model, reach, channels, matchesIntensity } = setup;
  const own = freedom(setup);
  const shift = motion.shift.map((each, a) => each + required(step[a]));
  const rest = Array.from(step.subarray(axes, own), (each) => each / reach);
  let matrix = motion.matrix.slice();
  if (model === 'affine') matrix = matrix.map((each, i) => each + elementAt(rest, i));
  if (model === 'rigid') {
    const turn = rotation(rest);
    matrix = matrix.map((_, i) => {
      const [a, b] = [Math.floor(i / axes), i % axes];
      return Array.from({ length: axes }, (_unused, k) => elementAt(turn, a * axes + k) * required(motion.matrix[k * axes + b]))
        .reduce((sum, each) => sum + each, 0);
    });
  }
  const intensity = (part: number, from: Float64Array) =>
    Float64Array.from({ length: channels }, (_, c) => required(from[c]) + (matchesIntensity ? required(step[own + 2 * c + part]) : 0));
  const by = Math.hypot(...step.subarray(0, axes)) + Math.hypot(...step.subarray(axes, own));
  return { motion: { matrix, shift, gain: intensity(0, motion.gain), offset: intensity(1, motion.offset) }, by };
}
