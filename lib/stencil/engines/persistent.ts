// Grids that stay on the multiprocessors of a device for many steps.
import type { DeviceArray } from '../../core/device.ts';
import { required } from '../../core/known.ts';
import type { DeviceModule, KernelArgument, ListedLaunch } from '../../core/module.ts';
import { arithmeticHeader } from '../../kernel/print/c-family.ts';
import type { DeviceText } from '../compile/cuda.ts';
import { remembered } from '../compile/memo.ts';
import { residentBytes, residentKernel, residentText, residentTile, type ResidentShape } from '../compile/resident.ts';
import { tilesAlong } from '../compile/planes.ts';
import { isPeriodic } from '../compile/scheme.ts';
import type { StencilProgram, Target } from '../compile/stages.ts';
import type { ShapeInfo } from '../types.ts';
import { passThreads } from './cut.ts';
import { ClassicEngine, DeviceState, type DeviceParts } from './device.ts';
import { cyclesPerSecond, operations } from './device-model.ts';
import { levelsUsed, type Grid, type Span } from './span.ts';

/** Steps of a launch: some 10 ms, so that runs can be stopped. */
const mostSteps = 1 << 14;
/** Warps of a multiprocessor that its registers serve well. */
const mostWarps = 16;
/** Cells of a thread. */
const mostCells = 16;
/** Cycles until a cell that a block has sent is in another, and of the latencies of a stage. */
const exchangeCycles = 2600, stageCycles = 220;
/** The same in two dimensions, fitted to twelve shapes: per stage, more for each column of a lane; per exchange, more for each cell. */
const planeStage = 275, planeColumn = 110, planeExchange = 810, planeCell = 0.9;

/** A shape, and the picoseconds per cell and step that the model predicts for an H200. */
interface PredictedShape extends ResidentShape {
  readonly picoseconds: number;
}

/** Tiles along columns, rows and planes; none if the grid is too narrow. */
interface Tiles {
  readonly strips: number;
  readonly bands: number;
  readonly slabs: number;
}

function tilesOf(made: StencilProgram, target: Target, shape: ResidentShape, extents: readonly number[]): Tiles {
  const { planes, rows, columns } = residentTile(made, shape);
  const along = (cut: typeof rows, axis: number): number =>
    (axis < 0 ? 1 : tilesAlong(cut, required(extents[axis]), isPeriodic(target, axis)));
  const axes = extents.length;
  return { strips: along(columns, axes - 1), bands: along(rows, axes - 2), slabs: along(planes, axes - 3) };
}

function* sizes(dimensions: number, wanted: { readonly depth?: number | undefined; readonly points?: number | undefined }):
Generator<Omit<ResidentShape, 'minBlocks'>> {
  if (dimensions === 3) {
    for (const depth of wanted.depth === undefined ? [1, 2, 3] : [wanted.depth]) {
      for (const points of wanted.points === undefined ? [1, 2] : [wanted.points]) {
        for (const rows of [1, 2, 3, 4]) {
          for (const planes of [3, 4, 5, 6, 8, 10, 12, 16]) {
            for (let warps = 2; warps <= mostWarps; warps += 1) yield { depth, points, rows, planes, warps };
          }
        }
      }
    }
    return;
  }
  for (const depth of wanted.depth === undefined ? [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32] : [wanted.depth]) {
    for (const points of wanted.points === undefined ? [1, 2, 4] : [wanted.points]) {
      for (const rows of [1, 2, 3, 4, 6, 8]) {
        for (let warps = 1; warps <= mostWarps; warps += 1) yield { depth, points, rows, warps, planes: 1 };
      }
    }
  }
}

/** What a shape has to keep to: what was asked for, the device's multiprocessors, and the blocks that each of them may run. */
export interface Limits {
  readonly depth?: number | undefined;
  readonly points?: number | undefined;
  readonly multiprocessors: number;
  readonly blocks: number;
}

/** What the arguments of a launch depend on. */
interface LaunchParts {
  /** State, next state, coefficients, parameters, status. */
  readonly state: readonly DeviceArray[];
  readonly boxes: DeviceArray;
  readonly span: Span;
  readonly first: number;
  readonly steps: number;
  /** Of the first messages. */
  readonly tag: number;
  readonly real: (x: number) => KernelArgument;
}

/** How a grid stays on a device. */
export interface Residence {
  readonly kernel: string;
  readonly text: () => DeviceText;
  readonly blocks: number;
  readonly threads: number;
  readonly sharedBytes: number;
  /** Steps between two exchanges. */
  readonly depth: number;
  /** Messages of four words. */
  readonly messages: number;
  readonly reason: string;
  readonly shape: ShapeInfo;
  readonly arguments: (parts: LaunchParts) => readonly KernelArgument[];
}

/** Cells of a tile in two dimensions that other blocks own. */
function haloOf(made: StencilProgram, size: Omit<ResidentShape, 'minBlocks'>): number {
  const { rows, columns } = residentTile(made, { ...size, minBlocks: 1 });
  return rows.tile * columns.tile - rows.own * columns.own;
}

/** The shape with which a grid stays on a device, by a model of arithmetic, latencies and messages; undefined if it does not fit. */
function residentShape(
  made: StencilProgram, target: Target, grid: Grid, { depth, points, multiprocessors, blocks }: Limits,
): PredictedShape | undefined {
  const { stages, names: { dimensions, fields, precision }, reach } = made;
  const wide = precision === 'f32' ? 1 : 2;
  const work = stages.reduce((sum, { point }) => sum + operations(point.f), 0);
  const state = 1 + Number(stages.some(({ readsStart }) => readsStart)) + Number(stages.some(({ readsSum }) => readsSum));
  let best: PredictedShape | undefined;
  for (const size of sizes(dimensions, { depth, points })) {
    const cells = size.points * size.rows * size.planes;
    if (cells > mostCells || size.points < required(reach.at(-1)) || size.rows < (reach.at(-2) ?? 0)) continue;
    const { strips, bands, slabs } = tilesOf(made, target, { ...size, minBlocks: 1 }, grid.shape);
    const tiles = strips * bands * slabs * grid.members;
    const minBlocks = Math.ceil(tiles / multiprocessors);
    if (tiles === 0 || minBlocks > blocks || minBlocks * size.warps > mostWarps) continue;
    const registers = 44 + fields.length * wide * (cells * (state + 2) + 2 * (size.points + 2 * size.rows) * Math.min(2, size.planes));
    if (registers > Math.min(255, 65536 / (32 * minBlocks * Math.max(4, size.warps)))) continue;
    const queue = Math.ceil((minBlocks * size.warps) / 4) * cells;
    const stage = dimensions === 2 ? planeStage + planeColumn * size.points : stageCycles;
    const exchange = dimensions === 2 ? planeExchange + planeCell * minBlocks * fields.length * haloOf(made, size)
      : exchangeCycles + 20 * queue * fields.length;
    const cycles = queue * Math.max(wide * work, 1.4 * work + 4 * stages.length) + stage * stages.length + exchange / size.depth;
    const picoseconds = (1e12 * cycles) / (cyclesPerSecond * grid.cells * grid.members);
    if (best === undefined || picoseconds < best.picoseconds) best = { ...size, minBlocks, picoseconds };
  }
  return best;
}

/** How a grid of two or three dimensions stays on a device; undefined if it does not fit. */
export function gridResidence(made: StencilProgram, target: Target, grid: Grid, limits: Limits): Residence | undefined {
  const shape = residentShape(made, target, grid, limits);
  if (shape === undefined) return undefined;
  const { depth, points, rows, minBlocks, warps, picoseconds } = shape;
  const { planes, rows: bands, columns } = residentTile(made, shape);
  const tile = [planes, bands, columns].slice(planes.tile === 1 ? 1 : 0).map((cut) => cut.tile).join(' × ');
  const tiles = tilesOf(made, target, shape, grid.shape);
  const extents = [...Array<number>(3 - grid.shape.length).fill(1), ...grid.shape];
  return {
    kernel: residentKernel, text: () => remembered(made, ['resident', shape], () => residentText(made, target, shape)),
    blocks: tiles.strips * tiles.bands * tiles.slabs * grid.members, threads: passThreads(shape), sharedBytes: residentBytes(made, shape),
    depth, messages: 2 * grid.cells * grid.members * grid.fields, // two boxes
    reason: `the grid stays on the device, in tiles of ${tile} cells that exchange their edges every ${depth} steps`,
    shape: { depth, points, rows: rows * warps, warps: warps * minBlocks, predicted: picoseconds, measured: undefined },
    arguments: ({ state, boxes, span, first, steps, tag, real }) => [
      ...state, boxes, real(span.dt), ...made.stages.map(({ h }) => real(h(span.dt))), ...made.stages.map(({ g }) => real(g(span.dt))),
      { f64: span.originTime }, { f64: span.unit }, ...made.stages.map(({ time }): KernelArgument => ({ f64: time * span.dt })),
      { i64: span.from + first },
      ...[...extents, grid.members, tiles.strips, tiles.bands, tiles.slabs, steps, first, tag].map((n) => ({ i32: n })),
    ],
  };
}

/** A launch of any number of steps; blocks exchange their edges by messages. */
export class PersistentEngine extends ClassicEngine {
  override readonly variant = 'persistent';
  override readonly threads: number;
  override readonly depth: number;
  override readonly shapes: readonly ShapeInfo[];
  readonly #residence: Residence;
  readonly #program: StencilProgram;
  readonly #boxes: DeviceArray;
  #tag = 1;

  private constructor(parts: DeviceParts, state: DeviceState, module: DeviceModule, boxes: DeviceArray, residence: Residence) {
    super(state, module, parts.made, residence.reason);
    this.#residence = residence;
    this.#program = parts.made;
    this.#boxes = boxes;
    this.threads = residence.threads;
    this.depth = residence.depth;
    this.shapes = [residence.shape];
  }

  /** Undefined if the device does not run all blocks at once. */
  static async begin(parts: DeviceParts, residence: Residence): Promise<PersistentEngine | undefined> {
    const { device, made, content, request: { signal } } = parts;
    const { source, kernels } = residence.text();
    const headers = { 'arithmetic.h': arithmeticHeader() };
    const module = await device.module({ source, kernels, headers, ...(signal === undefined ? {} : { signal }) });
    let state: DeviceState | undefined;
    try {
      const most = required(module.kernels.get(residence.kernel)).residentBlocks(residence.threads, residence.sharedBytes);
      if (residence.blocks > most * Math.max(1, device.description.multiprocessors)) {
        module.dispose();
        return undefined;
      }
      state = await DeviceState.place(device, content, [...new Set([...levelsUsed(made.stages), 'first' as const])]);
      const boxes = await device.array(new Int32Array(4 * residence.messages));
      return new PersistentEngine(parts, state, module, boxes, residence);
    } catch (error) {
      module.dispose();
      state?.dispose();
      throw error;
    }
  }

  protected override* launches(span: Span): Generator<ListedLaunch> {
    const { depth } = this;
    const most = Math.max(1, Math.floor(mostSteps / depth)) * depth;
    for (let step = 0; step < span.steps; step += most) {
      yield this.#launch(span, step, Math.min(most, span.steps - step));
      this.state.swap();
    }
  }

  #launch(span: Span, first: number, steps: number): ListedLaunch {
    const { kernel, blocks, threads, sharedBytes, depth } = this.#residence;
    const { state } = this;
    const real = (x: number): KernelArgument => (this.#program.names.precision === 'f32' ? { f32: x } : { f64: x });
    const tag = this.#tag;
    this.#tag = (tag + Math.ceil(steps / depth)) | 0;
    return {
      kernel, blocks, threads, cooperative: true, sharedBytes, arguments: this.#residence.arguments({
        state: [state.array('state'), state.array('first'), state.coefficients, state.parameters, state.status], boxes: this.#boxes, span,
        first, steps, tag, real,
      }),
    };
  }

  override dispose(): void {
    super.dispose();
    this.#boxes.dispose();
  }
}
