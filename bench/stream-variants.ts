// Layouts of the twelve programs on a device (`npm run bench -- stream --variants`), to choose defaults by. Rows, items of output a second
// with input and output on the device:
//   stream/<program>/variant/default                             what stream.run takes
//   stream/<program>/variant/t<threads>-s<kB of shared memory>-b<blocks>-g<size of groups>-w<firings together>
// First all blocks with the rest as usual, then other sizes of groups and other widths with the two best blocks. What prints as the same
// text is timed once.
import { availableParallelism } from 'node:os';
import type { BenchmarkProgram } from '../examples/stream/programs.ts';
import { arithmeticHeader } from '../lib/kernel/print/c-family.ts';
import type { StreamGraph } from '../lib/stream/graph.ts';
import { CompiledGpu } from '../lib/stream/run/gpu.ts';
import type { FusedOptions } from '../lib/stream/targets/cuda-layout.ts';
import { defaultCudaPlan, fusedProgram, type FusedProgram } from '../lib/stream/targets/cuda.ts';
import { isUnsupported, type BenchContext } from './domain.ts';
import type { Report, Row } from './report.ts';
import { eachProgram, kernelNote, roofline, shareOf, wantedPrograms } from './stream-device.ts';
import { StreamWork } from './stream-device-work.ts';
import { programGraph } from './stream-programs.ts';

/** Threads, kilobytes of shared memory, blocks that a multiprocessor holds at least. */
type Blocks = readonly [threads: number, kilobytes: number, minBlocks: number];
/** Of 228 KB and 2048 threads of a multiprocessor of compute capability 9.0. */
const allBlocks: readonly Blocks[] = [
  [128, 24, 8], [128, 48, 4], [128, 75, 3],
  [256, 24, 8], [256, 24, 4], [256, 48, 4], [256, 48, 2], [256, 75, 3], [256, 112, 2], [256, 225, 1],
  [384, 36, 5], [384, 75, 3], [384, 112, 2],
  [512, 48, 4], [512, 48, 2], [512, 75, 3], [512, 112, 2], [512, 112, 1], [512, 225, 1],
  [768, 75, 2], [768, 112, 2], [768, 225, 1],
  [1024, 75, 2], [1024, 112, 2], [1024, 225, 1],
];
const quickBlocks: readonly Blocks[] = [[128, 24, 2]];
/** Sizes of groups, and firings of long sums over a window that a thread makes together. */
const usual = { size: 4000, width: 2 };
const others: readonly (typeof usual)[] = [
  ...[400, 1000, 2000, 6000].map((size) => ({ ...usual, size })), ...[1, 4, 8].map((width) => ({ ...usual, width })),
];
/** Blocks that go on to the others. */
const finalists = 2;

interface Variant { readonly name: string; readonly blocks: Blocks; readonly options: FusedOptions }

function variant(blocks: Blocks, { size, width } = usual): Variant {
  const [threads, kilobytes, minBlocks] = blocks;
  // With the kilobyte that a block takes for itself, as many as are meant fit.
  return {
    name: `t${threads}-s${kilobytes}-b${minBlocks}-g${size}-w${width}`, blocks,
    options: { threads, sharedBytes: 1000 * kilobytes, minBlocks, groupSize: size, width },
  };
}

/** One program on one device in all its layouts. */
class Search {
  readonly #context: BenchContext;
  readonly #name: string;
  readonly #graph: StreamGraph;
  readonly #work: StreamWork;
  /** Names of texts that were timed. */
  readonly #known = new Map<string, string>();
  readonly #rates = new Map<Blocks, number>();
  /** What went wrong with variants: others are timed all the same. */
  readonly failures: unknown[] = [];

  constructor(context: BenchContext, name: string, graph: StreamGraph, work: StreamWork) {
    this.#context = context;
    this.#name = name;
    this.#graph = graph;
    this.#work = work;
  }

  /** The blocks that were fastest so far; all of them if none was timed. */
  best(): readonly Blocks[] {
    const found = [...this.#rates].sort(([, a], [, b]) => b - a).slice(0, finalists).map(([blocks]) => blocks);
    return found.length > 0 ? found : allBlocks;
  }

  /** Times variants, which are compiled beforehand, several at a time. */
  async times(variants: readonly Variant[]): Promise<void> {
    const { wanted } = this.#context;
    const printed = variants.filter(({ name }) => wanted(this.#id(name))).flatMap((each) => this.#print(each));
    const ahead = Math.max(1, Math.floor(availableParallelism() / 2));
    const compiled: Promise<CompiledGpu | undefined>[] = [];
    for (const [at, { name, blocks }] of printed.entries()) {
      for (const next of printed.slice(compiled.length, at + ahead)) {
        const compiling = this.#compile(next);
        compiling.catch(() => undefined); // its turn comes
        compiled.push(compiling);
      }
      try {
        using made = await compiled[at];
        if (made !== undefined) this.#rates.set(blocks, await this.#time(name, made));
      } catch (error) {
        this.#context.say(`${this.#id(name)}: ${error instanceof Error ? error.message : String(error)}`);
        this.failures.push(error);
      }
    }
  }

  async #time(name: string, compiled: CompiledGpu): Promise<number> {
    const { emit, device } = this.#context;
    const { best, spread, bytesPerSecond } = await this.#work.time(compiled, this.#id(name));
    emit({ id: this.#id(name), value: best, unit: 'items/s', spread, ...shareOf(best, roofline(device, this.#name, compiled)),
      note: `${(bytesPerSecond / 1e9).toPrecision(4)} GB/s; ${kernelNote(compiled)}` });
    return best;
  }

  #id(name: string): string {
    return `stream/${this.#name}/variant/${name}`;
  }

  /** The text of a variant, unless it cannot be or is that of another. */
  #print({ name, blocks, options }: Variant): { name: string; blocks: Blocks; program: FusedProgram }[] {
    const program = this.#orSay(name, () => fusedProgram(this.#graph, { ...defaultCudaPlan, ...options }));
    if (program === undefined) return [];
    const same = this.#known.get(program.source);
    if (same !== undefined) {
      this.#context.say(`${this.#id(name)}: as ${same}`);
      return [];
    }
    this.#known.set(program.source, name);
    return [{ name, blocks, program }];
  }

  async #compile({ name, program }: { name: string; program: FusedProgram }): Promise<CompiledGpu | undefined> {
    const { device } = this.#context;
    const headers = { 'arithmetic.h': arithmeticHeader() };
    const module = await device.module({ source: program.source, kernels: [program.kernel], headers });
    const compiled = this.#orSay(name, () => new CompiledGpu(this.#graph, program, device, module));
    if (compiled === undefined) module.dispose();
    return compiled;
  }

  /** What `work` makes; undefined, and why, for what does not fit. */
  #orSay<T>(name: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!isUnsupported(error)) throw error;
      this.#context.say(`${this.#id(name)}: ${error.message}`);
      return undefined;
    }
  }

  /** Knows the default, which the work was opened with. */
  async timesDefault(compiled: CompiledGpu): Promise<void> {
    this.#known.set(compiled.program.source, 'default');
    if (this.#context.wanted(this.#id('default'))) await this.#time('default', compiled);
  }
}

async function searchProgram(context: BenchContext, program: BenchmarkProgram): Promise<void> {
  const graph = await programGraph(program.name);
  using compiled = await CompiledGpu.compile(graph, context.device);
  using work = await StreamWork.open(program, graph, compiled, context.quick);
  const search = new Search(context, program.name, graph, work);
  await search.timesDefault(compiled);
  await search.times((context.quick ? quickBlocks : allBlocks).map((blocks) => variant(blocks)));
  if (!context.quick) await search.times(search.best().flatMap((blocks) => others.map((other) => variant(blocks, other))));
  if (search.failures.length > 0) throw new AggregateError(search.failures, `${search.failures.length} variants failed`);
}

/** The domain `stream-variants`. */
export async function benchmarkStreamVariants(context: BenchContext): Promise<void> {
  const names = ['default', ...allBlocks.flatMap((blocks) => [usual, ...others].map((other) => variant(blocks, other).name))];
  const programs = wantedPrograms(context, names.map((name) => `variant/${name}`));
  await eachProgram(programs, context, (program) => searchProgram(context, program));
}

/** A table of each program's variants, the fastest first. */
export function variantTables({ rows }: Report): string {
  const byProgram = new Map<string, Row[]>();
  for (const row of rows) {
    const [, program = ''] = row.id.split('/');
    byProgram.set(program, [...byProgram.get(program) ?? [], row]);
  }
  return [...byProgram].map(([program, all]) => {
    const lines = all.sort((a, b) => b.value - a.value).map(({ id, value, fraction, spread, note = '' }) =>
      [id.split('/')[3], (value / 1e9).toPrecision(4), fraction === undefined ? '' : `${(100 * fraction).toFixed(1)} %`,
        `${(100 * spread).toFixed(1)} %`, note]);
    return [[program, 'G items/s', 'of the limit', 'spread', ''], ['---', '---', '---', '---', '---'], ...lines]
      .map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  }).join('\n\n');
}
