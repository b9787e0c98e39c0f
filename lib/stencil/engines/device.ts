// Runs programs on a device, as modules that are compiled at run time.
import type { Device, DeviceArray } from '../../core/device.ts';
import { WarploomError } from '../../core/errors.ts';
import { required } from '../../core/known.ts';
import type { DeviceModule, KernelArgument, ListedLaunch } from '../../core/module.ts';
import { arithmeticHeader } from '../../kernel/print/c-family.ts';
import { classicText } from '../compile/cuda.ts';
import { remembered } from '../compile/memo.ts';
import type { StencilProgram, Target } from '../compile/stages.ts';
import type { Request } from '../request.ts';
import type { Equation, RealArray, ShapeInfo } from '../types.ts';
import { stageBlocks } from './blocks.ts';
import { levelsOf, levelsUsed, stageScalars, timeOf, type Content, type Engine, type Grid, type Level, type Outcome,
  type Span, type StageLevels } from './span.ts';

/** What a device engine is made of. */
export interface DeviceParts {
  readonly device: Device;
  readonly equation: Equation;
  readonly made: StencilProgram;
  readonly target: Target;
  readonly content: Content;
  readonly request: Request;
}

/** No step is bad. */
const never = 2 ** 31 - 1;
/** Launches of one call. */
const mostLaunches = 1 << 14;

/** The arrays of a run on a device, which both variants use. */
export class DeviceState {
  readonly device: Device;
  readonly grid: Grid;
  readonly coefficients: DeviceArray;
  readonly parameters: DeviceArray;
  readonly status: DeviceArray;
  readonly #arrays: Map<Level, DeviceArray>;
  readonly #backup: DeviceArray;

  private constructor(device: Device, content: Content, arrays: readonly DeviceArray[], levels: readonly Level[]) {
    this.device = device;
    this.grid = content.grid;
    const [coefficients, parameters, status, backup, ...rest] = arrays;
    this.coefficients = required(coefficients);
    this.parameters = required(parameters);
    this.status = required(status);
    this.#backup = required(backup);
    this.#arrays = new Map(levels.map((level, i) => [level, required(rest[i])]));
  }

  /** Places the numbers of a run on the device. */
  static async place(device: Device, content: Content, levels: readonly Level[]): Promise<DeviceState> {
    const { initial, precision, coefficients, parameters } = content;
    const own = precision === 'f32' ? Float32Array.from(parameters) : parameters;
    const some = (array: RealArray): RealArray => (array.length > 0 ? array : precision === 'f32' ? new Float32Array(1)
      : new Float64Array(1));
    const arrays: DeviceArray[] = [];
    try {
      for (const array of [some(coefficients), some(own), Int32Array.of(never)]) arrays.push(await device.array(array));
      const type = precision === 'f32' ? 'float32' : 'float64';
      arrays.push(await device.array(type, initial.length));
      for (const level of levels) arrays.push(level === 'state' ? await device.array(initial) : await device.array(type, initial.length));
    } catch (error) {
      for (const array of arrays) array.dispose();
      throw error;
    }
    return new DeviceState(device, content, arrays, levels);
  }

  array(level: Level): DeviceArray {
    return required(this.#arrays.get(level));
  }

  /** The arrays that a stage takes, in the order of its parameters. */
  stageArrays(stages: StencilProgram['stages'], { y, out }: StageLevels): readonly DeviceArray[] {
    const sum = stages.some(({ writesSum }) => writesSum) ? 'sum' : 'state';
    return [this.array(y), this.array('state'), this.array(sum), this.array(out), this.coefficients, this.parameters, this.status];
  }

  /** The state and another array change places. */
  swap(): void {
    const [state, first] = [this.array('state'), this.array('first')];
    this.#arrays.set('state', first).set('first', state);
  }

  async keep(): Promise<void> {
    await this.#backup.copyFrom(this.array('state'));
  }

  async restore(): Promise<void> {
    await this.array('state').copyFrom(this.#backup);
  }

  /** The first bad step since the last call, or undefined. */
  async takeBadStep(): Promise<number | undefined> {
    const [found = never] = await this.status.read() as Int32Array;
    if (found === never) return undefined;
    await this.status.write(Int32Array.of(never));
    return found;
  }

  async read(): Promise<RealArray> {
    return await this.array('state').read() as RealArray;
  }

  dispose(): void {
    for (const array of [this.coefficients, this.parameters, this.status, this.#backup, ...this.#arrays.values()]) array.dispose();
  }
}

/** An engine on a device, whatever its kernels are. */
export abstract class DeviceEngine implements Engine {
  readonly backend: 'cuda' | 'simt';
  abstract readonly variant: Engine['variant'];
  abstract readonly reason: string;
  abstract readonly threads: number;
  abstract readonly depth: number;
  abstract readonly shapes: readonly ShapeInfo[];
  protected readonly state: DeviceState;
  protected readonly module: DeviceModule;

  constructor(state: DeviceState, module: DeviceModule) {
    this.state = state;
    this.module = module;
    this.backend = state.device.backend as 'cuda' | 'simt';
  }

  /** The launches of all steps of a span, whose first one counts as number `first`. */
  protected abstract launches(span: Span, first?: number): Generator<ListedLaunch>;

  /** The same as lists, and how often each of them runs. */
  protected* rounds(span: Span): Generator<{ readonly list: readonly ListedLaunch[]; readonly times: number }> {
    let list: ListedLaunch[] = [];
    for (const launch of this.launches(span)) {
      list.push(launch);
      if (list.length < mostLaunches) continue;
      yield { list, times: 1 };
      list = [];
    }
    if (list.length > 0) yield { list, times: 1 };
  }

  /** Takes the steps, good or bad; returns seconds. */
  protected async run(span: Span): Promise<number> {
    let seconds = 0;
    const pending: Promise<{ readonly deviceSeconds: number }>[] = [];
    for (const { list, times } of this.rounds(span)) pending.push(this.module.launchAll(list, { times }));
    for (const { deviceSeconds } of await Promise.all(pending)) seconds += deviceSeconds;
    return seconds;
  }

  async advance(span: Span): Promise<Outcome> {
    await this.state.keep();
    let seconds = await this.run(span);
    const bad = await this.state.takeBadStep();
    if (bad === undefined) return { completed: span.steps, seconds };
    // A pass may know only that one of its steps is bad: steps one by one from its beginning tell which.
    const { depth } = this;
    const before = depth * Math.floor(bad / depth);
    await this.state.restore();
    if (before > 0) seconds += await this.run({ ...span, steps: before });
    await this.state.takeBadStep();
    await this.state.keep();
    const rest = { ...span, from: span.from + before };
    for (let steps = 0; steps < Math.min(depth, span.steps - before); steps += 1) {
      seconds += await this.run({ ...rest, from: rest.from + steps, steps: 1 });
      if (await this.state.takeBadStep() === undefined) continue;
      await this.state.restore();
      for (let i = 0; i < steps; i += 1) seconds += await this.run({ ...rest, from: rest.from + i, steps: 1 });
      return { completed: before + steps, seconds };
    }
    throw new WarploomError('ERR_WARPLOOM_INTERNAL', `a bad step after step ${before} of a span is not bad again`);
  }

  async probe(span: Span): Promise<RealArray> {
    await this.state.keep();
    await this.run({ ...span, steps: 1 });
    await this.state.takeBadStep();
    const made = await this.state.read();
    await this.state.restore();
    return made;
  }

  read(): Promise<RealArray> {
    return this.state.read();
  }

  dispose(): void {
    this.module.dispose();
    this.state.dispose();
  }
}

/** One kernel per stage. */
export class ClassicEngine extends DeviceEngine {
  readonly variant: Engine['variant'] = 'classic';
  readonly threads: number;
  readonly depth: number = 1;
  readonly shapes: readonly ShapeInfo[] = [];
  readonly reason: string;
  readonly #made: StencilProgram;

  constructor(state: DeviceState, module: DeviceModule, made: StencilProgram, reason: string) {
    super(state, module);
    this.#made = made;
    this.reason = reason;
    this.threads = Math.max(...made.stages.map((_, s) => stageBlocks(made, s, state.grid, state.device).threads));
  }

  static async start({ device, made, content, request: { signal } }: DeviceParts, reason: string): Promise<ClassicEngine> {
    const { source, kernels } = remembered(made, ['classic'], () => classicText(made));
    const module = await device.module({
      source, kernels, headers: { 'arithmetic.h': arithmeticHeader() }, ...(signal === undefined ? {} : { signal }),
    });
    try {
      return new ClassicEngine(await DeviceState.place(device, content, levelsUsed(made.stages)), module, made, reason);
    } catch (error) {
      module.dispose();
      throw error;
    }
  }

  protected override* launches(span: Span, first = 0): Generator<ListedLaunch> {
    const { stages, names: { precision } } = this.#made;
    const { cells, shape } = this.state.grid;
    const levels = levelsOf(stages);
    const real = (x: number): KernelArgument => (precision === 'f32' ? { f32: x } : { f64: x });
    const { state } = this;
    for (let step = 0; step < span.steps; step += 1) {
      const t = timeOf(span, step);
      for (const [s, each] of levels.entries()) {
        const stage = required(stages[s]);
        const { march, ...size } = stageBlocks(this.#made, s, state.grid, state.device);
        yield {
          kernel: `stage_${s}`, ...size, arguments: [
            ...state.stageArrays(stages, each), { i64: cells }, ...stageScalars(stage, t, span.dt).map(real),
            ...[...shape, first + step, march].map((n) => ({ i32: n })),
          ],
        };
      }
      if (stages.length === 1) state.swap();
    }
  }
}

