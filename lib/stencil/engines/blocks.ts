// How many blocks of how many threads a stage is launched with, and how many rows each of them takes.
import type { Device } from '../../core/device.ts';
import { required } from '../../core/known.ts';
import { cascadeOf } from '../compile/cascade.ts';
import type { Cascade } from '../compile/links.ts';
import { ringLength } from '../compile/rings.ts';
import type { StencilProgram } from '../compile/stages.ts';
import { bytesPerSecond } from './device-model.ts';
import type { Grid } from './span.ts';

/** Threads of a block where cells share nothing. */
export const classicThreads = 256;
/** Columns from which blocks march down rows or planes; most of these, and blocks that a multiprocessor must have. */
const leastColumns = [200, 200, 48], mostMarch = 32, enoughBlocks = 32;

/** Rows or planes that a block or a warp takes one after another, and blocks. */
interface Blocks {
  readonly march: number;
  readonly blocks: number;
  readonly threads: number;
  /** Bytes of shared memory of a block. */
  readonly sharedBytes: number;
}

/** Blocks of one thread per cell, each of which takes so many rows or planes one after another; 0: cells in order, across rows. */
function cellBlocks({ cells, members, shape }: Grid, multiprocessors: number): Blocks {
  const threads = classicThreads;
  const [columns, first] = [required(shape.at(-1)), required(shape[0])];
  if (columns < required(leastColumns[shape.length - 1])) {
    return { march: 0, blocks: members * Math.ceil(cells / threads), threads, sharedBytes: 0 };
  }
  const rows = shape.length === 3 ? 4 : 1;
  const tiles = members * Math.ceil(columns / (threads / rows)) * (shape.length === 3 ? Math.ceil(required(shape[1]) / rows) : 1);
  if (shape.length === 1) return { march: 1, blocks: tiles, threads, sharedBytes: 0 };
  const march = Math.max(1, Math.min(mostMarch, Math.floor((tiles * first) / (enoughBlocks * Math.max(1, multiprocessors)))));
  return { march, blocks: tiles * Math.ceil(first / march), threads, sharedBytes: 0 };
}

/** Most rows of a warp whose cells share work (cuda/stencil/sharing.cuh). */
const mostShared = 128;

/**
 * The same for a stage whose cells share work with their neighbours. Every warp makes more rows than it keeps, and multiprocessors take as
 * many warps at a time as they hold: the rows for which the rounds times the rows of one are least.
 */
function sharingBlocks(cascade: Cascade, { members, shape }: Grid, multiprocessors: number, bytes: number): Blocks {
  const { width, lanes, warps, held, links } = cascade;
  const [columns, first] = [required(shape.at(-1)), shape.length === 1 ? 1 : required(shape[0])];
  const strips = Math.ceil(columns / width) * (shape.length === 3 ? required(shape[1]) : 1);
  const places = Math.floor(held / warps) * Math.max(1, multiprocessors);
  // Rows more, each with the share of the work that is done in it.
  const work = links.reduce((sum, { weight }) => sum + weight, 0);
  const more = links.reduce((sum, { weight, rows: [low, high] }) => sum + weight * (high - low), 0) / work;
  let best = { march: 1, blocks: 0, threads: 32 * warps, sharedBytes: bytes * ringLength(cascade) }, least = Infinity;
  for (let march = 1; march <= Math.min(mostShared, first); march += 1) {
    const blocks = members * Math.ceil((strips * Math.ceil(first / march) * lanes) / (32 * warps));
    // Warps at boundaries take longer: rounds neither end together, nor do they fill up entirely.
    const rounds = (Math.ceil(blocks / places) + blocks / places + 0.5) / 2;
    const cost = rounds * (march + more);
    if (cost >= least) continue;
    best = { ...best, march, blocks };
    least = cost;
  }
  return best;
}

/** Picoseconds of an H200 for a node of the functions of cells, and for a byte. Measured with gas in one and two dimensions. */
const nodeTime = 0.022, byteTime = 1e12 / bytesPerSecond;

/** Picoseconds per cell and step of one kernel per stage where the cells of all stages share work; undefined where they do not. */
export function sharedTime({ stages, names: { fields, precision } }: StencilProgram): number | undefined {
  let sum = 0;
  for (const [s, stage] of stages.entries()) {
    const cascade = cascadeOf(stage, s);
    if (cascade === undefined) return undefined;
    const streams = 2 + Number(stage.readsStart) + Number(stage.readsSum) + Number(stage.writesSum);
    const scale = precision === 'f32' ? 0.5 : 1;
    sum += (cascade.lanes / cascade.width) * scale * nodeTime * cascade.links.reduce((all, { weight }) => all + weight, 0)
      + streams * fields.length * 8 * scale * byteTime;
  }
  return sum;
}

/** Nodes of the longest function that is made once for neighbours; 0 if cells share nothing. */
export function longestShared({ stages }: StencilProgram): number {
  return Math.max(0, ...stages.flatMap((stage, s) => cascadeOf(stage, s)?.links.map(({ weight }) => weight) ?? []));
}

const sharings = new WeakMap<Cascade, WeakMap<Grid, Blocks>>();

/** The launch of a stage. */
export function stageBlocks(
  { stages, names }: StencilProgram, s: number, grid: Grid, { description: { multiprocessors } }: Device,
): Blocks {
  const cascade = cascadeOf(required(stages[s]), s);
  if (cascade === undefined) return cellBlocks(grid, multiprocessors);
  const known = sharings.get(cascade) ?? new WeakMap<Grid, Blocks>();
  sharings.set(cascade, known);
  const found = known.get(grid) ?? sharingBlocks(cascade, grid, multiprocessors, names.precision === 'f32' ? 4 : 8);
  known.set(grid, found);
  return found;
}
