// The two ends of a channel as one firing sees them: items in registers, or in arrays at places known or moving.
import type { IrType } from '../ir.ts';
import { explode, loadValue, storeValue, zeros } from './memory.ts';
import { countsOf, placesOf, type Kind } from '../plan/layout.ts';
import { isPlace, sizeOfType, type Ex, type Place, type Val } from './value.ts';
import { Retry, type Writer } from './writer.ts';


/** Items of a channel as names: those pushed so far, the first of them not yet popped at `head`. */
export interface Registers {
  readonly channel: number;
  readonly items: Val[];
  head: number;
}

/** Arrays that hold a channel's items. */
export interface Tape {
  readonly arrays: Place['arrays'];
}

export interface EndOptions {
  readonly type: IrType;
  readonly isInput: boolean;
  /** Items that the firing must move. */
  readonly rate: number;
  /** Items that may be looked at; for outputs the rate. */
  readonly window: number;
  /** Registers, or arrays and the index of the firing's first item. */
  readonly registers?: Registers;
  readonly tape?: Tape;
  readonly start?: Ex;
}

/** Faults that an end can raise, by site. */
export interface EndSites {
  rate(): number;
  peek(): number;
}

export class End {
  readonly options: EndOptions;
  readonly #w: Writer;
  readonly #sites: EndSites;
  /** Index of the next item in the arrays. */
  #at: Ex;
  readonly #start: Ex;
  /** Items moved so far lie within these; the same where the number is known. */
  low = 0;
  high = 0;
  /** Name of the index, where the number of items moved depends on data. */
  #dynamic: string | undefined;
  /** Names to be assigned by pushes to registers in a branch. */
  #branch: { readonly names: readonly (readonly Ex[])[]; next: number } | undefined;

  constructor(writer: Writer, options: EndOptions, sites: EndSites) {
    this.#w = writer;
    this.options = options;
    this.#sites = sites;
    this.#at = this.#start = options.start ?? writer.int(0);
  }

  get isDynamic(): boolean {
    return this.#dynamic !== undefined;
  }

  #place(at: Ex): Place {
    const w = this.#w;
    const counts = countsOf(this.options.type);
    return {
      arrays: this.options.tape!.arrays, isPlace: true,
      at: { i: w.times(at, counts.i), f: w.times(at, counts.f), d: w.times(at, counts.d) },
    };
  }

  /** Index of the next item, after making sure that the firing may move one more. */
  #advance(): Ex {
    const w = this.#w;
    if (this.#dynamic !== undefined) {
      const taken = w.dialect.exact('-', this.#dynamic, this.#start.text);
      const checked = w.dialect.within(taken, String(this.options.rate), this.#sites.rate());
      w.emit(`${checked};`);
      const at = w.stable({ text: this.#dynamic, kind: 'i', stable: false });
      w.emit(`${this.#dynamic} = ${w.dialect.offset(this.#dynamic, '1')};`);
      return at;
    }
    const at = this.#at;
    if (this.high >= this.options.rate) w.emit(w.dialect.fail(this.#sites.rate(), '0'));
    this.#at = w.plus(at, 1);
    ++this.low;
    ++this.high;
    return at;
  }

  pop(): Val {
    const { registers, type } = this.options;
    if (registers !== undefined) {
      if (this.high >= this.options.rate) this.#w.emit(this.#w.dialect.fail(this.#sites.rate(), '0'));
      const item = registers.items[registers.head + this.low];
      ++this.low;
      ++this.high;
      return item ?? zeros(this.#w, type);
    }
    return loadValue(this.#w, this.#place(this.#advance()), type);
  }

  /** The item `index` behind the next; `range` of the index, where known. */
  peek(index: Ex, range: readonly [number, number] | undefined): Val {
    const { registers, type, window } = this.options;
    const w = this.#w;
    if (registers !== undefined) {
      if (index.known === undefined) throw new Retry('memory', registers.channel);
      const at = this.low + index.known;
      if (index.known < 0 || at >= window) w.emit(w.dialect.fail(this.#sites.peek(), index.text));
      return registers.items[registers.head + at] ?? zeros(w, type);
    }
    const isSafe = !this.isDynamic && range !== undefined && range[0] >= 0 && this.high + range[1] < window;
    if (isSafe) return loadValue(w, this.#place(w.sum(this.#at, index)), type);
    return loadValue(w, this.#place(this.#checkedPeek(w.stable(index))), type);
  }

  #checkedPeek(index: Ex): Ex {
    const w = this.#w;
    const { dialect } = w;
    const at: Ex = this.#dynamic === undefined ? this.#at : { text: this.#dynamic, kind: 'i', stable: false };
    const taken = this.low === this.high && !this.isDynamic ? String(this.low)
      : dialect.exact('-', at.text, this.#start.text);
    const rest = dialect.exact('-', String(this.options.window), taken);
    return w.sum(at, { text: dialect.within(index.text, rest, this.#sites.peek()), kind: 'i', stable: false });
  }

  push(value: Val): void {
    const { registers } = this.options;
    const w = this.#w;
    if (registers === undefined) {
      storeValue(w, this.#place(this.#advance()), value, this.options.type);
      return;
    }
    if (this.high >= this.options.rate) w.emit(w.dialect.fail(this.#sites.rate(), '0'));
    ++this.low;
    ++this.high;
    const parts = isPlace(value) ? this.#parts(value) : value;
    const branch = this.#branch;
    if (branch === undefined) {
      registers.items.push(parts.map((part) => w.stable(part)));
      return;
    }
    const names = branch.names[branch.next++];
    names?.forEach((name, i) => w.emit(`${name.text} = ${parts[i]!.text};`));
  }

  #parts(value: Place): readonly Ex[] {
    const { registers, type } = this.options;
    if (sizeOfType(type) > 64) throw new Retry('memory', registers!.channel);
    return explode(this.#w, value, type);
  }

  /** Before code that moves a number of items which depends on data. */
  makeDynamic(): void {
    const { registers } = this.options;
    if (registers !== undefined) throw new Retry('memory', registers.channel);
    if (this.#dynamic !== undefined) return;
    this.#dynamic = this.#w.name('p');
    this.#w.emit(this.#w.dialect.variable('i', this.#dynamic, this.#at.text));
    this.high = Infinity;
  }

  /** Before a loop of `trips` turns that moves `each` items a turn. Call {@link nextTurn} in it and {@link endLoop} behind it. */
  enterLoop(each: number, trips: number): EndMark {
    const { registers } = this.options;
    const mark = { low: this.low, high: this.high };
    if (each === 0 || this.isDynamic) return mark;
    if (registers !== undefined) throw new Retry('memory', registers.channel);
    // More than the rate: the firing ends in a fault here.
    if (this.high + each * trips > this.options.rate) this.#w.emit(this.#w.dialect.fail(this.#sites.rate(), '0'));
    const name = this.#w.name('p');
    this.#w.emit(this.#w.dialect.variable('i', name, this.#at.text));
    this.#at = { text: name, kind: 'i', stable: false };
    this.high += each * (trips - 1);
    return { ...mark, name };
  }

  /** Whether {@link skip} can pass over so many items without a fault. */
  canSkip(count: number): boolean {
    return !this.isDynamic && this.high + count <= this.options.rate;
  }

  /** Passes over items. */
  skip(count: number): void {
    this.#at = this.#w.plus(this.#at, count);
    this.low += count;
    this.high += count;
  }

  nextTurn(mark: EndMark, each: number): void {
    if (mark.name !== undefined) this.#w.emit(`${mark.name} = ${this.#w.dialect.offset(mark.name, String(each))};`);
  }

  endLoop(mark: EndMark, each: number, trips: number): void {
    if (mark.name === undefined) return;
    this.#at = { text: mark.name, kind: 'i', stable: false };
    this.low = mark.low + each * trips;
    this.high = mark.high + each * trips;
  }

  /** Before the branches of a condition, each of which moves `count` items. */
  enterBranches(count: number, isOutput: boolean): BranchMark {
    const { registers, type } = this.options;
    const outer = this.#branch;
    const mark = { low: this.low, high: this.high, at: this.#at, outer, count, next: outer?.next ?? 0 };
    if (registers === undefined || !isOutput || count === 0 || outer !== undefined) return mark;
    const names = Array.from({ length: count }, () => scalarNames(this.#w, type));
    this.#branch = { names, next: 0 };
    return { ...mark, names };
  }

  /** Back to where the branches began, for the next branch. */
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
    this.#at = this.#w.plus(mark.at, mark.count);
    if (this.#branch !== undefined) this.#branch.next += mark.count;
    if (mark.names === undefined) return;
    this.#branch = mark.outer;
    this.options.registers!.items.push(...mark.names.map((names) => names.map((name) => ({ ...name, stable: true }))));
  }

  /** At the end of a firing: all items moved, or a fault. */
  finish(): void {
    const w = this.#w;
    const { rate, registers } = this.options;
    if (this.#dynamic !== undefined) {
      const taken = w.dialect.exact('-', this.#dynamic, this.#start.text);
      w.emit(`if (${w.dialect.compare('!=', taken, String(rate))}) ${w.dialect.fail(this.#sites.rate(), taken)}`);
    } else if (this.low !== rate) w.emit(w.dialect.fail(this.#sites.rate(), String(this.low)));
    if (registers !== undefined && this.options.isInput) registers.head += rate;
  }
}

export interface EndMark {
  readonly low: number;
  readonly high: number;
  readonly name?: string;
}

export interface BranchMark {
  readonly low: number;
  readonly high: number;
  readonly at: Ex;
  readonly outer: { readonly names: readonly (readonly Ex[])[]; next: number } | undefined;
  readonly count: number;
  readonly next: number;
  readonly names?: readonly (readonly Ex[])[];
}

function scalarNames(w: Writer, type: IrType): Ex[] {
  return kindsOfScalars(type).map((kind) => {
    const text = w.name('q');
    w.emit(w.dialect.variable(kind, text, w.dialect.literal(kind, 0)));
    return { text, kind, stable: false };
  });
}

function kindsOfScalars(type: IrType): readonly Kind[] {
  return placesOf(type).map(({ kind }) => kind);
}
