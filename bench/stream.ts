// Throughput of the twelve programs, one thread and all cores, beside the baseline and the original compiler. Rows, items of output
// a second:
//   stream/<program>/baseline    C++ as the original compiler writes it: one FIFO per channel, nothing fused, -O3
//   stream/<program>/cpp1        C++ back end, one thread, floats as written; cpp1-fast: floats may be reordered
//   stream/<program>/wasm1       WebAssembly, one thread
//   stream/<program>/cppN, wasmN   the same on all cores; cpp-cores, wasm-cores: what that gains, by core
//   stream/<program>/copies      cpp1 as often at once as there are cores, in processes of their own: what the machine can give;
//                                machine-cores: what that gains, by core
//   stream/<program>/compile     seconds of parsing, checking, elaboration and heuristic scheduling
//   stream/all/…                 geometric means and counts of the goals
//   stream/style/…               programs in the original style: stream-styles.ts
// Rates of one thread are by the processor's time, all others and what a core gains by the clock.
// Input is random, outputs go to arrays that are read: nothing can be folded or left out.
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { benchmarkPrograms, randomInput, type BenchmarkProgram } from '../examples/stream/programs.ts';
import { elaborate } from '../lib/stream/compile.ts';
import { toSdf } from '../lib/stream/elaborate/to-sdf.ts';
import type { StreamGraph } from '../lib/stream/graph.ts';
import { assignToCores, partitionTasks } from '../lib/stream/partition/index.ts';
import { estimateCosts } from '../lib/stream/profile/estimate.ts';
import { compileCpp } from '../lib/stream/run/cpp.ts';
import { compileWasm } from '../lib/stream/run/wasm.ts';
import type { RunResult } from '../lib/stream/run/prepare.ts';
import { steadyState } from '../lib/stream/schedule/index.ts';
import type { HostContext } from './domain.ts';
import type { Row } from './report.ts';
import { geomean, summarise } from './statistics.ts';
import { stylePrograms, styleText } from './stream-styles.ts';
import { anchorOf, madeUpCosts, programGraph, programText } from './stream-programs.ts';

type Input = Int32Array | Float32Array;
type Outcome = Pick<RunResult, 'milliseconds'> & { readonly output: { readonly length: number }; readonly processorMilliseconds?: number };
type Runner = (input: Input) => Outcome | Promise<Outcome>;

/** Ways to run a program, in the order of their rows. */
const methods = ['baseline', 'cpp1-fast', 'copies', 'cpp1', 'cppN', 'wasm1', 'wasmN'] as const;
type Method = typeof methods[number];

/** Programs whose work is arithmetic rather than moving items: where all cores must tell. */
export const computeHeavy: readonly string[] = ['channel-vocoder', 'dct', 'filterbank', 'fm-radio', 'mpeg2-subset', 'tde'];

const cores = availableParallelism();
/** Most items of one input. */
const mostItems = 16e6;

async function compileRunner(graph: StreamGraph, method: Method): Promise<Runner> {
  if (method === 'wasm1') {
    const program = compileWasm(graph);
    return (input) => {
      const begin = process.cpuUsage();
      const done = program.run(input);
      const { user, system } = process.cpuUsage(begin);
      // What runs beside it, the engine's compiler say, counts too.
      return { ...done, processorMilliseconds: Math.min((user + system) / 1e3, done.milliseconds) };
    };
  }
  if (method === 'wasmN') {
    const program = compileWasm(graph);
    return (input) => program.runAside(input, { threads: cores });
  }
  const program = await compileCpp(graph, { baseline: method === 'baseline', fast: method === 'cpp1-fast' });
  if (method !== 'copies') return (input) => program.run(input, method === 'cppN' ? { threads: cores } : {});
  return async (input) => {
    const all = await Promise.all(Array.from({ length: cores }, () => program.run(input, {})));
    return { output: { length: cores * all[0]!.output.length }, milliseconds: Math.max(...all.map(({ milliseconds }) => milliseconds)) };
  };
}

/** What is timed: a program, with input for long runs. */
export interface Subject {
  readonly name: string;
  readonly graph: StreamGraph;
  /** Items per steady state. */
  readonly inputItems: number;
  readonly outputItems: number;
  readonly all: Input;
  /** Items of output a second that it gives at least, about. */
  readonly slowest: number;
}

/** Items of input for long runs, in whole steady states. */
export const itemsFor = (inputItems: number, quick: boolean): number => inputItems * Math.ceil((quick ? 1e4 : mostItems) / inputItems);

/** The first part of the input, for a run of about so many seconds, in whole steady states. */
function inputFor(program: Subject, all: Input, itemsPerSecond: number): Input {
  const seconds = 0.3;
  const states = Math.max(20, Math.round(itemsPerSecond * seconds / program.outputItems));
  const most = Math.floor(Math.min(all.length, mostItems) / program.inputItems);
  return all.subarray(0, program.inputItems * Math.min(states, most));
}

/** Items of output in a second of a run. */
function rateOf({ output, milliseconds }: Outcome): number {
  return output.length / (milliseconds / 1e3);
}

/** As {@link rateOf}, on one thread by the processor's time, which others on the machine take nothing of. */
function ownRateOf(method: Method, outcome: Outcome): number {
  const { output, processorMilliseconds } = outcome;
  return isSingle(method) && processorMilliseconds !== undefined ? output.length / (processorMilliseconds / 1e3) : rateOf(outcome);
}

function isSingle(method: Method): boolean {
  return !method.endsWith('N') && method !== 'copies';
}

/** The best of the runs, for what else a shared machine does only ever takes time away, and how far they lie apart; rates by the clock. */
interface Measured { readonly best: number; readonly spread: number; readonly rates: readonly number[] }

/** Runs WebAssembly until it gets no quicker: the engine compiles it a second time beside the first runs, later on a busy machine. */
async function warm(method: Method, run: Runner, input: Input): Promise<void> {
  let best = 0;
  for (let trial = 0, since = 0; trial < 40 && since < 5; ++trial) {
    const rate = ownRateOf(method, await run(input));
    since = rate > 1.1 * best ? 0 : since + 1;
    best = Math.max(best, rate);
    await delay(100);
  }
}

/** Times all methods by turns, so that what else the machine does hits all of them. */
export async function measure(
  program: Subject, wanted: readonly Method[], { quick, say }: Pick<HostContext, 'quick' | 'say'>, repeats = 9,
): Promise<Map<Method, Measured>> {
  const { graph, all } = program;
  const runs: { method: Method; run: Runner; input: Input; rates: number[]; own: number[] }[] = [];
  for (const method of wanted) {
    try {
      const run = await compileRunner(graph, method);
      // Trials find how long the input must be, and warm the code.
      let rate = rateOf(await run(inputFor(program, all, program.slowest)));
      if (method.startsWith('wasm')) await warm(method, run, inputFor(program, all, rate / 4));
      for (let trial = 0; trial < 2; ++trial) rate = rateOf(await run(inputFor(program, all, rate / 2)));
      runs.push({ method, run, input: inputFor(program, all, rate), rates: [], own: [] });
    } catch (error) {
      say(`${program.name}/${method}: ${(error as Error).message}`);
    }
  }
  for (let repeat = 0; repeat < (quick ? 1 : repeats); ++repeat) {
    for (const each of runs) {
      const done = await each.run(each.input);
      each.rates.push(rateOf(done));
      each.own.push(ownRateOf(each.method, done));
    }
  }
  return new Map(runs.map(({ method, rates, own }) => [method, { best: Math.max(...own), spread: summarise(own).spread, rates }]));
}

function rowsOf(program: BenchmarkProgram, measured: Map<Method, Measured>): Row[] {
  const { original, best: highest } = anchorOf(program);
  const baseline = measured.get('baseline')?.best;
  return [...measured].map(([method, { best, spread }]): Row => {
    const one = { cppN: 'cpp1', copies: 'cpp1', wasmN: 'wasm1' } as const;
    const single = method in one ? measured.get(one[method as 'cppN'])?.best : undefined;
    const peers: Record<string, number> = method === 'baseline' ? { 'original, Cascade Lake': original } : {
      ...(baseline === undefined ? {} : { baseline }),
      ...(single !== undefined ? { 'one thread': single }
        : { 'original, Cascade Lake': original, 'original at its best, Cascade Lake': highest }),
    };
    return {
      id: `stream/${program.name}/${method}`, value: best, unit: 'items/s', spread, peers,
      ...(single === undefined ? {} : { note: method === 'copies' ? `${cores} processes` : `${cores} threads` }),
    };
  });
}

/** What all cores gain by core: the median over the rounds, in each of which one thread and all cores follow each other closely. */
function coreRows({ name }: BenchmarkProgram, measured: Map<Method, Measured>): Row[] {
  const pairs = [['cpp', 'cppN', 'cpp1'], ['wasm', 'wasmN', 'wasm1'], ['machine', 'copies', 'cpp1']] as const;
  return pairs.flatMap(([back, many, one]): Row[] => {
    const [all, single] = [measured.get(many)?.rates, measured.get(one)?.rates];
    if (all === undefined || single === undefined) return [];
    const { median, spread } = summarise(all.map((rate, i) => rate / single[i]! / cores));
    return [{ id: `stream/${name}/${back}-cores`, value: median, unit: 'ratio', spread, note: `${cores} threads` }];
  });
}

/** Seconds of our own stages, the first time in this process aside: the best of three. */
async function compileRow(program: BenchmarkProgram): Promise<Row> {
  const text = await programText(program.name);
  const seconds: number[] = [];
  for (let repeat = 0; repeat < 4; ++repeat) {
    const start = performance.now();
    const { graph } = await elaborate(text);
    const sdf = toSdf(graph), steady = steadyState(sdf), cpu = estimateCosts(graph);
    const costs = madeUpCosts({ graph: sdf, steady, cpu }, 1);
    assignToCores(sdf, steady, costs, { cores });
    partitionTasks({ graph: sdf, repetitions: steady.repetitions, costs, cores: 4, multiprocessors: 16 });
    seconds.push((performance.now() - start) / 1e3);
  }
  const [first, ...rest] = seconds;
  const { median, spread } = summarise(rest);
  return { id: `stream/${program.name}/compile`, value: median, unit: 's', spread, note: `first time ${first!.toFixed(3)} s` };
}

/** What the goals ask of all programs together. */
export function streamSummary(rows: readonly Row[]): Row[] {
  const value = (program: string, method: string): number | undefined =>
    rows.find(({ id }) => id === `stream/${program}/${method}`)?.value;
  const ratios = (names: readonly string[], of: (name: string) => number | undefined): number[] =>
    names.map(of).filter((ratio) => ratio !== undefined && Number.isFinite(ratio)) as number[];
  const names = benchmarkPrograms.map(({ name }) => name);
  const over = (method: string, peer: string) => (name: string) => {
    const [a, b] = [value(name, method), value(name, peer)];
    return a === undefined || b === undefined ? undefined : a / b;
  };
  const overOriginal = (method: string) => (name: string) => {
    const anchor = anchorOf(benchmarkPrograms.find((each) => each.name === name)!).original;
    return value(name, method) === undefined ? undefined : value(name, method)! / anchor;
  };
  const beaten = benchmarkPrograms.filter((program) => {
    const best = Math.max(value(program.name, 'cpp1') ?? 0, value(program.name, 'cpp1-fast') ?? 0);
    return best > anchorOf(program).best;
  });
  const row = (id: string, list: readonly number[], unit = 'ratio'): Row[] => (list.length === 0 ? [] : [
    { id: `stream/all/${id}`, value: geomean(list), unit, spread: 0, note: `${list.length} programs, geometric mean; least ${
      Math.min(...list).toFixed(2)}, most ${Math.max(...list).toFixed(2)}` }]);
  return [
    ...row('baseline-over-original', ratios(names, overOriginal('baseline'))),
    ...row('cpp1-over-baseline', ratios(names, over('cpp1', 'baseline'))),
    ...row('cpp1-fast-over-baseline', ratios(names, over('cpp1-fast', 'baseline'))),
    ...row('cpp1-over-original', ratios(names, overOriginal('cpp1'))),
    ...row('wasm1-over-baseline', ratios(names, over('wasm1', 'baseline'))),
    ...row('cpp-cores', ratios(computeHeavy, (name) => value(name, 'cpp-cores'))),
    ...row('wasm-cores', ratios(computeHeavy, (name) => value(name, 'wasm-cores'))),
    ...row('machine-cores', ratios(computeHeavy, (name) => value(name, 'machine-cores'))),
    { id: 'stream/all/above-best-original', value: beaten.length, unit: 'programs', spread: 0,
      note: `not: ${benchmarkPrograms.filter((program) => !beaten.includes(program)).map(({ name }) => name).join(', ') || 'none'}` },
  ];
}

/** Rows of the programs in the original style: a method's rate with the baseline's beside it, and what the goals ask of them. */
async function benchmarkStyles(context: HostContext): Promise<void> {
  const shares: Record<'cpp1' | 'wasm1', number[]> = { cpp1: [], wasm1: [] };
  for (const { name, inputItems, outputItems, input } of stylePrograms) {
    const id = `stream/style/${name}`;
    if (!context.wanted(`${id}/`)) continue;
    const { graph } = await elaborate(await styleText(name));
    const subject = { name, graph, inputItems, outputItems, all: input(itemsFor(inputItems, context.quick)), slowest: 2e6 };
    const measured = await measure(subject, ['baseline', 'cpp1', 'wasm1'], context);
    const baseline = measured.get('baseline')?.best;
    for (const [method, { best, spread }] of measured) {
      const isOther = method !== 'baseline' && baseline !== undefined;
      context.emit({ id: `${id}/${method}`, value: best, unit: 'items/s', spread, ...(isOther ? { peers: { baseline } } : {}) });
      if (!isOther || (method !== 'cpp1' && method !== 'wasm1')) continue;
      shares[method].push(best / baseline);
      context.emit({ id: `${id}/${method}-over-baseline`, value: best / baseline, unit: 'ratio', spread: 0 });
    }
  }
  for (const [method, list] of Object.entries(shares)) {
    if (list.length < stylePrograms.length) continue;
    context.emit({ id: `stream/style/all/${method}-over-baseline`, value: geomean(list), unit: 'ratio', spread: 0,
      note: `${list.length} programs, geometric mean; least ${Math.min(...list).toFixed(2)}` });
  }
}

/** The domain `stream`. */
export async function benchmarkStream(context: HostContext): Promise<void> {
  const rows: Row[] = [];
  const emit = (row: Row): void => {
    rows.push(row);
    context.emit(row);
  };
  const programs = benchmarkPrograms.filter(({ name }) => context.wanted(`stream/${name}/`));
  for (const program of context.quick ? programs.slice(0, 1) : programs) {
    emit(await compileRow(program));
    const graph = await programGraph(program.name);
    const all = randomInput(program, itemsFor(program.inputItems, context.quick));
    const measured = await measure({ ...program, graph, all, slowest: anchorOf(program).original / 4 }, methods, context);
    for (const row of [...rowsOf(program, measured), ...coreRows(program, measured)]) emit(row);
  }
  if (programs.length === benchmarkPrograms.length) for (const row of streamSummary(rows)) emit(row);
  await benchmarkStyles(context);
}
