// Programs as C++: compiled by the system's compiler, run in a child process that a fault cannot take beyond itself.
import { mkdtemp, readFile, rm, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ArgumentError, WarploomError } from '../../core/errors.ts';
import { ratesOf } from '../elaborate/to-sdf.ts';
import { firstLines } from '../interpret/engine.ts';
import { scalarCount } from '../interpret/values.ts';
import { countRun, type RunCounts } from '../emit/counts.ts';
import { cppFile, emitCpp, type CppProgram } from '../emit/emit-cpp.ts';
import { countsOf, kinds, makeArray } from '../emit/layout.ts';
import { planProgram, type PlanOptions, type ProgramPlan } from '../emit/plan.ts';
import type { StreamGraph } from '../graph.ts';
import { compilerArguments, compileSource, runChild, type CompilerOptions } from './compiler.ts';
import { faultError } from './fault.ts';
import { amountOf, isPrintingOnly, type RunOptions, type RunResult } from './js.ts';
import { cutRun, isCuttable, type Piece } from './split.ts';
import { fileOf, inputArrays, joinItems, printedText, type Scalars, type StreamArrays } from './streams.ts';

export interface CppCompileOptions extends PlanOptions, CompilerOptions {
  /** Single-appearance schedule, one FIFO array per channel, nothing fused, -O3: what the original compiler does. */
  readonly baseline?: boolean;
}

export interface CppRunOptions extends RunOptions {
  /** Milliseconds that the run may take; default 600 000. */
  readonly timeout?: number;
  /** Processes that share the work of a program without state; default 1. */
  readonly threads?: number;
  readonly signal?: AbortSignal;
}

/** A program compiled to machine code. */
export interface CompiledCpp {
  readonly plan: ProgramPlan;
  readonly source: string;
  /** The compiled program. */
  readonly path: string;
  /** Runs the program from its start in a child process. `input`: scalars of the items on the open input. */
  run(input?: ArrayLike<number>, options?: CppRunOptions): Promise<RunResult>;
}

export const defaultCppPlan: PlanOptions = { groupSize: 6000, filterSize: 1500, blockBytes: 24576 };

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
  const plans = graphs.map((graph) => planProgram(graph, { ...defaultCppPlan, ...options }));
  const baseline = options.baseline === true;
  const mode = baseline ? 'baseline' : options.fast === true ? 'fast' : 'strict';
  const build = async (programs: readonly CppProgram[]): Promise<Built> => {
    const source = cppFile(programs);
    return { programs, source, path: await compileSource(source, compilerArguments(mode, options.effort), options) };
  };
  const made = await build(plans.map((plan) => emitCpp(plan, { baseline })));
  return plans.map((plan, number) => {
    let own = { made, number };
    return {
      plan,
      get source() { return own.made.source; },
      get path() { return own.made.path; },
      async run(input, runOptions = {}) {
        const pieces = piecesOf(plan, input, runOptions);
        if (pieces.length > 1) return runPieces(this, pieces, input!, runOptions);
        const run = prepare(plan, input, runOptions);
        const { capacities } = own.made.programs[own.number]!.text;
        if (run.counts.peaks.some((peak, channel) => peak > capacities[channel]!)) {
          own = { made: await build([emitCpp(plan, { baseline, capacities: run.counts.peaks })]), number: 0 };
        }
        return execute(plan, own, run, runOptions);
      },
    };
  });
}

interface Built {
  readonly programs: readonly CppProgram[];
  readonly source: string;
  readonly path: string;
}

function piecesOf(plan: ProgramPlan, input: ArrayLike<number> | undefined, options: CppRunOptions): Piece[] {
  const { threads = 1 } = options;
  if (!Number.isInteger(threads) || threads < 1 || threads > 1024) {
    throw new ArgumentError('options.threads', `expected an integer from 1 to 1024, received ${threads}`);
  }
  if (threads === 1 || input === undefined || !isCuttable(plan)) return [];
  const items = Math.floor(input.length / scalarCount(plan.externals[0]!.type));
  return cutRun(plan, amountOf(plan, input, items, options), threads);
}

/** Runs the pieces of a run in processes of their own. */
async function runPieces(program: CompiledCpp, pieces: readonly Piece[], input: ArrayLike<number>,
  options: CppRunOptions): Promise<RunResult> {
  const { plan } = program;
  const [given, made] = plan.externals;
  const numbers = ArrayBuffer.isView(input) ? input as Scalars : Float64Array.from(input);
  const size = scalarCount(given!.type);
  const window = ratesOf(plan.graph.nodes[given!.node]!, 0).peek;
  const { iterations: _, ...rest } = options;
  const results = await Promise.all(pieces.map(({ inputFrom, outputItems, counts }) => program.run(
    numbers.subarray(inputFrom * size, (inputFrom + counts.passed[0]! + window) * size), { ...rest, threads: 1, items: outputItems })));
  const total = pieces.reduce((sum, { outputItems }) => sum + outputItems, 0);
  const output = results[0]!.output.constructor === Int32Array ? new Int32Array(total * scalarCount(made!.type))
    : results[0]!.output instanceof Float32Array ? new Float32Array(total * scalarCount(made!.type))
      : new Float64Array(total * scalarCount(made!.type));
  results.forEach((result, i) => output.set(result.output, pieces[i]!.outputFrom * scalarCount(made!.type)));
  return {
    output, printed: '', files: {}, firings: plan.graph.nodes.map((_node, id) =>
      results.reduce((sum, { firings }) => sum + firings[id]!, 0)),
    exhausted: options.items === undefined && options.iterations === undefined,
    milliseconds: Math.max(...results.map(({ milliseconds }) => milliseconds)),
  };
}

interface Prepared {
  readonly counts: RunCounts;
  readonly streams: Map<number, { arrays: StreamArrays; items: number }>;
  readonly lines: number;
}

function prepare(plan: ProgramPlan, input: ArrayLike<number> | undefined, options: CppRunOptions): Prepared {
  const streams = inputArrays(plan, { input, files: options.files ?? {} });
  const given = plan.externals.find(({ kind }) => kind === 'input');
  const amount = amountOf(plan, input, given === undefined ? Infinity : streams.get(given.id)!.items, options);
  const isPrinting = amount.items !== undefined && isPrintingOnly(plan);
  const counts = countRun(plan, isPrinting ? { input: amount.input, iterations: 2 ** 40 } : amount);
  const most = plan.externals.reduce((largest, { type, kind, id }, i) => {
    const items = kind === 'input' || kind === 'reader' ? streams.get(id)!.items : counts.passed[i]!;
    return Math.max(largest, ...kinds.map((scalar) => items * countsOf(type)[scalar]));
  }, 0);
  if (most >= 2 ** 31) throw new ArgumentError('options.items',
    `one run moves at most ${2 ** 31 - 1} scalars through a stream, this one ${most}`);
  return { counts, streams, lines: isPrinting ? amount.items! : Infinity };
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

function runFile(plan: ProgramPlan, { counts, streams, lines }: Prepared, options: CppRunOptions): Uint8Array[] {
  const blocks = new Blocks();
  const limit = lines === Infinity ? 2n ** 60n : BigInt(lines);
  blocks.add(BigInt64Array.from([
    BigInt(counts.steadyStates), limit, BigInt(options.maxTurns ?? 1e9), BigInt((options.seed ?? 1) | 0), BigInt(counts.init.length),
    BigInt(counts.tail.length), 0n, 0n,
  ]));
  blocks.add(BigInt64Array.from([...plan.externals.map(({ id, kind }, i) =>
    BigInt(kind === 'input' || kind === 'reader' ? streams.get(id)!.items : counts.passed[i]!)), 0n]));
  for (const steps of [counts.init, counts.tail]) blocks.add(Int32Array.from(steps.flatMap(({ actor, count }) => [actor, count])));
  for (const { id, kind } of plan.externals) {
    if (kind !== 'input' && kind !== 'reader') continue;
    const { arrays } = streams.get(id)!;
    for (const scalar of kinds) if (arrays[scalar] !== undefined) blocks.add(arrays[scalar]);
  }
  return blocks.parts;
}

async function execute(
  plan: ProgramPlan, { made, number }: { made: Built; number: number }, run: Prepared, options: CppRunOptions,
): Promise<RunResult> {
  const folder = await mkdtemp(join(tmpdir(), 'warploom-run-'));
  try {
    const [from, to] = [join(folder, 'input'), join(folder, 'output')];
    const file = await open(from, 'wx', 0o600);
    for (const part of runFile(plan, run, options)) await file.write(part);
    await file.close();
    const done = await runChild(made.path, [from, to, String(number)], {
      cwd: folder, timeout: options.timeout ?? 600_000, ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    if (done.code !== 0) throw new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `the compiled program ${done.reason}`);
    return readResult(plan, made.programs[number]!, run, await readFile(to));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function readResult(plan: ProgramPlan, { text }: CppProgram, { counts, lines }: Prepared, bytes: Buffer): RunResult {
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  const [status, site, value, nanoseconds, records] = new Float64Array(buffer, 0, 8) as unknown as [number, number, number, number, number];
  if (status !== 0) {
    if (site < 0) throw new WarploomError('ERR_WARPLOOM_INTERNAL', `channel ${value} holds more items than planned`);
    throw faultError(plan.graph, text.sites[site]!, value);
  }
  const printed = printedRecords(text, new Float64Array(buffer, 64, records));
  let at = 64 + 8 * records;
  const streams = new Map<number, StreamArrays>();
  plan.externals.forEach(({ id, kind, type }, i) => {
    if (kind === 'input' || kind === 'reader') return;
    const arrays: StreamArrays = {};
    for (const scalar of kinds) {
      const count = countsOf(type)[scalar] * counts.passed[i]!;
      if (countsOf(type)[scalar] === 0) continue;
      const array = arrays[scalar] = makeArray(scalar, count);
      new Uint8Array(array.buffer).set(new Uint8Array(buffer, at, array.byteLength));
      at += array.byteLength;
    }
    streams.set(id, arrays);
  });
  const items = (id: number) => counts.passed[plan.externals.findIndex((each) => each.id === id)]!;
  const output = plan.externals.find(({ kind }) => kind === 'output');
  return {
    output: output === undefined ? new Float32Array(0) : joinItems(streams.get(output.id)!, output.type, items(output.id)),
    printed: lines === Infinity ? printed : firstLines(printed, lines),
    files: Object.fromEntries(plan.externals.filter(({ kind }) => kind === 'writer').map((each) =>
      [each.path, fileOf(each, streams.get(each.id)!, items(each.id))])),
    firings: counts.firings, exhausted: counts.exhausted, milliseconds: nanoseconds / 1e6,
  };
}

function printedRecords(text: CppProgram['text'], records: Float64Array): string {
  const pieces: string[] = [];
  for (let at = 0; at < records.length;) {
    const count = records[at + 1]!;
    pieces.push(printedText(text.sites[records[at]!]!, records.subarray(at + 2, at + 2 + count)));
    at += 2 + count;
  }
  return pieces.join('');
}
