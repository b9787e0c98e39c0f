// Several steps per pass over memory, on a device, in one and two dimensions.
import { required } from '../../core/known.ts';
import type { DeviceModule, KernelArgument, ListedLaunch } from '../../core/module.ts';
import { arithmeticHeader } from '../../kernel/print/c-family.ts';
import type { StencilProgram } from '../compile/stages.ts';
import { streamingKernel, streamingText, streamingThreads, stripOf, type Shape } from '../compile/streaming.ts';
import { ClassicEngine, DeviceState, type DeviceParts } from './device.ts';
import { levelsUsed, timeOf, type Span } from './span.ts';

/** One dimension is a single row. */
const rowsAndColumns = (shape: readonly number[]): readonly [rows: number, columns: number] =>
  [shape.length === 1 ? 1 : required(shape[0]), required(shape.at(-1))];

/** Passes of several steps; the steps that are left over are taken one by one. */
export class StreamingEngine extends ClassicEngine {
  override readonly variant: 'classic' | 'streaming' = 'streaming';
  override readonly threads: number = streamingThreads;
  override readonly depth: number;
  readonly #shape: Shape;
  readonly #program: StencilProgram;

  constructor(parts: DeviceParts, state: DeviceState, module: DeviceModule, shape: Shape, reason: string) {
    super(state, module, parts.made, reason);
    this.#shape = shape;
    this.depth = shape.depth;
    this.#program = parts.made;
  }

  static async begin(parts: DeviceParts, shape: Shape, reason: string): Promise<StreamingEngine> {
    const { device, made, target, content, request: { signal } } = parts;
    const { source, kernels } = streamingText(made, target, shape);
    const module = await device.module({
      source, kernels, headers: { 'arithmetic.h': arithmeticHeader() }, ...(signal === undefined ? {} : { signal }),
    });
    try {
      const levels = [...new Set([...levelsUsed(made.stages), 'first' as const])];
      return new StreamingEngine(parts, await DeviceState.place(device, content, levels), module, shape, reason);
    } catch (error) {
      module.dispose();
      throw error;
    }
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
    const resident = Math.max(1, this.module.kernels.get(streamingKernel)?.residentBlocks(streamingThreads) ?? 1) * Math.max(1,
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
      kernel: streamingKernel, threads: streamingThreads, blocks: Math.ceil((strips * chunks * members * 32) / streamingThreads),
      arguments: [
        state.array('state'), state.array('first'), state.parameters, state.status, real(span.dt), ...times.map(real),
        ...stages.map(({ h }) => real(h(span.dt))), ...stages.map(({ g }) => real(g(span.dt))), ...ints.map((n) => ({ i32: n })),
      ],
    };
  }
}
