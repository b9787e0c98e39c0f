// Values to and from memory.
import type { IrType } from '../ir.ts';
import { countsOf, kindsIn, placesOf } from '../plan/layout.ts';
import { isPlace, type Ex, type Place, type Val } from './value.ts';
import type { Writer } from './writer.ts';

/** The value at a place: scalars are loaded, all else stays where it is. */
export function loadValue(w: Writer, place: Place, type: IrType): Val {
  if (type.kind === 'scalar' || type.kind === 'vector') return explode(w, place, type);
  return w.stablePlace(place);
}

/** The scalars of a value that lies in memory, in memory order. */
export function explode(w: Writer, place: Place, type: IrType): readonly Ex[] {
  return placesOf(type).map(({ kind, at }) => w.load(place.arrays[kind], kind, w.plus(place.at[kind], at)));
}

/** Stores a value. */
export function storeValue(w: Writer, place: Place, value: Val, type: IrType): void {
  if (!isPlace(value)) {
    const parts = value.length > 1 ? value.map((part) => w.stable(part)) : value;
    placesOf(type).forEach(({ kind, at }, i) => w.store(place.arrays[kind], w.plus(place.at[kind], at), parts[i]!));
    return;
  }
  const counts = countsOf(type);
  for (const kind of kindsIn(counts)) {
    w.emit(w.dialect.copy(kind, place.arrays[kind], place.at[kind].text, value.arrays[kind], value.at[kind].text, counts[kind]));
  }
}

/** A value in arrays of the function's own. */
export function spill(w: Writer, value: Val, type: IrType): Place {
  const place = w.local(countsOf(type));
  storeValue(w, place, value, type);
  return place;
}

/** Zeros. */
export function clear(w: Writer, place: Place, type: IrType): void {
  const counts = countsOf(type);
  for (const kind of kindsIn(counts)) w.emit(w.dialect.fill(kind, place.arrays[kind], place.at[kind].text, counts[kind]));
}

export function zeros(w: Writer, type: IrType): readonly Ex[] {
  return placesOf(type).map(({ kind }) => w.literal(kind, 0));
}
