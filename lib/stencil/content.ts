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

function fromFunction(f: (...place: number[]) => unknown, { shape, cells, spacing, origin }: Places, to: RealArray, name: string): void {
  const indices = shape.map(() => 0);
  for (let cell = 0; cell < cells; cell += 1) {
    const place = indices.map((index, axis) => (index + 0.5) * elementAt(spacing, axis) + elementAt(origin, axis));
    const value: unknown = f(...place);
    if (!Number.isFinite(value)) throw refusal(name, `a function that gives finite numbers`,
      `${describeValue(value)} at (${place.join(', ')})`);
    to[cell] = value as number;
    for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
      const next = elementAt(indices, axis) + 1;
      indices[axis] = next === elementAt(shape, axis) ? 0 : next;
      if (indices[axis] !== 0) break;
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
