// Programs as one kernel, in the layout that is kept for them. Where none is, the first compilation times a few layouts and keeps the
// fastest.
import { availableParallelism } from 'node:os';
import { setTimeout as after } from 'node:timers/promises';
import type { Device } from '../../core/device.ts';
import { required } from '../../core/known.ts';
import { reasonOf } from '../../core/progress.ts';
import { orAborted } from '../stop.ts';
import type { StreamGraph } from '../graph.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import type { FusedOptions } from '../targets/cuda-layout.ts';
import type { FusedProgram } from '../targets/cuda.ts';
import { CompiledGpu } from './gpu.ts';
import type { GpuLimits } from './gpu-types.ts';
import { keepLayout, keptLayout } from './kept-layout.ts';
import { byDefault, isRefusal, LayoutSearch, leastGain, shortList, type Candidate } from './layouts.ts';
import { printedProgram } from './printed.ts';
import type { Trial } from './trial.ts';

/** Options of {@link compileFused}. */
export interface FusedCompileOptions extends GpuLimits {
  /** Whether layouts are timed where none is kept. Default: on GPUs of machines with at least four cores, unless WARPLOOM_TUNE is 0. */
  readonly search?: boolean | ShortSearch | undefined;
}

/** What a search at the first compilation does, for tests. */
export interface ShortSearch {
  /** Default: {@link shortList}. */
  readonly candidates?: readonly Candidate[];
  /** Seconds after the default layout is compiled from which on no further candidate is timed. Default: see {@link patience}. */
  readonly seconds?: number;
  /** Times a layout, in items of output per second. Default: by launches on random input. */
  readonly time?: (candidate: Candidate, compiled: CompiledGpu) => Promise<number>;
}

/** The fastest layout. */
type Found = FusedOptions | 'byDefault';

/** Cores from which on candidates are compiled beside the default layout without slowing it down. */
const leastCores = 4;

/** Bytes: a device that may use less has no room for input that takes long enough to be timed. */
const leastMemory = 2 ** 30;
/** Milliseconds in which the first compiler of a process is found and started. */
const startMilliseconds = 50;
/** Seconds of a compilation that is short enough to have come from the cache. */
const cachedSeconds = 0.5;
/**
 * Seconds from the printing of the default layout on in which a first compilation is to end, and those that candidates have in any case
 * behind that layout.
 */
const wholeSeconds = 4.4, leastSeconds = 0.6;
/** A candidate takes that much of the time of the default layout, at least, from printing on. */
const leastShare = 0.5;
/**
 * Seconds that candidates may take longer than the default layout took: what is left of those of a first compilation. Where that layout
 * comes from the cache, large programs have all of them: candidates may not be in the cache.
 */
const patience = (seconds: number): number => Math.max(leastSeconds, wholeSeconds - seconds);

const searchesByDefault = ({ backend }: Device): boolean =>
  backend === 'cuda' && availableParallelism() >= leastCores && process.env['WARPLOOM_TUNE'] !== '0';

/** Searches under way, by device and text of the default layout; undefined: it was given up. */
const searches = new WeakMap<Device, Map<string, Promise<Found | undefined>>>();

/**
 * Compiles a graph for a device, in the layout that a search has found for it, here or in `tune.ts`. Throws UnsupportedProgram for programs
 * that are not for devices, ScheduleError where there is no schedule, UnavailableError where nothing compiles device code.
 */
export async function compileFused(graph: StreamGraph, device: Device, options: FusedCompileOptions = {}): Promise<CompiledGpu> {
  const { search: asked = searchesByDefault(device), ...limits } = options;
  const { limitBytes } = device.memory();
  const search = (limitBytes === 0 || limitBytes >= leastMemory) && asked;
  const { signal } = limits;
  const begin = performance.now();
  const program = await printedProgram(graph);
  // Other layouts would give other bits.
  if ((program.state?.stretch ?? null) !== null) return CompiledGpu.compileDefault(graph, device, limits, program);
  const running = searches.get(device) ?? new Map<string, Promise<Found | undefined>>();
  searches.set(device, running);
  let found: Found | undefined = await keptLayout(program, device);
  while (found === undefined && search !== false) {
    signal?.throwIfAborted();
    const other = running.get(program.source);
    if (other !== undefined) {
      found = await orAborted(other, signal);
      continue;
    }
    const own = searchFirst(graph, device, program, { begin, ...limits, ...(search === true ? {} : search) });
    running.set(program.source, own.then((made) => made.found, () => (signal?.aborted === true ? undefined : 'byDefault' as const))
      .finally(() => running.delete(program.source)));
    return (await own).compiled;
  }
  if (found !== undefined && found !== 'byDefault') {
    try {
      return await CompiledGpu.of(graph, await printedProgram(graph, found), device, limits);
    } catch (error) {
      if (!(error instanceof UnsupportedProgram)) throw error;
    }
  }
  return CompiledGpu.compileDefault(graph, device, limits, program);
}

/**
 * Compiles the default layout and a few candidates beside each other, times what is ready in time, and keeps the fastest. Rejects only
 * as the compilation of the default layout does, and with the signal's reason.
 */
async function searchFirst(
  graph: StreamGraph, device: Device, program: FusedProgram, { begin, fast, signal, timeout, candidates = shortList, seconds, time }:
  GpuLimits & ShortSearch & { readonly begin: number },
): Promise<{ readonly compiled: CompiledGpu; readonly found: Found }> {
  const over = new AbortController();
  let trial: Trial | undefined, timer: NodeJS.Timeout | undefined;
  let took = 0, isLate = false as boolean, lastStart = Infinity;
  const standard = CompiledGpu.compileDefault(graph, device, { fast, signal, timeout }, program);
  using search = new LayoutSearch(graph, device, {
    fast, signal, over: over.signal, lastStart: () => lastStart, atOnce: Math.max(1, availableParallelism() - 1),
    time: async (each, compiled) => {
      await timed;
      over.signal.throwIfAborted(); // the default layout took all the time
      return time?.(each, compiled) ?? required(trial).time(compiled, signal);
    },
  });
  search.knows(byDefault, program);
  const timed = standard.then(async (compiled) => {
    took = (performance.now() - begin) / 1e3;
    const left = seconds ?? patience(took);
    lastStart = begin + 1e3 * (took + left - leastShare * took);
    timer = setTimeout(() => {
      isLate = true;
      over.abort();
    }, 1e3 * left);
    if (time === undefined) trial = new (await import('./trial.ts')).Trial(compiled, undefined, fast !== true);
    search.knows(byDefault, program, await (time?.(byDefault, compiled) ?? required(trial).timeDefault(compiled, signal)));
  });
  timed.catch(() => { over.abort(); });
  // The compiler of the default layout first: it is found and started while this thread has nothing else to do.
  await Promise.race([standard.catch(() => undefined), after(startMilliseconds)]);
  const [ended] = await Promise.allSettled([timed, search.tries(candidates)]);
  clearTimeout(timer);
  trial?.dispose();
  const compiled = await standard;
  if (signal?.aborted === true) {
    compiled.dispose();
    throw reasonOf(signal);
  }
  const { ranking } = search;
  const rateOfDefault = ranking.find(({ candidate }) => candidate === byDefault)?.rate;
  const [best] = ranking;
  if (rateOfDefault !== undefined && best !== undefined && best.rate > leastGain * rateOfDefault) {
    const fastest = required(search.take());
    compiled.dispose();
    await keep(best.candidate.options);
    return { compiled: fastest, found: best.candidate.options };
  }
  // Input on which the program faults will be the same next time. What a device or a loaded machine failed at may succeed, and a search
  // that was late is made once more, when the default layout comes from the cache.
  const isKept = ended.status === 'rejected' ? isRefusal(ended.reason) : !(isLate || search.hasLeftOut) || took < cachedSeconds;
  if (isKept) await keep(undefined);
  return { compiled, found: 'byDefault' };

  /** A folder that cannot be written is no reason to fail. */
  function keep(layout: FusedOptions | undefined): Promise<void> {
    return keepLayout(program, device, layout).catch(() => undefined);
  }
}
