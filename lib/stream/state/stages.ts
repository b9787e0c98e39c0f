// How a filter with state can fire on many threads at once: how its fields before any firing are found without all firings before it.
import { elementAt, required } from '../../core/known.ts';
import { closedOf, type Closed } from './closed.ts';
import type { NodeState } from './elements.ts';
import { nextByPhase, onePhase, phasesOf, recordedOf, type Phases, type Recorded } from './recorded.ts';
import { elementValue, given, known, type Value } from './value.ts';

/**
 * Elements that a scan finds, exactly: what a firing does to them is told by a few numbers, and so is what several firings do.
 * - `bits`: x ← (x & keep) ^ flip, for one element of any type;
 * - `sum`: x ← A x + b modulo 2^32, for a few integers; `wrap`: then brought into a range whose length is a power of two;
 * - `real`: x ← A x + b for a few floats, with an A that does not change: only where another order of sums is allowed;
 * - `choice`: one element that is always one of a few integers; a firing maps each of them to another one.
 */
export interface Scan {
  readonly kind: 'bits' | 'sum' | 'real' | 'choice';
  readonly elements: readonly number[];
  readonly wrap?: { readonly low: number; readonly size: number };
  /** Factors of `sum` and `real` that do not change: row by row. */
  readonly factors?: readonly number[];
  readonly choices?: readonly number[];
}

/** What is done before the firings of a round, one after the other. */
export type Stage = readonly Scan[] | Recorded;

export interface NodePlan {
  readonly state: NodeState;
  readonly closed: Closed;
  /** Of the elements that records tell. */
  readonly phases: Phases;
  readonly stages: readonly Stage[];
  /** Firings of the node after which all this holds. */
  readonly settled: number;
}

/** Elements that are found together at most, and values of one that is always one of a few. */
const mostTogether = 4, mostChoices = 16;

/** Plans a node; or the elements that keep it from being planned. `reorders`: sums of floats may be made in another order. */
export function planNode(state: NodeState, hasPrework: boolean, reorders = false): NodePlan | { readonly failing: readonly number[] } {
  const closed = closedOf(state, state.next(state.elements.map((_, element) => elementValue(element))));
  const made = [phasesOf(closed), onePhase].map((phases) => stagesOf(state, closed, phases, reorders));
  const best = made.find((each) => 'stages' in each) ?? elementAt(made, 1);
  if ('failing' in best) return best;
  const since = Math.max(best.phases.since, ...closed.cycles.map((cycle) => cycle.since));
  return { state, closed, ...best, settled: since + (hasPrework ? 1 : 0) };
}

type Stages = { readonly phases: Phases; readonly stages: readonly Stage[] } | { readonly failing: readonly number[] };

function stagesOf(state: NodeState, closed: Closed, phases: Phases, reorders: boolean): Stages {
  const provided = new Set(closed.elements);
  const stages: Stage[] = [];
  while (provided.size < state.elements.length) {
    const next = nextByPhase(state, provided, phases);
    const left = [...state.elements.keys()].filter((element) => !provided.has(element));
    if (next === undefined) return { failing: left };
    const recorded = recordedOf(state, next, provided, phases.since === 0);
    const scans = recorded === undefined ? scansOf(state, next, provided, reorders) : undefined;
    const stage = recorded ?? scans;
    if (stage === undefined) return { failing: left };
    stages.push(stage);
    for (const element of 'kind' in stage ? stage.elements : stage.flatMap(({ elements }) => elements)) provided.add(element);
  }
  return { phases, stages };
}

/** Scans that wait for nothing but what is provided. */
function scansOf(
  state: NodeState, next: readonly (readonly Value[])[], provided: ReadonlySet<number>, reorders: boolean,
): readonly Scan[] | undefined {
  const found: Scan[] = [];
  const taken = new Set<number>();
  for (const element of state.elements.keys()) {
    if (provided.has(element) || taken.has(element)) continue;
    const group = sourcesOf(next, element);
    if (group.size > mostTogether || [...group].some((each) => taken.has(each))) continue;
    const members = [...group].sort((a, b) => a - b);
    const scan = scanOf(state, next, members, provided) ?? (reorders ? realOf(state, next, members) : undefined);
    if (scan === undefined) continue;
    found.push(scan);
    for (const each of group) taken.add(each);
  }
  return found.length === 0 ? undefined : found;
}

/** An element and all that it depends on, directly or not. */
function sourcesOf(next: readonly (readonly Value[])[], element: number): Set<number> {
  const group = new Set([element]);
  for (const each of group) {
    for (const values of next) {
      for (let from = elementAt(values, each).from, other = 0; from > 0n; from >>= 1n, ++other) if ((from & 1n) === 1n) group.add(other);
      if (group.size > mostTogether) return group;
    }
  }
  return group;
}

function scanOf(
  state: NodeState, next: readonly (readonly Value[])[], group: readonly number[], provided: ReadonlySet<number>,
): Scan | undefined {
  const values = next.flatMap((each) => group.map((element) => elementAt(each, element)));
  const isInt = group.every((element) => elementAt(state.elements, element).buffer.element === 'i32');
  if (isInt && values.every(({ sum }) => sum?.modulus === 0)) return sumOf(next, group);
  const [element] = group as [number];
  if (group.length > 1) return undefined;
  if (values.every(({ isBitwise }) => isBitwise)) return { kind: 'bits', elements: group };
  if (!isInt) return undefined;
  return wrappedSum(state, values, element) ?? choiceOf(state, element, provided);
}

function sumOf(next: readonly (readonly Value[])[], group: readonly number[]): Scan {
  const all = next.map((values) => group.flatMap((row) => {
    const factors = elementAt(values, row).sum?.factors;
    return group.map((column) => (factors === undefined ? undefined : factors.get(column) ?? 0));
  }));
  const [first] = all as [(number | undefined)[]];
  const isFixed = first.every((factor, i) => factor !== undefined && all.every((each) => each[i] === factor));
  return { kind: 'sum', elements: group, ...(isFixed ? { factors: first.map(required) } : {}) };
}

/** Factors of a recurrence of floats grow to no more than this, however many firings are put together. */
const mostGrowth = 1000;

/** Floats of which a firing makes multiples, always the same ones, and adds something to them. */
function realOf(state: NodeState, next: readonly (readonly Value[])[], group: readonly number[]): Scan | undefined {
  if (!group.every((element) => elementAt(state.elements, element).buffer.element === 'f32')) return undefined;
  const all = next.map((values) => group.flatMap((row) => {
    const { factors, from } = elementAt(values, row);
    const own = from === 0n ? new Map<number, number>() : factors;
    return group.map((column) => (own === undefined ? undefined : Math.fround(own.get(column) ?? 0)));
  }));
  const [first] = all as [(number | undefined)[]];
  if (!first.every((factor, i) => factor !== undefined && all.every((each) => each[i] === factor))) return undefined;
  const factors = first.map(required);
  return staysSmall(factors, group.length) ? { kind: 'real', elements: group, factors } : undefined;
}

/** Whether all powers of a matrix stay small: else those of long stretches overflow where the recurrence itself does not. */
function staysSmall(factors: readonly number[], size: number): boolean {
  let power = [...factors];
  for (let doublings = 0; doublings < 32; ++doublings) {
    if (!power.every((x) => Math.abs(x) <= mostGrowth)) return false;
    const of = power;
    power = of.map((_, at) => {
      let sum = 0;
      for (let k = 0; k < size; ++k) sum += elementAt(of, at - (at % size) + k) * elementAt(of, k * size + (at % size));
      return sum;
    });
  }
  return true;
}

/** A sum modulo a power of two whose value lies in one range of that length. */
function wrappedSum(state: NodeState, values: readonly Value[], element: number): Scan | undefined {
  const [first] = values as [Value];
  const [low, high] = first.bounds;
  const size = high - low + 1, start = state.start[element];
  if (size > 2 ** 30 || (size & (size - 1)) !== 0 || start === undefined || start < low || start > high) return undefined;
  const isWrapped = values.every(({ sum, bounds }) =>
    sum !== undefined && (sum.modulus === 0 || sum.modulus >= size) && bounds[0] >= low && bounds[1] <= high);
  return isWrapped ? { kind: 'sum', elements: [element], wrap: { low, size } } : undefined;
}

/** Tries all values that the element can take. */
function choiceOf(state: NodeState, element: number, provided: ReadonlySet<number>): Scan | undefined {
  const start = state.start[element];
  if (start === undefined) return undefined;
  const choices = [start];
  for (const choice of choices) {
    const next = state.tryNext(state.elements.map((_, each) =>
      (each === element ? known(choice) : provided.has(each) ? { ...given, isInput: false } : elementValue(each))));
    const found = next && elementAt(next, element);
    if (found?.choices === undefined || found.from !== 0n) return undefined;
    for (const each of found.choices) if (!choices.includes(each)) choices.push(each);
    if (choices.length > mostChoices) return undefined;
  }
  return { kind: 'choice', elements: [element], choices };
}
