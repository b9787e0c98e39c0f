// The twelve programs on a device that runs kernels, each as one fused kernel. Rows:
//   stream/<program>/auto        items of output a second with input and output on the device: its own seconds of launches of 2 GB of
//                                traffic (or 0.1 s); limit: by memory and by instructions, on an H200
//   stream/<program>/auto-host   the same of stream.run with arrays in JavaScript's memory and a new array as the result, by the clock,
//                                after five runs; first: of the first run of the compiled program; limit: what binds of the link, both
//                                ways at once as measured in this run from page-locked memory, and the kernel
//   stream/<program>/auto-pinned the same of a compiled program's run from pinned memory to pinned memory
//   stream/<program>/auto-fast   as auto, compiled with fast: true; its output is not compared, since its rounding differs
//   stream/<program>/auto-algebraic  with linear filters collapsed: stream-algebraic.ts
//   stream/<program>/compile     seconds from the text until the program can run, with an empty cache; cached: with what that left
//   stream/<program>/auto-host/many-N   many such runs at once: stream-many.ts
//   stream/geomean/auto          geometric mean over the baseline of the programs that ran
// and those of the schedules of chapter 3: stream-modes.ts, of chapter 4: stream-hybrid.ts, of its partitions: stream-gap.ts, and of
// Tables 2.1 and 4.1: stream-tables.ts, of shuffles: stream-shuffle.ts.
// peers.baseline: C++ as the original compiler writes it, on one thread by the processor's time. Every item that comes out is compared with
// what the CPU makes of the same input, bit for bit.
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { benchmarkPrograms, randomInput, type BenchmarkProgram } from '../examples/stream/programs.ts';
import type { Device } from '../lib/core/device.ts';
import { elaborate } from '../lib/stream/compile.ts';
import type { StreamGraph } from '../lib/stream/graph.ts';
import { compileCpp } from '../lib/stream/run/cpp.ts';
import { compileForDevice } from '../lib/stream/run/for-device.ts';
import { compileFused } from '../lib/stream/run/fused.ts';
import type { CompiledGpu } from '../lib/stream/run/gpu.ts';
import { run, type StreamRun } from '../lib/stream/run/index.ts';
import { Failures, type BenchContext } from './domain.ts';
import { deviceFolder } from './provenance.ts';
import type { Row } from './report.ts';
import { geomean, summarise } from './statistics.ts';
import { algebraicRow } from './stream-algebraic.ts';
import { itemsFor, measure } from './stream.ts';
import { bytesEach, StreamWork, type Items, type LaunchTiming } from './stream-device-work.ts';
import { gapRow, gapSummary, type Partitions } from './stream-gap.ts';
import { linkSeconds, measureLink, type Link } from './stream-link.ts';
import { HybridRows, hybridModes } from './stream-hybrid.ts';
import { manyNames, manyRow, manyRuns } from './stream-many.ts';
import { ModeRows, pipelineModes } from './stream-modes.ts';
import { anchorOf, programGraph, programText } from './stream-programs.ts';
import { benchmarkShuffles } from './stream-shuffle.ts';
import { benchmarkLayouts, benchmarkThreads } from './stream-tables.ts';

/** Bytes a second that an H200's memory moves at most. */
const h200MemoryRate = 4.22e12;
/** 1e9 items of output a second by an H200's arithmetic: 33.5e12 single-precision operations a second, or half as many of integers. */
const h200Instructions: Readonly<Record<string, number>> = {
  'bitonic': 2783, 'bitonic-rec': 2783, 'channel-vocoder': 4.85, 'dct': 478, 'des': 713, 'fft-coarse': 2233, 'fft-fine': 2680,
  'filterbank': 246, 'fm-radio': 20.3, 'matrix-mult': 1288, 'mpeg2-subset': 648, 'tde': 554,
};

/** Items of output a second that memory and arithmetic of an H200 allow at most. */
export function h200Bounds(name: string, bytesPerItem: number): { readonly memory: number; readonly instructions: number } {
  return { memory: h200MemoryRate / bytesPerItem, instructions: 1e9 * h200Instructions[name]! };
}

/** Items of output a second that the device allows at most; undefined where that is not known. */
export function roofline(device: Device, name: string, compiled: CompiledGpu): number | undefined {
  if (deviceFolder(device.backend, device.name) !== 'h200') return undefined;
  const { memory, instructions } = h200Bounds(name, bytesEach(compiled) / compiled.program.output.items);
  return Math.min(memory, instructions);
}

/** `limit` and `fraction` of a rate. */
export function shareOf(rate: number, limit: number | undefined): Pick<Row, 'limit' | 'fraction'> {
  return limit === undefined ? {} : { limit, fraction: rate / limit };
}

/** What the kernel of a program takes, for people. */
export function kernelNote({ kernel, program, warmStates }: CompiledGpu): string {
  const { threads, sharedBytes, states } = program;
  const spilled = kernel.localBytes === 0 ? '' : `, ${kernel.localBytes} bytes local`;
  return `${threads} threads, ${kernel.registers} registers${spilled}, ${sharedBytes} bytes shared, ${
    kernel.residentBlocks(threads, sharedBytes)} blocks resident, ${states} states a round${
    warmStates === 0 ? '' : `, ${warmStates} early`}`;
}

/** A cache folder of its own, empty at first. */
class OwnCache {
  readonly #folder = mkdtempSync(join(tmpdir(), 'warploom-cold-'));

  /** Has `work` compile with this folder. */
  async with<T>(work: () => Promise<T>): Promise<T> {
    const before = process.env['XDG_CACHE_HOME'];
    process.env['XDG_CACHE_HOME'] = this.#folder;
    try {
      return await work();
    } finally {
      if (before === undefined) delete process.env['XDG_CACHE_HOME'];
      else process.env['XDG_CACHE_HOME'] = before;
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The programs that the benchmark of a device runs. */
export function wantedPrograms({ wanted }: BenchContext, rows: readonly string[]): BenchmarkProgram[] {
  return benchmarkPrograms.filter(({ name }) => rows.some((row) => wanted(`stream/${name}/${row}`)));
}

/** Calls `work` for each program. What goes wrong with one does not keep the others from running. */
export async function eachProgram(
  programs: readonly BenchmarkProgram[], { device }: BenchContext, failures: Failures, work: (program: BenchmarkProgram) => Promise<void>,
): Promise<void> {
  for (const program of programs) {
    await failures.of(`stream/${program.name}`, async () => {
      await work(program);
      await device.trim();
    });
  }
}

/** Rows of runs from JavaScript's memory. */
const hostRows = ['auto-host', 'auto-pinned'] as const;
type HostRow = (typeof hostRows)[number];

/** One run of the benchmark. */
class DeviceBenchmark {
  readonly #context: BenchContext;
  #partitioned = 0;
  /** Rows that failed. */
  readonly failures: Failures;
  #link: Link | undefined;
  #hasTouched = false;
  /** By program. */
  readonly #baselines = new Map<string, number>();

  constructor(context: BenchContext) {
    this.#context = context;
    this.failures = new Failures(context);
  }

  async program(program: BenchmarkProgram): Promise<void> {
    const { wanted, emit, device, quick } = this.#context;
    const { name } = program;
    const graph = await programGraph(name);
    // What the row compiled need not be compiled again.
    using cache = new OwnCache();
    const { failures } = this;
    if (wanted(`stream/${name}/compile`)) {
      await failures.of(`stream/${name}/compile`, async () => { emit(await cache.with(() => this.#compileRow(name))); });
    }
    if (wanted(`stream/${name}/threads/`)) {
      await failures.of(`stream/${name}/threads`, () => cache.with(() => benchmarkThreads(this.#context, name, graph)));
    }
    const others = ['auto', ...hostRows, ...manyNames, 'auto-fast', 'auto-algebraic', ...pipelineModes, 'swp-ilp'];
    if (!others.some((row) => wanted(`stream/${name}/${row}`))) return;
    using compiled = await cache.with(() => compileFused(graph, device));
    using work = await StreamWork.open(program, graph, compiled, quick);
    const baseline = await this.#baseline(program, graph, (items) => work.hostInput(items));
    const peers = baseline === undefined ? {} : { peers: { baseline } };
    const take = (row: Row): void => { emit({ ...row, ...peers }); };
    const isHost = hostRows.some((row) => wanted(`stream/${name}/${row}`));
    if (isHost || wanted(`stream/${name}/auto`)) {
      const timing = await work.time(compiled, `stream/${name}/auto`);
      take(this.#launchRow(name, timing, compiled));
      for (const way of hostRows) {
        if (!wanted(`stream/${name}/${way}`)) continue;
        await failures.of(`stream/${name}/${way}`, async () => {
          emit({ ...await cache.with(() => this.#hostRow(way, work, graph, compiled, timing.best)), ...peers });
        });
      }
    }
    for (const [at, row] of manyNames.entries()) {
      const id = `stream/${name}/${row}`;
      if (!wanted(id)) continue;
      await failures.of(id, async () => {
        emit({ ...await cache.with(() => manyRow(this.#context, manyRuns[at]!, { work, graph, compiled })), ...peers });
      });
    }
    if (wanted(`stream/${name}/auto-fast`)) {
      using fast = await cache.with(() => compileFused(graph, device, { fast: true }));
      const { id, ...row } = this.#launchRow(name, await work.time(fast, `stream/${name}/auto-fast`, { isExact: false }), fast);
      take({ id: `${id}-fast`, ...row });
    }
    if (wanted(`stream/${name}/auto-algebraic`)) {
      const row = await cache.with(() => algebraicRow(this.#context, program, graph));
      if (row !== undefined) take(row);
    }
    const modes = new ModeRows(this.#context, {
      name, graph, work, peers, share: (rate) => shareOf(rate, roofline(device, name, compiled)),
    });
    for (const mode of pipelineModes) {
      const row = await this.#ifWanted(`stream/${name}/${mode}`, () => cache.with(() => modes.row(mode)));
      if (row !== undefined) take(row);
    }
    const byIlp = await this.#ifWanted(`stream/${name}/swp-ilp`, () => cache.with(() => modes.ilpRow()));
    if (byIlp !== undefined) emit(byIlp);
  }

  /** A row that no filter leaves out; undefined also where it fails. */
  async #ifWanted<T>(id: string, make: () => Promise<T | undefined>): Promise<T | undefined> {
    return this.#context.wanted(id) ? this.failures.of(id, make) : undefined;
  }

  /** A program on cores and the device together. */
  async together(program: BenchmarkProgram): Promise<void> {
    const { wanted, emit } = this.#context;
    const { name } = program;
    const graph = await programGraph(name);
    using cache = new OwnCache();
    let partitions: Partitions | undefined;
    for (const [row, shape] of [['ilp-gap', 'all'], ['ilp-gap-16', 'thesis']] as const) {
      const gap = await this.#ifWanted(`stream/${name}/${row}`, () =>
        cache.with(() => gapRow(this.#context, program, graph, shape)));
      if (gap === undefined) continue;
      if (shape === 'all') {
        this.#partitioned += 1;
        // One program's suffice for a test of the bench.
        if (!this.#context.quick || this.#partitioned === 1) partitions = gap.onDevice;
      }
      emit(gap.row);
    }
    if (!hybridModes.some((mode) => wanted(`stream/${name}/${mode}`))) return;
    const baseline = await this.#baseline(program, graph, (items) => randomInput(program, items));
    const rows = new HybridRows(this.#context, program, graph);
    for (const mode of hybridModes) {
      const row = await this.#ifWanted(`stream/${name}/${mode}`, () => cache.with(() => rows.row(mode, baseline, partitions)));
      if (row !== undefined) emit(row);
    }
  }

  /** Items of output a second of the baseline. */
  async #baseline(program: BenchmarkProgram, graph: StreamGraph, inputOf: (items: number) => Items): Promise<number | undefined> {
    const known = this.#baselines.get(program.name);
    if (known !== undefined) return known;
    const all = inputOf(itemsFor(program.inputItems, this.#context.quick));
    const found = await measure({ ...program, graph, all, slowest: anchorOf(program).original / 4 }, ['baseline'], this.#context, 5);
    const best = found.get('baseline')?.best;
    if (best !== undefined) this.#baselines.set(program.name, best);
    return best;
  }

  #launchRow(name: string, { best, spread, launches, bytesPerSecond }: LaunchTiming, compiled: CompiledGpu): Row {
    return {
      id: `stream/${name}/auto`, value: best, unit: 'items/s', spread, ...shareOf(best, roofline(this.#context.device, name, compiled)),
      note: `${(bytesPerSecond / 1e9).toPrecision(4)} GB/s; ${kernelNote(compiled)}; best of ${launches} launches`,
    };
  }

  /** A virtual machine may give its guest memory only when it is touched for the first time, which is not what is measured. */
  #touchMemory(): void {
    if (this.#hasTouched) return;
    this.#hasTouched = true;
    const bytes = Math.min(2 ** 31, Math.floor(freemem() / 8));
    const held = Array.from({ length: 2 }, () => new Uint8Array(bytes).fill(1));
    if (held.some((array) => array.at(-1) !== 1)) throw new Error('memory that does not keep what it is given');
  }

  /** Runs on an input in JavaScript's memory, as often as asked. */
  async #hostCall(
    way: HostRow, given: Items, outputItems: number, graph: StreamGraph,
  ): Promise<{ call(): Promise<StreamRun>; [Symbol.dispose](): void }> {
    const { device } = this.#context;
    if (way === 'auto-host') {
      return {
        call: () => run(graph, { backend: device.backend as 'cuda' | 'simt', device, input: given }), [Symbol.dispose]: () => undefined,
      };
    }
    const program = await compileForDevice(graph, { device });
    const type = given instanceof Int32Array ? 'int32' : 'float32';
    const input = await device.pinned(type, given.length) as Items, out = await device.pinned(type, outputItems) as Items;
    input.set(given as Int32Array);
    return { call: () => program.run(input, { out }), [Symbol.dispose]: () => { program.dispose(); } };
  }

  async #hostRow(way: HostRow, work: StreamWork, graph: StreamGraph, compiled: CompiledGpu, kernelRate: number): Promise<Row> {
    const { device, quick } = this.#context;
    const { input, output } = compiled.program;
    const id = `stream/${work.name}/${way}`;
    const items = quick ? 5 * compiled.program.states * input.items + compiled.warmStates * input.items
      : Math.floor(Math.min(hostBytes / bytesEach(compiled), work.knownStates(compiled) - 1)) * input.items;
    if (!quick) this.#touchMemory();
    const given = work.hostInput(input.before + items + input.external.later.beyond);
    const rates: number[] = [], deviceSeconds: number[] = [];
    let first = 0;
    const most = output.before + Math.ceil(given.length / input.items + 1) * output.items;
    using runs = await this.#hostCall(way, given, most, graph);
    const warm = quick ? 0 : warmRuns;
    for (let repeat = quick ? 1 : 0; repeat < (quick ? 2 : warm + 6); ++repeat) {
      await new Promise((resolve) => setImmediate(resolve)); // the event loop turns between runs, so that memory comes back
      const begin = performance.now();
      const made = await runs.call();
      const seconds = (performance.now() - begin) / 1e3;
      if (made.backend !== device.backend) throw new Error(`${id}: ran by ${made.backend}: ${made.note}`);
      work.requireOutput(made.output, id);
      if (repeat === 0) continue; // it compiled
      if (first === 0) first = made.output.length / seconds;
      if (repeat <= warm) continue;
      rates.push(made.output.length / seconds);
      deviceSeconds.push(made.deviceSeconds ?? 0);
    }
    const link = this.#link ??= await measureLink(device, quick);
    const byLink = 1 / linkSeconds(link, 4 * input.items / output.items, 4);
    const best = Math.max(...rates);
    return {
      id, value: best, unit: 'items/s', spread: summarise(rates).spread, ...shareOf(best, Math.min(byLink, kernelRate)),
      figures: { device: summarise(deviceSeconds).median, first },
      note: `link ${(link.to / 1e9).toPrecision(3)} and ${(link.from / 1e9).toPrecision(3)} GB/s, at once ${
        (link.both / 1e9).toPrecision(3)} each way: ${byLink.toPrecision(4)} items/s, ${
        (100 * best / byLink).toFixed(1)} % reached; ${(4 * given.length / 1e6).toPrecision(4)} MB of input`,
    };
  }

  /** Expects an empty cache. */
  async #compileRow(name: string): Promise<Row> {
    const { device, quick } = this.#context;
    const text = await programText(name);
    const compile = async (): Promise<number> => {
      const begin = performance.now();
      using _program = await compileForDevice((await elaborate(text)).graph, { device });
      return (performance.now() - begin) / 1e3;
    };
    const cold = await compile();
    const cached: number[] = [];
    while (cached.length < (quick ? 1 : 5)) cached.push(await compile());
    const { median, spread } = summarise(cached);
    return { id: `stream/${name}/compile`, value: cold, unit: 's', spread, figures: { cached: median }, note: 'spread: of cached' };
  }
}

/** Runs of a compiled program before those that count: the device has then made the memory that it lends. */
const warmRuns = 4;
/** Bytes of input and output of a run from the host. */
const hostBytes = 5e8;

/** Modes that have a geometric mean over the baseline. */
const meanModes: readonly string[] = ['auto', 'auto-fast', 'auto-algebraic', ...pipelineModes, ...hybridModes];

/** Rows that sum up others of a report, whatever runs these are from. */
export function summaryRows(rows: readonly Row[]): Row[] {
  return [...gapSummary(rows), ...geomeanRows(rows)];
}

function geomeanRows(rows: readonly Row[]): Row[] {
  return meanModes.flatMap((mode): Row[] => {
    const ratios = new Map(rows.flatMap(({ id, value, peers: { baseline } = {} }) => {
      const [, name = '', own, ...rest] = id.split('/');
      return own === mode && rest.length === 0 && baseline !== undefined ? [[name, value / baseline] as const] : [];
    }));
    if (ratios.size === 0) return [];
    const missing = benchmarkPrograms.filter(({ name }) => !ratios.has(name)).map(({ name }) => name), all = [...ratios.values()];
    return [{ id: `stream/geomean/${mode}`, value: geomean(all), unit: 'ratio', spread: 0,
      note: `${all.length} programs over the baseline; without ${missing.join(', ') || 'none'}; least ${
        Math.min(...all).toPrecision(4)}, most ${Math.max(...all).toPrecision(4)}` }];
  });
}

/** Has the baselines compiled beforehand, all at once, where there are cores for it. */
async function compileBaselines(programs: readonly BenchmarkProgram[]): Promise<void> {
  if (availableParallelism() < 8) return;
  // What goes wrong shows where they are run.
  await Promise.allSettled(programs.map(async ({ name }) => compileCpp(await programGraph(name), { baseline: true })));
}

/** The domain `stream` on a device of backend cuda or simt. */
export async function benchmarkStreamDevice(context: BenchContext): Promise<void> {
  const rows = ['auto', ...hostRows, ...manyNames, 'auto-fast', 'auto-algebraic', 'compile', ...pipelineModes, 'swp-ilp', 'threads/'];
  const programs = wantedPrograms(context, rows), together = wantedPrograms(context, [...hybridModes, 'ilp-gap', 'ilp-gap-16']);
  await compileBaselines([...new Set([...programs, ...together])]);
  const benchmark = new DeviceBenchmark(context);
  const { failures } = benchmark;
  await eachProgram(programs, context, failures, (program) => benchmark.program(program));
  await eachProgram(together, context, failures, (program) => benchmark.together(program));
  await failures.of('stream/all/layout', () => benchmarkLayouts(context));
  await failures.of('stream/all/shuffle', () => benchmarkShuffles(context));
  failures.end();
}
