// The two ends of a channel as one firing sees them: items in locals, or in buffers at fixed or moving indices.
import { elementAt, required } from '../../core/known.ts';
import { get, i32, isInside, set, type Expression, type Local } from '../../kernel/ir.ts';
import { countsOf, placesOf } from '../plan/layout.ts';
import type { IrType } from '../ir.ts';
import { compareOf, operate } from './arithmetic.ts';
import { explode, loadValue, storeValue, zeros } from './memory.ts';
import {
  at as indexAt, indexOf, isPlace, known, placeOf, plus, sizeOfType, sum, times, wholeIndex, type Buffers,
  type Ex, type Index, type Place, type Val,
} from './value.ts';
import type { Writer } from './writer.ts';

/** Items with up to this many scalars are kept in locals. */
const mostScalars = 64;

/** The items of a channel that is filled and emptied within straight-line code, so that the place of each is known. */
export class Stretch {
  readonly type: IrType;
  readonly #length: number;
  /** The items pushed so far, while they are in locals. */
  items: Val[] | undefined;
  buffers: Buffers | undefined;
  read = 0;
  written = 0;

  /** @param length how many items pass */
  constructor(type: IrType, length: number, inLocals: boolean) {
    this.type = type;
    this.#length = length;
    this.items = inLocals ? [] : undefined;
  }

  /** Skips items at one end: dead firings neither push nor pop them, and nobody uses them. */
  pass(isInput: boolean, count: number): void {
    if (isInput) this.read += count;
    else {
      this.written += count;
      if (this.items !== undefined) this.items.length += count;
    }
  }

  /** Moves the items to buffers, where they stay from now on. */
  toMemory(w: Writer): Buffers {
    if (this.buffers === undefined) {
      const counts = countsOf(this.type);
      const place = w.place({ i: counts.i * this.#length, f: counts.f * this.#length, d: counts.d * this.#length });
      this.buffers = place.buffers;
      this.items?.forEach((item, i) => {
        if (i >= this.read) storeValue(w, itemPlace(place.buffers, this.type, indexAt(i)), item, this.type);
      });
      this.items = undefined;
    }
    return this.buffers;
  }
}

function itemPlace(buffers: Buffers, type: IrType, index: Index): Place {
  const counts = countsOf(type);
  return { ...placeOf(buffers), at: { i: times(index, counts.i), f: times(index, counts.f), d: times(index, counts.d) } };
}

export interface EndOptions {
  readonly type: IrType;
  readonly isInput: boolean;
  /** How many items the firing must move. */
  readonly rate: number;
  /** How many items may be peeked at; for outputs the rate. */
  readonly window: number;
  readonly sites: EndSites;
}

/** Buffers, and the index of the first item of the firing. */
export interface Tape {
  readonly buffers: Buffers;
  readonly start: Index;
}

/** Sites of the faults that an end can raise. */
export interface EndSites {
  rate(): number;
  peek(): number;
}

/** The counter of a loop in which ends advance, and its value in the first iteration. */
export interface Turns {
  readonly counter: Expression;
  readonly first: number;
}

export class End {
  readonly options: EndOptions;
  readonly #w: Writer;
  readonly #sites: EndSites;
  readonly #stretch: Stretch | undefined;
  /** Index of the next item in the buffers. */
  #at: Index;
  #start: Index;
  #buffers: Buffers;
  /** Bounds on the number of items moved so far; equal if the number is known. */
  low = 0;
  high = 0;
  /** Holds the index if the number of items moved depends on data. */
  #moving: Local | undefined;
  /** The locals that pushes in a branch assign. */
  #branch: { readonly names: readonly (readonly Local[])[]; next: number } | undefined;

  constructor(writer: Writer, options: EndOptions, items: Stretch | Tape) {
    this.#w = writer;
    this.options = options;
    this.#sites = options.sites;
    if (items instanceof Stretch) {
      this.#stretch = items;
      this.#buffers = items.items === undefined ? items.toMemory(writer) : {};
      this.#at = this.#start = indexAt(options.isInput ? items.read : items.written);
    } else {
      this.#buffers = items.buffers;
      this.#at = this.#start = items.start;
    }
  }

  /** Items in locals. */
  get #items(): Val[] | undefined {
    return this.#stretch?.items;
  }

  get isInLocals(): boolean {
    return this.#items !== undefined;
  }

  get isDynamic(): boolean {
    return this.#moving !== undefined;
  }

  /** Moves the items to memory, where they stay from now on. */
  toMemory(): void {
    const stretch = this.#stretch;
    const { isInput } = this.options;
    if (stretch?.items === undefined) return;
    this.#buffers = stretch.toMemory(this.#w);
    this.#start = indexAt(isInput ? stretch.read : stretch.written);
    this.#at = plus(this.#start, this.low);
  }

  #place(index: Index): Place {
    return itemPlace(this.#buffers, this.options.type, index);
  }

  #moved(): Expression {
    return operate('-', get(required(this.#moving)), wholeIndex(this.#start), true);
  }

  /** The index of the next item, after checking that the firing may move one more. */
  #advance(): Index {
    const w = this.#w;
    if (this.#moving !== undefined) {
      const moved = w.stable({ e: this.#moved(), stable: false }).e;
      w.guard(isInside(moved, i32(this.options.rate)), this.#sites.rate(), moved);
      const at = w.stable({ e: get(this.#moving), stable: false });
      w.emit(set(this.#moving, operate('+', at.e, i32(1), true)));
      return indexOf(at);
    }
    const at = this.#at;
    this.#countOne();
    this.#at = plus(at, 1);
    return at;
  }

  #countOne(): void {
    if (this.high >= this.options.rate) this.#w.trap(this.#sites.rate());
    ++this.low;
    ++this.high;
  }

  pop(): Val {
    const { type } = this.options;
    const items = this.#items;
    if (items === undefined) return loadValue(this.#w, this.#place(this.#advance()), type);
    const item = items[required(this.#stretch).read + this.low];
    this.#countOne();
    return item ?? zeros(this.#w, type);
  }

  /** The item `index` after the next one. `range`: of the index, if known. */
  peek(index: Ex, range: readonly [number, number] | undefined): Val {
    const { type, window } = this.options;
    const w = this.#w;
    const fixed = known(index);
    if (this.isInLocals && fixed === undefined) this.toMemory();
    const items = this.#items;
    if (items !== undefined) {
      const at = this.low + required(fixed);
      if (required(fixed) < 0 || at >= window) w.trap(this.#sites.peek(), index.e);
      return items[required(this.#stretch).read + at] ?? zeros(w, type);
    }
    const isSafe = !this.isDynamic && range !== undefined && range[0] >= 0 && this.high + range[1] < window;
    return loadValue(w, this.#place(sum(isSafe ? this.#at : this.#next(), isSafe ? indexOf(index) : this.#checked(index))), type);
  }

  #next(): Index {
    return this.#moving === undefined ? this.#at : { base: get(this.#moving), add: 0, stable: false };
  }

  /** The index of a peek, after checking that it lies within the window. */
  #checked(index: Ex): Index {
    const w = this.#w;
    const { window } = this.options;
    const at = w.stable(index);
    const moved = this.#moving !== undefined ? this.#moved() : this.low === this.high ? i32(this.low)
      : operate('-', wholeIndex(this.#at), wholeIndex(this.#start), true);
    w.guard(isInside(at.e, operate('-', i32(window), moved, true)), this.#sites.peek(), at.e);
    return indexOf(at);
  }

  push(value: Val): void {
    const w = this.#w;
    const { type } = this.options;
    if (this.isInLocals && isPlace(value) && sizeOfType(type) > mostScalars) this.toMemory();
    const items = this.#items;
    if (items === undefined) {
      storeValue(w, this.#place(this.#advance()), value, type);
      return;
    }
    this.#countOne();
    const parts = isPlace(value) ? explode(w, value, type) : value;
    const branch = this.#branch;
    if (branch === undefined) items.push(parts.map((part) => w.stable(part)));
    else branch.names[branch.next++]?.forEach((local, i) => { w.emit(set(local, elementAt(parts, i).e)); });
  }

  /** Called before code that moves a data-dependent number of items. */
  makeDynamic(): void {
    this.toMemory();
    if (this.#moving !== undefined) return;
    this.#moving = this.#w.variable(wholeIndex(this.#at), 'p');
    this.high = Infinity;
  }

  /**
   * Called before a loop of `trips` iterations, each of which moves `each` items. Call {@link nextTurn} at the end of each iteration and
   * {@link endLoop} after the loop.
   */
  enterLoop(each: number, trips: number, turns: Turns | undefined): EndMark {
    const mark = { low: this.low, high: this.high, at: this.#at };
    if (each === 0 || this.isDynamic) return mark;
    this.toMemory();
    const before = this.#at;
    // More than the rate allows: the firing ends in a fault here.
    if (this.high + each * trips > this.options.rate) this.#w.trap(this.#sites.rate());
    this.high += each * (trips - 1);
    if (turns !== undefined) {
      this.#at = sum(plus(before, -turns.first * each), times({ base: turns.counter, add: 0, stable: true }, each));
      return { ...mark, at: before };
    }
    const local = this.#w.variable(wholeIndex(before), 'p');
    this.#at = { base: get(local), add: 0, stable: false };
    return { ...mark, at: before, local };
  }

  /** Whether {@link skip} can skip `count` items without a fault. */
  canSkip(count: number): boolean {
    return !this.isDynamic && this.high + count <= this.options.rate;
  }

  /** Skips items. */
  skip(count: number): void {
    this.#at = plus(this.#at, count);
    this.low += count;
    this.high += count;
  }

  nextTurn({ local }: EndMark, each: number): void {
    if (local !== undefined) this.#w.emit(set(local, operate('+', get(local), i32(each), true)));
  }

  endLoop({ low, high, at }: EndMark, each: number, trips: number): void {
    if (each === 0 || this.isDynamic) return;
    this.#at = plus(at, each * trips);
    this.low = low + each * trips;
    this.high = high + each * trips;
  }

  /** Called before the branches of a condition, each of which moves `count` items. */
  enterBranches(count: number): BranchMark {
    const outer = this.#branch;
    const mark = { low: this.low, high: this.high, at: this.#at, outer, count, next: outer?.next ?? 0 };
    if (!this.isInLocals || this.options.isInput || count === 0 || outer !== undefined) return mark;
    const names = Array.from({ length: count }, () => placesOf(this.options.type).map(({ kind }) =>
      this.#w.variable(this.#w.literal(kind, 0).e, 'q')));
    this.#branch = { names, next: 0 };
    return { ...mark, names };
  }

  /** Returns to where the branches began, for the next branch. */
  nextBranch(mark: BranchMark): void {
    if (this.isDynamic) return;
    this.low = mark.low;
    this.high = mark.high;
    this.#at = mark.at;
    if (this.#branch !== undefined) this.#branch.next = mark.next;
  }

  endBranches(mark: BranchMark): void {
    if (this.isDynamic) return;
    this.nextBranch(mark);
    this.low += mark.count;
    this.high += mark.count;
    this.#at = plus(mark.at, mark.count);
    if (this.#branch !== undefined) this.#branch.next += mark.count;
    if (mark.names === undefined) return;
    this.#branch = mark.outer;
    required(this.#items).push(...mark.names.map((names) => names.map((local): Ex => ({ e: get(local), stable: true }))));
  }

  /** Ends a firing. A fault, unless exactly `rate` items were moved. */
  finish(): void {
    const w = this.#w;
    const { rate, isInput } = this.options;
    const stretch = this.#stretch;
    if (this.#moving !== undefined) {
      const moved = this.#moved();
      w.guard(compareOf('==', moved, i32(rate)), this.#sites.rate(), moved);
    } else if (this.low !== rate) w.trap(this.#sites.rate(), i32(this.low));
    if (stretch === undefined) return;
    if (isInput) stretch.read += rate;
    else stretch.written += rate;
  }
}

export interface EndMark {
  readonly low: number;
  readonly high: number;
  readonly at: Index;
  readonly local?: Local;
}

export interface BranchMark {
  readonly low: number;
  readonly high: number;
  readonly at: Index;
  readonly outer: { readonly names: readonly (readonly Local[])[]; next: number } | undefined;
  readonly count: number;
  readonly next: number;
  readonly names?: readonly (readonly Local[])[];
}
