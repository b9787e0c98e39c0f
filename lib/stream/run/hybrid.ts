// Programs on CPU cores and a device together (chapter 4): start and rest of a run by the first core, whole iterations in launches.
import { availableParallelism } from 'node:os';
import { holds } from '../../core/arrays.ts';
import { resultArray, type Device, type DeviceArray } from '../../core/device.ts';
import { refusal, WarploomError } from '../../core/errors.ts';
import { elementAt, required } from '../../core/known.ts';
import type { DeviceModule } from '../../core/module.ts';
import { arithmeticHeader } from '../../kernel/print/c-family.ts';
import type { StreamGraph } from '../graph.ts';
import { mostPrinted } from '../interpret/print-order.ts';
import { scalarCount } from '../interpret/values.ts';
import type { LoweredProgram } from '../lower/program.ts';
import type { RuntimeTable } from '../partition/index.ts';
import { hybridLaunches, hybridProgram } from '../plan/hybrid.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { ScheduleError } from '../schedule/error.ts';
import { within } from '../stop.ts';
import { endOf } from '../targets/cuda-layout.ts';
import type { FusedProgram } from '../targets/cuda.ts';
import { lowerForWasm } from '../targets/wasm.ts';
import { whileBusy } from './activity.ts';
import type { Done, Faulty } from './answers.ts';
import type { HybridMode } from './backends.ts';
import { shared, type CommonData, type MachineRun, type SharedInts } from './common.ts';
import { FirstFault, runByCrew } from './crew.ts';
import { compileFused, type FusedCompileOptions } from './fused.ts';
import { CompiledGpu, noFault } from './gpu.ts';
import type { GpuLimits, GpuRunOptions, GpuWork, ScheduleFigures } from './gpu-types.ts';
import { elementTypes, itemsOut, type Ends } from './gpu-ends.ts';
import { Conductor } from './hybrid-conductor.ts';
import { hybridLists } from './hybrid-lists.ts';
import { HybridStreams } from './hybrid-streams.ts';
import { hybridMemory } from './hybrid-memory.ts';
import type { HybridParts } from './hybrid-parts.ts';
import { Choice } from './hybrid-choice.ts';
import { fusedState, type LinkCosts, type PlacedIn } from './hybrid-costs.ts';
import { fits, Ladder, type Variant } from './hybrid-ladder.ts';
import { planFor, type PlannedHybrid, type Rungs } from './hybrid-plan.ts';
import { movingCosts } from './link.ts';
import { textOf } from './marks.ts';
import {
  mostTurns, prepareRun, resultOf, type PreparedRun, type RunResult, type Scalars, type ThreadOptions,
} from './prepare.ts';
import { estimatedMilliseconds } from './threads.ts';
import { compiledWasm, inOrder } from './wasm.ts';
import { launchWords, wayNumbers } from './words.ts';

/** How a program is compiled for cores and a device together. */
export interface HybridCompileOptions extends GpuLimits {
  readonly mode: HybridMode;
  /** Cores; default: all. */
  readonly cores?: number | undefined;
  /** Microseconds of a firing on a core, by node; default: counted. */
  readonly costs?: readonly number[] | undefined;
  /** Times of Algorithm 1; default: counted. */
  readonly profile?: { readonly table: RuntimeTable } | undefined;
  /** Rates of transfers and shuffles; default: measured once per device. */
  readonly link?: Partial<LinkCosts> | undefined;
  /** Threads whose items stand side by side; default 32. */
  readonly width?: 32 | 128 | undefined;
  /** Threads of an instance; default 128. */
  readonly threads?: number | undefined;
  /** Default: one block for each multiprocessor. */
  readonly processors?: number | undefined;
  /** Microseconds that a launch should take at least; default 1000. */
  readonly launchMicroseconds?: number | undefined;
  readonly shuffleItems?: number | undefined;
  readonly maxUnroll?: number | undefined;
  /** For tests: which nodes are on the device, of those that can be. */
  readonly onDevice?: ((node: number) => boolean) | undefined;
  /**
   * With `synergistic`: whether the one kernel of mode `fused` may run the program where that is faster than any plan; default: if there
   * is one, and no `onDevice`.
   */
  readonly fused?: boolean | undefined;
  /** Whether layouts of that kernel are timed where none is kept; default: as in mode `fused`. */
  readonly search?: boolean | undefined;
}

/** The share of a device's memory, and the bytes, that rings may take. */
const ringShare = 1 / 8, ringBytes = 2 ** 30;
const defaultThreads = 128, defaultLaunch = 1000;

/** Plans a graph for a device. Throws as {@link HybridGpu.compileFor} does. */
export async function planHybridFor(graph: StreamGraph, device: Device, options: HybridCompileOptions): Promise<PlannedHybrid> {
  const { mode, costs, profile, link, width = 32, onDevice } = options;
  const { limitBytes } = device.memory();
  const isGiven = link?.toGpu !== undefined && link.toCpu !== undefined && link.shuffle !== undefined && link.deshuffle !== undefined;
  const moving = isGiven ? link as LinkCosts : { ...await movingCosts(device), ...link };
  return planFor(hybridProgram(graph), {
    mode, costs, table: profile?.table, moving, width, onDevice, threads: options.threads ?? defaultThreads,
    cores: options.cores ?? availableParallelism(), multiprocessors: options.processors ?? device.description.multiprocessors,
    mostBytes: limitBytes === 0 ? ringBytes : Math.min(ringBytes, ringShare * limitBytes),
    launchMicroseconds: options.launchMicroseconds ?? defaultLaunch, shuffleItems: options.shuffleItems ?? 1024,
    maxUnroll: options.maxUnroll ?? 64,
  });
}

/** What a run's machines and its conductor made. */
interface Conducted {
  readonly answers: readonly (Done | Faulty)[];
  readonly deviceSeconds: number;
  readonly isFaulty: boolean;
}

/** Milliseconds of one core above which threads run what is on cores alone. */
const worthThreads = 5;
const onCores = 'the plan places all filters on its cores';
const tooShort = (states: number): string => `the run is too short for a plan whose iterations have ${states} steady states`;

/** A program planned for cores and a device, compiled for both. */
export class HybridGpu extends CompiledGpu {
  readonly planned: PlannedHybrid;
  readonly parts: HybridParts;
  readonly #graph: StreamGraph;
  readonly #module: DeviceModule;
  readonly #cores: Pick<ThreadOptions, 'threads' | 'costs'>;
  readonly #ladders = new Map<PlacedIn, Ladder>();
  /** The program as one kernel. */
  readonly #fused: CompiledGpu | undefined;
  /** Which placement runs take. */
  readonly choice: Choice;
  #lowered: LoweredProgram | undefined;

  private constructor(
    graph: StreamGraph, program: FusedProgram, device: Device, module: DeviceModule,
    { planned, parts, fused }: { readonly planned: PlannedHybrid; readonly parts: HybridParts; readonly fused?: CompiledGpu | undefined },
  ) {
    super(graph, program, device, module);
    this.planned = planned;
    this.parts = parts;
    this.#graph = graph;
    this.#module = module;
    this.#fused = fused;
    this.choice = new Choice(fused === undefined ? planned.estimates
      : new Map([['fused', fusedState(planned.program, planned.problem.moving)], ...planned.estimates]));
    this.#cores = { threads: planned.problem.cores, ...(planned.costs === undefined ? {} : { costs: planned.costs }) };
  }

  /**
   * Compiles a graph. Throws UnsupportedProgram for programs with files, messages, dynamic rates or several filters that print, and for
   * those that do not fit; ScheduleError where there is no schedule, UnavailableError where nothing compiles device code.
   */
  static async compileFor(graph: StreamGraph, device: Device, options: HybridCompileOptions): Promise<HybridGpu> {
    const { mode, fast, signal, timeout, search, onDevice, fused: mayBeFused = onDevice === undefined } = options;
    const planned = await planHybridFor(graph, device, options);
    signal?.throwIfAborted();
    const { text, registers } = planned;
    const limits = { ...(fast === undefined ? {} : { fast }), ...(signal === undefined ? {} : { signal }),
      ...(timeout === undefined ? {} : { timeout }) };
    const oneKernel = mode === 'synergistic' && mayBeFused ? fusedIfAny(graph, device, { ...limits, search }) : undefined;
    const [made, other] = await Promise.allSettled([device.module({
      source: text.source, kernels: [text.kernel, text.moveKernel], headers: { 'arithmetic.h': arithmeticHeader() },
      ...(registers === undefined || device.backend !== 'cuda' ? {} : { maxRegisters: registers }), ...limits,
    }), oneKernel]);
    const fused = other.status === 'fulfilled' ? other.value : undefined;
    try {
      if (made.status === 'rejected') throw made.reason;
      if (other.status === 'rejected') throw other.reason;
      return HybridGpu.with(graph, device, made.value, planned, undefined, fused);
    } catch (error) {
      if (made.status === 'fulfilled') made.value.dispose();
      fused?.dispose();
      throw error;
    }
  }

  /** A plan whose text was compiled. `change`: what tests do to its parts. */
  static with(graph: StreamGraph, device: Device, module: DeviceModule, planned: PlannedHybrid,
    change = (parts: HybridParts): HybridParts => parts, fused?: CompiledGpu): HybridGpu {
    const { program: made, plan, text } = planned;
    const lists = hybridLists(made, plan, text);
    const [input, output] = [endOf(made.plan, 'input'), endOf(made.plan, 'output')];
    const parts = change({ program: made, plan, launches: hybridLaunches(made, plan), lists, input, output });
    const { threads, sharedBytes } = lists;
    if (!fits(module, text.kernel, lists)) {
      throw new UnsupportedProgram(`no multiprocessor has the registers and the ${sharedBytes} bytes of shared memory of a block`);
    }
    const program: FusedProgram = {
      plan: made.plan, source: text.source, kernel: text.kernel, threads, sharedBytes, states: plan.steadyStates, warmRounds: 0,
      state: undefined, warmStates: 0, startStates: 0, canFault: true, input, output,
    };
    return new HybridGpu(graph, program, device, module, { planned, parts, fused });
  }

  /** Of the plan for long runs, in the placement that is the best one so far. */
  override get figures(): ScheduleFigures {
    const { planned: { mode, placements, program }, parts: { lists } } = this;
    const placed = this.choice.best, rungs = placements.get(placed);
    if (placed === 'fused') {
      const { states, threads } = required(this.#fused).program;
      return { mode, placed, coarsening: 1, states, threads, stages: 1, channelBytes: 0, instances: program.nodes.length };
    }
    if (rungs === undefined) {
      return { mode, placed, coarsening: 1, states: 1, threads: 0, stages: 1, channelBytes: 0, instances: program.nodes.length };
    }
    const { steadyStates: states, repetitions, firings, depth, deviceBytes, interval, bound } = rungs.plan;
    return {
      mode, placed, coarsening: 1, states, threads: lists.threads, stages: depth, channelBytes: deviceBytes,
      instances: repetitions.reduce((sum, count, id) => sum + count / elementAt(firings, id), 0),
      ...(bound > 0 ? { gap: interval / bound - 1 } : {}),
    };
  }

  /** As one kernel. */
  override get takesBorrowed(): boolean {
    return this.choice.next === 'fused';
  }

  override async run(input: ArrayLike<number> | undefined, options: GpuRunOptions, out?: Scalars): Promise<RunResult & GpuWork> {
    return within(options, async (signal) => {
      const { plan } = this.parts.program;
      const run = prepareRun(plan, input, options);
      const scalars = itemsOut(this.program, run.counts, run.amount.items) * scalarCount(this.program.output.external.type);
      if (out !== undefined && out.length < scalars) throw refusal('out', `at least ${scalars} elements`, String(out.length));
      const how = { ...options, signal };
      const made = await this.#chosen(run, input, how, out) ?? await this.#byWasm(run, input, how);
      if (out === undefined) return made;
      if (made.output.buffer !== out.buffer || made.output.byteOffset !== out.byteOffset) out.set(made.output);
      return { ...made, output: out.subarray(0, made.output.length) };
    });
  }

  /** The whole run by WebAssembly: it is too short, or something goes wrong in it, which is then what a run says. */
  async #byWasm({ counts }: PreparedRun, input: ArrayLike<number> | undefined, options: ThreadOptions): Promise<RunResult & GpuWork> {
    const made = await compiledWasm(this.#graph).runHereOrAside(input, options);
    const { steadyStates } = this.parts.plan;
    const least = this.planned.shorter[0] ?? steadyStates;
    const note = counts.steadyStates < least ? tooShort(least) : 'a loop makes more turns than a device is given time for';
    return { ...made, note };
  }

  /** The plans of a placement. */
  #ladder(name: PlacedIn, rungs: Rungs): Ladder {
    let made = this.#ladders.get(name);
    if (made === undefined) this.#ladders.set(name, made = new Ladder(this.planned, rungs, this.parts, this.device, this.#module));
    return made;
  }

  /** A run where it is best; undefined where no plan is short enough for it, or something went wrong. */
  async #chosen(
    run: PreparedRun, input: ArrayLike<number> | undefined, options: GpuRunOptions & { readonly signal: AbortSignal }, out?: Scalars,
  ): Promise<RunResult & GpuWork | undefined> {
    const { next } = this.choice, { steadyStates } = run.counts;
    const rungs = this.planned.placements.get(next);
    const begin = performance.now();
    if (next === 'fused') {
      const { kinds: [kind, ...others] } = this.program.output;
      const isDirect = kind !== undefined && others.length === 0 && holds(out, elementTypes[kind]);
      const made = await required(this.#fused).run(input, options, isDirect ? out : undefined);
      this.choice.note(next, steadyStates, performance.now() - begin);
      return made;
    }
    if (rungs === undefined) {
      const wasm = compiledWasm(this.#graph), how = { ...options, ...this.#cores };
      const isShort = estimatedMilliseconds(this.parts.program.plan, { ...run, lines: Infinity }, 'wasm') < worthThreads;
      const made = await (isShort ? wasm.runHereOrAside(input, how) : wasm.runAside(input, how));
      this.choice.note(next, steadyStates, performance.now() - begin);
      return { ...made, note: onCores };
    }
    const variant = this.#ladder(next, rungs).variantFor(steadyStates);
    if (variant === undefined) return undefined;
    const made = await this.#together(variant, run, options, out);
    if (made !== undefined) this.choice.note(next, steadyStates, performance.now() - begin);
    return made;
  }

  /** Undefined where something went wrong. */
  async #together(
    variant: Variant, run: PreparedRun, options: ThreadOptions & { readonly signal: AbortSignal }, out?: Scalars,
  ): Promise<RunResult & GpuWork | undefined> {
    const { plan } = this.parts.program;
    const begin = performance.now();
    using streams = new HybridStreams(variant.parts, run, this.device, out);
    const { answers, deviceSeconds, isFaulty } = await this.#conducted(variant, run, streams, options);
    streams.release();
    if (isFaulty || answers.some(({ kind }) => kind === 'fault')) return undefined;
    streams.finish();
    const done = answers.filter((answer) => answer.kind === 'done');
    const printed = textOf(required(this.#lowered).sites, inOrder(done), plan.steady);
    const made = resultOf(plan, run, streams.whole, printed, performance.now() - begin);
    return variant.parts.lists.entries > 0 ? { ...made, deviceSeconds } : { ...made, note: onCores };
  }

  async #conducted(
    { parts, lists }: Variant, run: PreparedRun, streams: HybridStreams,
    options: ThreadOptions & { readonly signal: AbortSignal },
  ): Promise<Conducted> {
    const { device } = this;
    const module = this.#module, arena = this.newArena(parts), { kernel, moveKernel } = this.planned.text;
    const iterations = Math.floor(run.counts.steadyStates / parts.plan.steadyStates);
    // A conductor must not go on where the machines have ended.
    const ended = new AbortController();
    let conductor: Conductor | undefined;
    const conduct = async (common: CommonData): Promise<void> => {
      const signal = AbortSignal.any([options.signal, ended.signal]);
      conductor = new Conductor(parts, { device, module, kernel, moveKernel, lists, arena }, common,
        hybridMemory(parts, common, streams), signal);
      await conductor.run(iterations);
    };
    try {
      const told = this.#machineRun(run, parts, streams, options);
      const answers = await whileBusy(device, () =>
        runByCrew(this.#programFor(run, parts), parts.launches.tasks.length, told, options.signal, conduct));
      return { answers, deviceSeconds: conductor?.deviceSeconds ?? 0, isFaulty: conductor?.fault !== noFault };
    } catch (error) {
      if (error instanceof FirstFault) return { answers: [error.fault], deviceSeconds: 0, isFaulty: true };
      throw error;
    } finally {
      ended.abort();
      arena.dispose();
    }
  }

  /** The device's memory for the rings of a run, which may hold anything. */
  protected newArena({ lists: { words } }: HybridParts): DeviceArray {
    return resultArray(this.device, 'int32', Math.max(1, words));
  }

  /** The program with functions for nodes that fire on their own in a run, and with enough room on each channel. */
  #programFor(
    { counts: { init, tail, peaks } }: PreparedRun, { program: { plan }, launches: { capacities } }: HybridParts,
  ): LoweredProgram {
    const least = capacities.map((items, id) => Math.max(items, elementAt(peaks, id)));
    const nodes = tail.length > 0 ? plan.graph.nodes.map(({ id }) => id) : init.map(({ actor }) => actor);
    const known = this.#lowered;
    const hasRoom = known?.capacities.every((items, channel) => items >= elementAt(least, channel)) === true;
    if (known !== undefined && hasRoom) return this.#lowered = known.including(nodes);
    return this.#lowered = lowerForWasm(plan, { placed: true, nodes, capacities: least });
  }

  /** The data for machines. */
  #machineRun(
    { counts }: PreparedRun, { program: { plan }, launches }: HybridParts, streams: HybridStreams,
    { seed = 1, maxTurns = mostTurns }: ThreadOptions,
  ): MachineRun {
    const { graph, groups, externals, streamArrays } = plan;
    const ix = new Int32Array(2 * (graph.channels.length + externals.length));
    graph.channels.forEach(({ id, initial }) => { ix[2 * id + 1] = initial.length; });
    return {
      way: wayNumbers.launches, words: launchWords(launches, groups.map(({ iterations }) => iterations)), isConducted: true,
      claims: shared('i', launches.tasks.length) as SharedInts, lines: Infinity, mostPrinted, ix, seed, turns: maxTurns, until: Infinity,
      init: counts.init, steadyStates: counts.steadyStates, tail: counts.tail,
      streams: streamArrays.map(({ id, kind }) => required(required(streams.forMachines.get(id))[kind])),
      gaps: streams.gaps,
    };
  }

  /** Data on the device is not for plans whose ends are on the host. */
  override process(_: Ends): Promise<GpuWork> {
    return Promise.reject(refusal('input', "an array in JavaScript's memory, where such plans begin and end", 'a DeviceArray'));
  }

  override dispose(): void {
    super.dispose();
    for (const made of this.#ladders.values()) made.dispose();
    this.#fused?.dispose();
  }
}

/** The program as one kernel; undefined where a device cannot run it so, whatever a plan may do. */
async function fusedIfAny(graph: StreamGraph, device: Device, options: FusedCompileOptions): Promise<CompiledGpu | undefined> {
  try {
    return await compileFused(graph, device, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (error instanceof UnsupportedProgram || error instanceof ScheduleError || error instanceof WarploomError) return undefined;
    throw error;
  }
}
