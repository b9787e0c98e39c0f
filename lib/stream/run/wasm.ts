// Programs compiled to WebAssembly, run in this thread or on worker threads.
import { availableParallelism } from 'node:os';
import { WarploomError } from '../../core/errors.ts';
import { elementAt, leading, required } from '../../core/known.ts';
import { programText } from '../../kernel/text.ts';
import type { StreamGraph } from '../graph.ts';
import { mostPrinted } from '../interpret/print-order.ts';
import type { LoweredProgram } from '../lower/program.ts';
import { passedBy, type RunCounts } from '../plan/counts.ts';
import { kinds, makeArray } from '../plan/layout.ts';
import { planProgram, type PlanOptions, type ProgramPlan } from '../plan/plan.ts';
import { longestTurn } from '../profile/estimate.ts';
import { within } from '../stop.ts';
import { defaultWasmPlan, lowerForWasm } from '../targets/wasm.ts';
import type { Done, Faulty, Printed } from './answers.ts';
import { commonData, shared, type CommonData, type MachineRun, type SharedInts } from './common.ts';
import { FirstFault, runByCrew } from './crew.ts';
import { faultError } from './fault.ts';
import { Machine } from './machine.ts';
import { textOf, withMarks } from './marks.ts';
import {
  mostTurns, outOfMemory, prepareRun, resultOf, roomFor, type PreparedRun, type RunOptions, type RunResult, type Scalars,
  type StreamArrays, type ThreadOptions,
} from './prepare.ts';
import { alone, estimatedMilliseconds, wayOf, worthThreads, type Way } from './threads.ts';
import { returnShared, sharedCopy } from './shared-copies.ts';
import { wayNumbers } from './words.ts';

/** A program compiled to WebAssembly. */
export interface CompiledWasm {
  readonly plan: ProgramPlan;
  /** The code for one thread. */
  readonly written: Written;
  /** The program in readable form. */
  readonly source: string;
  /** Runs the program from its start in this thread, one run at a time. `input`: scalars of the items on the open input. */
  run(input?: ArrayLike<number>, options?: RunOptions): RunResult;
  /**
   * Runs the program on worker threads: this thread stays free, and the run can be stopped. The input of stateless programs is cut into
   * pieces; other programs run in launches planned by assignToCores. Rejects with ERR_WARPLOOM_SYSTEM_FAILED if a worker dies.
   */
  runAside(input?: ArrayLike<number>, options?: ThreadOptions): Promise<RunResult>;
  /** Runs the program in this thread if that takes at most a tenth of a second, otherwise on worker threads. */
  runHereOrAside(input: ArrayLike<number> | undefined, options: ThreadOptions): Promise<RunResult>;
  /**
   * Runs so many whole steady states from the start, in this thread, and returns what buffers of the program's state then hold.
   * `names`: those of buffers; what the program does not keep is undefined. `input` has the items for these steady states.
   */
  stateAfter(states: number, input: ArrayLike<number>, names: readonly string[], options?: RunOptions): readonly (Scalars | undefined)[];
}

/**
 * Compiles a graph. Throws UnsupportedProgram for programs that only the interpreter runs, ScheduleError if there is no schedule. A run
 * throws StreamRunError if the program faults, ArgumentError for missing input or limits.
 */
export function compileWasm(graph: StreamGraph, options: PlanOptions = {}): CompiledWasm {
  const marked = withMarks(graph);
  const planned = (more: PlanOptions = {}): ProgramPlan => planProgram(marked, { ...defaultWasmPlan, ...options, ...more });
  const whole = new Written(planned(), false);
  const { plan } = whole;
  const here = new Here(whole);
  const byCores = new Map<number, Written>();
  const runAside = (run: PreparedRun, { threads = availableParallelism(), ...rest }: ThreadOptions, began?: number): Promise<RunResult> => {
    const placed = (): ProgramPlan => {
      let written = byCores.get(threads);
      if (written === undefined) byCores.set(threads, written = new Written(planned({ forCores: threads }), true));
      return written.plan;
    };
    const way = wayOf(plan, placed, run, { ...rest, threads }, 'wasm');
    const written = way.kind === 'launches' ? required(byCores.get(threads)) : whole;
    return byWorkers(new Run(run, way, rest, true), written, rest, began);
  };
  return {
    plan, written: whole,
    get source() { return programText(whole.program.program); },
    run: (input, runOptions = {}) => required(here.run(prepareRun(plan, input, runOptions), runOptions)),
    runAside: async (input, runOptions = {}) => runAside(prepareRun(plan, input, runOptions), runOptions),
    stateAfter(states, input, names, runOptions = {}) {
      const run = prepareRun(plan, input, runOptions);
      const { init, initFirings, repetitions } = plan.steady;
      const passed = plan.externals.map((external) =>
        passedBy(external, elementAt(initFirings, external.node) + states * elementAt(repetitions, external.node)));
      return here.stateAfter({ ...run, counts: { ...run.counts, init, steadyStates: states, tail: [], passed } }, names, runOptions);
    },
    async runHereOrAside(input, runOptions) {
      const began = performance.now();
      const run = prepareRun(plan, input, runOptions);
      const isShort = estimatedMilliseconds(plan, run, 'wasm') < worthThreads;
      const made = isShort ? here.run(run, runOptions, Math.min(worthThreads, runOptions.timeout ?? Infinity)) : undefined;
      return made ?? runAside(run, runOptions, began);
    },
  };
}

/** Compiled programs, by graph: when they run again, their code is already optimised. */
const kept = new WeakMap<StreamGraph, CompiledWasm>();

/** A graph as {@link compileWasm} compiles it, once. */
export function compiledWasm(graph: StreamGraph): CompiledWasm {
  let compiled = kept.get(graph);
  if (compiled === undefined) kept.set(graph, compiled = compileWasm(graph));
  return compiled;
}

/** A plan and its code, which is generated again if a run needs longer arrays. */
export class Written {
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

  /** The program with functions for nodes that fire on their own in a run, and with enough room on each channel. */
  for({ parts, capacities }: Pick<Way, 'capacities'> & { readonly parts: readonly Pick<RunCounts, 'init' | 'tail'>[] }): LoweredProgram {
    // If any node fires on its own after the steady states, all nodes get functions: the next run will need others.
    const nodes = parts.some(({ tail }) => tail.length > 0) ? this.plan.graph.nodes.map(({ id }) => id)
      : parts.flatMap(({ init }) => init.map(({ actor }) => actor));
    const hasRoom = this.#program?.capacities.every((items, channel) => items >= elementAt(capacities, channel)) === true;
    return this.#program = hasRoom && this.#program !== undefined ? this.#program.including(nodes)
      : lowerForWasm(this.plan, { placed: this.#isPlaced, capacities, nodes });
  }
}

/** What was printed before the launches, in them (machine by machine), and after them. */
export function inOrder(answers: readonly Done[]): Printed[] {
  const [{ before, behind }] = leading(answers, 1);
  return [...before, ...answers.flatMap(({ printed }) => printed), ...behind];
}

/** Sorts by program order. */
function byOrder({ order: a = [] }: Faulty, { order: b = [] }: Faulty): number {
  const at = a.findIndex((part, i) => part !== b[i]);
  return at < 0 ? 0 : elementAt(a, at) - elementAt(b, at);
}

/** One run, on machines in this thread or in workers: the data they receive, and their answers. */
class Run {
  readonly way: Way;
  readonly #run: PreparedRun;
  readonly #options: RunOptions;
  readonly #isShared: boolean;
  /** By number of the stream. */
  readonly #arrays = new Map<number, StreamArrays>();
  readonly #copies: Scalars[] = [];

  /** @param isShared machines are in workers */
  constructor(run: PreparedRun, way: Way, options: RunOptions, isShared: boolean) {
    this.#run = run;
    this.way = way;
    this.#options = options;
    this.#isShared = isShared;
  }

  #makeStreams(): void {
    for (const [i, { id, type }] of this.way.plan.externals.entries()) {
      const given = this.#run.streams.get(id)?.arrays;
      // The system provides memory to several threads at once.
      const isTouched = this.way.threads === 1;
      const arrays = {
        ...given ?? roomFor(elementAt(this.#run.counts.passed, i), type, this.#isShared ? shared : makeArray, isTouched),
      };
      for (const scalar of this.#isShared ? kinds : []) {
        const array = arrays[scalar];
        if (array === undefined) continue;
        arrays[scalar] = sharedCopy(array);
        if (arrays[scalar] !== array) this.#copies.push(arrays[scalar]);
      }
      this.#arrays.set(id, arrays);
    }
  }

  /** The data for machines. `until`: the time (`performance.now()`) at which a run in this thread is abandoned. */
  forMachines(until = Infinity): MachineRun {
    const { plan, kind, words, tasks } = this.way;
    const { graph, externals } = plan;
    this.#makeStreams();
    const { counts: { init, steadyStates, tail }, streams, stopLines } = this.#run;
    const ix = new Int32Array(2 * (graph.channels.length + externals.length));
    graph.channels.forEach(({ id, initial }) => { ix[2 * id + 1] = initial.length; });
    for (const each of externals) if (each.kind === 'reader') ix[2 * each.id + 1] = required(streams.get(each.id)).items;
    const { seed = 1, maxTurns = mostTurns } = this.#options;
    return {
      way: wayNumbers[kind], words, claims: shared('i', tasks) as SharedInts, lines: stopLines, mostPrinted,
      ix, seed, turns: maxTurns, until, init, steadyStates, tail,
      streams: plan.streamArrays.map((array) => required(required(this.#arrays.get(array.id))[array.kind])),
    };
  }

  /** Gives copies of the input to later runs. No machine may be at work any more. */
  release(): void {
    for (const copy of this.#copies.splice(0)) returnShared(copy);
  }

  /** The result of the run, or its error. `elapsed`: its duration in milliseconds, including the start of machines. */
  result(program: LoweredProgram, answers: readonly (Done | Faulty)[], elapsed = Infinity): RunResult {
    const [first] = answers.filter((each) => each.kind === 'fault').sort(byOrder);
    if (first !== undefined) throw this.faultOf(program, first);
    const { plan } = this.way;
    const done = answers.filter((each) => each.kind === 'done');
    const milliseconds = Math.min(elapsed, Math.max(...done.map((each) => each.milliseconds)));
    return resultOf(plan, this.#run, this.#arrays, textOf(program.sites, inOrder(done), plan.steady), milliseconds);
  }

  faultOf({ sites }: LoweredProgram, { site, value }: Faulty): Error {
    return faultError(this.way.plan.graph, sites[site], value);
  }
}

async function byWorkers(run: Run, written: Written, options: ThreadOptions, began?: number): Promise<RunResult> {
  const program = written.for(run.way);
  const told = run.forMachines();
  const begin = performance.now();
  try {
    const answers = await within(options, (stop) => runByCrew(program, run.way.threads, told, stop), began);
    run.release();
    return run.result(program, answers, performance.now() - begin);
  } catch (error) {
    throw error instanceof FirstFault ? run.faultOf(program, error.fault) : error;
  }
}

/** Microseconds of an empty iteration; and how many times faster than operation counts suggest even newly compiled code is. */
const shortestTurn = 3e-3;
const slowest = 10;

/** Instances that hold memory. Each reserves gigabytes of address space, of which a process has only so much. */
const mostAwake = 8;
const awake = new Set<Here>();

/** Runs a program in this thread. */
class Here {
  readonly #written: Written;
  #turnMicroseconds: number | undefined;
  #made: { readonly program: LoweredProgram; readonly common: CommonData; machine?: Machine } | undefined;

  constructor(written: Written) {
    this.#written = written;
  }

  /** Returns undefined if the run takes much more than `milliseconds`: the duration of loops that end by a condition is unpredictable. */
  run(prepared: PreparedRun, options: RunOptions, milliseconds = Infinity): RunResult | undefined {
    const { maxTurns = mostTurns } = options;
    const turns = Math.min(maxTurns, Math.ceil(1000 * milliseconds / this.#turn()));
    const until = performance.now() + milliseconds;
    const run = new Run(prepared, alone(this.#written.plan, prepared), { ...options, maxTurns: turns }, false);
    const program = this.#written.for(run.way);
    const answer = this.#machine(program).run(run.forMachines(until));
    if (answer.kind === 'failed') {
      if (answer.isMemory) throw outOfMemory('there is no memory for the streams of this run: give it fewer items at a time', 0);
      throw new WarploomError('ERR_WARPLOOM_INTERNAL', `generated code failed: ${answer.message}`);
    }
    const isCutShort = answer.kind === 'fault' && turns < maxTurns && program.sites[answer.site]?.kind === 'steps';
    return answer.kind === 'late' || isCutShort ? undefined : run.result(program, [answer]);
  }

  stateAfter(prepared: PreparedRun, names: readonly string[], options: RunOptions): readonly (Scalars | undefined)[] {
    const run = new Run(prepared, alone(this.#written.plan, prepared), options, false);
    const program = this.#written.for(run.way);
    const machine = this.#machine(program);
    const answer = machine.run(run.forMachines());
    if (answer.kind !== 'done') run.result(program, [answer as Faulty]);
    return names.map((name) => machine.contents(name));
  }

  /** Microseconds per iteration of the longest loop that ends by a condition. */
  #turn(): number {
    return this.#turnMicroseconds ??= Math.max(shortestTurn, longestTurn(this.#written.plan.graph) / slowest);
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
