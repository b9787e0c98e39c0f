// The numbers that a run begins with, from options: initial state, coefficients, parameters of the members.
import { describeValue, isReal } from '../core/arrays.ts';
import { hasFields, requireNumber } from '../core/checks.ts';
import { refusal } from '../core/errors.ts';
import { elementAt, required } from '../core/known.ts';
import type { RealArray } from './types.ts';

/** The grid of a run. */
export interface Places {
  readonly shape: readonly number[];
  readonly cells: number;
  readonly spacing: readonly number[];
  readonly origin: readonly number[];
}

/** Cells that a field may have: indices are 32-bit integers. */
export const mostCells = 2 ** 31 - 2 ** 20;

/** The values of each name; nothing else may be given. */
function byName(given: unknown, names: readonly string[], argument: string): readonly unknown[] {
  if (given === undefined && names.length === 0) return [];
  if (!hasFields(given)) throw refusal(argument, `an object with ${names.join(', ')}`, describeValue(given));
  const other = Object.keys(given).find((name) => !names.includes(name));
  if (other !== undefined) throw refusal(`${argument}.${other}`, names.length === 0 ? 'none' : `one of ${names.join(', ')}`,
    describeValue(given[other]));
  return names.map((name) => (Object.hasOwn(given, name) ? given[name] : undefined));
}

/** The centres of the cells along an axis. */
function centres(n: number, spacing: number, origin: number): Float64Array {
  const places = new Float64Array(n);
  for (let i = 0; i < n; i += 1) places[i] = (i + 0.5) * spacing + origin;
  return places;
}

function fromFunction(f: (...place: number[]) => unknown, { shape, cells, spacing, origin }: Places, to: RealArray, name: string): void {
  const places = shape.map((n, axis) => centres(n, elementAt(spacing, axis), elementAt(origin, axis)));
  const along = required(places.at(-1)), rowLength = along.length;
  for (let first = 0; first < cells; first += rowLength) {
    const row = first / rowLength, middle = shape.length === 3 ? elementAt(shape, 1) : 1;
    const outer = places.slice(0, -1).map((at, axis) => elementAt(at, axis === 0 ? Math.floor(row / middle) : row % middle));
    const [z = 0, y = 0] = outer;
    for (let i = 0; i < rowLength; i += 1) { // without arrays of arguments: this runs for every cell
      const x = elementAt(along, i);
      const value: unknown = outer.length === 0 ? f(x) : outer.length === 1 ? f(z, x) : f(z, y, x);
      if (!Number.isFinite(value)) throw refusal(name, `a function that gives finite numbers`,
        `${describeValue(value)} at (${[...outer, x].join(', ')})`);
      to[first + i] = value as number;
    }
  }
}

/** Writes the values of all cells; `most` times as many may be given. Returns how many were. */
function writeValues(given: unknown, places: Places, to: RealArray, name: string, most: number): void {
  const { cells } = places;
  if (typeof given === 'number') {
    requireNumber(given, name);
    to.fill(given);
  } else if (typeof given === 'function') {
    fromFunction(given as (...place: number[]) => unknown, places, to, name);
    for (let i = 1; i < most; i += 1) to.copyWithin(i * cells, 0, cells);
  } else if (isReal(given)) {
    if (given.length !== cells && given.length !== cells * most) {
      throw refusal(`${name}.length`, most === 1 ? `${cells}, the number of cells` : `${cells} or, for all members, ${cells * most}`,
        `${given.length}`);
    }
    for (let i = 0; i < given.length; i += 1) {
      if (!Number.isFinite(given[i])) throw refusal(`${name}[${i}]`, 'a finite number', describeValue(given[i]));
    }
    for (let i = 0; i < cells * most; i += given.length) to.set(given, i);
  } else throw refusal(name, 'a Float64Array, a Float32Array, a number or a function of the place', describeValue(given));
}

const made = (precision: 'float32' | 'float64', length: number): RealArray =>
  (precision === 'float32' ? new Float32Array(length) : new Float64Array(length));

/** Parameters as [member][parameter], and the number of members. */
export function readParameters(given: unknown, names: readonly string[]): { readonly members: number; readonly parameters: Float64Array } {
  const values = byName(given, names, 'parameters');
  let members: number | undefined, first = '';
  values.forEach((value, i) => {
    const name = `parameters.${required(names[i])}`;
    if (!Array.isArray(value)) {
      requireNumber(value, name);
      return;
    }
    value.forEach((each, at) => requireNumber(each, `${name}[${at}]`));
    if (value.length === 0) throw refusal(name, 'a number, or a list with one for each member', 'an empty list');
    if (members !== undefined && members !== value.length) throw refusal(name, `a list of ${members}, as ${first}`,
      `one of ${value.length}`);
    members = value.length;
    first = name;
  });
  const count = members ?? 1;
  const parameters = new Float64Array(count * names.length);
  for (let member = 0; member < count; member += 1) {
    values.forEach((value, i) => {
      parameters[member * names.length + i] = Array.isArray(value) ? value[member] as number : value as number;
    });
  }
  return { members: count, parameters };
}

/** The initial state as [member][field][cell]. */
export function readInitial(
  given: unknown, fields: readonly string[], places: Places, members: number, precision: 'float32' | 'float64',
): RealArray {
  const values = byName(given, fields, 'initial');
  const { cells } = places;
  const all = made(precision, members * fields.length * cells);
  values.forEach((value, field) => {
    const name = `initial.${required(fields[field])}`;
    if (members === 1) {
      writeValues(value, places, all.subarray(field * cells, (field + 1) * cells), name, 1);
      return;
    }
    const own = made(precision, members * cells);
    writeValues(value, places, own, name, members);
    for (let member = 0; member < members; member += 1) {
      all.set(own.subarray(member * cells, (member + 1) * cells), (member * fields.length + field) * cells);
    }
  });
  return all;
}

/** Coefficients as [coefficient][cell]. */
export function readCoefficients(given: unknown, names: readonly string[], places: Places, precision: 'float32' | 'float64'): RealArray {
  const values = byName(given, names, 'coefficients');
  const { cells } = places;
  const all = made(precision, names.length * cells);
  values.forEach((value, i) => {
    writeValues(value, places, all.subarray(i * cells, (i + 1) * cells), `coefficients.${required(names[i])}`, 1);
  });
  return all;
}
