// Elements of a filter's state that follow from the number of the firing alone: counters, and what repeats itself.
import { elementAt, required } from '../../core/known.ts';
import type { NodeState } from './elements.ts';
import { elementValue, knownNumber, known, type Value } from './value.ts';

/** An integer that a constant is added to in each firing, modulo 2^32. */
export interface Counter {
  readonly element: number;
  /** Before the first firing of the work function. */
  readonly first: number;
  readonly step: number;
}

/** Elements that repeat themselves. */
export interface Cycle {
  readonly elements: readonly number[];
  /** Firings of the work function before it begins. */
  readonly since: number;
  /** One row for each firing of a period: the elements before it, in order. */
  readonly rows: readonly (readonly number[])[];
}

export interface Closed {
  readonly counters: readonly Counter[];
  readonly cycles: readonly Cycle[];
  /** All elements of both. */
  readonly elements: ReadonlySet<number>;
}

/** The longest period that is looked for, and the longest one that is kept as a table. */
const longestPeriod = 1 << 17;
export const longestTable = 4096;

const has = (set: bigint, element: number): boolean => (set >> BigInt(element) & 1n) === 1n;

/** @param next the elements after a firing of which nothing is known */
export function closedOf(state: NodeState, next: readonly Value[]): Closed {
  const own = independent(next);
  const counters: Counter[] = [];
  const rest = new Set<number>(), constant: number[] = [];
  for (const element of own) {
    const { from, sum, copy } = elementAt(next, element);
    const first = state.start[element];
    const isCounter = from === 1n << BigInt(element) && sum?.modulus === 0 && sum.factors?.get(element) === 1 && sum.rest !== undefined
      && elementAt(state.elements, element).buffer.element === 'i32';
    if (first === undefined) continue;
    if (copy === element) constant.push(element);
    else if (isCounter && sum.rest !== 0) counters.push({ element, first, step: sum.rest });
    else rest.add(element);
  }
  const cycles: Cycle[] = [];
  if (constant.length > 0) cycles.push({ elements: constant, since: 0, rows: [constant.map((element) => required(state.start[element]))] });
  for (const elements of connected(next, rest, new Set(constant))) {
    const cycle = cycleOf(state, elements, constant);
    if (cycle !== undefined) cycles.push(cycle);
  }
  return { counters, cycles, elements: new Set([...counters.map(({ element }) => element), ...cycles.flatMap((cycle) => cycle.elements)]) };
}

/** The largest set of elements that depend on nothing but each other. */
function independent(next: readonly Value[]): Set<number> {
  const own = new Set(next.keys());
  let others = 0n;
  for (let size = -1; size !== own.size;) {
    size = own.size;
    for (const element of own) {
      const { from, isInput } = elementAt(next, element);
      if (!isInput && (from & others) === 0n) continue;
      own.delete(element);
      others |= 1n << BigInt(element);
    }
  }
  return own;
}

/** Elements that depend on each other, together; without those that depend on what is neither in the set nor constant. */
function connected(next: readonly Value[], set: ReadonlySet<number>, constant: ReadonlySet<number>): number[][] {
  const own = new Set(set);
  const sources = (element: number): number[] =>
    [...next.keys()].filter((other) => has(elementAt(next, element).from, other) && !constant.has(other));
  for (let size = -1; size !== own.size;) {
    size = own.size;
    for (const element of own) if (sources(element).some((other) => !own.has(other))) own.delete(element);
  }
  const groupOf = new Map<number, Set<number>>([...own].map((element) => [element, new Set([element])]));
  for (const element of own) {
    for (const other of sources(element)) {
      const [a, b] = [required(groupOf.get(element)), required(groupOf.get(other))];
      if (a === b) continue;
      for (const each of b) {
        a.add(each);
        groupOf.set(each, a);
      }
    }
  }
  return [...new Set(groupOf.values())].map((group) => [...group].sort((a, b) => a - b));
}

/** Fires until the elements are as they were before. */
function cycleOf(state: NodeState, elements: readonly number[], constant: readonly number[]): Cycle | undefined {
  const before: Value[] = state.elements.map((_, element) => elementValue(element));
  for (const element of constant) before[element] = known(required(state.start[element]));
  const rows: number[][] = [];
  const seen = new Map<string, number>();
  let row: number[] = [];
  for (const element of elements) {
    const first = state.start[element];
    if (first === undefined) return undefined;
    row.push(first);
  }
  for (;;) {
    const key = row.map((x) => (Object.is(x, -0) ? '-0' : String(x))).join();
    const since = seen.get(key);
    if (since !== undefined) {
      const cycle = { elements, since, rows: rows.slice(since) };
      return isShort(cycle) ? cycle : undefined;
    }
    if (rows.length >= longestPeriod) return undefined;
    seen.set(key, rows.length);
    rows.push(row);
    elements.forEach((element, i) => { before[element] = known(elementAt(row, i)); });
    const after = state.tryNext(before);
    if (after === undefined) return undefined;
    const made: number[] = [];
    for (const element of elements) {
      const x = knownNumber(elementAt(after, element));
      if (x === undefined) return undefined;
      made.push(x);
    }
    row = made;
  }
}

function isShort({ elements, rows }: Cycle): boolean {
  return rows.length <= longestTable || elements.every((_, i) => progressionOf(rows.map((row) => elementAt(row, i))) !== undefined);
}

/** Numbers that grow by `step` from one to the next, the one at `begin` being `low`, and begin again behind the last one. */
export interface Progression {
  readonly low: number;
  readonly step: number;
  readonly begin: number;
}

/** The column of a cycle as a progression of integers; undefined if it is none. */
export function progressionOf(column: readonly number[]): Progression | undefined {
  const low = column.reduce((least, x) => Math.min(least, x)), begin = column.indexOf(low), length = column.length;
  const at = (i: number): number => elementAt(column, (begin + i) % length);
  const step = length === 1 ? 0 : at(1) - low;
  if (!Number.isInteger(low) || !Number.isInteger(step) || low + step * (length - 1) >= 2 ** 31) return undefined;
  for (let i = 0; i < length; ++i) if (at(i) !== low + step * i) return undefined;
  return { low, step, begin };
}
