// Access to values that the surrounding code knows to exist. Throws immediately if that is wrong. Loops over many numbers do without it.
import { WarploomError } from './errors.ts';

function missing(what: string): WarploomError {
  return new WarploomError('ERR_WARPLOOM_INTERNAL', `${what} is missing: a defect of the library, please report it`);
}

/** The element of a list at `index`, which is within the list. */
export function elementAt<T>(list: ArrayLike<T>, index: number): T {
  const value = list[index];
  if (value === undefined) throw missing(`element ${index} of ${list.length}`);
  return value;
}

/** Adds to an existing number of a list, and returns the new value. */
export function addAt(list: { [index: number]: number; readonly length: number }, index: number, amount: number): number {
  return (list[index] = elementAt(list, index) + amount);
}

/** The last element of a list that has one. */
export function lastOf<T>(list: ArrayLike<T>): T {
  return elementAt(list, list.length - 1);
}

type Tuple<T, N extends number, Found extends T[] = []> = Found['length'] extends N ? Found : Tuple<T, N, [T, ...Found]>;

/** The first `count` elements of a list that has that many: for lists whose positions have meanings. */
export function leading<T, N extends number>(list: ArrayLike<T>, count: N): Tuple<T, N> {
  return Array.from({ length: count }, (_, index) => elementAt(list, index)) as Tuple<T, N>;
}

/** A value that is known to exist: an entry of a map, or a field that this kind of object has. */
export function required<T>(value: T | null | undefined): T {
  if (value === undefined || value === null) throw missing('a value');
  return value;
}
