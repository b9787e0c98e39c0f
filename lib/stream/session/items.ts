// Items between the chunks that a caller gives and the arrays that programs read: what is left of one chunk precedes the next.
import { elementAt, required } from '../../core/known.ts';
import { scalarCount } from '../interpret/values.ts';
import type { IrType } from '../ir.ts';
import { countsOf, kindsIn, makeArray, type Kind } from '../plan/layout.ts';
import { splitItems, type Scalars, type StreamArrays } from '../run/prepare.ts';

/** Scalars of an array for each kind: those that are kept at least, and how many times more than needed are given back. */
const leastRoom = 1024;
const wasteful = 8;

/** Joins scalars into whole items: what is left of an incomplete one waits for the next call. */
export class WholeItems {
  readonly width: number;
  #rest: number[] = [];

  constructor(type: IrType) {
    this.width = Math.max(1, scalarCount(type));
  }

  get hasPart(): boolean {
    return this.#rest.length > 0;
  }

  /** The whole items that these scalars complete; the given array itself if there is nothing to join. */
  join(numbers: ArrayLike<number>): ArrayLike<number> {
    if (this.width === 1) return numbers;
    const rest = this.#rest;
    const length = rest.length + numbers.length;
    const left = length % this.width;
    if (rest.length === 0 && left === 0) return numbers;
    const joined = [...rest, ...Array.from(numbers)];
    this.#rest = joined.splice(length - left);
    return joined;
  }
}

/** Items that wait to be read, by kind of their scalars. */
export class ItemQueue {
  /** How many items were ever appended. */
  total = 0;
  readonly #type: IrType;
  readonly #kinds: readonly Kind[];
  readonly #whole: WholeItems;
  #arrays: StreamArrays;
  #room = leastRoom;
  #begin = 0;
  #end = 0;

  constructor(type: IrType) {
    this.#type = type;
    this.#kinds = kindsIn(countsOf(type));
    this.#whole = new WholeItems(type);
    this.#arrays = this.#made(this.#room);
  }

  /** Arrays that contain the items, from {@link begin} on. */
  get arrays(): StreamArrays {
    return this.#arrays;
  }

  /** Where the first item stands, in items. */
  get begin(): number {
    return this.#begin;
  }

  get length(): number {
    return this.#end - this.#begin;
  }

  /** Number of the first item that is still there, among all that were ever appended. */
  get first(): number {
    return this.total - this.length;
  }

  #made(items: number): StreamArrays {
    const counts = countsOf(this.#type);
    return Object.fromEntries(this.#kinds.map((kind) => [kind, makeArray(kind, items * counts[kind])]));
  }

  /** Whether a part of an item waits for the rest of it. */
  get hasPart(): boolean {
    return this.#whole.hasPart;
  }

  /** Empties it: the next item is the one of this number. */
  restart(item: number): void {
    this.total = item;
    this.#begin = this.#end = 0;
  }

  /** Appends a copy of items, given as scalars in memory order; a part of an item waits for the rest of it. */
  append(numbers: ArrayLike<number>): void {
    const scalars = this.#whole.join(numbers);
    const items = Math.floor(scalars.length / this.#whole.width);
    if (items === 0) return;
    const parts = splitItems(scalars, this.#type);
    this.#makeRoom(items);
    const counts = countsOf(this.#type);
    for (const kind of this.#kinds) {
      const part = required(parts[kind]).subarray(0, items * counts[kind]);
      required(this.#arrays[kind]).set(part, this.#end * counts[kind]);
    }
    this.#end += items;
    this.total += items;
  }

  /** Moves items to the front, of larger or smaller arrays where that is due. */
  #makeRoom(items: number): void {
    const needed = this.length + items;
    const isWasteful = this.#room > wasteful * Math.max(needed, leastRoom);
    if (this.#end + items <= this.#room && !isWasteful) return;
    const counts = countsOf(this.#type);
    const room = isWasteful || needed > this.#room / 2 ? Math.max(2 * needed, leastRoom) : this.#room;
    const from = this.#arrays;
    if (room !== this.#room) this.#arrays = this.#made(room);
    for (const kind of this.#kinds) {
      const old: Scalars = required(from[kind]);
      required(this.#arrays[kind]).set(old.subarray(this.#begin * counts[kind], this.#end * counts[kind]));
    }
    this.#room = room;
    this.#end -= this.#begin;
    this.#begin = 0;
  }

  /** Removes items at the front. */
  drop(items: number): void {
    this.#begin += items;
    if (this.#begin !== this.#end) return;
    this.#begin = this.#end = 0;
  }

  /** Items by their numbers among all that were ever appended, where they are until the next call; none must have been dropped. */
  view(from: number, to: number): StreamArrays {
    const counts = countsOf(this.#type);
    const at = (item: number): number => this.#begin + item - this.first;
    return Object.fromEntries(this.#kinds.map((kind) =>
      [kind, required(this.#arrays[kind]).subarray(at(from) * counts[kind], at(to) * counts[kind])]));
  }
}

/** Numbers that come one at a time, or in chunks, as chunks of bounded length. */
export class Gathered {
  #numbers: number[] = [];
  readonly #most: number;

  /** @param most scalars of a chunk */
  constructor(most: number) {
    this.#most = most;
  }

  /** Adds a number; returns a chunk if one is complete. */
  add(number: number): readonly number[] | undefined {
    this.#numbers.push(number);
    return this.#numbers.length >= this.#most ? this.take() : undefined;
  }

  /** What has come so far, if anything. */
  take(): readonly number[] | undefined {
    if (this.#numbers.length === 0) return undefined;
    const numbers = this.#numbers;
    this.#numbers = [];
    return numbers;
  }
}

/** Parts of an array of at most so many elements. */
export function* partsOf(numbers: ArrayLike<number>, most: number): Generator<ArrayLike<number>> {
  for (let at = 0; at < numbers.length; at += most) {
    if (at === 0 && numbers.length <= most) yield numbers;
    else if (ArrayBuffer.isView(numbers)) yield (numbers as unknown as Scalars).subarray(at, at + most);
    else yield Array.from({ length: Math.min(most, numbers.length - at) }, (_, i) => elementAt(numbers, at + i));
  }
}
