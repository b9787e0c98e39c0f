// Finds the fastest layout of a program's kernel on a device by timing candidates, and keeps it for later compilations.
import type { Device } from '../../core/device.ts';
import { refusal } from '../../core/errors.ts';
import { required } from '../../core/known.ts';
import type { StreamGraph } from '../graph.ts';
import { CompiledGpu } from './gpu.ts';
import type { GpuLimits } from './gpu-types.ts';
import { keepLayouts } from './kept-layout.ts';
import { byDefault, leastGain, LayoutSearch, mostCandidates } from './layouts.ts';
import { printedProgram } from './printed.ts';
import { Trial } from './trial.ts';

/** Options of {@link tuneLayout}. */
export interface TuneLayoutOptions extends Omit<GpuLimits, 'timeout'> {
  /** Scalars of items on the open input, which the timed launches repeat. Default: random numbers. */
  readonly input?: ArrayLike<number> | undefined;
  /** Seconds after which no further candidate is timed. */
  readonly seconds: number;
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/** A timed layout of a kernel. */
export interface TunedLayout {
  /**
   * `default`, or what the layout sets: `t` threads of a block, `s` kilobytes of shared memory, `b` blocks of a multiprocessor, `g` size of
   * fused groups, `w` firings that a thread makes together, `l` values that groups by dependence keep, `ahead` if the next round's input
   * is copied while a round is computed, `tables` if branches share code, and `views` if permutations are a matter of indices.
   */
  readonly name: string;
  /** Output items per second of the kernel alone, with input and output in the device's memory. */
  readonly itemsPerSecond: number;
}

/** What a search for the fastest layout found. */
export interface TunedLayouts {
  /** All layouts that were timed, the fastest first. */
  readonly layouts: readonly TunedLayout[];
  /** Layouts that were not timed, and why. */
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
}

/** The program in the fastest layout. */
export interface TunedProgram extends TunedLayouts {
  readonly compiled: CompiledGpu;
}

/**
 * Times layouts of a program's kernel, keeps the fastest one for later compilations, and returns the program in it. Rejects as
 * {@link CompiledGpu.compileDefault} does, and if the program faults on the input.
 */
export async function tuneLayout(graph: StreamGraph, device: Device, options: TuneLayoutOptions): Promise<TunedProgram> {
  const { input, seconds, fast, signal, onProgress } = options;
  const over = AbortSignal.timeout(1e3 * seconds);
  const compiled = await CompiledGpu.compileDefault(graph, device, { fast, signal });
  try {
    if ((compiled.program.state?.stretch ?? null) !== null) {
      throw refusal('tune', 'none for programs whose sums of floats are reordered, as layouts would give other bits', 'a search');
    }
    using trial = new Trial(compiled, input, fast !== true);
    const skipped: { name: string; reason: string }[] = [];
    let done = 0;
    using search = new LayoutSearch(graph, device, {
      fast, signal, over,
      time: (_, made) => trial.time(made, signal),
      skip: ({ name }, reason) => { skipped.push({ name, reason }); },
      tried: () => { onProgress?.(Math.min(++done, mostCandidates), mostCandidates); },
    });
    search.knows(byDefault, compiled.program, { rate: await trial.timeDefault(compiled, signal), compiled });
    await search.run();
    await search.settle();
    const { ranking } = search;
    const rateOfDefault = required(ranking.find(({ candidate }) => candidate === byDefault)).rate;
    const [{ candidate: best, rate }] = ranking as [typeof ranking[number]];
    const layouts = ranking.map(({ candidate: { name }, rate: itemsPerSecond }) => ({ name, itemsPerSecond }));
    const isBetter = rate > leastGain * rateOfDefault;
    const rates = Object.fromEntries(ranking.filter(({ candidate }) => candidate !== byDefault)
      .map(({ candidate, rate: own }) => [candidate.name, own / rateOfDefault]));
    await keepLayouts(await printedProgram(graph), device, { layout: isBetter ? best.options : undefined, rates, isWhole: true });
    if (!isBetter) return { compiled, layouts, skipped };
    compiled.dispose();
    return { compiled: required(search.take()), layouts, skipped };
  } catch (error) {
    compiled.dispose();
    throw error;
  }
}
