// The twelve benchmark programs as the benchmark runs them: elaborated, with what others reached on them, and made-up times of a GPU.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { benchmarkPrograms, randomInput, type BenchmarkProgram } from '../examples/stream/programs.ts';
import { packageRoot } from '../lib/core/binding.ts';
import { elaborate } from '../lib/stream/compile.ts';
import { toSdf } from '../lib/stream/elaborate/to-sdf.ts';
import type { StreamGraph } from '../lib/stream/graph.ts';
import {
  selectConfiguration, taskUnrollFactor, unrollTask, type CostTable, type HybridProblem, type RuntimeTable, type TaskProblem,
} from '../lib/stream/partition/index.ts';
import { estimateCosts } from '../lib/stream/profile/estimate.ts';
import { steadyState, type SteadyState } from '../lib/stream/schedule/index.ts';
import type { SdfGraph } from '../lib/stream/sdf.ts';

/** The text of a program of examples/stream. */
export function programText(name: string): Promise<string> {
  return readFile(join(packageRoot(), 'examples/stream', `${name}.str`), 'utf8');
}

/** The graph of a program of examples/stream. */
export async function programGraph(name: string): Promise<StreamGraph> {
  return (await elaborate(await programText(name))).graph;
}

/** Items of input for a profile: more than it reads of any of the programs. */
export function profileInput(program: BenchmarkProgram): Int32Array | Float32Array {
  return randomInput(program, Math.ceil(2 ** 18 / program.inputItems) * program.inputItems);
}

/** Steady states a second of the original compiler's C++ on one core of a 2.5 GHz Cascade Lake. */
export interface Anchor {
  /** Its uniprocessor back end with gcc -O3: what the thesis compares with. */
  readonly original: number;
  /** The best of all its modes, with -march=native -ffast-math among them. */
  readonly best: number;
}

const anchors: Readonly<Record<string, readonly [original: number, best: number]>> = {
  'bitonic': [9.94e6, 16.5e6], 'bitonic-rec': [7.68e6, 21.5e6], 'channel-vocoder': [26.6e3, 52.9e3], 'dct': [203e3, 671e3],
  'des': [1.17e6, 4.00e6], 'fft-coarse': [840e3, 890e3], 'fft-fine': [1.22e6, 4.89e6], 'filterbank': [847e3, 1.08e6],
  'fm-radio': [786e3, 5.65e6], 'matrix-mult': [553e3, 912e3], 'mpeg2-subset': [213e3, 405e3], 'tde': [68.1e3, 88.1e3],
};

/** What the original compiler reached, in items of output a second. */
export function anchorOf({ name, outputItems }: BenchmarkProgram): Anchor {
  const [original, best] = anchors[name]!;
  return { original: original * outputItems, best: best * outputItems };
}

/** A program with what scheduling needs: times of a firing on a core, from counted operations. */
export interface PricedProgram {
  readonly name: string;
  readonly graph: SdfGraph;
  readonly steady: SteadyState;
  /** Microseconds. */
  readonly cpu: readonly number[];
  /** The graph with the program's input and output as actors of the host, which take no time. */
  readonly hosted: SdfGraph;
}

/** All twelve, for scheduling. */
export function pricedPrograms(): Promise<PricedProgram[]> {
  return Promise.all(benchmarkPrograms.map(async ({ name }) => {
    const made = await programGraph(name);
    const graph = toSdf(made);
    return { name, graph, steady: steadyState(graph), cpu: estimateCosts(made), hosted: toSdf(made, { ends: true }) };
  }));
}

/** Uniform numbers in [0, 1) from a seed (a linear congruential generator modulo 2^32). */
function uniform(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) / 2 ** 24;
  };
}

/**
 * Costs with a made-up GPU: a multiprocessor takes 3 times what a core takes (the thesis's machines: 16 of them gave about 5 times one
 * core), spread by a factor of 4 either way by filter; transfers at 3 GB/s, shuffles at 4 GB/s.
 */
export function madeUpCosts({ graph, steady, cpu }: Pick<PricedProgram, 'graph' | 'steady' | 'cpu'>, seed: number): CostTable {
  const random = uniform(seed);
  const gpu = graph.actors.map(({ id, moves, stateful }) =>
    (stateful ? Infinity : cpu[id]! * 3 * 4 ** (moves ? 0.5 * random() : 2 * random() - 1)));
  const bytes = graph.channels.map(({ from, push, bytesPerItem }) => steady.repetitions[from]! * push * bytesPerItem);
  const time = (bytesPerMicrosecond: number): number[] => bytes.map((count) => count / bytesPerMicrosecond);
  return { cpu, gpu, toCpu: time(3000), toGpu: time(3000), shuffle: time(4000), deshuffle: time(4000) };
}

/** Registers and threads of the made-up GPU. */
const madeUpLimits = { registers: [32, 64, 128], threads: [128, 256, 384, 512, 768, 1024] };

/**
 * What profiling would have measured on the made-up GPU (Algorithm 1): a multiprocessor does a firing in 1/16 to 1/4 of a core's time,
 * by filter; few threads hide less latency, few registers spill, and many of both do not fit. Filters with state cannot run.
 */
export function madeUpRuntimes({ hosted, cpu }: PricedProgram, seed: number): RuntimeTable {
  const random = uniform(seed);
  const firings = 3072;
  const filters = hosted.actors.map(({ id, stateful }) => ({
    time: stateful ? Infinity : firings * Math.max(cpu[id] ?? 0, 1e-4) / 16 * 4 ** random(),
    needs: 16 + Math.floor(160 * random()), latency: 1 + random(),
  }));
  const microseconds = madeUpLimits.registers.map((limit) => madeUpLimits.threads.map((threads) => filters.map(({ time, needs, latency }) =>
    (Math.min(limit, needs) * threads > 65536 ? Infinity : time * (1 + latency * 128 / threads) * Math.max(1, needs / limit) ** 0.5))));
  return { ...madeUpLimits, firings, microseconds };
}

/** The whole problem of chapter 4 for a program whose data is on the host: made-up times, the link of an H200, so many multiprocessors. */
export function hybridProblem(program: PricedProgram, multiprocessors: number, seed: number): HybridProblem {
  const { hosted, cpu } = program;
  const { threads, delays } = selectConfiguration(hosted, madeUpRuntimes(program, seed));
  return {
    graph: hosted, threads, gpu: delays, cpu: hosted.actors.map(({ id }) => cpu[id] ?? 0), cores: 4, multiprocessors, link: 'duplex',
    moving: { latency: 5, toGpu: 55_000, toCpu: 55_000, shuffle: 15_000, deshuffle: 15_000 },
  };
}

/** The partitioning problem of a program on the thesis's machine, 4 cores and 16 multiprocessors, unrolled until no instance dominates. */
export function taskProblem(program: PricedProgram, seed: number): TaskProblem {
  const { graph, steady: { repetitions, residual: tokens } } = program;
  const once = { graph, repetitions, tokens, costs: madeUpCosts(program, seed), cores: 4, multiprocessors: 16 };
  return unrollTask(once, taskUnrollFactor(once));
}
