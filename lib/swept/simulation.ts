// A simulation: a state on the device, advanced to exact steps and times.
import { writeCheckpoint } from '../core/checkpoint.ts';
import type { Device, DeviceArray, RunResult } from '../core/device.ts';
import { DisposedError, InstabilityError } from '../core/errors.ts';
import type { Reports } from '../core/operations.gen.ts';
import type { CallOptions } from '../core/progress.ts';
import { fileName, requireCount, requireNumber, text } from '../core/checks.ts';
import { cancelChecks, normally, optionsOf } from '../core/options.ts';
import { snapshot } from '../core/snapshot.ts';
import { mostSteps, type Clock, type Plan } from '../core/clock.ts';
import { inspection } from '../core/display.ts';
import { places } from './grid.ts';
import { zeros } from './initial.ts';
import { componentsOf, measure, rowOf, type Figures, type Place } from './measure.ts';
import { Pace } from '../core/pace.ts';
import { Turns } from '../core/turns.ts';
import { shownSnapshot } from '../pictures/snapshots.ts';
import { checkpointKind, stateNames, type CheckpointParameters } from './saved.ts';
import { checkedSnapshots, goals, type Goal, type SnapshotOptions } from '../core/goals.ts';
import type {
  EquationName, Norms, Placement, RealArray, Setup, SimulationInfo, Snapshot,
} from './types.ts';

const callOptions = {
  advance: optionsOf('advance', cancelChecks), advanceTo: optionsOf('advanceTo', cancelChecks), read: optionsOf('read', cancelChecks),
  figures: optionsOf('figures', cancelChecks),
};
const saveOptions = optionsOf('save', { tag: normally(text(), '') });

/** @internal What {@link Simulation} is made of. */
export interface Parts {
  readonly setup: Setup;
  readonly placement: Placement;
  readonly state: DeviceArray;
  readonly next: DeviceArray;
  readonly clock: Clock;
}

/**
 * Independent problems of one equation on a device, made by `swept.heat`, `swept.kuramotoSivashinsky`, `swept.euler` or
 * `swept.restore`. The state stays in the device's memory between calls.
 *
 * Calls run one after another in the order in which they were made; a call that fails or is aborted leaves the state at the last step it
 * finished, and the calls after it continue from there. Free it with `await using`, `using` or {@link dispose}.
 */
export abstract class Simulation<State> {
  /** Everything the results depend on besides the initial state. */
  readonly setup: Setup;
  #placement: Placement;
  #state: DeviceArray;
  #next: DeviceArray;
  #clock: Clock;
  #pace: Pace;
  #made: Pick<SimulationInfo, 'variant' | 'points' | 'depth' | 'threads'>;
  #steps = 0;
  #seconds = 0;
  #disposed = false;
  readonly #turns = new Turns(() => { if (this.#disposed) this.dispose(); });

  /** @internal */
  constructor({ setup, placement, state, next, clock }: Parts) {
    this.setup = setup;
    this.#placement = placement;
    this.#state = state;
    this.#next = next;
    this.#clock = clock;
    this.#pace = new Pace(setup.n * setup.batch, placement.device.backend);
    this.#made = { variant: placement.variant, points: 0, depth: 0, threads: 0 };
  }

  /** How far it is, in consoles. */
  [inspection](): string {
    const { equation, n, batch } = this.setup;
    return `Simulation { ${equation}, ${n} points${batch === 1 ? '' : `, problems: ${batch}`}, step ${this.stepsDone}, `
      + `time ${Number(this.time.toPrecision(6))} }`;
  }

  /** Decodes the stored numbers. */
  protected abstract decode(stored: RealArray): State;

  get equation(): EquationName { return this.setup.equation; }
  get n(): number { return this.setup.n; }
  get batch(): number { return this.setup.batch; }
  get dx(): number { return this.setup.dx; }
  get dt(): number { return this.setup.dt; }
  get device(): Device { return this.#placement.device; }
  get disposed(): boolean { return this.#disposed; }

  /** Positions of the points, from 0 at the left end of the domain. */
  get x(): Float64Array { return places(this.equation, this.n, this.dx, this.setup.left); }

  /** Steps since time 0, including those before a restart. */
  get stepsDone(): number { return this.#clock.step; }

  /** Simulated time. */
  get time(): number { return this.#clock.time; }

  /** What this object has run so far. */
  get info(): SimulationInfo {
    return {
      backend: this.device.backend, ...this.#made, steps: this.#steps,
      deviceSeconds: this.#seconds,
      pointUpdatesPerSecond: this.#steps === 0 ? NaN : (this.n * this.batch * this.#steps) / this.#seconds,
    };
  }

  /**
   * Takes exactly `steps` time steps.
   *
   * The work is cut into segments of some 150 ms: `onProgress` is called after each with the steps done and requested; aborting
   * ends the running segment, and the state is that at the end of the last whole segment, with {@link stepsDone} and {@link time}
   * to match.
   * @throws InstabilityError (`ERR_WARPLOOM_UNSTABLE`) naming the first step that produces a value that is not finite or, for a
   *   gas, a density or pressure that is not positive; the state is that of the step before. Aborted calls reject with
   *   `signal.reason`.
   */
  advance(steps: number, options: CallOptions = {}): Promise<void> {
    return this.#checked(() => {
      requireCount(steps, 'steps', 0, mostSteps);
      return callOptions.advance.read(options);
    }, (taken) => this.#march({ whole: steps, rest: 0 }, taken));
  }

  /**
   * Advances to exactly `time`: whole steps of `dt`, and one shortened step for what is left of the way, if anything is. (A rest
   * within rounding of a whole step counts as none.) Later steps have the full `dt` again.
   * @throws as {@link advance}; ArgumentError for a time before the present
   */
  advanceTo(time: number, options: CallOptions = {}): Promise<void> {
    return this.#checked(() => {
      requireNumber(time, 'time');
      return callOptions.advanceTo.read(options);
    }, (taken) => this.#march(this.#clock.plan(time), taken));
  }

  /**
   * Advances from snapshot to snapshot. Leaving the loop early is safe: nothing is computed ahead.
   * @example
   * for await (const { step, time, state } of simulation.snapshots({ every: 100, until: 1000 })) draw(time, state);
   */
  snapshots(given: SnapshotOptions): AsyncGenerator<Snapshot<State>, void, undefined> {
    const options = checkedSnapshots(given);
    return this.#take(goals(snapshot(options), () => this.stepsDone), { signal: options.signal, onProgress: options.onProgress });
  }

  async* #take(wanted: Iterable<Goal>, options: CallOptions): AsyncGenerator<Snapshot<State>, void, undefined> {
    for (const goal of wanted) {
      this.#requireOpen();
      yield await this.#turns.take(async () => {
        await this.#march('step' in goal ? this.#clock.planStep(goal.step) : this.#clock.plan(goal.time), options);
        const { step, time } = this.#clock;
        const state = await this.#read(options.signal);
        const { equation: name, n, batch: members, dx } = this.setup;
        // Gases have an array for each field, the others are one.
        const fields = (ArrayBuffer.isView(state) ? { u: state } : state) as unknown as Readonly<Record<string, RealArray>>;
        return shownSnapshot({ step, time, state }, fields, { name, shape: [n], spacing: [dx], members });
      }, options.signal);
    }
  }

  /** Row of {@link figures} that belongs to a component of a problem. */
  protected row(where: Place): number {
    return rowOf(where, this.batch, componentsOf(this.setup));
  }

  /** Copies the state to JavaScript's memory. */
  read(options: CallOptions = {}): Promise<State> {
    return this.#checked(() => callOptions.read.read(options), ({ signal }) => this.#read(signal));
  }

  /** Sums and bounds of every component of every problem, computed on the device in float64, with the same bits on every backend. */
  figures(options: CallOptions = {}): Promise<Figures> {
    return this.#checked(() => callOptions.figures.read(options), ({ signal }) => this.#measure(signal));
  }

  /** Norms of a component of a problem, computed on the device. */
  async norms(where: Place = {}): Promise<Norms> {
    const row = this.row(where);
    return (await this.figures()).norms(row, this.dx);
  }

  /**
   * Writes a checkpoint that `swept.restore` continues from bit for bit: checksummed, under a temporary name, then renamed. An
   * earlier one of the same name stays intact until this one is complete, and is then kept next to it as `PATH.previous`.
   * @param options `tag`: anything else that the run depends on, such as a name of its initial state; `swept.restore` can require it
   */
  save(path: string, options: { readonly tag?: string } = {}): Promise<void> {
    return this.#checked(() => {
      fileName(path, 'path');
      return saveOptions.read(options);
    }, async ({ tag }) => {
      const state = await this.#stored();
      const parameters: CheckpointParameters = { setup: this.setup, tag, clock: this.#clock.save() };
      const arrays = { [stateNames[this.equation]]: state };
      await writeCheckpoint(path, { kind: checkpointKind, parameters, step: this.#clock.step, arrays });
    });
  }

  /**
   * Frees the device memory after the calls made so far. A running advance ends with its segment and rejects with
   * ERR_WARPLOOM_DISPOSED, like every later call; waiting reads and saves are still carried out. Calling it again has no effect.
   */
  dispose(): void {
    this.#disposed = true;
    if (!this.#turns.isIdle) return;
    this.#state.dispose();
    this.#next.dispose();
  }

  /** The same as `dispose()`. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Also waits for those calls. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.dispose();
    await this.#turns.ended;
  }

  /** The stored numbers; for calls that already have their turn. */
  async #stored(signal?: AbortSignal): Promise<RealArray> {
    return await this.#state.read(undefined, 0, { signal }) as RealArray;
  }

  async #read(signal?: AbortSignal): Promise<State> {
    return this.decode(await this.#stored(signal));
  }

  #measure(signal?: AbortSignal): Promise<Figures> {
    return measure(this.#state, this.setup, signal);
  }

  /** Checks arguments at the call and takes its options, then waits for its turn. */
  #checked<Options extends object, T>(check: () => Options, work: (options: Options) => Promise<T>): Promise<T> {
    try {
      const options = check();
      this.#requireOpen();
      return this.#turns.take(() => work(options), (options as CallOptions).signal);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #requireOpen(): void {
    if (this.#disposed) throw new DisposedError('the simulation was disposed; create a new one');
  }

  async #march({ whole, rest, target }: Plan, { signal, onProgress }: CallOptions): Promise<void> {
    const total = whole + Number(rest > 0);
    for (let done = 0; done < whole;) {
      const count = this.#pace.next(whole - done);
      await this.#segment(count, this.dt, signal);
      done += count;
      onProgress?.(done, total);
    }
    if (rest > 0) await this.#segment(1, rest, signal);
    if (target !== undefined) this.#clock.arrived(target);
    if (rest > 0) onProgress?.(total, total);
  }

  /** One call of the device; the two arrays change places after it. */
  #segment(steps: number, dt: number, signal: AbortSignal | undefined): Promise<void> {
    this.#requireOpen();
    return this.#call(steps, dt, true, signal).then(({ deviceSeconds, report: { variant, points, depth, threads, completed } }) => {
      this.#made = { variant, points, depth, threads };
      [this.#state, this.#next] = [this.#next, this.#state];
      this.#clock.step += completed;
      this.#steps += completed;
      this.#seconds += deviceSeconds;
      if (completed < steps) return this.#refuse(dt);
      this.#pace.learn(steps, deviceSeconds);
      return undefined;
    });
  }

  /** The state after `steps` steps into the other array. */
  #call(steps: number, dt: number, check: boolean, signal?: AbortSignal): Promise<RunResult<Reports['swept.advance']>> {
    const { equation, type, n, batch, dx, left, right, diffusivity, gamma, limiter } = this.setup;
    const { device, variant, points, depth, threads } = this.#placement;
    const view = (data: DeviceArray) => ({ data });
    return device.run('swept.advance', {
      type, equation, variant, n, batch, steps, left, right, dx, dt, diffusivity, gamma, limiter, check, points, depth, threads,
      state: view(this.#state), next: view(this.#next),
    }, { signal });
  }

  /** What a step that is refused has made. */
  protected readonly mistake: string = 'values that are not finite';

  /** What would help against the next step, of length `dt`, which breaks down; `before` reads the problem's state at its start. */
  protected remedy(_dt: number, _before: () => Promise<RealArray>): Promise<string> {
    return Promise.resolve('Take a smaller time step, and check whether the equation admits the initial state');
  }

  /** Rejects because of the next step, which breaks down. */
  async #refuse(dt: number): Promise<never> {
    let problem = 0;
    if (this.batch > 1) {
      await this.#call(1, dt, false);
      problem = (await measure(this.#next, this.setup, undefined)).firstBadProblem();
    }
    const { step, time } = this.#clock;
    const where = this.batch === 1 ? '' : ` in problem ${problem}`;
    const bad = { step: step + 1, time: time + dt, problem };
    const size = componentsOf(this.setup) * this.n;
    const remedy = await this.remedy(dt, () => this.#state.read<RealArray>(zeros(this.setup.type, size), problem * size));
    throw new InstabilityError(
      `step ${bad.step} (time ${bad.time}) gives ${this.mistake}${where}; the state stands at step ${step}. ${remedy}`, bad);
  }
}
