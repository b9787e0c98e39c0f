// Runs a graph in the quickest way that takes it.
import { availableParallelism } from 'node:os';
import { refusal } from '../../core/errors.ts';
import { describeValue } from '../../core/arrays.ts';
import { snapshot } from '../../core/snapshot.ts';
import type { StreamGraph } from '../graph.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { interpret } from '../interpret/interpret.ts';
import type { RunLimits } from '../interpret/limits.ts';
import { ScheduleError } from '../schedule/error.ts';
import { backendNamed, streamBackends, type FormerBackend, type StreamBackend } from './backends.ts';
import type { CppRunOptions } from './cpp.ts';
import type { CompiledJs } from './js.ts';
import type { RunOptions } from './js-run.ts';
import type { ThreadedJs } from './js-threads.ts';
import { checkTimes } from './times.ts';
import { withGraph } from '../require.ts';
import { checkRun } from '../interpret/options.ts';
import { requireStop, within } from '../stop.ts';

/** Options of {@link run}. */
export interface StreamRunOptions {
  /** Default `auto`. `js`: the former name of `wasm`, with a note in the result; the next version no longer takes it. */
  readonly backend?: StreamBackend | FormerBackend;
  /** Scalars of the items on an open input, in memory order. */
  readonly input?: ArrayLike<number>;
  /** End after so many items have come out. Default: when the input ends. */
  readonly items?: number;
  /** End after so many steady states. */
  readonly iterations?: number;
  /** Contents of the files that the program reads, by the path that it gives. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  /** Ends the run within a tenth of a second. */
  readonly signal?: AbortSignal;
  /** For `random`. Default 1. */
  readonly seed?: number;
  /** What a run by the interpreter may take, in place of its defaults. */
  readonly limits?: Partial<RunLimits>;
  /** Most threads that compiled programs use, 1 to 1024. Default: the cores of the machine for runs of some length, else 1. */
  readonly threads?: number;
  /**
   * Microseconds of a firing by node, by which threads share the work; `measured`: by `profile`, which keeps what it has measured. Default:
   * counted operations.
   */
  readonly costs?: readonly number[] | 'measured';
  /** Milliseconds that the run may take, compilation by `cpp` included; default 600 000. */
  readonly timeout?: number;
  /** With `cpp`: lets float operations be reordered and joined, so that outputs differ in rounding. */
  readonly fast?: boolean;
  /** With `cpp`: path or name of the compiler. Default: the first of g++, clang++ and c++ on PATH. */
  readonly compiler?: string;
}

/** Options with the back end's name of today. */
interface RunRequest extends StreamRunOptions {
  readonly backend: StreamBackend;
}

/** What a run gave. */
export interface StreamRun {
  /** Scalars of the items on the open output, in memory order. */
  readonly output: ArrayLike<number>;
  readonly printed: string;
  /** Files that were written. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** Milliseconds spent in the program itself: translation and compilation are apart. */
  readonly milliseconds: number;
  /** What ran it: `wasm` in place of `cpp` where a C++ compiler would take minutes. */
  readonly backend: Exclude<StreamBackend, 'auto'>;
  /** What the caller should know, in words: why another back end than the one asked for ran it, or that its name is a former one. */
  readonly note?: string;
}

/** Estimated milliseconds from which a run is worth starting worker threads; no run keeps the calling thread for longer. */
const worthThreads = 100;
const mostMilliseconds = 600_000;

function check({ nodes }: StreamGraph, { backend, threads, costs, timeout, fast, compiler }: RunRequest): void {
  if (!streamBackends.includes(backend)) throw refusal('backend', streamBackends.join(', '), describeValue(backend));
  if (threads !== undefined && (!Number.isInteger(threads) || threads < 1 || threads > 1024)) {
    throw refusal('threads', 'an integer from 1 to 1024', describeValue(threads));
  }
  requireStop({ timeout });
  if (costs !== undefined && costs !== 'measured') checkTimes(costs, nodes.length, 'costs');
  for (const [name, value] of [['fast', fast], ['compiler', compiler]] as const) {
    if (value === undefined || backend === 'cpp') continue;
    throw refusal(name, `none with backend '${backend}' (only 'cpp' takes it)`, describeValue(value));
  }
}

/** Programs compiled once: their code is warm when they run again. */
const compiledJs = new WeakMap<StreamGraph, CompiledJs>();
const threadedJs = new WeakMap<StreamGraph, ThreadedJs>();

function known<T>(made: WeakMap<StreamGraph, T>, graph: StreamGraph, make: (graph: StreamGraph) => T): T {
  let found = made.get(graph);
  if (found === undefined) made.set(graph, found = make(graph));
  return found;
}

async function runWasm(graph: StreamGraph, input: ArrayLike<number> | undefined, options: CppRunOptions): Promise<StreamRun> {
  const [{ compileJs }, { estimatedMilliseconds }] = await Promise.all([import('./js.ts'), import('./js-run.ts')]);
  const compiled = known(compiledJs, graph, compileJs);
  const { threads: _threads, costs: _costs, timeout = mostMilliseconds, signal: _signal, ...rest } = options;
  const begin = performance.now();
  if (estimatedMilliseconds(compiled.plan, input, rest, 'wasm') < worthThreads) {
    const made = compiled.tryRun(input, rest, Math.min(worthThreads, timeout));
    if (made !== undefined) return { ...made, backend: 'wasm' };
  }
  const { compileJsThreads } = await import('./js-threads.ts');
  const left = { ...options, timeout, began: begin };
  return { ...await known(threadedJs, graph, compileJsThreads).run(input, left), backend: 'wasm' };
}

async function runCpp(
  graph: StreamGraph, input: ArrayLike<number> | undefined, options: CppRunOptions, { fast, compiler }: StreamRunOptions,
): Promise<StreamRun> {
  const [cpp, { estimatedMilliseconds }] = await Promise.all([import('./cpp.ts'), import('./js-run.ts')]);
  const { signal, threads: _threads, costs: _costs, timeout = mostMilliseconds, ...rest } = options;
  const made = await within({ signal, timeout }, (stop) => cpp.runCpp(graph, input, {
    signal: stop, ...(fast === undefined ? {} : { fast }), ...(compiler === undefined ? {} : { compiler }),
  }, { ...options, signal: stop, timeout }, (plan) => (estimatedMilliseconds(plan, input, rest, 'cpp') < worthThreads ? 1
    : availableParallelism())));
  return { ...made, backend: 'cpp' };
}

async function runCppOrWasm(
  graph: StreamGraph, input: ArrayLike<number> | undefined, options: CppRunOptions, given: StreamRunOptions,
): Promise<StreamRun> {
  const { LargeProgram } = await import('../targets/cpp.ts');
  try {
    return await runCpp(graph, input, options, given);
  } catch (error) {
    if (!(error instanceof LargeProgram)) throw error;
    const note = `the program is too large for a C++ compiler (${error.lines} lines of C++, which take minutes): it ran as WebAssembly`;
    return { ...await runWasm(graph, input, options), note };
  }
}

/** Options of a compiled program, with times measured where that is asked for. */
async function withTimes(graph: StreamGraph, options: RunRequest): Promise<CppRunOptions> {
  const { backend, input, fast: _fast, compiler: _compiler, limits: _limits, costs, ...others } = options;
  if (costs !== 'measured') return { ...others, ...(costs === undefined ? {} : { costs }) };
  const { profile } = await import('../profile/index.ts');
  const { files, signal } = others;
  const { microseconds } = await profile(graph, {
    backend: backend === 'cpp' ? 'cpp' : 'wasm', ...(input === undefined ? {} : { input }), ...(files === undefined ? {} : { files }),
    ...(signal === undefined ? {} : { signal }),
  });
  return { ...others, costs: microseconds };
}

/**
 * Runs an elaborated program. Every backend gives the same output to the bit, unless `fast` allows otherwise.
 *
 * @throws ArgumentError for missing input and wrong limits, StreamRunError where the program goes wrong, NoCompilerError
 * (ERR_WARPLOOM_UNAVAILABLE) for `cpp` without a compiler, WarploomError (ERR_WARPLOOM_SYSTEM_FAILED) where the time is over
 */
export async function run(graph: StreamGraph, given: StreamRunOptions = {}): Promise<StreamRun> {
  checkRun(given);
  const { backend: name = 'auto', ...others } = snapshot(given);
  const { backend, note } = backendNamed(name);
  const options: RunRequest = { ...others, backend };
  const made = await withGraph(graph, () => runWhole(graph, options), options.signal);
  return note === undefined ? made : { ...made, note };
}

async function runWhole(graph: StreamGraph, options: RunRequest): Promise<StreamRun> {
  check(graph, options);
  options.signal?.throwIfAborted();
  const { backend, input, fast: _fast, compiler: _compiler, threads: _threads, costs: _costs, timeout = mostMilliseconds, signal,
    limits: runLimits,
    ...common } = options;
  if (backend === 'cpp') return runCppOrWasm(graph, input, await withTimes(graph, options), options);
  if (backend !== 'interpret') {
    try {
      return await runWasm(graph, input, await withTimes(graph, options));
    } catch (error) {
      const isForInterpreter = error instanceof UnsupportedProgram || error instanceof ScheduleError;
      if (backend === 'wasm' || !isForInterpreter) throw error;
    }
  }
  const limits: RunOptions = common;
  const begin = performance.now();
  const made = await interpret(graph, {
    ...limits, timeout, ...(runLimits === undefined ? {} : { limits: runLimits }), ...(input === undefined ? {} : { input }),
    ...(signal === undefined ? {} : { signal }),
  });
  return { ...made, milliseconds: performance.now() - begin, backend: 'interpret' };
}
