// Runs a graph in the quickest way that takes it.
import { availableParallelism } from 'node:os';
import { refusal } from '../../core/errors.ts';
import { describeValue } from '../../core/arrays.ts';
import { snapshot } from '../../core/snapshot.ts';
import type { StreamGraph } from '../graph.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { interpret, type RunLimits } from '../interpret/index.ts';
import { ScheduleError } from '../schedule/error.ts';
import type { CppRunOptions } from './cpp.ts';
import type { CompiledJs } from './js.ts';
import type { RunOptions } from './js-run.ts';
import type { ThreadedJs } from './js-threads.ts';
import { checkTimes } from './launch.ts';
import { withGraph } from '../require.ts';
import { checkRun } from '../interpret/options.ts';
import { requireStop, within } from '../stop.ts';

/**
 * `js`: compiled to JavaScript, which runs as WebAssembly; `cpp`: compiled by the system's C++ compiler; `interpret`: step by step, takes
 * every program; `auto`: js, and interpret what js does not take.
 */
export const streamBackends = ['auto', 'js', 'cpp', 'interpret'] as const;
/** A way to run a program: see {@link streamBackends}. */
export type StreamBackend = (typeof streamBackends)[number];

/** Options of {@link run}. */
export interface StreamRunOptions {
  /** Default `auto`. */
  readonly backend?: StreamBackend;
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

/** What a run gave. */
export interface StreamRun {
  /** Scalars of the items on the open output, in memory order. */
  readonly output: ArrayLike<number>;
  readonly printed: string;
  /** Files that were written. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** Milliseconds spent in the program itself: translation and compilation are apart. */
  readonly milliseconds: number;
  /** What ran it: `js` in place of `cpp` where a C++ compiler would take minutes. */
  readonly backend: Exclude<StreamBackend, 'auto'>;
  /** What the caller should know, in words: why another back end than the one asked for ran it. */
  readonly note?: string;
}

/** Estimated milliseconds from which a run is worth starting worker threads; no run keeps the calling thread for longer. */
const worthThreads = 100;
const mostMilliseconds = 600_000;

function check({ nodes }: StreamGraph, { backend = 'auto', threads, costs, timeout, fast, compiler }: StreamRunOptions): void {
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

async function runJs(graph: StreamGraph, input: ArrayLike<number> | undefined, options: CppRunOptions): Promise<StreamRun> {
  const [{ compileJs }, { estimatedMilliseconds }] = await Promise.all([import('./js.ts'), import('./js-run.ts')]);
  const compiled = known(compiledJs, graph, compileJs);
  const { threads: _threads, costs: _costs, timeout = mostMilliseconds, signal: _signal, ...rest } = options;
  const begin = performance.now();
  if (estimatedMilliseconds(compiled.plan, input, rest, 'js') < worthThreads) {
    const made = compiled.tryRun(input, rest, Math.min(worthThreads, timeout));
    if (made !== undefined) return { ...made, backend: 'js' };
  }
  const { compileJsThreads } = await import('./js-threads.ts');
  const left = { ...options, timeout, began: begin };
  return { ...await known(threadedJs, graph, compileJsThreads).run(input, left), backend: 'js' };
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

async function runCppOrJs(
  graph: StreamGraph, input: ArrayLike<number> | undefined, options: CppRunOptions, given: StreamRunOptions,
): Promise<StreamRun> {
  const { LargeProgram } = await import('./cpp.ts');
  try {
    return await runCpp(graph, input, options, given);
  } catch (error) {
    if (!(error instanceof LargeProgram)) throw error;
    const note = `the program is too large for a C++ compiler (${error.lines} lines of C++, which take minutes): it ran as WebAssembly`;
    return { ...await runJs(graph, input, options), note };
  }
}

/** Options of a compiled program, with times measured where that is asked for. */
async function withTimes(graph: StreamGraph, options: StreamRunOptions): Promise<CppRunOptions> {
  const { backend, input, fast: _fast, compiler: _compiler, limits: _limits, costs, ...others } = options;
  if (costs !== 'measured') return { ...others, ...(costs === undefined ? {} : { costs }) };
  const { profile } = await import('../profile/index.ts');
  const { files, signal } = others;
  const { microseconds } = await profile(graph, {
    backend: backend === 'cpp' ? 'cpp' : 'js', ...(input === undefined ? {} : { input }), ...(files === undefined ? {} : { files }),
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
  const options = snapshot(given);
  return withGraph(graph, () => runWhole(graph, options), options.signal);
}

async function runWhole(graph: StreamGraph, options: StreamRunOptions): Promise<StreamRun> {
  check(graph, options);
  options.signal?.throwIfAborted();
  const { backend = 'auto', input, fast: _fast, compiler: _compiler, threads: _threads, costs: _costs, timeout = mostMilliseconds, signal,
    limits: runLimits,
    ...common } = options;
  if (backend === 'cpp') return runCppOrJs(graph, input, await withTimes(graph, options), options);
  if (backend !== 'interpret') {
    try {
      return await runJs(graph, input, await withTimes(graph, options));
    } catch (error) {
      const isForInterpreter = error instanceof UnsupportedProgram || error instanceof ScheduleError;
      if (backend === 'js' || !isForInterpreter) throw error;
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
