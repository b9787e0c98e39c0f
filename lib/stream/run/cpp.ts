// Programs as C++: compiled by the system's compiler, run in a child process that a fault cannot take beyond itself.
import { mkdtemp, readFile, rm, open } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { WarploomError } from '../../core/errors.ts';
import { mostPrinted } from '../interpret/engine.ts';
import { countsOf, kinds, makeArray } from '../plan/layout.ts';
import { planProgram, type PlanOptions, type ProgramPlan } from '../plan/plan.ts';
import {
  cppFiles, cppHeaders, cppProgram, cppRuntime, LargeProgram, mostLinesIn, type CppOptions, type CppProgram,
} from '../targets/cpp.ts';
import { typeBytes } from '../interpret/values.ts';
import type { StreamGraph } from '../graph.ts';
import { withFiles } from './cache.ts';
import { runChild } from './child.ts';
import { compilerArguments, compileSources, findCompiler, gccArguments, type CompilerOptions } from './compiler.ts';
import { faultError } from './fault.ts';
import { launchesFor, pieceCuts } from './launch.ts';
import { stopsByLines, textOf, withMarks } from './marks.ts';
import { mostTurns, prepareRun, resultOf, type PreparedRun, type RunResult, type ThreadOptions } from './prepare.ts';
import { cutRun } from './split.ts';
import type { StreamArrays } from './streams.ts';
import { launchWords, pieceWords, wayNumbers } from './words.ts';

export interface CppCompileOptions extends PlanOptions, CompilerOptions, Pick<CppOptions, 'shareFrom'> {
  /** Single-appearance schedule, one FIFO array per channel, nothing fused, -O3: what the original compiler does. */
  readonly baseline?: boolean;
}

/** What a run of a compiled program gives. */
export interface CppRunResult extends RunResult {
  /** As `milliseconds`, but what all processors together worked for the run, whatever else the machine did. */
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
 * Compiles a graph with the system's C++ compiler. Throws NoCompilerError where there is none, UnsupportedProgram and ScheduleError as
 * compileJs does. A run throws StreamRunError where the program goes wrong, WarploomError (ERR_WARPLOOM_SYSTEM_FAILED) where the process
 * dies or takes too long.
 */
export async function compileCpp(graph: StreamGraph, options: CppCompileOptions = {}): Promise<CompiledCpp> {
  return (await compileCppTogether([graph], options))[0]!;
}

/** Compiles several graphs in one go, as one file: quicker for many small ones. */
export async function compileCppTogether(graphs: readonly StreamGraph[], options: CppCompileOptions = {}): Promise<CompiledCpp[]> {
  const plans = graphs.map((graph) => planProgram(withMarks(graph), { ...defaultCppPlan, ...options }));
  const baseline = options.baseline === true;
  const build = builder(options);
  const shareFrom = options.shareFrom === undefined ? {} : { shareFrom: options.shareFrom };
  const made = await build(plans.map((plan) => cppProgram(plan, { baseline, mostUnits, ...shareFrom })));
  return plans.map((plan, number) => {
    let own: Numbered = { made, number };
    const threaded = new Threaded(plan, build);
    return {
      plan,
      get source() { return own.made.source; },
      get path() { return own.made.path; },
      async run(input, runOptions = {}) {
        const { threads = 1 } = runOptions;
        const run = prepareRun(plan, input, runOptions);
        const way = threads === 1 || baseline ? undefined : threaded.wayOf(run, { ...runOptions, threads });
        if (way !== undefined) return execute(plan, await threaded.program(way), { ...run, words: way.words }, runOptions);
        if (isShort(own, run.counts.peaks)) {
          own = { made: await build([cppProgram(plan, { baseline, mostUnits, capacities: run.counts.peaks, ...shareFrom })]), number: 0 };
        }
        return execute(plan, own, run, runOptions);
      },
    };
  });
}

/**
 * Compiles what one run needs, for `threads` or as many as `choose` says, and runs it. Errors as for {@link compileCpp} and its runs, and
 * LargeProgram.
 */
export async function runCpp(
  graph: StreamGraph, input: ArrayLike<number> | undefined, options: CppCompileOptions, runOptions: ThreadOptions,
  choose: (plan: ProgramPlan) => number,
): Promise<RunResult> {
  const plan = planProgram(withMarks(graph), { ...defaultCppPlan, ...options });
  const build = builder(options, cppLimits.lines);
  findCompiler(options.compiler);
  const threads = runOptions.threads ?? choose(plan);
  const run = prepareRun(plan, input, runOptions);
  const threaded = new Threaded(plan, build, cppLimits.lines);
  const way = threads === 1 ? undefined : threaded.wayOf(run, { ...runOptions, threads });
  const own = async (): Promise<Numbered> => {
    const program = cppProgram(plan, { capacities: run.counts.peaks, mostUnits, mostLines: cppLimits.lines });
    return { made: await build([program]), number: 0 };
  };
  const { processorMilliseconds: _, ...result } = await (way === undefined ? execute(plan, await own(), run, runOptions)
    : execute(plan, await threaded.program(way), { ...run, words: way.words }, runOptions));
  return result;
}

/** Lines of C++ that {@link runCpp} has compiled in one file: about twenty seconds of a compiler's time. */
export const cppLimits = { lines: 40_000 };

/** Files of a program that are compiled at once. */
const mostUnits = availableParallelism();

/** Characters of a source from which on a compiler takes more than some ten seconds to do its best. */
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
    const more = (): string[] => (mode === 'strict' ? gccArguments(programs.some(({ isLong }) => isLong), options.compiler) : []);
    const sources = { program: files, headers: cppHeaders(), runtime: cppRuntime() };
    const locate = () => compileSources(sources, [...compilerArguments(mode, effort), ...more()], options);
    return { programs, source, path: await locate(), locate };
  };
}

interface Built {
  readonly programs: readonly CppProgram[];
  readonly source: string;
  readonly path: string;
  /** The program's path, compiled anew if what is there is no longer what was made. */
  readonly locate: () => Promise<string>;
}
interface Numbered { readonly made: Built; readonly number: number }

/** Whether some channel's arrays are too short. */
function isShort({ made, number }: Numbered, needed: readonly number[]): boolean {
  const { capacities } = made.programs[number]!.lowered;
  return needed.some((items, channel) => items > capacities[channel]!);
}

/** How a run uses several threads. */
interface Way {
  readonly plan: ProgramPlan;
  readonly threads: 'launches' | 'pieces';
  readonly words: Int32Array;
  /** Items that channels must hold. */
  readonly needed: readonly number[];
}

/** Most bytes of channels that each thread of a run in pieces has of its own: they lie beside its stack. */
const mostOwnBytes = 2 ** 21;

/** The programs for several threads, each written and compiled when first wanted. */
class Threaded {
  readonly #build: Build;
  readonly #plan: ProgramPlan;
  readonly #mostLines: number;
  /** Plans by number of cores. */
  readonly #shared = new Map<number, ProgramPlan>();
  readonly #own = new Map<ProgramPlan, Numbered>();

  constructor(plan: ProgramPlan, build: Build, mostLines = Infinity) {
    this.#plan = plan;
    this.#mostLines = mostLines;
    this.#build = build;
  }

  /** Pieces where the program has no state, else launches; undefined where one thread does as well. */
  wayOf({ counts, amount, lines }: PreparedRun, options: ThreadOptions & { threads: number }): Way | undefined {
    if (lines !== Infinity) return undefined;
    const { graph } = this.#plan;
    const bytes = counts.peaks.reduce((sum, items, id) => sum + 4 * items * typeBytes(graph.channels[id]!.type), 0);
    const cannot = options.pieces === false || bytes > mostOwnBytes;
    const pieces = cannot ? [] : cutRun(this.#plan, amount, counts, pieceCuts(this.#plan, options, 'cpp'));
    if (pieces.length > 1) {
      const needed = graph.channels.map(({ id }) => Math.max(...pieces.map((piece) => piece.counts.peaks[id]!)));
      return { plan: this.#plan, threads: 'pieces', words: pieceWords(pieces, options.threads), needed };
    }
    const shared = this.#sharedBy(options.threads);
    const launches = launchesFor(shared, counts, options, 'cpp');
    if (launches === undefined) return undefined;
    const words = launchWords(launches, shared.groups.map(({ iterations }) => iterations));
    return { plan: shared, threads: 'launches', words, needed: launches.capacities.map((items, id) => Math.max(items, counts.peaks[id]!)) };
  }

  #sharedBy(cores: number): ProgramPlan {
    let plan = this.#shared.get(cores);
    if (plan !== undefined) return plan;
    // Vectors make short parts of slices not worth finding their places.
    const blockBytes = 8 / 3 * this.#plan.options.blockBytes;
    this.#shared.set(cores, plan = planProgram(this.#plan.graph, { ...this.#plan.options, forCores: cores, blockBytes }));
    return plan;
  }

  async program({ plan, threads, needed }: Way): Promise<Numbered> {
    const known = this.#own.get(plan);
    if (known !== undefined && !isShort(known, needed)) return known;
    const own = { made: await this.#build([cppProgram(plan, { threads, capacities: needed, mostLines: this.#mostLines })]), number: 0 };
    this.#own.set(plan, own);
    return own;
  }
}

/** A run, and what several threads are told. */
interface Prepared extends PreparedRun {
  readonly words?: Int32Array;
}

/** Files go in 64-byte steps, so that arrays are aligned. */
class Blocks {
  readonly parts: Uint8Array[] = [];

  add(array: ArrayBufferView): void {
    this.parts.push(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    const rest = -array.byteLength & 63;
    if (rest > 0) this.parts.push(new Uint8Array(rest));
  }
}

/** The file of a run, as runtime/stream.cpp reads it. */
function runFile(
  plan: ProgramPlan, threads: CppOptions['threads'], { counts, streams, lines, words = new Int32Array(0) }: Prepared,
  options: ThreadOptions,
): Uint8Array[] {
  const blocks = new Blocks();
  const limit = lines === Infinity || !stopsByLines(plan.graph) ? 2n ** 60n : BigInt(lines);
  blocks.add(BigInt64Array.from([
    BigInt(counts.steadyStates), limit, BigInt(options.maxTurns ?? mostTurns), BigInt((options.seed ?? 1) | 0), BigInt(counts.init.length),
    BigInt(counts.tail.length), BigInt(words.length), BigInt(wayNumbers[threads ?? 'alone']), BigInt(mostPrinted),
    ...Array.from({ length: 7 }, () => 0n),
  ]));
  blocks.add(BigInt64Array.from([...plan.externals.map(({ id, kind }, i) =>
    BigInt(kind === 'input' || kind === 'reader' ? streams.get(id)!.items : counts.passed[i]!)), 0n]));
  for (const steps of [counts.init, counts.tail]) blocks.add(Int32Array.from(steps.flatMap(({ actor, count }) => [actor, count])));
  blocks.add(words);
  for (const { id, kind } of plan.externals) {
    if (kind !== 'input' && kind !== 'reader') continue;
    const { arrays } = streams.get(id)!;
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

async function execute(
  plan: ProgramPlan, { made, number }: Numbered, run: Prepared, options: ThreadOptions,
): Promise<CppRunResult> {
  const path = await made.locate();
  const folder = await withFiles('make a temporary folder', () => mkdtemp(join(tmpdir(), 'warploom-run-')));
  try {
    const [from, to] = [join(folder, 'input'), join(folder, 'output')];
    await withFiles('write what the program is given', () => writeParts(from, runFile(plan, made.programs[number]!.threads, run, options)));
    const done = await runChild(path, [from, to, String(number)], {
      cwd: folder, env: { TMPDIR: folder }, timeout: options.timeout ?? 600_000, signal: options.signal,
    });
    if (done.code !== 0) {
      const reason = done.code === 3 ? 'could not start so many threads' : done.reason;
      throw new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `the compiled program ${reason}`);
    }
    const bytes = await withFiles('read what the program gave', () => readFile(to));
    return readResult(plan, made.programs[number]!, run, bytes);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function readResult(plan: ProgramPlan, { lowered: { sites } }: CppProgram, run: PreparedRun, bytes: Buffer): CppRunResult {
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  const [status, site, value, nanoseconds, records, , processor] = new Float64Array(buffer, 0, 8) as unknown as
    [number, number, number, number, number, number, number];
  if (status !== 0) {
    if (site < 0) throw new WarploomError('ERR_WARPLOOM_INTERNAL', `channel ${value} holds more items than planned`);
    throw faultError(plan.graph, sites[site]!, value);
  }
  const printed = textOf(sites, recordsOf(new Float64Array(buffer, 64, records)), plan.steady);
  let at = 64 + 8 * records;
  const streams = new Map<number, StreamArrays>();
  plan.externals.forEach(({ id, kind, type }, i) => {
    if (kind === 'input' || kind === 'reader') return;
    const arrays: StreamArrays = {};
    for (const scalar of kinds) {
      const count = countsOf(type)[scalar] * run.counts.passed[i]!;
      if (countsOf(type)[scalar] === 0) continue;
      const array = arrays[scalar] = makeArray(scalar, count);
      new Uint8Array(array.buffer).set(new Uint8Array(buffer, at, array.byteLength));
      at += array.byteLength;
    }
    streams.set(id, arrays);
  });
  return { ...resultOf(plan, run, streams, printed, nanoseconds / 1e6), processorMilliseconds: processor / 1e6 };
}

/** What was printed: for each text its site, the number of its values, and these. */
function* recordsOf(numbers: Float64Array): Generator<[site: number, values: Float64Array]> {
  for (let at = 0; at < numbers.length;) {
    const end = at + 2 + numbers[at + 1]!;
    yield [numbers[at]!, numbers.subarray(at + 2, end)];
    at = end;
  }
}
