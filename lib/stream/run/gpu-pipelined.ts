// Programs on a device by the schedules of chapter 3: launches that fill the pipeline, run it and drain it, each with instances of all
// filters.
import { inputArray, type Device, type DeviceArray } from '../../core/device.ts';
import { elementAt, required } from '../../core/known.ts';
import type { DeviceModule, KernelArgument, ListedLaunch } from '../../core/module.ts';
import { arithmeticHeader } from '../../kernel/print/c-family.ts';
import type { StreamGraph } from '../graph.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { kBlockGroup, kWarpGroup } from '../schedule/layout.ts';
import { endOf } from '../targets/cuda-layout.ts';
import { pipelinePlan, pipelineProgram, planOptions, type PipelinePlan, type PipelineProgram } from '../targets/cuda-pipeline.ts';
import type { FusedProgram } from '../targets/cuda.ts';
import { selectConfiguration, type RuntimeTable } from '../partition/index.ts';
import type { SdfGraph } from '../sdf.ts';
import { trusted } from '../require.ts';
import { shuffleItems, type DeviceSchedule, type InstanceChoice, type PipelineMode } from './gpu-lists.ts';
import { countedChoice, scheduleFor } from './gpu-schedule.ts';
import { CompiledGpu, noFault, turnsEach } from './gpu.ts';
import type { GpuOutcome, GpuSpan, ScheduleFigures } from './gpu-types.ts';
import { untilAborted } from './gpu-stops.ts';
import { openLoops } from './gpu-loops.ts';
import { ArenaState, Arenas, fillArena } from './gpu-arena.ts';
import type { Ends } from './gpu-ends.ts';
import type { RunState } from './gpu-state.ts';
import type { ThreadOptions } from './prepare.ts';
import { compileWasm, type CompiledWasm } from './wasm.ts';
import { LaunchChoice, type LaunchWay } from './launch-choice.ts';

/** How a program is compiled for such a schedule. */
export interface PipelineOptions {
  readonly mode: PipelineMode;
  /**
   * n of SWPn. Default: 1 to 16, so that an interval takes about 400 microseconds by estimate, or less where its buffers do not fit; with
   * `serial` 8.
   */
  readonly coarsening?: number | undefined;
  /** Threads whose items stand side by side: 128 or 32. Default 128. */
  readonly width?: 32 | 128 | undefined;
  /** Most threads of an instance. Default 512. */
  readonly threads?: number | undefined;
  /**
   * `persistent`: one launch makes all steps and blocks wait for each other; `plain`: a launch for each step; `auto`: the faster way.
   * Default `plain`.
   */
  readonly launch?: LaunchWay | 'auto' | undefined;
  /** Times of Algorithm 1, from which Algorithm 2 chooses threads and registers. Default: {@link countedChoice}. */
  readonly profile?: { readonly table: RuntimeTable } | undefined;
  /** What assigns instances to multiprocessors. Default `packing`. */
  readonly scheduler?: 'packing' | 'ilp' | undefined;
  /** Blocks; default: one for each multiprocessor. */
  readonly processors?: number | undefined;
  readonly fast?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeout?: number | undefined;
}

/** Bytes of shared memory in which a block stages windows. */
export const stagedMemory = 98_304;
export const defaultThreads = 512;
/** The share of a device's memory, and the bytes, that channels may take at most. */
const channelShare = 1 / 8, channelBytes = 2 ** 32;
/** Iterations of the first launches, which are measured, beside those that fill the pipeline. */
const firstIterations = 8;

/** Threads whose items stand side by side. */
export function widthOf(layout: 'block' | 'warp'): 32 | 128 {
  return layout === 'warp' ? kWarpGroup : kBlockGroup;
}

/** The text of a program for a mode. */
export function programFor(
  planned: PipelinePlan, { mode, width = kBlockGroup, threads = defaultThreads }: Pick<PipelineOptions, 'mode' | 'width' | 'threads'>,
): PipelineProgram {
  return pipelineProgram(planned, {
    width: mode === 'swpnc' ? 1 : width, threads, stagedBytes: stagedMemory, gaps: mode !== 'swpnc',
  });
}

/** Algorithm 2. An instance of the open ends moves 1024 items, whatever was measured. */
function chosen(graph: SdfGraph, table: RuntimeTable): InstanceChoice & { readonly registers: number } {
  const { threads, delays, registers } = selectConfiguration(graph, table);
  const ends = graph.actors.length - 2;
  const slow = graph.actors.find(({ id }) => elementAt(delays, id) === Infinity);
  if (slow !== undefined) throw new UnsupportedProgram(`no block of the device can run ${slow.name}`);
  return {
    threads: threads.map((count, actor) => (actor < ends ? count : shuffleItems)), registers: Math.max(...registers),
    delays: delays.map((delay, actor) => (actor < ends ? delay : delay / elementAt(threads, actor) * shuffleItems)),
  };
}

/** The text of a program with what its schedules need: threads and times of instances, and a limit on registers if one was chosen. */
export function textFor(graph: StreamGraph, options: PipelineOptions): {
  readonly text: PipelineProgram; readonly choice: InstanceChoice; readonly registers: number | undefined;
} {
  const contracted = pipelinePlan(graph);
  const planned = opened(graph, contracted, options);
  if (options.profile === undefined) {
    const { threads = defaultThreads } = options;
    const text = programFor(planned, options);
    return { text, choice: countedChoice(text, threads, stagedMemory), registers: undefined };
  }
  const choice = chosen(trusted(planned.graph), options.profile.table);
  const text = programFor(planned, { ...options, threads: Math.max(...choice.threads.slice(0, -2)) });
  return { text, choice, registers: choice.registers };
}

/**
 * A plan in which loops that hold enough items are not contracted. Where n of SWPn is given, they might hold too few for it, and measured
 * times are those of contracted loops.
 */
function opened(graph: StreamGraph, plan: PipelinePlan, { mode, coarsening, profile, threads = defaultThreads }: PipelineOptions,
): PipelinePlan {
  if (plan.actors.inner.length === 0 || mode === 'serial' || (coarsening ?? 1) > 1 || profile !== undefined) return plan;
  const open = openLoops(plan, threads);
  return open.size === 0 ? plan : pipelinePlan(graph, open);
}

/** Whether a program's schedules have firings that must follow each other; false where there are no schedules. */
export function isInOrder(graph: StreamGraph): boolean {
  try {
    return pipelinePlan(graph).isContinued;
  } catch (error) {
    if (error instanceof UnsupportedProgram) return false;
    throw error;
  }
}

/** A program under a schedule of chapter 3, compiled for a device. */
export class PipelinedGpu extends CompiledGpu {
  readonly schedule: DeviceSchedule;
  readonly mode: PipelineMode;
  readonly #kernels: DeviceModule;
  readonly #way: LaunchChoice;
  /** The rings of all channels, and state; where launches hand them on, those of one run at a time. */
  readonly arena: DeviceArray;
  readonly #arenas: Arenas;
  readonly #isContinued: boolean;
  readonly #lists: DeviceArray;
  #start: CompiledWasm | undefined;

  private constructor(graph: StreamGraph, program: FusedProgram, device: Device, module: DeviceModule, schedule: DeviceSchedule,
    { arena, lists, isContinued }: { readonly arena: DeviceArray; readonly lists: DeviceArray; readonly isContinued: boolean },
    { mode, launch = 'plain' }: PipelineOptions) {
    super(graph, program, device, module);
    this.schedule = schedule;
    this.mode = mode;
    this.#kernels = module;
    this.#way = new LaunchChoice(launch);
    this.arena = arena;
    this.#arenas = new Arenas(arena, () => device.array('int32', arena.length));
    this.#isContinued = isContinued;
    this.#lists = lists;
  }

  /**
   * Compiles a graph for a device. Throws UnsupportedProgram for programs that do not fit, ScheduleError where there is no schedule,
   * UnavailableError where nothing compiles device code.
   */
  static async compileFor(graph: StreamGraph, device: Device, options: PipelineOptions): Promise<PipelinedGpu> {
    const { fast, signal, timeout } = options;
    const { text, choice, registers } = textFor(graph, options);
    signal?.throwIfAborted();
    const module = await device.module({
      source: text.source, kernels: [text.kernel], headers: { 'arithmetic.h': arithmeticHeader() },
      ...(registers === undefined || device.backend !== 'cuda' ? {} : { maxRegisters: registers }),
      ...(fast === undefined ? {} : { fast }), ...(signal === undefined ? {} : { signal }), ...(timeout === undefined ? {} : { timeout }),
    });
    try {
      return await PipelinedGpu.with(graph, text, device, module, choice, options);
    } catch (error) {
      module.dispose();
      throw error;
    }
  }

  /** Schedules a program whose text was compiled. `change`: what tests do to a schedule. */
  static async with(graph: StreamGraph, text: PipelineProgram, device: Device, module: DeviceModule, choice: InstanceChoice,
    options: PipelineOptions, change = (schedule: DeviceSchedule): DeviceSchedule => schedule): Promise<PipelinedGpu> {
    const { limitBytes } = device.memory();
    const schedule = change(await scheduleFor(text, choice, {
      mode: options.mode, coarsening: options.coarsening === undefined ? undefined : [options.coarsening],
      isMeasured: options.profile !== undefined,
      scheduler: options.scheduler, signal: options.signal, processors: options.processors ?? device.description.multiprocessors,
      mostBytes: limitBytes === 0 ? channelBytes : Math.min(channelBytes, channelShare * limitBytes),
    }));
    const program = runnable(text, schedule);
    if (required(module.kernels.get(text.kernel)).residentBlocks(program.threads, program.sharedBytes) === 0) {
      throw new UnsupportedProgram(`no multiprocessor has the registers and the ${program.sharedBytes} bytes of shared memory of a block`);
    }
    const arena = await device.array('int32', schedule.arenaBytes / 4);
    try {
      const memory = { arena, lists: await device.array(schedule.lists), isContinued: text.isContinued };
      return new PipelinedGpu(graph, program, device, module, schedule, memory, options);
    } catch (error) {
      arena.dispose();
      throw error;
    }
  }

  override get figures(): ScheduleFigures {
    const { coarsening, states, instances, threads, stages, arenaBytes, gap } = this.schedule;
    const launch = this.#way.chosen;
    const made = {
      mode: this.mode, coarsening, states, instances, threads, stages, channelBytes: arenaBytes,
      ...(launch === undefined ? {} : { launch }),
    };
    return gap === undefined ? made : { ...made, gap };
  }

  override get hasState(): boolean {
    return this.#isContinued;
  }

  override async stateAt(_: number, ends: Pick<Ends, 'part'>, options: ThreadOptions): Promise<RunState> {
    // As planned here, without savings: its channels and fields are those of the schedule.
    this.#start ??= compileWasm(this.graph, planOptions);
    const arena = await this.#arenas.take();
    const state = new ArenaState(arena, (each) => { this.#arenas.giveBack(each); }, options.signal);
    try {
      await fillArena(arena, this.schedule, this.program, this.#start, ends, options);
      return state;
    } catch (error) {
      state.dispose();
      throw error;
    }
  }

  protected override get firstStates(): number {
    return (firstIterations + this.schedule.stages) * this.schedule.states;
  }

  override async launch({ input, output, firstInput, firstOutput, states, state, signal }: GpuSpan): Promise<GpuOutcome> {
    const { steps, stages, states: each, blocks, threads, sharedBytes, listWords, stagedBytes } = this.schedule;
    const { kernel, warmStates } = this.program;
    const iterations = Math.ceil((warmStates + states) / each);
    const all = (iterations + stages - 1) * steps;
    const before = state === undefined ? 0 : state.first / each;
    const way = this.#way.next(all);
    const fault = inputArray(this.device, Int32Array.of(noFault));
    const barrier = inputArray(this.device, new Int32Array(1));
    using _ = untilAborted(signal, () => {
      fault.dispose();
      barrier.dispose();
    });
    const common: readonly KernelArgument[] = [
      ...input, ...output, fault, state === undefined ? this.arena : state.carry, this.#lists, barrier, { i64: firstInput },
      { i64: firstOutput }, { f64: turnsEach },
      { i32: states }, { i32: warmStates }, { i32: each }, { i32: iterations }, { i32: steps }, { i32: listWords },
      { i32: stagedBytes },
    ];
    const launch = (first: number, last: number): ListedLaunch => ({
      kernel, blocks, threads, sharedBytes, arguments: [...common, { i32: first }, { i32: last }, { i32: before }],
      ...(way === 'persistent' ? { cooperative: true } : {}),
    });
    const launches = way === 'persistent' ? [launch(0, all)] : Array.from({ length: all }, (__, step) => launch(step, step + 1));
    // Some are on their way while others are written down; all are queued before anything else can be.
    const made = [];
    for (let at = 0; at < launches.length; at += launchesAtOnce) {
      made.push(this.#kernels.launchAll(launches.slice(at, at + launchesAtOnce), signal === undefined ? {} : { signal }));
    }
    const [found, ...times] = await Promise.all([fault.read(), ...made]).catch((error: unknown) => {
      this.#way.failed();
      throw error;
    });
    const deviceSeconds = times.reduce((sum, each_) => sum + each_.deviceSeconds, 0);
    const first = Number(found[0]);
    this.#way.took(way, deviceSeconds, all);
    return first === noFault ? { deviceSeconds } : { deviceSeconds, fault: first };
  }

  override dispose(): void {
    super.dispose();
    this.#arenas.dispose();
    this.#lists.dispose();
  }
}

const launchesAtOnce = 1024;

/** What runs on a device need to know of it. */
function runnable({ plan, source, kernel, settledStates, startStates }: PipelineProgram, schedule: DeviceSchedule): FusedProgram {
  return {
    plan, source, kernel, threads: schedule.threads, sharedBytes: schedule.sharedBytes, states: schedule.states, warmRounds: 0,
    state: undefined, warmStates: settledStates, startStates, canFault: true, input: endOf(plan, 'input'), output: endOf(plan, 'output'),
  };
}
