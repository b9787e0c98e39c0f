// Shapes of passes over memory in two and three dimensions: which fit in registers, and how fast a model takes them to be.
import { elementAt, required } from '../../core/known.ts';
import { besideOf, innerAlong, type Shape } from '../compile/scheme.ts';
import { stripOf } from '../compile/streaming.ts';
import type { StencilProgram, Target } from '../compile/stages.ts';
import { chunksOf, firstExtent, passBytes, tilesOf } from './cut.ts';
import {
  bytesPerSecond, cycles, latency, mostOfThread, mostRegisters, mostShared, multiprocessors, operations, words, type PredictedShape,
  type Wanted,
} from './device-model.ts';
import { lineShapes } from './line-shapes.ts';
import type { Grid } from './span.ts';

/** Stages of a pass: their times are parameters of the kernel. */
const mostLevels = 256;

/** Blocks (of one warp) per multiprocessor, and the registers that a thread may have then. */
const occupancies = [[8, 255], [12, 168], [16, 128], [20, 96], [32, 64]] as const;

/** 32-bit registers of a thread: the rows or planes of all levels, and what one stage needs. Fitted to what compilers report. */
function registersOf(made: StencilProgram, { depth, points, rows }: Pick<Shape, 'depth' | 'points' | 'rows'>): number {
  const { stages, reach, names } = made;
  const fields = names.fields.length * words(made);
  const cells = points * rows;
  const [rx = 0, ...others] = reach;
  const held = stages.reduce((sum, { readsStart, readsSum }, s) => {
    // Cells that are read beside from before or behind bring their neighbours along.
    const isBroad = besideOf(made, s).some(({ dx }) => dx !== 0);
    const edges = others.map((r, i) => 2 * r * (names.dimensions === 3 && i === 0 ? points : rows)).reduce((a, b) => a + b);
    return sum + (2 * rx + 1) * (cells + (isBroad ? edges : 0)) + (rx + 1) * cells * (Number(readsStart) + Number(readsSum));
  }, 0);
  if (names.dimensions === 2) return 24 + 3 * cells * fields + depth * held * fields;
  // A single column per thread takes all its neighbours along rows from other lanes.
  return 56 + 2 * (cells + (points === 1 ? rows : 0)) * fields + depth * held * fields;
}

/** Picoseconds per cell and step: arithmetic and its latency on the one hand, memory on the other. */
function predict(made: StencilProgram, shape: Shape, redundant: number): number {
  const { stages, names } = made;
  const { depth, points, rows, warps, minBlocks } = shape;
  const work = stages.reduce((sum, { point }) => sum + operations(point.f), 0);
  const lanes = names.precision === 'f32' ? 128 : 64;
  // Neighbours in other lanes come 32 words at a time.
  const shuffled = (2 * required(made.reach.at(-1)) * words(made) * names.fields.length * stages.length) / points;
  // In three dimensions, what a thread does once per plane and once per cell of it: addresses, loads, stores, the barrier.
  const issued = names.dimensions === 2 ? 1.4 * work + 4 * stages.length + shuffled
    : work + 3 * stages.length * names.fields.length + shuffled + (6 * names.fields.length + 109 / (points * rows)) / depth;
  const pipe = Math.max(work / lanes, issued / 128, shuffled / 32);
  const chain = stages.reduce((sum, { point }) => sum + 2 + 0.5 * operations(point.f), 0);
  // In two dimensions levels do not wait for each other.
  const atOnce = 32 * points * rows * warps * minBlocks * (names.dimensions === 2 ? depth : 1);
  const wait = (latency * chain * (names.dimensions === 3 ? 0.5 : 1)) / atOnce;
  const compute = ((pipe + wait) * redundant) / cycles;
  // What tiles read twice comes from the cache for the most part.
  const read = names.dimensions === 3 ? 1 + 0.4 * (redundant - 1) : redundant;
  const memory = ((4 * words(made) * (names.fields.length * (1 + read) + names.coefficients.length)) / depth) / bytesPerSecond;
  return 1e12 * Math.hypot(compute, memory);
}

/** Steps, columns per lane, rows per thread and warps that are considered. */
function* sizes({ names }: StencilProgram, { depth, points }: Wanted): Generator<Omit<Shape, 'minBlocks'>> {
  const { dimensions, precision } = names;
  const depths = dimensions === 2 ? [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16] : [1, 2, 3, 4, 5, 6, 8];
  const columns = dimensions === 2 ? [2, 4, 8] : precision === 'f32' ? [1, 2, 4] : [1, 2];
  for (const d of depth === undefined ? depths : [depth]) {
    for (const p of points === undefined ? columns : [points]) {
      if (dimensions === 2) yield { depth: d, points: p, rows: 1, warps: 1 };
      else for (const rows of [2, 3, 4, 5, 6, 8]) for (const warps of [2, 4, 6, 8, 12, 16]) yield { depth: d, points: p, rows, warps };
    }
  }
}

/** Blocks that a multiprocessor holds: as many as registers and shared memory allow, at least one. */
function blocksOf(made: StencilProgram, size: Omit<Shape, 'minBlocks'>, isWanted: boolean): number {
  const held = registersOf(made, size);
  if (made.names.dimensions === 2) {
    const fitting = occupancies.filter(([, registers]): boolean => registers + 8 >= held || (registers === 255 && held <= 272));
    return fitting.at(-1)?.[0] ?? (isWanted ? elementAt(occupancies, 0)[0] : 0);
  }
  const bytes = passBytes(made, { ...size, minBlocks: 1 });
  const limit = (blocks: number): number => Math.min(mostOfThread, 8 * Math.floor(mostRegisters / (32 * size.warps * blocks * 8)));
  const fits = (blocks: number): boolean => limit(blocks) >= held && blocks * (bytes + 1024) <= mostShared;
  const most = [4, 3, 2, 1].find(fits);
  return most ?? (bytes + 1024 <= mostShared && (isWanted || (limit(1) === mostOfThread && held <= 284)) ? 1 : 0);
}

/** Shapes that fit a device and a grid, the fastest by the model first. */
export function streamingShapes(made: StencilProgram, target: Target, grid: Grid, wanted: Wanted = {}): readonly PredictedShape[] {
  const { reach, stages, names: { dimensions } } = made;
  const least = reach.map((r, axis) => Math.max(r, innerAlong(made, target, axis)));
  if (dimensions === 1) return lineShapes(made, target, grid, required(least[0]), wanted);
  const shapes: PredictedShape[] = [];
  for (const size of sizes(made, wanted)) {
    const { depth, points, rows } = size;
    if (points < required(least.at(-1)) || (dimensions === 3 && rows < required(least[1])) || depth * stages.length > mostLevels) continue;
    if (dimensions === 2) {
      const { halo, own } = stripOf(made, size);
      if (own < Math.max(4, halo + 1) * points) continue;
    }
    const minBlocks = blocksOf(made, size, wanted.depth !== undefined && wanted.points !== undefined);
    if (minBlocks === 0) continue;
    const shape = { ...size, minBlocks };
    const { strips, bands, redundant } = tilesOf(made, target, shape, grid.shape);
    if (strips * bands === 0) continue;
    const { cost } = chunksOf(made, shape, strips * bands * grid.members, firstExtent(grid), multiprocessors * minBlocks);
    const spilled = Math.max(0, registersOf(made, size) - mostOfThread) / (dimensions === 3 ? 30 : 150);
    const crowded = dimensions === 3 && depth * stages.length > 3 ? 1.3 : 1;
    shapes.push({ ...shape, picoseconds: predict(made, shape, redundant) * cost * (1 + spilled) * crowded });
  }
  return shapes.sort((a, b) => a.picoseconds - b.picoseconds);
}
