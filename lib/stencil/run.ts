// A run: a state that advances to exact steps and times.
import { fileName, requireCount, requireNumber } from '../core/checks.ts';
import { mostSteps, type Clock, type ClockState, type Plan } from '../core/clock.ts';
import { briefly, inspection } from '../core/display.ts';
import { DisposedError, InstabilityError, refusal } from '../core/errors.ts';
import { checkedSnapshots, goals, type Goal, type SnapshotOptions } from '../core/goals.ts';
import { required } from '../core/known.ts';
import { cancelChecks, optionsOf } from '../core/options.ts';
import { Pace } from '../core/pace.ts';
import { snapshot } from '../core/snapshot.ts';
import { Turns } from '../core/turns.ts';
import { shownSnapshot } from '../pictures/snapshots.ts';
import type { Adaptive } from './adaptive.ts';
import type { StencilProgram } from './compile/stages.ts';
import type { Engine, Grid, Span } from './engines/span.ts';
import { saveState } from './saved.ts';
import type { Equation, RealArray, RunCallOptions, RunInfo, State, StencilSnapshot } from './types.ts';

const callOptions = {
  advance: optionsOf('advance', cancelChecks), advanceTo: optionsOf('advanceTo', cancelChecks), state: optionsOf('state', cancelChecks),
  finish: optionsOf('finish', cancelChecks),
};

const failing = new WeakMap<InstabilityError, readonly number[]>();
/** @internal All members whose states are bad after the step that an error of a run names. */
export const failingMembers = (error: InstabilityError): readonly number[] => failing.get(error) ?? [error.problem];

/** @internal What a {@link Run} is made of. */
export interface RunParts {
  readonly equation: Equation;
  readonly engine: Engine;
  readonly grid: Grid;
  readonly made: StencilProgram;
  /** Between cells along each axis. */
  readonly spacing: readonly number[];
  readonly clock: Clock;
  readonly dt: number;
  readonly adaptive: Adaptive | undefined;
  readonly precision: 'float32' | 'float64';
  readonly fingerprint: string;
  readonly parameters: Float64Array;
  readonly reach: readonly number[];
  readonly stages: number;
  /** Where `finish` and endless snapshots end. */
  readonly end: Goal | undefined;
}

/**
 * A run of an equation, made by `stencil.simulate`. Calls run one after another in the order in which they were made; a call that fails or
 * is aborted leaves the state at the last step it finished, and the calls after it continue from there. Free it with `await using` or
 * {@link Run.dispose}.
 */
export class Run<Field extends string = string> {
  readonly equation: Equation<Field>;
  readonly #parts: RunParts;
  readonly #turns = new Turns(() => { this.#free(); });
  readonly #pace: Pace;
  /** The length of the last step, where they vary. */
  #lastStep = NaN;
  #steps = 0;
  #seconds = 0;
  #disposed = false;
  #isFreed = false;

  /** @internal */
  constructor(parts: RunParts) {
    const { equation, engine, grid } = parts;
    this.#parts = parts;
    this.equation = equation as Equation<Field>;
    const kind = engine.backend === 'cuda' ? 'cuda' : engine.backend === 'wasm' || engine.backend === 'cpp' ? 'cpu' : 'simt';
    this.#pace = new Pace(grid.cells * grid.members * parts.stages, kind);
  }

  /** Cells along each axis. */
  get shape(): readonly number[] { return this.#parts.grid.shape; }
  get members(): number { return this.#parts.grid.members; }
  /** The length of steps; where it varies, that of the last one, and NaN before the first. */
  get dt(): number { return this.#parts.adaptive === undefined ? this.#parts.dt : this.#lastStep; }
  get precision(): 'float32' | 'float64' { return this.#parts.precision; }
  get disposed(): boolean { return this.#disposed; }

  /** How far it is, in consoles. */
  [inspection](): string {
    return `Run { ${this.equation.fields.join(', ')} on ${this.shape.join(' × ')} cells, step ${this.stepsDone}, `
      + `time ${Number(this.time.toPrecision(6))}, ${this.precision} }`;
  }

  /** Steps since time 0, including those before a restart. */
  get stepsDone(): number { return this.#parts.clock.step; }

  /** Simulated time. */
  get time(): number { return this.#parts.clock.time; }

  /** @internal */
  get clock(): ClockState { return this.#parts.clock.save(); }

  /** How this object runs, and what it has run so far. */
  get info(): RunInfo {
    const { engine: { backend, variant, reason, threads, depth, shapes }, grid: { cells, members }, reach, stages } = this.#parts;
    return {
      backend, variant, reason, threads, depth, shapes, reach, stages, members, steps: this.#steps, seconds: this.#seconds,
      cellUpdatesPerSecond: this.#steps === 0 ? NaN : (cells * members * this.#steps) / this.#seconds,
    };
  }

  /**
   * Takes exactly `steps` steps. The work is cut into segments of some 150 ms: `onProgress` is called after each with the steps done and
   * requested, and aborting takes effect at the end of one.
   * @throws InstabilityError (`ERR_WARPLOOM_UNSTABLE`) naming the first step whose state is not finite or not admissible, with the place
   *   in the message; the state is that of the step before. Aborted calls reject with `signal.reason`.
   */
  advance(steps: number, options: RunCallOptions = {}): Promise<void> {
    return this.#checked(() => {
      requireCount(steps, 'steps', 0, mostSteps);
      return callOptions.advance.read(options);
    }, (taken) => this.#go({ step: this.stepsDone + steps }, taken));
  }

  /**
   * Advances to exactly `time`: whole steps, and one shortened step for what is left of the way, if anything is.
   * @throws as {@link Run.advance}; ArgumentError for a time before the present
   */
  advanceTo(time: number, options: RunCallOptions = {}): Promise<void> {
    return this.#checked(() => {
      requireNumber(time, 'time');
      return callOptions.advanceTo.read(options);
    }, (taken) => this.#go({ time }, taken));
  }

  /**
   * Advances to the end given to `simulate` as `steps` or `until`.
   * @throws as {@link Run.advance}; ArgumentError if there is no end
   */
  finish(options: RunCallOptions = {}): Promise<void> {
    return this.#checked(() => {
      if (this.#parts.end === undefined) throw refusal('options', 'a run that was given steps or until', 'one without an end');
      return callOptions.finish.read(options);
    }, (taken) => this.#go(this.#parts.end as Goal, taken));
  }

  /**
   * Advances from snapshot to snapshot. Leaving the loop early is safe: nothing is computed ahead. With `every`, it ends at `until`, or
   * at the `steps` given to `simulate`.
   * @example
   * for await (const { step, time, state } of run.snapshots({ every: 100, until: 1000 })) draw(time, state.u);
   */
  snapshots(given: SnapshotOptions): AsyncGenerator<StencilSnapshot<Field>, void, undefined> {
    const { end } = this.#parts;
    const options = checkedSnapshots(given);
    const until = options.until ?? (options.every !== undefined && end !== undefined && 'step' in end ? end.step : undefined);
    return this.#take(goals(snapshot({ ...options, until }), () => this.stepsDone), { signal: options.signal,
      onProgress: options.onProgress });
  }

  async* #take(wanted: Iterable<Goal>, options: RunCallOptions): AsyncGenerator<StencilSnapshot<Field>, void, undefined> {
    for (const goal of wanted) {
      this.#requireOpen();
      yield await this.#turns.take(async () => {
        await this.#go(goal, options);
        const { step, time } = this.#parts.clock;
        const { grid: { shape, members }, spacing } = this.#parts;
        const state = this.#byField(await this.#parts.engine.read());
        return shownSnapshot({ step, time, state }, state, { name: '', shape, spacing, members });
      }, options.signal);
    }
  }

  /** A copy of the state: for each field the cells of all members, one after another. */
  state(options: RunCallOptions = {}): Promise<State<Field>> {
    const read = async (): Promise<State<Field>> => briefly('State', this.#byField(await this.#parts.engine.read()));
    return this.#checked(() => callOptions.state.read(options), read);
  }

  /**
   * Writes a checkpoint, from which `stencil.simulate` with the option `resume` continues bit for bit: checksummed, under a temporary name,
   * then renamed. An earlier one of the same name is kept next to it as `PATH.previous`.
   */
  save(path: string): Promise<void> {
    return this.#checked(() => {
      fileName(path, 'path');
      return {};
    }, async () => {
      const { clock, fingerprint, grid: { shape, members }, precision, engine } = this.#parts;
      const parameters = { fingerprint, fields: this.equation.fields, shape, members, precision, clock: clock.save() };
      await saveState(path, parameters, await engine.read());
    });
  }

  /** Frees the run after the calls made so far; later ones reject with ERR_WARPLOOM_DISPOSED. Calling it again has no effect. */
  dispose(): void {
    this.#disposed = true;
    this.#free();
  }

  /** The same as `dispose()`. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Also waits for the calls made so far. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.dispose();
    await this.#turns.ended;
  }

  #free(): void {
    if (this.#isFreed || !this.#disposed || !this.#turns.isIdle) return;
    this.#isFreed = true;
    this.#parts.engine.dispose();
  }

  #byField(numbers: RealArray): State<Field> {
    const { cells, members, fields } = this.#parts.grid;
    return Object.fromEntries(this.equation.fields.map((name, field) => {
      const own = this.precision === 'float32' ? new Float32Array(cells * members) : new Float64Array(cells * members);
      for (let member = 0; member < members; member += 1) {
        const from = (member * fields + field) * cells;
        own.set(numbers.subarray(from, from + cells), member * cells);
      }
      return [name, own];
    })) as State<Field>;
  }

  #checked<Options extends object, T>(check: () => Options, work: (options: Options) => Promise<T>): Promise<T> {
    try {
      const options = check();
      this.#requireOpen();
      return this.#turns.take(() => work(options), (options as RunCallOptions).signal);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #requireOpen(): void {
    if (this.#disposed) throw new DisposedError('the run was disposed; make a new one');
  }

  async #go(goal: Goal, options: RunCallOptions): Promise<void> {
    const { clock, adaptive } = this.#parts;
    const plan = 'step' in goal ? clock.planStep(goal.step) : clock.plan(goal.time);
    if (adaptive === undefined) await this.#march(plan, options);
    else await this.#adapt(adaptive, goal, options);
  }

  /** Takes steps of varying length to a step or to exactly a time. */
  async #adapt({ h, g, most }: Adaptive, goal: Goal, { signal, onProgress }: RunCallOptions): Promise<void> {
    const { clock, engine } = this.#parts;
    const first = clock.step;
    const until = 'time' in goal ? goal.time : Infinity;
    /** Steps that are left, or for a time so many as it would take with steps like the last one. */
    const left = (): number => ('step' in goal ? goal.step - clock.step
      : clock.time >= until ? 0 : Math.max(1, Math.min(mostSteps, Math.ceil((until - clock.time) / this.#lastStep) || 1)));
    for (let rest = left(); rest > 0; rest = left()) {
      signal?.throwIfAborted();
      if (clock.step > first) this.#requireOpen();
      const steps = this.#pace.next(rest);
      const span: Span = { ...this.#span(steps, NaN), limits: { time: clock.time, until, most, h, g } };
      const { completed, seconds, clock: now } = await engine.advance(span);
      const { time, dt, rate, isStuck } = required(now);
      clock.step += completed;
      clock.arrived(time);
      this.#steps += completed;
      this.#seconds += seconds;
      if (completed > 0) this.#lastStep = dt;
      if (isStuck) throw this.#stuck(rate);
      if (completed < steps && time !== until) await this.#refuse({ ...span, limits: { ...required(span.limits), time } });
      this.#pace.learn(Math.max(1, completed), seconds);
      onProgress?.(clock.step - first, clock.step - first + left());
    }
    if ('time' in goal) clock.arrived(goal.time);
  }

  /** Why no step is possible. */
  #stuck(rate: number): Error {
    const { step, time } = this.#parts.clock;
    if (rate === 0) return refusal('dt.most', `a longest step, because the speed is 0 everywhere at step ${step}`, 'none');
    const why = Number.isFinite(rate) ? `the longest step that it allows, ${1 / rate}, is below the rounding of the time`
      : 'its speed or diffusivity is not a finite number in some cell';
    return new InstabilityError(`no step is possible after step ${step} (time ${time}): ${why}`, { step: step + 1, time, problem: 0 });
  }

  async #march({ whole, rest, target }: Plan, { signal, onProgress }: RunCallOptions): Promise<void> {
    const total = whole + Number(rest > 0);
    const { clock, dt, engine } = this.#parts;
    for (let done = 0; done < whole;) {
      signal?.throwIfAborted();
      if (done > 0) this.#requireOpen();
      const most = this.#pace.next(whole - done);
      // Steps that do not fill a pass are taken one by one.
      const count = most > engine.depth ? most - (most % engine.depth) : most;
      await this.#segment(count, dt);
      done += count;
      onProgress?.(done, total);
    }
    signal?.throwIfAborted();
    if (rest > 0) await this.#segment(1, rest);
    if (target !== undefined) clock.arrived(target);
    if (rest > 0) onProgress?.(total, total);
  }

  /** Steps of one length, starting at the present. */
  #span(steps: number, dt: number): Span {
    const { clock } = this.#parts;
    const { step, originStep, originTime } = clock.save();
    return { steps, dt, unit: this.dt, originTime, from: step - originStep };
  }

  async #segment(steps: number, dt: number): Promise<void> {
    const { clock, engine } = this.#parts;
    const { completed, seconds } = await engine.advance(this.#span(steps, dt));
    clock.step += completed;
    this.#steps += completed;
    this.#seconds += seconds;
    if (completed < steps) await this.#refuse(this.#span(1, dt));
    this.#pace.learn(steps, seconds);
  }

  /** Rejects because of the next step, which is bad. */
  async #refuse(span: Span): Promise<never> {
    const { clock, engine } = this.#parts;
    const { step, time } = clock;
    const { firstBad } = await import('./bad-cell.ts');
    const { problem, place, values, members, isFinite } = firstBad(this.#parts, await engine.probe({ ...span, steps: 1 }))
      ?? { problem: 0, place: [], values: 'a bad state', isFinite: false, members: [] };
    const bad = { step: step + 1, time: time + (span.limits === undefined ? span.dt : 0), problem };
    const member = this.members === 1 ? '' : ` of member ${problem}`;
    const why = isFinite ? ', which is not admissible' : '';
    const what = `step ${bad.step} (time ${bad.time}) gives ${values} in cell (${place.join(', ')})${member}${why}`;
    const error = new InstabilityError(`${what}; the state stands at step ${step}. Take a smaller time step, and check whether the `
      + 'equation admits the initial state', bad);
    failing.set(error, members);
    throw error;
  }
}
