// Single runs of one equation that differ in parameters and initial states, computed together: each has the bits, the checkpoints and the
// errors that it has by itself.
import { InstabilityError } from '../core/errors.ts';
import { elementAt, required } from '../core/known.ts';
import type { Goal } from '../core/goals.ts';
import { arrayOf } from './engines/span.ts';
import { failingMembers, type Run } from './run.ts';
import { saveState } from './saved.ts';
import { beginRun, type Prepared } from './start.ts';
import type { RealArray, RunInfo, State } from './types.ts';

/** One run for several, whose states and clock are given. */
function combined(members: readonly Prepared[], states: readonly RealArray[], clock: Prepared['clock']): Prepared {
  const first = elementAt(members, 0);
  const parameters = new Float64Array(members.length * first.request.parameters.length);
  const length = first.state.length;
  const state = arrayOf(first.target.precision, members.length * length);
  members.forEach(({ request }, i) => {
    parameters.set(request.parameters, i * request.parameters.length);
    state.set(elementAt(states, i), i * length);
  });
  return { ...first, request: { ...first.request, members: members.length, parameters }, state, clock };
}

/** @internal Runs that are computed together, by number. */
export class Ensemble {
  readonly #members: readonly Prepared[];
  /** The member that each problem of the run belongs to. The first problem of a member is its own, others only fill up. */
  #problems: readonly number[];
  #run: Run;
  /** Members that go on by themselves, because the next step of theirs is bad. */
  readonly #apart = new Map<number, Run>();
  #state: Promise<State<string>> | undefined;
  /** Of earlier runs: steps, and the seconds that each member takes part in. */
  #steps = 0;
  #seconds = 0;

  private constructor(members: readonly Prepared[], run: Run) {
    this.#members = members;
    this.#problems = members.map((_, i) => i);
    this.#run = run;
  }

  /** Begins runs that are alike but for parameters and states, and that stand at the same step. */
  static async begin(members: readonly Prepared[]): Promise<Ensemble> {
    const run = await beginRun(combined(members, members.map(({ state }) => state), elementAt(members, 0).clock));
    return new Ensemble(members, run);
  }

  /** The run that a member belongs to. */
  of(member: number): Run {
    return this.#apart.get(member) ?? this.#run;
  }

  isApart(member: number): boolean {
    return this.#apart.has(member);
  }

  /** What a member has cost: its share of the time of all. */
  info(member: number): RunInfo {
    const { info, shape } = this.of(member);
    const steps = this.#steps + this.#run.info.steps, seconds = this.#seconds + this.#run.info.seconds / this.#problems.length;
    const cells = shape.reduce((a, b) => a * b, 1);
    return { ...info, members: 1, steps, seconds, cellUpdatesPerSecond: steps === 0 ? NaN : (cells * steps) / seconds };
  }

  /** Steps of all members that take about so many seconds. */
  stepsIn(seconds: number): number {
    const { info } = this.#run;
    return info.steps === 0 ? 1 : Math.max(1, Math.floor((seconds * info.steps) / Math.max(info.seconds, 1e-9)));
  }

  /**
   * Takes all members to a step or time, but those whose states become bad on the way: they stand before their last good step, apart from
   * the others.
   * @throws the signal's reason, and errors of devices; all members then stand at one step
   */
  async reach(goal: Goal, signal: AbortSignal): Promise<void> {
    while (this.#problems.some((member) => !this.#apart.has(member))) {
      try {
        this.#state = undefined;
        await ('step' in goal ? this.#run.advance(Math.max(0, goal.step - this.#run.stepsDone), { signal })
          : this.#run.advanceTo(goal.time, { signal }));
        return;
      } catch (error) {
        if (!(error instanceof InstabilityError)) throw error;
        await this.#part(failingMembers(error).map((problem) => elementAt(this.#problems, problem)));
      }
    }
  }

  /** Lets members go on by themselves, and the others without them. */
  async #part(members: readonly number[]): Promise<void> {
    const { clock, info } = this.#run;
    const state = await this.#run.state();
    for (const member of new Set(members)) {
      this.#apart.set(member, await beginRun({ ...elementAt(this.#members, member), state: this.#own(state, member), clock }));
    }
    const left = [...new Set(this.#problems)].filter((member) => !this.#apart.has(member));
    const [first] = left;
    if (first === undefined) return;
    // Kernels are compiled for a number of problems: it stays as long as half of them are of use.
    const filled = 2 * left.length <= this.#problems.length ? left
      : [...left, ...Array<number>(this.#problems.length - left.length).fill(first)];
    const next = await beginRun(combined(filled.map((member) => elementAt(this.#members, member)),
      filled.map((member) => this.#own(state, member)), clock));
    this.#run.dispose();
    this.#run = next;
    this.#steps += info.steps;
    this.#seconds += info.seconds / this.#problems.length;
    this.#problems = filled;
  }

  /** The state of a member as [field][cell]. */
  #own(state: State<string>, member: number): RealArray {
    const { request: { equation: { fields }, places: { cells } }, target } = elementAt(this.#members, member);
    const own = arrayOf(target.precision, fields.length * cells);
    const at = this.#problems.indexOf(member) * cells;
    fields.forEach((name, i) => { own.set(required(state[name]).subarray(at, at + cells), i * cells); });
    return own;
  }

  /** A copy of a member's state. */
  async state(member: number): Promise<State<string>> {
    const run = this.of(member);
    if (run !== this.#run) return run.state();
    const { request: { equation: { fields }, places: { cells } } } = elementAt(this.#members, member);
    const own = this.#own(await (this.#state ??= run.state()), member);
    return Object.fromEntries(fields.map((name, i) => [name, own.slice(i * cells, (i + 1) * cells)]));
  }

  /** Writes the checkpoint that a single run of the member would write. */
  async save(member: number, path: string): Promise<void> {
    const run = this.of(member);
    if (run !== this.#run) return run.save(path);
    const { request: { equation: { fields }, places: { shape }, precision, fingerprint } } = elementAt(this.#members, member);
    const { clock } = run;
    const state = this.#own(await (this.#state ??= run.state()), member);
    await saveState(path, { fingerprint, fields, shape, members: 1, precision, clock }, state);
  }

  dispose(): void {
    this.#run.dispose();
    for (const run of this.#apart.values()) run.dispose();
  }
}
