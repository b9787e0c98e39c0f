// Programs on a device that runs kernels. What preworks leave behind at the start of a run, and what is left over at its end, WebAssembly
// makes; all whole steady states between are the device's, in launches that take a slice of the input each.
import { setMaxListeners } from 'node:events';
import { availableParallelism } from 'node:os';
import { Device, type DeviceArray, inputArray, resultArray } from '../../core/device.ts';
import { elementAt, required } from '../../core/known.ts';
import type { DeviceModule, Kernel } from '../../core/module.ts';
import { arithmeticHeader } from '../../kernel/print/c-family.ts';
import type { StreamGraph } from '../graph.ts';
import { StreamRunError } from '../interpret/error.ts';
import { scalarCount } from '../interpret/values.ts';
import { writtenFirings } from '../plan/counts.ts';
import { startMatters } from '../plan/start.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { smallBlocks, type FusedOptions } from '../targets/cuda-layout.ts';
import type { FusedProgram } from '../targets/cuda.ts';
import { isTrusted } from '../require.ts';
import { within } from '../stop.ts';
import { whileBusy } from './activity.ts';
import type { GpuLimits, GpuOutcome, GpuRunOptions, GpuSpan, GpuWork, ScheduleFigures } from './gpu-types.ts';
import { HostEnds, type Ends, type Outlet } from './gpu-ends.ts';
import { LaunchSizes, noQueue, queueLimits } from './launch-sizes.ts';
import { stopOf, untilAborted } from './gpu-stops.ts';
import { Carry, paddedSpan, stateBefore, type RunState } from './gpu-state.ts';
import { prepareRun, type RunResult, type Scalars, type ThreadOptions } from './prepare.ts';
import { printedProgram } from './printed.ts';
import { Share, type Cores } from './share.ts';
import { nodeTimes } from './threads.ts';
import { compiledWasm, type CompiledWasm } from './wasm.ts';
import { inTurn } from './turns.ts';

/** No steady state went wrong. */
export const noFault = 2 ** 31 - 1;
/** Turns that loops without known end may make in an iteration: more are left to the CPU. */
export const turnsEach = 1e6;
/** Rounds by multiprocessor of the first launches, which are measured. */
const firstRounds = 4;
/** Rounds that a block makes for each one that it makes only to begin. */
const worthWarming = 8;
/** Microseconds of work for which worker threads are asked to take part. */
const leastCoreMicroseconds = 2000;

/** Where a run by WebAssembly ends, if not with its input. */
interface Amount {
  readonly items?: number;
  readonly iterations?: number;
}

export interface GpuCompileOptions extends FusedOptions, GpuLimits {}

/** What a promise came to. */
function outcomeOf<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === 'rejected') throw settled.reason;
  return settled.value;
}

/** A program compiled for a device. */
export class CompiledGpu {
  readonly program: FusedProgram;
  readonly device: Device;
  readonly #module: DeviceModule;
  protected readonly graph: StreamGraph;
  readonly #kernel: Kernel;
  /** Steady states of a launch, as earlier runs have found. */
  #size: number | undefined;
  #countedTime: number | undefined;
  /** The state before the first steady state. */
  #initial: Int32Array | undefined;

  /** @param module what the device's compiler made of the program's text */
  constructor(graph: StreamGraph, program: FusedProgram, device: Device, module: DeviceModule) {
    this.program = program;
    this.device = device;
    this.#module = module;
    this.graph = graph;
    if (!isTrusted(graph)) compiledWasm(graph); // it may change by the first run
    this.#kernel = required(module.kernels.get(program.kernel));
  }

  /**
   * Compiles a graph in the given layout, or the default one, whatever a search has found (`fused.ts` asks that first). Throws
   * UnsupportedProgram for programs that are not for devices, ScheduleError where there is no schedule, UnavailableError where nothing
   * compiles device code.
   * @param program the program in that layout, if the caller has printed it
   */
  static async compileDefault(
    graph: StreamGraph, device: Device, options: GpuCompileOptions = {}, program?: FusedProgram,
  ): Promise<CompiledGpu> {
    const { fast, signal, timeout, isBackground, ...how } = options;
    const limits = { fast, signal, timeout, isBackground };
    const printed = program ?? await printedProgram(graph, how);
    if (printed.input.items === 0 || printed.output.items === 0) {
      throw new UnsupportedProgram('steady states take nothing from the input, or give nothing to the output');
    }
    try {
      return await CompiledGpu.of(graph, printed, device, limits);
    } catch (error) {
      if (!(error instanceof UnsupportedProgram)) throw error;
      // Small blocks fit GPUs with less shared memory.
      return CompiledGpu.of(graph, await printedProgram(graph, { ...how, ...smallBlocks }), device, limits);
    }
  }

  /** Compiles a program as it is printed. Throws UnsupportedProgram if no block of it fits on a multiprocessor. */
  static async of(
    graph: StreamGraph, program: FusedProgram, device: Device, { fast, signal, timeout, isBackground = false }: GpuLimits = {},
  ): Promise<CompiledGpu> {
    signal?.throwIfAborted();
    const options = {
      source: program.source, kernels: program.state?.kernels ?? [program.kernel], headers: { 'arithmetic.h': arithmeticHeader() },
      ...(fast === undefined ? {} : { fast }), ...(signal === undefined ? {} : { signal }), ...(timeout === undefined ? {} : { timeout }),
    };
    const module = await (isBackground ? Device.module(device, options, true) : device.module(options));
    const compiled = new CompiledGpu(graph, program, device, module);
    if (compiled.#resident > 0) return compiled;
    compiled.dispose();
    throw new UnsupportedProgram(`no multiprocessor has the registers and the ${program.sharedBytes} bytes of shared memory of a block`);
  }

  /** Makes what precedes and follows the device's steady states. */
  protected get wasm(): CompiledWasm {
    return compiledWasm(this.graph);
  }

  get kernel(): Kernel {
    return this.#kernel;
  }

  /** What the schedule comes to; undefined where all filters are one kernel. */
  get figures(): ScheduleFigures | undefined {
    return undefined;
  }

  /** Whether the next run can begin while its input is the caller's (borrowed.ts): then all of it is queued before the call returns. */
  get takesBorrowed(): boolean {
    return this.figures === undefined;
  }

  /** Blocks that a multiprocessor holds. */
  get #resident(): number {
    return this.#kernel.residentBlocks(this.program.threads, this.program.sharedBytes);
  }

  /** Steady states before those of a launch that its blocks make again, for what they leave on the channels. */
  get warmStates(): number {
    return this.program.warmStates;
  }

  /** Whether launches hand something on to the next ones. */
  get hasState(): boolean {
    return this.program.state !== undefined;
  }

  /**
   * What the launches of a run hand on, as the one from steady state `from` finds it; at once where that is known. `kept`: so many launches
   * later, what a launch began with may be used for others.
   */
  stateAt(from: number, ends: Pick<Ends, 'part'>, options: ThreadOptions, kept = 1): RunState | Promise<RunState> {
    if (from === 0 && this.#initial !== undefined) return new Carry(this.device, this.#initial, kept);
    return stateBefore(this.program, this.wasm, ends, from, options).then((words) => {
      if (from === 0) this.#initial = words;
      return new Carry(this.device, words, kept);
    });
  }

  /** Steady states of which launches make a whole number, except at the end of a run. */
  get wholeStates(): number {
    return this.program.states * (this.program.state?.stretch ?? 1);
  }

  /** Steady states of the first launches, which are measured. */
  protected get firstStates(): number {
    return firstRounds * this.program.states * this.device.description.multiprocessors;
  }

  /** Runs the program from its start. `input`: scalars of the items on the open input; `out`: where those of the output go. */
  async run(input: ArrayLike<number> | undefined, options: GpuRunOptions, out?: Scalars | Outlet): Promise<RunResult & GpuWork> {
    return within(options, async (signal) => {
      const run = prepareRun(this.program.plan, input, options);
      using ends = new HostEnds(this.program, this.device, run, required(input), ArrayBuffer.isView(out) ? { array: out } : out,
        options.borrowed);
      const [worked, counted] = await Promise.allSettled([
        this.process(ends, { ...options, signal }),
        // While the device works.
        Promise.resolve().then(() => writtenFirings(this.program.plan, run.amount, run.counts)),
      ]);
      const work = outcomeOf(worked), firings = outcomeOf(counted);
      return { output: ends.handOut(), printed: '', files: {}, firings, exhausted: run.counts.exhausted, ...work };
    });
  }

  /** Makes steady states whose items lie on the device. Its calls are queued when it returns. */
  async launch({ input, output, firstInput, firstOutput, states, state, fault: given, signal }: GpuSpan): Promise<GpuOutcome> {
    const { program } = this;
    const rounds = Math.ceil(states / program.states);
    const resident = this.#resident * this.device.description.multiprocessors;
    const each = program.state?.stretch
      ?? Math.max(Math.ceil(rounds / Math.max(1, resident)), Math.min(rounds, worthWarming * program.warmRounds), 1);
    const blocks = Math.ceil(rounds / each);
    // A transfer of a word would wait behind large ones, and the next launch for it.
    const fault = given ?? (program.canFault ? this.#faultWord() : undefined);
    const totals = program.state && resultArray(this.device, 'int32', Math.max(1, blocks * program.state.totalWords));
    using _ = untilAborted(signal, () => {
      if (given === undefined) fault?.dispose();
      totals?.dispose();
    });
    const own = state === undefined || totals === undefined ? [] : [state.carry, state.carried, totals, { i64: state.first }];
    const how = {
      blocks, threads: program.threads, sharedBytes: program.sharedBytes,
      arguments: [
        ...input, ...output, fault ?? required(output[0]), { i64: firstInput }, { i64: firstOutput }, { f64: turnsEach }, { i32: states },
        { i32: each }, { i32: program.warmRounds }, ...own,
      ],
    };
    const kernels = program.state?.kernels ?? [program.kernel];
    const launched = this.#module.launchAll(kernels.map((kernel) => ({ ...how, kernel })), signal === undefined ? {} : { signal });
    const [{ deviceSeconds }, found] = await Promise.all([launched, fault?.read()]);
    const first = found === undefined ? noFault : Number(found[0]);
    return first === noFault ? { deviceSeconds } : { deviceSeconds, fault: first };
  }

  /** Makes a whole run. */
  process(ends: Ends, options: GpuRunOptions): Promise<GpuWork> {
    return whileBusy(this.device, () => this.#process(ends, options));
  }

  async #process(ends: Ends, { share: choice = false, release, ...options }: GpuRunOptions): Promise<GpuWork> {
    const from = this.program.startStates + this.warmStates, to = ends.counts.steadyStates;
    if (to <= from) {
      return this.#byWasm(ends, options, `the run is too short for a device, which begins after steady state ${from}`);
    }
    let began = 0;
    const isStateless = !this.hasState;
    const share = new Share(from, to, choice === false || !isStateless ? undefined : this.#cores(ends, options), isStateless && choice);
    const around = () => Promise.allSettled([
      this.#before(ends, from, options), isStateless ? this.#after(ends, to, options) : Promise.resolve(true),
    ] as const);
    // The device begins first: then all may be queued before the call returns. The start and the end of the run are made meanwhile, unless
    // they may take the event loop for long.
    const [made, meanwhile] = await inTurn(this.device, (isAlone) => {
      began = performance.now();
      const work = [
        isStateless ? this.#middle(ends, share, options.signal, isAlone) : this.#withState(ends, [from, to], options, isAlone),
        this.program.canFault ? Promise.resolve(undefined) : around(),
      ] as const;
      ends.whileBusy?.();
      return Promise.allSettled(work);
    }, options.signal);
    const { deviceSeconds, fault } = outcomeOf(made);
    if (fault !== undefined) {
      await this.#before(ends, from, options);
      await this.#replay(ends, fault, options);
      return this.#byWasm(ends, options, 'a loop makes more turns than a device is given time for');
    }
    const [before, after] = outcomeOf(meanwhile) ?? await around();
    outcomeOf(before);
    if (!outcomeOf(after)) return this.#byWasm(ends, options, 'a prework goes wrong in the middle of the input');
    if (share.isQuiet) release?.();
    const recurrences = this.program.state?.reordered ?? [];
    return {
      milliseconds: performance.now() - began, deviceSeconds, deviceShare: share.deviceShare,
      ...(recurrences.length === 0 ? {} : { recurrences }),
    };
  }

  async #byWasm(ends: Ends, options: ThreadOptions, note: string): Promise<GpuWork> {
    const { output, milliseconds } = await this.wasm.runHereOrAside(await ends.part(0, Infinity), options);
    await ends.put(output, 0);
    return { milliseconds, note };
  }

  /** The items of input, from one to another, of a run that begins at a steady state. */
  #inputOf(state: number, states: number): [begin: number, end: number] {
    const { before, items, external: { first, later } } = this.program.input;
    return [state * items, before + (state + states) * items + first.items + first.beyond + later.beyond];
  }

  /** Runs a part of the input by WebAssembly, from its start to so many items of output or steady states, or to the end of the part. */
  async #part(ends: Ends, [state, states]: readonly [number, number], amount: Amount, options: ThreadOptions): Promise<RunResult> {
    const range = this.#inputOf(state, states);
    const input = ends.partNow?.(...range) ?? await ends.part(...range);
    const { iterations: _, items: __, ...rest } = options;
    return this.wasm.runHereOrAside(input, { ...rest, ...amount });
  }

  /** The start of the run up to a steady state. */
  async #before(ends: Ends, states: number, options: ThreadOptions): Promise<void> {
    const { before, items } = this.program.output;
    if (before + states * items === 0) return;
    const made = await this.#part(ends, [0, states], { items: before + states * items }, options);
    await ends.put(made.output, 0);
  }

  /** What comes out, or goes wrong, behind the last whole steady state. False where only the whole run can tell. */
  async #after(ends: Ends, states: number, options: ThreadOptions): Promise<boolean> {
    const { output: { before, items, external } } = this.program, { counts } = ends;
    const left = ends.items - before - states * items;
    if (left === 0 && !this.#mayFailBehind(ends)) return true;
    const back = this.#back(states);
    const given = back * items + before;
    // Where the input ends, filters fire as far as it goes, even if nothing comes out.
    const amount = !counts.exhausted ? { items: given + left }
      : options.iterations === undefined ? {} : { iterations: options.iterations - states + back };
    try {
      const made = await this.#part(ends, [states - back, Infinity], amount, options);
      if (left > 0) await ends.put(made.output.subarray(given * scalarCount(external.type)), before + states * items);
      return true;
    } catch (error) {
      // Preworks in the middle of the input may go wrong where nothing else does.
      if (back > 0 && error instanceof StreamRunError) return false;
      throw error;
    }
  }

  /** Whether something may go wrong behind the last whole steady state of a run. */
  #mayFailBehind({ counts: { tail } }: Ends): boolean {
    return this.program.canFault && tail.length > 0;
  }

  /** Throws the error of a steady state that went wrong, the first that does. */
  async #replay(ends: Ends, state: number, options: ThreadOptions): Promise<void> {
    const { plan, output: { before, items } } = this.program;
    // Without preworks and state, a run that begins here makes the same.
    if (this.hasState || startMatters(plan) !== -1) return;
    await this.#part(ends, [state, 1], { items: before + items }, { ...options, threads: 1 });
  }

  /** Runs the steady states of a program with state on the device, to the end of the run; missing input of the last one is made up. */
  async #withState(
    ends: Ends, [from, to]: readonly [number, number], options: ThreadOptions, isAlone: boolean,
  ): Promise<GpuOutcome> {
    const { output: { before, items } } = this.program, round = this.wholeStates;
    const found = this.stateAt(from, ends, options);
    const carry = found instanceof Promise ? await found : found; // at once: launches are queued before the call returns
    using _ = untilAborted(options.signal, () => { carry.dispose(); });
    const whole = from + Math.floor((to - from) / round) * round;
    const alone = new Share(from, whole, undefined, false);
    const behind = this.#mayFailBehind(ends) ? to - whole + 1 : 0;
    const left = Math.max(behind, Math.ceil((ends.items - before - whole * items) / items));
    const last = (): Promise<GpuOutcome> => this.#last(ends, [whole, left], carry, options.signal);
    if (whole === from) return left === 0 ? { deviceSeconds: 0 } : await last();
    const middle = this.#middle(ends, alone, options.signal, isAlone, carry);
    // Where all before them are queued, the last ones follow without a pause.
    const early = left > 0 && alone.front === whole ? last() : undefined;
    const [made, ending] = await Promise.allSettled([middle, early]);
    const { deviceSeconds, fault } = outcomeOf(made);
    if (fault !== undefined || left === 0) return outcomeOf(made);
    const end = outcomeOf(ending) ?? await last();
    return { ...end, deviceSeconds: deviceSeconds + end.deviceSeconds };
  }

  /** So many steady states from one on, to the end of the run; their input ends before them. */
  async #last(
    ends: Ends, [state, states]: readonly [number, number], carry: RunState, signal: AbortSignal | undefined,
  ): Promise<GpuOutcome> {
    const last = await paddedSpan(this.program, this.device, ends, state, states);
    using _ = untilAborted(signal, () => { last.dispose(); });
    const launched = this.launch({ ...last.span, state: carry.next(state), signal });
    const [{ deviceSeconds, fault }] = await Promise.all([launched, last.take(signal)]);
    return { deviceSeconds, ...(fault === undefined ? {} : { fault: state + fault }) };
  }

  /** Microseconds of a steady state on a core. Counting operations takes milliseconds. */
  #stateTime(costs: readonly number[] | undefined): number {
    if (costs === undefined && this.#countedTime !== undefined) return this.#countedTime;
    const { plan } = this.program;
    const time = nodeTimes(plan, costs, 'wasm').reduce((sum, each, node) => sum + each * elementAt(plan.steady.repetitions, node), 0);
    if (costs === undefined) this.#countedTime = time;
    return time;
  }

  /** What worker threads do in a shared run. */
  #cores(ends: Ends, { threads = Math.max(1, availableParallelism() - 1), ...options }: ThreadOptions): Cores {
    const { output: { before, items, external } } = this.program;
    const width = scalarCount(external.type);
    const microseconds = this.#stateTime(options.costs) / threads;
    return {
      stateMicroseconds: microseconds, least: Math.ceil(leastCoreMicroseconds / Math.max(microseconds, 1e-3)),
      make: async (state, states, signal) => {
        const { iterations: _, ...rest } = options;
        const back = this.#back(state);
        const input = await ends.part(...this.#inputOf(state - back, back + states));
        const dropped = back * items + before;
        const made = await this.wasm.runAside(input, { ...rest, threads, signal, items: dropped + states * items });
        await ends.put(made.output.subarray(dropped * width), before + state * items);
      },
    };
  }

  /** Steady states before another that a run must make again before it gives the same. */
  #back(state: number): number {
    const { plan, output: { before, items } } = this.program;
    const matters = startMatters(plan) ?? 0;
    return Math.min(state, matters < 0 ? 0 : matters + Math.ceil(before / items));
  }

  /** Steady states by the device, as far as the cores do not make them. */
  async #middle(ends: Ends, share: Share, signal: AbortSignal | undefined, isAlone: boolean, carry?: RunState): Promise<GpuOutcome> {
    const known = ends.stateBytes === 0 ? undefined : this.#size;
    const sizes = new LaunchSizes({
      device: this.device, round: this.wholeStates, stateBytes: ends.stateBytes, states: share.end - share.front,
      known, first: this.firstStates, isRamped: this.figures === undefined,
    });
    const from = share.front;
    const queue = isAlone && known !== undefined && this.figures === undefined ? queueLimits(this.device) : noQueue;
    // Those of launches that are queued at once come before all data, behind which they would wait.
    const isFaulty = this.program.canFault && ends.mayQueue?.(sizes.most, queue) === true;
    const words = Array.from({ length: isFaulty ? Math.min(queue.spans, sizes.launches(share.end - from)) : 0 }, () => this.#faultWord());
    using _ = untilAborted(signal, () => { for (const word of words) word.dispose(); });
    let deviceSeconds = 0, fault = Infinity, launches = 0;
    const failures: unknown[] = [];
    const pending = new Set<Promise<void>>();
    const stop = stopOf(signal);
    const endShare = share.endsWith(signal);
    const goesOn = (): boolean => fault === Infinity && failures.length === 0;
    if (signal !== undefined) setMaxListeners(0, signal); // every call under way listens
    try {
      do {
        while (share.front < share.end && goesOn()) {
          signal?.throwIfAborted();
          const begin = share.front;
          const states = sizes.next(begin - from, share.end - begin);
          const slice = this.#slice(ends, begin, states, signal, carry, words[launches++]).then((done) => {
            deviceSeconds += done.deviceSeconds;
            share.deviceDid(states);
            if (done.fault !== undefined) fault = Math.min(fault, begin + done.fault);
            const found = sizes.took(states, done.deviceSeconds);
            if (ends.stateBytes > 0) this.#size = found ?? this.#size; // short launches, whatever the next input is
          }).catch((error: unknown) => { failures.push(error); }).finally(() => pending.delete(slice));
          pending.add(slice);
          share.front += states;
          const goesOnNow = pending.size < sizes.inFlight || ends.mayQueue?.(sizes.most, queue) === true;
          if (!goesOnNow) await Promise.race([...pending, stop.stopped]);
        }
        await Promise.race([Promise.all(pending), stop.stopped]);
      } while (goesOn() && !await share.settle());
    } finally {
      stop.end();
      endShare();
      share.stop(new Error('the run is over'));
    }
    if (failures.length > 0) throw failures[0];
    return fault === Infinity ? { deviceSeconds } : { deviceSeconds, fault };
  }

  /** A word of the device's memory that says that nothing went wrong, and one that says that nobody asks what did (gpu-fault.ts). */
  #faultWord(): DeviceArray {
    return inputArray(this.device, Int32Array.of(noFault, -1));
  }

  /** One launch, with what it takes there and what it gives back. */
  async #slice(
    ends: Ends, state: number, states: number, signal: AbortSignal | undefined, carry?: RunState, fault?: DeviceArray,
  ): Promise<GpuOutcome> {
    const span = ends.span(state, states);
    using _ = untilAborted(signal, () => { span.dispose(); });
    const { input, output, firstInput, firstOutput } = span;
    const launched = this.launch({ input, output, firstInput, firstOutput, states, state: carry?.next(state), fault, signal });
    const [done] = await Promise.all([launched, span.take(signal)]);
    return done;
  }

  /** Frees the code after the launches that were made. */
  dispose(): void {
    this.#module.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
