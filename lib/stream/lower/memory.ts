// Moves values to and from memory.
import { elementAt, required } from '../../core/known.ts';
import { countsOf, kindsIn, placesOf } from '../plan/layout.ts';
import type { IrType } from '../ir.ts';
import { isPlace, plus, type Ex, type Place, type Val } from './value.ts';
import type { Writer } from './writer.ts';

/** The value at a place: scalars and vectors are loaded, other values stay where they are. */
export function loadValue(w: Writer, place: Place, type: IrType): Val {
  return type.kind === 'scalar' || type.kind === 'vector' ? explode(w, place, type) : w.stablePlace(place);
}

/** The scalars of a value that lies in memory, in memory order. */
export function explode(w: Writer, place: Place, type: IrType): readonly Ex[] {
  return placesOf(type).map(({ kind, at }) => w.load(required(place.buffers[kind]), plus(place.at[kind], at)));
}

export function storeValue(w: Writer, place: Place, value: Val, type: IrType): void {
  if (isPlace(value)) {
    const counts = countsOf(type);
    for (const kind of kindsIn(counts)) {
      w.copy(required(place.buffers[kind]), place.at[kind], required(value.buffers[kind]), value.at[kind], counts[kind]);
    }
    return;
  }
  const parts = value.length > 1 ? value.map((part) => w.stable(part)) : value;
  placesOf(type).forEach(({ kind, at }, i) => { w.store(required(place.buffers[kind]), plus(place.at[kind], at), elementAt(parts, i)); });
}

/** Stores a value in buffers that belong to the function. */
export function spill(w: Writer, value: Val, type: IrType): Place {
  const place = w.place(countsOf(type));
  storeValue(w, place, value, type);
  return place;
}

/** Fills a value with zeros. */
export function clear(w: Writer, place: Place, type: IrType): void {
  const counts = countsOf(type);
  for (const kind of kindsIn(counts)) w.fill(required(place.buffers[kind]), place.at[kind], counts[kind]);
}

export function zeros(w: Writer, type: IrType): readonly Ex[] {
  return placesOf(type).map(({ kind }) => w.literal(kind, 0));
}
