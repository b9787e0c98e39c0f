// Shapes of passes over memory: which fit in registers, and how fast a model takes them to be.
import { elementAt, required } from '../../core/known.ts';
import type { Expression, KernelFunction } from '../../kernel/ir.ts';
import { walkBody } from '../../kernel/visit.ts';
import type { StencilProgram } from '../compile/stages.ts';
import { besideOf, stripOf, type Shape } from '../compile/streaming.ts';

/** A shape, and the picoseconds per cell and step that the model predicts for an H200. */
export interface PredictedShape extends Shape {
  readonly picoseconds: number;
}

/** Stages of a pass: their times are parameters of the kernel. */
const mostLevels = 256;

/** Blocks (of one warp) per multiprocessor, and the registers that a thread may have then. */
const occupancies = [[8, 255], [12, 168], [16, 128], [20, 96], [32, 64]] as const;

// An H200: cycles per second of all multiprocessors, bytes per second, cycles until a result of an operation can be used.
const cycles = 132 * 1.755e9, bytesPerSecond = 4.2e12, latency = 16;

const words = ({ names }: StencilProgram): number => (names.precision === 'f32' ? 1 : 2);

function weightOf(e: Expression): number {
  switch (e.kind) {
    case 'math': return 40;
    case 'unary': return e.op === 'sqrt' ? 12 : 1;
    case 'binary': return e.op === 'div' ? 10 : e.op === 'rem' ? 40 : 1;
    case 'compare': case 'select': case 'convert': return 1;
    default: return 0;
  }
}

/** Operations of a function, in additions. */
function operations({ body }: KernelFunction): number {
  let sum = 0;
  walkBody(body, { expression: (e) => { sum += weightOf(e); } });
  return sum;
}

/** 32-bit registers of a thread: the rows of all levels, the next row, and what one stage needs. Fitted to what compilers report. */
function registersOf(made: StencilProgram, { depth, points }: Pick<Shape, 'depth' | 'points'>): number {
  const { stages, reach, names } = made;
  const fields = names.fields.length * words(made);
  const working = 8 * points * fields + 24;
  if (names.dimensions === 1) return working + 2 * points * fields;
  const rows = stages.reduce((sum, { readsStart, readsSum }, s) => {
    // Rows that are read beside the column from above or below bring their neighbours along.
    const wide = points + (besideOf(made, s).some(({ dx }) => dx !== 0) ? 2 * required(reach[1]) : 0);
    return sum + required(reach[0]) * (2 * wide + points * (Number(readsStart) + Number(readsSum)));
  }, 0);
  return working + depth * rows * fields;
}

/** Picoseconds per cell and step: arithmetic and its latency on the one hand, memory on the other. */
function predict(made: StencilProgram, { depth, points, minBlocks }: Shape): number {
  const { stages, names } = made;
  const { own } = stripOf(made, { depth, points });
  const redundant = (32 * points) / own;
  const work = stages.reduce((sum, { point }) => sum + operations(point.f), 0);
  const lanes = names.precision === 'f32' ? 128 : 64;
  const pipe = Math.max(work / lanes, (1.4 * work + 4 * stages.length) / 128);
  const chain = stages.reduce((sum, { point }) => sum + 2 + 0.5 * operations(point.f), 0);
  const wait = (latency * chain) / (32 * points * minBlocks);
  const compute = ((pipe + wait) * redundant) / cycles;
  const memory = ((8 * words(made) * names.fields.length * redundant) / depth) / bytesPerSecond;
  return 1e12 * Math.hypot(compute, memory);
}

/** Shapes that fit in registers, the fastest by the model first. */
export function streamingShapes(
  made: StencilProgram, { depth, points }: { readonly depth?: number | undefined; readonly points?: number | undefined } = {},
): readonly PredictedShape[] {
  const ry = required(made.reach.at(-1));
  const isLine = made.names.dimensions === 1;
  const shapes: PredictedShape[] = [];
  for (const p of points === undefined ? (isLine ? [8, 16] : [2, 4, 8]) : [points]) {
    for (const d of depth === undefined ? (isLine ? [1, 2, 4, 8, 16, 32] : [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16]) : [depth]) {
      const { halo, own } = stripOf(made, { depth: d, points: p });
      if (p < ry || d * made.stages.length > mostLevels || own < Math.max(4, halo + 1) * p) continue;
      const held = registersOf(made, { depth: d, points: p });
      const isWanted = depth !== undefined && points !== undefined;
      const fitting = occupancies.filter(([, registers]): boolean => registers + 8 >= held || (registers === 255 && held <= 272));
      if (fitting.length === 0 && !isWanted) continue;
      const [minBlocks] = fitting.at(-1) ?? elementAt(occupancies, 0);
      const shape = { depth: d, points: p, minBlocks };
      shapes.push({ ...shape, picoseconds: predict(made, shape) });
    }
  }
  return shapes.sort((a, b) => a.picoseconds - b.picoseconds);
}

/** Whether a grid is wide enough for strips with boundaries. */
export function isWideEnough(made: StencilProgram, shape: Shape, columns: number, isPeriodic: boolean): boolean {
  const { halo, own } = stripOf(made, shape);
  return isPeriodic || columns >= own + halo * shape.points;
}
