// Contours of level sets: closed rings by marching squares (Lorensen and Cline 1987 in the plane), with linear interpolation.
import { requireFields, requireReal, requireWhole } from '../core/checks.ts';
import { DeviceArray } from '../core/device-array.ts';
import { refusal } from '../core/errors.ts';
import { checkImage, type Image } from './image.ts';

/** A closed line through points (x, y), pixel centres at whole numbers; the last point is followed by the first. */
export type Ring = readonly (readonly [x: number, y: number])[];

/** A connected part of the inside: its outer ring, and those of its holes. */
export interface Polygon {
  readonly outer: Ring;
  readonly holes: readonly Ring[];
}

/** Options of {@link contourRings} and {@link contourPolygons}. */
export interface ContourOptions {
  /** Inside is where values are greater. Default 0. */
  readonly level?: number;
  /** Slice of a volume. Default: the middle one. */
  readonly slice?: number;
}

/** Twice the area of a ring, positive for outer rings. */
function twiceArea(ring: Ring): number {
  let sum = 0;
  for (let i = 0, before = ring.at(-1)!; i < ring.length; before = ring[i]!, i += 1) {
    const [x, y] = ring[i]!;
    sum += before[0] * y - x * before[1];
  }
  return sum;
}

/**
 * Area of a ring in pixels: positive for outer rings, negative for holes (shoelace formula, x to the right, y down).
 */
export const ringArea = (ring: Ring): number => twiceArea(ring) / 2;

/** Values of a slice with a border in which every contour that leaves the image is closed half a pixel outside of it. */
class Padded {
  readonly width: number;
  readonly height: number;
  readonly values: Float64Array;

  constructor(data: Float32Array | Float64Array, first: number, nx: number, ny: number, level: number) {
    this.width = nx + 2;
    this.height = ny + 2;
    this.values = new Float64Array(this.width * this.height);
    for (let y = -1; y <= ny; y += 1) {
      for (let x = -1; x <= nx; x += 1) {
        const [i, j] = [Math.min(nx - 1, Math.max(0, x)), Math.min(ny - 1, Math.max(0, y))];
        const value = data[first + j * nx + i]! - level;
        const finite = value === value ? value : 0;
        this.values[(y + 1) * this.width + x + 1] = i === x && j === y ? finite : -Math.abs(finite);
      }
    }
  }
  inside(x: number, y: number): boolean {
    return this.values[y * this.width + x]! > 0;
  }
  /** Where the contour crosses the edge from one point to a neighbour, between 0 and 1 from the first. */
  crossing(from: number, to: number): number {
    const [a, b] = [this.values[from]!, this.values[to]!];
    const share = a / (a - b);
    return share > 0 && share < 1 ? share : Math.abs(a) === Infinity ? 0.5 : Math.min(1, Math.max(0, share));
  }
}

/**
 * Edges of a cell: 0 above, 1 right, 2 below, 3 left. For each of the 16 cases (bits: above left 1, above
 * right 2, below right 4, below left 8)
 * the edges where lines leave and enter. Cases 5 and 10 have two lines.
 */
const lines: readonly (readonly (readonly [leave: number, enter: number])[])[] = [
  [], [[3, 0]], [[0, 1]], [[3, 1]], [[1, 2]], [[3, 0], [1, 2]], [[0, 2]], [[3, 2]],
  [[2, 3]], [[2, 0]], [[0, 1], [2, 3]], [[2, 1]], [[1, 3]], [[1, 0]], [[0, 3]], [],
];
/** The saddles when the centre is inside: both insides hang together. */
const joined: Readonly<Record<number, readonly (readonly [number, number])[]>> = { 5: [[1, 0], [3, 2]], 10: [[0, 3], [2, 1]] };

/** The number of edge `edge` of the cell: horizontal edges are even, vertical ones odd. */
function edgeNumber(cell: number, edge: number, width: number): number {
  return edge === 0 ? 2 * cell : edge === 2 ? 2 * (cell + width) : edge === 3 ? 2 * cell + 1 : 2 * (cell + 1) + 1;
}

/** For each edge that a line enters a cell by, the edge it leaves it by. */
function trace(grid: Padded): Map<number, number> {
  const next = new Map<number, number>();
  const { width, height, values } = grid;
  for (let y = 0; y + 1 < height; y += 1) {
    for (let x = 0; x + 1 < width; x += 1) {
      const cell = y * width + x;
      const kind = Number(grid.inside(x, y)) + 2 * Number(grid.inside(x + 1, y))
        + 4 * Number(grid.inside(x + 1, y + 1)) + 8 * Number(grid.inside(x, y + 1));
      if (kind === 0 || kind === 15) continue;
      const centre = values[cell]! + values[cell + 1]! + values[cell + width]! + values[cell + width + 1]!;
      for (const [leave, enter] of (centre > 0 ? joined[kind] : undefined) ?? lines[kind]!) {
        next.set(edgeNumber(cell, enter, width), edgeNumber(cell, leave, width));
      }
    }
  }
  return next;
}

function pointOf(grid: Padded, edge: number): readonly [number, number] {
  const at = edge >> 1;
  const vertical = (edge & 1) === 1;
  const share = grid.crossing(at, at + (vertical ? grid.width : 1));
  const [x, y] = [at % grid.width, Math.floor(at / grid.width)];
  return vertical ? [x - 1, y - 1 + share] : [x - 1 + share, y - 1];
}

/**
 * The contour of a level set in one slice as closed rings: outer rings clockwise as one sees them (positive {@link ringArea}),
 * holes the other way round. Contours that leave the image are closed along its border, half a pixel outside of the last centres.
 * Where two diagonal pixels of a square are inside and the others not, the mean of the four decides whether they hang together.
 * A NaN counts as outside.
 *
 * @throws ArgumentError naming the argument
 */
export function contourRings(levelSet: Image<Float32Array | Float64Array>, options: ContourOptions = {}): Ring[] {
  requireFields(options, ['level', 'slice'], 'options', 'contourRings');
  const { data, width, height, depth, channels } = checkImage(levelSet, 'levelSet');
  if (data instanceof DeviceArray) {
    throw refusal('levelSet.data', 'a Float32Array or a Float64Array (read the DeviceArray first)', 'a DeviceArray');
  }
  if (channels !== 1) throw refusal('levelSet.channels', '1', `${channels}`);
  const { level = 0, slice = Math.floor(depth / 2) } = options;
  requireReal(level, 'level', false);
  requireWhole(slice, 'slice', 0, depth - 1);
  const grid = new Padded(data, slice * width * height, width, height, level);
  const next = trace(grid);
  const rings: Ring[] = [];
  for (const start of next.keys()) {
    if (!next.has(start)) continue;
    const ring: (readonly [number, number])[] = [];
    for (let edge = start; next.has(edge);) {
      const point = pointOf(grid, edge);
      const last = ring.at(-1);
      if (last === undefined || last[0] !== point[0] || last[1] !== point[1]) ring.push(point);
      const leave = next.get(edge)!;
      next.delete(edge);
      edge = leave;
    }
    if (ring.length > 2) rings.push(ring);
  }
  return rings;
}

/** Whether a point lies inside of a ring (even-odd rule). */
function contains(ring: Ring, [x, y]: readonly [number, number]): boolean {
  let inside = false;
  for (let i = 0, j = ring.length - 1; i < ring.length; j = i, i += 1) {
    const [[xi, yi], [xj, yj]] = [ring[i]!, ring[j]!];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}

/**
 * The inside of a level set in one slice as polygons: each outer ring with the holes that lie in it. See {@link contourRings}.
 *
 * @throws ArgumentError naming the argument
 */
export function contourPolygons(levelSet: Image<Float32Array | Float64Array>, options: ContourOptions = {}): Polygon[] {
  const rings = contourRings(levelSet, options).map((ring) => ({ ring, area: twiceArea(ring) }));
  const polygons = rings.filter(({ area }) => area > 0).sort((a, b) => a.area - b.area)
    .map(({ ring }) => ({ outer: ring, holes: [] as Ring[] }));
  for (const { ring, area } of rings) {
    // The smallest outer ring around a hole is the one whose part it is cut out of.
    if (area < 0) polygons.find(({ outer }) => contains(outer, ring[0]!))?.holes.push(ring);
  }
  return polygons;
}
