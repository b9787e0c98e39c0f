// Lines that stay on the multiprocessors of a device: the shape of their tiles, by a model, and their launches.
import { required } from '../../core/known.ts';
import type { KernelArgument } from '../../core/module.ts';
import {
  leastHalo, lineBytes, lineResidentKernel, lineResidentText, lineTile, reachOfStep, type LineShape,
} from '../compile/line.ts';
import { remembered } from '../compile/memo.ts';
import { isPeriodic, lanes } from '../compile/scheme.ts';
import type { StencilProgram, Target } from '../compile/stages.ts';
import { passThreads } from './cut.ts';
import { mostOfThread, mostRegisters, mostShared } from './device-model.ts';
import { clock, columns, registersOf, stepCycles } from './line-shapes.ts';
import type { Limits, Residence } from './persistent.ts';
import type { Grid } from './span.ts';

/** What steps take beyond the model, measured; several blocks on a multiprocessor delay each other. */
const beyondModel = 1.07, beyondWithOthers = 1.3;
/** Cycles until a tile has the margins that its neighbours send, and for every cell of a lane. */
const messageCycles = 1800, messageOfCell = 40;

/** Tiles of a member, cells beside those that each of them owns, and steps that these last. */
interface ResidentLine extends LineShape {
  readonly tiles: number;
  readonly margin: number;
  readonly picoseconds: number;
}

/** The most steps between two exchanges of tiles. */
const mostDepth = 512;

/** How a line is cut into so many tiles; undefined if they do not fit. */
function cutLine(
  made: StencilProgram, size: Omit<LineShape, 'minBlocks'>, cells: number, tiles: number, isRound: boolean, isExact: boolean,
): { readonly depth: number; readonly margin: number } | undefined {
  const { tile, halo, round } = lineTile(made, { ...size, depth: mostDepth });
  const step = reachOfStep(made);
  const own = Math.ceil(cells / tiles);
  // A margin comes from one neighbour. Tiles at boundaries have the lanes beyond them in place of one.
  const margin = Math.min(Math.floor((tile - own) / 2), Math.floor(cells / tiles), isRound ? Infinity : tile - own - halo);
  let depth = Math.min(size.depth, Math.floor(margin / step));
  if (!isExact && depth > round) depth -= depth % round;
  return depth < 1 || (!isRound && (tiles < 2 || own < halo)) ? undefined : { depth, margin: depth * step };
}

/** The best shape by the model; undefined if none fits. */
function residentLine(
  made: StencilProgram, target: Target, { cells, members }: Grid, { depth: wanted, points, multiprocessors, blocks }: Limits,
): ResidentLine | undefined {
  const isRound = isPeriodic(target, 0);
  let best: ResidentLine | undefined;
  for (const p of points === undefined ? [1, 3, 5, 34, ...columns] : [points]) {
    const least = leastHalo(made, p);
    for (const [warps, haloLanes] of [2, 4, 8].flatMap((w) => [1, 2, 4, 8].map((h) => [w, Math.max(h, least)] as const))) {
      if (4 * haloLanes > lanes || p < required(made.reach.at(-1))) continue;
      const size = { points: p, rows: 1, warps, haloLanes };
      const { tile, round } = lineTile(made, { ...size, depth: mostDepth });
      const held = registersOf(made, p), bytes = lineBytes(made, { ...size, depth: 1 }) + 1024;
      for (const depth of wanted === undefined ? [4, 8, 16, 32, 64, 96, 128, 192, 256] : [wanted]) {
        const own = tile - 2 * depth * reachOfStep(made);
        const tiles = Math.max(isRound ? 1 : 2, Math.ceil(cells / own)), each = Math.ceil((tiles * members) / multiprocessors);
        const limit = Math.min(mostOfThread, 8 * Math.floor(mostRegisters / (lanes * warps * each * 8)));
        if (own < 1 || each > blocks || each * bytes > mostShared || (held > limit && points === undefined)) continue;
        const cut = cutLine(made, { ...size, depth: wanted ?? mostDepth }, cells, tiles, isRound, wanted !== undefined);
        if (cut === undefined) continue;
        const shape = { ...size, ...cut, minBlocks: each };
        const cycles = stepCycles(made, shape, each, Math.min(round, cut.depth)) + (messageCycles + messageOfCell * p) / cut.depth;
        const picoseconds = (1e12 * (each > 1 ? beyondWithOthers : beyondModel) * cycles) / (clock * cells * members);
        if (best === undefined || picoseconds < best.picoseconds) best = { ...shape, tiles, picoseconds };
      }
    }
  }
  return best;
}

/** How a line stays on a device; undefined if it does not fit. */
export function lineResidence(made: StencilProgram, target: Target, grid: Grid, limits: Limits): Residence | undefined {
  const shape = residentLine(made, target, grid, limits);
  if (shape === undefined) return undefined;
  const { depth, points, rows, warps, minBlocks, margin, tiles, picoseconds } = shape;
  const { tile } = lineTile(made, shape);
  return {
    kernel: lineResidentKernel, text: () => remembered(made, ['line resident', { points, warps, minBlocks, halo: shape.haloLanes }],
      () => lineResidentText(made, target, shape)),
    blocks: tiles * grid.members, threads: passThreads(shape), sharedBytes: lineBytes(made, shape), depth,
    // Four boxes of both sides.
    messages: 4 * 2 * tiles * grid.members * made.names.fields.length * margin,
    reason: `the line stays on the device, in tiles of ${tile} cells that exchange their edges every ${depth} steps`,
    shape: { depth, points, rows, warps: warps * minBlocks, predicted: picoseconds, measured: undefined },
    arguments: ({ state, boxes, span, first, steps, tag, real }) => [
      ...state, real(span.dt), ...made.stages.map(({ h }) => real(h(span.dt))), ...made.stages.map(({ g }) => real(g(span.dt))),
      { f64: span.originTime }, { f64: span.unit }, ...made.stages.map(({ time }): KernelArgument => ({ f64: time * span.dt })),
      { i64: span.from + first }, ...[grid.cells, tiles, steps, first].map((n) => ({ i32: n })), boxes,
      ...[margin, depth, tag].map((n) => ({ i32: n })),
    ],
  };
}
