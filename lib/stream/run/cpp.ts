// Programs as C++: compiled by the system's compiler and run in a child process, so that a crash stays confined to it.
import { mkdtemp, readFile, rm, open } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { withFiles } from '../../core/compile/cache.ts';
import { runChild } from '../../core/compile/child.ts';
import { findCompiler } from '../../core/compile/compiler.ts';
import { compilerArguments, compileSources, gccArguments, type CompilerOptions } from '../../core/compile/sources.ts';
import { WarploomError } from '../../core/errors.ts';
import { elementAt, leading, required } from '../../core/known.ts';
import { mostPrinted } from '../interpret/print-order.ts';
import { countsOf, kinds, kindsIn, makeArray } from '../plan/layout.ts';
import { planProgram, type PlanOptions, type ProgramPlan } from '../plan/plan.ts';
import {
  cppFiles, cppHeaders, cppProgram, cppRuntime, LargeProgram, mostLinesIn, type CppOptions, type CppProgram,
} from '../targets/cpp.ts';
import { typeBytes } from '../interpret/values.ts';
import type { StreamGraph } from '../graph.ts';
import type { Site } from '../lower/sites.ts';
import { mostOnChannels, type RunCounts } from '../plan/counts.ts';
import { faultError } from './fault.ts';
import { textOf, withMarks } from './marks.ts';
import {
  inputArrays, mostTurns, prepareRun, resultOf, type PreparedRun, type RunOptions, type RunResult, type StreamArrays, type ThreadOptions,
} from './prepare.ts';
import { estimatedMilliseconds, wayOf, worthThreads, type Way } from './threads.ts';
import { sessionNumber, wayNumbers } from './words.ts';

export interface CppCompileOptions extends PlanOptions, CompilerOptions, Pick<CppOptions, 'shareFrom'> {
  /** Single-appearance schedule, one FIFO array per channel, no fusion, -O3: what the original compiler does. */
  readonly baseline?: boolean;
}

/** The result of running a compiled program. */
export interface CppRunResult extends RunResult {
  /** Like `milliseconds`, but processor time of all threads, which other load on the machine does not affect. */
  readonly processorMilliseconds: number;
}

/** A program compiled to machine code. */
export interface CompiledCpp {
  readonly plan: ProgramPlan;
  readonly source: string;
  /** The compiled program. */
  readonly path: string;
  /** Runs the program from its start in a child process. `input`: scalars of the items on the open input. */
  run(input?: ArrayLike<number>, options?: ThreadOptions): Promise<CppRunResult>;
}

export const defaultCppPlan: PlanOptions = { groupSize: 12_000, filterSize: 6000, blockBytes: 24576 };

/**
 * Compiles a graph with the system's C++ compiler. Throws NoCompilerError if there is none, and UnsupportedProgram and ScheduleError like
 * compileWasm. A run throws StreamRunError if the program faults, and WarploomError (ERR_WARPLOOM_SYSTEM_FAILED) if the process dies or
 * takes too long.
 */
export async function compileCpp(graph: StreamGraph, options: CppCompileOptions = {}): Promise<CompiledCpp> {
  return elementAt(await compileCppTogether([graph], options), 0);
}

/** Compiles several graphs into one executable: faster for many small ones. */
export async function compileCppTogether(graphs: readonly StreamGraph[], options: CppCompileOptions = {}): Promise<CompiledCpp[]> {
  const { baseline = false, shareFrom } = options;
  const plans = graphs.map((graph) => planProgram(withMarks(graph), { ...defaultCppPlan, savings: !baseline, ...options }));
  const build = builder(options);
  const how: CppOptions = { baseline, mostUnits, ...(shareFrom === undefined ? {} : { shareFrom }) };
  const made = await build(plans.map((plan) => cppProgram(plan, how)));
  return plans.map((plan, number) => {
    const programs = new Programs(plan, build, how, { made, number });
    return {
      plan,
      get source() { return programs.own.source; },
      get path() { return programs.own.path; },
      async run(input, runOptions = {}) {
        const { threads = 1 } = runOptions;
        const run = prepareRun(plan, input, runOptions);
        return programs.run(run, { ...runOptions, threads: baseline ? 1 : threads });
      },
    };
  });
}

/**
 * Compiles what one run needs and runs it, on one thread unless the run is long or `threads` says otherwise. Throws like {@link compileCpp}
 * and its runs, and also LargeProgram.
 */
export async function runCpp(
  graph: StreamGraph, input: ArrayLike<number> | undefined, options: CppCompileOptions, runOptions: ThreadOptions,
): Promise<RunResult> {
  const plan = planProgram(withMarks(graph), { ...defaultCppPlan, ...options });
  findCompiler(options.compiler);
  const run = prepareRun(plan, input, runOptions);
  const threads = runOptions.threads ?? (estimatedMilliseconds(plan, run, 'cpp') < worthThreads ? 1 : availableParallelism());
  const programs = new Programs(plan, builder(options, cppLimits.lines), { mostUnits, mostLines: cppLimits.lines });
  const { processorMilliseconds: _, ...result } = await programs.run(run, { ...runOptions, threads });
  return result;
}

/** A program that makes what requests say, with channels for any input (runtime/session.h). */
export interface SessionProgram {
  readonly plan: ProgramPlan;
  readonly sites: readonly Site[];
  /** The program's path, and its arguments. Compiles it again if the file is no longer the one that was made. */
  locate(): Promise<readonly [path: string, args: readonly string[]]>;
  /** What it reads before the first request. Throws ArgumentError for files that are missing. */
  description(options: Pick<RunOptions, 'files' | 'seed'>): readonly Uint8Array[];
}

/** Compiles what a session needs. Throws like {@link runCpp}. */
export async function compileSession(graph: StreamGraph, options: CppCompileOptions): Promise<SessionProgram> {
  const plan = planProgram(withMarks(graph), { ...defaultCppPlan, ...options });
  findCompiler(options.compiler);
  const { lines } = cppLimits;
  const program = cppProgram(plan, { mostUnits, mostLines: lines, capacities: mostOnChannels(plan) });
  const { locate } = await builder(options, lines)([program]);
  const passed = plan.externals.map(() => 0), counts = { init: [], steadyStates: 0, tail: [], passed };
  return {
    plan, sites: program.lowered.sites,
    locate: async () => [await locate(), ['-', '-', '0']],
    description: ({ files, seed }) => {
      const readers = plan.externals.filter(({ kind }) => kind === 'reader');
      const streams = inputArrays({ externals: readers }, undefined, files);
      const facts = { counts, streams, stopLines: Infinity, way: sessionNumber, words: new Int32Array(), mostPrinted: 2 ** 53 };
      const parts = runFile(plan, facts, { seed });
      const bytes = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
      return [new Uint8Array(BigInt64Array.of(BigInt(bytes)).buffer), ...parts];
    },
  };
}

/** How many lines of C++ {@link runCpp} compiles in one file: about twenty seconds of compile time. */
export const cppLimits = { lines: 40_000 };

/** How many files of a program are compiled at once. */
const mostUnits = availableParallelism();

/** Size of a source in characters beyond which full optimisation takes a compiler more than about ten seconds. */
const largeSource = 6e5;

type Build = (programs: readonly CppProgram[]) => Promise<Built>;

function builder(options: CppCompileOptions, mostLines = Infinity): Build {
  const mode = options.baseline === true ? 'baseline' : options.fast === true ? 'fast' : 'strict';
  return async (programs) => {
    const files = cppFiles(programs);
    const source = files.join('\n');
    const lines = source.split('\n').length;
    if (lines > mostLinesIn(files.length, mostLines)) throw new LargeProgram(lines);
    const effort = options.effort ?? (mode !== 'baseline' && source.length > largeSource ? 1 : 3);
    const isLong = programs.some((each) => each.isLong);
    const sources = { cache: 'stream', program: files, headers: cppHeaders(), runtime: cppRuntime() } as const;
    const locate = async () => {
      const more = mode === 'strict' ? await gccArguments(isLong, options.compiler) : [];
      return compileSources(sources, [...compilerArguments(mode, effort), ...more], options);
    };
    return { programs, source, path: await locate(), locate };
  };
}

interface Built {
  readonly programs: readonly CppProgram[];
  readonly source: string;
  readonly path: string;
  /** The program's path. Compiles it again if the file is no longer the one that was made. */
  readonly locate: () => Promise<string>;
}
interface Numbered { readonly made: Built; readonly number: number }

/** Whether the arrays of some channel are too short. */
function isShort({ made, number }: Numbered, needed: readonly number[]): boolean {
  const { capacities } = elementAt(made.programs, number).lowered;
  return needed.some((items, channel) => items > elementAt(capacities, channel));
}

/** The maximum size in bytes of the channels that each thread of a run in pieces has of its own: they are next to its stack. */
const mostOwnBytes = 2 ** 21;

/**
 * The programs of a graph, for one thread and for several. Each is printed and compiled when it is first needed, and again for longer runs.
 */
class Programs {
  readonly #build: Build;
  readonly #plan: ProgramPlan;
  readonly #how: CppOptions;
  /** Plans by number of cores. */
  readonly #shared = new Map<number, ProgramPlan>();
  readonly #made = new Map<string, Numbered>();

  /** @param how options of the program for one thread */
  constructor(plan: ProgramPlan, build: Build, how: CppOptions, own?: Numbered) {
    this.#plan = plan;
    this.#build = build;
    this.#how = how;
    if (own !== undefined) this.#made.set('alone', own);
  }

  /** The program for one thread. */
  get own(): Built {
    return required(this.#made.get('alone')).made;
  }

  async run(run: PreparedRun, options: ThreadOptions & { threads: number }): Promise<CppRunResult> {
    const { channels } = this.#plan.graph;
    const bytes = run.counts.peaks.reduce((sum, items, id) => sum + 4 * items * typeBytes(elementAt(channels, id).type), 0);
    const pieces = options.pieces !== false && bytes <= mostOwnBytes;
    const way = wayOf(this.#plan, () => this.#sharedBy(options.threads), run, { ...options, pieces }, 'cpp');
    return execute(way, await this.#program(way), run, options);
  }

  #sharedBy(cores: number): ProgramPlan {
    let plan = this.#shared.get(cores);
    if (plan !== undefined) return plan;
    // With vectorised code, short parts of slices are not worth the cost of finding their place.
    const blockBytes = 8 / 3 * this.#plan.options.blockBytes;
    this.#shared.set(cores, plan = planProgram(this.#plan.whole().graph, { ...this.#plan.options, forCores: cores, blockBytes }));
    return plan;
  }

  async #program({ plan, kind, capacities }: Way): Promise<Numbered> {
    const key = kind === 'launches' ? `launches ${plan.options.forCores}` : kind;
    const known = this.#made.get(key);
    if (known !== undefined && !isShort(known, capacities)) return known;
    const { mostLines } = this.#how;
    const how: CppOptions = kind === 'alone' ? this.#how : { threads: kind, ...(mostLines === undefined ? {} : { mostLines }) };
    const made = { made: await this.#build([cppProgram(plan, { ...how, capacities })]), number: 0 };
    this.#made.set(key, made);
    return made;
  }
}

/** Blocks are padded to 64 bytes, so that arrays are aligned. */
class Blocks {
  readonly parts: Uint8Array[] = [];

  add(array: ArrayBufferView): void {
    this.parts.push(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    const rest = -array.byteLength & 63;
    if (rest > 0) this.parts.push(new Uint8Array(rest));
  }
}

/** What the description of a run says. */
interface RunFacts extends Pick<PreparedRun, 'streams' | 'stopLines'> {
  readonly counts: Pick<RunCounts, 'init' | 'steadyStates' | 'tail' | 'passed'>;
  readonly way: number;
  readonly words: Int32Array;
  readonly mostPrinted: number;
}

/** The description of a run, as runtime/run.h reads it. */
function runFile(
  { externals }: ProgramPlan, { counts, streams, stopLines, way, words, mostPrinted: most }: RunFacts,
  { maxTurns = mostTurns, seed = 1 }: RunOptions,
): Uint8Array[] {
  const blocks = new Blocks();
  const limit = stopLines === Infinity ? 2n ** 60n : BigInt(stopLines);
  blocks.add(BigInt64Array.from([
    BigInt(counts.steadyStates), limit, BigInt(maxTurns), BigInt(seed | 0), BigInt(counts.init.length), BigInt(counts.tail.length),
    BigInt(words.length), BigInt(way), BigInt(most), ...Array.from({ length: 7 }, () => 0n),
  ]));
  const items = externals.map(({ id }, i) => BigInt(streams.get(id)?.items ?? elementAt(counts.passed, i)));
  blocks.add(BigInt64Array.from([...items, 0n]));
  for (const steps of [counts.init, counts.tail]) blocks.add(Int32Array.from(steps.flatMap(({ actor, count }) => [actor, count])));
  blocks.add(words);
  for (const { id } of externals) {
    const { arrays = {} } = streams.get(id) ?? {};
    for (const scalar of kinds) if (arrays[scalar] !== undefined) blocks.add(arrays[scalar]);
  }
  return blocks.parts;
}

async function writeParts(path: string, parts: readonly Uint8Array[]): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for (const part of parts) await file.write(part);
  } finally {
    await file.close();
  }
}

async function execute(way: Way, { made, number }: Numbered, run: PreparedRun, options: ThreadOptions): Promise<CppRunResult> {
  const path = await made.locate();
  const folder = await withFiles('make a temporary folder', () => mkdtemp(join(tmpdir(), 'warploom-run-')));
  try {
    const [from, to] = [join(folder, 'input'), join(folder, 'output')];
    const facts = { ...run, way: wayNumbers[way.kind], words: way.words, mostPrinted };
    await withFiles('write what the program is given', () => writeParts(from, runFile(way.plan, facts, options)));
    const done = await runChild(path, [from, to, String(number)], {
      cwd: folder, env: { TMPDIR: folder }, timeout: options.timeout ?? 600_000, signal: options.signal,
    });
    if (done.code !== 0) {
      const reason = done.code === 3 ? 'could not start so many threads' : done.reason;
      throw new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `the compiled program ${reason}`);
    }
    const bytes = await withFiles('read what the program gave', () => readFile(to));
    return readResult(way.plan, elementAt(made.programs, number), run, bytes);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function readResult(plan: ProgramPlan, { lowered: { sites } }: CppProgram, run: PreparedRun, bytes: Buffer): CppRunResult {
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  const [status, site, value, nanoseconds, records, , processor] = leading(new Float64Array(buffer, 0, 8), 7);
  if (status !== 0) throw faultError(plan.graph, sites[site], value);
  const printed = textOf(sites, recordsOf(new Float64Array(buffer, 64, records)), plan.steady);
  let at = 64 + 8 * records;
  const streams = new Map<number, StreamArrays>();
  plan.externals.forEach(({ id, type }, i) => {
    if (run.streams.has(id)) return;
    const counts = countsOf(type);
    streams.set(id, Object.fromEntries(kindsIn(counts).map((kind) => {
      const array = makeArray(kind, counts[kind] * elementAt(run.counts.passed, i));
      new Uint8Array(array.buffer).set(new Uint8Array(buffer, at, array.byteLength));
      at += array.byteLength;
      return [kind, array];
    })));
  });
  return { ...resultOf(plan, run, streams, printed, nanoseconds / 1e6), processorMilliseconds: processor / 1e6 };
}

/** The printed records: for each text, its site and its values. */
export function* recordsOf(numbers: Float64Array): Generator<[site: number, values: Float64Array]> {
  for (let at = 0; at < numbers.length;) {
    const end = at + 2 + elementAt(numbers, at + 1);
    yield [elementAt(numbers, at), numbers.subarray(at + 2, end)];
    at = end;
  }
}
