// Candidates for the layout of a program's kernel, and the search for the fastest of them: the best shapes of blocks first, then other
// sizes of groups, other widths and copies ahead of time with those.
import { setMaxListeners } from 'node:events';
import { availableParallelism } from 'node:os';
import { setTimeout as after } from 'node:timers/promises';
import type { Device } from '../../core/device.ts';
import { WarploomError } from '../../core/errors.ts';
import type { StreamGraph } from '../graph.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import type { FusedOptions } from '../targets/cuda-layout.ts';
import { defaultCudaPlan, fusedProgram, type FusedProgram } from '../targets/cuda.ts';
import { CompiledGpu } from './gpu.ts';
import type { GpuLimits } from './gpu-types.ts';
import { printedAside } from './printed.ts';

/** A layout, named by what it sets. */
export interface Candidate {
  /**
   * `t<threads>-s<kilobytes of shared memory>-b<blocks per multiprocessor>-g<size of groups>-w<firings together>`; `l<values>` instead of
   * `g<size>` where groups are chosen by dependence; and `-ahead`, `-tables`, `-views`.
   */
  readonly name: string;
  readonly options: FusedOptions;
}

/** The layout without a search, whatever it is for a program. */
export const byDefault: Candidate = { name: 'default', options: {} };

/** Whether an error of a timed launch says that the program faults on its input. */
export const isRefusal = (error: unknown): boolean => error instanceof WarploomError && error.code === 'ERR_WARPLOOM_INVALID_ARGUMENT';

/** Whether an error says that a layout cannot run a program, whenever that is tried: it does not fit, does not compile, or is wrong. */
export const isUseless = (error: unknown): boolean => error instanceof UnsupportedProgram
  || (error instanceof WarploomError && ['ERR_WARPLOOM_INVALID_PROGRAM', 'ERR_WARPLOOM_INTERNAL'].includes(error.code));

export const stateReadsAhead = (): UnsupportedProgram => new UnsupportedProgram('programs with state do not read ahead');

/** A candidate replaces the default layout if it is faster by more than what launches differ by. */
export const leastGain = 1.02;

/** Threads of a block, kilobytes of its shared memory, and blocks that a multiprocessor is to hold. */
type Block = readonly [threads: number, kilobytes: number, minBlocks: number];

/**
 * For 228 KB of shared memory and 2048 threads of a multiprocessor of compute capability 9.0; those first that are most often fast. Blocks
 * of one warp need no barriers.
 */
const blocksAhead: readonly Block[] = [
  [512, 225, 1], [512, 112, 2], [256, 75, 3], [1024, 225, 1], [768, 225, 1],
  [384, 75, 3], [256, 48, 4], [256, 24, 8], [128, 24, 8], [64, 13, 16],
];
const blocks: readonly Block[] = [
  [512, 112, 2], [256, 75, 3], [256, 24, 8], [384, 75, 3], [384, 112, 2], [512, 225, 1], [1024, 225, 1], [256, 112, 2], [256, 48, 4],
  [384, 36, 5], [512, 48, 4], [768, 112, 2], [768, 225, 1], [1024, 75, 2], [256, 225, 1], [128, 24, 8], [64, 13, 16], [32, 6, 32],
];
const sizes = [1000, 2000, 6000, 12_000];
const widths = [1, 4, 8];
/**
 * Milliseconds in which files are written and a compiler is started, if nothing else is done meanwhile: printing the next candidate takes
 * all of this thread for longer.
 */
const startMilliseconds = 15;
/**
 * Candidates of more characters are not compiled where they have so many times those of the default layout: that takes seconds of several
 * cores, and instructions from far away make them slow (MPEG2Subset on an H200: 28 to 59 G items/s of 309).
 */
const longText = 200_000, longer = 1.8;
/** Cores from which on candidates are printed and compiled beside the default layout without slowing it down. */
export const leastCores = 4;
/** Candidates that are timed again at the end, in so many turns, if they are that close to the fastest. */
const mostHeld = 3, turns = 3, closeRate = 0.93;
/** Candidates whose further variants are tried. */
const finalists = 2;

interface Shape {
  readonly block: Block;
  readonly size?: number;
  readonly live?: number;
  readonly width?: number;
  readonly readsAhead?: boolean;
  readonly hasTables?: boolean;
  readonly views?: boolean;
}

const defaultSize = Number(defaultCudaPlan.groupSize);
/** Size of groups that are chosen by dependence, before what only moves items is gone. */
const largestSize = 80_000;

function candidate(
  { block, live = 0, size = live > 0 ? largestSize : defaultSize, width = 2, readsAhead = false, hasTables = false, views = false }: Shape,
): Candidate {
  const [threads, kilobytes, minBlocks] = block;
  return {
    name: [
      `t${threads}-s${kilobytes}-b${minBlocks}`, ...(live > 0 ? [`l${live}`] : []),
      ...(live > 0 && size === largestSize ? [] : [`g${size}`]),
      `w${width}`, ...(readsAhead ? ['ahead'] : []), ...(hasTables ? ['tables'] : []), ...(views ? ['views'] : []),
    ].join('-'),
    // A block takes a kilobyte of shared memory for itself, so 1000 bytes for each are what fits.
    options: {
      threads, sharedBytes: 1000 * kilobytes, minBlocks, groupSize: size, live, width, readsAhead, ...(hasTables ? { hasTables } : {}),
      ...(views ? { views } : {}),
    },
  };
}

/** The candidates of the first stage. */
export const firstCandidates: readonly Candidate[] = [
  ...blocksAhead.map((block) => candidate({ block, readsAhead: true })), ...blocks.map((block) => candidate({ block })),
];

const large: Block = [512, 225, 1];
/** Values in registers: few enough for many threads, and as many as a thread has room for. */
const fewValues = 32, manyValues = 200;
/**
 * The candidates of the first compilation beside the default layout, those first that were the fastest for a program on an H200: of FFT-C;
 * of ChannelVocoder; of MPEG2Subset; of MatrixMult; of TDE; of Filterbank and DCT; of FMRadio.
 */
export const shortList: readonly Candidate[] = [
  candidate({ block: [256, 225, 1], live: manyValues, readsAhead: true }),
  candidate({ block: [192, 115, 2], live: manyValues, hasTables: true, width: 4, views: true }),
  candidate({ block: [96, 57, 4], live: manyValues, views: true }), candidate({ block: [96, 57, 4], live: manyValues, readsAhead: true }),
  candidate({ block: [256, 225, 1], live: manyValues, readsAhead: true, views: true }),
  candidate({ block: [128, 57, 4], live: fewValues, readsAhead: true }), candidate({ block: [192, 115, 2], live: manyValues, views: true }),
  candidate({ block: [384, 112, 2], live: fewValues, size: 10_000 }), candidate({ block: large, live: fewValues, readsAhead: true }),
  candidate({ block: [128, 75, 3], live: manyValues }), candidate({ block: [256, 75, 3], live: fewValues, readsAhead: true }),
  candidate({ block: large, readsAhead: true }), candidate({ block: [256, 75, 3] }), candidate({ block: [256, 24, 8] }),
];

/** The candidates of the second stage: variants of the best ones of the first. */
export function furtherCandidates(best: readonly Candidate[]): Candidate[] {
  return best.flatMap(({ options: { threads = 0, sharedBytes = 0, minBlocks = 0, readsAhead = false } }) => {
    const shape: Shape = { block: [threads, sharedBytes / 1000, minBlocks], readsAhead };
    return [
      candidate({ ...shape, readsAhead: !readsAhead }), ...[fewValues, manyValues].map((live) => candidate({ ...shape, live })),
      ...sizes.map((size) => candidate({ ...shape, size })),
      ...widths.map((width) => candidate({ ...shape, width })), candidate({ ...shape, live: fewValues, size: 10_000 }),
      candidate({ ...shape, hasTables: true }),
      ...[fewValues, manyValues].map((live) => candidate({ ...shape, live, views: true })),
    ];
  });
}

/** Candidates that a search times at most. */
export const mostCandidates = firstCandidates.length + finalists * (7 + sizes.length + widths.length);

/** How a search times candidates, and whom it tells. */
export interface SearchOptions extends Omit<GpuLimits, 'timeout'> {
  /** Times a candidate, in items of output per second. */
  readonly time: (candidate: Candidate, compiled: CompiledGpu) => Promise<number>;
  /** Told about candidates that are not timed, why, and whether they never can be. */
  readonly skip?: (candidate: Candidate, reason: string, isUseless: boolean) => void;
  /** Told after each candidate, timed or not. */
  readonly tried?: () => void;
  /** Comes when no further candidate is to be timed. */
  readonly over?: AbortSignal;
  /** When, by `performance.now()`, no further candidate is to be begun: what is printed and compiled then would come too late. */
  readonly lastStart?: () => number;
  /** Candidates that are compiled at once. Default: half as many as there are cores. */
  readonly atOnce?: number;
  /** Characters of a text that is compiled however long that of the default layout is. Default 200,000. */
  readonly longText?: number;
  /** Whether worker threads print them. Default: on machines with at least four cores. */
  readonly aside?: boolean;
}

/** A candidate as it was compiled, or why it was not. */
interface Attempt {
  readonly candidate: Candidate;
  readonly compiled?: CompiledGpu;
  readonly error?: unknown;
  /** The candidate that has the same text. */
  readonly same?: string;
}

/** The search for one program on one device. Candidates whose kernels have the same text are timed once. */
export class LayoutSearch {
  readonly #graph: StreamGraph;
  readonly #device: Device;
  readonly #options: SearchOptions;
  /** By text of a kernel: the candidate that has it. */
  readonly #known = new Map<string, string>();
  readonly #rates = new Map<Candidate, number>();
  readonly #aside: boolean;
  /** The fastest candidates that are compiled, in order. */
  #best: readonly Attempt[] = [];
  /** The layout that the caller has compiled. */
  #standard: Attempt | undefined;
  #hasState = false;
  #hasTables = false;
  /** Characters of a text up to which it is worth compiling. */
  #mostText = Infinity;
  /** Errors of candidates other than that they do not fit. The search goes on without them. */
  readonly failures: unknown[] = [];

  constructor(graph: StreamGraph, device: Device, options: SearchOptions) {
    this.#graph = graph;
    this.#device = device;
    this.#options = options;
    this.#aside = options.aside ?? availableParallelism() >= leastCores;
  }

  /** Candidates by their rates, the fastest first. */
  get ranking(): readonly { readonly candidate: Candidate; readonly rate: number }[] {
    return [...this.#rates].sort(([, a], [, b]) => b - a).map(([each, rate]) => ({ candidate: each, rate }));
  }

  /** A layout that the caller compiles and times, such as the default; its rate, once it is known. */
  knows(each: Candidate, program: FusedProgram, timed?: { readonly rate: number; readonly compiled: CompiledGpu }): void {
    this.#known.set(program.source, each.name);
    this.#hasState = program.state !== undefined;
    this.#hasTables = program.hasTables === true;
    this.#mostText = Math.max(this.#options.longText ?? longText, longer * program.source.length);
    if (timed === undefined) return;
    this.#rates.set(each, timed.rate);
    this.#standard = { candidate: each, compiled: timed.compiled };
  }

  /** The fastest candidate that the search has compiled, which is the caller's from now on; the others are freed. */
  take(): CompiledGpu | undefined {
    const [first, ...others] = this.#best;
    this.#best = others;
    this.dispose();
    return first?.compiled;
  }

  /** Both stages. */
  async run(isWanted: (each: Candidate) => boolean = () => true): Promise<void> {
    await this.tries(firstCandidates.filter(isWanted));
    const first = new Set(firstCandidates.map(({ name }) => name));
    const best = this.ranking.map((each) => each.candidate).filter(({ name }) => first.has(name)).slice(0, finalists);
    await this.tries(furtherCandidates(best).filter(isWanted));
  }

  /**
   * Times the fastest layouts again, in turns, where they are close to each other: clocks and temperatures change during a search, and so
   * does what else the machine does.
   */
  async settle(): Promise<void> {
    const { time, signal, over } = this.#options;
    const rateOf = ({ candidate: each }: Attempt): number => this.#rates.get(each) ?? 0;
    const all = [...this.#best, ...(this.#standard === undefined ? [] : [this.#standard])];
    const close = all.filter((each) => rateOf(each) >= closeRate * Math.max(...all.map(rateOf)));
    if (close.length < 2) return;
    const rates = new Map<Attempt, number[]>(close.map((each) => [each, []]));
    for (let turn = 0; turn < turns; ++turn) {
      for (const [each, own] of rates) {
        signal?.throwIfAborted();
        if (over?.aborted === true) return;
        if (each.compiled === undefined) continue;
        try {
          own.push(await time(each.candidate, each.compiled));
        } catch (error) {
          signal?.throwIfAborted();
          this.failures.push(error);
          return;
        }
      }
    }
    for (const [{ candidate: each }, own] of rates) this.#rates.set(each, Math.max(...own));
    this.#best = [...this.#best].sort((a, b) => rateOf(b) - rateOf(a));
  }

  /** Times candidates one after the other, as they are compiled. */
  async tries(candidates: readonly Candidate[]): Promise<void> {
    const { signal, over, tried, lastStart = () => Infinity, atOnce = Math.max(1, Math.floor(availableParallelism() / 2)) } = this.#options;
    // What has not been timed yet is no longer compiled when the search ends.
    const stop = new AbortController();
    const stopped = AbortSignal.any([signal, over, stop.signal].filter((each) => each !== undefined));
    setMaxListeners(0, stopped); // every compilation under way listens
    const compiling = new Map<Candidate, Promise<Attempt>>();
    // Where the default layout is too long otherwise, so are others: they are not printed twice.
    const waiting = candidates.map((each) => (this.#hasTables ? { ...each, options: { hasTables: true, ...each.options } } : each));
    try {
      for (;;) {
        for (let each; compiling.size < atOnce && !stopped.aborted && (each = waiting.shift()) !== undefined;) {
          if (compiling.size > 0 && !this.#aside) await after(startMilliseconds);
          if (performance.now() > lastStart()) {
            waiting.length = 0;
            break;
          }
          compiling.set(each, this.#compile(each, stopped));
        }
        if (compiling.size === 0) break;
        const attempt = await Promise.race(compiling.values());
        compiling.delete(attempt.candidate);
        signal?.throwIfAborted();
        if (over?.aborted === true) {
          attempt.compiled?.dispose();
          break;
        }
        await this.#try(attempt);
        tried?.();
      }
      signal?.throwIfAborted();
    } finally {
      stop.abort();
      for (const made of compiling.values()) void made.then(({ compiled }) => { compiled?.dispose(); });
    }
  }

  async #try(attempt: Attempt): Promise<void> {
    const { signal, time, skip } = this.#options;
    const { candidate: each, compiled, same } = attempt;
    if (same !== undefined) {
      skip?.(each, `the same kernel as ${same}`, true);
      return;
    }
    try {
      if (compiled === undefined) throw attempt.error;
      const rate = await time(each, compiled);
      this.#rates.set(each, rate);
      const rates = (of: Attempt): number => this.#rates.get(of.candidate) ?? 0;
      const sorted = [...this.#best, attempt].sort((a, b) => rates(b) - rates(a));
      this.#best = sorted.slice(0, mostHeld);
      for (const other of sorted.slice(mostHeld)) if (other !== attempt) other.compiled?.dispose();
    } catch (error) {
      signal?.throwIfAborted();
      this.#skip(each, error);
    } finally {
      if (!this.#best.includes(attempt)) compiled?.dispose();
    }
  }

  #skip(each: Candidate, error: unknown): void {
    const reason = error instanceof UnsupportedProgram ? error.reason : error instanceof Error ? error.message : String(error);
    this.#options.skip?.(each, reason, isUseless(error));
    if (!(error instanceof UnsupportedProgram)) this.failures.push(error);
  }

  /** Prints and compiles a candidate. Never rejects. */
  async #compile(each: Candidate, signal: AbortSignal): Promise<Attempt> {
    try {
      if (this.#hasState && each.options.readsAhead === true) throw stateReadsAhead();
      const program = this.#aside ? await printedAside(this.#graph, each.options, signal) : fusedProgram(this.#graph, each.options);
      const { length } = program.source;
      if (length > this.#mostText) throw new UnsupportedProgram(`its text has ${length} characters, far more than the default layout's`);
      const same = this.#known.get(program.source);
      if (same !== undefined) return { candidate: each, same };
      this.#known.set(program.source, each.name);
      return { candidate: each, compiled: await CompiledGpu.of(this.#graph, program, this.#device, { signal, fast: this.#options.fast }) };
    } catch (error) {
      return { candidate: each, error };
    }
  }

  /** Frees the fastest candidates, but not what was taken. */
  dispose(): void {
    for (const { compiled } of this.#best) compiled?.dispose();
    this.#best = [];
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
