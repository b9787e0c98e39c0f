// Programs as one kernel, in the layout that is kept for them. Where none is, the first compilation times a few layouts and keeps the
// fastest.
import { availableParallelism } from 'node:os';
import { setTimeout as after } from 'node:timers/promises';
import type { Device } from '../../core/device.ts';
import { required } from '../../core/known.ts';
import { reasonOf } from '../../core/progress.ts';
import { isTrusted } from '../require.ts';
import { orAborted } from '../stop.ts';
import type { StreamGraph } from '../graph.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import type { FusedProgram } from '../targets/cuda.ts';
import { CompiledGpu } from './gpu.ts';
import type { GpuLimits } from './gpu-types.ts';
import { activityOf } from './activity.ts';
import { keepLayouts, knownLayouts, type KnownLayouts } from './kept-layout.ts';
import { searchLater, type LaterSearch } from './later-layouts.ts';
import { byDefault, isRefusal, LayoutSearch, leastCores, leastGain, shortList, type Candidate } from './layouts.ts';
import { printedProgram } from './printed.ts';
import { loadTrial } from './load-trial.ts';
import type { Trial } from './trial.ts';

/** Options of {@link compileFused}. */
export interface FusedCompileOptions extends GpuLimits {
  /** Whether layouts are timed where none is kept. Default: on GPUs of machines with at least four cores, unless WARPLOOM_TUNE is 0. */
  readonly search?: boolean | ShortSearch | undefined;
  /** Takes the program in faster layouts that are found later, while the device has nothing to do. */
  readonly better?: ((compiled: CompiledGpu) => void) | undefined;
}

/** What a search at the first compilation does, for tests. */
export interface ShortSearch {
  /** Default: {@link shortList}. */
  readonly candidates?: readonly Candidate[];
  /** Seconds after the default layout is compiled from which on no further candidate is timed. Default: see {@link patience}. */
  readonly seconds?: number;
  /** Times a layout, in items of output per second. Default: by launches on random input. */
  readonly time?: (candidate: Candidate, compiled: CompiledGpu) => Promise<number>;
  /** How candidates for which there was no time are timed later, while the device has nothing to do. Default: they are not. */
  readonly later?: LaterSearch;
}

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
const searches = new WeakMap<Device, Map<string, Promise<KnownLayouts | undefined>>>();

/** Nothing is left to be found out. */
const settled: KnownLayouts = { layout: undefined, rates: {}, isWhole: true };

/**
 * Compiles a graph for a device, in the layout that a search has found for it, here or in `tune.ts`. Throws UnsupportedProgram for programs
 * that are not for devices, ScheduleError where there is no schedule, UnavailableError where nothing compiles device code.
 */
export async function compileFused(graph: StreamGraph, device: Device, options: FusedCompileOptions = {}): Promise<CompiledGpu> {
  const { search: asked = searchesByDefault(device), better, ...limits } = options;
  const { limitBytes } = device.memory();
  const search = (limitBytes === 0 || limitBytes >= leastMemory) && asked;
  const { signal, fast } = limits;
  const begin = performance.now();
  const program = await printedProgram(graph);
  // Other layouts would give other bits.
  if ((program.state?.stretch ?? null) !== null) return CompiledGpu.compileDefault(graph, device, limits, program);
  const running = searches.get(device) ?? new Map<string, Promise<KnownLayouts | undefined>>();
  searches.set(device, running);
  let known = await knownLayouts(program, device);
  const goOn = (): void => {
    const { candidates = shortList, time, later }: ShortSearch = typeof search === 'object' ? search : { later: {} };
    // Others may change their graph meanwhile.
    if (known?.isWhole !== false || search === false || later === undefined || !isTrusted(graph)) return;
    searchLater({ ...later, graph, device, program, fast, candidates, known, time, better });
  };
  while (known === undefined && search !== false) {
    signal?.throwIfAborted();
    const other = running.get(program.source);
    if (other !== undefined) {
      known = await orAborted(other, signal);
      continue;
    }
    const asWell = search === true ? {} : search;
    const own = activityOf(device).during(() => searchFirst(graph, device, program, { begin, ...limits, ...asWell }), false);
    running.set(program.source, own.then((made) => made.known, () => (signal?.aborted === true ? undefined : settled))
      .finally(() => running.delete(program.source)));
    const made = await own;
    known = made.known;
    goOn();
    return made.compiled;
  }
  goOn();
  if (known?.layout !== undefined) {
    try {
      return await CompiledGpu.of(graph, await printedProgram(graph, known.layout), device, limits);
    } catch (error) {
      if (!(error instanceof UnsupportedProgram)) throw error;
    }
  }
  return CompiledGpu.compileDefault(graph, device, limits, program);
}

/**
 * Compiles the default layout and a few candidates beside each other, times what is ready in time, and keeps what is found out. Rejects
 * only as the compilation of the default layout does, and with the signal's reason.
 */
async function searchFirst(
  graph: StreamGraph, device: Device, program: FusedProgram, { begin, fast, signal, timeout, candidates = shortList, seconds, time }:
  GpuLimits & ShortSearch & { readonly begin: number },
): Promise<{ readonly compiled: CompiledGpu; readonly known: KnownLayouts }> {
  const over = new AbortController();
  let trial: Trial | undefined, timer: NodeJS.Timeout | undefined;
  let took = 0, lastStart = Infinity;
  /** Candidates that cannot run, or have the same text as another. */
  const useless: string[] = [];
  const standard = CompiledGpu.compileDefault(graph, device, { fast, signal, timeout }, program);
  using search = new LayoutSearch(graph, device, {
    // With all cores busy, none would be ready in time.
    fast, signal, over: over.signal, lastStart: () => lastStart, atOnce: 1 + Math.floor(availableParallelism() / 2),
    time: async (each, compiled) => {
      await timed;
      over.signal.throwIfAborted(); // the default layout took all the time
      return time?.(each, compiled) ?? required(trial).time(compiled, signal);
    },
    skip: ({ name }, _, isUseless) => { if (isUseless) useless.push(name); },
  });
  search.knows(byDefault, program);
  const timed = standard.then(async (compiled) => {
    took = (performance.now() - begin) / 1e3;
    const left = seconds ?? patience(took);
    lastStart = begin + 1e3 * (took + left - leastShare * took);
    timer = setTimeout(() => { over.abort(); }, 1e3 * left);
    if (time === undefined) trial = new (await loadTrial()).Trial(compiled, undefined, fast !== true);
    const rate = await (time?.(byDefault, compiled) ?? required(trial).timeDefault(compiled, signal));
    search.knows(byDefault, program, { rate, compiled });
  });
  timed.catch(() => { over.abort(); });
  // The compiler of the default layout first: it is found and started while this thread has nothing else to do.
  await Promise.race([standard.catch(() => undefined), after(startMilliseconds)]);
  const [ended] = await Promise.allSettled([timed, search.tries(candidates).then(() => search.settle())]);
  clearTimeout(timer);
  trial?.dispose();
  const compiled = await standard;
  if (signal?.aborted === true) {
    compiled.dispose();
    throw reasonOf(signal);
  }
  const found = foundBy(search, candidates, useless);
  // Input on which the program faults will be the same next time. What a device or a loaded machine failed at may succeed, and a search
  // that timed no candidate is made once more, when the default layout comes from the cache.
  const isKept = ended.status === 'rejected' ? isRefusal(ended.reason)
    : found.isWhole || Object.values(found.rates).some((rate) => rate > 0) || took < cachedSeconds;
  const known = ended.status === 'rejected' ? settled : found;
  // A folder that cannot be written is no reason to fail.
  if (isKept) await keepLayouts(program, device, known).catch(() => undefined);
  if (known.layout === undefined) return { compiled, known };
  compiled.dispose();
  return { compiled: required(search.take()), known };
}

/** What a search has found out. Candidates that failed for another reason than themselves are left. */
function foundBy({ ranking }: LayoutSearch, candidates: readonly Candidate[], useless: readonly string[]): KnownLayouts {
  const ofDefault = ranking.find(({ candidate }) => candidate === byDefault)?.rate ?? Infinity;
  const timed = ranking.filter(({ candidate }) => candidate !== byDefault).map(({ candidate: { name }, rate }) => [name, rate / ofDefault]);
  const rates = Object.fromEntries([...timed, ...useless.map((name) => [name, 0])]) as Record<string, number>;
  const [best] = ranking;
  const isBetter = best !== undefined && best.rate > leastGain * ofDefault;
  return {
    layout: isBetter ? best.candidate.options : undefined, rates, isWhole: candidates.every(({ name }) => name in rates),
  };
}
