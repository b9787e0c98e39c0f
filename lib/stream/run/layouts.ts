// Candidates for the layout of a program's kernel, and the search for the fastest of them: the best shapes of blocks first, then other
// sizes of groups, other widths and copies ahead of time with those.
import { availableParallelism } from 'node:os';
import type { Device } from '../../core/device.ts';
import { elementAt } from '../../core/known.ts';
import type { StreamGraph } from '../graph.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import type { FusedOptions } from '../targets/cuda-layout.ts';
import { defaultCudaPlan, fusedProgram, type FusedProgram } from '../targets/cuda.ts';
import { CompiledGpu, type GpuLimits } from './gpu.ts';

/** A layout, named by what it sets. */
export interface Candidate {
  /** `t<threads>-s<kilobytes of shared memory>-b<blocks per multiprocessor>-g<size of groups>-w<firings together>`, and `-ahead`. */
  readonly name: string;
  readonly options: FusedOptions;
}

/** Threads of a block, kilobytes of its shared memory, and blocks that a multiprocessor is to hold. */
type Block = readonly [threads: number, kilobytes: number, minBlocks: number];

/** For 228 KB of shared memory and 2048 threads of a multiprocessor of compute capability 9.0. */
const blocks: readonly Block[] = [
  [128, 24, 8], [128, 48, 4], [128, 75, 3],
  [256, 24, 8], [256, 24, 4], [256, 48, 4], [256, 48, 2], [256, 75, 3], [256, 112, 2], [256, 225, 1],
  [384, 36, 5], [384, 75, 3], [384, 112, 2],
  [512, 48, 4], [512, 48, 2], [512, 75, 3], [512, 112, 2], [512, 112, 1], [512, 225, 1],
  [768, 75, 2], [768, 112, 2], [768, 225, 1],
  [1024, 75, 2], [1024, 112, 2], [1024, 225, 1],
];
const blocksAhead: readonly Block[] = [[128, 24, 8], [256, 24, 8], [256, 48, 4], [256, 75, 3], [384, 75, 3], [512, 112, 2], [512, 225, 1]];
const sizes = [400, 1000, 2000, 6000];
const widths = [1, 4, 8];
/** Candidates whose further variants are tried. */
const finalists = 2;

interface Shape { readonly block: Block; readonly size?: number; readonly width?: number; readonly readsAhead?: boolean }

function candidate({ block, size = Number(defaultCudaPlan.groupSize), width = 2, readsAhead = false }: Shape): Candidate {
  const [threads, kilobytes, minBlocks] = block;
  return {
    name: `t${threads}-s${kilobytes}-b${minBlocks}-g${size}-w${width}${readsAhead ? '-ahead' : ''}`,
    // A block takes a kilobyte of shared memory for itself, so 1000 bytes for each are what fits.
    options: { threads, sharedBytes: 1000 * kilobytes, minBlocks, groupSize: size, width, readsAhead },
  };
}

/** The candidates of the first stage. */
export const firstCandidates: readonly Candidate[] = [
  ...blocks.map((block) => candidate({ block })), ...blocksAhead.map((block) => candidate({ block, readsAhead: true })),
];

/** The candidates of the second stage: variants of the best ones of the first. */
export function furtherCandidates(best: readonly Candidate[]): Candidate[] {
  return best.flatMap(({ options: { threads = 0, sharedBytes = 0, minBlocks = 0, readsAhead = false } }) => {
    const shape: Shape = { block: [threads, sharedBytes / 1000, minBlocks], readsAhead };
    return [
      candidate({ ...shape, readsAhead: !readsAhead }), ...sizes.map((size) => candidate({ ...shape, size })),
      ...widths.map((width) => candidate({ ...shape, width })),
    ];
  });
}

/** Candidates that a search times at most. */
export const mostCandidates = firstCandidates.length + finalists * (1 + sizes.length + widths.length);

/** How a search times candidates, and whom it tells. */
export interface SearchOptions extends Omit<GpuLimits, 'timeout'> {
  /** Times a candidate, in items of output per second. */
  readonly time: (candidate: Candidate, compiled: CompiledGpu) => Promise<number>;
  /** Told about candidates that are not timed, and why. */
  readonly skip?: (candidate: Candidate, reason: string) => void;
  /** Told after each candidate, timed or not. */
  readonly tried?: () => void;
  /** Whether no further candidate is to be timed. */
  readonly isOver?: () => boolean;
}

/** The search for one program on one device. Candidates whose kernels have the same text are timed once. */
export class LayoutSearch {
  readonly #graph: StreamGraph;
  readonly #device: Device;
  readonly #options: SearchOptions;
  /** By text of a kernel: the candidate that has it. */
  readonly #known = new Map<string, string>();
  readonly #rates = new Map<Candidate, number>();
  /** Errors of candidates other than that they do not fit. The search goes on without them. */
  readonly failures: unknown[] = [];

  constructor(graph: StreamGraph, device: Device, options: SearchOptions) {
    this.#graph = graph;
    this.#device = device;
    this.#options = options;
  }

  /** Candidates by their rates, the fastest first. */
  get ranking(): readonly { readonly candidate: Candidate; readonly rate: number }[] {
    return [...this.#rates].sort(([, a], [, b]) => b - a).map(([each, rate]) => ({ candidate: each, rate }));
  }

  /** A layout that was timed already, such as the default. */
  knows(each: Candidate, program: FusedProgram, rate: number): void {
    this.#known.set(program.source, each.name);
    this.#rates.set(each, rate);
  }

  /** Both stages. */
  async run(isWanted: (each: Candidate) => boolean = () => true): Promise<void> {
    await this.tries(firstCandidates.filter(isWanted));
    const best = this.ranking.map((each) => each.candidate).filter((each) => firstCandidates.includes(each)).slice(0, finalists);
    await this.tries(furtherCandidates(best).filter(isWanted));
  }

  /** Times candidates one after the other, while the next ones are compiled. */
  async tries(candidates: readonly Candidate[]): Promise<void> {
    const { signal, fast, isOver, tried } = this.#options;
    const printed = candidates.flatMap((each) => this.#print(each));
    const ahead = Math.max(1, Math.floor(availableParallelism() / 2));
    // What has not been timed yet is no longer compiled when the search ends.
    const stop = new AbortController();
    const both = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
    const compiling: Promise<CompiledGpu>[] = [];
    try {
      for (const [at, { candidate: each }] of printed.entries()) {
        if (isOver?.() === true) return;
        for (const next of printed.slice(compiling.length, at + ahead)) {
          const made = CompiledGpu.of(this.#graph, next.program, this.#device, { signal: both, fast });
          made.catch(() => undefined); // reported in its turn
          compiling.push(made);
        }
        await this.#try(each, elementAt(compiling, at));
        tried?.();
      }
    } finally {
      stop.abort();
      for (const made of compiling) made.then((compiled) => { compiled.dispose(); }, () => undefined);
    }
  }

  async #try(each: Candidate, compiling: Promise<CompiledGpu>): Promise<void> {
    const { signal, time, skip } = this.#options;
    try {
      using compiled = await compiling;
      this.#rates.set(each, await time(each, compiled));
    } catch (error) {
      signal?.throwIfAborted();
      skip?.(each, error instanceof UnsupportedProgram ? error.reason : error instanceof Error ? error.message : String(error));
      if (!(error instanceof UnsupportedProgram)) this.failures.push(error);
    }
  }

  /** The text of a candidate's kernel; nothing if it does not fit, or another has the same. */
  #print(each: Candidate): { candidate: Candidate; program: FusedProgram }[] {
    const { skip, tried } = this.#options;
    try {
      const program = fusedProgram(this.#graph, each.options);
      const same = this.#known.get(program.source);
      if (same === undefined) {
        this.#known.set(program.source, each.name);
        return [{ candidate: each, program }];
      }
      skip?.(each, `the same kernel as ${same}`);
    } catch (error) {
      if (!(error instanceof UnsupportedProgram)) throw error;
      skip?.(each, error.reason);
    }
    tried?.();
    return [];
  }
}
