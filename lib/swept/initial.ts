// Initial states: arrays of the caller, and named initial conditions.
import { describeValue, elementTypeOf, float64Of, holds, isReal, makeFloat64, makeTypedArray } from '../core/arrays.ts';
import { refusal } from '../core/errors.ts';
import { anything, number, positive, whole } from '../core/checks.ts';
import { elementAt } from '../core/known.ts';
import { needed, normally, optionsOf, type Checks, type Options } from '../core/options.ts';
import { record } from '../core/shapes.ts';
import type { GasState, RealArray } from './types.ts';

/** What an initial condition is made on. */
export interface Grid {
  readonly n: number;
  readonly batch: number;
  readonly type: 'float32' | 'float64';
  /** Positions of the points. */
  readonly x: Float64Array;
  readonly length: number;
  readonly periodic: boolean;
  readonly gamma: number;
}

/** Fields of a problem from a named initial condition; undefined if the equation has no such condition. */
export type Condition = (initial: unknown, name: string, grid: Grid) => RealArray[] | undefined;

/** Precision of the arrays in `initial`; undefined if it has none. */
export function precisionOf(initial: unknown): 'float32' | 'float64' | undefined {
  const first: unknown = Array.isArray(initial) ? initial[0] : initial;
  const array = typeof first === 'object' && first !== null && 'density' in first ? first.density : first;
  return isReal(array) ? elementTypeOf(array) as 'float32' | 'float64' : undefined;
}

/** A float array of `length` finite numbers. */
export function requireArray(value: unknown, name: string, length: number): asserts value is RealArray {
  if (!isReal(value)) throw refusal(name, 'a Float64Array or Float32Array', describeValue(value));
  if (value.length !== length) throw refusal(name, `${length} values`, `${value.length}`);
  for (let i = 0; i < length; i += 1) {
    if (!Number.isFinite(value[i])) throw refusal(`${name}[${i}]`, 'a finite number', String(value[i]));
  }
}

/** A zeroed array. */
export function zeros(type: 'float32' | 'float64', length: number): RealArray {
  return makeTypedArray(type, length) as RealArray;
}

/**
 * The state of all problems. A typed array that fits is returned as it is; `touch` asks for a copy that may be written.
 * @param components fields of a problem, one after the other
 */
export function initialState(initial: unknown, grid: Grid, components: number, condition: Condition, touch: boolean): RealArray {
  const { n, batch, type } = grid;
  const count = components * n;
  if (isReal(initial)) {
    requireArray(initial, 'initial', batch * count);
    const fits = holds(initial, type);
    if (fits && !touch) return initial;
    const copy = zeros(type, batch * count);
    copy.set(initial);
    return copy;
  }
  const state = zeros(type, batch * count);
  const problem = (value: unknown, name: string): RealArray[] => {
    if (isReal(value)) {
      requireArray(value, name, count);
      return [value];
    }
    const fields = condition(value, name, grid);
    if (fields === undefined) throw refusal(name, 'a float array or the name of an initial condition', describeValue(value));
    return fields;
  };
  if (Array.isArray(initial)) {
    if (initial.length !== batch) throw refusal('initial', `${batch} entries, one per problem`, `${initial.length}`);
    initial.forEach((value, b) => put(state, problem(value, `initial[${b}]`), b * count));
  } else {
    const fields = problem(initial, 'initial');
    const size = fields.reduce((sum, field) => sum + field.length, 0); // of one problem, or of all
    for (let at = 0; at < state.length; at += size) put(state, fields, at);
  }
  return state;
}

function put(state: RealArray, fields: readonly RealArray[], at: number): void {
  let position = at;
  for (const field of fields) {
    state.set(field, position);
    position += field.length;
  }
}

/** The fields of the initial condition `kind`. */
const condition = (kind: string, checks: Checks = {}): Options<Checks> =>
  optionsOf(`the initial condition ${kind}`, { kind: anything, ...checks });

/** `kind` and fields of a named initial condition given as a name or an object; undefined for anything else. */
function named(
  initial: unknown, name: string, fields: Readonly<Record<string, Options<Checks>>>,
): Record<string, unknown> | undefined {
  const given = typeof initial === 'string' ? { kind: initial } : initial;
  if (typeof given !== 'object' || given === null || !('kind' in given)) return undefined;
  const { kind } = given;
  const known = typeof kind === 'string' && Object.hasOwn(fields, kind) ? fields[kind] : undefined;
  if (known === undefined) {
    throw refusal(typeof initial === 'string' ? name : `${name}.kind`, `one of ${Object.keys(fields).join(', ')}`, describeValue(kind));
  }
  return known.read(given, name);
}

const amplitudeOf = (normal: number) => ({ amplitude: normally(number(), normal) });
const heatConditions = {
  parabola: condition('parabola', amplitudeOf(100)), ramp: condition('ramp', amplitudeOf(100)),
  cosine: condition('cosine', { mode: needed(whole(0)), ...amplitudeOf(1) }),
};

/** Initial conditions of the heat equation. */
export const heatCondition: Condition = (initial, name, { n, x, length, periodic }) => {
  const given = named(initial, name, heatConditions);
  if (given === undefined) return undefined;
  const { kind, amplitude, mode } = given as { kind: unknown; amplitude: number; mode: number };
  switch (kind) {
    case 'parabola': return [x.map((at) => amplitude * at * (1 - at / length))];
    case 'ramp': return [x.map((at) => amplitude * (1 - at / length))];
    default: return [x.map((_, i) => amplitude * Math.cos((Math.PI * mode * i) / (periodic ? n / 2 : n - 1)))];
  }
};

/** Values between -amplitude and amplitude with mean 0, the same for the same seed (mulberry32 of T. Ettinger). */
function noise(n: number, seed: number, amplitude: number): Float64Array {
  let state = seed >>> 0;
  const values = float64Of(n, () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = Math.imul(state ^ (state >>> 15), state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 31 - 1;
  });
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  return values.map((value) => (amplitude * (value - mean)) / (1 + Math.abs(mean)));
}

const waveConditions = {
  paper: condition('paper'), mode: condition('mode', { waves: needed(whole(0)), ...amplitudeOf(1e-6) }),
  noise: condition('noise', { seed: normally(whole(0), 1), ...amplitudeOf(0.1) }),
};

/** Initial conditions of the Kuramoto–Sivashinsky equation. */
export const waveCondition: Condition = (initial, name, { n, x, periodic }) => {
  const given = named(initial, name, waveConditions);
  if (given === undefined) return undefined;
  const { kind, amplitude, seed, waves } = given as { kind: unknown; amplitude: number; seed: number; waves: number };
  if (kind === 'paper') return [x.map((at) => 2 * Math.cos((19 * Math.PI * at) / 128))];
  if (kind === 'noise') return [noise(n, seed, amplitude)];
  // Odd about dirichlet ends, as they ask for.
  return [x.map((_, i) => amplitude * (periodic ? Math.cos((2 * Math.PI * waves * i) / n) : Math.sin((Math.PI * waves * i) / (n - 1))))];
};

const gasState = record({ density: positive, velocity: number(), pressure: positive });

/** Rejects an invalid gas state. */
export function requireGasState(value: unknown, name: string): asserts value is GasState {
  gasState(value, name);
}

/** Sod's shock tube. */
export const sod: { readonly left: GasState; readonly right: GasState } = {
  left: { density: 1, velocity: 0, pressure: 1 }, right: { density: 0.125, velocity: 0, pressure: 0.1 },
};

/** Density, momentum and energy of each cell. */
function conserved(n: number, gamma: number, gas: (i: number) => GasState): Float64Array[] {
  const fields = [makeFloat64(n), makeFloat64(n), makeFloat64(n)] as const;
  for (let i = 0; i < n; i += 1) {
    const { density, velocity, pressure } = gas(i);
    fields[0][i] = density;
    fields[1][i] = density * velocity;
    fields[2][i] = pressure / (gamma - 1) + 0.5 * density * velocity * velocity;
  }
  return [...fields];
}

const gasFields = optionsOf('a gas', { density: anything, velocity: anything, pressure: anything });
const gasConditions = {
  sod: condition('sod'), wave: condition('wave', { ...amplitudeOf(0.2), waves: normally(number(), 1) }),
  riemann: condition('riemann', { left: anything, right: anything, diaphragm: normally(number({ least: 0, most: 1 }), 0.5) }),
};

/** Initial conditions of the Euler equations. */
export const gasCondition: Condition = (initial, name, grid) => {
  const { n, batch, x, length, gamma } = grid;
  if (typeof initial === 'object' && initial !== null && 'density' in initial) {
    const { density, velocity, pressure } = gasFields.read<Readonly<Partial<Record<keyof GasState, unknown>>>>(initial, name);
    // Arrays given outside a list may hold all problems.
    const whole = name === 'initial' && isReal(density) && density.length === batch * n ? batch : 1;
    requireArray(density, `${name}.density`, whole * n);
    requireArray(velocity, `${name}.velocity`, whole * n);
    requireArray(pressure, `${name}.pressure`, whole * n);
    const at = (place: number) =>
      ({ density: elementAt(density, place), velocity: elementAt(velocity, place), pressure: elementAt(pressure, place) });
    return Array.from({ length: whole }, (_, b) => conserved(n, gamma, (i) => at(b * n + i))).flat();
  }
  const given = named(initial, name, gasConditions);
  if (given === undefined) return undefined;
  if (given['kind'] === 'wave') return wave(given, name, grid);
  const { left, right, diaphragm } = given['kind'] === 'sod' ? { ...sod, diaphragm: 0.5 }
    : given as { left: unknown; right: unknown; diaphragm: number };
  requireGasState(left, `${name}.left`);
  requireGasState(right, `${name}.right`);
  return conserved(n, gamma, (i) => (elementAt(x, i) < diaphragm * length ? left : right));
};

function wave(given: Record<string, unknown>, name: string, { n, x, length, gamma }: Grid): Float64Array[] {
  const { amplitude, waves } = given as { amplitude: number; waves: number };
  if (!(Math.abs(amplitude) < 1)) throw refusal(`${name}.amplitude`, 'a number between -1 and 1', String(amplitude));
  return conserved(n, gamma, (i) => {
    const phase = (2 * Math.PI * waves * elementAt(x, i)) / length;
    const [density, pressure] = [1 + amplitude * Math.sin(phase), 1 + amplitude * Math.sin(phase + 1)];
    return { density, velocity: amplitude * Math.cos(2 * phase), pressure };
  });
}

/** The names of an equation's initial conditions, for messages. */
export function conditionsOf(equation: 'heat' | 'kuramoto-sivashinsky' | 'euler'): string {
  const conditions = { 'heat': heatConditions, 'kuramoto-sivashinsky': waveConditions, 'euler': gasConditions };
  return Object.keys(conditions[equation]).join(', ');
}
