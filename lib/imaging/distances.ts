// Distances on grids, and sorting of numbers, in time slices.
import { inSlices } from '../core/slices.ts';

/** A labelling: nonzero is inside. */
export type Mask = Uint8Array | Float32Array | Float64Array;

const grain = 2 ** 13;

/**
 * Squared distance of every pixel to the nearest nonzero one (Felzenszwalb and Huttenlocher 2012), one axis after the other.
 * `spacing`: distances of adjacent pixels along the axes.
 */
export async function squaredDistances(mask: Mask, shape: readonly number[], spacing: readonly number[] = []): Promise<Float64Array> {
  let field = new Float64Array(mask.length);
  await inSlices(mask.length, (begin, end) => {
    for (let i = begin; i < end; i += 1) field[i] = mask[i] === 0 ? Infinity : 0;
  }, { grain });
  for (const [axis, extent] of shape.entries()) {
    const inner = shape.slice(0, axis).reduce((a, b) => a * b, 1);
    const unit = (spacing[axis] ?? 1) ** 2; // a line is computed in units of its pixels
    const next = new Float64Array(field.length);
    const line = new Float64Array(extent);
    await inSlices(field.length / extent, (begin, end) => {
      for (let l = begin; l < end; l += 1) {
        const start = Math.floor(l / inner) * inner * extent + (l % inner);
        for (let i = 0; i < extent; i += 1) line[i] = field[start + i * inner]! / unit;
        lowerEnvelope(line, (i, value) => { next[start + i * inner] = value * unit; });
      }
    }, { grain: Math.ceil(1024 / extent) });
    field = next;
  }
  return field;
}

/** min over q of (p - q)² + f(q), for every p. */
function lowerEnvelope(f: Float64Array, set: (p: number, value: number) => void): void {
  const n = f.length;
  const parabolas: number[] = [];
  const starts: number[] = [];
  for (let q = 0; q < n; q += 1) {
    if (f[q] === Infinity) continue;
    let start = -Infinity;
    while (parabolas.length > 0) {
      const v = parabolas.at(-1)!;
      start = (f[q]! + q * q - (f[v]! + v * v)) / (2 * (q - v));
      if (start > starts.at(-1)!) break;
      parabolas.pop();
      starts.pop();
      start = -Infinity;
    }
    parabolas.push(q);
    starts.push(start);
  }
  for (let p = 0, k = 0; p < n; p += 1) {
    while (k + 1 < parabolas.length && starts[k + 1]! < p) k += 1;
    const v = parabolas[k];
    set(p, v === undefined ? Infinity : (p - v) ** 2 + f[v]!);
  }
}

/** Pixels of a labelling that have a face neighbour outside it, or are at the border. */
export async function surfaceOf(mask: Mask, shape: readonly number[]): Promise<Uint8Array> {
  const surface = new Uint8Array(mask.length);
  const axes = shape.map((extent, axis) => ({ extent, stride: shape.slice(0, axis).reduce((a, b) => a * b, 1) }))
    .filter(({ extent }) => extent > 1);
  await inSlices(mask.length, (begin, end) => {
    for (let i = begin; i < end; i += 1) {
      if (mask[i] === 0) continue;
      for (const { extent, stride } of axes) {
        const at = Math.floor(i / stride) % extent;
        if (at === 0 || at === extent - 1 || mask[i - stride] === 0 || mask[i + stride] === 0) {
          surface[i] = 1;
          break;
        }
      }
    }
  }, { grain });
  return surface;
}

/** Numbers in ascending order: runs are sorted individually, then merged. The given array is overwritten. */
export async function sortInTurns(values: Float64Array): Promise<Float64Array> {
  const count = values.length;
  const run = 2 ** 13;
  await inSlices(Math.ceil(count / run), (begin) => { values.subarray(begin * run, (begin + 1) * run).sort(); }, { grain: 1 });
  let from = values;
  let to: Float64Array = new Float64Array(count);
  for (let width = run; width < count; width *= 2) {
    let [left, right, first] = [0, width, 0]; // of the pair of runs that begins at `first`
    await inSlices(count, (begin, end) => {
      for (let i = begin; i < end; i += 1) {
        if (i === first + 2 * width) [first, left, right] = [i, i, i + width];
        const ends = Math.min(count, first + 2 * width);
        const takesLeft = left < Math.min(count, first + width) && (right >= ends || from[left]! <= from[right]!);
        to[i] = takesLeft ? from[left]! : from[right]!;
        if (takesLeft) left += 1;
        else right += 1;
      }
    }, { grain });
    [from, to] = [to, from];
  }
  return from;
}
