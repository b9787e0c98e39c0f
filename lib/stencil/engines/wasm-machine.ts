// Takes steps in WebAssembly, in the calling thread or in one of several workers that share the memory. Loads nothing that compiles.
import { elementAt, required } from '../../core/known.ts';
import { engine, type WasmFunction, type WasmMemory } from '../../core/wasm-engine.ts';
import { methodStages, stepStage } from '../methods.ts';
import type { Method } from '../types.ts';
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
  /** By stage. */
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
}

/** Words of {@link WasmPlan.control}. */
const waiting = 0, passed = 1, bad = 2;
/** How often a waiting thread looks before it goes to sleep. */
const spins = 2000;

/** One thread. */
export class WasmMachine {
  readonly #plan: WasmPlan;
  readonly #number: number;
  readonly #rows: readonly WasmFunction[];
  readonly #own: number;
  readonly #words: Int32Array;

  constructor(plan: WasmPlan, number: number, own: number) {
    this.#plan = plan;
    this.#number = number;
    this.#own = own;
    const { exports } = new engine.Instance(plan.module, { host: {
      memory: plan.memory, own, mod: (a: number, b: number) => a % b, trap: () => { throw new Error('a stencil program trapped'); },
    } });
    this.#rows = plan.pointers.map((_, s) => required(exports[`rows_${s}`]));
    this.#words = new Int32Array(plan.memory.buffer);
  }

  /** Takes the steps of a span, or fewer if one is bad: `control` has its number + 1 then. `swapped`: whether the state is in `other`. */
  run(span: Span, swapped: boolean): void {
    const { members, threads, share, rows, columns, isSingle } = this.#plan;
    const [from, to] = this.#part(share === 'members' ? members : rows > 1 ? rows : columns);
    const own = share === 'members' ? [from, to] as const : [0, members] as const;
    const range = share === 'members' ? [0, rows, 0, columns] : rows > 1 ? [from, to, 0, columns] : [0, 1, from, to];
    let isSwapped = swapped;
    for (let step = 0; step < span.steps; step += 1) {
      const isGood = this.#step(span, step, isSwapped, own, range, share === 'rows' && threads > 1);
      if (isSingle) isSwapped = !isSwapped;
      if (share === 'members' ? !isGood : this.#isBad(step)) return;
    }
  }

  #part(count: number): readonly [from: number, to: number] {
    const { threads } = this.#plan;
    return [Math.floor((count * this.#number) / threads), Math.floor((count * (this.#number + 1)) / threads)];
  }

  #isBad(step: number): boolean {
    return Atomics.load(this.#plan.control, bad) === step + 1;
  }

  #step(
    span: Span, step: number, isSwapped: boolean, [first, last]: readonly [number, number], range: readonly number[], meets: boolean,
  ): boolean {
    const { pointers, shape, parameters, precision, method } = this.#plan;
    const t = timeOf(span, step);
    let isGood = true;
    for (let s = 0; s < pointers.length; s += 1) {
      const stage = method === undefined ? stepStage : required(methodStages[method][s]);
      const scalars = stageScalars(stage, t, span.dt);
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
