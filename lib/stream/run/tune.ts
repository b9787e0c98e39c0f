// Finds the fastest layout of a program's kernel on a device by timing candidates, and keeps it for later compilations.
import { resultArray, type Device, type DeviceArray } from '../../core/device.ts';
import { WarploomError, refusal } from '../../core/errors.ts';
import { elementAt, required } from '../../core/known.ts';
import type { StreamGraph } from '../graph.ts';
import { scalarCount } from '../interpret/values.ts';
import { countsOf, makeArray } from '../plan/layout.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { sampleInput } from '../profile/parts.ts';
import { elementTypes } from './gpu-ends.ts';
import { Carry } from './gpu-state.ts';
import { CompiledGpu, type GpuLimits } from './gpu.ts';
import { keepLayout } from './kept-layout.ts';
import { LayoutSearch, mostCandidates, type Candidate } from './layouts.ts';
import { splitItems, type Scalars } from './prepare.ts';
import { printedProgram } from './printed.ts';

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
   * fused groups, `w` firings that a thread makes together, and `ahead` if the next round's input is copied while a round is computed.
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

/** Bytes of input and output of a timed launch, at most, and scalars of the output that are compared. */
const mostBytes = 2 ** 28, comparedScalars = 2 ** 20;
/** Seconds of a launch that is long enough to be timed, of all launches of a candidate, and their number. */
const launchSeconds = 0.002, candidateSeconds = 0.1, launches = 5;
/** Items of input before they repeat. */
const sampleItems = 2 ** 18;
/** Rounds of a multiprocessor in the first launch. */
const firstRounds = 4;
/** A layout replaces the default if it is faster by more than what launches differ by. */
const leastGain = 1.02;

/** The same input on a device for every layout of a program, and what the default layout makes of it. */
class Trial {
  readonly #device: Device;
  /** By kind of the input's scalars. */
  readonly #sample: readonly Scalars[];
  /** Steady states before the timed ones: room for layouts whose blocks begin early. */
  readonly #lead: number;
  #states: number;
  #input: readonly DeviceArray[] = [];
  #output: readonly DeviceArray[] = [];
  /** Undefined for programs with state, which does not stand in the launches as in a run. */
  #expected: readonly ArrayLike<number>[] | undefined;

  constructor({ device, program, warmStates }: CompiledGpu, input: ArrayLike<number> | undefined) {
    const { external: { type }, kinds } = program.input;
    const width = scalarCount(type);
    if (input !== undefined && input.length < width) throw refusal('input', `items of ${width} scalars`, `${input.length} scalars`);
    const given = input ?? sampleInput(type, sampleItems * width, 1);
    const arrays = splitItems(given, type);
    this.#sample = kinds.map((kind) => required(arrays[kind]));
    this.#device = device;
    this.#lead = 2 * (program.startStates + warmStates) + program.states;
    this.#states = firstRounds * program.states * device.description.multiprocessors;
  }

  /** Output items per second of the default layout. Launches get longer until they can be timed. */
  async timeDefault(compiled: CompiledGpu, signal: AbortSignal | undefined): Promise<number> {
    const { input, output } = compiled.program;
    const bytes = [input, output].reduce((sum, { external: { type }, kinds, items }) =>
      sum + kinds.reduce((all, kind) => all + items * countsOf(type)[kind] * (kind === 'd' ? 8 : 4), 0), 0);
    const most = Math.max(this.#states, Math.floor(mostBytes / Math.max(1, bytes)));
    for (;;) {
      await this.#allocate(compiled);
      const seconds = await this.#launch(compiled, signal);
      if (seconds >= launchSeconds || this.#states >= most) {
        if (compiled.program.state === undefined) this.#expected = await this.#written();
        return this.#states * output.items / Math.min(seconds, await this.#launch(compiled, signal));
      }
      this.#states = Math.min(most, Math.ceil(this.#states * Math.min(16, 2 * launchSeconds / Math.max(seconds, 1e-7))));
    }
  }

  /** Output items per second of another layout. Throws if it changes a bit of the output, which would be a fault of a compiler. */
  async time(compiled: CompiledGpu, signal: AbortSignal | undefined): Promise<number> {
    if (compiled.program.startStates + compiled.warmStates > this.#lead) {
      throw new UnsupportedProgram(`its blocks begin ${compiled.warmStates} steady states early`);
    }
    const seconds = await this.#launch(compiled, signal);
    const wanted = this.#expected;
    if (wanted !== undefined) (await this.#written()).forEach((scalars, at) => {
      const expected = elementAt(wanted, at);
      const different = Array.prototype.findIndex.call(scalars, (x, i) => !Object.is(x, expected[i]));
      if (different < 0) return;
      throw new WarploomError('ERR_WARPLOOM_INTERNAL', `scalar ${different} of its output differs from that of the default layout`);
    });
    return this.#states * compiled.program.output.items / seconds;
  }

  /** Seconds of the fastest of a few launches. */
  async #launch(compiled: CompiledGpu, signal: AbortSignal | undefined): Promise<number> {
    const { input: { before, items } } = compiled.program;
    let [best, sum] = [Infinity, 0];
    for (let i = 0; i < launches && (i === 0 || sum < candidateSeconds); ++i) {
      signal?.throwIfAborted();
      // State begins at zero, which is what no run has there, but takes the same time.
      const carry = compiled.program.state && new Carry(this.#device, new Int32Array(Math.max(1, compiled.program.state.carryWords)));
      const { deviceSeconds, fault } = await compiled.launch({
        input: this.#input, output: this.#output, firstInput: before + this.#lead * items, firstOutput: 0, states: this.#states, signal,
        ...(carry === undefined ? {} : { state: carry.next(this.#lead) }),
      }).finally(() => { carry?.dispose(); });
      if (fault !== undefined) throw refusal('input', 'items on which the program does not fault', 'items on which it does');
      best = Math.min(best, deviceSeconds);
      sum += deviceSeconds;
    }
    return best;
  }

  async #allocate({ program: { input, output } }: CompiledGpu): Promise<void> {
    this.dispose();
    const counts = countsOf(input.external.type);
    const items = input.before + (this.#lead + this.#states) * input.items + input.external.later.beyond;
    this.#input = await Promise.all(input.kinds.map(async (kind, at) => {
      const array = resultArray(this.#device, elementTypes[kind], items * counts[kind]);
      const sample = elementAt(this.#sample, at);
      for (let done = 0; done < array.length; done += sample.length) await array.write(sample.subarray(0, array.length - done), done);
      return array;
    }));
    const given = countsOf(output.external.type);
    this.#output = output.kinds.map((kind) =>
      resultArray(this.#device, elementTypes[kind], this.#states * output.items * given[kind]));
  }

  /** The first scalars of the output. */
  #written(): Promise<ArrayLike<number>[]> {
    return Promise.all(this.#output.map(async (array) => {
      const kind = array.type === 'int32' ? 'i' : array.type === 'float32' ? 'f' : 'd';
      const scalars = makeArray(kind, Math.min(array.length, comparedScalars));
      await array.read(scalars, 0);
      return scalars;
    }));
  }

  dispose(): void {
    for (const array of [...this.#input, ...this.#output]) array.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/**
 * Times layouts of a program's kernel, keeps the fastest one for later compilations, and returns the program in it. Rejects as
 * {@link CompiledGpu.compile} does, and if the program faults on the input.
 */
export async function tuneLayout(graph: StreamGraph, device: Device, options: TuneLayoutOptions): Promise<TunedProgram> {
  const { input, seconds, fast, signal, onProgress } = options;
  const end = performance.now() + 1e3 * seconds;
  const compiled = await CompiledGpu.compileDefault(graph, device, { fast, signal });
  try {
    using trial = new Trial(compiled, input);
    const skipped: { name: string; reason: string }[] = [];
    let done = 0;
    const search = new LayoutSearch(graph, device, {
      fast, signal, isOver: () => performance.now() >= end,
      time: (_, made) => trial.time(made, signal),
      skip: ({ name }, reason) => { skipped.push({ name, reason }); },
      tried: () => { onProgress?.(Math.min(++done, mostCandidates), mostCandidates); },
    });
    const byDefault: Candidate = { name: 'default', options: {} };
    search.knows(byDefault, compiled.program, await trial.timeDefault(compiled, signal));
    await search.run();
    const { ranking } = search;
    const rateOfDefault = required(ranking.find(({ candidate }) => candidate === byDefault)).rate;
    const [{ candidate: best, rate }] = ranking as [typeof ranking[number]];
    const layouts = ranking.map(({ candidate: { name }, rate: itemsPerSecond }) => ({ name, itemsPerSecond }));
    const isBetter = rate > leastGain * rateOfDefault;
    await keepLayout(await printedProgram(graph), device, isBetter ? best.options : undefined);
    if (!isBetter) return { compiled, layouts, skipped };
    const made = await CompiledGpu.of(graph, await printedProgram(graph, best.options), device, { fast, signal });
    compiled.dispose();
    return { compiled: made, layouts, skipped };
  } catch (error) {
    compiled.dispose();
    throw error;
  }
}
