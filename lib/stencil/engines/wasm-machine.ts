// Takes steps in WebAssembly, in the calling thread or in one of several workers that share the memory. Loads nothing that compiles.
import { elementAt, required } from '../../core/known.ts';
import { engine, type WasmFunction, type WasmMemory } from '../../core/wasm-engine.ts';
import { methodStages, stepStage } from '../methods.ts';
import type { Method } from '../types.ts';
import { clockAt, nextStep, type StepClock, type StepLimits } from './adaptive.ts';
import { stageScalars, timeOf, type Span } from './span.ts';

/** A buffer of the program in one stage: where its pointer is in a thread's own part of the memory, and the array it points to. */
export interface Pointer {
  readonly slot: number;
  /** Address of the array for member 0. */
  readonly at: number;
  /** Bytes from one member to the next. */
  readonly stride: number;
}

/** Everything that threads need, once. */
export interface WasmPlan {
  readonly module: object;
  readonly memory: WasmMemory;
  readonly pages: number;
  /** By stage; then those of the rate of cells, if steps vary in length. */
  readonly pointers: readonly (readonly Pointer[])[];
  readonly method: Method | undefined;
  readonly shape: readonly number[];
  readonly rows: number;
  readonly columns: number;
  readonly members: number;
  /** By member. */
  readonly parameters: readonly (readonly number[])[];
  readonly isSingle: boolean;
  readonly precision: 'f32' | 'f64';
  /** The address of the state, and of the array that takes its place if there is a single stage. */
  readonly state: number;
  readonly other: number;
  /** How threads share the work: members (each takes all steps of its own), or rows (of one row, cells). */
  readonly share: 'members' | 'rows';
  readonly threads: number;
  /** Words: threads that wait, barriers passed, the first bad step + 1 or 0. */
  readonly control: Int32Array;
  readonly isAdaptive: boolean;
  /** Steps of a pass over memory, with all of their stages; 0: stages are taken one by one. */
  readonly depth: number;
  /** Planes (along the first axis) that a plane's neighbours and boundary conditions are away at most. */
  readonly margin: number;
  /** The clock after the last span: time, dt, rate, 1 if no step is possible, steps. Then twice the largest rate of every thread. */
  readonly clock: Float64Array;
}

/** Words of {@link WasmPlan.control}. */
const waiting = 0, passed = 1, bad = 2;
/** Numbers of {@link WasmPlan.clock} before the rates. */
export const clockNumbers = 5;
/** How often a waiting thread looks before it goes to sleep. */
const spins = 2000;
/** Cells that are worth a call. */
const worthCall = 4096;

/** Steps of a pass: how many, which one is the first, when they begin, and how long they are. */
interface Taken {
  readonly count: number;
  readonly first: number;
  readonly begin: (step: number) => number;
  readonly dt: number;
}

/** One thread. */
export class WasmMachine {
  readonly #plan: WasmPlan;
  readonly #number: number;
  readonly #rows: readonly WasmFunction[];
  readonly #limit: WasmFunction | undefined;
  readonly #own: number;
  readonly #words: Int32Array;

  constructor(plan: WasmPlan, number: number, own: number) {
    this.#plan = plan;
    this.#number = number;
    this.#own = own;
    const { exports } = new engine.Instance(plan.module, { host: {
      memory: plan.memory, own, mod: (a: number, b: number) => a % b, trap: () => { throw new Error('a stencil program trapped'); },
    } });
    const stages = plan.pointers.length - Number(plan.isAdaptive);
    this.#rows = Array.from({ length: stages }, (_, s) => required(exports[`rows_${s}`]));
    this.#limit = plan.isAdaptive ? required(exports['limit_rows']) : undefined;
    this.#words = new Int32Array(plan.memory.buffer);
  }

  /** Takes the steps of a span, or fewer if one is bad: `control` has its number + 1 then. `swapped`: whether the state is in `other`. */
  run(span: Span, swapped: boolean): void {
    const { members, threads, share, rows, columns, isSingle, depth, control } = this.#plan;
    const [from, to] = this.#part(share === 'members' ? members : rows > 1 ? rows : columns);
    const own = share === 'members' ? [from, to] as const : [0, members] as const;
    const range = share === 'members' ? [0, rows, 0, columns] : rows > 1 ? [from, to, 0, columns] : [0, 1, from, to];
    if (span.limits !== undefined) {
      this.#adaptive(span.limits, span.steps, swapped, own, range);
      return;
    }
    let [isSwapped, begin] = [swapped, 0];
    for (; span.steps - begin > (isSingle ? 1 : 0) && depth > 0; ) {
      const count = Math.min(depth, span.steps - begin);
      const isGood = this.#pass({ count, first: begin, begin: (step) => timeOf(span, step), dt: span.dt }, isSwapped, own);
      if (isSingle && count % 2 === 1) isSwapped = !isSwapped;
      begin += count;
      const found = Atomics.load(control, bad);
      if (share === 'members' ? !isGood : found !== 0 && found <= begin) return;
    }
    for (let step = begin; step < span.steps; step += 1) {
      const isGood = this.#step(step, timeOf(span, step), span.dt, isSwapped, own, range, share === 'rows' && threads > 1);
      if (isSingle) isSwapped = !isSwapped;
      if (share === 'members' ? !isGood : this.#isBad(step)) return;
    }
  }

  /** Takes steps of varying length: all threads come to the same ones. */
  #adaptive(limits: StepLimits, steps: number, swapped: boolean, own: readonly [number, number], range: readonly number[]): void {
    const { threads, isSingle, depth, clock: shared } = this.#plan;
    let [clock, isSwapped, step]: [StepClock, boolean, number] = [clockAt(limits), swapped, 0];
    for (; step < steps && clock.time !== limits.until; step += 1) {
      const next = nextStep(limits, clock, this.#largest(limits, clock.time, step, isSwapped, own, range));
      if (next.isStuck) {
        clock = next;
        break;
      }
      const { time } = clock;
      if (depth > 0) this.#pass({ count: 1, first: step, begin: () => time, dt: next.dt }, isSwapped, own);
      else this.#step(step, time, next.dt, isSwapped, own, range, threads > 1);
      if (isSingle) isSwapped = !isSwapped;
      if (this.#isBad(step)) return;
      clock = next;
    }
    if (this.#number === 0) shared.set([clock.time, clock.dt, clock.rate, Number(clock.isStuck), step]);
  }

  /** The largest rate of all cells. */
  #largest(
    { h, g }: StepLimits, t: number, step: number, isSwapped: boolean, [first, last]: readonly [number, number], range: readonly number[],
  ): number {
    const { pointers, shape, parameters, precision, threads, clock } = this.#plan;
    let most = 0;
    for (let member = first; member < last; member += 1) {
      this.#point(required(pointers.at(-1)), member, isSwapped);
      const all = [t, 0, h, g, ...elementAt(parameters, member)];
      const numbers = precision === 'f32' ? all.map(Math.fround) : all;
      most = Math.max(most, required(this.#limit)(...range, ...shape, ...numbers));
    }
    if (threads === 1) return most;
    // Threads are at most one step apart here, so two places for each are enough.
    const from = clockNumbers + (step % 2) * threads;
    clock[from + this.#number] = most;
    this.#meet();
    return Math.max(...clock.subarray(from, from + threads));
  }

  #part(count: number): readonly [from: number, to: number] {
    const { threads } = this.#plan;
    return [Math.floor((count * this.#number) / threads), Math.floor((count * (this.#number + 1)) / threads)];
  }

  #isBad(step: number): boolean {
    return Atomics.load(this.#plan.control, bad) === step + 1;
  }

  #step(
    step: number, t: number, dt: number, isSwapped: boolean, [first, last]: readonly [number, number], range: readonly number[],
    meets: boolean,
  ): boolean {
    const { pointers, shape, parameters, precision, method } = this.#plan;
    let isGood = true;
    for (let s = 0; s < this.#rows.length; s += 1) {
      const stage = method === undefined ? stepStage : required(methodStages[method][s]);
      const scalars = stageScalars(stage, t, dt);
      for (let member = first; member < last; member += 1) {
        this.#point(elementAt(pointers, s), member, isSwapped);
        const all = [...scalars, ...elementAt(parameters, member)];
        const numbers = precision === 'f32' ? all.map(Math.fround) : all;
        if (elementAt(this.#rows, s)(...range, ...shape, ...numbers) !== 0) isGood = false;
      }
      if (!isGood) this.#report(step);
      if (meets) this.#meet();
    }
    return isGood;
  }

  /**
   * Takes stages and steps while planes are in the cache. Every thread moves through a block of planes, each stage (a level) some planes
   * behind the one before it, and leaves out at both ends what depends on other blocks; then threads fill the gaps between blocks. Levels
   * write to arrays in turn, one that no later level than the one before reads: what a gap needs is not overwritten, because every level
   * of a block ends earlier than the one before.
   */
  #pass(taken: Taken, isSwapped: boolean, [from, to]: readonly [number, number]): boolean {
    const { shape, rows, columns, margin, share, threads } = this.#plan;
    const planes = required(shape[0]);
    const each = rows / planes;
    const blocks = share === 'members' ? 1 : threads, block = share === 'members' ? 0 : this.#number;
    const low = Math.floor((planes * block) / blocks), high = Math.floor((planes * (block + 1)) / blocks);
    const many = Math.max(1, Math.floor(worthCall / (each * columns)));
    const levels = taken.count * this.#rows.length;
    let isGood = true;
    for (const phase of ['blocks', 'gaps'] as const) {
      for (let member = from; member < to; member += 1) {
        const take = this.#taker(taken, isSwapped, member);
        const go = (level: number, begin: number, end: number): void => {
          if (begin < end && !take(level, begin * each, end * each)) isGood = false;
        };
        if (phase === 'blocks') {
          for (let front = low; front < high; front += many) {
            for (let level = 0; level < levels; level += 1) {
              const away = level * margin;
              go(level, Math.max(front - away, low + away), Math.min(front + many - away, high - away));
            }
          }
        } else {
          for (let level = 1; level < levels; level += 1) {
            const away = level * margin;
            go(level, Math.max(0, low - away), low + away);
            if (low < away) go(level, planes + low - away, planes);
          }
        }
      }
      if (share === 'rows' && threads > 1) this.#meet();
    }
    return isGood;
  }

  /** What takes rows of a level of a pass; returns whether they are good. */
  #taker(
    { count, first, begin, dt }: Taken, isSwapped: boolean, member: number,
  ): (level: number, from: number, to: number) => boolean {
    const { pointers, shape, parameters, precision, method, columns } = this.#plan;
    const stages = this.#rows.length;
    const levels = Array.from({ length: count * stages }, (_, level) => {
      const stage = method === undefined ? stepStage : required(methodStages[method][level % stages]);
      const all = [...stageScalars(stage, begin(first + Math.floor(level / stages)), dt), ...elementAt(parameters, member)];
      return [0, 0, 0, columns, ...shape, ...precision === 'f32' ? all.map(Math.fround) : all];
    });
    return (level, from, to) => {
      const given = elementAt(levels, level);
      given[0] = from;
      given[1] = to;
      const step = Math.floor(level / stages);
      this.#point(elementAt(pointers, level % stages), member, isSwapped !== (step % 2 === 1));
      if (elementAt(this.#rows, level % stages)(...given) === 0) return true;
      this.#report(first + step);
      return false;
    };
  }

  #point(pointers: readonly Pointer[], member: number, isSwapped: boolean): void {
    const { state, other, isSingle } = this.#plan;
    const way = isSingle && isSwapped ? other - state : 0;
    for (const { slot, at, stride } of pointers) {
      const base = at < state || at >= other + way ? at : at < other ? at + way : at - way;
      this.#words[(this.#own + slot) / 4] = base + member * stride;
    }
  }

  /** Keeps the first of the bad steps. */
  #report(step: number): void {
    const { control } = this.#plan;
    for (let now = Atomics.load(control, bad); now === 0 || now > step + 1;) {
      const found = Atomics.compareExchange(control, bad, now, step + 1);
      if (found === now) return;
      now = found;
    }
  }

  /** Waits for the other threads. */
  #meet(): void {
    const { control, threads } = this.#plan;
    const generation = Atomics.load(control, passed);
    if (Atomics.add(control, waiting, 1) + 1 === threads) {
      Atomics.store(control, waiting, 0);
      Atomics.add(control, passed, 1);
      Atomics.notify(control, passed);
      return;
    }
    for (let i = 0; i < spins; i += 1) if (Atomics.load(control, passed) !== generation) return;
    while (Atomics.load(control, passed) === generation) Atomics.wait(control, passed, generation);
  }
}

/** The first bad step of the last span, or undefined; forgets it. */
export function takeBadStep({ control }: Pick<WasmPlan, 'control'>): number | undefined {
  const found = Atomics.exchange(control, bad, 0);
  return found === 0 ? undefined : found - 1;
}
