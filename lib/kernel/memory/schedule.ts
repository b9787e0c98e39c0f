// Finds an order of statements that needs as few shared bytes as possible at any time.
import { addAt, elementAt, lastOf, required } from '../../core/known.ts';

/** Units and their ordering constraints. */
export interface Dependence {
  /** `isLight`: accesses nothing but registers; `arrays`: shared arrays it accesses. */
  readonly units: readonly { readonly isBarrier: boolean; readonly isLight: boolean; readonly arrays: ReadonlySet<number> }[];
  /** before[v]: units that must come before v, transitively. */
  readonly before: readonly ReadonlySet<number>[];
  /** Pairs, first·n + second, that need a barrier between them. */
  readonly separated: ReadonlySet<number>;
}

/** The stages between barriers, each a list of units. */
export type Stages = readonly (readonly number[])[];

/** Up to this many statements, every order is considered. */
const kExhaustive = 16;
/** The maximum number of states of the exhaustive search. */
const kMostStates = 400_000;

interface Problem {
  /** The units that matter, in source order. */
  readonly heavy: readonly number[];
  /** Per heavy unit: bit sets of the units that must come before it, of those that need a barrier in between, and of its arrays. */
  readonly before: readonly number[];
  readonly apart: readonly number[];
  readonly arrays: readonly (readonly number[])[];
  readonly bytes: readonly number[];
}

function problemOf({ units, before, separated }: Dependence, bytes: readonly number[]): Problem {
  const heavy = units.flatMap((unit, at) => unit.isBarrier || unit.isLight ? [] : [at]);
  const bit = new Map(heavy.map((unit, at) => [unit, 1 << at]));
  const mask = (test: (unit: number) => boolean): number =>
    heavy.reduce((sum, unit) => test(unit) ? sum | required(bit.get(unit)) : sum, 0);
  return {
    heavy, bytes, before: heavy.map((unit) => mask((each) => elementAt(before, unit).has(each))),
    apart: heavy.map((unit) => mask((each) => separated.has(Math.min(unit, each) * units.length + Math.max(unit, each)))),
    arrays: heavy.map((unit) => [...elementAt(units, unit).arrays]),
  };
}

/** For each array, the bit set of the units that access it. */
function touching({ heavy, arrays, bytes }: Problem): number[] {
  return bytes.map((_, array) => heavy.reduce((sum, _unit, at) => elementAt(arrays, at).includes(array) ? sum | (1 << at) : sum, 0));
}

/** Bytes needed during a stage: arrays accessed in it, and arrays accessed both before and after it. */
function stageBytes(bytes: readonly number[], users: readonly number[], start: number, end: number): number {
  const inside = end & ~start;
  let sum = 0;
  for (let array = 0; array < bytes.length; ++array) {
    const user = elementAt(users, array);
    if ((user & inside) !== 0 || ((user & start) !== 0 && (user & ~end) !== 0)) sum += elementAt(bytes, array);
  }
  return sum;
}

interface State {
  readonly start: number;
  readonly done: number;
  readonly cost: number;
  readonly from: State | undefined;
  readonly unit: number;
  readonly opens: boolean;
}

/**
 * Dynamic programming over all orders. A state consists of the units done, and of those done when the current stage began. Without a limit,
 * minimises the largest stage; with one, excludes larger stages and minimises the number of barriers, then of changes of order.
 */
function search(problem: Problem, users: readonly number[], limit: number | undefined): State | undefined {
  const { heavy, before, apart, bytes } = problem;
  const all = (1 << heavy.length) - 1;
  const size = (start: number, end: number): number => stageBytes(bytes, users, start, end);
  let layer = new Map<number, State>([[0, { start: 0, done: 0, cost: 0, from: undefined, unit: -1, opens: false }]]);
  let states = 0;
  const width = 2 ** heavy.length;
  for (let count = 0; count < heavy.length; ++count) {
    const next = new Map<number, State>();
    const offer = (state: State): void => {
      const key = state.start * width + state.done;
      const known = next.get(key);
      if (known === undefined || state.cost < known.cost) next.set(key, state);
    };
    for (const state of layer.values()) {
      for (let unit = 0; unit < heavy.length; ++unit) {
        const bit = 1 << unit;
        if ((state.done & bit) !== 0 || (elementAt(before, unit) & ~state.done) !== 0) continue;
        // Units that precede units which come before them in the source count as changes of order.
        const inversions = popcount(state.done & ~(2 * bit - 1)) * 1e-3;
        const inside = state.done & ~state.start;
        if ((elementAt(apart, unit) & inside) === 0) {
          const cost = limit === undefined ? state.cost : state.cost + inversions;
          offer({ start: state.start, done: state.done | bit, cost, from: state, unit, opens: false });
        }
        if (inside === 0) continue;
        const closed = size(state.start, state.done);
        if (limit !== undefined && closed > limit) continue;
        const cost = limit === undefined ? Math.max(state.cost, closed) : state.cost + 1 + inversions;
        offer({ start: state.done, done: state.done | bit, cost, from: state, unit, opens: true });
      }
    }
    states += next.size;
    if (states > kMostStates) return undefined;
    layer = next;
  }
  let best: State | undefined;
  for (const state of layer.values()) {
    const last = size(state.start, all);
    if (limit !== undefined && last > limit) continue;
    const closed = { ...state, cost: limit === undefined ? Math.max(state.cost, last) : state.cost };
    if (best === undefined || closed.cost < best.cost) best = closed;
  }
  return best;
}

function popcount(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) ++count;
  return count;
}

function stagesOf(problem: Problem, end: State): number[][] {
  const stages: number[][] = [[]];
  for (let state = end; state.from !== undefined; state = state.from) {
    elementAt(stages, 0).unshift(elementAt(problem.heavy, state.unit));
    if (state.opens) stages.unshift([]);
  }
  return stages;
}

/** List scheduling: of the statements that may come next, takes the one after which the fewest bytes are needed. */
function listSchedule(dependence: Dependence, bytes: readonly number[]): number[][] {
  const { units, before, separated } = dependence;
  const open = new Set(units.flatMap((unit, at) => unit.isBarrier || unit.isLight ? [] : [at]));
  const rest = bytes.map((_, array) => [...open].filter((unit) => elementAt(units, unit).arrays.has(array)).length);
  const started = new Set<number>();
  const stages: number[][] = [[]];
  while (open.size > 0) {
    const ready = [...open].filter((unit) => [...elementAt(before, unit)].every((each) => !open.has(each)));
    const change = (unit: number): number => [...elementAt(units, unit).arrays].reduce((sum, array) =>
      sum + (started.has(array) ? 0 : elementAt(bytes, array)) - (rest[array] === 1 ? elementAt(bytes, array) : 0), 0);
    const stage = lastOf(stages);
    const needsBarrier = (unit: number): boolean =>
      stage.some((each) => separated.has(Math.min(unit, each) * units.length + Math.max(unit, each)));
    const grows = (unit: number): boolean => stage.length > 0 && [...elementAt(units, unit).arrays].some((array) => !started.has(array));
    ready.sort((a, b) => change(a) - change(b) || Number(needsBarrier(a)) - Number(needsBarrier(b)) || a - b);
    const unit = elementAt(ready, 0);
    if (needsBarrier(unit) || (grows(unit) && change(unit) > 0 && [...started].some((array) => rest[array] === 0))) stages.push([unit]);
    else stage.push(unit);
    for (const array of elementAt(units, unit).arrays) {
      started.add(array);
      addAt(rest, array, -1);
    }
    open.delete(unit);
  }
  return stages;
}

/**
 * Stages of statements that need few bytes at a time. For up to 16 statements that access memory, the best of all orders, and among equally
 * good ones the one with the fewest barriers and changes; beyond that, a list schedule by bytes freed.
 */
export function schedule(dependence: Dependence, bytes: readonly number[]): Stages {
  const problem = problemOf(dependence, bytes);
  if (problem.heavy.length === 0) return [];
  if (problem.heavy.length > kExhaustive) return listSchedule(dependence, bytes);
  const users = touching(problem);
  const smallest = search(problem, users, undefined);
  const best = smallest === undefined ? undefined : search(problem, users, smallest.cost);
  return best === undefined ? listSchedule(dependence, bytes) : stagesOf(problem, best);
}
