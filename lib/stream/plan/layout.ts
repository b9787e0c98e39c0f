// How values are stored: a value is a list of scalars of three kinds, and each kind has an array of its own.
import { scalarsOf } from '../interpret/files.ts';
import { vectorSizes } from '../interpret/values.ts';
import type { IrType, ScalarName } from '../ir.ts';

/** Kinds of scalars in memory: 32-bit integers (int, bit, boolean), singles and doubles. */
export type Kind = 'i' | 'f' | 'd';
export const kinds: readonly Kind[] = ['i', 'f', 'd'];

/** How many scalars of each kind a value has. */
export type Counts = Readonly<Record<Kind, number>>;

const none: Counts = { i: 0, f: 0, d: 0 };

export function kindOf(name: ScalarName): Kind {
  return name === 'float' ? 'f' : name === 'double' ? 'd' : 'i';
}

/** The kind of a scalar type. */
export function kindOfType(type: IrType): Kind {
  if (type.kind !== 'scalar') throw new Error(`${type.kind} is no scalar`);
  return kindOf(type.name);
}

/** The kinds that occur in a type. */
export function kindsIn(counts: Counts): readonly Kind[] {
  return kinds.filter((kind) => counts[kind] > 0);
}

const remembered = new WeakMap<IrType, Counts>();

export function countsOf(type: IrType): Counts {
  let counts = remembered.get(type);
  if (counts === undefined) remembered.set(type, counts = count(type));
  return counts;
}

function count(type: IrType): Counts {
  switch (type.kind) {
    case 'scalar': return { ...none, [kindOf(type.name)]: 1 };
    case 'vector': return { ...none, f: vectorSizes[type.name] };
    case 'array': {
      const each = countsOf(type.element);
      return { i: each.i * type.length, f: each.f * type.length, d: each.d * type.length };
    }
    case 'struct': {
      const sum = { ...none };
      for (const field of type.fields) for (const kind of kinds) sum[kind] += countsOf(field.type)[kind];
      return sum;
    }
    case 'void': return none;
  }
}

/** The type of a struct's field, and how many scalars of each kind precede it. */
export function fieldOf(type: IrType, name: string): { type: IrType; before: Counts; at: number } {
  if (type.kind !== 'struct') throw new Error(`${type.kind} has no fields`);
  const before = { ...none };
  let at = 0;
  for (const field of type.fields) {
    if (field.name === name) return { type: field.type, before, at };
    for (const kind of kinds) {
      before[kind] += countsOf(field.type)[kind];
      at += countsOf(field.type)[kind];
    }
  }
  throw new Error(`no field ${name}`);
}

/** The scalars of a type in memory order, each with its kind and its index among those of its kind. */
export function placesOf(type: IrType): readonly { readonly kind: Kind; readonly at: number; readonly name: ScalarName }[] {
  const at = { ...none };
  return scalarsOf(type).map((name) => {
    const kind = kindOf(name);
    return { kind, at: at[kind]++, name };
  });
}

/** An array of scalars of a kind. */
export function makeArray(kind: Kind, length: number): Int32Array | Float32Array | Float64Array {
  return kind === 'i' ? new Int32Array(length) : kind === 'f' ? new Float32Array(length) : new Float64Array(length);
}
