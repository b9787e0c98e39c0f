// Values during lowering: expressions of the kernel representation, and places in buffers.
import { required } from '../../core/known.ts';
import { exact, i32, valueOf, type Buffer, type Expression, type Local, type ScalarType } from '../../kernel/ir.ts';
import { countsOf, placesOf, type Kind } from '../plan/layout.ts';
import type { IrType } from '../ir.ts';

export const scalarTypes: Readonly<Record<Kind, ScalarType>> = { i: 'i32', f: 'f32', d: 'f64' };

/** A scalar. */
export interface Ex {
  /** An i32, f32 or f64. */
  readonly e: Expression;
  /** Has the same value wherever it is used later: a constant, or a local that is set once. */
  readonly stable: boolean;
  /** The same value as a condition, for a truth value. */
  readonly condition?: Expression;
  /** The same value as an index, for a sum. */
  readonly sum?: Index;
}

/** An index: a non-negative value plus a constant. */
export interface Index {
  /** Undefined means 0. */
  readonly base: Expression | undefined;
  readonly add: number;
  readonly stable: boolean;
}

export const start: Index = { base: undefined, add: 0, stable: true };

/** The value, if it is known. */
export function known({ e }: Ex): number | undefined {
  return valueOf(e);
}

/** Converts a scalar that is certainly a valid index. */
export function indexOf(ex: Ex): Index {
  const x = known(ex);
  return x !== undefined ? at(x) : ex.sum ?? { base: ex.e, add: 0, stable: ex.stable };
}

export function at(x: number): Index {
  return { base: undefined, add: x, stable: true };
}

export function plus(index: Index, add: number): Index {
  return add === 0 ? index : { ...index, add: index.add + add };
}

export function sum(a: Index, b: Index): Index {
  const base = a.base === undefined ? b.base : b.base === undefined ? a.base : exact('add', a.base, b.base);
  return { base, add: a.add + b.add, stable: a.stable && b.stable };
}

export function times({ base, add, stable }: Index, factor: number): Index {
  if (factor === 0) return start;
  const scaled = base === undefined || factor === 1 ? base : exact('mul', base, i32(factor));
  return { base: scaled, add: add * factor, stable };
}

/** An index in the form that loads and stores take: an expression and a non-negative offset. */
export function operandOf({ base, add }: Index): readonly [index: Expression, offset: number] {
  if (base === undefined) return [i32(add), 0];
  return add >= 0 ? [base, add] : [exact('add', base, i32(add)), 0];
}

/** An index as one expression. */
export function wholeIndex(index: Index): Expression {
  const [e, offset] = operandOf(index);
  return offset === 0 ? e : exact('add', e, i32(offset));
}

/** Buffers for scalars of each kind. */
export type Buffers = Readonly<Partial<Record<Kind, Buffer>>>;

/** Parts of buffers, one for each kind, with the index at which the value begins in each. */
export interface Place {
  readonly buffers: Buffers;
  readonly at: Readonly<Record<Kind, Index>>;
  readonly isPlace: true;
}

/** The start of buffers. */
export function placeOf(buffers: Buffers): Place {
  return { buffers, at: { i: start, f: start, d: start }, isPlace: true };
}

/** A value: its scalars in memory order, or its place in memory. */
export type Val = readonly Ex[] | Place;

export function isPlace(value: Val): value is Place {
  return !Array.isArray(value);
}

/** A scalar of a variable that is split into scalars: a value set once, or a local that is assigned. */
export interface Slot {
  ex: Ex;
  /** Present if it is assigned. */
  local: Local | undefined;
}

/** Where the scalars of a variable come from: an item of a channel, or zeros. */
export interface Origin {
  readonly place: Place | undefined;
  readonly parts: readonly Ex[];
}

/** What holds a variable: separate scalars, until an unknown index requires memory. */
export interface Storage {
  readonly type: IrType;
  /** Known as long as the item stays on the channel: until the end of the firing. */
  readonly origin: Origin | undefined;
  slots: Slot[] | undefined;
  place: Place | undefined;
}

/** What a variable or field denotes: a storage or a part of one. */
export interface Binding {
  readonly storage: Storage;
  /** How many scalars of the storage precede it, in memory order. */
  readonly skip: number;
  readonly type: IrType;
}

export function held(type: IrType, by: { readonly slots?: Slot[]; readonly place?: Place; readonly origin?: Origin }): Binding {
  return { storage: { type, slots: by.slots, place: by.place, origin: by.origin }, skip: 0, type };
}

/** Whether a place is in memory that outlives the firing. */
export function isLasting({ buffers }: Place): boolean {
  return Object.values(buffers).every((buffer: Buffer | undefined) => buffer?.role !== 'local');
}

/** The maximum number of scalars into which an array may be split. */
export const explodeLimit = 256;

/** Scalars of a type. */
export function sizeOfType(type: IrType): number {
  const counts = countsOf(type);
  return counts.i + counts.f + counts.d;
}

/** The slots of a binding; undefined if it is in memory. */
export function slotsOf({ storage, skip, type }: Binding): Slot[] | undefined {
  const { slots } = storage;
  return slots === undefined || (skip === 0 && type === storage.type) ? slots : slots.slice(skip, skip + sizeOfType(type));
}

/** The place of a binding that is in memory. */
export function placeOfBinding({ storage, skip }: Binding): Place {
  const place = required(storage.place);
  if (skip === 0) return place;
  const before = { i: 0, f: 0, d: 0 };
  for (const { kind } of placesOf(storage.type).slice(0, skip)) ++before[kind];
  return { ...place, at: { i: plus(place.at.i, before.i), f: plus(place.at.f, before.f), d: plus(place.at.d, before.d) } };
}

/** Whether the type is or contains an array. */
export function holdsArrays(type: IrType): boolean {
  return type.kind === 'array' || (type.kind === 'struct' && type.fields.some((field) => holdsArrays(field.type)));
}
