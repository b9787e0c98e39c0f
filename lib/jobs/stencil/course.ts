// What takes the state of an item from snapshot to snapshot: a run of its own, or its part in one for several items.
import { performance } from 'node:perf_hooks';
import { UnavailableError } from '../../core/errors.ts';
import type { Goal } from '../../core/goals.ts';
import { elementAt, required } from '../../core/known.ts';
import { Ensemble } from '../../stencil/ensemble.ts';
import type { Run, RunInfo, State } from '../../stencil/index.ts';
import { beginRun, type Prepared } from '../../stencil/start.ts';
import type { Group } from '../group.ts';
import type { ItemContext } from '../kind.ts';

/** Seconds between two checkpoints, at least; and how many times longer that is than writing one takes. */
export const checkpointEvery = 0.5;
const checkpointShare = 20;

/** When checkpoints are due. Items that compute together write theirs at the same step, so that they can go on together. */
export class Saving {
  #round = '';
  #isDue = false;
  #begun = 0;
  #saved = performance.now();
  #every = checkpointEvery * 1000;

  /** Whether it is time for one; the same for all that ask at the same place of the run. */
  isDue(round: string): boolean {
    if (round !== this.#round) {
      this.#round = round;
      this.#begun = performance.now();
      this.#isDue = this.#begun - this.#saved > this.#every;
    }
    return this.#isDue;
  }

  /** One has been written. */
  wrote(): void {
    this.#saved = performance.now();
    this.#every = Math.max(checkpointEvery * 1000, checkpointShare * (this.#saved - this.#begun));
  }
}

/** The run of an item. */
export interface Course extends AsyncDisposable {
  readonly stepsDone: number;
  readonly time: number;
  /** The length of steps; where it varies, that of the last one. */
  readonly dt: number;
  readonly info: RunInfo;
  readonly saving: Saving;
  /** How many items run together. */
  readonly size: number;
  /** Steps that take about so many seconds. */
  stepsIn(seconds: number): number;
  /** @throws InstabilityError; the signal's reason */
  reach(goal: Goal, options: { readonly signal: AbortSignal; readonly onProgress: () => void }): Promise<void>;
  state(): Promise<State<string>>;
  save(path: string): Promise<void>;
}

/** Takes a run to a step or a time. */
const take = (run: Run, goal: Goal, options: Parameters<Course['reach']>[1]): Promise<void> =>
  ('step' in goal ? run.advance(goal.step - run.stepsDone, options) : run.advanceTo(goal.time, options));

/** A run of its own. */
class Single implements Course {
  readonly saving = new Saving();
  readonly size = 1;
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }

  get stepsDone(): number { return this.#run.stepsDone; }
  get time(): number { return this.#run.time; }
  get dt(): number { return this.#run.dt; }
  get info(): RunInfo { return this.#run.info; }

  stepsIn(seconds: number): number {
    const { steps, seconds: taken } = this.#run.info;
    return steps === 0 ? 1 : Math.max(1, Math.floor((seconds * steps) / Math.max(taken, 1e-9)));
  }

  reach(goal: Goal, options: Parameters<Course['reach']>[1]): Promise<void> {
    return take(this.#run, goal, options);
  }

  state(): Promise<State<string>> { return this.#run.state(); }
  save(path: string): Promise<void> { return this.#run.save(path); }
  [Symbol.asyncDispose](): Promise<void> { return this.#run[Symbol.asyncDispose](); }
}

/** Items that compute together, and where they want to get. */
class Shared {
  readonly ensemble: Ensemble;
  readonly saving = new Saving();
  readonly size: number;
  /** What stopped all of them. */
  failure: { readonly error: unknown } | undefined;
  #left: number;

  constructor(ensemble: Ensemble, size: number) {
    this.ensemble = ensemble;
    this.size = this.#left = size;
  }

  async reach(goals: readonly Goal[], signal: AbortSignal): Promise<void> {
    const [first, ...others] = goals;
    const least = others.reduce((a, b) => ('step' in a ? 'step' in b && b.step < a.step ? b : a
      : 'step' in b || b.time < a.time ? b : a), required(first));
    try {
      await this.ensemble.reach(least, signal);
    } catch (error) {
      this.failure = { error };
    }
  }

  leave(): void {
    this.#left -= 1;
    if (this.#left === 0) this.ensemble.dispose();
  }
}

/** What an item brings to a meeting on the way. */
interface Wish {
  readonly shared: Shared;
  readonly goal: Goal;
}

/** A part in a run for several items. */
class Member implements Course {
  readonly #group: Group;
  readonly #shared: Shared;
  readonly #member: number;

  constructor(group: Group, shared: Shared, member: number) {
    this.#group = group;
    this.#shared = shared;
    this.#member = member;
  }

  get #run(): Run { return this.#shared.ensemble.of(this.#member); }
  get stepsDone(): number { return this.#run.stepsDone; }
  get time(): number { return this.#run.time; }
  get dt(): number { return this.#run.dt; }
  get info(): RunInfo { return this.#shared.ensemble.info(this.#member); }
  get saving(): Saving { return this.#shared.saving; }
  get size(): number { return this.#shared.size; }

  stepsIn(seconds: number): number {
    return this.#shared.ensemble.stepsIn(seconds);
  }

  async reach(goal: Goal, options: Parameters<Course['reach']>[1]): Promise<void> {
    const shared = this.#shared;
    const isThere = (): boolean => ('step' in goal ? this.stepsDone >= goal.step : this.time === goal.time);
    // Another run of the group may be behind: its items still have to get this far.
    while (!isThere() && !shared.ensemble.isApart(this.#member)) {
      await this.#group.meet<Wish>({ shared, goal }, async (all) => {
        const runs = [...new Set(all.map((wish) => wish.shared))];
        for (const each of runs) {
          await each.reach(all.filter((wish) => wish.shared === each).map((wish) => wish.goal), options.signal);
        }
      });
      if (shared.failure !== undefined) throw shared.failure.error;
      options.onProgress();
    }
    if (shared.ensemble.isApart(this.#member)) await take(this.#run, goal, options);
  }

  state(): Promise<State<string>> { return this.#shared.ensemble.state(this.#member); }
  save(path: string): Promise<void> { return this.#shared.ensemble.save(this.#member, path); }

  [Symbol.asyncDispose](): Promise<void> {
    this.#shared.leave();
    return Promise.resolve();
  }
}

/** Where a run can go on if the device cannot compile: undefined if it was asked for by name. */
export interface Fallback {
  readonly onCpu: ((prepared: Prepared) => Prepared) | undefined;
  readonly warn: ItemContext['warn'];
}

/** Begins something on the device, or on the CPU where the device cannot compile. */
async function onDevice<T>(
  all: readonly Prepared[], { onCpu, warn }: Fallback, begin: (all: readonly Prepared[]) => Promise<T>,
): Promise<T> {
  try {
    return await begin(all);
  } catch (error) {
    if (!(error instanceof UnavailableError) || onCpu === undefined) throw error;
    warn(`running on the CPU: ${error.message}`);
    return begin(all.map(onCpu));
  }
}

/** Begins a run of its own. */
export async function single(prepared: Prepared, fallback: Fallback): Promise<Course> {
  return new Single(await onDevice([prepared], fallback, (all) => beginRun(elementAt(all, 0))));
}

/** What an item brings to the meeting at the beginning. */
interface Beginning {
  readonly prepared: Prepared;
  readonly fallback: Fallback;
  course?: Course;
}

/** Begins the runs of a group: one for all that stand at the same step. */
async function beginAll(group: Group, all: readonly Beginning[]): Promise<void> {
  const byClock = new Map<string, Beginning[]>();
  for (const one of all) {
    const key = JSON.stringify(one.prepared.clock);
    byClock.set(key, [...byClock.get(key) ?? [], one]);
  }
  for (const some of byClock.values()) {
    const [first] = some;
    if (some.length < 2 || first === undefined) continue; // begins by itself
    const warn = (note: string): void => { for (const { fallback } of some) fallback.warn(note); };
    try {
      const ensemble = await onDevice(some.map(({ prepared }) => prepared), { ...first.fallback, warn }, (of) => Ensemble.begin(of));
      const shared = new Shared(ensemble, some.length);
      some.forEach((one, i) => { one.course = new Member(group, shared, i); });
    } catch {
      continue; // too much for the device, or the equation does not compile: each then begins by itself, or says what is wrong
    }
  }
}

/** Begins the run of an item together with those of its group. */
export async function together(group: Group, prepared: Prepared, fallback: Fallback): Promise<Course> {
  const own: Beginning = { prepared, fallback };
  await group.meet(own, (all) => beginAll(group, all));
  return own.course ?? single(prepared, fallback);
}
