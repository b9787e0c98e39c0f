// Programs as JavaScript on worker threads: the main thread stays free, runs can be stopped, stateless programs use several cores.
import { Worker } from 'node:worker_threads';
import { availableParallelism } from 'node:os';
import { WarploomError } from '../../core/errors.ts';
import { emitJs, externalArrayNames, type JsProgram } from '../emit/emit-js.ts';
import { countsOf, kinds, placesOf, type Kind } from '../emit/layout.ts';
import { planProgram, type PlanOptions, type ProgramPlan } from '../emit/plan.ts';
import type { Step } from '../schedule/index.ts';
import type { ArrayDeclaration } from '../emit/program.ts';
import type { StreamGraph } from '../graph.ts';
import { firstLines, mostPrinted } from '../interpret/engine.ts';
import { faultError } from './fault.ts';
import { amountOf, defaultJsPlan, isPrintingOnly, type RunOptions, type RunResult } from './js.ts';
import { checkThreads, launchesFor, type Launches, type ThreadChoice } from './launch.ts';
import { cutRun, type Piece } from './split.ts';
import { checkSizes, fileOf, inputArrays, joinItems, printedText, roomFor, type Scalars, type StreamArrays } from './streams.ts';
import { workerText } from './worker-text.ts';

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
  let shared: Written | undefined;
  return {
    plan: alone.plan,
    get source() { return alone.program.source; },
    run(input, runOptions = {}) {
      const run = new Run(alone.plan, input, runOptions);
      if (run.pieces.length > 1 || run.threads === 1) return run.start(alone.withRoom(run.peaks()));
      shared ??= new Written(planProgram(graph, { ...defaultJsPlan, ...options, forCores: true }), true);
      const launches = launchesFor(shared.plan, run.pieces[0]!.counts, { ...runOptions, threads: run.threads });
      if (launches === undefined) return run.start(alone.withRoom(run.peaks()));
      const peaks = run.peaks();
      return run.start(shared.withRoom(launches.capacities.map((items, channel) => Math.max(items, peaks[channel]!))), launches);
    },
  };
}

type Streams = Map<number, { arrays: StreamArrays; items: number }>;

function shared(kind: Kind, length: number): Scalars {
  const buffer = new SharedArrayBuffer(length * (kind === 'd' ? 8 : 4));
  return kind === 'i' ? new Int32Array(buffer) : kind === 'f' ? new Float32Array(buffer) : new Float64Array(buffer);
}

function share(array: Scalars): Scalars {
  if (array.buffer instanceof SharedArrayBuffer) return array;
  const copy = shared(array instanceof Int32Array ? 'i' : array instanceof Float32Array ? 'f' : 'd', array.length);
  copy.set(array);
  return copy;
}

type Printed = readonly [site: number, values: readonly number[]];
/** What a worker answers. Printed values before, in and after launches stand between marks. */
interface Done { readonly kind: 'done'; readonly printed: readonly (Printed | undefined)[]; readonly milliseconds: number }
/** `order`: where others may yet meet an earlier fault: number of the piece, or iteration, group and first of its iterations. */
interface Faulty { readonly kind: 'fault'; readonly site: number; readonly value: number; readonly order?: readonly number[] }
type Answer = Done | Faulty | { readonly kind: 'failed'; readonly message: string };

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

interface WorkerArray {
  readonly name: string;
  readonly kind: Kind;
  readonly length: number;
  readonly initial: readonly number[];
  readonly channel: number;
  readonly stride: number;
  readonly shared?: Scalars;
}

/** What a worker is given: see worker-text.ts. */
interface WorkerData {
  readonly piece: number;
  /** Where workers wait for each other: how many have come, and how often all had. */
  readonly gate: Scalars;
  readonly threads: number;
  /** The run ends when so many are printed; by site: how many one print ends; printed values that are too many. */
  readonly lines: number;
  readonly linesOf: readonly number[];
  readonly mostPrinted: number;
  readonly source: string;
  readonly external: readonly Scalars[];
  readonly arrays: readonly WorkerArray[];
  readonly ix: Int32Array;
  readonly it: Scalars;
  readonly rs: Scalars;
  readonly init: readonly Step[];
  readonly steadyStates: number;
  readonly tail: readonly Step[];
  readonly multiplicity: number;
  readonly channels: number;
  /** By group. */
  readonly iterations: readonly number[];
  readonly turns: number;
  readonly launch?: object;
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
  #used = 1;
  readonly #gate = shared('i', 2);

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

  async start({ plan, program }: Written, launches?: Launches): Promise<RunResult> {
    const { signal, timeout = 600_000 } = this.#options;
    signal?.throwIfAborted();
    this.#plan = plan;
    this.#used = launches?.programs.length ?? this.pieces.length;
    this.#makeStreams();
    const begin = performance.now();
    const workers: Worker[] = [];
    const stop = new AbortController();
    const timer = setTimeout(() => {
      stop.abort(new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `the run took more than ${timeout} ms`));
    }, timeout);
    const forward = (): void => { stop.abort(signal!.reason); };
    signal?.addEventListener('abort', forward, { once: true });
    try {
      const data = launches === undefined ? this.pieces.map((_, piece) => this.#data(program, piece)) : this.#launchData(program, launches);
      const answers = await Promise.all(data.map((each) => this.#work(program, each, workers, stop.signal)));
      const first = answers.flatMap((each) => (each.kind === 'fault' ? [each] : [])).sort(byOrder)[0];
      if (first !== undefined) throw faultError(plan.graph, program.text.sites[first.site]!, first.value);
      return this.#result(program, answers.filter((each) => each.kind === 'done'), performance.now() - begin);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', forward);
      await Promise.all(workers.map((worker) => worker.terminate()));
    }
  }

  #work(program: JsProgram, workerData: WorkerData, workers: Worker[], stop: AbortSignal): Promise<Done | Faulty> {
    return new Promise((resolve, reject) => {
      const worker = new Worker(workerText, { eval: true, workerData, execArgv: [], stderr: false });
      workers.push(worker);
      const fail = (message: string): void => { reject(new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', message)); };
      stop.addEventListener('abort', () => { reject(stop.reason instanceof Error ? stop.reason : new Error(String(stop.reason))); },
        { once: true });
      worker.on('message', (answer: Answer) => {
        if (answer.kind === 'failed') fail(`a worker failed: ${answer.message}`);
        else if (answer.kind === 'done' || (answer.site >= 0 && answer.order !== undefined)) resolve(answer);
        else if (answer.site < 0) reject(new WarploomError('ERR_WARPLOOM_INTERNAL',
          `channel ${answer.value} holds more items than planned`));
        else reject(faultError(this.#plan.graph, program.text.sites[answer.site]!, answer.value));
      });
      worker.on('error', (error) => { fail(`a worker died: ${error.message}`); });
      worker.on('exit', (code) => { fail(`a worker ended with ${code} before its work was done`); });
    });
  }

  /** The same for all workers, but for the slices: memory is shared. */
  #launchData(program: JsProgram, { iterations, programs, ...plan }: Launches): WorkerData[] {
    const common = this.#data(program, 0);
    const arrays = common.arrays.map((each) => {
      if (program.text.arrays.find(({ name }) => name === each.name)!.role === 'table') return each;
      const array = shared(each.kind, each.length);
      array.set(each.initial);
      return { ...each, shared: array, initial: [] };
    });
    const launch = {
      iterations, multiplier: plan.multiplier, lastStage: plan.lastStage, stages: plan.stages, ends: plan.ends,
      rings: plan.rings.map((ring) => ring ?? null), base: shared('i', common.ix.length),
      stops: shared('d', programs.length).fill(iterations), end: shared('d', 1).fill(iterations),
    };
    const [it, rs] = [share(common.it), share(common.rs)];
    return programs.map((slices, core) => ({ ...common, arrays, it, rs, launch: { ...launch, core, slices } }));
  }

  #data({ text, source }: JsProgram, number: number): WorkerData {
    const plan = this.#plan;
    const piece = this.pieces[number]!;
    const { init, steadyStates, tail } = piece.counts;
    const seed = this.#options.seed ?? 1;
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
      piece: number, gate: this.#gate, threads: this.#used, lines: this.#lines,
      linesOf: text.sites.map(({ print }) => print?.lines ?? 0), mostPrinted, source, external, ix, init, steadyStates, tail,
      multiplicity: plan.multiplicity, channels: plan.graph.channels.length,
      it: new Int32Array(plan.graph.nodes.length), rs: Int32Array.from(plan.graph.nodes, ({ id }) => (seed + id) | 0),
      iterations: plan.groups.map(({ iterations }) => iterations), turns: this.#options.maxTurns ?? 1e9,
      arrays: text.arrays.map((each) => ({
        name: each.name, kind: each.kind, length: each.length, initial: startOf(plan, each), channel: each.channel ?? -1,
          stride: each.stride ?? 0,
      })),
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

/** What an array holds at the start of a run. */
function startOf(plan: ProgramPlan, { role, channel, initial, kind }: ArrayDeclaration): readonly number[] {
  if (role !== 'channel') return initial ?? [];
  return plan.graph.channels[channel!]!.initial.flatMap(({ type, numbers }) =>
    placesOf(type).flatMap((place, i) => (place.kind === kind ? [numbers[i] ?? 0] : [])));
}
