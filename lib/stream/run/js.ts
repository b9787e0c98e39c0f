// Programs as JavaScript, run in this thread.
import { compileFunction } from 'node:vm';
import { WarploomError } from '../../core/errors.ts';
import type { LoweredProgram } from '../lower/program.ts';
import { lowerForWasm, wasmText } from '../targets/wasm.ts';
import { withMarks } from './marks.ts';
import { planProgram, type PlanOptions, type ProgramPlan } from '../plan/plan.ts';
import type { StreamGraph } from '../graph.ts';
import { longestTurn } from '../profile/estimate.ts';
import { defaultJsPlan, mostTurns, Run, type RunOptions, type RunResult } from './js-run.ts';
import { commonData, type Answer, type CommonData, type Part } from './machine.ts';
import { machineText } from './machine-text.ts';
import { outOfMemory } from './streams.ts';

/** A program compiled to JavaScript. Runs follow each other: one object runs one at a time. */
export interface CompiledJs {
  readonly plan: ProgramPlan;
  /** The generated code. */
  readonly source: string;
  /** Runs the program from its start. `input`: scalars of the items on the open input. */
  run(input?: ArrayLike<number>, options?: RunOptions): RunResult;
  /** As `run`; undefined where it takes much more than so many milliseconds: nobody knows how long loops run that end by a condition. */
  tryRun(input: ArrayLike<number> | undefined, options: RunOptions, milliseconds: number): RunResult | undefined;
}

/**
 * Compiles a graph. Throws UnsupportedProgram for programs that only the interpreter runs, ScheduleError where there is no schedule. A
 * run throws StreamRunError where the program goes wrong, ArgumentError for missing input or limits.
 */
export function compileJs(graph: StreamGraph, options: PlanOptions = {}): CompiledJs {
  const plan = planProgram(withMarks(graph), { ...defaultJsPlan, ...options });
  const machine = new JsMachine(plan);
  return {
    plan,
    get source() { return wasmText(machine.program); },
    run: (input, runOptions = {}) => machine.run(input, runOptions)!,
    tryRun: (input, runOptions, milliseconds) => machine.run(input, runOptions, milliseconds),
  };
}

/** Microseconds of an empty turn, and how much quicker than counted operations code that has only just been compiled is at least. */
const shortestTurn = 3e-3;
const slowest = 10;

/** Machines with memory; each takes gigabytes of addresses, of which a process has not many. */
const mostAwake = 8;
const awake = new Set<JsMachine>();

class JsMachine {
  readonly #plan: ProgramPlan;
  program: LoweredProgram;
  #common: CommonData | undefined;
  #machine: ((parts: readonly Part[]) => Answer[]) | undefined;

  constructor(plan: ProgramPlan) {
    this.#plan = plan;
    this.program = lowerForWasm(plan);
  }

  run(input: ArrayLike<number> | undefined, options: RunOptions, milliseconds = Infinity): RunResult | undefined {
    const { maxTurns = mostTurns } = options;
    const turns = Math.min(maxTurns, Math.ceil(1000 * milliseconds / this.#turn()));
    const until = performance.now() + milliseconds;
    const run = new Run(this.#plan, input, { ...options, threads: 1, maxTurns: turns, until }, false);
    const peaks = run.peaks();
    const program = peaks.some((items, channel) => items > this.program.capacities[channel]!)
      ? lowerForWasm(this.#plan, { capacities: peaks, nodes: run.alone() }) : this.program.including(run.alone());
    if (program !== this.program) this.#common = this.#machine = undefined;
    this.program = program;
    const [parts] = run.parts(this.program) as [Part[]];
    const [answer] = this.#awake()(parts) as [Answer];
    if (answer.kind === 'failed') {
      if (answer.isMemory) throw outOfMemory('there is no memory for the streams of this run: give it fewer items at a time', 0);
      throw new WarploomError('ERR_WARPLOOM_INTERNAL', `generated code failed: ${answer.message}`);
    }
    const isCutShort = answer.kind === 'fault' && turns < maxTurns && this.program.sites[answer.site]?.kind === 'steps';
    return answer.kind === 'late' || isCutShort ? undefined : run.result(this.program, [answer]);
  }

  /** Microseconds of a turn of the longest loop that ends by a condition. */
  #turn(): number {
    return Math.max(shortestTurn, longestTurn(this.#plan.graph) / slowest);
  }

  #awake(): (parts: readonly Part[]) => Answer[] {
    awake.delete(this);
    awake.add(this);
    for (const other of awake) {
      if (awake.size <= mostAwake) break;
      other.#machine = undefined;
      awake.delete(other);
    }
    this.#common ??= commonData(this.program, 1, false);
    try {
      return this.#machine ??= (compileFunction(machineText, ['common'], { filename: 'warploom-stream.js' }) as
        (common: CommonData) => (parts: readonly Part[]) => Answer[])(this.#common);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw outOfMemory("there is no memory for the program's channels and state", this.#common.pages * 65536, error);
    }
  }
}
