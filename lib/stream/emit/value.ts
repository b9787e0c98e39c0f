// Values while code is being made: text in the target language, with what is known of it already.
import type { IrType } from '../ir.ts';
import { countsOf, type Kind } from '../plan/layout.ts';

/** A scalar. */
export interface Ex {
  /** An operand: needs no brackets around it. */
  readonly text: string;
  readonly kind: Kind;
  /** Its value, where that is known. */
  readonly known?: number;
  /** Evaluates to the same wherever it stands later: a literal or a name that is set once. */
  readonly stable: boolean;
  /** The same as a condition, for a truth value. */
  readonly condition?: string;
  /** Of an index: a name and what is added to it. */
  readonly sum?: { readonly base: string; readonly add: number };
}

/** Part of arrays, one for each kind, with the place where the value begins in each. */
export interface Place {
  readonly arrays: Readonly<Record<Kind, string>>;
  readonly at: Readonly<Record<Kind, Ex>>;
  readonly isPlace: true;
}

/** A value: its scalars in memory order, or where it lies. */
export type Val = readonly Ex[] | Place;

export function isPlace(value: Val): value is Place {
  return !Array.isArray(value);
}

/** A scalar of an exploded variable: a name that is set once (or a literal), or a variable that is assigned. */
export interface Slot {
  ex: Ex;
  isVariable: boolean;
  /** Nesting of blocks at which the variable was declared. */
  depth: number;
}

/** What a variable or field stands for. */
export type Binding = { readonly kind: 'slots'; readonly slots: Slot[] } | { readonly kind: 'memory'; readonly place: Place };

/** Scalars up to which arrays may be taken apart. */
export const explodeLimit = 256;

/** Slots of part of a value: those of an element or field of a type that begin at a place in memory order. */
export function sizeOfType(type: IrType): number {
  const counts = countsOf(type);
  return counts.i + counts.f + counts.d;
}
