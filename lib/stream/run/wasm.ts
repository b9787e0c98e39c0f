// Programs compiled to WebAssembly, run in this thread or on worker threads.
import { WarploomError } from '../../core/errors.ts';
import type { LoweredProgram } from '../lower/program.ts';
import { lowerForWasm, wasmText } from '../targets/wasm.ts';
import type { LaunchPlan } from '../plan/launches.ts';
import { planProgram, type PlanOptions, type ProgramPlan } from '../plan/plan.ts';
import type { StreamGraph } from '../graph.ts';
import { longestTurn } from '../profile/estimate.ts';
import { within } from '../stop.ts';
import { commonData, type CommonData } from './common.ts';
import { FirstFault, runByCrew } from './crew.ts';
import { launchesFor } from './launch.ts';
import { Machine } from './machine.ts';
import { withMarks } from './marks.ts';
import { defaultWasmPlan, mostTurns, type RunOptions, type RunResult } from './prepare.ts';
import { outOfMemory } from './streams.ts';
import { Run, type WasmRunOptions } from './wasm-run.ts';

/** A program compiled to WebAssembly. */
export interface CompiledWasm {
  readonly plan: ProgramPlan;
  /** The program to be read. */
  readonly source: string;
  /** Runs the program from its start in this thread, one run at a time. `input`: scalars of the items on the open input. */
  run(input?: ArrayLike<number>, options?: RunOptions): RunResult;
  /** As `run`; undefined where it takes much more than so many milliseconds: nobody knows how long loops run that end by a condition. */
  tryRun(input: ArrayLike<number> | undefined, options: RunOptions, milliseconds: number): RunResult | undefined;
  /**
   * Runs the program on worker threads: this one stays free, and the run can be stopped. The input of programs without state is cut into
   * pieces; others run in launches by assignToCores. A worker that dies rejects with ERR_WARPLOOM_SYSTEM_FAILED.
   */
  runAside(input?: ArrayLike<number>, options?: WasmRunOptions): Promise<RunResult>;
}

/**
 * Compiles a graph. Throws UnsupportedProgram for programs that only the interpreter runs, ScheduleError where there is no schedule. A
 * run throws StreamRunError where the program goes wrong, ArgumentError for missing input or limits.
 */
export function compileWasm(graph: StreamGraph, options: PlanOptions = {}): CompiledWasm {
  const marked = withMarks(graph);
  const planned = (more: PlanOptions = {}): ProgramPlan => planProgram(marked, { ...defaultWasmPlan, ...options, ...more });
  const whole = new Written(planned(), false);
  const here = new Here(whole);
  const byCores = new Map<number, Written>();
  return {
    plan: whole.plan,
    get source() { return wasmText(whole.program); },
    run: (input, runOptions = {}) => here.run(input, runOptions)!,
    tryRun: (input, runOptions, milliseconds) => here.run(input, runOptions, milliseconds),
    runAside(input, runOptions = {}) {
      const run = new Run(whole.plan, input, runOptions, true);
      const { threads } = run;
      if (run.pieces.length > 1 || threads === 1) return byWorkers(run, whole, runOptions);
      let placed = byCores.get(threads);
      if (placed === undefined) byCores.set(threads, placed = new Written(planned({ forCores: threads }), true));
      const launches = launchesFor(placed.plan, run.counts, { ...runOptions, threads }, 'wasm');
      return launches === undefined ? byWorkers(run, whole, runOptions) : byWorkers(run, placed, runOptions, launches);
    },
  };
}

/** A plan and its code, written again where a run needs longer arrays. */
class Written {
  readonly plan: ProgramPlan;
  readonly #isPlaced: boolean;
  #program: LoweredProgram | undefined;

  constructor(plan: ProgramPlan, isPlaced: boolean) {
    this.plan = plan;
    this.#isPlaced = isPlaced;
  }

  get program(): LoweredProgram {
    return this.#program ??= lowerForWasm(this.plan, { placed: this.#isPlaced });
  }

  /** The program with functions for nodes that fire alone in a run, and room for so many items on each channel. */
  for(run: Run, capacities: readonly number[] = run.peaks()): LoweredProgram {
    const nodes = run.alone();
    const hasRoom = this.#program?.capacities.every((items, channel) => items >= capacities[channel]!) === true;
    return this.#program = hasRoom ? this.program.including(nodes)
      : lowerForWasm(this.plan, { placed: this.#isPlaced, capacities, nodes });
  }
}

async function byWorkers(run: Run, written: Written, options: WasmRunOptions, launches?: LaunchPlan): Promise<RunResult> {
  const peaks = run.peaks();
  const program = written.for(run, launches?.capacities.map((items, channel) => Math.max(items, peaks[channel]!)));
  const told = run.forMachines(program, launches);
  const begin = performance.now();
  try {
    const answers = await within(options,
      (stop) => runByCrew(program, launches?.orders.length ?? run.machines, told, stop), options.began);
    return run.result(program, answers, performance.now() - begin);
  } catch (error) {
    throw error instanceof FirstFault ? run.faultOf(program, error.fault) : error;
  }
}

/** Microseconds of an empty turn, and how much quicker than counted operations code that has only just been compiled is at least. */
const shortestTurn = 3e-3;
const slowest = 10;

/** Those whose machines have memory; each takes gigabytes of addresses, of which a process has not many. */
const mostAwake = 8;
const awake = new Set<Here>();

/** Runs a program in this thread. */
class Here {
  readonly #written: Written;
  #made: { readonly program: LoweredProgram; readonly common: CommonData; machine?: Machine } | undefined;

  constructor(written: Written) {
    this.#written = written;
  }

  run(input: ArrayLike<number> | undefined, options: RunOptions, milliseconds = Infinity): RunResult | undefined {
    const { maxTurns = mostTurns } = options;
    const turns = Math.min(maxTurns, Math.ceil(1000 * milliseconds / this.#turn()));
    const until = performance.now() + milliseconds;
    const run = new Run(this.#written.plan, input, { ...options, threads: 1, maxTurns: turns, until }, false);
    const program = this.#written.for(run);
    const answer = this.#machine(program).run(run.forMachines(program));
    if (answer.kind === 'failed') {
      if (answer.isMemory) throw outOfMemory('there is no memory for the streams of this run: give it fewer items at a time', 0);
      throw new WarploomError('ERR_WARPLOOM_INTERNAL', `generated code failed: ${answer.message}`);
    }
    const isCutShort = answer.kind === 'fault' && turns < maxTurns && program.sites[answer.site]?.kind === 'steps';
    return answer.kind === 'late' || isCutShort ? undefined : run.result(program, [answer]);
  }

  /** Microseconds of a turn of the longest loop that ends by a condition. */
  #turn(): number {
    return Math.max(shortestTurn, longestTurn(this.#written.plan.graph) / slowest);
  }

  #machine(program: LoweredProgram): Machine {
    awake.delete(this);
    awake.add(this);
    for (const other of awake) {
      if (awake.size <= mostAwake) break;
      if (other.#made !== undefined) delete other.#made.machine;
      awake.delete(other);
    }
    if (this.#made?.program !== program) this.#made = { program, common: commonData(program, 1, false) };
    try {
      return this.#made.machine ??= new Machine(this.#made.common, 0);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw outOfMemory("there is no memory for the program's channels and state", this.#made.common.pages * 65536, error);
    }
  }
}
