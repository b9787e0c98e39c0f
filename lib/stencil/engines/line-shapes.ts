// Shapes of passes in one dimension: which fit in registers, and how fast a model takes them to be.
import { required } from '../../core/known.ts';
import { lineBytes, lineTile, lineTiles } from '../compile/line.ts';
import { isPeriodic, lanes, layoutOf, type Shape } from '../compile/scheme.ts';
import { cascadeOf } from '../compile/cascade.ts';
import { sharedOf } from '../compile/sharing.ts';
import type { Stage, StencilProgram, Target } from '../compile/stages.ts';
import {
  bytesPerSecond, mostOfThread, mostRegisters, mostShared, multiprocessors, operations, operationsPerCell, words, type PredictedShape,
  type Wanted,
} from './device-model.ts';
import type { Grid } from './span.ts';

const depths = [1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256];
export const columns = [2, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32, 36, 40, 48];
const warpCounts = [1, 2, 4, 8];
/** Cycles per second of one of its multiprocessors in such kernels, measured. */
export const clock = 1.98e9;
/** Cycles, measured, that a quarter of a multiprocessor takes for a stage of a warp beside its arithmetic; of an exchange of lanes between
 * warps; and of what a block does once per pass. */
const stageCycles = 25, exchangeCycles = 150, passCycles = 6500;
/** Cycles of a stage whose multiprocessor has nothing else to do, beside those of its operations. */
const latencyOfStage = 40;
/**
 * Where cells share work, measured: instructions for each operation as the model counts them, and cycles of a warp for each operation of
 * each of its cells, which it makes one after the other, because divisions and roots branch where numbers are unusual.
 */
const sharedOperation = 0.46, sharedLatency = 1.85;
/** Seconds from the end of a pass to the beginning of the next, where blocks of one do not overlap with those of the other. */
const betweenPasses = 4e-6;
/** A multiprocessor's only block waits alone: the time of a step more, of all steps and of an exchange. */
const alone = 0.1, aloneInExchange = 0.4;

/** Steps, cells per lane and warps that are considered. */
function* sizes({ depth, points }: Wanted): Generator<Omit<Shape, 'minBlocks'>> {
  for (const d of depth === undefined ? depths : [depth]) {
    for (const p of points === undefined ? columns : [points]) {
      for (const warps of warpCounts) yield { depth: d, points: p, rows: 1, warps };
    }
  }
}

/** 32-bit registers of a thread: its cells, and what one stage needs. Fitted to what compilers report. */
export function registersOf(made: StencilProgram, points: number): number {
  const { components } = layoutOf(made);
  const shared = made.stages.map((stage, s) => cascadeOf(stage, s)?.numbers ?? 0);
  if (shared.every((numbers) => numbers > 0)) return 24 + words(made) * points * (components + Math.max(...shared));
  const work = Math.max(...made.stages.map(({ point }) => operationsPerCell(point)));
  return 40 + words(made) * components * (points + 2 * required(made.reach.at(-1)) + 2) + Math.min(46, Math.ceil(work / 3));
}

/** Blocks that a multiprocessor holds; 0 if not even one fits. */
function blocksOf(made: StencilProgram, size: Omit<Shape, 'minBlocks'>, isWanted: boolean): number {
  const held = registersOf(made, size.points), bytes = lineBytes(made, size) + 1024;
  const limit = (blocks: number): number => Math.min(mostOfThread, 8 * Math.floor(mostRegisters / (lanes * size.warps * blocks * 8)));
  const most = [32, 24, 16, 12, 8, 6, 4, 3, 2, 1].find((blocks) => limit(blocks) >= held && blocks * bytes <= mostShared);
  return most ?? (isWanted && bytes <= mostShared ? 1 : 0);
}

/** Operations of a stage for a cell. What neighbours share is made once. */
function workOf(stage: Stage, at: number): number {
  const shared = sharedOf(stage, at);
  if (shared === undefined) return operationsPerCell(stage.point);
  const own = operations(shared.finish.f);
  return own + Math.max(0, operationsPerCell(stage.point) - own) / 2;
}

/** Cycles of a step of so many blocks on a multiprocessor: arithmetic, with what warps do per stage and blocks per round. */
export function stepCycles(made: StencilProgram, { points, warps }: Shape, blocks: number, round: number): number {
  const { stages, names } = made;
  const isShared = stages.every((stage, at) => sharedOf(stage, at) !== undefined);
  const counted = stages.reduce((sum, stage, at) => sum + workOf(stage, at), 0), work = isShared ? sharedOperation * counted : counted;
  const shuffled = (2 * required(made.reach.at(-1)) * words(made) * layoutOf(made).fields * stages.length) / points;
  const pipe = Math.max(work / (names.precision === 'f32' ? 128 : 64), (1.4 * work + shuffled) / 128, shuffled / 32);
  const resident = 4 * Math.ceil((warps * blocks) / 4);
  const busy = pipe * lanes * points * resident + (stageCycles * stages.length * resident) / 4;
  const waiting = (blocks > 1 ? 0 : busy * (alone + (warps > 1 ? aloneInExchange / round : 0)))
    + (isShared ? sharedLatency * counted * points : 0);
  return Math.max(busy + waiting, latencyOfStage * stages.length + 4 * work) + (warps > 1 ? exchangeCycles / round : 0);
}

/** Picoseconds per cell and step of passes, with memory beside arithmetic. */
function predict(made: StencilProgram, shape: Shape, tiles: number, cells: number): number {
  const { names } = made;
  const { depth, minBlocks } = shape;
  const { round, tile, margin } = lineTile(made, shape);
  const step = stepCycles(made, shape, minBlocks, round) + passCycles / depth;
  const waves = tiles / (multiprocessors * minBlocks);
  const compute = (step * (waves < 8 ? Math.ceil(waves) : waves + 0.5)) / clock / cells;
  const read = tile / (tile - 2 * margin);
  const memory = ((4 * words(made) * (names.fields.length * (1 + read) + names.coefficients.length)) / depth) / bytesPerSecond;
  return 1e12 * (waves > 1 ? Math.hypot(compute, memory) : compute + memory + betweenPasses / depth / cells);
}

/** Shapes that fit a grid, the fastest by the model first. */
export function lineShapes(made: StencilProgram, target: Target, grid: Grid, least: number, wanted: Wanted): readonly PredictedShape[] {
  const shapes: PredictedShape[] = [];
  for (const size of sizes(wanted)) {
    if (size.points < least) continue;
    const minBlocks = blocksOf(made, size, wanted.depth !== undefined && wanted.points !== undefined);
    const tiles = minBlocks === 0 ? 0 : lineTiles(made, size, grid.cells, isPeriodic(target, 0)) * grid.members;
    if (tiles === 0) continue;
    const shape = { ...size, minBlocks };
    shapes.push({ ...shape, picoseconds: predict(made, shape, tiles, grid.cells * grid.members) });
  }
  return shapes.sort((a, b) => a.picoseconds - b.picoseconds);
}
