// What a schedule of chapter 3 keeps in the device's memory between iterations, where firings of some actor must follow each other: items
// on channels and in feedback loops, fields, numbers of firings. WebAssembly makes what stands there before the first iteration.
import type { DeviceArray } from '../../core/device.ts';
import { scalarCount } from '../interpret/values.ts';
import type { Kind } from '../plan/layout.ts';
import type { FusedProgram } from '../targets/cuda.ts';
import type { Ends } from './gpu-ends.ts';
import type { DeviceSchedule, KeptPart } from './gpu-lists.ts';
import type { RunState, StateSpan } from './gpu-state.ts';
import { splitItems, type RunOptions, type Scalars } from './prepare.ts';
import type { CompiledWasm } from './wasm.ts';

const arrayOf: Readonly<Record<Kind, (numbers: ArrayLike<number>) => Scalars>> = {
  i: (numbers) => Int32Array.from(numbers), f: (numbers) => Float32Array.from(numbers), d: (numbers) => Float64Array.from(numbers),
};

/** The words of numbers. */
function wordsOf(kind: Kind, numbers: ArrayLike<number>): Int32Array {
  return new Int32Array(arrayOf[kind](numbers).buffer);
}

/** The numbers of each part before the first iteration. */
async function firstOf(
  kept: readonly KeptPart[], { input: { before, external: { type, first, later } } }: FusedProgram, wasm: CompiledWasm,
  ends: Pick<Ends, 'part'>, options: RunOptions,
): Promise<(ArrayLike<number> | undefined)[]> {
  const { iterations: _, items: __, ...rest } = options;
  const given = await ends.part(0, before + first.items + first.beyond + later.beyond);
  const found = wasm.stateAfter(0, given, kept.map(({ name }) => name ?? ''), rest);
  const width = scalarCount(type);
  const waiting = await ends.part(before, before + later.beyond);
  const byKind = splitItems(Float64Array.from({ length: later.beyond * width }, (___, i) => waiting[i] ?? 0), type);
  return kept.map(({ name, kind, count }, i) => {
    const numbers = name === undefined ? byKind[kind] : found[i];
    return numbers === undefined || count === undefined ? numbers : numbers.subarray(0, count);
  });
}

/** Writes what stands in an arena before the first iteration. */
export async function fillArena(
  arena: DeviceArray, { kept }: DeviceSchedule, program: FusedProgram, wasm: CompiledWasm, ends: Pick<Ends, 'part'>, options: RunOptions,
): Promise<void> {
  const first = await firstOf(kept, program, wasm, ends, options);
  await Promise.all(kept.flatMap(({ kind, at, ring }, i) => {
    const numbers = first[i];
    if (numbers === undefined) return [];
    const words = wordsOf(kind, numbers);
    const all = ring === undefined ? words.length : ring * (kind === 'd' ? 2 : 1);
    // The items before the front of the ring end at its back.
    const begin = ring === undefined ? 0 : (all - words.length % all) % all, left = Math.min(words.length, all - begin);
    return [arena.write(words.subarray(0, left), at + begin), ...left < words.length ? [arena.write(words.subarray(left), at)] : []];
  }));
}

/** The arena of one run, lent by {@link Arenas}. */
export class ArenaState implements RunState {
  readonly #arena: DeviceArray;
  #giveBack: ((arena: DeviceArray) => void) | undefined;
  readonly #signal: AbortSignal | undefined;

  constructor(arena: DeviceArray, giveBack: (arena: DeviceArray) => void, signal: AbortSignal | undefined) {
    this.#arena = arena;
    this.#giveBack = giveBack;
    this.#signal = signal;
  }

  next(first: number): StateSpan {
    return { carry: this.#arena, carried: this.#arena, first };
  }

  /** Gives the arena back. No other run gets that of a stopped one, which may still be about to launch something. */
  dispose(): void {
    if (this.#signal?.aborted === true) this.#arena.dispose();
    else this.#giveBack?.(this.#arena);
    this.#giveBack = undefined;
  }
}

/** Arenas of runs, one for each run at a time. */
export class Arenas {
  readonly #free: DeviceArray[];
  readonly #make: () => Promise<DeviceArray>;
  #isDisposed = false;

  constructor(first: DeviceArray, make: () => Promise<DeviceArray>) {
    this.#free = [first];
    this.#make = make;
  }

  /** An arena for a run; its calls are queued behind those of earlier runs. */
  async take(): Promise<DeviceArray> {
    return this.#free.pop() ?? this.#make();
  }

  giveBack(arena: DeviceArray): void {
    if (this.#isDisposed || this.#free.length > 0) arena.dispose();
    else this.#free.push(arena);
  }

  dispose(): void {
    this.#isDisposed = true;
    for (const arena of this.#free.splice(0)) arena.dispose();
  }
}
