// The rest of a search for the fastest layout, where the first compilation had no time for all candidates: each is compiled with low
// priority, and timed while the device has nothing else to do. What is found is kept for later compilations.
import { Device } from '../../core/device.ts';
import { Turns } from '../../core/turns.ts';
import type { StreamGraph } from '../graph.ts';
import type { FusedProgram } from '../targets/cuda.ts';
import { activityOf } from './activity.ts';
import { CompiledGpu } from './gpu.ts';
import { keepLayouts, type KnownLayouts } from './kept-layout.ts';
import { byDefault, isUseless, leastGain, stateReadsAhead, type Candidate } from './layouts.ts';
import { loadTrial } from './load-trial.ts';
import { noteLost } from './lost.ts';
import { printedAside } from './printed.ts';

/** Time as a search sees it. Timers do not keep the process alive. */
export interface SearchClock {
  /** Milliseconds. */
  now(): number;
  after(milliseconds: number, then: () => void): void;
}

/** What a search in the background does, for tests. */
export interface LaterSearch {
  readonly clock?: SearchClock;
  /** Seconds of compiling and timing, in all; default 60. */
  readonly seconds?: number;
  /** Told of each candidate that was timed or left out, and at last `over`. */
  readonly told?: (what: string) => void;
}

/** What the rest of a search goes on from. */
export interface LaterRequest extends LaterSearch {
  readonly graph: StreamGraph;
  readonly device: Device;
  /** In the default layout. */
  readonly program: FusedProgram;
  readonly fast?: boolean | undefined;
  readonly candidates: readonly Candidate[];
  readonly known: KnownLayouts;
  /** Times a layout, in items of output per second. Default: by launches on random input. */
  readonly time?: ((candidate: Candidate, compiled: CompiledGpu) => Promise<number>) | undefined;
  /** Takes the program in a layout that is faster than the fastest one before. */
  readonly better?: ((compiled: CompiledGpu) => void) | undefined;
}

const systemClock: SearchClock = {
  now: () => performance.now(),
  after: (milliseconds, then) => { setTimeout(then, milliseconds).unref(); },
};

/** Milliseconds for which a device must have had nothing to do. */
const quietMilliseconds = 250;
const mostSeconds = 60;
/** Milliseconds after which compilers are stopped, at most, once the device is closed. */
const lookMilliseconds = 100;

/** Searches under way, by device and text of the default layout; those of a device take turns. */
const searches = new WeakMap<Device, { readonly programs: Set<string>; readonly turns: Turns }>();

/** The rest of one search. */
class LaterLayouts {
  readonly #request: LaterRequest;
  readonly #clock: SearchClock;
  readonly #turns: Turns;
  readonly #stop = new AbortController();
  /** Milliseconds that are left. */
  #left: number;
  #known: KnownLayouts;
  #default: CompiledGpu | undefined;

  constructor(request: LaterRequest, turns: Turns) {
    this.#request = request;
    this.#clock = request.clock ?? systemClock;
    this.#left = 1e3 * (request.seconds ?? mostSeconds);
    this.#known = request.known;
    this.#turns = turns;
  }

  async run(): Promise<void> {
    const { device, candidates, told } = this.#request;
    try {
      for (const each of candidates.filter(({ name }) => !(name in this.#known.rates))) {
        await this.#quiet();
        if (this.#left <= 0) return;
        await this.#turns.take(() => this.#whileOpen(() => this.#try(each)), this.#stop.signal);
        told?.(each.name);
      }
      await this.#keep({ isWhole: candidates.every(({ name }) => name in this.#known.rates) });
    } catch (error) {
      noteLost(device, error); // a device that fails is for runs to report
    } finally {
      this.#default?.dispose();
      told?.('over');
    }
  }

  /** Waits until the device has made a run, and has had nothing to do for a while. */
  async #quiet(): Promise<void> {
    const { device } = this.#request, activity = activityOf(device);
    for (let seen = -1; !activity.isIdle || activity.ended === 0 || activity.ended !== seen;) {
      seen = activity.ended;
      if (activity.isIdle && seen > 0) await new Promise<void>((resolve) => { this.#clock.after(quietMilliseconds, resolve); });
      else await activity.next();
      this.#requireOpen();
    }
  }

  #requireOpen(): void {
    if (!Device.usable(this.#request.device)) this.#stop.abort(new Error('the device was closed'));
    this.#stop.signal.throwIfAborted();
  }

  /** Does work until the device is closed. */
  async #whileOpen(work: () => Promise<void>): Promise<void> {
    const timer = setInterval(() => {
      if (!Device.usable(this.#request.device)) this.#stop.abort(new Error('the device was closed'));
    }, lookMilliseconds).unref();
    try {
      await work();
    } finally {
      clearInterval(timer);
    }
  }

  /** What a candidate comes to; one that fails for another reason than itself is left to other processes. */
  async #try(each: Candidate): Promise<void> {
    let compiled: CompiledGpu | undefined;
    try {
      compiled = await this.#spending(() => this.#compile(each));
      const rate = await this.#rate(each, compiled);
      if (rate === undefined) return;
      const best = this.#known.layout === undefined ? 1 : Math.max(1, ...Object.values(this.#known.rates));
      const rates = { [each.name]: rate };
      const isBetter = rate > leastGain * best;
      await this.#keep({ rates, ...(isBetter ? { layout: each.options } : {}) });
      if (!isBetter) return;
      this.#request.better?.(compiled);
      if (this.#request.better !== undefined) compiled = undefined;
    } catch (error) {
      this.#requireOpen();
      if ((error as { code?: unknown }).code === 'ERR_WARPLOOM_DEVICE_LOST') throw error;
      if (isUseless(error)) await this.#keep({ rates: { [each.name]: 0 } });
    } finally {
      compiled?.dispose();
    }
  }

  async #compile(each: Candidate): Promise<CompiledGpu> {
    const { graph, device, program, fast } = this.#request;
    const limits = { fast, isBackground: true, signal: this.#stop.signal, timeout: Math.max(1, Math.ceil(this.#left)) };
    if (program.state !== undefined && each.options.readsAhead === true) throw stateReadsAhead();
    this.#default ??= await CompiledGpu.compileDefault(graph, device, limits, program);
    return CompiledGpu.of(graph, await printedAside(graph, each.options, this.#stop.signal), device, limits);
  }

  /** Its rate over that of the default layout, timed again where a run comes in between; undefined when the time is over. */
  async #rate(each: Candidate, compiled: CompiledGpu): Promise<number | undefined> {
    while (this.#left > 0) {
      await this.#quiet();
      const pause = new AbortController();
      const forget = activityOf(this.#request.device).onBegin(() => { pause.abort(new Error('a run began')); });
      try {
        return await this.#spending(() => this.#time(each, compiled, AbortSignal.any([pause.signal, this.#stop.signal])));
      } catch (error) {
        this.#stop.signal.throwIfAborted();
        if (!pause.signal.aborted) throw error;
      } finally {
        forget();
      }
    }
    return undefined;
  }

  async #time(each: Candidate, compiled: CompiledGpu, signal: AbortSignal): Promise<number> {
    const { time, fast } = this.#request, standard = this.#default as CompiledGpu;
    if (time !== undefined) {
      const rate = await time(byDefault, standard);
      signal.throwIfAborted();
      const own = await time(each, compiled);
      signal.throwIfAborted();
      return own / rate;
    }
    const { Trial } = await loadTrial();
    using trial = new Trial(standard, undefined, fast !== true);
    const rate = await trial.timeDefault(standard, signal);
    return await trial.time(compiled, signal) / rate;
  }

  async #spending<T>(work: () => Promise<T>): Promise<T> {
    const begin = this.#clock.now();
    try {
      return await work();
    } finally {
      this.#left -= this.#clock.now() - begin;
    }
  }

  /** A folder that cannot be written is no reason to fail. */
  async #keep(found: Partial<KnownLayouts>): Promise<void> {
    const { rates } = this.#known;
    this.#known = { ...this.#known, ...found, rates: { ...rates, ...found.rates } };
    await keepLayouts(this.#request.program, this.#request.device, this.#known).catch(() => undefined);
  }
}

/** Goes on with a search while the device has nothing to do; one of a program at a time. Nothing waits for it. */
export function searchLater(request: LaterRequest): void {
  const { device, program: { source } } = request;
  const own = searches.get(device) ?? { programs: new Set<string>(), turns: new Turns(() => undefined) };
  searches.set(device, own);
  if (own.programs.has(source)) return;
  own.programs.add(source);
  void new LaterLayouts(request, own.turns).run().finally(() => own.programs.delete(source));
}
