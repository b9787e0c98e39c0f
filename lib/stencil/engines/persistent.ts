// Grids that stay on the multiprocessors of a device for many steps, in one and two dimensions.
import type { DeviceArray } from '../../core/device.ts';
import { required } from '../../core/known.ts';
import type { DeviceModule, KernelArgument, ListedLaunch } from '../../core/module.ts';
import { arithmeticHeader } from '../../kernel/print/c-family.ts';
import { remembered } from '../compile/memo.ts';
import { residentBytes, residentKernel, residentText, residentTile } from '../compile/resident.ts';
import { tilesAlong } from '../compile/planes.ts';
import { isPeriodic, type Shape } from '../compile/scheme.ts';
import type { StencilProgram, Target } from '../compile/stages.ts';
import type { ShapeInfo } from '../types.ts';
import { passThreads } from './cut.ts';
import { ClassicEngine, DeviceState, type DeviceParts } from './device.ts';
import { cyclesPerSecond, operations, type PredictedShape } from './shapes.ts';
import { levelsUsed, type Grid, type Span } from './span.ts';

/** Steps of a launch: some 10 ms, so that runs can be stopped. */
const mostSteps = 1 << 14;
/** Warps of a multiprocessor that its registers serve well. */
const mostWarps = 16;
/** Cycles until a cell that a block has sent is in another, and of the latencies of a stage. */
const exchangeCycles = 2600, stageCycles = 220;

/** Tiles along rows and columns; none if the grid is too narrow. */
function tilesOf(made: StencilProgram, target: Target, shape: Shape, extents: readonly number[]): { readonly strips: number;
    readonly bands: number } {
  const { rows, columns } = residentTile(made, shape);
  const axes = extents.length;
  return {
    strips: tilesAlong(columns, required(extents.at(-1)), isPeriodic(target, axes - 1)),
    bands: axes === 1 ? 1 : tilesAlong(rows, required(extents[0]), isPeriodic(target, 0)),
  };
}

function* sizes(dimensions: number, wanted: { readonly depth?: number | undefined; readonly points?: number | undefined }):
Generator<Omit<Shape, 'minBlocks'>> {
  const isLine = dimensions === 1;
  for (const depth of wanted.depth === undefined ? [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32] : [wanted.depth]) {
    for (const points of wanted.points === undefined ? (isLine ? [1, 2, 4, 8] : [1, 2, 4]) : [wanted.points]) {
      for (const rows of isLine ? [1] : [1, 2, 3, 4, 6, 8]) {
        for (let warps = 1; warps <= (isLine ? 1 : mostWarps); warps += 1) yield { depth, points, rows, warps };
      }
    }
  }
}

/** The shape with which a grid stays on a device, by a model of arithmetic, latencies and messages; undefined if it does not fit. */
export function residentShape(
  made: StencilProgram, target: Target, grid: Grid,
  { depth, points, multiprocessors, blocks }: { readonly depth?: number | undefined; readonly points?: number | undefined;
    readonly multiprocessors: number; readonly blocks: number },
): PredictedShape | undefined {
  const { stages, names: { dimensions, fields, precision }, reach } = made;
  if (dimensions > 2) return undefined;
  const wide = precision === 'f32' ? 1 : 2;
  const work = stages.reduce((sum, { point }) => sum + operations(point.f), 0);
  const state = 1 + Number(stages.some(({ readsStart }) => readsStart)) + Number(stages.some(({ readsSum }) => readsSum));
  let best: PredictedShape | undefined;
  for (const size of sizes(dimensions, { depth, points })) {
    const cells = size.points * size.rows;
    if (cells > 16 || size.points < required(reach.at(-1)) || (dimensions === 2 && size.rows < required(reach[0]))) continue;
    const { strips, bands } = tilesOf(made, target, { ...size, minBlocks: 1 }, grid.shape);
    const tiles = strips * bands * grid.members;
    const minBlocks = Math.ceil(tiles / multiprocessors);
    if (tiles === 0 || minBlocks > blocks || minBlocks * size.warps > mostWarps) continue;
    const registers = 44 + fields.length * wide * (cells * (state + 2) + 2 * (size.points + 2 * size.rows));
    if (registers > Math.min(255, 65536 / (32 * minBlocks * Math.max(4, size.warps)))) continue;
    const queue = Math.ceil((minBlocks * size.warps) / 4) * cells;
    const cycles = queue * Math.max(wide * work, 1.4 * work + 4 * stages.length) + stageCycles * stages.length
      + (exchangeCycles + 20 * queue * fields.length) / size.depth;
    const picoseconds = (1e12 * cycles) / (cyclesPerSecond * grid.cells * grid.members);
    if (best === undefined || picoseconds < best.picoseconds) best = { ...size, minBlocks, picoseconds };
  }
  return best;
}

/** A launch of any number of steps; blocks exchange their edges by messages. */
export class PersistentEngine extends ClassicEngine {
  override readonly variant = 'persistent';
  override readonly threads: number;
  override readonly depth: number;
  override readonly shapes: readonly ShapeInfo[];
  readonly #shape: PredictedShape;
  readonly #program: StencilProgram;
  readonly #tiles: { readonly strips: number; readonly bands: number };
  readonly #boxes: DeviceArray;
  #tag = 1;

  private constructor(parts: DeviceParts, state: DeviceState, module: DeviceModule, boxes: DeviceArray, shape: PredictedShape) {
    const { rows, columns } = residentTile(parts.made, shape);
    super(state, module, parts.made, `the grid stays on the device, in tiles of ${rows.tile} × ${columns.tile} cells that exchange their `
      + `edges every ${shape.depth} steps`);
    this.#shape = shape;
    this.#program = parts.made;
    this.#tiles = tilesOf(parts.made, parts.target, shape, state.grid.shape);
    this.#boxes = boxes;
    this.threads = passThreads(shape);
    this.depth = shape.depth;
    const { depth, points, minBlocks, warps, picoseconds } = shape;
    this.shapes = [{ depth, points, rows: shape.rows * warps, warps: warps * minBlocks, predicted: picoseconds, measured: undefined }];
  }

  /** Undefined if the device does not run all blocks at once. */
  static async begin(parts: DeviceParts, shape: PredictedShape): Promise<PersistentEngine | undefined> {
    const { device, made, target, content, request: { signal } } = parts;
    const { source, kernels } = remembered(made, ['resident', shape], () => residentText(made, target, shape));
    const headers = { 'arithmetic.h': arithmeticHeader() };
    const module = await device.module({ source, kernels, headers, ...(signal === undefined ? {} : { signal }) });
    let state: DeviceState | undefined;
    try {
      const { strips, bands } = tilesOf(made, target, shape, content.grid.shape);
      const most = required(module.kernels.get(residentKernel)).residentBlocks(passThreads(shape), residentBytes(made, shape));
      if (strips * bands * content.grid.members > most * Math.max(1, device.description.multiprocessors)) {
        module.dispose();
        return undefined;
      }
      state = await DeviceState.place(device, content, [...new Set([...levelsUsed(made.stages), 'first' as const])]);
      // Two boxes of messages of four words.
      const boxes = await device.array(new Int32Array(2 * 4 * content.initial.length));
      return new PersistentEngine(parts, state, module, boxes, shape);
    } catch (error) {
      module.dispose();
      state?.dispose();
      throw error;
    }
  }

  protected override* launches(span: Span): Generator<ListedLaunch> {
    const { depth } = this.#shape;
    const most = Math.max(1, Math.floor(mostSteps / depth)) * depth;
    for (let step = 0; step < span.steps; step += most) {
      yield this.#launch(span, step, Math.min(most, span.steps - step));
      this.state.swap();
    }
  }

  #launch(span: Span, first: number, steps: number): ListedLaunch {
    const { stages, names: { precision } } = this.#program;
    const { state } = this;
    const { shape, members } = state.grid;
    const { strips, bands } = this.#tiles;
    const real = (x: number): KernelArgument => (precision === 'f32' ? { f32: x } : { f64: x });
    const extents = [...Array<number>(3 - shape.length).fill(1), ...shape];
    const tag = this.#tag;
    this.#tag = (tag + Math.ceil(steps / this.#shape.depth)) | 0;
    return {
      kernel: residentKernel, blocks: strips * bands * members, threads: this.threads, cooperative: true,
      sharedBytes: residentBytes(this.#program, this.#shape),
      arguments: [
        state.array('state'), state.array('first'), state.coefficients, state.parameters, state.status, this.#boxes, real(span.dt),
        ...stages.map(({ h }) => real(h(span.dt))), ...stages.map(({ g }) => real(g(span.dt))), { f64: span.originTime },
        { f64: span.unit }, ...stages.map(({ time }) => ({ f64: time * span.dt })), { i64: span.from + first },
        ...[...extents, members, strips, bands, steps, first, tag].map((n) => ({ i32: n })),
      ],
    };
  }

  override dispose(): void {
    super.dispose();
    this.#boxes.dispose();
  }
}
