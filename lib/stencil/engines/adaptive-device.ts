// Steps of varying length on a device: it chooses them itself, so that no step waits for the host.
import type { DeviceArray } from '../../core/device.ts';
import { required } from '../../core/known.ts';
import type { KernelArgument, ListedLaunch } from '../../core/module.ts';
import { arithmeticHeader } from '../../kernel/print/c-family.ts';
import { adaptiveText, chooseKernel, limitKernel } from '../compile/cuda.ts';
import { remembered } from '../compile/memo.ts';
import type { StencilProgram } from '../compile/stages.ts';
import type { RealArray } from '../types.ts';
import { clockAt, type StepClock } from './adaptive.ts';
import { classicThreads, stageBlocks } from './blocks.ts';
import { DeviceEngine, DeviceState, type DeviceParts } from './device.ts';
import { levelsOf, levelsUsed, type Outcome, type Span } from './span.ts';

/** Blocks that look for the largest rate. */
const mostBlocks = 1024;
/** Doubles of the clock, as in cuda/stencil/adaptive.cuh. */
const clockNumbers = 16;

/** One kernel per stage, and two that choose the step. */
export class AdaptiveEngine extends DeviceEngine {
  readonly variant = 'classic';
  readonly threads = classicThreads;
  readonly depth = 1;
  readonly shapes = [];
  readonly reason = 'one kernel per stage, because the device chooses every step';
  readonly #made: StencilProgram;
  readonly #clock: DeviceArray;
  readonly #partial: DeviceArray;

  private constructor(
    { made }: DeviceParts, state: DeviceState, module: DeviceEngine['module'], clock: DeviceArray, partial: DeviceArray,
  ) {
    super(state, module);
    this.#made = made;
    this.#clock = clock;
    this.#partial = partial;
  }

  static async start(parts: DeviceParts): Promise<AdaptiveEngine> {
    const { device, made, content, request: { signal } } = parts;
    const { source, kernels } = remembered(made, ['adaptive'], () => adaptiveText(made));
    const module = await device.module({
      source, kernels, headers: { 'arithmetic.h': arithmeticHeader() }, ...(signal === undefined ? {} : { signal }),
    });
    const own: { dispose: () => void }[] = [module];
    try {
      const state = await DeviceState.place(device, content, levelsUsed(made.stages));
      own.push(state);
      const clock = await device.array('float64', clockNumbers);
      own.push(clock);
      return new AdaptiveEngine(parts, state, module, clock, await device.array('float64', mostBlocks));
    } catch (error) {
      for (const each of own) each.dispose();
      throw error;
    }
  }

  override async advance(span: Span): Promise<Outcome> {
    await this.state.keep();
    const [seconds, bad, read] = await this.#taken(span);
    if (bad === undefined) return { ...read, seconds };
    await this.state.restore();
    const [more, , good] = await this.#taken({ ...span, steps: bad });
    return { ...good, seconds: seconds + more };
  }

  override async probe(span: Span): Promise<RealArray> {
    await this.#begin(span);
    return super.probe(span);
  }

  override dispose(): void {
    super.dispose();
    this.#clock.dispose();
    this.#partial.dispose();
  }

  async #begin({ limits }: Span): Promise<void> {
    const { time, until, most } = required(limits);
    await this.#clock.write(Float64Array.of(time, NaN, 0, until, most, 0, 0, 0, time, 0, 0, 0, 0, 0, 0, 0));
  }

  async #taken(span: Span): Promise<[seconds: number, bad: number | undefined, read: { completed: number; clock: StepClock }]> {
    if (span.steps === 0) return [0, undefined, { completed: 0, clock: clockAt(required(span.limits)) }];
    await this.#begin(span);
    const seconds = await this.run(span);
    const bad = await this.state.takeBadStep();
    const [time = NaN, dt = NaN, active = 0, , , steps = 0, rate = 0, stuck = 0, next = NaN] = await this.#clock.read() as Float64Array;
    return [seconds, bad, { completed: steps, clock: { time: active === 0 ? time : next, dt, rate, isStuck: stuck !== 0 } }];
  }

  protected override* launches(span: Span): Generator<ListedLaunch> {
    const { stages, names: { precision } } = this.#made;
    const { state } = this;
    const { cells, members, shape } = state.grid;
    const { h, g } = required(span.limits);
    const real = (x: number): KernelArgument => (precision === 'f32' ? { f32: x } : { f64: x });
    const count = Math.min(mostBlocks, Math.ceil((cells * members) / classicThreads));
    const extents = shape.map((n) => ({ i32: n }));
    const choosing = { threads: classicThreads, sharedBytes: 8 * classicThreads };
    for (let step = 0; step < span.steps; step += 1) {
      yield {
        kernel: limitKernel, blocks: count, ...choosing, arguments: [
          state.array('state'), state.coefficients, state.parameters, this.#clock, this.#partial, { i64: cells }, { i64: cells * members },
          real(h), real(g), ...extents,
        ],
      };
      yield { kernel: chooseKernel, blocks: 1, ...choosing, arguments: [this.#clock, this.#partial, { i32: count }] };
      for (const [s, each] of levelsOf(stages).entries()) {
        const { march, ...size } = stageBlocks(this.#made, s, state.grid, state.device);
        yield {
          kernel: `stage_${s}`, ...size, arguments: [
            ...state.stageArrays(stages, each), this.#clock, { i64: cells }, ...extents, { i32: step }, { i32: march },
          ],
        };
      }
      if (stages.length === 1) state.swap();
    }
  }
}
