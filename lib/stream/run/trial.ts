// Launches of a program's kernel in one layout after the other, on the same input in the device's memory: they are timed, and their output
// is compared.
import { resultArray, type Device, type DeviceArray } from '../../core/device.ts';
import { WarploomError, refusal } from '../../core/errors.ts';
import { elementAt, required } from '../../core/known.ts';
import { scalarCount } from '../interpret/values.ts';
import { countsOf, makeArray } from '../plan/layout.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { sampleInput } from '../profile/parts.ts';
import { elementTypes } from './gpu-ends.ts';
import { Carry } from './gpu-state.ts';
import type { CompiledGpu } from './gpu.ts';
import { isRefusal } from './layouts.ts';
import { splitItems, type Scalars } from './prepare.ts';

/**
 * Bytes of input and output of a timed launch, at most, their share of the device's memory and of its limit, and scalars of the output that
 * are compared.
 */
const mostBytes = 2 ** 30, memoryShare = 1 / 16, limitShare = 1 / 8, comparedScalars = 2 ** 20;
/** Seconds of a launch that is long enough to be timed, of all launches of a candidate, and their number. */
const launchSeconds = 0.002, candidateSeconds = 0.1, launches = 5;
/** Items of input before they repeat. */
const sampleItems = 2 ** 18;
/** Blocks of other layouts may begin so many times as early as those of the default one. */
const leads = 8;
/** Rounds of a multiprocessor in the first launch. */
const firstRounds = 4;

const bytesOf = ({ buffer, byteOffset, byteLength }: Scalars): Buffer => Buffer.from(buffer, byteOffset, byteLength);

/** The same input on a device for every layout of a program, and what the default layout makes of it. */
export class Trial {
  readonly #device: Device;
  /** By kind of the input's scalars. */
  #sample: readonly Scalars[];
  /** Whether other items may be tried where the program faults on these. */
  #isOurs: boolean;
  /** Steady states before the timed ones: room for layouts whose blocks begin early. */
  readonly #lead: number;
  #states: number;
  #input: readonly DeviceArray[] = [];
  #output: readonly DeviceArray[] = [];
  readonly #isExact: boolean;
  /** Undefined for programs with state, which does not stand in the launches as in a run, and where rounding may differ. */
  #expected: readonly Scalars[] | undefined;

  /** @param isExact whether all layouts must give the same bits: not with `fast` */
  constructor({ device, program, warmStates }: CompiledGpu, input: ArrayLike<number> | undefined, isExact: boolean) {
    this.#isExact = isExact;
    const { external: { type }, kinds } = program.input;
    const width = scalarCount(type);
    if (input !== undefined && input.length < width) throw refusal('input', `items of ${width} scalars`, `${input.length} scalars`);
    const given = input ?? sampleInput(type, sampleItems * width, 1);
    const arrays = splitItems(given, type);
    this.#isOurs = input === undefined && kinds.includes('i');
    this.#sample = kinds.map((kind) => required(arrays[kind]));
    this.#device = device;
    this.#lead = leads * (program.startStates + warmStates + program.states);
    this.#states = firstRounds * program.states * device.description.multiprocessors;
  }

  /** Output items per second of the default layout, on integers of 0 and 1 if the program faults on larger ones, as indices can be. */
  async timeDefault(compiled: CompiledGpu, signal: AbortSignal | undefined): Promise<number> {
    try {
      return await this.#timeDefault(compiled, signal);
    } catch (error) {
      if (!this.#isOurs || !isRefusal(error)) throw error;
      this.#isOurs = false;
      this.#sample = this.#sample.map((scalars) => (scalars instanceof Int32Array ? scalars.map((x) => x & 1) : scalars));
      return await this.#timeDefault(compiled, signal);
    }
  }

  /** Launches get longer until they can be timed. */
  async #timeDefault(compiled: CompiledGpu, signal: AbortSignal | undefined): Promise<number> {
    const { input, output } = compiled.program;
    const bytes = [input, output].reduce((sum, { external: { type }, kinds, items }) =>
      sum + kinds.reduce((all, kind) => all + items * countsOf(type)[kind] * (kind === 'd' ? 8 : 4), 0), 0);
    const { limitBytes } = this.#device.memory(), { memoryBytes } = this.#device.description;
    const room = Math.min(mostBytes, limitBytes === 0 ? Infinity : limitShare * limitBytes,
      memoryBytes === 0 ? Infinity : memoryShare * memoryBytes);
    const most = Math.max(this.#states, Math.floor(room / Math.max(1, bytes)));
    for (;;) {
      await this.#allocate(compiled, signal);
      const seconds = await this.#launch(compiled, signal);
      if (seconds >= launchSeconds || this.#states >= most) {
        if (this.#isExact && compiled.program.state === undefined) this.#expected = await this.#written();
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
      if (bytesOf(scalars).equals(bytesOf(expected))) return;
      const different = scalars.findIndex((x, i) => !Object.is(x, expected[i]));
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

  async #allocate({ program: { input, output } }: CompiledGpu, signal: AbortSignal | undefined): Promise<void> {
    this.dispose();
    const counts = countsOf(input.external.type);
    const items = input.before + (this.#lead + this.#states) * input.items + input.external.later.beyond;
    this.#input = input.kinds.map((kind) => resultArray(this.#device, elementTypes[kind], items * counts[kind]));
    for (const [at, array] of this.#input.entries()) {
      const sample = elementAt(this.#sample, at);
      for (let done = 0; done < array.length; done += sample.length) {
        signal?.throwIfAborted();
        await array.write(sample.subarray(0, array.length - done), done);
      }
    }
    const given = countsOf(output.external.type);
    this.#output = output.kinds.map((kind) =>
      resultArray(this.#device, elementTypes[kind], this.#states * output.items * given[kind]));
  }

  /** The first scalars of the output. */
  #written(): Promise<Scalars[]> {
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
