// Several steps per pass over memory, on a device, in one and two dimensions.
import { elementAt, required } from '../../core/known.ts';
import type { DeviceModule, KernelArgument, ListedLaunch } from '../../core/module.ts';
import { arithmeticHeader } from '../../kernel/print/c-family.ts';
import type { StencilProgram } from '../compile/stages.ts';
import { streamingBytes, streamingKernel, streamingText, streamingThreads, stripOf, type Shape } from '../compile/streaming.ts';
import type { ShapeInfo } from '../types.ts';
import type { PredictedShape } from './shapes.ts';
import { ClassicEngine, DeviceState, type DeviceParts } from './device.ts';
import { levelsUsed, timeOf, type Span } from './span.ts';

/** One dimension is a single row. */
const rowsAndColumns = (shape: readonly number[]): readonly [rows: number, columns: number] =>
  [shape.length === 1 ? 1 : required(shape[0]), required(shape.at(-1))];

/** Shapes that the tuner measures. */
const mostTuned = 8;

interface Candidate {
  readonly shape: PredictedShape;
  readonly module: DeviceModule;
}

/** Passes of several steps; the steps that are left over are taken one by one. */
export class StreamingEngine extends ClassicEngine {
  override readonly variant: 'classic' | 'streaming' = 'streaming';
  override readonly threads: number = streamingThreads;
  override readonly depth: number;
  override readonly shapes: readonly ShapeInfo[];
  readonly #shape: Shape;
  readonly #program: StencilProgram;

  constructor(parts: DeviceParts, state: DeviceState, { shape, module }: Candidate, shapes: readonly ShapeInfo[]) {
    super(state, module, parts.made, `${shape.depth} steps per pass, ${shape.points} cells per lane`);
    this.#shape = shape;
    this.depth = shape.depth;
    this.shapes = shapes;
    this.#program = parts.made;
  }

  /** Begins with the first of the shapes, or with the fastest of the first few where the run is to be tuned. */
  static async begin(parts: DeviceParts, shapes: readonly PredictedShape[]): Promise<StreamingEngine> {
    const { device, made, target, content, request: { signal, tune } } = parts;
    const candidates = await Promise.all(shapes.slice(0, tune ? mostTuned : 1).map(async (shape): Promise<Candidate> => {
      const { source, kernels } = streamingText(made, target, shape);
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

  /** Strips of columns, chunks of rows: enough for all multiprocessors, with few rows computed twice. */
  #cut(): { readonly strips: number; readonly chunks: number; readonly rows: number } {
    const { shape, members } = this.state.grid;
    const [n0, n1] = rowsAndColumns(shape);
    const { own } = stripOf(this.#program, this.#shape);
    const strips = Math.ceil(n1 / own);
    const margin = this.#shape.depth * this.#program.stages.length * (shape.length === 1 ? 0 : required(this.#program.reach[0]));
    const { multiprocessors } = this.state.device.description;
    const warps = streamingThreads / 32;
    const resident = Math.max(1, this.module.kernels.get(streamingKernel)?.residentBlocks(streamingThreads, streamingBytes(this.#program, this.#shape)) ?? 1) * Math.max(1,
      multiprocessors) * warps;
    // Whole waves of warps; a chunk that is much shorter than its margins costs more than idle warps do.
    const least = Math.max(1, Math.min(n0, 4 * margin));
    const most = Math.max(1, Math.floor(n0 / least));
    let best = { chunks: 1, cost: Infinity };
    for (let chunks = 1; chunks <= Math.min(most, 4096); chunks += 1) {
      const rows = Math.ceil(n0 / chunks);
      const waves = Math.ceil((strips * members * Math.ceil(n0 / rows)) / resident);
      const cost = waves * (rows + 2 * margin);
      if (cost < best.cost) best = { chunks, cost };
    }
    const rows = Math.ceil(n0 / best.chunks);
    return { strips, chunks: Math.ceil(n0 / rows), rows };
  }

  #pass(span: Span, first: number): ListedLaunch {
    const { stages, names: { precision } } = this.#program;
    const { state } = this;
    const { shape, members } = state.grid;
    const { strips, chunks, rows } = this.#cut();
    const real = (x: number): KernelArgument => (precision === 'f32' ? { f32: x } : { f64: x });
    const times = Array.from({ length: this.#shape.depth }, (_, i) => {
      const t = timeOf(span, first + i);
      return stages.map(({ time }) => t + time * span.dt);
    }).flat();
    const ints = [...rowsAndColumns(shape), members, strips, chunks, rows, first];
    return {
      kernel: streamingKernel, threads: streamingThreads, sharedBytes: streamingBytes(this.#program, this.#shape),
      blocks: Math.ceil((strips * chunks * members * 32) / streamingThreads),
      arguments: [
        state.array('state'), state.array('first'), state.parameters, state.status, real(span.dt), ...times.map(real),
        ...stages.map(({ h }) => real(h(span.dt))), ...stages.map(({ g }) => real(g(span.dt))), ...ints.map((n) => ({ i32: n })),
      ],
    };
  }
}

function infoOf({ depth, points, minBlocks, picoseconds }: PredictedShape, measured?: number): ShapeInfo {
  return { depth, points, warps: minBlocks, predicted: picoseconds, measured };
}
