// Programs as JavaScript on worker threads: the main thread stays free, runs can be stopped, stateless programs use several cores.
import type { LoweredProgram } from '../lower/program.ts';
import { lowerForWasm, wasmText } from '../targets/wasm.ts';
import { withMarks } from './marks.ts';
import { planProgram, type PlanOptions, type ProgramPlan } from '../plan/plan.ts';
import type { StreamGraph } from '../graph.ts';
import { within } from '../stop.ts';
import { Crews, FirstFault } from './crew.ts';
import { defaultJsPlan, Run, type RunResult, type ThreadOptions } from './js-run.ts';
import { launchesFor, type Launches } from './launch.ts';

/** A program compiled to JavaScript that runs on worker threads. */
export interface ThreadedJs {
  readonly plan: ProgramPlan;
  readonly source: string;
  run(input?: ArrayLike<number>, options?: ThreadOptions): Promise<RunResult>;
}

/** A plan and its code, written again where a run needs longer arrays. */
class Written {
  readonly plan: ProgramPlan;
  readonly #isPlaced: boolean;
  readonly crews = new Crews();
  #program: LoweredProgram | undefined;

  constructor(plan: ProgramPlan, isPlaced: boolean) {
    this.plan = plan;
    this.#isPlaced = isPlaced;
  }

  get program(): LoweredProgram {
    return this.#program ??= lowerForWasm(this.plan, { placed: this.#isPlaced });
  }

  /** The program with room for so many items on each channel, and functions for nodes that fire alone in a run. */
  for(run: Run, needed: readonly number[]): this {
    const nodes = run.alone();
    const hasRoom = this.#program?.capacities.every((items, channel) => items >= needed[channel]!) === true;
    this.#program = hasRoom ? this.program.including(nodes)
      : lowerForWasm(this.plan, { placed: this.#isPlaced, capacities: needed, nodes });
    return this;
  }
}

/**
 * Compiles a graph for {@link ThreadedJs}. Errors as for compileJs. The input of programs without state is cut into pieces; others run in
 * launches by assignToCores. A worker that dies rejects with ERR_WARPLOOM_SYSTEM_FAILED.
 */
export function compileJsThreads(graph: StreamGraph, options: PlanOptions = {}): ThreadedJs {
  const alone = new Written(planProgram(withMarks(graph), { ...defaultJsPlan, ...options }), false);
  const byCores = new Map<number, Written>();
  return {
    plan: alone.plan,
    get source() { return wasmText(alone.program); },
    run(input, runOptions = {}) {
      const run = new Run(alone.plan, input, runOptions, true);
      if (run.pieces.length > 1 || run.threads === 1) return byWorkers(run, alone.for(run, run.peaks()), runOptions);
      let shared = byCores.get(run.threads);
      if (shared === undefined) {
        shared = new Written(planProgram(withMarks(graph), { ...defaultJsPlan, ...options, forCores: run.threads }), true);
        byCores.set(run.threads, shared);
      }
      const launches = launchesFor(shared.plan, run.counts, { ...runOptions, threads: run.threads }, 'wasm');
      if (launches === undefined) return byWorkers(run, alone.for(run, run.peaks()), runOptions);
      const peaks = run.peaks();
      const room = launches.capacities.map((items, channel) => Math.max(items, peaks[channel]!));
      return byWorkers(run, shared.for(run, room), runOptions, launches);
    },
  };
}

async function byWorkers(run: Run, { program, crews }: Written, options: ThreadOptions, launches?: Launches): Promise<RunResult> {
  const parts = run.parts(program, launches);
  const begin = performance.now();
  try {
    const answers = await within(options, (stop) => crews.run(program, parts, stop), options.began);
    return run.result(program, answers, performance.now() - begin);
  } catch (error) {
    throw error instanceof FirstFault ? run.faultOf(program, error.fault) : error;
  }
}
