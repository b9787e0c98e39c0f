// Values of a running program: numbers for scalars, typed arrays for arrays of scalars and for vectors, plain arrays for everything else.
import { required } from '../../core/known.ts';
import type { ConstantData, IrExpression, IrType, ScalarName, VectorName } from '../ir.ts';

/** bit and boolean are 0 or 1. An array, vector or struct has a single owner: copy before storing. */
export type Value = number | Int32Array | Float32Array | Float64Array | Value[];

export const vectorSizes: Readonly<Record<VectorName, number>> = { complex: 2, float2: 2, float3: 3, float4: 4 };
const scalarBytes: Readonly<Record<ScalarName, number>> = { bit: 4, boolean: 4, int: 4, float: 4, double: 8 };

const scalarTypes = new Map<string, IrType>();
/** The unique type object of a scalar. */
export function scalar(name: ScalarName): IrType & { kind: 'scalar' } {
  let type = scalarTypes.get(name);
  if (type === undefined) scalarTypes.set(name, type = { kind: 'scalar', name });
  return type as IrType & { kind: 'scalar' };
}

export function isScalar(type: IrType, name: ScalarName): boolean {
  return type.kind === 'scalar' && type.name === name;
}

/** How many scalars a value of the type has. */
export function scalarCount(type: IrType): number {
  switch (type.kind) {
    case 'scalar': return 1;
    case 'vector': return vectorSizes[type.name];
    case 'array': return type.length * scalarCount(type.element);
    case 'struct': return type.fields.reduce((sum, field) => sum + scalarCount(field.type), 0);
    case 'void': return 0;
  }
}

/** Bytes of a value: 4 per scalar, 8 per double. */
export function typeBytes(type: IrType): number {
  switch (type.kind) {
    case 'scalar': return scalarBytes[type.name];
    case 'vector': return 4 * vectorSizes[type.name];
    case 'array': return type.length * typeBytes(type.element);
    case 'struct': return type.fields.reduce((sum, field) => sum + typeBytes(field.type), 0);
    case 'void': return 0;
  }
}

/** The type in the syntax of programs. */
export function typeText(type: IrType): string {
  if (type.kind === 'array') {
    let element: IrType = type;
    let lengths = '';
    while (element.kind === 'array') {
      lengths += `[${element.length}]`;
      element = element.element;
    }
    return typeText(element) + lengths;
  }
  return type.kind === 'void' ? 'void' : type.name;
}

export function sameType(a: IrType, b: IrType): boolean {
  if (a === b) return true;
  if (a.kind === 'array') return b.kind === 'array' && a.length === b.length && sameType(a.element, b.element);
  if (a.kind === 'void') return b.kind === 'void';
  return a.kind === b.kind && a.name === b.name;
}

function rowOf(type: IrType, length: number): Value | undefined {
  if (type.kind !== 'scalar') return undefined;
  if (type.name === 'float') return new Float32Array(length);
  return type.name === 'double' ? new Float64Array(length) : new Int32Array(length);
}

export function zero(type: IrType): Value {
  switch (type.kind) {
    case 'scalar': case 'void': return 0;
    case 'vector': return new Float32Array(vectorSizes[type.name]);
    case 'array': return rowOf(type.element, type.length) ?? Array.from({ length: type.length }, () => zero(type.element));
    case 'struct': return type.fields.map((field) => zero(field.type));
  }
}

/** A copy that shares nothing. */
export function copyValue(value: Value): Value {
  if (typeof value === 'number') return value;
  return Array.isArray(value) ? value.map(copyValue) : value.slice();
}

/** Makes an array or struct equal to another of its type, in place. */
export function copyInto(target: Value, from: Value): void {
  if (target === from || typeof target === 'number' || typeof from === 'number') return;
  if (!Array.isArray(target)) target.set(from as Float64Array);
  else for (let i = 0; i < target.length; ++i) {
    const part = required((from as Value[])[i]);
    if (typeof part === 'number') target[i] = part;
    else copyInto(required(target[i]), part);
  }
}

/** Appends the scalars of a value in memory order. */
export function flatten(value: Value, into: number[]): void {
  if (typeof value === 'number') into.push(value);
  else if (Array.isArray(value)) for (const part of value) flatten(part, into);
  else for (const number of value) into.push(number);
}

/** Reads a value of the type from numbers in memory order, starting at `from.at`, which is advanced. */
export function unflatten(type: IrType, numbers: ArrayLike<number>, from: { at: number }): Value {
  if (type.kind === 'scalar') return normalise(type.name, numbers[from.at++] ?? 0);
  const value = zero(type);
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; ++i) {
      const part = type.kind === 'struct' ? required(type.fields[i]).type : (type as IrType & { kind: 'array' }).element;
      value[i] = unflatten(part, numbers, from);
    }
  } else if (typeof value !== 'number') {
    const name = type.kind === 'array' && type.element.kind === 'scalar' ? type.element.name : 'float';
    for (let i = 0; i < value.length; ++i) value[i] = normalise(name, numbers[from.at++] ?? 0);
  }
  return value;
}

/** Converts a value to a constant. */
export function toConstant(type: IrType, value: Value): ConstantData {
  if (typeof value === 'number') return { type, numbers: [value] };
  if (!Array.isArray(value)) return { type, numbers: value.slice() };
  const numbers: number[] = [];
  flatten(value, numbers);
  return { type, numbers };
}

/** Creates a new value from a constant. */
export function fromConstant(data: ConstantData): Value {
  return unflatten(data.type, data.numbers, { at: 0 });
}

/** A scalar as a program would hold it: floats rounded, ints wrapped, bits and booleans 0 or 1. */
export function normalise(name: ScalarName, x: number): number {
  switch (name) {
    case 'bit': return x & 1;
    case 'boolean': return x === 0 ? 0 : 1;
    case 'int': return x | 0;
    case 'float': return Math.fround(x);
    case 'double': return x;
  }
}

/** The shortest decimal that is read back as the same single. */
function shortestSingle(x: number): string {
  for (let digits = 1; digits < 9; ++digits) {
    const text = x.toPrecision(digits);
    if (Math.fround(Number(text)) === x) return String(Number(text));
  }
  return String(Number(x.toPrecision(9)));
}

/**
 * What `print` writes for a value: shortest decimals that are read back exactly, `true` and `false`, components in brackets, complex as
 * `a+bi`.
 */
export function printed(type: IrType, value: Value): string {
  switch (type.kind) {
    case 'scalar': {
      const x = value as number;
      if (type.name === 'boolean') return x === 0 ? 'false' : 'true';
      return type.name === 'float' && Number.isFinite(x) ? shortestSingle(x) : String(x);
    }
    case 'vector': {
      const parts = [...value as Float32Array].map((x) => printed(scalar('float'), x));
      return type.name === 'complex' ? `${parts[0]}${required(parts[1]).startsWith('-') ? '' : '+'}${parts[1]}i` : `(${parts.join(', ')})`;
    }
    case 'array': return `[${Array.from(value as Value[], (part) => printed(type.element, part)).join(', ')}]`;
    case 'struct': return `{${(value as Value[]).map((part, i) => printed(required(type.fields[i]).type, part)).join(', ')}}`;
    case 'void': return '';
  }
}

/** The value of a constant scalar; undefined for everything else. */
export function known(e: IrExpression): number | undefined {
  return e.kind === 'constant' && e.type.kind === 'scalar' ? e.value.numbers[0] : undefined;
}
