// Contours of level sets: closed rings by marching squares (Lorensen and Cline 1987 in the plane), with linear interpolation.
import { describeValue } from '../core/arrays.ts';
import { isArray, number, requireCount, requireNumbers, requireRange, whole } from '../core/checks.ts';
import { DeviceArray } from '../core/device.ts';
import { refusal } from '../core/errors.ts';
import { elementAt } from '../core/known.ts';
import { normally, optionsOf, type ChecksOf } from '../core/options.ts';
import { untilDone } from '../core/slices.ts';
import { ContourTracer, type Ring, type Slice } from './contour-tracer.ts';
import { checkImage, type Image } from '../files/image.ts';

export type { Ring } from './contour-tracer.ts';

/** A connected part of the inside: its outer ring, and those of its holes. */
export interface Polygon {
  readonly outer: Ring;
  readonly holes: readonly Ring[];
}

/** Options of {@link contourRings} and {@link contourPolygons}. */
export interface ContourOptions {
  /** Values above this are inside. Default 0. */
  readonly level?: number;
  /** Slice of a volume. Default: the middle one. */
  readonly slice?: number;
}

/** Twice the area of a ring, positive for outer rings. */
function twiceArea(ring: Ring): number {
  let sum = 0;
  if (ring.length === 0) return sum;
  for (let i = 0, before = elementAt(ring, ring.length - 1); i < ring.length; before = elementAt(ring, i), i += 1) {
    const [x, y] = elementAt(ring, i);
    sum += before[0] * y - x * before[1];
  }
  return sum;
}

/**
 * Area of a ring in pixels: positive for outer rings, negative for holes (shoelace formula, x to the right, y down).
 * @throws ArgumentError if it is not a list of points
 */
export function ringArea(ring: Ring): number {
  if (!isArray(ring)) throw refusal('ring', 'an array of points [x, y]', describeValue(ring));
  for (let i = 0; i < ring.length; i += 1) { // not by an iterator: detached arrays have none
    const point: unknown = ring[i];
    requireNumbers(point, `ring[${i}]`);
    if (point.length !== 2) throw refusal(`ring[${i}]`, 'a point [x, y]', describeValue(point));
  }
  return requireRange(twiceArea(ring) / 2, 'ring');
}

/**
 * The contour of a level set in one slice as closed rings: outer rings clockwise as one sees them (positive {@link ringArea}),
 * holes the other way round. Contours that leave the image are closed along its border, half a pixel outside the outermost centres.
 * If two diagonal pixels of a square are inside and the other two are not, the mean of the four decides whether they are connected.
 * A NaN counts as outside.
 *
 * @throws ArgumentError naming the argument
 */
export function contourRings(levelSet: Image<Float32Array | Float64Array>, options: ContourOptions = {}): Ring[] {
  const tracer = new ContourTracer(checkedSlice(levelSet, options));
  while (!tracer.run(2 ** 30));
  return tracer.rings;
}

/** {@link contourRings} of the level set as it is at the call, in time slices between which the event loop can run. */
export async function contourRingsInTurns(
  levelSet: Image<Float32Array | Float64Array>, options: ContourOptions, signal: AbortSignal | undefined,
): Promise<Ring[]> {
  const slice = checkedSlice(levelSet, options);
  const { data, first, nx, ny } = slice;
  const tracer = new ContourTracer({ ...slice, data: data.slice(first, first + nx * ny), first: 0 });
  await untilDone(() => tracer.run(2 ** 14), signal);
  return tracer.rings;
}

const contourOptions = optionsOf('contourRings', {
  level: normally(number(), 0), slice: whole(0),
} satisfies ChecksOf<ContourOptions>);

function checkedSlice(levelSet: Image<Float32Array | Float64Array>, options: ContourOptions): Slice {
  const { data, width, height, depth, channels } = checkImage(levelSet, 'levelSet');
  if (data instanceof DeviceArray) {
    throw refusal('levelSet.data', 'a Float32Array or a Float64Array (read the DeviceArray first)', 'a DeviceArray');
  }
  if (channels !== 1) throw refusal('levelSet.channels', '1', `${channels}`);
  const { level, slice = Math.floor(depth / 2) } = contourOptions.read(options);
  requireCount(slice, 'slice', 0, depth - 1);
  return { data, first: slice * width * height, nx: width, ny: height, level };
}

/** Whether a point lies inside a ring (even-odd rule). */
function contains(ring: Ring, [x, y]: readonly [number, number]): boolean {
  let inside = false;
  for (let i = 0, j = ring.length - 1; i < ring.length; j = i, i += 1) {
    const [[xi, yi], [xj, yj]] = [elementAt(ring, i), elementAt(ring, j)];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}

/**
 * The inside of a level set in one slice as polygons: each outer ring with the holes inside it. See {@link contourRings}.
 *
 * @throws ArgumentError naming the argument
 */
export function contourPolygons(levelSet: Image<Float32Array | Float64Array>, options: ContourOptions = {}): Polygon[] {
  const rings = contourRings(levelSet, options).map((ring) => ({ ring, area: twiceArea(ring) }));
  const polygons = rings.filter(({ area }) => area > 0).sort((a, b) => a.area - b.area)
    .map(({ ring }) => ({ outer: ring, holes: [] as Ring[] }));
  for (const { ring, area } of rings) {
    // The smallest outer ring around a hole is the one whose part it is cut out of.
    if (area < 0) polygons.find(({ outer }) => contains(outer, elementAt(ring, 0)))?.holes.push(ring);
  }
  return polygons;
}
