// Several steps per pass over memory, on a device.
import { elementAt } from '../../core/known.ts';
import type { DeviceModule, KernelArgument, ListedLaunch } from '../../core/module.ts';
import { arithmeticHeader } from '../../kernel/print/c-family.ts';
import type { DeviceText } from '../compile/cuda.ts';
import { remembered } from '../compile/memo.ts';
import { planesText } from '../compile/planes.ts';
import { lanes, passKernel } from '../compile/scheme.ts';
import type { StencilProgram, Target } from '../compile/stages.ts';
import { streamingText } from '../compile/streaming.ts';
import type { ShapeInfo } from '../types.ts';
import type { PredictedShape } from './shapes.ts';
import { chunksOf, firstExtent, passBytes, passThreads, tilesOf, type Chunks, type Tiles } from './cut.ts';
import { ClassicEngine, DeviceState, type DeviceParts } from './device.ts';
import { levelsUsed, timeOf, type Span } from './span.ts';

const textOf = (made: StencilProgram, target: Target, shape: PredictedShape): DeviceText =>
  remembered(made, ['pass', shape], () => (made.names.dimensions === 3 ? planesText : streamingText)(made, target, shape));

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
      yield this.#pass(span, step);
      this.state.swap();
    }
    if (step < span.steps) yield* super.launches({ ...span, steps: span.steps - step, from: span.from + step }, step);
  }

  #pass(span: Span, first: number): ListedLaunch {
    const { stages, names: { precision } } = this.#program;
    const { state } = this;
    const { shape, members } = state.grid;
    const { strips, bands, chunks, rows } = this.#cut;
    const real = (x: number): KernelArgument => (precision === 'f32' ? { f32: x } : { f64: x });
    const times = Array.from({ length: this.#shape.depth }, (_, i) => {
      const t = timeOf(span, first + i);
      return stages.map(({ time }) => t + time * span.dt);
    }).flat();
    const extents = shape.length === 1 ? [1, ...shape] : shape;
    const ints = [...extents, members, strips, ...shape.length === 3 ? [bands] : [], chunks, rows, first];
    return {
      kernel: passKernel, blocks: strips * bands * members * chunks, threads: this.threads,
      sharedBytes: passBytes(this.#program, this.#shape),
      arguments: [
        state.array('state'), state.array('first'), state.coefficients, state.parameters, state.status, real(span.dt), ...times.map(real),
        ...stages.map(({ h }) => real(h(span.dt))), ...stages.map(({ g }) => real(g(span.dt))), ...ints.map((n) => ({ i32: n })),
      ],
    };
  }
}

function describeShape({ points, rows, warps }: PredictedShape, { names }: StencilProgram): string {
  return names.dimensions === 3 ? `tiles of ${rows * warps} × ${lanes * points} cells` : `${points} cells per lane`;
}

function infoOf({ depth, points, rows, warps, minBlocks, picoseconds }: PredictedShape, measured?: number): ShapeInfo {
  return { depth, points, rows: rows * warps, warps: warps * minBlocks, predicted: picoseconds, measured };
}
