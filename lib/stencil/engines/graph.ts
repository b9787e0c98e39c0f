// One kernel per stage, several steps of which are recorded as a graph: the host then launches many steps at once.
import type { DeviceArray } from '../../core/device.ts';
import { required } from '../../core/known.ts';
import type { DeviceModule, KernelArgument, ListedLaunch } from '../../core/module.ts';
import { arithmeticHeader } from '../../kernel/print/c-family.ts';
import { countKernel, graphText } from '../compile/cuda.ts';
import { remembered } from '../compile/memo.ts';
import type { StencilProgram } from '../compile/stages.ts';
import { classicThreads, stageBlocks } from './blocks.ts';
import { DeviceEngine, DeviceState, type DeviceParts } from './device.ts';
import { levelsOf, levelsUsed, type Span } from './span.ts';

/** Launches of a graph, and how often it runs in one call. */
const mostNodes = 64, mostTimes = 2 ** 16;

/** As ClassicEngine, but the time and the number of a step come from the device. */
export class GraphEngine extends DeviceEngine {
  readonly variant = 'graph';
  readonly threads = classicThreads;
  readonly depth = 1;
  readonly shapes = [];
  readonly reason: string;
  readonly #made: StencilProgram;
  readonly #counter: DeviceArray;

  private constructor({ made }: DeviceParts, state: DeviceState, module: DeviceModule, counter: DeviceArray, reason: string) {
    super(state, module);
    this.#made = made;
    this.#counter = counter;
    this.reason = reason;
  }

  static async begin(parts: DeviceParts, reason: string): Promise<GraphEngine> {
    const { device, made, content, request: { signal } } = parts;
    const { source, kernels } = remembered(made, ['graph'], () => graphText(made));
    const headers = { 'arithmetic.h': arithmeticHeader() };
    const own: { dispose: () => void }[] = [];
    try {
      const module = await device.module({ source, kernels, headers, ...(signal === undefined ? {} : { signal }) });
      own.push(module);
      const state = await DeviceState.place(device, content, levelsUsed(made.stages));
      own.push(state);
      return new GraphEngine(parts, state, module, await device.array('float64', 2), reason);
    } catch (error) {
      for (const each of own) each.dispose();
      throw error;
    }
  }

  override dispose(): void {
    super.dispose();
    this.#counter.dispose();
  }

  protected override async run(span: Span): Promise<number> {
    await this.#counter.write(Float64Array.of(span.from, 0));
    return super.run(span);
  }

  protected override* rounds(span: Span): ReturnType<DeviceEngine['rounds']> {
    // An even number: the state is then where it was before.
    const steps = 2 * Math.max(1, Math.floor(mostNodes / this.#made.stages.length / 2));
    let left = Math.floor(span.steps / steps);
    if (left > 0) {
      const count = { kernel: countKernel, blocks: 1, threads: 32, arguments: [this.#counter, { i32: steps }] };
      const list = [...this.launches({ ...span, steps }), count];
      for (; left > 0; left -= mostTimes) yield { list, times: Math.min(left, mostTimes) };
    }
    yield { list: [...this.launches({ ...span, steps: span.steps % steps })], times: 1 };
  }

  protected override* launches(span: Span): Generator<ListedLaunch> {
    const { stages, names: { precision } } = this.#made;
    const { state } = this;
    const { cells, shape } = state.grid;
    const real = (x: number): KernelArgument => (precision === 'f32' ? { f32: x } : { f64: x });
    for (let step = 0; step < span.steps; step += 1) {
      for (const [s, each] of levelsOf(stages).entries()) {
        const { time, h, g } = required(stages[s]);
        const { march, ...size } = stageBlocks(this.#made, s, state.grid, state.device);
        yield {
          kernel: `stage_${s}`, ...size, arguments: [
            ...state.stageArrays(stages, each), this.#counter, { i64: cells }, { f64: span.originTime }, { f64: span.unit },
            { f64: time * span.dt }, ...[span.dt, h(span.dt), g(span.dt)].map(real), ...[...shape, step, march].map((n) => ({ i32: n })),
          ],
        };
      }
      if (stages.length === 1) state.swap();
    }
  }
}
