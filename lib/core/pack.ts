// Turns an operation's parameter object into the flat form that the addon reads (PackedParameters of
// native/core/arguments.h), driven by the metadata of the operation's C++ visit().
import { addon, type Addon, type FieldDescription, type ReportField } from './binding.ts';
import { describeValue, isFixed, isObject, takeUnseen, typedArrayKind, type TypedArray } from './arrays.ts';
import { DeviceMemory, handleOf } from './device-memory.ts';
import { refusal, WarploomError } from './errors.ts';
import { required } from './known.ts';

/** Parameters of an operation by field name; absent fields keep their defaults. */
export type Parameters = Readonly<Record<string, unknown>>;

/** A call ready for the addon. Its numbers are in `addon().numbers` until the next one is packed. */
export interface Packed {
  readonly operation: number;
  readonly values: unknown[];
  /** What the operation reports. */
  readonly report: readonly ReportField[];
}

interface Plan {
  readonly operation: number;
  readonly fields: readonly FieldDescription[];
  readonly report: readonly ReportField[];
  readonly names: ReadonlySet<string>;
}

let plans: ReadonlyMap<string, Plan> | undefined;
let packing = false;

/** View::kMaxRank of cuda/core/types.h. */
const mostDimensions = 4;

/** How many numbers a field takes. */
function numberCount(field: FieldDescription): number {
  return field.kind === 'view' ? 4 + 2 * mostDimensions : 1;
}

function readPlans(native: Addon): ReadonlyMap<string, Plan> {
  const made = new Map<string, Plan>();
  for (const [name, { fields, report }] of Object.entries(native.operations())) {
    if (fields.reduce((sum, field) => sum + numberCount(field), 0) > native.numbers.length) {
      throw new WarploomError('ERR_WARPLOOM_INTERNAL', `${name} has more fields than a call can carry`);
    }
    made.set(name, { operation: made.size, fields, report, names: new Set(fields.map((field) => field.name)) });
  }
  return made;
}

/** Names of all operations of the build. */
export function operationNames(): string[] {
  plans ??= readPlans(addon());
  return [...plans.keys()];
}

function packNumber(field: FieldDescription, value: unknown): number {
  switch (field.kind) {
    case 'choice': {
      const index = typeof value === 'string' ? required(field.choices).indexOf(value) : -1;
      if (index >= 0) return index;
      throw refusal(field.name, `one of ${required(field.choices).map((choice) => `'${choice}'`).join(', ')}`, describeValue(value));
    }
    case 'integer': {
      const fits = Number.isSafeInteger(value)
        && (field.type !== 'int32' || (value as number) === ((value as number) | 0));
      if (fits) return value as number;
      throw refusal(field.name, field.type === 'int32' ? 'a 32-bit integer' : 'an integer', describeValue(value));
    }
    case 'real':
      if (Number.isFinite(value)) return value as number;
      throw refusal(field.name, 'a finite number', describeValue(value));
    default:
      if (typeof value === 'boolean') return value ? 1 : 0;
      throw refusal(field.name, 'true or false', describeValue(value));
  }
}

/** PackedParameters::kOwned, kFixed and kHeld of native/core/arguments.h. */
const owned = -1, fixed = -2, held = -3;

/**
 * Replaces an array of status words that an operation writes: reserves space for that many in the call's own memory, to be
 * described by its report.
 */
export class Held {
  readonly length: number;

  constructor(length: number) {
    this.length = length;
  }
}

/** The number of a device array, or NaN, {@link owned} or {@link fixed} for a typed array. Rejects everything else. */
function packArray(name: string, part: string, value: unknown): number {
  if (value instanceof DeviceMemory) return handleOf(value, name, part);
  if (typedArrayKind(value) !== undefined) return takeUnseen(value as TypedArray) ? owned : isFixed(value as TypedArray) ? fixed : NaN;
  throw refusal(`${name}${part}`, 'a typed array or a DeviceArray', describeValue(value));
}

/** `for … in` creates no list of the keys; inherited keys are ignored. */
function requireKnown(object: object, known: ReadonlySet<string>, prefix: string): void {
  for (const key in object) {
    if (known.has(key) || !Object.hasOwn(object, key)) continue;
    throw refusal(`${prefix}${key}`, 'no such field', describeValue((object as Record<string, unknown>)[key]));
  }
}

function isViewField(key: string): boolean {
  return key === 'data' || key === 'offset' || key === 'extents' || key === 'strides' || key === 'imaginary';
}

function requireView(view: object, name: string): void {
  for (const key in view) {
    if (isViewField(key) || !Object.hasOwn(view, key)) continue;
    throw refusal(`${name}.${key}`, 'no such field', describeValue((view as Record<string, unknown>)[key]));
  }
}

/** The ranges are those of check_window() of cuda/core/view.cpp. */
function packWhole(value: unknown, name: string, field: string): number {
  if (Number.isSafeInteger(value)) return value as number;
  throw refusal(`${name}.${field}`, 'an integer', describeValue(value));
}

function rankOf(list: unknown, name: string, field: string): number {
  const rank = Array.isArray(list) ? list.length : -1;
  if (rank >= 0 && rank <= mostDimensions) return rank;
  throw refusal(`${name}.${field}`, `an array of at most ${mostDimensions} integers`, rank < 0 ? describeValue(list) : `${rank} of them`);
}

function packList(list: readonly unknown[], rank: number, name: string, field: string, numbers: Float64Array, at: number): void {
  for (let d = 0; d < rank; d += 1) {
    const value = list[d];
    if (!Number.isSafeInteger(value)) throw refusal(`${name}.${field}[${d}]`, 'an integer', describeValue(value));
    numbers[at + d] = value as number;
  }
}

/** Writes the extents and strides of a view, starting at `at`; returns the end. */
function packDimensions(extents: unknown, strides: unknown, name: string, numbers: Float64Array, at: number): number {
  if (extents === undefined) {
    if (strides !== undefined) throw refusal(`${name}.strides`, 'extents beside them', 'strides alone');
    numbers[at] = NaN;
    return at + 1;
  }
  const rank = rankOf(extents, name, 'extents');
  packList(extents as unknown[], rank, name, 'extents', numbers, at + 1);
  if (strides === undefined) {
    numbers[at] = -1 - rank;
    return at + 1 + rank;
  }
  const given = rankOf(strides, name, 'strides');
  if (given !== rank) throw refusal(`${name}.strides`, `${rank} numbers, one for each extent`, `${given} of them`);
  packList(strides as unknown[], rank, name, 'strides', numbers, at + 1 + rank);
  numbers[at] = rank;
  return at + 1 + 2 * rank;
}

/** Writes a view, starting at `at`; returns the end. */
function packView(name: string, value: unknown, numbers: Float64Array, at: number, values: unknown[]): number {
  if (value === undefined) {
    numbers.fill(NaN, at, at + 4);
    values.push(undefined, undefined);
    return at + 4;
  }
  if (typeof value !== 'object' || value === null) {
    throw refusal(name, 'a view { data, offset?, extents?, strides? }', describeValue(value));
  }
  requireView(value, name);
  const { data, imaginary, offset, extents, strides } = value as Record<string, unknown>;
  const first = packArray(name, '.data', data);
  const second = imaginary === undefined ? NaN : packArray(name, '.imaginary', imaginary);
  numbers[at] = first;
  numbers[at + 1] = second;
  numbers[at + 2] = offset === undefined ? 0 : packWhole(offset, name, 'offset');
  values.push(first >= 0 ? undefined : data, second >= 0 ? undefined : imaginary);
  return packDimensions(extents, strides, name, numbers, at + 3);
}

function packFields(plan: Plan, parameters: Parameters, numbers: Float64Array): unknown[] {
  const values: unknown[] = [];
  let at = 0;
  for (const field of plan.fields) {
    const value = parameters[field.name];
    if (field.kind === 'view') {
      at = packView(field.name, value, numbers, at, values);
      continue;
    }
    if (field.kind === 'array') {
      const number = value === undefined ? NaN : value instanceof Held ? held - value.length : packArray(field.name, '', value);
      numbers[at] = number;
      values.push(number >= 0 || number <= held ? undefined : value);
    } else {
      numbers[at] = value === undefined ? NaN : packNumber(field, value);
    }
    at += 1;
  }
  return values;
}

/**
 * Packs the parameters of a call. The addon must read them before any other JavaScript runs.
 * @throws ArgumentError naming the field for unknown operations and fields, wrong kinds and non-finite numbers
 */
export function pack(operation: string, parameters: Parameters): Packed {
  const native = addon();
  plans ??= readPlans(native);
  const plan = plans.get(operation);
  if (plan === undefined) throw refusal('operation', `one of ${[...plans.keys()].join(', ')}`, describeValue(operation));
  if (!isObject(parameters)) {
    throw refusal('parameters', 'an object', describeValue(parameters));
  }
  if (packing) throw refusal('parameters', 'plain values', 'a property that starts another call when read');
  packing = true;
  try {
    requireKnown(parameters, plan.names, '');
    return { operation: plan.operation, values: packFields(plan, parameters, native.numbers), report: plan.report };
  } finally {
    packing = false;
  }
}
