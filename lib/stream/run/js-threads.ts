// Programs as JavaScript on worker threads: the main thread stays free, runs can be stopped, stateless programs use several cores.
import { Worker } from 'node:worker_threads';
import { availableParallelism } from 'node:os';
import { ArgumentError, WarploomError } from '../../core/errors.ts';
import type { RunCounts } from '../emit/counts.ts';
import { emitJs, externalArrayNames, type JsProgram } from '../emit/emit-js.ts';
import { countsOf, placesOf, type Kind } from '../emit/layout.ts';
import { planProgram, type PlanOptions, type ProgramPlan } from '../emit/plan.ts';
import type { ArrayDeclaration } from '../emit/program.ts';
import type { StreamGraph } from '../graph.ts';
import { faultError } from './fault.ts';
import { amountOf, defaultJsPlan, isPrintingOnly, type RunOptions, type RunResult } from './js.ts';
import { cutRun, type Piece } from './split.ts';
import { fileOf, inputArrays, joinItems, printedText, type Scalars, type StreamArrays } from './streams.ts';
import { workerText } from './worker-text.ts';

export interface ThreadOptions extends RunOptions {
  /** Worker threads; default: the cores of the machine. Programs with state take one. */
  readonly threads?: number;
  readonly signal?: AbortSignal;
  /** Milliseconds that the run may take; default 600 000. */
  readonly timeout?: number;
}

/** A program compiled to JavaScript that runs on worker threads. */
export interface ThreadedJs {
  readonly plan: ProgramPlan;
  readonly source: string;
  run(input?: ArrayLike<number>, options?: ThreadOptions): Promise<RunResult>;
}

/** Compiles a graph for {@link ThreadedJs}. Errors as for compileJs. A worker that dies rejects with ERR_WARPLOOM_SYSTEM_FAILED. */
export function compileJsThreads(graph: StreamGraph, options: PlanOptions = {}): ThreadedJs {
  const plan = planProgram(graph, { ...defaultJsPlan, ...options });
  let program = emitJs(plan);
  return {
    plan,
    get source() { return program.source; },
    run(input, runOptions = {}) {
      const run = new Run(plan, input, runOptions);
      const peaks = run.peaks();
      if (peaks.some((peak, channel) => peak > program.text.capacities[channel]!)) program = emitJs(plan, peaks);
      return run.start(program);
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

/** What a worker answers. */
type Answer = { readonly kind: 'done'; readonly printed: readonly (readonly [number, readonly number[]])[]; readonly milliseconds: number }
  | { readonly kind: 'fault'; readonly site: number; readonly value: number } | { readonly kind: 'failed'; readonly message: string };

class Run {
  readonly #plan: ProgramPlan;
  readonly #options: ThreadOptions;
  readonly #streams: Streams;
  readonly #pieces: readonly Piece[];
  readonly #exhausted: boolean;

  constructor(plan: ProgramPlan, input: ArrayLike<number> | undefined, options: ThreadOptions) {
    const { threads = availableParallelism() } = options;
    if (!Number.isInteger(threads) || threads < 1 || threads > 1024) {
      throw new ArgumentError('options.threads', `expected an integer from 1 to 1024, received ${threads}`);
    }
    this.#plan = plan;
    this.#options = options;
    this.#streams = inputArrays(plan, { input, files: options.files ?? {} });
    const given = plan.externals.find(({ kind }) => kind === 'input');
    const amount = amountOf(plan, input, given === undefined ? Infinity : this.#streams.get(given.id)!.items, options);
    if (amount.items !== undefined && isPrintingOnly(plan)) {
      throw new ArgumentError('options.items', 'the program prints only: say by `iterations` when it stops');
    }
    this.#pieces = cutRun(plan, amount, threads);
    this.#exhausted = this.#pieces.length === 1 ? this.#pieces[0]!.counts.exhausted : amount.items === undefined
      && amount.iterations === undefined;
  }

  peaks(): number[] {
    return this.#plan.graph.channels.map(({ id }) => Math.max(...this.#pieces.map(({ counts }) => counts.peaks[id]!)));
  }

  #makeStreams(): void {
    this.#plan.externals.forEach(({ id, kind, type }, i) => {
      const found = this.#streams.get(id);
      const arrays: StreamArrays = {};
      const items = found?.items ?? (kind === 'output' ? this.#pieces.reduce((sum, piece) => sum + piece.outputItems, 0)
        : this.#pieces[0]!.counts.passed[i]!);
      for (const scalar of ['i', 'f', 'd'] as const) {
        const count = countsOf(type)[scalar];
        if (count > 0) arrays[scalar] = found === undefined ? shared(scalar, items * count) : share(found.arrays[scalar]!);
      }
      this.#streams.set(id, { arrays, items });
    });
  }

  async start(program: JsProgram): Promise<RunResult> {
    const { signal, timeout = 600_000 } = this.#options;
    signal?.throwIfAborted();
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
      const answers = await Promise.all(this.#pieces.map((piece) => this.#work(program, piece, workers, stop.signal)));
      return this.#result(program, answers, performance.now() - begin);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', forward);
      await Promise.all(workers.map((worker) => worker.terminate()));
    }
  }

  #work(program: JsProgram, piece: Piece, workers: Worker[], stop: AbortSignal): Promise<Extract<Answer, { kind: 'done' }>> {
    return new Promise((resolve, reject) => {
      const worker = new Worker(workerText, { eval: true, workerData: this.#data(program, piece), execArgv: [], stderr: false });
      workers.push(worker);
      const fail = (message: string): void => { reject(new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', message)); };
      stop.addEventListener('abort', () => { reject(stop.reason instanceof Error ? stop.reason : new Error(String(stop.reason))); },
        { once: true });
      worker.on('message', (answer: Answer) => {
        if (answer.kind === 'done') resolve(answer);
        else if (answer.kind === 'failed') fail(`a worker failed: ${answer.message}`);
        else if (answer.site < 0) reject(new WarploomError('ERR_WARPLOOM_INTERNAL',
          `channel ${answer.value} holds more items than planned`));
        else reject(faultError(this.#plan.graph, program.text.sites[answer.site]!, answer.value));
      });
      worker.on('error', (error) => { fail(`a worker died: ${error.message}`); });
      worker.on('exit', (code) => { fail(`a worker ended with ${code} before its work was done`); });
    });
  }

  #data({ text, source }: JsProgram, piece: Piece) {
    const plan = this.#plan;
    const { init, steadyStates, tail }: RunCounts = piece.counts;
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
      source, external, ix, nodes: plan.graph.nodes.length, init, steadyStates, tail, multiplicity: plan.multiplicity,
        channels: plan.graph.channels.length,
      iterations: plan.groups.map(({ iterations }) => iterations), seed: this.#options.seed ?? 1, turns: this.#options.maxTurns ?? 1e9,
      arrays: text.arrays.map((each) => ({
        name: each.name, kind: each.kind, length: each.length, initial: startOf(plan, each), channel: each.channel ?? -1,
          stride: each.stride ?? 0,
      })),
    };
  }

  #result({ text }: JsProgram, answers: readonly Extract<Answer, { kind: 'done' }>[], elapsed: number): RunResult {
    const plan = this.#plan;
    const output = plan.externals.find(({ kind }) => kind === 'output');
    const found = output === undefined ? undefined : this.#streams.get(output.id)!;
    const files = plan.externals.filter(({ kind }) => kind === 'writer').map((external) => {
      const { arrays, items } = this.#streams.get(external.id)!;
      return [external.path, fileOf(external, arrays, items)] as const;
    });
    return {
      output: found === undefined ? new Float32Array(0) : joinItems(found.arrays, output!.type, found.items),
      printed: answers.flatMap(({ printed }) => printed.map(([site, values]) => printedText(text.sites[site]!, values))).join(''),
      files: Object.fromEntries(files), exhausted: this.#exhausted,
      firings: plan.graph.nodes.map(({ id }) => this.#pieces.reduce((sum, { counts }) => sum + counts.firings[id]!, 0)),
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
