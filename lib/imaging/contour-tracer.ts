// Marching squares over a slice, in pieces of work: the rings of contour.ts for both synchronous and asynchronous callers.
import { makeTypedArray } from '../core/arrays.ts';
import { elementAt, required } from '../core/known.ts';

/** A closed line through points (x, y), pixel centres at whole numbers; the last point is followed by the first. */
export type Ring = readonly (readonly [x: number, y: number])[];

/** A slice of a level set and the value of its contours. */
export interface Slice {
  readonly data: Float32Array | Float64Array;
  /** Element of the slice's first pixel. */
  readonly first: number;
  readonly nx: number;
  readonly ny: number;
  readonly level: number;
}

/** Edges of a cell: 0 above, 1 right, 2 below, 3 left. */
type Line = readonly [leave: number, enter: number];

/**
 * For each of the 16 cases of a cell (bits: above left 1, above right 2, below right 4, below left 8) the edges where lines leave and
 * enter. Cases 5 and 10 have two lines; 16 and 17 are these saddles when the centre is inside: both insides hang together.
 */
const lines: readonly (readonly Line[])[] = [
  [], [[3, 0]], [[0, 1]], [[3, 1]], [[1, 2]], [[3, 0], [1, 2]], [[0, 2]], [[3, 2]],
  [[2, 3]], [[2, 0]], [[0, 1], [2, 3]], [[2, 1]], [[1, 3]], [[1, 0]], [[0, 3]], [], [[1, 0], [3, 2]], [[0, 3], [2, 1]],
];
/** A cell is its case and a bit for each of its lines that no ring has yet. */
const caseBits = 31;
const lineBits = [32, 64] as const;
const freshCells = Uint8Array.from(lines, (of, kind) => kind + (of.length > 0 ? lineBits[0] : 0) + (of.length > 1 ? lineBits[1] : 0));
/** By case and edge where a line enters: the edge where it leaves, and its bit. */
const leaveBy = new Uint8Array(lines.length * 4);
const bitOf = new Uint8Array(lines.length * 4);
lines.forEach((of, kind) => of.forEach(([leave, enter], i) => {
  leaveBy[4 * kind + enter] = leave;
  bitOf[4 * kind + enter] = lineBits[i as 0 | 1];
}));

/**
 * Traces the contours of a slice as if its border were outside, so that every contour is closed. Cells begin half a pixel outside
 * the image: cell (x, y) has the pixels x - 1, x and y - 1, y at its corners.
 */
export class ContourTracer {
  readonly rings: Ring[] = [];
  readonly #slice: Slice;
  readonly #width: number;
  readonly #cells: Uint8Array;
  #row = 0;
  #cell = 0;
  #ring: [number, number][] | undefined;
  /** The line that the ring goes on with: its cell, and the edge where it enters. */
  #at = 0;
  #enter = 0;

  constructor(slice: Slice) {
    this.#slice = slice;
    this.#width = slice.nx + 1;
    this.#cells = makeTypedArray('uint8', this.#width * (slice.ny + 1)) as Uint8Array;
  }

  /** Processes about `work` cells; true when all rings are complete. */
  run(work: number): boolean {
    let left = work;
    while (left > 0 && this.#row <= this.#slice.ny) {
      this.#classify(this.#row);
      this.#row += 1;
      left -= this.#width;
    }
    while (left > 0) {
      if (this.#ring === undefined && !this.#begin()) return true;
      left -= this.#follow(Math.max(1, left >> 3)) * 8;
    }
    return false;
  }

  /** Value of a pixel over the level; outside the image less than that of the nearest one inside. */
  #value(x: number, y: number): number {
    const { data, first, nx, ny, level } = this.#slice;
    const i = x < 0 ? 0 : x < nx ? x : nx - 1;
    const j = y < 0 ? 0 : y < ny ? y : ny - 1;
    const value = elementAt(data, first + j * nx + i) - level;
    const finite = value === value ? value : 0;
    return i === x && j === y ? finite : -Math.abs(finite);
  }

  #classify(y: number): void {
    const { data, first, nx, ny, level } = this.#slice;
    const above = y > 0 ? first + (y - 1) * nx : -1;
    const below = y < ny ? first + y * nx : -1;
    const start = y * this.#width;
    let [a, b] = [0, 0]; // the pixels at the left corners, above and below
    for (let x = 0; x <= nx; x += 1) {
      const c = above >= 0 && x < nx && data[above + x]! - level > 0 ? 1 : 0;
      const d = below >= 0 && x < nx && data[below + x]! - level > 0 ? 1 : 0;
      let kind = a + 2 * c + 4 * d + 8 * b;
      if (kind === 5 || kind === 10) {
        const centre = this.#value(x - 1, y - 1) + this.#value(x, y - 1) + this.#value(x - 1, y) + this.#value(x, y);
        if (centre > 0) kind = kind === 5 ? 16 : 17;
      }
      this.#cells[start + x] = freshCells[kind]!;
      a = c;
      b = d;
    }
  }

  /** Begins a ring at the next line that has none. */
  #begin(): boolean {
    const cells = this.#cells;
    let cell = this.#cell;
    while (cell < cells.length && elementAt(cells, cell) <= caseBits) cell += 1;
    this.#cell = cell;
    if (cell === cells.length) return false;
    const kind = elementAt(cells, cell) & caseBits;
    const line = (elementAt(cells, cell) & lineBits[0]) !== 0 ? 0 : 1;
    this.#at = cell;
    this.#enter = required(elementAt(lines, kind)[line])[1];
    this.#ring = [];
    return true;
  }

  /** At most `most` points of the ring; how many. */
  #follow(most: number): number {
    const cells = this.#cells;
    const width = this.#width;
    const ring = required(this.#ring);
    for (let taken = 0; taken < most; taken += 1) {
      const index = 4 * (cells[this.#at]! & caseBits) + this.#enter;
      const bit = bitOf[index]!;
      if ((cells[this.#at]! & bit) === 0) { // where it began
        if (ring.length > 2) this.rings.push(ring);
        this.#ring = undefined;
        return taken + 1;
      }
      cells[this.#at]! &= ~bit;
      this.#point(ring);
      const leave = leaveBy[index]!;
      this.#at += leave === 0 ? -width : leave === 1 ? 1 : leave === 2 ? width : -1;
      this.#enter = leave ^ 2;
    }
    return most;
  }

  /** The point where the line enters, unless it is the last one again. */
  #point(ring: [number, number][]): void {
    const width = this.#width;
    const enter = this.#enter;
    const y = Math.floor(this.#at / width) - (enter === 2 ? 0 : 1);
    const x = (this.#at % width) - (enter === 1 ? 0 : 1);
    const vertical = (enter & 1) === 1;
    const a = this.#value(x, y);
    const b = vertical ? this.#value(x, y + 1) : this.#value(x + 1, y);
    let share = a / (a - b);
    if (!(share > 0 && share < 1)) share = Math.abs(a) === Infinity ? 0.5 : Math.min(1, Math.max(0, share));
    const [px, py] = vertical ? [x, y + share] : [x + share, y];
    const last = ring.length > 0 ? ring[ring.length - 1] : undefined;
    if (last === undefined || last[0] !== px || last[1] !== py) ring.push([px, py]);
  }
}
