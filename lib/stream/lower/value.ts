// Values while code is being made: expressions of the kernel representation, and places in buffers.
import { required } from '../../core/known.ts';
import { exact, i32, valueOf, type Buffer, type Expression, type Local, type ScalarType } from '../../kernel/ir.ts';
import { countsOf, placesOf, type Kind } from '../plan/layout.ts';
import type { IrType } from '../ir.ts';

export const scalarTypes: Readonly<Record<Kind, ScalarType>> = { i: 'i32', f: 'f32', d: 'f64' };

/** A scalar. */
export interface Ex {
  /** An i32, f32 or f64. */
  readonly e: Expression;
  /** Evaluates to the same wherever it stands later: a constant or a local that is set once. */
  readonly stable: boolean;
  /** The same as a condition, for a truth value. */
  readonly condition?: Expression;
  /** The same as an index, where it is a sum. */
  readonly sum?: Index;
}

/** An index: something that is not negative, and a constant. */
export interface Index {
  /** Undefined: 0. */
  readonly base: Expression | undefined;
  readonly add: number;
  readonly stable: boolean;
}

export const start: Index = { base: undefined, add: 0, stable: true };

/** The value, where it is known. */
export function known({ e }: Ex): number | undefined {
  return valueOf(e);
}

/** A scalar that certainly is in its array as an index. */
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

/** An index as loads and stores take it: an expression, and a constant that is not negative. */
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

/** Part of buffers, one for each kind, with the index where the value begins in each. */
export interface Place {
  readonly buffers: Buffers;
  readonly at: Readonly<Record<Kind, Index>>;
  readonly isPlace: true;
}

/** The begin of buffers. */
export function placeOf(buffers: Buffers): Place {
  return { buffers, at: { i: start, f: start, d: start }, isPlace: true };
}

/** A value: its scalars in memory order, or where it lies. */
export type Val = readonly Ex[] | Place;

export function isPlace(value: Val): value is Place {
  return !Array.isArray(value);
}

/** A scalar of a variable that is held apart: a value that is set once, or a local that is assigned. */
export interface Slot {
  ex: Ex;
  /** Set where it is assigned. */
  local: Local | undefined;
}

/** Where the scalars of a variable come from: an item of a channel, or zeros. */
export interface Origin {
  readonly place: Place | undefined;
  readonly parts: readonly Ex[];
}

/** What holds a variable: scalars apart, until an index that is not known asks for memory. */
export interface Storage {
  readonly type: IrType;
  /** Known as long as the channel's item stays: to the end of the firing. */
  readonly origin: Origin | undefined;
  slots: Slot[] | undefined;
  place: Place | undefined;
}

/** What a variable or field stands for: a storage, or part of one. */
export interface Binding {
  readonly storage: Storage;
  /** Scalars of the storage before it, in memory order. */
  readonly skip: number;
  readonly type: IrType;
}

export function held(type: IrType, by: { readonly slots?: Slot[]; readonly place?: Place; readonly origin?: Origin }): Binding {
  return { storage: { type, slots: by.slots, place: by.place, origin: by.origin }, skip: 0, type };
}

/** Whether a place is inside memory that outlives the firing. */
export function isLasting({ buffers }: Place): boolean {
  return Object.values(buffers).every((buffer: Buffer | undefined) => buffer?.role !== 'local');
}

/** Scalars up to which arrays may be taken apart. */
export const explodeLimit = 256;

/** Scalars of a type. */
export function sizeOfType(type: IrType): number {
  const counts = countsOf(type);
  return counts.i + counts.f + counts.d;
}

/** The slots of a binding; undefined where it lies in memory. */
export function slotsOf({ storage, skip, type }: Binding): Slot[] | undefined {
  const { slots } = storage;
  return slots === undefined || (skip === 0 && type === storage.type) ? slots : slots.slice(skip, skip + sizeOfType(type));
}

/** The place of a binding that lies in memory. */
export function placeOfBinding({ storage, skip }: Binding): Place {
  const place = required(storage.place);
  if (skip === 0) return place;
  const before = { i: 0, f: 0, d: 0 };
  for (const { kind } of placesOf(storage.type).slice(0, skip)) ++before[kind];
  return { ...place, at: { i: plus(place.at.i, before.i), f: plus(place.at.f, before.f), d: plus(place.at.d, before.d) } };
}

/** Whether a value of the type has elements. */
export function holdsArrays(type: IrType): boolean {
  return type.kind === 'array' || (type.kind === 'struct' && type.fields.some((field) => holdsArrays(field.type)));
}
