// How the CPU cuts a grid for passes of several steps: tiles whose levels stay in the cache of a core, and as many of them as threads need.
import { required } from '../../core/known.ts';
import { readBytesSync } from '../../core/files.ts';
import { batchOf, groupOf, isStaged, marginsOf, ranked } from '../compile/blocked.ts';
import { sharedOf } from '../compile/sharing.ts';
import type { StencilProgram, Target } from '../compile/stages.ts';
import { isPeriodic } from '../compile/scheme.ts';
import { operations } from './device-model.ts';
import type { Grid } from './span.ts';

/** Steps per pass, and the cells of the largest tile along planes, rows and columns. */
export interface TileShape {
  readonly depth: number;
  readonly tile: readonly [planes: number, rows: number, columns: number];
}

let known: number | undefined;

/** Bytes of the cache that a core has to itself; a guess where the system does not say. */
function cacheBytes(): number {
  if (known !== undefined) return known;
  try {
    const text = readBytesSync('/sys/devices/system/cpu/cpu0/cache/index2/size').toString('utf8');
    const [, size, unit] = /^(\d+)([KM])/.exec(text) ?? [];
    known = Number(size) * (unit === 'M' ? 2 ** 20 : 2 ** 10);
  } catch {
    known = 2 ** 20;
  }
  return known = known > 0 ? known : 2 ** 20;
}

// What a pass costs on a core, in nanoseconds: an addition in vector code, loads and stores of a cell by a stage, a call for rows, and a
// byte of memory when all cores read and write.
const operation = 0.025, access = 0.08, rowCall = 50, memoryByte = 0.06;

/** Parts of an extent that are of about the same size and not larger than wanted. */
const divided = (extent: number, wanted: number): number => Math.ceil(extent / Math.ceil(extent / wanted));

function* candidates(shape: readonly [number, number, number], depth: number | undefined): Generator<TileShape> {
  const [planes, rows, columns] = shape;
  const depths = depth === undefined ? [1, 2, 3, 4, 6, 8, 12, 16, 24, 32] : [depth];
  const widths = [...new Set([32, 64, 128, 192, 256, 384, 512, 1024, 2048, 4096, 8192, 16384].map((each) => divided(columns, each)))];
  const heights = [...new Set([8, 16, 24, 32, 48, 64, 96, 128, 256].map((each) => divided(rows, each)))];
  const lengths = [...new Set([1, 2, 3, 4, 6, 8, 12, 16, 32].map((each) => Math.ceil(planes / each)))];
  for (const d of depths) for (const c of widths) for (const r of heights) for (const p of lengths) yield { depth: d, tile: [p, r, c] };
}

/** What the model knows of an equation. */
interface Costs {
  readonly stages: number;
  readonly margins: readonly [number, number, number];
  readonly periodic: readonly [boolean, boolean, boolean];
  /** Nanoseconds of arithmetic and of access to the cache, for a cell and step. */
  readonly work: number;
  /** Nanoseconds of memory for a cell and pass, and for a cell and step. */
  readonly perPass: number;
  readonly perStep: number;
  /** Nanoseconds of calls for a row and step. */
  readonly calls: number;
  /** Bytes that are kept for each cell of a plane: of a step's levels, and of those that are at work. */
  readonly kept: number;
  readonly open: number;
}

function costsOf(made: StencilProgram, target: Target): Costs {
  const { stages, names, reach } = made;
  const bytes = names.precision === 'f32' ? 4 : 8, fields = names.fields.length, coefficients = names.coefficients.length;
  const margins = marginsOf(made, target);
  const faces = Math.max(0, ...stages.map((stage, s) => sharedOf(stage, s)?.common.f.results.length ?? 0));
  // As runtime/rings.h has them.
  const lastStart = Math.max(0, ...stages.map(({ readsStart }, at) => (readsStart ? at + 1 : 0)));
  const own = margins[0] + ranked(reach, 0)[0];
  const sums = stages.filter(({ writesSum }) => writesSum).length;
  const kept = stages.length * own + Math.max(0, lastStart * margins[0] - own) + sums * margins[0];
  const open = (2 + Number(lastStart > 1) + 2 * Number(sums > 0)) * batchOf(made, target);
  return {
    stages: stages.length, margins, periodic: ranked(reach.map((_, axis) => isPeriodic(target, axis)), false),
    work: stages.reduce((sum, { point: { f, inputs } }) =>
      sum + (bytes / 8) * (operation * operations(f) + access * Math.max(1, inputs.length / 4)), 0),
    perPass: memoryByte * bytes * 2 * fields, perStep: memoryByte * bytes * coefficients,
    calls: (rowCall * stages.length) / groupOf(made, target), kept: (kept * fields + 2 * faces * stages.length) * bytes,
    open: (open * fields + 2 * faces) * bytes,
  };
}

/** Nanoseconds per cell and step of a thread. */
function predict(
  { stages, margins, periodic, work, perPass, perStep, calls, kept, open }: Costs, shape: readonly number[], members: number,
  threads: number, { depth, tile }: TileShape,
): number {
  const levels = depth * stages;
  const around = tile.map((cells, axis) =>
    (cells < required(shape[axis]) || periodic[axis] === true ? levels * required(margins[axis]) : 0));
  const wide = (axis: number): number => required(tile[axis]) + 2 * required(around[axis]);
  const spilled = (((margins[0] === 0 ? 0 : depth * kept) + open) * wide(1) * wide(2)) / (0.5 * cacheBytes());
  const redundant = tile.reduce((all, cells, axis) => all * ((cells + required(around[axis])) / cells), 1);
  const tiles = shape.reduce((all, extent, axis) => all * Math.ceil(extent / required(tile[axis])), members);
  // Threads are not equally fast: the last tiles are waited for.
  const idle = (Math.ceil(tiles / threads) * threads) / tiles + (threads > 1 ? (0.15 * threads) / tiles : 0);
  const computed = work * Math.min(3, Math.sqrt(Math.max(1, spilled))) + perStep + calls / wide(2);
  return idle * (redundant * computed + perPass / depth);
}

/**
 * The shape that is wanted, or that a model takes to be the fastest. Steps of varying length are taken one by one. Where passes are
 * stages, only the planes of a tile can be chosen.
 */
export function tileShape(
  made: StencilProgram, target: Target, grid: Grid, threads: number, wanted: Partial<TileShape> = {},
): TileShape {
  const shape = ranked(grid.shape, 1);
  if (isStaged(made, target)) return { depth: 1, tile: [wanted.tile?.[0] ?? Math.ceil(shape[0] / threads), shape[1], shape[2]] };
  const depth = made.limit === undefined ? wanted.depth : 1;
  if (wanted.tile !== undefined && depth !== undefined) return { depth, tile: wanted.tile };
  const costs = costsOf(made, target);
  let best: { readonly shape: TileShape; readonly time: number } | undefined;
  for (const each of candidates(shape, depth)) {
    const time = predict(costs, shape, grid.members, threads, each);
    if (best === undefined || time < best.time) best = { shape: each, time };
  }
  return required(best).shape;
}
