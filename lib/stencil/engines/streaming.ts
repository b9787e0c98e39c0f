// Several steps per pass over memory, on a device.
import { elementAt, required } from '../../core/known.ts';
import type { DeviceModule, KernelArgument, ListedLaunch } from '../../core/module.ts';
import { arithmeticHeader } from '../../kernel/print/c-family.ts';
import type { DeviceText } from '../compile/cuda.ts';
import { remembered } from '../compile/memo.ts';
import { lineText } from '../compile/line.ts';
import { planesText } from '../compile/planes.ts';
import { lanes, passKernel } from '../compile/scheme.ts';
import type { StencilProgram, Target } from '../compile/stages.ts';
import { streamingText } from '../compile/streaming.ts';
import type { ShapeInfo } from '../types.ts';
import type { PredictedShape } from './device-model.ts';
import { chunksOf, firstExtent, passBytes, passThreads, tilesOf, type Chunks, type Tiles } from './cut.ts';
import { ClassicEngine, DeviceState, type DeviceParts } from './device.ts';
import { levelsUsed, timeOf, type Span } from './span.ts';

const textOf = (made: StencilProgram, target: Target, shape: PredictedShape): DeviceText =>
  remembered(made, ['pass', shape], () => required([lineText, streamingText, planesText][made.names.dimensions - 1])(made, target, shape));

/** Shapes that the tuner measures. */
const mostTuned = 8;

interface Candidate {
  readonly shape: PredictedShape;
  readonly module: DeviceModule;
}

/** Passes of several steps; the steps that are left over are taken one by one. */
export class StreamingEngine extends ClassicEngine {
  override readonly variant: 'classic' | 'streaming' = 'streaming';
  override readonly threads: number;
  override readonly depth: number;
  override readonly shapes: readonly ShapeInfo[];
  readonly #shape: PredictedShape;
  readonly #program: StencilProgram;
  readonly #cut: Tiles & Chunks;

  constructor(parts: DeviceParts, state: DeviceState, { shape, module }: Candidate, shapes: readonly ShapeInfo[]) {
    super(state, module, parts.made, `${shape.depth} steps per pass, ${describeShape(shape, parts.made)}`);
    this.threads = passThreads(shape);
    const sharedBytes = passBytes(parts.made, shape);
    const tiles = tilesOf(parts.made, parts.target, shape, state.grid.shape);
    const resident = Math.max(1, module.kernels.get(passKernel)?.residentBlocks(this.threads, sharedBytes) ?? 1)
      * Math.max(1, state.device.description.multiprocessors);
    const count = tiles.strips * tiles.bands * state.grid.members;
    this.#cut = { ...tiles, ...chunksOf(parts.made, shape, count, firstExtent(state.grid), resident) };
    this.#shape = shape;
    this.depth = shape.depth;
    this.shapes = shapes;
    this.#program = parts.made;
  }

  /** Begins with the first of the shapes, or with the fastest of the first few where the run is to be tuned. */
  static async begin(parts: DeviceParts, shapes: readonly PredictedShape[]): Promise<StreamingEngine> {
    const { device, made, target, content, request: { signal, tune } } = parts;
    const candidates = await Promise.all(shapes.slice(0, tune ? mostTuned : 1).map(async (shape): Promise<Candidate> => {
      const { source, kernels } = textOf(made, target, shape);
      const headers = { 'arithmetic.h': arithmeticHeader() };
      return { shape, module: await device.module({ source, kernels, headers, ...(signal === undefined ? {} : { signal }) }) };
    }));
    try {
      const levels = [...new Set([...levelsUsed(made.stages), 'first' as const])];
      const state = await DeviceState.place(device, content, levels);
      const measured = tune ? await StreamingEngine.#measure(parts, state, candidates) : candidates.map(() => undefined);
      const order = candidates.map((_, i) => i).sort((a, b) => (measured[a] ?? 0) - (measured[b] ?? 0));
      const table = [
        ...order.map((i) => infoOf(elementAt(candidates, i).shape, measured[i])), ...shapes.slice(candidates.length).map((shape) =>
          infoOf(shape)),
      ];
      const [best = 0, ...others] = order;
      for (const other of others) elementAt(candidates, other).module.dispose();
      return new StreamingEngine(parts, state, elementAt(candidates, best), table);
    } catch (error) {
      for (const { module } of candidates) module.dispose();
      throw error;
    }
  }

  /** Picoseconds per cell and step of every candidate, on the run's own state. */
  static async #measure(parts: DeviceParts, state: DeviceState, candidates: readonly Candidate[]): Promise<readonly number[]> {
    const { cells, members } = state.grid;
    await state.keep();
    const found: number[] = [];
    for (const candidate of candidates) {
      const engine = new StreamingEngine(parts, state, candidate, []);
      const { depth } = candidate.shape;
      const span = { steps: depth, originTime: 0, from: 0, unit: parts.request.dt, dt: parts.request.dt };
      await engine.run(span);
      await state.restore();
      const seconds = await engine.run({ ...span, steps: 4 * depth });
      await state.restore();
      found.push((1e12 * seconds) / (4 * depth * cells * members));
    }
    await state.takeBadStep();
    return found;
  }

  protected override* launches(span: Span): Generator<ListedLaunch> {
    const { depth } = this.#shape;
    let step = 0;
    for (; step + depth <= span.steps; step += depth) {
      yield this.#pass(span, step, depth);
      this.state.swap();
    }
    if (step === span.steps) return;
    if (this.state.grid.shape.length > 1) {
      yield* super.launches({ ...span, steps: span.steps - step, from: span.from + step }, step);
      return;
    }
    yield this.#pass(span, step, span.steps - step);
    this.state.swap();
  }

  #pass(span: Span, first: number, steps: number): ListedLaunch {
    const { stages, names: { precision } } = this.#program;
    const { state } = this;
    const { strips, bands, chunks } = this.#cut;
    const real = (x: number): KernelArgument => (precision === 'f32' ? { f32: x } : { f64: x });
    return {
      kernel: passKernel, blocks: strips * bands * state.grid.members * chunks, threads: this.threads,
      sharedBytes: passBytes(this.#program, this.#shape),
      arguments: [
        state.array('state'), state.array('first'), state.coefficients, state.parameters, state.status, real(span.dt),
        ...state.grid.shape.length === 1 ? [] : this.#times(span, first).map(real),
        ...stages.map(({ h }) => real(h(span.dt))), ...stages.map(({ g }) => real(g(span.dt))),
        ...state.grid.shape.length === 1 ? this.#line(span, first, steps) : this.#extents(first),
      ],
    };
  }

  /** The times of all stages of a pass. */
  #times(span: Span, first: number): readonly number[] {
    return Array.from({ length: this.depth }, (_, i) => {
      const t = timeOf(span, first + i);
      return this.#program.stages.map(({ time }) => t + time * span.dt);
    }).flat();
  }

  #extents(first: number): readonly KernelArgument[] {
    const { shape, members } = this.state.grid;
    const { strips, bands, chunks, rows } = this.#cut;
    return [...shape, members, strips, ...shape.length === 3 ? [bands] : [], chunks, rows, first].map((n) => ({ i32: n }));
  }

  /** Passes along a line are long, so that their kernel computes the times; they may be cut short. */
  #line(span: Span, first: number, steps: number): readonly KernelArgument[] {
    const { shape } = this.state.grid;
    return [
      { f64: span.originTime }, { f64: span.unit }, ...this.#program.stages.map(({ time }) => ({ f64: time * span.dt })),
      { i64: span.from + first }, ...[...shape, this.#cut.strips, steps, first].map((n) => ({ i32: n })),
    ];
  }
}

function describeShape({ points, rows, warps }: PredictedShape, { names }: StencilProgram): string {
  if (names.dimensions === 1) return `${warps} warps with ${points} cells per lane`;
  return names.dimensions === 3 ? `tiles of ${rows * warps} × ${lanes * points} cells` : `${points} cells per lane`;
}

function infoOf({ depth, points, rows, warps, minBlocks, picoseconds }: PredictedShape, measured?: number): ShapeInfo {
  return { depth, points, rows: rows * warps, warps: warps * minBlocks, predicted: picoseconds, measured };
}
