// Elements of a filter's state that hold what one of the last firings left there: histories that are shifted, rings, last values.
import { elementAt } from '../../core/known.ts';
import type { ScalarType } from '../../kernel/ir.ts';
import type { Closed } from './closed.ts';
import type { NodeState } from './elements.ts';
import { elementValue, given, known, type Value } from './value.ts';

/** Where an element before a firing comes from: what the firing so many before it left in a word of its record; or it never changes. */
export type Source = { readonly lag: number; readonly word: number } | { readonly constant: number };

export interface Recorded {
  readonly kind: 'recorded';
  readonly elements: readonly number[];
  /** Types of the words of a record. */
  readonly types: readonly ScalarType[];
  /** By phase and word: the element that holds it after the firing; undefined where nothing needs the word. */
  readonly words: readonly (readonly (number | undefined)[])[];
  /** By phase and place in `elements`. */
  readonly sources: readonly (readonly Source[])[];
  readonly longestLag: number;
}

/** Firings after which all closed elements that repeat themselves do so together. */
export interface Phases {
  readonly period: number;
  /** Firings of the work function before they begin. */
  readonly since: number;
  /** By phase: elements that are known in it. */
  readonly known: readonly ReadonlyMap<number, number>[];
}

/** The longest period, and the longest look back, in firings. */
const longestPeriod = 1024;
export const longestLag = 1024;

export function phasesOf({ cycles }: Closed): Phases {
  let period = 1;
  const taken = cycles.filter(({ rows }) => {
    const next = lcm(period, rows.length);
    if (next <= longestPeriod) period = next;
    return next <= longestPeriod;
  });
  const since = Math.max(0, ...taken.map((cycle) => cycle.since));
  const at = Array.from({ length: period }, (_, phase) => {
    const known = new Map<number, number>();
    for (const { elements, rows, since: own } of taken) {
      const row = elementAt(rows, (phase + since - own) % rows.length);
      elements.forEach((element, i) => known.set(element, elementAt(row, i)));
    }
    return known;
  });
  return { period, since, known: at };
}

function lcm(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y > 0) [x, y] = [y, x % y];
  return a / x * b;
}

/** The single phase of a filter of which nothing is known before a firing. */
export const onePhase: Phases = { period: 1, since: 0, known: [new Map()] };

/** What each element is after a firing, by phase. @param provided elements that are found in other ways; `known` says more of some */
export function nextByPhase(state: NodeState, provided: ReadonlySet<number>, phases: Phases): readonly (readonly Value[])[] | undefined {
  const made: (readonly Value[])[] = [];
  for (const numbers of phases.known) {
    const next = state.tryNext(state.elements.map((_, element) => {
      const number = numbers.get(element);
      return number !== undefined && provided.has(element) ? known(number) : provided.has(element) ? { ...given, isInput: false }
        : elementValue(element);
    }));
    if (next === undefined) return undefined;
    made.push(next);
  }
  return made;
}

/**
 * The elements that records tell, out of those that are not provided; undefined if there are none.
 * @param isFromStart the phases begin with the first firing: what they do not change is as it was at the start
 */
export function recordedOf(
  state: NodeState, next: readonly (readonly Value[])[], provided: ReadonlySet<number>, isFromStart: boolean,
): Recorded | undefined {
  const fixed = new Set(!isFromStart ? [] : [...state.elements.keys()].filter((element) => isConstant(state, next, element)));
  const own = new Set([...state.elements.keys()].filter((element) => !provided.has(element)));
  const isFresh = (value: Value): boolean => value.from === 0n;
  for (let size = -1; size !== own.size;) {
    size = own.size;
    for (const element of own) {
      const isFound = next.every((values) => {
        const value = elementAt(values, element);
        return isFresh(value) || (value.copy !== undefined && own.has(value.copy));
      });
      if (!isFound) own.delete(element);
    }
    if (size === own.size) for (const element of endless(next, own, fixed)) own.delete(element);
  }
  if (own.size === 0) return undefined;
  return recordsOf(state, next, [...own], fixed);
}

/** Follows an element back to where it was made; undefined if that is too far. */
function sourceOf(
  next: readonly (readonly Value[])[], phase: number, element: number,
): { lag: number; phase: number; element: number } | undefined {
  let [at, of] = [phase, element];
  for (let lag = 1; lag <= longestLag; ++lag) {
    at = (at + next.length - 1) % next.length;
    const { copy, from } = elementAt(elementAt(next, at), of);
    if (from === 0n) return { lag, phase: at, element: of };
    if (copy === undefined) return undefined;
    of = copy;
  }
  return undefined;
}

function isConstant(state: NodeState, next: readonly (readonly Value[])[], element: number): boolean {
  return state.start[element] !== undefined && next.every((values) => values[element]?.copy === element);
}

/** Elements that come from too far back. */
function endless(next: readonly (readonly Value[])[], own: ReadonlySet<number>, fixed: ReadonlySet<number>): number[] {
  return [...own].filter((element) => !fixed.has(element)
    && next.some((_, phase) => sourceOf(next, phase, element) === undefined));
}

function recordsOf(
  state: NodeState, next: readonly (readonly Value[])[], elements: readonly number[], fixed: ReadonlySet<number>,
): Recorded {
  const words: (number | undefined)[][] = next.map(() => []);
  const types: ScalarType[] = [];
  const place = (own: (number | undefined)[], element: number): number => {
    const known = own.indexOf(element);
    if (known >= 0) return known;
    const type = elementAt(state.elements, element).buffer.element;
    let word = types.findIndex((each, i) => each === type && own[i] === undefined);
    if (word < 0) word = types.push(type) - 1;
    own[word] = element;
    return word;
  };
  let longest = 1;
  const sources = next.map((_, phase) => elements.map((element): Source => {
    if (fixed.has(element)) return { constant: state.start[element] ?? 0 };
    const found = sourceOf(next, phase, element);
    if (found === undefined) throw new Error('an element has no source');
    const word = place(elementAt(words, found.phase), found.element);
    longest = Math.max(longest, found.lag);
    return { lag: found.lag, word };
  }));
  return { kind: 'recorded', elements, types, words, sources, longestLag: longest };
}
