// How passes of several steps cut a grid: tiles side by side, and chunks of what blocks move through, for all multiprocessors.
import { required } from '../../core/known.ts';
import { lineBytes, lineTiles } from '../compile/line.ts';
import { planesBytes, tileOf, tilesAlong } from '../compile/planes.ts';
import { isPeriodic, lanes, type Shape } from '../compile/scheme.ts';
import type { StencilProgram, Target } from '../compile/stages.ts';
import { streamingBytes, stripOf } from '../compile/streaming.ts';
import type { Grid } from './span.ts';

/** Threads of a block. */
export const passThreads = ({ warps }: Shape): number => lanes * warps;

/** Bytes of shared memory of a block. */
export const passBytes = (made: StencilProgram, shape: Shape): number =>
  required([lineBytes, streamingBytes, planesBytes][made.names.dimensions - 1])(made, shape);

/** Tiles along the axes but the first: columns, and in three dimensions rows; 0 if the grid is too narrow for them. */
export interface Tiles {
  readonly strips: number;
  readonly bands: number;
  /** Cells that all of them compute, as a multiple of those that the grid has. */
  readonly redundant: number;
}

export function tilesOf(made: StencilProgram, target: Target, shape: Shape, extents: readonly number[]): Tiles {
  const axes = extents.length;
  const columns = required(extents.at(-1));
  const periodic = isPeriodic(target, axes - 1);
  if (axes === 1) {
    const strips = lineTiles(made, shape, columns, periodic);
    return { strips, bands: 1, redundant: (strips * shape.warps * lanes * shape.points) / columns };
  }
  if (axes === 2) {
    const { halo, own } = stripOf(made, shape);
    const strips = periodic || columns >= own + halo * shape.points ? Math.ceil(columns / own) : 0;
    return { strips, bands: 1, redundant: (strips * lanes * shape.points) / columns };
  }
  const tile = tileOf(made, shape);
  const rows = required(extents[1]);
  const strips = tilesAlong(tile.columns, columns, periodic), bands = tilesAlong(tile.rows, rows, isPeriodic(target, 1));
  return { strips, bands, redundant: (strips * bands * tile.columns.tile * tile.rows.tile) / (columns * rows) };
}

/** Chunks along the first axis. */
export interface Chunks {
  readonly chunks: number;
  readonly rows: number;
  /** The time, as a multiple of that of all tiles at once without chunks. */
  readonly cost: number;
}

/** Whole waves of blocks; a chunk that is much shorter than its margins costs more than idle blocks do. */
export function chunksOf(made: StencilProgram, { depth }: Shape, tiles: number, first: number, resident: number): Chunks {
  const levels = depth * made.stages.length;
  if (made.names.dimensions === 1) return { chunks: 1, rows: 1, cost: Math.ceil(tiles / resident) * (resident / tiles) };
  const margin = levels * required(made.reach[0]);
  const extra = 2 * margin + (margin > 0 ? levels : 0);
  const least = Math.max(1, Math.min(first, 4 * margin));
  const most = Math.max(1, Math.floor(first / least));
  let best = { chunks: 1, cost: Infinity };
  for (let chunks = 1; chunks <= Math.min(most, 4096); chunks += 1) {
    const rows = Math.ceil(first / chunks);
    const cost = Math.ceil((tiles * Math.ceil(first / rows)) / resident) * (rows + extra);
    if (cost < best.cost) best = { chunks, cost };
  }
  const rows = Math.ceil(first / best.chunks);
  return { chunks: Math.ceil(first / rows), rows, cost: (best.cost * resident) / (tiles * first) };
}

/** The extent along the axis that blocks move through: one dimension is a single row. */
export const firstExtent = ({ shape }: Grid): number => (shape.length === 1 ? 1 : required(shape[0]));
