// Programs as JavaScript on worker threads: the main thread stays free, runs can be stopped, stateless programs use several cores.
import { availableParallelism } from 'node:os';
import { WarploomError } from '../../core/errors.ts';
import { emitJs, externalArrayNames, type JsProgram } from '../emit/emit-js.ts';
import { countsOf, kinds, type Kind } from '../emit/layout.ts';
import { planProgram, type PlanOptions, type ProgramPlan } from '../emit/plan.ts';
import type { StreamGraph } from '../graph.ts';
import { firstLines, mostPrinted } from '../interpret/engine.ts';
import { Crews, FirstFault, shared, type Done, type Faulty, type Part, type Printed } from './crew.ts';
import { faultError } from './fault.ts';
import { amountOf, defaultJsPlan, isPrintingOnly, type RunOptions, type RunResult } from './js.ts';
import { checkThreads, launchesFor, type Launches, type ThreadChoice } from './launch.ts';
import { cutRun, type Piece } from './split.ts';
import { checkSizes, fileOf, inputArrays, joinItems, printedText, roomFor, type Scalars, type StreamArrays } from './streams.ts';

export interface ThreadOptions extends RunOptions, Partial<ThreadChoice> {
  /** Worker threads; default: the cores of the machine. */
  readonly threads?: number;
  readonly signal?: AbortSignal;
  /** Milliseconds that the run may take; default 600 000. */
  readonly timeout?: number;
  /** Whether the input of a program without state may be cut into pieces that do not depend on each other; default true. */
  readonly pieces?: boolean;
}

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
  program: JsProgram;

  constructor(plan: ProgramPlan, isPlaced: boolean) {
    this.plan = plan;
    this.#isPlaced = isPlaced;
    this.program = emitJs(plan, { placed: isPlaced });
  }

  withRoom(needed: readonly number[]): this {
    if (needed.some((items, channel) => items > this.program.text.capacities[channel]!)) {
      this.program = emitJs(this.plan, { placed: this.#isPlaced, capacities: needed });
    }
    return this;
  }
}

/**
 * Compiles a graph for {@link ThreadedJs}. Errors as for compileJs. The input of programs without state is cut into pieces; others run in
 * launches by assignToCores. A worker that dies rejects with ERR_WARPLOOM_SYSTEM_FAILED.
 */
export function compileJsThreads(graph: StreamGraph, options: PlanOptions = {}): ThreadedJs {
  const alone = new Written(planProgram(graph, { ...defaultJsPlan, ...options }), false);
  const byCores = new Map<number, Written>();
  return {
    plan: alone.plan,
    get source() { return alone.program.source; },
    run(input, runOptions = {}) {
      const run = new Run(alone.plan, input, runOptions);
      if (run.pieces.length > 1 || run.threads === 1) return run.start(alone.withRoom(run.peaks()));
      let shared = byCores.get(run.threads);
      if (shared === undefined) {
        shared = new Written(planProgram(graph, { ...defaultJsPlan, ...options, forCores: run.threads }), true);
        byCores.set(run.threads, shared);
      }
      const launches = launchesFor(shared.plan, run.pieces[0]!.counts, { ...runOptions, threads: run.threads });
      if (launches === undefined) return run.start(alone.withRoom(run.peaks()));
      const peaks = run.peaks();
      return run.start(shared.withRoom(launches.capacities.map((items, channel) => Math.max(items, peaks[channel]!))), launches);
    },
  };
}

type Streams = Map<number, { arrays: StreamArrays; items: number }>;

function share(array: Scalars): Scalars {
  if (array.buffer instanceof SharedArrayBuffer) return array;
  const copy = shared(array instanceof Int32Array ? 'i' : array instanceof Float32Array ? 'f' : 'd', array.length);
  copy.set(array);
  return copy;
}

function inOrder(answers: readonly Done[]): Printed[] {
  const parts = answers.map(({ printed }) => {
    const marks = printed.flatMap((each, at) => (each === undefined ? [at] : []));
    const [begin = 0, end = printed.length] = marks;
    return [printed.slice(0, begin), printed.slice(begin, end), printed.slice(end)];
  });
  return [...parts[0]![0]!, ...parts.flatMap((part) => part[1]!), ...parts[0]![2]!].filter((each) => each !== undefined);
}

/** What stands in a program before it comes first. */
function byOrder({ order: a = [] }: Faulty, { order: b = [] }: Faulty): number {
  const at = a.findIndex((part, i) => part !== b[i]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}

class Run {
  readonly #options: ThreadOptions;
  readonly #streams: Streams;
  readonly threads: number;
  readonly pieces: readonly Piece[];
  readonly #exhausted: boolean;
  /** The run ends when so many are printed. */
  readonly #lines: number;
  #plan: ProgramPlan;

  constructor(plan: ProgramPlan, input: ArrayLike<number> | undefined, options: ThreadOptions) {
    this.threads = checkThreads(options.threads ?? availableParallelism());
    this.#plan = plan;
    this.#options = options;
    this.#streams = inputArrays(plan, { input, files: options.files ?? {} });
    const given = plan.externals.find(({ kind }) => kind === 'input');
    const amount = amountOf(plan, input, given === undefined ? Infinity : this.#streams.get(given.id)!.items, options);
    const isPrinting = amount.items !== undefined && isPrintingOnly(plan);
    this.#lines = isPrinting ? amount.items! : Infinity;
    if (isPrinting) this.threads = 1;
    const bounded = isPrinting ? { input: amount.input, iterations: 2 ** 40 } : amount;
    this.pieces = cutRun(plan, bounded, options.pieces === false ? 1 : this.threads);
    checkSizes(plan, this.#streams, this.pieces[0]!.counts.passed.map((items, i) =>
      (plan.externals[i]!.kind === 'output' ? this.pieces.reduce((sum, { outputItems }) => sum + outputItems, 0) : items)));
    this.#exhausted = this.pieces.length === 1 ? this.pieces[0]!.counts.exhausted : amount.items === undefined
      && amount.iterations === undefined;
  }

  peaks(): number[] {
    return this.#plan.graph.channels.map(({ id }) => Math.max(...this.pieces.map(({ counts }) => counts.peaks[id]!)));
  }

  #makeStreams(): void {
    this.#plan.externals.forEach(({ id, kind, type }, i) => {
      const found = this.#streams.get(id);
      const items = found?.items ?? (kind === 'output' ? this.pieces.reduce((sum, piece) => sum + piece.outputItems, 0)
        : this.pieces[0]!.counts.passed[i]!);
      const arrays = found === undefined ? roomFor(items, type, shared) : {};
      for (const scalar of kinds) if (found?.arrays[scalar] !== undefined) arrays[scalar] = share(found.arrays[scalar]);
      this.#streams.set(id, { arrays, items });
    });
  }

  async start({ plan, program, crews }: Written, launches?: Launches): Promise<RunResult> {
    const { signal, timeout = 600_000 } = this.#options;
    signal?.throwIfAborted();
    this.#plan = plan;
    this.#makeStreams();
    const begin = performance.now();
    const stop = new AbortController();
    const timer = setTimeout(() => {
      stop.abort(new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `the run took more than ${timeout} ms`));
    }, timeout);
    const forward = (): void => { stop.abort(signal!.reason); };
    signal?.addEventListener('abort', forward, { once: true });
    try {
      const parts = launches === undefined ? this.pieces.map((_, piece) => this.#part(program, piece))
        : this.#launchParts(program, launches);
      const answers = await crews.run(program, parts, stop.signal);
      const first = answers.flatMap((each) => (each.kind === 'fault' ? [each] : [])).sort(byOrder)[0];
      if (first !== undefined) throw this.#faultOf(program, first);
      return this.#result(program, answers.filter((each) => each.kind === 'done'), performance.now() - begin);
    } catch (error) {
      throw error instanceof FirstFault ? this.#faultOf(program, error.fault) : error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', forward);
    }
  }

  #faultOf({ text }: JsProgram, { site, value }: Faulty): Error {
    if (site >= 0) return faultError(this.#plan.graph, text.sites[site]!, value);
    return new WarploomError('ERR_WARPLOOM_INTERNAL', `channel ${value} holds more items than planned`);
  }

  #launchParts(program: JsProgram, { programs, iterations, multiplier, lastStage, chunk, stages, ends, rings }: Launches): Part[] {
    const common = this.#part(program, 0);
    const launch = { multiplier, lastStage, chunk, stages, ends, rings };
    return programs.map((slices, number) => ({ ...common, number, iterations, launch: { ...launch, slices } }));
  }

  #part({ text }: JsProgram, number: number): Part {
    const plan = this.#plan;
    const piece = this.pieces[number]!;
    const { init, steadyStates, tail } = piece.counts;
    const external = externalArrayNames(plan).map((name) => {
      const [id, kind] = [Number(name.slice(1, -1)), name.at(-1) as Kind];
      const { type, kind: role } = plan.externals.find((each) => each.id === id)!;
      const array = this.#streams.get(id)!.arrays[kind]!;
      const from = role === 'input' ? piece.inputFrom : role === 'output' ? piece.outputFrom : 0;
      return from === 0 ? array : array.subarray(from * countsOf(type)[kind]);
    });
    const ix = new Int32Array(2 * (plan.graph.channels.length + plan.externals.length));
    plan.graph.channels.forEach(({ id, initial }) => { ix[2 * id + 1] = initial.length; });
    for (const { id, kind } of plan.externals) if (kind === 'reader') ix[2 * id + 1] = this.#streams.get(id)!.items;
    return {
      number, lines: this.#lines, linesOf: text.sites.map(({ print }) => print?.lines ?? 0), mostPrinted, external, ix, init,
      steadyStates, tail, iterations: 0, seed: this.#options.seed ?? 1, turns: this.#options.maxTurns ?? 1e9,
    };
  }

  #result({ text }: JsProgram, answers: readonly Done[], elapsed: number): RunResult {
    const plan = this.#plan;
    const output = plan.externals.find(({ kind }) => kind === 'output');
    const found = output === undefined ? undefined : this.#streams.get(output.id)!;
    const files = plan.externals.filter(({ kind }) => kind === 'writer').map((external) => {
      const { arrays, items } = this.#streams.get(external.id)!;
      return [external.path, fileOf(external, arrays, items)] as const;
    });
    const printed = inOrder(answers).map(([site, values]) => printedText(text.sites[site]!, values)).join('');
    return {
      output: found === undefined ? new Float32Array(0) : joinItems(found.arrays, output!.type, found.items),
      printed: this.#lines === Infinity ? printed : firstLines(printed, this.#lines),
      files: Object.fromEntries(files), exhausted: this.#exhausted,
      firings: plan.graph.nodes.map(({ id }) => this.pieces.reduce((sum, { counts }) => sum + counts.firings[id]!, 0)),
      milliseconds: Math.min(elapsed, Math.max(...answers.map(({ milliseconds }) => milliseconds))),
    };
  }
}
